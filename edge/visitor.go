package edge

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// Limits of a client's connection.
const (
	// deskBytes is what one read takes in: the heads of browsers fit in, a longer
	// one is none for a glance.
	deskBytes = 4 << 10
	// deskAnswer is what fits into an answer before its buffer grows: a badge with
	// its head.
	deskAnswer = 4 << 10
	// maxDeskAnswer bounds what is kept of a buffer that grew, and how many
	// pipelined answers are gathered before they are written.
	maxDeskAnswer = 32 << 10
	// renewEvery is how often the deadline of a busy connection is moved on, in
	// seconds: setting one takes longer than looking at a request.
	renewEvery = 5
	// wakeTime is how long a waiting connection may still begin a request after
	// the node was told to stop: one that is on its way is answered.
	wakeTime = 50 * time.Millisecond
)

// desk is what one request needs while it is looked at. A waiting connection has
// none.
type desk struct {
	reads uint32 // answered from it, for one measurement in sampledReads
	in    [deskBytes]byte
	out   []byte
}

var desks = sync.Pool{New: func() any { return &desk{out: make([]byte, 0, deskAnswer)} }}

func (d *desk) release() {
	if cap(d.out) <= maxDeskAnswer {
		desks.Put(d)
	}
}

// visitor is a client's connection. It waits without a buffer, answers by a
// glance what it can, and lends itself to fasthttp for the rest; fasthttp gives
// it back at the end of what it was lent for.
type visitor struct {
	net.Conn
	edge *Edge
	raw  syscall.RawConn // nil where waiting without a buffer cannot be had
	look func(fd uintptr) bool

	desk    *desk  // held from a successful wait to the hand-over of its last byte
	pending []byte // not yet handed over
	n       int    // of the last look
	err     error  // of the last look

	lent    loan
	back    bool       // fasthttp gave the connection back
	looked  bool       // the cache was asked for what is pending
	renewed int64      // second of the clock
	network netip.Addr // it is counted by; invalid: it is not
	state   atomic.Int32
	closed  atomic.Bool
	parts   atomic.Int32 // of two that must end: the work on it, and the connection
}

// What a visitor is doing, as far as a node that stops must know.
const (
	visitorWaits  int32 = iota // for a request, with no byte of it here
	visitorServed              // something has begun
)

// visitors are a node's open connections.
type visitors struct {
	mu       sync.Mutex
	open     map[*visitor]struct{}
	from     map[netip.Addr]int // of each client network
	most     int                // of one of them
	stopping atomic.Bool
	gone     sync.WaitGroup
}

// admit takes a connection in, unless the node stops.
func (e *Edge) admit(c net.Conn) (*visitor, bool) {
	v := &visitor{Conn: c, edge: e, network: e.countedBy(c)}
	v.prepare()
	e.visitors.mu.Lock()
	defer e.visitors.mu.Unlock()
	if e.visitors.stopping.Load() || !e.visitors.room(v.network) {
		return nil, false
	}
	if e.visitors.open == nil {
		e.visitors.open = map[*visitor]struct{}{}
	}
	e.visitors.open[v] = struct{}{}
	e.visitors.gone.Add(1)
	return v, true
}

// part forgets a connection once it is closed and nothing of ours is at work on
// it: a tunnel lives on after serve has ended.
func (v *visitor) part() {
	if v.parts.Add(1) != 2 {
		return
	}
	e := v.edge
	e.visitors.mu.Lock()
	delete(e.visitors.open, v)
	e.visitors.leave(v.network)
	e.visitors.mu.Unlock()
	e.visitors.gone.Done()
}

// drain tells every connection to end with what it is at, and waits for that no
// longer than limit; what is left is cut off and counted.
func (e *Edge) drain(limit time.Duration) (cut int) {
	e.visitors.mu.Lock()
	e.visitors.stopping.Store(true)
	for v := range e.visitors.open {
		if v.state.Load() == visitorWaits {
			v.hurry()
		}
	}
	e.visitors.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		e.visitors.gone.Wait()
		close(gone)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-gone:
		return 0
	case <-timer.C:
	}
	e.visitors.mu.Lock()
	cut = len(e.visitors.open)
	for v := range e.visitors.open {
		_ = v.Conn.Close()
	}
	e.visitors.mu.Unlock()
	<-gone
	return cut
}

// accept serves the connections of a listener until it is closed.
func (e *Edge) accept(ln net.Listener) error {
	var pause time.Duration
	for {
		c, err := ln.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || e.visitors.stopping.Load() {
				return err
			}
			if pause = min(max(2*pause, 5*time.Millisecond), acceptPause); pause == acceptPause {
				e.log.Error("accept a connection", "listen", ln.Addr().String(), "err", err)
			}
			time.Sleep(pause)
			continue
		}
		pause = 0
		if v, ok := e.admit(c); ok {
			go v.serve()
		} else {
			e.turnAway(c)
		}
	}
}

