package edge_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// browserHead holds the header lines that a browser sends about itself.
const browserHead = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " +
	"Chrome/141.0.0.0 Safari/537.36\r\n" +
	"Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8\r\nAccept-Encoding: gzip, deflate, " +
	"br, zstd\r\n" +
	"Accept-Language: de-DE,de;q=0.9,en;q=0.8\r\nReferer: https://shop.example/\r\nSec-Fetch-Dest: " +
	"image\r\nSec-Fetch-Mode: no-cors\r\n" +
	"Sec-Fetch-Site: cross-site\r\nsec-ch-ua-platform: \"Linux\"\r\nCookie: a=b; c=d\r\nDNT: 1\r\nConnection: " +
	"keep-alive\r\n"

const plainGet = "GET /api/badge/acme HTTP/1.1\r\nHost: fieldmark.example\r\n"

// speak writes requests to a connection of their own and returns the answer.
func (h *fixture) speak(requests string) string {
	h.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.base, "http://"))
	must(h.t, err)
	defer conn.Close()
	must(h.t, conn.SetDeadline(time.Now().Add(waittest.Limit)))
	_, err = io.WriteString(conn, requests)
	must(h.t, err)
	answer, err := io.ReadAll(conn)
	must(h.t, err)
	return string(answer)
}

var (
	dateLine = regexp.MustCompile(`Date: [^\r]+`)
	ageLine  = regexp.MustCompile(`Age: \d+`)
	stale    = regexp.MustCompile(`; detail=stale-while-revalidate`) // it depends on when the renewal ends
)

// TestFastPathMatchesHandler sends requests that the fast path serves, and the same with
// a header field that it does not accept, and compares the bytes.
func TestFastPathMatchesHandler(t *testing.T) {
	h := newHitFixture(t)
	tag := h.get("/api/badge/acme").header.Get("Etag")
	for _, path := range []string{"/api/badge/acme", "/api/badge/acme?theme=dark", "/api/badge/acme.json",
		"/api/badge/acme.png", "/api/badge/acme?style=flat"} {
		h.get(path)
		h.get(path)
		for _, more := range []string{"", browserHead, "If-None-Match: " + tag + "\r\n", "If-None-Match: *\r\n",
			"If-None-Match: \"other\"\r\n"} {
			plain := "GET " + path + " HTTP/1.1\r\nHost: fieldmark.example\r\n" + more
			last := "GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
			fast, full := h.speak(plain+"\r\n"+last), h.speak(plain+"X-Anything: 1\r\n\r\n"+last)
			for _, response := range []*string{&fast, &full} {
				for _, changing := range []*regexp.Regexp{dateLine, ageLine, stale} {
					*response = changing.ReplaceAllString(*response, "")
				}
				*response, _, _ = strings.Cut(*response, "HTTP/1.1 404")
			}
			if fast != full || !strings.HasPrefix(fast, "HTTP/1.1 ") {
				t.Errorf("%s with %q:\nfast path %q\nhandler   %q", path, more, fast, full)
			}
		}
	}
}

// TestConnKeepsOrder mixes requests of all kinds on one connection.
func TestConnKeepsOrder(t *testing.T) {
	h := newHitFixture(t)
	plain, score := plainGet+"\r\n", "GET /api/v1/score/acme HTTP/1.1\r\nHost: x\r\n\r\n"
	lint := "POST /api/v1/llms-txt/lint HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: " +
		"7\r\n\r\n# Acme\n"
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.base, "http://"))
	must(t, err)
	defer conn.Close()
	in := bufio.NewReader(conn)
	for round, batch := range []string{plain, plain + plain + score + plain, score, plain, plain[:30], plain[30:],
		lint + plain + score, plain + lint, plain} {
		must(t, conn.SetDeadline(time.Now().Add(waittest.Limit)))
		_, err := io.WriteString(conn, batch)
		must(t, err)
		if round == 4 {
			continue // half a request
		}
		if round == 5 {
			batch = plain
		}
		for len(batch) > 0 {
			req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(batch)))
			must(t, err)
			want := map[string]string{"/api/badge/acme": "image/svg+xml; charset=utf-8",
				"/api/v1/score/acme": "application/json", "/api/v1/llms-txt/lint": "application/json"}[req.URL.Path]
			end := strings.Index(batch, "\r\n\r\n") + 4 + int(req.ContentLength)
			batch = batch[end:]
			answer, err := http.ReadResponse(in, req)
			if err != nil {
				t.Fatalf("round %d, %s: %v", round, req.URL.Path, err)
			}
			if _, err := io.Copy(io.Discard, answer.Body); err != nil {
				t.Fatal(err)
			}
			if got := answer.Header.Get("Content-Type"); got != want || answer.StatusCode != 200 {
				t.Errorf("round %d, %s: %d %s, want %s", round, req.URL.Path, answer.StatusCode, got, want)
			}
		}
	}
}

// BenchmarkIdleConnections measures the cost of an idle kept-alive connection in bytes of
// memory managed by Go.
func BenchmarkIdleConnections(b *testing.B) {
	h := newHitFixture(b)
	var limit syscall.Rlimit
	must(b, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	n := min(10_000, int(limit.Cur)/2-200)
	for _, bm := range []struct{ name, first string }{
		{"after a badge", plainGet + "\r\n"},
		{"after a score", "GET /api/v1/score/acme HTTP/1.1\r\nHost: x\r\n\r\n"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			for b.Loop() {
				before := managed()
				conns := make([]net.Conn, n)
				answer := make([]byte, 8<<10)
				for i := range conns {
					conn, err := net.Dial("tcp", strings.TrimPrefix(h.base, "http://"))
					must(b, err)
					_, err = io.WriteString(conn, bm.first)
					must(b, err)
					_, err = conn.Read(answer)
					must(b, err)
					conns[i] = conn
				}
				// Both ends are in this process: half a connection's own records are
				// the client's.
				b.ReportMetric(float64(managed()-before)/float64(n), "bytes/conn")
				for _, conn := range conns {
					must(b, conn.Close())
				}
			}
		})
	}
}

// managed is what the heap and the stacks hold after collections, which also
// shrink stacks.
func managed() int64 {
	var m runtime.MemStats
	for range 4 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// TestConcurrentRequestsOfAColdBadge requests a badge that is not cached a thousand times at once. The
// origin receives at most one request.
func TestConcurrentRequestsOfAColdBadge(t *testing.T) {
	t.Parallel()
	h := newHitFixture(t)
	h.brand("cold", "Cold", 200)
	h.catchUp()
	before := h.asked.Load()
	const crowd = 1000
	var wg sync.WaitGroup
	var failed atomic.Int64
	begin := make(chan struct{})
	for range crowd {
		wg.Go(func() {
			<-begin
			answer := h.speak("GET /api/badge/cold?style=compact HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			if !strings.HasPrefix(answer, "HTTP/1.1 200") {
				failed.Add(1)
			}
		})
	}
	close(begin)
	wg.Wait()
	if asked := h.asked.Load() - before; asked > 1 || failed.Load() > 0 {
		t.Errorf("%d at once: the origin was asked %d times, want once at most; %d failed", crowd, asked, failed.Load())
	}
}
