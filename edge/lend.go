package edge

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
)

// Limits of a request that is read by fasthttp.
const (
	// bodyIdle bounds the silence within a request's body.
	bodyIdle = 15 * time.Second
	// bodyGrace and bodyRate bound how slow a body may be on the whole: bytes a
	// second after a first while. A telephone on a bad line is faster.
	bodyGrace = 30 * time.Second
	bodyRate  = 256
	// writeIdle and writePiece bound how slow a client may take its answer: it is
	// waited for that long in all for each piece of so many bytes, or for what is left.
	// That is 2 kB a second; a slower one would hold a connection to the origin for as
	// long as it likes.
	writeIdle  = 30 * time.Second
	writePiece = 64 << 10
	// lingerTime and lingerBytes bound what is still read of a client that was
	// refused: closing on unread bytes would take the refusal back.
	// The bytes are more than the buffers between hold, and what a fast client sends
	// until it has heard.
	lingerTime  = time.Second
	lingerBytes = 32 << 20
)

// loan is the state of a connection while fasthttp has it. It gets one request,
// and only what is strictly one: fasthttp, the origin and whatever stands between
// would otherwise read different requests out of the same bytes.
type loan struct {
	gate    framing.Requests
	refused *framing.Error
	whole   bool // the request was handed over
	tunnel  bool // what follows is no HTTP

	broken  error         // why the present body could not be read
	stopped atomic.Bool   // nobody wants the rest of it
	waited  time.Duration // for the present body
	taken   int64         // bytes of it

	sent    int           // bytes of the present piece of an answer
	blocked time.Duration // for the client to take them
}

// Read hands fasthttp the bytes of one request, those that are pending first.
// Then the connection is given back. A body may be read by who sends it on, while
// another writes the answer.
func (v *visitor) Read(p []byte) (int, error) {
	l := &v.lent
	switch {
	case l.tunnel:
		return v.readOn(p)
	case l.refused != nil:
		return 0, l.refused
	case l.whole:
		v.back = true
		return 0, io.EOF
	}
	n, fresh := copy(p, v.pending), false
	if n == 0 {
		var err error
		if n, err = v.receive(p); err != nil {
			return 0, err
		}
		fresh = true
	}
	inHead := !l.gate.InBody()
	used, bad := l.gate.Next(p[:n])
	switch {
	case bad != nil:
		l.refused, l.broken = bad, bad
		v.put()
		if used == 0 && inHead { // whoever has seen no byte answers nothing
			p[0], used = 'X', 1
		}
		if used == 0 {
			return 0, bad
		}
		return used, nil
	case !fresh:
		if v.pending = v.pending[used:]; len(v.pending) == 0 {
			v.put()
		}
	case used < n:
		v.pending = bytes.Clone(p[used:n])
	}
	if l.whole = l.gate.Idle(); l.whole {
		l.taken, l.waited = 0, 0
	}
	return used, nil
}

// receive reads from the network, a body at no less than its pace.
func (v *visitor) receive(p []byte) (n int, err error) {
	l := &v.lent
	if l.gate.InBody() {
		n, err = v.receiveBody(p)
	} else {
		n, err = v.Conn.Read(p)
	}
	if n > 0 {
		return n, nil
	}
	if errors.Is(err, io.EOF) && !l.gate.Idle() {
		err = io.ErrUnexpectedEOF // not an end where one may be
	}
	if l.gate.InBody() {
		l.broken = err
	}
	return 0, err
}

// receiveBody counts against a client the time that it was waited for, and none in
// which nobody would take its body.
func (v *visitor) receiveBody(p []byte) (int, error) {
	l, now := &v.lent, time.Now()
	left := bodyGrace + time.Duration(l.taken)*(time.Second/bodyRate) - l.waited
	if err := v.Conn.SetReadDeadline(now.Add(min(bodyIdle, left))); err != nil { // not ours: an answer may be written meanwhile
		return 0, err
	}
	if l.stopped.Load() { // before the deadline was set: StopReading's is gone
		return 0, errStopped
	}
	n, err := v.Conn.Read(p)
	l.taken, l.waited = l.taken+int64(n), l.waited+time.Since(now)
	return n, err
}

// errStopped ends the reading of a body whose request was answered.
var errStopped = errors.New("the rest of the body is not wanted")

// BodyError is why the present body could not be read to its end. Of what is wrong
// with a trailer fasthttp says nothing, and of the rest not all.
func (v *visitor) BodyError() error {
	switch l := &v.lent; {
	case l.broken != nil:
		return l.broken
	case !l.whole:
		return io.ErrUnexpectedEOF
	}
	return nil
}

// StopReading ends every reading of the present body, also one that waits. The
// connection must be closed then.
func (v *visitor) StopReading() {
	v.lent.stopped.Store(true)
	_ = v.Conn.SetReadDeadline(time.Unix(1, 0)) // of a connection that has ended nothing is read either
}

// readOn reads what is no HTTP any more.
func (v *visitor) readOn(p []byte) (int, error) {
	if len(v.pending) == 0 {
		return v.Conn.Read(p)
	}
	n := copy(p, v.pending)
	if v.pending = v.pending[n:]; len(v.pending) == 0 {
		v.put()
	}
	return n, nil
}

// Write gives each piece of an answer its own time: a large one may take long on
// the whole. A tunnel has limits of its own.
func (v *visitor) Write(p []byte) (n int, err error) {
	if v.lent.tunnel {
		return v.Conn.Write(p)
	}
	v.renewed = 0
	for {
		k, err := v.writeSome(p[n:min(len(p), n+writePiece-v.lent.sent)])
		if n += k; err != nil || n == len(p) {
			return n, err
		}
	}
}

// writeSome writes what belongs to the present piece.
func (v *visitor) writeSome(p []byte) (int, error) {
	l, now := &v.lent, time.Now()
	if err := v.Conn.SetWriteDeadline(now.Add(writeIdle - l.blocked)); err != nil {
		return 0, err
	}
	n, err := v.Conn.Write(p)
	l.sent, l.blocked = l.sent+n, l.blocked+time.Since(now)
	if l.sent >= writePiece {
		l.sent, l.blocked = 0, 0
	}
	return n, err
}

// Close closes the connection, unless fasthttp is only giving it back.
func (v *visitor) Close() error {
	if v.back || v.closed.Load() {
		return nil
	}
	if v.lent.refused != nil || !v.lent.gate.Idle() {
		v.linger()
	}
	err := v.Conn.Close()
	if !v.closed.Swap(true) {
		v.part()
	}
	return err
}

// linger lets a client that still sends read why it was refused.
func (v *visitor) linger() {
	half, ok := v.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || v.Conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, v.Conn, lingerBytes) // whatever ends it, it is over
}

// visitorOf is the connection fasthttp was lent, nil for one of somebody else.
func visitorOf(c net.Conn) *visitor {
	switch c := c.(type) {
	case *visitor:
		return c
	case secureVisitor:
		return c.visitor
	}
	return nil
}
