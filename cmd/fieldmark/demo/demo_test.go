package demo_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/demo"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/llms"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// start serves the demo sites on loopback and returns the URL of each site.
func start(t *testing.T) func(demo.Site) string {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	addr := srv.Listener.Addr().String()
	base := func(s demo.Site) string { return "http://" + s.Host + addr[strings.LastIndex(addr, ":"):] }
	srv.Config.Handler = demo.Handler(base)
	srv.Start()
	t.Cleanup(srv.Close)
	return base
}

// get calls the handler directly, without a network.
func get(t *testing.T, h http.Handler, address string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
	return w
}

func base(s demo.Site) string { return "http://" + s.Host + ":8088" }

// aborts reports whether the site drops the connection.
func aborts(h http.Handler, address string) (gone bool) {
	defer func() {
		if err, ok := recover().(error); ok && errors.Is(err, http.ErrAbortHandler) {
			gone = true
		}
	}()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, address, nil))
	return false
}

func TestSites(t *testing.T) {
	languages, niches, unreachable := map[string]bool{}, map[string]bool{}, 0
	h := demo.Handler(base)
	seen := map[fieldmark.Slug]bool{}
	for _, s := range demo.Sites() {
		if _, err := fieldmark.ParseSlug(string(s.Slug)); err != nil || seen[s.Slug] {
			t.Errorf("slug %q: %v, seen %v", s.Slug, err, seen[s.Slug])
		}
		seen[s.Slug] = true
		if !fieldmark.ValidSlug(s.Niche) || s.Name == "" || len([]rune(s.Description)) < 20 ||
			s.Host != string(s.Slug)+".localhost" {
			t.Errorf("site %+v is not complete", s)
		}
		languages[s.Language], niches[s.Niche] = true, true
		if aborts(h, base(s)+"/") {
			unreachable++
			if !aborts(h, base(s)+"/robots.txt") {
				t.Errorf("%s answers for robots.txt and not for its home page", s.Slug)
			}
		}
	}
	if len(seen) < 9 || len(languages) < 6 || len(niches) < 7 || !languages["ar"] || unreachable != 1 {
		t.Errorf("%d sites in %d languages and %d niches, %d unreachable; want at least 9, 6, 7 and exactly 1",
			len(seen), len(languages), len(niches), unreachable)
	}
}

// fetched is one page of a site.
type fetched struct {
	url  string
	root *html.Node
}

// crawl follows every link inside a site and fails if a target is missing.
func crawl(t *testing.T, h http.Handler, s demo.Site) []fetched {
	t.Helper()
	var pages []fetched
	queue, seen := []string{base(s) + "/"}, map[string]bool{base(s) + "/": true}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		w := get(t, h, at)
		if w.Code != http.StatusOK {
			t.Errorf("%s answered %d", at, w.Code)
			continue
		}
		body := w.Body.String()
		if strings.Contains(body, "{{") || strings.Contains(body, "<no value>") {
			t.Errorf("%s has a placeholder left in it", at)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Content-Type") == "" {
			t.Errorf("%s has header %v", at, w.Header())
		}
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			continue
		}
		root, err := html.Parse(strings.NewReader(body))
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		pages = append(pages, fetched{at, root})
		for _, link := range links(root) {
			u, err := url.Parse(at)
			if err == nil {
				u, err = u.Parse(link)
			}
			if err != nil {
				t.Errorf("%s links to %q: %v", at, link, err)
				continue
			}
			u.Fragment = ""
			if to := u.String(); strings.HasPrefix(to, base(s)+"/") && !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return pages
}

// links returns every address that a page links to.
func links(root *html.Node) (all []string) {
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "href" || a.Key == "src" || a.Key == "cite" {
				all = append(all, a.Val)
			}
		}
		if content := attr(n, "content"); n.Data == "meta" && strings.HasPrefix(content, "http") {
			all = append(all, content)
		}
	}
	return all
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func TestPages(t *testing.T) {
	for _, ago := range append(demo.Past(), 0) {
		testEdition(t, ago)
	}
}

