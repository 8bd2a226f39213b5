package badge

import (
	"net/url"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"github.com/fieldmark/fieldmark"
)

// ShareWidth and ShareHeight are the size of a share card, in pixels: that of large link
// previews (Open Graph, X, oEmbed).
const (
	ShareWidth  = 1200
	ShareHeight = 630
)

// The geometry of the share card. Applications cut previews to other ratios, so nothing
// is within 60 px of an edge.
// Lengths are hundredths of a pixel.
const (
	shareText = 560 * px // where the words begin
	shareEnd  = 1140 * px
	shareLine = 520 * px // of the rule above the foot
	shareFoot = 578 * px
)

var (
	shareGauge  = gauge{x: 285 * px, y: 270 * px, r: 160 * px, stroke: 38 * px, around: 100531}
	shareMark   = gauge{x: 76 * px, y: 568 * px, r: 13 * px, stroke: 6 * px, around: 8168}
	shareScore  = font{size: 92 * px, weight: bold}
	shareGrade  = font{size: 32 * px, weight: regular}
	shareState  = font{size: 40 * px, weight: bold}
	shareDetail = font{size: 28 * px, weight: regular}
	shareBrand  = font{size: 30 * px, weight: bold}
)

// shareNames are the fonts of a name with one line, two lines and three.
// A long name is broken before it is made smaller.
var shareNames = [...]font{
	{size: 72 * px, weight: bold}, {size: 52 * px, weight: bold}, {size: 40 * px, weight: bold},
}

// shareScheme holds the colours of the site's pages, from which share cards lead to one. A
// picture cannot use the custom properties of their stylesheet.
type shareScheme struct{ paper, text, soft, rule string }

var shareSchemes = map[Theme]shareScheme{
	Light: {paper: "#fcfbf8", text: "#1c1e1f", soft: "#5a5f63", rule: "#dedad0"},
	Dark:  {paper: "#0f1315", text: "#e9e7e1", soft: "#a2a8ab", rule: "#2b3236"},
}

// shareStates are the words of a share card, and of the date below them. They are in English.
var shareStates = map[State][2]string{
	Ready:       {"GEO-ready", "Audited "},
	NotYet:      {"Not GEO-ready yet", "Audited "},
	Stale:       {"Audit out of date", "Last audited "},
	Pending:     {"Not audited yet", ""},
	Unreachable: {"Site unreachable", "Last tried "},
	Unrated:     {"Too little could be measured", "Last tried "},
}

// ShareWidths are the widths a share card can be drawn with; the first is the default. The
// others are for services that bound the pictures they show (oEmbed). Few widths, because each
// is a separate PNG in the cache.
var ShareWidths = [...]int{ShareWidth, ShareWidth / 2, ShareWidth / 4}

// ShareHeightOf returns the height of a share card of a width.
func ShareHeightOf(width int) int { return (ShareHeight*width + ShareWidth - 1) / ShareWidth }

// SharePNG draws the share card of a score: name, score, grade, date and niche. A name
// with letters that have no outline is replaced by the host of the brand. The theme is
// Light or Dark, the width one of ShareWidths.
// It draws through the SVG of svgWriter, so the ring and the colors are those of badges.
func SharePNG(s *fieldmark.Score, theme Theme, width int) ([]byte, error) {
	b := Of(s)
	p := shareWriter{newSVGWriter(nil, b, Options{Theme: theme, Outline: true}, tenth)}
	p.content = contentOf(&b)
	colors, ok := shareSchemes[theme]
	if !ok {
		colors = shareSchemes[Light]
	}
	p.put(`<svg width="`, ShareWidth*px)
	p.put(`" height="`, ShareHeight*px)
	p.raw(`">`)
	p.area(0, 0, ShareWidth*px, ShareHeight*px, colors.paper)
	p.drawRing(s)
	p.words(s, colors)
	p.footer(colors)
	p.raw(`</svg>`)
	m, err := rasterise(p.dst, float64(width)/ShareWidth)
	if err != nil {
		return nil, err
	}
	return encode(paletted(m))
}

// shareWriter writes a share card.
// It uses the parts of svgWriter, with pictures of a fixed size.
type shareWriter struct{ svgWriter }

// area appends a filled rectangle.
func (p *shareWriter) area(x, y, width, height int, fill string) {
	p.put(`<rect x="`, x)
	p.put(`" y="`, y)
	p.put(`" width="`, width)
	p.put(`" height="`, height)
	p.raw(`" fill="` + fill + `"/>`)
}

