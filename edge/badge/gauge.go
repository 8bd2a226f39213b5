package badge

// gauge is a ring that shows the score.
// Lengths are hundredths of a pixel.
type gauge struct {
	x, y, r, stroke int
	around          int // its length, 2πr
}

// ring appends the gauge: its track, and its arc, begun at twelve o'clock, so
// that a dash pattern needs no turning and no arithmetic with angles.
func (p *svgWriter) ring(g gauge) {
	p.raw(`<g fill="none" stroke="`)
	p.raw(p.color())
	p.put(`" stroke-width="`, g.stroke)
	p.raw(`">`)
	if p.content.month {
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
	fill := p.content.fill
	if fill <= 0 {
		return // a round cap would draw a dot
	}
	// Rounded to a tenth of a pixel, which is what the numbers of the picture have.
	length := (fill*g.around/100 + tenth/2) / tenth * tenth
	if fill < 100 {
		length = min(length, g.around-minGap)
	}
	p.circle(g)
	if fill < 100 || p.animates() {
		p.put(` stroke-dasharray="`, length)
		// The gap is longer than the ring, so a second dash never begins.
		p.put(` `, (g.around/px+1)*px)
		p.raw(`"`)
	}
	if g.around-length >= g.stroke+minGap { // a round end reaches half the stroke into the gap
		p.raw(` stroke-linecap="round"`)
	}
	p.raw(`/>`)
}

// circle appends the start of a path for a full circle from twelve o'clock.
// It ends a tenth of a pixel beside its start: an arc to its own start is not drawn.
func (p *svgWriter) circle(g gauge) {
	p.put(`<path d="M`, p.mirror(g.x))
	p.put(` `, g.y-g.r)
	p.put(`a`, g.r)
	p.put(` `, g.r)
	p.raw(` 0 1 1-.1 0z"`)
}

// tickShape is a tick in a circle of radius 100, as points from its centre.
var tickShape = [...][2]int{{-52, 4}, {-38, -10}, {-15, 13}, {36, -38}, {50, -24}, {-15, 41}}

// tick appends the sign of a claimed brand: a tick in a disc on the ring, between the right
// and the foot, where no text is.
func (g gauge) tick(p *svgWriter) {
	if !p.badge.Claimed {
		return
	}
	// sin 45°.
	const diagonal = 707 // thousandths of a radius
	x, y, r := g.x+(g.r+px)*diagonal/1000, g.y+(g.r+px)*diagonal/1000, g.r/6+240
	surface := schemes[p.options.Theme].surface
	p.put(`<circle cx="`, p.mirror(x))
	p.put(`" cy="`, y)
	p.put(`" r="`, r)
	p.raw(`" stroke="`)
	p.raw(surface)
	p.raw(`"/>`)
	p.raw(`<path fill="`)
	p.raw(surface)
	tickPath(p, p.mirror(x), y, r)
}

// tickPath appends the end of a path for a tick within a circle. It is not mirrored: ticks are not in languages
// read from the right either.
func tickPath(p *svgWriter, x, y, r int) {
	p.raw(`" d="M`)
	for i, point := range tickShape {
		if i > 0 {
			p.raw(` `)
		}
		p.num(x + point[0]*r/100)
		p.put(` `, y+point[1]*r/100)
	}
	p.raw(`z"/>`)
}
