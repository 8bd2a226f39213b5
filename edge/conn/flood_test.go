package conn_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// flooder is a client of raw frames.
type flooder struct {
	*http2.Framer
	nc      net.Conn
	t       testing.TB
	block   bytes.Buffer
	encoder *hpack.Encoder
	goAway  chan http2.ErrCode // the code of GOAWAY, or closed at the end of the connection
	resets  atomic.Int64       // RST_STREAM frames that were received
	refused atomic.Int64       // those of them that refuse the stream
	answers atomic.Int64       // responses that were received
	acks    atomic.Int64       // acknowledgements of PING and SETTINGS
}

// newFlooder opens a connection over TLS and reads whatever the server sends.
func newFlooder(t *testing.T, s *testServer, settings ...http2.Setting) *flooder {
	t.Helper()
	nc := s.dial("h2")
	if _, err := io.WriteString(nc, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := &flooder{Framer: http2.NewFramer(nc, nc), nc: nc, t: t, goAway: make(chan http2.ErrCode, 1)}
	f.AllowIllegalWrites = true
	f.encoder = hpack.NewEncoder(&f.block)
	if err := f.WriteSettings(settings...); err != nil {
		t.Fatal(err)
	}
	go f.read()
	return f
}

func (f *flooder) read() {
	defer close(f.goAway)
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.GoAwayFrame:
			f.goAway <- frame.ErrCode
			return
		case *http2.RSTStreamFrame:
			f.resets.Add(1)
			if frame.ErrCode == http2.ErrCodeRefusedStream {
				f.refused.Add(1)
			}
		case *http2.HeadersFrame:
			f.answers.Add(1)
		case *http2.PingFrame, *http2.SettingsFrame:
			f.acks.Add(1)
		}
	}
}

// head encodes a request over TLS with more fields as name, value.
func (f *flooder) head(method, path string, more ...string) []byte {
	return f.headOver("https", method, path, more...)
}

func (f *flooder) headOver(scheme, method, path string, more ...string) []byte {
	f.block.Reset()
	fields := append([]string{":method", method, ":scheme", scheme, ":authority", testHost, ":path", path}, more...)
	for i := 0; i < len(fields); i += 2 {
		if err := f.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			f.t.Fatal(err)
		}
	}
	return f.block.Bytes()
}

// request sends a request without body.
func (f *flooder) request(id uint32, path string) error {
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: f.head("GET", path), EndStream: true,
		EndHeaders: true})
}

