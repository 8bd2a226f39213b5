package api

import (
	"fmt"
	"net/http"
	"time"
)

// retiring says that a route will be gone one day, so that who uses it hears of
// that in every answer, a year before.
type retiring struct {
	since time.Time // when it was declared deprecated
	until time.Time // when it will be gone; at least minNotice later
	about string    // the address of a page on what to use instead
}

// minNotice is how long at least a route that will be gone still answers.
const minNotice = 365 * 24 * time.Hour

// check holds a retirement to the notice that was promised.
func (r *retiring) check() error {
	if r != nil && r.until.Sub(r.since) < minNotice {
		return fmt.Errorf("it retires %s after that was said, which must be at least %s", r.until.Sub(r.since), minNotice)
	}
	return nil
}

// tell adds Deprecation (RFC 9745), Sunset (RFC 8594) and links to the page about
// both to an answer. A nil retiring tells nothing.
func (r *retiring) tell(h http.Header) {
	if r == nil {
		return
	}
	h.Set("Deprecation", fmt.Sprintf("@%d", r.since.Unix()))
	h.Set("Sunset", r.until.UTC().Format(http.TimeFormat))
	h.Add("Link", fmt.Sprintf(`<%s>; rel="deprecation"; type="text/html"`, r.about))
	h.Add("Link", fmt.Sprintf(`<%s>; rel="sunset"; type="text/html"`, r.about))
}
