package style

import (
	"math"
	"strings"
)

// offScreen is how far a box is moved off the screen, in pixels: wider than windows were
// when the technique spread, and farther than any layout moves text that can be read.
const offScreen = 999

// farRight is how far to the right or below text is off the screen: the slides of a carousel
// are side by side, a few thousand pixels.
const farRight = 9_999

// minScale is the scale up to which text of the default size is smaller than minFont.
const minScale = 0.1

// maxHiddenBox is the size of a box in pixels that shows no text: screen-reader-only text
// has 1 pixel, which some screen readers need.
const maxHiddenBox = 1

// geometry finds out whether the box of an element shows nothing.
// It does no layout. It decides what a declaration alone decides, and nothing that depends on other
// boxes.
type geometry struct {
	v       *values
	lengths lengths
}

// length returns the value of a property in pixels.
func (g geometry) length(p property) (px float64, ok bool) {
	if g.v[p].value == "" {
		return 0, false
	}
	return resolveLength(g.v[p].value, g.lengths)
}

// hides returns how the box is hidden, an empty reason if it is not.
func (g geometry) hides() reason {
	for _, check := range []func() reason{g.movedAway, g.transformed, g.clipped, g.tiny} {
		if r := check(); r.what != "" {
			return r
		}
	}
	return reason{}
}

// because returns a reason with the declaration of a property.
func (g geometry) because(what, name string, p property) reason {
	return reason{what: what + name + ":" + g.v[p].value, source: g.v[p].source, label: true}
}

// offset returns an offset in pixels. It is relative to the window, unless a positioned
// ancestor is smaller.
// A smaller ancestor makes the true offset smaller; offScreen is far enough for that not to matter.
func (g geometry) offset(p property) (px float64, ok bool) {
	g.lengths.whole = g.lengths.width
	if p == top || p == bottom {
		g.lengths.whole = g.lengths.height
	}
	return g.length(p)
}

// movedAway checks the position and the margins.
// Left and top may also push to the far right and below; right and bottom only pull back.
func (g geometry) movedAway() reason {
	const what = "in an element moved off the screen by "
	offsets := []struct {
		p    property
		name string
	}{{left, "left"}, {top, "top"}, {right, "right"}, {bottom, "bottom"}, {marginLeft, "margin-left"},
		{marginTop, "margin-top"}}
	pos := g.v[position].value
	for i, o := range offsets {
		if i < 4 && (pos == "" || pos == "static") {
			continue
		}
		if px, ok := g.offset(o.p); ok && (px <= -offScreen || px >= farRight && (o.p == left || o.p == top)) {
			if pad, _ := g.length(paddingLeft); o.p == marginLeft && pad >= offScreen {
				continue // a background as wide as the window
			}
			return g.because(what, o.name, o.p)
		}
	}
	return reason{}
}

// transformed checks the transformations.
// Rotations other than by a quarter and three-dimensional matrices are taken as visible.
func (g geometry) transformed() reason {
	const what = "in an element with "
	first, _, _ := strings.Cut(g.v[scale].value, " ")
	if n, ok := resolveNumber(first); ok && math.Abs(n) <= minScale {
		return g.because(what, "scale", scale)
	}
	if n, ok := resolveNumber(g.v[zoom].value); ok && n <= minScale {
		return g.because(what, "zoom", zoom)
	}
	if g.v[contentVisibility].value == "hidden" {
		return g.because(what, "content-visibility", contentVisibility)
	}
	g.lengths.whole = minBox
	for _, part := range strings.Fields(g.v[translate].value) {
		if px, ok := resolveLength(part, g.lengths); ok && px <= -offScreen {
			return g.because("in an element moved off the screen by ", "translate", translate)
		}
	}
	for name, args := range functions(g.v[transform].value) {
		for i, arg := range args {
			n, ok := resolveLength(arg, g.lengths)
			switch {
			case (name == "rotatex" || name == "rotatey") && (arg == "90deg" || arg == "-90deg"):
				return g.because(what, "transform", transform)
			case !ok:
			case strings.HasPrefix(name, "scale") && math.Abs(n) <= minScale && name != "scalez" && i < 2:
				return g.because(what, "transform", transform)
			case name == "matrix" && n == 0 && i == 0 && len(args) == 6 && args[1] == "0":
				return g.because(what, "transform", transform)
			case strings.HasPrefix(name, "translate") && n <= -offScreen && name != "translatez" && i < 2:
				return g.because("in an element moved off the screen by ", "transform", transform)
			}
		}
	}
	return reason{}
}

// minBox is the size in pixels that a box with text has at least, for percentages of it.
const minBox = 100