func testEdition(t *testing.T, ago int) {
	h := demo.Edition(base, ago)
	for _, s := range demo.Sites() {
		if aborts(h, base(s)+"/") {
			continue
		}
		t.Run(fmt.Sprintf("%s %d days ago", s.Slug, ago), func(t *testing.T) {
			for _, p := range crawl(t, h, s) {
				checkPage(t, s, p)
			}
			checkSitemap(t, h, s)
			if w := get(t, h, base(s)+"/no-such-page"); w.Code != http.StatusNotFound {
				t.Errorf("an unknown page answered %d, want 404", w.Code)
			}
			if w := get(t, h, base(s)+"/llms.txt"); w.Code == http.StatusOK {
				r := llms.Lint(w.Body.Bytes())
				if r.Level != 4 || len(r.Issues) != 0 || !strings.HasPrefix(w.Header().Get("Content-Type"),
					"text/markdown") {
					t.Errorf("llms.txt as %s: level %d, %v", w.Header().Get("Content-Type"), r.Level, r.Issues)
				}
			}
		})
	}
}

// checkPage checks the language, the direction and the markup of one page.
func checkPage(t *testing.T, s demo.Site, p fetched) {
	t.Helper()
	for n := range p.root.Descendants() {
		switch {
		case n.Data == "html" && n.Type == html.ElementNode:
			if lang := attr(n, "lang"); lang != "" && lang != s.Language {
				t.Errorf("%s has lang %q, want %q", p.url, lang, s.Language)
			}
			if rtl := attr(n, "dir") == "rtl"; rtl != (s.Language == "ar") {
				t.Errorf("%s: right to left is %v in %s", p.url, rtl, s.Language)
			}
		case n.Data == "script" && attr(n, "type") == "application/ld+json":
			var v map[string]any
			if err := json.Unmarshal([]byte(n.FirstChild.Data), &v); err != nil ||
				v["@context"] != "https://schema.org" {
				t.Errorf("%s: JSON-LD: %v in %s", p.url, err, n.FirstChild.Data)
			}
		case n.Data == "link" && attr(n, "rel") == "canonical":
			if href := attr(n, "href"); href != p.url {
				t.Errorf("%s has canonical %s", p.url, href)
			}
		case n.Data == "time":
			day, err := time.Parse(time.DateOnly, attr(n, "datetime"))
			if err != nil || day.After(time.Now()) {
				t.Errorf("%s has the date %q: %v", p.url, attr(n, "datetime"), err)
			}
		}
	}
}

// checkSitemap checks that the sitemap named in robots.txt exists and lists pages.
func checkSitemap(t *testing.T, h http.Handler, s demo.Site) {
	t.Helper()
	_, after, ok := strings.Cut(get(t, h, base(s)+"/robots.txt").Body.String(), "Sitemap: ")
	if !ok {
		return
	}
	var set struct {
		URL []struct {
			Loc     string `xml:"loc"`
			Lastmod string `xml:"lastmod"`
		} `xml:"url"`
	}
	if err := xml.Unmarshal(get(t, h, strings.TrimSpace(after)).Body.Bytes(), &set); err != nil || len(set.URL) == 0 {
		t.Errorf("sitemap %s: %v, %d addresses", after, err, len(set.URL))
	}
	for _, u := range set.URL {
		if _, err := time.Parse(time.DateOnly, u.Lastmod); err != nil {
			t.Errorf("%s: lastmod %q: %v", u.Loc, u.Lastmod, err)
		}
		if w := get(t, h, u.Loc); w.Code != http.StatusOK {
			t.Errorf("%s is listed and answered %d", u.Loc, w.Code)
		}
	}
}

func TestHandler(t *testing.T) {
	h := demo.Handler(base)
	if w := get(t, h, "http://nobody.localhost:8088/"); w.Code != http.StatusNotFound {
		t.Errorf("an unknown host answered %d, want 404", w.Code)
	}
	if w := get(t, h, "http://ALPENGLOW.localhost/"); w.Code != http.StatusOK {
		t.Errorf("a host in capitals without a port answered %d, want 200", w.Code)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "http://alpenglow.localhost/", nil))
	if w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("Content-Length") == "0" {
		t.Errorf("HEAD answered %d with %d bytes and header %v", w.Code, w.Body.Len(), w.Header())
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://alpenglow.localhost/", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST answered %d, allowing %q", w.Code, w.Header().Get("Allow"))
	}
	if body := get(t, h, "http://alpenglow.localhost/404").Code; body != http.StatusNotFound {
		t.Errorf("the page for unknown paths answered %d under its own name, want 404", body)
	}
}

