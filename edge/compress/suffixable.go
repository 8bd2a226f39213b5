package compress

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"sync/atomic"
)

// Suffixable is the gzip encoding of the beginning of a body whose end differs from
// response to response. Deflate has blocks that store bytes uncompressed, so an end
// is appended without compressing anything (RFC 1951, 3.2.4).
type Suffixable struct {
	encoded []byte // ends at a byte boundary, with no block begun
	sum     uint32 // CRC-32 of the beginning
	size    uint32 // of the beginning, in bytes
}

// gzipHeader names no file, no time and no system (RFC 1952, 2.3).
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// maxStoredBlock is the capacity of an uncompressed block, in bytes.
const maxStoredBlock = 1<<16 - 1

// NewSuffixable compresses the beginning of a body, or returns nil if that saves too
// little.
func NewSuffixable(beginning []byte) *Suffixable {
	var b bytes.Buffer
	b.WriteString(gzipHeader)
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		panic("BUG: " + err.Error()) // the level is valid
	}
	if _, err := w.Write(beginning); err != nil || w.Flush() != nil {
		return nil // a bytes.Buffer does not fail
	}
	if !worthwhile(b.Len(), len(beginning)) {
		return nil
	}
	return &Suffixable{
		encoded: bytes.Clone(b.Bytes()),
		sum:     crc32.ChecksumIEEE(beginning),
		size:    uint32(len(beginning)),
	}
}

// Append appends the gzip encoding of the whole body, which ends with end, to dst.
func (s *Suffixable) Append(dst, end []byte) []byte {
	dst = append(dst, s.encoded...)
	sum, size := crc32.Update(s.sum, crc32.IEEETable, end), s.size+uint32(len(end))
	for last := false; !last; {
		n := min(len(end), maxStoredBlock)
		last = n == len(end)
		final := byte(0)
		if last {
			final = 1
		}
		dst = append(dst, final)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
		dst = binary.LittleEndian.AppendUint16(dst, ^uint16(n))
		dst, end = append(dst, end[:n]...), end[n:]
	}
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(dst, sum), size)
}

// Size returns the memory that s takes, in bytes, without its constant part.
func (s *Suffixable) Size() int { return len(s.encoded) }

// LazySuffixable produces a Suffixable when it is first needed. Its methods may be
// called concurrently. The zero value is empty.
type LazySuffixable struct {
	started atomic.Bool
	value   atomic.Pointer[Suffixable]
}

// Get returns the Suffixable of beginning, or nil if it does not exist yet. The first call
// has w produce it for later ones.
func (l *LazySuffixable) Get(w *Worker, beginning []byte) *Suffixable {
	if s := l.value.Load(); s != nil {
		return s
	}
	if l.started.CompareAndSwap(false, true) && !w.TrySubmit(func() { l.value.Store(NewSuffixable(beginning)) }) {
		l.started.Store(false)
	}
	return nil
}
