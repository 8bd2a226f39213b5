package edge_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

func (w *recordingOrigin) dial() net.Conn {
	w.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(w.base, "http://"))
	must(w.t, err)
	w.t.Cleanup(func() { c.Close() })
	must(w.t, c.SetDeadline(time.Now().Add(waittest.Limit)))
	return c
}

// TestNetworkConns: one network has so many connections and no more; closing one
// makes room.
func TestNetworkConns(t *testing.T) {
	w := newRecordingOrigin(t, func(c *edge.Config) { c.NetworkConns = 3 })
	ask := func(c net.Conn) (*http.Response, error) {
		fmt.Fprint(c, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
		return http.ReadResponse(bufio.NewReader(c), nil)
	}
	var open []net.Conn
	for range 3 {
		c := w.dial()
		if resp, err := ask(c); err != nil || resp.StatusCode != 200 {
			t.Fatalf("within the limit: %v %v", resp, err)
		}
		open = append(open, c)
	}
	resp, err := http.ReadResponse(bufio.NewReader(w.dial()), nil) // set before its request
	if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !resp.Close {
		t.Errorf("one too many: %v %v", resp, err)
	}
	must(t, open[0].Close())
	w.until("there is room again", func() bool {
		resp, err := ask(w.dial())
		return err == nil && resp.StatusCode == 200
	})
}

// TestOverload: while the origin is slow, requests for it are refused at once
// beyond a limit, and what the node answers itself goes on.
func TestOverload(t *testing.T) {
	// eight of them at the origin, two of one network
	w := newRecordingOrigin(t, func(c *edge.Config) { c.Inflight = 16 })
	release := make(chan struct{})
	var held atomic.Int64
	w.answer = func(rw http.ResponseWriter, r *http.Request) {
		held.Add(1)
		<-release
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if a := w.do("POST", "/slow", "x"); a.status != 200 {
				t.Errorf("a request under way: %d", a.status)
			}
		})
	}
	w.until("the origin is busy", func() bool { return held.Load() == 2 })
	a := w.do("POST", "/slow", "x")
	w.wantProblem(a, http.StatusServiceUnavailable, fieldmark.CodeOverloaded)
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if a := w.get("/static/nothing.css"); a.status != 404 {
		t.Errorf("what needs no origin: %d", a.status)
	}
	close(release)
	wg.Wait()
	if a := w.do("POST", "/after", "x"); a.status != 200 {
		t.Errorf("afterwards: %d", a.status)
	}
}

