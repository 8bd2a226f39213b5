package audit

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// How the main text of a page is separated from its boilerplate.
const (
	// minMainShare is the percentage of a page's words that a main or article
	// element must have to be trusted: some templates leave it empty.
	minMainShare = 30

	// denseShare is the percentage of a page's unlinked text that the densest
	// subtree must keep when no element is marked as the main one.
	denseShare = 85

	// maxMains and maxArticles limit the elements considered, and maxDescent the
	// depth of the search for the densest subtree.
	maxMains    = 8
	maxArticles = 200
	maxDescent  = 64

	// maxProbe is how many bytes of main text identify its position in the source.
	maxProbe = 200
)

// How many characters of a script without spaces make one word: two for Han and
// kana on average, about five for Thai, Lao, Khmer and Burmese.
const (
	hanPerWord  = 2
	thaiPerWord = 5
)

// isBoilerplate reports whether an element belongs to the frame around the text, or
// is not text. A header or footer inside an article is part of the text.
func isBoilerplate(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return n.Type == html.CommentNode
	}
	if n.Namespace != "" {
		return true // drawings and formulas
	}
	switch n.Data {
	case "script", "style", "template", "noscript", "nav", "aside", "head", "iframe", "object", "canvas", "audio",
		"video",
		"select", "datalist", "button", "textarea", "input", "dialog", "menu":
		return true
	case "header", "footer":
		return hasAttr(n, frameAttribute)
	}
	role := attr(n, "role")
	switch strings.ToLower(role[:min(len(role), maxRole)]) {
	case "navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar":
		return true
	}
	return hiddenElement(n)
}

// maxRole is how many bytes of a role are compared: more than the longest of the roles above
// has. Roles are read for every node by every walk.
const maxRole = 16

// frameAttribute is an attribute that markFrames adds.
const frameAttribute = "data-fieldmark-frame"

// markFrames gives frameAttribute to the header and footer elements below n that are outside
// of articles and main elements. They are found once, from the root down: a search from each
// of them up to the root, for each walk, would multiply the time by the depth.
func markFrames(n *html.Node) {
	for c := range n.ChildNodes() {
		switch {
		case c.Type == html.ElementNode && (c.Data == "article" || c.Data == "main"):
			continue
		case c.Type == html.ElementNode && (c.Data == "header" || c.Data == "footer"):
			c.Attr = append(c.Attr, html.Attribute{Key: frameAttribute})
		}
		markFrames(c)
	}
}

// hiddenElement reports whether an element is marked as hidden.
func hiddenElement(n *html.Node) bool {
	if hasAttr(n, "hidden") || strings.EqualFold(attr(n, "aria-hidden"), "true") {
		return true
	}
	return attr(n, "style") == hiddenStyle
}

// hiddenStyle is the style of elements that hideText marked as hidden. It removes all other
// styles.
const hiddenStyle = "display:none"

// within reports whether an element is inside one with one of these names.
func (t *tree) within(n *html.Node, names ...string) bool {
	for p := range t.upward(n.Parent) {
		if p.Type == html.ElementNode && slices.Contains(names, p.Data) {
			return true
		}
	}
	return false
}

// visible calls fn for every visible node, parents first, and left after a node's
// children.
func (t *tree) visible(n *html.Node, fn func(n *html.Node), left func(n *html.Node)) {
	if !t.visit(n) || isBoilerplate(n) {
		return
	}
	fn(n)
	for c := range n.ChildNodes() {
		t.visible(c, fn, left)
	}
	if left != nil {
		left(n)
	}
}

