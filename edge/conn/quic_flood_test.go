package conn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/qpack"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"
	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/edge/conn/h3"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// quicFlooder is a client of raw frames over QUIC.
type quicFlooder struct {
	*quic.Conn
	t       testing.TB
	control *quic.SendStream
}

// newQUICFlooder opens a connection with a control stream.
func newQUICFlooder(t *testing.T, s *quicServer) *quicFlooder {
	t.Helper()
	f := &quicFlooder{Conn: s.dialQUIC(), t: t}
	f.control = f.uni(0x00, frame(0x4, nil))
	return f
}

// frame encodes a frame.
func frame(typ uint64, payload []byte) []byte {
	return append(quicvarint.Append(quicvarint.Append(nil, typ), uint64(len(payload))), payload...)
}

// fields encodes HEADERS of fields given as name, value.
func fields(all ...string) []byte {
	block := []byte{0, 0}
	for i := 0; i < len(all); i += 2 {
		block = h3.AppendField(block, all[i], all[i+1])
	}
	return frame(0x1, block)
}

func requestFields(method, path string, more ...string) []byte {
	return fields(append([]string{":method", method, ":scheme", "https", ":authority", testHost, ":path", path},
		more...)...)
}

// uni opens a unidirectional stream with these bytes after its type.
func (f *quicFlooder) uni(typ uint64, data []byte) *quic.SendStream {
	f.t.Helper()
	s, err := f.OpenUniStreamSync(f.t.Context())
	if err == nil {
		_, err = s.Write(append(quicvarint.Append(nil, typ), data...))
	}
	if err != nil && f.Context().Err() == nil {
		f.t.Fatal(err)
	}
	return s
}

// open opens a request stream with these bytes.
func (f *quicFlooder) open(data []byte) (*quic.Stream, error) {
	s, err := f.OpenStreamSync(f.t.Context())
	if err != nil {
		return nil, err
	}
	_, err = s.Write(data)
	return s, err
}

// send opens a request stream with these bytes and ends it.
func (f *quicFlooder) send(data []byte) (*quic.Stream, error) {
	s, err := f.open(data)
	if err == nil {
		_ = s.Close() // fails if the server refuses the request before its end is sent: its answer tells
	}
	return s, err
}