// drawRing appends the ring with the score as the brand's page shows it, to one decimal,
// and the grade.
// The badge truncates to whole points; here there is room for the decimal that the page shows.
func (p *shareWriter) drawRing(s *fieldmark.Score) {
	p.ring(shareGauge)
	fill := ` fill="` + p.color() + `"`
	if p.content.score == "" {
		if p.content.mark != "" {
			p.text(shareScore, shareGauge.x, shareGauge.y+shareScore.size*36/100, middle, fill,
				part{text: p.content.mark})
		}
		return
	}
	p.text(shareScore, shareGauge.x, shareGauge.y+14*px, middle, fill, part{text: s.Score.Tenth().String()})
	if p.content.mark != "" {
		p.text(shareGrade, shareGauge.x, shareGauge.y+62*px, middle, fill, part{text: "Grade " + p.content.mark})
	}
}

// words appends the name, the state, the niche and the date.
func (p *shareWriter) words(s *fieldmark.Score, colors shareScheme) {
	soft := ` fill="` + colors.soft + `"`
	// More lines begin higher, so the block stays in the middle of the ring.
	f, lines := shareLinesOf(shareNameOf(s))
	base := 230*px - (len(lines)-1)*44*px
	for _, line := range lines {
		p.text(f, shareText, base, start, ` fill="`+colors.text+`"`, part{text: line})
		base += f.size * 6 / 5
	}
	base += 12 * px
	state := shareStates[p.badge.State]
	p.text(shareState, shareText, base, start, ` fill="`+p.color()+`"`, part{text: state[0]})
	base += 58 * px
	niche := strings.ReplaceAll(s.Niche, "-", " ")
	// A niche in letters without outlines is left out: a picture cannot fall back to fonts of
	// the reader.
	if niche != "" && canOutline(niche) {
		g, width := p.fit(shareDetail, shareEnd-shareText, part{text: niche})
		p.set(g, width, shareText, base, start, soft, part{text: niche})
		base += 42 * px
	}
	if s.AsOf != nil && state[1] != "" {
		p.text(shareDetail, shareText, base, start, soft, part{text: state[1] + s.AsOf.Std().Format("2 January 2006")})
	}
}

// footer appends the rule, the mark of the site, and what the score is about.
func (p *shareWriter) footer(colors shareScheme) {
	p.area(60*px, shareLine, ShareWidth*px-120*px, 2*px, colors.rule)
	p.content = content{color: &grades[0], fill: 75} // as in the logo
	p.ring(shareMark)
	p.text(shareBrand, 104*px, shareFoot, start, ` fill="`+colors.text+`"`, part{text: "Fieldmark"})
	p.text(shareDetail, shareEnd, shareFoot, end, ` fill="`+colors.soft+`"`,
		part{text: "Generative engine optimisation (GEO) score"})
}

// shareNameOf returns the name of a brand, or its host or slug if it cannot be drawn.
// Combining characters are composed first (NFC): outlines exist for composed letters only.
func shareNameOf(s *fieldmark.Score) string {
	if name := oneLine(norm.NFC.String(s.Name)); name != "" && canOutline(name) {
		return name
	}
	if u, err := url.Parse(s.URL); err == nil {
		if host, err := idna.Lookup.ToASCII(u.Hostname()); err == nil && host != "" {
			return host
		}
	}
	return string(s.Slug)
}

// shareLinesOf breaks a name into lines of the largest font in which it fits. A name that
// fits in none ends with an ellipsis.
// A word that is wider than a line cannot be broken, so a smaller font is tried.
func shareLinesOf(name string) (font, []string) {
	for lines, f := range shareNames {
		if broken, ok := breakLines(f, name, lines+1); ok {
			return f, broken
		}
	}
	most := len(shareNames)
	f := shareNames[most-1]
	// It ends: at the latest an ellipsis alone fits.
	for runes := []rune(name); ; runes = runes[:len(runes)-1] {
		if broken, ok := breakLines(f, strings.TrimSpace(string(runes))+"…", most); ok {
			return f, broken
		}
	}
}

// breakLines breaks a text between its words and reports whether it has at most so many
// lines, none wider than the room for it.
func breakLines(f font, text string, most int) (lines []string, ok bool) {
	const room = shareEnd - shareText
	line := ""
	for word := range strings.FieldsSeq(text) {
		longer := strings.TrimSpace(line + " " + word)
		switch {
		case f.widthOf(0, part{text: longer}) <= room:
			line = longer
		case line == "" || len(lines)+1 == most || f.widthOf(0, part{text: word}) > room:
			return nil, false
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line), true
}
