package audit_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit"
)

// benchFolder is the environment variable with a folder of real pages for BenchmarkExtract.
const benchFolder = "FIELDMARK_BENCH_PAGES"

// corpus generates pages like those of shops, newspapers and manuals: navigation, prose
// with figures, links and quotations, a table, and structured data.
func corpus() (pages [][]byte) {
	for i := range 40 {
		var b strings.Builder
		fmt.Fprintf(&b, `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page %d of the corpus</title>
<meta name="description" content="%s"><link rel="canonical" href="https://example.com/p%d"><meta `+
			`property="og:title" content="x">
<script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":"Organization",`+
			`"name":"Example","url":"https://example.com/","sameAs":["https://www.wikidata.org/wiki/Q1"]},`+
			`{"@type":"Article","headline":"P","author":{"@type":"Person","name":"A"},`+
			`"dateModified":"2026-10-0%d"}]}</script></head><body><nav>`,
			i, words(20), i, i%9+1)
		for j := range 60 {
			fmt.Fprintf(&b, `<a href="/c/%d">Category %d</a> `, j, j)
		}
		b.WriteString("</nav><main><h1>The page</h1>")
		for j := range 10 + i*2 {
			fmt.Fprintf(&b, `<h2>Part %d: how does it work?`+
				`</h2><p>%s In 2025 the share was %d.%d %% of 1,%03d tonnes, and <a `+
				`href="https://source%d.example/">a source</a> says so.</p><p>“%s”, said Anna Muster of the `+
				`works.</p><ul><li>one<li>two</ul>`,
				j, words(80), j, i, j, j%11, words(12))
		}
		b.WriteString("<table><tr><th>a<th>b<tr><td>1<td>2</table></main><footer>" + words(60) +
			"</footer></body></html>")
		pages = append(pages, []byte(b.String()))
	}
	return pages
}

func folder(b *testing.B, root string) (pages [][]byte) {
	b.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".html") {
			return err
		}
		page, err := os.ReadFile(path)
		if len(page) < 5<<20 && len(pages) < 2000 {
			pages = append(pages, page)
		}
		return err
	})
	if err != nil || len(pages) == 0 {
		b.Fatalf("%d pages in %s, %v", len(pages), root, err)
	}
	return pages
}

// BenchmarkExtract computes every fact of single pages, for the generated corpus and for
// the pages in the folder FIELDMARK_BENCH_PAGES.
func BenchmarkExtract(b *testing.B) {
	run := func(name string, pages [][]byte) {
		total := int64(0)
		for _, p := range pages {
			total += int64(len(p))
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(total)
			b.ReportAllocs()
			for b.Loop() {
				for _, p := range pages {
					audit.TryPage(p, "text/html; charset=utf-8", "User-agent: *\nDisallow: /private\n")
				}
			}
			b.ReportMetric(float64(len(pages))*float64(b.N)/b.Elapsed().Seconds(), "pages/s")
		})
	}
	run("corpus", corpus())
	if root := os.Getenv(benchFolder); root != "" {
		run("folder", folder(b, root))
	}
}

// BenchmarkReplicates computes the replicates of one audit of 32 pages, whose facts were
// computed before.
func BenchmarkReplicates(b *testing.B) {
	run, err := audit.TryReplicates(corpus()[:32])
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}