// ask sends a request.
func (f *quicFlooder) ask(data []byte) *quic.Stream {
	f.t.Helper()
	s, err := f.send(data)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// closed waits for the end of the connection and returns the code that the server gave.
func (f *quicFlooder) closed() h3.Code {
	<-f.Context().Done()
	if e, ok := errors.AsType[*quic.ApplicationError](context.Cause(f.Context())); ok && e.Remote {
		return h3.Code(e.ErrorCode)
	}
	f.t.Logf("the connection ended with %v", context.Cause(f.Context()))
	return 0
}

// answer reads the response on a stream: its status, "malformed", or another error.
func answer(s *quic.Stream) string {
	var got []byte
	got, err := io.ReadAll(s)
	if e, ok := errors.AsType[*quic.StreamError](err); ok && len(got) == 0 {
		if h3.Code(e.ErrorCode) == h3.MessageError {
			return "malformed"
		}
		return fmt.Sprintf("reset %#x", e.ErrorCode)
	} else if err != nil {
		return err.Error()
	}
	all, _ := splitFrames(got)
	for _, f := range all {
		if f.typ != 0x1 {
			continue
		}
		field, err := qpack.NewDecoder().Decode(f.payload)()
		if err != nil {
			return err.Error()
		}
		if field.Value[0] != '1' {
			return field.Value
		}
	}
	return "no answer"
}

type rawFrame struct {
	typ     uint64
	payload []byte
}

func splitFrames(b []byte) (all []rawFrame, rest []byte) {
	for {
		typ, n, err := quicvarint.Parse(b)
		if err != nil {
			return all, b
		}
		length, m, err := quicvarint.Parse(b[n:])
		if err != nil || uint64(len(b)-n-m) < length {
			return all, b
		}
		end := n + m + int(length)
		all, b = append(all, rawFrame{typ, b[n+m : end]}), b[end:]
	}
}

// floodQUIC is flood for HTTP/3.
func floodQUIC(t *testing.T, bucket string, n int, code h3.Code, send func(f *quicFlooder, i int) error) {
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
	s := startQUIC(t, cfg)
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
	f := newQUICFlooder(t, s)
	sent := 0
	for ; sent < n && f.Context().Err() == nil; sent++ {
		if sent%64 == 0 {
			if err := get(); err != nil {
				t.Errorf("another client: %v", err)
			}
		}
		if send(f, sent) != nil {
			break
		}
	}
	if got := f.closed(); got != code {
		t.Errorf("the connection was closed with %#x, want %#x", got, code)
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
	waittest.Until(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+4 })
	waittest.Until(t, "the memory is released", func() bool { return heap()-before < 2<<20 })
}

// TestFloodQUICResets opens streams and resets them, in each of the ways that there are.
func TestFloodQUICResets(t *testing.T) {
	for name, send := range map[string]func(f *quicFlooder, i int) error{
		"both directions": func(f *quicFlooder, _ int) error {
			s, err := f.open(requestFields("GET", "/large/200000"))
			if err == nil {
				s.CancelRead(quic.StreamErrorCode(h3.RequestCancelled))
				s.CancelWrite(quic.StreamErrorCode(h3.RequestCancelled))
			}
			return err
		},
		"malformed": func(f *quicFlooder, _ int) error {
			s, err := f.send(requestFields("GET", "/", "Upper", "x"))
			if err == nil {
				_, _ = io.Copy(io.Discard, s)
			}
			return err
		},
		"without a request": func(f *quicFlooder, _ int) error {
			s, err := f.send(nil)
			if err == nil {
				_, _ = io.Copy(io.Discard, s)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { floodQUIC(t, "resets", 20_000, h3.ExcessiveLoad, send) })
	}
}

// TestFloodQUICIdle sends frames that change nothing.
func TestFloodQUICIdle(t *testing.T) {
	var upload *quic.Stream
	for name, send := range map[string]func(f *quicFlooder, i int) error{
		"unknown frames": func(f *quicFlooder, _ int) error {
			_, err := f.control.Write(frame(0x21, []byte("grease")))
			return err
		},
		"priorities": func(f *quicFlooder, _ int) error {
			_, err := f.control.Write(frame(0xf0700, []byte("\x00u=1")))
			return err
		},
		"empty data": func(f *quicFlooder, i int) (err error) {
			if i == 0 {
				upload, err = f.open(requestFields("POST", "/count"))
				return err
			}
			_, err = upload.Write(bytes.Repeat(frame(0x0, nil), 10))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { floodQUIC(t, "idle", 50_000, h3.ExcessiveLoad, send) })
	}
}

// TestBombQPACK sends header blocks that decode to much more than they are, or that refer to a
// dynamic table.
func TestBombQPACK(t *testing.T) {
	const longest = 0xc0 | 63 // the first byte of an index above 62
	for name, tt := range map[string]struct {
		data []byte
		code h3.Code
	}{
		"static fields": {frame(0x1, append([]byte{0, 0}, bytes.Repeat([]byte{longest, 85 - 63}, 8000)...)),
			h3.ExcessiveLoad},
		"large":           {frame(0x1, make([]byte, 70_000)), h3.ExcessiveLoad},
		"claims a length": {quicvarint.Append([]byte{0x1}, 1<<40), h3.ExcessiveLoad},
		"dynamic table":   {frame(0x1, []byte{0, 0, 0x80}), h3.DecompressionFailed},
		"insert count":    {frame(0x1, []byte{2, 0, 0x10}), h3.DecompressionFailed},
	} {
		t.Run(name, func(t *testing.T) {
			floodQUIC(t, "", 1, tt.code, func(f *quicFlooder, _ int) error {
				_, err := f.send(tt.data)
				return err
			})
		})
	}
}

// TestQUICBodyBeforeEnd sends a body of its declared length, and more DATA after another request was answered.
func TestQUICBodyBeforeEnd(t *testing.T) {
	f := newQUICFlooder(t, startQUIC(t, testConfig()))
	upload, err := f.open(append(requestFields("POST", "/count", "content-length", "5"),
		frame(0x0, []byte("12345"))...))
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(f.ask(requestFields("GET", "/x"))); got != "200" {
		t.Errorf("another request: %s", got)
	}
	_, _ = upload.Write(frame(0x0, []byte("6"))) // fails if the server has answered
	if got := answer(upload); got != "malformed" {
		t.Errorf("a body of 5 bytes and one more: %s, want it to be malformed", got)
	}
}

// TestQUICProtocolErrors checks the code for each violation that ends a connection.
func TestQUICProtocolErrors(t *testing.T) {
	s := startQUIC(t, testConfig())
	request := func(data ...byte) func(*quicFlooder) {
		return func(f *quicFlooder) { _, _ = f.send(data) }
	}
	control := func(data []byte) func(*quicFlooder) {
		return func(f *quicFlooder) { _, _ = f.control.Write(data) }
	}
	for name, tt := range map[string]struct {
		send func(*quicFlooder)
		code h3.Code
	}{
		"DATA first":            {request(frame(0x0, []byte("x"))...), h3.FrameUnexpected},
		"SETTINGS of a request": {request(frame(0x4, nil)...), h3.FrameUnexpected},
		"PRIORITY of HTTP/2":    {request(frame(0x2, nil)...), h3.FrameUnexpected},
		"cut off":               {request(0x1, 0x5, 0), h3.FrameError},
		"DATA after trailers": {request(append(append(requestFields("POST", "/count"), fields("x", "y")...),
			frame(0, []byte("z"))...)...), h3.FrameUnexpected},
		"second SETTINGS":               {control(frame(0x4, nil)), h3.FrameUnexpected},
		"HEADERS on control":            {control(frame(0x1, nil)), h3.FrameUnexpected},
		"PING of HTTP/2":                {control(frame(0x6, nil)), h3.FrameUnexpected},
		"CANCEL_PUSH":                   {control(frame(0x3, []byte{0})), h3.IDError},
		"MAX_PUSH_ID that falls":        {control(append(frame(0xd, []byte{5}), frame(0xd, []byte{4})...)), h3.IDError},
		"GOAWAY that rises":             {control(append(frame(0x7, []byte{4}), frame(0x7, []byte{8})...)), h3.IDError},
		"GOAWAY without id":             {control(frame(0x7, nil)), h3.FrameError},
		"PRIORITY_UPDATE of push":       {control(frame(0xf0701, []byte{0})), h3.IDError},
		"PRIORITY_UPDATE of no request": {control(frame(0xf0700, []byte{1})), h3.IDError},
		"control is closed":             {func(f *quicFlooder) { _ = f.control.Close() }, h3.ClosedCriticalStream},
		"second control":                {func(f *quicFlooder) { f.uni(0x0, nil) }, h3.StreamCreationError},
		"push":                          {func(f *quicFlooder) { f.uni(0x1, nil) }, h3.StreamCreationError},
		"insertion": {func(f *quicFlooder) { f.uni(0x2, []byte{0x41, 'a', 0x1, 'b'}) },
			h3.EncoderStreamError},
		"capacity": {func(f *quicFlooder) { f.uni(0x2, []byte{0x20, 0x3f, 0x01}) }, h3.EncoderStreamError},
		"acknowledgement": {func(f *quicFlooder) { f.uni(0x3, []byte{0x44, 0x7f, 0x80, 0x01, 0x80}) },
			h3.DecoderStreamError},
	} {
		f := newQUICFlooder(t, s)
		tt.send(f)
		if got := f.closed(); got != tt.code {
			t.Errorf("%s: the connection was closed with %#x, want %#x", name, got, tt.code)
		}
	}
	for name, tt := range map[string]struct {
		first []byte
		code  h3.Code
	}{
		"no SETTINGS":       {frame(0x7, []byte{0}), h3.MissingSettings},
		"setting of HTTP/2": {frame(0x4, []byte{0x4, 0x1}), h3.SettingsError},
		"repeated setting":  {frame(0x4, []byte{0x6, 0x1, 0x6, 0x1}), h3.SettingsError},
		"cut-off setting":   {frame(0x4, []byte{0x6}), h3.FrameError},
	} {
		f := &quicFlooder{Conn: s.dialQUIC(), t: t}
		f.uni(0x0, tt.first)
		if got := f.closed(); got != tt.code {
			t.Errorf("%s: the connection was closed with %#x, want %#x", name, got, tt.code)
		}
	}
	f := newQUICFlooder(t, s)
	f.uni(0x2, []byte{0x20})
	f.uni(0x3, []byte{0x44})
	f.uni(0x40, []byte("unknown"))
	st := f.ask(append(frame(0x21, []byte("grease")), requestFields("GET", "/x")...))
	if got := answer(st); got != "200" {
		t.Errorf("what is unknown, or harmless, led to %s", got)
	}
}

// TestFloodInitials sends first packets of clients that never continue, as with forged
// addresses: clients must then prove their address, and an honest one is served.
func TestFloodInitials(t *testing.T) {
	cfg := testConfig()
	s := startQUIC(t, cfg)
	const n = 100
	sink := listenUDP(t)
	var initials [][]byte
	for range n {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			_, _ = quic.DialAddr(ctx, sink.LocalAddr().String(), s.tls, &quic.Config{})
			close(done)
		}()
		b := make([]byte, 2048)
		k, _, err := sink.ReadFrom(b)
		cancel()
		<-done
		if err != nil {
			t.Fatal(err)
		}
		initials = append(initials, b[:k])
		drainSocket(sink)
	}
	flooder, err := net.Dial("udp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer flooder.Close()
	for _, p := range initials {
		if _, err := flooder.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	retries := func() (n int) {
		var b strings.Builder
		s.WriteMetrics(&b)
		for line := range strings.Lines(b.String()) {
			_, _ = fmt.Sscanf(line, "fieldmark_edge_quic_retries_total %d", &n)
		}
		return n
	}
	waittest.Until(t, "clients are asked for their address", func() bool { return retries() >= n/4 })
	resp, err := s.client().Get(s.url("/api/badge/acme"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("an honest client got %s", resp.Status)
	}
}

// drainSocket drops what has arrived.
func drainSocket(pc net.PacketConn) {
	b := make([]byte, 2048)
	_ = pc.SetReadDeadline(time.Now().Add(time.Millisecond))
	for {
		if _, _, err := pc.ReadFrom(b); err != nil {
			break
		}
	}
	_ = pc.SetReadDeadline(time.Time{})
}
