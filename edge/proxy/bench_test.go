package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/edge/proxy"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
)

// crowdOrigin is a real origin of the crowd's table: /{row}/... answers as the row
// says, and with 304 to a tag it has given.
type crowdOrigin struct{ asked atomic.Int64 }

// ServeHTTP implements http.Handler.
func (o *crowdOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := o.asked.Add(1)
	time.Sleep(originDelay)
	var row int
	_, _ = fmt.Sscanf(r.URL.Path, "/%d/", &row)
	lines := strings.Split(crowd[row].answer, "\n")
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(strings.ReplaceAll(line, "%d", fmt.Sprint(n)), ": ")
		if crowd[row].warm != "" {
			value = strings.ReplaceAll(value, "max-age=60", "max-age=1") // expired by the time the crowd comes
		}
		w.Header().Set(name, value)
	}
	status := http.StatusOK
	if tag := w.Header().Get("Etag"); tag != "" && r.Header.Get("If-None-Match") == tag {
		status = http.StatusNotModified
	} else if lines[0] == "503" {
		status = http.StatusServiceUnavailable
	}
	w.WriteHeader(status)
	if status != http.StatusNotModified {
		fmt.Fprint(w, "body ", n)
	}
}

// BenchmarkCoalescing compares a hundred concurrent clients of one URL through the edge and the
// other proxies that are installed: the number of requests to the origin, the number of
// different bodies, and the median wait with an origin that takes 300 ms. Each row runs
// once, so one round is enough.
func BenchmarkCoalescing(b *testing.B) {
	for _, peer := range []struct {
		name  string
		start func(testing.TB, *crowdOrigin) string
	}{
		{"fieldmark", func(t testing.TB, o *crowdOrigin) string { return plain(t, o, proxy.Config{}) }},
		{"nginx", func(t testing.TB, o *crowdOrigin) string { return nginx(t, o, "") }},
		{"nginx-lock", func(t testing.TB, o *crowdOrigin) string {
			return nginx(t, o, "proxy_cache_lock on; proxy_cache_revalidate on; proxy_cache_background_update on; "+
				"proxy_cache_use_stale updating;")
		}},
	} {
		for row := range crowd {
			b.Run(peer.name+"/"+strings.ReplaceAll(crowd[row].name, " ", "_"), func(b *testing.B) {
				var o crowdOrigin
				base := peer.start(b, &o)
				for n := range b.N {
					crowdRound(b, &o, fmt.Sprintf("%s/%d/%d", base, row, n), crowd[row].warm != "")
				}
			})
		}
	}
}

func crowdRound(b *testing.B, o *crowdOrigin, at string, warm bool) {
	b.StopTimer()
	if warm {
		fetch(b, "GET", at, nil)
		time.Sleep(2200 * time.Millisecond) // nginx counts whole seconds
	}
	o.asked.Store(0)
	carry := &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true}
	defer carry.CloseIdleConnections()
	var mu sync.Mutex
	bodies := map[string]bool{}
	var waits []time.Duration
	b.StartTimer()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			began := time.Now()
			req, err := http.NewRequestWithContext(b.Context(), "GET", at, nil)
			if err != nil {
				b.Error(err)
				return
			}
			resp, err := carry.RoundTrip(req)
			if err != nil {
				b.Error(err)
				return
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				b.Error(err)
			}
			bodies[string(body)] = true
			waits = append(waits, time.Since(began))
		})
	}
	all.Wait()
	b.StopTimer()
	time.Sleep(originDelay + 50*time.Millisecond) // what is refreshed behind
	slices.Sort(waits)
	b.ReportMetric(float64(o.asked.Load()), "asked")
	b.ReportMetric(float64(len(bodies)), "bodies")
	b.ReportMetric(float64(waits[len(waits)/2].Milliseconds()), "p50-ms")
	b.StartTimer()
}

// nginx starts a real nginx as a caching proxy, where one is installed.
func nginx(t testing.TB, o *crowdOrigin, more string) string {
	t.Helper()
	binary, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed")
	}
	origin := httptest.NewServer(o)
	t.Cleanup(origin.Close)
	dir := t.TempDir()
	base := porttest.Address(t)
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/err;
events { worker_connections 1024; }
http { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; `+
		`uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
proxy_cache_path %[1]s/c keys_zone=z:10m;
server { listen %[2]s; location / { proxy_pass %[3]s; proxy_http_version 1.1; proxy_set_header Connection `+
		`""; proxy_cache z; %[4]s } } }`, dir, base, origin.URL, more)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-p", dir, "-c", conf)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 200 {
		if c, err := net.Dial("tcp", base); err == nil {
			c.Close()
			return "http://" + base
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nginx does not listen")
	return ""
}

// BenchmarkHit is one stored answer over the whole path of the server.
func BenchmarkHit(b *testing.B) {
	base := plain(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		_, _ = w.Write(make([]byte, 1300))
	}), proxy.Config{})
	fetch(b, "GET", base+"/hit", nil)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		fetch(b, "GET", base+"/hit", nil)
	}
}
