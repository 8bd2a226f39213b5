package audit

import (
	"regexp"
	"strings"
	"unicode/utf8"
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
			if !isQuoteLength(width(span)-2) || isSample(line, start, end) || !namesSpeaker(aroundQuote(line, start,
				end), tag) {
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
