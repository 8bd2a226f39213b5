package audit

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// legalForms are the words that say what kind of company a name belongs to.
// They are part of the register, not of the name.
var legalForms = setOf(
	"inc", "incorporated", "llc", "llp", "ltd", "limited", "plc", "corp", "corporation", "co", "company",
	"gmbh", "ag", "kg", "kgaa", "ug", "ohg", "ev", "se", "mbh",
	"sa", "sas", "sarl", "eurl", "sasu", "srl", "spa", "snc", "sl", "slu", "lda", "ltda",
	"bv", "nv", "ab", "as", "asa", "oy", "oyj", "aps", "kft", "zrt", "nyrt", "bt", "sro", "doo",
	"pty", "pte", "kk", "gk", "tbk", "tnhh", "aş", "şti", "ооо", "зао", "оао", "пао", "тов", "αε", "επε", "ικε",
	"شركة", "شرکت",
)

// legalPhrases are the forms of several words, as plainWords writes them.
var legalPhrases = [][]string{{"sp", "z", "oo"}, {"sp", "z", "o", "o"}, {"sp", "k"}, {"spol", "s", "ro"}, {"công",
	"ty", "tnhh"}, {"công", "ty", "cổ", "phần"}}

// legalMarks are forms written without a space around them, longer ones first.
var legalMarks = newLegalMarks(
	"株式会社", "有限会社", "合同会社", "一般社団法人", "(株)", "有限责任公司", "有限責任公司", "有限公司", "股份", "주식회사", "(주)", "בע\"מ", "בע״מ",
	"บริษัท", "จำกัด",
)

func newLegalMarks(marks ...string) *strings.Replacer {
	var pairs []string
	for _, m := range marks {
		pairs = append(pairs, norm.NFKC.String(m), " ")
	}
	return strings.NewReplacer(pairs...)
}

// plainWords returns the words of a text as they compare: compatibility forms,
// case and punctuation gone.
func plainWords(s string) []string {
	s = cases.Fold().String(norm.NFKC.String(s))
	s = legalMarks.Replace(s)
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '.' || r == '\'' || r == '’':
			return -1 // S.A. and d'Or are one word each
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
			return r
		}
		return ' '
	}, s)
	return strings.Fields(s)
}

// nameWords returns the words of a name without its legal form.
func nameWords(s string) []string {
	words := plainWords(s)
	kept := slices.Clone(words)
	for _, phrase := range legalPhrases {
		for i := 0; i+len(phrase) <= len(kept); i++ {
			if slices.Equal(kept[i:i+len(phrase)], phrase) {
				kept = slices.Delete(kept, i, i+len(phrase))
			}
		}
	}
	kept = slices.DeleteFunc(kept, func(w string) bool { return legalForms[w] })
	if len(kept) == 0 {
		return words // a name that is nothing but a form is still a name
	}
	return kept
}

// saysName reports whether text names the brand: all words of the name in a
// row, however they are spaced, or as the host name of its site.
func saysName(text, name string) bool {
	full, short := plainWords(name), nameWords(name)
	for _, t := range []string{text, withoutSuffixes(text)} {
		// Spelled in full first: a form in the middle of a name, as in Smith & Co
		// Tailors, cannot be left out of a text.
		if words := plainWords(t); containsWords(words, full) || containsWords(words, short) {
			return true
		}
	}
	return false
}

// sameName reports whether two names are one: either holds the other, and the
// shorter is at least half of the longer.
func sameName(a, b string) bool {
	x, y := nameWords(a), nameWords(b)
	if len(x) == 0 || len(y) == 0 {
		return false
	}
	long, short := len([]rune(strings.Join(x, ""))), len([]rune(strings.Join(y, "")))
	if long < short {
		x, y, long, short = y, x, short, long
	}
	return containsWords(x, y) && 2*short >= long
}

// containsWords reports whether the words of part stand in a row in whole.
// Names in scripts without spaces, and names written together or apart, are
// found by their letters.
func containsWords(whole, part []string) bool {
	if len(part) == 0 || len(whole) == 0 {
		return false
	}
	for i := 0; i+len(part) <= len(whole); i++ {
		if slices.Equal(whole[i:i+len(part)], part) {
			return true
		}
	}
	joined := strings.Join(part, "")
	for i := range whole {
		run := ""
		for _, w := range whole[i:] {
			if run += w; run == joined {
				return true
			}
			if len(run) > len(joined) {
				break
			}
		}
	}
	return !spaced(joined) && strings.Contains(strings.Join(whole, ""), joined)
}

// spaced reports whether a text is of a script that puts spaces between words.
func spaced(s string) bool {
	for _, r := range s {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			return false
		}
	}
	return true
}
