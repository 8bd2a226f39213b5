package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// smallCache is a tenth of the bytes that the rounds with misses request.
const smallCache = 4 << 20

// pin binds a process and its threads to one core, so that the scheduler does not move
// a server and its load generator. Without taskset it does nothing.
func pin(b *testing.B, pid, core int) {
	path, err := exec.LookPath("taskset")
	if err != nil {
		return
	}
	if out, err := exec.Command(path, "-apc", strconv.Itoa(core), strconv.Itoa(pid)).CombinedOutput(); err != nil {
		b.Logf("pin %d to core %d: %v: %s", pid, core, err, out)
	}
}

// startMissing starts nodes with a cache too small for the requests: most responses are
// rendered again, from a score in Redis or from the origin's facts.
func startMissing(b *testing.B, origin, token string) (nodes []served) {
	redis := cachetest.StartRedis(b)
	for _, n := range []struct {
		name string
		args []string
	}{{"badge zipf, missed: redis", []string{"--redis-url", redis.URL}}, {"badge zipf, missed: origin", nil}} {
		p := startEdge(b, origin, token, append(n.args, "--cache-bytes", strconv.Itoa(smallCache))...)
		nodes = append(nodes, served{name: n.name, pid: p.cmd.Process.Pid,
			addr: strings.TrimPrefix(p.logged("edge", "listen"), "http://"), debug: p.logged("edge", "debug")})
	}
	return nodes
}

// startEdge starts an edge of an origin and waits until it is ready.
func startEdge(b *testing.B, origin, token string, args ...string) *process {
	p := start(b, b.TempDir(), append([]string{"edge", "--origin", origin, "--node-token", token,
		"--listen", "127.0.0.1:0", "--debug-listen", "127.0.0.1:0"}, args...)...)
	waittest.Until(b, "the edge is ready", func() bool {
		status, _, _, err := try("GET", p.logged("edge", "debug")+"/readyz", "")
		return err == nil && status == 200
	})
	return p
}

// peer is another cache in front of the same edge.
type peer struct {
	name, program string
	file, config  string   // DIR, LISTEN, PORT and EDGE are replaced by its folder and the addresses
	args          []string // the same
}

// startPeer starts p in front of an edge, if it is installed.
func startPeer(b *testing.B, p peer, edge string) (served, bool) {
	path, err := exec.LookPath(p.program)
	if err != nil {
		b.Logf("%s is not installed: nothing of it to compare with", p.program)
		return served{}, false
	}
	addr := porttest.Address(b)
	dir, err := os.MkdirTemp("", "peer") // some peers run as another user
	must(b, err)
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(b, os.Chmod(dir, 0o755))
	_, port, err := net.SplitHostPort(addr)
	must(b, err)
	fill := strings.NewReplacer("DIR", dir, "LISTEN", addr, "PORT", port, "EDGE", edge)
	must(b, os.WriteFile(filepath.Join(dir, p.file), []byte(fill.Replace(p.config)), 0o644))
	var args []string
	for _, a := range p.args {
		args = append(args, fill.Replace(a))
	}
	cmd := exec.Command(path, args...)
	must(b, cmd.Start())
	b.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })
	waittest.Until(b, fmt.Sprintf("%s listens", p.name), func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return served{name: p.name, pid: cmd.Process.Pid, addr: addr}, true
}

// peers are the caches that an operator might use instead.
var peers = []peer{
	{"nginx proxy_cache", "nginx", "nginx.conf", `
daemon off; worker_processes 2; pid DIR/pid; error_log DIR/error.log;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 100000000;
proxy_cache_path DIR/cache keys_zone=c:10m; proxy_temp_path DIR/t; client_body_temp_path DIR/b;
fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
server { listen LISTEN; location / { proxy_pass http://EDGE; proxy_cache c; proxy_cache_lock on; } } }`,
		[]string{"-c", "DIR/nginx.conf", "-p", "DIR"}},
	{"haproxy cache", "haproxy", "haproxy.cfg", `
global
  maxconn 2000
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
cache c
  total-max-size 64
  max-age 240
frontend f
  bind LISTEN
  http-request cache-use c
  http-response cache-store c
  default_backend b
backend b
  server s EDGE
`, []string{"-db", "-f", "DIR/haproxy.cfg"}},
	{"varnish", "varnishd", "unused", "", []string{"-F", "-j", "none", "-a", "LISTEN", "-b", "EDGE", "-n",
		"DIR/varnish", "-s", "malloc,64m"}},
}
