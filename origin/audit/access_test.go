package audit_test

import (
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit"
)

var plainPage = html("<title>An example page</title>", "<main>"+words(60)+"</main>")

func TestCrawlers(t *testing.T) {
	with := func(robots answer) web {
		return web{"/robots.txt": robots, "/": html("",
			`<a href=/shop>Shop</a><a href=/blog/a>A</a><a href=/blog/b>B</a>`+words(60)), "/shop": plainPage,
			"/blog/a": plainPage, "/blog/b": plainPage}
	}
	runFacts(t, []factTest{
		{"no file", with(answer{status: 404}), []string{"crawler.googlebot 1", "crawler.others 1", "fetcher.share 1"}},
		{"forbidden file", with(answer{status: 403}), []string{"crawler.googlebot 1"}},
		{"too many requests", with(answer{status: 429}), []string{"crawler.googlebot 0", "crawler.others 0",
			"fetcher.share 0", "home.reachable unknown", "home.words unknown"}},
		{"a failure", with(answer{status: 503}), []string{"crawler.googlebot 0", "home.reachable unknown"}},
		{"more wildcards than are evaluated", with(text("User-agent: *\nDisallow: /a\n" +
			strings.Repeat("Disallow: /*x*y*z\n", 10_000))), []string{"crawler.googlebot unknown", "home.reachable 1"}},
		{"empty file", with(text("")), []string{"crawler.googlebot 1"}},
		{"page instead of a file", with(html("<title>Home</title>", "User-agent: *\nDisallow: /")),
			[]string{"crawler.googlebot 1"}},
		{"rules sent as html", with(answer{body: "User-agent: PerplexityBot\nDisallow: /"}),
			[]string{"crawler.googlebot 1", "crawler.perplexitybot 0"}},
		{"redirected", with(answer{status: 301, location: "/rules"}), []string{"crawler.googlebot 1"}},
		{"two of ten blocked", with(text("User-agent: Applebot\nUser-agent: DuckAssistBot\nDisallow: /\n")),
			[]string{"crawler.others 0.6", "crawler.googlebot 1"}},
		{"one fetcher blocked", with(text("User-agent: Claude-User\nDisallow: /\n")), []string{"fetcher.share 0.8"}},
		{"a folder blocked", with(text("User-agent: OAI-SearchBot\nDisallow: /blog/\nAllow: /blog/a$\n")),
			[]string{"crawler.oai-searchbot 0.75"}},
		{"training opt-out costs nothing", with(text("User-agent: GPTBot\nUser-agent: " +
			"Google-Extended\nUser-agent: Applebot-Extended\nUser-agent: ClaudeBot\nUser-agent: " +
			"Amazonbot\nDisallow: /\n")),
			[]string{"crawler.googlebot 1", "crawler.oai-searchbot 1", "crawler.others 1", "crawler.claude-searchbot 1",
				"fetcher.share 1"}},
		{"the specific group alone counts", with(text("User-agent: *\nDisallow: /blog\nUser-agent: " +
			"Bingbot\nAllow: /\n")), []string{"crawler.bingbot 1", "crawler.googlebot 0.5"}},
		{"names in any case", with(text("user-agent: CLAUDE-searchbot\ndisallow: /\n")),
			[]string{"crawler.claude-searchbot 0"}},
	})
}

func TestCrawlerEvidenceNamesTheLine(t *testing.T) {
	site := web{"/robots.txt": text("# rules\r\nUser-agent: PerplexityBot\r\nDisallow: / # go away\r\n"),
		"/": plainPage}
	got := seen(site.audit(t), "crawler.perplexitybot")
	if want := "PerplexityBot may fetch 0 of 1 sampled addresses; / disallowed: line 3: Disallow: / # go " +
		"away"; !strings.Contains(got, want) {
		t.Errorf("evidence %q, want %q", got, want)
	}
}

