package audit

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/fieldmark/fieldmark/origin/audit/prose"
	"github.com/fieldmark/fieldmark/origin/audit/style"
)

// The body of a page: its blocks, links, author, and the text that it hides from readers.

// A question counts as answered if the block after its heading has this many words:
// fewer are no answer, more are a chapter.
const (
	minAnswerWords = 3
	maxAnswerWords = 100
)

// The length of a quotation in columns (see width), which is comparable between
// scripts: shorter ones are names and titles, longer ones copied chapters.
const (
	minQuote = 25
	maxQuote = 400
)

// hiddenText is text that readers do not see.
type hiddenText struct {
	text, how string
	stuffed   string // the part of text that is a list of repeated keywords
}

// maxHeadingLabel is how many words a heading for screen readers has: a heading that is
// clipped or moved off the screen, as is usual for logos and sections without a visible
// title, counts as a heading.
const maxHeadingLabel = 20

// A page that hides nearly all of its text shows it by a script: shownByScript is how much
// more hidden text than visible text it has, and minScripted from how many bytes on.
const (
	shownByScript = 19
	minScripted   = 2000
)

// hideText collects the text that the style of the page hides, and marks the elements whose
// text no reader sees, so that facts about text do not count it.
// The computed style decides, and not names of classes: any class may hide or show.
func (p *page) hideText(doc *html.Node) {
	r := style.Compute(doc)
	scripted := r.GoneBytes >= minScripted && r.GoneBytes >= shownByScript*r.VisibleBytes
	left := maxHidden
	for _, t := range r.Hidden {
		var b strings.Builder
		for _, n := range t.Nodes {
			writeLines(&b, n, left)
			breakLine(&b)
		}
		left -= b.Len()
		h := hiddenText{text: b.String(), how: t.How}
		if !scripted && !t.Shown {
			h.stuffed = findKeywords(t.Nodes)
		}
		p.hidden = append(p.hidden, h)
		if left <= 0 {
			break
		}
	}
	for _, g := range r.Generated {
		p.hidden = append(p.hidden, hiddenText{text: g.Text, how: g.How})
	}
	for n := range doc.Descendants() {
		for i := range n.Attr {
			if n.Attr[i].Key == "style" {
				n.Attr[i].Val = ""
			}
		}
	}
	if scripted {
		return
	}
	for _, t := range r.Gone {
		for _, n := range t.Nodes {
			if !t.Label || !isHeadingLabel(n) {
				markHidden(n)
			}
		}
	}
}

// markHidden gives an element hiddenStyle, and a text an element that has it.
// Marking is simpler than removing: other passes still see the structure of the document.
func markHidden(n *html.Node) {
	mark := html.Attribute{Key: "style", Val: hiddenStyle}
	if n.Type == html.ElementNode {
		n.Attr = append(slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "style" }), mark)
		return
	}
	span := &html.Node{Type: html.ElementNode, Data: "span", Attr: []html.Attribute{mark}}
	n.Parent.InsertBefore(span, n)
	n.Parent.RemoveChild(n)
	span.AppendChild(n)
}

// isHeadingLabel reports whether a node is in a heading, or contains one, and is short.
func isHeadingLabel(n *html.Node) bool {
	const names = " h1 h2 h3 h4 h5 h6 "
	isHeading := func(n *html.Node) bool {
		return n.Type == html.ElementNode && strings.Contains(names, " "+n.Data+" ")
	}
	found := false
	for p := n; p != nil; p = p.Parent {
		found = found || isHeading(p)
	}
	for d := range n.Descendants() {
		found = found || isHeading(d)
	}
	return found && countWords(n.Data+" "+textOf(n, maxLabel)) <= maxHeadingLabel
}

