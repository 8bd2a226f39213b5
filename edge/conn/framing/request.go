package framing

import (
	"bytes"
	"net/http"
)

// Limits of a request's head.
const (
	// MaxLine bounds a request line, in bytes, as widely deployed servers do.
	MaxLine = 8 << 10
	// MaxHead bounds the request line and the header fields together, in bytes. It is
	// far below the limit of net/http, so an origin never refuses what passes here.
	MaxHead = 16 << 10
	// MaxFields bounds the number of header fields. Browsers send twenty; each field
	// costs its reader more than its bytes.
	MaxFields = 100
	// maxTrailer bounds the trailer section, in bytes. It is not passed on.
	maxTrailer = 4 << 10
)

// Error is the reason for which a request is refused. The connection must be closed:
// it is unknown where the next request begins.
type Error struct {
	Status int    // 400, 405, 414 or 431
	Reason string // for the client; it contains nothing that the client sent
}

// Error implements error.
func (e *Error) Error() string { return e.Reason }

func badRequest(reason string) *Error { return &Error{http.StatusBadRequest, reason} }

// state is the element of a message that the next byte belongs to.
type state uint8

const (
	atStart   state = iota // the request line, or one empty line before it
	atField                // a header line
	inBody                 // bytes of a body with a length
	atSize                 // a chunk's size line
	inChunk                // bytes of a chunk
	atDataEnd              // the line break after a chunk
	atTrailer              // a line after the last chunk
)

// RequestFramer checks the requests of one connection and finds where each ends. The
// zero value is at the start of the first request. It is not safe for concurrent use.
// It keeps no bytes but an incomplete line: the caller passes on what Next has counted, unchanged.
type RequestFramer struct {
	remaining int64  // bytes of the body or chunk
	line      []byte // the beginning of a line whose end was not read yet
	state     state
	head      headState
}

// headState describes the present header section, or the trailer section.
type headState struct {
	size           int32 // in bytes
	fields         int16
	length         int64 // value of Content-Length
	emptyLine      bool  // one empty line before the request was accepted
	hasLength      bool  // Content-Length was present
	chunked        bool
	host           bool // Host was present
	http10         bool
	extensionBytes int16 // of chunk extensions
}

// Idle reports whether the last request has ended and no byte of another was read.
func (m *RequestFramer) Idle() bool {
	return m.state == atStart && !m.head.emptyLine && len(m.line) == 0
}

// InBody reports whether a header section has ended and its body has not.
func (m *RequestFramer) InBody() bool { return m.state >= inBody }

