package style

import (
	"math"
	"strconv"
	"strings"
)

// defaultFont is the font size of browsers in pixels.
const defaultFont = 16

// lengths is what relative lengths refer to, in pixels.
// The auditor computes no layout, so a length that depends on one is unknown.
type lengths struct {
	em, rem       float64
	whole         float64 // 100 %; 0 if it is not known
	width, height float64 // of the window
}

// units maps the units of lengths to pixels; those that depend on lengths are in resolve.
var units = map[string]float64{"px": 1, "pt": 4. / 3, "pc": 16, "in": 96, "cm": 96 / 2.54, "mm": 96 / 25.4,
	"q": 96 / 101.6}

// resolveLength returns a length in pixels. ok is false for what is no length, or one that
// depends on the layout.
// Infinity and NaN come from divisions, and would make every comparison false.
func resolveLength(value string, l lengths) (px float64, ok bool) {
	c := calculator{rest: value, lengths: l}
	px, ok = c.sum(0)
	return px, ok && strings.TrimSpace(c.rest) == "" && !math.IsNaN(px) && !math.IsInf(px, 0)
}

// resolveNumber returns a number or a percentage as a fraction.
// Lengths in em have no meaning there, so they become NaN.
func resolveNumber(value string) (n float64, ok bool) {
	return resolveLength(value, lengths{whole: 1, em: math.NaN(), rem: math.NaN()})
}

// calculator evaluates lengths and the mathematical functions of CSS Values and Units.
type calculator struct {
	rest string
	lengths
}

// maxDepth limits nested functions of one value.
// Real style sheets nest two or three.
const maxDepth = 8

// sum evaluates terms joined by + and -, which have spaces around them.
// Without the spaces a sign belongs to the number after it.
func (c *calculator) sum(depth int) (n float64, ok bool) {
	if n, ok = c.product(depth); !ok {
		return 0, false
	}
	for {
		var sign float64
		switch {
		case strings.HasPrefix(c.rest, " + "):
			sign = 1
		case strings.HasPrefix(c.rest, " - "):
			sign = -1
		default:
			return n, true
		}
		c.rest = c.rest[3:]
		term, ok := c.product(depth)
		if !ok {
			return 0, false
		}
		n += sign * term
	}
}

// product evaluates factors joined by * and /.
// Dividing by zero gives infinity, which resolveLength refuses.
func (c *calculator) product(depth int) (n float64, ok bool) {
	if n, ok = c.term(depth); !ok {
		return 0, false
	}
	for {
		rest := strings.TrimLeft(c.rest, " ")
		if rest == "" || rest[0] != '*' && rest[0] != '/' {
			return n, true
		}
		c.rest = strings.TrimLeft(rest[1:], " ")
		factor, ok := c.term(depth)
		if !ok {
			return 0, false
		}
		if rest[0] == '*' {
			n *= factor
		} else {
			n /= factor
		}
	}
}

// term evaluates a number with a unit, or a function.
// A number without a unit is accepted as pixels, which browsers do in quirks mode.
func (c *calculator) term(depth int) (n float64, ok bool) {
	c.rest = strings.TrimLeft(c.rest, " ")
	for _, name := range []string{"calc(", "-webkit-calc(", "min(", "max(", "clamp(", "("} {
		if rest, found := strings.CutPrefix(c.rest, name); found {
			c.rest = rest
			return c.function(name, depth+1)
		}
	}
	end := 0
	for end < len(c.rest) && (c.rest[end] >= '0' && c.rest[end] <= '9' || c.rest[end] == '.' ||
		end == 0 && (c.rest[0] == '-' || c.rest[0] == '+')) {
		end++
	}
	end += exponent(c.rest[end:])
	n, err := strconv.ParseFloat(c.rest[:end], 64)
	if err != nil {
		return 0, false
	}
	unit := end
	for unit < len(c.rest) && (c.rest[unit] >= 'a' && c.rest[unit] <= 'z' || c.rest[unit] == '%') {
		unit++
	}
	name := c.rest[end:unit]
	c.rest = c.rest[unit:]
	return c.scaled(n, name)
}

// exponent returns the length of the exponent at the start of s: that of 1e-9, not that of 1em.
func exponent(s string) int {
	if s == "" || s[0] != 'e' {
		return 0
	}
	end := 1
	if end < len(s) && (s[end] == '-' || s[end] == '+') {
		end++
	}
	digits := end
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	if end == digits {
		return 0
	}
	return end
}

// scaled returns a number with a unit in pixels.
// ex and ch depend on the font and are half of em in most.
func (c *calculator) scaled(n float64, unit string) (px float64, ok bool) {
	if px, ok = units[unit]; ok {
		return n * px, true
	}
	switch unit {
	case "":
		return n, true
	case "em":
		return n * c.em, true
	case "ex", "ch":
		return n * c.em / 2, true
	case "rem":
		return n * c.rem, true
	case "vw", "dvw", "svw", "lvw", "vi":
		return n * c.width / 100, true
	case "vh", "dvh", "svh", "lvh", "vb":
		return n * c.height / 100, true
	case "vmin":
		return n * min(c.width, c.height) / 100, true
	case "vmax":
		return n * max(c.width, c.height) / 100, true
	case "%":
		return n * c.whole / 100, c.whole > 0 || n == 0
	}
	return 0, false
}

// function evaluates the arguments of a function and what it makes of them.
func (c *calculator) function(name string, depth int) (n float64, ok bool) {
	var args []float64
	for depth <= maxDepth {
		n, ok = c.sum(depth)
		if !ok {
			return 0, false
		}
		args = append(args, n)
		c.rest = strings.TrimLeft(c.rest, " ")
		if rest, more := strings.CutPrefix(c.rest, ","); more {
			c.rest = rest
			continue
		}
		rest, closed := strings.CutPrefix(c.rest, ")")
		c.rest = rest
		if !closed {
			return 0, false
		}
		return evaluate(name, args)
	}
	return 0, false
}

// evaluate applies a function.
func evaluate(name string, args []float64) (n float64, ok bool) {
	n = args[0]
	for _, a := range args[1:] {
		switch name {
		case "min(":
			n = min(n, a)
		case "max(":
			n = max(n, a)
		}
	}
	switch {
	case name == "clamp(" && len(args) == 3:
		return max(args[0], min(args[1], args[2])), true
	case name == "min(" || name == "max(":
		return n, true
	}
	return n, len(args) == 1
}

// fontKeywords are the sizes of fonts by name, in pixels.
var fontKeywords = map[string]float64{"xx-small": 9, "x-small": 10, "small": 13, "medium": 16, "large": 18,
	"x-large": 24, "xx-large": 32, "xxx-large": 48}
