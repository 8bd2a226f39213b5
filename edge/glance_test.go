package edge_test

import (
	"bufio"
	"bytes"
	"fmt"
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

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/edge"
)

// browserHead is what a browser says of itself, as it stands in a head.
const browserHead = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36\r\n" +
	"Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" +
	"Accept-Language: de-DE,de;q=0.9,en;q=0.8\r\nReferer: https://shop.example/\r\nSec-Fetch-Dest: image\r\nSec-Fetch-Mode: no-cors\r\n" +
	"Sec-Fetch-Site: cross-site\r\nsec-ch-ua-platform: \"Linux\"\r\nCookie: a=b; c=d\r\nDNT: 1\r\nConnection: keep-alive\r\n"

const plainGet = "GET /api/badge/acme HTTP/1.1\r\nHost: fieldmark.example\r\n"

// TestGlanceIsSure: which heads are plain.
func TestGlanceIsSure(t *testing.T) {
	for _, tt := range []struct {
		name, head string
		want       bool
	}{
		{"least", plainGet + "\r\n", true},
		{"browser", plainGet + browserHead + "\r\n", true},
		{"etag", plainGet + "If-None-Match: \"x\"\r\n\r\n", true},
		{"both conditions", plainGet + "If-None-Match: \"x\"\r\nIf-Modified-Since: Sat, 21 Nov 2026 00:00:00 GMT\r\n\r\n", true},
		{"theme", "GET /api/badge/acme?theme=dark HTTP/1.1\r\nhost: x\r\n\r\n", true},
		{"behind a proxy", plainGet + "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nX-Real-IP: 192.0.2.1\r\n\r\n", true},
		{"a second request behind", plainGet + "\r\nPOST / HTTP/1.1\r\n", true},
		{"cut off", plainGet, false},
		{"only a date", plainGet + "If-Modified-Since: Sat, 21 Nov 2026 00:00:00 GMT\r\n\r\n", false},
		{"HEAD", strings.Replace(plainGet, "GET", "HEAD", 1) + "\r\n", false},
		{"HTTP/1.0", strings.Replace(plainGet, "1.1", "1.0", 1) + "\r\n", false},
		{"no host", "GET /api/badge/acme HTTP/1.1\r\n\r\n", false},
		{"empty host", "GET /api/badge/acme HTTP/1.1\r\nHost:\r\n\r\n", false},
		{"two hosts", plainGet + "Host: b\r\n\r\n", false},
		{"host with a user", "GET /api/badge/acme HTTP/1.1\r\nHost: a@b\r\n\r\n", false},
		{"no slug", "GET /api/badge/ HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"escaped", "GET /api/badge/ac%6de HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"a slash more", "GET /api/badge/acme/embed HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"dot segments", "GET /api/badge/../x HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"fragment", "GET /api/badge/acme#x HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"absolute form", "GET http://x/api/badge/acme HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"bare line feed", "GET /api/badge/acme HTTP/1.1\nHost: x\n\n", false},
		{"line feed in a field", plainGet + "Accept: a\nb\r\n\r\n", false},
		{"bare carriage return", plainGet + "Accept: a\rb\r\n\r\n", false},
		{"NUL", plainGet + "Accept: a\x00b\r\n\r\n", false},
		{"DEL at the eighth byte", plainGet + "Accept: 12345\x7f890\r\n\r\n", false},
		{"not ASCII", plainGet + "Accept: ü\r\n\r\n", false},
		{"folded", plainGet + "Accept: a\r\n b\r\n\r\n", false},
		{"blank before the colon", plainGet + "Accept : a\r\n\r\n", false},
		{"no name", plainGet + ": a\r\n\r\n", false},
		{"no colon", plainGet + "Accept\r\n\r\n", false},
		{"content length", plainGet + "Content-Length: 0\r\n\r\n", false},
		{"chunked", plainGet + "Transfer-Encoding: chunked\r\n\r\n", false},
		{"expect", plainGet + "Expect: 100-continue\r\n\r\n", false},
		{"upgrade", plainGet + "Upgrade: h2c\r\n\r\n", false},
		{"close", plainGet + "Connection: close\r\n\r\n", false},
		{"named hop", plainGet + "Connection: keep-alive, x\r\n\r\n", false},
		{"range", plainGet + "Range: bytes=0-1\r\n\r\n", false},
		{"two etags", plainGet + "If-None-Match: \"x\"\r\nIf-None-Match: \"y\"\r\n\r\n", false},
		{"image proxy", plainGet + "User-Agent: github-camo (1)\r\n\r\n", false},
		{"via", plainGet + "Via: 1.1 camo\r\n\r\n", false},
		{"request id", plainGet + "X-Request-Id: a\r\n\r\n", false},
		{"unknown", plainGet + "X-Anything: a\r\n\r\n", false},
		{"two dots", "GET /api/badge/.. HTTP/1.1\r\nHost: x\r\n\r\n", false},
	} {
		if _, _, _, ok := edge.Glance([]byte(tt.head)); ok != tt.want {
			t.Errorf("%s: sure %v, want %v", tt.name, ok, tt.want)
		}
	}
}

// FuzzGlance holds a glance to the full parser: what the one accepts, the other
// reads as the same request of the same length.
func FuzzGlance(f *testing.F) {
	for _, more := range []string{"", browserHead, "If-None-Match: \"x\", W/\"y\"\r\n", "Accept: a\nb\r\n", "Content-Length: 5\r\n", "host: y\r\n", " x: y\r\n",
		"Transfer-Encoding: chunked\r\n", "Sec-Fetch-Mode : x\r\n", "Connection: close\r\n", "Accept:\t\r\n", "Accept:\r\n", "Expect: 100-continue\r\n"} {
		f.Add([]byte(plainGet + more + "\r\n"))
		f.Add([]byte("GET /api/badge/acme.json?theme=dark&x= HTTP/1.1\r\nHost: a\r\n" + more + "\r\nGET / HTTP/1.1\r\n\r\n"))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		target, match, size, ok := edge.Glance(in)
		if !ok {
			return
		}
		full := new(fasthttp.RequestHeader)
		in = bytes.Clone(in)
		rest := bufio.NewReaderSize(bytes.NewReader(in), len(in)+16)
		if err := full.Read(rest); err != nil {
			t.Fatalf("%q: the full parser says %v", in, err)
		}
		var uri fasthttp.URI
		if err := uri.Parse(full.Host(), full.RequestURI()); err != nil {
			t.Fatalf("%q: address: %v", in, err)
		}
		address := string(uri.Path())
		if query := uri.QueryString(); len(query) > 0 || bytes.HasSuffix(target, []byte("?")) {
			address += "?" + string(query)
		}
		for what, pair := range map[string][2]string{
			"method": {string(full.Method()), "GET"}, "protocol": {string(full.Protocol()), "HTTP/1.1"},
			"target": {string(full.RequestURI()), string(target)}, "address": {address, string(target)},
			"match": {string(full.Peek("If-None-Match")), string(match)},
			"rest":  {fmt.Sprint(rest.Buffered()), fmt.Sprint(len(in) - size)},
			"body":  {fmt.Sprint(full.ContentLength() > 0, full.ConnectionClose(), full.ConnectionUpgrade()), "false false false"},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%q: %s is %q for the full parser, %q at a glance", in, what, pair[0], pair[1])
			}
		}
		if len(full.Host()) == 0 {
			t.Errorf("%q: no host", in)
		}
	})
}

