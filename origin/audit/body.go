package audit

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

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

// readBody collects the visible structure and the hidden text of the body.
func (p *page) readBody(doc *html.Node, main []*html.Node, shown map[*html.Node]bool) {
	var hidden, comments, alts strings.Builder
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.CommentNode:
			addBounded(&comments, n.Data)
		case n.Type != html.ElementNode || n.Namespace != "":
		case n.Data == "h1" && len(p.headings) < maxHeadings && !shown[n] && !isHidden(n):
			// The heading of a page is often in its header, outside the main text.
			p.headings = append(p.headings, heading{1, textOf(n, maxLabel)})
		case n.Data == "img" && len(attr(n, "alt")) > 0:
			addBounded(&alts, attr(n, "alt"))
		case hidden.Len() >= maxHidden:
		case hiddenElement(n) && !isHidden(n.Parent):
			addBounded(&hidden, linesOf(n, maxHidden))
		case n.Data == "noscript" || n.Data == "template":
			addBounded(&hidden, linesOf(n, maxHidden))
		}
	}
	p.hidden, p.comments, p.alts = hidden.String(), comments.String(), alts.String()
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

// readBlock evaluates one visible node of the main text.
func (p *page) readBlock(n *html.Node) {
	if n.Type != html.ElementNode {
		return
	}
	switch n.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		h := heading{int(n.Data[1] - '0'), collapse(textUpTo(n, maxLabel))}
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
func isQuestion(s string) bool { return question.MatchString(strings.TrimSpace(s)) }

// answered reports whether a short block of text follows a heading.
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