// The unreachable site must drop connections, not return an empty response.
func TestUnreachable(t *testing.T) {
	at := start(t)
	for _, s := range demo.Sites() {
		u, err := url.Parse(at(s))
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:"+u.Port()+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = u.Host
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
		if dead := s.Slug == "fjordklinikken"; dead != (err != nil) {
			t.Errorf("%s: error %v, want one: %v", s.Slug, err, dead)
		}
	}
}

func TestEmbeddedSize(t *testing.T) {
	const limit = 400_000 // the sites are part of every binary
	total := int64(0)
	err := filepath.WalkDir("sites", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		total += info.Size()
		return err
	})
	if err != nil || total > limit {
		t.Errorf("sites take %d bytes (%v), want at most %d", total, err, limit)
	}
}

// TestSpread audits and scores every site. It checks that the demo shows every grade
// and both gates, and that the scores are spread; it does not expect a score of a
// particular site.
func TestSpread(t *testing.T) {
	at := start(t)
	ctx := context.Background()
	client := safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"),
		netip.MustParsePrefix("::1/128")}})
	t.Cleanup(client.CloseIdle)
	auditor, err := audit.New(audit.Config{HTTP: client, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := wasm.New(wasm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close(ctx) })
	module, err := engine.Load(ctx, geo.Module())
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	var scores []fieldmark.Milli
	for _, s := range demo.Sites() {
		report, err := auditor.Audit(ctx, audit.Subject{URL: at(s) + "/", Name: s.Name, Language: s.Language}, nil)
		if err != nil {
			t.Fatalf("audit %s: %v", s.Slug, err)
		}
		a, err := module.Assess(ctx, &report.Facts, time.Now())
		if err != nil {
			t.Fatalf("assess %s: %v", s.Slug, err)
		}
		shown = append(shown, string(a.Status), string(a.Grade))
		if a.Score != nil {
			scores = append(scores, *a.Score)
		}
		if a.GeoReady {
			shown = append(shown, "ready")
		}
		for _, g := range a.Gates {
			shown = append(shown, g.ID)
		}
	}
	for _, want := range []string{"scored", "unreachable", "A", "B", "C", "D", "E", "ready", "app_shell",
		"answer_crawlers_blocked"} {
		if !slices.Contains(shown, want) {
			t.Errorf("no site shows %q; all together show %q", want, shown)
		}
	}
	if top, bottom := slices.Max(scores), slices.Min(scores); top < 85*fieldmark.MilliOne ||
		bottom > 40*fieldmark.MilliOne {
		t.Errorf("scores go from %v to %v, want from below 40 to above 85", bottom, top)
	}
}

// TestTypography: French sets no plain space before high punctuation, where a line could break, and a page in
// Arabic writes its numbers with one kind of digits; phone numbers keep theirs.
func TestTypography(t *testing.T) {
	spaced := regexp.MustCompile(`[\pL\d] [?!;:»€]|« `)
	digits := regexp.MustCompile(`\d+`)
	checked := 0
	for _, site := range []string{"atelier-mistral", "wahat-alnakheel"} {
		pages, err := filepath.Glob("sites/" + site + "/*.html")
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			if name := filepath.Base(page); name[0] == '_' || name == "ittisal.html" { // the layout; the phone number
				continue
			}
			src, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			checked++
			text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(src), "") // and the comment with its fields
			wrong := spaced
			if site == "wahat-alnakheel" {
				wrong = digits
			}
			for _, found := range wrong.FindAllString(text, -1) {
				t.Errorf("%s: %q", page, found)
			}
		}
	}
	if checked < 6 {
		t.Errorf("%d pages were checked, want all", checked)
	}
}
