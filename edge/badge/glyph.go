package badge

import _ "embed" // glyphs.bin

// glyphs holds the outlines of letters and prepared words; internal/gen writes
// it and says how. DejaVu and Noto are free to embed, see FONTS.md.
//
//go:embed glyphs.bin
var glyphs string

// glyphEntry is the size of one line of the directory of glyphs, in bytes.
const glyphEntry = 4 + 2

func u16(at int) int { return int(glyphs[at])<<8 | int(glyphs[at+1]) }
func i16(at int) int { return int(int16(u16(at))) }
func u32(at int) int { return u16(at)<<16 | u16(at+2) }

func glyphCount() int { return u16(0) }

// wordsAt returns where the list of words begins.
func wordsAt() int { return u32(2 + glyphEntry*glyphCount()) }

// advanceOf returns how wide a glyph is, in thousandths of the size.
func advanceOf(glyph uint16) int { return u16(2 + glyphEntry*int(glyph) + 4) }

// outlineOf returns where a glyph's outline begins and ends. The line after the
// last glyph's begins with the end of the outlines.
func outlineOf(glyph uint16) (from, to int) {
	at := 2 + glyphEntry*int(glyph)
	return u32(at), u32(at + glyphEntry)
}

// glyph appends a glyph to a path, with its origin at x, y. All lengths are
// hundredths of a pixel; grain is what they are rounded to. Commands are
// relative to points already rounded, so that errors do not add up.
func (w *path) glyph(glyph uint16, x, y, size, grain int) {
	place := func(at int) (int, int) {
		return snap(x*emUnits+i16(at)*size, grain), snap(y*emUnits+i16(at+2)*size, grain)
	}
	var sx, sy int // the contour's first point
	from, to := outlineOf(glyph)
	for at := from; at < to; {
		op := glyphs[at]
		at++
		points := 1
		switch op {
		case 'Q':
			points = 2
		case 'C':
			points = 3
		}
		ex, ey := place(at + 4*(points-1))
		switch op {
		case 'M':
			if at > from+1 {
				w.close(sx, sy)
			}
			sx, sy = ex, ey
			w.move(ex, ey)
		case 'L':
			last := at+4 >= to || glyphs[at+4] == 'M'
			if !last || ex != sx || ey != sy { // closing draws the way back
				w.line(ex, ey)
			}
		default:
			w.command(op | ' ')
			for i := range points {
				px, py := place(at + 4*i)
				w.number(px - w.x)
				w.number(py - w.y)
			}
		}
		w.x, w.y = ex, ey
		at += 4 * points
	}
	if to > from {
		w.close(sx, sy)
	}
}

// path writes path data in the fewest characters.
type path struct {
	dst   []byte
	x, y  int  // the current point
	last  byte // command
	begun bool
	digit bool // the last character is of a number
	point bool // which has a decimal point
}

// command appends a command, unless it is the last one again.
func (w *path) command(c byte) {
	if w.last != c {
		w.dst = append(w.dst, c)
		w.last, w.digit = c, false
	}
}

// number appends a length, and a space before it where it would be misread.
func (w *path) number(v int) {
	if w.digit && v >= 0 && !(w.point && 0 < v && v < px) {
		w.dst = append(w.dst, ' ')
	}
	w.dst = appendLength(w.dst, v)
	w.digit, w.point = true, v%px != 0
}

func (w *path) move(x, y int) {
	w.last = 0 // a pair after a move would be a line
	if !w.begun {
		w.begun = true
		w.command('M')
		w.number(x)
		w.number(y)
		return
	}
	w.command('m')
	w.number(x - w.x)
	w.number(y - w.y)
}

// line appends a straight line, in the shortest way.
func (w *path) line(x, y int) {
	dx, dy := x-w.x, y-w.y
	switch {
	case dx == 0 && dy == 0:
	case dy == 0:
		w.command('h')
		w.number(dx)
	case dx == 0:
		w.command('v')
		w.number(dy)
	default:
		w.command('l')
		w.number(dx)
		w.number(dy)
	}
}

// close ends a contour that began at x, y.
func (w *path) close(x, y int) {
	w.last = 0
	w.command('z')
	w.x, w.y = x, y
}

// emUnits are the units of an outline in one size.
const emUnits = 1000

// snap turns a length in hundredths of a pixel times emUnits into hundredths of
// a pixel, rounded to a multiple of grain.
func snap(v, grain int) int {
	unit := emUnits * grain
	if v < 0 {
		return -(-v + unit/2) / unit * grain
	}
	return (v + unit/2) / unit * grain
}
