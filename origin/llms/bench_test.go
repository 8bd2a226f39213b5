package llms_test

import (
	"os"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/llms"
)

// BenchmarkGenerate generates an ordinary file and a file with every section.
func BenchmarkGenerate(b *testing.B) {
	for _, s := range samples(b) {
		if s.Tag != "en" && s.Tag != "ja" {
			continue
		}
		for _, shape := range []string{"unique", "everything"} {
			b.Run(s.Tag+"/"+shape, func(b *testing.B) {
				r := s.shapes()[shape]
				for b.Loop() {
					if _, err := llms.Generate(r); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "files/s")
			})
		}
	}
}

// BenchmarkLint reads files of three sizes.
func BenchmarkLint(b *testing.B) {
	own, err := os.ReadFile("testdata/en.md")
	if err != nil {
		b.Fatal(err)
	}
	item := "- [Page](https://alpenglow.example/page): what stands there, in a few words\n"
	for _, bm := range []struct {
		name string
		body string
	}{
		{"1kB", string(own)},
		{"32kB", string(own) + "\n## More\n\n" + strings.Repeat(item, 400)},
		{"512kB", string(own) + "\n## More\n\n" + strings.Repeat(item, 6800)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			body := []byte(bm.body)
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				llms.Lint(body)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "files/s")
		})
	}
}
