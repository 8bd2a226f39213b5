package llms

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Limits of what is parsed. Parsing time grows with the square of either, and real
// files stay far below.
const (
	maxNesting = 32    // nested quotes and lists
	maxMarks   = 4_000 // characters in one block that may start or end markup
)

// section is a level-two heading and the blocks below it.
type section struct {
	title  string
	at     int
	blocks []ast.Node
}

// outline is the structure of a file. Only top-level blocks count: a heading inside
// a quote or a list has no effect on the structure.
type outline struct {
	titles   []*ast.Heading // level one, not empty
	deep     []*ast.Heading // level three and deeper
	before   []ast.Node     // between the title and the first section
	first    ast.Node
	sections []section
	markup   bool // anything that plain text does not have
}

// parse parses the file as Markdown.
// goldmark follows CommonMark, as most readers do; the rules of the format apply to its result.
func (l *linter) parse() *markdown {
	body, marked := bytes.CutPrefix(l.source, []byte("\ufeff"))
	m := &markdown{linter: l, urls: map[string]bool{}}
	if marked {
		m.shift = len("\ufeff")
	}
	if n := frontMatter(body); n > 0 {
		l.add("front-matter", SeverityInfo, m.shift, refFormat,
			"starts with front matter, which readers of the format treat as text")
		body, m.shift = body[n:], m.shift+n
	}
	if n := parseable(body); n < len(body) {
		l.add("truncated", SeverityWarning, n+m.shift, "",
			"the markup is too dense to parse; the rest of the file was not checked")
		body = body[:n]
	}
	m.body = body
	m.root = goldmark.DefaultParser().Parse(text.NewReader(body))
	return m
}

// maxFrontMatter limits the length of front matter in bytes: without an end by
// then, it is a horizontal rule and text.
const maxFrontMatter = 8 << 10

// frontMatterField matches a line of front matter: a YAML field, a continuation or
// a comment.
var frontMatterField = regexp.MustCompile(`^(?:[\w-]+[ \t]*:|[ \t]|-[ \t]|#|\s*$)`)

// frontMatter returns the number of bytes of front matter at the start of a file:
// lines of YAML between two lines of three hyphens, which site generators read, and
// which CommonMark treats as a horizontal rule and a heading.
// An end without any field is a rule and a heading in both readings.
func frontMatter(body []byte) int {
	end, fields := 0, 0
	for line := range bytes.Lines(body[:min(len(body), maxFrontMatter)]) {
		fence := string(bytes.TrimRight(line, " \t\r\n")) == "---"
		switch {
		case end == 0 && !fence:
			return 0
		case end > 0 && fence && fields > 0:
			return end + len(line)
		case end > 0 && !frontMatterField.Match(line):
			return 0
		case end > 0 && bytes.IndexByte(line, ':') > 0:
			fields++
		}
		end += len(line)
	}
	return 0
}

// withoutCode returns the file with all code replaced by spaces.
// The length stays the same, so offsets into the result are offsets into the file.
func (m *markdown) withoutCode() []byte {
	prose := bytes.Clone(m.source)
	blank := func(s text.Segment) {
		for i := s.Start + m.shift; i < s.Stop+m.shift; i++ {
			if prose[i] != '\n' && prose[i] != '\r' {
				prose[i] = ' '
			}
		}
	}
	_ = ast.Walk(m.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch {
		case !entering:
		case n.Kind() == ast.KindCodeBlock || n.Kind() == ast.KindFencedCodeBlock:
			for i := range n.Lines().Len() {
				blank(n.Lines().At(i))
			}
		case n.Kind() == ast.KindCodeSpan:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					blank(t.Segment)
				}
			}
		}
		return ast.WalkContinue, nil
	})
	return prose
}

// structure checks and grades the structure of the file.
// A level includes those below it. Only the structure counts; a file with warnings can be complete.
func (m *markdown) structure() {
	l, root := m.linter, m.root
	o := m.outline(root)
	m.links(root)
	m.title(o)
	summed := m.summary(o)
	linked := m.sections(o)
	switch {
	case len(o.titles) == 0 && !o.markup:
		l.report.Level = LevelNone
	case len(o.titles) == 0:
		l.report.Level = LevelMarkdown
	case !summed:
		l.report.Level = LevelTitled
	case !linked:
		l.report.Level = LevelSummed
	default:
		l.report.Level = LevelLinked
	}
}

