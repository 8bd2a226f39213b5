package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/edge/proxy"
)

// originDelay is how long the origin of the crowd tests takes.
const originDelay = 300 * time.Millisecond

// crowd is the table of how a hundred readers at once are served: what the origin
// answers, how often it may be asked, how many different answers there are, and
// how long the slowest may wait.
var crowd = []struct {
	name    string
	answer  string // head of the origin's answer
	warm    string // of the one before, 61 seconds earlier; empty: cold
	asked   int64
	bodies  int
	slowest time.Duration
}{
	{"max-age=60", "200\nCache-Control: max-age=60", "", 1, 1, originDelay},
	{"expired + ETag", "304\nCache-Control: max-age=60\nEtag: \"v\"", "200\nCache-Control: max-age=60\nEtag: \"v\"", 1,
		1, originDelay},
	{"expired, then private + Set-Cookie", "304\nCache-Control: private\nSet-Cookie: session=%d\nEtag: \"v\"",
		"200\nCache-Control: max-age=60\nEtag: \"v\"", 100, 1, 2 * originDelay},
	{"SWR", "200\nCache-Control: max-age=60, stale-while-revalidate=600",
		"200\nCache-Control: max-age=60, stale-while-revalidate=600", 1, 1, 0},
	{"no-store", "200\nCache-Control: no-store", "", 100, 100, 2 * originDelay},
	{"private + Set-Cookie", "200\nCache-Control: private\nSet-Cookie: session=%d", "", 100, 100, 2 * originDelay},
	{"503", "503\nX: y", "", 100, 100, 2 * originDelay},
	{"Vary: *", "200\nCache-Control: max-age=60\nVary: *", "", 100, 100, 2 * originDelay},
}

func TestConcurrentRequestsAreCoalesced(t *testing.T) {
	for _, tt := range crowd {
		for _, profile := range []rfc9111.Profile{rfc9111.Strict, rfc9111.RFC} {
			t.Run(fmt.Sprintf("%s %s", tt.name, profile), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newFixture(t, proxy.Config{Profile: profile})
					defer w.close()
					var asked atomic.Int64
					answering := func(answer string) func(net.Conn, *http.Request) error {
						return func(conn net.Conn, r *http.Request) error {
							n := asked.Add(1)
							time.Sleep(originDelay)
							lines := strings.Split(strings.ReplaceAll(answer, "%d", fmt.Sprint(n)), "\n")
							if lines[0] == "304" && r.Header.Get("If-None-Match") == "" {
								lines[0] = "200"
							}
							return writeOrigin(conn, r.Method,
								&step{origin: lines, content: []string{fmt.Sprint("body ", n)}}, time.Now())
						}
					}
					const get = "GET /crowd HTTP/1.1\r\nHost: site.example\r\n\r\n"
					if tt.warm != "" {
						w.respond = answering(tt.warm)
						if _, _, _, err := w.do("GET", get); err != nil {
							t.Fatal(err)
						}
						time.Sleep(61 * time.Second)
						asked.Store(0)
					}
					w.respond = answering(tt.answer)
					var mu sync.Mutex
					bodies, cookies := map[string]int{}, map[string]int{}
					var slowest time.Duration
					began := time.Now()
					var all sync.WaitGroup
					for range 100 {
						all.Go(func() {
							resp, body, _, err := w.do("GET", get)
							mu.Lock()
							defer mu.Unlock()
							if err != nil {
								t.Error(err)
								return
							}
							bodies[body]++
							if c := resp.Header.Get("Set-Cookie"); c != "" {
								cookies[c]++
							}
							slowest = max(slowest, time.Since(began))
						})
					}
					all.Wait()
					synctest.Wait()
					time.Sleep(originDelay) // what is refreshed behind
					if asked.Load() != tt.asked || len(bodies) != tt.bodies || slowest > tt.slowest {
						t.Errorf("100 at once: origin asked %d times, %d bodies, slowest after %s; want %d, %d, at "+
							"most %s",
							asked.Load(), len(bodies), slowest, tt.asked, tt.bodies, tt.slowest)
					}
					for c, n := range cookies {
						if n > 1 {
							t.Errorf("%d readers got the cookie %q", n, c)
						}
					}
				})
			})
		}
	}
}

