package edge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/proxy"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/client"
)

// noise is a body of n bytes in which no part is like another.
type noise struct {
	left int64
	sum  hash.Hash32
	at   uint64
}

func newNoise(n int64) *noise { return &noise{left: n, sum: crc32.New(castagnoli)} }

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	static     = func() []byte {
		b := make([]byte, 1<<20)
		_, _ = rand.NewChaCha8([32]byte{}).Read(b) // never fails
		return b
	}()
)

func (b *noise) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), b.left)]
	b.at++
	n := copy(p, binary.BigEndian.AppendUint64(nil, b.at))
	n += copy(p[n:], static[b.at%(1<<19):])
	b.left -= int64(n)
	b.sum.Write(p[:n])
	return n, nil
}

// sums answers with how many bytes came, how they were framed, and their sum.
func sums(rw http.ResponseWriter, r *http.Request) {
	sum := crc32.New(castagnoli)
	n, err := io.Copy(sum, r.Body)
	fmt.Fprintf(rw, "%d of %d, %x, %v", n, r.ContentLength, sum.Sum32(), err)
}

// TestUploadStreams sends a body larger than any buffer through a node: it arrives
// as it was, and the node holds next to nothing of it.
func TestUploadStreams(t *testing.T) {
	w := newRecordingOrigin(t)
	w.takes = sums
	size := int64(256 << 20)
	if testing.Short() {
		size = 32 << 20
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	var dials atomic.Int64
	tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	send := func(size, length int64) (took uint64) {
		t.Helper()
		body := newNoise(size)
		req, err := http.NewRequest("PUT", w.base+"/files/large", body)
		must(t, err)
		req.ContentLength = length
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		resp, err := tr.RoundTrip(req)
		must(t, err)
		got, err := io.ReadAll(resp.Body)
		must(t, err)
		resp.Body.Close()
		runtime.ReadMemStats(&after)
		if want := fmt.Sprintf("%d of %d, %x, <nil>", size, length, body.sum.Sum32()); string(got) != want ||
			resp.StatusCode != 200 {
			t.Errorf("length %d: the origin got %d %q, want %q", length, resp.StatusCode, got, want)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, length := range []int64{size, -1} {
		// Client, node and origin together; what a node held of the body would be here. Of several
		// tries the least counts, as other goroutines allocate too.
		took := send(size, length)
		for tries := 1; took > 8<<20 && tries < 3; tries++ {
			took = min(took, send(size, length))
		}
		if took > 8<<20 {
			t.Errorf("length %d: %d bytes of memory were taken for a body of %d", length, took, size)
		}
		// net/http drops a connection if it learns more than 50 ms after a response that it has sent
		// all of the request, so that not every one is used again.
		w.until("a connection is used again", func() bool {
			before := dials.Load()
			small := int64(len(lengthy)) // but passed on as it comes
			send(small, min(length, small))
			return dials.Load() == before
		})
	}
}

// TestUploadWaits: a node takes no more of a body than its origin does.
func TestUploadWaits(t *testing.T) {
	t.Parallel()
	const size = 128 << 20
	w := newRecordingOrigin(t)
	release := make(chan struct{})
	w.takes = func(rw http.ResponseWriter, r *http.Request) {
		<-release
		sums(rw, r)
	}
	c := w.dial()
	fmt.Fprintf(c, "POST /files/slow HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", size)
	body, sent := newNoise(size), new(atomic.Int64)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for b := make([]byte, 32<<10); ; {
			n, err := body.Read(b)
			if err != nil {
				return
			}
			if _, err := c.Write(b[:n]); err != nil {
				t.Error(err)
				return
			}
			sent.Add(int64(n))
		}
	})
	last, same := int64(-1), 0
	w.until("no more of the body is taken", func() bool {
		if now := sent.Load(); now == last && now > 0 {
			same++
		} else {
			last, same = now, 0
		}
		return same >= 5
	})
	// Between are the buffers of two connections, of a few MiB each.
	if last > size/2 {
		t.Errorf("%d of %d bytes were taken from the client while the origin took none", last, size)
	}
	close(release)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	got, err := io.ReadAll(resp.Body)
	must(t, err)
	if want := fmt.Sprintf("%d of %d, %x, <nil>", size, size, body.sum.Sum32()); string(got) != want {
		t.Errorf("the origin got %q, want %q", got, want)
	}
}

// lengthy is more than is read before a request is passed on.
var lengthy = strings.Repeat("0123456789abcdef", proxy.MaxBufferedBody/16+1<<10)

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// TestUploadCut: a body that is incomplete or malformed is never sent to an origin as a
// complete one.
func TestUploadCut(t *testing.T) {
	chunked := "PUT /cut HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(lengthy)
	sized := fmt.Sprintf("PUT /cut HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", 2*len(lengthy))
	w := newRecordingOrigin(t, func(c *edge.Config) { c.PassBody = int64(2 * len(lengthy)) })
	read := make(chan string, 10)
	w.takes = func(rw http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err == nil {
			read <- fmt.Sprintf("%d bytes as a whole", n)
			return
		}
		read <- "cut off"
	}
	for name, tt := range map[string]struct {
		sent   string
		status int
		heard  string // by the origin; empty: it is not asked
	}{
		"a length, whole": {sized + lengthy + lengthy, 200,
			fmt.Sprint(2*len(lengthy), " bytes as a whole")},
		"a length, half":          {sized + lengthy, 400, "cut off"},
		"a length, nothing of it": {sized, 400, ""},
		"chunks, whole":           {chunked + "0\r\n\r\n", 200, fmt.Sprint(len(lengthy), " bytes as a whole")},
		"chunks, whole with a trailer": {chunked + "0\r\nX-Sum: 1\r\n\r\n", 200,
			fmt.Sprint(len(lengthy), " bytes as a whole")},
		"chunks without the last":      {chunked, 400, "cut off"},
		"half a size":                  {chunked + "5", 400, "cut off"},
		"half a chunk":                 {chunked + "5\r\nab", 400, "cut off"},
		"no line break after the data": {chunked + "5\r\nabcdeX", 400, "cut off"},
		"the trailer cut off":          {chunked + "0\r\n", 400, "cut off"},
		"a field of the trailer cut":   {chunked + "0\r\nX-Su", 400, "cut off"},
		"a length in the trailer":      {chunked + "0\r\nContent-Length: 3\r\n\r\n", 400, "cut off"},
		"an invalid size":              {chunked + "zz\r\n", 400, "cut off"},
		"a size with 0x":               {chunked + "0x5\r\nabcde\r\n0\r\n\r\n", 400, "cut off"},
		"a size ending in LF":          {chunked + "5\nabcde\r\n0\r\n\r\n", 400, "cut off"},
		"a chunk longer than its size": {chunked + "1\r\nabc\r\n0\r\n\r\n", 400, "cut off"},
		"an extension with CR":         {chunked + "1;a\rb\r\na\r\n0\r\n\r\n", 400, "cut off"},
		"chunks beyond the limit":      {chunked + chunk(lengthy) + chunk("x") + "0\r\n\r\n", 413, "cut off"},
		"a length beyond the limit":    {strings.Replace(sized, "\r\n\r\n", "0\r\n\r\n", 1) + lengthy, 413, ""},
		"the same, waiting for leave": {strings.Replace(sized, "\r\n\r\n", "0\r\nExpect: 100-continue\r\n\r\n", 1),
			413, ""},
		"chunks to our API": {strings.Replace(chunked, "/cut", "/api/public/v1/missions", 1) + "0\r\n\r\n",
			413, ""},
		"a length to our API": {strings.Replace(sized, "/cut", "/api/public/v1/missions", 1), 413, ""},
		"an import in chunks, too long": {strings.Replace(chunked, "/cut", fieldmark.PathAdminAPI+"v1/imports", 1) +
			strings.Repeat(chunk(lengthy), fieldmark.MaxBulkBody/len(lengthy)) + "0\r\n\r\n", 413, "cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := w.say(tt.sent + smuggled)
			if len(answers) == 0 || answers[0].status != tt.status {
				t.Fatalf("answered %v, want %d", statuses(answers), tt.status)
			}
			if tt.status != 200 && (len(answers) > 1 || answers[0].header.Get("Connection") != "close") {
				t.Errorf("after a refusal: %v, %v; want the connection's end", statuses(answers), answers[0].header)
			}
			var heard []string
			if tt.heard != "" {
				heard = append(heard, <-read)
			}
			for range len(answers) - 1 {
				<-read // of the request behind
			}
			if got := strings.Join(heard, " "); got != tt.heard {
				t.Errorf("the origin heard %q, want %q", got, tt.heard)
			}
		})
	}
}

