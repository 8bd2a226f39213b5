package audit

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/fieldmark/fieldmark/origin/audit/schema"
)

// The limits of a page. Real pages stay far below; the limits bound the cost of a
// malicious one.
const (
	maxAnchors  = 5000
	maxLinks    = 2000
	maxHeadings = 1000
	maxBylines  = 20        // elements marked as a byline that are examined
	maxTools    = 100       // forms that are tools; the evidence names a few
	maxHidden   = 64 << 10  // bytes of hidden text examined
	maxText     = 512 << 10 // bytes of main text, about eighty thousand words
	maxLine     = 8 << 10   // bytes of a title or a paragraph
	maxLabel    = 1 << 10   // bytes of a link text or a heading; there are thousands, and they nest
)

// page is a parsed HTML document.
// The tree is not kept: it takes twenty times the memory of what is extracted from it.
type page struct {
	url    *url.URL
	header http.Header
	bytes  int

	tools       []string // names of forms that are WebMCP tools, at most maxTools
	registers   bool     // an inline script registers WebMCP tools
	lang        string   // of the html element
	title       string
	description string
	metas       []meta
	links       []link // of the head and of Link headers
	anchors     []anchor
	headings    []heading
	blocks      blocks
	graph       []schema.Thing // JSON-LD and microdata
	times       []string
	byline      string

	text      string   // main text, one line per block
	figures   string   // the same without code
	prose     string   // the same without code and block quotations
	unlinked  string   // the same without code and links
	quotes    []string // attributed block quotations
	words     int      // of text
	unquoted  int      // words of text under data-nosnippet
	hidden    []hiddenText
	comments  string // comments of the HTML
	alts      string // alternative texts of images
	textStart int    // offset of the main text in the HTML; -1 without main text

	measured map[string]any // results of once
}

// once returns the result of a measurement of one page, which it makes the first time.
// Replicates compute the same facts of the same pages many times.
func once[T any](p *page, what string, measure func() T) T {
	if v, ok := p.measured[what]; ok {
		return v.(T)
	}
	v := measure()
	if p.measured == nil {
		p.measured = map[string]any{}
	}
	p.measured[what] = v
	return v
}

// meta is a meta element; key is its name or property in lower case.
type meta struct{ key, content string }

// link is a link element or the value of a Link header; rels are in lower case.
type link struct {
	rels     []string
	href     string
	url      *url.URL // href resolved; nil if it is not a web address
	hreflang string
	media    string // type
}

// anchor is an a element with an address.
type anchor struct {
	url  *url.URL
	text string
	main bool // in the main text
	rels []string
}

// heading is a visible h1 to h6 element.
type heading struct {
	level int
	text  string
}

// blocks counts the kinds of blocks that answer engines extract as a whole.
type blocks struct{ lists, tables, definitions, questions int }

// kinds returns how many of the kinds occur.
// It counts kinds and not blocks: a page with forty lists is no better than one with three.
func (b blocks) kinds() int {
	n := 0
	for _, c := range []int{b.lists, b.tables, b.definitions, b.questions} {
		if c > 0 {
			n++
		}
	}
	return n
}

// isHTMLType reports whether a Content-Type is that of an HTML page.
func isHTMLType(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		t, _, _ = strings.Cut(contentType, ";")
	}
	t = strings.ToLower(strings.TrimSpace(t))
	return t == "text/html" || t == "application/xhtml+xml"
}

// isPage reports whether a visit returned a page.
// Some servers send no type at all; browsers then look at the first bytes.
func isPage(v *visit) bool {
	if !v.ok() {
		return false
	}
	t := v.header.Get("Content-Type")
	return isHTMLType(t) || t == "" && (looksLikeHTML(v.body) || len(bytes.TrimSpace(v.body)) == 0)
}

// parsePage parses a document. On error nothing is known about the page.
func parsePage(ctx context.Context, u *url.URL, header http.Header, body []byte) (*page, error) {
	src := decode(body, header.Get("Content-Type"))
	doc, err := parseTree(ctx, src)
	if err != nil {
		return nil, err
	}
	t := newTree(doc)
	p := newPage(t, u, header, src)
	p.bytes = len(body)
	if t.exceeded() {
		return nil, errSteps
	}
	return p, nil
}

