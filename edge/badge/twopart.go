package badge

import "github.com/fieldmark/fieldmark"

// shape is how the two parts of a badge are laid out.
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

// markGap is the space between the grade's letter and the score.
const markGap = 4 * px

// twoPart draws a badge of two parts: the label and the state.
func (p *svgWriter) twoPart(e *fieldmark.Error) {
	s := shapes[p.look.Style]
	label, message := p.parts()
	mark := ""
	if p.look.Style == Compact && p.badge.State == Ready {
		mark = p.face.mark
		message = [3]part{{text: p.face.score}, {}, {}}
	}
	if p.lang.joined {
		s.label.spacing, s.message.spacing = 0, 0
	}
	if p.look.Label != "" && p.look.Style == ForTheBadge && !canOutline(p.look.Label) {
		s.label.spacing = 0
	}
	inner := s.message.widthOf(p.badge.AsOf, message[:]...)
	lead := 0
	if mark != "" {
		lead = font{s.message.size, bold, 0}.widthOf(0, part{text: mark}) + markGap
	}
	left := roundUp(s.label.widthOf(0, label)) + 2*s.margin
	right := roundUp(inner+lead) + 2*s.margin
	p.width = left + right
	p.open(e, s.height, "#fff", true)
	p.background(&s, left, right)
	if p.look.Style == Flat {
		// The shadow of the words, as it is on badges beside this one.
		p.raw(`<g fill="#010101" opacity=".3">`)
		p.text(s.label, left/2, s.base+px, middle, "", label)
		p.text(s.message, left+right/2, s.base+px, middle, "", message[:]...)
		p.raw(`</g>`)
	}
	p.text(s.label, left/2, s.base, middle, "", label)
	if mark != "" {
		x := left + (right-inner-lead)/2
		p.text(font{s.message.size, bold, 0}, x, s.base, start, "", part{text: mark})
		p.text(s.message, x+lead, s.base, start, "", message[:]...)
		return
	}
	p.text(s.message, left+right/2, s.base, middle, "", message[:]...)
}

// parts returns the texts of the two parts.
func (p *svgWriter) parts() (label part, message [3]part) {
	words := &p.lang.words
	if p.look.Style == ForTheBadge {
		words = &p.lang.upper
	}
	label = part{word: &words[readyWord]}
	if p.look.Label != "" {
		label = part{text: p.look.Label, label: true}
	}
	f := &p.face
	if f.word == readyWord {
		if f.mark == "" {
			return label, [3]part{{text: f.score}}
		}
		return label, [3]part{{text: f.mark}, separator, {text: f.score}}
	}
	message[0].word = &words[f.word]
	if f.score != "" || f.month {
		// Without the mark, "not yet 45" reads as a score that has not reached 45.
		message[1] = separator
		message[2] = part{text: f.score, month: f.month}
	}
	return label, message
}

// background appends the background of a badge of two parts. The paths contain the rounded
// corners, so that the SVG needs no reference to a clip path.
func (p *svgWriter) background(s *shape, left, right int) {
	label := shieldsLabel
	if !p.look.Style.shields() || p.look.Theme == Mono {
		label = schemes[p.look.Theme].label
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
	if p.look.Style == Flat {
		p.gradient(s)
	}
}

// corner appends a rounded corner.
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
func roundUp(v int) int { return (v + px - 1) / px * px }
