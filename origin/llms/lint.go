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
)

// Limits of the linter.
const (
	// maxLint is how much of a file is looked at. The largest file a reader is
	// known to take whole is far smaller, and parsing must stay cheap.
	maxLint = 512 << 10

	// warnChars and maxChars are where agents begin to truncate a file, and
	// where none is known to read it whole.
	warnChars = 50_000
	maxChars  = 100_000

	// maxPerCode is how often one rule speaks: a list of a thousand equal
	// complaints helps nobody and must not be the answer to a small request.
	maxPerCode = 10
)

// Where the rules stand.
const (
	refFormat = "https://llmstxt.org/#format"
	refUTF8   = "https://www.rfc-editor.org/rfc/rfc7763#section-2"
	refURL    = "https://www.rfc-editor.org/rfc/rfc3986#section-4.3"
)

// linter collects what is found in one file.
type linter struct {
	source []byte
	starts []int // offset of each line
	counts map[string]int
	report Report
}

// Lint grades the body of an llms.txt file and lists what is wrong with it.
// Rules that need more than the body (its status, its media type, the site
// around it) are not looked at.
func Lint(content []byte) Report {
	l := &linter{counts: map[string]int{}, report: Report{Issues: []Issue{}}}
	cut := false
	if len(content) > maxLint {
		content, cut = trimRune(content[:maxLint]), true
	}
	l.source = content
	l.starts = lineStarts(content)
	if !l.readable() {
		return l.report
	}
	if cut {
		l.add("truncated", SeverityWarning, -1, "", "only the first %d bytes were looked at", maxLint)
	}
	m := l.parse()
	l.size()
	l.text(cut, m.withoutCode())
	m.structure()
	l.finish()
	return l.report
}

