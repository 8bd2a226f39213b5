package h3

import (
	"errors"
	"io"
	"strings"

	"github.com/quic-go/qpack"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
)

// Representations of a field line (RFC 9204, 4.5): the bits before its index or the length
// of its name, and how many bits of the first byte that has.
const (
	indexedStatic, indexedBits = 0xc0, 6
	nameStatic, nameBits       = 0x50, 4
	literalName, literalBits   = 0x20, 3
	valueBits                  = 7
	// neverIndexed is added to the prefix of a field that a proxy must not put into a table:
	// that of a name in the static table, and that of a literal name.
	neverIndexed, neverIndexedLiteral = 0x20, 0x10
	staticEntries                     = 99 // of the static table
)

// blockPrefix begins every header block: it refers to nothing in a dynamic table (4.5.1).
var blockPrefix = []byte{0, 0}

// staticTable is the static table by name, and by name and value (RFC 9204, appendix A).
var staticTable = func() (t struct {
	names  map[string]uint64
	fields map[framing.Field]uint64
}) {
	t.names, t.fields = map[string]uint64{}, map[framing.Field]uint64{}
	for i := range uint64(staticEntries) {
		block := mux.AppendInt(append([]byte(nil), blockPrefix...), indexedStatic, indexedBits, i)
		f, err := qpack.NewDecoder().Decode(block)()
		if err != nil {
			panic("BUG: the static table of QPACK has another size: " + err.Error())
		}
		t.fields[framing.Field{Name: f.Name, Value: f.Value}] = i
		if _, ok := t.names[f.Name]; !ok {
			t.names[f.Name] = i
		}
	}
	return t
}()

// AppendField appends a field in QPACK, which refers to the static table alone. The name
// must be in lower case.
func AppendField(dst []byte, name, value string) []byte {
	if i, ok := staticTable.fields[framing.Field{Name: name, Value: value}]; ok {
		return mux.AppendInt(dst, indexedStatic, indexedBits, i)
	}
	never := name == "set-cookie" // as RFC 7541, 7.1.3
	if i, ok := staticTable.names[name]; ok {
		prefix := byte(nameStatic)
		if never {
			prefix |= neverIndexed
		}
		dst = mux.AppendInt(dst, prefix, nameBits, i)
	} else {
		prefix := byte(literalName)
		if never {
			prefix |= neverIndexedLiteral
		}
		dst = mux.AppendString(dst, prefix, literalBits, name)
	}
	return mux.AppendString(dst, 0, valueBits, value)
}

// Representations that every response from memory has.
var (
	status200 = AppendField(nil, ":status", "200")
	status304 = AppendField(nil, ":status", "304")
	ageName   = mux.AppendInt(nil, nameStatic, nameBits, staticTable.names["age"])
)

// Constants are the header fields in QPACK that every response from memory has.
type Constants []byte

// NewConstants returns the fields given as name, value, name, value; the names in lower
// case.
func NewConstants(fields ...string) (c Constants) {
	for i := 0; i < len(fields); i += 2 {
		c = AppendField(c, fields[i], fields[i+1])
	}
	return c
}

// appendPart appends the block of the head of a response that a server wrote as HTTP/1.1.
func appendPart(dst []byte, part *framing.Part) []byte {
	status := [3]byte{byte('0' + part.Status/100), byte('0' + part.Status/10%10), byte('0' + part.Status%10)}
	dst = AppendField(append(dst, blockPrefix...), ":status", string(status[:]))
	for name, value := range part.Fields() {
		dst = AppendField(dst, strings.ToLower(string(name)), string(value))
	}
	return dst
}

// decode decodes a whole header block into list. Nothing in a block can refer to another
// field of it, so the decoded size is at most 64 times that of the block, which the caller
// has bounded; beyond MaxBlock decoding ends.
func decode(list *mux.FieldList, block []byte) error {
	list.Reset()
	next := qpack.NewDecoder().Decode(block)
	for {
		f, err := next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return connErrorf(DecompressionFailed, "a header block is malformed")
		}
		if list.Add(f.Name, f.Value); list.Size > mux.MaxBlock {
			return connErrorf(ExcessiveLoad, "a header block decodes to too much")
		}
	}
}
