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

// lastRound is the fullest ring whose arc ends round: the cap reaches half the
// stroke past the end, and from 96 on it would close the ring.
const lastRound = 95

// arc appends the filled part of the ring. Lengths are absolute, because not every renderer
// supports pathLength.
func (p *svgWriter) arc(g gauge) {
	fill := p.face.fill
	if fill <= 0 {
		return // a round cap would draw a dot
	}
	p.circle(g)
	if fill < 100 || p.animates() {
		p.put(` stroke-dasharray="`, (fill*g.around/100+tenth/2)/tenth*tenth)
		p.put(` `, (g.around/px+1)*px)
		p.raw(`"`)
	}
	if fill <= lastRound {
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
