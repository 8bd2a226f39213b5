package rfc9111

import (
	"net/http"
	"time"
)

// RequestDirectives are the Cache-Control directives of a request (RFC 9111,
// 5.2.1).
type RequestDirectives struct {
	NoStore, NoCache, OnlyIfCached bool

	MaxAge, MinFresh, MaxStale, StaleIfError             time.Duration
	HasMaxAge, HasMinFresh, HasMaxStale, HasStaleIfError bool
}

// unlimitedStale is the value of max-stale without an argument.
const unlimitedStale = 1 << 62

// ParseRequestDirectives parses the directives of a request. The Strict profile
// ignores those that demand freshness, or each reload in a browser would be a
// request to the origin.
func (p Profile) ParseRequestDirectives(h http.Header) RequestDirectives {
	lines := h["Cache-Control"]
	if len(lines) == 0 {
		// 5.4: Pragma applies if there is no Cache-Control.
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

// Decision describes how a stored response may be used.
type Decision uint8

// The decisions.
const (
	// Validate: not before the origin has confirmed it.
	Validate Decision = iota
	// UseStale: it may be sent although it is stale, because the request allows it.
	UseStale
	// UseAndRefresh: it may be sent while it is being revalidated (RFC 5861, 3).
	UseAndRefresh
	// Use: it may be sent.
	Use
)

// Reuse decides how to use a stored response that matches the request (RFC 9111,
// 4). invalid says that it was invalidated or purged after it was stored.
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

// Failure describes how the origin failed.
type Failure uint8

// The kinds of failure.
const (
	// Unreachable: no response arrived.
	Unreachable Failure = iota
	// ServerError: the response was 500, 502, 503 or 504 (RFC 5861, 4).
	ServerError
)

// IsServerError reports whether stale-if-error applies to a status (RFC 5861, 4).
func IsServerError(status int) bool {
	return status == 500 || status == 502 || status == 503 || status == 504
}

// UseOnError reports whether a stored response may be sent because its revalidation
// failed. If the origin is unreachable, the cache is disconnected and may send
// stale responses (RFC 9111, 4.2.4); after an error response it may only do so
// within stale-if-error (4.3.3, RFC 5861).
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