// TestConcurrentVariants: clients that request different variants at the same time each get
// theirs, with one request to the origin for each variant.
func TestConcurrentVariants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, proxy.Config{})
		defer w.close()
		var asked atomic.Int64
		w.respond = func(conn net.Conn, r *http.Request) error {
			asked.Add(1)
			time.Sleep(originDelay)
			return writeOrigin(conn, r.Method,
				&step{origin: []string{"200", "Cache-Control: max-age=60", "Vary: Accept-Language"},
					content: []string{r.Header.Get("Accept-Language")}}, time.Now())
		}
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				want := []string{"de", "en", "fr", "it"}[i%4]
				_, body, _, err := w.do("GET", "GET /a HTTP/1.1\r\nHost: site.example\r\nAccept-Language: "+want+
					"\r\n\r\n")
				if err != nil || body != want {
					t.Errorf("asked for %s, got %q %v", want, body, err)
				}
			})
		}
		all.Wait()
		if asked.Load() != 4 {
			t.Errorf("the origin was asked %d times for 4 languages", asked.Load())
		}
	})
}

// TestInvalidatedInFlight: a response in transit when its URL is invalidated is neither
// stored nor served to requests after the invalidation.
func TestInvalidatedInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, proxy.Config{})
		defer w.close()
		var version atomic.Int64
		w.respond = func(conn net.Conn, r *http.Request) error {
			if r.Method == "POST" {
				version.Add(1)
				return writeOrigin(conn, r.Method, &step{origin: []string{"204"}}, time.Now())
			}
			body := fmt.Sprint("version ", version.Load())
			time.Sleep(originDelay)
			return writeOrigin(conn, r.Method, &step{origin: []string{"200", "Cache-Control: max-age=60"},
				content: []string{body}}, time.Now())
		}
		ask := func(method string) string {
			_, body, _, err := w.do(method, method+" /a HTTP/1.1\r\nHost: site.example\r\n\r\n")
			if err != nil {
				t.Error(err)
			}
			return body
		}
		var all sync.WaitGroup
		all.Go(func() { ask("GET") })
		time.Sleep(originDelay / 2)
		ask("POST")
		for i := range 3 {
			if got := ask("GET"); got != "version 1" {
				t.Errorf("request %d after the change got %q", i, got)
			}
		}
		all.Wait()
	})
}

// TestPurgedInFlight: a request after a purge by tag does not get the response to an
// earlier request in flight, be it the first or a refresh.
func TestPurgedInFlight(t *testing.T) {
	for _, warm := range []bool{false, true} {
		for _, hard := range []bool{false, true} {
			t.Run(fmt.Sprintf("warm %v hard %v", warm, hard), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { purgeWhileAsking(t, warm, hard) })
			})
		}
	}
}

func purgeWhileAsking(t *testing.T, warm, hard bool) {
	w := newFixture(t, proxy.Config{})
	defer w.close()
	var version atomic.Int64
	w.respond = func(conn net.Conn, r *http.Request) error {
		body := fmt.Sprint("version ", version.Load())
		time.Sleep(originDelay)
		return writeOrigin(conn, r.Method,
			&step{origin: []string{"200", "Cache-Control: max-age=60, stale-while-revalidate=60",
				"Surrogate-Key: manual"},
				content: []string{body}}, time.Now())
	}
	ask := func() string {
		_, body, _, err := w.do("GET", "GET /a HTTP/1.1\r\nHost: site.example\r\n\r\n")
		if err != nil {
			t.Error(err)
		}
		return body
	}
	if warm {
		ask()
		time.Sleep(61 * time.Second) // the next is answered at once and refreshed behind
	}
	var before sync.WaitGroup
	for range 2 {
		before.Go(func() {
			if got := ask(); got != "version 0" {
				t.Errorf("before the purge: %q", got)
			}
		})
	}
	time.Sleep(originDelay / 2)
	version.Add(1)
	w.proxy.Purge(hard, "manual")
	for i := range 3 {
		if got := ask(); got != "version 1" {
			t.Errorf("request %d after the purge got %q", i, got)
		}
	}
	before.Wait()
}

