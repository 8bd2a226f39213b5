package h2

import (
	"encoding/binary"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
	"github.com/fieldmark/fieldmark/edge/conn/stream"
)

const (
	// streamWindow is the window of a stream at first, in bytes.
	streamWindow = defaultWindow
	// largeWindow is the window of a long upload, in bytes: 10 MB/s at 50 ms.
	// It is granted from a budget of the process, mux.WindowBudget, because a client could open
	// as many uploads as it may have streams and stop reading all of them.
	largeWindow = 512 << 10
	// minData is the least DATA that is not charged if the client's window made it so
	// A client that grants a byte at a time makes a frame of nine bytes for each
	// (CVE-2019-9511, "Data Dribble").
	// short, in bytes.
	minData = 256
	// maxEnded bounds endedStreams: the client may have sent frames for each that was open.
	maxEnded = mux.MaxStreams
)

// Stream is a request that is served as an HTTP/1.1 exchange. Conn.mu guards its fields.
type Stream struct {
	c   *Conn
	id  uint32
	mem *stream.Conn

	remoteEnded bool // END_STREAM was received
	localEnded  bool // END_STREAM was sent
	dead        bool // reset by either side, or the connection has ended
	clientReset bool // reset by the client, which must send nothing more on it
	urgency     int
	queued      bool // it is in c.ready

	declared int64 // Content-Length; -1: unknown
	// received and consumed are compared at the end of a stream: what its handler did not
	// read is credited to the connection then, or the window would shrink with each.
	received   int64 // bytes of the body
	consumed   int64 // bytes of it that were read
	recvWindow int   // bytes that the client may send
	window     int   // the size of recvWindow at first
	recvCredit int   // bytes that were read and not given back
	sendWindow int

	pending    []byte // bytes to send, of the caller of Send
	pendingEnd bool
	sending    bool // pending and pendingEnd are not sent
	taken      sync.Cond
}

// Send implements stream.Transport.
// The head is queued at once, the body waits in pending until the windows allow it. Send returns
// when all of the body was queued or the deadline has passed: the caller may then reuse its bytes.
// more means that another part follows at once; a head is then not written alone.
func (s *Stream) Send(part framing.Part, deadline time.Time, more bool) error {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if part.Status != 0 {
		if err := s.sendHead(&part); err != nil {
			return err
		}
	} else if len(part.Data) > 0 || part.End {
		s.pending, s.pendingEnd, s.sending = part.Data, part.End, true
		c.schedule(s)
		more = false
	}
	if more {
		return nil
	}
	if err := c.flush(); err != nil {
		return err
	}
	return s.waitTaken(deadline)
}

// sendHead appends HEADERS.
func (s *Stream) sendHead(part *framing.Part) error {
	c := s.c
	if err := c.makeRoom(); err != nil {
		return err
	}
	if s.dead || s.localEnded {
		return stream.ErrAborted
	}
	c.appendHeaders(s.id, part.End, func(dst []byte) []byte { return appendPart(dst, part) })
	s.localEnded = part.End
	return nil
}

// waitTaken waits until all of pending was taken.
// A condition variable has no deadline, so a timer wakes the waiters; it is made only by those
// that have to wait, which the answers of a fast client do not.
func (s *Stream) waitTaken(deadline time.Time) error {
	var timer *time.Timer
	for s.sending && !s.dead {
		if timer == nil && !deadline.IsZero() {
			timer = time.AfterFunc(time.Until(deadline), func() {
				s.c.mu.Lock()
				defer s.c.mu.Unlock()
				s.taken.Broadcast()
			})
			defer timer.Stop()
		}
		if !deadline.IsZero() && !time.Now().Before(deadline) {
			s.pending, s.sending = nil, false // it shares the caller's bytes
			return os.ErrDeadlineExceeded
		}
		s.taken.Wait()
	}
	if s.dead {
		s.pending, s.sending = nil, false
		return stream.ErrAborted
	}
	return nil
}

