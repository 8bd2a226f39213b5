package audit_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/google/go-cmp/cmp"
)

// goodSite returns a site without findings.
func goodSite() web {
	page := func(path, title string) answer {
		body := `<p>` + wordsOf(uint64(crc32.ChecksumIEEE([]byte(path))), 280) + `</p><h2>How much is it?</h2><p>It ` +
			`costs $40 a month for a team of five.</p><ul><li>fast</li><li>small</li></ul>
<p>It saved 35 % of 1,200 kWh, says <a href="https://study.example.org/">a study</a>: “This is the most useful ` +
			`thing that we have seen in years.”</p>`

		a := html(`<title>`+title+` and some more words | Example</title><meta name=description `+
			`content="`+title+`: what Example does, for whom, and how it goes about it every day.">
<link rel=canonical href="https://example.com`+path+`"><link rel=describedby href="/llms.txt"><link rel=alternate `+
			`type="application/atom+xml" href="/feed.xml">
<meta property=og:title content=T><meta property=og:description content=D><meta property=og:image content=/i.png>`+
			`<meta property=og:url content="https://example.com`+path+`"><meta property=og:site_name `+
			`content="Example Ltd.">
<script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":"Organization",`+
			`"@id":"https://example.com/#org","name":"Example Ltd","url":"https://example.com/","logo":"/l.png",`+
			`"description":"We do things.",
"contactPoint":{"@type":"ContactPoint","telephone":"+1"},"sameAs":["https://www.wikidata.org/wiki/Q1",`+
			`"https://www.linkedin.com/company/x","https://github.com/x"]},
{"@type":"Article","headline":"`+title+`","author":{"@type":"Person","name":"Ada"},`+
			`"dateModified":"`+today.AddDate(0, 0, -9-len(path)).Format("2006-01-02")+`"}]}</script>`,
			`<nav><a href=/about>About us</a> <a href=/contact>Contact</a> <a href=/pricing>Pricing</a></nav><main>`+
				`<h1>`+title+`</h1>`+body+`</main>`)
		a.header = map[string]string{"Strict-Transport-Security": "max-age=31536000; includeSubDomains"}
		return a
	}
	w := web{
		"/robots.txt": text("User-agent: *\nAllow: /\nSitemap: https://example.com/sitemap.xml\n"),
		"/llms.txt": text("# Example\n\n> What Example does.\n\n## Pages\n\n- " +
			"[About](https://example.com/about): who we are\n"),
		"/": page("/", "Example does things"),
		"/sitemap.xml": {kind: "application/xml", body: `<?xml version="1.0"?><urlset ` +
			`xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://example.com/</loc><lastmod>2026-01-01</lastmod></url><url><loc>https://example.com/about</loc>` +
			`<lastmod>2026-01-02</lastmod></url><url><loc>https://example.com/news</loc></url></urlset>`},
	}
	for path, title := range map[string]string{"/about": "About the people", "/contact": "Contact the people",
		"/pricing": "Pricing of things", "/news": "News about things"} {
		w[path] = page(path, title)
	}
	w["/"].header["Link"] = `</index.md>; rel="alternate"; type="text/markdown"`
	return w
}

func TestGoodSite(t *testing.T) {
	facts := goodSite().audit(t)
	checkShape(t, facts)
	want := map[string]string{
		"stat.numbers": "9.375", "quote.spans": "3.125", "cite.domains": "0.625", "fresh.age": "10",
		"answer.kinds": "2", "response.ttfb": "200",
		"home.words": "320", "text.words": "320", "sameas.profiles": "2", "llms.level": "4", "llms.errors": "0",
		"manipulation.found": "0", "lang.hreflang": "not_applicable",
	}
	for _, fact := range facts.Facts {
		w, ok := want[fact.ID]
		if fieldmark.IsObserved(fact.ID) { // what few good sites state, which gives no points; TestObserved
			continue
		}
		if !ok {
			w = "1"
		}
		if got := say(facts, fact.ID); got != w {
			t.Errorf("%s = %s, want %s; seen:\n%s", fact.ID, got, w, seen(facts, fact.ID))
		}
	}
	if facts.Pages != 5 || facts.URL != home {
		t.Errorf("%d pages of %s, want 5 of %s", facts.Pages, facts.URL, home)
	}
}

