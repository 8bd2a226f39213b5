package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// TestWebhookCommands manages endpoints as an operator would, and forwards messages as
// a developer would.
func TestWebhookCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	admin := newKey(t, dir, "admin:*")
	var got atomic.Int64
	var bearer atomic.Value
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Add(1)
		bearer.Store(r.Header.Get("Authorization"))
		io.WriteString(w, "thanks")
	}))
	defer receiver.Close()
	p := start(t, dir, append([]string{"serve", "--public-api", "--allow-networks", "127.0.0.0/8"},
		freePorts("var")...)...)
	base := p.logged("serve", "listen")
	command := func(args ...string) string {
		t.Helper()
		return runOnce(t, dir, append([]string{"webhook"}, append(args, "--url", base, "--admin-key", admin)...)...)
	}
	id := regexp.MustCompile(`whk_\w+`).FindString(command("create", receiver.URL+"/hook", "--signing", "v1a",
		"--header", "X-Tenant=7"))
	if list := command("list"); id == "" || !strings.Contains(list, id) || !strings.Contains(list, "enabled") {
		t.Errorf("list after create of %q:\n%s", id, list)
	}
	auth := filepath.Join(t.TempDir(), "auth.json")
	must(t, os.WriteFile(auth, []byte(`{"kind":"bearer","token":"s3cret"}`), 0o600))
	edited := command("edit", id, "--auth", auth, "--retry", "5,60", "--rate-limit", "20", "--ordering", "mission",
		"--to", receiver.URL+"/there", "--drop-headers")
	for _, part := range []string{`"kind": "bearer"`, `"rateLimit": 20`, `"ordering": "mission"`, "/there", `60`} {
		if !strings.Contains(edited, part) || strings.Contains(edited, "s3cret") ||
			strings.Contains(edited, "X-Tenant") {
			t.Errorf("edited, want %s, no token and no header:\n%s", part, edited)
		}
	}
	if said := command("test", id); bearer.Load() != "Bearer s3cret" || !strings.Contains(said, "accepted") ||
		!strings.Contains(said, "thanks") {
		t.Errorf("test said:\n%s", said)
	}
	if said := command("pause", id, "--reason", "we move"); !strings.Contains(said, "paused") ||
		!strings.Contains(command("list"), "we move") {
		t.Errorf("pause said:\n%s", said)
	}
	key := "Bearer " + newKey(t, dir, "mission:create")
	for _, n := range []string{"1", "2"} {
		if status, _, body := ask(t, "POST", base+"/api/public/v1/missions", missionJSON(n), "Authorization",
			key); status != 201 {
			t.Fatalf("open: %d %s", status, body)
		}
	}
	if said := command("deliveries", id); strings.Count(said, "held") != 2 {
		t.Errorf("while paused:\n%s", said)
	}
	if said := command("enable", id, "--held", "deliver"); !strings.Contains(said, "enabled") {
		t.Errorf("enable said:\n%s", said)
	}
	waittest.Until(t, "what was held has arrived",
		func() bool { return strings.Count(command("deliveries", id), "mission.created  done") == 2 })
	if said := command("resend", id, "--after-event", "0"); !strings.Contains(said, "queued 2") {
		t.Errorf("resend said:\n%s", said)
	}
	waittest.Until(t, "it has arrived again", func() bool { return got.Load() == 5 })
	if said := command("rotate", id, "--signing", "v1"); !strings.Contains(said, webhook.SecretPrefix) {
		t.Errorf("rotate said:\n%s", said)
	}
	command("delete", id)
	// An empty variable results in such an address.
	if status, _, body := ask(t, "POST", base+"/api/public/v1/webhooks//test", "", "Authorization",
		key); status != 404 || !strings.Contains(body, `"not_found"`) {
		t.Errorf("an address with an empty part: %d %s; want a problem", status, body)
	}

	passed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("webhook-signature") == "" {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer passed.Close()
	listener := start(t, dir, "webhook", "listen", "--forward", passed.URL, "--count", "1", "--url", base,
		"--admin-key", admin)
	listener.waitFor("listening as")
	if status, _, body := ask(t, "POST", base+"/api/public/v1/missions", missionJSON("3"), "Authorization",
		key); status != 201 {
		t.Fatalf("open: %d %s", status, body)
	}
	listener.waitFor("forwarded: 200")
	p.stop()
}
