package badge

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/image/vector"

	"github.com/fieldmark/fieldmark"
)

// MaxScale is the largest enlargement of a PNG: the densest common screens.
// A larger one would let a request cost more than the picture is worth.
const MaxScale = 3

// PNG draws b as a PNG of scale pixels to one of the SVG's. It draws the very
// SVG, with its text as outlines, so that the two cannot differ. The options must
// be Drawable. Automatic colours are the light ones.
// It takes milliseconds, unlike AppendSVG: callers limit how many they draw at once.
func PNG(b Badge, opts Options, scale int) ([]byte, error) {
	p := newSVGWriter(nil, b, opts.withoutAnimation(), finest)
	p.content = contentOf(&b)
	p.draw(nil)
	return picture(p.dst, scale)
}

// ErrorPNG draws what AppendError appends.
func ErrorPNG(e *fieldmark.Error, opts Options, scale int) ([]byte, error) {
	return picture(appendError(nil, e, opts.withoutAnimation(), finest), scale)
}

// withoutAnimation returns the options as a picture of pixels can have it.
// Pixels cannot follow the color scheme of a reader, so the light theme is the one for both.
func (l Options) withoutAnimation() Options {
	l.Outline, l.Animate = true, false
	if l.Theme == Auto {
		l.Theme = Light
	}
	return l
}

// picture draws one of our own SVGs as a PNG.
// scale is clamped: it may come from a query.
func picture(svg []byte, scale int) ([]byte, error) {
	m, err := rasterise(svg, float64(min(max(scale, 1), MaxScale)))
	if err != nil {
		return nil, err
	}
	return encode(m)
}

// encode returns a PNG.
func encode(m image.Image) ([]byte, error) {
	var out bytes.Buffer
	if err := png.Encode(&out, m); err != nil {
		return nil, fmt.Errorf("encode the badge: %w", err)
	}
	return out.Bytes(), nil
}

// rasterise draws one of our own SVGs: rect, circle and path, in groups. It supports what
// svgWriter writes and nothing else.
func rasterise(svg []byte, scale float64) (*image.RGBA, error) {
	c := canvas{scale: scale}
	styles := []paint{{opacity: 1}}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the badge: %w", err)
		}
		switch el := token.(type) {
		case xml.StartElement:
			// A style is inherited by the children, as in SVG.
			style := styles[len(styles)-1].with(el.Attr)
			styles = append(styles, style)
			c.element(el, style)
		case xml.EndElement:
			styles = styles[:len(styles)-1]
		}
	}
	return c.image, nil
}

// paletteError is how far a color may be from the one that replaces it, as the sum of the
// differences of its channels: less than the eye sees at the edge of a letter.
const paletteError = 12

// paletted returns an opaque picture with at most 256 colors: one byte per pixel instead of
// three, and runs that compress. The most frequent colors are exact.
func paletted(m *image.RGBA) *image.Paletted {
	at := func(i int) color.RGBA { return color.RGBA{m.Pix[i], m.Pix[i+1], m.Pix[i+2], m.Pix[i+3]} }
	counts := map[color.RGBA]int{}
	for i := 0; i < len(m.Pix); {
		from, c := i, at(i) // a run of one color takes one lookup in the map
		for i < len(m.Pix) && at(i) == c {
			i += 4
		}
		counts[c] += i - from
	}
	// Sorted by count, then by value, so the same picture always has the same bytes.
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(u24(a), u24(b)))
	})
	var palette color.Palette
	index := map[color.RGBA]uint8{}
	for _, c := range colors {
		nearest, best := 0, math.MaxInt
		for i, p := range palette {
			if d := distance(c, p.(color.RGBA)); d < best {
				nearest, best = i, d
			}
		}
		// A color that is near one of the palette is replaced even if there is room: runs
		// become longer.
		if best > paletteError && len(palette) < 256 {
			nearest = len(palette)
			palette = append(palette, c)
		}
		index[c] = uint8(nearest)
	}
	out := image.NewPaletted(m.Bounds(), palette)
	for i := 0; i < len(m.Pix); {
		c := at(i)
		for n := index[c]; i < len(m.Pix) && at(i) == c; i += 4 {
			out.Pix[i/4] = n
		}
	}
	return out
}

