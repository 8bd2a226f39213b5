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

// TestReadmeBlocks runs the blocks of the README that call the API, in the order
// printed and with nothing filled in but the addresses.
func TestReadmeBlocks(t *testing.T) {
	w := newWorld(t, nil)
	server := httptest.NewServer(w.handler)
	defer server.Close()
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) }))
	defer receiver.Close()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	script := "set -eu -o pipefail\ncurl() { command curl -sS --fail-with-body \"$@\"; }\n"
	blocks := 0
	for _, part := range strings.Split(string(readme), "```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		if strings.HasPrefix(block, "API=") || strings.HasPrefix(block, "HOOKS=") {
			script += block + "\n"
			blocks++
		}
	}
	if blocks != 2 {
		t.Fatalf("%d blocks of the README call the API, want 2", blocks)
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
