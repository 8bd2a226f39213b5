package audit

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// How the main text of a page is told from its frame.
const (
	// minMainShare is the share of a page's words a main or article element
	// must hold, in percent, to be believed: some templates leave it empty.
	minMainShare = 30

	// denseShare is the share of a page's unlinked words, in percent, the
	// densest subtree must keep when no element is marked as the main one.
	denseShare = 85

	// maxMains and maxArticles are how many such elements are considered, and
	// maxDescent how deep the densest subtree is looked for.
	maxMains    = 8
	maxArticles = 200
	maxDescent  = 64

	// maxProbe is how many bytes of the first run of main text identify it in
	// the source.
	maxProbe = 200
)

// How many characters of a script written without spaces make one word. Han and
// kana words have two characters on average, Thai, Lao, Khmer and Burmese ones
// about five.
const (
	hanPerWord  = 2
	thaiPerWord = 5
)

// chrome reports whether an element belongs to the frame around the text, or is
// no text at all. A header or footer inside an article is part of it.
func chrome(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return n.Type == html.CommentNode
	}
	if n.Namespace != "" {
		return true // drawings and formulas
	}
	switch n.Data {
	case "script", "style", "template", "noscript", "nav", "aside", "head", "iframe", "object", "canvas", "audio", "video",
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

// hiddenElement reports whether an element is marked as not to be seen.
func hiddenElement(n *html.Node) bool {
	if hasAttr(n, "hidden") || strings.EqualFold(attr(n, "aria-hidden"), "true") {
		return true
	}
	return attr(n, "style") == hiddenStyle
}

// hiddenStyle is what prune leaves of a style that hides its element; of others it
// leaves nothing.
const hiddenStyle = "display:none"

func reduceStyle(style string) string {
	if hidingStyle(style) {
		return hiddenStyle
	}
	return ""
}

// hidingStyle reports whether an inline style takes an element out of sight.
func hidingStyle(style string) bool {
	if style == "" {
		return false
	}
	style = strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(style, " ", ""), "!important", ""))
	for decl := range strings.SplitSeq(style, ";") {
		switch name, value, _ := strings.Cut(decl, ":"); name {
		case "display":
			if value == "none" {
				return true
			}
		case "visibility":
			if value == "hidden" {
				return true
			}
		case "opacity", "font-size":
			if strings.Trim(value, "0.px%emrt") == "" && strings.Contains(value, "0") {
				return true
			}
		}
	}
	return false
}

// within reports whether an element stands inside one of the given names.
func within(n *html.Node, names ...string) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Type == html.ElementNode && slices.Contains(names, p.Data) {
			return true
		}
	}
	return false
}

// visible calls fn for every node a reader of the text sees, parents first,
// and left when a node's children are done.
func visible(n *html.Node, fn func(n *html.Node), left func(n *html.Node)) {
	if chrome(n) {
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

// findMain returns the elements that hold the main text: the main element, or
// the articles, or else the densest subtree of the body.
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
			if len(mains) < maxMains && !slices.ContainsFunc(mains, func(m *html.Node) bool { return isUnder(n, m) }) && !shut(n) {
				mains = append(mains, n)
			}
		case n.Data == "article":
			if len(articles) < maxArticles && !within(n, "article", "aside", "nav", "footer") && !shut(n) {
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

// shut reports whether an element or anything around it is out of sight.
func shut(n *html.Node) bool {
	for ; n != nil && n.Type == html.ElementNode; n = n.Parent {
		if n.Data == "template" || n.Data == "noscript" || hiddenElement(n) {
			return true
		}
	}
	return false
}

func isUnder(n, top *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n == top {
			return true
		}
	}
	return false
}

// densest walks down from n as long as one child keeps most of the text that
// is not links.
func densest(n *html.Node) *html.Node {
	total := unlinked(n)
	for range maxDescent {
		var next *html.Node
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode && !chrome(c) && total > 0 && unlinked(c)*100 >= total*denseShare {
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

// unlinked counts the bytes of text under n outside of links.
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

// breaksLine reports whether an element starts a line of its own.
func breaksLine(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	switch n.Data {
	case "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "label", "mark",
		"q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr":
		return false
	}
	return true
}

// textUnder returns the text a reader sees under n, one line per block.
func textUnder(n *html.Node) string { return textUpTo(n, maxText) }

// textUpTo is textUnder, ended soon after limit bytes.
func textUpTo(n *html.Node, limit int) string {
	var b strings.Builder
	writeText(&b, n, limit, func(*html.Node) bool { return false })
	return tidy(b.String())
}

// maxEmpty is how many nodes without text are looked at before an item or a cell
// counts as empty. Tables nest, and each asks this of all cells below it.
const maxEmpty = 1000

// hasText reports whether a reader sees any text under n, within maxEmpty nodes.
func hasText(n *html.Node) bool {
	left := maxEmpty
	return textWithin(n, &left)
}

func textWithin(n *html.Node, left *int) bool {
	if *left--; *left < 0 || chrome(n) {
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

// writeText writes what a reader sees under n, leaving out what skip names,
// until b has limit bytes that are not space.
func writeText(b *strings.Builder, n *html.Node, limit int, skip func(*html.Node) bool) {
	if b.Len() >= limit || chrome(n) || skip(n) {
		return
	}
	switch {
	case n.Type == html.TextNode:
		writeLine(b, n.Data)
	case breaksLine(n):
		breakLine(b)
		defer breakLine(b)
	case raised(b.String(), n):
		b.WriteByte('^') // or two to the power of 48 would read 248
	}
	for c := range n.ChildNodes() {
		writeText(b, c, limit, skip)
	}
}

// raised reports whether n is the power of the number that stands before it.
func raised(before string, n *html.Node) bool {
	if n.Data != "sup" || before == "" || !isDigit(before[len(before)-1]) {
		return false
	}
	power := strings.TrimLeft(textOf(n, 8), "-−")
	return power != "" && isDigit(power[0])
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// breakLine begins a new line, unless nothing has been written yet.
func breakLine(b *strings.Builder) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
}

// writeLine writes text with each run of white space as one space, so that
// indentation does not use up a limit.
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

// tidy collapses spaces inside lines and drops empty lines.
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

// textOf returns all text under n in one line, whatever its elements are, ended
// soon after limit bytes.
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

// anchorText returns what names a link: its text, or what stands in for it.
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

// countWords counts words: what stands between spaces and holds a letter or a
// digit, and for scripts without spaces the characters a word has on average.
func countWords(s string) int {
	words, han, thai := 0, 0, 0
	in := false // inside a word of a script with spaces
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			in = false
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			han++
			in = false
		case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && unicode.IsLetter(r):
			thai++
			in = false
		case !in && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			words++
			in = true
		}
	}
	return words + (han+hanPerWord-1)/hanPerWord + (thai+thaiPerWord-1)/thaiPerWord
}

// width is the length of a text as search results cut it: characters of scripts
// written in squares take the room of two.
func width(s string) int {
	n := 0
	for _, r := range s {
		n++
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			n++
		}
	}
	return n
}

// firstText returns the first run of main text long enough to find again.
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

// minProbe is a text long enough not to stand in the menu as well.
const minProbe = 20

// offsetOf returns where in the source a run of text begins, or -1.
func offsetOf(src []byte, text string) int {
	if text == "" {
		return -1
	}
	at, z := 0, html.NewTokenizer(bytes.NewReader(src))
	title := false // which often says the same as the heading, long before it
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