// u24 returns a color as a number, to sort by.
func u24(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }

// distance returns the sum of the differences of the channels.
func distance(a, b color.RGBA) int {
	diff := func(a, b uint8) int { return int(max(a, b) - min(a, b)) }
	return diff(a.R, b.R) + diff(a.G, b.G) + diff(a.B, b.B)
}

// paint is how an element is painted; children inherit it.
type paint struct {
	fill, stroke string
	width        float64
	opacity      float64
	dash         [2]float64
	round        bool
}

// with returns the style of an element within this one. Opacities multiply.
func (s paint) with(attrs []xml.Attr) paint {
	for _, a := range attrs {
		switch a.Name.Local {
		case "fill":
			s.fill = a.Value
		case "stroke":
			s.stroke = a.Value
		case "stroke-width":
			s.width = number(a.Value)
		case "opacity":
			s.opacity *= number(a.Value)
		case "stroke-linecap":
			s.round = a.Value == "round"
		case "stroke-dasharray":
			on, off, _ := strings.Cut(a.Value, " ")
			s.dash = [2]float64{number(on), number(off)}
		}
	}
	return s
}

// number parses a number that this package has written.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return v
}

// canvas is the image and how it is reached.
type canvas struct {
	image *image.RGBA
	scale float64
	fill  vector.Rasterizer

	shapes [][]point // to be painted together
}

// It is in units of the picture; canvas scales it.
type point struct{ x, y float64 }

// element draws one element. Groups have only a style.
func (c *canvas) element(el xml.StartElement, s paint) {
	get := func(name string) float64 {
		for _, a := range el.Attr {
			if a.Name.Local == name {
				return number(a.Value)
			}
		}
		return 0
	}
	switch el.Name.Local {
	case "svg":
		c.image = image.NewRGBA(image.Rect(0, 0, int(math.Ceil(get("width")*c.scale)),
			int(math.Ceil(get("height")*c.scale))))
	case "rect":
		outline := [][]point{rounded(get("x"), get("y"), get("width"), get("height"), get("rx"), c.scale)}
		c.paint(outline, s)
	case "circle":
		c.paint([][]point{arc(nil, point{get("cx"), get("cy")}, get("r"), -math.Pi/2, 2*math.Pi, c.scale)}, s)
	case "path":
		for _, a := range el.Attr {
			if a.Name.Local == "d" {
				c.paint(flatten(a.Value, c.scale), s)
			}
		}
	}
}

// paint fills and strokes contours.
func (c *canvas) paint(contours [][]point, s paint) {
	if s.fill != "" && s.fill != "none" {
		c.begin()
		for _, contour := range contours {
			c.polygon(contour)
		}
		c.end(s.fill, s.opacity)
	}
	if s.stroke == "" || s.stroke == "none" {
		return
	}
	// SVG: a stroke without stroke-width has the width 1.
	if s.width == 0 {
		s.width = 1
	}
	c.begin()
	for _, contour := range contours {
		c.stroke(contour, s)
	}
	c.end(s.stroke, s.opacity)
}

func (c *canvas) begin() { c.shapes = c.shapes[:0] }

func (c *canvas) polygon(contour []point) { c.shapes = append(c.shapes, contour) }

// end paints what was collected since begin, in no more than the part of the
// image it covers.
// Painting together means that overlapping dashes of one stroke do not add up their opacity.
func (c *canvas) end(hex string, opacity float64) {
	box := c.bounds()
	if box.Empty() {
		return
	}
	// The rasterizer is reused: its buffer grows to the largest shape.
	c.fill.Reset(box.Dx(), box.Dy())
	for _, contour := range c.shapes {
		for i, p := range contour {
			x, y := float32(p.x*c.scale-float64(box.Min.X)), float32(p.y*c.scale-float64(box.Min.Y))
			if i == 0 {
				c.fill.MoveTo(x, y)
			} else {
				c.fill.LineTo(x, y)
			}
		}
		// Contours are closed to be filled, as SVG does.
		c.fill.ClosePath()
	}
	r, g, b := rgb(hex)
	c.fill.Draw(c.image, box, image.NewUniform(color.NRGBA{r, g, b, uint8(math.Round(255 * opacity))}), image.Point{})
}

