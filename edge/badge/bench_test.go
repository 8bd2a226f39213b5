package badge_test

import (
	"bytes"
	"testing"
	"text/template"

	"github.com/fieldmark/fieldmark/edge/badge"
)

// plainTemplate is what most services of badges are made of: two words, filled
// into a text. It does less than any of our badges.
var plainTemplate = template.Must(template.New(
	"badge").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="113" height="20" role="img" aria-label="{{.Label ` +
	`| html}}: {{.Message | html}}">` +
	`<title>{{.Label | html}}: {{.Message | html}}</title><rect width="113" height="20" rx="3" fill="#555"/><path ` +
	`fill="{{.Colour}}" d="M70 0h40a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-40z"/>` +
	`<g fill="#fff" text-anchor="middle" font-family="Verdana,sans-serif" font-size="11"><text x="35" y="14">` +
	`{{.Label | html}}</text><text x="91.5" y="14">{{.Message | html}}</text></g></svg>`))

func BenchmarkBadge(b *testing.B) {
	painter := new(badge.Renderer)
	for _, style := range styles {
		fixed := opts(b, "style="+style)
		free := fixed
		free.Label = "Our score"
		outline := free
		outline.Outline = true
		b.Run("fixed/"+style, func(b *testing.B) { benchmark(b, painter, fixed) })
		b.Run("free/"+style, func(b *testing.B) { benchmark(b, painter, free) })
		b.Run("outline/"+style, func(b *testing.B) { benchmark(b, painter, outline) })
	}
	b.Run("copy", func(b *testing.B) {
		image := badge.AppendSVG(nil, samples[0].badge, badge.Options{})
		buf := make([]byte, 0, 4096)
		for b.Loop() {
			buf = append(buf[:0], image...)
		}
	})
	b.Run("template", func(b *testing.B) {
		var buf bytes.Buffer
		b.ReportAllocs()
		for b.Loop() {
			buf.Reset()
			if err := plainTemplate.Execute(&buf, struct{ Label, Message, Colour string }{"GEO-ready", "92 / A",
				"#1a7f37"}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchmark(b *testing.B, painter *badge.Renderer, l badge.Options) {
	buf := make([]byte, 0, 8192)
	b.ReportAllocs()
	for b.Loop() {
		buf = painter.AppendSVG(buf[:0], samples[0].badge, l)
	}
	b.ReportMetric(float64(len(buf)), "bytes")
}

func BenchmarkPNG(b *testing.B) {
	for _, style := range []string{"pill", "card", "for-the-badge"} {
		b.Run(style, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := badge.PNG(samples[0].badge, opts(b, "style="+style), 2); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
