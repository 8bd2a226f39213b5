package edge_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/badge"
	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
)

// measureText looks at every text of every badge: it must lie inside the badge,
// inside its half of it, and on no other text.
const measureText = `async () => {
	await document.fonts.ready;
	const wrong = [];
	let texts = 0;
	for (const svg of document.querySelectorAll("svg")) {
		const width = svg.width.baseVal.value, height = svg.height.baseVal.value;
		const path = svg.querySelector("rect+path[d$='z']");
		const half = path && svg.getAttribute("fill") == "#fff" ? path.getBBox() : null;
		const boxes = [...svg.querySelectorAll(":scope > text")].map(e => [e.textContent, e.getBBox()]);
		texts += boxes.length;
		for (const [i, [text, b]] of boxes.entries()) {
			const say = what => wrong.push(svg.dataset.look + ": " + text + " " + what + " " + [b.x, b.x + b.width, ` +
	`width].map(v => v.toFixed(1)));
			if (b.x < 2 || b.x + b.width > width - 2 || b.y < 0 || b.y + b.height > height) say("leaves the badge");
			if (half && b.x < half.x + half.width && b.x + b.width > half.x && (b.x < half.x || b.x + b.width > ` +
	`half.x + half.width)) say("leaves its half");
			for (const [other, o] of boxes.slice(i + 1))
				if (b.x < o.x + o.width && o.x < b.x + b.width && b.y + 3 < o.y + o.height && o.y + 3 < b.y + ` +
	`b.height) say("lies on " + other);
		}
	}
	return {wrong, texts};
}`

// fontFolder is where Debian puts fonts; .ci/tools installs those of fontSets.
const fontFolder = "/usr/share/fonts/truetype"

// fontSets are all the fonts a reader has, from none for most scripts to one for
// each. Those with a factor have advances scaled by it.
var fontSets = []struct {
	name   string
	files  []string
	factor float64
}{
	{"DejaVu", []string{"dejavu/DejaVuSans.ttf", "dejavu/DejaVuSans-Bold.ttf"}, 1},
	{"Liberation, without Arabic, Indic and Asian letters", []string{"liberation/LiberationSans-Regular.ttf",
		"liberation/LiberationSans-Bold.ttf"}, 1},
	{"Noto, without the scripts' faces", []string{"noto/NotoSans-Regular.ttf", "noto/NotoSans-Bold.ttf"}, 1},
	{"Noto, with them", []string{"noto/NotoSans-Regular.ttf", "noto/NotoSans-Bold.ttf", "noto/NotoSansArabic-Bold.ttf",
		"noto/NotoSansHebrew-Bold.ttf",
		"noto/NotoSansDevanagari-Bold.ttf", "noto/NotoSansThai-Bold.ttf", "droid/DroidSansFallbackFull.ttf"}, 1},
	{"very wide", []string{"dejavu/DejaVuSans.ttf", "dejavu/DejaVuSans-Bold.ttf"}, 1.4},
	{"very narrow", []string{"liberation/LiberationSansNarrow-Regular.ttf", "liberation/LiberationSansNarrow-Bold.ttf"},
		0.9},
}

// isolateFonts writes a configuration of fontconfig that knows these files alone,
// and returns the variable that names it.
func isolateFonts(t *testing.T, files []string, factor float64) string {
	t.Helper()
	folder := t.TempDir()
	for _, file := range files {
		raw, err := os.ReadFile(filepath.Join(fontFolder, file))
		if err != nil {
			browsertest.Lacking(t, "badges are measured with fonts that are missing (.ci/tools installs them): %v", err)
		}
		scaleAdvances(raw, factor)
		must(t, os.WriteFile(filepath.Join(folder, filepath.Base(file)), raw, 0o600))
	}
	config := filepath.Join(folder, "fonts.conf")
	must(t, os.WriteFile(config,
		fmt.Appendf(nil, `<?xml version="1.0"?><fontconfig><dir>%s</dir><cachedir>%s</cachedir></fontconfig>`, folder,
			t.TempDir()), 0o600))
	return "FONTCONFIG_FILE=" + config
}

// scaleAdvances changes how far apart the letters of a TrueType font are: the
// first half of each of the long entries of its table hmtx, whose number is at
// the end of hhea.
func scaleAdvances(font []byte, factor float64) {
	tables := map[string]uint32{}
	for i := range int(binary.BigEndian.Uint16(font[4:])) {
		entry := font[12+16*i:]
		tables[string(entry[:4])] = binary.BigEndian.Uint32(entry[8:])
	}
	entries := int(binary.BigEndian.Uint16(font[tables["hhea"]+34:]))
	for i := range entries {
		advance := font[int(tables["hmtx"])+4*i:]
		binary.BigEndian.PutUint16(advance, uint16(float64(binary.BigEndian.Uint16(advance))*factor))
	}
}

// Text stays in its place in every language, state and style, whatever fonts a
// reader has.
func TestBadgeTextFits(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString(`<!doctype html><meta charset="utf-8">`)
	addImage := func(image []byte, l badge.Options) {
		page.WriteString(strings.Replace(string(image), "<svg ", fmt.Sprintf("<svg data-look=%q ", l.Query()), 1))
	}
	add := func(b badge.Badge, l badge.Options) { addImage(badge.AppendSVG(nil, b, l), l) }
	labels := []string{"Our score", "WWWWWWWW", "iiiiiiiiiiiiiiiiiiiii", "Zürich & Söhne", "Ελληνικά", "Привет",
		"我们的分数", "점수", "スコア", "שלום",
		"مرحبا بالعالم", "नमस्ते", "สวัสดี", "🚀🔥", "👩\u200d👩\u200d👧", "e\u0301", strings.Repeat("m", badge.MaxLabel)}
	for _, style := range []badge.Style{badge.Pill, badge.Compact, badge.Card, badge.Seal, badge.ForTheBadge} {
		for lang := range badge.Languages() {
			options := badge.Options{Style: style, Lang: badge.Lang(lang)}
			for _, b := range browserBadges {
				add(b, options)
			}
			claimed := browserBadges[1]
			claimed.Claimed = true
			add(claimed, options)
			addImage(badge.AppendError(nil, fieldmark.Errorf(fieldmark.CodeOriginUnavailable, ""), options), options)
		}
		for _, label := range labels {
			add(browserBadges[0], badge.Options{Style: style, Label: label})
		}
	}
	address := serve(t, page.String())
	for _, set := range fontSets {
		t.Run(set.name, func(t *testing.T) {
			var got struct {
				Wrong []string
				Texts int
			}
			ask(t, browsertest.StartWith(t, isolateFonts(t, set.files, set.factor)), address, measureText, &got)
			if got.Texts < 1500 {
				t.Errorf("the browser has seen %d texts, want thousands", got.Texts)
			}
			for i, wrong := range got.Wrong {
				if i == 20 {
					t.Errorf("and %d more", len(got.Wrong)-i)
					break
				}
				t.Error(wrong)
			}
		})
	}
}
