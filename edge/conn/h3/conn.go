package h3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
	"github.com/fieldmark/fieldmark/edge/conn/stream"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

// Limits of a connection.
const (
	// headWait is how long the loop that accepts streams waits for the rest of a request.
	// Nearly all requests arrive in one packet; the others get a goroutine.
	headWait = time.Millisecond
	// headTimeout bounds the time for the header section of a request, and for the type of
	// a unidirectional stream.
	headTimeout = 15 * time.Second * timeout.Scale
	// writeTimeout bounds how long a client takes a response from memory.
	writeTimeout = 30 * time.Second
	// drainGrace is how long a client may still begin requests after the first GOAWAY: one
	// round trip (5.2).
	drainGrace = time.Second
	// lingerTime is how long the connection stays open after the last response, which is
	// lost if it was not acknowledged when the connection closes.
	lingerTime = time.Second
	// readBufferSize is the size of the buffer of the loop, in bytes: the fields of browsers
	// fit. A larger request gets a goroutine.
	readBufferSize = 4 << 10
	// maxOutBuffer bounds the capacity that a pooled buffer keeps, in bytes.
	maxOutBuffer = 32 << 10
)

// Handler serves the requests of a connection.
type Handler interface {
	// Begin reserves a place for a request that is not answered at once from memory, and reports
	// whether one was free. End frees it. They are called in any goroutine, and must not block.
	Begin() bool
	End()
	// Respond returns the response to a request without a body, if it is in memory. tried
	// reports that it was looked up. It is called in the loop that accepts streams.
	Respond(fields []framing.Field) (r mux.Response, tried, ok bool)
	// Check returns why requests for an authority are refused, or nil.
	Check(authority string) *framing.Error
	// Serve serves the request on a connection in memory. It is called in a goroutine.
	Serve(c *stream.Conn)
}

// Config holds what the connections of a server have in common.
type Config struct {
	Constants func() Constants // returns the fields that every response of Handler.Respond has
	Date      func() []byte    // returns the field Date in QPACK
	Events    mux.Events       // counts what happens; required
}

// Conn is a connection.
type Conn struct {
	qc    *quic.Conn
	state *connState
	h     Handler
	cfg   *Config

	control *quic.SendStream
	// nextUni returns the next unidirectional stream, or context.Canceled once stopUni was
	// called.
	nextUni  func() (*quic.ReceiveStream, error)
	stopUni  context.CancelFunc
	working  sync.WaitGroup
	lastUsed atomic.Int64 // Unix time in nanoseconds of the last response in the loop or its end

	mu        sync.Mutex // guards the following fields
	limits    mux.Limits
	calmed    bool
	streams   map[quic.StreamID]*Stream
	next      quic.StreamID // the lowest that was not accepted
	refusing  bool          // new requests are refused
	idle      chan struct{} // closed when refusing and no stream is left
	opened    [streamDecoder + 1]bool
	goAwayID  uint64 // of the client's last GOAWAY
	maxPushID uint64
}

