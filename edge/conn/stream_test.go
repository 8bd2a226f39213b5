package conn_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

func TestMain(m *testing.M) {
	// fasthttp starts a goroutine with the first request, which must not belong to a bubble.
	server, client := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, client) }()
	go func() { _, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") }()
	conn.New(testConfig()).ServeConn(server)
	client.Close()
	os.Exit(m.Run())
}

// status sends a request of raw fields and returns its :status, "malformed", or "reset" with the code.
func (f *flooder) status(fields ...string) string {
	f.t.Helper()
	f.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		if err := f.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			f.t.Fatal(err)
		}
	}
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.block.Bytes(), EndStream: true,
		EndHeaders: true}); err != nil {
		f.t.Fatal(err)
	}
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return err.Error()
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			return frame.PseudoValue("status")
		case *http2.RSTStreamFrame:
			if frame.ErrCode == http2.ErrCodeProtocol {
				return "malformed"
			}
			return "reset " + frame.ErrCode.String()
		case *http2.GoAwayFrame:
			return "goaway " + frame.ErrCode.String()
		}
	}
}

// exchange opens a connection for one request of raw fields.
func (s *testServer) exchange(fields ...string) string {
	s.t.Helper()
	nc := s.dial("h2")
	if _, err := io.WriteString(nc, http2.ClientPreface); err != nil {
		s.t.Fatal(err)
	}
	f := &flooder{Framer: http2.NewFramer(nc, nc), t: s.t}
	f.AllowIllegalWrites = true
	f.encoder = hpack.NewEncoder(&f.block)
	if err := f.WriteSettings(); err != nil {
		s.t.Fatal(err)
	}
	return f.status(fields...)
}

// TestSmuggling sends requests that HTTP/1.1 behind HTTP/2 and HTTP/3 could read as others.
func TestSmuggling(t *testing.T) {
	t.Run("h2", func(t *testing.T) {
		testSmuggling(t, func(cfg conn.Config) func(...string) string { return startServer(t, cfg, true).exchange })
	})
	t.Run("h3", func(t *testing.T) {
		testSmuggling(t, func(cfg conn.Config) func(...string) string { return startQUIC(t, cfg).exchange })
	})
}