// parseable returns how many bytes of body are within the limits of the parser,
// ending at the start of a block.
// What is beyond is reported as not checked, never parsed partly: half a block has other markup.
func parseable(body []byte) int {
	end, block, marks := 0, 0, 0
	for line := range bytes.Lines(body) {
		// These lines end a paragraph, and so the span of inline markup.
		if trimmed := bytes.TrimLeft(line, " \t\r\n"); len(trimmed) == 0 || bytes.IndexByte([]byte("-*+#"),
			trimmed[0]) >= 0 {
			block, marks = end, 0
		}
		// A row of one marker is a horizontal rule and opens nothing.
		if len(bytes.Trim(line, "-* \t\r\n")) > 0 && nesting(line) > maxNesting {
			return block
		}
		for _, c := range line {
			if bytes.IndexByte([]byte("[]()<*_`&"), c) >= 0 {
				marks++
			}
		}
		if marks > maxMarks {
			return block
		}
		end += len(line)
	}
	return len(body)
}

// nesting returns an upper bound for the quotes and lists that a line is inside of:
// those it opens, and one for every two columns of indentation before a marker.
// An upper bound is enough, since no real file comes near the limit.
func nesting(line []byte) int {
	columns := 0
	for _, c := range line {
		switch c {
		case ' ':
			columns++
			continue
		case '\t':
			columns += 4
			continue
		}
		break
	}
	n := markers(line)
	if n > 0 {
		n += columns / 2
	}
	return n
}

// markers counts the quote and list markers at the start of a line.
func markers(line []byte) int {
	n := 0
	for i, c := range line {
		space := i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t'
		switch {
		case c == '>', space && (c == '-' || c == '*' || c == '+' || c == '.' || c == ')'):
			n++
		case c != ' ' && c != '\t' && (c < '0' || c > '9'):
			return n
		}
	}
	return n
}

// markdown is a parsed file.
type markdown struct {
	*linter

	root  ast.Node
	body  []byte
	shift int // offset of body in the source
	urls  map[string]bool
}

// at returns the offset of a node in the source, or -1.
// Inline nodes often have no position; that of the block around them is near enough.
func (m *markdown) at(n ast.Node) int {
	for ; n != nil; n = n.Parent() {
		if p := n.Pos(); p >= 0 {
			return p + m.shift
		}
	}
	return -1
}

// outline collects the top-level blocks.
// Text before the title belongs to nothing and is reported there.
func (m *markdown) outline(root ast.Node) outline {
	o := outline{first: root.FirstChild()}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() != ast.KindParagraph && n.Kind() != ast.KindHTMLBlock {
			o.markup = true
		}
		h, ok := n.(*ast.Heading)
		switch {
		case !ok && len(o.sections) > 0:
			s := &o.sections[len(o.sections)-1]
			s.blocks = append(s.blocks, n)
		case !ok && len(o.titles) > 0:
			o.before = append(o.before, n)
		case !ok:
		case h.Level == 1 && m.plain(h) != "":
			o.titles = append(o.titles, h)
		case h.Level == 2:
			o.sections = append(o.sections, section{title: m.plain(h), at: m.at(h)})
		case h.Level > 2:
			o.deep = append(o.deep, h)
		}
	}
	return o
}

// plain returns the text of a node without markup.
func (m *markdown) plain(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch t := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(t.Segment.Value(m.body))
				if t.SoftLineBreak() || t.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(t.Value)
			}
		case *ast.AutoLink:
			if entering {
				b.Write(t.Label(m.body))
			}
		}
		return ast.WalkContinue, nil
	})
	return unescape(strings.TrimSpace(b.String()))
}

// unescape removes backslash escapes, which the parser keeps in text.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && isPunct(s[i+1]) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// isPunct reports whether c is ASCII punctuation, which a backslash can escape.
func isPunct(c byte) bool {
	return '!' <= c && c <= '/' || ':' <= c && c <= '@' || '[' <= c && c <= '`' || '{' <= c && c <= '~'
}

// title checks the headings.
func (m *markdown) title(o outline) {
	if len(o.titles) == 0 {
		m.add("no-h1", SeverityError, -1, refFormat, "there is no level-one heading with the name of the site")
	} else {
		m.report.Title = m.plain(o.titles[0])
		if o.first != ast.Node(o.titles[0]) {
			m.add("h1-not-first", SeverityWarning, m.at(o.first), refFormat,
				"there is content before the level-one heading")
		}
		for _, h := range o.titles[1:] {
			m.add("multiple-h1", SeverityWarning, m.at(h), refFormat, "another level-one heading")
		}
	}
	for _, h := range o.deep {
		m.add("heading-level-3", SeverityWarning, m.at(h), refFormat,
			"a heading of level %d; the format uses only levels one and two", h.Level)
	}
}

