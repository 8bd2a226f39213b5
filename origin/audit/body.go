package audit

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// A question is answered on the spot when the block after its heading is of
// this many words: less is no answer, more is a chapter.
const (
	minAnswerWords = 3
	maxAnswerWords = 100
)

// quoteLength is how long a quotation is, in code points: shorter ones are
// names and titles, longer ones are copied chapters.
const (
	minQuote = 25
	maxQuote = 400
)

// readBody collects what the body shows and what it hides.
func (p *page) readBody(doc *html.Node, main []*html.Node) {
	var hidden, comments strings.Builder
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.CommentNode:
			addBounded(&comments, n.Data)
		case n.Type != html.ElementNode || n.Namespace != "":
		case hiddenElement(n) && !shut(n.Parent):
			addBounded(&hidden, textOf(n))
		case n.Data == "noscript" || n.Data == "template":
			addBounded(&hidden, textOf(n))
		case n.Data == "h1" && !shut(n) && !inText(n, main):
			// A page's heading often stands in its header, outside the text.
			p.headings = append(p.headings, heading{1, textOf(n)})
		}
	}
	p.hidden, p.comments = hidden.String(), comments.String()
	for _, m := range main {
		visible(m, p.readBlock, nil)
	}
	if p.byline == "" {
		p.byline = p.findByline(doc)
	}
}

// inText reports whether n is part of the main text, with no frame around it.
func inText(n *html.Node, main []*html.Node) bool {
	for p := n; p != nil; p = p.Parent {
		if chrome(p) {
			return false
		}
		if slices.Contains(main, p) {
			return true
		}
	}
	return false
}

func addBounded(b *strings.Builder, s string) {
	if b.Len() >= maxHidden {
		return
	}
	b.WriteString(s)
	b.WriteByte('\n')
}

// readBlock takes note of one visible node of the main text.
func (p *page) readBlock(n *html.Node) {
	if n.Type != html.ElementNode {
		return
	}
	switch n.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		h := heading{int(n.Data[1] - '0'), collapse(textUnder(n))}
		if len(p.headings) < maxHeadings && h.text != "" {
			p.headings = append(p.headings, h)
		}
		if isQuestion(h.text) && answered(n) {
			p.blocks.questions++
		}
	case "summary":
		if isQuestion(textOf(n)) && answered(n) {
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

func isQuestion(s string) bool {
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") || strings.HasSuffix(s, "؟")
}

// answered reports whether a short block of text follows a heading.
func answered(h *html.Node) bool {
	for n := h.NextSibling; n != nil; n = n.NextSibling {
		if chrome(n) || n.Type == html.TextNode && strings.TrimSpace(n.Data) == "" {
			continue
		}
		words := countWords(n.Data)
		if n.Type == html.ElementNode {
			words = countWords(textUnder(n))
		}
		return words >= minAnswerWords && words <= maxAnswerWords
	}
	return false
}

// countItems counts the children of a list that hold text. Definition lists
// may wrap their groups in div elements.
func countItems(list *html.Node, name string) int {
	n := 0
	for c := range list.ChildNodes() {
		switch {
		case c.Type != html.ElementNode:
		case c.Data == name && textUnder(c) != "":
			n++
		case c.Data == "div" && list.Data == "dl":
			n += countItems(c, name)
		}
	}
	return n
}

// countRows counts the rows of a table that hold at least two cells: a table of
// one column is layout.
func countRows(table *html.Node) int {
	rows := 0
	for n := range table.Descendants() {
		if n.Type != html.ElementNode || n.Data != "tr" {
			continue
		}
		cells := 0
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode && (c.Data == "td" || c.Data == "th") && textUnder(c) != "" {
				cells++
			}
		}
		if cells >= 2 {
			rows++
		}
	}
	return rows
}

// findByline looks for who wrote the page, in the ways templates mark it.
func (p *page) findByline(doc *html.Node) string {
	if a := p.meta("author"); a != "" {
		return a
	}
	if a := p.meta("article:author"); a != "" {
		return a
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data == "link" || n.Data == "meta" {
			continue
		}
		marked := slices.Contains(fields(attr(n, "rel")), "author") || slices.Contains(fields(attr(n, "itemprop")), "author")
		for _, class := range fields(attr(n, "class")) {
			marked = marked || class == "author" || class == "byline" || class == "post-author" || class == "entry-author" || class == "p-author"
		}
		if marked && !shut(n) {
			if s := textOf(n); s != "" && len(s) <= 200 {
				return s
			}
		}
	}
	return ""
}

// readText takes the main text: whole, without block quotations, and the part
// that snippets may not show.
func (p *page) readText(main []*html.Node) {
	var all, prose, kept strings.Builder
	isQuote := func(n *html.Node) bool { return n.Type == html.ElementNode && n.Data == "blockquote" }
	for _, m := range main {
		writeText(&all, m, func(*html.Node) bool { return false })
		writeText(&prose, m, isQuote)
		writeText(&kept, m, func(n *html.Node) bool { return n.Type == html.ElementNode && hasAttr(n, "data-nosnippet") })
		visible(m, func(n *html.Node) {
			if isQuote(n) && !within(n, "blockquote") {
				if s := collapse(textUnder(n)); len([]rune(s)) >= minQuote {
					p.quotes = append(p.quotes, s)
				}
			}
		}, nil)
	}
	p.text, p.prose = tidy(all.String()), tidy(prose.String())
	p.words = countWords(p.text)
	p.unquoted = p.words - countWords(tidy(kept.String()))
}
