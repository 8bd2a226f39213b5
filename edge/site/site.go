package site

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/html"
	"github.com/tdewolff/minify/v2/js"
	"github.com/tdewolff/minify/v2/svg"

	"github.com/fieldmark/fieldmark/internal/ui"
)

//go:embed templates static text
var files embed.FS

// PathStatic is where the static files are; the name and the hash follow.
const PathStatic = "/static/"

// hashDigits is the number of hex digits of a file's SHA-256 in its name: 48 bits, more
// than enough to distinguish the versions of a few files.
const hashDigits = 12

// Site holds the parsed templates and the static files. It is immutable.
type Site struct {
	pages  *template.Template
	minify *minify.M
	assets map[string]asset // by path
	chrome chrome
}

type asset struct {
	body        []byte
	contentType string
	etag        string
}

// chrome holds the addresses every page refers to.
type chrome struct {
	Stylesheet string
	Components string // stylesheet of brands, forms and charts
	Script     string
	Developer  string // stylesheet of the pages for developers
	TryScript  string // script that sends requests from the reference
	RunScript  string // script and worker that run a module in the browser
	PlayScript string // script of the playground of modules
	RunStyle   string // stylesheet of the pages that load RunScript
	Icon       string
	Share      string // picture for previews of links, 1200 by 630
	TouchIcon  string // 180 by 180 pixels, for home screens
	Manifest   string // of the web app
}

// New returns the site of the embedded templates and static files. They never change, so a
// process parses and minifies them once.
func New() (*Site, error) { return parse() }

var parse = sync.OnceValues(func() (*Site, error) {
	m := minify.New()
	m.AddFunc("text/css", css.Minify)
	m.AddFunc("image/svg+xml", svg.Minify)
	m.AddFunc("text/javascript", js.Minify)
	asIs := func(_ *minify.M, w io.Writer, r io.Reader, _ map[string]string) error {
		_, err := io.Copy(w, r)
		return err
	}
	m.AddFunc("image/png", asIs)
	// End tags and document tags stay: the pages are also read by tools that
	// know less of HTML than a browser does.
	m.Add("text/html", &html.Minifier{KeepDocumentTags: true, KeepEndTags: true, KeepQuotes: true})
	s := &Site{minify: m, assets: map[string]asset{}}

	var err error
	var small, large string
	for _, a := range []struct {
		address         *string
		name, mediaType string
	}{
		{&s.chrome.Stylesheet, "site.css", "text/css"},
		{&s.chrome.Components, "components.css", "text/css"},
		{&s.chrome.Script, "site.js", "text/javascript"},
		{&s.chrome.Developer, "developer.css", "text/css"},
		{&s.chrome.TryScript, "try.js", "text/javascript"},
		{&s.chrome.RunScript, "recompute.js", "text/javascript"},
		{&s.chrome.PlayScript, "playground.js", "text/javascript"},
		{&s.chrome.RunStyle, "recompute.css", "text/css"},
		{&s.chrome.Icon, "mark.svg", "image/svg+xml"},
		{&s.chrome.Share, "share.png", "image/png"},
		{&s.chrome.TouchIcon, "icon-180.png", "image/png"},
		{&small, "icon-192.png", "image/png"},
		{&large, "icon-512.png", "image/png"},
	} {
		if *a.address, err = s.addAsset(a.name, a.mediaType); err != nil {
			return nil, err
		}
	}
	if s.chrome.Manifest, err = s.addManifest(small, large); err != nil {
		return nil, err
	}
	if s.pages, err = parseTemplates(files); err != nil {
		return nil, err
	}
	return s, nil
})

// addAsset minifies a static file and returns the address it got.
func (s *Site) addAsset(name, mediaType string) (string, error) {
	source, err := files.ReadFile("static/" + name)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	switch name {
	case "site.css":
		source = append([]byte(ui.Style), source...)
	case "site.js":
		source = append([]byte(ui.Script), source...)
	}
	body, err := s.minify.Bytes(mediaType, source)
	if err != nil {
		return "", fmt.Errorf("minify %s: %w", name, err)
	}
	return s.store(name, mediaType, body), nil
}

