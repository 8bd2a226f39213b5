package upstream_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// raw is an origin that answers by hand: what it writes is in no server's grip.
func raw(t testing.TB, answer func(c net.Conn, r *http.Request) (keep bool)) *url.URL {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() { stop(); ln.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				defer context.AfterFunc(ctx, func() { c.Close() })()
				for br := bufio.NewReader(c); ; {
					r, err := http.ReadRequest(br)
					if err != nil || !answer(c, r) {
						return
					}
				}
			})
		}
	})
	return &url.URL{Scheme: "http", Host: ln.Addr().String()}
}

// says is an origin that answers every request with the same bytes.
func says(answer string) func(net.Conn, *http.Request) bool {
	return func(c net.Conn, r *http.Request) bool {
		_, err := io.WriteString(c, answer)
		return err == nil
	}
}

const good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

// refused is an address that refuses connections. A port that was free a moment ago may be that of another test's
// server by now; this one is privileged.
var refused = &url.URL{Scheme: "http", Host: "127.0.0.1:1"}

func start(t testing.TB, cfg upstream.Config) *upstream.Upstream {
	t.Helper()
	u, err := upstream.New(cfg)
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- u.Run(ctx) }()
	t.Cleanup(func() { stop(); must(t, <-done) })
	return u
}

func request(t testing.TB, method string, body io.Reader, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://edge.example/path?q=1", body)
	must(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// do asks and reads all of the answer.
func do(u *upstream.Upstream, r *http.Request) (*http.Response, string, error) {
	resp, err := u.RoundTrip(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

func TestConfig(t *testing.T) {
	for _, address := range []string{"", "ftp://a", "http://", "http://a/path", "http://u:p@a", "http://a?q=1"} {
		u, err := url.Parse(address)
		must(t, err)
		if _, err := upstream.New(upstream.Config{Origins: []*url.URL{u}}); err == nil {
			t.Errorf("origin %q is accepted", address)
		}
	}
	if _, err := upstream.New(upstream.Config{}); err == nil {
		t.Error("no origin at all is accepted")
	}
}

// TestLeftover: bytes that come after an answer must never be the answer to the
// next request, whatever made them come.
func TestLeftover(t *testing.T) {
	const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
	for name, tt := range map[string]struct{ method, answer string }{
		"a second answer":                {"GET", good + evil},
		"a body after HEAD":              {"HEAD", good + evil},
		"a body after 304":               {"GET", "HTTP/1.1 304 Not Modified\r\n\r\n" + evil},
		"a body after 204":               {"GET", "HTTP/1.1 204 No Content\r\n\r\n" + evil},
		"a Content-Length that is short": {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood" + "more" + evil},
		"bytes after the last chunk": {"GET",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n" + evil},
		"an interim answer nobody wanted": {"GET", good + "HTTP/1.1 103 Early Hints\r\n\r\n" + evil},
	} {
		t.Run(name, func(t *testing.T) {
			var conns atomic.Int64
			var seen sync.Map
			u := start(t, upstream.Config{Origins: []*url.URL{raw(t, func(c net.Conn, r *http.Request) bool {
				if _, had := seen.LoadOrStore(c, true); !had && conns.Add(1) == 1 {
					return says(tt.answer)(c, r)
				}
				return says(good)(c, r)
			})}})
			for i := range 3 {
				method := "GET"
				if i == 0 {
					method = tt.method
				}
				_, body, err := do(u, request(t, method, nil))
				if err != nil || strings.Contains(body, "evil") || i > 0 && body != "good" {
					t.Fatalf("request %d: %q, %v", i, body, err)
				}
			}
		})
	}
	t.Run("late", func(t *testing.T) { // after the connection lay idle
		sent := make(chan struct{})
		var once sync.Once
		u := start(t, upstream.Config{Origins: []*url.URL{raw(t, func(c net.Conn, r *http.Request) bool {
			says(good)(c, r)
			once.Do(func() {
				go func() { io.WriteString(c, evil); close(sent) }()
			})
			return true
		})}})
		for i := range 20 {
			if _, body, err := do(u, request(t, "GET", nil)); err != nil || body != "good" {
				t.Fatalf("request %d: %q, %v", i, body, err)
			}
			<-sent
		}
	})
}

// TestRepeat describes which failures another origin is tried for.
func TestRepeat(t *testing.T) {
	hangUp := func(net.Conn, *http.Request) bool { return false }
	halfHead := func(c net.Conn, _ *http.Request) bool {
		io.WriteString(c,
			"HTTP/1.1 200 OK\r\nContent-")
		return false
	}
	tests := map[string]struct {
		method string
		body   func() io.Reader
		header []string
		first  func(net.Conn, *http.Request) bool // nil: the address refuses connections
		again  bool
	}{
		"GET, hung up":            {method: "GET", first: hangUp, again: true},
		"HEAD, hung up":           {method: "HEAD", first: hangUp, again: true},
		"GET, half a head":        {method: "GET", first: halfHead},
		"GET, connection refused": {method: "GET", again: true},
		"POST, hung up": {method: "POST", body: func() io.Reader { return strings.NewReader("x") },
			first: hangUp},
		"POST without a body, hung up": {method: "POST", first: hangUp},
		"POST, connection refused": {method: "POST", body: func() io.Reader { return strings.NewReader("x") },
			again: true},
		"POST of a stream, connection refused": {method: "POST",
			body: func() io.Reader { return io.MultiReader(strings.NewReader("x")) }, again: true},
		"POST with a key, hung up": {method: "POST", body: func() io.Reader { return strings.NewReader("x") },
			header: []string{"Idempotency-Key", "k"}, first: hangUp, again: true},
		"POST of a stream with a key": {method: "POST",
			body:   func() io.Reader { return io.MultiReader(strings.NewReader("x")) },
			header: []string{"Idempotency-Key", "k"}, first: hangUp},
		"PUT, hung up": {method: "PUT", body: func() io.Reader { return strings.NewReader("x") },
			first: hangUp, again: true},
		"PATCH, hung up": {method: "PATCH",
			body: func() io.Reader { return strings.NewReader("x") }, first: hangUp},
		"a method nobody knows, hung up":     {method: "FROB", first: hangUp},
		"a method nobody knows, no listener": {method: "FROB", again: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var failed, answered atomic.Int64
			first := refused
			if tt.first != nil {
				first = raw(t, func(c net.Conn, r *http.Request) bool {
					io.Copy(io.Discard, r.Body)
					failed.Add(1)
					return tt.first(c, r)
				})
			}
			second := raw(t, func(c net.Conn, r *http.Request) bool {
				if b, _ := io.ReadAll(r.Body); tt.body != nil && string(b) != "x" {
					t.Errorf("the second origin got the body %q", b)
				}
				answered.Add(1)
				if r.Method == "HEAD" {
					return says("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")(c, r)
				}
				return says(good)(c, r)
			})
			// The order is by load and then by chance, so ask until the bad one was first.
			u := start(t, upstream.Config{Origins: []*url.URL{first, second}, HealthEvery: -1})
			for range 40 {
				var body io.Reader
				if tt.body != nil {
					body = tt.body()
				}
				before := answered.Load()
				_, _, err := do(u, request(t, tt.method, body, tt.header...))
				switch {
				case tt.again && err != nil:
					t.Fatalf("%v, want the other origin's answer", err)
				case err == nil && answered.Load() != before+1:
					t.Fatalf("the origin that answers was asked %d times", answered.Load()-before)
				case err != nil && answered.Load() != before:
					t.Fatal("the request was repeated")
				}
				if err != nil {
					return // seen to fail, as it must
				}
			}
			if !tt.again {
				t.Error("40 requests never met the bad origin")
			}
		})
	}
}

// TestHealth: an origin that does not answer is left alone, by what requests
// meet and by checks, and comes back by itself.
func TestHealth(t *testing.T) {
	t.Run("by requests", func(t *testing.T) {
		u := start(t, upstream.Config{Origins: []*url.URL{refused, raw(t, says(good))}, HealthEvery: -1})
		for range 30 {
			if _, _, err := do(u, request(t, "GET", nil)); err != nil {
				t.Fatal(err)
			}
		}
		// The first counts as healthy between the end of its back-off and the next failure.
		waittest.Until(t, "the first is unhealthy and the second healthy and idle", func() bool {
			_, _, err := do(u, request(t, "GET", nil))
			must(t, err)
			s := u.States()
			return !s[0].Healthy && s[1].Healthy && s[1].InFlight == 0
		})
	})
	t.Run("by checks", func(t *testing.T) {
		var failing atomic.Bool
		var asked, checked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/health" {
				asked.Add(1)
				return
			}
			checked.Add(1)
			if failing.Load() {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}))
		defer server.Close()
		at, err := url.Parse(server.URL)
		must(t, err)
		u := start(t, upstream.Config{Origins: []*url.URL{at, raw(t, says(good))}, HealthPath: "/health",
			HealthEvery: 5 * time.Millisecond})
		waittest.Until(t, "it has answered more checks than failures make it unhealthy", func() bool {
			if !u.States()[0].Healthy {
				t.Fatal("an origin that answers checks is unhealthy")
			}
			return checked.Load() >= 10
		})
		failing.Store(true)
		waittest.Until(t, "it is unhealthy", func() bool { return !u.States()[0].Healthy })
		failing.Store(false)
		waittest.Until(t, "it is healthy again and gets requests", func() bool {
			_, _, err := do(u, request(t, "GET", nil))
			must(t, err)
			return u.States()[0].Healthy && asked.Load() > 0
		})
	})
	t.Run("by connecting", func(t *testing.T) {
		u := start(t, upstream.Config{Origins: []*url.URL{refused, raw(t, says(good))},
			HealthEvery: 5 * time.Millisecond})
		waittest.Until(t, "the absent origin is known",
			func() bool { return !u.States()[0].Healthy && u.States()[1].Healthy })
	})
	t.Run("all unhealthy", func(t *testing.T) { // better asked in vain than not at all
		u := start(t, upstream.Config{Origins: []*url.URL{refused, refused}, HealthEvery: -1})
		for range 10 {
			if _, _, err := do(u, request(t, "GET", nil)); err == nil {
				t.Fatal("an answer from nobody")
			}
		}
	})
}

// TestLeastConnections: while one origin is busy the other one is asked.
func TestLeastConnections(t *testing.T) {
	release := make(chan struct{})
	var got [2]atomic.Int64
	var origins []*url.URL
	for i := range got {
		origins = append(origins, raw(t, func(c net.Conn, r *http.Request) bool {
			got[i].Add(1)
			if r.Header.Get("Slow") != "" {
				<-release
			}
			return says(good)(c, r)
		}))
	}
	u := start(t, upstream.Config{Origins: origins, HealthEvery: -1})
	var wg sync.WaitGroup
	wg.Go(func() { do(u, request(t, "GET", nil, "Slow", "1")) })
	waittest.Until(t, "the slow request is there", func() bool { return got[0].Load()+got[1].Load() == 1 })
	busy := 0
	if got[1].Load() == 1 {
		busy = 1
	}
	for range 20 {
		_, _, err := do(u, request(t, "GET", nil))
		must(t, err)
	}
	if n := got[busy].Load(); n != 1 {
		t.Errorf("the busy origin got %d requests, want the slow one alone", n)
	}
	close(release)
	wg.Wait()
}

// TestFields: what belongs to one connection stays there.
func TestFields(t *testing.T) {
	var seen http.Header
	var host, uri string
	u := start(t, upstream.Config{Origins: []*url.URL{raw(t, func(c net.Conn, r *http.Request) bool {
		seen, host, uri = r.Header, r.Host, r.RequestURI
		return says("HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Mine, Cache-Control\r\nX-Mine: 1\r\nKeep-Alive: "+
			"timeout=5\r\nProxy-Connection: x\r\n"+
			"Cache-Control: no-store\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n")(c, r)
	})}})
	r := request(t, "GET", nil, "Connection", "close, X-Secret, Authorization", "X-Secret", "1", "Authorization",
		"Bearer a", "Te", "trailers, deflate",
		"Trailer", "X-Sum", "Upgrade", "h2c", "Keep-Alive", "300", "Proxy-Authorization", "Basic x", "Via",
		"1.0 client", "X-Kept", "1", "Expect", "100-continue")
	r.Host = "shop.example"
	resp, _, err := do(u, r)
	must(t, err)
	want := http.Header{"Authorization": {"Bearer a"}, "Via": {"1.0 client", "1.1 fieldmark"}, "X-Kept": {"1"}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("the origin saw (-want +got):\n%s", diff)
	}
	if host != "shop.example" || uri != "/path?q=1" {
		t.Errorf("the origin saw host %q and target %q", host, uri)
	}
	want = http.Header{"Cache-Control": {"no-store"}, "Date": {"Thu, 01 Jan 2026 00:00:00 GMT"},
		"Content-Length": {"0"}}
	if diff := cmp.Diff(want, resp.Header); diff != "" {
		t.Errorf("the client got (-want +got):\n%s", diff)
	}
	if len(r.Header["Via"]) != 1 || r.Header.Get("Connection") == "" {
		t.Errorf("the caller's request was changed: %v", r.Header)
	}
}

// TestSilence: every phase has its own time limit.
func TestSilence(t *testing.T) {
	for name, head := range map[string]string{"before the head": "",
		"within the body": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"} {
		t.Run(name, func(t *testing.T) {
			hang := make(chan struct{})
			u := start(t, upstream.Config{HeadTimeout: 50 * time.Millisecond, IdleTimeout: 50 * time.Millisecond,
				Origins: []*url.URL{raw(t, func(c net.Conn, r *http.Request) bool {
					io.WriteString(c, head)
					<-hang
					return false
				})}})
			defer close(hang)
			if _, body, err := do(u, request(t, "GET", nil)); err == nil {
				t.Errorf("a silent origin: %q without an error", body)
			}
			if f := u.States()[0].InFlight; f != 0 {
				t.Errorf("%d requests still count as under way", f)
			}
		})
	}
}

// TestStreams: bodies pass in pieces, in both directions at once.
func TestStreams(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		must(t, rc.EnableFullDuplex())
		w.WriteHeader(200)
		must(t, rc.Flush())
		for b := make([]byte, 1<<10); ; {
			n, err := r.Body.Read(b)
			w.Write(b[:n])
			rc.Flush()
			if err != nil {
				return
			}
		}
	}))
	defer echo.Close()
	at, err := url.Parse(echo.URL)
	must(t, err)
	u := start(t, upstream.Config{Origins: []*url.URL{at}})
	in, out := io.Pipe()
	body := &closeCounter{ReadCloser: in}
	r := request(t, "POST", nil)
	r.Body, r.ContentLength = body, -1
	resp, err := u.RoundTrip(r)
	must(t, err)
	for i := range 50 { // each piece comes back before the next one is sent
		piece := bytes.Repeat([]byte{byte(i)}, 1<<10)
		_, err := out.Write(piece)
		must(t, err)
		got := make([]byte, len(piece))
		_, err = io.ReadFull(resp.Body, got)
		must(t, err)
		if !bytes.Equal(got, piece) {
			t.Fatalf("piece %d came back changed", i)
		}
	}
	must(t, out.Close())
	_, err = io.Copy(io.Discard, resp.Body)
	must(t, err)
	must(t, resp.Body.Close())
	waittest.Until(t, "the request's body is closed", func() bool { return body.closed.Load() == 1 })
}