// Consumed implements stream.Transport: it gives windows back (6.9).
func (s *Stream) Consumed(n int) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.streams[s.id] != s {
		return
	}
	s.consumed += int64(n)
	s.recvCredit += n
	// Half a window at a time: one frame for every 32 KiB, and the client never waits for
	// a round trip while the handler reads.
	if !s.remoteEnded && !s.dead && s.recvCredit >= s.window/2 {
		grow := 0
		if s.window < largeWindow && c.cfg.Window.TryAcquire(largeWindow-streamWindow) {
			grow, s.window = largeWindow-streamWindow, largeWindow
		}
		c.out = appendWindowUpdate(c.queue(), s.id, s.recvCredit+grow)
		s.recvWindow += s.recvCredit + grow
		s.recvCredit = 0
	}
	c.credit(n)
	_ = c.flush() // the reader detects that the connection has failed
}

// credit gives back n bytes of the connection's window, some at a time.
func (c *Conn) credit(n int) {
	if c.recvCredit += n; c.recvCredit >= connWindow/8 {
		c.out = appendWindowUpdate(c.queue(), 0, c.recvCredit)
		c.recvWindow += c.recvCredit
		c.recvCredit = 0
	}
}

// finish ends a stream whose request was served; its place becomes free.
func (s *Stream) finish() {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	// The place is free only now, when the handler has returned, and not when the client has
	// reset the stream: else a client could start handlers without end by opening and resetting
	// (CVE-2023-44487, "Rapid Reset").
	delete(c.streams, s.id)
	c.h.End()
	if s.window > streamWindow {
		c.cfg.Window.Release(largeWindow - streamWindow)
	}
	if !c.closed && !s.dead {
		switch {
		case !s.localEnded && s.mem.Complete(): // its body lasted until the end
			c.out = appendHeader(c.queue(), frameData, flagEndStream, s.id, 0)
		case !s.localEnded:
			c.out = appendReset(c.queue(), s.id, InternalError)
			c.cfg.Events.Reset(false)
			s.remoteEnded = true
			c.ended.add(s.id)
		}
		if !s.remoteEnded { // the rest of the body is not needed (8.1)
			c.out = appendReset(c.queue(), s.id, NoError)
			c.ended.add(s.id)
		}
	}
	if s.dead = true; !c.closed {
		c.credit(int(s.received - s.consumed))
		_ = c.flush() // the reader detects that the connection has failed
	}
	if len(c.streams) == 0 && c.draining.Load() {
		_ = c.nc.SetReadDeadline(longAgo) // the loop that reads ends the connection
	}
}

// abort ends the exchange of a stream that was reset. The caller holds c.mu.
func (s *Stream) abort() {
	s.dead = true
	s.taken.Broadcast()
	s.mem.Abort()
}

// wholeBody reports whether the body has its declared length.
func (s *Stream) wholeBody() bool { return s.declared < 0 || s.received == s.declared }

// endBody handles END_STREAM.
func (s *Stream) endBody() {
	s.remoteEnded = true
	s.mem.End()
}

// handleData handles DATA (6.1), of which the rest may follow.
func (c *Conn) handleData(f *frame) error {
	if f.id == 0 {
		return connErrorf(ProtocolError, "DATA names no stream")
	}
	// Padding and DATA of streams that no longer exist count too (6.9.1), or both sides would
	// disagree about the window.
	if c.recvWindow -= f.length; c.recvWindow < 0 {
		return connErrorf(FlowControlError, "DATA exceeds the window of the connection")
	}
	if err := f.unpad(); err != nil {
		return err
	}
	size := len(f.payload)
	if !f.has(flagPadded) {
		size = f.length
	}
	s := c.streams[f.id]
	if s == nil || s.dead || s.remoteEnded {
		c.upload = upload{left: size - len(f.payload)}
		c.credit(f.length)
		switch {
		case s == nil && f.id > c.lastID:
			return connErrorf(ProtocolError, "DATA names an idle stream")
		// We have ended that stream and the client may not know it yet (5.1): its DATA is
		// dropped. It is charged, since a client that does know could send it without end.
		case s != nil && s.dead && !s.clientReset, s == nil && c.ended.has(f.id):
			return c.charge(&c.limits.Idle)
		}
		return c.resetStream(f.id, StreamClosed)
	}
	c.upload = upload{stream: s, left: size - len(f.payload), end: f.has(flagEndStream)}
	s.received += int64(size)
	if s.recvWindow -= f.length; s.recvWindow < 0 {
		c.credit(f.length)
		s.received -= int64(size)
		c.upload.stream = nil
		return c.resetStream(f.id, FlowControlError)
	}
	// A body of another length than declared is malformed (8.1.1). Passed on as HTTP/1.1, its
	// rest would be read as the next request: the class of request smuggling.
	if s.declared >= 0 && s.received > s.declared || f.has(flagEndStream) && !s.wholeBody() {
		c.credit(f.length)
		s.received -= int64(size)
		c.upload.stream = nil
		return c.resetStream(f.id, ProtocolError)
	}
	// The handler never gets padding, so it is given back here.
	if padding := f.length - size; padding > 0 {
		s.recvCredit += padding
		c.credit(padding)
	}
	c.pushUpload(f.payload)
	if size == 0 && !f.has(flagEndStream) {
		return c.charge(&c.limits.Idle)
	}
	return nil
}

