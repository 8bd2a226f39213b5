package framing

import (
	"bytes"
	"net/http"
)

// requestLine reads method, target and version.
func (m *Requests) requestLine(text []byte) *Error {
	method, rest, ok := bytes.Cut(text, space)
	target, version, two := bytes.Cut(rest, space)
	switch {
	case !ok || !two || !isToken(method):
		return bad("the request line is not a method, an address and a version")
	case string(version) == "HTTP/1.0":
		m.head.old = true
	case string(version) != "HTTP/1.1":
		return bad("only HTTP/1.1 is spoken here")
	}
	switch string(method) {
	case "CONNECT", "TRACE": // the one opens tunnels, the other shows what cookies were sent
		return &Error{http.StatusMethodNotAllowed, "this method is never allowed"}
	case "PRI":
		return bad("HTTP/2 without TLS is not spoken here")
	}
	return checkTarget(method, target)
}

var space = []byte{' '}

// checkTarget refuses addresses that two readers could take for different ones.
func checkTarget(method, target []byte) *Error {
	if len(target) == 0 {
		return bad("the address is empty")
	}
	for _, c := range target {
		if c <= ' ' || c == 0x7f || c == '#' {
			return bad("the address holds a byte that no address has")
		}
	}
	if target[0] != '/' {
		return checkForm(method, target)
	}
	if len(target) > 1 && target[1] == '/' {
		return bad("the address begins with two slashes")
	}
	path, _, _ := bytes.Cut(target, question)
	return checkPath(path)
}

var question = []byte{'?'}

// checkForm accepts the asterisk of OPTIONS and an absolute address of http.
func checkForm(method, target []byte) *Error {
	if string(target) == "*" && string(method) == "OPTIONS" {
		return nil
	}
	rest, ok := cutScheme(target)
	if !ok {
		return bad("the address is not a path")
	}
	end := bytes.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	if !validHost(rest[:end]) {
		return bad("the address names no plain host")
	}
	path, _, _ := bytes.Cut(rest[end:], question)
	if len(path) > 1 && path[1] == '/' {
		return bad("the address begins with two slashes")
	}
	return checkPath(path)
}

// cutScheme takes http:// or https:// off.
func cutScheme(target []byte) (rest []byte, ok bool) {
	for _, scheme := range []string{"http://", "https://"} {
		if len(target) >= len(scheme) && isName(target[:len(scheme)], scheme) {
			return target[len(scheme):], true
		}
	}
	return nil, false
}

// checkPath refuses what some server would tidy up: dot segments, also written
// with escapes, backslashes, NUL, and escapes that are none.
func checkPath(path []byte) *Error {
	if bytes.IndexByte(path, '\\') >= 0 {
		return bad("the path holds a backslash")
	}
	escaped := bytes.IndexByte(path, '%') >= 0
	if !escaped && !bytes.Contains(path, dotSegment) {
		return nil
	}
	dots, other := 0, true // of the present segment; nothing stands before the first slash
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			if i+2 >= len(path) {
				return bad("an escape of the path is cut off")
			}
			hi, lo := hexDigit(path[i+1]), hexDigit(path[i+2])
			if hi < 0 || lo < 0 {
				return bad("an escape of the path is no escape")
			}
			i += 2
			if c = byte(hi<<4 | lo); c < ' ' || c == 0x7f || c == '\\' {
				return bad("the path holds an escaped control character or backslash")
			}
		}
		switch c {
		case '/':
			if !other && (dots == 1 || dots == 2) {
				return bad("the path holds a dot segment")
			}
			dots, other = 0, false
		case '.':
			dots++
		case ';': // some servers cut what follows it off
			if !other && (dots == 1 || dots == 2) {
				return bad("the path holds a dot segment")
			}
			other = true
		default:
			other = true
		}
	}
	if !other && (dots == 1 || dots == 2) {
		return bad("the path holds a dot segment")
	}
	return nil
}

var dotSegment = []byte("/.")

func hexDigit(c byte) int {
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

// validHost accepts a name or an address, in brackets if it has colons, and a
// port: no user, no path, no list, nothing escaped.
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
			if hexDigit(c) < 0 && c != ':' && c != '.' {
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
		if !inToken[c] {
			return false
		}
	}
	return len(b) > 0
}

// inToken are the bytes of a token.
var inToken = func() (in [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~") {
		in[c] = true
	}
	return in
}()
