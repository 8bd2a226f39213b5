package rfc9111

import (
	"net/http"
	"time"
)

// Values that the RFC leaves to the cache.
const (
	// heuristicDivisor gives the heuristic lifetime as a fraction of the time since
	// Last-Modified: a tenth, as RFC 9111, 4.2.2 suggests.
	heuristicDivisor = 10
	// heuristicMax limits a heuristic lifetime: people notice a wrong guess of more
	// than a day.
	heuristicMax = 24 * time.Hour
	// MaxDisconnectedStale is how long past its lifetime a response may be served
	// while its origin is unreachable (RFC 9111, 4.2.4), unless it says otherwise.
	MaxDisconnectedStale = 24 * time.Hour
)

// Policy is the caching that a response declares for itself.
type Policy struct {
	// Lifetime is how long the response is fresh (RFC 9111, 4.2.1), compared with
	// its age.
	Lifetime time.Duration
	// Explicit: the lifetime was given by the response, not estimated.
	Explicit bool

	NoStore, NoCache, Private, Public bool
	// MustRevalidate: a shared cache must never serve it stale (must-revalidate,
	// proxy-revalidate, s-maxage: 5.2.2.2, 5.2.2.8, 5.2.2.10).
	MustRevalidate bool
	// Authorized: a response to a request with Authorization may be shared (3.5).
	Authorized     bool
	SharedMaxAge   bool
	MustUnderstand bool
	Immutable      bool // RFC 8246
	NoTransform    bool // RFC 9111, 5.2.2.6

	// Omit names the fields that must not be stored: no-cache and private with
	// names (5.2.2.4, 5.2.2.7).
	Omit []string

	// StaleWhileRevalidate and StaleIfError are the windows of RFC 5861, which
	// begin when the lifetime ends.
	StaleWhileRevalidate, StaleIfError time.Duration
	HasStaleIfError                    bool
	// Targeted: a field for CDN caches replaced Cache-Control (RFC 9213).
	Targeted bool
}

// ReadPolicy returns the policy of a response that arrived at received.
func ReadPolicy(status int, h http.Header, received time.Time) Policy {
	d, isTargeted := targeted(h)
	if !isTargeted {
		d = ParseDirectives(h["Cache-Control"])
	}
	p := Policy{
		Targeted:       isTargeted,
		NoStore:        d.Has("no-store"),
		Public:         d.Has("public"),
		MustUnderstand: d.Has("must-understand"),
		Immutable:      d.Has("immutable"),
		NoTransform:    d.Has("no-transform") || ParseDirectives(h["Cache-Control"]).Has("no-transform"),
		SharedMaxAge:   d.Has("s-maxage"),
	}
	var noCache, private []string
	p.NoCache, noCache = d.qualified("no-cache")
	p.Private, private = d.qualified("private")
	p.Omit = append(noCache, private...)
	p.MustRevalidate = d.Has("must-revalidate") || d.Has("proxy-revalidate") || p.SharedMaxAge
	p.Authorized = p.Public || p.SharedMaxAge || d.Has("must-revalidate") // 3.5
	if v, _, ok := d.seconds("stale-while-revalidate"); ok {
		p.StaleWhileRevalidate = v
	}
	if v, _, ok := d.seconds("stale-if-error"); ok {
		p.StaleIfError, p.HasStaleIfError = v, true
	}
	p.readLifetime(d, status, h, received)
	return p
}

// readLifetime follows RFC 9111, 4.2.1: s-maxage, max-age, Expires, then a
// heuristic. A targeted field replaces all others, also for what it does not
// mention (RFC 9213, 2.2).
func (p *Policy) readLifetime(d Directives, status int, h http.Header, received time.Time) {
	for _, name := range []string{"s-maxage", "max-age"} {
		if v, there, valid := d.seconds(name); there {
			p.Explicit = true
			if valid {
				p.Lifetime = v
			}
			return // an invalid value makes the response stale (4.2.1)
		}
	}
	date := DateOf(h, received)
	if lines := h["Expires"]; len(lines) > 0 && !p.Targeted {
		p.Explicit = true
		// 5.3: invalid dates, especially 0, are in the past.
		if at, ok := ParseDate(lines[0], received); ok && len(lines) == 1 {
			p.Lifetime = max(0, at.Sub(date))
		}
		return
	}
	if p.NoCache || !p.Public && !HeuristicallyCacheable(status) {
		return
	}
	if modified, ok := ParseDate(h.Get("Last-Modified"), received); ok && modified.Before(date) { // 4.2.2
		p.Lifetime = min(date.Sub(modified)/heuristicDivisor, heuristicMax)
	}
}

// DateOf returns when the response was made: its Date, or when it arrived if Date
// is missing or invalid (RFC 9110, 6.6.1).
func DateOf(h http.Header, received time.Time) time.Time {
	if date, ok := ParseDate(h.Get("Date"), received); ok {
		return date
	}
	return received
}

// HeuristicallyCacheable reports whether responses with this status may be cached
// without an explicit lifetime (RFC 9110, 15.1). 206 is not in the list, because
// partial responses are not stored.
func HeuristicallyCacheable(status int) bool {
	switch status {
	case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501:
		return true
	}
	return false
}

// isUnderstood reports whether this package implements everything a status means
// for a cache, for must-understand (RFC 9111, 5.2.2.3).
func isUnderstood(status int) bool {
	switch status {
	case 302, 303, 307, 400, 401, 403, 421, 451, 500, 502, 503, 504:
		return true
	}
	return HeuristicallyCacheable(status)
}
