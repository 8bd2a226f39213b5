package llms

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxSummary is the maximum length of the summary in code points: two or three
// sentences, which readers of the file show in a list.
const maxSummary = 300

// minSummary is the minimum length of a summary: an abbreviation at the start would
// otherwise count as a sentence.
const minSummary = 20

// summarise splits a cleaned description into its summary and the following
// paragraph. If no sentence ends in time, the summary is cut between words and the
// paragraph repeats the whole description.
func summarise(description string) (summary, rest string) {
	runes := []rune(description)
	if len(runes) <= maxSummary {
		return description, ""
	}
	for end := maxSummary; end >= minSummary; end-- {
		if endsSentence(runes, end) {
			return strings.TrimSpace(string(runes[:end])), strings.TrimSpace(string(runes[end:]))
		}
	}
	cut := maxSummary - 1 // leaves space for the ellipsis
	space := cut
	for space > maxSummary/2 && runes[space] != ' ' {
		space--
	}
	if runes[space] == ' ' {
		cut = space
	}
	for cut > 0 && !safeCut(runes, cut) {
		cut--
	}
	return strings.TrimRightFunc(string(runes[:cut]), unicode.IsSpace) + "…", description
}

// endsSentence reports whether a sentence ends just before runes[end].
func endsSentence(runes []rune, end int) bool {
	last := end - 1
	for last > 0 && (runes[last] == '"' || unicode.In(runes[last], unicode.Pe, unicode.Pf)) {
		last--
	}
	switch runes[last] {
	case '。', '！', '？', '｡':
		return safeCut(runes, end) && !unicode.In(runes[end], unicode.Pe, unicode.Pf)
	case '.', '!', '?', '…', '؟', '۔', '।', '॥', '։', '።', '။':
	default:
		return false
	}
	// The next sentence starts after a space and not in lower case: "e.g. this".
	if runes[end] != ' ' || end+1 < len(runes) && unicode.IsLower(runes[end+1]) {
		return false
	}
	return runes[last] != '.' || !abbreviated(runes[:last])
}

// abbreviations end with a full stop that does not end a sentence. Single letters
// need no entry.
var abbreviations = []string{
	"bijv", "bzw", "ca", "co", "corp", "dott", "dr", "etc", "inc", "ing", "ltd", "mr", "mrs", "ms", "mme", "např", "np",
	"nr", "no",
	"prof", "sig", "sr", "sra", "st", "str", "tzw", "ul", "vs", "вул", "им", "ул",
}

// maxOrdinal is how many digits an ordinal has that ends with a full stop in
// German, Czech, Danish, Finnish, Hungarian, Norwegian, Polish and Turkish: "am 3.
// November", "seit dem 19. Jahrhundert".
const maxOrdinal = 2

// abbreviated reports whether the word before a full stop is an initial, an ordinal
// or a common abbreviation.
func abbreviated(before []rune) bool {
	digits := len(before)
	for digits > 0 && unicode.IsDigit(before[digits-1]) {
		digits--
	}
	if n := len(before) - digits; n > 0 {
		return n <= maxOrdinal && (digits == 0 || before[digits-1] == ' ')
	}
	start := len(before)
	for start > 0 && unicode.IsLetter(before[start-1]) {
		start--
	}
	word := before[start:]
	if len(word) == 1 && (unicode.IsUpper(word[0]) || unicode.IsLower(word[0])) {
		return true // J. S. Bach, z. B., А. С. Пушкин, г. Киев
	}
	return slices.Contains(abbreviations, strings.ToLower(string(word)))
}

// safeCut reports whether text may be cut before runes[at] without splitting a
// visible character. It is conservative: it rejects every place next to a mark, a
// joiner, a modifier, a flag letter or a conjoining jamo.
func safeCut(runes []rune, at int) bool {
	if at <= 0 || at >= len(runes) {
		return true
	}
	before, after := runes[at-1], runes[at]
	switch {
	case unicode.Is(unicode.M, after), unicode.Is(unicode.Sk, after):
		return false
	case before == zwj || before == zwnj || after == zwj || after == zwnj:
		return false
	case isFlagLetter(before) && isFlagLetter(after):
		return false
	case isJamo(after):
		return false
	case unicode.Is(unicode.Prepended_Concatenation_Mark, before), isVirama(before):
		return false
	case after == '\u0e33', after == '\u0eb3', after == '\uff9e', after == '\uff9f':
		return false // letters by category, but part of the character before
	}
	return true
}

// isVirama reports whether r joins the consonants before and after it.
func isVirama(r rune) bool { return norm.NFC.PropertiesString(string(r)).CCC() == viramaClass }

// viramaClass is the canonical combining class of all viramas.
const viramaClass = 9

// isFlagLetter reports whether r is half of a flag.
func isFlagLetter(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// isJamo reports whether r may combine with the preceding character into one Hangul
// syllable.
func isJamo(r rune) bool {
	return r >= 0x1100 && r <= 0x11FF || r >= 0xA960 && r <= 0xA97F || r >= 0xD7B0 && r <= 0xD7FF
}
