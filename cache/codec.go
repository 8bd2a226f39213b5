package cache

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// The encoded form of an entry in Redis: the version, ten numbers and lengths as
// varints, then the strings. Without field names and padding, an entry of 2 kB
// takes 30 bytes more than its content, and 16 for the seal. JSON would escape
// bodies, and gob adds a type description to every entry.
const (
	// codecVersion is the first byte. An entry with another version counts as
	// absent. Version 1 ended with a CRC.
	codecVersion = 2
	// maxEncoded limits an encoded entry, in bytes. A larger one delays other calls
	// on the connection by more than a fill costs.
	maxEncoded = 1 << 20
	// maxEncodedTags limits the tags of an encoded entry. More than MaxTags are
	// valid; more than this means damage.
	maxEncodedTags = 1 << 10
	// sealBytes is the length of a seal: HMAC-SHA-256 truncated to 128 bits, half
	// of its length, the minimum that RFC 2104, section 5 recommends.
	sealBytes = 16
)

var (
	errEncoding     = errors.New("cache: not an encoded entry")
	errSealMismatch = errors.New("cache: the seal of an entry does not match")
)

// sealKey authenticates what is stored outside the process: a writer without the
// key cannot create, change, rename or combine entries. Scores from Redis are
// served as they are, and a Redis on a private network often has no password. A
// replay of an earlier entry of the same name is not detected; AsOf and Born make
// it as old as it is.
type sealKey []byte

// newSealKey derives the key from a secret, which may have other uses.
func newSealKey(secret []byte) (sealKey, error) {
	return hkdf.Key(sha256.New, secret, nil, "fieldmark: seal of shared cache entries", sha256.Size)
}

// seal appends a code over the encoded entry and the name it is stored under.
func (k sealKey) seal(name string, encoded []byte) []byte {
	return append(encoded, k.sum(name, encoded)...)
}

// open verifies what seal returned for the same name and returns the encoded entry.
func (k sealKey) open(name string, sealed []byte) ([]byte, error) {
	n := len(sealed) - sealBytes
	if n < 0 || n > maxEncoded || !hmac.Equal(k.sum(name, sealed[:n]), sealed[n:]) {
		return nil, errSealMismatch
	}
	return sealed[:n:n], nil
}

// sum includes the length of the name, so that the end of a name cannot pass for
// the start of an entry.
func (k sealKey) sum(name string, encoded []byte) []byte {
	h := hmac.New(sha256.New, k)
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(name)))
	h.Write(length[:])
	io.WriteString(h, name) // a hash returns no error
	h.Write(encoded)
	return h.Sum(nil)[:sealBytes]
}

// AppendBinary appends the encoded entry to dst. Value and Weight are not encoded.
func (e *Entry) AppendBinary(dst []byte) ([]byte, error) {
	begin := len(dst)
	dst = append(dst, codecVersion)
	dst = binary.AppendVarint(dst, e.AsOf)
	born := int64(math.MinInt64) // no time; the zero time would be out of range
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
	if n := len(dst) - begin; n > maxEncoded {
		return nil, fmt.Errorf("encode an entry: %d bytes, at most %d", n, maxEncoded)
	}
	return dst, nil
}

// appendText appends a string with its length.
func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// UnmarshalBinary decodes what AppendBinary encoded. The entry refers to parts of
// data, which must not be changed afterwards.
func (e *Entry) UnmarshalBinary(data []byte) error {
	if len(data) == 0 || len(data) > maxEncoded || data[0] != codecVersion {
		return errEncoding
	}
	d := decoder{rest: data[1:]}
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

// decoder reads from the front. After an error it returns zeros and bad is set.
type decoder struct {
	rest []byte
	bad  bool
}

// number decodes a varint.
func (d *decoder) number() int64 {
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// length decodes a length of at most most.
func (d *decoder) length(most int) int {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || n > uint64(most) {
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return int(n)
}

// text decodes a string, without copying it.
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
