package h2

import (
	"encoding/binary"
	"fmt"
)

// frameType is the type of a frame (6).
type frameType uint8

const (
	frameData           frameType = 0x0
	frameHeaders        frameType = 0x1
	framePriority       frameType = 0x2
	frameReset          frameType = 0x3
	frameSettings       frameType = 0x4
	framePushPromise    frameType = 0x5
	framePing           frameType = 0x6
	frameGoAway         frameType = 0x7
	frameWindowUpdate   frameType = 0x8
	frameContinuation   frameType = 0x9
	framePriorityUpdate frameType = 0x10 // RFC 9218, 7.1
)

// Flags of frames.
const (
	flagEndStream  = 0x1 // of DATA and HEADERS
	flagAck        = 0x1 // of SETTINGS and PING
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

const (
	frameHeaderSize = 9
	// maxFrame is the largest frame that is accepted and sent, in bytes: the least that
	// every peer must accept (4.2). Larger ones would only delay other streams.
	maxFrame = 16384
	// preface begins a client's connection (3.4).
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	// maxWindow is the largest window, in bytes (6.9.1).
	// It also masks the reserved bit of identifiers and increments (4.1).
	maxWindow = 1<<31 - 1
	// settingSize is the size of a setting in SETTINGS, in bytes (6.5.1).
	settingSize = 6
	// defaultWindow is the window of a stream and a connection at first, in bytes (6.9.2).
	defaultWindow = 65535
)

// Code is an error code (7).
type Code uint32

// Error codes.
const (
	NoError          Code = 0x0
	ProtocolError    Code = 0x1
	InternalError    Code = 0x2
	FlowControlError Code = 0x3
	SettingsTimeout  Code = 0x4
	StreamClosed     Code = 0x5
	FrameSizeError   Code = 0x6
	RefusedStream    Code = 0x7
	CompressionError Code = 0x9
	EnhanceYourCalm  Code = 0xb
)

// connError is an error that ends the connection (5.4.1).
type connError struct {
	code   Code
	reason string
}

// Error implements error.
func (e *connError) Error() string { return fmt.Sprintf("%s (code %d)", e.reason, e.code) }

func connErrorf(code Code, reason string) error { return &connError{code, reason} }

// frame is a frame whose payload shares the bytes of the read buffer.
type frame struct {
	typ     frameType
	flags   byte
	id      uint32
	length  int // of the payload, of which not all may have been read
	payload []byte
}

func (f *frame) has(flag byte) bool { return f.flags&flag != 0 }

// parseFrame parses the header of the frame that b begins with and the part of its
// payload that b holds. It reports false if b does not hold the header.
func parseFrame(b []byte) (f frame, ok bool) {
	if len(b) < frameHeaderSize {
		return f, false
	}
	// The length is taken as declared: the caller compares it with maxFrame before it waits for
	// the rest.
	f = frame{typ: frameType(b[3]), flags: b[4], length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]),
		id: binary.BigEndian.Uint32(b[5:]) & maxWindow}
	f.payload = b[frameHeaderSize:min(len(b), frameHeaderSize+f.length)]
	return f, true
}

// unpad removes the padding of a frame whose payload is complete.
func (f *frame) unpad() error {
	if !f.has(flagPadded) {
		return nil
	}
	if len(f.payload) == 0 {
		return connErrorf(FrameSizeError, "a padded frame has no length of its padding")
	}
	pad := int(f.payload[0])
	// The byte that holds the length is part of the payload, hence not equal either (6.1).
	if pad >= len(f.payload) {
		return connErrorf(ProtocolError, "the padding is longer than the frame")
	}
	f.payload = f.payload[1 : len(f.payload)-pad]
	return nil
}

// appendHeader appends the header of a frame.
func appendHeader(dst []byte, typ frameType, flags byte, id uint32, length int) []byte {
	return append(dst, byte(length>>16), byte(length>>8), byte(length), byte(typ), flags,
		byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
}

func appendReset(dst []byte, id uint32, code Code) []byte {
	return binary.BigEndian.AppendUint32(appendHeader(dst, frameReset, 0, id, 4), uint32(code))
}

func appendWindowUpdate(dst []byte, id uint32, n int) []byte {
	return binary.BigEndian.AppendUint32(appendHeader(dst, frameWindowUpdate, 0, id, 4), uint32(n))
}

func appendGoAway(dst []byte, last uint32, code Code) []byte {
	dst = appendHeader(dst, frameGoAway, 0, 0, 8)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, last), uint32(code))
}

// Settings (6.5.2; RFC 9218, 2.1).
const (
	settingTableSize       = 0x1
	settingEnablePush      = 0x2
	settingMaxStreams      = 0x3
	settingInitialWindow   = 0x4
	settingMaxFrame        = 0x5
	settingMaxHeaderList   = 0x6
	settingNoOldPriorities = 0x9
)

func appendSetting(dst []byte, id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(dst, id), value)
}
