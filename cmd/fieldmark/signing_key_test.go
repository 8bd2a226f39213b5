package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestSigningKeys rotates and retires the keys of the auditor by command. The edge caches the
// key directory, drops it at each change, and shows the page about the crawler.
func TestSigningKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	admin := newKey(t, dir, "admin:*")
	p := start(t, dir, append([]string{"serve", "--base-url", "https://marks.example"}, freePorts("var")...)...)
	defer p.stop()
	base := p.logged("serve", "listen")
	const path = "/.well-known/http-message-signatures-directory"
	published := func() (ids []string) {
		status, head, body := ask(t, "GET", base+path, "")
		var set struct {
			Keys []struct{ Kid, X string }
		}
		if err := json.Unmarshal([]byte(body), &set); err != nil || status != 200 {
			t.Fatalf("directory: %d %s", status, body)
		}
		if head.Get("Content-Type") != "application/http-message-signatures-directory+json" ||
			head.Get("Cache-Control") != "public, max-age=3600" || head.Get("ETag") == "" ||
			!strings.Contains(head.Get("Signature-Input"), `("@authority";req "content-digest")`) {
			t.Errorf("directory with fields %v", head)
		}
		for _, k := range set.Keys {
			ids = append(ids, k.Kid)
		}
		return ids
	}
	command := func(args ...string) string {
		t.Helper()
		status, out, why := runInProcess(t,
			append([]string{"signing-key", args[0], "--url", base, "--admin-key", admin},
				args[1:]...)...)
		if status != 0 {
			t.Fatalf("signing-key %q: status %d: %s", args, status, why)
		}
		return out
	}
	var first []string
	waittest.Until(t, "there is a key", func() bool {
		status, _, _ := ask(t, "GET", base+path, "")
		return status == 200
	})
	waittest.Until(t, "the edge caches the directory", func() bool {
		first = published()
		_, head, _ := ask(t, "GET", base+path, "")
		return strings.Contains(head.Get("Cache-Status"), "hit")
	})
	if status, _, body := ask(t, "HEAD", base+path, ""); status != 200 || body != "" {
		t.Errorf("HEAD: %d %q", status, body)
	}
	if out := command("show"); len(first) != 1 || !strings.Contains(out, first[0]+"  active") ||
		!strings.Contains(out, "https://marks.example"+path) {
		t.Errorf("published %q, shown:\n%s", first, out)
	}
	if out := command("rotate"); !strings.Contains(out, "  next") {
		t.Errorf("rotated:\n%s", out)
	}
	var both []string
	waittest.Until(t, "the edge has the new key", func() bool {
		both = published()
		return len(both) == 2 && both[0] == first[0]
	})
	if out := command("retire", "--", first[0]); strings.Contains(out, first[0]) ||
		!strings.Contains(out, both[1]+"  active") {
		t.Errorf("retired %s:\n%s", first[0], out)
	}
	waittest.Until(t, "the edge dropped the retired key", func() bool {
		left := published()
		return len(left) == 1 && left[0] == both[1]
	})
	if status, _, why := runInProcess(t, "signing-key", "retire", "nobody", "--url", base, "--admin-key",
		admin); status != 1 || !strings.Contains(why, "there is no such signing key") {
		t.Errorf("retire an unknown key: status %d %s", status, why)
	}
	_, _, log := ask(t, "GET", base+"/api/admin/v1/audit-log", "", "Authorization", "Bearer "+admin)
	for _, act := range []string{"signing_key.rotate", "signing_key.retire"} {
		if !strings.Contains(log, act) {
			t.Errorf("no %s in the audit log: %s", act, log)
		}
	}
	if _, _, page := ask(t, "GET", base+"/bot", ""); !strings.Contains(page,
		"FieldmarkBot/1.0 (+https://marks.example/bot)") || !strings.Contains(page, "https://marks.example"+path) {
		t.Errorf("the page about the crawler:\n%s", page)
	}
}