type closeCounter struct {
	io.ReadCloser
	closed atomic.Int64
}

func (c *closeCounter) Close() error {
	c.closed.Add(1)
	return c.ReadCloser.Close()
}

// TestBodyIsClosedOnce: its connection serves other requests afterwards.
func TestBodyIsClosedOnce(t *testing.T) {
	for name, origins := range map[string][]*url.URL{
		"answered":                            {raw(t, says(good))},
		"connection refused":                  {refused},
		"connections refused, and one server": {refused, refused, raw(t, says(good))},
		"hung up":                             {raw(t, func(net.Conn, *http.Request) bool { return false })},
	} {
		t.Run(name, func(t *testing.T) {
			u := start(t, upstream.Config{Origins: origins, HealthEvery: -1})
			body := &closeCounter{ReadCloser: io.NopCloser(strings.NewReader("x"))}
			r := request(t, "POST", nil)
			r.Body, r.ContentLength = body, 1
			do(u, r)
			waittest.Until(t, "the body is closed", func() bool { return body.closed.Load() > 0 })
			if n := body.closed.Load(); n != 1 {
				t.Errorf("closed %d times", n)
			}
		})
	}
}

// TestClientGone: a client that fails or leaves is no fault of an origin.
func TestClientGone(t *testing.T) {
	whole := func(c net.Conn, r *http.Request) bool {
		_, err := io.Copy(io.Discard, r.Body)
		return err == nil && says(good)(c, r)
	}
	u := start(t, upstream.Config{Origins: []*url.URL{raw(t, whole), raw(t, whole)}, HealthEvery: -1})
	for range 10 {
		r := request(t, "POST", nil)
		r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader("half"), errReader{})), 100
		if _, _, err := do(u, r); err == nil {
			t.Error("half a body was answered")
		}
	}
	for _, s := range u.States() {
		if !s.Healthy || s.InFlight != 0 {
			t.Errorf("origin %+v, want healthy and idle", s)
		}
	}
}

