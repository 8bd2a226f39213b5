package h3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
	"github.com/fieldmark/fieldmark/edge/conn/stream"
)

const (
	// streamBuffer is the size of the buffer for reading a stream, in bytes.
	streamBuffer = 4 << 10
	// maxUnread bounds the bytes of a body that were read from the stream and not by the
	// handler. What is beyond it stays within the window of the stream, which the client may
	// not exceed.
	maxUnread = 16 << 10
	// outBufferSize is how much of a response is copied to be written with its header, in
	// bytes. The rest is written from where it is.
	outBufferSize = 4 << 10
)

var outBuffers = sync.Pool{New: func() any { b := make([]byte, 0, outBufferSize); return &b }}

// Stream is a request that is served as an HTTP/1.1 exchange.
type Stream struct {
	c   *Conn
	qs  *quic.Stream
	in  frameReader
	mem *stream.Conn

	declared  int64         // Content-Length; -1: unknown
	remoteEnd bool          // the request was read to its end
	unread    atomic.Int64  // bytes of the body that the handler has not read
	consumed  chan struct{} // holds a signal when unread has shrunk
	done      chan struct{} // closed when the handler has returned
	reading   sync.WaitGroup
	cancelled atomic.Bool // reset by the client

	out      []byte // frames to send with the next
	localEnd bool   // the response has ended
}

// newStream registers a stream, or refuses it and returns nil. release must be called in the end.
func (c *Conn) newStream(qs *quic.Stream) *Stream {
	if !c.tryBegin(qs) {
		return nil
	}
	s := &Stream{c: c, qs: qs, declared: -1}
	s.in.r = qs
	c.mu.Lock()
	c.streams[qs.StreamID()] = s
	c.mu.Unlock()
	return s
}

// release frees the place of the stream, whose work has ended: only then may the client open
// another, so resetting streams gains it nothing (CVE-2023-44487).
func (s *Stream) release() {
	c := s.c
	c.lastUsed.Store(time.Now().UnixNano())
	c.mu.Lock()
	delete(c.streams, s.qs.StreamID())
	if c.refusing && len(c.streams) == 0 {
		close(c.idle)
	}
	c.mu.Unlock()
	c.h.End()
	s.qs.ReleaseStreamCredit()
}

// serve reads the header section and serves the request.
func (s *Stream) serve() {
	s.in.store = make([]byte, streamBuffer)
	s.in.buf = s.in.store[:copy(s.in.store, s.in.buf)]
	_ = s.qs.SetReadDeadline(time.Now().Add(headTimeout)) // never fails
	ok, err := s.readHead()
	if err != nil {
		s.fail(err)
	}
	if !ok || err != nil {
		s.release()
		return
	}
	_ = s.qs.SetReadDeadline(time.Time{}) // never fails
	s.run()
}

// readHead reads frames up to the header section, and prepares the exchange.
func (s *Stream) readHead() (ok bool, err error) {
	for {
		typ, length, err := s.in.next()
		switch {
		case err == io.EOF:
			return false, &streamError{RequestIncomplete, "the stream has no request"}
		case err != nil:
			return false, err
		case typ == frameHeaders:
			return s.readRequest(length)
		case typ == frameData:
			return false, connErrorf(FrameUnexpected, "DATA comes before HEADERS")
		}
		if err := s.c.ignore(typ); err != nil {
			return false, err
		}
	}
}

// readRequest decodes the header section.
// With GET and HEAD it waits for the end of the stream, which browsers send at once: the fast
// path and the cache know only requests without a body.
func (s *Stream) readRequest(length uint64) (bool, error) {
	list, err := s.readFields(length, mux.MaxBlock)
	if err != nil {
		return false, err
	}
	if method := methodOf(list.Fields); method == http.MethodGet || method == http.MethodHead {
		// The end may come in another packet. Without it the request would have a body.
		for len(s.in.buf) == 0 && !s.in.ended {
			if err := s.in.fill(); err != nil && err != io.EOF {
				return false, err
			}
		}
	}
	s.remoteEnd = s.in.ended && len(s.in.buf) == 0
	return s.prepare(list, false, !s.remoteEnd), nil
}

// methodOf returns the value of :method, or an empty string.
func methodOf(fields []framing.Field) string {
	for _, f := range fields {
		if f.Name == ":method" {
			return f.Value
		}
	}
	return ""
}