// TestDrain: a node that stops ends waiting connections, takes no more, and finishes
// what was begun.
func TestDrain(t *testing.T) {
	w := newRecordingOrigin(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	w.base = "http://" + ln.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	other := newWitnessEdge(t, w)
	other.DrainWithin(waittest.Limit)
	go func() { done <- other.Run(ctx, ln) }()

	begun, release := make(chan struct{}), make(chan struct{})
	w.answer = func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(begun)
			<-release
		}
		io.WriteString(rw, "done")
	}
	idle := w.dial()
	fmt.Fprint(idle, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	br := bufio.NewReader(idle)
	resp, err := http.ReadResponse(br, nil)
	must(t, err)
	io.Copy(io.Discard, resp.Body)
	slow := w.dial()
	fmt.Fprint(slow, "POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx")
	<-begun
	stop()
	if _, err := br.ReadByte(); err != io.EOF {
		t.Errorf("a waiting connection: %v, want its end", err)
	}
	w.until("it takes no more connections", func() bool {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	close(release)
	resp, err = http.ReadResponse(bufio.NewReader(slow), nil)
	if err != nil || resp.StatusCode != 200 || !resp.Close {
		t.Errorf("what was begun: %v %v, want 200 and the end of the connection", resp, err)
	}
	must(t, <-done)
}

// TestDrainDelay: during its delay a node says that it stops, answers everything,
// and closes each connection with the answer.
func TestDrainDelay(t *testing.T) {
	startClock()
	synctest.Test(t, func(t *testing.T) {
		const delay = 5 * time.Second
		e := pacedEdge(t, func(c *edge.Config) { c.DrainDelay = delay },
			asked(func(*http.Request) error { return nil }))
		network := newPipeNet()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx, network) }()
		get := func(c net.Conn, path string) *http.Response {
			t.Helper()
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			must(t, err)
			_, err = io.Copy(io.Discard, resp.Body)
			must(t, err)
			return resp
		}
		kept, err := network.dial(ctx, "", "")
		must(t, err)
		if resp := get(kept, "/a"); resp.StatusCode != 200 || resp.Close {
			t.Fatalf("before: %v", resp)
		}
		stop()
		synctest.Wait()
		if err := e.Ready(); err == nil || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("ready: %v", err)
		}
		fresh, err := network.dial(t.Context(), "", "")
		must(t, err)
		if resp := get(fresh, "/b"); resp.StatusCode != 200 || !resp.Close {
			t.Errorf("a new connection within the delay: %v, want an answer that closes it", resp)
		}
		if resp := get(kept, "/readyz"); resp.StatusCode != http.StatusServiceUnavailable || !resp.Close {
			t.Errorf("readyz on a kept connection within the delay: %v, want 503, and the end of the connection", resp)
		}
		time.Sleep(delay)
		synctest.Wait()
		if _, err := network.dial(t.Context(), "", ""); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a new connection after the delay: %v", err)
		}
		must(t, <-done)
	})
}

// TestSlowLoris: heads that never end hold nothing that others need.
func TestSlowLoris(t *testing.T) {
	w := newRecordingOrigin(t)
	for range 200 {
		c := w.dial()
		fmt.Fprint(c, "GET /a HTTP/1.1\r\nHost: a\r\nX-") // and no more
	}
	for range 20 {
		if a := w.do("POST", "/b", "x"); a.status != 200 {
			t.Fatalf("beside 200 slow ones: %d", a.status)
		}
	}
	if asked, _ := w.take(); len(asked) != 20 {
		t.Errorf("the origin was asked %d times, want 20", len(asked))
	}
}

// TestPoison: nothing that is not in a request's key changes what another gets.
func TestPoison(t *testing.T) {
	w := newRecordingOrigin(t)
	w.answer = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Cache-Control", "public, max-age=60")
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(rw, "%s %s %v %v %s", r.Host, r.RequestURI, r.Header["X-Original-Url"],
			r.Header["X-Http-Method-Override"], body)
	}
	for i, header := range [][]string{
		{"X-Forwarded-Host", "evil.example"}, {"X-Forwarded-Scheme", "nothttps"}, {"X-Original-Url", "/admin"},
		{"X-Rewrite-Url", "/admin"},
		{"X-Http-Method-Override", "DELETE"}, {"X-Host", "evil.example"}, {"Forwarded", "host=evil.example"},
		{"X-Forwarded-Prefix", "/evil"},
	} {
		path := "/poison-" + rand.Text() + fmt.Sprint(i)
		bad := w.get(path, header...)
		if good := w.get(path); good.status != 200 || good.body != bad.body || strings.Contains(good.body, "evil") ||
			strings.Contains(good.body, "/admin") {
			t.Errorf("%v: the next client gets %q, the first got %q", header, good.body, bad.body)
		}
	}
	path := "/fat-" + rand.Text()
	w.do("GET", path, "evil")
	if a := w.get(path); a.status != 200 || strings.Contains(a.body, "evil") {
		t.Errorf("after a GET with a body the next client gets %d %q", a.status, a.body)
	}
	if a := w.get("/bomb-"+rand.Text(), "X-Large", strings.Repeat("x", 30<<10)); a.status != 431 ||
		a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("an oversized head: %d %q, want a 431 that nobody stores", a.status, a.header.Get("Cache-Control"))
	}
}