// newPage extracts a page from a document and its source in UTF-8.
// The order matters: text is hidden before it is collected, and menus are marked before the main
// text is searched for.
func newPage(t *tree, u *url.URL, header http.Header, src []byte) *page {
	p := &page{url: u, header: header}
	p.links = headerLinks(u, header)
	p.hideText(t)
	markMenus(t.doc)
	main := t.findMain()
	in := t.linksInMain(main)
	p.readHead(t, in)
	p.readBody(t, main, in)
	p.readText(t, main)
	p.graph = schema.Join(schema.JSONLD(t.doc), schema.Microdata(t.doc, t.textOf))
	p.textStart = offsetOf(src, t.firstText(main))
	return p
}

// decode converts a body to UTF-8 by its byte order mark, its declared type, or the
// declaration inside it, as browsers do.
// A body that cannot be converted is read as it is. Its facts are poor, which is what other readers
// of the page find too.
func decode(body []byte, contentType string) []byte {
	r, err := charset.NewReader(bytes.NewReader(body), contentType)
	if err != nil {
		return body
	}
	src, err := io.ReadAll(io.LimitReader(r, 4*maxPageBytes)) // UTF-8 needs at most four bytes per input byte
	if err != nil {
		return body
	}
	return trimBOM(src)
}

// readHead collects metadata elements. Browsers and crawlers accept most of them
// anywhere in the document.
// A second html, base or title element is ignored, as browsers do.
func (p *page) readHead(t *tree, shown map[*html.Node]bool) {
	base := p.url
	for n := range t.descendants(t.doc) {
		// An SVG drawing has a title and links that are not those of the page.
		if n.Type != html.ElementNode || n.Namespace != "" {
			continue
		}
		switch n.Data {
		case "html":
			if p.lang == "" {
				p.lang = strings.TrimSpace(attr(n, "lang"))
			}
		case "base":
			if u, err := p.url.Parse(attr(n, "href")); err == nil && isWeb(u) && base == p.url {
				base = u
			}
		case "title":
			if p.title == "" {
				p.title = t.textOf(n, maxLine)
			}
		case "meta":
			p.addMeta(n)
		case "form", "script":
			p.addTools(n)
		case "link":
			p.addLink(n, base)
		case "a":
			if u := resolve(base, attr(n, "href")); u != nil && len(p.anchors) < maxAnchors {
				p.anchors = append(p.anchors, anchor{url: u, text: t.anchorText(n), main: shown[n],
					rels: fields(attr(n, "rel"))})
			}
		}
	}
}

// addTools records the tools that a form or an inline script offers to agents by WebMCP (draft
// community group report of 2026-10-20). Scripts are not run: the call is searched for in their text.
func (p *page) addTools(n *html.Node) {
	if n.Data == "form" {
		if name := collapse(attr(n, "toolname")); name != "" && len(p.tools) < maxTools {
			p.tools = append(p.tools, name[:min(len(name), maxLabel)])
		}
		return
	}
	if n.FirstChild != nil && !p.registers {
		code := n.FirstChild.Data
		p.registers = strings.Contains(code, "modelContext") && strings.Contains(code, "registerTool")
	}
}

// addMeta records a meta element under its name and its property.
func (p *page) addMeta(n *html.Node) {
	content := strings.TrimSpace(attr(n, "content"))
	for _, name := range []string{"name", "property"} {
		key := strings.ToLower(strings.TrimSpace(attr(n, name)))
		if key == "" {
			continue
		}
		p.metas = append(p.metas, meta{key, content})
		if key == "description" && p.description == "" {
			p.description = collapse(content)
		}
	}
}

// addLink records a link element.
// A link without a relation has no meaning for the page.
func (p *page) addLink(n *html.Node, base *url.URL) {
	href := strings.TrimSpace(attr(n, "href"))
	rels := fields(attr(n, "rel"))
	if href == "" || len(rels) == 0 || len(p.links) >= maxLinks {
		return
	}
	p.links = append(p.links, link{
		rels: rels, href: href, url: resolve(base, href),
		hreflang: strings.TrimSpace(attr(n, "hreflang")), media: strings.ToLower(strings.TrimSpace(attr(n, "type"))),
	})
}