// TestDroppedConnections: connections that an origin closes on idle clients, or on clients
// that are slow to send a body, do not affect its health.
func TestDroppedConnections(t *testing.T) {
	const n = 5 // more than failures make an origin unhealthy
	t.Run("idle", func(t *testing.T) {
		var open sync.WaitGroup
		open.Add(n)
		u := start(t, upstream.Config{HealthEvery: -1,
			Origins: []*url.URL{raw(t, func(c net.Conn, r *http.Request) bool {
				if r.Method == "POST" {
					return false // it closes as the request comes in
				}
				open.Done()
				open.Wait() // all have a connection of their own
				return says(good)(c, r)
			})}})
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				if _, _, err := do(u, request(t, "GET", nil)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for range n {
			if _, _, err := do(u, request(t, "POST", strings.NewReader("x"))); err == nil {
				t.Error("a request on a connection that was closed was answered")
			}
		}
		if s := u.States()[0]; !s.Healthy {
			t.Errorf("origin %+v, want healthy", s)
		}
	})
	t.Run("slow client", func(t *testing.T) {
		u := start(t, upstream.Config{HealthEvery: -1,
			Origins: []*url.URL{raw(t, func(c net.Conn, r *http.Request) bool {
				_, _ = r.Body.Read(make([]byte, 1))
				return false
			})}})
		for range n {
			body, client := io.Pipe()
			go func() {
				for err := error(nil); err == nil; {
					_, err = client.Write(make([]byte, 1000))
				}
			}()
			r := request(t, "POST", nil)
			r.Body, r.ContentLength = body, 1<<40
			if _, _, err := do(u, r); err == nil {
				t.Error("half a body was answered")
			}
			client.Close()
		}
		if s := u.States()[0]; !s.Healthy {
			t.Errorf("origin %+v, want healthy", s)
		}
	})
}

// TestHangingOriginIsReplaced: a request that may be repeated does not spend all of its
// time on an origin that hangs.
func TestHangingOriginIsReplaced(t *testing.T) {
	hangs, works := &url.URL{Scheme: "http", Host: "hangs.example"}, &url.URL{Scheme: "http", Host: "works.example"}
	for _, origins := range [][]*url.URL{{hangs, works}, {works, hangs}} {
		synctest.Test(t, func(t *testing.T) { // the time for an answer does not pass while one is computed
			transport := &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
				near, far := net.Pipe()
				go func() {
					defer far.Close()
					if address == "hangs.example:80" {
						_, _ = io.Copy(io.Discard, far)
						return
					}
					for br := bufio.NewReader(far); ; {
						if r, err := http.ReadRequest(br); err != nil || !says(good)(far, r) {
							return
						}
					}
				}()
				return near, nil
			}}
			defer transport.CloseIdleConnections()
			u := start(t, upstream.Config{Origins: origins, Transport: transport, HealthEvery: -1})
			for range 4 { // some of them go to the one that hangs first
				r := request(t, "GET", nil)
				if _, body, err := do(u,
					r.WithContext(upstream.WithHeadTimeout(r.Context(), 200*time.Millisecond))); err != nil ||
					body != "good" {
					t.Errorf("%q, %v; want the answer of the other origin", body, err)
				}
			}
		})
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// TestInterim: 1xx answers come at once, each once, and never to another request.
func TestInterim(t *testing.T) {
	goOn := make(chan struct{})
	u := start(t, upstream.Config{Origins: []*url.URL{raw(t, func(c net.Conn, r *http.Request) bool {
		io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\nHTTP/1.1 102 "+
			"Processing\r\n\r\n")
		<-goOn
		return says(good)(c, r)
	})}})
	var got []string
	r := request(t, "GET", nil)
	r = r.WithContext(httptrace.WithClientTrace(r.Context(),
		&httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			if got = append(got, fmt.Sprint(code, h.Get("Link"))); len(got) == 2 {
				close(goOn)
			}
			return nil
		}}))
	_, body, err := do(u, r)
	if want := []string{"103</a.css>; rel=preload", "102"}; err != nil || body != "good" || !cmp.Equal(got, want) {
		t.Errorf("interim %q, then %q, %v; want %q", got, body, err, want)
	}
}

