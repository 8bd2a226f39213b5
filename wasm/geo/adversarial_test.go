package geo_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// markedUp is a site with all the markup of a perfect one, as a script of a few kilobytes
// produces it: what it claims is free, its text is of the given kind.
type markedUp struct {
	name   string
	text   func(random *rand.Rand, page int) []string // paragraphs
	sameAs []string
	extra  string // HTML after the text of each page
	known  bool   // the registry saw the same text earlier at another brand

	// passes is why an audit cannot distinguish the site from an honest one; empty if it must stay below
	// grade C.
	passes string
	floor  float64 // lower end of the range that an honest site has at least
}

// markedUpSites are built by a seeded generator.
var markedUpSites = []markedUp{
	{name: "gibberish", text: letters, sameAs: borrowed},
	{name: "gibberish in another language", text: letters, sameAs: borrowed, extra: `<p lang=la></p>`},
	{name: "keywords", text: keywords, sameAs: borrowed},
	{name: "shuffled keywords", text: shuffledKeywords, sameAs: borrowed},
	{name: "borrowed identity", text: letters,
		sameAs: append([]string{"https://github.com/own", "https://codeberg.org/own"}, borrowed...)},
	{name: "one copied text on every page", text: func(*rand.Rand, int) []string { return known(0) }, sameAs: borrowed},
	{name: "link farm", text: links, sameAs: borrowed},
	{name: "copied site", text: func(_ *rand.Rand, page int) []string { return known(page) }, sameAs: borrowed,
		passes: "the text is honest; whose it is only the registry can tell, if it knows the other site"},
	{name: "copied site of another brand", text: func(_ *rand.Rand, page int) []string { return known(page) },
		sameAs: borrowed, known: true},
	{name: "random words", text: randomWords, sameAs: borrowed},
	{name: "random words in order", text: func(random *rand.Rand, _ int) []string { return split(prose(random, 360)) },
		sameAs: borrowed, passes: "words and their order are those of the language; that it makes no sense takes a " +
			"reader"},
	{name: "honest", text: func(_ *rand.Rand, page int) []string { return known(page) },
		sameAs: []string{"https://www.wikidata.org/wiki/Q1", "https://github.com/own", "https://codeberg.org/own"},
		passes: "it is what it says", floor: 85},
}

// borrowed is the identity of another person.
var borrowed = []string{"https://www.wikidata.org/wiki/Q42", "https://en.wikipedia.org/wiki/Douglas_Adams",
	"https://www.crunchbase.com/organization/other", "https://medium.com/@other"}

func split(text string) (paragraphs []string) {
	for words := strings.Fields(text); len(words) > 0; words = words[min(60, len(words)):] {
		paragraphs = append(paragraphs, strings.Join(words[:min(60, len(words))], " "))
	}
	return paragraphs
}

func letters(random *rand.Rand, _ int) []string {
	var b strings.Builder
	for range 360 {
		for range 2 + random.IntN(9) {
			b.WriteByte("aeioubcdfglmnprst"[random.IntN(17)])
		}
		b.WriteByte(' ')
	}
	return split(b.String())
}

// randomWords is words of the language, common ones in their usual share.
func randomWords(random *rand.Rand, _ int) []string {
	var b strings.Builder
	for range 360 {
		list := rare
		if random.Float64() < 0.5 {
			list = common
		}
		b.WriteString(list[random.IntN(len(list))] + " ")
	}
	return split(b.String())
}

func keywords(random *rand.Rand, page int) []string {
	return split(strings.Repeat("Buy cheap bread of the best bakery in town, the best bread for you and your family. ",
		20))
}

func shuffledKeywords(random *rand.Rand, _ int) []string {
	list := strings.Fields("bread bakery cheap best online town buy fresh cake rolls price offer shop order delivery")
	var b strings.Builder
	for range 24 {
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		b.WriteString(strings.Join(list, " ") + " ")
	}
	return split(b.String())
}

// links is hundreds of links to other domains with a few words each.
func links(random *rand.Rand, page int) []string {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, `<a href="https://partner%d-%d.example/">best %s %s</a> `, page, i,
			rare[random.IntN(len(rare))],
			rare[random.IntN(len(rare))])
	}
	return []string{b.String()}
}

