package audit

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// quoteMarks maps opening to closing quotation marks.
var quoteMarks = map[rune]string{'“': "”“", '״': "״", '„': "“”", '«': "»", '»': "«", '‹': "›", '「': "」", '『': "』",
	'"': `"`, '”': "”"}

// attributionReach is how many bytes before or after a quotation its speaker may be
// named.
const attributionReach = 160

// quotations counts the quotations of a text with a named speaker. tag is the
// lexicon of the page, "" if its language is unknown.
func quotations(text, tag string) (n int, examples []string) {
	for line := range strings.SplitSeq(text, "\n") {
		for at := 0; at < len(line); {
			start, end, ok := nextQuote(line, at)
			if !ok {
				break
			}
			span := line[start:end]
			at = end
			if !isQuoteLength(width(span)-2) || isSample(line, start, end) ||
				!namesSpeaker(aroundQuote(line, start, end), tag) && !signedAfter().MatchString(line[end:]) {
				continue
			}
			if n++; len(examples) < 2 {
				examples = append(examples, span)
			}
		}
	}
	return n, examples
}

// aroundQuote returns the text around a quotation in which its speaker is named.
func aroundQuote(line string, start, end int) string {
	around := line[max(0, start-attributionReach):start] + " \n " + line[end:min(len(line), end+attributionReach)]
	return strings.ToValidUTF8(around, "")
}

// A name after a dash: “…” — Ada Byron, engineer. In a script without capital letters two
// letters are a name.
const signature = `(?:[—–―]|--?)\s*(?:\p{Lu}[\p{L}\p{M}.'’-]*|\p{Lo}[\p{Lo}\p{M}]+)`

var (
	signedAfter = lazyPattern(`^[\s,]{0,3}` + signature)
	signedAtEnd = lazyPattern(`(?:^|[\s”"»」])` + signature + `[^.!?。]{0,80}\.?$`)
)

// isAttributed reports whether a block quotation names its source: in its cite attribute, a
// cite, footer or figcaption element, after a dash, or by a verb of saying in it or in the
// elements beside it. Indentation alone proves nothing.
func (t *tree) isAttributed(quote *html.Node, tag string) bool {
	if strings.TrimSpace(attr(quote, "cite")) != "" || t.namesSource(quote) ||
		quote.Parent != nil && quote.Parent.Data == "figure" && t.namesSource(quote.Parent) {
		return true
	}
	text := collapse(t.textUpTo(quote, maxLine))
	if namesSpeaker(text, tag) || signedAtEnd().MatchString(text) {
		return true
	}
	before, after := elementBeside(quote, previous), elementBeside(quote, next)
	if before != nil {
		text := collapse(t.textUpTo(before, maxLine))
		if namesSpeaker(strings.ToValidUTF8(text[max(0, len(text)-attributionReach):], ""), tag) {
			return true
		}
	}
	if after == nil {
		return false
	}
	text = collapse(t.textUpTo(after, 2*attributionReach)) // without its line breaks still long enough
	text = strings.ToValidUTF8(text[:min(len(text), attributionReach)], "")
	return after.Data == "cite" || namesSpeaker(text, tag) || signedAfter().MatchString(text)
}

// namesSource reports whether an element contains another that names a source.
func (t *tree) namesSource(n *html.Node) bool {
	looked := 0
	for d := range t.descendants(n) {
		if looked++; looked == maxIndented {
			break
		}
		if d.Type == html.ElementNode && slices.Contains([]string{"cite", "footer", "figcaption"}, d.Data) &&
			t.hasText(d) {
			return true
		}
	}
	return false
}

func next(n *html.Node) *html.Node     { return n.NextSibling }
func previous(n *html.Node) *html.Node { return n.PrevSibling }

// elementBeside returns the next element in a direction, nil without one.
func elementBeside(n *html.Node, step func(*html.Node) *html.Node) *html.Node {
	for n = step(n); n != nil && n.Type != html.ElementNode; {
		n = step(n)
	}
	return n
}

// isQuoteLength reports whether a quotation has a plausible length in columns.
func isQuoteLength(columns int) bool { return columns >= minQuote && columns <= maxQuote }

var (
	// messageTrailer matches field names that start lines of commit messages and
	// headers: Signed-off-by: A U Thor.
	messageTrailer = regexp.MustCompile(`^[“”„«»"]?\s*[A-Z][A-Za-z]*(?:-[A-Za-z]+)+: `)

	// arrowAfter and arrowBefore match arrows between a sample and its translation.
	arrowAfter  = regexp.MustCompile(`^\s*(?:→|⇒|➔|➜|⟶|↔|=>|->|=|\|)`)
	arrowBefore = regexp.MustCompile(`(?:→|⇒|➔|➜|⟶|↔|=>|->|=|\|)\s*$`)
)

// isSample reports whether a quotation is data rather than speech: a trailer of a
// commit message, or one side of a translation.
func isSample(line string, start, end int) bool {
	return messageTrailer.MatchString(line[start:end]) || arrowAfter.MatchString(line[end:]) ||
		arrowBefore.MatchString(line[max(0, start-8):start])
}

// nextQuote finds the next quotation at or after an offset. start and end include
// the marks. A mark that is not closed on its line is skipped.
func nextQuote(line string, from int) (start, end int, ok bool) {
	for i, r := range line[from:] {
		closers, opens := quoteMarks[r]
		if !opens {
			continue
		}
		start = from + i
		inner := start + utf8.RuneLen(r)
		limit := min(len(line), inner+4*maxQuote+4)
		if j := strings.IndexAny(line[inner:limit], closers); j >= 0 {
			end = inner + j
			_, size := utf8.DecodeRuneInString(line[end:])
			return start, end + size, true
		}
	}
	return 0, 0, false
}
