package conn

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/stream"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

// Limits of a request that fasthttp serves.
const (
	// bodyIdle bounds the silence within a request's body.
	bodyIdle = 15 * time.Second * timeout.Scale
	// bodyGrace and bodyRate bound how slow a body may be in total: bodyRate bytes a
	// second after bodyGrace. A phone with bad reception is faster.
	bodyGrace = 30 * time.Second * timeout.Scale
	bodyRate  = 256
	// writeIdle bounds how long the server waits in total for a client to take
	// writePiece bytes of a response, or its rest. That is 2 kB a second. Without this
	// limit a slow client could hold a connection to the origin without limit.
	writeIdle  = 30 * time.Second
	writePiece = 64 << 10
	// lingerTime and lingerBytes bound what is still read from a client whose request
	// was refused: closing a connection with unread bytes resets it, and the client
	// could not read why. The bytes are more than the buffers on the way hold and a
	// fast client sends until it has read the response.
	lingerTime  = time.Second * timeout.Scale
	lingerBytes = 32 << 20
)

// handoff is the state of a connection while fasthttp has it. fasthttp reads exactly
// one request, and only if package framing accepts it: otherwise fasthttp, the origin
// and proxies in between might read different requests from the same bytes (request
// smuggling).
//
// A request's body may be read in one goroutine while another writes the response;
// only stopped is shared between them.
type handoff struct {
	framer   framing.RequestFramer
	refuse   *framing.Error // the request is refused without being read
	refused  *framing.Error
	complete bool // the whole request was read
	tunnel   bool // what follows is not HTTP

	requestLine []byte // of the present request, only for the access log

	readErr  error         // why the present body could not be read
	stopped  atomic.Bool   // the rest of the body is not needed
	readWait time.Duration // time that was spent waiting for the present body
	bodyRead int64         // bytes of it that were read

	written   int           // bytes of the present piece of a response
	writeWait time.Duration // time that was spent waiting for the client to take them
}

// Read gives fasthttp the bytes of one request, beginning with the pending ones. After
// the request it returns io.EOF, which makes fasthttp return the connection. A body may
// be read by the goroutine that sends it on while another writes the response.
func (c *conn) Read(p []byte) (int, error) {
	h := &c.handoff
	switch {
	case h.tunnel:
		return c.readTunnel(p)
	case h.refused != nil:
		return 0, h.refused
	case h.complete:
		c.returned = true
		return 0, io.EOF
	case h.refuse != nil:
		h.refused, h.readErr = h.refuse, h.refuse
		return copy(p, unreadable), nil
	}
	n, fromNetwork := copy(p, c.pending), false
	if n == 0 {
		var err error
		if n, err = c.readRequest(p); err != nil {
			return 0, err
		}
		fromNetwork = true
	}
	if c.server.cfg.AccessLog != nil && h.framer.Idle() {
		h.keepRequestLine(p[:n])
	}
	inHead := !h.framer.InBody()
	used, refused := h.framer.Next(p[:n])
	switch {
	case refused != nil:
		h.refused, h.readErr = refused, refused
		c.putBuffer()
		if used == 0 && inHead { // fasthttp answers only after reading at least one byte, so give it one
			used = copy(p, unreadable)
		}
		if used == 0 {
			return 0, refused
		}
		return used, nil
	case !fromNetwork:
		if c.pending = c.pending[used:]; len(c.pending) == 0 {
			c.putBuffer()
		}
	case used < n:
		c.pending = bytes.Clone(p[used:n])
	}
	if h.complete = h.framer.Idle(); h.complete {
		h.bodyRead, h.readWait = 0, 0
	}
	return used, nil
}

// unreadable is what fasthttp gets of a request that is refused.
const unreadable = "X"

// readRequest reads from the network; a body, at its minimum rate.
func (c *conn) readRequest(p []byte) (n int, err error) {
	h := &c.handoff
	if h.framer.InBody() {
		n, err = c.readBody(p)
	} else {
		n, err = c.Conn.Read(p)
	}
	if n > 0 {
		return n, nil
	}
	if errors.Is(err, io.EOF) && !h.framer.Idle() {
		err = io.ErrUnexpectedEOF // in the middle of a request
	}
	if h.framer.InBody() {
		h.readErr = err
	}
	return 0, err
}

