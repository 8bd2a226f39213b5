package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// newSite returns the address of a website of one page.
func newSite(t *testing.T) string {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html><html lang=en><title>Acme makes anvils</title><h1>Acme</h1>")
	}))
	t.Cleanup(site.Close)
	return site.URL
}

// TestDisputeCommands opens disputes and a claim through an edge, and decides them from the
// command line.
func TestDisputeCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site := newSite(t)
	admin := newKey(t, dir, "admin:*")
	p := start(t, dir, append([]string{"serve", "--allow-networks", "127.0.0.0/8", "--audit-delay", "1ms"},
		freePorts("var")...)...)
	base := p.logged("serve", "listen")
	run := func(want string, args ...string) string {
		t.Helper()
		got := runOnce(t, dir, append(args, "--url", base, "--admin-key", admin)...)
		if !strings.Contains(got, want) {
			t.Errorf("fieldmark %s prints %q, want %q", strings.Join(args, " "), got, want)
		}
		return got
	}
	run("acme is registered", "brand", "add", "Acme", site)
	waittest.Until(t, "acme has a page", func() bool {
		status, _, body := ask(t, "GET", base+"/brands/acme", "")
		return status == 200 && strings.Contains(body, "Audited")
	})
	run("next audit: 20", "brand", "show", "acme")

	open := func(signal string) (id, at string) {
		t.Helper()
		status, header, body := ask(t, "POST", base+fieldmark.PathBrands+"acme/disputes",
			`{"signal":"`+signal+`","kind":"outdated","text":"We changed that on Monday.","email":"ann@acme.example"}`)
		var d fieldmark.DisputeStatus
		if status != http.StatusCreated || json.Unmarshal([]byte(body), &d) != nil {
			t.Fatalf("open a dispute of %s: %d %s", signal, status, body)
		}
		return d.ID, header.Get("Location")
	}
	one, at := open("extract.headings")
	two, _ := open("access.https")
	run(one, "brand", "show", "acme")
	if list := run(one, "brand", "dispute", "list", "--brand", "acme"); !strings.Contains(list, two) {
		t.Errorf("the list has no %s: %s", two, list)
	}
	run("ann@acme.example", "brand", "dispute", "show", one)
	run("is upheld", "brand", "dispute", "uphold", one, "--answer", "You are right.")
	run("is rejected", "brand", "dispute", "reject", two, "--answer", "It does not redirect.")
	run(one, "brand", "dispute", "list", "--state", "upheld")
	if list := run("", "brand", "dispute", "list"); list != "" {
		t.Errorf("open disputes after the decisions: %s", list)
	}
	status, _, body := ask(t, "GET", base+at, "")
	if status != 200 || !strings.Contains(body, "You are right.") {
		t.Errorf("state of the first: %d %s", status, body)
	}
	if status, _, body = ask(t, "GET", base+"/brands/acme/contest?dispute="+one, ""); status != 200 ||
		!strings.Contains(body, "You are right.") {
		t.Errorf("page of the first: %d %s", status, body)
	}

	status, _, body = ask(t, "POST", base+fieldmark.PathClaims, `{"url":"https://anvils.example/"}`)
	var opened fieldmark.NewClaim
	if status != http.StatusCreated || json.Unmarshal([]byte(body), &opened) != nil {
		t.Fatalf("open a claim: %d %s", status, body)
	}
	run(opened.ID+"  pending", "brand", "claim", "list", "--state", "pending")
	run(`"https://anvils.example/"`, "brand", "claim", "show", opened.ID)
	run("is revoked", "brand", "claim", "revoke", opened.ID, "--reason", "a test")
	if list := run("", "brand", "request", "list"); list != "" {
		t.Errorf("requests of owners: %s", list)
	}
	for _, args := range [][]string{{"brand", "claim", "list", "--state", "open"},
		{"brand", "dispute", "list", "--state", "pending"}} {
		bad := start(t, dir, append(args, "--url", base, "--admin-key", admin)...)
		<-bad.done
		if err := bad.cmd.Wait(); bad.cmd.ProcessState.ExitCode() != 2 || !strings.Contains(bad.printed(), "--state") {
			t.Errorf("%v: %v, exit status %d: %s; want 2 and the flag", args, err, bad.cmd.ProcessState.ExitCode(),
				bad.printed())
		}
	}
	p.stop()
	runOnce(t, dir, "db", "check", "--data", "var")
}