// summary reports whether a quoted summary directly follows the title.
// The rule is strict because the reference parser is: it takes the first line after the title.
func (m *markdown) summary(o outline) bool {
	if len(o.titles) == 0 {
		return false
	}
	for i, n := range o.before {
		if n.Kind() != ast.KindBlockquote || m.plain(n) == "" {
			continue
		}
		p := n.FirstChild()
		if n.ChildCount() > 1 || p.Type() == ast.TypeBlock && p.Lines().Len() > 1 {
			m.add("multi-line-summary", SeverityWarning, m.at(n), refFormat,
				"the summary has more than one line; the reference parser reads only one")
		}
		if i == 0 && n.PreviousSibling() == ast.Node(o.titles[0]) {
			return true
		}
		m.add("summary-not-after-h1", SeverityWarning, m.at(n), refFormat,
			"the summary does not directly follow the heading")
		return false
	}
	m.add("no-summary", SeverityWarning, m.at(o.titles[0]), refFormat, "no quoted summary follows the heading")
	return false
}

// sections checks the content of the level-two headings and reports whether any of
// them has links.
// Titles are compared without case and spaces, as readers search for them.
func (m *markdown) sections(o outline) bool {
	seen := map[string]bool{}
	count := linkCount{}
	for _, s := range o.sections {
		title := foldTitle(s.title)
		if seen[title] {
			m.add("duplicate-section", SeverityWarning, s.at, refFormat, "another section has this title")
		}
		seen[title] = true
		if title == "optional" {
			m.add("optional-section", SeverityInfo, s.at, refFormat,
				"the title Optional is a convention; not every reader may skip it")
		}
		if len(s.blocks) == 0 {
			m.add("empty-section", SeverityWarning, s.at, refFormat, "there is no content under this heading")
		}
		m.section(s, &count)
	}
	count.report(m)
	return count.links > 0
}

// section checks the blocks under one heading.
func (m *markdown) section(s section, count *linkCount) {
	for _, b := range s.blocks {
		if list, ok := b.(*ast.List); ok {
			m.list(list, count)
		} else {
			m.misplaced(b)
		}
	}
}

// misplaced reports a block or an item that does not belong in a list of links.
func (m *markdown) misplaced(n ast.Node) {
	m.add("prose-in-link-section", SeverityWarning, m.at(n), refFormat,
		"only list items that start with a link belong under a level-two heading")
}

// counter counts faults whose message says how many there are.
// A list of 500 links without notes is one fault with a count, not 500.
type counter struct {
	n      int
	places []Place // at most maxPlaces
}

func (t *counter) add(m *markdown, n ast.Node) {
	t.n++
	if at := m.at(n); at >= 0 && len(t.places) < maxPlaces {
		t.places = append(t.places, m.place(at, ""))
	}
}

// report reports the faults as one issue.
func (t *counter) report(m *markdown, code, format string, args ...any) {
	if t.n > 0 {
		m.addPlaces(Issue{Code: code, Severity: SeverityInfo, Message: fmt.Sprintf(format, args...),
			SpecRef: refFormat, Count: t.n, Places: t.places})
	}
}

// linkCount counts the links in the lists of a file.
type linkCount struct {
	links   int
	bare    counter // without a note
	loose   counter // with a note that is not separated by a colon
	bullets counter // lists with another bullet character
}

// report reports what concerns the whole file.
func (c *linkCount) report(m *markdown) {
	c.bare.report(m, "missing-notes", "%d of %d links have no note", c.bare.n, c.links)
	c.loose.report(m, "note-without-colon",
		"%d of %d links have a note without a colon right after the link; the reference parser drops it", c.loose.n,
		c.links)
	c.bullets.report(m, "star-bullets", "the reference parser accepts only - as a bullet")
}

// list checks the items of one list of links.
func (m *markdown) list(list *ast.List, count *linkCount) {
	if list.Marker == '*' || list.Marker == '+' {
		count.bullets.add(m, list)
	}
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		block := item.FirstChild()
		if block == nil {
			continue
		}
		link, ok := block.FirstChild().(*ast.Link)
		switch {
		case ok:
			m.item(link, count)
		case m.codedLink(block.FirstChild()):
			// Reported by links.
		default:
			if raw := m.raw(block); strings.HasPrefix(raw, "[") && strings.Contains(raw, "](") {
				m.add("malformed-link", SeverityWarning, m.at(block), refFormat, "looks like a link, but is not valid")
			} else {
				m.misplaced(block)
			}
		}
	}
}

