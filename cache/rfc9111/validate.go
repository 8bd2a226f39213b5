package rfc9111

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// conditionals are the fields that make a request conditional (RFC 9110, 13.1).
var conditionals = []string{"If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range"}

// RemoveConditionals removes the conditions of a request, and its Range.
func RemoveConditionals(h http.Header) {
	for _, name := range conditionals {
		delete(h, name)
	}
	delete(h, "Range")
}

// SetConditions makes a request ask whether the stored response is still valid (RFC
// 9111, 4.3.1). It replaces the conditions of the request.
func (r *Response) SetConditions(h http.Header) {
	RemoveConditionals(h)
	if tag := r.Header.Get("Etag"); tag != "" {
		h.Set("If-None-Match", tag)
	}
	if modified := r.Header.Get("Last-Modified"); modified != "" {
		h.Set("If-Modified-Since", modified)
	}
}

// RequiresOrigin reports whether a request has conditions that only the origin can
// evaluate (RFC 9111, 4.3.2).
func RequiresOrigin(h http.Header) bool {
	return len(h["If-Match"]) > 0 || len(h["If-Unmodified-Since"]) > 0
}

// NotModified reports whether the client already has the response, so that the
// answer is a 304 (RFC 9111, 4.3.2; RFC 9110, 13.2.2).
func (r *Response) NotModified(h http.Header) bool {
	if r.Status != http.StatusOK { // RFC 9110, 13.2.1: conditions apply to a 200
		return false
	}
	if lines := h["If-None-Match"]; len(lines) > 0 { // it takes precedence
		return MatchETags(lines, r.Header.Get("Etag"))
	}
	lines := h["If-Modified-Since"]
	if len(lines) != 1 {
		return false
	}
	since, ok := ParseDate(lines[0], r.Received)
	if !ok {
		return false // RFC 9110, 13.1.3: ignored
	}
	modified, ok := ParseDate(r.Header.Get("Last-Modified"), r.Received)
	if !ok {
		modified = DateOf(r.Header, r.Received) // RFC 9111, 4.3.2
	}
	return !modified.After(since)
}

// MatchETags reports whether one of the lines of an If-None-Match field matches
// etag; see MatchETag.
func MatchETags(lines []string, etag string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return MatchETag(line, etag) })
}

// MatchETag reports whether an If-None-Match list contains etag, by the weak
// comparison (RFC 9110, 8.8.3.2 and 13.1.2). It does not allocate.
func MatchETag(list, etag string) bool {
	if list == etag && etag != "" { // the usual case: the client has one version
		return true
	}
	for list != "" {
		var item string
		item, list = cutMember(list)
		item = trimOWS(item)
		if item == "*" || etag != "" && weakMatch(item, etag) {
			return true
		}
	}
	return false
}

// weak reports whether an ETag is weak.
func weak(tag string) bool { return strings.HasPrefix(tag, "W/") }

// weakMatch is the weak comparison (RFC 9110, 8.8.3.2).
func weakMatch(a, b string) bool {
	return strings.TrimPrefix(a, "W/") == strings.TrimPrefix(b, "W/")
}

// strongDate is how much older than Date a Last-Modified must be to identify one
// version of the content (RFC 9110, 8.8.2.2).
const strongDate = time.Second

// IfRangeMatches reports whether Range applies: there is no If-Range, or it
// identifies exactly this response, by the strong comparison (RFC 9110, 13.1.5).
func (r *Response) IfRangeMatches(h http.Header) bool {
	lines := h["If-Range"]
	if len(lines) == 0 {
		return true
	}
	cond := trimOWS(lines[0])
	if len(lines) > 1 {
		return false
	}
	if strings.HasPrefix(cond, `"`) || weak(cond) {
		return !weak(cond) && cond == r.Header.Get("Etag")
	}
	said := r.Header.Get("Last-Modified")
	if cond != said {
		return false
	}
	modified, ok := ParseDate(said, r.Received)
	return ok && DateOf(r.Header, r.Received).Sub(modified) >= strongDate
}

// RangeKind describes how to answer a request with a Range field.
type RangeKind uint8

// The kinds of range.
const (
	// FullContent: no range, or one that may be ignored (RFC 9110, 14.2).
	FullContent RangeKind = iota
	// PartialContent: one satisfiable range.
	PartialContent
	// Unsatisfiable: the range starts after the end of the content (RFC 9110,
	// 15.5.17).
	Unsatisfiable
)

// ParseRange parses a Range field for content of size bytes (RFC 9110, 14.1).
// Several ranges, other units and malformed fields result in FullContent.
func ParseRange(field string, size int64) (kind RangeKind, start, length int64) {
	unit, spec, ok := strings.Cut(field, "=")
	if !ok || !strings.EqualFold(trimOWS(unit), "bytes") {
		return FullContent, 0, 0
	}
	first, last, ok := strings.Cut(trimOWS(spec), "-")
	if !ok {
		return FullContent, 0, 0
	}
	if first == "" { // a suffix length
		n, ok := position(last)
		switch {
		case !ok:
			return FullContent, 0, 0
		case n == 0 || size == 0:
			return Unsatisfiable, 0, 0
		}
		n = min(n, size)
		return PartialContent, size - n, n
	}
	from, ok := position(first)
	if !ok {
		return FullContent, 0, 0
	}
	to := size - 1
	if last != "" {
		n, ok := position(last)
		if !ok || n < from {
			return FullContent, 0, 0
		}
		to = min(n, to)
	}
	if from >= size {
		return Unsatisfiable, 0, 0
	}
	return PartialContent, from, to - from + 1
}

// position parses a byte position, digits only. It saturates instead of
// overflowing.
func position(s string) (int64, bool) {
	if s == "" {
		return 0, false
	}
	n := int64(0)
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		if n < 1<<58 {
			n = n*10 + int64(s[i]-'0')
		}
	}
	return n, true
}