// TestOwnRobots: the auditor follows the robots.txt rules for its own name.
func TestOwnRobots(t *testing.T) {
	site := goodSite()
	site["/robots.txt"] = text("User-agent: FieldmarkBot\nDisallow: /about\nDisallow: /llms.txt\n")
	s := site.serve(t, 0)
	facts := auditOf(t, s, audit.Subject{URL: home, Name: "Example"})
	for _, path := range s.requests() {
		if path == "/about" || path == "/llms.txt" {
			t.Errorf("asked for %s, which robots.txt keeps this crawler from", path)
		}
	}
	for id, want := range map[string]string{"response.ok": "1", "llms.level": "unknown", "llms.errors": "unknown",
		"crawler.googlebot": "1"} {
		if got := say(facts, id); got != want {
			t.Errorf("%s = %s, want %s; seen:\n%s", id, got, want, seen(facts, id))
		}
	}

	for name, rules := range map[string]answer{
		"blocked by name": text("User-agent: FieldmarkBot\nDisallow: /\n\nUser-agent: Googlebot\nDisallow: /x"),
		"broken server":   {status: 500, body: "oops"},
	} {
		site["/robots.txt"] = rules
		s := site.serve(t, 0)
		facts := auditOf(t, s, audit.Subject{URL: home, Name: "Example"})
		checkShape(t, facts)
		if asked := s.requests(); len(asked) != 1 {
			t.Errorf("%s: asked %q, want robots.txt alone", name, asked)
		}
		want, reason := "1", "/ disallowed for FieldmarkBot: line 2: Disallow: /"
		if rules.status == 500 {
			want, reason = "0", "robots.txt returned 500, so crawlers may not fetch anything: make it return 200 "+
				"with rules, or 404 if there are none"
		}
		if got := seen(facts, "home.reachable"); !strings.Contains(got, reason) || seen(facts, "title.good") != got {
			t.Errorf("%s: reason %q, want %q for every fact", name, got, reason)
		}
		if a, b, c := say(facts, "home.reachable"), say(facts, "crawler.googlebot"),
			say(facts, "home.words"); a != "unknown" || b != want || c != "unknown" {
			t.Errorf("%s: home.reachable %s, crawler.googlebot %s, home.words %s; want unknown, %s, unknown", name, a,
				b, c, want)
		}
	}
}

func TestSnippets(t *testing.T) {
	site := func(head, body string, header map[string]string) web {
		a := html(head, body)
		a.header = header
		return web{"/": a}
	}
	tag := func(v string) map[string]string { return map[string]string{"X-Robots-Tag": v} }
	runFacts(t, []factTest{
		{"nothing said", site("", "x", nil), []string{"home.indexable 1", "page.snippet_eligible 1"}},
		{"harmless", site(`<meta name=robots content="index, follow, max-snippet:-1, nofollow">`, "x", nil),
			[]string{"home.indexable 1", "page.snippet_eligible 1"}},
		{"noindex", site(`<meta name=ROBOTS content="NOINDEX,follow">`, "x", nil), []string{"home.indexable 0",
			"page.snippet_eligible 0"}},
		{"none", site(`<meta name=robots content=none>`, "x", nil), []string{"home.indexable 0"}},
		{"max-snippet 0", site(`<meta name=robots content="max-snippet: 0">`, "x", nil), []string{"home.indexable 0"}},
		{"one engine", site(`<meta name=bingbot content=noindex>`, "x", nil), []string{"home.indexable 1",
			"page.snippet_eligible 0"}},
		{"a crawler that answers nobody", site(`<meta name=gptbot content=noindex>`, "x", nil),
			[]string{"home.indexable 1", "page.snippet_eligible 1"}},
		{"header", site("", "x", tag("nosnippet")), []string{"home.indexable 0", "page.snippet_eligible 0"}},
		{"header with values", site("", "x", tag("max-image-preview: large, max-snippet: 0")),
			[]string{"home.indexable 0"}},
		{"header for one", site("", "x", tag("googlebot: noindex, nofollow")), []string{"home.indexable 1",
			"page.snippet_eligible 0"}},
		{"header for a stranger", site("", "x", tag("otherbot: noindex, nosnippet")), []string{"home.indexable 1",
			"page.snippet_eligible 1"}},
		{"header with a date", site("", "x", tag("unavailable_after: 25 Jun 2030 15:00:00 PST")),
			[]string{"home.indexable 1"}},
		{"most text withheld", site("", "<main>"+words(10)+"<p data-nosnippet>"+words(10)+"</p></main>", nil),
			[]string{"page.snippet_eligible 0"}},
		{"some text withheld", site("", "<main>"+words(11)+"<p data-nosnippet>"+words(10)+"</p></main>", nil),
			[]string{"page.snippet_eligible 1"}},
	})
}

