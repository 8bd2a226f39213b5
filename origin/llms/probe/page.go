package probe

import (
	"bytes"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/fieldmark/fieldmark/origin/llms"
)

// maxPageLinks limits the links kept of one page; real ones have a few dozen.
const maxPageLinks = 500

// readPage extracts from a page what points to its llms.txt.
func readPage(f response) *llms.Page {
	p := &llms.Page{URL: f.url, Body: f.body, Language: f.header.Get("Content-Language")}
	base := f.url
	for _, field := range f.header.Values("Link") {
		for _, m := range linkField.FindAllStringSubmatch(field, maxPageLinks) {
			params := map[string]string{}
			for _, one := range linkParam.FindAllStringSubmatch(m[2], -1) {
				params[strings.ToLower(one[1])] = one[2] + one[3]
			}
			p.Links = appendLink(p.Links, base, m[1], params["rel"], params["type"])
		}
	}
	for z := html.NewTokenizer(bytes.NewReader(f.body)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return p
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		switch t := z.Token(); t.DataAtom {
		case atom.Html:
			if lang := attr(t, "lang"); lang != "" {
				p.Language = lang
			}
		case atom.Base:
			if u, err := f.url.Parse(attr(t, "href")); err == nil {
				base = u
			}
		case atom.Link:
			p.Links = appendLink(p.Links, base, attr(t, "href"), attr(t, "rel"), attr(t, "type"))
		case atom.Body:
			return p
		}
	}
}

// linkField and linkParam parse a Link field (RFC 8288, section 3) in the forms
// that are in use.
var (
	linkField = regexp.MustCompile(`<([^>]*)>((?:\s*;\s*[A-Za-z*-]+\s*=\s*(?:"[^"]*"|[^",;\s]+))*)`)
	linkParam = regexp.MustCompile(`([A-Za-z*-]+)\s*=\s*(?:"([^"]*)"|([^",;\s]+))`)
)

func appendLink(links []llms.PageLink, base *url.URL, href, rel, kind string) []llms.PageLink {
	u, err := base.Parse(strings.TrimSpace(href))
	if err != nil || rel == "" || len(links) == maxPageLinks {
		return links
	}
	return append(links, llms.PageLink{Rel: rel, URL: u, Type: kind})
}

func attr(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
