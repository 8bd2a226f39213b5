package injection

import (
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// alike maps letters to those under which they are compared.
var alike = sync.OnceValue(func() map[rune]rune {
	to := map[rune]rune{'ı': 'i', 'ł': 'l', 'ø': 'o', 'đ': 'd', 'ħ': 'h', 'ŧ': 't', 'ς': 'σ',
		'ي': 'ی', 'ى': 'ی', 'ك': 'ک', 'ة': 'ه', // Arabic and Persian
		'ँ': 'ं'} // Devanagari
	for latin, others := range confusables {
		for _, r := range others {
			to[r] = rune(latin)
		}
	}
	return to
})

// folded maps every code point of the basic plane to the runes under which it is
// compared; none for an invisible one. It is computed once, because normalization is ten
// times slower than a lookup.
var folded = sync.OnceValue(func() *[0x10000]string {
	var t [0x10000]string
	for r := range rune(0x10000) {
		if r < 0xD800 || r > 0xDFFF {
			t[r] = foldSlow(r)
		}
	}
	return &t
})

// foldSlow computes the entry of a code point.
func foldSlow(r rune) string {
	if r == '\n' || r == '\u2028' || r == '\u2029' {
		return "\n"
	}
	if isInvisible(r) {
		return ""
	}
	var out []rune
	for _, d := range norm.NFKD.String(string(r)) {
		if droppedMark(d) {
			continue
		}
		d = unicode.ToLower(d)
		if to, ok := alike()[d]; ok {
			d = to
		}
		out = append(out, d)
	}
	return norm.NFC.String(string(out))
}

// droppedMark reports whether a mark is ignored: accents, the vowel signs of Arabic and
// Hebrew, and the nukta. In other scripts marks are letters.
func droppedMark(r rune) bool {
	switch {
	case r >= 0x300 && r <= 0x36F, r >= 0x591 && r <= 0x5C7, r == 0x640, r >= 0x64B && r <= 0x65F, r == 0x670,
		r == 0x93C:
		return true
	}
	return false
}

// isInvisible reports whether a code point has no glyph: controls, format characters,
// variation selectors and the fillers of Hangul.
func isInvisible(r rune) bool {
	switch r {
	case '\t', '\r', '\v', '\f', '\u0085':
		return false
	case '\u034f', '\u115f', '\u1160', '\u3164', '\uffa0', '\u2800':
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector)
}

// Code points above the basic plane that are read as a Latin letter.
const (
	firstTag, lastTag         = 0xE0020, 0xE007E // tag characters: invisible, but a tokenizer may read them
	firstRegional, lastLetter = 0x1F1E6, 0x1F1FF // regional indicators
)

// enclosed are the first of each 26 letters in circles and squares that have no
// decomposition.
var enclosed = []rune{0x1F150, 0x1F170, firstRegional}

// appendFolded appends the form under which r is compared.
func appendFolded(b []byte, r rune) []byte {
	switch {
	case 'a' <= r && r <= 'z':
		return append(b, byte(r))
	case 'A' <= r && r <= 'Z':
		return append(b, byte(r)+'a'-'A')
	case r < 0x10000:
		return append(b, folded()[r]...)
	case r >= firstTag && r <= lastTag:
		return append(b, folded()[r-0xE0000]...)
	}
	for _, first := range enclosed {
		if r >= first && r < first+26 {
			return append(b, folded()['a'+r-first]...)
		}
	}
	return append(b, foldSlow(r)...)
}
