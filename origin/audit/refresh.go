package audit

import (
	"bytes"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// maxRefresh is how far into a page a meta refresh is looked for, in bytes. A page
// that only redirects is short.
const maxRefresh = 16 << 10

// refreshTarget returns where a page leads at once by a meta refresh of 0 seconds
// in its head, which search engines treat as a redirect; nil if nowhere else. A
// refresh in noscript does not count: search engines run scripts.
func refreshTarget(at *url.URL, body []byte) *url.URL {
	base := at
	z := html.NewTokenizer(bytes.NewReader(body[:min(len(body), maxRefresh)])) // which skips noscript as raw text
	for {
		switch z.Next() {
		case html.ErrorToken:
			return nil
		case html.StartTagToken, html.SelfClosingTagToken:
		default:
			continue
		}
		t := z.Token()
		switch t.Data {
		case "html", "head", "title", "link", "script", "style", "noscript":
		case "base":
			if u := resolve(at, tokenAttr(t, "href")); u != nil && base == at {
				base = u
			}
		case "meta":
			if strings.EqualFold(tokenAttr(t, "http-equiv"), "refresh") {
				if to := immediate(base, tokenAttr(t, "content")); to != nil && to.String() != at.String() {
					return to
				}
				return nil
			}
		default:
			return nil // the body begins
		}
	}
}

// immediate reads the content of a meta refresh (HTML, section 4.2.5.3): seconds, a
// separator, and the address, perhaps after url= and in quotes.
func immediate(base *url.URL, content string) *url.URL {
	const space = " \t\n\f\r"
	content = strings.TrimLeft(content, space)
	rest := strings.TrimLeft(content, "0")
	if rest == content && !strings.HasPrefix(content, ".") || rest != "" && rest[0] >= '1' && rest[0] <= '9' {
		return nil // no time, or a second and more
	}
	rest = strings.TrimLeft(strings.TrimLeft(rest, ".0123456789"), space)
	if rest != "" && (rest[0] == ';' || rest[0] == ',') {
		rest = strings.TrimLeft(rest[1:], space)
	}
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if after, ok := strings.CutPrefix(strings.TrimLeft(rest[3:], space), "="); ok {
			rest = strings.TrimLeft(after, space)
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		rest, _, _ = strings.Cut(rest[1:], rest[:1])
	}
	to := resolve(base, rest)
	if to == nil {
		return nil
	}
	to.Fragment, to.RawFragment = "", ""
	return to
}

func tokenAttr(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