// serve answers requests until the connection ends.
func (v *visitor) serve() {
	defer v.part()
	conn := v.lend()
	if v.SetReadDeadline(time.Now().Add(readTimeout)) == nil {
		for v.glances() {
			v.back, v.lent.whole = false, false
			err := v.edge.server.ServeConn(conn)
			if !v.back && err == nil && !v.closed.Load() {
				return // it is a tunnel now, and who made it closes it
			}
			if !v.back || v.SetReadDeadline(time.Now().Add(idleTimeout)) != nil {
				break
			}
		}
	}
	v.back = false
	_ = v.Close() // its answers are out
}

// lend returns the connection as fasthttp is to see it.
func (v *visitor) lend() net.Conn {
	if secure, ok := v.Conn.(*tls.Conn); ok {
		return secureVisitor{v, secure}
	}
	return v
}

// secureVisitor shows fasthttp that a connection is encrypted.
type secureVisitor struct {
	*visitor
	tls *tls.Conn
}

// Handshake and ConnectionState are how fasthttp knows and asks.
func (v secureVisitor) Handshake() error { return v.tls.Handshake() }

// ConnectionState implements what fasthttp's RequestCtx.TLSConnectionState asks for.
func (v secureVisitor) ConnectionState() tls.ConnectionState { return v.tls.ConnectionState() }

// waits notes that nothing of a request is here, for a node that stops.
func (v *visitor) waits() {
	v.state.Store(visitorWaits)
	if v.edge.visitors.stopping.Load() {
		v.hurry()
	}
}

// hurry ends a wait soon.
func (v *visitor) hurry() { _ = v.Conn.SetReadDeadline(time.Now().Add(wakeTime)) }

// glances answers what a glance suffices for. It returns true with the beginning
// of another request pending, and false at the connection's end.
func (v *visitor) glances() bool {
	for {
		if len(v.pending) == 0 {
			v.waits()
			if !v.wait() {
				return false
			}
		}
		v.state.Store(visitorServed)
		if !v.answer() {
			return false
		}
		if len(v.pending) > 0 {
			return true
		}
	}
}

// answer writes what it can answer of the pending bytes and leaves the rest.
func (v *visitor) answer() bool {
	if v.desk == nil { // what is pending came with another request
		v.desk = desks.Get().(*desk)
	}
	d, e := v.desk, v.edge
	now := e.clock.now.Load()
	d.out = d.out[:0]
	v.looked = false
	var began time.Time // of one read in sampledReads
	if d.reads++; d.reads%sampledReads == 0 {
		began = time.Now()
	}
	for len(v.pending) > 0 && len(d.out) < maxDeskAnswer && !e.visitors.stopping.Load() {
		g, ok := glance(v.pending)
		if !ok || e.cfg.Site != nil { // which host is asked is for the router to read
			break
		}
		if d.out, ok = e.appendGlance(d.out, &g, now); !ok {
			v.looked = true
			break
		}
		v.pending = v.pending[g.size:]
	}
	if len(d.out) > 0 {
		if !v.renew(now) {
			return false
		}
		if _, err := v.Conn.Write(d.out); err != nil {
			v.put()
			return false
		}
		if !began.IsZero() {
			since(e.meters.glances, began)
		}
	}
	if len(v.pending) == 0 {
		v.put()
	}
	return true
}

// renew moves the deadline of both directions on.
func (v *visitor) renew(now *tick) bool {
	if second := now.at.Unix(); second-v.renewed >= renewEvery {
		v.renewed = second
		return v.Conn.SetDeadline(time.Now().Add(idleTimeout)) == nil
	}
	return true
}

func (v *visitor) put() {
	if v.desk != nil {
		v.desk.release()
		v.desk, v.pending = nil, nil
	}
}

// wait waits for bytes and leaves them pending.
func (v *visitor) wait() bool {
	if v.raw == nil {
		d := desks.Get().(*desk)
		v.desk = d
		v.n, v.err = v.Conn.Read(d.in[:])
	} else if err := v.raw.Read(v.look); err != nil {
		return false
	}
	if v.n <= 0 {
		v.put()
		return false
	}
	v.pending = v.desk.in[:v.n]
	return true
}

// SetReadDeadline keeps fasthttp's deadlines apart from ours.
func (v *visitor) SetReadDeadline(t time.Time) error {
	v.renewed = 0
	return v.Conn.SetReadDeadline(t)
}

// alreadyLooked reports whether a glance has asked the cache for what is asked.
// The cache tells one reader in many to refresh an entry before it expires; the
// handler must not ask again and be told that all is well.
func alreadyLooked(ctx *fasthttp.RequestCtx) bool {
	v, ok := ctx.Conn().(interface{ hasLooked() bool })
	return ok && v.hasLooked()
}

func (v *visitor) hasLooked() bool { return v.looked }

// tick is a second of the clock.
type tick struct {
	at   time.Time
	date [len(http.TimeFormat)]byte
}

// clock tells the time to the second without asking for it.
type clock struct{ now atomic.Pointer[tick] }

func (c *clock) set(at time.Time) {
	t := &tick{at: at}
	at.UTC().AppendFormat(t.date[:0], http.TimeFormat)
	c.now.Store(t)
}

// run keeps the clock until ctx ends.
func (c *clock) run(ctx context.Context) error {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		c.set(time.Now())
		select {
		case <-second.C:
		case <-ctx.Done():
			return nil
		}
	}
}