// addManifest adds the web app manifest (w3.org/TR/appmanifest) with its icons, for home
// screens. The site opens in a browser, as every page does.
func (s *Site) addManifest(small, large string) (string, error) {
	type icon struct {
		Src     string `json:"src"`
		Sizes   string `json:"sizes"`
		Type    string `json:"type"`
		Purpose string `json:"purpose"` // the mark is within the safe zone of maskable icons
	}
	body, err := json.Marshal(map[string]any{
		"name": "Fieldmark", "short_name": "Fieldmark", "id": "/", "start_url": "/", "scope": "/",
		"description": "How ready a website is for AI answer engines.", "lang": "en", "display": "browser",
		"theme_color": "#16302b", "background_color": "#fcfbf8",
		"icons": []icon{{small, "192x192", "image/png", "any maskable"},
			{large, "512x512", "image/png", "any maskable"}},
	})
	if err != nil {
		return "", fmt.Errorf("encode the manifest: %w", err)
	}
	return s.store("app.webmanifest", "application/manifest+json", body), nil
}

// store adds a static file under a name with the hash of its content.
func (s *Site) store(name, mediaType string, body []byte) string {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])[:hashDigits]
	ext := path.Ext(name)
	address := PathStatic + strings.TrimSuffix(name, ext) + "." + hash + ext
	contentType := mediaType
	if mediaType != "image/png" {
		contentType += "; charset=utf-8"
	}
	s.assets[address] = asset{body: body, contentType: contentType, etag: `"` + hash + `"`}
	return address
}

// AppendBoard appends the leaderboard page.
func (s *Site) AppendBoard(dst []byte, p BoardPage) ([]byte, error) {
	return s.appendPage(dst, "board.html", newBoardView(s.chrome, &p))
}

// AppendBrand appends a brand's page.
func (s *Site) AppendBrand(dst []byte, p BrandPage) ([]byte, error) {
	return s.appendPage(dst, "brand.html", newBrandView(s.chrome, &p))
}

// AppendVisibility appends a leaderboard by visibility.
func (s *Site) AppendVisibility(dst []byte, p VisibilityPage) ([]byte, error) {
	return s.appendPage(dst, "visibility.html", newVisibilityPageView(s.chrome, &p))
}

// AppendRecompute appends the page on which the browser recomputes a score.
func (s *Site) AppendRecompute(dst []byte, p RecomputePage) ([]byte, error) {
	return s.appendPage(dst, "recompute.html", newRecomputeView(s.chrome, &p))
}

// AppendNiches appends the list of niches.
func (s *Site) AppendNiches(dst []byte, p NichesPage) ([]byte, error) {
	return s.appendPage(dst, "niches.html", newNichesView(s.chrome, &p))
}

// AppendCompare appends the page that compares brands.
func (s *Site) AppendCompare(dst []byte, p ComparePage) ([]byte, error) {
	return s.appendPage(dst, "compare.html", newCompareView(s.chrome, &p))
}

// AppendVerify appends the page that shows whether a badge is genuine.
func (s *Site) AppendVerify(dst []byte, p VerifyPage) ([]byte, error) {
	return s.appendPage(dst, "verify.html", newVerifyView(s.chrome, &p))
}

// AppendMethod appends the page that publishes the method.
func (s *Site) AppendMethod(dst []byte, p MethodPage) ([]byte, error) {
	view, err := newMethodView(s.chrome, &p)
	if err != nil {
		return dst, err
	}
	return s.appendPage(dst, "method.html", view)
}

// AppendError appends an error page.
func (s *Site) AppendError(dst []byte, p ErrorPage) ([]byte, error) {
	return s.appendPage(dst, "error.html", newErrorView(s.chrome, &p))
}