// TestUnreadUploadIsNoRequest: the unread rest of a body is not parsed as a request.
func TestUnreadUploadIsNoRequest(t *testing.T) {
	w := newRecordingOrigin(t)
	w.takes = func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/smuggled" {
			t.Error("a part of a body was taken for a request")
		}
	}
	hidden := strings.Repeat(smuggled, 12000) // more than an origin reads of what it does not want
	for _, path := range []string{"/api/badge/acme", "/brands/acme", "/static/x", "/internal/v1/facts", "/early",
		"/api/v1/methodology"} {
		for name, body := range map[string]string{
			"a length": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(hidden), hidden),
			"chunks":   "Transfer-Encoding: chunked\r\n\r\n" + chunk(hidden) + "0\r\n\r\n",
		} {
			got := w.say("POST " + path + " HTTP/1.1\r\nHost: a\r\n" + body)
			if len(got) != 1 || path != "/early" && got[0].header.Get("Connection") != "close" {
				t.Errorf("%s, %s: answered %v, want once and the connection's end", path, name, statuses(got))
			}
		}
	}
}

// TestUploadRefused: an origin may answer before it has read a body, and close its
// end at once; its answer reaches the client.
func TestUploadRefused(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"and closes":      "HTTP/1.1 413 Content Too Large\r\nContent-Length: 8\r\nConnection: close\r\n\r\ntoo long",
		"and stays":       "HTTP/1.1 413 Content Too Large\r\nContent-Length: 8\r\n\r\ntoo long",
		"an empty answer": "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			var served sync.WaitGroup
			defer served.Wait()
			defer ln.Close()
			served.Go(func() {
				for {
					c, err := ln.Accept()
					if err != nil {
						return
					}
					served.Go(func() {
						defer c.Close()
						if r, err := http.ReadRequest(bufio.NewReader(c)); err != nil ||
							strings.HasPrefix(r.URL.Path, fieldmark.PathInternal) {
							return
						}
						io.WriteString(c, answer)
						if !strings.Contains(answer, "close") {
							io.Copy(io.Discard, io.LimitReader(c, 1<<20)) // then the end, with more on its way
						}
					})
				}
			})
			target, err := url.Parse("http://" + ln.Addr().String())
			must(t, err)
			w := newRecordingOrigin(t, func(c *edge.Config) { c.OriginURL = target })
			for range 10 {
				c := w.dial()
				fmt.Fprint(c, "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n")
				go io.Copy(c, newNoise(100_000_000)) // until the connection is closed
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Fatal(err)
				}
				_, want, _ := strings.Cut(answer, "\r\n\r\n")
				if body, err := io.ReadAll(resp.Body); resp.StatusCode != 413 || string(body) != want || err != nil ||
					!resp.Close {
					t.Fatalf("answered %d %q, %v, closing %v; want 413 %q and the connection's end", resp.StatusCode,
						body, err, resp.Close, want)
				}
				c.Close()
			}
		})
	}
}