func TestSameSiteSameDigest(t *testing.T) {
	s := goodSite().serve(t, 0)
	subject := audit.Subject{URL: home, Name: "Example"}
	first, second := auditOf(t, s, subject), auditOf(t, s, subject)
	a, err := first.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := second.Digest(); a != b {
		first.AsOf = second.AsOf
		t.Errorf("two audits have digests %s and %s; difference:\n%s", a, b, cmp.Diff(first, second,
			cmp.Comparer(func(a, b fieldmark.Time) bool { return true })))
	}
}

// TestOrderOfPages: the sample and the facts do not depend on the order in which the site
// lists its pages.
func TestOrderOfPages(t *testing.T) {
	list := func(order ...int) web {
		site := goodSite()
		var all strings.Builder
		for _, i := range order {
			path := "/p/" + strings.Repeat("x", i+1)
			site[path] = html("<title>Page "+path+"</title>", "<main><h1>P</h1>"+words(50+10*i)+"</main>")
			all.WriteString("<url><loc>https://example.com" + path + "</loc></url>")
		}
		site["/sitemap.xml"] = answer{kind: "application/xml", body: "<urlset>" + all.String() + "</urlset>"}
		return site
	}
	subject := audit.Subject{URL: home, Name: "Example", Language: "en", Seed: strings.Repeat("5e", 16)}
	first := auditOf(t, list(0, 1, 2, 3, 4, 5, 6, 7, 8).serve(t, 0), subject)
	second := auditOf(t, list(8, 3, 1, 0, 7, 5, 2, 6, 4).serve(t, 0), subject)
	a, err := first.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := second.Digest(); a != b {
		t.Errorf("another order, another digest:\n%s", cmp.Diff(first.Facts, second.Facts))
	}
}

// TestAccessNeverLowers removes the rules of a robots.txt that blocks crawlers one by one:
// no access fact decreases.
func TestAccessNeverLowers(t *testing.T) {
	rules := []string{"User-agent: Googlebot\nDisallow: /\n\n", "User-agent: OAI-SearchBot\nDisallow: /about\n\n",
		"User-agent: Claude-User\nDisallow: /\n\n", "User-agent: *\nDisallow: /pricing\n\n"}
	var before map[string]int64
	for i := range len(rules) + 1 {
		site := goodSite()
		site["/robots.txt"] = text(strings.Join(rules[i:], ""))
		now := map[string]int64{}
		for _, f := range site.audit(t).Facts {
			if strings.HasPrefix(f.ID, "crawler.") || strings.HasPrefix(f.ID, "fetcher.") {
				now[f.ID] = f.Value
				if f.Value < before[f.ID] {
					t.Errorf("without %q: %s fell from %d to %d", rules[:i], f.ID, before[f.ID], f.Value)
				}
			}
		}
		before = now
	}
}

func TestRequestsAreFewAndInOrder(t *testing.T) {
	site := goodSite()
	var all strings.Builder
	for i := range 200 {
		all.WriteString("<url><loc>https://example.com/p/" + strings.Repeat("x", i) + "</loc></url>")
	}
	site["/sitemap.xml"] = answer{kind: "application/xml", body: "<urlset>" + all.String() + "</urlset>"}
	s := site.serve(t, 0)
	facts := auditOf(t, s, audit.Subject{URL: home, Name: "Example"})
	asked := s.requests()
	if len(asked) > audit.DefaultMaxRequests || asked[0] != "/robots.txt" || asked[1] != "/" {
		t.Errorf("asked %q; want robots.txt, the home page, and at most %d in all", asked, audit.DefaultMaxRequests)
	}
	count := map[string]int{}
	for _, a := range asked {
		if count[a]++; count[a] > 1 {
			t.Errorf("asked for %s twice", a)
		}
	}
	if got := say(facts, "response.ok"); got != "0.174" {
		t.Errorf("response.ok = %s, want 4 of 23; seen:\n%s", got, seen(facts, "response.ok"))
	}

	a, err := audit.New(audit.Config{HTTP: s.client, Delay: -1, MaxRequests: 4})
	if err != nil {
		t.Fatal(err)
	}
	before := len(s.requests())
	report, err := a.Audit(t.Context(), audit.Subject{URL: home}, nil)
	facts = report.Facts
	if err != nil || len(s.requests())-before > 4 || facts.Pages != 1 {
		t.Errorf("with four requests: %d asked, %d pages, %v; want at most 4, 1 page", len(s.requests())-before,
			facts.Pages, err)
	}
	checkShape(t, facts)
}

