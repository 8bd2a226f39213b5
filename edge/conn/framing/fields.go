package framing

import (
	"net/http"
	"strconv"
	"strings"
)

// Field is a header field of HTTP/2 or HTTP/3.
type Field struct{ Name, Value string }

// fieldOverhead is what a field counts in the size of a list, beside its name and value
// (RFC 9113, 6.5.2).
const fieldOverhead = 32

// Size returns what the field counts in the size of its list.
func (f Field) Size() int { return len(f.Name) + len(f.Value) + fieldOverhead }

// MalformedError is the reason for which a request in fields is malformed (RFC 9113,
// 8.1.1): its stream is reset without a response.
type MalformedError string

// Error implements error.
func (e MalformedError) Error() string { return string(e) }

// Request is what a transport needs of a request that AppendRequest wrote.
type Request struct {
	Method    string
	Target    string // path and query
	Authority string // of the field :authority, or Host
	Priority  string // value of the field Priority (RFC 9218, 5), or empty
	Length    int64  // of the body, in bytes; -1: unknown, it is sent in chunks
}

// AppendRequest appends the head of an HTTP/1.1 request with the given fields, which came
// over a connection of scheme. body is whether a body follows. The error is a
// MalformedError, or an *Error for a request that gets a response; dst is unchanged then.
//
// A RequestFramer accepts nothing but one request with these fields and this body in the
// bytes: no field can end a line.
// Two passes: nothing is written before all of the fields were checked, so a refused request
// leaves no bytes behind.
func AppendRequest(dst []byte, fields []Field, scheme string, body bool) ([]byte, Request, error) {
	h := requestHead{req: Request{Length: -1}}
	for _, f := range fields {
		if err := h.add(f); err != nil {
			return dst, h.req, err
		}
	}
	if err := h.check(scheme, body); err != nil {
		return dst, h.req, err
	}
	out := append(append(append(append(dst, h.req.Method...), ' '), h.req.Target...), protocol...)
	out = appendLine(out, "host", h.req.Authority)
	cookies := 0
	for _, f := range fields {
		switch f.Name {
		// These three are decided by the pseudo-fields, by the hop and by the transport.
		case "host", "te", "content-length": // te says "trailers", which are dropped
		case "cookie":
			cookies++
		default:
			if f.Name[0] != ':' {
				out = appendLine(out, f.Name, f.Value)
			}
		}
	}
	if cookies > 0 {
		out = appendCookies(out, fields)
	}
	switch {
	case h.req.Length >= 0:
		out = append(strconv.AppendInt(append(out, "content-length: "...), h.req.Length, 10), "\r\n"...)
	case body:
		out = append(out, "transfer-encoding: chunked\r\n"...)
	}
	return append(out, "\r\n"...), h.req, nil
}

const protocol = " HTTP/1.1\r\n"

func appendLine(dst []byte, name, value string) []byte {
	return append(append(append(append(dst, name...), ": "...), value...), "\r\n"...)
}

// appendCookies joins the crumbs of Cookie to one field (RFC 9113, 8.2.3).
// Browsers split Cookie so that HPACK indexes each crumb separately; a server of HTTP/1.1
// may read only the first.
func appendCookies(dst []byte, fields []Field) []byte {
	separator := "cookie: "
	for _, f := range fields {
		if f.Name == "cookie" {
			dst = append(append(dst, separator...), f.Value...)
			separator = "; "
		}
	}
	return append(dst, "\r\n"...)
}

// requestHead is what the fields so far contain.
// The booleans are needed because an empty value counts as present: a second
// :path must be refused also after an empty first.
type requestHead struct {
	req                  Request
	scheme, host         string
	authority            string
	hasMethod, hasScheme bool
	hasPath, hasHost     bool
	hasAuthority         bool
	regular              bool // a field that is no pseudo-field was read
}

// add checks one field (RFC 9113, 8.2 and 8.3).
// Content-Length may not be repeated, not even with the same number: another parser behind the
// edge might take the list.
func (h *requestHead) add(f Field) error {
	if strings.HasPrefix(f.Name, ":") {
		return h.addPseudo(f)
	}
	h.regular = true
	if err := checkField(f); err != nil {
		return err
	}
	switch f.Name {
	case "host":
		if h.hasHost {
			return MalformedError("there is more than one Host")
		}
		h.hasHost, h.host = true, f.Value
	case "te":
		if f.Value != "trailers" {
			return MalformedError("TE is not trailers")
		}
	case "content-length":
		n, ok := parseDecimal([]byte(f.Value))
		if !ok || h.req.Length >= 0 {
			return MalformedError("Content-Length is not one plain number")
		}
		h.req.Length = n
	case "priority":
		h.req.Priority = f.Value
	}
	return nil
}

