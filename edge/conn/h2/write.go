package h2

import (
	"sync"

	"github.com/fieldmark/fieldmark/edge/conn/mux"
	"github.com/fieldmark/fieldmark/edge/conn/stream"
)

const (
	// maxQueue is how many bytes of frames may wait to be written. A goroutine that would add
	// more has to wait, also the one that reads, so acknowledgements do not pile up.
	maxQueue = 64 << 10
	// queueSize is the initial capacity of the queue, in bytes: ten badges fit.
	queueSize = 16 << 10
)

// queues holds the buffers of connections that have something to write: a hundred thousand idle
// ones have none.
var queues = sync.Pool{New: func() any { b := make([]byte, 0, queueSize); return &b }}

// queue returns c.out to append to. The caller holds c.mu, as for all functions here.
func (c *Conn) queue() []byte {
	if c.out == nil {
		pooled := queues.Get().(*[]byte)
		c.out, c.pooled = *pooled, append(c.pooled, pooled)
	}
	return c.out
}

// makeRoom waits until frames can be appended.
func (c *Conn) makeRoom() error {
	// The bound is checked before a frame is appended, so a queue exceeds it by one frame at
	// the most.
	for len(c.out) > maxQueue {
		if err := c.flush(); err != nil {
			return err
		}
		if len(c.out) > maxQueue { // another goroutine writes
			c.waiting++
			c.room.Wait()
			c.waiting--
		}
		if c.closed {
			return stream.ErrAborted
		}
	}
	return nil
}

// flush writes what is queued, unless another goroutine does: that one takes it along. It
// unlocks c.mu while it writes.
// Streams are filled in before each write, so urgency is decided when the bytes can leave and
// not when they were made.
func (c *Conn) flush() error {
	if c.closed {
		return stream.ErrAborted
	}
	if c.writing {
		return nil
	}
	c.writing = true
	for !c.closed {
		c.fill()
		if len(c.out) == 0 {
			break
		}
		// While out is written, others append to spare; the two change places at each turn.
		out := c.out
		c.out, c.spare = c.spare, nil
		// A deadline in the past fails the write, so it is set at first and then often enough; the
		// client has between writeTimeout and writeTimeout + extendEvery.
		extend := c.now.Sub(c.writtenAt) > extendEvery
		if extend {
			c.writtenAt = c.now
		}
		now := c.now
		c.mu.Unlock()
		var err error
		if extend {
			err = c.nc.SetWriteDeadline(now.Add(writeTimeout + extendEvery))
		}
		if err == nil {
			_, err = c.nc.Write(out)
		}
		c.mu.Lock()
		c.spare = out[:0]
		if c.waiting > 0 {
			c.room.Broadcast()
		}
		if err != nil {
			// A connection that cannot be written has to end: part of a frame may have left.
			c.fail()
			_ = c.nc.Close() // wakes the loop that reads
		}
	}
	c.writing = false
	if c.waiting > 0 {
		c.room.Broadcast()
	}
	c.releaseQueues()
	if c.closed {
		return stream.ErrAborted
	}
	return nil
}

// releaseQueues returns empty buffers, so that an idle connection has none.
func (c *Conn) releaseQueues() {
	for _, b := range [...]*[]byte{&c.out, &c.spare} {
		if *b == nil || len(*b) > 0 {
			continue
		}
		last := len(c.pooled) - 1
		pooled := c.pooled[last]
		c.pooled[last], c.pooled = nil, c.pooled[:last]
		// A buffer that a large response has grown is left to the collector.
		if cap(*b) <= 2*maxQueue {
			*pooled = *b
			queues.Put(pooled)
		}
		*b = nil
	}
}

// appendHeaders appends HEADERS, and CONTINUATION if the block does not fit into one frame.
func (c *Conn) appendHeaders(id uint32, end bool, block func([]byte) []byte) {
	out := c.queue()
	start := len(out)
	out = append(out, make([]byte, frameHeaderSize)...)
	if c.tableUpdate { // RFC 7541, 4.2
		c.tableUpdate = false
		out = mux.AppendInt(out, tableSizeUpdate, updateBits, 0)
	}
	out = block(out)
	flags := byte(flagEndHeaders)
	if end {
		flags |= flagEndStream
	}
	length := len(out) - start - frameHeaderSize
	if length <= maxFrame {
		appendHeader(out[:start], frameHeaders, flags, id, length)
		c.out = out
		return
	}
	rest := append([]byte(nil), out[start+frameHeaderSize:]...)
	out = append(appendHeader(out[:start], frameHeaders, flags&^flagEndHeaders, id, maxFrame), rest[:maxFrame]...)
	for rest = rest[maxFrame:]; len(rest) > 0; {
		n := min(len(rest), maxFrame)
		flags = 0
		if n == len(rest) {
			flags = flagEndHeaders
		}
		out = append(appendHeader(out, frameContinuation, flags, id, n), rest[:n]...)
		rest = rest[n:]
	}
	c.out = out
}

