package style

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// minFont is the font size in pixels up to which text cannot be read.
// Browsers draw it as a gray line.
const minFont = 2

// reason is how text is hidden: what does it, and the rule that applies.
// label and skipped separate what serves screen readers from what serves no reader.
type reason struct {
	what, source string
	label        bool // screen readers read it: what designers do with labels and logos
	skipped      bool // only screen readers do not read it
}

// because returns a reason with the source of a declaration.
func because(what string, d declared) reason { return reason{what: what, source: d.source} }

// short formats a number with at most three digits after the point.
func short(n float64) string { return strconv.FormatFloat(math.Round(n*1000)/1000, 'f', -1, 64) }

// maxSource limits the length of a selector that is quoted.
const maxSource = 80

// String returns the reason as evidence quotes it.
func (r reason) String() string {
	if r.source == "" {
		return r.what
	}
	source := []rune(r.source)
	if len(source) > maxSource {
		source = append(source[:maxSource], '…')
	}
	return r.what + " (" + string(source) + ")"
}

// paint is a color with the rule that set it. A color is known only if no style sheet that
// was not read can have changed it.
type paint struct {
	color
	source string
}

// state is the computed style of an element in one environment, as far as its text and its
// descendants need it.
// It is copied for every element, so it holds what is inherited and nothing else.
type state struct {
	hidden    reason // with all descendants, whatever their style is
	invisible reason // by visibility, which a descendant can undo
	small     reason // by its font size
	indented  reason
	skipped   reason // by aria-hidden: readers see it

	font       float64
	opacity    float64
	text       paint
	fill       paint // -webkit-text-fill-color; not known unless it is set
	background paint
	vars       *scope
}

// rootState returns the state around the root element. External is true if the document
// has style sheets that were not read; canvas is what is behind it.
func rootState(external bool, canvas paint) state {
	s := state{font: defaultFont, opacity: 1, background: canvas}
	if !external {
		s.text = paint{color: black, source: "default color"}
	}
	return s
}

// reason returns how the text of an element is hidden, an empty reason if it is not.
// The strongest comes first, since evidence quotes one.
func (s *state) reason() reason {
	for _, r := range []reason{s.hidden, s.invisible, s.small, s.indented} {
		if r.what != "" {
			return r
		}
	}
	if r := s.faint(); r.what != "" {
		return r
	}
	return s.skipped
}

// faint returns how the color of text hides it.
// Both colors have to be known: a guess would accuse a page of what its other files undo.
func (s *state) faint() reason {
	text := s.text
	if s.fill.known {
		text = s.fill
	}
	if !text.known {
		return reason{}
	}
	text.a *= s.opacity
	if text.a <= minAlpha {
		return reason{what: "in transparent text", source: text.source}
	}
	if !s.background.known {
		return reason{}
	}
	shown := text.over(s.background.color)
	if contrast(shown, s.background.color) >= minContrast {
		return reason{}
	}
	return reason{what: fmt.Sprintf("in %s text on a %s background", text.color.opaque(), s.background.color),
		source: text.source}
}

// opaque returns the color without its opacity.
func (c color) opaque() color {
	c.a = 1
	return c
}

// computer computes states in one environment.
type computer struct {
	environment
	external bool
	rem      float64 // the font size of the root element
}

// compute returns the state of an element from that of its parent and the values declared.
// An element that is hidden needs no more: its descendants are hidden with it.
func (c *computer) compute(parent *state, e *element, v *values, vars *scope) state {
	s := *parent
	s.vars = vars
	c.inherit(&s, e)
	c.setFont(&s, parent, v)
	c.setColors(&s, parent, e, v)
	if s.hidden.what != "" {
		return s
	}
	root := e.node.Data == "html" || e.node.Data == "body"
	switch v[visibility].value {
	case "hidden", "collapse":
		s.invisible = because("in an element with visibility:"+v[visibility].value, v[visibility])
	case "visible", "initial":
		s.invisible = reason{}
	}
	if root {
		s.invisible, s.small = reason{}, reason{} // a page that hides itself is shown by a script
	}
	c.setBox(&s, parent, v, root)
	return s
}

// inherit removes what a style sheet that was not read can have changed.
// An element without id and class can be changed by such a sheet as well, by its type. That is rare
// for colors, and the price of knowing anything at all.
func (c *computer) inherit(s *state, e *element) {
	if c.external && (e.id != "" || len(e.classes) > 0) {
		s.text, s.fill, s.background = paint{}, paint{}, paint{}
		s.small, s.indented, s.invisible = reason{}, reason{}, reason{}
	}
	switch e.node.Data {
	case "a":
		if hasAttr(e.node, "href") {
			s.text = paint{} // links have a color of their own
		}
	case "button", "input", "select", "textarea", "mark", "dialog", "option", "fieldset":
		s.text, s.background = paint{}, paint{}
	}
}