// functions iterates over the functions of a value with their arguments.
func functions(value string) func(yield func(name string, args []string) bool) {
	return func(yield func(string, []string) bool) {
		for {
			name, _, ok := strings.Cut(value, "(")
			if !ok {
				return
			}
			p := selectorParser{rest: value[len(name):]}
			inner, ok := p.enclosed('(', ')')
			if !ok {
				return
			}
			args := splitList(inner)
			if len(args) == 1 {
				args = splitAt(inner, ' ')
			}
			if !yield(strings.TrimSpace(name), args) {
				return
			}
			value = p.rest
		}
	}
}

// clipped checks clip, which needs a positioned box, and clip-path.
// clip is obsolete and still what most screen-reader-only classes use.
func (g geometry) clipped() reason {
	pos := g.v[position].value
	if pos == "absolute" || pos == "fixed" {
		for name, args := range functions(g.v[clip].value) {
			if n := g.numbers(args); name == "rect" && len(n) == 4 &&
				(n[2]-n[0] <= maxHiddenBox || n[1]-n[3] <= maxHiddenBox) {
				return g.because("in an element with ", "clip", clip)
			}
		}
	}
	for name, args := range functions(g.v[clipPath].value) {
		if g.leavesNothing(name, args) {
			return g.because("in an element with ", "clip-path", clipPath)
		}
	}
	return reason{}
}

// leavesNothing reports whether a shape of clip-path is empty.
// Insets in pixels are not judged: whether they leave something depends on the size of the box.
func (g geometry) leavesNothing(name string, args []string) bool {
	g.lengths.whole = 100 // lengths in percent; others are taken as if the box had 100 pixels
	switch name {
	case "circle", "ellipse":
		n := g.numbers(args[:min(len(args), 1)])
		return len(n) == 1 && n[0] == 0
	case "inset":
		for i, arg := range args {
			if arg == "round" {
				args = args[:i]
				break
			}
		}
		n := g.numbers(args)
		if len(n) == 0 || len(n) > 4 {
			return false
		}
		from := [][4]int{{0, 0, 0, 0}, {0, 1, 0, 1}, {0, 1, 2, 1}, {0, 1, 2, 3}}[len(n)-1]
		onlyPercent := strings.Count(strings.Join(args, ""), "%") == len(args)
		return onlyPercent && (n[from[0]]+n[from[2]] >= 100 || n[from[1]]+n[from[3]] >= 100)
	case "polygon":
		return g.area(args) == 0
	}
	return false
}

// area returns twice the area of a polygon, and NaN if it is not known.
// It is the shoelace formula; crossing edges may cancel out, which no real page uses.
func (g geometry) area(points []string) (sum float64) {
	var list [][]float64
	for _, point := range points {
		n := g.numbers(strings.Fields(point))
		if len(n) != 2 {
			return math.NaN()
		}
		list = append(list, n)
	}
	for i, a := range list {
		b := list[(i+1)%len(list)]
		sum += a[0]*b[1] - b[0]*a[1]
	}
	return math.Abs(sum)
}

// numbers resolves lengths, none if one of them is not known.
func (g geometry) numbers(args []string) (list []float64) {
	for _, arg := range args {
		n, ok := resolveLength(arg, g.lengths)
		if !ok {
			return nil
		}
		list = append(list, n)
	}
	return list
}

// tiny checks the size of a box that hides what does not fit.
// Without overflow the text is drawn outside of its box.
func (g geometry) tiny() reason {
	switch g.v[overflow].value {
	case "", "visible":
		return reason{}
	}
	above, _ := g.length(paddingTop)
	below, _ := g.length(paddingBottom)
	sizes := []struct {
		p    property
		name string
		pad  float64
	}{{width, "width", 0}, {maxWidth, "max-width", 0}, {height, "height", above + below},
		{maxHeight, "max-height", above + below}}
	for _, s := range sizes {
		// The padding of a box shows what is positioned in it, such as a video.
		if px, ok := g.length(s.p); ok && px <= maxHiddenBox && s.pad <= maxHiddenBox &&
			!(s.pad == 0 && g.unknownPadding() && (s.p == height || s.p == maxHeight)) {
			r := g.because("in an element with ", s.name, s.p)
			r.what += " and overflow:" + g.v[overflow].value
			return r
		}
	}
	return reason{}
}

// unknownPadding reports whether there is padding of a size that depends on the layout.
// Boxes with a ratio of their sides have a height of 0 and a padding in percent.
func (g geometry) unknownPadding() bool {
	for _, p := range []property{paddingTop, paddingBottom} {
		if _, ok := g.length(p); g.v[p].value != "" && !ok {
			return true
		}
	}
	return false
}
