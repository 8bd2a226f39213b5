package badge_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

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

// Every look in every language and state becomes a picture of the right size.
func TestPNG(t *testing.T) {
	for _, style := range styles {
		for i, tag := range badge.Languages() {
			if i%len(styles) != int(look(t, "style="+style).Style) {
				continue // the browser's test draws more
			}
			l := look(t, "style="+style+"&lang="+tag)
			w, h := badge.Size(samples[0].badge, l)
			raw, err := badge.PNG(samples[0].badge, l, 1)
			if got := decode(t, raw, err).Bounds().Size(); got != (image.Point{w, h}) {
				t.Errorf("%s: %v, want %d by %d", l.Query(), got, w, h)
			}
		}
		for _, s := range samples {
			l := look(t, "style="+style)
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
