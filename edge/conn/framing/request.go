package framing

import (
	"bytes"
	"net/http"
)

// Limits of a request's head.
const (
	// MaxLine bounds a request line, in bytes, as widely deployed servers do.
	MaxLine = 8 << 10
	// MaxHead bounds a head, in bytes. It is far below what net/http takes at an
	// origin, so that an origin never refuses what was let through.
	MaxHead = 16 << 10
	// MaxFields bounds the fields of a head: browsers send twenty, and each costs
	// whoever reads them more than its bytes.
	MaxFields = 100
	// maxTrailer bounds what follows the last chunk, in bytes: nothing of it is
	// passed on.
	maxTrailer = 4 << 10
)

// Error is why a request is refused. It closes the connection: where the next
// request would begin is not known.
type Error struct {
	Status int    // 400, 405, 414 or 431
	Reason string // for the person who sent it; holds nothing that was sent
}

// Error implements error.
func (e *Error) Error() string { return e.Reason }

func bad(reason string) *Error { return &Error{http.StatusBadRequest, reason} }

// state is what the next byte belongs to.
type state uint8

const (
	atStart   state = iota // the request line, or one empty line before it
	atField                // a line of the head
	inBody                 // bytes of a body with a length
	atSize                 // a chunk's size line
	inChunk                // bytes of a chunk
	atDataEnd              // the line break after a chunk
	atTrailer              // a line after the last chunk
)

// Requests reads the requests of one connection, one after another. The zero
// value is at the start of the first.
type Requests struct {
	left  int64  // bytes of the body or chunk to come
	line  []byte // the beginning of a line whose rest has not come
	state state
	head  head
}

// head is what was seen of the present head, or of its trailer.
type head struct {
	size    int32 // bytes
	fields  int16
	length  int64
	empty   bool // one empty line before the request was let pass
	sized   bool // Content-Length was there
	chunked bool
	host    bool
	old     bool // HTTP/1.0
	ext     int16
}

// Idle reports whether the last request ended and no byte of another has come.
func (m *Requests) Idle() bool { return m.state == atStart && !m.head.empty && len(m.line) == 0 }

// InBody reports whether a head has ended and its body has not.
func (m *Requests) InBody() bool { return m.state >= inBody }

// Next takes bytes as they come in and returns how many of them belong to the
// request under way: all, or those up to its end. Of bytes that cannot be part
// of a request it takes none from the line on that is wrong; after an error
// nothing more may be read.
func (m *Requests) Next(b []byte) (int, *Error) {
	n := 0
	for n < len(b) {
		if m.state == inBody || m.state == inChunk {
			k := min(int64(len(b)-n), m.left)
			n += int(k)
			if m.left -= k; m.left > 0 {
				break
			}
			if m.state == inBody {
				*m = Requests{}
				return n, nil
			}
			m.state = atDataEnd
			continue
		}
		i := bytes.IndexByte(b[n:], '\n')
		if i < 0 {
			if err := m.tooLong(len(m.line) + len(b) - n); err != nil {
				return n, err
			}
			m.line = append(m.line, b[n:]...)
			return len(b), nil
		}
		line := b[n : n+i+1]
		if len(m.line) > 0 {
			line = append(m.line, line...)
			m.line = nil
		}
		done, err := m.readLine(line)
		if err != nil {
			return n, err
		}
		n += i + 1
		if done {
			*m = Requests{}
			return n, nil
		}
	}
	return n, nil
}

// tooLong refuses a line that is too long before its end has come.
func (m *Requests) tooLong(n int) *Error {
	switch {
	case m.state == atStart && n > MaxLine:
		return &Error{http.StatusRequestURITooLong, "the request line is too long"}
	case m.state == atField && int(m.head.size)+n > MaxHead:
		return &Error{http.StatusRequestHeaderFieldsTooLarge, "the head is too large"}
	case m.state == atTrailer && int(m.head.size)+n > maxTrailer:
		return &Error{http.StatusRequestHeaderFieldsTooLarge, "the trailer is too large"}
	case m.state == atSize && n > maxSizeLine, m.state == atDataEnd && n > len("\r\n"):
		return bad("a chunk is malformed")
	}
	return nil
}