// TestUploadBothWays: an answer that depends on what is still being sent.
func TestUploadBothWays(t *testing.T) {
	w := newRecordingOrigin(t)
	w.takes = func(rw http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(rw)
		must(t, rc.EnableFullDuplex())
		for b := make([]byte, 32<<10); ; {
			n, err := r.Body.Read(b)
			rw.Write(b[:n])
			rc.Flush()
			if err != nil {
				return
			}
		}
	}
	c := w.dial()
	fmt.Fprint(c, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", chunk(lengthy))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	got := make([]byte, len(lengthy))
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != lengthy {
		t.Fatalf("the beginning came back as %d bytes, %v", len(got), err)
	}
	for i := range 20 { // each piece comes back before the next is sent
		piece := strings.Repeat(strconv.Itoa(i), 1000)
		fmt.Fprint(c, chunk(piece))
		got := make([]byte, len(piece))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != piece {
			t.Fatalf("piece %d came back as %.20q, %v", i, got, err)
		}
	}
	fmt.Fprint(c, "0\r\nX-Sum: 1\r\n\r\n")
	if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

// TestUploadLimit: so many slow bodies may be on their way to the origin, and no more.
func TestUploadLimit(t *testing.T) {
	t.Parallel()
	const most = 128
	w := newRecordingOrigin(t, trustLoopback)
	var under atomic.Int64
	w.takes = func(rw http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 100 {
			under.Add(1)
		}
		io.Copy(io.Discard, r.Body)
	}
	clients := 0
	begin := func() net.Conn {
		c := w.dial()
		clients++ // of as many networks, as one has a share alone
		fmt.Fprintf(c, "POST /slow HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 198.51.100.%d\r\nContent-Length: "+
			"%d\r\n\r\n%s", clients, 2*len(lengthy), lengthy)
		return c
	}
	var slow []net.Conn
	for range most {
		slow = append(slow, begin())
	}
	w.until("they are all under way", func() bool { return under.Load() == most })
	resp, err := http.ReadResponse(bufio.NewReader(begin()), nil)
	if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !resp.Close {
		t.Errorf("one too many: %v %v", resp, err)
	}
	if a := w.do("POST", "/short", "x"); a.status != 200 {
		t.Errorf("a short one beside them: %d", a.status)
	}
	for _, c := range slow {
		_, err := io.WriteString(c, lengthy)
		must(t, err)
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 || resp.Close {
			t.Fatalf("a slow one: %v %v", resp, err)
		}
	}
	w.until("there is room again", func() bool { return w.do("POST", "/files", lengthy).status == 200 })
}

// TestUploadAsItCame: no byte of a form is changed, trailers do not become header fields,
// and a client that waits for 100 Continue gets it.
func TestUploadAsItCame(t *testing.T) {
	w := newRecordingOrigin(t)
	var seen *http.Request
	var said []byte
	w.takes = func(rw http.ResponseWriter, r *http.Request) {
		seen = r
		said, _ = io.ReadAll(r.Body)
	}
	form := "--x\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n1\r\n--x\r\ncontent-disposition: form-data; " +
		"name=\"a\"; filename=f\r\nX-Odd: 1\r\n\r\n" + "2\r\n--x--\r\nafterwards"
	for name, tt := range map[string]struct{ head, body string }{
		"a form": {"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: " +
			fmt.Sprint(len(form)), form},
		"a long form": {"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: " +
			fmt.Sprint(len(form+lengthy)), form + lengthy},
		"a trailer": {"Trailer: X-Evil\r\nTransfer-Encoding: chunked",
			chunk("abc") + "0\r\nX-Evil: 1\r\nX-Api-Key: k\r\n\r\n"},
		"a long one with a trailer": {"Trailer: X-Evil\r\nTransfer-Encoding: chunked",
			chunk(lengthy) + "0\r\nX-Evil: 1\r\nX-Api-Key: k\r\n\r\n"},
		"leave for a short one": {"Expect: 100-continue\r\nContent-Length: 3", "abc"},
		"leave for a long one":  {"Expect: 100-continue\r\nContent-Length: " + fmt.Sprint(len(lengthy)), lengthy},
		"leave for chunks": {"Expect: 100-continue\r\nTransfer-Encoding: chunked",
			chunk(lengthy) + "0\r\n\r\n"},
		"no body, with a length": {"Content-Length: 0", ""},
		"no body, in chunks":     {"Transfer-Encoding: chunked", "0\r\n\r\n"},
		"exactly what is read first": {"Transfer-Encoding: chunked",
			chunk(lengthy[:proxy.MaxBufferedBody]) + "0\r\n\r\n"},
		"one byte more": {"Transfer-Encoding: chunked", chunk(lengthy[:proxy.MaxBufferedBody+1]) + "0\r\n\r\n"},
	} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			c := w.dial()
			br := bufio.NewReader(c)
			for range 2 { // on one connection
				fmt.Fprintf(c, "%s /as-it-came HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", method, tt.head)
				if strings.Contains(tt.head, "Expect") {
					if line, err := br.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
						t.Errorf("%s of %s: %q, %v; want leave", method, name, line, err)
					}
					br.ReadString('\n')
				}
				io.WriteString(c, tt.body)
				resp, err := http.ReadResponse(br, nil)
				if err != nil || resp.StatusCode != 200 || resp.Close {
					t.Fatalf("%s of %s: %v %v", method, name, resp, err)
				}
				want := tt.body
				if strings.Contains(tt.head, "chunked") {
					var b bytes.Buffer
					r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(
						"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + tt.body)))
					must(t, err)
					io.Copy(&b, r.Body)
					want = b.String()
				}
				if string(said) != want || seen.Method != method ||
					seen.Header.Get("X-Evil")+seen.Header.Get("X-Api-Key")+seen.Header.Get("Expect") != "" ||
					len(seen.Trailer) > 0 {
					t.Errorf("%s of %s: the origin got %s, %d bytes, %v; want %d as they came", method, name,
						seen.Method, len(said), seen.Header, len(want))
				}
			}
			c.Close()
		}
	}
}

