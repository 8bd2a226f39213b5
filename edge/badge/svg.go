package badge

import (
	"strconv"

	"github.com/fieldmark/fieldmark"
)

// AppendSVG appends the pill of b to dst. It allocates nothing but what dst
// needs to grow, and its bytes depend on b and theme alone.
func AppendSVG(dst []byte, b Badge, theme Theme) []byte {
	f := faceOf(&b)
	dst = appendHead(dst, f.ink, theme)
	from := len(dst)
	dst = appendSentence(dst, &b)
	return appendPill(dst, from, &f, theme)
}

// AppendError appends a pill that says in words why there is no badge. The
// status of e decides the words; its detail goes where a tooltip shows it.
func AppendError(dst []byte, e *fieldmark.Error, theme Theme) []byte {
	f := face{ink: &grey, mark: '!', label: "unavailable", score: noScore}
	switch status := e.Code.Status(); {
	case status == 404:
		f.mark, f.label = '?', "not rated"
	case status < 500:
		f.label = "bad parameter"
	}
	dst = appendHead(dst, f.ink, theme)
	from := len(dst)
	dst = appendEscaped(dst, e.Code.Title(), maxDetail)
	if e.Detail != "" {
		dst = append(dst, ": "...)
		dst = appendEscaped(dst, e.Detail, maxDetail)
	}
	return appendPill(dst, from, &f, theme)
}

// maxDetail bounds the words of an error in a badge, in code points: two lines
// of a tooltip.
const maxDetail = 160

// noScore stands where a face has no gauge to fill.
const noScore = -1

// face is what the pill shows, before it is drawn.
type face struct {
	ink   *ink
	mark  byte   // inside the ring; 0 for none
	label string // ends left of the score, or of the pill's curve where there is none
	fill  int    // hundredths of the ring
	score int    // whole points, or noScore
	month bool   // show the month instead of the score, and dash the ring
	badge *Badge // for the month
}

// faceOf turns a badge into what is drawn.
func faceOf(b *Badge) face {
	f := face{ink: &grey, mark: '?', label: "not rated", score: noScore}
	switch b.State {
	case Ready, NotYet:
		f.ink, f.label, f.score = inkOf(b.Grade), "GEO-ready", whole(b.Score)
		f.mark, f.fill = f.ink.letter, f.score
		if b.State == NotYet {
			f.label = "not yet"
		}
	case Stale:
		f.ink, f.mark, f.label = &amber, inkOf(b.Grade).letter, "stale"
		f.month, f.badge = !b.AsOf.IsZero(), b
	case Pending:
		// A ring begun, without a letter: something is under way.
		f.mark, f.label, f.fill = 0, "pending", 25
	case Unreachable:
		f.mark, f.label = '!', "unreachable"
	case Unrated, Unknown:
	}
	return f
}

// appendHead appends everything up to the sentence. Colours are attributes, so
// that a proxy or a program which drops the style still shows a light badge.
func appendHead(dst []byte, k *ink, theme Theme) []byte {
	dst = append(dst, `<svg xmlns="http://www.w3.org/2000/svg" width="138" height="28"`...)
	if theme == Auto {
		dst = append(dst, ` class="`...)
		dst = append(dst, k.class...)
		dst = append(dst, '"')
	}
	dst = append(dst, ` fill="`...)
	dst = append(dst, pick(theme, k.light, k.dark)...)
	return append(dst, `" font-family="Verdana,sans-serif" font-size="11" font-weight="700" role="img" aria-label="`...)
}

// pick returns the colour a theme writes into attributes.
func pick(theme Theme, light, dark string) string {
	if theme == Dark {
		return dark
	}
	return light
}

// appendPill appends the rest of the image. The sentence stands at dst[from:]
// and is copied from there into the title.
func appendPill(dst []byte, from int, f *face, theme Theme) []byte {
	to := len(dst)
	dst = append(dst, `"><title>`...)
	dst = append(dst, dst[from:to]...)
	dst = append(dst, `</title>`...)
	if theme == Auto {
		dst = appendStyle(dst, f.ink)
	}
	dst = append(dst, `<rect x=".5" y=".5" width="137" height="27" rx="14" fill="`...)
	dst = append(dst, pick(theme, lightSurface, darkSurface)...)
	dst = append(dst, `" stroke="`...)
	dst = append(dst, pick(theme, lightBorder, darkBorder)...)
	dst = append(dst, `"/>`...)
	// The label follows the surface at once: that is how the style finds it.
	dst = append(dst, `<text x="31" y="18" fill="`...)
	dst = append(dst, pick(theme, lightText, darkText)...)
	dst = append(dst, `">`...)
	dst = append(dst, f.label...)
	dst = append(dst, `</text>`...)
	dst = appendRing(dst, f, theme)
	dst = appendRight(dst, f)
	return append(dst, `</svg>`...)
}

