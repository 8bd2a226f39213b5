package badge_test

import (
	"encoding/base64"
	"flag"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/edge/badge"
)

var gallery = flag.String("gallery", "", "write the gallery to this `folder`")

// TestGallery writes one page with every style, theme, state and language, on
// white, on black and on a picture, at one and two times the size, and the
// badges of shields.io beside ours; and a small page, of which
// testdata/gallery.png is a picture.
func TestGallery(t *testing.T) {
	if *gallery == "" {
		*gallery = t.TempDir() // it must always be possible to write it
	}
	for name, page := range map[string]string{"gallery.html": galleryPage(t), "gallery-small.html": smallPage(t)} {
		if err := os.WriteFile(filepath.Join(*gallery, name), []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// smallPage is the gallery for a README: 860 px wide, light beside dark.
func smallPage(t *testing.T) string {
	var w strings.Builder
	w.WriteString(galleryHead +
		`<style>.grounds{grid-template-columns:1fr 1fr;width:860px}.g{gap:12px;padding:22px 26px}</style><div ` +
		`class="grounds">`)
	for _, theme := range []string{"light", "dark"} {
		fmt.Fprintf(&w, `<div class="g %s">`, map[string]string{"light": "white", "dark": "black"}[theme])
		show := func(sample int, query string) {
			w.WriteString(img(samples[sample].badge, opts(t, query+"&theme="+theme)))
		}
		show(0, "style=card&font=outline")
		show(0, "style=seal")
		for _, sample := range []int{0, 3, 4, 5, 6, 8, 9, 10} {
			show(sample, "font=outline")
		}
		for _, query := range []string{"style=compact", "style=flat", "style=flat-square", "style=for-the-badge",
			"style=pill&lang=ar", "style=pill&lang=ja", "style=pill&lang=hi", "style=pill&lang=de",
			"style=compact&lang=el", "style=compact&lang=ko", "style=compact&lang=he"} {
			show(3, query+"&font=outline")
		}
		w.WriteString(`</div>`)
	}
	return w.String() + `</div>`
}

// dataURI is how a page embeds a picture as a stranger would: sealed off.
func dataURI(kind string, image []byte) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(image)
}

// img is an element that shows a badge as another page does.
func img(b badge.Badge, l badge.Options) string {
	return fmt.Sprintf(`<img src="%s" title="%s">`, dataURI("image/svg+xml", badge.AppendSVG(nil, b, l)),
		html.EscapeString(l.Query()))
}

const galleryHead = `<!doctype html><meta charset="utf-8"><title>Badges</title><style>
body{font:13px/1.5 Verdana,DejaVu Sans,sans-serif;margin:0;color:#222;background:#fff}
h2{font-size:15px;margin:0;padding:20px 20px 4px}
.grounds{display:grid;grid-template-columns:1fr 1fr 1fr}
.g{padding:14px 20px;display:flex;flex-wrap:wrap;gap:10px;align-items:center;align-content:flex-start}
.white{background:#fff}.black{background:#0b0d10;color:#ddd;color-scheme:dark}
.photo{background:radial-gradient(circle at 20% 30%,#e9b872,transparent 40%),radial-gradient(circle at 75% 20%,` +
	`#7fb2d9,transparent 45%),radial-gradient(circle at 60% 80%,#2f5d50,transparent 55%),linear-gradient(120deg,` +
	`#c06c4b,#39475a)}
.two img{zoom:2}.row{display:flex;gap:8px;align-items:center;width:100%}
.row span{width:110px;font-size:11px;color:inherit}
</style>`

func galleryPage(t *testing.T) string {
	var w strings.Builder
	w.WriteString(galleryHead)
	section := func(title, inner string) {
		fmt.Fprintf(&w, `<h2>%s</h2><div class="grounds">`, html.EscapeString(title))
		for _, ground := range []string{"white", "black", "photo"} {
			fmt.Fprintf(&w, `<div class="g %s">%s</div>`, ground, inner)
		}
		w.WriteString(`</div>`)
	}
	var family strings.Builder
	for _, style := range styles {
		family.WriteString(img(samples[0].badge, opts(t, "style="+style)))
	}
	section("The family", family.String())
	section("At two times the size", `<div class="two g">`+family.String()+`</div>`)
	section("Beside the badges of shields.io", besideShields(t))
	for _, style := range styles {
		var states strings.Builder
		for _, s := range samples {
			states.WriteString(img(s.badge, opts(t, "style="+style)))
		}
		section("States: "+style, states.String())
	}
	for _, theme := range themeNames {
		var all strings.Builder
		for _, style := range styles {
			all.WriteString(img(samples[3].badge, opts(t, "style="+style+"&theme="+theme)))
		}
		section("Theme: "+theme, all.String())
	}
	var languages strings.Builder
	for _, tag := range badge.Languages() {
		languages.WriteString(`<div class="row"><span>` + tag + `</span>`)
		for _, style := range []string{"pill", "compact", "card"} {
			languages.WriteString(img(samples[0].badge, opts(t, "lang="+tag+"&style="+style)))
		}
		languages.WriteString(`</div>`)
	}
	section("Languages, as text", languages.String())
	languages.Reset()
	for _, tag := range badge.Languages() {
		languages.WriteString(`<div class="row"><span>` + tag + `</span>`)
		for _, query := range []string{"style=pill&font=outline", "style=seal", "style=for-the-badge&font=outline"} {
			languages.WriteString(img(samples[0].badge, opts(t, "lang="+tag+"&"+query)))
		}
		languages.WriteString(`</div>`)
	}
	section("Languages, as outlines", languages.String())
	section("Labels and other forms", galleryForms(t))
	return w.String()
}

// besideShields shows the same words as shields.io draws them, and as we do.
func besideShields(t *testing.T) string {
	var w strings.Builder
	for _, style := range []string{"flat", "flat-square", "for-the-badge"} {
		theirs, err := os.ReadFile(filepath.Join("testdata", "shields", "shields-"+style+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&w, `<div class="row"><img src="%s">%s%s</div>`, dataURI("image/svg+xml", theirs),
			img(samples[0].badge, opts(t, "style="+style)), img(samples[0].badge, opts(t, "style=compact")))
	}
	return w.String()
}

func galleryForms(t *testing.T) string {
	var w strings.Builder
	for _, label := range []string{"Our score", "Zürich", "我们的分数", "الموقع", "i & <b>"} {
		for _, style := range styles {
			l := opts(t, "style="+style+"&label="+url.QueryEscape(label))
			w.WriteString(img(samples[0].badge, l))
		}
	}
	for _, style := range styles {
		raw, err := badge.PNG(samples[0].badge, opts(t, "style="+style), 2)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&w, `<img style="zoom:.5" src="%s">`, dataURI("image/png", raw))
	}
	for name, e := range failures {
		w.WriteString(`<span>` + name + `</span><img src="` +
			dataURI("image/svg+xml", badge.AppendError(nil, e, badge.Options{})) + `">`)
	}
	return w.String()
}