// flood sends frames until the server ends the connection, n times at most, and checks that
// it does, that it names the right reason, and that nothing is left and other clients notice
// nothing. Nothing about the time that it takes is asserted: a bucket is refilled
// so slowly that n frames exceed it on any machine.
func flood(t *testing.T, bucket string, n int, code http2.ErrCode, send func(f *flooder, i int) error) {
	t.Helper()
	cfg := testConfig()
	var calmed sync.Map
	cfg.OnCalm = func(bucket string) { calmed.Store(bucket, true) }
	var working, most atomic.Int64
	cfg.Handler = func(ctx *fasthttp.RequestCtx) {
		now := working.Add(1)
		defer working.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		serveTest(ctx)
	}
	s := startServer(t, cfg, true)
	others := s.client()
	get := func() error {
		resp, err := others.Get(s.url("/api/badge/acme"))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(body, badgeBody) {
			return fmt.Errorf("%d bytes: %w", len(body), err)
		}
		return nil
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	before, goroutines := heap(), runtime.NumGoroutine()
	f := newFlooder(t, s)
	sent := 0
	var got http2.ErrCode
	ended := false
	for ; sent < n && !ended; sent++ {
		if sent%64 == 0 {
			if err := get(); err != nil {
				t.Errorf("another client: %v", err)
			}
			select {
			case got = <-f.goAway:
				ended = true
			default:
			}
		}
		if err := send(f, sent); err != nil {
			break
		}
	}
	if !ended {
		got = <-f.goAway
	}
	if got != code && got != 0 { // the GOAWAY may be lost when the connection is reset
		t.Errorf("GOAWAY has the code %v, want %v", got, code)
	}
	if _, ok := calmed.Load(bucket); bucket != "" && !ok {
		t.Errorf("the limit of %s was not exceeded by %d frames", bucket, sent)
	}
	if most.Load() > 128 {
		t.Errorf("%d requests were served at once, want 128 at most", most.Load())
	}
	if err := get(); err != nil {
		t.Errorf("another client, afterwards: %v", err)
	}
	waittest.Until(t, "the streams end", func() bool { return working.Load() == 0 && s.Open() == 1 })
	waittest.Until(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+1 })
	waittest.Until(t, "the memory is released", func() bool { return heap()-before < 2<<20 })
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestFloodRapidReset opens streams and resets them (CVE-2023-44487).
func TestFloodRapidReset(t *testing.T) {
	flood(t, "resets", 20_000, http2.ErrCodeEnhanceYourCalm, func(f *flooder, i int) error {
		id := uint32(2*i + 1)
		return errors.Join(f.request(id, "/large/200000"), f.WriteRSTStream(id, http2.ErrCodeCancel))
	})
}

// TestFloodMadeYouReset makes the server reset streams, in each of the ways that there are
// (CVE-2025-8671).
func TestFloodMadeYouReset(t *testing.T) {
	for name, provoke := range map[string]func(f *flooder, id uint32) error{
		"window update of 0": func(f *flooder, id uint32) error { return f.WriteWindowUpdate(id, 0) },
		"window overflow": func(f *flooder, id uint32) error {
			return f.WriteWindowUpdate(id, 1<<31-1)
		},
		"data after the end": func(f *flooder, id uint32) error { return f.WriteData(id, true, []byte("x")) },
		"priority of a wrong length": func(f *flooder, id uint32) error {
			return f.WriteRawFrame(0x2, 0, id,
				[]byte("1234"))
		},
		"depends on itself": func(f *flooder, id uint32) error {
			return f.WritePriority(id, http2.PriorityParam{StreamDep: id})
		},
	} {
		t.Run(name, func(t *testing.T) {
			flood(t, "resets", 20_000, http2.ErrCodeEnhanceYourCalm, func(f *flooder, i int) error {
				id := uint32(2*i + 1)
				return errors.Join(f.request(id, "/large/200000"), provoke(f, id))
			})
		})
	}
	t.Run("malformed request", func(t *testing.T) {
		flood(t, "resets", 20_000, http2.ErrCodeEnhanceYourCalm, func(f *flooder, i int) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), EndStream: true, EndHeaders: true,
				BlockFragment: f.head("GET", "/", "Upper", "x")})
		})
	})
}

// TestFloodContinuation sends a header block without end (CVE-2023-45288).
func TestFloodContinuation(t *testing.T) {
	for name, size := range map[string]int{"empty": 0, "large": 8 << 10} {
		t.Run(name, func(t *testing.T) {
			flood(t, "", 10_000, http2.ErrCodeEnhanceYourCalm, func(f *flooder, i int) error {
				if i == 0 {
					return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.head("GET", "/")})
				}
				return f.WriteContinuation(1, false, bytes.Repeat([]byte{0x82}, size)) // :method GET
			})
		})
	}
}

// TestBombHPACK sends header blocks that decode to much more than they are
// (CVE-2016-6581).
func TestBombHPACK(t *testing.T) {
	flood(t, "", 1000, http2.ErrCodeEnhanceYourCalm, func(f *flooder, i int) error {
		if i == 0 { // a field of 4,000 bytes goes into the table
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, EndHeaders: true,
				BlockFragment: f.head("GET", "/", "bomb", strings.Repeat("x", 3900))})
		}
		bomb := append(bytes.Clone(f.head("GET", "/")), bytes.Repeat([]byte{0x80 | 62}, 8000)...)
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), EndStream: true, EndHeaders: true,
			BlockFragment: bomb})
	})
}

// TestFloodPing sends PING (CVE-2019-9512).
func TestFloodPing(t *testing.T) {
	flood(t, "owed", 20_000, http2.ErrCodeEnhanceYourCalm, func(f *flooder, _ int) error {
		return f.WritePing(false, [8]byte{})
	})
}

// TestFloodSettings sends SETTINGS (CVE-2019-9515).
func TestFloodSettings(t *testing.T) {
	flood(t, "owed", 20_000, http2.ErrCodeEnhanceYourCalm, func(f *flooder, _ int) error {
		return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
	})
}

