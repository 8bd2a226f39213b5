package rfc9111

import (
	"net/http"
	"strings"
	"time"
)

// Response is an answer as a cache keeps it. It is not changed after NewResponse.
type Response struct {
	Status int
	Header http.Header // without what may not be stored
	Policy Policy

	Requested time.Time // when the request was sent
	Received  time.Time // when the answer came

	initial time.Duration // its age when it came
}

// NewResponse prepares an answer for storing: h is copied without the fields of
// one connection and those that its policy excludes.
func NewResponse(status int, h http.Header, requested, received time.Time) *Response {
	r := &Response{Status: status, Header: h.Clone(), Policy: ReadPolicy(status, h, received), Requested: requested, Received: received}
	RemoveHopByHop(r.Header)
	for _, name := range r.Policy.Omit {
		r.Header.Del(name)
	}
	if _, ok := ParseDate(h.Get("Date"), received); !ok {
		r.Header.Set("Date", received.UTC().Format(http.TimeFormat)) // RFC 9110, 6.6.1
	}
	// RFC 9111, 4.2.3, but for what the clock has said since.
	apparent := max(0, received.Sub(DateOf(h, received)))
	corrected := ParseAge(h["Age"]) + max(0, received.Sub(requested))
	r.initial = max(apparent, corrected)
	r.Header.Del("Age")
	return r
}

// ParseAge reads an Age field (RFC 9111, 5.1): the first member of the first line,
// digits alone, anything else is no age.
func ParseAge(lines []string) time.Duration {
	if len(lines) == 0 {
		return 0
	}
	first, _, _ := strings.Cut(lines[0], ",")
	age, _ := deltaSeconds(trimOWS(first))
	return age
}

// Age is the answer's age (RFC 9111, 4.2.3).
func (r *Response) Age(now time.Time) time.Duration { return r.initial + max(0, now.Sub(r.Received)) }

// Fresh is how long the answer stays fresh; negative, how long it has been stale.
func (r *Response) Fresh(now time.Time) time.Duration { return r.Policy.Lifetime - r.Age(now) }

// HasValidator reports whether the origin can be asked if the answer still holds
// (RFC 9111, 4.3.1).
func (r *Response) HasValidator() bool {
	return r.Header.Get("Etag") != "" || r.Header.Get("Last-Modified") != ""
}

// RetainFor is how long the answer is of any use from Received on: fresh, stale in one
// of its windows, or as what a validation can confirm, for at least least.
func (r *Response) RetainFor(least time.Duration) time.Duration {
	life := max(0, r.Policy.Lifetime-r.initial)
	window := max(r.Policy.StaleWhileRevalidate, r.Policy.StaleIfError)
	if !r.Policy.MustRevalidate && !r.Policy.NoCache {
		window = max(window, MaxDisconnectedStale)
	}
	if r.HasValidator() {
		window = max(window, least)
	}
	return life + window
}

// hopByHopFields belong to one connection: they are neither stored nor passed on (RFC
// 9111, 3.1; RFC 9110, 7.6.1). The Proxy- fields are for the next proxy. Trailer
// fields are not passed on, which RFC 9110, 6.5.1 leaves to an intermediary.
var hopByHopFields = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
}

// protectedFields are the fields that Connection may not name: without them a message
// means something else (RFC 9110, 7.6.1: no field that is for all recipients).
var protectedFields = map[string]bool{
	"Authorization": true, "Cache-Control": true, "Content-Length": true, "Content-Type": true, "Cookie": true, "Host": true,
	"Forwarded": true, "Via": true, "X-Forwarded-For": true, "X-Forwarded-Host": true, "X-Forwarded-Proto": true, "X-Request-Id": true,
	"Fieldmark-Client": true, "Fieldmark-Node": true,
}

// RemoveHopByHop takes the fields of one connection out of h, those that Connection
// names included.
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

// IsWebSocketUpgrade reports whether a request asks to switch to WebSocket (RFC 9110,
// 7.8: Connection names Upgrade), the one protocol that is passed through. Never
// h2c: its requests would pass unseen.
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

// Update returns the answer as a 304 has renewed it (RFC 9111, 3.2 and 4.3.4): all
// fields the 304 carries replace the stored ones, but those that describe the
// stored content.
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
	if len(h["Date"]) == 0 { // or the age would go on from the stored one
		merged.Set("Date", received.UTC().Format(http.TimeFormat))
	}
	return NewResponse(r.Status, merged, requested, received)
}

// MatchesValidator reports whether a 304 speaks of this answer: a strong tag in it must
// be the stored one (RFC 9111, 4.3.4).
func (r *Response) MatchesValidator(h http.Header) bool {
	tag := h.Get("Etag")
	if tag == "" || weak(tag) {
		return true
	}
	mine := r.Header.Get("Etag")
	return mine == "" || weakMatch(mine, tag)
}

// HeadMatches reports whether the answer to a HEAD may renew this one (RFC 9111,
// 4.3.5): validators and length that it carries must be the stored ones.
func (r *Response) HeadMatches(h http.Header, length int64) bool {
	for _, name := range []string{"Etag", "Last-Modified"} {
		if v := h.Get(name); v != "" && r.Header.Get(name) != "" && v != r.Header.Get(name) {
			return false
		}
	}
	said := h.Get("Content-Length")
	return said == "" || length < 0 || said == formatInt(length)
}
