package badge_test

import (
	"bytes"
	"image"
	"image/color"
	imagedraw "image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/badge"
)

func decode(t testing.TB, raw []byte, err error) image.Image {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Every style in every language and state becomes a picture of the right size.
func TestPNG(t *testing.T) {
	for _, style := range styles {
		for i, tag := range badge.Languages() {
			if i%len(styles) != int(opts(t, "style="+style).Style) {
				continue // the browser's test draws more
			}
			l := opts(t, "style="+style+"&lang="+tag)
			w, h := badge.Size(samples[0].badge, l)
			raw, err := badge.PNG(samples[0].badge, l, 1)
			if got := decode(t, raw, err).Bounds().Size(); got != (image.Point{w, h}) {
				t.Errorf("%s: %v, want %d by %d", l.Query(), got, w, h)
			}
		}
		for _, s := range samples {
			l := opts(t, "style="+style)
			w, h := badge.Size(s.badge, l)
			raw, err := badge.PNG(s.badge, l, 2)
			if got := decode(t, raw, err).Bounds().Size(); got != (image.Point{2 * w, 2 * h}) {
				t.Errorf("%s %s: %v, want %d by %d", s.name, l.Query(), got, 2*w, 2*h)
			}
		}
	}
}

// The inks are where they belong, to the exact colour where nothing is blended.
func TestPNGColours(t *testing.T) {
	raw, err := badge.PNG(samples[0].badge, badge.Options{}, 3)
	m := decode(t, raw, err)
	for _, p := range []struct {
		what string
		x, y int
		want color.NRGBA
	}{
		{"the corner", 0, 0, color.NRGBA{}},
		{"the surface", 100 * 3, 6 * 3, color.NRGBA{255, 255, 255, 255}},
		{"the arc, at three o'clock", 23 * 3, 14 * 3, color.NRGBA{0x1a, 0x7f, 0x37, 255}},
		{"the arc, at nine o'clock", 7 * 3, 14 * 3, color.NRGBA{0x1a, 0x7f, 0x37, 255}},
	} {
		if got := color.NRGBAModel.Convert(m.At(p.x, p.y)); got != p.want {
			t.Errorf("%s is %v, want %v", p.what, got, p.want)
		}
	}
	if track := color.NRGBAModel.Convert(m.At(13*3-2, 6*3)).(color.NRGBA); track.G < 200 || track.R > 230 {
		t.Errorf("the track, just before twelve, is %v, want a pale green", track)
	}
}

func TestErrorPNG(t *testing.T) {
	raw, err := badge.ErrorPNG(failures["error-400"], badge.Options{}, 2)
	if got := decode(t, raw, err).Bounds().Size(); got.Y != 2*badge.Height {
		t.Errorf("size %v", got)
	}
}

func FuzzLabelPNG(f *testing.F) {
	for _, s := range []string{"Our score", "Ähre", "Привет", "", "i & <b>", "\x00"} {
		f.Add(s, uint8(0))
	}
	f.Fuzz(func(t *testing.T, label string, style uint8) {
		l, err := badge.ParseOptions(func(name string) string {
			if name == "label" {
				return label
			}
			return ""
		})
		if err != nil || !l.Drawable() {
			return
		}
		l.Style = badge.Style(style % uint8(len(styles)))
		raw, err := badge.PNG(samples[0].badge, l, 1)
		decode(t, raw, err)
	})
}

// The ring of a PNG begins at twelve o'clock with the whole width of its stroke,
// whatever the score is and however its ends are drawn.
func TestPNGRingBegins(t *testing.T) {
	ink := map[badge.State]color.NRGBA{badge.Ready: {0x1a, 0x7f, 0x37, 255}, badge.Stale: {0x9a, 0x67, 0x00, 255}}
	for _, ring := range []struct {
		style          badge.Style
		x, y, r, width float64 // CSS pixels
	}{{badge.Pill, 15, 14, 8, 3}, {badge.Card, 31, 28, 17, 4}, {badge.Seal, 48, 36, 23, 5}} {
		for _, b := range []badge.Badge{
			{State: badge.Ready, Grade: "A", Score: 5_000}, {State: badge.Ready, Grade: "A", Score: 50_000},
			{State: badge.Ready, Grade: "A", Score: 95_000},
			{State: badge.Ready, Grade: "A", Score: 96_000}, {State: badge.Ready, Grade: "A", Score: 98_000},
			{State: badge.Ready, Grade: "A", Score: 99_000},
			{State: badge.Ready, Grade: "A", Score: 100_000},
			{State: badge.Stale, Grade: "B", Score: 80_000, AsOf: november},
		} {
			for scale := 1; scale <= badge.MaxScale; scale++ {
				raw, err := badge.PNG(b, badge.Options{Style: ring.style}, scale)
				m := decode(t, raw, err)
				// The column right of twelve o'clock, but for the blended ends.
				size, top := float64(scale), ring.y-ring.r-ring.width/2
				x := int(ring.x * size)
				for y := int(math.Ceil(top*size)) + 1; float64(y+2) <= (top+ring.width)*size; y++ {
					got, want := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA), ink[b.State]
					if blend := 64; int(got.R)-int(want.R) > blend || int(got.B)-int(want.B) > blend {
						t.Errorf("style %d, state %d, score %v, scale %d: the ring at %d, %d is %v, want about %v",
							ring.style, b.State, b.Score, scale, x, y, got, want)
					}
				}
			}
		}
	}
}

