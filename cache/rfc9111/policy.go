package rfc9111

import (
	"net/http"
	"time"
)

// Where the rules leave a number to us.
const (
	// heuristicDivisor is the part of an answer's age at its origin that it is taken
	// to stay unchanged for (RFC 9111, 4.2.2 names a tenth).
	heuristicDivisor = 10
	// heuristicMax bounds a heuristic lifetime: beyond a day a wrong guess is
	// noticed by people.
	heuristicMax = 24 * time.Hour
	// MaxDisconnectedStale is how long past its lifetime an answer may be served while
	// its origin cannot be reached (RFC 9111, 4.2.4), unless it says otherwise.
	MaxDisconnectedStale = 24 * time.Hour
)

// Policy is what an answer says of its own caching.
type Policy struct {
	// Lifetime is how long the answer is fresh (RFC 9111, 4.2.1), counted against
	// its age.
	Lifetime time.Duration
	// Explicit: the lifetime was given, not guessed.
	Explicit bool

	NoStore, NoCache, Private, Public bool
	// MustRevalidate: never to be served stale by a shared cache, whatever the
	// reason (must-revalidate, proxy-revalidate, s-maxage: 5.2.2.2, .8, .10).
	MustRevalidate bool
	// Authorized: an answer to a request with Authorization may be shared (3.5).
	Authorized     bool
	SharedMaxAge   bool
	MustUnderstand bool
	Immutable      bool // RFC 8246
	NoTransform    bool // RFC 9111, 5.2.2.6

	// Omit names the fields that must not be stored: no-cache and private with
	// names (5.2.2.4, 5.2.2.7).
	Omit []string

	// StaleWhileRevalidate and IfError are the windows of RFC 5861, past the lifetime.
	StaleWhileRevalidate, StaleIfError time.Duration
	HasStaleIfError                    bool
	// Targeted: a field for caches like this one decided (RFC 9213).
	Targeted bool
}

// ReadPolicy reads the policy of an answer that came at received.
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

// readLifetime follows RFC 9111, 4.2.1: s-maxage, max-age, Expires, else a guess.
// A targeted field alone decides, and what it does not say is not taken from
// elsewhere (RFC 9213, 2.2).
func (p *Policy) readLifetime(d Directives, status int, h http.Header, received time.Time) {
	for _, name := range []string{"s-maxage", "max-age"} {
		if v, there, valid := d.seconds(name); there {
			p.Explicit = true
			if valid {
				p.Lifetime = v
			}
			return // an invalid one makes the answer stale (4.2.1)
		}
	}
	date := DateOf(h, received)
	if lines := h["Expires"]; len(lines) > 0 && !p.Targeted {
		p.Explicit = true
		if at, ok := ParseDate(lines[0], received); ok && len(lines) == 1 { // 5.3: 0 and the like are in the past
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

// DateOf is when the answer was made: its Date, or when it came if that is
// missing or makes no sense (RFC 9110, 6.6.1).
func DateOf(h http.Header, received time.Time) time.Time {
	if date, ok := ParseDate(h.Get("Date"), received); ok {
		return date
	}
	return received
}

// HeuristicallyCacheable reports whether a status may be cached without being
// told for how long (RFC 9110, 15.1). 206 is one, but nothing partial is stored.
func HeuristicallyCacheable(status int) bool {
	switch status {
	case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501:
		return true
	}
	return false
}

// isUnderstood reports whether we know all a status means for a cache, for
// must-understand (RFC 9111, 5.2.2.3).
func isUnderstood(status int) bool {
	switch status {
	case 302, 303, 307, 400, 401, 403, 421, 451, 500, 502, 503, 504:
		return true
	}
	return HeuristicallyCacheable(status)
}
