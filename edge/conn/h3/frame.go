package h3

import (
	"fmt"
	"io"

	"github.com/quic-go/quic-go/quicvarint"
)

// Types of frames (7.2).
const (
	frameData           = 0x0
	frameHeaders        = 0x1
	frameCancelPush     = 0x3
	frameSettings       = 0x4
	framePushPromise    = 0x5
	frameGoAway         = 0x7
	frameMaxPushID      = 0xd
	framePriorityUpdate = 0xf0700 // of a request (RFC 9218, 7.2)
	framePriorityPush   = 0xf0701 // of a push
)

// reservedFrame reports whether a type is one of HTTP/2 that HTTP/3 has not (7.2.8).
func reservedFrame(typ uint64) bool { return typ == 0x2 || typ == 0x6 || typ == 0x8 || typ == 0x9 }

// Types of unidirectional streams (6.2; RFC 9204, 4.2).
const (
	streamControl = 0x0
	streamPush    = 0x1
	streamEncoder = 0x2
	streamDecoder = 0x3
)

// Code is an error code (8.1; RFC 9204, 6).
type Code uint64

// Error codes.
const (
	NoError              Code = 0x100
	GeneralProtocolError Code = 0x101
	InternalError        Code = 0x102
	StreamCreationError  Code = 0x103
	ClosedCriticalStream Code = 0x104
	FrameUnexpected      Code = 0x105
	FrameError           Code = 0x106
	ExcessiveLoad        Code = 0x107
	IDError              Code = 0x108
	SettingsError        Code = 0x109
	MissingSettings      Code = 0x10a
	RequestRejected      Code = 0x10b
	RequestCancelled     Code = 0x10c
	RequestIncomplete    Code = 0x10d
	MessageError         Code = 0x10e
	DecompressionFailed  Code = 0x200
	EncoderStreamError   Code = 0x201
	DecoderStreamError   Code = 0x202
)

// connError is an error that ends the connection (8).
type connError struct {
	code   Code
	reason string
}

// Error implements error.
func (e *connError) Error() string { return fmt.Sprintf("%s (code %#x)", e.reason, uint64(e.code)) }

func connErrorf(code Code, reason string) error { return &connError{code, reason} }

// streamError is an error that ends a stream.
// Others of the connection go on: their requests have nothing to do with it.
type streamError struct {
	code   Code
	reason string
}

// Error implements error.
func (e *streamError) Error() string { return fmt.Sprintf("%s (code %#x)", e.reason, uint64(e.code)) }

// maxFrameHeader is the longest header of a frame in bytes: two integers.
const maxFrameHeader = 16

// parseFrameHeader parses the header of the frame that b begins with, and returns its
// size. It is 0 if b does not hold the header.
// Both integers have one to eight bytes, and need not be the shortest form (RFC 9000, 16).
func parseFrameHeader(b []byte) (typ, length uint64, size int) {
	typ, n, err := quicvarint.Parse(b)
	if err != nil {
		return 0, 0, 0
	}
	length, m, err := quicvarint.Parse(b[n:])
	if err != nil {
		return 0, 0, 0
	}
	return typ, length, n + m
}

// appendFrame appends the header of a frame.
func appendFrame(dst []byte, typ, length uint64) []byte {
	return quicvarint.Append(quicvarint.Append(dst, typ), length)
}

// frameReader splits the bytes of a stream into frames. It never holds more than one
// buffer, whatever lengths the frames claim.
type frameReader struct {
	r       io.Reader
	buf     []byte // read and not consumed: a part of store
	store   []byte
	left    uint64 // bytes of the present frame that were not consumed
	ended   bool   // r has returned io.EOF
	readErr error  // another error of r
}

// fill reads once. It returns io.EOF if the stream has ended, and moves what is buffered
// to the beginning of store.
// An error that came with bytes is returned by the next call, when they were used.
func (f *frameReader) fill() error {
	if f.readErr != nil {
		return f.readErr
	}
	if f.ended {
		return io.EOF
	}
	n := copy(f.store, f.buf)
	k, err := f.r.Read(f.store[n:])
	f.buf = f.store[:n+k]
	switch {
	case err == io.EOF:
		f.ended = true
	case err != nil:
		f.readErr = err
	}
	if k > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// next skips the rest of the present frame and returns type and length of the next. At the
// end of the stream it returns io.EOF, within a frame an error of the connection (7.1).
// A frame that is ignored is read in pieces of one buffer, so its length costs no memory.
func (f *frameReader) next() (typ, length uint64, err error) {
	if err := f.skip(); err != nil {
		return 0, 0, err
	}
	for {
		typ, length, size := parseFrameHeader(f.buf)
		if size > 0 {
			f.buf, f.left = f.buf[size:], length
			return typ, length, nil
		}
		switch err := f.fill(); {
		case err == io.EOF && len(f.buf) > 0:
			return 0, 0, errTruncated
		case err != nil:
			return 0, 0, err
		}
	}
}

var errTruncated = connErrorf(FrameError, "the stream ends within a frame")

// skip drops the rest of the present frame.
func (f *frameReader) skip() error {
	for f.left > 0 {
		if _, err := f.data(); err != nil {
			return err
		}
	}
	return nil
}

// data returns the next bytes of the present frame; they are valid until the next call.
// At the end of the frame it returns nil.
func (f *frameReader) data() ([]byte, error) {
	if f.left == 0 {
		return nil, nil
	}
	if len(f.buf) == 0 {
		if err := f.fill(); err == io.EOF {
			return nil, errTruncated
		} else if err != nil {
			return nil, err
		}
	}
	n := min(uint64(len(f.buf)), f.left)
	p := f.buf[:n]
	f.buf, f.left = f.buf[n:], f.left-n
	return p, nil
}

// payload returns the whole payload of the present frame, which the caller has bounded; it
// is valid until the next call.
func (f *frameReader) payload() ([]byte, error) {
	if f.left <= uint64(len(f.buf)) {
		return f.data()
	}
	var all []byte // grows with what arrives, not with what the length claims
	for f.left > 0 {
		p, err := f.data()
		if err != nil {
			return nil, err
		}
		all = append(all, p...)
	}
	return all, nil
}
