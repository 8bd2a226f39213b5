package llms

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark/origin/injection"
)

// Limits of the linter.
const (
	// maxLint is how many bytes of a file are examined. It bounds the cost of
	// parsing and is far more than any known reader processes.
	maxLint = 512 << 10

	// warnChars is the length from which agents truncate a file, and maxChars the
	// length that none is known to read completely.
	warnChars = 50_000
	maxChars  = 100_000

	// maxPlaces is how many places of one kind of fault are listed: more help no one
	// and would make a large response to a small request.
	maxPlaces = 100
)

// The specifications of the rules.
const (
	refFormat = "https://llmstxt.org/#format"
	refUTF8   = "https://www.rfc-editor.org/rfc/rfc7763#section-2"
	refURL    = "https://www.rfc-editor.org/rfc/rfc3986#section-4.3"
)

// linter collects the issues of one file.
type linter struct {
	source []byte
	starts []int             // offsets of the lines
	kinds  map[issueKind]int // index in report.Issues
	report Report
}

// issueKind identifies faults that are one issue.
type issueKind struct{ code, message string }

func newLinter() *linter {
	return &linter{kinds: map[issueKind]int{}, report: Report{Issues: []Issue{}}}
}

// Lint grades the content of an llms.txt file and lists its issues. It does not
// apply rules that need more than the content: status, media type, or the rest of
// the site.
// It needs no network, so a page can lint while its user types.
func Lint(content []byte) Report { return lint(content) }

// lint is Lint for a file of a brand with these names, in addition to the one in its
// heading.
func lint(content []byte, names ...string) Report {
	l := newLinter()
	cut := false
	if len(content) > maxLint {
		content, cut = trimRune(content[:maxLint]), true
	}
	l.source = content
	l.starts = lineStarts(content)
	if !l.isMarkdown() {
		return l.report
	}
	if cut {
		l.add("truncated", SeverityWarning, -1, "", "only the first %d bytes were checked", maxLint)
	}
	m := l.parse()
	l.size()
	l.text(cut, m.withoutCode())
	m.structure()
	l.instructions(append(names, titleNames(l.report.Title)...))
	l.sort()
	return l.report
}

