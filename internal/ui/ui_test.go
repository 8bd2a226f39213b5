package ui_test

import (
	"html/template"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/ui"
)

func TestTimes(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 5, 30, 0, time.UTC)
	for _, tt := range []struct {
		after   time.Duration
		ago, at string
	}{
		{0, "just now", "22 Nov, 14:05 UTC"},
		{59 * time.Second, "just now", "22 Nov, 14:06 UTC"},
		{-90 * time.Second, "1 min ago", "22 Nov, 14:04 UTC"},
		{-59 * time.Minute, "59 min ago", "22 Nov, 13:06 UTC"},
		{2*time.Hour + time.Second, "in 2 h", "22 Nov, 16:05 UTC"},
		{-47 * time.Hour, "47 h ago", "20 Nov, 15:05 UTC"},
		{-3 * 24 * time.Hour, "3 days ago", "19 Nov, 14:05 UTC"},
		{29 * 24 * time.Hour, "in 29 days", "21 Dec, 14:05 UTC"},
		{30 * 24 * time.Hour, "22 Dec", "22 Dec, 14:05 UTC"},
		{-400 * 24 * time.Hour, "18 Oct 2025", "18 Oct 2025, 14:05 UTC"},
	} {
		at := now.Add(tt.after).In(time.FixedZone("elsewhere", 3600))
		head := template.HTML(`<time datetime="` + at.UTC().Format("2006-01-02T15:04:05.000Z") + `" title="` +
			at.UTC().Format("2 Jan 2006, 15:04:05 UTC"))
		if got, want := ui.Ago(at, now), head+`" data-time="ago">`+template.HTML(tt.ago)+`</time>`; got != want {
			t.Errorf("Ago, %v: got %s, want %s", tt.after, got, want)
		}
		if got, want := ui.At(at, now), head+`" data-time="at">`+template.HTML(tt.at)+`</time>`; got != want {
			t.Errorf("At, %v: got %s, want %s", tt.after, got, want)
		}
	}
}

// TestID: what a selection copies is the whole id, and nothing in it is markup.
func TestID(t *testing.T) {
	for _, tt := range []struct{ id, want string }{
		{"acme", `<code class="id">acme</code>`},
		{"msn_01kabcdefghijklmnopqrstuv", `<code class="id" title="msn_01kabcdefghijklmnopqrstuv" ` +
			`data-copy="msn_01ka…qrstuv">msn_01ka<span>bcdefghijklmnop</span>qrstuv</code>`},
		{"sha256:0123456789abcdef0123456789abcdef", `<code class="id" ` +
			`title="sha256:0123456789abcdef0123456789abcdef" data-copy="sha256:01234567…abcdef">` +
			`sha256:01234567<span>89abcdef0123456789</span>abcdef</code>`},
		{`"><script>alert(1)`, `<code class="id" title="&#34;&gt;&lt;script&gt;alert(1)" ` +
			`data-copy="&#34;&gt;&lt;scrip…ert(1)">` +
			`&#34;&gt;&lt;scrip<span>t&gt;al</span>ert(1)</code>`},
		{"ééééééééééééééééééé", `<code class="id" title="ééééééééééééééééééé" data-copy="éééééééé…éééééé">` +
			`éééééééé<span>ééééé</span>éééééé</code>`},
	} {
		got := string(ui.ID(tt.id))
		if got != tt.want {
			t.Errorf("ID(%q):\ngot  %s\nwant %s", tt.id, got, tt.want)
		}
		text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(got, "")
		if want := template.HTMLEscapeString(tt.id); text != want {
			t.Errorf("ID(%q): a selection has %q, want %q", tt.id, text, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 days", 1: "1 day", 2: "2 days", 999: "999 days", 1000: "1,000 days",
		1234567: "1,234,567 days", -1: "-1 days", -1000: "-1,000 days", -100: "-100 days"} {
		if got := ui.Count(n, "day", "days"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

// TestTokens: every stylesheet takes its colours from the tokens, and no other defines a token.
func TestTokens(t *testing.T) {
	defined := regexp.MustCompile(`[{;\s](--[a-z-]+):`)
	tokens := []string{"--g", "--k"} // of a grade and of an answer: set beside their use, from tokens
	for _, m := range defined.FindAllStringSubmatch(ui.Style, -1) {
		tokens = append(tokens, m[1])
	}
	var sheets []string
	for _, pattern := range []string{"../../edge/site/static/*.css", "../../origin/*/*.css", "../../origin/*/*/*.css"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		sheets = append(sheets, found...)
	}
	if len(sheets) < 4 {
		t.Fatalf("found only %v", sheets)
	}
	for _, name := range sheets {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for _, m := range regexp.MustCompile(`var\((--[a-z-]+)`).FindAllStringSubmatch(text, -1) {
			if !slices.Contains(tokens, m[1]) {
				t.Errorf("%s uses %s, which ui.css does not define", name, m[1])
			}
		}
		for _, m := range defined.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(tokens[:2], m[1]) {
				t.Errorf("%s defines %s: tokens are in ui.css", name, m[1])
			}
		}
		for line := range strings.Lines(text) {
			if regexp.MustCompile(`#[0-9a-f]{3,8}\b`).MatchString(line) && !strings.Contains(line, "color-scheme") &&
				!strings.Contains(line, ".halves") { // the grounds on which badges are shown
				t.Errorf("%s has a colour of its own: %s", name, strings.TrimSpace(line))
			}
		}
	}
}

var variable = regexp.MustCompile(`--([a-z-]+): *(#[0-9a-f]{6})`)

// palettes reads the colours of the light and of the dark theme.
func palettes(t *testing.T) (light, dark map[string]string) {
	t.Helper()
	lightPart, rest, ok := strings.Cut(ui.Style, "@media screen and (prefers-color-scheme: dark)")
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
	grounds := []string{"paper", "raised"}
	pairs := map[string][]string{"warn": {"warn-ground"}, "a": {"good-ground"}, "e": {"bad-ground"},
		"ink": {"good-ground", "bad-ground", "note-ground"}, "soft": {"good-ground", "bad-ground", "note-ground"}}
	for theme, colours := range map[string]map[string]string{"light": light, "dark": dark} {
		for _, text := range []string{"ink", "soft", "link", "warn", "a", "b", "c", "d", "e", "n"} {
			for _, ground := range append(pairs[text], grounds...) {
				if text == "warn" && ground != "warn-ground" {
					continue
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
