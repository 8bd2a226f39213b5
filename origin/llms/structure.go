package llms

import (
	"bytes"
	"net/url"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Limits of what is parsed. Parsing time grows with the square of either, and
// no real file comes near.
const (
	maxNesting = 32    // quotes and lists inside each other
	maxMarks   = 4_000 // characters in one block that may begin or end markup
)

// section is a level-two heading and the blocks under it.
type section struct {
	title  string
	at     int
	blocks []ast.Node
}

// outline is the skeleton of a file. Only blocks of the document itself count:
// a heading inside a quote or a list structures nothing.
type outline struct {
	titles   []*ast.Heading // level one, with text
	deep     []*ast.Heading // level three and deeper
	before   []ast.Node     // between the title and the first section
	first    ast.Node
	sections []section
	markup   bool // anything that plain text would not have
}

// parse reads the file as Markdown.
func (l *linter) parse() *markdown {
	body, marked := bytes.CutPrefix(l.source, []byte("\ufeff"))
	m := &markdown{linter: l, urls: map[string]bool{}}
	if marked {
		m.shift = len("\ufeff")
	}
	if n := frontMatter(body); n > 0 {
		l.add("front-matter", SeverityInfo, m.shift, refFormat, "begins with front matter, which readers of the format take for text")
		body, m.shift = body[n:], m.shift+n
	}
	if n := parseable(body); n < len(body) {
		l.add("truncated", SeverityWarning, n+m.shift, "", "markup too dense to parse; nothing from here on was looked at")
		body = body[:n]
	}
	m.body = body
	m.root = goldmark.DefaultParser().Parse(text.NewReader(body))
	return m
}

// maxFrontMatter is how long a block of metadata may be, in bytes: one that is not
// closed by then is a rule and text.
const maxFrontMatter = 8 << 10

// frontMatterField matches what a line of front matter may be: a field of YAML, a
// continuation or a comment.
var frontMatterField = regexp.MustCompile(`^(?:[\w-]+[ \t]*:|[ \t]|-[ \t]|#|\s*$)`)

// frontMatter returns how many bytes of front matter a file begins with: lines of
// YAML between two lines of three hyphens, which site generators read and
// CommonMark takes for a rule and a heading.
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

// withoutCode returns the file with spaces for all code in it.
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

// structure checks and grades the file.
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

// parseable returns how much of body stays inside the limits of the parser, cut
// where a block begins.
func parseable(body []byte) int {
	end, block, marks := 0, 0, 0
	for line := range bytes.Lines(body) {
		// These lines end any paragraph, and so what inline markup can span.
		if trimmed := bytes.TrimLeft(line, " \t\r\n"); len(trimmed) == 0 || bytes.IndexByte([]byte("-*+#"), trimmed[0]) >= 0 {
			block, marks = end, 0
		}
		// A row of one marker is a rule and opens nothing.
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

// nesting bounds how many quotes and lists a line is in: those it opens, and one for
// each two columns in front of a marker, as no list is nested by less.
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

// markers counts the quote and list markers a line begins with.
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

// markdown is a parsed file under the linter.
type markdown struct {
	*linter

	root  ast.Node
	body  []byte
	shift int // of body inside the source
	urls  map[string]bool
}

// at returns the offset of a node in the source, or -1.
func (m *markdown) at(n ast.Node) int {
	for ; n != nil; n = n.Parent() {
		if p := n.Pos(); p >= 0 {
			return p + m.shift
		}
	}
	return -1
}

// outline sorts the blocks of the document.
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

// plain returns the text of a node without its markup.
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

// unescape undoes backslash escapes, which the parser leaves in text.
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
		m.add("no-h1", SeverityError, -1, refFormat, "no level-one heading names the site")
	} else {
		m.report.Title = m.plain(o.titles[0])
		if o.first != ast.Node(o.titles[0]) {
			m.add("h1-not-first", SeverityWarning, m.at(o.first), refFormat, "something stands before the level-one heading")
		}
		for _, h := range o.titles[1:] {
			m.add("multiple-h1", SeverityWarning, m.at(h), refFormat, "another level-one heading")
		}
	}
	for _, h := range o.deep {
		m.add("heading-level-3", SeverityWarning, m.at(h), refFormat, "a heading of level %d; only levels one and two have a meaning", h.Level)
	}
}

// summary reports whether a quoted summary stands right after the title.
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
			m.add("multi-line-summary", SeverityWarning, m.at(n), refFormat, "the summary has more than one line; the reference parser reads one")
		}
		if i == 0 && n.PreviousSibling() == ast.Node(o.titles[0]) {
			return true
		}
		m.add("summary-not-after-h1", SeverityWarning, m.at(n), refFormat, "the summary does not follow the heading directly")
		return false
	}
	m.add("no-summary", SeverityWarning, m.at(o.titles[0]), refFormat, "no quoted summary follows the heading")
	return false
}

// sections checks what stands under the level-two headings and reports whether
// any of them lists links.
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
			m.add("optional-section", SeverityInfo, s.at, refFormat, "the title Optional is a convention; not every reader may skip it")
		}
		if len(s.blocks) == 0 {
			m.add("empty-section", SeverityWarning, s.at, refFormat, "nothing stands under this heading")
		}
		m.section(s, &count)
	}
	count.report(m)
	return count.links > 0
}

