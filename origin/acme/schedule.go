package acme

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// requestTimeout bounds one request to the CA.
	requestTimeout = 30 * time.Second
	// renewalInterval is the time between two questions about the renewal of a certificate
	// (RFC 9773, 4.3.2, advises 6 hours).
	renewalInterval = 6 * time.Hour
	// renewalMin bounds the renewal time that a CA may set.
	renewalMin = time.Minute
	// maxRenewalInfo bounds the answer in bytes.
	maxRenewalInfo = 16 << 10
	// shortLife is the life below which a certificate is renewed after half of it, instead
	// of two thirds: what is left must be enough for several attempts.
	shortLife = 10 * 24 * time.Hour
	// refusedFirst and refusedMost bound the pause after the CA refused an order; each
	// refusal doubles it. Failed validations count against the limits of a CA: five an hour
	// at Let's Encrypt.
	refusedFirst = time.Hour
	refusedMost  = 24 * time.Hour
	// unreachableFirst and unreachableMost are the same while the CA cannot be reached, which costs
	// nothing.
	unreachableFirst = time.Minute
	unreachableMost  = time.Hour
	// otherKindAfter is the pause before the other kind of challenge is tried.
	otherKindAfter = time.Minute
	// maxRetryAfter bounds the wait that a CA may set: it may be a mistake.
	maxRetryAfter = 7 * 24 * time.Hour
	// maxError bounds a stored error, in bytes.
	maxError = 1000
)

// renewalTime returns when to renew a certificate if the CA does not advise a time.
// Two thirds leave 30 of 90 days for attempts, as Let's Encrypt advises.
func renewalTime(notBefore, notAfter time.Time) time.Time {
	life := notAfter.Sub(notBefore)
	if life < shortLife {
		return notBefore.Add(life / 2)
	}
	return notBefore.Add(life * 2 / 3)
}

// renewalWindow is when a CA advises to renew a certificate (RFC 9773, 4.2).
// A CA moves the window to the past when it revokes certificates, and they are renewed at once.
type renewalWindow struct {
	SuggestedWindow struct {
		Start time.Time `json:"start"`
		End   time.Time `json:"end"`
	} `json:"suggestedWindow"`
	ExplanationURL string `json:"explanationURL"`

	again time.Duration // until the next question
}

// errNoARI means that the CA does not advise times of renewal.
var errNoARI = errors.New("the CA has no renewal information")

// renewalInfo reads from the CA when to renew a certificate (ARI). The ACME client has the same
// question, but repeats it with pauses and refuses windows of a second, which say: now.
func (s *Service) renewalInfo(ctx context.Context, leaf *x509.Certificate) (w renewalWindow, err error) {
	dir, err := s.client.GetDirectory(ctx)
	if err != nil {
		return w, err
	}
	id, err := acme.ARIUniqueIdentifier(leaf)
	if err != nil || dir.RenewalInfo == "" {
		return w, errNoARI
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(dir.RenewalInfo, "/")+"/"+id, nil)
	if err != nil {
		return w, err
	}
	resp, err := s.client.HTTPClient.Do(req)
	if err != nil {
		return w, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return w, fmt.Errorf("renewal information: %s", resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxRenewalInfo)).Decode(&w); err != nil {
		return w, fmt.Errorf("renewal information: %w", err)
	}
	if !w.SuggestedWindow.End.After(w.SuggestedWindow.Start) {
		return w, errors.New("renewal information: the window has no length")
	}
	w.again = renewalInterval
	if after := parseRetryAfter(resp.Header.Get("Retry-After")); after > 0 {
		w.again = max(after, renewalMin)
	}
	return w, nil
}