func (h *requestHead) addPseudo(f Field) error {
	value, seen := (*string)(nil), (*bool)(nil)
	switch f.Name {
	case ":method":
		value, seen = &h.req.Method, &h.hasMethod
	case ":scheme":
		value, seen = &h.scheme, &h.hasScheme
	case ":path":
		value, seen = &h.req.Target, &h.hasPath
	case ":authority":
		value, seen = &h.authority, &h.hasAuthority
	default:
		return MalformedError("there is an unknown pseudo-field")
	}
	// In any other order a proxy could read them differently (RFC 9113, 8.3).
	if *seen || h.regular {
		return MalformedError("a pseudo-field is repeated, or follows another field")
	}
	*value, *seen = f.Value, true
	return nil
}

// check checks what several fields decide together (RFC 9113, 8.3.1).
// What is malformed comes first and resets the stream. The second half is valid but not
// served: there the client gets a status and the reason.
func (h *requestHead) check(scheme string, body bool) error {
	connect := h.req.Method == "CONNECT"
	switch {
	case !h.hasMethod || !isToken([]byte(h.req.Method)):
		return MalformedError(":method is not a token")
	case !connect && (!h.hasScheme || !h.hasPath || h.req.Target == ""):
		return MalformedError("a pseudo-field is missing")
	// Two names for one request are how one site's answer gets into the cache of another.
	case h.hasAuthority && h.hasHost && !strings.EqualFold(h.authority, h.host):
		return MalformedError("Host is not :authority")
	// User information is deprecated and misleads people and parsers (RFC 9110, 4.2.4).
	case strings.ContainsRune(h.authority, '@'), strings.ContainsRune(h.host, '@'):
		return MalformedError("the authority names a user")
	case !body && h.req.Length > 0:
		return MalformedError("Content-Length is not the length of the body")
	}
	if h.req.Authority = h.authority; !h.hasAuthority {
		h.req.Authority = h.host
	}
	switch {
	case connect, h.req.Method == "TRACE":
		return errMethod()
	case h.req.Authority == "":
		return badRequest("Host is missing")
	case !validHost([]byte(h.req.Authority)):
		return badRequest("the authority is not a host name and a port")
	case !AcceptsScheme(scheme, h.scheme):
		return badRequest(":scheme is not that of the connection")
	case len(h.req.Method)+len(h.req.Target)+len(protocol)+1 > MaxLine:
		return &Error{http.StatusRequestURITooLong, "the address is too long"}
	case h.req.Target[0] != '/' && (h.req.Target != "*" || h.req.Method != "OPTIONS"):
		return badRequest("the address is not a path")
	}
	if err := checkTarget([]byte(h.req.Method), []byte(h.req.Target)); err != nil {
		return err
	}
	return nil
}

// AcceptsScheme reports whether a request may have a scheme over a connection of another. A
// proxy that ends TLS and forwards requests over HTTP/2 without TLS sends https; HAProxy
// always does. Nothing else depends on it: fields of trusted proxies state whether the
// client's connection is encrypted.
func AcceptsScheme(connection, request string) bool {
	return strings.EqualFold(connection, request) || connection == "http" && strings.EqualFold(request, "https")
}

// CheckTrailer checks the fields of a trailer section, which are then dropped.
func CheckTrailer(fields []Field) error {
	for _, f := range fields {
		if strings.HasPrefix(f.Name, ":") {
			return MalformedError("a trailer holds a pseudo-field")
		}
		if err := checkField(f); err != nil {
			return err
		}
	}
	return nil
}

// checkField checks name and value of a field that is not a pseudo-field (RFC 9113,
// 8.2.1 and 8.2.2).
func checkField(f Field) error {
	for i := range len(f.Name) {
		if c := f.Name[i]; !tokenChars[c] || 'A' <= c && c <= 'Z' {
			return MalformedError("a field name is not a token in lower case")
		}
	}
	switch f.Name {
	case "":
		return MalformedError("a field has no name")
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return MalformedError("a field is about the connection")
	}
	// CR, LF and NUL are what an HTTP/1.1 message must not contain (RFC 9113, 10.3). The other
	// control characters are refused too, since some servers treat them as blanks.
	for i := range len(f.Value) {
		if c := f.Value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return MalformedError("a field value holds a control character")
		}
	}
	if len(trimOWS([]byte(f.Value))) != len(f.Value) {
		return MalformedError("a field value begins or ends with a blank")
	}
	return nil
}
