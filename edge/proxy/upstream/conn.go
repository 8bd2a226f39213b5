package upstream

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
)

// conn is a connection to an origin that returns only responses to requests. net/http
// gives a connection back to its pool before it looks for unsolicited bytes, so the next
// request could get them as its response; here they end the connection instead.
type conn struct {
	net.Conn
	idle time.Duration

	mu sync.Mutex

	responses   framing.ResponseFramer
	unsolicited bool          // the origin sent bytes outside a response
	head        bool          // the head of the final answer has not been seen
	delivered   bool          // the head of the response has reached the caller
	closed      bool          // nothing more can be read
	done        chan struct{} // closed when no more bytes can come; nil: drainResponse does not wait
}

// errUnsolicited closes a connection on which an origin sent bytes outside a response.
var errUnsolicited = errors.New("the origin sent bytes that belong to no answer")

// start notes that a request is about to be sent, before its first byte.
func (c *conn) start(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.responses.Idle() || pending(c.Conn) {
		c.unsolicited = true
	}
	c.responses.Expect(method)
	c.head, c.delivered = true, false
}

// Write implements net.Conn. It bounds how long an origin may refuse to take more.
func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	refused := c.unsolicited
	c.mu.Unlock()
	if refused {
		return 0, errUnsolicited
	}
	if err := c.SetWriteDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	if ne, ok := errors.AsType[net.Error](err); err != nil && !(ok && ne.Timeout()) {
		c.drainResponse()
	}
	return n, err
}

// drainResponse waits for the response of an origin that reads no more of a request.
// Usually the origin has refused it and sent the reason before it closed its end; net/http
// would drop that response with the connection as soon as a write fails.
func (c *conn) drainResponse() {
	done := make(chan struct{})
	c.mu.Lock()
	c.done = done
	c.signal()
	c.mu.Unlock()
	timer := time.NewTimer(earlyResponseWait)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
			c.mu.Lock()
			given := c.delivered
			c.mu.Unlock()
			if !given {
				return
			}
			timer.Reset(earlyResponseWait) // who reads the answer closes it, and so ends this
		}
	}
}

// deliver records that the head of the response has reached the caller.
func (c *conn) deliver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delivered = true
	c.signal()
}

// signal ends the wait of drainResponse once a response is complete and net/http has
// released its head, or once no more bytes can arrive. The caller holds the lock.
func (c *conn) signal() {
	if c.done != nil && (c.closed || c.delivered && c.responses.Idle()) {
		close(c.done)
		c.done = nil
	}
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.closed = true
	}
	defer c.signal()
	if c.unsolicited {
		return 0, errUnsolicited
	}
	ours, _ := c.responses.Next(b[:n])
	if ours < n {
		c.unsolicited = true
		if err = nil; ours == 0 {
			err = errUnsolicited
		}
	}
	if ours > 0 && c.head {
		c.head = !normalizeFraming(b[:ours])
	}
	return ours, err
}

// dialer opens connections; over TLS the answers are looked at in the clear.
type dialer struct {
	net  net.Dialer
	idle time.Duration
	tls  *tls.Config
}

// open connects, and dials again every redialEvery while there is no answer: the first
// packet of a connection that was lost is sent again after a second only, and a
// network that is back is to be noticed sooner. The first dial that is answered
// wins; one that is refused ends it.
func (d *dialer) open(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	type answer struct {
		conn net.Conn
		err  error
	}
	answers := make(chan answer)
	dial := func() {
		c, err := d.net.DialContext(ctx, network, address)
		select {
		case answers <- answer{c, err}:
		case <-ctx.Done(): // another was answered first
			if c != nil {
				c.Close()
			}
		}
	}
	again := time.NewTicker(redialEvery)
	defer again.Stop()
	go dial()
	for {
		select {
		case a := <-answers:
			return a.conn, a.err
		case <-again.C:
			go dial()
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
		}
	}
}

func (d *dialer) plain(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.open(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, idle: d.idle}, nil
}

func (d *dialer) secure(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.open(ctx, network, address)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	cfg := d.tls.Clone()
	cfg.ServerName = host
	shaken, cancel := context.WithTimeout(ctx, tlsTimeout)
	defer cancel()
	t := tls.Client(c, cfg)
	if err := t.HandshakeContext(shaken); err != nil {
		c.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Addr: c.RemoteAddr(), Err: err}
	}
	return &conn{Conn: t, idle: d.idle}, nil
}

var (
	headEnd        = []byte("\r\n\r\n")
	statusLine     = []byte("HTTP/1.")
	transferCoding = []byte("transfer-encoding")
	contentLength  = []byte("content-length")
	chunked        = []byte("chunked")
)

// normalizeFraming renames, in place, the framing fields of an answer whose transfer
// coding is not chunked. RFC 9112, section 6.3, has such an answer read until the
// connection closes; net/http refuses it, but reads one without framing fields
// just so. It reports whether the head of the final answer was seen. A head that
// comes in pieces is left as it is.
func normalizeFraming(b []byte) bool {
	for bytes.HasPrefix(b, statusLine) {
		end := bytes.Index(b, headEnd)
		if end < 0 {
			return true
		}
		head, rest := b[:end+2], b[end+len(headEnd):]
		interim := len(head) > len("HTTP/1.1 ") && head[len("HTTP/1.1 ")] == '1'
		if interim && len(rest) > 0 {
			b = rest // the next one is here already
			continue
		}
		if value := field(head, transferCoding, 0); value != nil && !bytes.EqualFold(value, chunked) {
			field(head, transferCoding, 'X')
			field(head, contentLength, 'X')
		}
		return !interim
	}
	return true
}

// field returns the value of a field, or nil if it is absent. A letter other than 0
// replaces the first letter of each occurrence of the name.
func field(head, name []byte, letter byte) (value []byte) {
	for lines := head; len(lines) > 0; {
		line := lines
		if i := bytes.IndexByte(lines, '\n'); i >= 0 {
			line, lines = lines[:i], lines[i+1:]
		} else {
			lines = nil
		}
		if len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], name) {
			value = bytes.TrimSpace(line[len(name)+1:])
			if letter != 0 {
				line[0] = letter
			}
		}
	}
	return value
}