// finish says how many more there are of what was said too often already, and
// puts everything in the order of the file.
func (l *linter) finish() {
	for code, n := range l.counts {
		if n <= maxPerCode {
			continue
		}
		for i := len(l.report.Issues) - 1; i >= 0; i-- {
			if issue := &l.report.Issues[i]; issue.Code == code {
				issue.Message += fmt.Sprintf(" (and %d more like this)", n-maxPerCode)
				break
			}
		}
	}
	slices.SortStableFunc(l.report.Issues, func(a, b Issue) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// add records an issue at an offset of the source; -1 is the file as a whole.
func (l *linter) add(code string, s Severity, at int, ref, format string, args ...any) {
	l.counts[code]++
	if l.counts[code] > maxPerCode {
		return
	}
	issue := Issue{Code: code, Severity: s, Message: fmt.Sprintf(format, args...), SpecRef: ref}
	if at >= 0 {
		issue.Line, issue.Column = l.position(at)
	}
	l.report.Issues = append(l.report.Issues, issue)
}

// position turns an offset into a line and a column in code points.
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

// lineStarts returns the offset of every line.
func lineStarts(b []byte) []int {
	starts := []int{0}
	for i, c := range b {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// trimRune drops a code point that a cut left incomplete at the end of b.
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

// readable reports whether the body is text in Markdown at all; when it is
// not, nothing that follows would make sense.
func (l *linter) readable() bool {
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

var htmlStart = regexp.MustCompile(`(?is)^(?:\s*<!--.*?-->)*\s*<(?:!doctype|html|head|body|script|meta|div|title|\?xml|rss|svg)\b`)

// isHTML recognises a page, a challenge script or an XML file by its first tag.
func isHTML(body []byte) bool { return htmlStart.Match(body[:min(len(body), 4096)]) }

// isJSON accepts valid JSON, and the start of an object that was cut off.
func isJSON(body []byte) bool {
	if body[0] != '{' && body[0] != '[' {
		return false
	}
	rest := bytes.TrimSpace(body[1:])
	return json.Valid(body) || body[0] == '{' && len(rest) > 0 && rest[0] == '"'
}

var robotsLine = regexp.MustCompile(`(?i)^\s*(?:user-agent|disallow|allow|sitemap|crawl-delay|host|content-signal)\s*:`)

// isRobots asks that most lines that are not comments are fields of a
// robots.txt: a Markdown file may well quote a few.
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

// size compares the length with what readers take.
func (l *linter) size() {
	switch n := utf8.RuneCount(l.source); {
	case n > maxChars:
		l.add("too-large", SeverityError, -1, "", "%d characters; agents read at most %d", n, maxChars)
	case n > warnChars:
		l.add("too-large", SeverityWarning, -1, "", "%d characters; agents begin to truncate at %d", n, warnChars)
	}
}

// textRules are patterns that mean one thing wherever they stand. Each speaks
// once, at its first match, which begins where its first group does. A rule is
// tried only on text that holds one of its words.
var textRules = []struct {
	code     string
	severity Severity
	words    []string // in lower case; at least one is in everything the pattern matches
	pattern  *regexp.Regexp
	message  string
}{
	{"placeholder-text", SeverityWarning, []string{"[your", "[insert", "[enter", "[add", "[company", "[brand", "lorem"},
		regexp.MustCompile(`(?i)(\[(?:your|insert|enter|add your|company name|brand name)\b[^\]\n(]{0,40}\])(?:[^(\[:]|$)|(lorem ipsum)`), "a placeholder was never filled in"},
	{"assistant-artefact", SeverityWarning, []string{"oaicite", "contentreference", "utm_source=chatgpt", "search"},
		regexp.MustCompile(`(?i)(oaicite|contentReference\[|utm_source=chatgpt|turn\d+search\d+)`), "left over from a chat with an assistant"},
	{"generated-by-line", SeverityInfo, []string{"generated"},
		regexp.MustCompile(`(?im)^[ \t>*_#<!-]*(generated (?:by|with|using) )`), "says what wrote the file, not what the site is"},
	{"html-entity", SeverityInfo, []string{"&amp;", "&quot;", "&nbsp;", "&lt;", "&gt;", "&apos;", "&hellip;", "&ndash;", "&mdash;", "&rsquo;", "&lsquo;", "&#"},
		regexp.MustCompile(`(?:^|[^\\])(&(?:amp|quot|nbsp|lt|gt|apos|hellip|ndash|mdash|rsquo|lsquo|#\d{2,6}|#x[0-9a-fA-F]{2,5});)`), "an HTML entity; UTF-8 needs none"},
	{"needless-escape", SeverityInfo, []string{`\-`, `\.`, `\,`, `\:`, `\;`, `\'`, `\"`, `\/`, `\%`, `\@`},
		regexp.MustCompile(`\pL(\\[-.,:;'"/%@])`), "a backslash that nothing asks for"},
}

// text looks at the file as characters; cut says that its end is missing. The
// rules about words leave code alone, which quotes what it likes; prose has the
// same length and lines as the file.
func (l *linter) text(cut bool, prose []byte) {
	if bytes.HasPrefix(l.source, []byte("\ufeff")) {
		l.add("bom", SeverityInfo, 0, refFormat, "begins with a byte order mark, which UTF-8 does not need")
	}
	if at := bytes.Index(l.source, []byte("\r\n")); at >= 0 {
		l.add("crlf", SeverityInfo, at, "", "lines end in CR LF; strict readers expect LF")
	}
	if !cut && !bytes.HasSuffix(l.source, []byte("\n")) {
		l.add("no-final-newline", SeverityInfo, len(l.source), "", "the last line does not end")
	}
	lower := strings.ToLower(string(prose))
	for _, rule := range textRules {
		if !containsAny(lower, rule.words) {
			continue
		}
		if groups := rule.pattern.FindSubmatchIndex(prose); groups != nil {
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
	l.instructions()
}

// containsAny reports whether text holds one of words.
func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// instructions reports every order to a model in the file, with its words.
func (l *linter) instructions() {
	for _, in := range findInstructions(string(l.source)) {
		at := l.starts[min(in.line, len(l.starts))-1]
		switch in.level {
		case InstructionOverride:
			l.add("instruction-override", SeverityError, at, "", "tries to override a model's instructions: %q", in.text)
		case InstructionPromotional:
			l.add("promotional-instruction", SeverityWarning, at, "", "orders a model to favour the brand: %q", in.text)
		default:
			l.add("steering-instruction", SeverityInfo, at, "", "tells a model what to prefer: %q", in.text)
		}
	}
}

// foldTitle is how section titles are compared.
func foldTitle(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