// readBody collects the visible structure of the body.
// Comments, alternative texts and drawings are searched for instructions to models later.
func (p *page) readBody(doc *html.Node, main []*html.Node, shown map[*html.Node]bool) {
	var comments, alts, drawings strings.Builder
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.CommentNode:
			addBounded(&comments, n.Data)
		case n.Type == html.TextNode && n.Parent.Namespace == "svg" && n.Parent.Data != "style":
			addBounded(&drawings, n.Data)
		case n.Type != html.ElementNode || n.Namespace != "":
		case n.Data == "h1" && len(p.headings) < maxHeadings && !shown[n] && !isHidden(n):
			// The heading of a page is often in its header, outside the main text.
			p.headings = append(p.headings, heading{1, textOf(n, maxLabel)})
		case n.Data == "img" && len(attr(n, "alt")) > 0:
			addBounded(&alts, attr(n, "alt"))
		}
	}
	p.comments, p.alts = comments.String(), alts.String()
	if drawings.Len() > 0 {
		p.hidden = append(p.hidden, hiddenText{text: drawings.String(), how: "in a drawing"})
	}
	for _, m := range main {
		visible(m, p.readBlock, nil)
	}
	if p.byline == "" {
		p.byline = p.findByline(doc)
	}
}

// linksInMain returns the links and top headings in the main text.
func linksInMain(main []*html.Node) map[*html.Node]bool {
	in := map[*html.Node]bool{}
	for _, m := range main {
		visible(m, func(n *html.Node) {
			if n.Type == html.ElementNode && (n.Data == "a" || n.Data == "h1") {
				in[n] = true
			}
		}, nil)
	}
	return in
}

// addBounded appends a line unless b has maxHidden bytes.
func addBounded(b *strings.Builder, s string) {
	if b.Len() >= maxHidden {
		return
	}
	b.WriteString(s[:min(len(s), maxHidden)])
	b.WriteByte('\n')
}

// permalinks are the marks by which generators of documentation link a heading to itself:
// Sphinx and MkDocs, Jekyll and Hugo. They are no part of the heading.
const permalinks = " ¶#§🔗"

// readBlock evaluates one visible node of the main text.
// A list with one item and a table with one column are layout, not content.
func (p *page) readBlock(n *html.Node) {
	if n.Type != html.ElementNode {
		return
	}
	switch n.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		h := heading{int(n.Data[1] - '0'), strings.Trim(collapse(textUpTo(n, maxLabel)), permalinks)}
		if len(p.headings) < maxHeadings && h.text != "" {
			p.headings = append(p.headings, h)
		}
		if isQuestion(h.text) && answered(n) {
			p.blocks.questions++
		}
	case "summary":
		if isQuestion(textOf(n, maxLine)) && answered(n) {
			p.blocks.questions++
		}
	case "ul", "ol":
		if countItems(n, "li") >= 2 {
			p.blocks.lists++
		}
	case "dl":
		if countItems(n, "dt") >= 1 && countItems(n, "dd") >= 1 {
			p.blocks.definitions++
		}
	case "table":
		if countRows(n) >= 2 {
			p.blocks.tables++
		}
	case "time":
		if d := attr(n, "datetime"); d != "" {
			p.times = append(p.times, d)
		}
	}
}

// question matches the end of a question. Greek uses a semicolon, which is a
// question mark only after Greek letters; Japanese and Thai use a particle without
// a mark.
var question = regexp.MustCompile(`(?:[?？؟]|\p{Greek}\p{M}*[)»”"]?[;\x{37E}]|(?:です|ます|ました|ません|でした|でしょう|だろう|の|る|た|` +
	`い)か。?|(?:ไหม|มั้ย|หรือไม่|หรือเปล่า|หรือยัง))$`)

// isQuestion reports whether a heading is a question in any supported language.
// The end of the text is enough; a heading such as "FAQ" asks nothing.
func isQuestion(s string) bool { return question.MatchString(strings.TrimSpace(s)) }

