package stream

import (
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
)

// Transport is the side of a Conn that faces the client. A Conn calls its methods without
// holding a lock, and Send from one goroutine at a time.
type Transport interface {
	// Send sends a part of the response and returns when its data was taken, the
	// deadline has passed (os.ErrDeadlineExceeded) or the stream has ended. more
	// reports that another part follows at once.
	Send(part framing.Part, deadline time.Time, more bool) error
	// Consumed reports that n bytes of the request's body were read.
	Consumed(n int)
}

// ErrAborted is the error of reads and writes after the client or the transport has ended
// the stream.
var ErrAborted = errors.New("the stream was reset")

// Conn is a connection in memory that carries one request and its response. Its methods
// may be called concurrently, but only one goroutine may read and one may write.
type Conn struct {
	// Request is the request as its transport got it, also one that is refused.
	Request framing.Request
	// FastPathTried reports that the fast path was tried for the request.
	FastPathTried bool
	// Refused is the reason for which the request is refused without being read; nil: it
	// is not.
	Refused *framing.Error

	transport     Transport
	local, remote net.Addr
	parser        framing.ResponseParser
	chunked       bool

	mu            sync.Mutex // guards the following fields
	wake          sync.Cond  // the reader waits for it
	head          []byte     // HTTP/1.1 bytes that were not read: a head, or the lines of chunks
	body          []byte     // bytes of the body that were not read
	missing       int64      // bytes of a body of known length that have not arrived
	ended         bool       // the body has ended
	readErr       error
	onAbort       func() // nil: none
	readDeadline  time.Time
	writeDeadline time.Time
}

// New returns a connection with the head of a request. A body of unknown length is read in
// chunks; without a body, it has ended.
//
// The last byte of a body of known length can be read only after End: a server that counts
// bytes would otherwise answer before the trailer section, or an excess of DATA, was checked
// (RFC 9113, 8.1.1), and its transport would reset a stream that the client has ended already.
func New(t Transport, local, remote net.Addr, head []byte, req framing.Request, body bool) *Conn {
	c := &Conn{Request: req, transport: t, local: local, remote: remote, head: head, ended: !body,
		chunked: body && req.Length < 0, missing: req.Length}
	c.wake.L = &c.mu
	c.parser.ToHEAD = req.Method == "HEAD"
	return c
}

// Push adds bytes of the request's body. The transport bounds them by its windows.
func (c *Conn) Push(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readErr == nil && !c.ended {
		c.missing -= int64(len(p))
		c.body = append(c.body, p...)
		c.wake.Broadcast()
	}
}

// End marks the end of the request's body. An aborted request never ends: its body is not whole.
func (c *Conn) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readErr == nil && !c.ended {
		c.ended = true
		if c.chunked && len(c.body) == 0 {
			c.head = append(c.head, lastChunk...)
		}
		c.wake.Broadcast()
	}
}

// Abort ends all reads with ErrAborted, also one that waits.
func (c *Conn) Abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readErr == nil {
		c.readErr, c.body, c.head = ErrAborted, nil, nil
		c.wake.Broadcast()
		if c.onAbort != nil {
			c.onAbort()
		}
	}
}

// OnAbort sets the function that Abort calls, or calls it at once if the exchange was
// aborted. It must not block; nil: none.
func (c *Conn) OnAbort(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.onAbort = f; f != nil && c.readErr != nil {
		f()
	}
}

// Complete reports whether the whole response was written.
func (c *Conn) Complete() bool { return c.parser.Ended() }

const lastChunk = "0\r\n\r\n"

// Read implements net.Conn. It returns io.EOF at the end of the request.
func (c *Conn) Read(p []byte) (int, error) {
	n, consumed, err := c.read(p)
	if consumed > 0 {
		c.transport.Consumed(consumed)
	}
	return n, err
}

func (c *Conn) read(p []byte) (n, consumed int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if n, consumed = c.copyBuffered(p); n > 0 || len(p) == 0 {
			return n, consumed, nil
		}
		switch {
		case c.readErr != nil:
			return 0, 0, c.readErr
		case c.ended:
			return 0, 0, io.EOF
		}
		if err := c.waitRead(); err != nil {
			return 0, 0, err
		}
	}
}

// copyBuffered copies bytes that are there, and returns how many, and how many of the body.
func (c *Conn) copyBuffered(p []byte) (n, consumed int) {
	for n < len(p) {
		if len(c.head) > 0 {
			k := copy(p[n:], c.head)
			if c.head = c.head[k:]; len(c.head) == 0 {
				c.head = nil
			}
			n += k
			continue
		}
		body := c.body
		if c.missing == 0 && !c.ended && len(body) > 0 {
			body = body[:len(body)-1] // the last byte waits for End
		}
		if len(body) == 0 {
			break
		}
		if !c.chunked {
			k := copy(p[n:], body)
			c.shift(k)
			return n + k, consumed + k
		}
		// A chunk is made whole; what does not fit into p is read next.
		k := min(len(c.body), max(len(p)-n-maxChunkOverhead, minChunk))
		c.head = append(strconv.AppendInt(c.head, int64(k), 16), "\r\n"...)
		c.head = append(append(c.head, c.body[:k]...), "\r\n"...)
		c.shift(k)
		consumed += k
		if c.ended && len(c.body) == 0 {
			c.head = append(c.head, lastChunk...)
		}
	}
	return n, consumed
}

const (
	// maxChunkOverhead is more than a chunk has beside its bytes.
	maxChunkOverhead = 16
	// minChunk is the size of a chunk for a small read, in bytes.
	minChunk = 512
)

// shift removes k bytes of the body.
func (c *Conn) shift(k int) {
	if c.body = c.body[k:]; len(c.body) == 0 {
		c.body = nil
	}
}

// waitRead waits until something has changed or the deadline has passed.
func (c *Conn) waitRead() error {
	if !c.readDeadline.IsZero() {
		left := time.Until(c.readDeadline)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		timer := time.AfterFunc(left, c.wakeReader)
		defer timer.Stop()
	}
	c.wake.Wait()
	return nil
}

func (c *Conn) wakeReader() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake.Broadcast()
}

// Write implements net.Conn: it parses the response and gives its parts to the transport.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	deadline := c.writeDeadline
	c.mu.Unlock()
	for n := 0; n < len(p); {
		part, k, err := c.parser.Next(p[n:])
		if err != nil {
			return n, err
		}
		if part.Status != 0 || len(part.Data) > 0 || part.End {
			if err := c.transport.Send(part, deadline, n+k < len(p) && !part.End); err != nil {
				return n, err
			}
		}
		n += k
	}
	return len(p), nil
}

// Close implements net.Conn. The server that has the connection decides when the exchange
// has ended.
func (c *Conn) Close() error { return nil }

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn: it is the address of the client.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t) // never fails
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn. It also holds for a read that waits.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readDeadline = t
	c.wake.Broadcast()
	return nil
}

// SetWriteDeadline implements net.Conn. It holds for writes that begin later.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeDeadline = t
	return nil
}
