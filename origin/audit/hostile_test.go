package audit_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit"
)

// allocated returns how many bytes fn allocates, freed ones included.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// numbered repeats a format with the numbers from 0 to n-1.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestParserMemory runs each parser on inputs that expand in memory, and limits the total
// allocated memory.
func TestParserMemory(t *testing.T) {
	const mb = 1 << 20
	page := func(body string) func() error {
		return func() error { audit.TryPage([]byte(body), "text/html", ""); return nil }
	}
	sitemap := func(body string) func() error {
		return func() error { _, err := audit.TrySitemap(strings.NewReader(body)); return err }
	}
	rules := func(body string) func() error {
		return func() error {
			for _, token := range audit.Crawlers() {
				audit.TryRobots(body, token, strings.Repeat("a", 500))
			}
			return nil
		}
	}
	graph := func(body string) func() error {
		return func() error { audit.TryJSONLD([]byte(body)); return nil }
	}
	const item = `<div itemscope itemtype="https://schema.org/Thing" itemprop="%s">`
	for _, tt := range []struct {
		name  string
		parse func() error
		most  uint64
		want  string // the error
	}{
		{"HTML: formatting elements left open", page("<html><body><main><p>" + numbered("<b id=%d>", 400) +
			strings.Repeat("<p>x", 20_000)), 40 * mb, ""},
		{"HTML: the same inside a drawing", page("<svg><title>" + numbered("<B id=%d>", 200) + "</title></svg>" +
			strings.Repeat("<p>x", 20_000)), 40 * mb, ""},
		{"HTML: the same in capitals, by slashes", page(numbered("<STRONG/id=%d>", 400) + strings.Repeat("<p>x",
			20_000)), 40 * mb, ""},
		{"HTML: links left open", page(numbered("<a id=%d>", 400) + strings.Repeat("<p>x", 20_000)), 60 * mb, ""},
		{"HTML: links left open in cells", page("<table>" + strings.Repeat("<tr><td><a href=x><object>", 5_000)),
			60 * mb, ""},
		{"HTML: more tags than are read", page(strings.Repeat("<p>", 400_001)), 8 * mb, ""},
		{"HTML: attributes to merge", page(numbered("<html a%d=1>", 20_000)), 4 * mb, ""},
		{"HTML: attributes of one tag", page("<p" + numbered(" a%d", 50_000) + ">"), 40 * mb, ""},
		{"HTML: text between tags that are ignored", page(strings.Repeat("x</z>", 100_000)), 40 * mb, ""},
		{"HTML: long links inside each other", page(strings.Repeat("<object><a href=x>", 150) +
			strings.Repeat("long text ", 1_000)), 60 * mb, ""},
		{"microdata: many names for one item", page(strings.Repeat(fmt.Sprintf(item, numbered("n%d ", 700)), 200)),
			60 * mb, ""},
		{"microdata: text below many properties", page("<div itemscope>" + numbered("<span itemprop=n%d>", 400) +
			strings.Repeat("long text ", 1_000)), 60 * mb, ""},
		{"JSON-LD: a list of empty objects", graph("[" + strings.Repeat("{},", 100_000) + "{}]"), 80 * mb, ""},
		{"JSON-LD: nested lists", graph(`{"a":` + strings.Repeat("[", 30) + strings.Repeat("[],", 100_000) + "1" +
			strings.Repeat("]", 30) + "}"), 80 * mb, ""},
		{"JSON-LD: many names", graph(numbered(`{"n%d":`, 31) + "1" + strings.Repeat("}", 31)), mb, ""},
		{"sitemap: deep", sitemap("<urlset>" + strings.Repeat("<a>", 500_000)), mb,
			"elements nested more than 32 deep"},
		{"sitemap: deep inside an entry", sitemap("<urlset><url><loc>" + strings.Repeat("<a>", 500_000)), mb,
			"elements nested more than 32 deep"},
		{"sitemap: one tag of many attributes", sitemap("<urlset><url" + numbered(` a%d=""`, 500_000) + "/></urlset>"),
			60 * mb, "an element or text of more than 256 KiB"},
		{"sitemap: one long text", sitemap("<urlset><url><loc>" + strings.Repeat("x", 8*mb)), 4 * mb,
			"an element or text of more than 256 KiB"},
		{"sitemap: one long comment", sitemap("<urlset><!--" + strings.Repeat("x", 8*mb)), 4 * mb,
			"an element or text of more than 256 KiB"},
		{"sitemap: an index of long addresses", sitemap("<sitemapindex>" +
			strings.Repeat("<sitemap><loc>https://example.com/"+strings.Repeat("x", 1900)+"</loc></sitemap>", 2_000) +
			"</sitemapindex>"), 120 * mb, ""},
		{"robots.txt: wildcards", rules("User-agent: *\n" + strings.Repeat("Disallow: /*"+strings.Repeat("a",
			400)+"*b\n", 300)), 80 * mb, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			got := allocated(func() { err = tt.parse() })
			if got > tt.most {
				t.Errorf("allocated %d MB, want at most %d", got>>20, tt.most>>20)
			}
			if fmt.Sprint(err) != tt.want && (err != nil || tt.want != "") {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// nestedExponents is a page of which each of 240 elements reads all others, in search of a
// digit. It takes more steps than are allowed, and little time to parse.
var nestedExponents = "<main>1" + strings.Repeat("<sup>", 240) + strings.Repeat("<i></i>", 20_000)

// stepsOverrun is by how much a page can exceed the limit of steps: by its longest text, and
// by the first node of each walk that was not started yet.
const stepsOverrun = 2_000_000

// TestSteps reads pages whose text belongs to many elements at once. Steps count the work,
// whatever the machine does besides.
func TestSteps(t *testing.T) {
	const empty = 100_000
	for _, tt := range []struct {
		name, body string
		exceeded   bool
	}{
		{"headings", "<main>x" + strings.Repeat("<h2><div>", 245) + strings.Repeat("<header></header>", empty), true},
		{"headings around a long text", "<main>" + strings.Repeat("<h2>x<div>", 245) + "<p>" +
			strings.Repeat(strings.Repeat(" ", 1000)+"<i></i>", 4_000), true},
		{"the same in cells", strings.Repeat("<table><tr><td>a<td><h2>", 95) +
			strings.Repeat("<header></header>", empty), true},
		{"links", strings.Repeat("<object><a href=x>", 150) + strings.Repeat("<i></i>", empty), true},
		{"tables", strings.Repeat("<table><tr><td>a<td>", 120) + strings.Repeat("<i></i>", empty), true},
		{"exponents", nestedExponents, true},
		{"properties", "<div itemscope>" + strings.Repeat("<div itemprop=x>", 240) +
			strings.Repeat("<i></i>", empty), true},
		{"headings far from what hides them", "<div hidden>" + strings.Repeat("<div>", 480) +
			strings.Repeat("<h1>x</h1>", empty/2), true},
		{"articles far from the root", "<footer>" + strings.Repeat("<div>", 480) +
			strings.Repeat("<article></article>", empty), true},
		{"hidden text below long names", strings.Repeat("<div class="+strings.Repeat("A", 4_000)+" id="+
			strings.Repeat("B", 4_000)+">", 480) + strings.Repeat("<p hidden>x</p>y", 30_000), true},
		{"headers far from the root", "<main>" + strings.Repeat("<div>", 480) +
			strings.Repeat("<header></header>", empty), false},
		{"many names of a property", "<div itemscope><p>" + strings.Repeat("<div itemprop='"+numbered("n%d ", 700)+
			"'>", 5) + strings.Repeat("<i></i>", empty), false},
		{"nothing but elements", "<main>" + strings.Repeat("<p></p>", empty), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			steps, exceeded, err := audit.TrySteps(tt.body)
			if err != nil || exceeded != tt.exceeded || steps > audit.MaxSteps+stepsOverrun {
				t.Errorf("%d steps, exceeded %t, error %v; want %t", steps, exceeded, err, tt.exceeded)
			}
		})
	}
}

// The facts of an unread page are unknown, with the reason, for the home page and for
// sample pages. An unread page never counts as a page without text.
func TestUnreadPages(t *testing.T) {
	broken := func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		rw.Header().Set("Content-Length", "5000")
		fmt.Fprint(rw, "<!doctype html><title>Example</title><main>some words, and then")
	}
	for _, tt := range []struct {
		name   string
		page   answer
		reason string
	}{
		{"too deep", html("", strings.Repeat("<div>", 600)+words(50)),
			"responded 200, but the page could not be read: the HTML nests elements more than 512 deep"},
		{"too many tags", html("", strings.Repeat("<p>", 400_001)),
			"responded 200, but the page could not be read: the HTML has more than 400000 tags"},
		{"tags to merge", html("", numbered("<body a%d>", 300)),
			"responded 200, but the page could not be read: the HTML has more than 200 html and body tags"},
		{"too many steps", html("", nestedExponents),
			"responded 200, but the page could not be read: reading the HTML takes more than 20000000 steps"},
		{"empty", answer{body: ""}, "responded 200, but the page could not be read: the body is empty"},
		{"nothing but space", answer{body: " \r\n\t"},
			"responded 200, but the page could not be read: the body is empty"},
		{"broken off", answer{handler: broken}, "responded 200, but the page could not be read: the " +
			"response ended early"},
	} {
		t.Run("home page "+tt.name, func(t *testing.T) {
			site := goodSite()
			site["/"] = tt.page
			facts := site.audit(t)
			checkShape(t, facts)
			for _, fact := range facts.Facts {
				if strings.HasPrefix(fact.ID, "crawler.") || strings.HasPrefix(fact.ID, "fetcher.") {
					continue // robots.txt was read
				}
				if got := say(facts, fact.ID); got != "unknown" || !strings.Contains(seen(facts, fact.ID), tt.reason) {
					t.Errorf("%s = %s, want unknown because %q; seen: %s", fact.ID, got, tt.reason,
						seen(facts, fact.ID))
				}
			}
			if facts.Pages != 0 {
				t.Errorf("%d pages, want 0", facts.Pages)
			}
		})
		t.Run("page "+tt.name, func(t *testing.T) {
			site := goodSite()
			site["/about"] = tt.page
			facts := site.audit(t)
			checkShape(t, facts)
			if got := say(facts, "text.words"); got != "320" || facts.Pages != 4 {
				t.Errorf("text.words = %s on %d pages, want 320 on the 4 that were read", got, facts.Pages)
			}
			if tt.name == "broken off" {
				if got := seen(facts, "response.ok"); !strings.Contains(got, "/about the response ended early") {
					t.Errorf("response.ok: seen %s", got)
				}
				return
			}
			_, why, _ := strings.Cut(tt.reason, "the page could not be read: ")
			if got := seen(facts, "text.words"); !strings.Contains(got, "1 page not read") || !strings.Contains(got,
				"/about not read: "+why) {
				t.Errorf("text.words: seen %s, want /about not read: %s", got, why)
			}
		})
	}
}

// A fact is unknown if the server did not respond to the request for its file.
func TestUnansweredFiles(t *testing.T) {
	short := answer{kind: "application/xml", handler: func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Length", "5000")
		fmt.Fprint(rw, "<urlset><url><loc>https://example.com/about</loc></url>")
	}}
	for _, a := range []answer{{status: 500}, {status: 429}, short} {
		site := goodSite()
		site["/sitemap.xml"], site["/llms.txt"] = a, a
		facts := site.audit(t)
		for _, id := range []string{"sitemap.found", "sitemap.valid", "sitemap.live", "llms.level", "llms.errors"} {
			if got := say(facts, id); got != "unknown" || seen(facts, id) == "" {
				t.Errorf("%d: %s = %s, want unknown with a reason; seen %q", a.status, id, got, seen(facts, id))
			}
		}
	}
}

// TestFormattingIsInline: text in formatting elements has the same facts as text in span
// elements.
func TestFormattingIsInline(t *testing.T) {
	const body = `<main><h1>The <%[1]s>page</%[1]s></h1><p><%[1]s class=author>Ada</%[1]s> wrote <a href=/about>` +
		`<%[1]s>About</%[1]s> us</a> <%[1]s hidden>x y</%[1]s> 10 kg.</p><%[1]s>open<p>next</p></main>`
	want := one("", fmt.Sprintf(body, "span")).audit(t)
	for _, name := range []string{"b", "BIG", "code", "em", "font", "I", "nobr", "s", "small", "strike", "strong", "tt",
		"u"} {
		got := one("", fmt.Sprintf(body, name)).audit(t)
		for i, fact := range got.Facts {
			if fact.Value != want.Facts[i].Value || fact.State != want.Facts[i].State {
				t.Errorf("%s: %s = %d, want %d as with span", name, fact.ID, fact.Value, want.Facts[i].Value)
			}
		}
	}
}
