package style

import (
	"slices"
	"strings"
)

// property is a property on which it depends whether text can be read.
type property int

const (
	noProperty property = iota
	customProperty
	display
	visibility
	opacity
	fontSize
	textColor
	fillColor
	backgroundColor
	backgroundImage
	backgroundClip
	clip
	clipPath
	width
	height
	maxWidth
	maxHeight
	overflow
	textIndent
	position
	left
	right
	top
	bottom
	marginLeft
	marginTop
	paddingTop
	paddingBottom
	paddingLeft
	transform
	translate
	scale
	filter
	textShadow
	whiteSpace
	zoom
	contentVisibility
	animation
	transition
	content
	numProperties
)

// properties maps names to the properties that they set. The shorthands that set parts of
// their value are in parseDeclaration.
// Logical properties are those of text from left to right: direction changes where a box is moved
// to, not whether it can be seen.
var properties = map[string][]property{
	"display": {display}, "visibility": {visibility}, "opacity": {opacity}, "font-size": {fontSize}, "font": {fontSize},
	"color": {textColor}, "-webkit-text-fill-color": {fillColor}, "background-color": {backgroundColor},
	"background-image": {backgroundImage}, "background": {backgroundColor, backgroundImage, backgroundClip},
	"background-clip": {backgroundClip}, "-webkit-background-clip": {backgroundClip}, "clip": {clip},
	"clip-path": {clipPath}, "-webkit-clip-path": {clipPath}, "width": {width}, "height": {height},
	"inline-size": {width}, "block-size": {height}, "max-width": {maxWidth}, "max-height": {maxHeight},
	"overflow": {overflow}, "overflow-x": {overflow}, "overflow-y": {overflow}, "text-indent": {textIndent},
	"position": {position}, "left": {left}, "right": {right}, "top": {top}, "bottom": {bottom},
	"inset-inline-start": {left}, "inset-block-start": {top}, "inset": {top, right, bottom, left},
	"margin-left": {marginLeft}, "margin-top": {marginTop}, "margin": {marginTop, noProperty, noProperty, marginLeft},
	"padding-top": {paddingTop}, "padding-bottom": {paddingBottom},
	"padding-left": {paddingLeft}, "padding": {paddingTop, noProperty, paddingBottom, paddingLeft},
	"transform": {transform}, "-webkit-transform": {transform}, "translate": {translate}, "scale": {scale},
	"filter": {filter}, "text-shadow": {textShadow}, "white-space": {whiteSpace},
	"zoom": {zoom}, "content-visibility": {contentVisibility}, "animation": {animation},
	"-webkit-animation": {animation}, "animation-name": {animation}, "transition": {transition},
	"transition-property": {transition}, "-webkit-transition": {transition}, "content": {content},
}

// keywords lists the values of properties that have no others, so that a value that browsers
// do not know leaves the one before it.
var keywords = map[property][]string{
	display: strings.Fields("none block inline inline-block flex inline-flex grid inline-grid flow-root contents " +
		"list-item table inline-table table-row table-cell table-caption table-column table-row-group " +
		"table-header-group table-footer-group table-column-group -webkit-box -webkit-inline-box -webkit-flex ruby"),
	visibility: {"visible", "hidden", "collapse"},
	position:   {"static", "relative", "absolute", "fixed", "sticky", "-webkit-sticky"},
}

// inheritance are the values that every property has.
var inheritance = []string{"inherit", "initial", "unset", "revert", "revert-layer"}

// parseDeclaration parses a declaration and returns the properties that it sets, none if
// it is not valid or has no effect on reading.
// Values of content keep their case, as they are text.
func parseDeclaration(s string) []declaration {
	name, value, ok := strings.Cut(s, ":")
	if name = strings.TrimSpace(name); !ok || len(value) > maxValue {
		return nil
	}
	d := declaration{value: strings.TrimSpace(value)}
	// CSS Syntax allows spaces and any case in "! important".
	if rest, word, ok := cutLast(d.value, "!"); ok && strings.EqualFold(strings.TrimSpace(word), "important") {
		d.value, d.important = strings.TrimSpace(rest), true
	}
	// Names of custom properties differ in case in CSS; they are compared in lower case here,
	// which errs only for pages that use both.
	if strings.HasPrefix(name, "--") {
		d.property, d.name = customProperty, strings.ToLower(name)
		return []declaration{d}
	}
	name = strings.ToLower(unescape(name))
	sets := properties[name]
	if sets == nil || d.value == "" {
		return nil
	}
	// A keyword may have escapes and capitals, by which a page could hide it from a reader of
	// the source.
	if sets[0] != content {
		d.value = strings.ToLower(unescape(d.value))
	}
	switch {
	case name == "background":
		return d.background()
	case len(sets) == 4:
		return d.sides(sets)
	case name == "font":
		d.value = sizeOfFont(d.value)
	}
	d.property = sets[0]
	if !d.valid() {
		return nil
	}
	return []declaration{d}
}

