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
		return !within(n, "article", "main")
	}
	switch strings.ToLower(attr(n, "role")) {
	case "navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar":
		return true
	}
	return hiddenElement(n)
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
func within(n *html.Node, names ...string) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Type == html.ElementNode && slices.Contains(names, p.Data) {
			return true
		}
	}
	return false
}

// visible calls fn for every visible node, parents first, and left after a node's
// children.
func visible(n *html.Node, fn func(n *html.Node), left func(n *html.Node)) {
	if isBoilerplate(n) {
		return
	}
	fn(n)
	for c := range n.ChildNodes() {
		visible(c, fn, left)
	}
	if left != nil {
		left(n)
	}
}

// findMain returns the elements with the main text: the main elements, or the
// articles, or else the densest subtree of the body.
func findMain(doc *html.Node) []*html.Node {
	var mains, articles []*html.Node
	var body *html.Node
	for n := range doc.Descendants() {
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
				return isDescendant(n,
					m)
			}) && !isHidden(n) {
				mains = append(mains, n)
			}
		case n.Data == "article":
			if len(articles) < maxArticles && !within(n, "article", "aside", "nav", "footer") && !isHidden(n) {
				articles = append(articles, n)
			}
		}
	}
	if body == nil {
		return nil
	}
	all := countWords(textUnder(body))
	for _, candidates := range [][]*html.Node{mains, articles} {
		n := 0
		for _, c := range candidates {
			n += countWords(textUnder(c))
		}
		if n > 0 && n*100 >= all*minMainShare {
			return candidates
		}
	}
	return []*html.Node{densest(body)}
}

// isHidden reports whether an element or one of its ancestors is hidden.
func isHidden(n *html.Node) bool {
	for ; n != nil && n.Type == html.ElementNode; n = n.Parent {
		if n.Data == "template" || n.Data == "noscript" || hiddenElement(n) {
			return true
		}
	}
	return false
}

// isDescendant reports whether n is top or below it.
func isDescendant(n, top *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n == top {
			return true
		}
	}
	return false
}

// densest descends from n while one child has most of the text outside of links.
func densest(n *html.Node) *html.Node {
	total := unlinked(n)
	for range maxDescent {
		var next *html.Node
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode && !isBoilerplate(c) && total > 0 && unlinked(c)*100 >= total*denseShare {
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
func unlinked(n *html.Node) int {
	total, depth := 0, 0
	visible(n, func(n *html.Node) {
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
func textUnder(n *html.Node) string { return textUpTo(n, maxText) }

// textUpTo is textUnder, ended soon after limit bytes.
func textUpTo(n *html.Node, limit int) string {
	var b strings.Builder
	writeText(&b, n, limit, func(*html.Node) bool { return false })
	return tidy(b.String())
}

// maxEmpty limits the nodes examined before an item or a cell counts as empty.
// Tables nest, and each checks all cells below it.
const maxEmpty = 1000

// hasText reports whether there is visible text under n, within maxEmpty nodes.
func hasText(n *html.Node) bool {
	left := maxEmpty
	return textWithin(n, &left)
}

// textWithin is hasText with the number of nodes left.
func textWithin(n *html.Node, left *int) bool {
	if *left--; *left < 0 || isBoilerplate(n) {
		return false
	}
	if n.Type == html.TextNode {
		return strings.TrimSpace(n.Data) != ""
	}
	for c := range n.ChildNodes() {
		if textWithin(c, left) {
			return true
		}
	}
	return false
}

// writeText writes the visible text under n, without the elements for which skip
// returns true, until b has limit bytes that are not space.
func writeText(b *strings.Builder, n *html.Node, limit int, skip func(*html.Node) bool) {
	if b.Len() >= limit || isBoilerplate(n) || skip(n) {
		return
	}
	switch {
	case n.Type == html.TextNode:
		writeLine(b, n.Data)
	case breaksLine(n):
		breakLine(b)
		defer breakLine(b)
	case isSuperscript(b.String(), n):
		b.WriteByte('^') // otherwise 2 to the power of 48 would read 248
	}
	for c := range n.ChildNodes() {
		writeText(b, c, limit, skip)
	}
}

// isSuperscript reports whether n is the exponent of the number before it.
func isSuperscript(before string, n *html.Node) bool {
	if n.Data != "sup" || before == "" || !isDigit(before[len(before)-1]) {
		return false
	}
	power := strings.TrimLeft(textOf(n, 8), "-−")
	return power != "" && isDigit(power[0])
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// breakLine starts a new line, unless b is empty.
func breakLine(b *strings.Builder) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
}

// writeLine writes text with each run of white space as one space, so that
// indentation does not count towards a limit.
func writeLine(b *strings.Builder, s string) {
	space := false
	for _, r := range s {
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

// textOf returns all text under n, also hidden text, in one line, ended soon after
// limit bytes.
func textOf(n *html.Node, limit int) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if b.Len() >= limit {
			break
		}
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		} else if breaksLine(d) {
			b.WriteByte(' ')
		}
	}
	return collapse(b.String())
}

// writeLines writes all text under a node, also hidden text, with one line per block, ended
// soon after limit bytes.
func writeLines(b *strings.Builder, n *html.Node, limit int) {
	switch {
	case b.Len() >= limit || n.Data == "script" || n.Data == "style":
		return
	case n.Type == html.TextNode:
		writeLine(b, n.Data)
		return
	case breaksLine(n):
		breakLine(b)
	}
	for c := range n.ChildNodes() {
		writeLines(b, c, limit)
	}
}

// anchorText returns the text of a link or its replacement.
func anchorText(n *html.Node) string {
	if s := textOf(n, maxLabel); s != "" {
		return s
	}
	if s := attr(n, "aria-label"); s != "" {
		return collapse(s)
	}
	for d := range n.Descendants() {
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
func firstText(main []*html.Node) string {
	found := ""
	for _, m := range main {
		visible(m, func(n *html.Node) {
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