// TestTunnelIdle: a tunnel ends when both sides have been silent for long.
func TestTunnelIdle(t *testing.T) {
	for _, talks := range []time.Duration{0, 4 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			w := newFixture(t, proxy.Config{})
			defer w.close()
			w.respond = func(conn net.Conn, r *http.Request) error {
				io.WriteString(conn,
					"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
				if talks > 0 {
					time.Sleep(talks)
					io.WriteString(conn, "still here")
				}
				_, err := io.Copy(io.Discard, conn)
				return errors.Join(err, io.EOF)
			}
			here, there := net.Pipe()
			defer here.Close()
			began := time.Now()
			var served sync.WaitGroup
			served.Go(func() { _ = w.server.ServeConn(there) })
			go io.WriteString(here,
				"GET /a HTTP/1.1\r\nHost: site.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			all, err := io.ReadAll(here)
			if took, want := time.Since(began), talks+5*time.Minute; err != nil || took != want {
				t.Errorf("an origin that talks after %s: the tunnel ended after %s with %v, want %s; %q", talks, took,
					err, want, all)
			}
			served.Wait()
		})
	}
}

// refusing is a transport that does not send its first request.
type refusing struct {
	next  http.RoundTripper
	first atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (r *refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.first.Swap(true) {
		return r.next.RoundTrip(req)
	}
	time.Sleep(originDelay)
	return nil, fmt.Errorf("%w: too much", proxy.ErrRefused)
}

// TestRefusedLeader: requests that wait for a leader which is refused because of its client
// still get a response.
func TestRefusedLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, proxy.Config{Transport: &refusing{}})
		defer w.close()
		w.respond = func(conn net.Conn, r *http.Request) error {
			return writeOrigin(conn, r.Method, &step{origin: []string{"200", "Cache-Control: max-age=60"},
				content: []string{"page"}}, time.Now())
		}
		var all sync.WaitGroup
		var failed atomic.Int64
		for range 10 {
			all.Go(func() {
				resp, body, _, err := w.do("GET", "GET /a HTTP/1.1\r\nHost: site.example\r\n\r\n")
				switch {
				case err != nil:
					t.Error(err)
				case resp.StatusCode != 200 || body != "page":
					failed.Add(1)
				}
			})
		}
		all.Wait()
		if failed.Load() != 1 {
			t.Errorf("%d of 10 were refused, want the first alone", failed.Load())
		}
	})
}

// TestFailureOfOneVariant: while the origin fails for one variant of an address it is
// asked for the others as ever.
func TestFailureOfOneVariant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, proxy.Config{})
		defer w.close()
		var failing atomic.Bool
		w.respond = func(conn net.Conn, r *http.Request) error {
			language := r.Header.Get("Accept-Language")
			if failing.Load() && language == "de" {
				return writeOrigin(conn, r.Method, &step{origin: []string{"500"}, content: []string{"broken"}},
					time.Now())
			}
			return writeOrigin(conn, r.Method, &step{
				origin:  []string{"200", "Cache-Control: max-age=1, stale-if-error=60", "Vary: Accept-Language"},
				content: []string{language},
			}, time.Now())
		}
		get := func(language string) (body, status string) {
			resp, body, _, err := w.do("GET", "GET /a HTTP/1.1\r\nHost: site.example\r\nAccept-Language: "+language+
				"\r\n\r\n")
			if err != nil {
				t.Fatal(err)
			}
			return body, resp.Header.Get("Cache-Status")
		}
		get("de")
		get("en")
		time.Sleep(2 * time.Second) // both are stale
		failing.Store(true)
		if body, status := get("de"); body != "de" || !strings.HasSuffix(status, "detail=stale-if-error") {
			t.Errorf("the failing variant: %q, %s; want the stale one", body, status)
		}
		if body, status := get("de"); body != "de" || !strings.HasPrefix(status, "fieldmark; hit") {
			t.Errorf("the failing variant at once again: %q, %s; want it from the cache", body, status)
		}
		if body, status := get("en"); body != "en" || strings.Contains(status, "stale-if-error") {
			t.Errorf("the other variant: %q, %s; want it asked for", body, status)
		}
	})
}

