package badge

import "sync/atomic"

// frameSlots bounds how many frames a Painter remembers: enough for every score
// of a busy month in the common looks, and about 2 MB when all are full.
const (
	frameBits  = 11
	frameSlots = 1 << frameBits
)

// fibonacci spreads keys that differ in a few bits (Knuth, 6.4).
const fibonacci = 0x9e3779b97f4a7c15

// Painter draws badges faster than AppendSVG, and to the same bytes: of what is
// drawn only a brand's name and a free label are not from a fixed vocabulary,
// so it remembers the rest. The zero value is ready; it may be used by many
// goroutines, and must not be copied.
type Painter struct {
	frames [frameSlots]atomic.Pointer[frame]
}

// frame is a badge without its name, which stands between its pieces.
type frame struct {
	key        uint64
	head, tail string // before the first name, after the second
	between    string // between them
}

// AppendSVG appends the picture of b to dst, as the function of that name does.
func (p *Painter) AppendSVG(dst []byte, b Badge, look Look) []byte {
	if look.Label != "" {
		return AppendSVG(dst, b, look)
	}
	key := frameKey(&b, look)
	slot := &p.frames[key*fibonacci>>(64-frameBits)]
	f := slot.Load()
	if f == nil || f.key != key {
		f = newFrame(key, b, look)
		slot.Store(f)
	}
	dst = append(dst, f.head...)
	if b.Name == "" {
		return append(append(dst, f.between...), f.tail...)
	}
	from := len(dst)
	dst = appendEscaped(dst, b.Name, maxName)
	dst = append(dst, ": "...)
	name := dst[from:]
	dst = append(dst, f.between...)
	return append(append(dst, name...), f.tail...)
}

// frameKey packs everything about a badge but its name.
func frameKey(b *Badge, l Look) uint64 {
	key := uint64(1) // no key is zero
	add := func(v uint64, bits uint) { key = key<<bits | v }
	add(uint64(l.Style), 3)
	add(uint64(l.Theme), 2)
	add(uint64(l.Lang), 8)
	add(flag(l.Animate)<<1|flag(l.Outline), 2)
	add(uint64(b.State), 8)
	add(uint64(whole(b.Score)), 7)
	add(uint64(inkOf(b.Grade).class), 7)
	add(uint64(b.AsOf), 16)
	return key
}

func flag(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// newFrame draws a badge without a name and cuts it where names go.
func newFrame(key uint64, b Badge, look Look) *frame {
	b.Name = ""
	p := newPen(nil, b, look, tenth)
	p.face = faceOf(&b)
	p.draw(nil)
	all := string(p.dst)
	return &frame{key: key, head: all[:p.label], between: all[p.label:p.title], tail: all[p.title:]}
}
