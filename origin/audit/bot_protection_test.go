package audit_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
)

// denied returns a response of bot protection, with a header field that marks it.
func denied(status int, field, value string) answer {
	a := html("<title>Just a moment...</title>", "Checking your browser")
	a.status = status
	if field != "" {
		a.header = map[string]string{field: value}
	}
	return a
}

// sitemapOf returns a sitemap with addresses of example.com.
func sitemapOf(paths ...string) answer {
	list := ""
	for _, p := range paths {
		list += "<url><loc>https://example.com" + p + "</loc></url>"
	}
	return answer{kind: "application/xml", body: `<?xml version="1.0"?>` +
		`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + list + `</urlset>`}
}

// TestBotProtectedHomePage: a home page that bot protection answers is unknown and never zero, and
// crawlers are judged by robots.txt alone. A page that the site itself denies is not
// reachable.
func TestBotProtectedHomePage(t *testing.T) {
	rules := text("User-agent: PerplexityBot\nDisallow: /\n")
	const all = "crawler.googlebot 1, crawler.perplexitybot 0"
	const none = "crawler.googlebot unknown, crawler.perplexitybot unknown"
	for _, tt := range []struct {
		name    string
		site    web
		refused audit.Refusal
		facts   string
		seen    string
	}{
		{"Cloudflare", web{"/": denied(403, "Cf-Mitigated", "challenge"), "/robots.txt": rules}, "wall", all,
			"https://example.com/ answered 403 to this auditor; others may see more"},
		{"DataDome", web{"/": denied(401, "X-Datadome", "protected"), "/robots.txt": rules}, "wall", all,
			"answered 401"},
		{"AWS", web{"/": denied(429, "X-Amzn-Waf-Action", "captcha"), "/robots.txt": rules}, "wall", all,
			"answered 429"},
		{"AWS, a challenge", web{"/": denied(202, "X-Amzn-Waf-Action", "challenge"), "/robots.txt": rules}, "wall", all,
			"answered 202"},
		{"AWS, a puzzle", web{"/": denied(405, "X-Amzn-Waf-Action", "captcha"), "/robots.txt": rules}, "wall", all,
			"answered 405"},
		{"Sucuri", web{"/": denied(406, "X-Sucuri-Block", "BLK01"), "/robots.txt": rules}, "wall", all, "answered 406"},
		{"Imperva", web{"/": denied(503, "X-Iinfo", "1-2-3"), "/robots.txt": rules}, "wall", all, "answered 503"},
		{"wants signatures", web{"/": denied(403, "Accept-Signature", `sig1=("@authority")`), "/robots.txt": rules},
			"wall", all, "answered 403"},
		{"in an encoding nobody asked for", web{"/": func() answer {
			a := denied(403, "Cf-Mitigated", "challenge")
			a.header["Content-Encoding"] = "br"
			return a
		}(), "/robots.txt": rules}, "wall", all, "answered 403"},
		{"robots.txt the same", web{"/": denied(403, "", ""), "/robots.txt": denied(403, "", "")}, "wall", none,
			"answered 403"},
		{"robots.txt walled", web{"/robots.txt": denied(503, "Cf-Mitigated", "challenge")}, "wall", none,
			"https://example.com/robots.txt answered 503"},
		{"another page the same", web{"/": denied(403, "", ""), "/a": denied(403, "", ""), "/robots.txt": rules,
			"/sitemap.xml": sitemapOf("/", "/a")}, "wall", all, "answered 403"},
		{"the sitemap the same", web{"/": denied(401, "", ""), "/sitemap.xml": denied(401, "", ""),
			"/robots.txt": rules}, "wall", all, "answered 401"},
		{"too many requests", web{"/": denied(429, "", ""), "/robots.txt": rules}, "wall", all, "answered 429"},

		{"robots.txt", web{"/": plainPage, "/robots.txt": text("User-agent: FieldmarkBot\nDisallow: /\n")}, "robots",
			"crawler.googlebot 1, home.reachable unknown", "robots.txt does not allow this crawler"},
		{"the home page alone", web{"/": denied(403, "", ""), "/a": plainPage, "/sitemap.xml": sitemapOf("/a")}, "",
			"home.reachable 0, crawler.googlebot unknown", "responded 403"},
		{"another status", web{"/": denied(403, "", ""), "/robots.txt": denied(401, "", "")}, "", "home.reachable 0",
			"responded 403"},
		{"passed and failed", web{"/": denied(500, "X-Datadome", "protected")}, "", "home.reachable 0",
			"responded 500"},
		{"Cloudflare without a challenge", web{"/": denied(503, "Cf-Mitigated", "none")}, "", "home.reachable 0",
			"responded 503"},
		{"silence of the site", web{"/": denied(404, "X-Iinfo", "1")}, "", "home.reachable 0", "responded 404"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report := reportOf(t, tt.site.serve(t, 0), audit.Subject{URL: home, Name: "Example"})
			facts := report.Facts
			checkShape(t, facts)
			if walled := tt.refused == audit.RefusedByWall; report.Refused != tt.refused || facts.Refused != walled {
				t.Errorf("refused by %q, facts refused: %t; want %q, %t", report.Refused, facts.Refused, tt.refused,
					walled)
			}
			want := tt.facts + ", title.good unknown, home.indexable unknown"
			if tt.refused == audit.RefusedByWall {
				want += ", home.reachable unknown"
			}
			for w := range strings.SplitSeq(want, ", ") {
				id, want, _ := strings.Cut(w, " ")
				if got := say(facts, id); got != want {
					t.Errorf("%s = %s, want %s; seen:\n%s", id, got, want, seen(facts, id))
				}
			}
			if got := seen(facts, "home.reachable"); !strings.Contains(got, tt.seen) {
				t.Errorf("seen %q, want %q", got, tt.seen)
			}
		})
	}
}

// TestBotProtectedPages: pages and files that bot protection answers count neither for nor
// against a site whose home page is readable.
func TestBotProtectedPages(t *testing.T) {
	wall := denied(403, "Cf-Mitigated", "challenge")
	with := func(changes web) web {
		site := goodSite()
		maps.Copy(site, changes)
		return site
	}
	runFacts(t, []factTest{
		{"a page with a mark", with(web{"/news": wall}), []string{"response.ok 1", "sitemap.live 1",
			"crawler.googlebot 1", "home.reachable 1"}},
		{"two pages without", with(web{"/news": denied(403, "", ""), "/about": denied(403, "", "")}),
			[]string{"response.ok 1", "sitemap.live 1"}},
		{"one page without", with(web{"/news": denied(403, "", "")}),
			[]string{"response.ok 0.8", "sitemap.live 0.667"}},
		{"files", with(web{"/llms.txt": wall, "/sitemap.xml": wall}), []string{"llms.level unknown",
			"llms.errors unknown", "sitemap.found unknown", "sitemap.live unknown", "response.ok 1"}},
		{"an absent file at an object store", with(web{"/llms.txt": denied(403, "", ""),
			"/robots.txt": denied(403, "", "")}), []string{"llms.level 0", "crawler.googlebot 1"}},
		{"robots.txt with a mark", with(web{"/robots.txt": wall}), []string{"crawler.googlebot unknown",
			"fetcher.share unknown", "home.reachable 1", "response.ok 1"}},
		{"plain http", with(web{"http:": denied(403, "X-Sucuri-Block", "1")}), []string{"https.redirect unknown",
			"https.tls 1"}},
	})
	site := with(web{"/news": wall})
	for _, p := range site.audit(t).Sample.Pages {
		if p.URL == "https://example.com/news" && (p.Status != 403 ||
			p.Reason != "answered 403 to this auditor; others may see more" || p.Hash != "") {
			t.Errorf("the page is listed as %+v", p)
		}
	}
	if facts := site.audit(t); facts.Refused || say(facts, "title.good") == string(fieldmark.Unknown) {
		t.Errorf("a site with one walled page counts as refused: %t", facts.Refused)
	}
}
