package badge

import "strconv"

// svgWriter writes one badge. All its lengths are hundredths of a pixel.
// It is a value on the stack of the function that draws, so drawing allocates nothing but dst.
type svgWriter struct {
	buffer
	badge     Badge
	options   Options
	lang      *language
	content   content
	rtl       bool
	width     int
	height    int
	precision int  // what outlines are rounded to
	path      path // of the text being drawn as outlines
	// The two offsets of the sentence in dst, where the name is inserted.
	label, title int
	// The ranges of the free label in dst.
	slot  [maxSlots][2]int
	slots int
}

// maxSlots is how often a label is drawn: once, and once for its shadow.
const maxSlots = 2

const (
	px       = 100     // units of the writer in a pixel
	tenth    = px / 10 // precision of outlines in an SVG: a tenth of a pixel is not seen
	finest   = 1       // precision of outlines that are enlarged
	rootSize = 11 * px // of text, unless a style says otherwise
)

// buffer is the output so far.
// Floats are not used: their formatting differs in length, and rounding would decide about
// bytes.
type buffer struct{ dst []byte }

// raw appends s, num a length, and put s and a length after it.
func (b *buffer) raw(s string)        { b.dst = append(b.dst, s...) }
func (b *buffer) num(v int)           { b.dst = appendLength(b.dst, v) }
func (b *buffer) put(s string, v int) { b.dst = appendLength(append(b.dst, s...), v) }

// mirror mirrors a place from the left edge in badges read from the right.
func (p *svgWriter) mirror(x int) int {
	if p.rtl {
		return p.width - x
	}
	return x
}

// appendLength appends hundredths of a pixel in the fewest characters.
// A leading zero is left out, as SVG allows.
func appendLength(dst []byte, v int) []byte {
	if v < 0 {
		dst, v = append(dst, '-'), -v
	}
	whole, rest := v/px, v%px
	if whole > 0 || rest == 0 {
		if whole < 10 {
			dst = append(dst, byte('0'+whole))
		} else {
			dst = strconv.AppendInt(dst, int64(whole), 10)
		}
	}
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.', byte('0'+rest/10))
	if rest%10 != 0 {
		dst = append(dst, byte('0'+rest%10))
	}
	return dst
}

// part is a piece of a text: a prepared word, other characters, or the month of
// the badge.
// The zero value is an empty text.
type part struct {
	word  *word
	text  string
	month bool
	label bool // the text is the free label
}

// separator separates independent parts of a text.
var separator = part{text: " · "}

// anchor is the point of a text that x refers to.
// Badges that are read from the right swap start and end.
type anchor uint8

const (
	start anchor = iota // where reading begins
	middle
	end
)

// font is how a text is set.
// Sizes are hundredths of a pixel, spacing too.
type font struct {
	size    int
	weight  int
	spacing int // after every letter
}

// widthOf returns the width of a text.
func (f font) widthOf(m Month, parts ...part) int {
	units, letters := 0, 0
	for i := range parts {
		w, n := parts[i].measure(f.weight, f.spacing != 0)
		units, letters = units+w, letters+n
	}
	return units*f.size/emUnits + letters*f.spacing
}

// measure returns the width of a part in thousandths of the size and, if count is set, its
// number of characters.
// Counting characters takes time, so it is done only for fonts with spacing.
func (t *part) measure(weight int, count bool) (width, letters int) {
	text := t.text
	switch {
	case t.word != nil:
		width, text = int(t.word.width[weight]), t.word.text
	case t.month:
		const digits = 6
		return digits*int(advances[weight]['0'-' ']) + int(advances[weight]['-'-' ']), digits + 1
	default:
		width = widthOf(weight, text)
	}
	if count {
		for range text {
			letters++
		}
	}
	return width, letters
}

// textWidth returns the width that a text is drawn with. Of a label only whole
// pixels matter, as they are all that a frame's key has of it.
func (p *svgWriter) textWidth(f font, parts ...part) int {
	width := f.widthOf(p.badge.AsOf, parts...)
	if parts[0].label {
		return roundUp(width)
	}
	return width
}

// fit returns f, or a smaller font in which a text is no wider than room, and
// the width of the text in it.
// A smaller font is preferred to a text that is cut.
func (p *svgWriter) fit(f font, room int, parts ...part) (font, int) {
	width := p.textWidth(f, parts...)
	if width > room {
		f.size, width = f.size*room/width, room
	}
	return f, width
}

// text draws a text at x, y, mirrored where need be. paint is what is written
// into the element about its colour.
func (p *svgWriter) text(f font, x, y int, a anchor, paint string, parts ...part) {
	p.set(f, p.textWidth(f, parts...), x, y, a, paint, parts...)
}

