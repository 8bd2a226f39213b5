package mux

import (
	"strings"

	"golang.org/x/net/http2/hpack"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
)

const (
	// MaxHeaderList bounds the fields of a request, in bytes: as much as over HTTP/1.1. A
	// larger request gets 431.
	MaxHeaderList = framing.MaxHead
	// MaxBlock bounds a header block, as sent and as decoded, in bytes: a larger one ends
	// the connection (CVE-2023-45288, CVE-2016-6581).
	MaxBlock = 64 << 10
	// MaxTrailer bounds a trailer section, in bytes. It is not passed on.
	MaxTrailer = 4 << 10
	// MaxStreams bounds the streams whose work has not ended, also those that were reset:
	// at least 100 is advised (RFC 9113, 6.5.2), and a hundred badges are a page.
	MaxStreams = 128
)

// FieldList collects the fields of a header block. The zero value is empty.
type FieldList struct {
	Fields []framing.Field
	Size   int // of the list, in bytes, with the fields that were not kept
}

// Reset empties the list.
func (l *FieldList) Reset() {
	clear(l.Fields)
	l.Fields, l.Size = l.Fields[:0], 0
}

// Add adds a field. The fields of a list that is too large are counted, not kept.
func (l *FieldList) Add(name, value string) {
	field := framing.Field{Name: name, Value: value}
	l.Size += field.Size()
	if l.Size <= MaxHeaderList && len(l.Fields) <= framing.MaxFields {
		l.Fields = append(l.Fields, field)
	}
}

// TooLarge reports whether fields were not kept, or are too many.
func (l *FieldList) TooLarge() bool {
	return l.Size > MaxHeaderList || len(l.Fields) > framing.MaxFields
}

// Urgencies is the number of urgencies (RFC 9218, 4.1), and defaultUrgency the one of a
// stream that names none.
const (
	Urgencies      = 8
	defaultUrgency = 3
)

// maxPriority bounds a field Priority, in bytes: browsers send ten. A PRIORITY_UPDATE frame has
// room for 16,000 commas, and each costs the server more than the client.
const maxPriority = 256

// ParseUrgency returns the urgency of a field Priority (RFC 9218, 4.1). What is malformed or
// too long is ignored.
func ParseUrgency(value string) int {
	if len(value) > maxPriority {
		return defaultUrgency
	}
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		if len(item) == len("u=0") && strings.HasPrefix(item, "u=") && '0' <= item[2] && item[2] <= '7' {
			return int(item[2] - '0')
		}
	}
	return defaultUrgency
}

// AppendInt appends an integer of which the first byte has bits bits (RFC 7541, 5.1). prefix
// has the other bits of that byte.
func AppendInt(dst []byte, prefix byte, bits uint, n uint64) []byte {
	limit := uint64(1)<<bits - 1
	if n < limit {
		return append(dst, prefix|byte(n))
	}
	dst = append(dst, prefix|byte(limit))
	for n -= limit; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}

// AppendString appends a string, Huffman-coded where that is shorter (RFC 7541, 5.2). Its
// length begins with bits bits; the bit before them is the coding.
func AppendString(dst []byte, prefix byte, bits uint, s string) []byte {
	if n := hpack.HuffmanEncodeLength(s); n < uint64(len(s)) {
		return hpack.AppendHuffmanString(AppendInt(dst, prefix|1<<bits, bits, n), s)
	}
	return append(AppendInt(dst, prefix, bits, uint64(len(s))), s...)
}

// AppendDecimal appends a number as a string of digits with its length, not Huffman-coded.
func AppendDecimal(dst []byte, n int64) []byte {
	var digits [20]byte
	i := len(digits)
	for n = max(n, 0); ; n /= 10 {
		i--
		if digits[i] = byte('0' + n%10); n < 10 {
			break
		}
	}
	return append(append(dst, byte(len(digits)-i)), digits[i:]...)
}
