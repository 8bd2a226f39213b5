package cdn_test

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// edges replaces the edges behind a CDN: each badge has the number of its last change. Like an edge,
// it follows the log a little behind the origin.
type edges struct {
	*httptest.Server
	mu       sync.Mutex
	versions map[string]int
	asked    atomic.Int64 // for badges
	control  string       // of Cache-Control
	lifetime string       // of Surrogate-Control; empty: none
}

func newEdges(t testing.TB) *edges {
	e := &edges{versions: map[string]int{}, lifetime: fieldmark.CDNLifetime{Seconds: fieldmark.CDNSeconds}.Control(),
		control: "public, max-age=300, s-maxage=300, stale-while-revalidate=86400, stale-if-error=604800"}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *edges) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/readyz" {
		return
	}
	e.asked.Add(1)
	slug := strings.TrimPrefix(r.URL.Path, fieldmark.PathBadge)
	e.mu.Lock()
	version := e.versions[slug]
	e.mu.Unlock()
	h := w.Header()
	h.Set("Cache-Control", e.control)
	if e.lifetime != "" {
		h.Set("Surrogate-Control", e.lifetime)
	}
	h.Set("Surrogate-Key", "brand-"+slug+" module all")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Type", "text/plain")
	fmt.Fprint(w, version)
}

func (e *edges) set(slug string, version int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.versions[slug] = version
}