// readBody measures the client's rate by the time spent waiting for it. Time in which the
// origin does not read does not count.
func (c *conn) readBody(p []byte) (int, error) {
	h, now := &c.handoff, time.Now()
	left := bodyGrace + time.Duration(h.bodyRead)*(time.Second/bodyRate) - h.readWait
	// Not c.SetReadDeadline, which changes a field that a concurrent Write uses.
	if err := c.Conn.SetReadDeadline(now.Add(min(bodyIdle, left))); err != nil {
		return 0, err
	}
	if h.stopped.Load() { // set before the deadline was, which has replaced StopReading's
		return 0, errStopped
	}
	n, err := c.Conn.Read(p)
	h.bodyRead, h.readWait = h.bodyRead+int64(n), h.readWait+time.Since(now)
	return n, err
}

// errStopped ends the reading of a body whose request was answered.
var errStopped = errors.New("the rest of the body is not needed")

// BodyError returns why the present body could not be read to its end, or nil if it was.
// fasthttp does not report an error in a trailer, and not every other one.
func (c *conn) BodyError() error {
	switch h := &c.handoff; {
	case h.readErr != nil:
		return h.readErr
	case !h.complete:
		return io.ErrUnexpectedEOF
	}
	return nil
}

// StopReading ends every read of the present body, also one that waits. The connection
// must be closed afterwards.
func (c *conn) StopReading() {
	c.handoff.stopped.Store(true)
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // fails only on a closed connection
}

// OnAbort sets the function that is called when the client resets the stream of a request, or
// when Drain ends its connection: a handler that waits for an origin could not notice. It
// must not block; nil: none.
func (c *conn) OnAbort(f func()) {
	switch m := c.Conn.(type) {
	case *stream.Conn:
		m.OnAbort(f)
	default:
		c.onAbort.Store(&f)
	}
}

// abort ends the connection and the work for its request.
func (c *conn) abort() {
	_ = c.Conn.Close() // it ends whatever this returns
	if f := c.onAbort.Load(); f != nil && *f != nil {
		(*f)()
	}
}

// readTunnel reads what follows a switch of protocols.
func (c *conn) readTunnel(p []byte) (int, error) {
	if len(c.pending) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.pending)
	if c.pending = c.pending[n:]; len(c.pending) == 0 {
		c.putBuffer()
	}
	return n, nil
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.write(p)
	if c.exchange != nil {
		c.exchange.count(p[:n])
	}
	return n, err
}

// write gives each piece of a response a separate deadline, because a large one may take
// long in total. A tunnel sets its own deadlines.
func (c *conn) write(p []byte) (n int, err error) {
	if c.handoff.tunnel {
		return c.Conn.Write(p)
	}
	c.extended = 0
	for {
		k, err := c.writeInPiece(p[n:min(len(p), n+writePiece-c.handoff.written)])
		if n += k; err != nil || n == len(p) {
			return n, err
		}
	}
}

// writeInPiece writes bytes that belong to the present piece.
func (c *conn) writeInPiece(p []byte) (int, error) {
	h, now := &c.handoff, time.Now()
	if err := c.Conn.SetWriteDeadline(now.Add(writeIdle - h.writeWait)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	h.written, h.writeWait = h.written+n, h.writeWait+time.Since(now)
	if h.written >= writePiece {
		h.written, h.writeWait = 0, 0
	}
	return n, err
}

// Close closes the connection, unless fasthttp only returns it.
func (c *conn) Close() error {
	if c.returned || c.closed.Load() {
		return nil
	}
	if c.handoff.refused != nil || !c.handoff.framer.Idle() {
		c.lingeringClose()
	}
	err := c.Conn.Close()
	if !c.closed.Swap(true) {
		if c.handoff.tunnel {
			c.logExchange()
		}
		c.release()
	}
	return err
}

// lingeringClose closes the writing half and reads on for a while, so that a client that
// still sends can read why its request was refused.
func (c *conn) lingeringClose() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.Conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes) // the connection is closed whatever ends the copy
}
