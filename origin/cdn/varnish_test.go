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
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

// edges replaces the edges behind a CDN: each badge has the number of its last change. Like an edge,
// it follows the log a little behind the origin.
type edges struct {
	*httptest.Server
	mu       sync.Mutex
	versions map[string]int
	asked    atomic.Int64 // for badges
}

func newEdges(t testing.TB) *edges {
	e := &edges{versions: map[string]int{}}
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
	h.Set("Cache-Control", "public, max-age=300, s-maxage=300, stale-while-revalidate=86400, stale-if-error=604800")
	h.Set("Surrogate-Key", "brand-"+slug+" module all")
	h.Set("Content-Type", "text/plain")
	fmt.Fprint(w, version)
}

func (e *edges) set(slug string, version int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.versions[slug] = version
}

// startVarnish runs the Varnish of deploy/varnish in front of an address and returns its own.
func startVarnish(t testing.TB, backend string) string {
	t.Helper()
	program, err := exec.LookPath("varnishd")
	if err != nil {
		program = "/usr/sbin/varnishd"
	}
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("varnishd is not installed: .ci/tools installs it")
	}
	vcl, err := os.ReadFile("../../deploy/varnish/fieldmark.vcl")
	must(t, err)
	host, port, err := net.SplitHostPort(strings.TrimPrefix(backend, "http://"))
	must(t, err)
	text := strings.NewReplacer(`.host = "127.0.0.1"`, fmt.Sprintf(".host = %q", host), `.port = "8080"`,
		fmt.Sprintf(".port = %q", port), "change-me", token).Replace(string(vcl))
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o755)) //nolint:gosec // its worker runs as another user
	file := filepath.Join(dir, "fieldmark.vcl")
	must(t, os.WriteFile(file, []byte(text), 0o644)) //nolint:gosec // as above
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := ln.Addr().String()
	must(t, ln.Close())
	var log strings.Builder
	cmd := exec.Command(program, "-F", "-j", "none", "-n", filepath.Join(dir, "work"), "-a", address, "-f", file,
		"-s", "malloc,32m")
	cmd.Stdout, cmd.Stderr = &log, &log
	must(t, cmd.Start())
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil && t.Failed() {
			t.Logf("varnishd: %v: %s", err, log.String())
		}
	})
	deadline := time.Now().Add(waitLimit)
	for {
		resp, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return "http://" + address
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("varnishd does not serve: %v: %s", err, log.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
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
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// TestVarnish: a Varnish with the configuration of deploy/ serves no response from before a change, two
// seconds after it was purged, although its way to the origin is cut twice; and it asks the edges only
// for what changed.
func TestVarnish(t *testing.T) {
	for _, kind := range []fieldmark.CDNKind{fieldmark.CDNVarnish, fieldmark.CDNVarnishBan} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			f, e := newFixture(t), newEdges(t)
			varnish := startVarnish(t, e.URL)
			way := newGate(t, varnish)
			f.put("varnish", fieldmark.CDNRequest{Token: token, CDNSettings: fieldmark.CDNSettings{Kind: kind,
				URLs: []string{way.URL}}})
			testExact(t, f, e, varnish, way, "varnish")
		})
	}
}

const exactBrands = 50

// changes is how many changes testExact makes; make chaos makes 10,000.
var changes = flag.Int("changes", 200, "changes of TestVarnish")

func testExact(t *testing.T, f *fixture, e *edges, address string, way *gate, name string) {
	t.Helper()
	slug := func(i int) string { return fmt.Sprintf("b-%04d", i%exactBrands) }
	for i := range exactBrands {
		for range 2 { // the second is a hit
			_, body, h := fetch(t, address+fieldmark.PathBadge+slug(i))
			if body != "0" || h.Get("Surrogate-Key") != "" {
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
			last = f.change(brandTag(i % exactBrands))
			f.until("the cut is noticed", func() bool { return f.cdn(name).State == fieldmark.CDNFailing })
		}
		e.set(slug(i), i+1)
		last = f.change(brandTag(i % exactBrands))
		if i == *changes/4+5 || i == *changes/2+5 {
			way.closed.Store(false)
		}
		fetch(t, address+fieldmark.PathBadge+slug(i*7)) // readers go on
	}
	f.until("all is purged", func() bool { return f.cdn(name).Event == last })
	time.Sleep(2 * time.Second) // the promise
	stale := 0
	for i := range exactBrands {
		e.mu.Lock()
		want := fmt.Sprint(e.versions[slug(i)])
		e.mu.Unlock()
		if _, got, _ := fetch(t, address+fieldmark.PathBadge+slug(i)); got != want {
			t.Errorf("%s is %s, want %s", slug(i), got, want)
			stale++
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
		req, err := http.NewRequestWithContext(t.Context(), method, address+"/", nil)
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
