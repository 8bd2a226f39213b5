// Package rfc9111 decides what a shared HTTP cache may do: whether a response may
// be stored, how long it is fresh, which request it answers, how it is validated,
// and what a request invalidates. It follows RFC 9111 and the parts of RFC 9110 a
// cache needs, with RFC 5861 (stale), 8246 (immutable), 9213 (targeted fields) and
// 9875 (groups). It also has the one list of hop-by-hop fields.
//
// Header fields and points in time come in; decisions go out. All functions are
// pure: no clock, no storage, no network. The caller acts on the decisions. Each
// rule cites its section.
package rfc9111

// Profile selects how to apply the rules where they leave a choice.
type Profile uint8

const (
	// Strict is for production. A response that sets a cookie is stored only if it
	// says public or s-maxage; a request with a cookie is not answered from the
	// cache; and no client can cause load on the origin by asking for a response
	// fresher than its lifetime.
	Strict Profile = iota
	// RFC does everything that RFC 9111 allows or requires of a shared cache,
	// request directives included. Conformance tests use it.
	RFC
)

// ParseProfile returns the profile with this name, "strict" or "rfc".
func ParseProfile(name string) (Profile, bool) {
	switch name {
	case "strict":
		return Strict, true
	case "rfc":
		return RFC, true
	}
	return Strict, false
}

// String returns the name of the profile.
func (p Profile) String() string {
	if p == RFC {
		return "rfc"
	}
	return "strict"
}