func TestPause(t *testing.T) {
	site := web{"/": html("<title>Example</title>", "<p>hello")}
	s := site.serve(t, 0)
	a, err := audit.New(audit.Config{HTTP: s.client, Delay: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := a.Audit(t.Context(), audit.Subject{URL: home}, nil); err != nil {
		t.Fatal(err)
	}
	n := len(s.requests())
	if took, least := time.Since(start), time.Duration(n-1)*30*time.Millisecond; took < least {
		t.Errorf("%d requests took %v, want at least %v", n, took, least)
	}
}

func TestUnreachable(t *testing.T) {
	loop := answer{status: 302, location: "/a"}
	for _, tt := range []struct {
		name string
		site web
		url  string
		want string
	}{
		{"nobody listens", web{}, "http://down.example/", "no response"},
		{"forbidden", web{"/": {status: 403, body: "no"}}, home, "responded 403"},
		{"server error", web{"/": {status: 500}}, home, "responded 500"},
		{"not a page", web{"/": {kind: "application/pdf", body: "%PDF"}}, home, "without an HTML page"},
		{"redirect loop", web{"/": loop, "/a": {status: 302, location: "/b"}, "/b": {status: 302, location: "/a"}},
			home, "too many redirects"},
		{"redirects inward", web{"/": {status: 302, location: "http://169.254.169.254/latest/"}}, home,
			"address not allowed"},
		{"long redirect chain", web{"/": {status: 302, location: "/1"}, "/1": {status: 302, location: "/2"},
			"/2": {status: 302, location: "/3"}, "/3": {status: 302, location: "/4"},
			"/4": {status: 302, location: "/5"}, "/5": {status: 302, location: "/6"}, "/6": html("", "x")}, home,
			"too many redirects"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			facts := auditOf(t, tt.site.serve(t, 0), audit.Subject{URL: tt.url, Name: "Example"})
			checkShape(t, facts)
			for _, fact := range facts.Facts {
				want := "unknown"
				if fact.ID == "home.reachable" {
					want = "0"
				}
				if got := say(facts, fact.ID); got != want {
					t.Errorf("%s = %s, want %s", fact.ID, got, want)
				}
			}
			if got := seen(facts, "home.reachable"); !strings.Contains(got, tt.want) || facts.Pages != 0 {
				t.Errorf("seen %q on %d pages, want %q on none", got, facts.Pages, tt.want)
			}
		})
	}
}

// A response whose headers, or one header line, never end counts as no response. The audit
// reads at most the client's limit of header bytes.
func TestEndlessHeaders(t *testing.T) {
	for name, field := range map[string]string{"many": "X-N: 1\r\n", "one": strings.Repeat("x", 4096)} {
		var sent atomic.Int64
		site := web{"/": {handler: func(rw http.ResponseWriter, _ *http.Request) {
			conn, _, err := rw.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			for chunk := "HTTP/1.1 200 OK\r\nX: "; sent.Load() < 64<<20; chunk = field {
				n, err := io.WriteString(conn, chunk)
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		}}}
		facts := site.audit(t)
		if got := seen(facts, "home.reachable"); say(facts, "home.reachable") != "0" || !strings.Contains(got,
			"no response") {
			t.Errorf("%s: home.reachable = %s, seen %q", name, say(facts, "home.reachable"), got)
		}
		if sent := sent.Load(); sent >= 64<<20 {
			t.Errorf("%s: %d bytes of header were taken", name, sent)
		}
	}
}

func TestBadCertificate(t *testing.T) {
	s := web{"/": html("", "x")}.serve(t, 0)
	// a client that trusts only the public certificate authorities
	s.client = safehttp.New(safehttp.Config{Allow: s.allow, ConnectTo: s.connectTo})
	facts := auditOf(t, s, audit.Subject{URL: home})
	if got := seen(facts, "home.reachable"); say(facts, "home.reachable") != "0" || !strings.Contains(got,
		"no valid TLS certificate") {
		t.Errorf("home.reachable = %s, seen %q; want 0 for its certificate", say(facts, "home.reachable"), got)
	}
}

func TestSlowSite(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	defer close(stop)
	site := goodSite()
	site["/about"] = answer{handler: func(http.ResponseWriter, *http.Request) { <-stop }}
	facts := auditOf(t, site.serve(t, 3*time.Second*timeout.Scale), audit.Subject{URL: home, Name: "Example"})
	if got := say(facts, "response.ok"); got != "0.8" || !strings.Contains(seen(facts, "response.ok"),
		"/about no response in time") {
		t.Errorf("response.ok = %s, want 0.8 with a page that gave no response in time; seen:\n%s", got,
			seen(facts, "response.ok"))
	}
}

func TestDecompression(t *testing.T) {
	pack := func(s string) string {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // to pack the bomb takes longer than to audit it
		z.Write([]byte(s))
		z.Close()
		return b.String()
	}
	packed := func(s string) answer {
		return answer{header: map[string]string{"Content-Encoding": "gzip"}, body: pack(s)}
	}
	t.Run("honest", func(t *testing.T) {
		site := web{"/": packed(html("<title>t</title>", words(500)).body)}
		if got := say(site.audit(t), "home.words"); got != "500" {
			t.Errorf("home.words of a compressed page = %s, want 500", got)
		}
	})
	t.Run("bomb", func(t *testing.T) {
		site := web{"/": packed(strings.Repeat(" ", 64<<20))}
		facts := site.audit(t)
		if got := seen(facts, "home.reachable"); say(facts, "home.reachable") != "0" || !strings.Contains(got,
			"decompresses to far more") {
			t.Errorf("home.reachable of a bomb = %s, seen %q", say(facts, "home.reachable"), got)
		}
	})
	t.Run("too long", func(t *testing.T) {
		filler := "<!-- " + strings.Repeat("filler ", 1000) + "-->" // few nodes: it is the bytes that count
		site := web{"/": html("<title>t</title>", words(10)+strings.Repeat(filler, 1000))}
		facts := site.audit(t)
		if say(facts, "home.words") != "10" || say(facts, "page.light") != "0" {
			t.Errorf("a page of 7 MB: home.words = %s, page.light = %s; want 10, 0", say(facts, "home.words"),
				say(facts, "page.light"))
		}
	})
	t.Run("not what was asked for", func(t *testing.T) {
		site := web{"/": {header: map[string]string{"Content-Encoding": "br"}, body: "x"}}
		if got := say(site.audit(t), "home.reachable"); got != "0" {
			t.Errorf("home.reachable with an unknown encoding = %s, want 0", got)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	tries := 0
	site := goodSite()
	site["/pricing"] = answer{handler: func(rw http.ResponseWriter, r *http.Request) {
		if tries++; tries == 1 {
			rw.Header().Set("Retry-After", "0")
			rw.WriteHeader(http.StatusTooManyRequests)
			return
		}
		site["/about"].header["Content-Type"] = "text/html"
		web{"x": site["/about"]}.answer(rw, r, "x")
	}}
	if got := say(site.audit(t), "response.ok"); got != "1" || tries != 2 {
		t.Errorf("response.ok = %s after %d tries, want 1 after 2", got, tries)
	}

	site = goodSite()
	site["/about"] = answer{status: 503, header: map[string]string{"Retry-After": "3600"}}
	s := site.serve(t, 0)
	facts := auditOf(t, s, audit.Subject{URL: home})
	asked := slices.DeleteFunc(s.requests(), func(path string) bool { return path[0] != '/' })
	if asked[len(asked)-1] != "/about" {
		t.Errorf("asked %q after being told to come back in an hour", asked)
	}
	if facts.Pages != 1 {
		t.Errorf("%d pages, want the one read before", facts.Pages)
	}
}

func TestErrors(t *testing.T) {
	if _, err := audit.New(audit.Config{}); err == nil {
		t.Error("an auditor without a client, want an error")
	}
	s := web{}.serve(t, 0)
	a, err := audit.New(audit.Config{HTTP: s.client})
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{"", "example.com", "ftp://example.com/", "https://u:p@example.com/", "https://",
		"/about", "https://example.com/" + strings.Repeat("a", 2048)} {
		if _, err := a.Audit(t.Context(), audit.Subject{URL: raw}, nil); !fieldmark.IsCode(err,
			fieldmark.CodeInvalidParameter) {
			t.Errorf("audit of %.40q: %v, want code %s", raw, err, fieldmark.CodeInvalidParameter)
		}
	}
	if _, err := a.Audit(cancelled(t), audit.Subject{URL: home}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("audit with an ended context: %v, want %v", err, context.Canceled)
	}
}

func TestProgress(t *testing.T) {
	s := goodSite().serve(t, 0)
	a, _ := audit.New(audit.Config{HTTP: s.client, Delay: -1})
	var steps []string
	if _, err := a.Audit(t.Context(), audit.Subject{URL: home}, func(step string) {
		steps = append(steps,
			step)
	}); err != nil {
		t.Fatal(err)
	}
	if len(steps) < 5 || steps[0] != "robots.txt" || steps[1] != "home page" {
		t.Errorf("steps %q, want each told in order", steps)
	}
}
