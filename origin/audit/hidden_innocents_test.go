package audit_test

import (
	"os"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit"
)

// minInnocents is the number of patterns that the file of innocents has at least.
const minInnocents = 49

// TestHiddenInnocents: what honest sites hide is no suspicion. The patterns are written after
// the sources of the systems that are named.
func TestHiddenInnocents(t *testing.T) {
	src, err := os.ReadFile("testdata/hidden.txt")
	if err != nil {
		t.Fatal(err)
	}
	patterns := strings.Split("\n"+string(src), "\n-- ")[1:]
	if len(patterns) < minInnocents {
		t.Errorf("%d patterns, want at least %d", len(patterns), minInnocents)
	}
	for _, pattern := range patterns {
		name, body, _ := strings.Cut(pattern, " --\n")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reportOf(t, visiblePage("", body).serve(t, 0), audit.Subject{URL: home})
			if len(r.Suspicions) > 0 {
				t.Errorf("accused: %+v", r.Suspicions)
			}
		})
	}
}
