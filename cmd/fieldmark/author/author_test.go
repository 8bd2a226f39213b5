package author

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain also runs the test binary as the process that TestLimits limits.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"exhaust": exhaust})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, elem ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(elem...))
	must(t, err)
	return string(raw)
}
