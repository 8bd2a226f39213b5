package framing

import (
	"bytes"
)

// Responses reads the answers that come over one connection to an origin, and
// finds where each ends. It judges nothing else. What it does not understand it
// takes to last until the connection closes, as RFC 9112, section 6.3 has it.
// The zero value expects nothing: any byte is one too many.
type Responses struct {
	left   int64
	line   []byte
	status state
	until  bool // the answer lasts until the connection closes
	asked  bool // an answer is expected
	head   bool // to HEAD
	code   int
	length int64 // -1: not told
	coding coding
}

// coding is what Transfer-Encoding says.
type coding uint8

const (
	plain coding = iota
	chunks
	unknown
)

// maxAnswerLine bounds what is copied of a line in pieces, in bytes; a longer
// one is not understood.
const maxAnswerLine = 64 << 10

// Expect notes that a request was sent; its answer is the next to come. After an
// answer that lasts until the connection closes nothing can be expected.
func (m *Responses) Expect(method string) {
	if !m.until {
		*m = Responses{asked: true, head: method == "HEAD", length: -1}
	}
}

// Idle reports whether no answer is under way or expected.
func (m *Responses) Idle() bool { return !m.asked }

// Next takes bytes as they come in and returns how many of them belong to the
// answer under way: none if there is none. closing reports that the rest of the
// connection belongs to it.
func (m *Responses) Next(b []byte) (n int, closing bool) {
	for n < len(b) && m.asked && !m.until {
		if m.status == inBody || m.status == inChunk {
			k := min(int64(len(b)-n), m.left)
			n += int(k)
			if m.left -= k; m.left == 0 {
				if m.status == inBody {
					*m = Responses{}
				} else {
					m.status = atDataEnd
				}
			}
			continue
		}
		i := bytes.IndexByte(b[n:], '\n')
		if i < 0 {
			if len(m.line)+len(b)-n > maxAnswerLine {
				m.until = true
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
	if m.until {
		n = len(b)
	}
	return n, m.until
}

var cr = []byte{'\r'}

func (m *Responses) readLine(text []byte) {
	switch m.status {
	case atStart:
		// HTTP/1.1 200 and anything
		m.status, m.length, m.coding = atField, -1, plain
		code, ok := statusOf(text)
		if m.code = code; !ok {
			m.until = true
		}
	case atField:
		if len(text) == 0 {
			m.endHead()
		} else {
			m.field(text)
		}
	case atSize:
		size, _, _ := bytes.Cut(text, semicolon)
		n, ok := hexNumber(bytes.TrimRight(size, " \t"))
		switch m.left, m.status = n, inChunk; {
		case !ok:
			m.until = true
		case n == 0:
			m.status = atTrailer
		}
	case atDataEnd:
		m.status = atSize
		m.until = len(text) != 0
	case atTrailer:
		if len(text) == 0 {
			*m = Responses{}
		}
	}
}

// statusOf reads the three digits after the version.
func statusOf(text []byte) (int, bool) {
	const at = len("HTTP/1.1 ")
	if len(text) < at+3 || !bytes.HasPrefix(text, []byte("HTTP/1.")) {
		return 0, false
	}
	n, ok := decimal(text[at : at+3])
	return int(n), ok && n >= 100
}

func (m *Responses) field(text []byte) {
	name, value, _ := bytes.Cut(text, []byte{':'})
	switch {
	case isName(name, "content-length"):
		n, ok := decimal(trim(value))
		if !ok || m.length >= 0 && m.length != n {
			m.coding = unknown
		}
		m.length = n
	case isName(name, "transfer-encoding"):
		if m.coding = chunks; !isName(trim(value), "chunked") {
			m.coding = unknown
		}
	}
}

// endHead decides what follows (RFC 9112, 6.3).
func (m *Responses) endHead() {
	switch {
	case m.code == 101:
		m.until = true
	case m.code < 200:
		m.status = atStart // an interim answer; the one asked for is still to come
	case m.head, m.code == 204, m.code == 304, m.coding == plain && m.length == 0:
		*m = Responses{}
	case m.coding == chunks:
		m.status = atSize
	case m.coding == plain && m.length > 0:
		m.status, m.left = inBody, m.length
	default:
		m.until = true
	}
}
