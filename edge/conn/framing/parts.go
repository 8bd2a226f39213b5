package framing

import (
	"bytes"
	"errors"
	"iter"
)

// Part is a part of a response: a head with its status, or bytes of the body.
type Part struct {
	Status int    // of a head; 0: not a head
	Lines  []byte // header fields of the head, each with its line break
	Data   []byte // bytes of the body
	End    bool   // the response has ended
}

// Fields returns the names and values of the head, without those that describe an
// HTTP/1.1 connection (RFC 9113, 8.2.2). The slices share the bytes of the part.
// They have no meaning in HTTP/2 and HTTP/3, and a response that contains one is malformed there.
func (p *Part) Fields() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for rest := p.Lines; len(rest) > 0; {
			line, after, _ := bytes.Cut(rest, crlf)
			rest = after
			name, value, _ := bytes.Cut(line, colonByte)
			if !isConnectionField(name) && !yield(name, trimOWS(value)) {
				return
			}
		}
	}
}

var (
	crlf      = []byte("\r\n")
	colonByte = []byte{':'}
	headEnd   = []byte("\r\n\r\n")
)

// isConnectionField reports whether a field is about the connection. The length decides first:
// most fields of a response need no comparison.
func isConnectionField(name []byte) bool {
	switch len(name) {
	case len("upgrade"):
		return foldEqual(name, "upgrade")
	case len("connection"): // and keep-alive
		return foldEqual(name, "connection") || foldEqual(name, "keep-alive")
	case len("proxy-connection"):
		return foldEqual(name, "proxy-connection")
	case len("transfer-encoding"):
		return foldEqual(name, "transfer-encoding")
	}
	return false
}

// ResponseParser splits the bytes of one HTTP/1.1 response into parts. The server itself
// has written it, so whatever is not well-formed is an error. The zero value is at the
// start of the response to a request other than HEAD.
type ResponseParser struct {
	ToHEAD bool // the request is HEAD: the response has no body

	ended   bool
	partial []byte // of a head whose end was not written yet
	chunked bool
	body    bool // the final head has ended
	closing bool // the body lasts until Close
	left    int64
	line    []byte // of a chunk, whose end was not written yet
	state   state
}

// maxResponseHead bounds the head of a response, in bytes: origins may send 64 KiB, and the
// server adds a few fields. Only a handler with a bug exceeds it; the bound limits the memory
// that such a bug uses.
const maxResponseHead = 128 << 10

var errResponse = errors.New("BUG: the response is not a well-formed HTTP/1.1 message")

// Ended reports whether the whole response was parsed. A body that lasts until the
// connection closes is whole at every byte.
func (p *ResponseParser) Ended() bool { return p.ended || p.closing }

// Next returns the part that b begins with and how many bytes of b it uses. All bytes
// after the end of the response are used and dropped. A part without status, data and
// end is empty. The slices of the part are valid until the next call.
func (p *ResponseParser) Next(b []byte) (part Part, n int, err error) {
	switch {
	case p.ended:
		return Part{}, len(b), nil
	case !p.body:
		return p.nextHead(b)
	case p.chunked && p.state != inChunk:
		return p.nextLine(b)
	}
	n = len(b)
	if !p.closing {
		n = int(min(int64(n), p.left))
		if p.left -= int64(n); p.left == 0 {
			p.ended, p.state = !p.chunked, atDataEnd
		}
	}
	return Part{Data: b[:n], End: p.ended}, n, nil
}

// nextHead collects a head and parses it.
func (p *ResponseParser) nextHead(b []byte) (Part, int, error) {
	head, n := b, 0
	if len(p.partial) > 0 {
		// The end may be split between the pieces, so the search begins three bytes before
		// the new ones.
		from := max(0, len(p.partial)-len(headEnd)+1)
		before := len(p.partial)
		p.partial = append(p.partial, b...)
		end := bytes.Index(p.partial[from:], headEnd)
		if end < 0 {
			return Part{}, len(b), p.checkHead()
		}
		head = p.partial[:from+end+len(headEnd)]
		n = len(head) - before
		p.partial = nil
	} else {
		end := bytes.Index(b, headEnd)
		if end < 0 {
			p.partial = append(p.partial, b...)
			return Part{}, len(b), p.checkHead()
		}
		head = b[:end+len(headEnd)]
		n = len(head)
	}
	part, err := p.parseHead(head)
	return part, n, err
}

func (p *ResponseParser) checkHead() error {
	if len(p.partial) > maxResponseHead {
		return errResponse
	}
	return nil
}

// parseHead decides what follows the head (RFC 9112, 6.3).
func (p *ResponseParser) parseHead(head []byte) (Part, error) {
	line, lines, _ := bytes.Cut(head[:len(head)-len("\r\n")], crlf)
	status, ok := parseStatus(line)
	// Connections in memory offer no upgrade, so no handler may switch protocols.
	if !ok || status == 101 {
		return Part{}, errResponse
	}
	part := Part{Status: status, Lines: lines}
	// An interim response, such as 103 (RFC 8297): the final one follows as another part.
	if status < 200 {
		return part, nil
	}
	length := int64(-1)
	for rest := lines; len(rest) > 0; {
		var text []byte
		text, rest, _ = bytes.Cut(rest, crlf)
		name, value, ok := bytes.Cut(text, colonByte)
		switch {
		case !ok || !isToken(name):
			return Part{}, errResponse
		case foldEqual(name, "content-length"):
			if length, ok = parseDecimal(trimOWS(value)); !ok {
				return Part{}, errResponse
			}
		case foldEqual(name, "transfer-encoding"):
			if p.chunked = foldEqual(trimOWS(value), "chunked"); !p.chunked {
				return Part{}, errResponse
			}
		}
	}
	p.body = true
	switch {
	case p.ToHEAD, status == 204, status == 304, length == 0 && !p.chunked:
		p.ended, part.End = true, true
	case p.chunked:
		p.state = atSize
	case length > 0:
		p.left = length
	default:
		p.closing = true
	}
	return part, nil
}

// nextLine parses a line between the chunks.
// Trailers of responses are dropped: HTTP/1.1 clients hardly read them, so no answer depends on
// one.
func (p *ResponseParser) nextLine(b []byte) (Part, int, error) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		if p.line = append(p.line, b...); len(p.line) > maxTrailer {
			return Part{}, 0, errResponse
		}
		return Part{}, len(b), nil
	}
	text := append(p.line, b[:i+1]...)
	p.line = nil
	text = bytes.TrimSuffix(text, crlf)
	switch p.state {
	case atSize:
		size, ok := parseHex(text)
		if !ok {
			return Part{}, 0, errResponse
		}
		p.left, p.state = size, inChunk
		if size == 0 {
			p.state = atTrailer
		}
	case atDataEnd:
		if len(text) > 0 {
			return Part{}, 0, errResponse
		}
		p.state = atSize
	case atTrailer: // dropped
		p.ended = len(text) == 0
	}
	return Part{End: p.ended}, i + 1, nil
}