// scratch is the memory for one request in the loop.
type scratch struct {
	in   [readBufferSize]byte
	out  []byte
	list mux.FieldList
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Serve serves the connection until it ends and all its requests are served.
func (c *Conn) Serve(h Handler, cfg *Config) {
	c.h, c.cfg = h, cfg
	c.limits = mux.NewLimits(time.Now())
	c.streams, c.idle, c.goAwayID = map[quic.StreamID]*Stream{}, make(chan struct{}), quicvarint.Max
	if err := c.openControl(); err != nil {
		c.fail(connErrorf(GeneralProtocolError, "the client allows no control stream"))
	} else {
		c.working.Go(c.acceptUni)
		for {
			qs, err := c.qc.AcceptStream(context.Background())
			if err != nil {
				break
			}
			c.accept(qs)
		}
	}
	c.stopUni()
	c.working.Wait()
}

// Shutdown makes the connection end when its requests have (5.2). It returns at once.
func (c *Conn) Shutdown() { c.stopUni() }

// Close closes the connection at once.
func (c *Conn) Close() error { return c.qc.CloseWithError(quic.ApplicationErrorCode(NoError), "") }

// Settings (7.2.4.1; RFC 9204, 5).
const (
	settingTableCapacity  = 0x1
	settingMaxFieldList   = 0x6
	settingBlockedStreams = 0x7
	// settingGrease is reserved so that clients are tested to ignore unknown settings: 0x1f * N + 0x21.
	settingGrease = 0x1f*7 + 0x21
)

// openControl opens the control stream and sends SETTINGS. Clients remember these for their early
// data: if they change, the label of the keys of session tickets must change too (package
// certs).
func (c *Conn) openControl() (err error) {
	if c.control, err = c.qc.OpenUniStream(); err != nil {
		return err
	}
	var settings []byte
	for _, s := range [][2]uint64{{settingTableCapacity, 0}, {settingMaxFieldList, mux.MaxHeaderList},
		{settingBlockedStreams, 0}, {settingGrease, 0}} {
		settings = quicvarint.Append(quicvarint.Append(settings, s[0]), s[1])
	}
	out := appendFrame(quicvarint.Append(nil, streamControl), frameSettings, uint64(len(settings)))
	_, err = c.control.Write(append(out, settings...))
	return err
}

// accept answers a request in place, or begins a goroutine for it.
func (c *Conn) accept(qs *quic.Stream) {
	now := time.Now()
	c.lastUsed.Store(now.UnixNano())
	c.mu.Lock()
	refused := c.refusing
	if !refused {
		c.next = qs.StreamID() + 4
	}
	c.mu.Unlock()
	if refused {
		reset(qs, RequestRejected) // nothing was done (5.2)
		qs.ReleaseStreamCredit()
		return
	}
	b := scratches.Get().(*scratch)
	defer c.release(b)
	n, err := readWhole(qs, b.in[:], now.Add(headWait))
	if err == io.EOF {
		typ, length, size := parseFrameHeader(b.in[:n])
		if size > 0 && typ == frameHeaders && length == uint64(n-size) {
			c.serveWhole(qs, b, b.in[size:n])
			return
		}
	}
	if err != nil && err != io.EOF && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.cancelled(err)
		reset(qs, RequestCancelled)
		qs.ReleaseStreamCredit()
		return
	}
	s := c.newStream(qs)
	if s == nil {
		return
	}
	s.in.buf, s.in.ended = append(s.in.store[:0], b.in[:n]...), err == io.EOF
	c.working.Go(s.serve)
}

// release returns memory to the pool.
func (c *Conn) release(b *scratch) {
	if cap(b.out) <= maxOutBuffer {
		b.list.Reset()
		scratches.Put(b)
	}
}

// readWhole reads until the stream has ended, which is reported as io.EOF, more than one
// frame was read, the buffer is full or the deadline has passed.
func readWhole(qs *quic.Stream, buf []byte, deadline time.Time) (n int, err error) {
	_ = qs.SetReadDeadline(deadline) // never fails
	for n < len(buf) && err == nil {
		var k int
		k, err = qs.Read(buf[n:])
		n += k
		_, length, size := parseFrameHeader(buf[:n])
		if size > 0 && length < uint64(n-size) || length > uint64(len(buf)) {
			break
		}
	}
	return n, err
}

// serveWhole handles a request whose stream consists of one header block.
func (c *Conn) serveWhole(qs *quic.Stream, b *scratch, block []byte) {
	if err := decode(&b.list, block); err != nil {
		c.fail(err)
		return
	}
	tried := false
	if !b.list.TooLarge() {
		r, looked, ok := c.h.Respond(b.list.Fields)
		if tried = looked; ok {
			c.cfg.Events.Request()
			c.respond(qs, b, &r)
			return
		}
	}
	s := c.newStream(qs)
	if s == nil {
		return
	}
	if s.prepare(&b.list, tried, false) {
		c.working.Go(s.run)
	} else {
		s.release()
	}
}

// respond sends a response from memory and ends the stream.
func (c *Conn) respond(qs *quic.Stream, b *scratch, r *mux.Response) {
	b.out = c.appendResponse(b.out[:0], r)
	err := qs.TryWriteAll(b.out)
	if errors.Is(err, quic.ErrWouldBlock) { // the client's windows are too small
		if !c.tryBegin(qs) {
			return
		}
		out := bytes.Clone(b.out)
		c.working.Go(func() {
			_ = qs.SetWriteDeadline(time.Now().Add(writeTimeout)) // never fails
			_, err := qs.Write(out)
			c.h.End()
			c.endResponse(qs, err)
		})
		return
	}
	c.endResponse(qs, err)
}