// readFields reads and decodes a header block of at most limit bytes.
// A block that was not decoded leaves nothing behind: there is no dynamic table.
func (s *Stream) readFields(length, limit uint64) (*mux.FieldList, error) {
	if length > limit {
		return nil, connErrorf(ExcessiveLoad, "a header block is too large")
	}
	block, err := s.in.payload()
	if err != nil {
		return nil, err
	}
	list := &mux.FieldList{}
	return list, decode(list, block)
}

// ignore handles a frame on a request stream that is neither DATA nor HEADERS: it is an error
// or ignored (7.2, 9).
func (c *Conn) ignore(typ uint64) error {
	switch typ {
	case frameCancelPush, frameSettings, framePushPromise, frameGoAway, frameMaxPushID, framePriorityUpdate,
		framePriorityPush:
		return connErrorf(FrameUnexpected, "a frame is on the wrong stream")
	}
	if reservedFrame(typ) {
		return connErrorf(FrameUnexpected, "a frame is one of HTTP/2")
	}
	c.charge(&c.limits.Idle)
	return nil
}

// prepare makes the connection in memory of a request with the given fields. body is
// whether a body follows. It returns false if the request is malformed, and resets its
// stream.
// It is used by the fast path too, for what turned out not to be in memory.
func (s *Stream) prepare(list *mux.FieldList, tried, body bool) bool {
	c := s.c
	c.cfg.Events.Request()
	var refused *framing.Error
	head, req, err := framing.AppendRequest(nil, list.Fields, "https", body)
	malformed := framing.MalformedError("")
	switch {
	case list.TooLarge():
		refused, head = &framing.Error{Status: http.StatusRequestHeaderFieldsTooLarge,
			Reason: "the header fields are too large"}, nil
	case errors.As(err, &malformed):
		s.fail(&streamError{MessageError, string(malformed)})
		return false
	case err != nil:
		errors.As(err, &refused)
	default:
		refused = c.h.Check(req.Authority)
	}
	s.remoteEnd, s.declared = !body, req.Length
	s.qs.SetPriority(int8(mux.ParseUrgency(req.Priority)), true)
	s.mem = stream.New(s, c.LocalAddr(), c.RemoteAddr(), head, req, body)
	s.mem.FastPathTried, s.mem.Refused = tried, refused
	return true
}

// run serves the exchange. Nothing that is not in memory is answered before the handshake
// has ended: until then a request may be a replay (RFC 8470, 3).
func (s *Stream) run() {
	defer s.release()
	c := s.c
	select {
	case <-c.qc.HandshakeComplete():
	case <-c.qc.Context().Done():
	}
	stop := context.AfterFunc(s.qs.Context(), s.closed)
	s.consumed, s.done = make(chan struct{}, 1), make(chan struct{})
	if !s.remoteEnd {
		s.reading.Go(s.readBody)
	}
	c.h.Serve(s.mem)
	s.finish()
	stop()
}

// closed is called when the sending half of the stream was closed, by either side.
// A handler that waits for its database must be notified that the client has gone.
func (s *Stream) closed() {
	err := context.Cause(s.qs.Context())
	if errors.Is(err, quic.ErrStreamClosed) {
		return
	}
	s.cancel(err)
}

// cancel ends the exchange of a stream that has failed.
func (s *Stream) cancel(err error) {
	if !s.cancelled.Swap(true) {
		s.c.cancelled(err)
	}
	s.mem.Abort()
}

// fail ends the stream, or the connection, for an error of the client.
func (s *Stream) fail(err error) {
	if e, ok := errors.AsType[*streamError](err); ok {
		s.reset(e.code)
		return
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.reset(RequestIncomplete)
		return
	}
	s.c.fail(err)
	if s.c.qc.Context().Err() == nil {
		s.c.cancelled(err)
		reset(s.qs, RequestCancelled)
	}
}

// reset ends the stream for an error of the client.
func (s *Stream) reset(code Code) {
	reset(s.qs, code)
	s.c.cfg.Events.Reset(false)
	s.c.charge(&s.c.limits.Resets)
}

// finish ends the stream of a request that was served.
// The order matters: the reader of the body may wait for room or for bytes, and ends only after
// done was closed and the receiving half cancelled.
func (s *Stream) finish() {
	switch {
	case s.localEnd:
	case s.mem.Complete() && s.write(nil, time.Now().Add(writeTimeout), true) == nil: // its body lasted until the end
	default:
		s.qs.CancelWrite(quic.StreamErrorCode(InternalError))
		if !s.cancelled.Load() && s.c.qc.Context().Err() == nil {
			s.c.cfg.Events.Reset(false)
		}
	}
	close(s.done)
	s.qs.CancelRead(quic.StreamErrorCode(NoError)) // the rest of the body is not needed (4.1)
	s.reading.Wait()
	if s.out != nil {
		s.out = s.out[:0]
		outBuffers.Put(&s.out)
	}
}

