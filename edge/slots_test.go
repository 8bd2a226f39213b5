package edge_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/valyala/fasthttp"
)

// trustLoopback has the edge accept the client address of a test.
func trustLoopback(c *edge.Config) {
	c.TrustedNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

// TestShareOfNetwork: one network has a quarter of what may be under way at the
// origins, of requests, tunnels and long bodies alike, and others have the rest.
func TestShareOfNetwork(t *testing.T) {
	t.Parallel()
	const greedy, other = "X-Forwarded-For: 198.51.100.1\r\n", "X-Forwarded-For: 198.51.100.2\r\n"
	for _, tt := range []struct {
		name   string
		begins string // a request that holds what it has, without the end of its head
		after  string
		share  int
	}{
		{"requests", "POST /docs/held HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n", "x", 4},
		{"tunnels", socketGet, "", 4},
		{"uploads", fmt.Sprintf("POST /docs/body HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n", 2*len(lengthy)),
			lengthy, 32},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inflight := 32 // half of them at the origin, a quarter of that for one network
			if tt.name == "uploads" {
				inflight = 1000
			}
			w := newRecordingOrigin(t, trustLoopback, func(c *edge.Config) { c.Inflight = inflight })
			held, release := make(chan struct{}, 100), make(chan struct{})
			echo := echoes(t)
			w.takes = func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/docs/free" {
					return
				}
				held <- struct{}{}
				if r.URL.Path == "/docs/socket" {
					echo(rw, r)
					return
				}
				io.Copy(io.Discard, r.Body)
				<-release
			}
			begin := func(client string) net.Conn {
				c := w.dial()
				fmt.Fprint(c, tt.begins+client+"\r\n"+tt.after)
				return c
			}
			for range tt.share {
				begin(greedy)
				<-held
			}
			resp, err := http.ReadResponse(bufio.NewReader(begin(greedy)), nil)
			if err != nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
				t.Errorf("one more of the same network: %v %v, want 503 with Retry-After", resp, err)
			}
			begin(other)
			<-held
			if a := w.do("POST", "/docs/free", "x", "X-Forwarded-For", "198.51.100.3"); a.status != http.StatusOK {
				t.Errorf("a request of a third network: %d", a.status)
			}
			close(release)
			if tt.name == "requests" {
				w.until("there is room again", func() bool {
					return w.do("POST", "/docs/free", "x", "X-Forwarded-For", "198.51.100.1").status == http.StatusOK
				})
			}
		})
	}
}

// startClock starts the goroutine in which fasthttp keeps the date. It belongs to no
// bubble, so it must be started before one.
func startClock() {
	here, there := net.Pipe()
	go func() { _ = (&fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}).ServeConn(there) }()
	fmt.Fprint(here, "GET / HTTP/1.0\r\n\r\n")
	io.Copy(io.Discard, here)
}

// TestSlowReader: an answer whose client takes it too slowly is given up within its
// first piece; a client that is merely slow gets all of it.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	startClock()
	const size, piece = 1 << 20, 64 << 10
	for name, tt := range map[string]struct {
		take  int // bytes; 0: the client reads nothing until the answer is given up
		every time.Duration
		whole bool
	}{
		"nothing":                  {0, 0, false},
		"half a kilobyte in 3 s":   {1 << 9, 3 * time.Second, false},
		"a few kilobytes a second": {4 << 10, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closed := make(chan struct{})
				e := pacedEdge(t, nil, answering{&longAnswer{Reader: newNoise(size), closed: closed}})
				defer e.Close()
				here, there := net.Pipe()
				var served sync.WaitGroup
				served.Go(func() { e.ServeConn(there) })
				fmt.Fprint(here, "GET /film HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
				resp, err := http.ReadResponse(bufio.NewReaderSize(here, 16), nil)
				must(t, err)
				if tt.take == 0 {
					<-closed // a node that hangs fails the test as a bubble deadlock
				}
				got := int64(0)
				for err == nil {
					time.Sleep(tt.every)
					var n int64
					n, err = io.CopyN(io.Discard, resp.Body, max(int64(tt.take), 1))
					got += n
				}
				<-closed
				if tt.whole && got != size || !tt.whole && got >= piece {
					t.Errorf("got %d of %d bytes, want all of them: %v", got, size, tt.whole)
				}
				here.Close()
				served.Wait()
			})
		})
	}
}

// longAnswer is a response body that signals when the last reader closes it.
type longAnswer struct {
	io.Reader
	closed chan struct{}
	once   sync.Once
}

// Close implements io.Closer.
func (b *longAnswer) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// TestRefusedAlone: a request that is not sent because of the limit of one network does not
// affect other requests.
func TestRefusedAlone(t *testing.T) {
	w := newRecordingOrigin(t, trustLoopback, func(c *edge.Config) { c.Inflight = 8 }) // one of a network at the origin
	held, release := make(chan struct{}, 1), make(chan struct{})
	w.answer = func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/held") {
			held <- struct{}{}
			<-release
		}
		rw.Header().Set("Cache-Control", "max-age=60")
		io.WriteString(rw, "page")
	}
	go func() { // ends with release
		resp, err := http.NewRequest("POST", w.base+"/held", nil)
		if err == nil {
			resp.Header.Set("X-Forwarded-For", "198.51.100.1")
			if r, err := http.DefaultTransport.RoundTrip(resp); err == nil {
				r.Body.Close()
			}
		}
	}()
	<-held
	defer close(release)
	w.wantProblem(w.get("/page", "X-Forwarded-For", "198.51.100.1"), http.StatusServiceUnavailable,
		fieldmark.CodeOverloaded)
	for i, want := range []string{"stored", "hit"} {
		a := w.get("/page", "X-Forwarded-For", "198.51.100.2")
		if status := a.header.Get("Cache-Status"); a.body != "page" || !strings.Contains(status, want) {
			t.Errorf("request %d of another network: %d %q %s, want %s", i, a.status, a.body, status, want)
		}
	}
}