func testSmuggling(t *testing.T, start func(conn.Config) (exchange func(...string) string)) {
	cfg := testConfig()
	var mu sync.Mutex
	var seen []string
	cfg.Handler = func(ctx *fasthttp.RequestCtx) {
		mu.Lock()
		seen = append(seen, fmt.Sprintf("%s %s%s", ctx.Method(), ctx.Host(), ctx.RequestURI()))
		mu.Unlock()
		serveTest(ctx)
	}
	exchange := start(cfg)
	base := []string{":method", "GET", ":scheme", "https", ":authority", testHost, ":path", "/x"}
	with := func(more ...string) []string { return append(append([]string{}, base...), more...) }
	change := func(name, value string) []string {
		fields := with()
		for i := 0; i < len(fields); i += 2 {
			if fields[i] == name {
				fields[i+1] = value
			}
		}
		return fields
	}
	const reset = "malformed"
	for _, tt := range []struct {
		name   string
		fields []string
		want   string
	}{
		{"plain", base, "200"},
		{"line break in a value", with("x", "a\r\nGET /evil HTTP/1.1\r\nHost: e"), reset},
		{"line feed in a value", with("x", "a\nb"), reset},
		{"NUL in a value", with("x", "a\x00b"), reset},
		{"blank before a value", with("x", " a"), reset},
		{"line break in a name", with("x\r\ny", "a"), reset},
		{"colon in a name", with("x:y", "a"), reset},
		{"upper case", with("X", "a"), reset},
		{"empty name", with("", "a"), reset},
		{"transfer-encoding", with("transfer-encoding", "chunked"), reset},
		{"connection", with("connection", "close"), reset},
		{"upgrade", with("upgrade", "websocket"), reset},
		{"keep-alive", with("keep-alive", "1"), reset},
		{"proxy-connection", with("proxy-connection", "x"), reset},
		{"te", with("te", "gzip"), reset},
		{"te trailers", with("te", "trailers"), "200"},
		{"content-length without a body", with("content-length", "5"), reset},
		{"content-length twice", with("content-length", "0", "content-length", "0"), reset},
		{"content-length with a sign", with("content-length", "+0"), reset},
		{"line break in the path", change(":path", "/x HTTP/1.1\r\nHost: e\r\n\r\nGET /evil"), "400"},
		{"blank in the path", change(":path", "/x y"), "400"},
		{"dot segments", change(":path", "/x/../y"), "400"},
		{"absolute path", change(":path", "https://e/x"), "400"},
		{"empty path", change(":path", ""), reset},
		{"star", change(":path", "*"), "400"},
		{"line break in the method", change(":method", "GET / HTTP/1.1\r\nHost: e\r\n\r\nGET"), reset},
		{"CONNECT", []string{":method", "CONNECT", ":authority", testHost + ":443"}, "405"},
		{"TRACE", change(":method", "TRACE"), "405"},
		{"http", change(":scheme", "http"), "400"},
		{"pseudo-field twice", with(":path", "/y"), reset},
		{"pseudo-field last", append([]string{":method", "GET", "x", "y"}, base[2:]...), reset},
		{"status", with(":status", "200"), reset},
		{"Host as :authority", with("host", strings.ToUpper(testHost)), "200"},
		{"Host against :authority", with("host", "other.example"), reset},
		{"two Hosts", with("host", testHost, "host", testHost), reset},
		{"Host alone", []string{":method", "GET", ":scheme", "https", ":path", "/x", "host", testHost}, "200"},
		{"no host", []string{":method", "GET", ":scheme", "https", ":path", "/x"}, "400"},
		{"a user", change(":authority", "u@"+testHost), reset},
		{"line break in the authority", change(":authority", testHost+"\r\nx: y"), "400"},
		{"a badge with Host against :authority", append(change(":path", "/api/badge/acme"), "host", "e.example"),
			reset},
		{"a badge in upper case", append(change(":path", "/api/badge/acme"), "Accept", "*/*"), reset},
		{"a badge over http", append(change(":path", "/api/badge/acme")[:2], ":scheme", "http", ":authority", testHost,
			":path", "/api/badge/acme"), "400"},
	} {
		if got := exchange(tt.fields...); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, request := range seen {
		if !strings.EqualFold(request, "GET "+testHost+"/x") {
			t.Errorf("the handler got %q", request)
		}
	}
}

// TestCoalesced421 uses a connection for hosts that its certificate does and does not
// cover.
func TestCoalesced421(t *testing.T) {
	s := startServer(t, testConfig(), true)
	for _, path := range []string{"/x", "/api/badge/acme"} {
		for host, want := range map[string]string{testHost: "200", otherHost: "200", testHost + ":443": "200",
			"MARKS.example": "200", "foreign.example": "421"} {
			if got := s.exchange(":method", "GET", ":scheme", "https", ":authority", host, ":path", path); got != want {
				t.Errorf("%s%s: %s, want %s", host, path, got, want)
			}
		}
	}
}

// TestContentLength sends bodies that are not as long as Content-Length says.
func TestContentLength(t *testing.T) {
	s := startServer(t, testConfig(), true)
	for _, body := range []string{"1234", "123456"} {
		f := newFlooder(t, s)
		if err := errors.Join(f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true,
			BlockFragment: f.head("POST", "/echo", "content-length", "5")}),
			f.WriteData(1, true, []byte(body))); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the stream is reset", func() bool { return f.resets.Load() == 1 })
		if n := f.answers.Load(); n > 0 {
			t.Errorf("a body of %d bytes, not 5, was answered", len(body))
		}
	}
}

// TestBodyBeforeEnd sends a body of its declared length, and END_STREAM or more DATA later: nothing
// is answered before.
func TestBodyBeforeEnd(t *testing.T) {
	for rest, want := range map[string]string{"": "200", "6": "PROTOCOL_ERROR"} {
		t.Run("and "+rest, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := pipeFlooder(t, conn.New(testConfig()))
				f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
				var got []string
				read := make(chan struct{})
				go func() {
					defer close(read)
					for {
						frame, err := f.ReadFrame()
						if err != nil {
							return
						}
						switch frame := frame.(type) {
						case *http2.MetaHeadersFrame:
							got = append(got, frame.PseudoValue("status"))
						case *http2.RSTStreamFrame:
							got = append(got, frame.ErrCode.String())
						}
					}
				}()
				_, err := io.WriteString(f.nc, http2.ClientPreface)
				err = errors.Join(err, f.WriteSettings(), f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1,
					EndHeaders:    true,
					BlockFragment: f.headOver("http", "POST", "/count", "content-length", "5")}),
					f.WriteData(1, false, []byte("12345")))
				synctest.Wait()
				if err != nil || len(got) > 0 {
					t.Errorf("before the end: %q, %v; want nothing", got, err)
				}
				if err := f.WriteData(1, true, []byte(rest)); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute) // until no goroutine waits for more streams
				f.nc.Close()
				<-read
				if !slices.Equal(got, []string{want}) {
					t.Errorf("after it: %q, want %q", got, want)
				}
			})
		})
	}
}