// TestUploadPace: the edge drops a client that sends too slowly, keeps one whose origin
// reads slowly, and does not wait without limit for an origin that does not respond.
func TestUploadPace(t *testing.T) {
	t.Parallel()
	startClock()
	const size = 200 << 10
	errCut := errors.New("cut off")
	for name, tt := range map[string]struct {
		client func(c net.Conn)
		origin func(r *http.Request) error // its error is what the origin finds of the body
		status int
		found  error
		within time.Duration
	}{
		"a silent client": {func(c net.Conn) { io.CopyN(c, newNoise(size), size/2) }, nil, 408, errCut, time.Minute},
		"a byte a second": {func(c net.Conn) {
			for b := []byte{'x'}; ; time.Sleep(time.Second) {
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		}, nil, 408, nil, 2 * time.Minute},
		"a byte a second after a good start": {func(c net.Conn) {
			io.CopyN(c, newNoise(size), size/2)
			for b := []byte{'x'}; ; time.Sleep(time.Second) {
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		}, nil, 408, errCut, 8 * time.Minute},
		"a slow origin": {func(c net.Conn) { io.CopyN(c, newNoise(size), size) }, func(r *http.Request) error {
			for range size / (1 << 10) {
				time.Sleep(3 * time.Second)
				if _, err := io.CopyN(io.Discard, r.Body, 1<<10); err != nil {
					return err
				}
			}
			return nil
		}, 200, nil, 15 * time.Minute},
		"a silent origin": {func(c net.Conn) { io.CopyN(c, newNoise(size), size) }, func(r *http.Request) error {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return nil
		}, 504, nil, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var found error
				e := pacedEdge(t, nil, asked(func(r *http.Request) error {
					if tt.origin != nil {
						return tt.origin(r)
					}
					if _, err := io.Copy(io.Discard, r.Body); err != nil {
						found = errCut
						return err
					}
					return nil
				}))
				defer e.Close()
				began := time.Now()
				here, there := net.Pipe()
				var both sync.WaitGroup
				both.Go(func() { e.ServeConn(there) })
				both.Go(func() {
					fmt.Fprintf(here, "POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", size)
					tt.client(here)
				})
				resp, err := http.ReadResponse(bufio.NewReader(here), nil)
				must(t, err)
				if took := time.Since(began); resp.StatusCode != tt.status || took > tt.within*timeout.Scale {
					t.Errorf("answered %d after %v, want %d within %v", resp.StatusCode, took, tt.status,
						tt.within*timeout.Scale)
				}
				here.Close()
				both.Wait()
				synctest.Wait()
				if !errors.Is(found, tt.found) {
					t.Errorf("the origin found %v, want %v", found, tt.found)
				}
			})
		})
	}
}

// pacedEdge returns a node in front of an origin in the same process, for a test in a
// bubble. It is not run.
func pacedEdge(t *testing.T, change func(*edge.Config), origin http.RoundTripper) *edge.Edge {
	target, err := url.Parse("http://origin.example")
	must(t, err)
	api, err := client.New(client.Config{BaseURL: target.String(), NodeToken: nodeToken, Transport: origin})
	must(t, err)
	cfg := edge.Config{Origin: api, OriginURL: target, NodeToken: nodeToken, BaseURL: "http://a", CacheBytes: 1 << 20,
		Transport: origin}
	if change != nil {
		change(&cfg)
	}
	e, err := edge.New(cfg)
	must(t, err)
	return e
}

// answering is an origin that answers with one body.
type answering struct{ body io.ReadCloser }

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: a.body, ContentLength: -1, Request: r}, nil
}

// asked is an origin that reads a body while its client sends it, as one behind a
// connection would.
type asked func(*http.Request) error

// RoundTrip implements http.RoundTripper.
func (a asked) RoundTrip(r *http.Request) (*http.Response, error) {
	done := make(chan error, 1)
	go func() { done <- a(r) }()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
}