// setFont computes the size of text.
func (c *computer) setFont(s, parent *state, v *values) {
	value := v[fontSize].value
	switch value {
	case "", "inherit", "unset", "revert", "revert-layer":
		return
	case "initial":
		s.font = defaultFont
	case "smaller", "larger":
		s.font = parent.font * map[string]float64{"smaller": 5. / 6, "larger": 1.2}[value]
	default:
		px, ok := resolveLength(value, lengths{parent.font, c.rem, parent.font, c.width, c.height})
		if px, ok = keywordOr(value, px, ok); !ok {
			px = defaultFont
		}
		s.font = max(px, 0)
	}
	s.small = reason{}
	if s.font <= minFont {
		s.small = because("in text of font-size "+short(s.font)+"px", v[fontSize])
	}
}

// keywordOr returns the size that a keyword names, or px.
func keywordOr(value string, px float64, ok bool) (float64, bool) {
	if size, found := fontKeywords[value]; found {
		return size, true
	}
	return px, ok
}

// setColors computes the color of text and what is behind it.
func (c *computer) setColors(s, parent *state, e *element, v *values) {
	s.text = paintOf(v, textColor, s.text, parent.text)
	s.fill = paintOf(v, fillColor, s.fill, parent.fill)
	if v[fillColor].value == "currentcolor" {
		s.fill = paint{}
	}
	if pos := v[position].value; pos != "" && pos != "static" {
		s.background = paint{} // the box may be over anything
	}
	below := s.background
	d := v[backgroundColor]
	switch own := parseColor(d.value); {
	case d.value == "" || isInheritance(d.value) || own.known && own.a == 0:
	case d.value == "currentcolor":
		s.background = s.text
	case own.known && own.a == 1:
		s.background = paint{own, d.source}
	default:
		s.background = paint{own.over(below.color), d.source}
	}
	if image := v[backgroundImage].value; image != "" && image != "none" && !isInheritance(image) {
		s.background = paint{}
	}
	if shadow := v[textShadow].value; shadow != "" && shadow != "none" || v[backgroundClip].value == "text" {
		s.text, s.fill = paint{}, paint{} // what is seen is not the color
	}
}

// isInheritance reports whether a value says where to take the value from.
func isInheritance(value string) bool {
	switch value {
	case "inherit", "initial", "unset", "revert", "revert-layer":
		return true
	}
	return false
}

// paintOf returns the value of an inherited color: as declared, from the parent, or own.
func paintOf(v *values, p property, own, parent paint) paint {
	switch d := v[p]; d.value {
	case "", "unset", "revert", "revert-layer":
		return own
	case "inherit", "currentcolor":
		return parent
	case "initial":
		return paint{}
	default:
		return paint{parseColor(d.value), d.source}
	}
}

// setBox computes what hides an element with its descendants. The box of the root elements
// does not count: a page that hides itself is shown by a script.
// Opacity multiplies along the ancestors, unlike the other properties.
func (c *computer) setBox(s, parent *state, v *values, root bool) {
	if root {
		return
	}
	if v[display].value == "none" {
		s.hidden = because("in an element with display:none", v[display])
		return
	}
	g := geometry{v, lengths{em: s.font, rem: c.rem, width: c.width, height: c.height}}
	c.setIndent(s, v, g)
	if moves := v[transition].value; c.state && moves != "" && moves != "none" {
		s.invisible = reason{}
		return // the element has another state, which a script or a pointer selects
	}
	own := 1.0
	if n, ok := resolveNumber(v[opacity].value); ok {
		own = max(0, min(1, n))
	}
	for name, args := range functions(v[filter].value) {
		if name == "opacity" && len(args) == 1 {
			if n, ok := resolveNumber(args[0]); ok {
				own *= max(0, min(1, n))
			}
		}
	}
	if s.opacity = parent.opacity * own; s.opacity <= minAlpha {
		d := v[opacity]
		if d.value == "" {
			d = v[filter]
		}
		s.hidden = because("in an element with opacity:"+short(s.opacity), d)
		return
	}
	s.hidden = g.hides()
}

// setIndent computes the indentation of the first line, which moves all of a short text off
// the screen.
// It was the usual way to replace a heading by an image, so it marks a label.
func (c *computer) setIndent(s *state, v *values, g geometry) {
	value, _, _ := strings.Cut(v[textIndent].value, " ")
	switch value {
	case "", "inherit", "unset", "revert", "revert-layer":
		return
	}
	s.indented = reason{}
	px, ok := resolveLength(value, g.lengths)
	whole := (value == "100%" || ok && px >= offScreen) && v[overflow].value == "hidden" &&
		v[whiteSpace].value == "nowrap"
	if ok && px <= -offScreen || whole {
		s.indented = because("in text indented by "+value, v[textIndent])
		s.indented.label = true
	}
}
