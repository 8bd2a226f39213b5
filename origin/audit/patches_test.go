package audit_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	xhtml "golang.org/x/net/html"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
)

// repairable is a site with a fault of every kind that has a patch. Its texts try to leave
// the place where a patch puts them.
func repairable() web {
	body := func(h1 string) string {
		return `<html><head></head><body><main><h1>` + h1 + `</h1><p>` + wordsOf(uint64(len(h1)), 200) +
			`</p></main><footer><a href="/about">About us</a> <a href="/contact">Contact</a> ` +
			`<a href="https://github.com/acme">Our code</a></footer></body></html>`
	}
	htmlPage := func(h1 string) answer {
		return answer{kind: "text/html; charset=utf-8", body: body(h1),
			header: map[string]string{"Content-Language": "en-GB"}}
	}
	return web{
		"/robots.txt": {kind: "text/plain", body: "User-agent: *\nDisallow: /\nUser-agent: FieldmarkBot\nAllow: /\n"},
		"/":           htmlPage(`Acme &lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; bread`),
		"/about":      htmlPage(`About "us" &amp; &lt;!-- our bakery`),
		"/contact": htmlPage(`Contact the bakery&#x202e;&#x200b; in town<a class="headerlink" href="#contact">` +
			`¶</a>`),
	}
}

func auditAcme(t *testing.T, w web) fieldmark.Facts {
	t.Helper()
	return auditOf(t, w.serve(t, 0), audit.Subject{URL: home, Name: "Acme"})
}

// paste applies the patches of facts to the pages of a site, as a person would.
func paste(t *testing.T, w web, facts *fieldmark.Facts) (fixed web, applied map[string]int) {
	t.Helper()
	fixed, applied = web{}, map[string]int{}
	for path, a := range w {
		fixed[path] = a
	}
	for _, fact := range facts.Facts {
		for _, e := range fact.Evidence {
			if e.Patch == "" {
				continue
			}
			if n := utf8.RuneCountInString(e.Patch); n > fieldmark.MaxEvidencePatch {
				t.Errorf("%s: a patch of %d code points", fact.ID, n)
			}
			applied[fact.ID]++
			path := strings.TrimPrefix(e.URL, "https://example.com")
			a, ok := fixed[path]
			if path == "/sitemap.xml" {
				fixed[path] = answer{kind: "application/xml", body: e.Patch}
				continue
			}
			if !ok {
				t.Fatalf("%s: a patch for %s, which is not on the site", fact.ID, e.URL)
			}
			switch {
			case path == "/robots.txt":
				a.body += e.Patch
			case strings.HasPrefix(e.Patch, "<html "):
				a.body = strings.Replace(a.body, "<html>", e.Patch, 1)
			default:
				a.body = strings.Replace(a.body, "<head>", "<head>"+e.Patch, 1)
			}
			fixed[path] = a
		}
	}
	return fixed, applied
}

// TestPatches pastes every patch of an audit into the site and audits it again: the facts
// are then met, and the text of the site has not added elements.
func TestPatches(t *testing.T) {
	w := repairable()
	before := auditAcme(t, w)
	fixed, applied := paste(t, w, &before)
	after := auditAcme(t, fixed)
	for _, id := range []string{"canonical.good", "lang.html", "title.good", "description.good", "org.name", "org.url",
		"sitemap.found",
		"crawler.googlebot", "crawler.oai-searchbot", "crawler.bingbot", "crawler.perplexitybot",
		"crawler.claude-searchbot"} {
		if f, _ := before.Find(id); f.State != fieldmark.Measured || f.Value != 0 {
			t.Errorf("%s before: %s %d, want 0", id, f.State, f.Value)
		}
		if f, _ := after.Find(id); f.State != fieldmark.Measured || f.Value != 1000 {
			t.Errorf("%s with the patch: %s %d of 1000: %v", id, f.State, f.Value, f.Evidence)
		}
	}
	for _, id := range []string{"canonical.good", "lang.html", "title.good", "description.good", "org.name",
		"crawler.googlebot", "sitemap.found"} {
		if applied[id] == 0 {
			t.Errorf("%s has no patch; all: %v", id, applied)
		}
	}
	if body := fixed["/contact"].body; !strings.Contains(body, "<title>Contact the bakery in town – Acme</title>") {
		t.Errorf("the title has more than the heading and the name: %s", body[:min(len(body), 300)])
	}
	for path, a := range fixed {
		if path != "/robots.txt" && path != "/sitemap.xml" {
			checkInert(t, path, a.body)
		}
	}
}

// checkInert fails if a page has a script other than data, or a title or comment that the
// text of the site has opened.
func checkInert(t *testing.T, path, page string) {
	t.Helper()
	doc, err := xhtml.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	titles := 0
	for n := range doc.Descendants() {
		switch {
		case n.Type == xhtml.CommentNode:
			t.Errorf("%s: a comment %q", path, n.Data)
		case n.Type != xhtml.ElementNode:
		case n.Data == "title":
			titles++
		case n.Data == "script":
			var data map[string]any
			if len(n.Attr) != 1 || n.Attr[0].Val != "application/ld+json" ||
				json.Unmarshal([]byte(n.FirstChild.Data), &data) != nil || data["@type"] != "Organization" {
				t.Errorf("%s: a script %v %q", path, n.Attr, n.FirstChild.Data)
			}
		}
	}
	if titles != 1 || strings.ContainsAny(page[:strings.Index(page, "<body")], "\u202e\u200b") {
		t.Errorf("%s: %d titles, or invisible characters: %s", path, titles, page[:strings.Index(page, "<body")])
	}
}

// TestPatchesDoNotChangeFacts: a fact that is met has no patch, and a repeated audit has the
// same digest.
func TestPatchesDoNotChangeFacts(t *testing.T) {
	w := repairable()
	first, second := auditAcme(t, w), auditAcme(t, w)
	a, err := first.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := second.Digest(); err != nil || a != b {
		t.Errorf("digests %s and %s, %v", a, b, err)
	}
	for _, f := range first.Facts {
		for _, e := range f.Evidence {
			if e.Patch != "" && (f.State != fieldmark.Measured || f.Value == 1000) {
				t.Errorf("%s is %s %d and has the patch %q", f.ID, f.State, f.Value, e.Patch)
			}
		}
	}
}
