package geo_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// siteKind is a kind of website whose pages differ as those of real sites do: each quality of
// a page has a probability.
type siteKind struct {
	name   string
	pages  int
	listed float64 // share of the pages in the sitemap; the rest is only linked
	seed   uint64

	words                                   float64 // median; lengths are log-normal
	spread                                  float64 // of the logarithm of the length
	title, description, canonical, language float64
	headings, list, table, question         float64
	links, figures, quotations              float64 // mean number in 300 words
	dated, article, author, product         float64
	age                                     int // days over which dates are distributed
	missing, noindex, blocked, hreflang     float64
}

// kinds are the sites of TestSixteenHosts.
var kinds = []siteKind{
	{name: "shop", pages: 640, listed: 0.9, words: 140, spread: 0.6, title: 0.9, description: 0.6, canonical: 0.95,
		language: 1, headings: 0.7, list: 0.8, table: 0.4, links: 0.1, figures: 1.5, product: 0.7, missing: 0.02},
	{name: "magazine", pages: 1200, listed: 0.6, words: 700, spread: 0.7, title: 0.8, description: 0.8, canonical: 0.9,
		language: 1, headings: 0.6, list: 0.3, question: 0.2, links: 2.5, figures: 2, quotations: 0.8, dated: 0.9,
		article: 0.85, author: 0.7, age: 2000, missing: 0.05},
	{name: "manual", pages: 180, listed: 0, words: 450, spread: 1, title: 0.95, description: 0.1, canonical: 0.5,
		language: 0.6, headings: 0.5, list: 0.6, table: 0.3, links: 0.6, figures: 0.8, dated: 0.3, age: 900,
		blocked: 0.2},
	{name: "practice", pages: 110, listed: 1, words: 260, spread: 0.5, title: 0.7, description: 0.4, canonical: 0.3,
		language: 0.9, headings: 0.4, list: 0.3, question: 0.3, links: 0.3, figures: 0.5, quotations: 0.3, dated: 0.2,
		article: 0.2, author: 0.3, age: 1500, hreflang: 0.5},
	{name: "forum", pages: 3000, listed: 0.3, words: 120, spread: 1.2, title: 0.6, description: 0.3, canonical: 0.8,
		language: 1, headings: 0.3, list: 0.1, links: 0.8, figures: 0.4, quotations: 0.4, dated: 0.8, age: 3000,
		missing: 0.1, noindex: 0.15},
}

// vocabulary of the texts: with the common words of English in their usual share.
var common = strings.Fields("the the the the of of of and and and to to in in a a is that for it as was with on be " +
	"at by " +
	"this are from or have an they which you were her all their there been has when who will more if out so up")

var rare = strings.Fields("garden river market winter bread copper engine window school letter harbour mountain " +
	"kitchen " +
	"answer paper morning village doctor forest number people summer picture service travel message journey station " +
	"colour building question history company weather island father mother product country machine science subject " +
	"material pattern surface measure village repair delivery order stock season quality method result season teacher")