// tryBegin reserves a place for a request, and reports whether one was free. If not, the stream is
// refused before anything of the request is kept, so that the client may repeat it (4.1.1).
func (c *Conn) tryBegin(qs *quic.Stream) bool {
	if c.h.Begin() {
		return true
	}
	reset(qs, RequestRejected)
	c.cfg.Events.Reset(false)
	c.charge(&c.limits.Resets)
	qs.ReleaseStreamCredit()
	return false
}

// endResponse ends the stream of a response from memory, which was written with the result
// err.
func (c *Conn) endResponse(qs *quic.Stream, err error) {
	switch {
	case err == nil:
		_ = qs.Close() // fails only on a stream that was reset
	case errors.Is(err, os.ErrDeadlineExceeded):
		reset(qs, InternalError)
		c.cfg.Events.Reset(false)
		c.charge(&c.limits.Resets)
	default:
		c.cancelled(err)
		reset(qs, RequestCancelled)
	}
	qs.ReleaseStreamCredit()
}

// appendResponse appends HEADERS and DATA of a response from memory.
func (c *Conn) appendResponse(out []byte, r *mux.Response) []byte {
	// The length of HEADERS takes two bytes, which a length may (RFC 9000, 16).
	out = append(out, frameHeaders, 0, 0)
	start := len(out)
	out = append(out, blockPrefix...)
	if r.NotModified {
		out = append(out, status304...)
	} else {
		out = append(out, status200...)
	}
	out = append(out, c.cfg.Date()...)
	out = append(append(append(out, c.cfg.Constants()...), r.QPACK...), r.MoreQPACK...)
	out = mux.AppendDecimal(append(out, ageName...), r.Age)
	quicvarint.AppendWithLen(out[:start-2], uint64(len(out)-start), 2)
	if len(r.Body) > 0 {
		out = append(appendFrame(out, frameData, uint64(len(r.Body))), r.Body...)
	}
	return out
}

// reset ends both directions of a stream.
func reset(qs *quic.Stream, code Code) {
	qs.CancelRead(quic.StreamErrorCode(code))
	qs.CancelWrite(quic.StreamErrorCode(code))
}

// cancelled counts a stream that the client has reset before its response. Other errors mean
// that the connection has ended.
func (c *Conn) cancelled(err error) {
	if e, ok := errors.AsType[*quic.StreamError](err); ok && e.Remote {
		c.cfg.Events.Reset(true)
		c.charge(&c.limits.Resets)
	}
}

// charge charges a bucket. An empty one ends the connection.
func (c *Conn) charge(b *mux.Bucket) {
	c.mu.Lock()
	ok := b.Take(time.Now())
	first := !ok && !c.calmed
	c.calmed = c.calmed || first
	c.mu.Unlock()
	if first {
		c.cfg.Events.Calmed(b.Name)
		c.fail(connErrorf(ExcessiveLoad, "too many frames of a kind: "+b.Name))
	}
}

// fail ends the connection if err is an error of the connection.
func (c *Conn) fail(err error) {
	if e, ok := errors.AsType[*connError](err); ok {
		if c.qc.Context().Err() == nil {
			c.cfg.Events.GoAway(uint64(e.code))
		}
		_ = c.qc.CloseWithError(quic.ApplicationErrorCode(e.code), e.reason) // never fails
	}
}

// drain announces that the connection ends, and ends it when its requests are served.
func (c *Conn) drain() {
	ended := c.qc.Context().Done()
	if c.qc.Context().Err() != nil || c.goAway(maxStreamID) != nil {
		return
	}
	c.cfg.Events.GoAway(uint64(NoError))
	select {
	case <-ended:
		return
	case <-time.After(drainGrace):
	}
	c.mu.Lock()
	c.refusing = true
	next := c.next
	if len(c.streams) == 0 {
		close(c.idle)
	}
	c.mu.Unlock()
	if c.goAway(uint64(next)) != nil {
		return
	}
	select {
	case <-ended:
		return
	case <-c.idle:
	}
	select {
	case <-ended: // clients close a connection that is of no more use
	case <-time.After(time.Until(time.Unix(0, c.lastUsed.Load()).Add(lingerTime))):
		_ = c.Close() // never fails
	}
}

// maxStreamID is the highest stream of a client (RFC 9000, 2.1).
const maxStreamID = 1<<62 - 4

// goAway announces the lowest stream that is not served (7.2.6).
func (c *Conn) goAway(id uint64) error {
	_, err := c.control.Write(quicvarint.Append(appendFrame(nil, frameGoAway, uint64(quicvarint.Len(id))), id))
	return err
}
