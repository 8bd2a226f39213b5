package mcp

import (
	"bytes"
	"encoding/json"
)

// members is a cursor over the members of a JSON object that json.Valid accepted. It does not
// allocate: values are parts of the text.
// A decoder into a struct allocates for every member, and a request of a cached score must cost
// little.
type members struct{ rest []byte }

// membersOf returns a cursor over raw, which has no members if it is not an object.
func membersOf(raw []byte) members {
	raw = trimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return members{}
	}
	return members{raw[1:]}
}

// next returns the name and the value of the next member.
func (m *members) next() (name, value []byte, ok bool) {
	m.rest = trimSpace(m.rest)
	if len(m.rest) > 0 && m.rest[0] == ',' {
		m.rest = trimSpace(m.rest[1:])
	}
	if len(m.rest) == 0 || m.rest[0] != '"' {
		return nil, nil, false
	}
	n := valueLength(m.rest)
	name, _ = textOf(m.rest[:n])
	m.rest = trimSpace(m.rest[n:])
	m.rest = trimSpace(m.rest[1:]) // the colon
	n = valueLength(m.rest)
	value, m.rest = m.rest[:n], m.rest[n:]
	return name, value, true
}

// valueLength returns the length of the valid JSON value that b begins with.
// It relies on the validity of b: bounds inside strings and brackets need no checks.
func valueLength(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		// A quotation mark after a backslash does not end the string.
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		// The end of the object around a number or a literal.
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

// textOf returns the characters of a JSON string; ok is false for every other value. Only a
// string with an escape is copied.
// The result may be part of raw: it must not be kept longer than the request.
func textOf(raw []byte) (text []byte, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], true
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return nil, false
	}
	return []byte(s), true
}

func trimSpace(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }

// appendEscaped appends JSON as the characters of a JSON string. Encoded JSON has no control
// characters, so quotation marks and backslashes are all there is to escape.
func appendEscaped(dst, text []byte) []byte {
	for {
		i := bytes.IndexAny(text, `"\`)
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(append(dst, text[:i]...), '\\', text[i])
		text = text[i+1:]
	}
}