// set draws a text with a fixed width. The reader's system may lack the requested fonts, or
// any font for the script: textLength fits every fallback font into the badge, and so no
// anchor is needed.
func (p *svgWriter) set(f font, width, x, y int, a anchor, paint string, parts ...part) {
	seen := width - f.spacing // that of the last letter is not seen
	switch a {
	case middle:
		x -= seen / 2
	case end:
		x -= seen
	}
	// Outlines need no width attribute: they are drawn as wide as they are.
	if p.outlined(parts) {
		if x = p.mirror(x); p.rtl {
			x -= seen
		}
		p.outline(f, x, y, paint, parts)
		return
	}
	p.put(`<text x="`, p.mirror(x)/tenth*tenth)
	p.put(`" y="`, y)
	if p.options.Style == Seal {
		p.raw(`" font-family="Verdana,DejaVu Sans,sans-serif`) // second, the face of its outlines
	}
	if f.size != p.root().size {
		p.put(`" font-size="`, f.size)
	}
	if root := p.root().weight; f.weight != root {
		p.raw(`" font-weight="`)
		p.raw(weights[f.weight])
	}
	// A single letter has nothing to stretch.
	if len(parts) > 1 || parts[0].word != nil || parts[0].month || len(parts[0].text) > 1 {
		p.put(`" textLength="`, width/tenth*tenth)
		if p.scaled(parts) {
			p.raw(`" lengthAdjust="spacingAndGlyphs`)
		}
	}
	if f.spacing != 0 {
		p.put(`" letter-spacing="`, f.spacing)
	}
	p.raw(`"`)
	p.raw(paint)
	p.raw(`>`)
	for i := range parts {
		p.part(&parts[i])
	}
	p.raw(`</text>`)
}

var weights = [...]string{regular: "400", bold: "700"}

// scaled reports whether a text gets its width by scaling its letters and not by
// the space between them: where letters join or stack, space would part them,
// and where the width is an estimate there may be much of it. Elsewhere the 34
// bytes are saved, as shields.io does.
func (p *svgWriter) scaled(parts []part) bool {
	for i := range parts {
		if parts[i].label && !canOutline(parts[i].text) || parts[i].word != nil && p.lang.joined {
			return true
		}
	}
	return false
}

// part appends a part as escaped text.
// The range of a free label is noted, so that Renderer can replace it.
func (p *svgWriter) part(t *part) {
	switch {
	case t.word != nil:
		p.raw(t.word.text) // ours, and plain
	case t.month:
		if p.rtl {
			p.raw(leftToRight)
		}
		digits := p.badge.AsOf.digits()
		p.dst = append(p.dst, digits[:]...)
	case t.label:
		from := len(p.dst)
		p.dst = appendEscaped(p.dst, t.text, MaxLabel)
		p.slot[p.slots] = [2]int{from, len(p.dst)}
		p.slots++
	default:
		if p.rtl && *t == separator {
			p.raw(rightToLeft)
		}
		p.raw(t.text) // ours, and plain
	}
}

// leftToRight precedes a month in right-to-left text: after Arabic letters 2026-11 would be
// shown as 11-2026.
const leftToRight = "\u200e"

// rightToLeft precedes a separator in right-to-left text: without it, a separator between
// the letter of a grade and a number would order both from left to right.
const rightToLeft = "\u200f"

// outlined reports whether a text is drawn as outlines. A seal's own words are,
// and its label is not: drawing letters takes a hundred times as long.
func (p *svgWriter) outlined(parts []part) bool {
	if !p.options.Outline && (p.options.Style != Seal || parts[0].label) {
		return false
	}
	for i := range parts {
		if !canOutline(parts[i].text) {
			return false
		}
	}
	return true
}

// outline draws a text as one path, whose left end is at x.
func (p *svgWriter) outline(f font, x, y int, paint string, parts []part) {
	p.raw(`<path`)
	p.raw(paint)
	p.raw(` d="`)
	p.path = path{dst: p.dst}
	for i := range parts {
		t := &parts[i]
		if p.rtl {
			// Parts of text from the right are drawn from the last to the first.
			t = &parts[len(parts)-1-i]
		}
		x += p.outlinePart(f, t, x, y)
	}
	p.dst = p.path.dst
	p.raw(`"/>`)
}

// outlinePart draws a part from x on and returns how wide it is.
func (p *svgWriter) outlinePart(f font, t *part, x, y int) int {
	switch {
	case t.word != nil:
		at := wordsAt() + int(t.word.at[f.weight])
		spread := 0
		for n := int(glyphs[at]); n > 0; n-- {
			p.path.glyph(uint16(u16(at+1)), x+i16(at+3)*f.size/emUnits+spread, y+i16(at+5)*f.size/emUnits, f.size,
				p.precision)
			at += 6
			spread += f.spacing
		}
		return int(t.word.width[f.weight])*f.size/emUnits + spread
	case t.month:
		digits := p.badge.AsOf.digits()
		from := x
		for _, c := range digits {
			x += p.letter(f, rune(c), x, y)
		}
		return x - from
	}
	return p.letters(f, t.text, x, y)
}

func (p *svgWriter) letters(f font, s string, x, y int) int {
	from := x
	for _, r := range s {
		x += p.letter(f, r, x, y)
	}
	return x - from
}

func (p *svgWriter) letter(f font, r rune, x, y int) int {
	glyph, ok := letterOf(f.weight, r)
	if !ok {
		return 0
	}
	p.path.glyph(glyph, x, y, f.size, p.precision)
	return advanceOf(glyph)*f.size/emUnits + f.spacing
}