// findMain returns the elements with the main text: the main elements, or the
// articles, or else the densest subtree of the body.
func (t *tree) findMain() []*html.Node {
	var mains, articles []*html.Node
	var body *html.Node
	for n := range t.descendants(t.doc) {
		if n.Type != html.ElementNode || n.Namespace != "" {
			continue
		}
		switch {
		case n.Data == "body":
			if body == nil {
				body = n
			}
		case n.Data == "main" || strings.EqualFold(attr(n, "role"), "main"):
			if len(mains) < maxMains && !slices.ContainsFunc(mains, func(m *html.Node) bool {
				return t.isDescendant(n, m)
			}) && !t.isHidden(n) {
				mains = append(mains, n)
			}
		case n.Data == "article":
			if len(articles) < maxArticles && !t.within(n, "article", "aside", "nav", "footer") && !t.isHidden(n) {
				articles = append(articles, n)
			}
		}
	}
	if body == nil {
		return nil
	}
	all := countWords(t.textUnder(body))
	for _, candidates := range [][]*html.Node{mains, articles} {
		n := 0
		for _, c := range candidates {
			n += countWords(t.textUnder(c))
		}
		if n > 0 && n*100 >= all*minMainShare {
			return candidates
		}
	}
	return []*html.Node{t.densest(body)}
}

// isHidden reports whether an element or one of its ancestors is hidden.
func (t *tree) isHidden(n *html.Node) bool {
	for p := range t.upward(n) {
		if p.Data == "template" || p.Data == "noscript" || hiddenElement(p) {
			return true
		}
	}
	return false
}

// isDescendant reports whether n is top or below it.
func (t *tree) isDescendant(n, top *html.Node) bool {
	for p := range t.upward(n) {
		if p == top {
			return true
		}
	}
	return false
}

