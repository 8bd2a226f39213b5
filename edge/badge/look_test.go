package badge_test

import (
	"encoding/xml"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/edge/badge"
)

// luminance is the relative luminance of WCAG 2.2 of a #rgb or #rrggbb colour.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	hex := strings.TrimPrefix(colour, "#")
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || len(hex) != 6 {
		t.Fatalf("%q is no colour", colour)
	}
	linear := func(v uint64) float64 {
		c := float64(v&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(n>>16) + 0.7152*linear(n>>8) + 0.0722*linear(n)
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// drawing is what the tests read of an SVG's geometry and colours.
type drawing struct {
	Fill string `xml:"fill,attr"`
	Rect struct {
		Fill string `xml:"fill,attr"`
	} `xml:"rect"`
	G struct {
		Stroke string `xml:"stroke,attr"`
	} `xml:"g"`
	Text []struct {
		X      float64 `xml:"x,attr"`
		Fill   string  `xml:"fill,attr"`
		Anchor string  `xml:"text-anchor,attr"`
		Words  string  `xml:",chardata"`
	} `xml:"text"`
	Style string `xml:"style"`
}

func draw(t *testing.T, b badge.Badge, theme badge.Theme) drawing {
	t.Helper()
	image := badge.AppendSVG(nil, b, theme)
	var d drawing
	if err := xml.Unmarshal(image, &d); err != nil {
		t.Fatalf("%s: %v", image, err)
	}
	return d
}

// Text needs a contrast of 4.5 and the ring one of 3 (WCAG 2.2, 1.4.3 and
// 1.4.11); ring and number share an ink, so both have 4.5.
func TestContrast(t *testing.T) {
	const enough = 4.5
	for _, s := range samples {
		for _, th := range themes {
			d := draw(t, s.badge, th.theme)
			for what, colour := range map[string]string{"ink": d.Fill, "ring": d.G.Stroke, "label": d.Text[0].Fill} {
				if got := contrast(t, colour, d.Rect.Fill); got < enough {
					t.Errorf("%s %s: %s %s on %s has contrast %.2f, want %.1f", s.name, th.name, what, colour, d.Rect.Fill, got, enough)
				}
			}
		}
	}
}

var declaration = regexp.MustCompile(`\.(fm\w)( [^{]*)?\{([^}]*)\}`)

// The dark half of the automatic badge is the dark badge.
func TestAutoIsBoth(t *testing.T) {
	for _, s := range samples {
		auto, light, dark := draw(t, s.badge, badge.Auto), draw(t, s.badge, badge.Light), draw(t, s.badge, badge.Dark)
		if light.Style != "" || dark.Style != "" {
			t.Errorf("%s: a badge of one theme has a style", s.name)
		}
		want := map[string]string{
			"":           "fill:" + dark.Fill,
			" g":         "stroke:" + dark.G.Stroke,
			" rect":      "fill:" + dark.Rect.Fill + ";stroke:#445",
			" rect+text": "fill:" + dark.Text[0].Fill,
		}
		rules := declaration.FindAllStringSubmatch(auto.Style, -1)
		if len(rules) != len(want) || auto.Fill != light.Fill || auto.Rect != light.Rect || auto.G != light.G {
			t.Errorf("%s: rules %q beside %+v, want those of the dark badge beside %+v", s.name, rules, auto, light)
		}
		for _, r := range rules {
			if want[r[2]] != r[3] {
				t.Errorf("%s: rule %q, want %q", s.name, r[0], want[r[2]])
			}
		}
	}
}

// In the widest face that is common, label and number keep apart, and a label
// alone ends inside the pill.
func TestFits(t *testing.T) {
	measure := func(s string) float64 {
		sum := 0
		for _, r := range s {
			sum += int(badge.Advances[r-' '])
		}
		return float64(sum) * 11 / 1000
	}
	const gap, end = 4, badge.Width - 10
	for _, s := range samples {
		d := draw(t, s.badge, badge.Light)
		label := d.Text[0]
		limit := float64(end)
		for _, text := range d.Text {
			if text.Anchor == "end" {
				limit = text.X - measure(text.Words) - gap
			}
		}
		if right := label.X + measure(label.Words); right > limit {
			t.Errorf("%s: %q ends at %.1f, want at most %.1f", s.name, label.Words, right, limit)
		}
	}
}
