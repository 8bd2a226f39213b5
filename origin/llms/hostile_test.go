package llms_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/llms"
)

// TestLintMemory lints Markdown that expands to a large parse tree, and limits the total
// allocated memory.
func TestLintMemory(t *testing.T) {
	// The most expensive input takes 105 to 109 MB under the race detector, which makes
	// sync.Pool drop items at random. Without its limits the linter takes gigabytes.
	const most = 120 << 20
	nested := func(marker string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s%s a\n", strings.Repeat("  ", i), marker)
		}
		return b.String()
	}
	for _, tt := range []struct {
		name, in string
		cut      bool
	}{
		{"lists inside each other, one a line", nested("-", 350), true},
		{"lists by tabs", strings.ReplaceAll(nested("*", 350), "    ", "\t"), true},
		{"lists in one line", strings.Repeat("1. ", 40_000) + "\n", true},
		{"lists of two markers", strings.Repeat("- * ", 20_000) + "\n", true},
		{"quotes", strings.Repeat(strings.Repeat("> ", 31)+"x\n", 2_000), false},
		{"brackets", strings.Repeat(strings.Repeat("[", 3_900)+"\n\n", 30), false},
		{"emphasis", strings.Repeat(strings.Repeat("*a ", 3_900)+"\n\n", 10), false},
		{"code spans", strings.Repeat(strings.Repeat("`", 30)+" ", 4_000), true},
		{"comments", strings.Repeat("<!-- ", 20_000), true},
		{"references", strings.Repeat("[r]: /x\n[r]\n\n", 10_000), false},
		{"a long paragraph", strings.Repeat("a\n", 60_000), false},
		{"headings by underline", strings.Repeat("a\n-\n", 30_000), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := llms.Lint([]byte(good + "\n" + tt.in))
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > most {
				t.Errorf("allocated %d MB for %d kB, want at most %d", got>>20, len(tt.in)>>10, most>>20)
			}
			cut := false
			for _, i := range r.Issues {
				cut = cut || i.Code == "truncated"
			}
			if cut != tt.cut || r.Level != llms.LevelLinked {
				t.Errorf("truncated %v at level %d, want %v at %d", cut, r.Level, tt.cut, llms.LevelLinked)
			}
		})
	}
}