// Next takes bytes in the order in which they were read and returns how many of them
// belong to the present request: all, or those up to its end. If a line is malformed it
// returns the number of bytes before that line, and an error, after which it must not
// be called again.
func (m *RequestFramer) Next(b []byte) (int, *Error) {
	n := 0
	for n < len(b) {
		if m.state == inBody || m.state == inChunk {
			k := min(int64(len(b)-n), m.remaining)
			n += int(k)
			if m.remaining -= k; m.remaining > 0 {
				break
			}
			if m.state == inBody {
				*m = RequestFramer{}
				return n, nil
			}
			m.state = atDataEnd
			continue
		}
		// A line that came in pieces is joined before it is parsed, so that it is read the same way
		// however the client has cut it.
		i := bytes.IndexByte(b[n:], '\n')
		if i < 0 {
			if err := m.checkLength(len(m.line) + len(b) - n); err != nil {
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
			*m = RequestFramer{}
			return n, nil
		}
	}
	return n, nil
}

// checkLength refuses a line that is too long, before its end was read.
// It is called for the incomplete line as well, so what is kept is bounded by the same limits.
func (m *RequestFramer) checkLength(n int) *Error {
	switch {
	case m.state == atStart && n > MaxLine:
		return &Error{http.StatusRequestURITooLong, "the request line is too long"}
	case m.state == atField && int(m.head.size)+n > MaxHead:
		return &Error{http.StatusRequestHeaderFieldsTooLarge, "the head is too large"}
	case m.state == atTrailer && int(m.head.size)+n > maxTrailer:
		return &Error{http.StatusRequestHeaderFieldsTooLarge, "the trailer is too large"}
	case m.state == atSize && n > maxChunkLine, m.state == atDataEnd && n > len("\r\n"):
		return badRequest("a chunk is malformed")
	}
	return nil
}

// readLine parses one line with its line break. done reports that the request ended.
func (m *RequestFramer) readLine(line []byte) (done bool, err *Error) {
	if err := m.checkLength(len(line)); err != nil {
		return false, err
	}
	// RFC 9112, 2.2 lets a server accept a bare LF. Those that do and those that do not see
	// different requests in the same bytes, which is what smuggling needs.
	if len(line) < 2 || line[len(line)-2] != '\r' {
		return false, badRequest("a line ends in LF without CR")
	}
	text := line[:len(line)-2]
	switch m.state {
	case atStart:
		if len(text) == 0 && !m.head.emptyLine {
			m.head.emptyLine = true // RFC 9112, 2.2: some clients send one after a body
			return false, nil
		}
		m.head.size, m.state = int32(len(line)), atField
		return false, m.parseRequestLine(text)
	case atField:
		m.head.size += int32(len(line))
		if len(text) == 0 {
			return m.endHead()
		}
		return false, m.parseField(text)
	case atSize:
		return false, m.parseChunkSize(text)
	case atDataEnd:
		if len(text) != 0 {
			return false, badRequest("a chunk is longer than its size")
		}
		m.state = atSize
	case atTrailer:
		m.head.size += int32(len(line))
		if len(text) == 0 {
			return true, nil
		}
		return false, m.parseField(text)
	}
	return false, nil
}

// parseField checks a line of a header or trailer section. A name must be a token (RFC
// 9110, 5.1), because net/http would refuse to send any other to an origin. Of the values
// only those are checked that decide where the request ends or for which host it is.
func (m *RequestFramer) parseField(text []byte) *Error {
	if m.head.fields++; m.head.fields > MaxFields {
		return &Error{http.StatusRequestHeaderFieldsTooLarge, "there are too many header fields"}
	}
	// Obsolete line folding (RFC 9112, 5.2): the next server may take it for a field.
	if text[0] == ' ' || text[0] == '\t' {
		return badRequest("a header field is folded over lines")
	}
	if bytes.IndexByte(text, '\r') >= 0 || bytes.IndexByte(text, 0) >= 0 {
		return badRequest("a header field holds CR or NUL")
	}
	colon := bytes.IndexByte(text, ':')
	if colon <= 0 || !isToken(text[:colon]) {
		return badRequest("a header line is not a name, a colon and a value")
	}
	switch name := text[:colon]; {
	case foldEqual(name, "content-length"):
		return m.parseContentLength(trimOWS(text[colon+1:]))
	case foldEqual(name, "transfer-encoding"):
		return m.parseTransferEncoding(trimOWS(text[colon+1:]))
	case foldEqual(name, "host"):
		if m.head.host || m.state == atTrailer {
			return badRequest("there is more than one Host")
		}
		m.head.host = true
		if !validHost(trimOWS(text[colon+1:])) {
			return badRequest("Host is not a host name and a port")
		}
	}
	return nil
}

func (m *RequestFramer) parseContentLength(value []byte) *Error {
	if m.head.hasLength || m.state == atTrailer {
		return badRequest("there is more than one Content-Length")
	}
	n, ok := parseDecimal(value)
	if !ok {
		return badRequest("Content-Length is not a plain number")
	}
	m.head.hasLength, m.head.length = true, n
	return nil
}

// parseTransferEncoding accepts one coding. Lists such as "gzip, chunked" are valid, but clients do
// not send them; "xchunked" and "chunked, identity" are attacks on parsers that search.
func (m *RequestFramer) parseTransferEncoding(value []byte) *Error {
	switch {
	case m.head.chunked || m.state == atTrailer:
		return badRequest("there is more than one Transfer-Encoding")
	case m.head.http10:
		return badRequest("HTTP/1.0 has no Transfer-Encoding")
	case !foldEqual(value, "chunked"):
		return badRequest("the only supported transfer coding is chunked")
	}
	m.head.chunked = true
	return nil
}

// endHead decides what follows a header section (RFC 9112, 6.3).
func (m *RequestFramer) endHead() (done bool, err *Error) {
	h := m.head
	switch {
	case !h.host && !h.http10:
		return false, badRequest("Host is missing")
	// RFC 9112, 6.1 would let Transfer-Encoding win; the servers behind might decide otherwise
	// (CL.TE and TE.CL).
	case h.chunked && h.hasLength:
		return false, badRequest("Content-Length and Transfer-Encoding exclude each other")
	case h.chunked:
		m.state, m.head = atSize, headState{}
		return false, nil
	case h.length > 0:
		m.state, m.remaining = inBody, h.length
		return false, nil
	}
	return true, nil
}

// parseDecimal parses a number without sign, list or leading zeros, which other parsers
// treat differently.
func parseDecimal(b []byte) (n int64, ok bool) {
	// Eighteen digits never overflow an int64.
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

// foldEqual compares a name with one in lower case.
func foldEqual(b []byte, name string) bool {
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

// trimOWS removes optional whitespace, which is space and tab only (RFC 9110, 5.6.3).
func trimOWS(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