// prose returns n words of sentences: a rare word follows an article, as in language.
func prose(random *rand.Rand, n int) string {
	var b strings.Builder
	article := false
	for i := range n {
		list := rare
		if !article && random.Float64() < 0.65 {
			list = common
		}
		word := list[random.IntN(len(list))]
		article = word == "the" || word == "a" || word == "an" || word == "this"
		if i%12 == 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
		if i%12 == 11 || i == n-1 {
			b.WriteByte('.')
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// page returns the HTML of page i of a site; it is the same under every host.
func (k *siteKind) page(host string, i int) string {
	random := rand.New(rand.NewPCG(k.seed+uint64(len(k.name)), uint64(i)))
	has := func(share float64) bool { return random.Float64() < share }
	name := strings.Join(strings.Fields(prose(random, 3))[:3], " ") + fmt.Sprint(" ", i)
	var head, body strings.Builder
	if has(k.title) {
		fmt.Fprintf(&head, "<title>%s explained in some detail</title>", name)
	} else {
		head.WriteString("<title>Untitled</title>")
	}
	if has(k.description) {
		fmt.Fprintf(&head, `<meta name="description" content="%s">`, prose(random, 18))
	}
	if has(k.canonical) {
		fmt.Fprintf(&head, `<link rel="canonical" href="http://%s%s">`, host, k.path(i))
	}
	if has(k.noindex) {
		head.WriteString(`<meta name="robots" content="noindex">`)
	}
	if has(k.hreflang) {
		fmt.Fprintf(&head, `<link rel="alternate" hreflang="de" href="http://%s/de%s">`, host, k.path(i))
	}
	data := map[string]any{"@context": "https://schema.org", "@type": "WebPage"}
	switch {
	case has(k.article):
		data["@type"], data["headline"] = "Article", name
		if has(k.author) {
			data["author"] = map[string]any{"@type": "Person", "name": "Ada Byron"}
		}
	case has(k.product):
		data["@type"], data["name"] = "Product", name
	}
	if has(k.dated) {
		data["dateModified"] = asOf.AddDate(0, 0, -random.IntN(k.age)).Format(time.DateOnly)
	}
	ld, _ := json.Marshal(data)
	fmt.Fprintf(&head, `<script type="application/ld+json">%s</script>`, ld)

	words := int(k.words * math.Exp(k.spread*random.NormFloat64()))
	fmt.Fprintf(&body, "<h1>%s</h1>", name)
	well := has(k.headings)
	for left := min(words, 6000); left > 0; left -= 250 {
		fmt.Fprintf(&body, "<p>%s</p>", prose(random, min(left, 250)))
		if well {
			fmt.Fprintf(&body, "<h2>%s</h2>", prose(random, 4))
		}
	}
	times := func(mean float64) int { return int(mean*float64(words)/300 + random.Float64()) }
	for range times(k.links) {
		fmt.Fprintf(&body, `<p>As <a href="https://source%d.example/">a source</a> says.</p>`, random.IntN(60))
	}
	for range times(k.figures) {
		fmt.Fprintf(&body, "<p>It weighs %d.%d kg.</p>", random.IntN(90), random.IntN(10))
	}
	for range times(k.quotations) {
		fmt.Fprintf(&body, "<p>“%s”, said Ada Byron.</p>", strings.TrimSpace(prose(random, 11)))
	}
	if has(k.list) {
		body.WriteString("<ul><li>one thing</li><li>another thing</li></ul>")
	}
	if has(k.table) {
		body.WriteString("<table><tr><th>size<th>price</tr><tr><td>large<td>high</tr></table>")
	}
	if has(k.question) {
		body.WriteString("<h2>How does it work?</h2><p>It works well on most days.</p>")
	}
	for j := range 25 { // links through which every page can be found
		fmt.Fprintf(&body, `<a href="%s">next</a> `, k.path((i*25+j+1)%k.pages))
	}
	language := ""
	if has(k.language) {
		language = ` lang="en"`
	}
	return fmt.Sprintf("<!doctype html><html%s><head>%s</head><body><nav><a href=/about>About us</a> "+
		"<a href=/contact>Contact</a></nav><main>%s</main></body></html>", language, head.String(), body.String())
}

// path returns the path of page i.
func (k *siteKind) path(i int) string {
	if float64(i%97)/97 < k.blocked {
		return fmt.Sprintf("/old/p%d", i)
	}
	return fmt.Sprintf("/p%d", i)
}

// ServeHTTP serves the site under any host.
func (k *siteKind) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	var i int
	switch path := r.URL.Path; {
	case path == "/robots.txt":
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "User-agent: Bingbot\nDisallow: /old/\n")
	case path == "/sitemap.xml" && k.listed > 0:
		w.Header().Set("Content-Type", "application/xml")
		io.WriteString(w, "<urlset>")
		for i := range int(float64(k.pages) * k.listed) {
			fmt.Fprintf(w, "<url><loc>http://%s%s</loc></url>", r.Host, k.path(i))
		}
		io.WriteString(w, "</urlset>")
	case path == "/":
		page := k.page(r.Host, k.pages)
		var links strings.Builder
		for i := range k.pages {
			fmt.Fprintf(&links, `<a href="%s">%d</a> `, k.path(i), i)
		}
		io.WriteString(w, strings.Replace(page, "</nav>", "</nav>"+`<nav>`+links.String()+`</nav>`, 1))
	case path == "/about", path == "/contact":
		io.WriteString(w, k.page(r.Host, k.pages+len(path)))
	case scan(path, &i) && i < k.pages && rand.New(rand.NewPCG(k.seed, uint64(i))).Float64() >= k.missing:
		io.WriteString(w, k.page(r.Host, i))
	default:
		http.NotFound(w, r)
	}
}

// scan parses the number of a page.
func scan(path string, i *int) bool {
	_, err := fmt.Sscanf(strings.TrimPrefix(path, "/old"), "/p%d", i)
	return err == nil
}

var asOf = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// hosts is the number of copies of a site.
const hosts = 16

// TestSixteenHosts audits sixteen copies of a site under sixteen host names, each with its own
// draw of pages. The range of each contains the scores of the others in at least 94 of 100
// cases, and so does nearly the part of the range that is estimated from the draw.
func TestSixteenHosts(t *testing.T) {
	t.Parallel()
	engine, err := wasm.New(wasm.Config{})
	must(t, err)
	t.Cleanup(func() { _ = engine.Close(context.Background()) })
	module, err := engine.Load(t.Context(), geo.Module())
	must(t, err)
	var all coverage
	for i := range kinds {
		k := &kinds[i]
		t.Run(k.name, func(t *testing.T) {
			c := coverageOf(assessments(t, k, module))
			t.Log(k.name, c)
			if c.ranges < 0.94 || c.sampling < 0.85 {
				t.Errorf("%s: want at least 0.94, and 0.85 by the draw alone", c)
			}
			all.ranges += c.ranges / float64(len(kinds))
			all.sampling += c.sampling / float64(len(kinds))
		})
	}
	if all.sampling < 0.9 {
		t.Errorf("all sites: %.3f by the draw alone, want at least 0.9", all.sampling)
	}
}

// assessments audits and scores the copies of a site.
func assessments(t *testing.T, k *siteKind, module *wasm.Module) (list []fieldmark.Assessment) {
	t.Helper()
	server := httptest.NewServer(k)
	defer server.Close()
	connect := map[string]string{}
	for i := range hosts {
		connect[net.JoinHostPort(hostName(i), "80")] = server.Listener.Addr().String()
	}
	client := safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		ConnectTo: connect})
	defer client.CloseIdle()
	auditor, err := audit.New(audit.Config{HTTP: client, Delay: -1})
	must(t, err)
	for i := range hosts {
		seed := sha256.Sum256([]byte(hostName(i)))
		report, err := auditor.Audit(t.Context(), audit.Subject{URL: "http://" + hostName(i) + "/", Name: "Acme",
			Language: "en", AsOf: asOf, Seed: hex.EncodeToString(seed[:16])}, nil)
		must(t, err)
		a, err := module.Assess(t.Context(), &report.Facts, asOf)
		must(t, err)
		if a.Score == nil || a.Uncertainty.Sampling == nil {
			t.Fatalf("%s has no score or no sampling error: %+v", hostName(i), a.Uncertainty)
		}
		list = append(list, a)
	}
	return list
}