// item checks one link and its note. Links without an address are reported by
// address and not counted.
func (m *markdown) item(link *ast.Link, count *linkCount) {
	if len(link.Destination) == 0 {
		return
	}
	count.links++
	switch next := link.NextSibling().(type) {
	case nil:
		count.bare.add(m, link)
	case *ast.Text:
		if !bytes.HasPrefix(next.Segment.Value(m.body), []byte(":")) {
			count.loose.add(m, link)
		}
	default:
		count.loose.add(m, link)
	}
	m.repeated(link)
}

// codedLink reports whether n is a link inside backticks.
func (m *markdown) codedLink(n ast.Node) bool {
	if n == nil || n.Kind() != ast.KindCodeSpan {
		return false
	}
	return codedLink.MatchString(m.plain(n))
}

var codedLink = regexp.MustCompile(`^\[[^\]]+\]\([^()\s]+\)$`)

// raw returns the first line of a block as in the source.
func (m *markdown) raw(n ast.Node) string {
	if n.Type() != ast.TypeBlock || n.Lines().Len() == 0 {
		return ""
	}
	line := n.Lines().At(0)
	return string(line.Value(m.body))
}

// repeated reports an address that is listed twice.
// Only the host is compared without case; paths may differ by it.
func (m *markdown) repeated(link *ast.Link) {
	address := string(link.Destination)
	if u, err := url.Parse(address); err == nil {
		u.Host = strings.ToLower(u.Host)
		address = u.String()
	}
	if m.urls[address] {
		m.add("duplicate-url", SeverityWarning, m.at(link), refFormat, "this address was listed before")
	}
	m.urls[address] = true
}

// addresses returns the valid addresses of the links in a file.
// It is used for files of other sites, so it has the same limits as the linter.
func addresses(source []byte) []*url.URL {
	body := trimRune(source[:min(len(source), maxLint)])
	body = body[:parseable(body)]
	var all []*url.URL
	_ = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(body)), func(n ast.Node, entering bool) (ast.WalkStatus,
		error) {
		if link, ok := n.(*ast.Link); ok && entering {
			if u, err := url.Parse(string(link.Destination)); err == nil {
				all = append(all, u)
			}
		}
		return ast.WalkContinue, nil
	})
	return all
}

// unsafeSchemes run code or read local files when followed.
// A reader may turn the file into HTML and make links of them.
var unsafeSchemes = map[string]bool{"javascript": true, "data": true, "vbscript": true, "file": true, "blob": true}

// links checks all addresses in the file.
// Images count too: readers may fetch them.
func (m *markdown) links(root ast.Node) {
	found := 0
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch link := n.(type) {
		case *ast.Link:
			if len(link.Destination) > 0 {
				found++
			}
			m.address(n, string(link.Destination))
		case *ast.AutoLink:
			found++
			if link.AutoLinkType == ast.AutoLinkURL {
				m.address(n, string(link.URL(m.body)))
			}
		case *ast.CodeSpan:
			if m.codedLink(n) {
				m.add("malformed-link", SeverityWarning, m.at(n), refFormat,
					"a link between backticks is code, not a link")
			}
		case *ast.Image:
			m.address(n, string(link.Destination))
		}
		return ast.WalkContinue, nil
	})
	if found == 0 {
		m.add("no-link", SeverityWarning, -1, refFormat, "the file has no links")
	}
}

// address checks the address of one link.
func (m *markdown) address(n ast.Node, address string) {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case address == "":
		m.add("malformed-link", SeverityWarning, m.at(n), refFormat, "the link has no address")
	case err != nil:
		m.add("malformed-link", SeverityWarning, m.at(n), refURL, "the address is not valid")
	case unsafeSchemes[strings.ToLower(u.Scheme)]:
		m.add("unsafe-scheme", SeverityWarning, m.at(n), refURL, "an address with the scheme %s",
			strings.ToLower(u.Scheme))
	case u.Scheme == "":
		m.add("relative-url", SeverityWarning, m.at(n), refURL,
			"the address is not absolute, so it does not work in a copy of the file")
	}
}
