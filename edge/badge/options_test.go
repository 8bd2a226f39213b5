package badge_test

import (
	"encoding/xml"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

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
	Width float64 `xml:"width,attr"`
	Class string  `xml:"class,attr"`
	Fill  string  `xml:"fill,attr"`
	Rect  struct {
		Fill   string `xml:"fill,attr"`
		Stroke string `xml:"stroke,attr"`
	} `xml:"rect"`
	G struct {
		Stroke string `xml:"stroke,attr"`
	} `xml:"g"`
	Text  []words `xml:"text"`
	Path  []words `xml:"path"`
	Style string  `xml:"style"`
}

// words are a text, or its outline.
type words struct {
	X      float64 `xml:"x,attr"`
	Fill   string  `xml:"fill,attr"`
	Length float64 `xml:"textLength,attr"`
	Words  string  `xml:",chardata"`
}

func draw(t *testing.T, b badge.Badge, l badge.Options) drawing {
	t.Helper()
	image := badge.AppendSVG(nil, b, l)
	var d drawing
	if err := xml.Unmarshal(image, &d); err != nil {
		t.Fatalf("%s: %v", image, err)
	}
	return d
}

// Text needs a contrast of 4.5 and the ring one of 3 (WCAG 2.2, 1.4.3 and
// 1.4.11); ring and number share a color, so both have 4.5.
func TestContrast(t *testing.T) {
	const enough = 4.5
	for _, l := range looks(t) {
		for _, s := range samples {
			d := draw(t, s.badge, l)
			pairs := map[string][2]string{"ink": {d.Fill, d.Rect.Fill}}
			for i, text := range append(slices.Clone(d.Text), d.Path...) {
				if text.Fill != "" && d.G.Stroke != "" {
					pairs["text "+strconv.Itoa(i)] = [2]string{text.Fill, d.Rect.Fill}
				}
			}
			if d.G.Stroke != "" {
				pairs["ring"] = [2]string{d.G.Stroke, d.Rect.Fill}
			} else {
				// A badge of two parts has white words, on both of them.
				pairs["message"] = [2]string{d.Fill, d.Path[0].Fill}
			}
			for what, c := range pairs {
				if got := contrast(t, c[0], c[1]); got < enough {
					t.Errorf("%s %s: %s %s on %s has contrast %.2f, want %.1f", s.name, l.Query(), what, c[0], c[1],
						got, enough)
				}
			}
		}
	}
}

var declaration = regexp.MustCompile(`\.(f\w\w)( [^{]*)?\{([^}]*)\}`)

