package style

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"golang.org/x/image/colornames"
)

// minContrast is the contrast below which text cannot be seen. WCAG 2.2, success criterion
// 1.4.3, requires 4.5; light gray (#eee) on white, which is still seen, has 1.16.
const minContrast = 1.1

// minAlpha is the opacity up to which text cannot be seen: black on white with 5 % has a
// contrast of 1.12.
const minAlpha = 0.05

// color is a color in sRGB. Values are 0 to 1.
// known distinguishes black from a color that could not be determined: unknown colors hide nothing.
type color struct {
	r, g, b, a float64
	known      bool
}

var (
	white       = color{1, 1, 1, 1, true}
	black       = color{0, 0, 0, 1, true}
	transparent = color{0, 0, 0, 0, true}
)

// parseColor parses a color of CSS Color Module Level 4 in sRGB. Other color spaces, and
// the colors of the system, are not known.
// Colors outside of sRGB are left out: what a display shows for them depends on it.
func parseColor(s string) color {
	switch {
	case s == "transparent":
		return transparent
	case s == "rebeccapurple": // after Level 3, which the table follows
		return parseHex("639")
	case strings.HasPrefix(s, "#"):
		return parseHex(s[1:])
	case isColorFunction(s):
		return parseColorFunction(s)
	}
	if c, ok := colornames.Map[s]; ok {
		return color{float64(c.R) / 255, float64(c.G) / 255, float64(c.B) / 255, 1, true}
	}
	return color{}
}

// parseHex parses the digits of #rgb, #rgba, #rrggbb and #rrggbbaa.
// Old attributes omit the number sign, so it is not part of s.
func parseHex(s string) color {
	if len(s) == 3 || len(s) == 4 {
		var b strings.Builder
		for i := range len(s) {
			b.WriteByte(s[i])
			b.WriteByte(s[i])
		}
		s = b.String()
	}
	if len(s) == 6 {
		s += "ff"
	}
	n, err := strconv.ParseUint(s, 16, 32)
	if len(s) != 8 || err != nil {
		return color{}
	}
	part := func(shift int) float64 { return float64(n>>shift&0xFF) / 255 }
	return color{part(24), part(16), part(8), part(0), true}
}

// isColorFunction reports whether a value is a color as a function that is known.
func isColorFunction(s string) bool {
	return strings.HasPrefix(s, "rgb(") || strings.HasPrefix(s, "rgba(") || strings.HasPrefix(s, "hsl(") ||
		strings.HasPrefix(s, "hsla(") || strings.HasPrefix(s, "oklab(") || strings.HasPrefix(s, "oklch(")
}

// parseColorFunction parses rgb() and hsl(), in the notations with commas and with spaces.
// The separators are interchangeable here. Browsers are stricter, but a mistake can only make a
// color known that a browser ignores.
func parseColorFunction(s string) color {
	name, args, _ := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	parts := strings.Fields(strings.NewReplacer(",", " ", "/", " ").Replace(args))
	if len(parts) != 3 && len(parts) != 4 {
		return color{}
	}
	if strings.HasPrefix(name, "ok") {
		return parseOklab(name, parts)
	}
	n := [4]float64{3: 1}
	for i, part := range parts {
		whole := 255.
		if i == 3 || name[0] == 'h' {
			whole = 1
		}
		v, ok := resolveLength(strings.TrimSuffix(part, "deg"), lengths{whole: whole})
		if part == "none" {
			v, ok = 0, true
		}
		if !ok {
			return color{}
		}
		n[i] = v
	}
	c := color{n[0] / 255, n[1] / 255, n[2] / 255, n[3], true}
	if name[0] == 'h' {
		c = fromHSL(n[0], n[1], n[2], n[3])
	}
	return c.clamped()
}

// clamped limits the values of a color to those that exist.
func (c color) clamped() color {
	for _, v := range []*float64{&c.r, &c.g, &c.b, &c.a} {
		*v = max(0, min(1, *v))
	}
	return c
}

// parseOklab parses oklab() and oklch() with the matrices of CSS Color, section 17.
// Style sheets of recent frameworks use these spaces for all of their grays.
func parseOklab(name string, parts []string) color {
	n := [4]float64{3: 1}
	for i, part := range parts {
		whole := 0.4
		if i == 0 || i == 3 {
			whole = 1
		}
		v, ok := resolveLength(strings.TrimSuffix(part, "deg"), lengths{whole: whole})
		if !ok && part != "none" {
			return color{}
		}
		n[i] = v
	}
	if name == "oklch" {
		sin, cos := math.Sincos(n[2] * math.Pi / 180)
		n[1], n[2] = n[1]*cos, n[1]*sin
	}
	cube := func(a, b float64) float64 { return math.Pow(n[0]+a*n[1]+b*n[2], 3) }
	l, m, s := cube(0.3963377774, 0.2158037573), cube(-0.1055613458, -0.0638541728), cube(-0.0894841775, -1.2914855480)
	gamma := func(v float64) float64 {
		if v <= 0.0031308 {
			return 12.92 * v
		}
		return 1.055*math.Pow(v, 1/2.4) - 0.055
	}
	return color{gamma(4.0767416621*l - 3.3077115913*m + 0.2309699292*s),
		gamma(-1.2684380046*l + 2.6097574011*m - 0.3413193965*s),
		gamma(-0.0041960863*l - 0.7034186147*m + 1.7076147010*s), n[3], true}.clamped()
}

// fromHSL converts by the algorithm of CSS Color, section 7.1.
func fromHSL(hue, saturation, lightness, alpha float64) color {
	part := func(n float64) float64 {
		k := math.Mod(n+hue/30, 12)
		if k < 0 {
			k += 12
		}
		return lightness - saturation*min(lightness, 1-lightness)*max(-1, min(k-3, 9-k, 1))
	}
	return color{part(0), part(8), part(4), alpha, true}
}

// over returns the color that c shows on an opaque background.
// The mix is in gamma-encoded values, as browsers do it.
func (c color) over(background color) color {
	mix := func(top, below float64) float64 { return top*c.a + below*(1-c.a) }
	return color{mix(c.r, background.r), mix(c.g, background.g), mix(c.b, background.b), 1,
		c.known && background.known}
}

// contrast returns the contrast of two opaque colors, 1 to 21, as WCAG 2.2 defines it.
func contrast(a, b color) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance returns the relative luminance of WCAG 2.2.
func (c color) luminance() float64 {
	linear := func(v float64) float64 {
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.r) + 0.7152*linear(c.g) + 0.0722*linear(c.b)
}

// String returns the digits of a color, or its name if it is black or white.
// Evidence says "white", which is what readers of it search for.
func (c color) String() string {
	part := func(v float64) int { return int(math.Round(v * 255)) }
	switch digits := fmt.Sprintf("#%02x%02x%02x", part(c.r), part(c.g), part(c.b)); digits {
	case "#ffffff":
		return "white"
	case "#000000":
		return "black"
	default:
		return digits
	}
}
