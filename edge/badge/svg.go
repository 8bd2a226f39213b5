package badge

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// AppendSVG appends the picture of b to dst. It allocates only to grow dst, and its bytes
// depend only on b and opts.
func AppendSVG(dst []byte, b Badge, opts Options) []byte {
	p := newSVGWriter(dst, b, opts, tenth)
	p.content = contentOf(&b)
	p.draw(nil)
	return p.dst
}

// AppendError appends a badge that explains an error in words. The status of e selects the
// words; its detail becomes the tooltip.
func AppendError(dst []byte, e *fieldmark.Error, opts Options) []byte {
	return appendError(dst, e, opts, tenth)
}

// Of the options only those of style are kept: an error has no label of a brand and does
// not move.
func appendError(dst []byte, e *fieldmark.Error, opts Options, precision int) []byte {
	opts = Options{Style: opts.Style, Theme: opts.Theme, Lang: opts.Lang, Outline: opts.Outline}
	p := newSVGWriter(dst, Badge{}, opts, precision)
	p.content = content{color: &grey, mark: "!", word: unavailableWord}
	switch e.Code.Status() {
	case http.StatusNotFound:
		p.content.mark, p.content.word = "?", notRatedWord
	case http.StatusBadRequest:
		p.content.word = badParameterWord
	}
	p.draw(e)
	return p.dst
}

// maxDetail bounds the words of an error in a badge, in code points: two lines
// of a tooltip.
const maxDetail = 200

// content is what a badge shows, before it is drawn.
// It depends on the badge only; words and colors follow from it.
type content struct {
	color     *gradeColor
	mark      string // inside the ring of the pill; a grade's letter, or a sign
	word      uint8  // of the state; a free label may replace readyWord
	statement statement
	fill      int    // hundredths of the ring
	score     string // whole points, or empty
	month     bool   // show the month instead of the score, and dash the ring
}

// statement is the state in words with its subject, so that the badge can be understood
// on any page.
type statement struct {
	parts [4]part
	n     int
}

// The array has room for every statement, so nothing is allocated.
func (s *statement) add(parts ...part) { s.n += copy(s.parts[s.n:], parts) }

// all returns the parts; they are valid as long as the statement.
func (s *statement) all() []part { return s.parts[:s.n] }

// contentOf turns a badge into what is drawn.
func contentOf(b *Badge) content {
	f := content{color: &grey, mark: "?", word: notRatedWord}
	switch b.State {
	case Ready, NotYet:
		points := floorPoints(b.Score)
		f.color, f.word, f.score, f.fill = colorOf(b.Grade), readyWord, numerals[points], points
		f.mark = f.color.mark()
		if b.State == NotYet {
			f.word = notYetWord
		}
	case Stale:
		// Without a month there is nothing to show in the ring.
		f.color, f.mark, f.word, f.month = &amber, colorOf(b.Grade).mark(), staleWord, b.AsOf != 0
	case Pending:
		// The start of a ring without a letter: the score is pending.
		f.mark, f.word, f.fill = "", pendingWord, 25
	case Unreachable:
		f.mark, f.word = "!", unreachableWord
	case Unrated, Unknown:
	}
	return f
}

// mark returns the letter of a grade, or an empty string.
func (k *gradeColor) mark() string {
	const letters = "ABCDE"
	if k.letter == 0 {
		return ""
	}
	return letters[k.letter-'A' : k.letter-'A'+1]
}

// numerals are the scores in digits.
// Formatting a number takes longer than copying it.
var numerals = func() (n [101]string) {
	for i := range n {
		n[i] = strconv.Itoa(i)
	}
	return n
}()

// newSVGWriter returns a writer that appends to dst. precision is what lengths are rounded to.
func newSVGWriter(dst []byte, b Badge, opts Options, precision int) svgWriter {
	p := svgWriter{buffer: buffer{dst}, badge: b, options: opts, precision: precision}
	p.lang = langOf(opts)
	p.rtl = p.lang.rtl
	if opts.Label != "" {
		p.rtl = readsLeft(opts.Label)
	}
	return p
}

// langOf returns the language of the options.
// Options of a newer node may name a language that this one does not have.
func langOf(opts Options) *language {
	if int(opts.Lang) < langCount {
		return &languages[opts.Lang]
	}
	return &languages[0]
}

// draw writes the badge, or the badge of an error.
// e is nil unless the badge explains an error.
func (p *svgWriter) draw(e *fieldmark.Error) {
	p.content.statement.set(&p.content, p.lang, &p.options)
	switch p.options.Style {
	case Compact, Flat, FlatSquare, ForTheBadge:
		p.twoPart(e)
	case Card:
		p.card(e)
	case Seal:
		p.seal(e)
	default:
		p.pill(e)
	}
	p.raw(`</svg>`)
}

// subject is what a badge is about, in every language.
const subject = "GEO"