func hostName(i int) string { return fmt.Sprintf("copy%d.example", i) }

// coverage is the share of pairs of which the first contains the score of the second.
type coverage struct {
	ranges   float64 // within the range
	sampling float64 // within the score and its sampling error

	mean, deviation, half float64 // of the scores, and the mean sampling error
}

func (c coverage) String() string {
	return fmt.Sprintf("scores %.1f, standard deviation %.2f, sampling error %.1f: %.3f in the range, %.3f by the draw",
		c.mean, c.deviation, c.half, c.ranges, c.sampling)
}

func coverageOf(list []fieldmark.Assessment) (c coverage) {
	n := float64(len(list))
	for i, a := range list {
		score := a.Score.Float()
		c.mean += score / n
		c.half += a.Uncertainty.Sampling.Float() / n
		for j, b := range list {
			if i == j {
				continue
			}
			if a.Range.Low <= *b.Score && *b.Score <= a.Range.High {
				c.ranges += 1 / (n * (n - 1))
			}
			if math.Abs(score-b.Score.Float()) <= a.Uncertainty.Sampling.Float() {
				c.sampling += 1 / (n * (n - 1))
			}
		}
	}
	for _, a := range list {
		c.deviation += math.Pow(a.Score.Float()-c.mean, 2) / (n - 1)
	}
	c.deviation = math.Sqrt(c.deviation)
	return c
}
