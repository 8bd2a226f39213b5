package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCDN manages a CDN by command, in a network that only the setting opens: it is tested, purged of
// what an administrator purges at the edges, shown in the metrics, and removed.
func TestCDN(t *testing.T) {
	t.Parallel()
	purged := make(chan string, 100)
	cdn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || r.Header.Get("Token") != "s3cret" {
			w.WriteHeader(http.StatusForbidden)
		} else {
			purged <- string(body)
		}
	}))
	t.Cleanup(cdn.Close)
	dir := t.TempDir()
	admin := newKey(t, dir, "admin:*")
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, append([]string{"serve", "--cdn-networks", "127.0.0.0/8"}, freePorts("var")...)...)
	defer p.stop()
	base := p.logged("serve", "listen")
	command := func(want int, args ...string) string {
		t.Helper()
		status, out, why := runInProcess(t, append(args, "--url", base, "--admin-key", admin)...)
		if status != want {
			t.Fatalf("%q: status %d, want %d: %s %s", args, status, want, out, why)
		}
		return out + why
	}
	add := []string{"cdn", "add", "front", "--kind", "template", "--at", cdn.URL, "--header", "Token={token}",
		"--body", "{keys}"}
	command(0, append(add, "--token-file", token)...)
	if out := command(0, "cdn", "test", "front"); !strings.Contains(out, "front accepts purges") ||
		<-purged != "fieldmark-test" {
		t.Errorf("test: %s", out)
	}
	command(0, "purge", "--tag", "brand:acme")
	for range 2 {
		if keys := <-purged; keys != "brand-acme,board" {
			t.Errorf("purged %s, want brand-acme,board", keys)
		}
	}
	if out := command(0, "cdn", "purge", "front"); !strings.Contains(out, "everything was purged") ||
		<-purged != "all" {
		t.Errorf("purge: %s", out)
	}
	if out := command(0, "cdn", "list"); !strings.Contains(out, "front") || !strings.Contains(out, "active") ||
		strings.Contains(out, "s3cret") {
		t.Errorf("list: %s", out)
	}
	_, _, metrics := ask(t, "GET", p.logged("serve", "debug")+"/metrics", "")
	for _, want := range []string{`fieldmark_cdn_lag_seconds{cdn="front"} `,
		`fieldmark_cdn_state{cdn="front",state="active"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	command(0, "cdn", "remove", "front")
	command(1, "cdn", "test", "front")
	_, _, log := ask(t, "GET", base+"/api/admin/v1/audit-log", "", "Authorization", "Bearer "+admin)
	for _, action := range []string{"cdn.created", "cdn.tested", "cdn.purged", "cdn.deleted"} {
		if !strings.Contains(log, action) || strings.Contains(log, "s3cret") {
			t.Errorf("no %s in the audit log, or the token: %s", action, log)
		}
	}
}
