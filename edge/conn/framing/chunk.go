package framing

import "bytes"

const (
	// maxChunkLine bounds a chunk's size with its extensions, in bytes. Clients do not
	// use extensions, and they are not passed on.
	maxChunkLine = 256
	// maxExtensions bounds the extensions of one body, in bytes. Without it a client
	// could have a whole line parsed for each byte of the body.
	maxExtensions = 4 << 10
	// maxSizeDigits keeps a chunk's size within an int64.
	maxSizeDigits = 15
)

// parseChunkSize parses the line before a chunk (RFC 9112, 7.1).
func (m *RequestFramer) parseChunkSize(text []byte) *Error {
	size, extensions, extended := bytes.Cut(text, semicolon)
	n, ok := parseHex(size)
	if !ok {
		return badRequest("a chunk's size is not a plain hexadecimal number")
	}
	if extended {
		m.head.extensionBytes += int16(len(extensions)) + 1
		if m.head.extensionBytes > maxExtensions || !validExtension(extensions) {
			return badRequest("a chunk's extensions are malformed or too many")
		}
	}
	if n == 0 {
		m.state, m.head = atTrailer, headState{}
		return nil
	}
	m.state, m.remaining = inChunk, n
	return nil
}

var semicolon = []byte{';'}

// parseHex parses digits and nothing else.
// No sign, no 0x and no blanks: strconv would accept the first two.
func parseHex(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > maxSizeDigits {
		return 0, false
	}
	for _, c := range b {
		d := hexValue(c)
		if d < 0 {
			return 0, false
		}
		n = n<<4 | int64(d)
	}
	return n, true
}

// validExtension accepts visible characters, space and tab: for some parsers a CR or
// another control character would end the line.
func validExtension(b []byte) bool {
	for _, c := range b {
		if (c < ' ' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return len(b) > 0
}
