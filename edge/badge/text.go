package badge

import (
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
)

// maxName bounds a brand's name in a badge, in code points. A longer one fills a
// tooltip with noise and the image with bytes.
const maxName = 64

// appendSentence appends the text for readers who cannot see the badge, escaped so that it
// is valid in an element and in an attribute.
// It is the accessible name and the tooltip of the picture.
func appendSentence(dst []byte, b *Badge, l *language) []byte {
	dst = appendStatement(dst, b, l)
	if b.Claimed {
		dst = append(append(dst, l.comma...), l.phrases[claimedPhrase]...)
	}
	return dst
}

// appendStatement appends the name and the state, in English as a sentence and elsewhere in
// phrases.
func appendStatement(dst []byte, b *Badge, l *language) []byte {
	dst = appendName(dst, b.Name, l)
	if l != &languages[0] {
		return appendPhrases(dst, b, l)
	}
	switch b.State {
	case Ready:
		dst = append(dst, "GEO-ready, score "...)
		return appendMonth(appendScore(dst, b), ", verified ", b)
	case NotYet:
		dst = append(dst, "not yet GEO-ready, score "...)
		return appendMonth(appendScore(dst, b), ", verified ", b)
	case Stale:
		dst = append(dst, "GEO score "...)
		return appendMonth(append(appendScore(dst, b), ", stale"...), ", last verified ", b)
	case Pending:
		return append(dst, "GEO readiness not audited yet"...)
	case Unreachable:
		return appendMonth(append(dst, "no GEO score, site unreachable"...), ", last tried ", b)
	case Unrated:
		return append(dst, "no GEO score, too little could be measured"...)
	case Unknown:
	}
	return append(dst, "no GEO score, no such brand"...)
}

// appendName appends a brand's name and what separates it from the sentence.
// The name is escaped: it comes from a registration.
func appendName(dst []byte, name string, l *language) []byte {
	if name == "" {
		return dst
	}
	return append(appendEscaped(dst, name, maxName), l.colon...)
}

// appendPhrases says the same in another language, in whole phrases separated by
// its comma. Only a badge with a score has a month: the others were not verified.
func appendPhrases(dst []byte, b *Badge, l *language) []byte {
	phrase := unknownBrandPhrase
	switch b.State {
	case Ready:
		phrase = spokenReadyPhrase
	case NotYet:
		phrase = notReadyPhrase
	case Stale:
		phrase = outdatedPhrase
	case Pending:
		phrase = notAuditedPhrase
	case Unreachable:
		phrase = siteUnreachablePhrase
	case Unrated:
		phrase = spokenNotRatedPhrase
	case Unknown:
	}
	// The others do not say what is ready, so the subject is added.
	if phrase != spokenReadyPhrase && phrase != notReadyPhrase { // these name their subject
		dst = append(append(dst, l.phrases[readinessPhrase]...), l.comma...)
	}
	dst = append(dst, l.phrases[phrase]...)
	if b.State != Ready && b.State != NotYet && b.State != Stale {
		return dst
	}
	dst = append(append(dst, l.comma...), outOf[floorPoints(b.Score)]...)
	if grade := colorOf(b.Grade).mark(); grade != "" {
		dst = append(append(dst, l.comma...), l.phrases[spokenGradePhrase]...)
		dst = append(append(dst, ' '), grade...)
	}
	if b.AsOf != 0 {
		dst = append(append(dst, l.comma...), l.phrases[spokenVerifiedPhrase]...)
		dst = append(dst, ' ')
		// Without the mark a reader from right to left would see the digits of the month in
		// another order.
		if l.rtl {
			dst = append(dst, leftToRight...)
		}
		digits := b.AsOf.digits()
		dst = append(dst, digits[:]...)
	}
	return dst
}

// appendScore appends the score and the grade in English.
func appendScore(dst []byte, b *Badge) []byte {
	dst = append(dst, numerals[floorPoints(b.Score)]...)
	dst = append(dst, " of 100"...)
	if grade := colorOf(b.Grade).mark(); grade != "" {
		dst = append(dst, ", grade "...)
		dst = append(dst, grade...)
	}
	return dst
}

// floorPoints is the rounding of scores on badges. It truncates to whole points: rounded up, 69.6 would show as
// 70 beside grade C. The result is limited to 0 to 100, so that the gauge stays between empty and full.
func floorPoints(m fieldmark.Milli) int {
	return int(min(max(m, 0), 100*fieldmark.MilliOne) / fieldmark.MilliOne)
}

// appendMonth appends the month after lead; nothing if it is not known.
func appendMonth(dst []byte, lead string, b *Badge) []byte {
	if b.AsOf == 0 {
		return dst
	}
	dst = append(dst, lead...)
	dst = append(dst, b.AsOf.month().String()...)
	digits := b.AsOf.digits()
	return append(append(dst, ' '), digits[:4]...)
}

// appendEscaped appends at most limit code points of s, escaped for XML and without control
// characters or characters that reorder text: one control character makes the whole image
// invalid.
func appendEscaped(dst []byte, s string, limit int) []byte {
	// Most names need no escaping and are copied at once.
	if len(s) <= limit && plain(s) {
		return append(dst, s...)
	}
	// The text is cut at a code point, with an ellipsis in place of the last that fits.
	last := len(dst) // where the last code point that fits begins
	n := 0
	for _, r := range s { // a byte that is not UTF-8 reads as U+FFFD
		if reorders(r) {
			continue
		}
		if n == limit {
			return append(dst[:last], "…"...)
		}
		last = len(dst)
		n++
		switch {
		case r == '&':
			dst = append(dst, "&amp;"...)
		case r == '<':
			dst = append(dst, "&lt;"...)
		case r == '>':
			dst = append(dst, "&gt;"...)
		case r == '"':
			dst = append(dst, "&#34;"...)
		case r == '\'':
			dst = append(dst, "&#39;"...)
		case r == '\t', r == '\n', r == '\r':
			dst = append(dst, ' ')
		case r < ' ', 0x7f <= r && r < 0xa0, r == 0xfffe, r == 0xffff:
			dst = append(dst, "\uFFFD"...)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// reorders reports whether r is a bidirectional embedding, override or isolate.
// In a name it could make "92" read as "29" and swap the words around it.
func reorders(r rune) bool {
	return 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

// plain reports whether no byte of s needs escaping, which is true of almost every name.
func plain(s string) bool {
	for i := range len(s) {
		if !plainBytes[s[i]] {
			return false
		}
	}
	return true
}

// It is a table, because a name is checked for every badge.
var plainBytes = func() (is [256]bool) {
	for c := ' '; c <= '~'; c++ {
		is[c] = c != '&' && c != '<' && c != '>' && c != '"' && c != '\''
	}
	return is
}()
