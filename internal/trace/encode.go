package trace

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// The message is an ExportTraceServiceRequest of OTLP 1.x in protobuf. Field numbers are
// given with their names where they are used.

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

const scopeName = "github.com/fieldmark/fieldmark"

func appendTag(b []byte, field, wire int) []byte {
	return binary.AppendUvarint(b, uint64(field)<<3|uint64(wire))
}

func appendBytes[T string | []byte](b []byte, field int, v T) []byte {
	b = binary.AppendUvarint(appendTag(b, field, wireBytes), uint64(len(v)))
	return append(b, v...)
}

// appendText writes a string, which must be UTF-8.
func appendText(b []byte, field int, v string) []byte {
	return appendBytes(b, field, strings.ToValidUTF8(v, "\uFFFD"))
}

func appendVarint(b []byte, field int, v int64) []byte {
	return binary.AppendUvarint(appendTag(b, field, wireVarint), uint64(v))
}

func appendFixed64(b []byte, field int, v int64) []byte {
	return binary.LittleEndian.AppendUint64(appendTag(b, field, wireFixed64), uint64(v))
}

// appendResource writes a Resource: attributes = 1.
func appendResource(b []byte, attrs map[string]string) []byte {
	for _, key := range slices.Sorted(maps.Keys(attrs)) {
		b = appendBytes(b, 1, appendAttr(nil, attr{key: key, text: attrs[key]}))
	}
	return b
}

// appendAttr writes a KeyValue: key = 1, value = 2 { string_value = 1, int_value = 3 }.
func appendAttr(b []byte, a attr) []byte {
	var value []byte
	if a.isNumber {
		value = appendVarint(nil, 3, a.number)
	} else {
		value = appendText(nil, 1, a.text)
	}
	return appendBytes(appendText(b, 1, a.key), 2, value)
}

// appendMessage writes resource_spans = 1 { resource = 1, scope_spans = 2 { scope
// = 1 { name = 1 }, spans = 2 } }.
func appendMessage(b, resource []byte, spans []*Span) []byte {
	scope := appendBytes(nil, 1, appendText(nil, 1, scopeName))
	var span []byte
	for _, s := range spans {
		span = s.append(span[:0])
		scope = appendBytes(scope, 2, span)
	}
	return appendBytes(b, 1, appendBytes(appendBytes(nil, 1, resource), 2, scope))
}

// append writes a Span: trace_id = 1, span_id = 2, parent_span_id = 4, name = 5,
// kind = 6, start_time_unix_nano = 7, end_time_unix_nano = 8, attributes = 9,
// status = 15 { message = 2, code = 3, where 2 is an error }, flags = 16.
func (s *Span) append(b []byte) []byte {
	b = appendBytes(appendBytes(b, 1, s.self.Trace[:]), 2, s.self.Span[:])
	if s.parent != [8]byte{} {
		b = appendBytes(b, 4, s.parent[:])
	}
	b = appendVarint(appendText(b, 5, s.name), 6, int64(s.kind))
	start := s.start.UnixNano()
	b = appendFixed64(appendFixed64(b, 7, start), 8, start+s.took.Nanoseconds())
	for _, a := range s.attrs {
		b = appendBytes(b, 9, appendAttr(nil, a))
	}
	if s.err != "" {
		b = appendBytes(b, 15, appendVarint(appendText(nil, 2, s.err), 3, 2))
	}
	return binary.LittleEndian.AppendUint32(appendTag(b, 16, wireFixed32), 1) // sampled
}
