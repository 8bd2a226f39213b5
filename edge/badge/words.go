package badge

import "unicode"

// language is a prepared language.
// internal/gen writes the values from the translations and the fonts.
type language struct {
	tag    string
	rtl    bool
	joined bool   // its letters join or stack: do not insert spaces between them
	colon  string // what stands between a name and a sentence
	comma  string // what stands between the parts of a sentence
	words  [wordCount]word
	upper  [wordCount]word
	// phrases are for speech, tooltips and alternative texts.
	phrases [phraseCount]string
}

// word is a prepared text.
// Widths are those of the fonts in glyphs.bin.
type word struct {
	text  string
	width [2]uint16 // in thousandths of the size, by weight
	at    [2]uint32 // where its glyphs are listed, by weight
}

const langCount = len(languages)

// The weights a text may have, as indices of tables.
const (
	regular = iota
	bold
)

// letterRun is a run of consecutive characters with consecutive glyphs.
// Runs are sorted, so a search can stop early.
type letterRun struct {
	lo, hi rune
	first  uint16 // glyph of lo
}

// letterOf returns the glyph of a character, if it has one.
func letterOf(weight int, r rune) (glyph uint16, ok bool) {
	for i := range letterRuns {
		run := &letterRuns[i]
		if r < run.lo {
			return 0, false
		}
		if r <= run.hi {
			return uint16(weight*lettersPerWeight) + run.first + uint16(r-run.lo), true
		}
	}
	return 0, false
}

// canOutline reports whether every character of s has a glyph.
// A label with other letters is set as text in a font of the reader.
func canOutline(s string) bool {
	for _, r := range s {
		if _, ok := letterOf(regular, r); !ok {
			return false
		}
	}
	return true
}

// widthOf returns the width of s in thousandths of the font size. It is exact for
// characters with outlines and an upper estimate for others: a gap looks better than
// truncated text.
func widthOf(weight int, s string) (width int) {
	if width, ok := plainWidth(weight, s); ok {
		return width
	}
	previous := rune(0)
	for _, r := range s {
		// The joiner makes several characters one picture.
		if previous != zeroWidthJoiner { // what is joined to an emoji is drawn in its place
			width += widthOfRune(weight, r)
		}
		previous = r
	}
	return width
}

// plainWidth measures s if it is ASCII, as most labels are.
func plainWidth(weight int, s string) (width int, ok bool) {
	// Two weights have tables; another value cannot occur.
	table := &advances[weight&1]
	for i := range len(s) {
		c := s[i] - ' '
		if int(c) >= len(table) {
			return 0, false
		}
		width += int(table[c])
	}
	return width, true
}

const zeroWidthJoiner = 0x200d

// Widths of characters we have no outline of, in thousandths of the size.
const (
	wideWidth  = 1000 // an ideograph fills its square
	emojiWidth = 1300 // as drawn by the faces of all common systems
	otherWidth = 760  // the mean of a bold Indic or Arabic letter, on the wide side
)

func widthOfRune(weight int, r rune) int {
	if glyph, ok := letterOf(weight, r); ok {
		return advanceOf(glyph)
	}
	switch {
	case r == zeroWidthJoiner, unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf), 0x1f3fb <= r && r <= 0x1f3ff:
		return 0
	case 0x1f000 <= r && r <= 0x1faff, 0x2600 <= r && r <= 0x27bf, 0x2b00 <= r && r <= 0x2bff:
		return emojiWidth
	case 0x1100 <= r && r <= 0x115f, 0x2e80 <= r && r <= 0xa4cf, 0xac00 <= r && r <= 0xd7a3,
		0xf900 <= r && r <= 0xfaff, 0xfe30 <= r && r <= 0xfe6f, 0xff00 <= r && r <= 0xff60, r >= 0x20000:
		return wideWidth
	case unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Thai, unicode.Lao):
		return otherWidth
	}
	return wideWidth
}

// readsLeft reports whether the first strong character of s is of a script written
// from right to left.
func readsLeft(s string) bool {
	for _, r := range s {
		switch {
		case r < 0x590: // Hebrew is the first of them
			if unicode.IsLetter(r) {
				return false
			}
		case unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam):
			return true
		case unicode.IsLetter(r):
			return false
		}
	}
	return false
}
