package audit

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/fieldmark/fieldmark"
)

// minProfileWords is how many words of text a profile has without scripts. A page with
// fewer is drawn by scripts, and a missing link proves nothing.
const minProfileWords = 50

// backlinks is what a page says of a site.
type backlinks struct {
	site     string // domain
	direct   bool   // a link to the site
	indirect bool   // a link with the site's address in its query, as through a redirector
	text     bool   // the site's address in the visible text
	named    bool   // the site's domain anywhere in the source
	words    int    // of visible text
	wall     bool   // asks for a password
	article  bool   // an article or item of a MediaWiki: users may write what they like elsewhere in it
}

// newBacklinks reads a page, without building a tree: all that counts are single tokens.
func newBacklinks(at *url.URL, body []byte, site string) *backlinks {
	b := &backlinks{site: site, named: bytes.Contains(bytes.ToLower(body), []byte(site))}
	z := html.NewTokenizer(bytes.NewReader(body))
	hidden := "" // the element whose text is not shown
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			switch t.Data {
			case "script", "style", "noscript", "template", "textarea":
				hidden = t.Data
			case "a", "area", "link":
				b.link(resolve(at, tokenAttr(t, "href")))
			case "input":
				b.wall = b.wall || strings.EqualFold(tokenAttr(t, "type"), "password")
			case "body":
				b.article = slices.Contains(strings.Fields(tokenAttr(t, "class")), "ns-0")
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == hidden {
				hidden = ""
			}
		case html.TextToken:
			if hidden == "" {
				b.visible(string(z.Text()))
			}
		}
	}
}

// link examines the address of a link.
func (b *backlinks) link(u *url.URL) {
	if u == nil {
		return
	}
	b.direct = b.direct || siteDomain(u) == b.site
	if !b.indirect && strings.Contains(u.RawQuery, b.site) {
		for _, values := range u.Query() {
			for _, value := range values {
				to, err := url.Parse(value)
				b.indirect = b.indirect || err == nil && isWeb(to) && siteDomain(to) == b.site
			}
		}
	}
}

// visible examines a run of text.
func (b *backlinks) visible(text string) {
	b.words += countWords(text)
	if b.text || !strings.Contains(strings.ToLower(text), b.site) {
		return
	}
	for _, word := range strings.Fields(strings.ToLower(text)) {
		if _, after, ok := strings.Cut(word, "://"); ok {
			word = after
		}
		word, _, _ = strings.Cut(strings.Trim(word, `.,:;!?()[]<>"'“”„«»`), "/")
		b.text = b.text || word == b.site || strings.HasSuffix(word, "."+b.site) && !strings.Contains(word, "@")
	}
}

// decide says whether the page at the claimed address leads back. cut means that only its
// start was read.
func (b *backlinks) decide(claim *url.URL, cut bool) (fieldmark.ProfileState, string) {
	d := domain(claim)
	// A page may repeat its own address: /login?next=https://example.com/.
	echoes := strings.Contains(strings.ToLower(claim.RequestURI()), b.site)
	switch {
	case d == "wikipedia.org" && !b.article:
		return fieldmark.ProfileRefuted, "is not an article"
	case b.direct:
		return fieldmark.ProfileVerified, "links to " + b.site
	case b.indirect && !echoes:
		return fieldmark.ProfileVerified, "links to " + b.site + " through a redirect"
	case b.text && !echoes:
		return fieldmark.ProfileVerified, "shows the address " + b.site
	case walledDomains[d]:
		return fieldmark.ProfileUnknown, d + " shows the links of a profile only to members or with scripts"
	case b.wall:
		return fieldmark.ProfileUnknown, "asks to sign in"
	case cut:
		return fieldmark.ProfileUnknown, "the page is too large to read whole"
	case b.words < minProfileWords:
		return fieldmark.ProfileUnknown, fmt.Sprintf("the page has %s without scripts",
			plural(b.words, "word", "words"))
	case b.named:
		return fieldmark.ProfileUnknown, "names " + b.site + " only in its source"
	}
	return fieldmark.ProfileRefuted, "does not link to " + b.site
}