// plan sets when a certificate is renewed, and when the CA is queried again. A time within the
// window that was chosen before stays: a new random time at every question would drift
// towards the end. Without an answer, the planned time stays.
func (s *Service) plan(ctx context.Context, c *store.Certificate) {
	now := time.Now()
	c.DueAt = earliest(c.RenewAt, now.Add(renewalInterval))
	leaf, err := leafOf(c.Chain)
	if err != nil {
		return
	}
	w, err := s.renewalInfo(ctx, leaf)
	if err != nil {
		if !errors.Is(err, errNoARI) && ctx.Err() == nil {
			s.log.Warn("the CA does not say when to renew", slog.String("name", c.Name), slog.Any("error", err))
		}
		return
	}
	start, end := w.SuggestedWindow.Start, w.SuggestedWindow.End
	if c.RenewAt.Before(start) || c.RenewAt.After(end) {
		c.RenewAt = start.Add(rand.N(end.Sub(start)))
		s.log.Info("renewal planned", slog.String("name", c.Name), slog.Time("renew", c.RenewAt),
			slog.String("reason", w.ExplanationURL))
	}
	c.DueAt = earliest(c.RenewAt, now.Add(w.again))
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// rejectedError is an error after which the order cannot succeed.
type rejectedError struct {
	error
	validation bool // the challenge failed; the other kind may work
}

// Unwrap returns the cause.
func (e *rejectedError) Unwrap() error { return e.error }

// fail records a failure in c: when to try again, and whether with a new order. It returns
// err.
func (s *Service) fail(ctx context.Context, c *store.Certificate, o *store.CertificateOrder, err error) error {
	if errors.Is(err, errLeaseLost) || errors.Is(err, context.Canceled) {
		return err
	}
	now := time.Now()
	problem, answered := errors.AsType[acme.Problem](err)
	rejection, rejected := errors.AsType[*rejectedError](err)
	limited := answered && problem.Type == acme.ProblemTypeRateLimited
	if answered && problem.Type == acme.ProblemTypeAccountDoesNotExist {
		if err := s.dropAccountURL(ctx); err != nil {
			return err
		}
	}
	rejected = rejected || answered && problem.Status/100 == 4 && !limited
	c.Failures++
	c.LastError = err.Error()[:min(len(err.Error()), maxError)]
	pause := backoff(unreachableFirst, unreachableMost, c.Failures)
	if rejected || limited {
		pause = backoff(refusedFirst, refusedMost, c.Failures-1)
	}
	if rejection != nil && rejection.validation {
		c.Challenge = otherKind(c.Challenge)
		if c.Failures == 1 {
			pause = otherKindAfter
		}
	}
	c.DueAt = now.Add(pause)
	if after := retryAfterOf(ctx); after > 0 {
		c.DueAt = now.Add(after)
	}
	s.results[resultFailed].Add(1)
	if limited {
		s.results[resultLimited].Add(1)
		c.LimitedUntil = c.DueAt
	}
	if !rejected && (!limited || o.URL != "") {
		return err // the order continues
	}
	if e := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.EndOrder(ctx, *o, now, c.LastError)
	}); e != nil {
		return errors.Join(err, e)
	}
	return err
}

// backoff returns the pause after the nth failure, give or take a tenth: names that fail at
// once must not all be tried again at once.
func backoff(first, most time.Duration, n int) time.Duration {
	pause := most
	if n = max(n, 1); n < 20 {
		pause = min(first<<(n-1), most)
	}
	// Spread, so that the names of a fleet do not all try again in the same second.
	return pause - pause/10 + rand.N(pause/5)
}

// retryAfterKey is the context key of *time.Duration, which retryAfterTransport sets.
type retryAfterKey struct{}

func withRetryAfter(ctx context.Context) context.Context {
	return context.WithValue(ctx, retryAfterKey{}, new(time.Duration))
}

// retryAfterOf returns the Retry-After of the last refused request under ctx; 0: none.
func retryAfterOf(ctx context.Context) time.Duration {
	if after, ok := ctx.Value(retryAfterKey{}).(*time.Duration); ok {
		return *after
	}
	return 0
}

// retryAfterTransport records the Retry-After of responses that refuse a request: the errors
// of the ACME client do not have it.
type retryAfterTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t retryAfterTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	after, ok := r.Context().Value(retryAfterKey{}).(*time.Duration)
	if err != nil || !ok {
		return resp, err
	}
	*after = 0
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return resp, nil
	}
	*after = parseRetryAfter(resp.Header.Get("Retry-After"))
	return resp, nil
}

// parseRetryAfter returns the value of a Retry-After field, at most maxRetryAfter; 0: none.
func parseRetryAfter(field string) time.Duration {
	if seconds, err := strconv.Atoi(field); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(field); err == nil {
		return min(max(time.Until(at), 0), maxRetryAfter)
	}
	return 0
}
