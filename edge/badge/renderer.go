package badge

import (
	"hash/maphash"
	"sync/atomic"
)

// A Renderer caches this many templates: enough for every score of a busy month with common
// options. A full cache takes about 2 MB, or 8 MB if all templates are outlines. Outlined
// labels have a separate cache, because any client can request arbitrary labels: its
// largest templates, 45 kB each, take 12 MB.
// Templates are never freed one by one: a new one replaces the one in its place.
const (
	frameBits = 11
	drawnBits = 8
)

// fibonacci spreads keys that differ in a few bits (Knuth, 6.4).
// Without it, keys that differ in the month only would share few places.
const fibonacci = 0x9e3779b97f4a7c15

// labelSeed makes it unknown which labels share a place, so that a client cannot pick
// two that push each other out.
var labelSeed = maphash.MakeSeed()

// Renderer draws badges faster than AppendSVG, and to the same bytes: of what is
// drawn only a brand's name and a free label are not from a fixed vocabulary,
// and of a label only the width matters to the rest. So it stores the rest, or
// all of it where the letters of a label are drawn as outlines.
// The zero value is ready; it may be used by many goroutines, and must not be
// copied.
type Renderer struct {
	frames [1 << frameBits]atomic.Pointer[template]
	drawn  [1 << drawnBits]atomic.Pointer[template] // those with a label of outlines
}

// template is a badge in pieces. Between them go the name, twice, and then the
// label, as often as there are pieces left.
// It is immutable: any number of goroutines may append from it.
type template struct {
	key     uint64
	label   string // whose outlines are in the pieces
	head    string
	between string
	pieces  [maxSlots + 1]string
	holes   int
}

// AppendSVG appends the picture of b to dst, as the function of that name does.
// A race between two goroutines that draw the same template stores one of two equal ones.
func (p *Renderer) AppendSVG(dst []byte, b Badge, options Options) []byte {
	key, label := templateKey(&b, &options), ""
	spread := key * fibonacci
	// The upper bits of a product are the ones that depend on all bits of the key.
	slot := &p.frames[spread>>(64-frameBits)]
	if options.Outline && options.Label != "" {
		label = options.Label
		slot = &p.drawn[(spread^maphash.String(labelSeed, label))>>(64-drawnBits)]
	}
	f := slot.Load()
	if f == nil || f.key != key || f.label != label {
		f = newTemplate(key, b, options)
		f.label = label
		slot.Store(f)
	}
	dst = append(dst, f.head...)
	// The name is escaped once and copied for the title.
	if b.Name == "" {
		dst = append(dst, f.between...)
	} else {
		from := len(dst)
		dst = appendName(dst, b.Name, langOf(options))
		name := dst[from:]
		dst = append(dst, f.between...)
		dst = append(dst, name...)
	}
	// The label may be in the picture several times.
	for i := range f.holes {
		dst = append(dst, f.pieces[i]...)
		dst = appendEscaped(dst, options.Label, MaxLabel)
	}
	return append(dst, f.pieces[f.holes]...)
}

// templateKey packs everything about a badge but its name and the letters of its
// label. Where the sum of bits would pass 64, the key would not be one.
// The key is exact and no hash: two badges with equal keys have equal templates.
func templateKey(b *Badge, l *Options) uint64 {
	key := uint64(l.Style)                              // 3 bits
	key = key<<2 | uint64(l.Theme)                      // themes
	key = key<<5 | uint64(l.Lang)                       // languages
	key = key<<2 | flag(l.Animate)<<1 | flag(l.Outline) //
	key = key<<3 | uint64(min(b.State, 7))              // states, and values that are not one
	key = key<<7 | uint64(floorPoints(b.Score))         // 0 to 100
	key = key<<3 | uint64(colorOf(b.Grade).class&7)     // A to E, or N
	key = key<<16 | uint64(b.AsOf)
	key = key<<1 | flag(b.Claimed)
	if l.Label == "" {
		return key<<13 | 1 // no key is zero
	}
	f := labelFonts[min(l.Style, styleCount-1)]
	// The width replaces the letters of a label, because a template depends on nothing else of
	// it. Plain letters have known widths; others are measured.
	if units, ok := plainWidth(f.weight, l.Label); ok {
		return key<<13 | uint64(roundUp(units*f.size/emUnits+len(l.Label)*f.spacing)/px)<<3 | 1
	}
	return key<<13 | uint64(roundUp(f.widthOf(0, part{text: l.Label}))/px)<<3 |
		flag(readsLeft(l.Label))<<2 | flag(!canOutline(l.Label))<<1 | 1
}

// labelFonts are how a label is set, by style. Its width is less than 1024 px.
// The limit is that of the bits for the width in templateKey.
var labelFonts = [styleCount]font{
	Pill: pillFont, Card: cardFont, Seal: sealFont, Compact: shapes[Compact].label,
	Flat: shapes[Flat].label, FlatSquare: shapes[FlatSquare].label, ForTheBadge: shapes[ForTheBadge].label,
}

func flag(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// newTemplate draws a badge without a name and cuts it where names and labels go.
// It draws with an empty name and label of the right width, and notes where they would be.
func newTemplate(key uint64, b Badge, options Options) *template {
	b.Name = ""
	p := newSVGWriter(nil, b, options, tenth)
	p.content = contentOf(&b)
	p.draw(nil)
	all := string(p.dst)
	f := &template{key: key, head: all[:p.label], between: all[p.label:p.title], holes: p.slots}
	from := p.title
	for i, hole := range p.slot[:p.slots] {
		f.pieces[i] = all[from:hole[0]]
		from = hole[1]
	}
	f.pieces[p.slots] = all[from:]
	return f
}