// answered reports whether a short block of text follows a heading.
// The first block that has text counts. Advertisements and menus between are skipped.
func answered(h *html.Node) bool {
	for n := h.NextSibling; n != nil; n = n.NextSibling {
		if isBoilerplate(n) || n.Type == html.TextNode && strings.TrimSpace(n.Data) == "" {
			continue
		}
		words := countWords(n.Data)
		if n.Type == html.ElementNode {
			words = countWords(textUpTo(n, maxLine))
		}
		return words >= minAnswerWords && words <= maxAnswerWords
	}
	return false
}

// countItems counts the children of a list that have text. Definition lists may
// group items in div elements.
func countItems(list *html.Node, name string) int {
	n := 0
	for c := range list.ChildNodes() {
		switch {
		case c.Type != html.ElementNode:
		case c.Data == name && hasText(c):
			n++
		case c.Data == "div" && list.Data == "dl":
			n += countItems(c, name)
		}
	}
	return n
}

// countRows counts the rows of a table with at least two cells: tables with one
// column are layout.
func countRows(table *html.Node) int {
	rows := 0
	for n := range table.Descendants() {
		if n.Type != html.ElementNode || n.Data != "tr" {
			continue
		}
		cells := 0
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode && (c.Data == "td" || c.Data == "th") && hasText(c) {
				cells++
			}
		}
		if cells >= 2 {
			rows++
		}
	}
	return rows
}

// findByline returns the author of the page, as marked up by common templates.
// Metadata comes first: bylines in the text may be of a quoted article.
func (p *page) findByline(doc *html.Node) string {
	if a := p.meta("author"); a != "" {
		return a
	}
	if a := p.meta("article:author"); a != "" {
		return a
	}
	looked := 0
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data == "link" || n.Data == "meta" || looked == maxBylines {
			continue
		}
		marked := slices.Contains(fields(attr(n, "rel")), "author") || slices.Contains(fields(attr(n, "itemprop")),
			"author")
		for _, class := range fields(attr(n, "class")) {
			marked = marked || class == "author" || class == "byline" || class == "post-author" ||
				class == "entry-author" || class == "p-author"
		}
		if marked && !isHidden(n) {
			looked++
			if s := textOf(n, maxLine); s != "" && len(s) <= 200 {
				return s
			}
		}
	}
	return ""
}

// readText extracts the main text: complete, without code, as prose, and without
// the part excluded from snippets.
// Each measurement needs its own version: numbers in listings are no statistics, and words in
// quotations are not those of the site.
func (p *page) readText(main []*html.Node) {
	var all, figures, prose, unlinked, kept strings.Builder
	tag, _ := lexiconTag(p.lang)
	for _, m := range main {
		writeText(&all, m, maxText, func(*html.Node) bool { return false })
		writeText(&figures, m, maxText, isCodeElement)
		writeText(&prose, m, maxText, func(n *html.Node) bool { return isCodeElement(n) || isQuotation(n) })
		writeText(&unlinked, m, maxText, func(n *html.Node) bool { return isCodeElement(n) || isLink(n) })
		writeText(&kept, m, maxText, func(n *html.Node) bool {
			return n.Type == html.ElementNode && hasAttr(n,
				"data-nosnippet")
		})
		visible(m, func(n *html.Node) {
			if isQuotation(n) && !within(n, "blockquote") {
				s := collapse(textUpTo(n, maxLine))
				if width(s) >= minQuote && !messageTrailer.MatchString(s) && isAttributed(n, tag) {
					p.quotes = append(p.quotes, s)
				}
			}
		}, nil)
	}
	p.text, p.figures, p.prose = tidy(all.String()), tidy(figures.String()), tidy(prose.String())
	p.unlinked = tidy(unlinked.String())
	p.words = countWords(p.text)
	p.unquoted = max(p.words-countWords(tidy(kept.String())), 0)
}

// isCodeElement reports whether an element contains program input or output. Its
// numbers are not statistics and its quotation marks enclose data.
func isCodeElement(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	switch n.Data {
	case "pre", "kbd", "samp", "var": // code and tt were renamed to kbd
		return true
	}
	return false
}

// isLink reports whether n is a link.
func isLink(n *html.Node) bool {
	return n.Type == html.ElementNode && n.Data == "a" && hasAttr(n, "href")
}

