package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
)

// How long a client waits for an origin that accepts requests and does not answer.
const (
	// apiTimeout bounds the wait for the head of an answer of Fieldmark's own
	// origin, all tries together. It is a little longer than the fills of the
	// cache, so that both end before six seconds.
	apiTimeout = fillTimeout + 500*time.Millisecond
	// slowTimeout bounds the same wait for slow requests and for sites behind the edge: as
	// long as one attempt may take.
	slowTimeout = upstream.DefaultHeadTimeout
	// chartTimeout bounds the wait for the history of a brand's page, and
	// referenceTimeout that for the API reference: the pages are useful without
	// them, and come complete half a minute later.
	chartTimeout, referenceTimeout = time.Second, 3 * time.Second
	// rankedTimeout is how long a badge waits for its score when the ranking knows
	// enough to draw it; the fill of the badge itself must not run out of time.
	rankedTimeout = fillTimeout - time.Second
)

// slowPaths are where the origin itself calls other servers, runs untrusted
// modules or handles every brand. They have limits of 18 to 60 s at the origin.
var slowPaths = []struct {
	method, prefix, suffix string
}{
	{http.MethodPost, fieldmark.PathLLMsLint, ""},
	{http.MethodPost, fieldmark.PathWebhooks, "/test"},
	{http.MethodPost, fieldmark.PathAdminAPI + "webhooks", "/test"},
	{http.MethodPost, fieldmark.PathAdminAPI, "/import"},
	{http.MethodPost, fieldmark.PathAdminAPI + "modules", "modules"},
	{http.MethodGet, fieldmark.PathAdminAPI + "audit-log/verdict", ""},
	{http.MethodPost, fieldmark.PathAdmin + "/", ""}, // forms: imports, modules, and sign-ins that queue for hashing
	{http.MethodGet, fieldmark.PathSignedOn, ""},
}

// originPaths are the addresses that Fieldmark's own origin answers.
var originPaths = [...]string{fieldmark.PathPublic, "/api/v1/", fieldmark.PathCalendar, fieldmark.PathOpenAPI,
	"/problems/"}

// headTimeout returns how long the head of the answer to r may take, from when r
// was sent.
func (s *siteHosts) headTimeout(r *http.Request) time.Duration {
	if s.isSite(r.Host) {
		return slowTimeout
	}
	for _, s := range slowPaths {
		if r.Method == s.method && strings.HasPrefix(r.URL.Path, s.prefix) && strings.HasSuffix(r.URL.Path, s.suffix) {
			return slowTimeout
		}
	}
	own := func(prefix string) bool { return strings.HasPrefix(r.URL.Path, prefix) }
	if isAdmin(r.URL.Path) || slices.ContainsFunc(originPaths[:], own) {
		return apiTimeout
	}
	return slowTimeout
}

// roundTripWithin sends r by next and fails when the response head has not arrived within
// limit. Time that a client takes to send a body does not count. The caller calls release
// after reading the response.
func roundTripWithin(next http.RoundTripper, r *http.Request, limit time.Duration) (resp *http.Response, release func(),
	err error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	release = func() { cancel(nil) }
	d := &headDeadline{limit: limit, expire: func() { cancel(context.DeadlineExceeded) }}
	d.run()
	r = r.WithContext(upstream.WithHeadTimeout(ctx, limit))
	if r.Body != nil && r.GetBody == nil {
		r.Body = &timedBody{r.Body, d}
	}
	resp, err = next.RoundTrip(r)
	inTime := d.end()
	if err == nil && inTime {
		return resp, release, nil
	}
	if err == nil {
		resp.Body.Close()
	}
	if !inTime {
		err = fmt.Errorf("no answer within %s: %w", limit, context.DeadlineExceeded)
	}
	release()
	return nil, nil, err
}

// headDeadline is the time left for the head of a response.
type headDeadline struct {
	limit  time.Duration
	expire func()

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool // paused, or ended
	ended   bool
	late    bool
}

// run starts the time, from the beginning.
func (d *headDeadline) run() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended || d.late {
		return
	}
	d.stopped = false
	if d.timer == nil {
		d.timer = time.AfterFunc(d.limit, d.passed)
	} else {
		d.timer.Reset(d.limit)
	}
}

// passed is called by the timer, perhaps just after it was stopped.
func (d *headDeadline) passed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stopped && !d.late {
		d.late = true
		d.expire()
	}
}

// pause stops the time while a client sends.
func (d *headDeadline) pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	d.timer.Stop()
}

// end stops the timer permanently and reports whether it had not expired.
func (d *headDeadline) end() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped, d.ended = true, true
	d.timer.Stop()
	return !d.late
}

// timedBody is a request body that arrives from a client while it is sent to the origin.
type timedBody struct {
	io.ReadCloser
	deadline *headDeadline
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	b.deadline.pause()
	defer b.deadline.run()
	return b.ReadCloser.Read(p)
}

// publicError returns the error that a client receives for err. A deadline that passed,
// here or in the cache, is reported as a timeout of the origin, not as a fault of the node.
func publicError(err error) *fieldmark.Error {
	if fe, ok := errors.AsType[*fieldmark.Error](err); ok {
		return fe
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, cache.ErrFillTimeout):
		return errOriginTimeout(err)
	case errors.Is(err, cache.ErrBusy):
		return errOverloaded()
	case errors.Is(err, cache.ErrPurged), errors.Is(err, cache.ErrClosed):
		return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable,
			Detail: "the answer changed while it was made; repeat the request a little later", Err: err}
	}
	return fieldmark.AsError(err)
}

// errOriginTimeout returns the error for a request to which the origin did not respond in
// time.
func errOriginTimeout(err error) *fieldmark.Error {
	return &fieldmark.Error{Code: fieldmark.CodeTimeout,
		Detail: "the origin did not answer in time; it is safe to repeat a request that names its mission", Err: err}
}
