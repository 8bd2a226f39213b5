package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"
)

// The encoded form of an entry, as other processes keep it: the version, ten
// numbers and lengths as varints, the texts one after another, and a checksum
// of all before it. There is no field name and no padding: an entry of 2 kB
// costs 30 bytes more than its content.
const (
	// codecVersion is the first byte. Another number is another layout, and an
	// entry of another layout does not exist for us.
	codecVersion = 1
	// maxEncoded bounds what is written and read, in bytes: what is larger
	// costs its neighbours on the connection more than a fill costs the source.
	maxEncoded = 1 << 20
	// maxEncodedTags bounds the tags of an encoded entry. More than MaxTags
	// are legal, more than this is damage.
	maxEncodedTags = 1 << 10
	checksumBytes  = 4
)

var errEncoding = errors.New("cache: not an encoded entry")

// AppendBinary appends the encoded entry to dst. Value and Weight are not part
// of it.
func (e *Entry) AppendBinary(dst []byte) ([]byte, error) {
	begin := len(dst)
	dst = append(dst, codecVersion)
	dst = binary.AppendVarint(dst, e.AsOf)
	born := int64(math.MinInt64) // zero is a time of its own
	if !e.Born.IsZero() {
		born = e.Born.UnixNano()
	}
	dst = binary.AppendVarint(dst, born)
	for _, d := range []time.Duration{e.Fresh, e.Stale, e.OnError, e.Took} {
		dst = binary.AppendVarint(dst, int64(d))
	}
	dst = binary.AppendVarint(dst, int64(e.Status))
	dst = appendText(appendText(dst, e.Type), e.ETag)
	dst = binary.AppendUvarint(dst, uint64(len(e.Tags)))
	for _, tag := range e.Tags {
		dst = appendText(dst, tag)
	}
	dst = appendText(appendText(dst, e.Head), e.Body)
	dst = binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[begin:], crc32.MakeTable(crc32.Castagnoli)))
	if n := len(dst) - begin; n > maxEncoded {
		return nil, fmt.Errorf("encode an entry: %d bytes, at most %d", n, maxEncoded)
	}
	return dst, nil
}

func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// UnmarshalBinary reads what AppendBinary wrote. The entry keeps parts of data,
// which must not be changed afterwards.
func (e *Entry) UnmarshalBinary(data []byte) error {
	if len(data) < 1+checksumBytes || len(data) > maxEncoded || data[0] != codecVersion {
		return errEncoding
	}
	content, sum := data[:len(data)-checksumBytes], data[len(data)-checksumBytes:]
	if crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(sum) {
		return errEncoding
	}
	d := decoder{rest: content[1:]}
	var got Entry
	got.AsOf = d.number()
	if born := d.number(); born != math.MinInt64 {
		got.Born = time.Unix(0, born)
	}
	for _, to := range []*time.Duration{&got.Fresh, &got.Stale, &got.OnError, &got.Took} {
		*to = time.Duration(d.number())
	}
	got.Status = int(d.number())
	got.Type, got.ETag = string(d.text()), string(d.text())
	if n := d.length(maxEncodedTags); n > 0 {
		got.Tags = make([]string, n)
		for i := range got.Tags {
			got.Tags[i] = string(d.text())
		}
	}
	got.Head, got.Body = d.text(), d.text()
	if d.bad || len(d.rest) > 0 {
		return errEncoding
	}
	*e = got
	return nil
}

// decoder reads from the front; after the first misfit it gives zeros.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number() int64 {
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) length(most int) int {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || n > uint64(most) {
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return int(n)
}

func (d *decoder) text() []byte {
	n := d.length(len(d.rest))
	if n > len(d.rest) {
		d.fail()
	}
	if d.bad || n == 0 {
		return nil
	}
	text := d.rest[:n:n]
	d.rest = d.rest[n:]
	return text
}

func (d *decoder) fail() { d.rest, d.bad = nil, true }