// appendStyle appends the dark colours. Every selector begins with the class of
// the ink: nothing else on a page that inlines the badge may change.
func appendStyle(dst []byte, k *ink) []byte {
	dst = append(dst, `<style>@media(prefers-color-scheme:dark){.`...)
	dst = append(dst, k.class...)
	dst = append(dst, `{fill:`...)
	dst = append(dst, k.dark...)
	dst = append(dst, `}.`...)
	dst = append(dst, k.class...)
	dst = append(dst, ` g{stroke:`...)
	dst = append(dst, k.dark...)
	dst = append(dst, `}.`...)
	dst = append(dst, k.class...)
	dst = append(dst, ` rect{fill:`+darkSurface+`;stroke:`+darkBorder+`}.`...)
	dst = append(dst, k.class...)
	return append(dst, ` rect+text{fill:`+darkText+`}}</style>`...)
}

// ring is the gauge's circle, 16 px across, begun at twelve o'clock: a dash
// pattern on it needs no turning and no arithmetic with angles.
const ring = `<path d="M15 6a8 8 0 1 1-.1 0z"`

func appendRing(dst []byte, f *face, theme Theme) []byte {
	dst = append(dst, `<g fill="none" stroke="`...)
	dst = append(dst, pick(theme, f.ink.light, f.ink.dark)...)
	dst = append(dst, `" stroke-width="3">`...)
	if f.month {
		// Twelve dashes of 2 px: 12 × 4.189 is the way round.
		dst = append(dst, ring+` stroke-dasharray="2 2.189"/></g>`...)
	} else {
		dst = append(dst, `<circle cx="15" cy="14" r="8" opacity=".2"/>`...)
		dst = appendArc(dst, f.fill)
		dst = append(dst, `</g>`...)
	}
	if f.mark == 0 {
		return dst
	}
	// Centred by the measured width: an anchor would cost as many bytes as the
	// name of a brand, and another bold face is off by a third of a pixel.
	dst = append(dst, `<text x="`...)
	dst = appendTenths(dst, 150-markWidth(f.mark)/2)
	dst = append(dst, `" y="17.3" font-size="9">`...)
	dst = append(dst, f.mark)
	return append(dst, `</text>`...)
}

// lastRound is the fullest ring whose arc ends round: the cap reaches 1.5 px
// past the end, and from 96 on it would close the ring.
const lastRound = 95

// appendArc appends fill hundredths of the ring, to the tenth of a
// pixel. Lengths are absolute: not every renderer knows pathLength.
func appendArc(dst []byte, fill int) []byte {
	if fill <= 0 {
		return dst // a round cap would leave a dot
	}
	dst = append(dst, ring...)
	if fill < 100 {
		const circumference = 502655 // in ten-thousandths of a pixel
		tenths := (fill*circumference + 50000) / 100000
		dst = append(dst, ` stroke-dasharray="`...)
		dst = appendTenths(dst, tenths)
		dst = append(dst, ` 51"`...)
	}
	if fill <= lastRound {
		dst = append(dst, ` stroke-linecap="round"`...)
	}
	return append(dst, `/>`...)
}

func appendTenths(dst []byte, tenths int) []byte {
	dst = strconv.AppendInt(dst, int64(tenths/10), 10)
	if tenths%10 != 0 {
		dst = append(dst, '.', byte('0'+tenths%10))
	}
	return dst
}

// appendRight appends the score, or the month that took its place.
func appendRight(dst []byte, f *face) []byte {
	if f.score == noScore && !f.month {
		return dst
	}
	dst = append(dst, `<text x="126" y="18" text-anchor="end">`...)
	if f.month {
		dst = f.badge.AsOf.UTC().AppendFormat(dst, "2006-01")
	} else {
		dst = strconv.AppendInt(dst, int64(f.score), 10)
	}
	return append(dst, `</text>`...)
}
