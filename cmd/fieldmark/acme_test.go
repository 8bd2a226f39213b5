package main

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/acmetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestACMESettings checks that settings of orders that are incomplete or contradict each other
// end the program with the status of a wrong command line, and say what to add.
func TestACMESettings(t *testing.T) {
	for args, want := range map[string]string{
		"--domain marks.example":                        "add --acme EMAIL",
		"--acme you@example.org":                        "add --domain NAME",
		"--acme you --domain marks.example":             "must be an e-mail address",
		"--acme you@example.org --domain *.example":     "wildcards need DNS challenges",
		"--acme you@example.org --domain a.example:443": "must be a host name",
		"--acme you@example.org --domain a.example --acme-staging --acme-directory https://ca.example/dir": "set one",
		"--acme you@example.org --domain a.example --acme-eab-kid x":                                       "set both",
		"--acme you@example.org --domain a.example --tls-cert a.pem --tls-key b.pem": "--tls-cert and --acme are two " +
			"sources of certificates",
		"--tls-from-origin --tls-self-signed":            "two sources of certificates",
		"--tls-state x --tls-cert a.pem --tls-key b.pem": "--tls-state keeps the certificates of the origin",
	} {
		all := append([]string{"serve"}, freePorts(t.TempDir())...)
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), append(all, strings.Fields(args)...), strings.NewReader(""), &stdout, &stderr)
		if printed := stdout.String() + stderr.String(); status != 2 || !strings.Contains(printed, want) {
			t.Errorf("%s: status %d, want 2 and %q in\n%s", args, status, want, printed)
		}
	}
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), []string{"edge", "--tls-from-origin", "--listen", "127.0.0.1:0", "--debug-listen",
		"127.0.0.1:0"}, strings.NewReader(""), &stdout, &stderr)
	if status != 2 || !strings.Contains(stderr.String(), "--tls-from-origin needs FIELDMARK_NODE_TOKEN") {
		t.Errorf("an edge without a token: status %d\n%s", status, stderr.String())
	}
}

// TestImpliedSettings checks which settings the short command line of a production node implies.
func TestImpliedSettings(t *testing.T) {
	for _, c := range []struct{ listen, base, plain, wantBase, wantPlain string }{
		{":443", "", "", "https://marks.example", ":80"},
		{"192.0.2.1:443", "", "", "https://marks.example", "192.0.2.1:80"},
		{"[::]:443", "https://www.example", "", "https://www.example", "[::]:80"},
		{":443", "", "none", "https://marks.example", "none"},
		{":8443", "", "", "https://marks.example:8443", ""},
		{"systemd:edge", "", "", "https://marks.example", ""},
	} {
		a := acmeSettings{ACME: "you@example.org", Domain: []string{"marks.example"}}
		e := edgeSettings{Listen: c.listen, BaseURL: c.base, listenerSettings: listenerSettings{
			tlsSettings: tlsSettings{HTTPListen: c.plain}}}
		a.applyTo(&e)
		if e.BaseURL != c.wantBase || e.HTTPListen != c.wantPlain || !e.FromOrigin {
			t.Errorf("--listen %s: base %s, redirects from %q; want %s, %q", c.listen, e.BaseURL, e.HTTPListen,
				c.wantBase, c.wantPlain)
		}
	}
}

// TestACME starts a node that gets its certificate from a CA, restarts it, and manages the
// certificate from the command line.
func TestACME(t *testing.T) {
	ca := acmetest.New(t, 90*acmetest.Day)
	dir, listen, plain := t.TempDir(), ca.TLS.Addr().String(), ca.HTTP.Addr().String()
	for _, ln := range []net.Listener{ca.TLS, ca.HTTP} {
		must(t, ln.Close())
	}
	root := filepath.Join(dir, "ca.pem")
	must(t, os.WriteFile(root, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Server.Raw}), 0o600))
	args := []string{"serve", "--data", "var", "--listen", listen, "--http-listen", plain, "--origin-listen",
		"127.0.0.1:0",
		"--debug-listen", "127.0.0.1:0", "--acme", "you@example.org", "--domain", "marks.example", "--acme-directory",
		ca.Directory, "--acme-ca-root", root}
	serial := func() string {
		c, err := tls.Dial("tcp", listen, &tls.Config{ServerName: "marks.example", RootCAs: ca.Root})
		if err != nil {
			return ""
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Text(16)
	}
	p := start(t, dir, args...)
	waittest.Until(t, "the node has a certificate", func() bool { return serial() != "" })
	first := serial()
	p.stop()
	p = start(t, dir, args...)
	waittest.Until(t, "the node serves again", func() bool { return serial() == first })
	if n := ca.Orders(); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
	client := &http.Client{Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequest("GET", "http://"+plain+"/brands/acme", nil)
	must(t, err)
	req.Host = "marks.example"
	resp, err := client.Do(req)
	must(t, err)
	resp.Body.Close()
	_, port, _ := net.SplitHostPort(listen)
	if want := "https://marks.example:" + port + "/brands/acme"; resp.StatusCode != 308 ||
		resp.Header.Get("Location") != want {
		t.Errorf("redirect: %d to %s, want %s", resp.StatusCode, resp.Header.Get("Location"), want)
	}
	client.CloseIdleConnections()

	origin := p.logged("serve", "origin")
	key := newKeyAt(t, dir, nil, "admin:*")
	manage := func(args ...string) string {
		var stdout, stderr bytes.Buffer
		all := append([]string{"certificate"}, args...)
		if status := run(t.Context(), append(all, "--url", origin, "--admin-key", key), strings.NewReader(""), &stdout,
			&stderr); status != 0 {
			t.Errorf("%v: status %d, %s", args, status, stderr.String())
		}
		return stdout.String()
	}
	if list := manage("list"); !strings.Contains(list, "marks.example") || !strings.Contains(list, " 89 days") ||
		!strings.Contains(list, "orders: 1 of 10") {
		t.Errorf("certificate list:\n%s", list)
	}
	manage("renew", "marks.example")
	waittest.Until(t, "the certificate is renewed", func() bool { s := serial(); return s != "" && s != first })
	for _, want := range []string{`fieldmark_edge_certificate_days{name="marks.example"} `,
		`fieldmark_certificate_orders_total{result="issued"} 1`, "fieldmark_certificate_failing 0"} {
		waittest.Until(t, "the metrics have "+want, func() bool {
			_, _, metrics := ask(t, "GET", p.logged("serve", "debug")+"/metrics", "")
			return strings.Contains(metrics, want)
		})
	}
	manage("remove", "marks.example")
	waittest.Until(t, "the certificate is gone", func() bool { return serial() == "" })
	p.stop()
}
