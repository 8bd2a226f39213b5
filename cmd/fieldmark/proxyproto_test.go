package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// haproxyConfig forwards connections to TLS and to plain HTTP, with the headers of the PROXY
// protocol that HAProxy writes; it checks the health of one with a header too.
const haproxyConfig = `
defaults
  mode tcp
  timeout client 60s
  timeout server 60s
  timeout connect 5s
listen secure
  bind SECURE
  server s EDGE send-proxy-v2 proxy-v2-options crc32c,unique-id check check-send-proxy
listen plain
  bind PLAIN
  server s REDIRECTS send-proxy-v2
`

// TestHAProxy lets HAProxy forward connections: over each protocol, the edge logs the client
// that HAProxy names.
func TestHAProxy(t *testing.T) {
	t.Parallel()
	haproxy, err := exec.LookPath("haproxy")
	if err != nil { // Debian's is in a folder that not every PATH has
		if haproxy, err = exec.LookPath("/usr/sbin/haproxy"); err != nil {
			browsertest.Lacking(t, "HAProxy sends the PROXY protocol, and is missing (Debian: apt-get install haproxy)")
		}
	}
	dir, redirects, secure, plain := t.TempDir(), porttest.Address(t), porttest.Address(t), porttest.Address(t)
	p := start(t, dir, append([]string{"serve", "--tls-self-signed", "--http-listen", redirects,
		"--proxy-protocol", "127.0.0.0/8,::1/128", "--access-log", "access.log", "--access-log-ip", "full"},
		freePorts("var")...)...)
	address := strings.TrimPrefix(p.logged("serve", "listen"), "https://")
	config := strings.NewReplacer("SECURE", secure, "PLAIN", plain, "EDGE", address, "REDIRECTS", redirects).
		Replace(haproxyConfig)
	must(t, os.WriteFile(filepath.Join(dir, "haproxy.cfg"), []byte(config), 0o600))
	var out bytes.Buffer
	cmd := exec.Command(haproxy, "-db", "-f", filepath.Join(dir, "haproxy.cfg"))
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	})
	// HAProxy itself connects from another address.
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		transport := &http.Transport{Protocols: new(http.Protocols), DialContext: dialer.DialContext,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "localhost"}}
		transport.Protocols.SetHTTP1(protocol == "HTTP/1.1")
		transport.Protocols.SetHTTP2(protocol == "HTTP/2.0")
		client := &http.Client{Transport: transport, Timeout: time.Minute}
		waittest.Until(t, "the edge answers through HAProxy over "+protocol, func() bool {
			resp, err := client.Get("https://" + secure + "/status")
			if err != nil {
				return false
			}
			defer resp.Body.Close()
			_, err = io.Copy(io.Discard, resp.Body)
			return err == nil && resp.StatusCode == 200 && resp.Proto == protocol
		})
		transport.CloseIdleConnections()
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequest("GET", "http://"+plain+"/a", nil)
	must(t, err)
	req.Host = "localhost"
	resp, err := client.Do(req)
	must(t, err)
	resp.Body.Close()
	if want := fmt.Sprintf("https://localhost:%s/a",
		address[strings.LastIndexByte(address, ':')+1:]); resp.StatusCode !=
		308 || resp.Header.Get("Location") != want {
		t.Errorf("the plain listener: %d to %s, want 308 to %s", resp.StatusCode, resp.Header.Get("Location"), want)
	}
	client.CloseIdleConnections()
	if resp, err := client.Get("http://" + redirects + "/a"); err == nil {
		resp.Body.Close()
		t.Errorf("a connection without a header got %d", resp.StatusCode)
	}
	waittest.Until(t, "the metrics count one bad header", func() bool {
		_, _, text := ask(t, "GET", p.logged("serve", "debug")+"/metrics", "")
		return strings.Contains(text, "fieldmark_edge_proxy_headers_rejected_total 1\n")
	})
	p.stop()
	accessLog := readFile(t, dir, "access.log")
	for _, protocol := range []string{"h1s", "h2"} {
		if want := `"path":"/status","protocol":"` + protocol; !strings.Contains(accessLog, want) {
			t.Errorf("the access log lacks %s:\n%s", want, accessLog)
		}
	}
	for line := range strings.Lines(accessLog) {
		if strings.Contains(line, `"path":"/status"`) && !strings.Contains(line, `"address":"127.0.0.2"`) {
			t.Errorf("another client than HAProxy's is logged: %s", line)
		}
	}
}

// TestAccessLog rotates the access log of a node by SIGHUP. The requests come over HTTP/3.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, append([]string{"serve", "--tls-self-signed", "--access-log", "access.log",
		"--access-log-format", "combined",
		"--access-log-ip", "none"}, freePorts("var")...)...)
	base := p.logged("serve", "listen")
	client := http3Client(t, readCertificate(t, dir))
	get := func(path string) {
		resp, err := client.Get(base + path)
		must(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		must(t, err)
		resp.Body.Close()
	}
	get("/nowhere?before")
	waittest.Until(t, "the request is logged", func() bool { return readFile(t, dir, "access.log") != "" })
	must(t, os.Rename(filepath.Join(dir, "access.log"), filepath.Join(dir, "old.log")))
	must(t, p.cmd.Process.Signal(syscall.SIGHUP))
	waittest.Until(t, "the log is opened again", func() bool {
		_, err := os.Stat(filepath.Join(dir, "access.log"))
		return err == nil
	})
	get("/elsewhere")
	p.stop()
	for file, want := range map[string]string{"old.log": `"GET /nowhere HTTP/3.0" 404 `,
		"access.log": `"GET /elsewhere HTTP/3.0" 404 `} {
		if text := readFile(t, dir, file); strings.Count(text, "\n") != 1 || !strings.Contains(text, want) ||
			!strings.HasPrefix(text, "- - - [") {
			t.Errorf("%s holds %q, want a line with %s", file, text, want)
		}
	}
}