func TestSitemap(t *testing.T) {
	xml := func(body string) answer { return answer{kind: "application/xml", body: body} }
	at := func(robots string, files web) web {
		w := web{"/": plainPage, "/a": plainPage, "/b": plainPage}
		if robots != "" {
			w["/robots.txt"] = text(robots)
		}
		for k, v := range files {
			w[k] = v
		}
		return w
	}
	const a, b, gone, far = "<url><loc>https://example.com/a</loc></url>",
		"<url><loc> https://example.com/b </loc></url>", "<url><loc>https://example.com/gone</loc></url>",
		"<url><loc>https://other.example/x</loc></url>"
	all := func(found, valid, live string) []string {
		return []string{"sitemap.found " + found, "sitemap.valid " + valid, "sitemap.live " + live}
	}
	runFacts(t, []factTest{
		{"none", at("", nil), all("0", "0", "0")},
		{"default path", at("", web{"/sitemap.xml": xml("<urlset>" + a + b + "</urlset>")}), all("1", "1", "1")},
		{"named in robots.txt", at("Sitemap: https://example.com/map.xml", web{"/map.xml": xml("<urlset>" + a +
			"</urlset>")}), all("1", "1", "1")},
		{"named but gone", at("Sitemap: https://example.com/map.xml", nil), all("0", "0", "0")},
		{"a page for every path", at("", web{"/sitemap.xml": html("<title>x</title>", "y")}), all("0", "0", "0")},
		{"dead address", at("", web{"/sitemap.xml": xml("<urlset>" + a + gone + "</urlset>")}), all("1", "1", "0.5")},
		{"other host", at("", web{"/sitemap.xml": xml("<urlset>" + a + far + "</urlset>")}), all("1", "1", "0.5")},
		{"empty", at("", web{"/sitemap.xml": xml("<urlset></urlset>")}), all("1", "1", "unknown")},
		{"cut off", at("", web{"/sitemap.xml": xml("<urlset>" + a + "<url><loc>https")}), all("1", "0", "1")},
		{"unescaped ampersand", at("", web{"/sitemap.xml": xml("<urlset>" + a +
			"<url><loc>https://example.com/?a&b=1</loc></url></urlset>")}), all("1", "0", "1")},
		{"index", at("", web{"/sitemap.xml": xml(
			"<sitemapindex><sitemap><loc>https://example.com/1.xml</loc></sitemap></sitemapindex>"),
			"/1.xml": xml("<urlset>" + a + "</urlset>")}), all("1", "1", "1")},
		{"index of an index is not followed", at("",
			web{"/sitemap.xml": xml(
				"<sitemapindex><sitemap><loc>https://example.com/1.xml</loc></sitemap></sitemapindex>"),
				"/1.xml": xml("<sitemapindex><sitemap><loc>https://example.com/2.xml</loc></sitemap></sitemapindex>"),
				"/2.xml": xml("<urlset>" + a + "</urlset>")}), all("1", "1", "unknown")},
		{"index with a dead child",
			at("", web{"/sitemap.xml": xml(
				"<sitemapindex><sitemap><loc>https://example.com/1.xml</loc></sitemap></sitemapindex>")}),
			all("1", "0", "unknown")},
		{"too many addresses", at("", web{"/sitemap.xml": xml("<urlset>" + strings.Repeat(a, 50_001) + "</urlset>")}),
			all("1", "0", "1")},
		{"latin-1", at("", web{"/sitemap.xml": xml(`<?xml version="1.0" encoding="ISO-8859-1"?><urlset>` + a +
			"</urlset>")}), all("1", "1", "1")},
		{"withheld from us", at("User-agent: FieldmarkBot\nDisallow: /sitemap.xml", nil), all("unknown", "unknown",
			"unknown")},
	})
}

func TestHTTPS(t *testing.T) {
	with := func(hsts string, plain answer) web {
		a := html("<title>x</title>", words(60))
		if hsts != "" {
			a.header = map[string]string{"Strict-Transport-Security": hsts}
		}
		w := web{"/": a}
		if plain.status != 0 {
			w["http:"] = plain
		}
		return w
	}
	runFacts(t, []factTest{
		{"all good", with("max-age=15552000", answer{}), []string{"https.tls 1", "https.redirect 1", "https.hsts 1"}},
		{"short memory", with("max-age=86400; includeSubDomains", answer{}), []string{"https.hsts 0"}},
		{"quoted", with(`includeSubDomains; max-age="31536000"`, answer{}), []string{"https.hsts 1"}},
		{"no promise", with("", answer{}), []string{"https.hsts 0"}},
		{"http answers itself", with("", answer{status: 200, body: "hello"}), []string{"https.tls 1",
			"https.redirect 0"}},
		{"two hops", with("", answer{status: 301, location: "http://www.example.com/"}), []string{"https.redirect 0"}},
	})
	t.Run("asked over http", func(t *testing.T) {
		facts := auditOf(t, with("max-age=15552000", answer{}).serve(t, 0), audit.Subject{URL: "http://example.com/"})
		if a, b := say(facts, "https.tls"), say(facts, "https.redirect"); a != "1" || b != "1" || facts.URL != home {
			t.Errorf("https.tls %s, https.redirect %s at %s; want 1, 1 at %s", a, b, facts.URL, home)
		}
	})
	t.Run("http only", func(t *testing.T) {
		w := with("", html("<title>x</title>", words(60)))
		w["http:"] = answer{status: 200, body: plainPage.body}
		s := w.serve(t, 0)
		facts := auditOf(t, s, audit.Subject{URL: "http://example.com/"})
		if a, b, c := say(facts, "https.tls"), say(facts, "https.redirect"), say(facts, "https.hsts"); a != "1" ||
			b != "0" || c != "0" {
			t.Errorf("https.tls %s, https.redirect %s, https.hsts %s; want 1 (it would answer), 0, 0", a, b, c)
		}
	})
}

func TestRoundWait(t *testing.T) {
	for ms, want := range map[int64]int64{0: 200, 200: 200, 201: 400, 400: 400, 401: 800, 800: 800, 801: 1000,
		1000: 1000, 1001: 1200} {
		if got := audit.RoundWait(ms); got != want {
			t.Errorf("%d ms: %d, want %d", ms, got, want)
		}
	}
}