// sendResponse appends a response from memory if the windows are large enough.
// One that does not fit into the windows or into a single frame is served as a stream, which can
// wait. The fast path never waits.
func (c *Conn) sendResponse(id uint32, r *mux.Response) bool {
	n := len(r.Body)
	if n > min(maxFrame, c.sendWindow, c.initialWindow) || c.closed {
		return false
	}
	c.sendWindow -= n
	out := c.queue()
	start := len(out)
	out = append(out, make([]byte, frameHeaderSize)...)
	if c.tableUpdate {
		c.tableUpdate = false
		out = mux.AppendInt(out, tableSizeUpdate, updateBits, 0)
	}
	status := byte(indexed | indexStatus)
	if r.NotModified {
		status = indexed | indexStatus304
	}
	out = append(append(out, status), c.cfg.Date()...)
	switch k := c.cfg.Constants; {
	// The three encodings are equivalent. The shortest that the client's table allows is taken:
	// inserted once, then one byte a field.
	case c.literalOnly:
		out = append(out, k.literal...)
	case c.inserted:
		out = append(out, k.index...)
	default:
		out, c.inserted = append(out, k.insert...), true
	}
	out = appendAge(append(append(out, r.HPACK...), r.MoreHPACK...), r.Age)
	flags := byte(flagEndHeaders)
	if n == 0 {
		flags |= flagEndStream
	}
	appendHeader(out[:start], frameHeaders, flags, id, len(out)-start-frameHeaderSize)
	if n > 0 {
		out = append(appendHeader(out, frameData, flagEndStream, id, n), r.Body...)
		c.updateCredit = min(c.updateCredit+2, 2*mux.MaxStreams)
	}
	c.out = out
	return true
}

// schedule queues a stream that has bytes to send and may send them.
func (c *Conn) schedule(s *Stream) {
	if s.sending && !s.queued && !s.dead && (s.sendWindow > 0 || len(s.pending) == 0) {
		s.queued = true
		c.ready[s.urgency] = append(c.ready[s.urgency], s)
	}
}

// fill appends DATA of the streams that have some, the most urgent first, and those of
// one urgency in turns (RFC 9218, 10).
func (c *Conn) fill() {
	for u := range c.ready {
		for len(c.ready[u]) > 0 && len(c.out) < maxQueue {
			s := c.ready[u][0]
			// Streams of less urgency have to wait as well: no window is left.
			if !s.dead && c.sendWindow <= 0 && len(s.pending) > 0 {
				return
			}
			c.ready[u] = c.ready[u][:copy(c.ready[u], c.ready[u][1:])]
			s.queued = false
			if !s.dead && s.sending {
				c.appendData(s)
			}
		}
	}
}

// appendData appends one DATA frame of a stream, as far as the windows allow.
// One frame, then the next stream of the same urgency has its turn: a large download does not
// delay a small one by more than 16 KiB.
func (c *Conn) appendData(s *Stream) {
	n := min(len(s.pending), maxFrame, s.sendWindow, c.sendWindow)
	if n < 0 || n == 0 && len(s.pending) > 0 {
		return
	}
	last := n == len(s.pending)
	flags := byte(0)
	if last && s.pendingEnd {
		flags, s.localEnded = flagEndStream, true
	}
	c.out = append(appendHeader(c.queue(), frameData, flags, s.id, n), s.pending[:n]...)
	s.sendWindow -= n
	c.sendWindow -= n
	s.pending = s.pending[n:]
	c.updateCredit = min(c.updateCredit+2, 2*mux.MaxStreams)
	if last {
		s.pending, s.sending = nil, false
		s.taken.Broadcast()
		return
	}
	if n < minData && c.charge(&c.limits.Idle) != nil { // drain returns the error
		c.draining.Store(true)
		_ = c.nc.SetReadDeadline(longAgo) // fails only on a closed connection
		return
	}
	c.schedule(s)
}
