package site_test

import (
	"bytes"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

var variable = regexp.MustCompile(`--([a-z-]+): *(#[0-9a-f]{6})`)

// palettes reads the colours of the light and of the dark theme.
func palettes(t *testing.T) (light, dark map[string]string) {
	t.Helper()
	source, err := os.ReadFile("static/site.css")
	if err != nil {
		t.Fatal(err)
	}
	lightPart, rest, ok := strings.Cut(string(source), "@media screen and (prefers-color-scheme: dark)")
	darkPart, _, _ := strings.Cut(rest, "\n}\n")
	if !ok {
		t.Fatal("the stylesheet has no dark theme")
	}
	read := func(part string) map[string]string {
		colours := map[string]string{}
		for _, m := range variable.FindAllStringSubmatch(part, -1) {
			colours[m[1]] = m[2]
		}
		return colours
	}
	return read(lightPart), read(darkPart)
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil {
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

// TestContrast: text is readable on every background it may have, in both themes (WCAG 2.2,
// 1.4.3).
func TestContrast(t *testing.T) {
	const enough = 4.5
	light, dark := palettes(t)
	for theme, colours := range map[string]map[string]string{"light": light, "dark": dark} {
		for _, text := range []string{"ink", "soft", "link", "warn", "a", "b", "c", "d", "e", "n"} {
			for _, ground := range []string{"paper", "raised"} {
				if text == "warn" {
					ground = "warn-ground"
				}
				lt, lg := luminance(t, colours[text]), luminance(t, colours[ground])
				if got := (max(lt, lg) + 0.05) / (min(lt, lg) + 0.05); got < enough {
					t.Errorf("%s: %s %s on %s %s has contrast %.2f, want %.1f", theme, text, colours[text], ground,
						colours[ground], got, enough)
				}
			}
		}
	}
}

// A class that no rule names is a typing error in a template or in a sheet that the page
// loads.
func TestClasses(t *testing.T) {
	sheet := map[string]string{}
	for _, name := range []string{"site", "components"} {
		source, err := os.ReadFile("static/" + name + ".css")
		if err != nil {
			t.Fatal(err)
		}
		sheet[name] = string(source)
	}
	unstyled := map[string]bool{ // said for those who read the source
		"s-measured": true, "v-none": true,
	}
	for name, page := range samplePages(t) {
		rules := sheet["site"]
		if bytes.Contains(page, []byte("/static/components.")) {
			rules += sheet["components"]
		}
		for _, n := range parse(t, name, page) {
			for class := range strings.FieldsSeq(attr(n, "class")) {
				if !strings.Contains(rules, "."+class) && !unstyled[class] {
					t.Errorf("%s: <%s class=%q> has no rule", name, n.Data, class)
				}
			}
		}
	}
}

// TestSpellsOutGEO: every page spells GEO out where it first uses it, and so does its
// description where that or the title uses it.
func TestSpellsOutGEO(t *testing.T) {
	const spelt = "generative engine optimisation (GEO)"
	for name, page := range samplePages(t) {
		title, description, text := "", "", ""
		doc, err := html.Parse(bytes.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		body := false
		for n := range doc.Descendants() {
			switch {
			case n.Data == "title" && n.Parent.Data == "head":
				title = n.FirstChild.Data
			case n.Data == "meta" && attr(n, "name") == "description":
				description = attr(n, "content")
			case n.Data == "body":
				body = true
			case body && n.Type == html.TextNode:
				text += n.Data
			}
		}
		if first := strings.Index(text, "GEO"); first >= 0 &&
			!strings.HasPrefix(strings.ToLower(text[max(first-len(spelt)+len("GEO)"), 0):]), strings.ToLower(spelt)) {
			t.Errorf("%s: the first GEO is not spelt out: %.80q", name, text[max(first-40, 0):])
		}
		if strings.Contains(title+description, "GEO") &&
			!strings.Contains(strings.ToLower(description), strings.ToLower(spelt)) {
			t.Errorf("%s: the title %q and the description %q do not spell out GEO", name, title, description)
		}
	}
}