// readLine reads one line with its end. done reports that the request ended.
func (m *Requests) readLine(line []byte) (done bool, err *Error) {
	if err := m.tooLong(len(line)); err != nil {
		return false, err
	}
	if len(line) < 2 || line[len(line)-2] != '\r' {
		return false, bad("a line ends in LF without CR")
	}
	text := line[:len(line)-2]
	switch m.state {
	case atStart:
		if len(text) == 0 && !m.head.empty {
			m.head.empty = true // RFC 9112, 2.2: of clients that end a body with one
			return false, nil
		}
		m.head.size, m.state = int32(len(line)), atField
		return false, m.requestLine(text)
	case atField:
		m.head.size += int32(len(line))
		if len(text) == 0 {
			return m.endHead()
		}
		return false, m.field(text)
	case atSize:
		return false, m.sizeLine(text)
	case atDataEnd:
		if len(text) != 0 {
			return false, bad("a chunk is longer than its size")
		}
		m.state = atSize
	case atTrailer:
		m.head.size += int32(len(line))
		if len(text) == 0 {
			return true, nil
		}
		return false, m.field(text)
	}
	return false, nil
}

// field reads a field line of a head or a trailer. A name is a token (RFC 9110,
// 5.1): what net/http refuses to send to an origin is refused here. Values are left
// to the parser of the head, but for those that say where the request ends.
func (m *Requests) field(text []byte) *Error {
	if m.head.fields++; m.head.fields > MaxFields {
		return &Error{http.StatusRequestHeaderFieldsTooLarge, "there are too many header fields"}
	}
	if text[0] == ' ' || text[0] == '\t' {
		return bad("a header field is folded over lines")
	}
	if bytes.IndexByte(text, '\r') >= 0 || bytes.IndexByte(text, 0) >= 0 {
		return bad("a header field holds CR or NUL")
	}
	colon := bytes.IndexByte(text, ':')
	if colon <= 0 || !isToken(text[:colon]) {
		return bad("a header line is not a name, a colon and a value")
	}
	switch name := text[:colon]; {
	case isName(name, "content-length"):
		return m.contentLength(trim(text[colon+1:]))
	case isName(name, "transfer-encoding"):
		return m.transferEncoding(trim(text[colon+1:]))
	case isName(name, "host"):
		if m.head.host || m.state == atTrailer {
			return bad("there is more than one Host")
		}
		m.head.host = true
		if !validHost(trim(text[colon+1:])) {
			return bad("Host is not a host name and a port")
		}
	}
	return nil
}

func (m *Requests) contentLength(value []byte) *Error {
	if m.head.sized || m.state == atTrailer {
		return bad("there is more than one Content-Length")
	}
	n, ok := decimal(value)
	if !ok {
		return bad("Content-Length is not a plain number")
	}
	m.head.sized, m.head.length = true, n
	return nil
}

func (m *Requests) transferEncoding(value []byte) *Error {
	switch {
	case m.head.chunked || m.state == atTrailer:
		return bad("there is more than one Transfer-Encoding")
	case m.head.old:
		return bad("HTTP/1.0 has no Transfer-Encoding")
	case !isName(value, "chunked"):
		return bad("only the transfer coding chunked is understood")
	}
	m.head.chunked = true
	return nil
}

// endHead decides what follows a head (RFC 9112, 6.3).
func (m *Requests) endHead() (done bool, err *Error) {
	h := m.head
	switch {
	case !h.host && !h.old:
		return false, bad("Host is missing")
	case h.chunked && h.sized:
		return false, bad("Content-Length and Transfer-Encoding exclude each other")
	case h.chunked:
		m.state, m.head = atSize, head{}
		return false, nil
	case h.length > 0:
		m.state, m.left = inBody, h.length
		return false, nil
	}
	return true, nil
}

// decimal reads a number without sign, list or leading zeros.
func decimal(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 || len(b) > 1 && b[0] == '0' {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// isName compares a name with one in small letters.
func isName(b []byte, name string) bool {
	if len(b) != len(name) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != name[i] {
			return false
		}
	}
	return true
}

// trim takes blanks off both ends (RFC 9110, 5.6.3: space and tab, no others).
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
