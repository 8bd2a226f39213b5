package upstream

import (
	"bytes"
	"net"
	"sync/atomic"
	"time"
)

// conn is a connection to an origin. It bounds how long an origin may refuse to
// take more of a request, and makes an answer readable that net/http refuses.
type conn struct {
	net.Conn
	idle time.Duration

	awaits atomic.Bool // a request was written and the head of its answer has not been seen
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	if len(b) > 0 && 'A' <= b[0] && b[0] <= 'Z' {
		c.awaits.Store(true)
	}
	return c.Conn.Write(b)
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.awaits.Load() {
		c.awaits.Store(!plainFraming(b[:n]))
	}
	return n, err
}

var (
	headEnd        = []byte("\r\n\r\n")
	statusLine     = []byte("HTTP/1.")
	transferCoding = []byte("transfer-encoding")
	contentLength  = []byte("content-length")
	chunked        = []byte("chunked")
)

// plainFraming renames, in place, the framing fields of an answer whose transfer
// coding is not chunked. RFC 9112, section 6.3, has such an answer read until the
// connection closes; net/http refuses it, but reads one without framing fields
// just so. It reports whether the head of the final answer was seen. A head that
// comes in pieces is left as it is.
func plainFraming(b []byte) bool {
	for bytes.HasPrefix(b, statusLine) {
		end := bytes.Index(b, headEnd)
		if end < 0 {
			return true
		}
		head, rest := b[:end+2], b[end+len(headEnd):]
		if len(head) > len("HTTP/1.1 ") && head[len("HTTP/1.1 ")] == '1' && len(rest) > 0 {
			b = rest // an interim answer, and the next one is here already
			continue
		}
		if value := field(head, transferCoding, 0); value != nil && !bytes.EqualFold(value, chunked) {
			field(head, transferCoding, 'X')
			field(head, contentLength, 'X')
		}
		return head[len("HTTP/1.1 ")] != '1'
	}
	return true
}

// field returns the value of a field, nil if it is not there. Another first
// letter than 0 replaces the name's, wherever it stands.
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
