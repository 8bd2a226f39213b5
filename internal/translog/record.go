package translog

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/fieldmark/fieldmark"
)

// EntrySize is the number of bytes of an entry: an HMAC-SHA-256.
const EntrySize = sha256.Size

// recordHeader is the first line of a record. It changes with the format.
const recordHeader = "fieldmark score/1"

// Record is what a leaf of the log commits to: which facts a module scored for a brand, and since when.
type Record struct {
	Brand  fieldmark.Slug
	Facts  fieldmark.Digest
	Module fieldmark.Digest
	Time   time.Time // in whole microseconds, UTC
}

// String returns the bytes that an entry is computed from.
func (r Record) String() string {
	return fmt.Sprintf("%s\nbrand %s\nfacts %s\nmodule %s\ntime %s\n", recordHeader, r.Brand, r.Facts, r.Module,
		r.Time.UTC().Format(time.RFC3339Nano))
}

// ParseRecord is the reverse of Record.String. It accepts only what String returns.
func ParseRecord(text string) (r Record, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 6 || lines[0] != recordHeader {
		return r, fmt.Errorf("a record does not have 5 lines that begin with %q", recordHeader)
	}
	values := make([]string, 4)
	for i, name := range []string{"brand ", "facts ", "module ", "time "} {
		value, ok := strings.CutPrefix(lines[i+1], name)
		if !ok {
			return r, fmt.Errorf("line %d of a record does not begin with %q", i+2, name)
		}
		values[i] = value
	}
	var bad [4]error
	r.Brand, bad[0] = fieldmark.ParseSlug(values[0])
	r.Facts, bad[1] = fieldmark.ParseDigest(values[1])
	r.Module, bad[2] = fieldmark.ParseDigest(values[2])
	r.Time, bad[3] = time.Parse(time.RFC3339Nano, values[3])
	if err := errors.Join(bad[:]...); err != nil {
		return r, fmt.Errorf("parse a record: %w", err)
	}
	if r.String() != text {
		return r, errors.New("a record is not in its canonical form")
	}
	return r, nil
}

// Entry returns the bytes of a leaf: HMAC-SHA-256 of the record under the salt of the leaf. Without the
// salt an entry reveals nothing, not even whether a guess of the record is right.
func Entry(salt []byte, record string) []byte {
	mac := hmac.New(sha256.New, salt)
	mac.Write([]byte(record))
	return mac.Sum(nil)
}

// LeafSalt returns the salt of a leaf, derived from the secret of its brand. It discloses neither the
// secret nor the salts of other leaves.
func LeafSalt(secret []byte, log, index int64) []byte {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "leaf %d %d", log, index)
	return mac.Sum(nil)
}

// LeafHash returns the hash of an entry in the tree (RFC 6962, section 2.1).
func LeafHash(entry []byte) tlog.Hash { return tlog.RecordHash(entry) }

// AppendBundle appends entries, EntrySize bytes each, as an entry bundle: each after its length.
func AppendBundle(b, entries []byte) []byte {
	for ; len(entries) >= EntrySize; entries = entries[EntrySize:] {
		b = binary.BigEndian.AppendUint16(b, EntrySize)
		b = append(b, entries[:EntrySize]...)
	}
	return b
}

// ParseBundle returns the entries of a bundle that must have n of them. Their sizes are not checked:
// another log may have longer ones.
func ParseBundle(b []byte, n int) (entries [][]byte, err error) {
	for len(b) > 0 {
		if len(b) < 2 || len(b)-2 < int(binary.BigEndian.Uint16(b)) {
			return nil, errors.New("an entry bundle ends within an entry")
		}
		size := int(binary.BigEndian.Uint16(b))
		entries, b = append(entries, b[2:2+size]), b[2+size:]
	}
	if len(entries) != n {
		return nil, fmt.Errorf("an entry bundle has %d entries, not %d", len(entries), n)
	}
	return entries, nil
}
