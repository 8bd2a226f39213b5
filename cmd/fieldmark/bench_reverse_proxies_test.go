package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/edge/conn/certs"
)

// benchRequests is the number of requests of a measurement: with fewer, the handshakes count.
const benchRequests = 60_000

// testedServer is a server under load over TLS.
type testedServer struct {
	name, url string
	pid       int
	h1        bool // HTTP/1.1 over TLS
	plain     bool // HTTP/1.1
}

// BenchmarkReverseProxies measures servers over HTTP/2, each in a separate process, in turns and under
// the same load: processor time per request, for 64 connections with 10 streams and with 1.
// h2load sends the requests; what is not installed is left out.
//
//	go test ./cmd/fieldmark -run '^$' -bench ReverseProxies -benchtime 3x
func BenchmarkReverseProxies(b *testing.B) {
	h2load, err := exec.LookPath("h2load")
	if err != nil {
		b.Skip("h2load is not installed (Debian: apt-get install nghttp2-client)")
	}
	dir := b.TempDir()
	admin, token := newKey(b, dir, "admin:*"), strings.Repeat("n", minSecret)
	origin := start(b, dir, append([]string{"serve", "--node-token", token}, freePorts("var")...)...)
	slugs := importBrands(b, origin.logged("serve", "listen"), admin)
	secured := startEdge(b, origin.logged("serve", "origin"), token, "--tls-self-signed")
	unsecured := startEdge(b, origin.logged("serve", "origin"), token)
	badge, miss := "/api/badge/"+slugs[0], "/api/v1/score/"+slugs[0]
	base, plain := secured.logged("edge", "listen"), unsecured.logged("edge", "listen")
	pid := secured.cmd.Process.Pid
	servers := []testedServer{
		{name: "own h2, badge", url: base + badge, pid: pid},
		{name: "own h1 over TLS, badge", url: base + badge, pid: pid, h1: true},
		{name: "own h1, badge", url: plain + badge, pid: unsecured.cmd.Process.Pid, plain: true},
		{name: "own h2, score", url: base + miss, pid: pid},
		{name: "own h1 over TLS, score", url: base + miss, pid: pid, h1: true},
	}
	_, head, body := ask(b, "GET", plain+badge, "")
	cert, file := writeCertificate(b), filepath.Join(dir, "badge.svg")
	must(b, os.WriteFile(file, []byte(body), 0o644))
	for _, p := range append(peerServers, caddyServer) {
		var fields strings.Builder
		for name := range head {
			if name != "Content-Length" && name != "Date" && name != "Server" && name != "Content-Type" {
				fmt.Fprintf(&fields, "add_header %s '%s';\n", name,
					strings.NewReplacer("'", "\\'").Replace(head.Get(name)))
			}
		}
		p.config = strings.NewReplacer("CERT", cert, "FILE", file, "FIELDS", fields.String(),
			"BODY", strings.NewReplacer("'", "\\'", "$", "").Replace(string(body))).Replace(p.config)
		if s, ok := startPeer(b, p, strings.TrimPrefix(plain, "http://")); ok {
			servers = append(servers, testedServer{name: p.name, url: "https://" + s.addr + badge, pid: s.pid})
		}
	}
	pin(b, os.Getpid(), 1)
	for _, s := range servers {
		for _, pid := range family(b, s.pid) {
			pin(b, pid, 0)
		}
		s.load(b, h2load, 10, 1000)
	}
	for _, streams := range []int{10, 1} {
		took := make([][]float64, len(servers))
		b.Run(fmt.Sprintf("64x%d", streams), func(b *testing.B) {
			for b.Loop() {
				for i, s := range servers {
					if (s.h1 || s.plain) && streams > 1 {
						continue
					}
					before := cpuOf(b, s.pid)
					s.load(b, h2load, streams, benchRequests)
					took[i] = append(took[i], (cpuOf(b, s.pid)-before).Seconds()*1e6/benchRequests)
				}
			}
			for i, s := range servers {
				if len(took[i]) > 0 {
					slices.Sort(took[i])
					b.ReportMetric(took[i][len(took[i])/2], strings.NewReplacer(" ", "-", ",", "").Replace(s.name)+
						"-us/op")
				}
			}
		})
	}
}

// load sends requests.
func (s *testedServer) load(b *testing.B, h2load string, streams, n int) {
	b.Helper()
	args := []string{"-n", fmt.Sprint(n), "-c", fmt.Sprint(loadConns), "-m", fmt.Sprint(streams)}
	if s.h1 || s.plain {
		args = append(args, "--h1")
	}
	out, err := exec.CommandContext(b.Context(), h2load, append(args, s.url)...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf(" %d succeeded, 0 failed", n)) {
		b.Fatalf("%s: %v: %s", s.name, err, out)
	}
}

// writeCertificate writes a certificate and its key to one file.
func writeCertificate(b *testing.B) string {
	b.Helper()
	pair, err := certs.SelfSigned("")
	must(b, err)
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	must(b, err)
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	if _, err := tls.X509KeyPair(text, text); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "cert.pem")
	must(b, os.WriteFile(path, text, 0o600))
	return path
}

// peerServers are servers that end TLS and HTTP/2 before an edge.
var peerServers = []peer{
	{"nginx return", "nginx", "nginx.conf", `
daemon off; worker_processes 1; pid DIR/pid; error_log DIR/error.log; user root;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 100000000; client_body_temp_path DIR/b; proxy_temp_path DIR/t;
fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
server { listen LISTEN ssl http2; ssl_certificate CERT; ssl_certificate_key CERT; http2_max_concurrent_streams 128;
location / { default_type image/svg+xml; FIELDS return 200 'BODY'; } } }`,
		[]string{"-c", "DIR/nginx.conf", "-p", "DIR"}},
	{"nginx proxy_cache", "nginx", "nginx.conf", `
daemon off; worker_processes 1; pid DIR/pid; error_log DIR/error.log; user root;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 100000000; proxy_cache_path DIR/cache keys_zone=c:10m;
client_body_temp_path DIR/b; proxy_temp_path DIR/t; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u;
scgi_temp_path DIR/s;
server { listen LISTEN ssl http2; ssl_certificate CERT; ssl_certificate_key CERT;
location / { proxy_pass http://EDGE; proxy_cache c; proxy_cache_lock on; } } }`,
		[]string{"-c", "DIR/nginx.conf", "-p", "DIR"}},
	{"h2o file", "h2o", "h2o.conf", `
num-threads: 1
pid-file: DIR/pid
user: root
listen:
  host: 127.0.0.1
  port: PORT
  ssl:
    certificate-file: CERT
    key-file: CERT
hosts:
  default:
    paths:
      /:
        file.file: FILE
        file.mime.setdefaulttype: image/svg+xml
`, []string{"-c", "DIR/h2o.conf"}},
	{"haproxy cache", "haproxy", "haproxy.cfg", `
global
  maxconn 2000
  nbthread 1
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
cache c
  total-max-size 64
  max-age 240
frontend f
  bind LISTEN ssl crt CERT alpn h2
  http-request cache-use c
  http-response cache-store c
  default_backend b
backend b
  server s EDGE
`, []string{"-f", "DIR/haproxy.cfg"}},
}