// densest descends from n while one child has most of the text outside of links.
func (t *tree) densest(n *html.Node) *html.Node {
	total := t.unlinked(n)
	for range maxDescent {
		var next *html.Node
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode && !isBoilerplate(c) && total > 0 && t.unlinked(c)*100 >= total*denseShare {
				next = c
				break
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// unlinked returns the bytes of text under n outside of links.
func (t *tree) unlinked(n *html.Node) int {
	total, depth := 0, 0
	t.visible(n, func(n *html.Node) {
		if n.Type == html.TextNode && depth == 0 {
			total += len(strings.TrimSpace(n.Data))
		} else if n.Data == "a" && n.Type == html.ElementNode {
			depth++
		}
	}, func(n *html.Node) {
		if n.Data == "a" && n.Type == html.ElementNode {
			depth--
		}
	})
	return total
}

// breaksLine reports whether an element starts a new line.
func breaksLine(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	switch n.Data {
	case "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "label",
		"mark",
		"q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr":
		return false
	}
	return true
}

// textUnder returns the visible text under n, one line per block.
func (t *tree) textUnder(n *html.Node) string { return t.textUpTo(n, maxText) }

// textUpTo is textUnder, ended after limit bytes.
func (t *tree) textUpTo(n *html.Node, limit int) string {
	var b strings.Builder
	t.writeText(&b, n, limit, func(*html.Node) bool { return false })
	return tidy(b.String())
}

// maxEmpty limits the nodes examined before an item or a cell counts as empty.
// Tables nest, and each checks all cells below it.
const maxEmpty = 1000

// hasText reports whether there is visible text under n, within maxEmpty nodes.
func (t *tree) hasText(n *html.Node) bool {
	left := maxEmpty
	return t.textWithin(n, &left)
}

// textWithin is hasText with the number of nodes left.
func (t *tree) textWithin(n *html.Node, left *int) bool {
	if *left--; *left < 0 || !t.visit(n) || isBoilerplate(n) {
		return false
	}
	if n.Type == html.TextNode {
		return strings.TrimSpace(t.read(n.Data)) != ""
	}
	for c := range n.ChildNodes() {
		if t.textWithin(c, left) {
			return true
		}
	}
	return false
}

// writeText writes the visible text under n, without the elements for which skip
// returns true, until b has limit bytes that are not space.
func (t *tree) writeText(b *strings.Builder, n *html.Node, limit int, skip func(*html.Node) bool) {
	if b.Len() >= limit || !t.visit(n) || isBoilerplate(n) || skip(n) {
		return
	}
	switch {
	case n.Type == html.TextNode:
		writeLine(b, t.read(n.Data), limit)
	case breaksLine(n):
		breakLine(b)
		defer breakLine(b)
	case t.isSuperscript(b.String(), n):
		b.WriteByte('^') // otherwise 2 to the power of 48 would read 248
	}
	for c := range n.ChildNodes() {
		t.writeText(b, c, limit, skip)
	}
}

// isSuperscript reports whether n is the exponent of the number before it.
func (t *tree) isSuperscript(before string, n *html.Node) bool {
	if n.Data != "sup" || before == "" || !isDigit(before[len(before)-1]) {
		return false
	}
	power := strings.TrimLeft(t.textOf(n, 8), "-−")
	return power != "" && isDigit(power[0])
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// breakLine starts a new line, unless b is empty.
func breakLine(b *strings.Builder) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
}

// writeLine writes text until b has limit bytes, with each run of white space as one
// space, so that indentation does not count towards the limit.
func writeLine(b *strings.Builder, s string, limit int) {
	space := false
	for _, r := range s {
		if b.Len() >= limit {
			return
		}
		if unicode.IsSpace(r) {
			space = true
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	if space {
		b.WriteByte(' ')
	}
}

// tidy collapses spaces in lines and removes empty lines.
func tidy(s string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(s, "\n") {
		if line = collapse(line); line != "" {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// textOf returns all text under n, also hidden text, in one line, ended after limit bytes.
// The indentation of short texts counts towards the limit.
func (t *tree) textOf(n *html.Node, limit int) string {
	var b strings.Builder
	for d := range t.descendants(n) {
		if b.Len() >= limit {
			break
		}
		switch {
		case d.Type == html.TextNode && len(d.Data) > limit:
			writeLine(&b, t.read(d.Data), limit)
		case d.Type == html.TextNode:
			b.WriteString(t.read(d.Data))
		case breaksLine(d):
			b.WriteByte(' ')
		}
	}
	return collapse(b.String())
}

// writeLines writes all text under a node, also hidden text, with one line per block, ended
// after limit bytes.
func (t *tree) writeLines(b *strings.Builder, n *html.Node, limit int) {
	switch {
	case b.Len() >= limit || !t.visit(n) || n.Data == "script" || n.Data == "style":
		return
	case n.Type == html.TextNode:
		writeLine(b, t.read(n.Data), limit)
		return
	case breaksLine(n):
		breakLine(b)
	}
	for c := range n.ChildNodes() {
		t.writeLines(b, c, limit)
	}
}

// anchorText returns the text of a link or its replacement.
func (t *tree) anchorText(n *html.Node) string {
	if s := t.textOf(n, maxLabel); s != "" {
		return s
	}
	if s := attr(n, "aria-label"); s != "" {
		return collapse(s)
	}
	for d := range t.descendants(n) {
		if d.Type == html.ElementNode && d.Data == "img" && attr(d, "alt") != "" {
			return collapse(attr(d, "alt"))
		}
	}
	return collapse(attr(n, "title"))
}

// firstUnspaced is the lowest character of the scripts without spaces and of those of
// double width: the first Thai letter. Most texts have lower ones alone, which need not be
// looked up in the tables of these scripts.
const firstUnspaced = 0x0e01

// countWords counts words: sequences between spaces with a letter or digit and, for
// scripts without spaces, the number of characters divided by the average length of
// a word.
func countWords(s string) int {
	words, han, thai := 0, 0, 0
	in := false // inside a word of a script with spaces
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			in = false
		case r >= firstUnspaced && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			han++
			in = false
		case r >= firstUnspaced && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) &&
			unicode.IsLetter(r):
			thai++
			in = false
		case !in && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			words++
			in = true
		}
	}
	return words + (han+hanPerWord-1)/hanPerWord + (thai+thaiPerWord-1)/thaiPerWord
}

// width returns the number of columns of a text, by which search results truncate
// it: characters of East Asian scripts count twice.
func width(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= firstUnspaced && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			n++
		}
	}
	return n
}

// firstText returns the first run of main text long enough to be found in the
// source.
func (t *tree) firstText(main []*html.Node) string {
	found := ""
	for _, m := range main {
		t.visible(m, func(n *html.Node) {
			if n.Type != html.TextNode || len(found) >= minProbe {
				return
			}
			if s := strings.TrimSpace(n.Data); len(s) > len(found) {
				found = s
			}
		}, nil)
	}
	if len(found) > maxProbe {
		found = found[:maxProbe]
		for !utf8.ValidString(found) {
			found = found[:len(found)-1]
		}
	}
	return found
}

// minProbe is a length of text that rarely appears in the menu as well.
const minProbe = 20

// offsetOf returns the offset of a text in the source, or -1.
func offsetOf(src []byte, text string) int {
	if text == "" {
		return -1
	}
	at, z := 0, html.NewTokenizer(bytes.NewReader(src))
	title := false // often equal to the heading, long before it
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return -1
		}
		raw := len(z.Raw())
		switch kind {
		case html.StartTagToken, html.EndTagToken:
			name, _ := z.TagName()
			title = kind == html.StartTagToken && string(name) == "title"
		case html.TextToken:
			if !title && strings.Contains(string(z.Text()), text) {
				return at
			}
		}
		at += raw
	}
}

// menuShare is the percentage of an element's text that must be links before its
// class or id is trusted when it says menu: the menu of a restaurant is text.
const menuShare = 80

// menuWords are class names of menus in templates that do not use nav. A sidebar is
// not included, because it often holds the summary of the page.
var menuWords = setOf("nav", "menu", "submenu", "navbar", "navigation", "breadcrumb", "breadcrumbs", "pagination",
	"pager")

// menuEnds are suffixes of such names: topnav, mainmenu.
var menuEnds = []string{"menu", "nav", "navbar", "breadcrumb", "breadcrumbs"}

// markMenus gives role=navigation to elements that are menus by their class or id
// and consist of links, so that they count as boilerplate.
func markMenus(doc *html.Node) { weighLinks(doc, false) }

// weight measures the content of a node: bytes of text, bytes of text in links, and
// whether it contains the main content.
type weight struct {
	text, links int
	main        bool
}

// weighLinks returns the weight of n, which is inside a link if linked, and marks
// the menus in it.
func weighLinks(n *html.Node, linked bool) (w weight) {
	switch n.Type {
	case html.TextNode:
		w.text = len(strings.TrimSpace(n.Data))
		if linked {
			w.links = w.text
		}
		return w
	case html.ElementNode:
		switch n.Data {
		case "script", "style":
			return w
		case "a":
			linked = true
		case "main", "article", "h1":
			w.main = true
		}
		w.main = w.main || strings.EqualFold(attr(n, "role"), "main")
	}
	for c := range n.ChildNodes() {
		in := weighLinks(c, linked)
		w.text, w.links, w.main = w.text+in.text, w.links+in.links, w.main || in.main
	}
	if !w.main && w.links > 0 && w.links*100 >= w.text*menuShare && namedMenu(n) {
		n.Attr = append(n.Attr, html.Attribute{Key: "role", Val: "navigation"})
	}
	return w
}

// namedMenu reports whether an element is named as a menu. Elements with a role or
// a meaning of their own are not.
func namedMenu(n *html.Node) bool {
	if n.Type != html.ElementNode || n.Namespace != "" || hasAttr(n, "role") {
		return false
	}
	switch n.Data {
	case "div", "ul", "ol", "section", "table", "td", "p", "span":
	default:
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(attr(n, "class")+" "+attr(n, "id")),
		func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(word string) bool {
		return menuWords[word] || slices.ContainsFunc(menuEnds, func(end string) bool {
			return strings.HasSuffix(word,
				end)
		})
	})
}
