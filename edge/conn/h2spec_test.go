package conn_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestH2Spec runs the conformance tests of h2spec, which is pinned apart from go.mod, so
// that its dependencies are not ours.
func TestH2Spec(t *testing.T) {
	if testing.Short() {
		t.Skip("runs another program")
	}
	s := startServer(t, testConfig(), true)
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../../.ci/h2spec.mod", "h2spec", "--strict",
		"-t", "-k", "-o", "5", "-h", host, "-p", port).CombinedOutput()
	text := string(out)
	if !strings.Contains(text, " tests, ") {
		if os.Getenv("CI") == "" {
			t.Skipf("h2spec cannot be built here: %v: %.500s", err, text)
		}
		t.Fatalf("h2spec: %v: %s", err, text)
	}
	if !strings.Contains(text, "146 tests, 146 passed, 0 skipped, 0 failed") {
		_, failures, _ := strings.Cut(text, "Failures:")
		t.Errorf("%s\n%s", failures, text[strings.LastIndex(text, "\n")+1:])
	}
}
