package audit_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/google/go-cmp/cmp"
)

func FuzzPage(f *testing.F) {
	f.Add([]byte(goodSite()["/"].body), "text/html", "User-agent: *\nDisallow: /x")
	f.Add([]byte("<main><table><tr><td>1<td>2</table><ul><li>a<li>b</ul><h2>Why?</h2><p>because it is so"),
		`</llms.txt>; rel="describedby", <`, "")
	f.Add([]byte("\xff\xfe<\x00p\x00>"), "text/html; charset=utf-16", "Sitemap: x")
	f.Add([]byte(`<div itemscope itemtype="https://schema.org/Organization"><p itemprop="name address" itemscope>x`),
		"googlebot: noindex, max-snippet: 0", "disallow")
	f.Add([]byte("<base href=//x><a href=%zz><link rel=canonical href=':'><meta name=robots "+
		"content=none><svg><title>x"), "", "\x00")
	f.Fuzz(func(t *testing.T, body []byte, contentType, robots string) {
		facts := audit.TryPage(body, contentType, robots)
		for _, fact := range facts.Facts {
			share := fact.Unit == "share" || fact.Unit == "bool"
			if fact.Value < 0 || share && fact.Value > 1000 || fact.State != fieldmark.Measured && fact.Value != 0 {
				t.Errorf("%s is %s %d %s", fact.ID, fact.State, fact.Value, fact.Unit)
			}
			for _, e := range fact.Evidence {
				if n := utf8.RuneCountInString(e.Fact); n > fieldmark.MaxEvidenceText || !utf8.ValidString(e.Fact) {
					t.Errorf("%s has evidence of %d code points: %q", fact.ID, n, e.Fact)
				}
			}
		}
		if diff := cmp.Diff(facts.Facts, audit.TryPage(body, contentType, robots).Facts); diff != "" {
			t.Errorf("one page read twice: %s", diff)
		}
	})
}

func FuzzJSONLD(f *testing.F) {
	for _, s := range []string{
		`{"@context":"https://schema.org","@graph":[{"@type":["Organization","Brand"],"@id":"#o",` +
			`"name":{"@value":"x"},"sameAs":["a",{"@id":"b"}]}]}`,
		"<!--\n[{\"@type\":\"x\",\"a\":[[[1,null,true]]]}]\n-->", "//<![CDATA[\n{}\n//]]>;",
		`{"@graph":{"@graph":[]},"@type":1}`, strings.Repeat("[", 100), "\"\\",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if n := audit.TryJSONLD(src); n > 2000 {
			t.Errorf("%d things from %d bytes", n, len(src))
		}
	})
}

func FuzzSitemap(f *testing.F) {
	for _, s := range []string{
		`<?xml version="1.0" encoding="UTF-8"?` +
			`><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://example.com/</loc>` +
			`<lastmod>2026-01-01</lastmod></url></urlset>`,
		`<sitemapindex><sitemap><loc>https://example.com/1.xml</loc></sitemap></sitemapindex>`,
		`<urlset><url><url><loc>x</loc></url></url>`, `<!DOCTYPE x [<!ENTITY a "b">]><urlset><url><loc>&a;</loc>`,
		"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if n, _ := audit.TrySitemap(bytes.NewReader(src)); n*5 > len(src) {
			t.Errorf("%d addresses from %d bytes", n, len(src))
		}
	})
}

func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a*b$\nAllow: /\r\nSitemap: https://example.com/s.xml", "FieldmarkBot",
		"a/b?c=%41#d")
	f.Add("disallow /x\nuser agent fieldmarkbot\n\xef\xbb\xbf", "FieldmarkBot", "\x00")
	f.Add("User-agent: FieldmarkBot\n\nAllow: /index.html", "Googlebot", "index.html")
	f.Fuzz(func(t *testing.T, body, token, path string) {
		v, rule, maps := audit.TryRobots(body, token, path)
		if v == "" {
			return
		}
		if v != "allowed" && v != "disallowed" && v != "undecided" || rule == "" {
			t.Errorf("verdict %q by rule %q", v, rule)
		}
		for _, m := range maps {
			if !utf8.ValidString(m) || !strings.HasPrefix(m, "http") {
				t.Errorf("sitemap %q", m)
			}
		}
	})
}