// scripted is a connection that has everything to read already, and takes what is written.
type scripted struct {
	net.Conn
	in      io.Reader
	written atomic.Int64
}

func (c *scripted) Read(p []byte) (int, error)       { return c.in.Read(p) }
func (c *scripted) Write(p []byte) (int, error)      { c.written.Add(1); return len(p), nil }
func (c *scripted) Close() error                     { return nil }
func (c *scripted) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *scripted) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *scripted) SetDeadline(time.Time) error      { return nil }
func (c *scripted) SetReadDeadline(time.Time) error  { return nil }
func (c *scripted) SetWriteDeadline(time.Time) error { return nil }

// script returns a connection on which a browser requests n badges, over h2c.
func script(t testing.TB, n int) *scripted {
	t.Helper()
	var in, block bytes.Buffer
	in.WriteString(http2.ClientPreface)
	f, enc := http2.NewFramer(&in, nil), hpack.NewEncoder(&block)
	if err := errors.Join(f.WriteSettings(), f.WriteWindowUpdate(0, 1<<30)); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		block.Reset()
		fields := []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"},
			{Name: ":authority", Value: testHost}, {Name: ":path", Value: fmt.Sprintf("/api/badge/acme-%d", i%10),
				Sensitive: true}}
		for line := range strings.SplitSeq(strings.TrimSuffix(browserHead, "Connection: keep-alive\r\n"), "\r\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				fields = append(fields, hpack.HeaderField{Name: strings.ToLower(name), Value: value})
			}
		}
		for _, field := range fields {
			if err := enc.WriteField(field); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: block.Bytes(),
			EndStream: true, EndHeaders: true}); err != nil {
			t.Fatal(err)
		}
	}
	return &scripted{in: bytes.NewReader(in.Bytes())}
}

// TestHitTakesNoGoroutine checks that hits are answered in the loop that reads, and that
// all of one read are answered with one write.
func TestHitTakesNoGoroutine(t *testing.T) {
	cfg := testConfig()
	fast, most, served := cfg.FastResponse, 0, 0
	cfg.FastResponse = func(r conn.SimpleRequest, now *conn.Time) (resp mux.Response, ok bool) {
		most, served = max(most, runtime.NumGoroutine()), served+1
		return fast(r, now)
	}
	cfg.Handler = func(*fasthttp.RequestCtx) { t.Error("a hit was served by the handler") }
	s := conn.New(cfg)
	const tries = 20
	before := 0
	for range tries { // a timer or an earlier test may have a goroutine in some of them
		before, most, served = runtime.NumGoroutine(), 0, 0
		c := script(t, 10)
		s.ServeConn(c)
		if n := c.written.Load(); n > 2 || served != 10 { // the preface, and everything else
			t.Fatalf("%d hits of one read took %d writes, want 10 and 2 at most", served, n)
		}
		if most <= before {
			return
		}
	}
	t.Errorf("10 hits were served with %d goroutines in each of %d tries, want %d", most, tries, before)
}

// TestNoLostWakeup sends requests in pieces with pauses on many connections: each piece must
// be read when it has arrived.
func TestNoLostWakeup(t *testing.T) {
	for _, protocol := range []string{"h2", "http/1.1"} {
		t.Run(protocol, func(t *testing.T) {
			cfg := testConfig()
			cfg.Network = func(netip.Addr) netip.Addr { return netip.Addr{} } // no limit on handshakes
			s := startServer(t, cfg, true)
			const workers, conns, rounds = 50, 5, 8 // few handshakes, which take longest
			handshakes := make(chan struct{}, 5)    // so that each ends in its time
			var wg sync.WaitGroup
			for i := range workers {
				wg.Go(func() {
					rnd := rand.New(rand.NewPCG(1, uint64(i)))
					for range conns {
						handshakes <- struct{}{}
						nc := s.dial(protocol)
						err := nc.(*tls.Conn).Handshake()
						<-handshakes
						if err == nil {
							err = sendInPieces(nc, rnd, protocol, rounds)
						}
						if err != nil {
							t.Errorf("worker %d: %v", i, err)
						}
						nc.Close()
					}
				})
			}
			wg.Wait()
		})
	}
}

