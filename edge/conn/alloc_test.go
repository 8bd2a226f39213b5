package conn_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
)

// TestHitAllocations counts the allocations of hits on one connection, with many requests in
// a read and with one.
func TestHitAllocations(t *testing.T) {
	s := conn.New(testConfig())
	s.ServeConn(script(t, 10)) // fills the pools
	few, many, limit := 100, 10_100, 2.0
	if raceDetector { // pools drop buffers at random
		many, limit = 2100, 4
	}
	for what, single := range map[string]bool{"many": false, "one": true} {
		count := func(n int) uint64 {
			c := script(t, n)
			if single {
				c.in = &frameReader{in: c.in}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s.ServeConn(c)
			runtime.ReadMemStats(&after)
			return after.Mallocs - before.Mallocs
		}
		each := float64(count(many)-count(few)) / float64(many-few)
		if t.Logf("with %s in a read, a hit allocates %.2f times", what, each); each > limit {
			t.Errorf("with %s in a read, a hit allocates %.2f times, want %v at most, for the path that is decoded",
				what,
				each, limit)
		}
	}
}

// frameReader reads the preface and then one frame at a time.
type frameReader struct {
	in    io.Reader
	began bool
}

// Read implements io.Reader. p has room for a frame.
func (r *frameReader) Read(p []byte) (int, error) {
	if !r.began {
		r.began = true
		return io.ReadFull(r.in, p[:len(http2.ClientPreface)])
	}
	if _, err := io.ReadFull(r.in, p[:9]); err != nil {
		return 0, err
	}
	end := 9 + int(p[0])<<16 + int(p[1])<<8 + int(p[2])
	n, err := io.ReadFull(r.in, p[9:end])
	return 9 + n, err
}

// TestIdleMemory bounds the memory of connections that are idle after a response, heap and
// stack. The client's side of TLS is garbage here, so what remains of it is a socket.
// Collections in between empty the pools, so a buffer that a connection has returned and still refers to counts
// for each of them.
func TestIdleMemory(t *testing.T) {
	const clientSocket = 1000 // bytes, with what closes it in the end
	conns, limits := 200, map[string]int{certs.ProtocolHTTP1: 14_000, certs.ProtocolHTTP2: 15_000}
	if raceDetector { // stacks are larger
		conns, limits = 50, map[string]int{certs.ProtocolHTTP1: 24_000, certs.ProtocolHTTP2: 25_000}
	}
	for proto, limit := range limits {
		s := startServer(t, testConfig(), true)
		for range runtime.GOMAXPROCS(0) + 1 { // each processor has caches, which fill first
			s.openIdle(proto)
		}
		before := memory()
		for range conns {
			s.openIdle(proto)
			for range 2 { // a pool keeps what it has for one collection
				runtime.GC()
			}
		}
		each := (memory() - before) / conns
		if t.Logf("an idle connection of %s has %d bytes", proto, each); each > limit+clientSocket {
			t.Errorf("an idle connection of %s has %d bytes, want %d at most", proto, each, limit)
		}
	}
}

// openIdle opens a connection and gets a badge over it.
func (s *testServer) openIdle(proto string) {
	s.t.Helper()
	raw, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { raw.Close() })
	cfg := s.tls.Clone()
	cfg.NextProtos = []string{proto}
	nc := tls.Client(raw, cfg)
	request, response := plainGet+"\r\n", len(badgeBody)
	if proto == certs.ProtocolHTTP2 {
		var all, block bytes.Buffer
		all.WriteString(http2.ClientPreface)
		enc, f := hpack.NewEncoder(&block), http2.NewFramer(&all, nil)
		for name, value := range map[string]string{":method": "GET", ":scheme": "https", ":authority": testHost,
			":path": "/api/badge/acme"} {
			err = errors.Join(err, enc.WriteField(hpack.HeaderField{Name: name, Value: value}))
		}
		err = errors.Join(err, f.WriteSettings(), f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1,
			BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}))
		request = all.String()
	}
	_, writeErr := io.WriteString(nc, request)
	if _, readErr := io.ReadFull(nc, make([]byte, response)); errors.Join(err, writeErr, readErr) != nil {
		s.t.Fatal(errors.Join(err, writeErr, readErr))
	}
}

// memory returns the bytes of heap and stacks after garbage collections, which also shrink
// stacks.
func memory() int {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}
