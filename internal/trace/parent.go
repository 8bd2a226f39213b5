package trace

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// Header is the request field that names the parent span.
const Header = "Traceparent"

// SpanContext names a span and its trace. The zero SpanContext names none.
type SpanContext struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool // the trace is recorded, as decided where it started
}

// Valid reports whether p names a trace and a span; all zeros name none.
func (p SpanContext) Valid() bool { return p.Trace != [16]byte{} && p.Span != [8]byte{} }

// parentLength is the length in version 00: 00-<32 hex>-<16 hex>-<2 hex>.
const parentLength = 55

// Parse parses a traceparent. Of later versions it reads the part that is known (W3C Trace
// Context, section 4). A malformed field gives the zero SpanContext.
func Parse(field string) (p SpanContext) {
	if len(field) < parentLength || len(field) > parentLength && (field[:2] == "00" || field[parentLength] != '-') ||
		field[2] != '-' || field[35] != '-' || field[52] != '-' ||
		strings.ToLower(field[:parentLength]) != field[:parentLength] {
		return SpanContext{}
	}
	var head [2]byte // version and flags
	for _, part := range []struct {
		to   []byte
		text string
	}{{head[:1], field[:2]}, {p.Trace[:], field[3:35]}, {p.Span[:], field[36:52]}, {head[1:], field[53:55]}} {
		if _, err := hex.Decode(part.to, []byte(part.text)); err != nil {
			return SpanContext{}
		}
	}
	if p.Sampled = head[1]&1 == 1; head[0] == 0xff || !p.Valid() {
		return SpanContext{}
	}
	return p
}

// String returns p as a traceparent, or "" if it names no span.
func (p SpanContext) String() string {
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

// With returns a context in which spans are children of p, or ctx itself if p names no span.
func With(ctx context.Context, p SpanContext) context.Context {
	if !p.Valid() {
		return ctx
	}
	return context.WithValue(ctx, parentKey{}, p)
}

// From returns the parent of spans under ctx.
func From(ctx context.Context) SpanContext {
	p, _ := ctx.Value(parentKey{}).(SpanContext)
	return p
}

func newTrace() (id [16]byte) {
	rand.Read(id[:]) // never fails (crypto/rand)
	return id
}

func newSpan() (id [8]byte) {
	rand.Read(id[:]) // never fails (crypto/rand)
	return id
}

// sampleRatio maps a trace id to a number from 0 to 1: a trace is sampled if it is below
// Config.Ratio. Nodes with the same ratio sample the same traces.
func sampleRatio(id [16]byte) float64 {
	const bits = 53 // as many as a float64 holds exactly
	return float64(binary.BigEndian.Uint64(id[8:])>>(64-bits)) / (1 << bits)
}
