package badge

import _ "embed" // glyphs.bin

// glyphs holds the outlines of letters and prepared words; internal/gen writes
// it and says how. DejaVu and Noto are free to embed, see FONTS.md.
//
// It is a string, so it stays in the read-only data of the program.
//
//go:embed glyphs.bin
var glyphs string

// glyphEntry is the size of one line of the directory of glyphs, in bytes.
// The offset of the outline and its advance.
const glyphEntry = 4 + 2

// u16, i16 and u32 read big-endian numbers of glyphs.bin, whose offsets are trusted: the file
// is part of the program.
func u16(at int) int { return int(glyphs[at])<<8 | int(glyphs[at+1]) }
func i16(at int) int { return int(int16(u16(at))) }
func u32(at int) int { return u16(at)<<16 | u16(at+2) }

func glyphCount() int { return u16(0) }

// wordsAt returns the offset of the list of words.
func wordsAt() int { return u32(2 + glyphEntry*glyphCount()) }

// advanceOf returns how wide a glyph is, in thousandths of the size.
func advanceOf(glyph uint16) int { return u16(2 + glyphEntry*int(glyph) + 4) }

// outlineOf returns the start and end of a glyph's outline. The entry after the last
// glyph's starts with the end of the outlines.
func outlineOf(glyph uint16) (from, to int) {
	at := 2 + glyphEntry*int(glyph)
	return u32(at), u32(at + glyphEntry)
}

// glyphPoint is a place in a picture, in hundredths of a pixel.
type glyphPoint struct{ x, y int }

// glyph appends a glyph to a path, with its origin at x, y. All lengths are
// hundredths of a pixel; precision is what they are rounded to. Lengths between
// points already rounded do not add up errors.
func (w *path) glyph(glyph uint16, x, y, size, precision int) {
	// Quadratic curves are of TrueType outlines, cubic ones of OpenType.
	var first glyphPoint // of the contour
	from, to := outlineOf(glyph)
	for at := from; at < to; {
		op := glyphs[at]
		at++
		var spots [3]glyphPoint
		n := 1
		switch op {
		case 'Q':
			n = 2
		case 'C':
			n = 3
		}
		for i := range n {
			spots[i] = glyphPoint{snap(x*emUnits+i16(at)*size, precision), snap(y*emUnits+i16(at+2)*size, precision)}
			at += 4
		}
		end := spots[n-1]
		switch {
		case op == 'M':
			if w.begun {
				w.close(first)
			}
			first = end
			w.move(end)
		case w.straight(spots[:n]):
			last := at >= to || glyphs[at] == 'M'
			// The last line of a contour is drawn by closing it.
			if !last || end != first {
				w.line(end)
			}
		case op == 'Q':
			w.quadratic(spots[0], end)
		default:
			w.cubic(spots[0], spots[1], end)
		}
	}
	if to > from {
		w.close(first)
	}
}

// path writes path data in the fewest characters.
type path struct {
	dst   []byte
	at    glyphPoint // the current point
	begun bool       // a contour is open
	tail  tail
	// The command of the last curve and its last control point: a smooth continuation omits
	// its first control point.
	bend byte
	ctrl glyphPoint
}

// tail is the state of the data so far that determines how it can continue.
type tail struct {
	command byte // that further numbers would repeat
	digit   bool // the last character is of a number
	point   bool // which has a decimal point
}

// straight reports whether a segment through these points is a line: rounding
// pulls short curves straight.
// Such a curve would cost four numbers more.
func (w *path) straight(spots []glyphPoint) bool {
	end := spots[len(spots)-1]
	for _, s := range spots[:len(spots)-1] {
		if s != w.at && s != end {
			return false
		}
	}
	return true
}

// move begins a contour.
func (w *path) move(to glyphPoint) {
	w.add('m', to.x, to.y)
	w.tail.command-- // a pair after m is a line: l, as L after M
	w.at, w.bend, w.begun = to, 0, true
}

// line adds a line in its shortest form: horizontal and vertical ones need one number.
func (w *path) line(to glyphPoint) {
	switch {
	case to == w.at:
		return
	case to.y == w.at.y:
		w.add('h', to.x)
	case to.x == w.at.x:
		w.add('v', to.y)
	default:
		w.add('l', to.x, to.y)
	}
	w.at, w.bend = to, 0
}

// quadratic adds a curve, without its control point if that is the mirrored last one.
func (w *path) quadratic(c, to glyphPoint) {
	if c == w.smooth('q') {
		w.add('t', to.x, to.y)
	} else {
		w.add('q', c.x, c.y, to.x, to.y)
	}
	w.at, w.bend, w.ctrl = to, 'q', c
}

// cubic is quadratic for cubic curves.
func (w *path) cubic(a, b, to glyphPoint) {
	if a == w.smooth('c') {
		w.add('s', b.x, b.y, to.x, to.y)
	} else {
		w.add('c', a.x, a.y, b.x, b.y, to.x, to.y)
	}
	w.at, w.bend, w.ctrl = to, 'c', b
}

// smooth returns the implicit control point of a smooth curve.
func (w *path) smooth(bend byte) glyphPoint {
	if w.bend != bend {
		return w.at
	}
	return glyphPoint{2*w.at.x - w.ctrl.x, 2*w.at.y - w.ctrl.y}
}

// close ends the contour that began at first.
func (w *path) close(first glyphPoint) {
	w.dst = append(w.dst, 'z')
	w.tail = tail{}
	w.at, w.bend, w.begun = first, 0, false
}

// add appends a command with points relative to the current one or, where that
// is shorter, as they are.
// Both forms are written and the longer one is cut off again: counting digits in advance would
// take as long.
func (w *path) add(op byte, values ...int) {
	from, before := len(w.dst), w.tail
	w.command(op)
	for i, v := range values {
		if i%2 == 1 || op == 'v' {
			w.number(v - w.at.y)
		} else {
			w.number(v - w.at.x)
		}
	}
	middle, relative := len(w.dst), w.tail
	w.tail = before
	w.command(op - ' ')
	for _, v := range values {
		w.number(v)
	}
	if len(w.dst)-middle < middle-from {
		w.dst = append(w.dst[:from], w.dst[middle:]...)
		return
	}
	w.dst, w.tail = w.dst[:middle], relative
}

// command appends a command, unless it is the last one again.
func (w *path) command(c byte) {
	if w.tail.command != c {
		w.dst = append(w.dst, c)
		w.tail = tail{command: c}
	}
}

// number appends a length, and a space before it where it would be misread.
// A sign or a point ends the number before it, so many need no space.
func (w *path) number(v int) {
	if w.tail.digit && v >= 0 {
		switch {
		case w.tail.point && v == 0:
			w.dst = append(w.dst, ".0"...) // so that the next may do without a space
			return
		case !w.tail.point || v >= px:
			w.dst = append(w.dst, ' ')
		}
	}
	w.dst = appendLength(w.dst, v)
	w.tail.digit, w.tail.point = true, v%px != 0
}

// emUnits are the units of an outline in one size.
const emUnits = 1000

// snap turns a length in hundredths of a pixel times emUnits into hundredths of
// a pixel, rounded to a multiple of precision.
// Halves are rounded away from zero, so a mirrored outline is the mirror of the outline.
func snap(v, precision int) int {
	unit := emUnits * precision
	if v < 0 {
		return -(-v + unit/2) / unit * precision
	}
	return (v + unit/2) / unit * precision
}