// cutLast cuts around the last separator.
func cutLast(s, separator string) (before, after string, ok bool) {
	at := strings.LastIndex(s, separator)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(separator):], true
}

// hasVariable reports whether a value depends on custom properties.
func hasVariable(value string) bool { return strings.Contains(value, "var(") }

// valid reports whether browsers accept a value, as far as it matters here.
// An invalid declaration must not replace a valid one before it: pages write new values after old
// ones for older browsers.
func (d declaration) valid() bool {
	if hasVariable(d.value) || slices.Contains(inheritance, d.value) {
		return true
	}
	switch d.property {
	case display, visibility, position:
		return slices.Contains(keywords[d.property], d.value)
	case opacity:
		_, ok := resolveNumber(d.value)
		return ok
	case textColor, fillColor, backgroundColor:
		c := parseColor(d.value)
		return c.known || strings.Contains(d.value, "(") || d.value == "currentcolor"
	case fontSize, textIndent, width, height, left, right, top, bottom:
		first, _, _ := strings.Cut(d.value, " ")
		_, ok := resolveLength(first, lengths{em: 1, rem: 1, whole: 1})
		return ok || isWord(first) || strings.Contains(first, "(")
	}
	return true
}

// isWord reports whether a value is a keyword.
func isWord(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") == ""
}

// background expands the shorthand: color, image and clip.
// Only the last layer can have a color.
func (d declaration) background() []declaration {
	color, image, clip := "transparent", "none", "border-box"
	switch {
	case slices.Contains(inheritance, d.value):
		color, image = d.value, d.value
	case hasVariable(d.value) && len(splitAt(d.value, ' ')) == 1:
		color = d.value
	default:
		layers := splitList(d.value)
		for _, part := range splitAt(layers[len(layers)-1], ' ') {
			switch {
			case parseColor(part).known, hasVariable(part), isColorFunction(part):
				color = part
			case part == "text":
				clip = part
			}
		}
		if isImage(d.value) {
			image = "url"
		}
	}
	set := func(p property, value string) declaration {
		d.property, d.value = p, value
		return d
	}
	return []declaration{set(backgroundColor, color), set(backgroundImage, image), set(backgroundClip, clip)}
}

// isImage reports whether a background has an image.
// Any image makes the background unknown; its pixels are not read.
func isImage(value string) bool {
	for _, f := range []string{"url", "gradient(", "image(", "image-set(", "element(", "paint("} {
		if strings.Contains(value, f) {
			return true
		}
	}
	return false
}

// sides expands a shorthand of the four sides of a box.
func (d declaration) sides(sets []property) (list []declaration) {
	values := splitAt(d.value, ' ')
	if len(values) == 0 || len(values) > 4 {
		return nil
	}
	from := [][4]int{{0, 0, 0, 0}, {0, 1, 0, 1}, {0, 1, 2, 1}, {0, 1, 2, 3}}[len(values)-1]
	for side, p := range sets {
		if p != noProperty {
			d.property, d.value = p, values[from[side]]
			list = append(list, d)
		}
	}
	return list
}

// sizeOfFont returns the size in the shorthand font, "medium" for a system font.
// The size is the only length before the family, apart from the weight, which has no unit.
func sizeOfFont(value string) string {
	if hasVariable(value) || slices.Contains(inheritance, value) {
		return value
	}
	for _, part := range splitAt(value, ' ') {
		size, _, _ := strings.Cut(part, "/")
		if _, ok := fontKeywords[size]; ok {
			return size
		}
		if _, ok := resolveLength(size, lengths{em: 1, rem: 1, whole: 1}); ok && !isNumber(size) {
			return size
		}
	}
	return "medium"
}

// isNumber reports whether a value is a number other than 0, such as the weight of a font.
func isNumber(s string) bool { return s != "0" && strings.Trim(s, "0123456789.") == "" }

// unescape replaces the escapes of CSS Syntax, section 4.3.7.
// Escapes in selectors and values are a way to hide them from searches.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			i++
			continue
		}
		r, size := escaped(s[i:])
		b.WriteString(r)
		i += size
	}
	return b.String()
}

// escaped returns the character of the escape at the start of s and its length.
func escaped(s string) (char string, size int) {
	n, size := rune(0), 1
	for size < len(s) && size <= 6 {
		digit := strings.IndexByte("0123456789abcdef", s[size]|0x20)
		if s[size] < '0' || digit < 0 {
			break
		}
		n = n<<4 | rune(digit)
		size++
	}
	switch {
	case size == 1 && len(s) > 1 && (s[1] == '\n' || s[1] == '\r' || s[1] == '\f'):
		return "", 2
	case size == 1 && len(s) > 1:
		return s[1:2], 2 // the rest of a longer character follows
	case size == 1:
		return "", 1
	}
	if size < len(s) && (s[size] == ' ' || s[size] == '\n' || s[size] == '\t') {
		size++
	}
	if n == 0 || n > 0x10FFFF {
		n = '\uFFFD'
	}
	return string(n), size
}
