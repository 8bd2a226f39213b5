package conn

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// Nine requests in ten are simple GETs of one kind of resource, as browsers and
// crawlers send them. Parsing them in full would take longer than everything else, so
// ParseSimpleGET recognizes their shape and no other. What it accepts, the full parser
// reads as the same request (FuzzSimpleGET). It accepts nothing that it is not
// sure of: a rejected request costs a microsecond, a wrong guess another response than
// the client requested.

// SimpleRequest is a GET request of which only the first five values can change the
// response. Its slices are valid until FastPath returns.
type SimpleRequest struct {
	Target      []byte // path and query, of lower-case letters, digits and "-./?=&"
	IfNoneMatch []byte // empty if absent
	UserAgent   []byte // empty if absent
	Size        int    // of the header in bytes, with the empty line
	AltSvc      bool   // the response has the field Alt-Svc

	// For the access log.
	Host         []byte
	ForwardedFor []byte // value of X-Forwarded-For; empty if absent
	Peer         *Peer
}

const (
	methodGET    = "GET "
	protoHTTP1_1 = " HTTP/1.1\r\n"
)

// ParseSimpleGET parses the request that b begins with, if it is a simple GET of a path
// below prefix. It does not allocate.
func ParseSimpleGET(b []byte, prefix string) (r SimpleRequest, ok bool) {
	i := len(methodGET) + len(prefix)
	if len(b) < i || string(b[:len(methodGET)]) != methodGET || string(b[len(methodGET):i]) != prefix {
		return r, false
	}
	start := i
	for i < len(b) && inTarget[b[i]] && (b[i] != '.' || inName[b[i-1]]) {
		i++
	}
	if i == start || len(b)-i < len(protoHTTP1_1) || string(b[i:i+len(protoHTTP1_1)]) != protoHTTP1_1 {
		return r, false
	}
	r.Target = b[len(methodGET):i]
	i += len(protoHTTP1_1)
	var h headerState
	for {
		end := bytes.IndexByte(b[i:], '\r')
		if end < 0 || i+end+1 >= len(b) || b[i+end+1] != '\n' {
			return r, false
		}
		if end == 0 {
			r.Size = i + len("\r\n")
			h.apply(&r)
			return r, h.host != nil && (len(h.ifNoneMatch) > 0 || !h.modifiedSince)
		}
		if !h.parseLine(b[i : i+end]) {
			return r, false
		}
		i += end + len("\r\n")
	}
}

// isSimpleTarget reports whether a target below prefix is one that ParseSimpleGET accepts.
func isSimpleTarget(target, prefix string) bool {
	if !strings.HasPrefix(target, prefix) || len(target) == len(prefix) {
		return false
	}
	for i := len(prefix); i < len(target); i++ {
		if !inTarget[target[i]] || target[i] == '.' && !inName[target[i-1]] {
			return false
		}
	}
	return true
}

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// Sets of bytes.
var (
	inName   = byteSet(lower + upper + digits + "-")   // of header names, and before a dot
	inHost   = byteSet(lower + upper + digits + "-.:") // a name or an IPv4 address, and a port
	inTarget = byteSet(lower + digits + "-" + ".?=&")  // nothing that decoding would change
)

func byteSet(chars string) (set [256]bool) {
	for _, c := range []byte(chars) {
		set[c] = true
	}
	return set
}

// headerState is what the header fields so far contain.
type headerState struct {
	ifNoneMatch   []byte
	userAgent     []byte
	host          []byte
	forwardedFor  []byte
	modifiedSince bool // If-Modified-Since, which counts only without If-None-Match
}

// apply copies the values to a request.
func (h *headerState) apply(r *SimpleRequest) {
	r.IfNoneMatch, r.UserAgent, r.Host, r.ForwardedFor = h.ifNoneMatch, h.userAgent, h.host, h.forwardedFor
}

// parseLine parses one header field. It returns false for a field that may change the
// response or whose meaning is unknown.
func (h *headerState) parseLine(line []byte) bool {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || !printable(line[colon:]) {
		return false
	}
	return h.parseField(line[:colon], bytes.Trim(line[colon+1:], " "))
}

// parseLower parses a header field of HTTP/2, whose name must be in lower case, and whose
// value must not begin or end with a blank.
func (h *headerState) parseLower(name, value []byte) bool {
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return printable(value) && len(bytes.Trim(value, " ")) == len(value) && string(name) != "connection" &&
		string(name) != "host" && h.parseField(name, value)
}

// parseField parses a header field whose value is printable.
func (h *headerState) parseField(name, value []byte) bool {
	switch {
	case foldEqual(name, "host"):
		if h.host != nil || len(value) == 0 {
			return false
		}
		for _, c := range value {
			if !inHost[c] {
				return false
			}
		}
		h.host = value
		return true
	case foldEqual(name, "user-agent"):
		if h.userAgent != nil {
			return false
		}
		h.userAgent = value
		return true
	case foldEqual(name, "if-none-match"):
		if h.ifNoneMatch != nil || len(value) == 0 {
			return false
		}
		h.ifNoneMatch = value
		return true
	case foldEqual(name, "if-modified-since"):
		h.modifiedSince = true
		return true
	case foldEqual(name, "connection"):
		return foldEqual(value, "keep-alive")
	case foldEqual(name, "x-forwarded-for"):
		if h.forwardedFor != nil {
			return false
		}
		h.forwardedFor = value
		return true
	}
	return ignored(name)
}

// ignored reports whether a field of this name cannot change the response: browsers
// describe themselves with it, or proxies add it.
func ignored(name []byte) bool {
	for _, known := range ignoredHeaders[min(len(name), len(ignoredHeaders)-1)] {
		if foldEqual(name, known) {
			return true
		}
	}
	if !foldPrefix(name, "sec-") && !foldPrefix(name, "x-forwarded-") {
		return false
	}
	for _, c := range name {
		if !inName[c] {
			return false
		}
	}
	return true
}

// ignoredHeaders are those names by their length.
var ignoredHeaders = func() (byLength [len("upgrade-insecure-requests") + 1][]string) {
	for _, name := range []string{
		"accept", "accept-language", "accept-encoding", "referer", "cookie", "dnt", "origin", "priority", "save-data",
		"upgrade-insecure-requests", "cache-control", "pragma", "x-real-ip", "forwarded", "x-requested-with",
	} {
		byLength[len(name)] = append(byLength[len(name)], name)
	}
	return byLength
}()

// foldEqual compares a header name with one in lower case. Setting bit 0x20 changes
// bytes that are not letters too, but never into a letter, and only CR into a hyphen; a
// line contains no CR.
func foldEqual(name []byte, lower string) bool {
	return len(name) == len(lower) && foldPrefix(name, lower)
}

func foldPrefix(name []byte, lower string) bool {
	if len(name) < len(lower) {
		return false
	}
	for i := range len(lower) {
		if name[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// printable reports whether b consists of printable ASCII and spaces. It tests eight
// bytes at a time: the high bit of a byte is set if it was set before (not ASCII), if
// adding one sets it (DEL), or if subtracting a space borrows (a control character).
func printable(b []byte) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for len(b) >= 8 {
		x := binary.LittleEndian.Uint64(b)
		if (x|(x+ones)|(x-0x20*ones))&high != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c < 0x20 || c > 0x7e {
			return false
		}
	}
	return true
}