// speak writes requests to a connection of their own and returns the answer.
func (h *house) speak(requests string) string {
	h.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.base, "http://"))
	must(h.t, err)
	defer conn.Close()
	must(h.t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(conn, requests)
	must(h.t, err)
	answer, err := io.ReadAll(conn)
	must(h.t, err)
	return string(answer)
}

var (
	dateLine = regexp.MustCompile(`Date: [^\r]+`)
	ageLine  = regexp.MustCompile(`Age: \d+`)
)

// TestGlanceAnswersAsTheHandler sends what a glance takes, and the same with a
// field no glance takes, and compares the bytes.
func TestGlanceAnswersAsTheHandler(t *testing.T) {
	h := hitHouse(t)
	tag := h.get("/api/badge/acme").header.Get("Etag")
	for _, path := range []string{"/api/badge/acme", "/api/badge/acme?theme=dark", "/api/badge/acme.json", "/api/badge/acme.png", "/api/badge/acme?style=flat"} {
		h.get(path)
		h.get(path)
		for _, more := range []string{"", browserHead, "If-None-Match: " + tag + "\r\n", "If-None-Match: *\r\n", "If-None-Match: \"other\"\r\n"} {
			plain := "GET " + path + " HTTP/1.1\r\nHost: fieldmark.example\r\n" + more
			last := "GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
			atAGlance, inFull := h.speak(plain+"\r\n"+last), h.speak(plain+"X-Anything: 1\r\n\r\n"+last)
			atAGlance, _, _ = strings.Cut(dateLine.ReplaceAllString(ageLine.ReplaceAllString(atAGlance, ""), ""), "HTTP/1.1 404")
			inFull, _, _ = strings.Cut(dateLine.ReplaceAllString(ageLine.ReplaceAllString(inFull, ""), ""), "HTTP/1.1 404")
			if atAGlance != inFull || !strings.HasPrefix(atAGlance, "HTTP/1.1 ") {
				t.Errorf("%s with %q:\nat a glance %q\nin full     %q", path, more, atAGlance, inFull)
			}
		}
	}
}

// TestVisitorKeepsOrder mixes requests of all kinds on one connection.
func TestVisitorKeepsOrder(t *testing.T) {
	h := hitHouse(t)
	plain, score := plainGet+"\r\n", "GET /api/v1/score/acme HTTP/1.1\r\nHost: x\r\n\r\n"
	lint := "POST /api/v1/llms-txt/lint HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\n# Acme\n"
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.base, "http://"))
	must(t, err)
	defer conn.Close()
	in := bufio.NewReader(conn)
	for round, batch := range []string{plain, plain + plain + score + plain, score, plain, plain[:30], plain[30:], lint + plain + score, plain + lint, plain} {
		must(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
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
			want := map[string]string{"/api/badge/acme": "image/svg+xml; charset=utf-8", "/api/v1/score/acme": "application/json", "/api/v1/llms-txt/lint": "application/json"}[req.URL.Path]
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

// BenchmarkIdleConnections tells what a kept-alive connection that waits costs:
// of memory that Go manages, in bytes.
func BenchmarkIdleConnections(b *testing.B) {
	h := hitHouse(b)
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

// TestCrowdOnAColdBadge asks for one badge that nobody has asked for yet, a
// thousand times at once. The origin hears of it once at most.
func TestCrowdOnAColdBadge(t *testing.T) {
	h := hitHouse(t)
	h.brand("cold", "Cold", 200)
	h.until("cold is ranked", func() bool { return strings.Contains(h.get("/api/v1/leaderboard").body, `"total":2`) })
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