// known returns the text of a page of a demo site, as an honest author wrote it.
func known(page int) []string {
	files := knownFiles()
	raw, err := os.ReadFile(files[page%len(files)])
	if err != nil {
		panic(err)
	}
	text := regexp.MustCompile(`(?s)<!--.*?-->|\{\{.*?\}\}|<[^>]*>`).ReplaceAllString(string(raw), " ")
	return split(text)
}

func knownFiles() []string {
	files, err := filepath.Glob("../../cmd/fieldmark/demo/sites/alpenglow/*.html")
	if err != nil {
		panic(err)
	}
	more, _ := filepath.Glob("../../cmd/fieldmark/demo/sites/alpenglow/journal/*.html")
	return slices.DeleteFunc(append(files, more...), func(f string) bool {
		return strings.HasPrefix(filepath.Base(f), "_") || strings.HasPrefix(filepath.Base(f), "404")
	})
}

var markedUpPaths = []string{"/", "/about", "/contact", "/pricing", "/journal", "/guide", "/story"}

// page returns the HTML of one page.
func (m *markedUp) page(at int) string {
	random := rand.New(rand.NewPCG(uint64(at), uint64(len(m.name))))
	path := markedUpPaths[at]
	title := fmt.Sprintf("Example page %d about bread", at)
	date := asOf.AddDate(0, 0, -at-1).Format(time.DateOnly)
	same := `"` + strings.Join(m.sameAs, `","`) + `"`
	head := `<title>` + title + ` | Example</title><meta name=description ` +
		`content="` + title + `: what Example does, for whom, and how it goes about it every day.">
<link rel=canonical href="https://example.com` + path + `"><link rel=describedby href="/llms.txt"><link ` +
		`rel=alternate type="application/atom+xml" href="/feed.xml"><link rel=alternate type="text/markdown" ` +
		`href="/index.md">
<meta property=og:title content=T><meta property=og:description content=D><meta property=og:image content=/i.png>` +
		`<meta property=og:url content="https://example.com` + path + `"><meta property=og:site_name content="Example">
<script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":"Organization",` +
		`"name":"Example","url":"https://example.com/","logo":"/l.png","description":"We do things.",` +
		`"contactPoint":{"@type":"ContactPoint","telephone":"+1"},"sameAs":[` + same + `]},
{"@type":"Article","headline":"` + title + `","author":{"@type":"Person","name":"Ada Byron"},` +
		`"dateModified":"` + date + `"}]}</script>`
	var body strings.Builder
	fmt.Fprintf(&body, "<h1>%s</h1>", title)
	for i, p := range m.text(random, at) {
		fmt.Fprintf(&body, "<h2>Part %d</h2><p>%s</p>", i+1, p)
		fmt.Fprintf(&body, `<p>It saved %d %% of %d,200 kWh, as <a href="https://source%d-%d.example.org/">a `+
			`study</a> says.</p>`,
			10+at+i, 1+i, at, i)
	}
	fmt.Fprintf(&body, `<blockquote>%s is the most useful thing of all that we have seen.<footer>Ada Byron, `+
		`engineer</footer></blockquote>
<h2>How much is it?</h2><p>It costs $40 a month for a team of five.</p><ul><li>fast</li><li>small</li></ul><table>`+
		`<tr><th>size<th>price</tr><tr><td>large<td>high</tr></table>`, title)
	nav := `<nav><a href=/about>About us</a> <a href=/contact>Contact</a> <a href=/pricing>Pricing</a></nav>`
	return `<!doctype html><html lang=en><head>` + head + `</head><body>` + nav + `<main>` + body.String() + m.extra +
		`</main></body></html>`
}

// ServeHTTP serves the site and the profiles elsewhere: its own lead back, borrowed ones do
// not.
func (m *markedUp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	path := r.URL.Path
	switch {
	case path == "/robots.txt":
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "User-agent: *\nAllow: /\nSitemap: https://example.com/sitemap.xml\n")
	case r.Host == "www.wikidata.org":
		website := "https://douglasadams.com/"
		if strings.Contains(path, "Q1.json") {
			website = "https://example.com/"
		}
		fmt.Fprintf(w, `{"entities":{"Q":{"claims":{"P856":[{"rank":"normal",`+
			`"mainsnak":{"datavalue":{"value":%q}}}]}}}}`, website)
	case r.Host != "example.com" && path == "/own":
		io.WriteString(w, `<body><a rel=me href="https://example.com/">Website</a>`)
	case r.Host != "example.com":
		io.WriteString(w, `<body class="ns-0"><p>`+prose(rand.New(rand.NewPCG(1, 1)), 80))
	case path == "/llms.txt":
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "# Example\n\n> What Example does.\n\n## Pages\n\n- [About](https://example.com/about): "+
			"who we are\n")
	case path == "/sitemap.xml":
		w.Header().Set("Content-Type", "application/xml")
		io.WriteString(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for _, p := range markedUpPaths {
			fmt.Fprintf(w, "<url><loc>https://example.com%s</loc></url>", p)
		}
		io.WriteString(w, "</urlset>")
	case slices.Contains(markedUpPaths, path):
		io.WriteString(w, m.page(slices.Index(markedUpPaths, path)))
	default:
		http.NotFound(w, r)
	}
}

