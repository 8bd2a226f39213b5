package conn_test

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
)

// tool returns the path of a program that others wrote.
func tool(t testing.TB, name, debianPackage string) string {
	t.Helper()
	for _, dir := range []string{"", "/usr/sbin/"} { // Debian keeps servers out of the PATH
		if path, err := exec.LookPath(dir + name); err == nil {
			return path
		}
	}
	browsertest.Lacking(t, "%s is missing (Debian: apt-get install %s)", name, debianPackage)
	return ""
}

// runTool runs a program and returns its output; its status must be 0.
func runTool(t testing.TB, path string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(path), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestH2load lets h2load send requests with tables and windows of all sizes: each is
// answered, and no byte of the responses is lost.
func TestH2load(t *testing.T) {
	h2load := tool(t, "h2load", "nghttp2-client")
	s := startServer(t, testConfig(), true)
	for _, tt := range []struct {
		path string
		size int // of the body
		n    int
		args string
	}{
		{"/api/badge/acme", len(badgeBody), 20_000, "-c 20 -m 10"},
		{"/api/badge/acme", len(badgeBody), 2000, "-c 2 -m 100 --header-table-size=0 --encoder-header-table-size=0"},
		{"/api/badge/acme", len(badgeBody), 2000,
			"-c 2 -m 100 --header-table-size=65536 --encoder-header-table-size=65536"},
		{"/api/badge/acme", len(badgeBody), 2000, "-c 2 -m 10 -w 10 -W 12"},
		{"/api/badge/acme", len(badgeBody), 1, "-c 1 -m 1 -w 1"}, // a frame for each byte
		{"/api/badge/miss", len("hello /api/badge/miss"), 1000, "-c 4 -m 50"},
		{"/large/100000", 100_000, 200, "-c 2 -m 20 -w 30 -W 30"},
		{"/large/100000", 100_000, 50, "-c 2 -m 5 -w 12 -W 14"},
	} {
		out := runTool(t, h2load, append(strings.Fields(tt.args), "-n", fmt.Sprint(tt.n),
			"https://"+s.addr+tt.path)...)
		done := fmt.Sprintf("%d total, %d started, %d done, %d succeeded, 0 failed, 0 errored, 0 timeout", tt.n, tt.n,
			tt.n, tt.n)
		if !strings.Contains(out, done) || !strings.Contains(out, fmt.Sprintf("(%d) data", tt.n*tt.size)) {
			t.Errorf("h2load %s %s: want %q and %d bytes in\n%s", tt.args, tt.path, done, tt.n*tt.size, out)
		}
	}
}

// TestNghttp sends with nghttp what browsers do not: continuations, padding,
// trailers, priorities of RFC 7540.
func TestNghttp(t *testing.T) {
	nghttp := tool(t, "nghttp", "nghttp2-client")
	s := startServer(t, testConfig(), true)
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, bytes.Repeat([]byte("0123456789"), 30_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, args, want string }{
		{"/api/badge/acme", "", ":status: 200"},
		{"/api/badge/miss", "--padding=255 --weight=7", ":status: 200"},
		{"/count", "--data=" + file, ":status: 200"},
		{"/count", "--data=" + file + " --padding=10 --trailer=x:y", ":status: 200"},
		{"/count", "--data=" + file + " --expect-continue", ":status: 100"},
		{"/x", "--continuation", ":status: 431"}, // 32 KiB of fields
		{"/x", "-m 50", ":status: 200"},
		{"/x", "--header-table-size=0 -H:method:HEAD", ":status: 200"},
	} {
		out := runTool(t, nghttp, append(strings.Fields(tt.args), "-vny", "https://"+s.addr+tt.path)...)
		if !strings.Contains(out, tt.want) || strings.Contains(out, "RST_STREAM") {
			t.Errorf("nghttp %s %s: want %q and no RST_STREAM in\n%s", tt.args, tt.path, tt.want, out)
		}
	}
}

// TestPythonH2 runs testdata/h2_client.py: python3-h2 checks every frame of the server.
func TestPythonH2(t *testing.T) {
	const python = "/usr/bin/python3" // the interpreter that has Debian's packages
	if out, err := exec.Command(python, "-c", "import h2").CombinedOutput(); err != nil {
		browsertest.Lacking(t, "python3-h2 is missing (Debian: apt-get install python3-h2): %v %s", err, out)
	}
	s := startServer(t, testConfig(), true)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.cert.Certificate[0]}),
		0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(s.addr)
	t.Log(runTool(t, python, "testdata/h2_client.py", port, roots, testHost))
}

// TestHAProxy puts HAProxy in front, which forwards every request over HTTP/2
// without TLS.
func TestHAProxy(t *testing.T) {
	haproxy := tool(t, "haproxy", "haproxy")
	s := startServer(t, testConfig(), false)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	socket, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	config := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(config, []byte(`
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 60s
frontend f
  bind fd@3
  default_backend b
backend b
  server s `+s.addr+` proto h2
`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(haproxy, "-db", "-f", config)
	var said bytes.Buffer
	cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = []*os.File{socket}, &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("HAProxy: %s", said.Bytes())
		}
	}()
	c := &http.Client{Timeout: 2 * time.Minute}
	defer c.CloseIdleConnections()
	send := func(path, body, want string) error {
		req, err := http.NewRequest("POST", "http://"+ln.Addr().String()+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		if body == "" {
			req.Method, req.Body = "GET", nil
		}
		req.Host = testHost
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || string(got) != want {
			return fmt.Errorf("%s: %s, %.100q, want %.100q: %w", path, resp.Status, got, want, err)
		}
		return nil
	}
	large := strings.Repeat("0123456789", 50_000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				for _, err := range []error{send("/api/badge/acme", "", string(badgeBody)),
					send("/x", "", "hello /x"), send("/echo", "small", "small")} {
					if err != nil {
						t.Error(err)
						return
					}
				}
			}
			if err := send("/echo", large, large); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := send("/stream", "", "data: 0\n\ndata: 1\n\ndata: 2\n\n"); err != nil {
		t.Error(err)
	}
	var metrics bytes.Buffer
	s.WriteMetrics(&metrics)
	if want := fmt.Sprintf("fieldmark_edge_protocol_requests_total{proto=\"h2\"} %d\n", 8*151+1); !strings.Contains(
		metrics.String(), want) {
		t.Errorf("want %s in\n%s", want, metrics.String())
	}
}

// TestSSLScan lets sslscan list what a server offers.
func TestSSLScan(t *testing.T) {
	sslscan := tool(t, "sslscan", "sslscan")
	s := startServer(t, testConfig(), true)
	out := runTool(t, sslscan, "--no-colour", "--sni-name="+testHost, s.addr)
	suites := 0
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 5 || words[0] != "Preferred" && words[0] != "Accepted" {
			continue
		}
		suites++
		// TLS 1.3 has authenticated suites only; of TLS 1.2, those that HTTP/2 allows (RFC 9113, 9.2.2).
		if suite := words[4]; words[1] != "TLSv1.3" && (words[1] != "TLSv1.2" || !strings.HasPrefix(suite, "ECDHE-") ||
			!strings.Contains(suite, "GCM") && !strings.Contains(suite, "CHACHA20-POLY1305")) {
			t.Errorf("%s offers %s", words[1], suite)
		}
	}
	if suites == 0 {
		t.Errorf("no suites in\n%s", out)
	}
	for _, want := range []string{"TLSv1.0   disabled", "TLSv1.1   disabled", "TLSv1.2   enabled", "TLSv1.3   enabled",
		"Session renegotiation not supported"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
}
