package badge

// Size returns how large the picture of b is, in CSS pixels. Pill, card and
// seal have one size in every state; a badge of two parts is as wide as its
// words.
func Size(b Badge, opts Options) (width, height int) {
	p := newSVGWriter(make([]byte, 0, 1024), b, opts, tenth)
	p.content = contentOf(&b)
	p.draw(nil)
	return p.width / px, p.height / px
}
