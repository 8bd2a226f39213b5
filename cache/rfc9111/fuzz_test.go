package rfc9111_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/cache/rfc9111"
)

// FuzzPolicy checks that no header field makes the policy parser panic or return a
// negative time, or makes a fresh response without no-cache require validation.
func FuzzPolicy(f *testing.F) {
	for _, seed := range []string{"max-age=60", `private="a, b", s-maxage=1`, `no-cache="\"", max-age="1`, "=,=,;",
		"max-age=99999999999999999999"} {
		f.Add(seed, seed, "Sat, 21 Nov 2026 12:00:00 GMT", "7")
	}
	f.Fuzz(func(t *testing.T, control, targeted, expires, age string) {
		h := http.Header{"Cache-Control": {control}, "Cdn-Cache-Control": {targeted}, "Expires": {expires},
			"Age": {age}}
		p := rfc9111.ReadPolicy(200, h, came)
		if p.Lifetime < 0 || p.StaleWhileRevalidate < 0 || p.StaleIfError < 0 {
			t.Errorf("%v: %+v has a negative time", h, p)
		}
		r := rfc9111.NewResponse(200, h, came, came)
		if r.Age(came) < 0 || r.RetainFor(time.Hour) < 0 {
			t.Errorf("%v: age %s, kept for %s", h, r.Age(came), r.RetainFor(time.Hour))
		}
		if r.Fresh(came) > 0 && rfc9111.RFC.Reuse(&rfc9111.RequestDirectives{}, r, came, false) == rfc9111.Validate &&
			!p.NoCache {
			t.Errorf("%v: fresh, yet to be validated", h)
		}
	})
}

// FuzzDate checks that a parsed date is formatted as a date that parses to the same
// time.
func FuzzDate(f *testing.F) {
	f.Add("Sun, 06 Nov 1994 08:49:37 GMT")
	f.Add("Sunday, 06-Nov-94 08:49:37 GMT")
	f.Add("Sun Nov  6 08:49:37 1994")
	f.Fuzz(func(t *testing.T, s string) {
		at, ok := rfc9111.ParseDate(s, came)
		if !ok {
			return
		}
		again, ok := rfc9111.ParseDate(at.Format(http.TimeFormat), came)
		if !ok || !again.Equal(at) {
			t.Errorf("%q reads as %v, which reads as %v %v", s, at, again, ok)
		}
	})
}

// FuzzRange checks that a range lies within the content.
func FuzzRange(f *testing.F) {
	f.Add("bytes=0-4", int64(10))
	f.Add("bytes=-4", int64(3))
	f.Fuzz(func(t *testing.T, s string, size int64) {
		size = max(0, size)
		kind, start, length := rfc9111.ParseRange(s, size)
		if kind == rfc9111.PartialContent && (start < 0 || length < 1 || start > size-length) {
			t.Errorf("%q of %d bytes: %d bytes from %d", s, size, length, start)
		}
	})
}

// FuzzVary checks that normalizing a field is idempotent, and that requests whose keyed
// fields differ only in the order of lines have the same key.
func FuzzVary(f *testing.F) {
	f.Add("gzip;q=0.5, BR", "br , gzip;q=0.50")
	f.Add(`"a,b", c`, "")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, name := range []string{"Accept-Encoding", "X-Other"} {
			once := rfc9111.Normalise(name, []string{a, b})
			if twice := rfc9111.Normalise(name, []string{once}); balanced(a) && balanced(b) && twice != once {
				t.Errorf("%s: %q and %q become %q, which becomes %q", name, a, b, once, twice)
			}
		}
		rfc9111.VaryNames(http.Header{"Vary": {a, b}})
	})
}

// balanced reports whether quotes are closed, so that joining lines is lossless.
func balanced(s string) bool {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			if i++; i == len(s) {
				return false
			}
		case s[i] == '"':
			quoted = !quoted
		}
	}
	return !quoted
}