// AppendAbout appends the page about this site.
func (s *Site) AppendAbout(dst []byte, baseURL string) ([]byte, error) {
	return s.appendPage(dst, "about.html", newAboutView(s.chrome, baseURL))
}

// AppendBot appends the page about the crawler, for the owners of sites that it reads.
func (s *Site) AppendBot(dst []byte, baseURL string) ([]byte, error) {
	return s.appendPage(dst, "bot.html", newBotView(s.chrome, baseURL))
}

// AppendStatus appends the status page of a node.
func (s *Site) AppendStatus(dst []byte, p StatusPage) ([]byte, error) {
	return s.appendPage(dst, "status.html", newStatusView(s.chrome, &p))
}

// AppendBadges appends the badge builder.
func (s *Site) AppendBadges(dst []byte, p BadgesPage) ([]byte, error) {
	return s.appendPage(dst, "badges.html", newBadgesView(s.chrome, &p))
}

// AppendLLMs appends the page that writes and checks an llms.txt.
func (s *Site) AppendLLMs(dst []byte, p LLMsPage) ([]byte, error) {
	return s.appendPage(dst, "llms.html", newLLMsView(s.chrome, &p))
}

// AppendDispute appends the page on which a finding about a brand is disputed.
func (s *Site) AppendDispute(dst []byte, p DisputePage) ([]byte, error) {
	return s.appendPage(dst, "dispute.html", newDisputeView(s.chrome, &p))
}

// AppendClaim appends the page on which the owner of a site claims its brand.
func (s *Site) AppendClaim(dst []byte, p ClaimPage) ([]byte, error) {
	return s.appendPage(dst, "claim.html", newClaimView(s.chrome, &p))
}

// AppendCheck appends the page that requests a check of a site, or the page of one.
func (s *Site) AppendCheck(dst []byte, p CheckPage) ([]byte, error) {
	return s.appendPage(dst, "check.html", newSitecheckView(s.chrome, &p))
}

// AppendDevelopers appends the page for developers.
func (s *Site) AppendDevelopers(dst []byte, p DevelopersPage) ([]byte, error) {
	return s.appendPage(dst, "developers.html", newDevelopersView(s.chrome, &p))
}

// AppendPlayground appends the page on which an author runs a module.
func (s *Site) AppendPlayground(dst []byte, p DevelopersPage) ([]byte, error) {
	return s.appendPage(dst, "playground.html", newPlaygroundView(s.chrome, &p))
}

// Icon returns the logo as SVG, for clients that request it at a conventional path.
func (s *Site) Icon() (body []byte, contentType, etag string) {
	a := s.assets[s.chrome.Icon]
	return a.body, a.contentType, a.etag
}

// Asset returns the static file at a path such as /static/site.<hash>.css. The name changes
// with the content, so a response may be cached without a time limit.
func (s *Site) Asset(path string) (body []byte, contentType, etag string, ok bool) {
	a, ok := s.assets[path]
	return a.body, a.contentType, a.etag, ok
}

// WorkerPolicy returns the Content-Security-Policy of a static file that browsers run as a
// worker; empty for all others. The worker compiles modules, and may load nothing.
func (s *Site) WorkerPolicy(path string) string {
	if path != s.chrome.RunScript {
		return ""
	}
	return "default-src 'none'; script-src 'wasm-unsafe-eval'"
}

// appendPage renders and minifies. Pages are rendered when a cache is filled,
// so what minifying costs is paid once and saved on every answer.
func (s *Site) appendPage(dst []byte, name string, view any) ([]byte, error) {
	var page bytes.Buffer
	if err := s.pages.ExecuteTemplate(&page, name, view); err != nil {
		return dst, fmt.Errorf("render %s: %w", name, err)
	}
	out := bytes.NewBuffer(dst)
	if err := s.minify.Minify("text/html", out, &page); err != nil {
		return dst, fmt.Errorf("minify %s: %w", name, err)
	}
	return out.Bytes(), nil
}