// continueUpload takes the rest of a DATA frame from the read buffer.
func (c *Conn) continueUpload() {
	n := min(c.upload.left, len(c.in.pending()))
	if n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.upload.left -= n
	c.pushUpload(c.in.pending()[:n])
	c.in.from += n
}

// pushUpload gives bytes of the present DATA frame to its stream. The caller holds c.mu.
func (c *Conn) pushUpload(p []byte) {
	s := c.upload.stream
	if s == nil {
		return
	}
	if len(p) > 0 && !s.dead {
		s.mem.Push(p)
	}
	if c.upload.left == 0 && c.upload.end {
		s.endBody()
	}
}

// resetStream ends a stream for an error of the client (5.4.2). The caller holds c.mu.
func (c *Conn) resetStream(id uint32, code Code) error {
	if s := c.streams[id]; s != nil {
		s.abort()
	}
	c.ended.add(id)
	c.out = appendReset(c.queue(), id, code)
	c.cfg.Events.Reset(false)
	return c.charge(&c.limits.Resets)
}

// endedStreams are the streams that the server has ended before the client, the latest
// last: frames for them may still arrive, and are ignored.
type endedStreams []uint32

func (e *endedStreams) add(id uint32) {
	if len(*e) == maxEnded {
		*e = (*e)[:copy(*e, (*e)[1:])]
	}
	*e = append(*e, id)
}

func (e endedStreams) has(id uint32) bool { return slices.Contains(e, id) }

// handleReset handles RST_STREAM (6.4).
func (c *Conn) handleReset(f *frame) error {
	switch {
	case f.id == 0 || f.id > c.lastID:
		return connErrorf(ProtocolError, "RST_STREAM names an idle stream")
	case f.length != 4:
		return connErrorf(FrameSizeError, "RST_STREAM has not 4 bytes")
	}
	s := c.streams[f.id]
	if s == nil || s.dead {
		return c.charge(&c.limits.Idle)
	}
	// A client may lose interest in an answer that is complete; only resets that made a handler
	// work for nothing count towards the limit.
	answered := s.localEnded
	s.clientReset = true
	s.abort()
	c.cfg.Events.Reset(true)
	if answered {
		return c.charge(&c.limits.Idle)
	}
	return c.charge(&c.limits.Resets)
}

// handleWindowUpdate handles WINDOW_UPDATE (6.9).
func (c *Conn) handleWindowUpdate(f *frame) error {
	if f.length != 4 {
		return connErrorf(FrameSizeError, "WINDOW_UPDATE has not 4 bytes")
	}
	n := int(binary.BigEndian.Uint32(f.payload) & maxWindow)
	// Each DATA frame that was sent may be answered by two updates, one for the stream and one
	// for the connection; more of them are a flood.
	if c.updateCredit--; c.updateCredit < 0 {
		c.updateCredit = 0
		if err := c.charge(&c.limits.Idle); err != nil {
			return err
		}
	}
	if f.id == 0 {
		if n == 0 {
			return connErrorf(ProtocolError, "WINDOW_UPDATE adds nothing")
		}
		if c.sendWindow += n; c.sendWindow > maxWindow {
			return connErrorf(FlowControlError, "the window is too large")
		}
		return nil
	}
	if f.id > c.lastID {
		return connErrorf(ProtocolError, "WINDOW_UPDATE names an idle stream")
	}
	s := c.streams[f.id]
	switch {
	case n == 0:
		return c.resetStream(f.id, ProtocolError)
	case s == nil || s.dead:
		return nil
	}
	if s.sendWindow += n; s.sendWindow > maxWindow {
		return c.resetStream(f.id, FlowControlError)
	}
	c.schedule(s)
	return nil
}