// bounds returns the pixels the collected contours may touch.
// A shape outside of the image has none.
func (c *canvas) bounds() image.Rectangle {
	if len(c.shapes) == 0 {
		return image.Rectangle{}
	}
	lo := point{math.Inf(1), math.Inf(1)}
	hi := point{math.Inf(-1), math.Inf(-1)}
	for _, contour := range c.shapes {
		for _, p := range contour {
			lo = point{min(lo.x, p.x), min(lo.y, p.y)}
			hi = point{max(hi.x, p.x), max(hi.y, p.y)}
		}
	}
	box := image.Rect(int(math.Floor(lo.x*c.scale)), int(math.Floor(lo.y*c.scale)), int(math.Ceil(hi.x*c.scale)),
		int(math.Ceil(hi.y*c.scale)))
	return box.Intersect(c.image.Bounds())
}

// rgb parses a color that this package has written: three or six digits.
func rgb(hex string) (r, g, b uint8) {
	hex = strings.TrimPrefix(hex, "#")
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		return 0, 0, 0
	}
	if len(hex) == 3 {
		return uint8(n>>8&15) * 17, uint8(n>>4&15) * 17, uint8(n&15) * 17
	}
	return uint8(n >> 16), uint8(n >> 8), uint8(n)
}

// stroke adds the outline of a closed line, or of its dashes, and a disc where
// a dash ends round.
// The line is closed: all strokes of badges are rings and borders.
func (c *canvas) stroke(contour []point, s paint) {
	contour = distinct(contour)
	// A last point that repeats the first would be a side without length.
	if near(contour[0], contour[len(contour)-1]) {
		contour = contour[:len(contour)-1]
	}
	half := s.width / 2
	if s.dash[0] == 0 {
		c.polygon(offset(contour, half, true))
		inner := offset(contour, -half, true)
		// The rasterizer adds windings with their sign, so that the two cancel each other
		// inside.
		slices.Reverse(inner) // wound the other way, it is cut out
		c.polygon(inner)
		return
	}
	// left is how much of the present dash or gap is still to come.
	on, left := true, s.dash[0]
	dash := []point{contour[0]}
	end := func() {
		if dash = distinct(dash); on && len(dash) > 1 {
			inner := offset(dash, -half, false)
			slices.Reverse(inner)
			c.polygon(append(offset(dash, half, false), inner...))
			if s.round {
				c.polygon(arc(nil, dash[0], half, 0, 2*math.Pi, c.scale))
				c.polygon(arc(nil, dash[len(dash)-1], half, 0, 2*math.Pi, c.scale))
			}
		}
	}
	for i, from := range contour {
		to := contour[(i+1)%len(contour)]
		for {
			length := math.Hypot(to.x-from.x, to.y-from.y)
			if length < left {
				left -= length
				dash = append(dash, to)
				break
			}
			from = point{from.x + (to.x-from.x)*left/length, from.y + (to.y-from.y)*left/length}
			dash = append(dash, from)
			end()
			on = !on
			left = s.dash[1]
			if on {
				left = s.dash[0]
			}
			dash = []point{from}
		}
	}
	end()
}

// near reports whether two points differ by less than can be drawn.
func near(a, b point) bool { return math.Hypot(a.x-b.x, a.y-b.y) < 1e-6 }

// distinct drops points near their predecessor: an arc begins at the end of the path, and a
// dash may end on a vertex. Two such points have no direction, so offset would not move
// them, or would move them to an arbitrary side.
func distinct(line []point) []point { return slices.CompactFunc(line, near) }

// offset returns a smooth line moved sideways, at every point along the mean of
// the normals of the pieces that meet there. The line is distinct.
func offset(line []point, by float64, closed bool) []point {
	out := make([]point, len(line))
	for i, p := range line {
		before, after := line[max(i-1, 0)], line[min(i+1, len(line)-1)]
		if closed {
			before, after = line[(i+len(line)-1)%len(line)], line[(i+1)%len(line)]
		}
		dx, dy := after.x-before.x, after.y-before.y
		if length := math.Hypot(dx, dy); length > 0 {
			out[i] = point{p.x + dy/length*by, p.y - dx/length*by}
		} else {
			out[i] = p
		}
	}
	return out
}
