package badge

import "github.com/fieldmark/fieldmark"

// The geometry of the pill.
// Lengths are hundredths of a pixel.
const (
	pillText  = 31 * px // where the words begin
	pillEnd   = 12 * px // from the number to the end
	pillGap   = 4 * px  // between words and number, at least
	pillCurve = 10 * px // from words alone to the end: the curve takes less than it seems
	pillBase  = 18 * px
)

var (
	pillGauge = gauge{x: 15 * px, y: 14 * px, r: 8 * px, stroke: 3 * px, around: 5027}
	pillMark  = font{size: 9 * px, weight: bold}
	pillFont  = font{size: rootSize, weight: bold}
	pillMonth = font{size: rootSize, weight: regular}
)

// pill draws the default style: the ring, the words, and the number at the end.
func (p *svgWriter) pill(e *fieldmark.Error) {
	p.width = p.pillWidth()
	c := &schemes[p.options.Theme]
	p.open(e, Height*px, p.color(), false)
	p.put(`<rect x=".5" y=".5" width="`, p.width-px)
	p.raw(`" height="27" rx="14" fill="`)
	p.raw(c.surface)
	p.raw(`" stroke="`)
	p.raw(c.border)
	p.raw(`"/>`)
	// The words follow the surface at once: that is how the style finds them.
	number, f, g := p.content.pillNumber(), pillFont, pillFont
	if number.month {
		g = pillMonth
	}
	// What is too wide is made smaller together, so words and number keep their proportion.
	room, digits := p.width-pillText-pillCurve, 0
	if number != (part{}) {
		room, digits = p.width-pillText-pillGap-pillEnd, p.textWidth(g, number)
	}
	words := p.textWidth(f, p.content.statement.all()...)
	if all := words + digits; all > room {
		words, digits = words*room/all, digits*room/all
		f.size, g.size = f.size*room/all, g.size*room/all
	}
	p.set(f, words, pillText, pillBase, start, c.textFill, p.content.statement.all()...)
	p.ring(pillGauge)
	if p.content.mark != "" {
		p.text(pillMark, pillGauge.x, 1730, middle, "", part{text: p.content.mark})
	}
	if number != (part{}) {
		p.set(g, digits, p.width-pillEnd, pillBase, end, "", number)
	}
	pillGauge.tick(p)
}

// pillNumber returns what is at the end of the pill: the score of a ready brand, or the
// month of an outdated audit. The score of a brand that is not ready is among the words,
// because "not yet 45" reads as a score that has not reached 45.
func (f *content) pillNumber() part {
	switch {
	case f.month:
		return part{month: true}
	case f.word == readyWord:
		return part{text: f.score}
	}
	return part{}
}

// pillWidth returns the same width for every state, so that a badge does not change its
// size. The exception is an error in the parameters, which the owner of the page sees and
// fixes first.
func (p *svgWriter) pillWidth() int {
	width := pillWidths[int(p.options.Lang)%langCount]
	if p.options.Label != "" {
		width = max(width, pillWith(pillFont.widthOf(0, part{text: p.options.Label}), widestScore))
	}
	if p.content.word == badParameterWord {
		width = max(width, pillWith(pillFont.widthOf(0, p.content.statement.all()...), 0))
	}
	return width
}

// widestScore and widestMonth are the widths of what may be at the end.
// usualScore is that of a brand which is not GEO-ready: with 100 points, which
// such a brand rarely has, the words beside it are set smaller.
var (
	widestScore = pillFont.widthOf(0, part{text: "100"})
	usualScore  = pillFont.widthOf(0, part{text: "99"})
	widestMonth = pillFont.widthOf(0, part{month: true})
)

// unreadyPercent is the smallest size of the words of "not yet" relative to those of
// "ready". It keeps the English pill, which most pages show, at Width.
const unreadyPercent = 96

// pillWith returns the width of a pill of words and a number, in whole pixels.
func pillWith(words, number int) int {
	words = roundUp(words)
	if number > 0 {
		return pillText + words + pillGap + roundUp(number) + pillEnd
	}
	return pillText + words + pillCurve
}

// pillWidths are the widths of the pill in each language: those of the bare words. With
// their subject, words are set smaller where they need it, at 75 % in the worst case.
var pillWidths = widest(Width*px, func(w *[wordCount]word) int {
	width := 0
	for i := range wordCount {
		words := pillFont.widthOf(0, part{word: &w[i]})
		switch i {
		case readyWord:
			width = max(width, pillWith(words, widestScore))
		case unreadyWord:
			width = max(width, roundUp(pillText+words*unreadyPercent/100+pillGap+usualScore+pillEnd))
		case staleWord:
			width = max(width, pillWith(words, widestMonth))
		case pendingWord, unreachableWord, notRatedWord, unavailableWord:
			width = max(width, pillWith(words, 0))
		}
	}
	return width
})

// widest measures a style in each language, at least as wide as it ought to be.
func widest(least int, measure func(*[wordCount]word) int) (widths [langCount]int) {
	for i := range languages {
		widths[i] = max(least, measure(&languages[i].words))
	}
	return widths
}
