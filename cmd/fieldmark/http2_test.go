package main

import (
	"crypto/x509"
	"encoding/json"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/demo"
	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
)

// TestProtocols checks what --protocols and --h2c offer, with curl as the client.
func TestProtocols(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		browsertest.Lacking(t, "HTTP/2 is spoken with curl, which is missing")
	}
	for _, tt := range []struct{ args, option, want string }{
		{"--tls-self-signed", "--http2", "2"},
		{"--tls-self-signed", "--http1.1", "1.1"},
		{"--tls-self-signed --protocols h1", "--http2", "1.1"},
		{"--h2c", "--http2-prior-knowledge", "2"},
		{"--h2c", "--http2", "1.1"}, // Upgrade: h2c, which is ignored
	} {
		p := start(t, t.TempDir(), append(append([]string{"serve"}, freePorts("var")...),
			strings.Fields(tt.args)...)...)
		base := p.logged("serve", "listen")
		for _, path := range []string{"/", "/api/v1/leaderboard", "/nowhere"} {
			out, err := exec.CommandContext(t.Context(), curl, "-sk", tt.option, "-o", "/dev/null", "-w",
				"%{http_version}",
				base+path).CombinedOutput()
			if err != nil || string(out) != tt.want {
				t.Errorf("%s: curl %s %s: HTTP/%s %v, want HTTP/%s", tt.args, tt.option, path, out, err, tt.want)
			}
		}
		p.stop()
	}
}

// TestBrowserOverHTTP2 loads the demo in a browser: everything comes over one HTTP/2
// connection, a hundred badges too.
func TestBrowserOverHTTP2(t *testing.T) {
	t.Parallel()
	testBrowserOver(t, "h2", func(*url.URL, *x509.Certificate) *browsertest.Browser { return browsertest.Start(t) })
}

// TestBrowserOverHTTP3 does the same over HTTP/3.
func TestBrowserOverHTTP3(t *testing.T) {
	t.Parallel()
	testBrowserOver(t, "h3", func(base *url.URL, cert *x509.Certificate) *browsertest.Browser {
		return browsertest.StartQUIC(t, base.Host, cert)
	})
}

func testBrowserOver(t *testing.T, want string, open func(*url.URL, *x509.Certificate) *browsertest.Browser) {
	dir := t.TempDir()
	p := start(t, dir, append([]string{"serve", "--demo", "--demo-listen", freeAddress(t), "--tls-self-signed"},
		freePorts("var")...)...)
	p.waitFor("All audits are done.")
	var access demo.Access
	must(t, json.Unmarshal([]byte(readFile(t, dir, "var", demo.AccessFile)), &access))
	base := access.BaseURL
	address, err := url.Parse(base)
	must(t, err)
	page := open(address, readCertificate(t, dir)).Open(t, base+"/", browsertest.View{})
	var protocol string
	page.Ask(t, "performance.getEntriesByType('navigation')[0].nextHopProtocol", &protocol)
	if protocol != want {
		t.Errorf("the page came over %s, want %s", protocol, want)
	}
	var loaded int
	page.Ask(t, `Promise.all([...Array(100).keys()].map(i => new Promise((done, failed) => {
		const img = new Image();
		img.onload = () => done(1); img.onerror = () => failed(new Error('badge ' + i));
		img.src = '/api/badge/alpenglow?x=' + i; document.body.append(img);
	}))).then(all => all.length)`, &loaded)
	var others []string
	page.Ask(t, `performance.getEntriesByType('resource').filter(e => e.nextHopProtocol != '`+want+`')
		.map(e => e.name + ' over ' + e.nextHopProtocol)`, &others)
	if loaded != 100 || len(others) > 0 {
		t.Errorf("%d badges were loaded; not over %s: %v", loaded, want, others)
	}
	for _, path := range []string{"/brands/alpenglow", "/methodology", "/developers", "/llms-txt", "/status",
		"/admin"} {
		page.Go(t, base+path)
	}
	if trouble := page.Trouble(); len(trouble) > 0 {
		t.Errorf("the browser reports %v", trouble)
	}
	p.stop()
}