// TestMarksAreSmall: what is remembered of addresses whose answers are not shared
// does not grow with the length of what clients ask for.
func TestMarksAreSmall(t *testing.T) {
	const requests, long = 2000, 1500 // each has a target and an Origin of this length
	w := newFixture(t, proxy.Config{})
	defer w.close()
	w.respond = func(conn net.Conn, r *http.Request) error {
		return writeOrigin(conn, r.Method, &step{origin: []string{"200", "Cache-Control: no-store"},
			content: []string{"x"}}, time.Now())
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // the first one moves pooled buffers to where the second finds them
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	ask := func(i int) {
		fill := strings.Repeat("x", long)
		if _, _, _, err := w.do("GET",
			fmt.Sprintf("GET /%d/%s HTTP/1.1\r\nHost: site.example\r\nOrigin: https://%s\r\n\r\n", i, fill,
				fill)); err != nil {
			t.Fatal(err)
		}
	}
	ask(0)
	before := heap()
	for i := range requests {
		ask(i + 1)
	}
	if grown := int64(heap()) - int64(before); grown > requests*long {
		t.Errorf("%d requests with %d bytes of address each: the heap grew by %d bytes, want less than half of what "+
			"they sent", requests, 2*long, grown)
	}
}

// plain is a proxy on a real socket before a real origin.
func plain(t testing.TB, origin http.Handler, cfg proxy.Config) (base string) {
	t.Helper()
	far := httptest.NewServer(origin)
	t.Cleanup(far.Close)
	at, err := url.Parse(far.URL)
	if err != nil {
		t.Fatal(err)
	}
	carry := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 200}
	cfg.Transport, cfg.Scheme, cfg.Host = carry, at.Scheme, at.Host
	cfg.Fail = func(ctx *fasthttp.RequestCtx, err error) { ctx.Error(err.Error(), http.StatusBadGateway) }
	p, err := proxy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &fasthttp.Server{Handler: p.Serve, StreamRequestBody: true, MaxRequestBodySize: 1 << 30,
		NoDefaultServerHeader: true}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if err := s.ShutdownWithContext(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		<-done
		carry.CloseIdleConnections()
		p.Close()
	})
	return "http://" + ln.Addr().String()
}

func fetch(t testing.TB, method, at string, body io.Reader, header ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, at, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: read the answer: %v", method, at, err)
	}
	return resp, got
}

// TestLargeBodies: what is larger than may be stored passes whole, with and
// without a length, and is not stored; what just fits is.
func TestLargeBodies(t *testing.T) {
	var asked atomic.Int64
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	base := plain(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body := large
		if strings.HasPrefix(r.URL.Path, "/fits") {
			body = large[:1<<20]
		}
		w.Header().Set("Cache-Control", "max-age=60")
		if strings.HasSuffix(r.URL.Path, "chunked") {
			w.(http.Flusher).Flush()
		}
		_, _ = w.Write(body)
	}), proxy.Config{})
	for _, tt := range []struct {
		path string
		size int
		want int64
	}{{"/large", 4 << 20, 2}, {"/large-chunked", 4 << 20, 2}, {"/fits", 1 << 20, 1}, {"/fits-chunked", 1 << 20, 1}} {
		asked.Store(0)
		for range 2 {
			resp, got := fetch(t, "GET", base+tt.path, nil)
			if !bytes.Equal(got, large[:tt.size]) {
				t.Errorf("%s: got %d bytes %v", tt.path, len(got), resp.Header)
			}
		}
		if asked.Load() != tt.want {
			t.Errorf("%s: the origin was asked %d times, want %d", tt.path, asked.Load(), tt.want)
		}
	}
}

// TestLargeUpload: a request's body passes as it comes.
func TestLargeUpload(t *testing.T) {
	base := plain(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	}), proxy.Config{})
	if _, got := fetch(t, "POST", base+"/up", io.LimitReader(zeros{}, 20<<20)); string(got) != "20971520 <nil>" {
		t.Errorf("chunked: the origin read %s", got)
	}
	if _, got := fetch(t, "PUT", base+"/up", bytes.NewReader(make([]byte, 5<<20))); string(got) != "5242880 <nil>" {
		t.Errorf("with a length: the origin read %s", got)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestCloseEndsBackgroundRequests: an origin that hangs does not keep a node from
// stopping.
func TestCloseEndsBackgroundRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, proxy.Config{})
		var hangs atomic.Bool
		w.respond = func(conn net.Conn, r *http.Request) error {
			if hangs.Swap(true) {
				time.Sleep(time.Hour)
				return io.EOF
			}
			return writeOrigin(conn, r.Method,
				&step{origin: []string{"200", "Cache-Control: max-age=1, stale-while-revalidate=600"},
					content: []string{"one"}}, time.Now())
		}
		const get = "GET /a HTTP/1.1\r\nHost: site.example\r\n\r\n"
		for range 2 {
			if _, body, _, err := w.do("GET", get); err != nil || body != "one" {
				t.Fatalf("%q %v", body, err)
			}
			time.Sleep(5 * time.Second)
		}
		began := time.Now()
		w.proxy.Close()
		if took := time.Since(began); took > time.Second {
			t.Errorf("closing took %s while an origin hung", took)
		}
		w.carry.CloseIdleConnections()
		w.served.Wait()
	})
}