// sendInPieces sends requests in pieces with pauses and reads the responses.
func sendInPieces(nc net.Conn, rnd *rand.Rand, protocol string, rounds int) error {
	var out bytes.Buffer
	f := &flooder{Framer: http2.NewFramer(&out, nc)}
	f.encoder = hpack.NewEncoder(&f.block)
	if protocol == "h2" {
		out.WriteString(http2.ClientPreface)
		if err := f.WriteSettings(); err != nil {
			return err
		}
	}
	for round := range rounds {
		if protocol == "h2" {
			if err := f.request(uint32(2*round+1), "/api/badge/acme"); err != nil {
				return err
			}
		} else {
			out.WriteString("GET /api/badge/acme HTTP/1.1\r\nHost: " + testHost + "\r\n\r\n")
		}
		for out.Len() > 0 {
			if _, err := nc.Write(out.Next(1 + rnd.IntN(out.Len()))); err != nil {
				return err
			}
			for range rnd.IntN(300) {
				runtime.Gosched()
			}
		}
		if err := readAnswer(nc, f, protocol); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return nil
}

// readAnswer reads one response.
func readAnswer(nc net.Conn, f *flooder, protocol string) error {
	if protocol != "h2" {
		got := make([]byte, 0, 2048)
		for !bytes.HasSuffix(got, badgeBody) {
			n, err := nc.Read(got[len(got):cap(got)])
			if err != nil {
				return err
			}
			got = got[:len(got)+n]
		}
		return nil
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return err
		}
		if data, ok := frame.(*http2.DataFrame); ok && data.StreamEnded() {
			return nil
		}
	}
}

// TestDrainOverH2 drains a server with a request in flight: it is answered, and so is one
// that the client sends before it has seen GOAWAY.
func TestDrainOverH2(t *testing.T) {
	cfg := testConfig()
	started, release := make(chan struct{}), make(chan struct{})
	cfg.Handler = func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			close(started)
			<-release
		}
		serveTest(ctx)
	}
	s := startServer(t, cfg, true)
	f := newFlooder(t, s)
	if err := f.request(1, "/slow"); err != nil {
		t.Fatal(err)
	}
	<-started
	drained := make(chan int)
	go func() { drained <- s.Drain(30 * time.Second) }()
	if code := <-f.goAway; code != http2.ErrCodeNo {
		t.Errorf("GOAWAY has the code %v", code)
	}
	if err := f.request(3, "/late"); err != nil {
		t.Fatal(err)
	}
	codes := make(chan string, 100)
	go func() {
		defer close(codes)
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			switch frame := frame.(type) {
			case *http2.GoAwayFrame:
				codes <- fmt.Sprintf("goaway %d %v", frame.LastStreamID, frame.ErrCode)
			case *http2.HeadersFrame:
				codes <- fmt.Sprintf("answer %d", frame.StreamID)
			}
		}
	}()
	if got := <-codes; got != "answer 3" {
		t.Errorf("after the first GOAWAY: %s, want an answer to the request in transit", got)
	}
	if got := <-codes; got != "goaway 3 NO_ERROR" {
		t.Errorf("then: %s, want GOAWAY with the last stream", got)
	}
	close(release)
	if got := <-codes; got != "answer 1" {
		t.Errorf("then: %s, want the answer to the request in flight", got)
	}
	if cut := <-drained; cut != 0 {
		t.Errorf("%d connections were cut off", cut)
	}
}

// pipeFlooder opens a connection over a pipe, within a bubble. What the server sends is not read yet.
func pipeFlooder(t *testing.T, s *conn.Server) *flooder {
	server, client := net.Pipe()
	go s.ServeConn(server)
	f := &flooder{Framer: http2.NewFramer(client, client), nc: client, t: t}
	f.encoder = hpack.NewEncoder(&f.block)
	return f
}

// pipeClient opens a connection over a pipe, within a bubble, and requests path.
func pipeClient(t *testing.T, s *conn.Server, path string) (*http2.Framer, net.Conn) {
	t.Helper()
	f := pipeFlooder(t, s)
	go func() { // nothing is written before the server reads
		_, _ = io.WriteString(f.nc, http2.ClientPreface)
		_ = f.WriteSettings()
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, EndHeaders: true,
			BlockFragment: f.headOver("http", "GET", path)})
	}()
	return f.Framer, f.nc
}

