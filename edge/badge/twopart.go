package badge

import "github.com/fieldmark/fieldmark"

// shape is how the two parts of a badge are laid out.
// The numbers of the styles of shields.io are those of its badges, so that a row of badges has
// one height and one baseline.
type shape struct {
	height, base   int
	margin         int // beside each text
	radius         int
	label, message font
}

var shapes = [styleCount]shape{
	Compact: {height: 20 * px, base: 14 * px, margin: 8 * px, radius: 4 * px, label: font{rootSize, regular, 0},
		message: font{rootSize, regular, 0}},
	Flat: {height: 20 * px, base: 14 * px, margin: 5 * px, radius: 3 * px, label: font{rootSize, regular, 0},
		message: font{rootSize, regular, 0}},
	FlatSquare: {height: 20 * px, base: 14 * px, margin: 5 * px, label: font{rootSize, regular, 0},
		message: font{rootSize, regular, 0}},
	ForTheBadge: {height: 28 * px, base: 1750, margin: 12 * px, label: font{10 * px, regular, 125},
		message: font{10 * px, bold, 125}},
}

// twoPart draws a badge of two parts: the label and the state.
func (p *svgWriter) twoPart(e *fieldmark.Error) {
	s := shapes[p.options.Style]
	label, message := p.parts()
	// In scripts whose letters are joined, spacing between letters would break words.
	if p.lang.joined {
		s.label.spacing, s.message.spacing = 0, 0
	}
	// A label without outlines is set in a font of the reader, whose letters may be joined.
	if p.options.Label != "" && p.options.Style == ForTheBadge && !canOutline(p.options.Label) {
		s.label.spacing = 0
	}
	left := roundUp(s.label.widthOf(0, label)) + 2*s.margin
	right := roundUp(s.message.widthOf(p.badge.AsOf, message[:]...)) + 2*s.margin
	// The tick is beside the words, so it covers none.
	tick := 0 // room for it
	if p.badge.Claimed {
		tick = tickRoom
	}
	right += tick
	p.width = left + right
	p.open(e, s.height, "#fff", true)
	p.background(&s, left, right)
	if p.options.Style == Flat {
		// The shadow of the words, as it is on badges beside this one.
		p.raw(`<g fill="#010101" opacity=".3">`)
		p.text(s.label, left/2, s.base+px, middle, "", label)
		p.text(s.message, left+(right-tick)/2, s.base+px, middle, "", message[:]...)
		p.raw(`</g>`)
	}
	p.text(s.label, left/2, s.base, middle, "", label)
	p.text(s.message, left+(right-tick)/2, s.base, middle, "", message[:]...)
	if p.badge.Claimed {
		p.raw(`<path fill="#fff`)
		tickPath(p, p.mirror(p.width-s.margin-tickRoom/2+px), s.height/2, tickRoom/2)
	}
}

// tickRoom is the width that a tick takes beside the words.
const tickRoom = 14 * px

// message is the text of the right part of a badge; empty parts show nothing.
// The array has room for the longest message, so nothing is allocated.
type message [7]part

// parts returns the texts of the two parts. The word "grade" separates the score from the
// claim beside it: GEO-ready says that engines can use the site, and no number.
func (p *svgWriter) parts() (label part, m message) {
	words := &p.lang.words
	if p.options.Style == ForTheBadge {
		words = &p.lang.upper
	}
	label = part{word: &words[readyWord]}
	if p.options.Label != "" {
		label = part{text: p.options.Label, label: true}
	}
	f, n := &p.content, 0
	add := func(t part) { m[n] = t; n++ }
	if f.word != readyWord {
		add(part{word: &words[f.word]})
		if f.score != "" || f.month {
			add(separator) // without it, "not yet 45" reads as a score that has not reached 45
		}
	}
	if f.score != "" && f.mark != "" {
		add(part{word: &words[gradeWord]})
		add(part{text: " "}) // a separate part: see note
		add(part{text: f.mark})
		add(separator)
	}
	if f.score != "" || f.month {
		add(part{text: f.score, month: f.month})
	}
	return label, m
}

// background appends the background of a badge of two parts. The paths contain the rounded
// corners, so that the SVG needs no reference to a clip path.
// The right part is a path over a rectangle with the color of the left one.
func (p *svgWriter) background(s *shape, left, right int) {
	label := shieldsLabel
	if !p.options.Style.shields() || p.options.Theme == Mono {
		label = schemes[p.options.Theme].label
	}
	p.put(`<rect width="`, p.width)
	p.put(`" height="`, s.height)
	if s.radius > 0 {
		p.put(`" rx="`, s.radius)
	}
	p.raw(`" fill="`)
	p.raw(label)
	p.raw(`"/><path fill="`)
	p.raw(p.backdrop())
	// From right to left the parts change sides, so the corners are those of the other end.
	r, corner, sweep := s.radius, s.radius, ` 0 0 1`
	inward := right - r
	p.put(`" d="M`, p.mirror(left))
	if p.rtl {
		corner, sweep, inward = -r, ` 0 0 0`, -inward
		p.put(` 0H`, r)
	} else {
		p.put(` 0h`, inward)
	}
	if r > 0 {
		p.corner(r, sweep, corner, r)
		p.put(`v`, s.height-2*r)
		p.corner(r, sweep, -corner, r)
	} else {
		p.put(`v`, s.height)
	}
	p.put(`h`, -inward)
	p.raw(`z"/>`)
	if p.options.Style == Flat {
		p.gradient(s)
	}
}

// corner appends a rounded corner.
// dx and dy are its extent; sweep is the flag of the arc and the separators before it.
func (p *svgWriter) corner(r int, sweep string, dx, dy int) {
	p.put(`a`, r)
	p.put(` `, r)
	p.raw(sweep)
	if dx >= 0 {
		p.raw(` `)
	}
	p.num(dx)
	p.put(` `, dy)
}

// gradient darkens a badge towards its foot. A gradient would need an id, which
// may be there twice in a page that inlines two badges; five steps of it differ
// from one by less than an eye sees.
func (p *svgWriter) gradient(s *shape) {
	const steps = 4
	p.raw(`<g fill="#000" opacity=".1">`)
	for i := range steps {
		y := s.height * (i + 1) / (steps + 1)
		p.put(`<rect width="`, p.width)
		p.put(`" height="`, s.height-y)
		p.put(`" y="`, y)
		p.put(`" rx="`, s.radius)
		p.raw(`" opacity=".25"/>`)
	}
	p.raw(`</g>`)
}

// roundUp returns v in whole pixels.
// Widths are whole pixels, so that the picture is sharp beside others.
func roundUp(v int) int { return (v + px - 1) / px * px }
