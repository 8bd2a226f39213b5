package rfc9111

import (
	"net/http"
	"time"
)

// RequestDirectives is what a request says of the answer it wants (RFC 9111, 5.2.1).
type RequestDirectives struct {
	NoStore, NoCache, OnlyIfCached bool

	MaxAge, MinFresh, MaxStale, StaleIfError             time.Duration
	HasMaxAge, HasMinFresh, HasMaxStale, HasStaleIfError bool
}

// unlimitedStale is a max-stale without an argument.
const unlimitedStale = 1 << 62

// ParseRequestDirectives reads the directives of a request. A strict cache does not let its
// readers say how fresh an answer has to be: each reload would be a request to the
// origin.
func (p Profile) ParseRequestDirectives(h http.Header) RequestDirectives {
	lines := h["Cache-Control"]
	if len(lines) == 0 {
		// 5.4: Pragma stands in for a Cache-Control that is not there.
		return RequestDirectives{NoCache: p == RFC && ParseDirectives(h["Pragma"]).Has("no-cache")}
	}
	d := ParseDirectives(lines)
	a := RequestDirectives{NoStore: d.Has("no-store"), OnlyIfCached: d.Has("only-if-cached")}
	if p == Strict {
		return a
	}
	a.NoCache = d.Has("no-cache")
	a.MaxAge, _, a.HasMaxAge = d.seconds("max-age")
	a.MinFresh, _, a.HasMinFresh = d.seconds("min-fresh")
	a.MaxStale, _, a.HasMaxStale = d.seconds("max-stale")
	a.StaleIfError, _, a.HasStaleIfError = d.seconds("stale-if-error") // RFC 5861, 4
	for _, x := range d.list {
		if x.name == "max-stale" && !x.hasValue {
			a.MaxStale, a.HasMaxStale = unlimitedStale, true
		}
	}
	return a
}

// Decision is what may be done with a stored answer.
type Decision uint8

// The verdicts.
const (
	// Validate: not without the origin's word.
	Validate Decision = iota
	// UseStale: it may be sent although it is stale, as the request allows.
	UseStale
	// UseAndRefresh: it may be sent while it is being validated (RFC 5861, 3).
	UseAndRefresh
	// Use: it may be sent.
	Use
)

// Reuse decides about a stored answer that matches the request (RFC 9111, 4).
// invalid says that it was invalidated or purged since it was stored.
func (p Profile) Reuse(a *RequestDirectives, r *Response, now time.Time, invalid bool) Decision {
	if invalid || r.Policy.NoCache || a.NoCache { // 4.4, 5.2.2.4, 5.2.1.4
		return Validate
	}
	age := r.Age(now)
	left := r.Policy.Lifetime - age
	if left > 0 {
		switch {
		case a.HasMaxAge && age > a.MaxAge && !r.Policy.Immutable, // 5.2.1.1; RFC 8246, 2
			a.HasMinFresh && left < a.MinFresh: // 5.2.1.3
			return Validate
		}
		return Use
	}
	if r.Policy.MustRevalidate { // 4.2.4
		return Validate
	}
	if a.HasMaxAge && age > a.MaxAge || a.HasMinFresh {
		return Validate
	}
	switch {
	case -left < r.Policy.StaleWhileRevalidate:
		return UseAndRefresh
	case a.HasMaxStale && -left <= a.MaxStale: // 5.2.1.2
		return UseStale
	}
	return Validate
}

// Failure is how the origin failed.
type Failure uint8

// The troubles.
const (
	// Unreachable: no answer came.
	Unreachable Failure = iota
	// ServerError: it answered 500, 502, 503 or 504 (RFC 5861, 4).
	ServerError
)

// IsServerError reports whether a status is an error that RFC 5861, 4 speaks of.
func IsServerError(status int) bool {
	return status == 500 || status == 502 || status == 503 || status == 504
}

// UseOnError reports whether a stored answer may be sent because its validation
// failed. Without an origin a cache is disconnected and may send what is stale
// (RFC 9111, 4.2.4); an origin that answers with an error is reason enough only
// where stale-if-error says so (4.3.3, RFC 5861).
func (p Profile) UseOnError(a *RequestDirectives, r *Response, now time.Time, t Failure) bool {
	if r.Policy.MustRevalidate || r.Policy.NoCache { // 4.2.4
		return false
	}
	stale := -r.Fresh(now)
	window, given := r.Policy.StaleIfError, r.Policy.HasStaleIfError
	if a.HasStaleIfError {
		window, given = max(window, a.StaleIfError), true
	}
	switch {
	case stale < window:
		return true
	case t == Unreachable && !given:
		return stale < max(MaxDisconnectedStale, r.Policy.StaleWhileRevalidate)
	}
	return false
}