// TestSlowHead begins a header block and does not end it.
func TestSlowHead(t *testing.T) {
	for _, what := range []string{"preface", "frame", "block"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := conn.New(testConfig())
				server, client := net.Pipe()
				done := make(chan struct{})
				go func() { s.ServeConn(server); close(done) }()
				go func() { _, _ = io.Copy(io.Discard, client) }()
				text := http2.ClientPreface
				if what == "preface" {
					text = text[:10]
				}
				_, _ = io.WriteString(client, text)
				f := http2.NewFramer(client, nil)
				switch what {
				case "frame":
					_ = f.WriteSettings()
					_, _ = client.Write([]byte{0, 0, 50, 1, 4, 0, 0, 0, 1, 0x82})
				case "block":
					_ = f.WriteSettings()
					_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
				}
				<-done
				const limit = 15 * time.Second * timeout.Scale
				if took := time.Since(began); took < limit || took > limit+2*time.Second {
					t.Errorf("the connection ended after %s, want %s", took, limit)
				}
			})
		})
	}
}

// TestSlowRead does not read a response: its stream's window stays closed, or the socket is
// not read.
func TestSlowRead(t *testing.T) {
	t.Run("window", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			s := conn.New(testConfig())
			f, client := pipeClient(t, s, "/large/1000000")
			defer client.Close()
			for {
				frame, err := f.ReadFrame()
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := frame.(*http2.RSTStreamFrame); ok {
					break
				}
			}
			if took := time.Since(began); took > 70*time.Second {
				t.Errorf("the stream ended after %s, want about 30 s", took)
			}
			time.Sleep(time.Minute) // until no goroutine waits for more streams
		})
	})
	t.Run("connection", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			s := conn.New(testConfig())
			server, client := net.Pipe()
			done := make(chan struct{})
			go func() { s.ServeConn(server); close(done) }()
			_, _ = io.WriteString(client, http2.ClientPreface) // and never read
			<-done
			if took := time.Since(began); took > 60*time.Second {
				t.Errorf("the connection ended after %s, want about 35 s", took)
			}
		})
	})
}

// FuzzFields compares the parser of simple requests with the bridge to HTTP/1.1: what it accepts is the same HTTP/1.1
// request.
func FuzzFields(f *testing.F) {
	plain := ":method\x00GET\x00:scheme\x00https\x00:authority\x00x\x00:path\x00/api/badge/acme"
	for _, more := range []string{"", "accept\x00*/*", "Accept\x00*/*", "cookie\x00a=b\x00cookie\x00c=d",
		"te\x00trailers",
		"if-none-match\x00\"x\"", "user-agent\x00 x", "host\x00x", "accept\x00a\nb", ":path\x00/",
		"content-length\x000",
		"x-forwarded-for\x001", "connection\x00keep-alive", "sec-fetch-mode\x00\x7f"} {
		f.Add(plain + "\x00" + more)
		f.Add(more + "\x00" + plain)
	}
	s := conn.New(testConfig())
	f.Fuzz(func(t *testing.T, in string) {
		parts := strings.Split(in, "\x00")
		var fields []framing.Field
		for i := 0; i+1 < len(parts); i += 2 {
			fields = append(fields, framing.Field{Name: parts[i], Value: parts[i+1]})
		}
		r, ok := conn.ParseSimpleFields(s, fields)
		if !ok {
			return
		}
		head, _, err := framing.AppendRequest(nil, fields, "https", false)
		if err != nil {
			t.Fatalf("%q: the bridge says %v", in, err)
		}
		full, ok := conn.ParseSimpleGET(head, "/api/badge/")
		if !ok || !bytes.Equal(full.Target, r.Target) || !bytes.Equal(full.IfNoneMatch, r.IfNoneMatch) ||
			!bytes.Equal(full.UserAgent, r.UserAgent) {
			t.Errorf("%q: HTTP/2 reads %s, HTTP/1.1 %s %v", in, r.Target, full.Target, ok)
		}
	})
}

// TestUploadWindows sends a body that is larger than all windows, to a handler that is slow
// to read.
func TestUploadWindows(t *testing.T) {
	s := startServer(t, testConfig(), true)
	const size = 20 << 20
	resp, err := s.client().Post(s.url("/count"), "text/plain", io.LimitReader(zeros{}, size))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != fmt.Sprint(size) {
		t.Errorf("the handler read %s bytes (%v), want %d", got, err, size)
	}
}

// TestEarlyAnswer answers without reading the body: the stream is reset without an error, and the
// connection goes on.
func TestEarlyAnswer(t *testing.T) {
	s := startServer(t, testConfig(), true)
	c := s.client()
	for range 5 {
		resp, err := c.Post(s.url("/early"), "text/plain", io.LimitReader(zeros{}, 3<<20))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s, want 413", resp.Status)
		}
	}
	if n := s.Open(); n != 1 {
		t.Errorf("%d connections are open, want 1", n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