// The dark half of the automatic badge is the dark badge.
func TestAutoThemeHasDarkBadge(t *testing.T) {
	for _, style := range []badge.Style{badge.Pill, badge.Compact, badge.Card, badge.Seal} {
		for _, s := range samples {
			auto := draw(t, s.badge, badge.Options{Style: style})
			light := draw(t, s.badge, badge.Options{Style: style, Theme: badge.Light})
			dark := draw(t, s.badge, badge.Options{Style: style, Theme: badge.Dark})
			if light.Style != "" || dark.Style != "" {
				t.Errorf("%s: a badge of one theme has a style", s.name)
			}
			if auto.Fill != light.Fill || auto.Rect != light.Rect || auto.G != light.G {
				t.Errorf("%s: automatic %+v, want what is light %+v", s.name, auto, light)
			}
			got := map[string]string{}
			for _, r := range declaration.FindAllStringSubmatch(auto.Style, -1) {
				got[r[2]] = r[3]
				if r[1] != auto.Class {
					t.Errorf("%s: a rule for %q in a badge of class %q", s.name, r[1], auto.Class)
				}
			}
			want := map[string]string{" rect": "fill:" + dark.Rect.Fill}
			if style != badge.Compact {
				fills := dark.Text
				if style == badge.Seal {
					fills = dark.Path
				}
				want = map[string]string{
					"":        "fill:" + dark.Fill,
					" g":      "stroke:" + dark.G.Stroke,
					" rect":   "fill:" + dark.Rect.Fill + ";stroke:" + dark.Rect.Stroke,
					" rect+*": "fill:" + fills[0].Fill,
				}
				if style != badge.Pill && len(fills) > 1 && fills[1].Fill != "" {
					want[" rect+*+*"] = "fill:" + fills[1].Fill
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s %d: rules %q, want %q", s.name, style, got, want)
			}
		}
	}
}

// A page may inline badges of every style and color: rules that meet must agree.
func TestInlinedStylesDoNotConflict(t *testing.T) {
	rules := map[string]string{}
	for _, style := range []badge.Style{badge.Pill, badge.Compact, badge.Card, badge.Seal} {
		for _, s := range samples {
			for _, r := range declaration.FindAllStringSubmatch(draw(t, s.badge, badge.Options{Style: style}).Style,
				-1) {
				key := r[1] + r[2]
				if was, ok := rules[key]; ok && was != r[3] {
					t.Errorf("%s is both %q and %q", key, was, r[3])
				}
				rules[key] = r[3]
			}
		}
	}
}

func TestParseOptions(t *testing.T) {
	for _, tt := range []struct{ query, want string }{
		{"", ""},
		{"style=pill&theme=auto&lang=en&animate=0&font=text&label=", ""},
		{"theme=dark&style=card", "?style=card&theme=dark"},
		{"theme=dark&theme=light&utm_source=x&STYLE=card", "?theme=dark"},
		{"style=flat&theme=dark&animate=1", "?style=flat"},
		{"style=flat&theme=mono", "?style=flat&theme=mono"},
		{"style=seal&font=outline", "?style=seal"},
		{"style=seal&font=outline&label=x", "?style=seal&label=x&font=outline"},
		{"style=for-the-badge&label=our+%C3%A4", "?style=for-the-badge&label=OUR+%C3%84"},
		{"style=for-the-badge&lang=tr&label=istanbul", "?style=for-the-badge&lang=tr&label=%C4%B0STANBUL"},
		{"style=for-the-badge&lang=el&label=%CF%8C%CF%87%CE%B9",
			"?style=for-the-badge&lang=el&label=%CE%9F%CE%A7%CE%99"},
		{"style=for-the-badge&label=Stra%C3%9Fe", "?style=for-the-badge&label=STRASSE"},
		{"lang=no", "?lang=nb"}, {"lang=nn", "?lang=nb"}, {"lang=nb-NO", "?lang=nb"}, {"lang=iw", "?lang=he"},
		{"lang=in", "?lang=id"},
		{"lang=pt-BR", "?lang=pt"}, {"lang=pt_PT", "?lang=pt"}, {"lang=DE", "?lang=de"}, {"lang=en-GB", ""},
		{"lang=zh-CN", "?lang=zh"}, {"lang=zh-Hans", "?lang=zh"}, {"lang=zh-SG", "?lang=zh"},
		{"lang=zh-Hant", "?lang=zh-Hant"}, {"lang=zh-TW", "?lang=zh-Hant"}, {"lang=zh-HK", "?lang=zh-Hant"},
		{"label=%20a%09b%00%E2%80%AE%20", "?label=a+b"},
		{"lang=ar&animate=1&font=outline&label=x%26y", "?lang=ar&label=x%26y&animate=1&font=outline"},
	} {
		l := opts(t, tt.query)
		if got := l.Query(); got != tt.want {
			t.Errorf("the options of %q are %q, want %q", tt.query, got, tt.want)
		}
		if again := opts(t, strings.TrimPrefix(l.Query(), "?")); again != l {
			t.Errorf("%q parses to %+v, then to %+v", tt.query, l, again)
		}
	}
	for query, want := range map[string]string{
		"style=Pill": "unknown style; known are pill, compact, card, seal, flat, " +
			"flat-square, for-the-badge",
		"theme=pink":                            "unknown theme; known are auto, light, dark, mono",
		"lang=xx":                               "unknown lang; known are en, ar, cs",
		"lang=be":                               "unknown lang", // not Russian
		"lang=ca":                               "unknown lang",
		"lang=-":                                "unknown lang",
		"lang=de-" + strings.Repeat("x-", 1000): "unknown lang",
		"style=for-the-badge&label=" + strings.Repeat("%C3%9F", 21): "label has 42 characters; at most 40",
		"animate=yes":     "unknown animate; known are 0, 1",
		"font=comic+sans": "unknown font; known are text, outline",
		"label=%FF":       "label is not UTF-8",
		"label=" + strings.Repeat("x", badge.MaxLabel+1): "label has 41 characters; at most 40",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		l, err := badge.ParseOptions(q.Get)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the options of %q are %+v, %v, want an error with %q", query, l, err, want)
		}
	}
	if n := len(badge.Languages()); n < 20 {
		t.Errorf("%d languages, want at least 20", n)
	}
}

// Every text of more than one letter has a fixed width, so that no font makes it
// wider, and the words of a pill end before its number begins. A browser checks
// the same with fonts of all kinds.
func TestFits(t *testing.T) {
	const gap, rounding = 4, 0.1
	for _, style := range styles {
		for i := range badge.Languages() {
			for _, s := range samples {
				l := badge.Options{Style: opts(t, "style="+style).Style, Lang: badge.Lang(i), Theme: badge.Light}
				d := draw(t, s.badge, l)
				for _, text := range d.Text {
					if utf8.RuneCountInString(text.Words) > 1 && text.Length == 0 {
						t.Errorf("%s %s: %q has no width", s.name, l.Query(), text.Words)
					}
				}
				if style != "pill" {
					continue
				}
				words, number := d.Text[0], d.Text[len(d.Text)-1]
				if number.Length > 0 && number.X > words.X {
					if right := words.X + words.Length; right > number.X-gap+rounding {
						t.Errorf("%s %s: %q ends at %.1f, want at most %.1f", s.name, l.Query(), words.Words, right,
							number.X-gap)
					}
				}
			}
		}
	}
}

// A style has one size in every state, where the embedding page fixes it: a
// badge that changes must not be squeezed.
func TestOneSize(t *testing.T) {
	for _, tag := range badge.Languages() {
		for _, style := range []string{"pill", "card", "seal"} {
			l := opts(t, "lang="+tag+"&style="+style)
			width, _ := badge.Size(samples[0].badge, l)
			for _, s := range samples {
				if d := draw(t, s.badge, l); int(d.Width) != width {
					t.Errorf("%s %s: %v px wide, want %d", l.Query(), s.name, d.Width, width)
				}
			}
		}
	}
	if w, h := badge.Size(badge.Badge{}, badge.Options{}); w != badge.Width || h != badge.Height {
		t.Errorf("the default badge is %d by %d, want %d by %d", w, h, badge.Width, badge.Height)
	}
}