// section checks the blocks under one heading. It speaks once of all that is
// out of place there: a section of prose is one mistake, not twenty.
func (m *markdown) section(s section, count *linkCount) {
	odd := tally{}
	for _, b := range s.blocks {
		list, ok := b.(*ast.List)
		if !ok {
			odd.note(m.at(b))
			continue
		}
		m.list(list, count, &odd)
	}
	switch {
	case odd.n == 1:
		m.add("prose-in-link-section", SeverityWarning, odd.first, refFormat, "only list items that begin with a link belong under a level-two heading")
	case odd.n > 1:
		m.add("prose-in-link-section", SeverityWarning, odd.first, refFormat, "only list items that begin with a link belong under a level-two heading; %d blocks or items here do not", odd.n)
	}
}

// tally counts what is said of once, at its first place.
type tally struct{ n, first int }

func (t *tally) note(at int) {
	if t.n++; t.n == 1 {
		t.first = at
	}
}

// linkCount is what the link lists of a file come to.
type linkCount struct {
	links   int
	bare    tally // without a note
	loose   tally // with a note that does not follow a colon
	bullets tally // lists of another bullet
}

// report speaks of what runs through the whole file.
func (c *linkCount) report(m *markdown) {
	if c.bare.n > 0 {
		m.add("missing-notes", SeverityInfo, c.bare.first, refFormat, "%d of %d links have no note", c.bare.n, c.links)
	}
	if c.loose.n > 0 {
		m.add("note-without-colon", SeverityInfo, c.loose.first, refFormat, "%d of %d links have a note without a colon right after the link; the reference parser drops it", c.loose.n, c.links)
	}
	if c.bullets.n > 0 {
		m.add("star-bullets", SeverityInfo, c.bullets.first, refFormat, "the reference parser knows only - as a bullet")
	}
}

// list checks the items of one link list.
func (m *markdown) list(list *ast.List, count *linkCount, odd *tally) {
	if list.Marker == '*' || list.Marker == '+' {
		count.bullets.note(m.at(list))
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
			// Said already, where links are looked at.
		default:
			if raw := m.raw(block); strings.HasPrefix(raw, "[") && strings.Contains(raw, "](") {
				m.add("malformed-link", SeverityWarning, m.at(block), refFormat, "looks like a link but is none")
			} else {
				odd.note(m.at(block))
			}
		}
	}
}

// item checks one link and its note. A link without an address is reported where
// addresses are checked; it lists nothing.
func (m *markdown) item(link *ast.Link, count *linkCount) {
	if len(link.Destination) == 0 {
		return
	}
	count.links++
	switch next := link.NextSibling().(type) {
	case nil:
		count.bare.note(m.at(link))
	case *ast.Text:
		if !bytes.HasPrefix(next.Segment.Value(m.body), []byte(":")) {
			count.loose.note(m.at(link))
		}
	default:
		count.loose.note(m.at(link))
	}
	m.repeated(link)
}

// codedLink reports whether n is a link that somebody put between backticks.
func (m *markdown) codedLink(n ast.Node) bool {
	if n == nil || n.Kind() != ast.KindCodeSpan {
		return false
	}
	return codedLink.MatchString(m.plain(n))
}

var codedLink = regexp.MustCompile(`^\[[^\]]+\]\([^()\s]+\)$`)

// raw returns the first line of a block as it stands in the file.
func (m *markdown) raw(n ast.Node) string {
	if n.Type() != ast.TypeBlock || n.Lines().Len() == 0 {
		return ""
	}
	line := n.Lines().At(0)
	return string(line.Value(m.body))
}

// repeated reports a listed address that was listed before.
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

// addresses returns where the links of a file lead, those it can read.
func addresses(source []byte) []*url.URL {
	body := trimRune(source[:min(len(source), maxLint)])
	body = body[:parseable(body)]
	var all []*url.URL
	_ = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(body)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
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
var unsafeSchemes = map[string]bool{"javascript": true, "data": true, "vbscript": true, "file": true, "blob": true}

// links checks every address in the file.
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
				m.add("malformed-link", SeverityWarning, m.at(n), refFormat, "a link between backticks is code, not a link")
			}
		case *ast.Image:
			m.address(n, string(link.Destination))
		}
		return ast.WalkContinue, nil
	})
	if found == 0 {
		m.add("no-link", SeverityWarning, -1, refFormat, "the file links to nothing")
	}
}

// address checks where one link leads.
func (m *markdown) address(n ast.Node, address string) {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case address == "":
		m.add("malformed-link", SeverityWarning, m.at(n), refFormat, "the link has no address")
	case err != nil:
		m.add("malformed-link", SeverityWarning, m.at(n), refURL, "the address cannot be read")
	case unsafeSchemes[strings.ToLower(u.Scheme)]:
		m.add("unsafe-scheme", SeverityWarning, m.at(n), refURL, "an address of the scheme %s", strings.ToLower(u.Scheme))
	case u.Scheme == "":
		m.add("relative-url", SeverityWarning, m.at(n), refURL, "the address is not absolute; a copied file loses it")
	}
}
