package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// readCertificate reads the development certificate of a node.
func readCertificate(t testing.TB, dir string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(readFile(t, dir, "var", "localhost.pem")))
	cert, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	return cert
}

// http3Client returns a client of HTTP/3 that trusts a certificate.
func http3Client(t testing.TB, cert *x509.Certificate) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	transport := &http3.Transport{TLSClientConfig: &tls.Config{RootCAs: roots},
		QUICConfig: &quic.Config{HandshakeIdleTimeout: waittest.Limit}}
	t.Cleanup(func() { transport.Close() })
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// TestHTTP3 checks that a node with TLS serves HTTP/3 at its own port, says so over the other
// protocols, and does not without TLS.
func TestHTTP3(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The node listens at one port with both protocols.
	serve := []string{"serve", "--data", "var", "--listen", porttest.Address(t), "--origin-listen", "127.0.0.1:0",
		"--debug-listen", "127.0.0.1:0"}
	p := start(t, dir, append(serve, "--tls-self-signed")...)
	base := p.logged("serve", "listen")
	cert := readCertificate(t, dir)
	client := http3Client(t, cert)
	resp, err := client.Get(base + "/status")
	must(t, err)
	resp.Body.Close()
	address, err := url.Parse(base)
	must(t, err)
	want := `h3=":` + address.Port() + `"; ma=86400`
	if got := resp.Header.Get("Alt-Svc"); resp.StatusCode != 200 || resp.ProtoMajor != 3 || got != want {
		t.Errorf("over HTTP/3: %s %s, Alt-Svc %q, want %q", resp.Proto, resp.Status, got, want)
	}
	over := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err = over.Get(base + "/status")
	must(t, err)
	resp.Body.Close()
	if got := resp.Header.Get("Alt-Svc"); got != want {
		t.Errorf("over HTTP/1.1: Alt-Svc %q, want %q", got, want)
	}
	out, _ := exec.Command(program(t), "edge", "--node-token", strings.Repeat("n", minSecret), "--tls-self-signed",
		"--listen", "127.0.0.1:0", "--debug-listen", "127.0.0.1:0", "--quic-listen", address.Host).CombinedOutput()
	if !strings.Contains(string(out), "--quic-listen: listen udp "+address.Host) {
		t.Errorf("a UDP port in use: %s", out)
	}
	p.stop()

	p = start(t, dir, serve...)
	address, err = url.Parse(p.logged("serve", "listen"))
	must(t, err)
	pc, err := net.ListenPacket("udp", address.Host)
	if err != nil {
		t.Errorf("a node without TLS has a UDP port: %v", err)
	} else {
		pc.Close()
	}
	p.stop()
}

// TestInheritedDatagramSocket passes a stream socket and a datagram socket of one name, as a
// service manager does, and keeps both open over a restart: a connection from before it is
// reset, and the client reaches the new process.
func TestInheritedDatagramSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ln, err := net.Listen("tcp", porttest.Address(t))
	must(t, err)
	stream, err := ln.(*net.TCPListener).File()
	must(t, err)
	pc, err := net.ListenPacket("udp", ln.Addr().String())
	must(t, err)
	datagram, err := pc.(*net.UDPConn).File()
	must(t, err)
	must(t, ln.Close())
	must(t, pc.Close())
	run := func() *process {
		cmd := exec.Command("sh",
			append([]string{"-c", `LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=edge:edge exec "$@"`, "sh", program(t),
				"serve"}, "--listen", "systemd:edge", "--data", "var", "--origin-listen", "127.0.0.1:0",
				"--debug-listen", "127.0.0.1:0", "--tls-self-signed")...)
		cmd.ExtraFiles = []*os.File{datagram, stream}
		return startCommand(t, dir, cmd)
	}
	p := run()
	base := p.logged("serve", "listen")
	client := http3Client(t, readCertificate(t, dir))
	get := func() error {
		resp, err := client.Get(base + "/status")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	must(t, get())
	p.kill()
	p = run()
	p.logged("serve", "listen")
	waittest.Until(t, "the client reaches the new process", func() bool { return get() == nil })
	p.stop()
	datagram.Close()
	stream.Close()
}