// maxIndented is how many nodes of a block quotation are checked for content that a
// quotation does not have.
const maxIndented = 500

// isQuotation reports whether an element is a block quotation. Converters use the
// same element for indentation, so one with a table or a listing does not count.
func isQuotation(n *html.Node) bool {
	if n.Type != html.ElementNode || n.Data != "blockquote" {
		return false
	}
	if translated(n) {
		return false
	}
	looked := 0
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && (d.Data == "table" || d.Data == "pre") {
			return false
		}
		if looked++; looked == maxIndented {
			break
		}
	}
	return true
}

// translated reports whether a block quotation is next to another in another
// language: the two show a translation.
func translated(quote *html.Node) bool {
	language := strings.ToLower(attr(quote, "lang"))
	for _, step := range []func(*html.Node) *html.Node{next, previous} {
		n := elementBeside(quote, step)
		if n != nil && n.Data == "blockquote" && strings.ToLower(attr(n, "lang")) != language {
			return true
		}
	}
	return false
}

// The elements and names of menus, dialogs, forms and tables: their hidden text repeats words
// for a reason. Consent tools list hundreds of companies and cookies.
var (
	notKeywords = setOf("nav", "menu", "dialog", "form", "select", "datalist", "table", "a", "button", "label", "svg",
		"pre", "textarea", "script", "style", "noscript", "template")
	consentNames = []string{"cookie", "consent", "gdpr", "onetrust"}
)

// isKeywordFrame reports whether an element is one of these.
func isKeywordFrame(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return n.Type != html.TextNode && n.Type != html.DocumentNode
	}
	switch strings.ToLower(attr(n, "role")) {
	case "navigation", "dialog", "alertdialog", "menu", "menubar", "listbox", "table", "search":
		return true
	}
	names := strings.ToLower(attr(n, "id") + " " + attr(n, "class"))
	return notKeywords[n.Data] || n.Data != "body" && n.Data != "html" &&
		slices.ContainsFunc(consentNames, func(s string) bool {
			return strings.Contains(names, s)
		})
}

// findKeywords returns the first list of repeated keywords in hidden nodes.
// Repetition is normal in menus and forms, so only hidden text outside of them is judged.
func findKeywords(nodes []*html.Node) string {
	for p := nodes[0].Parent; p != nil; p = p.Parent {
		if isKeywordFrame(p) {
			return ""
		}
	}
	var k keywordGroups
	var b strings.Builder
	for _, n := range nodes {
		if text, _ := k.visit(n); b.Len() < maxHidden {
			b.WriteString(text)
		}
	}
	k.check(b.String())
	return k.stuffed
}

// keywordGroups finds stuffed text in groups: a block without other blocks, or neighbours of
// this kind, such as the items of a list. The parts of a product card are on several levels,
// so that the labels of many cards are no group.
type keywordGroups struct{ stuffed string }

// check judges a group.
func (k *keywordGroups) check(text string) {
	if k.stuffed == "" {
		k.stuffed = prose.Stuffed(text)
	}
}

// visit returns the text of a node that forms a group with its neighbours, and how many
// levels of blocks the node has. With two levels, its groups have been judged.
// It is recursive over a tree whose depth parseTree bounds.
func (k *keywordGroups) visit(n *html.Node) (text string, levels int) {
	if n.Type == html.TextNode {
		return n.Data[:min(len(n.Data), maxHidden)], 0
	}
	if isKeywordFrame(n) {
		return "", 0
	}
	var b strings.Builder
	for c := range n.ChildNodes() {
		inner, l := k.visit(c)
		if levels = max(levels, l); b.Len() < maxHidden {
			b.WriteString(inner)
		}
	}
	switch {
	case n.Data == "br":
		return "\n", levels
	case !breaksLine(n):
		return b.String(), levels
	}
	k.check(b.String())
	if levels > 0 {
		return "", levels + 1
	}
	return "\n" + b.String() + "\n", 1
}
