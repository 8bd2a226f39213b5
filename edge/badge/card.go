package badge

import "github.com/fieldmark/fieldmark"

// The geometry of the card and the seal.
// Lengths are hundredths of a CSS pixel, as in svgWriter.
const (
	cardHeight = 56 * px
	cardWidth  = 200 * px // at least
	cardText   = 60 * px
	cardEnd    = 16 * px
	sealSize   = 96 * px
	sealText   = 84 * px // the widest its words may be
)

var (
	// around is 2πr as a constant: the output must not depend on floating-point rounding.
	cardGauge = gauge{x: 31 * px, y: 28 * px, r: 17 * px, stroke: 4 * px, around: 10681}
	cardFont  = font{size: 13 * px, weight: bold}
	cardMark  = font{size: 14 * px, weight: bold}
	cardNote  = font{size: 10 * px, weight: regular}
	sealGauge = gauge{x: 48 * px, y: 36 * px, r: 23 * px, stroke: 5 * px, around: 14451}
	sealFont  = font{size: 11 * px, weight: bold}
	sealMark  = font{size: 24 * px, weight: bold}
	sealNote  = font{size: 9 * px, weight: regular}
)

// hasNote reports whether a card or a seal has a second line.
func (p *svgWriter) hasNote() bool {
	if p.options.Style == Seal {
		return true
	}
	return p.badge.AsOf != 0 || p.content.score != "" && p.content.mark != ""
}

// card draws the style Card: the ring with the score on the left, the words and the note on the
// right.
func (p *svgWriter) card(e *fieldmark.Error) {
	p.width = p.cardWidth()
	p.openCard(e, cardHeight, `10`)
	c := &schemes[p.options.Theme]
	base := 3260
	if p.hasNote() {
		base = 2550
	}
	// Long words get a smaller font instead of a wider card.
	f, width := p.fit(cardFont, p.width-cardText-cardEnd, p.content.statement.all()...)
	p.set(f, width, cardText, base, start, c.textFill, p.content.statement.all()...)
	if p.hasNote() {
		p.note()
	}
	p.ring(cardGauge)
	mark := p.content.mark
	if p.content.score != "" {
		mark = p.content.score
	}
	if mark != "" {
		f := cardMark
		if len(mark) > 2 {
			f.size = 12 * px
		}
		// 36 hundredths of the size below the middle centre a capital letter: dominant-baseline
		// is not supported everywhere.
		p.text(f, cardGauge.x, cardGauge.y+f.size*36/100, middle, "", part{text: mark})
	}
	cardGauge.tick(p)
}

// openCard appends the head and the surface of a card or a seal.
// The rectangle is half a pixel inside, so its border of one pixel is sharp.
func (p *svgWriter) openCard(e *fieldmark.Error, height int, radius string) {
	c := &schemes[p.options.Theme]
	p.open(e, height, p.color(), true)
	p.put(`<rect x=".5" y=".5" width="`, p.width-px)
	p.put(`" height="`, height-px)
	p.raw(`" rx="`)
	p.raw(radius)
	p.raw(`" fill="`)
	p.raw(c.surface)
	p.raw(`" stroke="`)
	p.raw(c.border)
	p.raw(`"/>`)
}

// note appends the second line of a card: the grade and the month of verification. A space
// is a separate part, or its part has one at both ends: outlines reorder the parts of
// right-to-left text, but not the characters inside a part.
func (p *svgWriter) note() {
	var parts [7]part
	n := 0
	add := func(t part) { parts[n] = t; n++ }
	if grade := colorOf(p.badge.Grade).mark(); grade != "" && (p.content.score != "" || p.content.month) {
		add(part{word: &p.lang.words[gradeWord]})
		add(part{text: " "})
		add(part{text: grade})
		if p.badge.AsOf != 0 {
			add(separator)
		}
	}
	if p.badge.AsOf != 0 {
		if p.content.score != "" {
			add(part{word: &p.lang.words[verifiedWord]})
			add(part{text: " "})
		}
		add(part{month: true})
	}
	p.text(cardNote, cardText, 4100, start, schemes[p.options.Theme].mutedFill, parts[:n]...)
}

// outOf are the scores as a fraction. Without spaces it keeps its order among
// words read from the right.
var outOf = func() (n [101]string) {
	for i := range n {
		n[i] = numerals[i] + "/100"
	}
	return n
}()

// cardWidth returns the width of a card. It is the same for every state, as that of pillWidth:
// the page that embeds the card reserves the space once.
func (p *svgWriter) cardWidth() int {
	width := cardWidths[int(p.options.Lang)%langCount]
	if p.options.Label != "" {
		width = max(width, cardWith(cardFont.widthOf(0, part{text: p.options.Label})))
	}
	// The words about a wrong parameter are longer than all others and only the author of the
	// page sees them.
	if p.content.word == badParameterWord {
		width = max(width, cardWith(cardFont.widthOf(0, p.content.statement.all()...)))
	}
	return width
}

// cardWith returns the width of a card with words of a width.
func cardWith(words int) int { return cardText + roundUp(words) + cardEnd }

// Computed once at start for every language.
var cardWidths = widest(cardWidth, func(w *[wordCount]word) int {
	width := cardWith(cardNote.widthOf(0, part{word: &w[gradeWord]}, part{text: " A"}, separator,
		part{word: &w[verifiedWord]}, part{text: " "}, part{month: true}))
	for i := range wordCount {
		switch i {
		case readyWord, unreadyWord, staleWord, pendingWord, unreachableWord, notRatedWord, unavailableWord:
			width = max(width, cardWith(cardFont.widthOf(0, part{word: &w[i]})))
		}
	}
	return width
})

// seal draws the style Seal: a square with the grade in the ring, and two lines below it.
func (p *svgWriter) seal(e *fieldmark.Error) {
	p.width = sealSize
	p.openCard(e, sealSize, `16`)
	c := &schemes[p.options.Theme]
	// The number or, without one, the state is in the second line, below its subject.
	texts, note := p.content.statement.all(), part{text: outOf[p.content.fill]}
	switch {
	case p.content.month:
		note = part{month: true}
	case p.content.score == "":
		texts, note = []part{{text: subject}}, part{word: &p.lang.words[p.content.word]}
	}
	f, width := p.fit(sealFont, sealText, texts...)
	p.set(f, width, sealSize/2, 7650, middle, c.textFill, texts...)
	f, width = p.fit(sealNote, sealText, note)
	p.set(f, width, sealSize/2, 8800, middle, c.mutedFill, note)
	p.ring(sealGauge)
	if p.content.mark != "" {
		p.text(sealMark, sealGauge.x, sealGauge.y+sealMark.size*365/1000, middle, "", part{text: p.content.mark})
	}
	sealGauge.tick(p)
}
