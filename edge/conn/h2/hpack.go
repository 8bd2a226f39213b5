package h2

import (
	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
)

// staticNames are the indexes of response fields in HPACK's static table (RFC 7541,
// appendix A).
var staticNames = map[string]uint64{
	"accept-ranges": 18, "access-control-allow-origin": 20, "age": 21, "allow": 22, "cache-control": 24,
	"content-disposition": 25, "content-encoding": 26, "content-language": 27, "content-length": 28,
	"content-location": 29, "content-range": 30, "content-type": 31, "date": 33, "etag": 34, "expires": 36,
	"last-modified": 44, "link": 45, "location": 46, "retry-after": 53, "server": 54, "set-cookie": indexSetCookie,
	"strict-transport-security": 56, "vary": 59, "via": 60, "www-authenticate": 61,
}

// Representations of a field (RFC 7541, 6): the bits before its index, and how many bits
// of the first byte the index has.
const (
	withoutIndexing, neverIndexed, literalBits = 0x00, 0x10, 4
	withIndexing, indexingBits                 = 0x40, 6
	indexed, indexedBits                       = 0x80, 7
	tableSizeUpdate, updateBits                = 0x20, 5
	lengthBits                                 = 7
)

// Indexes of the static table.
const (
	indexStatus    = 8 // :status 200
	indexStatus304 = 11
	indexAge       = 21
	indexSetCookie = 55
	dynamicTable   = 62 // the newest field of the dynamic table
)

// AppendField appends a field in HPACK that changes no table: literal, by a static name
// where there is one, and Huffman-coded where that is shorter. The name must be in lower
// case.
func AppendField(dst []byte, name, value string) []byte {
	prefix := byte(withoutIndexing)
	if name == "set-cookie" { // a proxy must not put it into a table (RFC 7541, 7.1.3)
		prefix = neverIndexed
	}
	return appendLiteral(dst, prefix, literalBits, name, value)
}

func appendLiteral(dst []byte, prefix byte, bits uint, name, value string) []byte {
	if i, ok := staticNames[name]; ok {
		dst = mux.AppendInt(dst, prefix, bits, i)
	} else {
		dst = appendString(append(dst, prefix), name)
	}
	return appendString(dst, value)
}

func appendString(dst []byte, s string) []byte { return mux.AppendString(dst, 0, lengthBits, s) }

// appendStatus appends :status.
func appendStatus(dst []byte, status int) []byte {
	// Indexes 8 to 14 of the static table, in its order.
	for i, known := range [...]int{200, 204, 206, 304, 400, 404, 500} {
		if status == known {
			return append(dst, indexed|byte(indexStatus+i))
		}
	}
	dst = mux.AppendInt(dst, withoutIndexing, literalBits, indexStatus)
	return append(dst, 3, byte('0'+status/100), byte('0'+status/10%10), byte('0'+status%10))
}

// appendAge appends Age.
func appendAge(dst []byte, age int64) []byte {
	return mux.AppendDecimal(mux.AppendInt(dst, withoutIndexing, literalBits, indexAge), age)
}

// appendPart appends the head of a response that a server wrote as HTTP/1.1.
func appendPart(dst []byte, part *framing.Part) []byte {
	dst = appendStatus(dst, part.Status)
	for name, value := range part.Fields() {
		dst = appendPlain(dst, name, value)
	}
	return dst
}

// appendPlain is AppendField without Huffman coding and for a name of any case: for a field
// that is sent once, the coding takes longer than it saves.
func appendPlain(dst, name, value []byte) []byte {
	start := len(dst)
	dst = mux.AppendInt(append(dst, withoutIndexing), 0, lengthBits, uint64(len(name)))
	from := len(dst)
	// Names are in lower case in HTTP/2 (8.2), and handlers of HTTP/1.1 write them as they like.
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	if i, ok := staticNames[string(dst[from:])]; ok {
		prefix := byte(withoutIndexing)
		if i == indexSetCookie {
			prefix = neverIndexed
		}
		dst = mux.AppendInt(dst[:start], prefix, literalBits, i)
	}
	return append(mux.AppendInt(dst, 0, lengthBits, uint64(len(value))), value...)
}

// Constants are the header fields that every response of the fast path has. The first
// such response of a connection inserts them into the client's table; later ones name
// them by one byte each. Nothing else is ever inserted, so an encoder's state is one bit.
type Constants struct {
	literal []byte // the fields, which change no table
	insert  []byte // the fields, which are inserted
	index   []byte // the fields by their index after that
}

// minTable is the smallest table of a client that the constants are inserted into, in
// bytes. All of them fit, so none is evicted.
const minTable = 1024

// NewConstants returns the blocks of fields given as name, value, name, value; the names
// in lower case. It panics if they do not fit into a table of minTable bytes.
func NewConstants(fields ...string) *Constants {
	c, size := &Constants{}, 0
	for i := 0; i < len(fields); i += 2 {
		name, value := fields[i], fields[i+1]
		c.literal = AppendField(c.literal, name, value)
		c.insert = appendLiteral(c.insert, withIndexing, indexingBits, name, value)
		c.index = append(c.index, indexed|byte(dynamicTable+i/2))
		size += framing.Field{Name: name, Value: value}.Size()
	}
	if size > minTable {
		panic("BUG: the constant header fields do not fit into a client's table")
	}
	return c
}
