package badge

// gauge is a ring that shows the score.
type gauge struct {
	x, y, r, stroke int
	around          int // its length, 2πr
}

// ring appends the gauge: its track, and its arc, begun at twelve o'clock, so
// that a dash pattern needs no turning and no arithmetic with angles.
func (p *svgWriter) ring(g gauge) {
	p.raw(`<g fill="none" stroke="`)
	p.raw(p.ink())
	p.put(`" stroke-width="`, g.stroke)
	p.raw(`">`)
	if p.face.month {
		// Twelve dashes, as wide as the gaps between them.
		p.circle(g)
		p.put(` stroke-dasharray="`, g.around/24)
		p.put(` `, g.around/12-g.around/24)
		p.raw(`"/></g>`)
		return
	}
	p.put(`<circle cx="`, p.mirror(g.x))
	p.put(`" cy="`, g.y)
	p.put(`" r="`, g.r)
	p.raw(`" opacity=".2"/>`)
	p.arc(g)
	p.raw(`</g>`)
}

// minGap is the smallest gap of a ring that is not full. A narrower one is not seen on
// a screen with one pixel to a CSS pixel, and the ring of 99 would look like that of 100.
const minGap = 120

// arc appends the filled part of the ring. Lengths are absolute, because not every renderer
// supports pathLength.
func (p *svgWriter) arc(g gauge) {
	fill := p.face.fill
	if fill <= 0 {
		return // a round cap would draw a dot
	}
	length := (fill*g.around/100 + tenth/2) / tenth * tenth
	if fill < 100 {
		length = min(length, g.around-minGap)
	}
	p.circle(g)
	if fill < 100 || p.animates() {
		p.put(` stroke-dasharray="`, length)
		p.put(` `, (g.around/px+1)*px)
		p.raw(`"`)
	}
	if g.around-length >= g.stroke+minGap { // a round end reaches half the stroke into the gap
		p.raw(` stroke-linecap="round"`)
	}
	p.raw(`/>`)
}

// circle appends the start of a path for a full circle from twelve o'clock.
func (p *svgWriter) circle(g gauge) {
	p.put(`<path d="M`, p.mirror(g.x))
	p.put(` `, g.y-g.r)
	p.put(`a`, g.r)
	p.put(` `, g.r)
	p.raw(` 0 1 1-.1 0z"`)
}