// readBody gives the body to the exchange, as far as the handler reads it.
func (s *Stream) readBody() {
	err := s.copyBody()
	select {
	case <-s.done: // the error may be that of finish
		return
	default:
	}
	switch e := (*streamError)(nil); {
	case err == nil:
		s.mem.End()
	case errors.As(err, &e):
		s.cancelled.Store(true)
		s.reset(e.code)
		s.mem.Abort()
	default:
		s.c.fail(err)
		s.cancel(err)
	}
}

// copyBody reads frames up to the end of the stream.
func (s *Stream) copyBody() error {
	received, trailer := int64(0), false
	for {
		typ, length, err := s.in.next()
		switch {
		case err == io.EOF && s.declared >= 0 && received != s.declared:
			return &streamError{MessageError, "Content-Length is not the length of the body"}
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case typ == frameData && !trailer:
			if length == 0 {
				s.c.charge(&s.c.limits.Idle)
			}
			// Compared before the bytes are read: none beyond the declared length reaches the
			// handler, which reads HTTP/1.1.
			if received += int64(length); s.declared >= 0 && received > s.declared {
				return &streamError{MessageError, "the body is longer than Content-Length"}
			}
			err = s.copyData()
		case typ == frameHeaders && !trailer:
			trailer = true
			err = s.readTrailer(length)
		case typ == frameData || typ == frameHeaders:
			err = connErrorf(FrameUnexpected, "a frame follows the trailer section")
		default:
			err = s.c.ignore(typ)
		}
		if err != nil {
			return err
		}
	}
}

// copyData reads one DATA frame.
func (s *Stream) copyData() error {
	for {
		p, err := s.in.data()
		if err != nil || p == nil {
			return err
		}
		s.unread.Add(int64(len(p)))
		s.mem.Push(p)
		// Not reading is what makes QUIC close the window of the stream.
		for s.unread.Load() > maxUnread {
			select {
			case <-s.consumed:
			case <-s.done:
				return nil
			}
		}
	}
}

// readTrailer checks a trailer section, which is dropped.
func (s *Stream) readTrailer(length uint64) error {
	if length > mux.MaxTrailer {
		return &streamError{ExcessiveLoad, "the trailer section is too large"}
	}
	list, err := s.readFields(length, mux.MaxTrailer)
	if err != nil {
		return err
	}
	if err := framing.CheckTrailer(list.Fields); err != nil {
		return &streamError{MessageError, err.Error()}
	}
	return nil
}

// Consumed implements stream.Transport.
// The channel holds one signal, which is enough: the reader compares the count each time.
func (s *Stream) Consumed(n int) {
	s.unread.Add(-int64(n))
	select {
	case s.consumed <- struct{}{}:
	default:
	}
}

// Send implements stream.Transport.
func (s *Stream) Send(part framing.Part, deadline time.Time, more bool) error {
	if s.localEnd || s.cancelled.Load() {
		return stream.ErrAborted
	}
	if s.out == nil {
		s.out = *outBuffers.Get().(*[]byte)
	}
	var rest []byte
	if part.Status != 0 {
		block := appendPart(nil, &part)
		s.out = append(appendFrame(s.out, frameHeaders, uint64(len(block))), block...)
		// The head leaves with the first bytes of the body, in one packet where they fit.
		if more && !part.End {
			return nil
		}
	} else if len(part.Data) > 0 {
		s.out = appendFrame(s.out, frameData, uint64(len(part.Data)))
		n := min(len(part.Data), max(0, outBufferSize-len(s.out)))
		s.out, rest = append(s.out, part.Data[:n]...), part.Data[n:]
	}
	return s.write(rest, deadline, part.End)
}

// write writes what is to be sent.
// rest is written without a copy; what was copied into out goes before it.
func (s *Stream) write(rest []byte, deadline time.Time, end bool) error {
	_ = s.qs.SetWriteDeadline(deadline) // never fails
	for _, p := range [...][]byte{s.out, rest} {
		if len(p) == 0 {
			continue
		}
		if _, err := s.qs.Write(p); errors.Is(err, os.ErrDeadlineExceeded) {
			return os.ErrDeadlineExceeded
		} else if err != nil {
			return stream.ErrAborted
		}
	}
	s.out = s.out[:0]
	if end {
		s.localEnd = true
		_ = s.qs.Close() // fails only on a stream that was reset
	}
	return nil
}