// TestManySettings sends one SETTINGS frame with many changes of the initial window, each of which
// is a pass over all streams.
func TestManySettings(t *testing.T) {
	s := startServer(t, testConfig(), true)
	for n, want := range map[int]http2.ErrCode{32: http2.ErrCodeNo, 33: http2.ErrCodeEnhanceYourCalm,
		2730: http2.ErrCodeEnhanceYourCalm} {
		f := newFlooder(t, s)
		all := slices.Repeat([]http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1}}, n)
		if err := errors.Join(f.WriteSettings(all...), f.WritePing(false, [8]byte{})); err != nil {
			t.Fatal(err)
		}
		got := http2.ErrCodeNo
		// The server's SETTINGS, two acknowledgements of SETTINGS and one of PING.
		waittest.Until(t, "an answer arrives", func() bool {
			select {
			case got = <-f.goAway:
				return true
			default:
				return f.acks.Load() == 4
			}
		})
		if got != want {
			t.Errorf("%d settings: %v, want %v", n, got, want)
		}
	}
}

// TestFloodEmptyData sends DATA without bytes, and with padding alone (CVE-2019-9518).
func TestFloodEmptyData(t *testing.T) {
	for name, padding := range map[string][]byte{"empty": nil, "padded": make([]byte, 200)} {
		t.Run(name, func(t *testing.T) {
			flood(t, "idle", 50_000, http2.ErrCodeEnhanceYourCalm, func(f *flooder, i int) error {
				if i == 0 {
					return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true,
						BlockFragment: f.head("POST", "/count")})
				}
				return f.WriteDataPadded(1, false, nil, padding)
			})
		})
	}
}

// TestFloodPriority sends PRIORITY and PRIORITY_UPDATE (CVE-2019-9513).
func TestFloodPriority(t *testing.T) {
	flood(t, "idle", 50_000, http2.ErrCodeEnhanceYourCalm, func(f *flooder, i int) error {
		if i%2 == 0 {
			return f.WriteRawFrame(0x10, 0, 0, []byte("\x00\x00\x00\x01u=1"))
		}
		return f.WritePriority(uint32(2*i+1), http2.PriorityParam{Weight: 1})
	})
}

// TestFloodWindowUpdate sends WINDOW_UPDATE for which there was no DATA.
func TestFloodWindowUpdate(t *testing.T) {
	flood(t, "idle", 50_000, http2.ErrCodeEnhanceYourCalm, func(f *flooder, _ int) error {
		return f.WriteWindowUpdate(0, 1)
	})
}

// TestFloodUnknownFrames sends frames of an unknown type.
func TestFloodUnknownFrames(t *testing.T) {
	flood(t, "idle", 50_000, http2.ErrCodeEnhanceYourCalm, func(f *flooder, _ int) error {
		return f.WriteRawFrame(0xbb, 0, 0, []byte("grease"))
	})
}

// TestFloodEmptyFields sends requests of many fields without name and value
// (CVE-2019-9516): more than 100 are refused, and one without name is malformed.
func TestFloodEmptyFields(t *testing.T) {
	flood(t, "resets", 20_000, http2.ErrCodeEnhanceYourCalm, func(f *flooder, i int) error {
		block := append(bytes.Clone(f.head("GET", "/")), bytes.Repeat([]byte{0, 0, 0}, 90)...)
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), EndStream: true, EndHeaders: true,
			BlockFragment: block})
	})
	s := startServer(t, testConfig(), true)
	req, err := http.NewRequest("GET", s.url("/"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 101 {
		req.Header.Set(fmt.Sprintf("x-%d", i), "")
	}
	resp, err := s.client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 431 {
		t.Errorf("101 fields: %s, want 431", resp.Status)
	}
}

// TestFloodSmallWindows takes a response in windows of one byte (CVE-2019-9511).
func TestFloodSmallWindows(t *testing.T) {
	flood(t, "idle", 50_000, http2.ErrCodeEnhanceYourCalm, func(f *flooder, i int) error {
		if i == 0 {
			return errors.Join(f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}),
				f.request(1, "/large/200000"))
		}
		return f.WriteWindowUpdate(1, 1)
	})
}
