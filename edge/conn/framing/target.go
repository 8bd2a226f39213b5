package framing

import (
	"bytes"
	"net/http"
)

// parseRequestLine checks method, target and version.
func (m *RequestFramer) parseRequestLine(text []byte) *Error {
	method, rest, ok := bytes.Cut(text, space)
	target, version, two := bytes.Cut(rest, space)
	switch {
	case !ok || !two || !isToken(method):
		return badRequest("the request line is not a method, an address and a version")
	case string(version) == "HTTP/1.0":
		m.head.http10 = true
	case string(version) != "HTTP/1.1":
		return badRequest("only HTTP/1.1 is supported")
	}
	switch string(method) {
	case "CONNECT", "TRACE": // CONNECT opens tunnels, TRACE reveals cookies to scripts
		return errMethod()
	case "PRI":
		return badRequest("HTTP/2 without TLS is not supported")
	}
	return checkTarget(method, target)
}

var space = []byte{' '}

func errMethod() *Error { return &Error{http.StatusMethodNotAllowed, "this method is never allowed"} }

// checkTarget refuses targets that two parsers could read differently.
// The path is checked, the query is not: nothing in front of the site decides by its bytes.
func checkTarget(method, target []byte) *Error {
	if len(target) == 0 {
		return badRequest("the address is empty")
	}
	for _, c := range target {
		if c <= ' ' || c == 0x7f || c == '#' {
			return badRequest("the address contains a byte that is not allowed in it")
		}
	}
	if target[0] != '/' {
		return checkTargetForm(method, target)
	}
	// Clients read //host/path as another host when it comes back in a redirect.
	if len(target) > 1 && target[1] == '/' {
		return badRequest("the address begins with two slashes")
	}
	path, _, _ := bytes.Cut(target, question)
	return checkPath(path)
}

var question = []byte{'?'}

// checkTargetForm accepts "*" with OPTIONS, and absolute targets of http and https (RFC
// 9112, 3.2).
// An absolute target names its host a second time; the router takes it from there, and refuses
// one that differs from Host.
func checkTargetForm(method, target []byte) *Error {
	if string(target) == "*" && string(method) == "OPTIONS" {
		return nil
	}
	rest, ok := cutScheme(target)
	if !ok {
		return badRequest("the address is not a path")
	}
	end := bytes.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	if !validHost(rest[:end]) {
		return badRequest("the address has no plain host")
	}
	path, _, _ := bytes.Cut(rest[end:], question)
	if len(path) > 1 && path[1] == '/' {
		return badRequest("the address begins with two slashes")
	}
	return checkPath(path)
}

// cutScheme removes http:// or https://.
func cutScheme(target []byte) (rest []byte, ok bool) {
	for _, scheme := range []string{"http://", "https://"} {
		if len(target) >= len(scheme) && foldEqual(target[:len(scheme)], scheme) {
			return target[len(scheme):], true
		}
	}
	return nil, false
}

// checkPath refuses what some servers normalize, as they would then serve another path
// than the one that was checked and cached: dot segments, also percent-encoded ones,
// backslashes, encoded control characters and malformed escapes.
func checkPath(path []byte) *Error {
	if bytes.IndexByte(path, '\\') >= 0 {
		return badRequest("the path contains a backslash")
	}
	escaped := bytes.IndexByte(path, '%') >= 0
	// Nearly all paths end here: two scans that the processor does 16 or more bytes at a time.
	if !escaped && !bytes.Contains(path, dotSegment) {
		return nil
	}
	// A segment is a dot segment if it has one or two dots and nothing else. Bytes are counted
	// decoded, because %2e is a dot for a server that decodes before it normalizes.
	dots, other := 0, true // in the present segment; before the first slash there is no segment
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			if i+2 >= len(path) {
				return badRequest("an escape of the path is cut off")
			}
			hi, lo := hexValue(path[i+1]), hexValue(path[i+2])
			if hi < 0 || lo < 0 {
				return badRequest("an escape of the path is malformed")
			}
			i += 2
			if c = byte(hi<<4 | lo); c < ' ' || c == 0x7f || c == '\\' {
				return badRequest("the path contains an escaped control character or backslash")
			}
		}
		switch c {
		case '/':
			if !other && (dots == 1 || dots == 2) {
				return badRequest("the path contains a dot segment")
			}
			dots, other = 0, false
		case '.':
			dots++
		case ';': // some servers drop what follows it
			if !other && (dots == 1 || dots == 2) {
				return badRequest("the path contains a dot segment")
			}
			other = true
		default:
			other = true
		}
	}
	if !other && (dots == 1 || dots == 2) {
		return badRequest("the path contains a dot segment")
	}
	return nil
}

var dotSegment = []byte("/.")

func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// validHost accepts a host name or an IP address, in brackets if it is an IPv6 address,
// and an optional port: no user, no path, no list, no escapes.
// An underscore is no part of a host name (RFC 952) and common in names of containers.
// 255 bytes are the longest name of DNS.
func validHost(b []byte) bool {
	if len(b) == 0 || len(b) > 255+len(":65535") {
		return false
	}
	if b[0] == '[' {
		end := bytes.IndexByte(b, ']')
		if end < 3 {
			return false
		}
		for _, c := range b[1:end] {
			if hexValue(c) < 0 && c != ':' && c != '.' {
				return false
			}
		}
		return validPort(b[end+1:])
	}
	end := bytes.IndexByte(b, ':')
	if end < 0 {
		end = len(b)
	}
	for _, c := range b[:end] {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_') {
			return false
		}
	}
	return end > 0 && validPort(b[end:])
}

// validPort accepts nothing, or a colon and up to five digits.
func validPort(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if b[0] != ':' || len(b) > len(":65535") {
		return false
	}
	for _, c := range b[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// isToken reports whether b is a token (RFC 9110, 5.6.2).
func isToken(b []byte) bool {
	for _, c := range b {
		if !tokenChars[c] {
			return false
		}
	}
	return len(b) > 0
}

// tokenChars are the bytes that a token may contain.
var tokenChars = func() (in [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~") {
		in[c] = true
	}
	return in
}()