// A ring that is not full has a gap before twelve o'clock that is seen at every scale.
func TestPNGRingIsOpen(t *testing.T) {
	for _, ring := range []struct {
		style   badge.Style
		x, y, r float64 // CSS pixels
	}{{badge.Pill, 15, 14, 8}, {badge.Card, 31, 28, 17}, {badge.Seal, 48, 36, 23}} {
		for _, points := range []int{91, 95, 96, 97, 98, 99, 100} {
			b := badge.Badge{State: badge.Ready, Grade: "A", Score: fieldmark.Milli(points * 1000)}
			for _, scale := range []int{1, badge.MaxScale} {
				raw, err := badge.PNG(b, badge.Options{Style: ring.style}, scale)
				m := decode(t, raw, err)
				palest := uint8(0)
				for turn := 0.002; turn < 0.05; turn += 0.002 {
					sin, cos := math.Sincos(2 * math.Pi * turn)
					x, y := (ring.x-ring.r*sin)*float64(scale), (ring.y-ring.r*cos)*float64(scale)
					palest = max(palest, color.NRGBAModel.Convert(m.At(int(x), int(y))).(color.NRGBA).R)
				}
				if open := palest > 0x90; open != (points < 100) {
					t.Errorf("style %d, %d points, scale %d: red is %d at most before twelve o'clock, want a gap: %t",
						ring.style, points, scale, palest, points < 100)
				}
			}
		}
	}
}

// The rings of nearly full scores, and texts from right to left, at two times the size.
func TestPNGGolden(t *testing.T) {
	var rings, mirrored []image.Image
	add := func(list *[]image.Image, b badge.Badge, query string) {
		raw, err := badge.PNG(b, opts(t, query), 2)
		*list = append(*list, decode(t, raw, err))
	}
	for _, style := range []string{"pill", "card", "seal"} {
		for points := 95; points <= 100; points++ {
			add(&rings, badge.Badge{State: badge.Ready, Grade: "A", Score: fieldmark.Milli(points * 1000),
				AsOf: november}, "style="+style)
		}
	}
	for _, lang := range []string{"ar", "fa", "he"} {
		for _, style := range []string{"pill", "compact", "card", "seal"} {
			for _, s := range []int{5, 8} {
				add(&mirrored, samples[s].badge, "lang="+lang+"&style="+style)
			}
		}
	}
	goldenPicture(t, "rings.png", sheet(rings))
	goldenPicture(t, "right-to-left.png", sheet(mirrored))
}

// sheet arranges pictures in rows.
func sheet(pictures []image.Image) *image.RGBA {
	const width, gap = 1800, 8
	out := image.NewRGBA(image.Rect(0, 0, width, 1200))
	imagedraw.Draw(out, out.Bounds(), image.White, image.Point{}, imagedraw.Src)
	x, y, row := gap, gap, 0
	for _, m := range pictures {
		size := m.Bounds().Size()
		if x+size.X > width {
			x, y, row = gap, y+row+gap, 0
		}
		imagedraw.Draw(out, image.Rect(x, y, x+size.X, y+size.Y), m, image.Point{}, imagedraw.Over)
		x, row = x+size.X+gap, max(row, size.Y)
	}
	return out.SubImage(image.Rect(0, 0, width, y+row+gap)).(*image.RGBA)
}

// goldenPicture compares a picture with its golden file. Processors that fuse a
// multiplication with an addition round some blended pixels differently.
func goldenPicture(t *testing.T, name string, got image.Image) {
	t.Helper()
	const tolerance = 4 // of 255
	path := filepath.Join("testdata", name)
	if *update {
		var raw bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&raw, got); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(path)
	want := decode(t, raw, err)
	if want.Bounds().Size() != got.Bounds().Size() {
		t.Fatalf("%s: %v, want %v", name, got.Bounds().Size(), want.Bounds().Size())
	}
	for y := range want.Bounds().Dy() {
		for x := range want.Bounds().Dx() {
			g := color.RGBAModel.Convert(got.At(x, y)).(color.RGBA)
			w := color.RGBAModel.Convert(want.At(x, y)).(color.RGBA)
			for _, d := range []int{int(g.R) - int(w.R), int(g.G) - int(w.G), int(g.B) - int(w.B),
				int(g.A) - int(w.A)} {
				if d > tolerance || -d > tolerance {
					t.Fatalf("%s: %v at %d, %d, want %v", name, g, x, y, w)
				}
			}
		}
	}
}
