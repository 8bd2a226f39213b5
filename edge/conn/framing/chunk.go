package framing

import "bytes"

const (
	// maxSizeLine bounds a chunk's size with its extensions, which nobody uses
	// and nobody is shown.
	maxSizeLine = 256
	// maxExtensions bounds the extensions of one body, in bytes: a byte of body
	// must not cost a line.
	maxExtensions = 4 << 10
	// maxSizeDigits keeps a chunk's size within an int64.
	maxSizeDigits = 15
)

// sizeLine reads the line before a chunk (RFC 9112, 7.1).
func (m *Requests) sizeLine(text []byte) *Error {
	size, extensions, extended := bytes.Cut(text, semicolon)
	n, ok := hexNumber(size)
	if !ok {
		return bad("a chunk's size is not a plain hexadecimal number")
	}
	if extended {
		m.head.ext += int16(len(extensions)) + 1
		if m.head.ext > maxExtensions || !plainExtension(extensions) {
			return bad("a chunk's extensions are malformed or too many")
		}
	}
	if n == 0 {
		m.state, m.head = atTrailer, head{}
		return nil
	}
	m.state, m.left = inChunk, n
	return nil
}

var semicolon = []byte{';'}

// hexNumber reads digits and nothing else.

func hexNumber(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > maxSizeDigits {
		return 0, false
	}
	for _, c := range b {
		d := hexDigit(c)
		if d < 0 {
			return 0, false
		}
		n = n<<4 | int64(d)
	}
	return n, true
}

// plainExtension accepts visible characters and blanks: a CR or a control
// character there ends the line for some readers.
func plainExtension(b []byte) bool {
	for _, c := range b {
		if (c < ' ' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return len(b) > 0
}