// subjects are the scores with their subject. One part keeps its order among words read
// from the right.
var subjects = func() (n [101]string) {
	for i := range n {
		n[i] = subject + " " + numerals[i]
	}
	return n
}()

// set sets the words of pill, card and seal, which have no other text that names the
// subject. Marks and spaces are separate parts: see note.
func (s *statement) set(f *content, l *language, opts *Options) {
	word := part{word: &l.words[f.word]}
	*s = statement{}
	switch {
	case f.word == readyWord && opts.Label != "":
		s.add(part{text: opts.Label, label: true})
	case f.word == readyWord, f.word == badParameterWord: // the latter is for the author of the page
		s.add(word)
	case f.word == notYetWord && opts.Style == Pill:
		s.add(part{text: subjects[f.fill]})
		s.addMark(l.comma, separator)
		s.add(word)
	case f.word == notYetWord: // the score is beside it
		s.add(part{word: &l.words[unreadyWord]})
	default:
		s.add(part{text: subject})
		s.addMark(l.colon, part{text: ":"}, part{text: " "})
		s.add(word)
	}
}

// addMark adds a mark of the language and the space after it to the words, or the
// replacement if the mark has no outline.
func (s *statement) addMark(mark string, otherwise ...part) {
	if bare, spaced := strings.CutSuffix(mark, " "); spaced && canOutline(bare) {
		s.add(part{text: bare}, part{text: " "})
		return
	}
	s.add(otherwise...)
}

// root returns the font of elements that do not set one.
// roots is by style; a font that texts share is set once on the root, which saves bytes in each
// text.
func (p *svgWriter) root() font { return roots[min(p.options.Style, styleCount-1)] }

var roots = [styleCount]font{
	Pill:        {size: rootSize, weight: bold},
	Compact:     {size: rootSize, weight: regular},
	Card:        {size: rootSize, weight: bold},
	Seal:        {}, // one text at most, which says it itself
	Flat:        {size: rootSize, weight: regular},
	FlatSquare:  {size: rootSize, weight: regular},
	ForTheBadge: {size: 10 * px, weight: regular},
}

// open appends everything up to the picture itself. Colours are attributes, so that a proxy or
// a program which drops the style still shows a light badge. flexible adds a viewBox, with
// which a page may scale the picture.
func (p *svgWriter) open(e *fieldmark.Error, height int, fill string, flexible bool) {
	p.height = height
	p.put(`<svg xmlns="http://www.w3.org/2000/svg" width="`, p.width)
	p.put(`" height="`, height)
	if flexible {
		p.put(`" viewBox="0 0 `, p.width)
		p.put(` `, height)
	}
	if p.styled() {
		p.raw(`" class="`)
		p.class()
	}
	if p.options.Lang != 0 {
		p.raw(`" lang="`)
		p.raw(p.lang.tag)
	}
	p.raw(`" fill="`)
	p.raw(fill)
	if p.rtl {
		p.raw(`" direction="rtl`)
	}
	p.raw(fontOf[min(p.options.Style, styleCount-1)])
	// label and title are remembered, so that Renderer can cut the template there.
	p.label = len(p.dst)
	switch {
	case e == nil:
		p.dst = appendSentence(p.dst, &p.badge, p.lang)
	case p.options.Lang == 0:
		p.errorCard(e)
	default: // the text of the error is English; the title has its own lang
		for _, t := range p.content.statement.all() {
			p.raw(p.plain(t))
		}
	}
	end := len(p.dst)
	if e != nil && p.options.Lang != 0 {
		p.raw(`"><title lang="en">`)
		p.errorCard(e)
	} else {
		p.raw(`"><title>`)
		p.title = len(p.dst)
		// The title is the label again: screen readers use one, tooltips the other.
		p.dst = append(p.dst, p.dst[p.label:end]...)
	}
	p.raw(`</title>`)
	if p.styled() {
		p.style()
	}
}

// fontOf ends the root element's attributes. A seal holds no text, but for a
// free label, which brings its own.
var fontOf = [styleCount]string{
	Pill:        `" font-family="Verdana,sans-serif" font-size="11" font-weight="700" role="img" aria-label="`,
	Compact:     `" font-family="Verdana,sans-serif" font-size="11" role="img" aria-label="`,
	Card:        `" font-family="Verdana,sans-serif" font-size="11" font-weight="700" role="img" aria-label="`,
	Seal:        `" role="img" aria-label="`,
	Flat:        `" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11" role="img" aria-label="`,
	FlatSquare:  `" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11" role="img" aria-label="`,
	ForTheBadge: `" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="10" role="img" aria-label="`,
}

// errorCard appends the title and the detail of an error.
// It is text of the API and may repeat input of the client, so it is escaped and cut.
func (p *svgWriter) errorCard(e *fieldmark.Error) {
	p.dst = appendEscaped(p.dst, e.Code.Title(), maxDetail)
	if e.Detail != "" {
		p.raw(": ")
		p.dst = appendEscaped(p.dst, e.Detail, maxDetail)
	}
}
