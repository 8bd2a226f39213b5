package main

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestTLSSettings checks that settings of TLS that contradict each other end the program with
// the status of a wrong command line, and name the settings.
func TestTLSSettings(t *testing.T) {
	for args, want := range map[string]string{
		"--tls-cert a.pem":                   "set both --tls-cert and --tls-key",
		"--tls-key a.pem":                    "set both --tls-cert and --tls-key",
		"--hsts 24h":                         "--hsts is for an edge that serves TLS",
		"--http-listen 127.0.0.1:0":          "--http-listen redirects to https",
		"--tls-self-signed --listen [::]:0":  "--tls-self-signed is for development on this machine",
		"--tls-min 1.1 --tls-self-signed":    "--tls-min must be one of",
		"--tls-self-signed --tls-cert a.pem": "set both",
		"--access-log a.log --access-log-sample 2": "--access-log-sample: 2 is not a share; want a number from 0 " +
			"to 1",
		"--access-log a.log --access-log-sample NaN":  "--access-log-sample: NaN is not a share",
		"--access-log a.log --access-log-format text": "--access-log-format must be one of",
		"--proxy-protocol 10.0.0.1":                   "--proxy-protocol",
		"--protocols h2":                              "--protocols: h1 cannot be left out",
		"--protocols h1,spdy":                         `--protocols: "spdy" is not a protocol; known are h1, h2 and h3`,
		"--tls-self-signed --tls-cert a.pem --tls-key b.pem": "--tls-cert and --tls-self-signed are two sources of " +
			"certificates: set one",
	} {
		all := append([]string{"serve"}, freePorts(t.TempDir())...)
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), append(all, strings.Fields(args)...), strings.NewReader(""), &stdout, &stderr)
		if printed := stdout.String() + stderr.String(); status != 2 || !strings.Contains(printed, want) {
			t.Errorf("%s: status %d, want 2 and %q in\n%s", args, status, want, printed)
		}
	}
}

// TestSelfSigned starts a node with a development certificate and a listener that redirects
// to it.
func TestSelfSigned(t *testing.T) {
	t.Parallel()
	dir, plain := t.TempDir(), porttest.Address(t)
	p := start(t, dir, append([]string{"serve", "--tls-self-signed", "--tls-min", "1.3", "--hsts", "1h",
		"--http-listen", plain}, freePorts("var")...)...)
	base := p.logged("serve", "listen")
	address := strings.TrimPrefix(base, "https://")
	var state *tls.ConnectionState
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	var body string
	waittest.Until(t, "the node answers over TLS", func() bool {
		resp, err := client.Get("https://" + address + "/status")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		state, body = resp.TLS, string(raw)
		return err == nil && resp.Header.Get("Strict-Transport-Security") == "max-age=3600"
	})
	if state.Version != tls.VersionTLS13 || state.PeerCertificates[0].Subject.CommonName != "localhost" {
		t.Errorf("TLS %x, certificate of %s", state.Version, state.PeerCertificates[0].Subject)
	}
	if want := "https://" + address; !strings.Contains(body, want) {
		t.Errorf("the pages do not link to %s", want)
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Get("http://" + plain + "/brands/acme")
	must(t, err)
	resp.Body.Close()
	if want := "https://" + address + "/brands/acme"; resp.StatusCode != 308 || resp.Header.Get("Location") != want {
		t.Errorf("redirect: %d to %s, want %s", resp.StatusCode, resp.Header.Get("Location"), want)
	}
	client.CloseIdleConnections()
	p.stop()
}