// TestTransferCoding: RFC 9112, 6.3: a coding that is not ours to undo is read
// until the connection closes.
func TestTransferCoding(t *testing.T) {
	for name, answer := range map[string]string{
		"alone": "HTTP/1.1 200 OK\r\nTransfer-Encoding: mangled\r\nX-A: 1\r\n\r\ngood",
		"with a length": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\ntransfer-encoding:mangled\r\nX-A: " +
			"1\r\n\r\ngood",
		"after an interim one": "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: " +
			"mangled\r\n\r\ngood",
	} {
		t.Run(name, func(t *testing.T) {
			u := start(t, upstream.Config{Origins: []*url.URL{raw(t,
				func(c net.Conn, r *http.Request) bool { says(answer)(c, r); return false })}})
			resp, body, err := do(u, request(t, "GET", nil))
			if err != nil || body != "good" {
				t.Fatalf("%q, %v", body, err)
			}
			if diff := cmp.Diff(http.Header{"X-A": {"1"}}, resp.Header); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTunnel: a WebSocket passes; no other protocol may be switched to, h2c least of all,
// because its requests would bypass the proxy.
func TestTunnel(t *testing.T) {
	at := raw(t, func(c net.Conn, r *http.Request) bool {
		if r.Header.Get("Upgrade") == "" {
			return says(good)(c, r)
		}
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
			r.Header.Get("Upgrade"))
		io.Copy(c, c)
		return false
	})
	u := start(t, upstream.Config{Origins: []*url.URL{at}})
	resp, err := u.RoundTrip(request(t, "GET", nil, "Connection", "Upgrade", "Upgrade", "websocket"))
	must(t, err)
	if resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "websocket" {
		t.Fatalf("answer %d %v", resp.StatusCode, resp.Header)
	}
	rw := resp.Body.(io.ReadWriteCloser)
	_, err = io.WriteString(rw, "ping")
	must(t, err)
	got := make([]byte, 4)
	_, err = io.ReadFull(rw, got)
	must(t, err)
	must(t, rw.Close())
	if string(got) != "ping" || u.States()[0].InFlight != 0 {
		t.Errorf("echo %q, %d under way", got, u.States()[0].InFlight)
	}
	for _, other := range [][]string{{"Connection", "Upgrade", "Upgrade", "h2c"}, {"Upgrade", "websocket"},
		{"Connection", "Upgrade, HTTP2-Settings", "Upgrade", "h2c", "HTTP2-Settings", "AA"}} {
		if resp, body, err := do(u, request(t, "GET", nil, other...)); err != nil || resp.StatusCode != 200 ||
			body != "good" {
			t.Errorf("%v: %v %q, want an ordinary answer", other, err, body)
		}
	}
}

// TestLeftoverAtOnce: a connection is taken over the moment an answer ends, which
// is before net/http has looked for more.
func TestLeftoverAtOnce(t *testing.T) {
	const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
	u := start(t, upstream.Config{Origins: []*url.URL{raw(t, says(good+evil))}})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				_, body, err := do(u, request(t, "GET", nil))
				if err != nil || body != "good" {
					t.Errorf("%q, %v", body, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestTLS: an origin of https is asked by its name, and judged as any other.
func TestTLS(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprint(w, r.Host, " ", r.Proto)
	}))
	defer srv.Close()
	at, err := url.Parse(srv.URL)
	must(t, err)
	if _, _, err := do(start(t, upstream.Config{Origins: []*url.URL{at}}), request(t, "GET", nil)); err == nil {
		t.Error("an unknown certificate is believed")
	}
	u := start(t, upstream.Config{Origins: []*url.URL{at},
		TLS: srv.Client().Transport.(*http.Transport).TLSClientConfig})
	for range 3 {
		if _, body, err := do(u, request(t, "GET", nil)); err != nil || body != "edge.example HTTP/1.1" {
			t.Errorf("%q, %v", body, err)
		}
	}
}
