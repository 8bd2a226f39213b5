package bytecode

import "encoding/binary"

// Header is the magic number and version 1 of a core module.
const Header = "\x00asm\x01\x00\x00\x00"

// The sections (Core Specification 5.5).
const (
	SectionCustom    = 0
	SectionType      = 1
	SectionImport    = 2
	SectionFunction  = 3
	SectionTable     = 4
	SectionMemory    = 5
	SectionGlobal    = 6
	SectionExport    = 7
	SectionStart     = 8
	SectionElement   = 9
	SectionCode      = 10
	SectionData      = 11
	SectionDataCount = 12
)

// The types of values, functions and blocks (5.3).
const (
	TypeI32      = 0x7f
	TypeI64      = 0x7e
	TypeF64      = 0x7c
	TypeFunction = 0x60
	TypeFuncref  = 0x70
	TypeEmpty    = 0x40 // of a block without a result
)

// The kinds of imports and exports (5.5.5, 5.5.10).
const (
	KindFunction = 0
	KindMemory   = 2
	KindGlobal   = 3
)

// The instructions (5.4) that are generated, rewritten or checked by name.
const (
	Unreachable   = 0x00
	Block         = 0x02
	Loop          = 0x03
	If            = 0x04
	Else          = 0x05
	End           = 0x0b
	Br            = 0x0c
	BrIf          = 0x0d
	BrTable       = 0x0e
	Call          = 0x10
	CallIndirect  = 0x11
	Select        = 0x1b
	LocalGet      = 0x20
	LocalSet      = 0x21
	LocalTee      = 0x22
	GlobalGet     = 0x23
	GlobalSet     = 0x24
	I64Load       = 0x29
	I32Load8U     = 0x2d
	I32Store      = 0x36
	MemorySize    = 0x3f
	MemoryGrow    = 0x40
	I32Const      = 0x41
	I64Const      = 0x42
	F32Const      = 0x43
	F64Const      = 0x44
	I32Eq         = 0x46
	I32Ne         = 0x47
	I32LtS        = 0x48
	I32GeS        = 0x4e
	I64Eqz        = 0x50
	I64Eq         = 0x51
	I64LtS        = 0x53
	I64GtS        = 0x55
	I64LeS        = 0x57
	I32Add        = 0x6a
	I32Sub        = 0x6b
	I32And        = 0x71
	I32Or         = 0x72
	I32Shl        = 0x74
	I64Add        = 0x7c
	I64Sub        = 0x7d
	I64Mul        = 0x7e
	I64DivU       = 0x80
	I64ShrU       = 0x88
	I32WrapI64    = 0xa7
	I64ExtendI32S = 0xac
	I64ExtendI32U = 0xad
	Misc          = 0xfc // prefix of a second byte:

	MiscTruncLast  = 7 // 0 to 7 convert floats to integers without trapping
	MiscMemoryCopy = 10
	MiscMemoryFill = 11
)

// AppendSection appends a section.
func AppendSection(dst []byte, id byte, body []byte) []byte {
	dst = binary.AppendUvarint(append(dst, id), uint64(len(body)))
	return append(dst, body...)
}

// AppendVector appends byte strings, each with its length, after their number: the
// form of the code section.
func AppendVector(dst []byte, items [][]byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(items)))
	for _, item := range items {
		dst = binary.AppendUvarint(dst, uint64(len(item)))
		dst = append(dst, item...)
	}
	return dst
}

// AppendSigned appends a signed LEB128, which differs from the zigzag encoding of
// binary.AppendVarint. Unsigned ones are written with binary.AppendUvarint.
func AppendSigned(dst []byte, v int64) []byte {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(dst, low)
		}
		dst = append(dst, low|0x80)
	}
}

// Reader reads the primitives of the format. After a failed read it returns zeros
// and Failed is set, so that callers check once.
type Reader struct {
	Buf    []byte
	Pos    int
	Failed bool
}

// Skip moves to the end, after an error was reported for the remaining bytes.
func (r *Reader) Skip() { r.Pos = len(r.Buf) }

// Rest returns the bytes that were not read.
func (r *Reader) Rest() []byte { return r.Buf[r.Pos:] }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if b := r.Bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// Bytes reads n bytes, which it does not copy.
func (r *Reader) Bytes(n int) []byte {
	if r.Failed || n < 0 || n > len(r.Buf)-r.Pos {
		r.Failed = true
		return nil
	}
	b := r.Buf[r.Pos : r.Pos+n : r.Pos+n]
	r.Pos += n
	return b
}

// Vector reads a length and as many bytes, which it does not copy.
func (r *Reader) Vector() []byte { return r.Bytes(int(r.U32())) }

// U32 reads an unsigned LEB128 of 32 bits, at most five bytes.
func (r *Reader) U32() uint32 {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		b := r.Byte()
		if shift == 28 && b > 0x0f {
			break
		}
		v |= uint32(b&0x7f) << shift
		if r.Failed { // in the middle of a number
			return 0
		}
		if b < 0x80 {
			return v
		}
	}
	r.Failed = true
	return 0
}

// SkipSigned skips a signed LEB128 of at most n bytes.
func (r *Reader) SkipSigned(n int) {
	for range n {
		if r.Byte() < 0x80 {
			return
		}
	}
	r.Failed = true
}
