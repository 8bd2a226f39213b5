package edge

import (
	"bytes"
	"errors"
	"io"
	"net"
	"time"

	"github.com/fieldmark/fieldmark/edge/framing"
)

// Limits of a request that is read by fasthttp.
const (
	// bodyIdle bounds the silence within a request's body.
	bodyIdle = 15 * time.Second
	// bodyGrace and bodyRate bound how slow a body may be on the whole: bytes a
	// second after a first while. A telephone on a bad line is faster.
	bodyGrace = 30 * time.Second
	bodyRate  = 256
	// writeIdle bounds how long a client may take nothing of its answer.
	writeIdle = 30 * time.Second
	// lingerTime and lingerBytes bound what is still read of a client that was
	// refused: closing on unread bytes would take the refusal back.
	lingerTime  = time.Second
	lingerBytes = 256 << 10
)

// loan is the state of a connection while fasthttp has it. It gets one request,
// and only what is strictly one: fasthttp, the origin and whatever stands between
// would otherwise read different requests out of the same bytes.
type loan struct {
	gate    framing.Requests
	refused *framing.Error
	whole   bool // the request was handed over
	tunnel  bool // what follows is no HTTP

	began time.Time // of the present body
	taken int64     // bytes of it
}

// Read hands fasthttp the bytes of one request, those that are pending first.
// Then the connection is given back.
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
	used, bad := l.gate.Next(p[:n])
	switch {
	case bad != nil:
		l.refused = bad
		v.put()
		if used == 0 { // whoever has seen no byte answers nothing
			p[0], used = 'X', 1
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
		l.taken = 0
	}
	return used, nil
}

// receive reads from the network, a body at no less than its pace.
func (v *visitor) receive(p []byte) (int, error) {
	l := &v.lent
	inBody := l.gate.InBody()
	if inBody {
		now := time.Now()
		if l.taken == 0 {
			l.began = now
		}
		by := now.Add(bodyIdle)
		if last := l.began.Add(bodyGrace + time.Duration(l.taken)*(time.Second/bodyRate)); last.Before(by) {
			by = last
		}
		if err := v.SetReadDeadline(by); err != nil {
			return 0, err
		}
	}
	n, err := v.Conn.Read(p)
	if n > 0 {
		if inBody {
			l.taken += int64(n)
		}
		return n, nil
	}
	if errors.Is(err, io.EOF) && !l.gate.Idle() {
		err = io.ErrUnexpectedEOF // not an end where one may be
	}
	return 0, err
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
// the whole. A tunnel keeps its own time.
func (v *visitor) Write(p []byte) (int, error) {
	if !v.lent.tunnel {
		v.renewed = 0
		if err := v.Conn.SetWriteDeadline(time.Now().Add(writeIdle)); err != nil {
			return 0, err
		}
	}
	return v.Conn.Write(p)
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
