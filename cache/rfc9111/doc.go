// Package rfc9111 decides what a shared HTTP cache may do: whether an answer may
// be stored, how long it is fresh, which request it answers, how it is validated
// and what a request does to what is stored. It follows RFC 9111 and the parts of
// RFC 9110 a cache needs, with RFC 5861 (stale), 8246 (immutable), 9213 (targeted
// fields) and 9875 (groups).
//
// Header fields and points in time come in; decisions go out. Everything is pure:
// no clock, no store, no network. Someone else acts on what is decided here, and
// each rule has the number of its section beside it.
package rfc9111

// Profile is a way to read the rules where they leave a choice.
type Profile uint8

const (
	// Strict is for production: an answer that sets a cookie is stored only where
	// its origin says public or s-maxage, a request that carries a cookie is not
	// answered from the cache, and no reader can make the origin work by asking
	// for an answer fresher than its lifetime.
	Strict Profile = iota
	// RFC does all a shared cache is allowed and asked to do by RFC 9111, request
	// directives included. It is what conformance is measured with.
	RFC
)

// ParseProfile returns the profile of a name, "strict" or "rfc".
func ParseProfile(name string) (Profile, bool) {
	switch name {
	case "strict":
		return Strict, true
	case "rfc":
		return RFC, true
	}
	return Strict, false
}

// String names the profile.
func (p Profile) String() string {
	if p == RFC {
		return "rfc"
	}
	return "strict"
}
