package framing

import "bytes"

// ResponseFramer finds where the responses of one connection to an origin end. It
// checks nothing else. A response that it cannot parse lasts until the connection
// closes (RFC 9112, 6.3). The zero value expects no response, so no byte belongs to
// one. It is not safe for concurrent use.
type ResponseFramer struct {
	remaining  int64  // bytes of the body or chunk
	line       []byte // the beginning of a line whose end was not read yet
	state      state
	untilClose bool // the response lasts until the connection closes
	expected   bool // a response is expected
	toHEAD     bool
	code       int
	length     int64 // value of Content-Length; -1: absent
	coding     transferCoding
}

// transferCoding is the value of Transfer-Encoding.
type transferCoding uint8

const (
	codingNone transferCoding = iota
	codingChunked
	codingUnknown
)

// maxResponseLine bounds a line that arrives in pieces, in bytes. A response with a
// longer one lasts until the connection closes.
const maxResponseLine = 64 << 10

// Expect records that a request was sent: the next bytes belong to its response. After
// a response that lasts until the connection closes it has no effect.
// Requests are not pipelined, so there is never more than one.
func (m *ResponseFramer) Expect(method string) {
	if !m.untilClose {
		*m = ResponseFramer{expected: true, toHEAD: method == "HEAD", length: -1}
	}
}

// Idle reports whether no response is expected or incomplete.
func (m *ResponseFramer) Idle() bool { return !m.expected }

// Next takes bytes in the order in which they were read and returns how many of them
// belong to the present response, if there is one. closing reports that it lasts until
// the connection closes.
func (m *ResponseFramer) Next(b []byte) (n int, closing bool) {
	for n < len(b) && m.expected && !m.untilClose {
		if m.state == inBody || m.state == inChunk {
			k := min(int64(len(b)-n), m.remaining)
			n += int(k)
			if m.remaining -= k; m.remaining == 0 {
				if m.state == inBody {
					*m = ResponseFramer{}
				} else {
					m.state = atDataEnd
				}
			}
			continue
		}
		i := bytes.IndexByte(b[n:], '\n')
		if i < 0 {
			if len(m.line)+len(b)-n > maxResponseLine {
				m.untilClose = true
			} else {
				m.line = append(m.line, b[n:]...)
			}
			n = len(b)
			break
		}
		line := b[n : n+i+1]
		n += i + 1
		if len(m.line) > 0 {
			line = append(m.line, line...)
			m.line = nil
		}
		m.readLine(bytes.TrimSuffix(line[:len(line)-1], cr))
	}
	if m.untilClose {
		n = len(b)
	}
	return n, m.untilClose
}

var cr = []byte{'\r'}

func (m *ResponseFramer) readLine(text []byte) {
	switch m.state {
	case atStart:
		m.state, m.length, m.coding = atField, -1, codingNone
		code, ok := parseStatus(text)
		if m.code = code; !ok {
			m.untilClose = true
		}
	case atField:
		if len(text) == 0 {
			m.endHead()
		} else {
			m.parseField(text)
		}
	case atSize:
		size, _, _ := bytes.Cut(text, semicolon)
		n, ok := parseHex(bytes.TrimRight(size, " \t"))
		switch m.remaining, m.state = n, inChunk; {
		case !ok:
			m.untilClose = true
		case n == 0:
			m.state = atTrailer
		}
	case atDataEnd:
		m.state = atSize
		m.untilClose = len(text) != 0
	case atTrailer:
		if len(text) == 0 {
			*m = ResponseFramer{}
		}
	}
}

// parseStatus parses the three digits after the version.
// Every HTTP/1.x version is accepted from an origin: it chose to answer in it.
func parseStatus(text []byte) (int, bool) {
	const at = len("HTTP/1.1 ")
	if len(text) < at+3 || !bytes.HasPrefix(text, []byte("HTTP/1.")) {
		return 0, false
	}
	n, ok := parseDecimal(text[at : at+3])
	return int(n), ok && n >= 100
}

// parseField notes what decides where the response ends. Contradictions make that unknown, and
// not an error: the response is passed on until its connection closes, and never reused.
func (m *ResponseFramer) parseField(text []byte) {
	name, value, _ := bytes.Cut(text, []byte{':'})
	switch {
	case foldEqual(name, "content-length"):
		n, ok := parseDecimal(trimOWS(value))
		if !ok || m.length >= 0 && m.length != n {
			m.coding = codingUnknown
		}
		m.length = n
	case foldEqual(name, "transfer-encoding"):
		if m.coding = codingChunked; !foldEqual(trimOWS(value), "chunked") {
			m.coding = codingUnknown
		}
	}
}

// endHead decides what follows a header section (RFC 9112, 6.3).
// Where the length is in doubt the response lasts until the connection closes, which is then not
// used again: nothing that an origin sends can become part of the next answer.
func (m *ResponseFramer) endHead() {
	switch {
	// After switching protocols the bytes are no longer HTTP.
	case m.code == 101:
		m.untilClose = true
	case m.code < 200:
		m.state = atStart // an interim response; the final one follows
	case m.toHEAD, m.code == 204, m.code == 304, m.coding == codingNone && m.length == 0:
		*m = ResponseFramer{}
	case m.coding == codingChunked:
		m.state = atSize
	case m.coding == codingNone && m.length > 0:
		m.state, m.remaining = inBody, m.length
	default:
		m.untilClose = true
	}
}