// sort sorts the places of each issue, and the issues by their first place.
func (l *linter) sort() {
	for i := range l.report.Issues {
		issue := &l.report.Issues[i]
		slices.SortStableFunc(issue.Places, func(a, b Place) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		if len(issue.Places) > 0 {
			issue.Line, issue.Column = issue.Places[0].Line, issue.Places[0].Column
		}
	}
	slices.SortStableFunc(l.report.Issues, func(a, b Issue) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// add records a fault at an offset of the source; -1 means the whole file.
func (l *linter) add(code string, s Severity, at int, ref, format string, args ...any) {
	var places []Place
	if at >= 0 {
		places = []Place{l.place(at, "")}
	}
	l.addPlaces(Issue{Code: code, Severity: s, Message: fmt.Sprintf(format, args...), SpecRef: ref, Count: 1,
		Places: places})
}

// addPlaces records an issue, or adds its places to one with the same code and message.
func (l *linter) addPlaces(issue Issue) {
	kind := issueKind{issue.Code, issue.Message}
	i, ok := l.kinds[kind]
	if !ok {
		l.kinds[kind] = len(l.report.Issues)
		l.report.Issues = append(l.report.Issues, issue)
		return
	}
	known := &l.report.Issues[i]
	// All are counted, also those beyond maxPlaces.
	known.Count += issue.Count
	if free := maxPlaces - len(known.Places); free > 0 {
		known.Places = append(known.Places, issue.Places[:min(free, len(issue.Places))]...)
	}
}

// place returns the place of an offset.
func (l *linter) place(at int, text string) Place {
	line, column := l.position(at)
	return Place{Line: line, Column: column, Text: text}
}

// position converts an offset to a line and a column in code points.
// Columns are code points, because editors count them so.
func (l *linter) position(at int) (line, column int) {
	at = min(at, len(l.source))
	low, high := 0, len(l.starts)
	for high-low > 1 {
		mid := (low + high) / 2
		if l.starts[mid] <= at {
			low = mid
		} else {
			high = mid
		}
	}
	return low + 1, utf8.RuneCount(l.source[l.starts[low]:at]) + 1
}

// lineStarts returns the offsets of all lines.
func lineStarts(b []byte) []int {
	starts := []int{0}
	for i, c := range b {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// trimRune removes an incomplete code point at the end of b.
func trimRune(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// isMarkdown reports whether the content can be Markdown; otherwise no other rule
// is applied.
// Servers often answer a missing file with a page or with JSON; rules about Markdown would report
// nonsense about it.
func (l *linter) isMarkdown() bool {
	if !utf8.Valid(l.source) {
		l.add("not-utf8", SeverityError, firstInvalid(l.source), refUTF8, "the file is not valid UTF-8")
		return false
	}
	body := bytes.TrimSpace(bytes.TrimPrefix(l.source, []byte("\ufeff")))
	switch {
	case len(body) == 0:
		l.add("empty", SeverityError, -1, refFormat, "the file is empty")
	case isHTML(body):
		l.add("html-body", SeverityError, -1, refFormat, "the file is an HTML page, not Markdown")
	case isJSON(body):
		l.add("json-or-robots-body", SeverityError, -1, refFormat, "the file is JSON, not Markdown")
	case isRobots(body):
		l.add("json-or-robots-body", SeverityError, -1, refFormat, "the file is a robots.txt, not Markdown")
	default:
		return true
	}
	return false
}

// firstInvalid returns the offset of the first byte that is not UTF-8.
func firstInvalid(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

var htmlStart = regexp.MustCompile(`(?is)^(?:\s*<!--.*?-->)*\s*<(?:!doctype|html|head|body|script|meta|div|title|` +
	`\?xml|rss|svg)\b`)

// isHTML recognises a page, a challenge script or an XML file by its first tag.
func isHTML(body []byte) bool { return htmlStart.Match(body[:min(len(body), 4096)]) }

// isJSON recognises valid JSON and the truncated start of an object.
func isJSON(body []byte) bool {
	if body[0] != '{' && body[0] != '[' {
		return false
	}
	rest := bytes.TrimSpace(body[1:])
	return json.Valid(body) || body[0] == '{' && len(rest) > 0 && rest[0] == '"'
}

var robotsLine = regexp.MustCompile(`(?i)^\s*(?:user-agent|disallow|allow|sitemap|crawl-delay|host|content-signal)\s*:`)

// isRobots requires that most lines except comments are fields of a robots.txt,
// because a Markdown file may quote a few.
func isRobots(body []byte) bool {
	lines, fields := 0, 0
	for line := range bytes.Lines(body) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		lines++
		if robotsLine.Match(line) {
			fields++
		}
	}
	return fields >= 2 && fields*2 > lines
}

// size compares the length with what agents read.
func (l *linter) size() {
	switch n := utf8.RuneCount(l.source); {
	case n > maxChars:
		l.add("too-large", SeverityError, -1, "", "%d characters; agents read at most %d", n, maxChars)
	case n > warnChars:
		l.add("too-large", SeverityWarning, -1, "", "%d characters; agents start to truncate at %d", n, warnChars)
	}
}

// textRules are patterns with the same meaning anywhere in the text. The place of a match
// is the start of its first group. A rule is tried only on text with one of its words.
var textRules = []struct {
	code     string
	severity Severity
	words    []string // in lower case; every match of pattern contains at least one of them
	pattern  *regexp.Regexp
	message  string
}{
	{"placeholder-text", SeverityWarning, []string{"[your", "[insert", "[enter", "[add", "[company", "[brand", "lorem"},
		regexp.MustCompile(`(?i)(\[(?:your|insert|enter|add your|company name|brand name)\b[^\]\n(]{0,40}\])` +
			`(?:[^(\[:]|$)|(lorem ipsum)`), "a placeholder was not filled in"},
	{"assistant-artefact", SeverityWarning, []string{"oaicite", "contentreference", "utm_source=chatgpt", "search"},
		regexp.MustCompile(`(?i)(oaicite|contentReference\[|utm_source=chatgpt|turn\d+search\d+)`),
		"left over from a chat with an assistant"},
	{"generated-by-line", SeverityInfo, []string{"generated"},
		regexp.MustCompile(`(?im)^[ \t>*_#<!-]*(generated (?:by|with|using) )`),
		"names the tool that wrote the file, which says nothing about the site"},
	{"html-entity", SeverityInfo, []string{"&amp;", "&quot;", "&nbsp;", "&lt;", "&gt;", "&apos;", "&hellip;", "&ndash;",
		"&mdash;", "&rsquo;", "&lsquo;", "&#"},
		regexp.MustCompile(`(?:^|[^\\])(&(?:amp|quot|nbsp|lt|gt|apos|hellip|ndash|mdash|rsquo|lsquo|#\d{2,6}|` +
			`#x[0-9a-fA-F]{2,5});)`), "an HTML entity; UTF-8 does not need it"},
	{"needless-escape", SeverityInfo, []string{`\-`, `\.`, `\,`, `\:`, `\;`, `\'`, `\"`, `\/`, `\%`, `\@`},
		regexp.MustCompile(`\pL(\\[-.,:;'"/%@])`), "an unnecessary backslash"},
}

// text checks the file as characters; cut means that its end is missing. Rules
// about words skip code. prose is the file with its code replaced by spaces.
func (l *linter) text(cut bool, prose []byte) {
	if bytes.HasPrefix(l.source, []byte("\ufeff")) {
		l.add("bom", SeverityInfo, 0, refFormat, "starts with a byte order mark, which UTF-8 does not need")
	}
	if at := bytes.Index(l.source, []byte("\r\n")); at >= 0 {
		l.add("crlf", SeverityInfo, at, "", "lines end in CR LF; strict readers expect LF")
	}
	if !cut && !bytes.HasSuffix(l.source, []byte("\n")) {
		l.add("no-final-newline", SeverityInfo, len(l.source), "", "the last line has no line end")
	}
	lower := strings.ToLower(string(prose))
	for _, rule := range textRules {
		if !containsAny(lower, rule.words) {
			continue
		}
		for _, groups := range rule.pattern.FindAllSubmatchIndex(prose, maxTextMatches) {
			at := groups[0]
			for g := 2; g < len(groups); g += 2 {
				if groups[g] >= 0 {
					at = groups[g]
					break
				}
			}
			l.add(rule.code, rule.severity, at, "", "%s", rule.message)
		}
	}
}

// maxTextMatches limits the matches of one of textRules that are counted.
const maxTextMatches = 10_000

// containsAny reports whether text contains one of words.
func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// instructionIssues are the issues of each kind of text that is written to steer models.
var instructionIssues = map[injection.Kind]Issue{
	injection.Override: {Code: CodeInstructionOverride, Severity: SeverityError,
		Message: "tries to override a model's instructions"},
	injection.Exfiltration: {Code: CodeInstructionOverride, Severity: SeverityError,
		Message: "asks a model to reveal or send what it must not"},
	injection.ChatToken: {Code: CodeInstructionOverride, Severity: SeverityError,
		Message: "imitates the turns of a conversation with a model"},
	injection.Promotion: {Code: "promotional-instruction", Severity: SeverityWarning,
		Message: "instructs a model to favour the brand"},
	injection.Steering: {Code: "steering-instruction", Severity: SeverityInfo, Message: "tells a model what to prefer"},
}

// instructions reports every instruction to a model in the file of a brand.
func (l *linter) instructions(names []string) {
	for _, m := range injection.New(names...).Find(string(l.source), injection.Models) {
		issue := instructionIssues[m.Kind]
		issue.Count, issue.Places = 1, []Place{l.place(m.Start, m.Words)}
		l.addPlaces(issue)
	}
}

// titleNames returns the names in a title: all of it, and what precedes a slogan.
func titleNames(title string) []string {
	names := []string{title}
	for _, sep := range []string{" - ", " – ", " — ", " | ", ": ", " · "} {
		if name, _, ok := strings.Cut(title, sep); ok {
			names = append(names, name)
		}
	}
	return names
}

// foldTitle returns the form in which section titles are compared.
func foldTitle(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
