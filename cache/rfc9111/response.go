package rfc9111

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Response is a stored response. It is immutable after NewResponse.
type Response struct {
	Status int
	Header http.Header // without the fields that must not be stored
	Policy Policy

	Requested time.Time // when the request was sent
	Received  time.Time // when the response arrived

	initial time.Duration // age on arrival
}

// NewResponse prepares a response for storing: it copies h without hop-by-hop
// fields and without the fields its policy excludes.
func NewResponse(status int, h http.Header, requested, received time.Time) *Response {
	r := &Response{Status: status, Header: h.Clone(), Policy: ReadPolicy(status, h, received), Requested: requested,
		Received: received}
	RemoveHopByHop(r.Header)
	for _, name := range r.Policy.Omit {
		r.Header.Del(name)
	}
	if _, ok := ParseDate(h.Get("Date"), received); !ok {
		r.Header.Set("Date", received.UTC().Format(http.TimeFormat)) // RFC 9110, 6.6.1
	}
	// RFC 9111, 4.2.3, without the time since arrival.
	apparent := max(0, received.Sub(DateOf(h, received)))
	corrected := ParseAge(h["Age"]) + max(0, received.Sub(requested))
	r.initial = max(apparent, corrected)
	r.Header.Del("Age")
	return r
}

// ParseAge parses an Age field (RFC 9111, 5.1): the first member of the first line,
// digits only. Any other value counts as no age.
func ParseAge(lines []string) time.Duration {
	if len(lines) == 0 {
		return 0
	}
	first, _, _ := strings.Cut(lines[0], ",")
	age, _ := deltaSeconds(trimOWS(first))
	return age
}

// Age returns the age of the response (RFC 9111, 4.2.3).
func (r *Response) Age(now time.Time) time.Duration { return r.initial + max(0, now.Sub(r.Received)) }

// Fresh returns how long the response stays fresh; if negative, how long it has
// been stale.
func (r *Response) Fresh(now time.Time) time.Duration { return r.Policy.Lifetime - r.Age(now) }

// HasValidator reports whether the response can be revalidated (RFC 9111, 4.3.1).
func (r *Response) HasValidator() bool {
	return r.Header.Get("Etag") != "" || r.Header.Get("Last-Modified") != ""
}

// RetainFor returns how long to store the response from Received on: while it is
// fresh, in one of its stale windows, or useful for revalidation. A response with a
// validator is useful for at least revalidatable.
func (r *Response) RetainFor(revalidatable time.Duration) time.Duration {
	life := max(0, r.Policy.Lifetime-r.initial)
	window := max(r.Policy.StaleWhileRevalidate, r.Policy.StaleIfError)
	if !r.Policy.MustRevalidate && !r.Policy.NoCache {
		window = max(window, MaxDisconnectedStale)
	}
	if r.HasValidator() {
		window = max(window, revalidatable)
	}
	return life + window
}

// hopByHopFields apply to a single connection: they are neither stored nor
// forwarded (RFC 9111, 3.1; RFC 9110, 7.6.1). The Proxy- fields are for the next
// proxy. Trailer fields are not forwarded, which RFC 9110, 6.5.1 leaves to an
// intermediary.
var hopByHopFields = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
}

// protectedFields are fields that Connection may not name, because removing them
// changes the meaning of a message: a client could remove the authorization or
// forwarding fields that the origin relies on (RFC 9110, 7.6.1).
var protectedFields = map[string]bool{
	"Authorization": true, "Cache-Control": true, "Content-Length": true, "Content-Type": true, "Cookie": true,
	"Host":      true,
	"Forwarded": true, "Via": true, "X-Forwarded-For": true, "X-Forwarded-Host": true, "X-Forwarded-Proto": true,
	"X-Request-Id":     true,
	"Fieldmark-Client": true, "Fieldmark-Node": true,
}

// IsHopByHop reports whether a field applies to a single connection, without regard to
// what a Connection field names.
func IsHopByHop(name string) bool {
	return slices.Contains(hopByHopFields, http.CanonicalHeaderKey(name))
}

// RemoveHopByHop removes the hop-by-hop fields from h, including those that
// Connection names.
func RemoveHopByHop(h http.Header) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = http.CanonicalHeaderKey(trimOWS(name)); !protectedFields[name] {
				delete(h, name)
			}
		}
	}
	for _, name := range hopByHopFields {
		delete(h, name)
	}
}

// IsWebSocketUpgrade reports whether a request asks to switch to WebSocket (RFC
// 9110, 7.8: Connection names Upgrade), the only protocol that is tunnelled. h2c is
// not, because its requests would bypass the proxy's checks.
func IsWebSocketUpgrade(h http.Header) bool {
	if !strings.EqualFold(h.Get("Upgrade"), "websocket") {
		return false
	}
	for _, line := range h["Connection"] {
		for option := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(trimOWS(option), "Upgrade") {
				return true
			}
		}
	}
	return false
}

// Update returns the response updated by a 304 (RFC 9111, 3.2 and 4.3.4): the
// fields of the 304 replace the stored ones, except those that describe the stored
// content.
func (r *Response) Update(h http.Header, requested, received time.Time) *Response {
	merged := r.Header.Clone()
	fresh := h.Clone()
	RemoveHopByHop(fresh)
	for name, lines := range fresh {
		switch name {
		case "Content-Length", "Content-Encoding", "Content-Range":
			continue
		}
		merged[name] = lines
	}
	if len(h["Date"]) == 0 { // or the age would continue from the stored date
		merged.Set("Date", received.UTC().Format(http.TimeFormat))
	}
	return NewResponse(r.Status, merged, requested, received)
}

// MatchesValidator reports whether a 304 is about this response: a strong ETag in
// it must equal the stored one (RFC 9111, 4.3.4).
func (r *Response) MatchesValidator(h http.Header) bool {
	tag := h.Get("Etag")
	if tag == "" || weak(tag) {
		return true
	}
	stored := r.Header.Get("Etag")
	return stored == "" || weakMatch(stored, tag)
}

// HeadMatches reports whether a response to HEAD may update this one (RFC 9111,
// 4.3.5): the validators and length it carries must equal the stored ones.
func (r *Response) HeadMatches(h http.Header, length int64) bool {
	for _, name := range []string{"Etag", "Last-Modified"} {
		if v := h.Get(name); v != "" && r.Header.Get(name) != "" && v != r.Header.Get(name) {
			return false
		}
	}
	contentLength := h.Get("Content-Length")
	return contentLength == "" || length < 0 || contentLength == strconv.FormatInt(length, 10)
}
