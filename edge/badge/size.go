package badge

// Size returns how large the picture of b is, in CSS pixels. Pill, card and
// seal have one size in every state; a badge of two parts is as wide as its
// words.
func Size(b Badge, look Look) (width, height int) {
	p := newPen(make([]byte, 0, 1024), b, look, tenth)
	p.face = faceOf(&b)
	p.draw(nil)
	return p.width / px, p.height / px
}
