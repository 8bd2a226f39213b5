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
var legalForms = map[string]bool{
	"inc": true, "incorporated": true, "llc": true, "llp": true, "ltd": true, "limited": true, "plc": true, "corp": true, "corporation": true, "co": true, "company": true,
	"gmbh": true, "ag": true, "kg": true, "ug": true, "ohg": true, "ev": true, "se": true, "mbh": true,
	"sa": true, "sas": true, "sarl": true, "eurl": true, "sasu": true, "srl": true, "spa": true, "snc": true, "sl": true, "slu": true, "lda": true, "ltda": true,
	"bv": true, "nv": true, "ab": true, "as": true, "asa": true, "oy": true, "oyj": true, "aps": true, "kft": true, "zrt": true, "sro": true, "doo": true,
	"pty": true, "pte": true, "kk": true, "gk": true, "ооо": true, "зао": true, "оао": true,
}

// legalMarks are forms written without a space around them.
var legalMarks = strings.NewReplacer("株式会社", " ", "有限会社", " ", "合同会社", " ", "一般社団法人", " ", "(株)", " ", "有限公司", " ", "股份", " ", "주식회사", " ", "(주)", " ", "בע\"מ", " ", "בע״מ", " ")

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
	kept := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return legalForms[w] })
	if len(kept) == 0 {
		return words // a name that is nothing but a form is still a name
	}
	return kept
}

// saysName reports whether text names the brand: all words of the name in a
// row, however they are spaced.
func saysName(text, name string) bool {
	words := plainWords(text)
	// Spelled in full first: a form in the middle of a name, as in Smith & Co
	// Tailors, cannot be left out of a text.
	return containsWords(words, plainWords(name)) || containsWords(words, nameWords(name))
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
