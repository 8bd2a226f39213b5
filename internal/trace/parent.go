package trace

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// Header is the field that names the parent of a request.
const Header = "Traceparent"

// Parent is what a span is part of: a trace, and the span within it. The zero
// Parent is none.
type Parent struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool // whether whoever began the trace wants it told
}

// Valid reports whether p names a trace and a span; all zeros name none.
func (p Parent) Valid() bool { return p.Trace != [16]byte{} && p.Span != [8]byte{} }

// parentLength is that of version 00: 00-<32 hex>-<16 hex>-<2 hex>.
const parentLength = 55

// Parse reads a traceparent. Later versions may have more after what is known; of
// them that much is read (W3C Trace Context, section 4). What is malformed is none.
func Parse(field string) (p Parent) {
	if len(field) < parentLength || len(field) > parentLength && (field[:2] == "00" || field[parentLength] != '-') ||
		field[2] != '-' || field[35] != '-' || field[52] != '-' || strings.ToLower(field[:parentLength]) != field[:parentLength] {
		return Parent{}
	}
	var head [2]byte // version and flags
	for _, part := range []struct {
		to   []byte
		text string
	}{{head[:1], field[:2]}, {p.Trace[:], field[3:35]}, {p.Span[:], field[36:52]}, {head[1:], field[53:55]}} {
		if _, err := hex.Decode(part.to, []byte(part.text)); err != nil {
			return Parent{}
		}
	}
	if p.Sampled = head[1]&1 == 1; head[0] == 0xff || !p.Valid() {
		return Parent{}
	}
	return p
}

// String writes p as a traceparent; none is empty.
func (p Parent) String() string {
	if !p.Valid() {
		return ""
	}
	b := make([]byte, 0, parentLength)
	b = hex.AppendEncode(append(b, "00-"...), p.Trace[:])
	b = hex.AppendEncode(append(b, '-'), p.Span[:])
	if p.Sampled {
		return string(append(b, "-01"...))
	}
	return string(append(b, "-00"...))
}

type parentKey struct{}

// With returns a context whose work is part of p; ctx itself if p is none.
func With(ctx context.Context, p Parent) context.Context {
	if !p.Valid() {
		return ctx
	}
	return context.WithValue(ctx, parentKey{}, p)
}

// From returns what the work under ctx is part of.
func From(ctx context.Context) Parent {
	p, _ := ctx.Value(parentKey{}).(Parent)
	return p
}

// newTrace begins a trace.
func newTrace() (id [16]byte) {
	rand.Read(id[:]) // never fails (crypto/rand)
	return id
}

func newSpan() (id [8]byte) {
	rand.Read(id[:]) // never fails (crypto/rand)
	return id
}

// share is where a trace stands between 0 and 1. All nodes with one ratio take the
// same traces.
func share(id [16]byte) float64 {
	const bits = 53 // as many as a float64 holds exactly
	return float64(binary.BigEndian.Uint64(id[8:])>>(64-bits)) / (1 << bits)
}
