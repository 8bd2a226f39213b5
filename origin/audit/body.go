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
func (p *page) hideText(t *tree) {
	r := style.Compute(t.doc)
	scripted := r.GoneBytes >= minScripted && r.GoneBytes >= shownByScript*r.VisibleBytes
	left := maxHidden
	for _, run := range r.Hidden {
		var b strings.Builder
		for _, n := range run.Nodes {
			t.writeLines(&b, n, left)
			breakLine(&b)
		}
		left -= b.Len()
		h := hiddenText{text: b.String(), how: run.How}
		if !scripted && !run.Shown {
			h.stuffed = t.findKeywords(run.Nodes)
		}
		p.hidden = append(p.hidden, h)
		if left <= 0 {
			break
		}
	}
	for _, g := range r.Generated {
		p.hidden = append(p.hidden, hiddenText{text: g.Text, how: g.How})
	}
	for n := range t.descendants(t.doc) {
		for i := range n.Attr {
			if n.Attr[i].Key == "style" {
				n.Attr[i].Val = ""
			}
		}
	}
	if scripted {
		return
	}
	for _, run := range r.Gone {
		for _, n := range run.Nodes {
			if !run.Label || !t.isHeadingLabel(n) {
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
func (t *tree) isHeadingLabel(n *html.Node) bool {
	const names = " h1 h2 h3 h4 h5 h6 "
	isHeading := func(n *html.Node) bool {
		return n.Type == html.ElementNode && strings.Contains(names, " "+n.Data+" ")
	}
	found := false
	for p := range t.upward(n) {
		found = found || isHeading(p)
	}
	for d := range t.descendants(n) {
		found = found || isHeading(d)
	}
	return found && countWords(n.Data+" "+t.textOf(n, maxLabel)) <= maxHeadingLabel
}

// readBody collects the visible structure of the body.
// Comments, alternative texts and drawings are searched for instructions to models later.
func (p *page) readBody(t *tree, main []*html.Node, shown map[*html.Node]bool) {
	var comments, alts, drawings strings.Builder
	for n := range t.descendants(t.doc) {
		switch {
		case n.Type == html.CommentNode:
			addBounded(&comments, n.Data)
		case n.Type == html.TextNode && n.Parent.Namespace == "svg" && n.Parent.Data != "style":
			addBounded(&drawings, n.Data)
		case n.Type != html.ElementNode || n.Namespace != "":
		case n.Data == "h1" && len(p.headings) < maxHeadings && !shown[n] && !t.isHidden(n):
			// The heading of a page is often in its header, outside the main text.
			p.headings = append(p.headings, heading{1, t.textOf(n, maxLabel)})
		case n.Data == "img" && len(attr(n, "alt")) > 0:
			addBounded(&alts, attr(n, "alt"))
		}
	}
	p.comments, p.alts = comments.String(), alts.String()
	if drawings.Len() > 0 {
		p.hidden = append(p.hidden, hiddenText{text: drawings.String(), how: "in a drawing"})
	}
	for _, m := range main {
		t.visible(m, func(n *html.Node) { p.readBlock(t, n) }, nil)
	}
	if p.byline == "" {
		p.byline = p.findByline(t)
	}
}

// linksInMain returns the links and top headings in the main text.
func (t *tree) linksInMain(main []*html.Node) map[*html.Node]bool {
	in := map[*html.Node]bool{}
	for _, m := range main {
		t.visible(m, func(n *html.Node) {
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
func (p *page) readBlock(t *tree, n *html.Node) {
	if n.Type != html.ElementNode {
		return
	}
	switch n.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		h := heading{int(n.Data[1] - '0'), strings.Trim(collapse(t.textUpTo(n, maxLabel)), permalinks)}
		if len(p.headings) < maxHeadings && h.text != "" {
			p.headings = append(p.headings, h)
		}
		if isQuestion(h.text) && t.answered(n) {
			p.blocks.questions++
		}
	case "summary":
		if isQuestion(t.textOf(n, maxLine)) && t.answered(n) {
			p.blocks.questions++
		}
	case "ul", "ol":
		if t.countItems(n, "li") >= 2 {
			p.blocks.lists++
		}
	case "dl":
		if t.countItems(n, "dt") >= 1 && t.countItems(n, "dd") >= 1 {
			p.blocks.definitions++
		}
	case "table":
		if t.countRows(n) >= 2 {
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

// questionEnd is how many bytes at the end of a heading decide whether it is a question. The
// longest ending has 27; a search in the whole text of nested headings would cost seconds.
const questionEnd = 64

// isQuestion reports whether a heading is a question in any supported language.
// The end of the text is enough; a heading such as "FAQ" asks nothing.
func isQuestion(s string) bool {
	s = strings.TrimSpace(s)
	return question.MatchString(s[max(0, len(s)-questionEnd):])
}

// answered reports whether a short block of text follows a heading.
// The first block that has text counts. Advertisements and menus between are skipped.
func (t *tree) answered(h *html.Node) bool {
	for n := h.NextSibling; n != nil; n = n.NextSibling {
		if isBoilerplate(n) || n.Type == html.TextNode && strings.TrimSpace(n.Data) == "" {
			continue
		}
		words := countWords(n.Data)
		if n.Type == html.ElementNode {
			words = countWords(t.textUpTo(n, maxLine))
		}
		return words >= minAnswerWords && words <= maxAnswerWords
	}
	return false
}

// countItems counts the children of a list that have text. Definition lists may
// group items in div elements.
func (t *tree) countItems(list *html.Node, name string) int {
	n := 0
	for c := range list.ChildNodes() {
		switch {
		case c.Type != html.ElementNode:
		case c.Data == name && t.hasText(c):
			n++
		case c.Data == "div" && list.Data == "dl":
			n += t.countItems(c, name)
		}
	}
	return n
}

// countRows counts the rows of a table with at least two cells: tables with one
// column are layout.
func (t *tree) countRows(table *html.Node) int {
	rows := 0
	for n := range t.descendants(table) {
		if n.Type != html.ElementNode || n.Data != "tr" {
			continue
		}
		cells := 0
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode && (c.Data == "td" || c.Data == "th") && t.hasText(c) {
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
func (p *page) findByline(t *tree) string {
	if a := p.meta("author"); a != "" {
		return a
	}
	if a := p.meta("article:author"); a != "" {
		return a
	}
	looked := 0
	for n := range t.descendants(t.doc) {
		if n.Type != html.ElementNode || n.Data == "link" || n.Data == "meta" || looked == maxBylines {
			continue
		}
		marked := slices.Contains(fields(attr(n, "rel")), "author") || slices.Contains(fields(attr(n, "itemprop")),
			"author")
		for _, class := range fields(attr(n, "class")) {
			marked = marked || class == "author" || class == "byline" || class == "post-author" ||
				class == "entry-author" || class == "p-author"
		}
		if marked && !t.isHidden(n) {
			looked++
			if s := t.textOf(n, maxLine); s != "" && len(s) <= 200 {
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
func (p *page) readText(t *tree, main []*html.Node) {
	var all, figures, prose, unlinked, kept strings.Builder
	tag, _ := lexiconTag(p.lang)
	for _, m := range main {
		t.writeText(&all, m, maxText, func(*html.Node) bool { return false })
		t.writeText(&figures, m, maxText, isCodeElement)
		t.writeText(&prose, m, maxText, func(n *html.Node) bool { return isCodeElement(n) || t.isQuotation(n) })
		t.writeText(&unlinked, m, maxText, func(n *html.Node) bool { return isCodeElement(n) || isLink(n) })
		t.writeText(&kept, m, maxText, func(n *html.Node) bool {
			return n.Type == html.ElementNode && hasAttr(n,
				"data-nosnippet")
		})
		t.visible(m, func(n *html.Node) {
			if t.isQuotation(n) && !t.within(n, "blockquote") {
				s := collapse(t.textUpTo(n, maxLine))
				if width(s) >= minQuote && !messageTrailer.MatchString(s) && t.isAttributed(n, tag) {
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
func (t *tree) isQuotation(n *html.Node) bool {
	if n.Type != html.ElementNode || n.Data != "blockquote" {
		return false
	}
	if translated(n) {
		return false
	}
	looked := 0
	for d := range t.descendants(n) {
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
func (t *tree) isKeywordFrame(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return n.Type != html.TextNode && n.Type != html.DocumentNode
	}
	switch strings.ToLower(t.read(attr(n, "role"))) {
	case "navigation", "dialog", "alertdialog", "menu", "menubar", "listbox", "table", "search":
		return true
	}
	names := strings.ToLower(t.read(attr(n, "id") + " " + attr(n, "class")))
	return notKeywords[n.Data] || n.Data != "body" && n.Data != "html" &&
		slices.ContainsFunc(consentNames, func(s string) bool {
			return strings.Contains(names, s)
		})
}

// findKeywords returns the first list of repeated keywords in hidden nodes.
// Repetition is normal in menus and forms, so only hidden text outside of them is judged.
func (t *tree) findKeywords(nodes []*html.Node) string {
	for p := range t.upward(nodes[0].Parent) {
		if t.isKeywordFrame(p) {
			return ""
		}
	}
	k := keywordGroups{tree: t}
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
type keywordGroups struct {
	tree    *tree
	stuffed string
}

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
	if !k.tree.visit(n) {
		return "", 0
	}
	if n.Type == html.TextNode {
		return k.tree.read(n.Data[:min(len(n.Data), maxHidden)]), 0
	}
	if k.tree.isKeywordFrame(n) {
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
