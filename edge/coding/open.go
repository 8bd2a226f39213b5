package coding

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
)

// Open is the gzip form of the beginning of a body whose end differs from answer
// to answer. Deflate may hold bytes as they are, so an end is put behind without
// compressing anything (RFC 1951, 3.2.4).
type Open struct {
	coded []byte // up to the end of a byte, the last block not yet begun
	sum   uint32 // CRC-32 of the beginning
	size  uint32
}

// gzipHead names no file, no time and no system (RFC 1952, 2.3).
const gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// maxStoredBlock is what one block can hold as it is, in bytes.
const maxStoredBlock = 1<<16 - 1

// NewOpen compresses the beginning, or returns nil where that does not pay.
func NewOpen(beginning []byte) *Open {
	var b bytes.Buffer
	b.WriteString(gzipHead)
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		panic("BUG: " + err.Error()) // the level is one there is
	}
	if _, err := w.Write(beginning); err != nil || w.Flush() != nil {
		return nil // a buffer takes everything
	}
	if !worth(b.Len(), len(beginning)) {
		return nil
	}
	return &Open{coded: bytes.Clone(b.Bytes()), sum: crc32.ChecksumIEEE(beginning), size: uint32(len(beginning))}
}

// Append appends the gzip form of the whole body, which ends with end.
func (o *Open) Append(dst, end []byte) []byte {
	dst = append(dst, o.coded...)
	sum, size := crc32.Update(o.sum, crc32.IEEETable, end), o.size+uint32(len(end))
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

// Len is roughly what an Open takes in memory, in bytes.
func (o *Open) Len() int { return len(o.coded) }