// meta returns the content of the first meta element with this name or property.
// Empty ones are skipped: templates often print the element without a value.
func (p *page) meta(key string) string {
	for _, m := range p.metas {
		if m.key == key && m.content != "" {
			return m.content
		}
	}
	return ""
}

// rel returns the links with a relation.
func (p *page) rel(name string) (list []link) {
	for _, l := range p.links {
		for _, r := range l.rels {
			if r == name {
				list = append(list, l)
				break
			}
		}
	}
	return list
}

// headerLinks parses Link header fields (RFC 8288, section 3).
// Only Link fields of the page itself are read. A malformed field ends its list.
func headerLinks(base *url.URL, header http.Header) (list []link) {
	for _, field := range header.Values("Link") {
		for len(field) > 0 && len(list) < maxLinks {
			start := strings.IndexByte(field, '<')
			end := strings.IndexByte(field, '>')
			if start < 0 || end < start {
				break
			}
			href := field[start+1 : end]
			params, rest := cutParams(field[end+1:])
			field = rest
			l := link{href: href, url: resolve(base, href), rels: fields(params["rel"]),
				hreflang: params["hreflang"], media: strings.ToLower(params["type"])}
			if len(l.rels) > 0 {
				list = append(list, l)
			}
		}
	}
	return list
}

// cutParams parses ;name=value pairs up to the comma that ends a link value.
// Of repeated parameters the first counts (RFC 8288, 3.3).
func cutParams(s string) (params map[string]string, rest string) {
	params = map[string]string{}
	quoted, start := false, 0
	add := func(part string) {
		name, value, _ := strings.Cut(part, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if _, dup := params[name]; name != "" && !dup {
			params[name] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ';':
			add(s[start:i])
			start = i + 1
		case c == ',':
			add(s[start:i])
			return params, s[i+1:]
		}
	}
	add(s[start:])
	return params, ""
}

// resolve returns an absolute address, or nil if it is not a web address.
// Hosts are compared in lower case everywhere, so they are converted here once.
func resolve(base *url.URL, href string) *url.URL {
	href = strings.TrimSpace(href)
	if href == "" {
		return nil
	}
	u, err := base.Parse(href)
	if err != nil || !isWeb(u) {
		return nil
	}
	u.Host = strings.ToLower(u.Host)
	return u
}

// attr returns an attribute of an element.
func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Namespace == "" && a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Namespace == "" && a.Key == name {
			return true
		}
	}
	return false
}

// fields splits a space-separated attribute into lower-case words.
func fields(s string) []string { return strings.Fields(strings.ToLower(s)) }

// collapse turns every run of white space into one space.
func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// maxRefresh is how many bytes of a page are searched for a meta refresh. A page
// that only redirects is short.
const maxRefresh = 16 << 10

// refreshTarget returns the target of a meta refresh of 0 seconds in the head of a
// page, which search engines treat as a redirect, or nil. A refresh in noscript
// does not count, because search engines run scripts.
// Only the start is read, as a stream and without a tree: this runs before it is known whether the
// body is worth parsing.
func refreshTarget(at *url.URL, body []byte) *url.URL {
	base := at
	z := html.NewTokenizer(bytes.NewReader(body[:min(len(body), maxRefresh)])) // treats the content of noscript as text
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
			return nil // start of the body
		}
	}
}

// immediate parses the content of a meta refresh (HTML, section 4.2.5.3): seconds,
// a separator, and the address, optionally after url= and in quotes.
// Browsers accept far more than the usual form, and sites that hide a redirect use it.
func immediate(base *url.URL, content string) *url.URL {
	const space = " \t\n\f\r"
	content = strings.TrimLeft(content, space)
	rest := strings.TrimLeft(content, "0")
	if rest == content && !strings.HasPrefix(content, ".") || rest != "" && rest[0] >= '1' && rest[0] <= '9' {
		return nil // no time, or at least one second
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