// program returns the path of a server that .ci/tools installs.
func program(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{"/usr/sbin", "/usr/bin"} {
		if file := filepath.Join(dir, name); exists(file) {
			return file
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skip(name + " is not installed: .ci/tools installs it")
	return ""
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// configure writes a file of deploy/ with replacements to a directory.
func configure(t testing.TB, name, dir string, replace ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy", name))
	must(t, err)
	file := filepath.Join(dir, filepath.Base(name))
	text = []byte(strings.NewReplacer(append(replace, "change-me", token)...).Replace(string(text)))
	must(t, os.WriteFile(file, text, 0o644)) //nolint:gosec // servers read it as another user
	return file
}

// startVarnish runs the Varnish of deploy/varnish in front of an address and returns its own.
func startVarnish(t testing.TB, backend string) *server {
	t.Helper()
	varnishd, dir := program(t, "varnishd"), t.TempDir()
	must(t, os.Chmod(dir, 0o755)) //nolint:gosec // its worker runs as another user
	host, port, err := net.SplitHostPort(strings.TrimPrefix(backend, "http://"))
	must(t, err)
	file := configure(t, "varnish/fieldmark.vcl", dir, `.host = "127.0.0.1"`, fmt.Sprintf(".host = %q", host),
		`.port = "8080"`, fmt.Sprintf(".port = %q", port),
		".timeout = 1s", ".timeout = 60s") // a busy machine is no sick backend
	address := porttest.Address(t)
	return run(t, address, varnishd, "-F", "-j", "none", "-n", filepath.Join(dir, "work"), "-a", address,
		"-f", file, "-s", "malloc,32m")
}

// server is the process of a cache, which a test kills and starts again.
type server struct {
	t       testing.TB
	address string
	command []string
	URL     string // where it is read
	process *os.Process
	ended   chan struct{} // closed when the process has ended
	log     strings.Builder
}

// run runs a cache until the end of the test. It returns once that serves /readyz of the edges.
func run(t testing.TB, address string, command ...string) *server {
	t.Helper()
	s := &server{t: t, address: address, command: command, URL: "http://" + address}
	s.start()
	t.Cleanup(func() {
		_ = s.process.Signal(os.Interrupt) // fails if it has ended
		<-s.ended
		if t.Failed() {
			t.Logf("%s: %s", command[0], s.log.String())
		}
	})
	return s
}

func (s *server) start() {
	s.t.Helper()
	cmd := exec.Command(s.command[0], s.command[1:]...)
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // for kill
	must(s.t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // a signal is its error
	}()
	s.process, s.ended = cmd.Process, ended
	s.wait("serves", func() bool {
		resp, err := http.Get(s.URL + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// kill ends the process and its children without notice, and waits until the port is closed: workers of nginx
// survive their parent.
func (s *server) kill() {
	s.t.Helper()
	must(s.t, syscall.Kill(-s.process.Pid, syscall.SIGKILL))
	<-s.ended
	s.wait("is gone", func() bool {
		conn, err := net.Dial("tcp", s.address)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}

func (s *server) wait(what string, ok func() bool) {
	s.t.Helper()
	waittest.Until(s.t, s.command[0]+" "+what, ok)
}

func fetch(t testing.TB, address string, header ...string) (status int, body string, h http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	must(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(raw), resp.Header
}

// gate is the way of purges to a CDN, which a test cuts.
type gate struct {
	*httptest.Server
	closed atomic.Bool
}

func newGate(t testing.TB, to string) *gate {
	target, err := url.Parse(to)
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	g := &gate{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.closed.Load() {
			panic(http.ErrAbortHandler)
		}
		r.Host = target.Host // as without the gate
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// TestVarnish: a Varnish with the configuration of deploy/ serves no response from before a change, two
// seconds after it was purged, although edges state a lifetime of an hour, its way to the origin is cut
// twice and it is killed twice; and it requests from the edges only what changed.
func TestVarnish(t *testing.T) {
	for _, kind := range []fieldmark.CDNKind{fieldmark.CDNVarnish, fieldmark.CDNVarnishBan} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			f, e := newFixture(t), newEdges(t)
			varnish := startVarnish(t, e.URL)
			way := newGate(t, varnish.URL)
			f.put("varnish", fieldmark.CDNRequest{Token: token, CDNSettings: fieldmark.CDNSettings{Kind: kind,
				URLs: []string{way.URL}}})
			testExact(t, f, e, varnish, varnish.URL, way, "varnish")
		})
	}
}

const exactBrands = 50

// changes is how many changes testExact makes; make chaos makes 10,000.
var changes = flag.Int("changes", 200, "changes of TestVarnish, TestNginx and TestTrafficServer")

// testExact has a CDN purged at one address and read at another, through many changes, two cuts and two
// deaths of the server.
func testExact(t *testing.T, f *fixture, e *edges, cache *server, purges string, way *gate, name string) {
	t.Helper()
	address, down := cache.URL, false
	slug := func(i int) string { return fmt.Sprintf("b-%04d", i%exactBrands) }
	for i := range exactBrands {
		for range 2 { // the second is a hit
			_, body, h := fetch(t, address+fieldmark.PathBadge+slug(i))
			field, kind := h.Get("Surrogate-Control")+h.Get("Age"), f.cdn(name).Kind
			if body != "0" || h.Get("Surrogate-Key") != "" || kind.LifetimeField() != "" && field != "" {
				t.Fatalf("%s: %q %v, want 0 without its keys", slug(i), body, h)
			}
		}
	}
	if n := e.asked.Load(); n != exactBrands {
		t.Errorf("the edges were asked %d times for %d badges", n, exactBrands)
	}
	var last int64
	for i := range *changes {
		if i == *changes/4 || i == *changes/2 {
			way.closed.Store(true)
		}
		if i == *changes*3/8 || i == *changes*5/8 {
			cache.kill()
			down = true
		}
		if way.closed.Load() || down {
			last = f.change(brandTag(i % exactBrands))
			f.until("the cut is noticed", func() bool { return f.cdn(name).State == fieldmark.CDNFailing })
		}
		e.set(slug(i), i+1)
		last = f.change(brandTag(i % exactBrands))
		if i == *changes/4+5 || i == *changes/2+5 {
			way.closed.Store(false)
		}
		if i == *changes*3/8+5 || i == *changes*5/8+5 {
			cache.start()
			down = false
		}
		if down {
			continue
		}
		encoding := []string{"gzip", "identity"}[i%2]
		fetch(t, address+fieldmark.PathBadge+slug(i*7), "Accept-Encoding", encoding) // readers go on
	}
	f.until("all is purged", func() bool { return f.cdn(name).Event == last })
	time.Sleep(2 * time.Second) // the promise
	for i := range exactBrands {
		e.mu.Lock()
		want := fmt.Sprint(e.versions[slug(i)])
		e.mu.Unlock()
		for _, encoding := range []string{"identity", "gzip"} {
			_, got, _ := fetch(t, address+fieldmark.PathBadge+slug(i), "Accept-Encoding", encoding)
			if got != want {
				t.Errorf("%s in %s is %s, want %s", slug(i), encoding, got, want)
			}
		}
	}
	if c := f.cdn(name); c.EmptiedAt != nil || c.State != fieldmark.CDNActive {
		t.Errorf("%+v, want it active and never emptied", c)
	}
	// What no event concerns is still there; the token is required.
	before := e.asked.Load()
	for i := range exactBrands {
		fetch(t, address+fieldmark.PathBadge+slug(i))
	}
	if n := e.asked.Load() - before; n > 0 {
		t.Errorf("the edges were asked %d times again for badges that did not change", n)
	}
	for _, method := range []string{"PURGE", "BAN"} {
		req, err := http.NewRequestWithContext(t.Context(), method, purges+"/", nil)
		must(t, err)
		req.Header.Set("xkey-softpurge", "all")
		req.Header.Set("Fieldmark-Ban", "all")
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s without the token: %d, want 403", method, resp.StatusCode)
		}
	}
}
