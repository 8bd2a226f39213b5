package api_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// TestDocumentedCalls runs the examples of the mission and webhook pages, in the
// order printed. Only the addresses are replaced.
func TestDocumentedCalls(t *testing.T) {
	w := newWorld(t, nil)
	server := httptest.NewServer(w.handler)
	defer server.Close()
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) }))
	defer receiver.Close()
	script := "set -eu -o pipefail\ncurl() { command curl -sS --fail-with-body \"$@\"; }\n"
	for page, start := range map[string]string{"missions.md": "API=", "webhooks.md": "HOOKS="} {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		_, block, _ := strings.Cut(string(text), "```sh\n"+start)
		block, _, found := strings.Cut(block, "\n```")
		if !found {
			t.Fatalf("%s has no block that starts with %s", page, start)
		}
		script += start + block + "\n"
	}
	script = strings.NewReplacer("http://127.0.0.1:8080", server.URL, "https://YOUR-RECEIVER/", strings.Replace(receiver.URL, "127.0.0.1", "localhost", 1)).Replace(script)
	c := exec.CommandContext(t.Context(), "bash", "-c", script)
	c.Env = append(os.Environ(), "KEY="+w.key(access.DefaultAccount, fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead, fieldmark.ScopeMissionUpdate,
		fieldmark.ScopeMissionCancel, fieldmark.ScopeMissionOperate, fieldmark.ScopeWebhookManage))
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v after\n%s", err, said)
	}
	w.wantOpened("demo", "NEW MEDIUM Replace a fan", "CANCELED HIGH Swap the disk")
}