// audit audits the site.
func (m *markedUp) audit(t *testing.T) fieldmark.Facts {
	t.Helper()
	hosts := []string{"example.com", "www.wikidata.org", "en.wikipedia.org", "github.com", "codeberg.org", "medium.com",
		"www.crunchbase.com"}
	cert, roots := certificateFor(t, hosts)
	secure := httptest.NewUnstartedServer(m)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://example.com"+r.URL.Path, http.StatusMovedPermanently)
	}))
	defer plain.Close()
	connect := map[string]string{"example.com:80": plain.Listener.Addr().String()}
	for _, host := range hosts {
		connect[host+":443"] = secure.Listener.Addr().String()
	}
	client := safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		ConnectTo: connect, Roots: roots})
	defer client.CloseIdle()
	auditor, err := audit.New(audit.Config{HTTP: client, Delay: -1})
	must(t, err)
	report, err := auditor.Audit(t.Context(), audit.Subject{URL: "https://example.com/", Name: "Example",
		Language: "en", AsOf: asOf, Earlier: func(_ context.Context, texts audit.Texts) (map[string]audit.EarlierText,
			error) {
			earlier := map[string]audit.EarlierText{}
			for _, p := range texts.Pages {
				if m.known {
					earlier[p.URL] = audit.EarlierText{URL: "https://other.example/", Since: asOf.AddDate(0, -1, 0)}
				}
			}
			return earlier, nil
		}}, nil)
	must(t, err)
	return report.Facts
}

// certificateFor returns a certificate for hosts, and its root.
func certificateFor(t *testing.T, hosts []string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: hosts, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(crand.Reader, template, template, key.Public(), key)
	must(t, err)
	root, err := x509.ParseCertificate(der)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(root)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// TestAdversarialSites: a site that a script fills, with all the markup of a perfect one,
// has no score or a grade below C, which goes by the lower end of the range, with every
// version of the method. The same markup around an honest text gets a good grade. What
// an audit cannot distinguish is listed with the reason.
func TestAdversarialSites(t *testing.T) {
	if len(knownFiles()) == 0 {
		t.Fatal("the pages of the demo were not found")
	}
	engine, err := wasm.New(wasm.Config{})
	must(t, err)
	t.Cleanup(func() { _ = engine.Close(context.Background()) })
	var modules []*wasm.Module
	for _, raw := range geo.Modules() {
		module, err := engine.Load(t.Context(), raw)
		must(t, err)
		modules = append(modules, module)
	}
	for i := range markedUpSites {
		m := &markedUpSites[i]
		facts := m.audit(t)
		for n, module := range modules {
			a, err := module.Assess(t.Context(), &facts, asOf)
			must(t, err)
			if a.Score == nil {
				t.Logf("%-30s method %d: %s, confidence %s", m.name, n+1, a.Status, a.Confidence.Value)
				if m.passes != "" || a.Status != fieldmark.StatusInsufficientData {
					home, _ := facts.Find("home.reachable")
					t.Errorf("%s, method %d: no score: %s, %+v", m.name, n+1, a.Status, home.Evidence)
				}
				continue
			}
			t.Logf("%-30s method %d: score %s, range %s to %s, grade %s; %s", m.name, n+1, a.Score, a.Range.Low,
				a.Range.High,
				a.Grade, m.passes)
			if m.passes == "" && a.Range.Low.Float() >= 55 {
				t.Errorf("%s, method %d: %s to %s, want a lower end below 55, grade C", m.name, n+1, a.Range.Low,
					a.Range.High)
			}
			if a.Range.Low.Float() < m.floor {
				t.Errorf("%s, method %d: %s to %s, want a lower end of at least %g", m.name, n+1, a.Range.Low,
					a.Range.High,
					m.floor)
			}
		}
	}
}

// must fails the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
