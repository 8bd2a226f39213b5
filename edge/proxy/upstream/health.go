package upstream

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/internal/timeout"
)

// Limits of upstream health: of health checks, and of what makes a server unhealthy.
const (
	// DefaultHealthEvery detects a failed origin within ten seconds and costs one
	// request in five seconds of each node.
	DefaultHealthEvery = 5 * time.Second
	// checkTimeout bounds one check: an origin that needs longer is unhealthy.
	checkTimeout = 2 * time.Second * timeout.Scale
	// failThreshold is how many failures in a row make an origin unhealthy. One may be a
	// connection that was cut; three are no accident.
	failThreshold = 3
	// backoffMin and backoffMax bound how long an unhealthy origin gets no requests; the
	// time doubles while it stays unhealthy. A check that succeeds ends it.
	backoffMin = time.Second
	backoffMax = 30 * time.Second
)

// server is one of the servers and its health.
type server struct {
	scheme, host string

	inFlight atomic.Int64 // requests whose response is not fully read

	mu sync.Mutex

	failures     int  // in a row, of requests and checks together
	timedOut     bool // the last failure was a timeout: a connection that opens does not make the origin healthy
	backoffUntil time.Time
	backoff      time.Duration
}

// healthy reports whether requests may go to the origin.
func (o *server) healthy(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failures < failThreshold || !now.Before(o.backoffUntil)
}

// recordFailure notes a request or check that got no answer. It reports whether the
// origin has just become unhealthy.
func (o *server) recordFailure(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures++
	if o.failures < failThreshold {
		return false
	}
	if o.failures == failThreshold {
		o.backoff = backoffMin
	} else if now.Before(o.backoffUntil) {
		return false // it was in flight when the origin became unhealthy
	} else {
		o.backoff = min(2*o.backoff, backoffMax)
	}
	o.backoffUntil = now.Add(o.backoff/2 + rand.N(o.backoff)) // nodes come back one by one
	return o.failures == failThreshold
}

// recordTimeout marks an origin unhealthy at once if it has sent no bytes for several
// keep-alive intervals. A stopped process still accepts connections, so only a response
// makes it healthy again.
func (o *server) recordTimeout(now time.Time) bool {
	o.mu.Lock()
	o.timedOut, o.failures = true, max(o.failures, failThreshold-1)
	o.mu.Unlock()
	return o.recordFailure(now)
}

// recordSuccess records a response. It reports whether the origin was unhealthy.
func (o *server) recordSuccess() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.failures >= failThreshold
	o.failures, o.timedOut = 0, false
	return was
}

// recordConnect records an opened connection as recordSuccess does, unless a request to the server timed out: then
// a connection is no proof that it answers.
func (o *server) recordConnect() bool {
	o.mu.Lock()
	silent := o.timedOut
	o.mu.Unlock()
	return !silent && o.recordSuccess()
}

// leastConn returns the origin with the fewest requests under way among those that
// are healthy and were not tried; where none is healthy, any other is tried before
// the request fails. nil means all were tried.
func (u *Upstream) leastConn(tried []*server) *server {
	now := time.Now()
	var best, last *server
	first := rand.IntN(len(u.origins)) // equals take turns
	for i := range u.origins {
		o := u.origins[(first+i)%len(u.origins)]
		if contains(tried, o) {
			continue
		}
		if !o.healthy(now) {
			last = fewerInFlight(last, o)
			continue
		}
		best = fewerInFlight(best, o)
	}
	if best == nil {
		return last
	}
	return best
}

// fewerInFlight returns the one with fewer requests under way, a if they are equal.
func fewerInFlight(a, b *server) *server {
	if a == nil || b.inFlight.Load() < a.inFlight.Load() {
		return b
	}
	return a
}

func contains(list []*server, o *server) bool {
	for _, x := range list {
		if x == o {
			return true
		}
	}
	return false
}

// State is the health and load of one origin.
type State struct {
	Origin   string // scheme and host
	Healthy  bool
	InFlight int64 // requests under way
}

// States returns the state of each origin, in the order of the setting.
func (u *Upstream) States() []State {
	now := time.Now()
	all := make([]State, len(u.origins))
	for i, o := range u.origins {
		all[i] = State{Origin: o.scheme + "://" + o.host, Healthy: o.healthy(now), InFlight: o.inFlight.Load()}
	}
	return all
}

// Run checks the origins until ctx ends, and closes what is idle then. With one
// origin there is nothing to choose, so it is not checked.
func (u *Upstream) Run(ctx context.Context) error {
	defer u.CloseIdle()
	var wg sync.WaitGroup
	defer wg.Wait()
	if len(u.origins) > 1 && u.cfg.HealthEvery > 0 {
		for _, o := range u.origins {
			wg.Go(func() { u.runChecks(ctx, o) })
		}
	}
	<-ctx.Done()
	return nil
}

// runChecks checks one origin again and again.
func (u *Upstream) runChecks(ctx context.Context, o *server) {
	every := u.cfg.HealthEvery
	timer := time.NewTimer(rand.N(every))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		err := u.check(ctx, o)
		if ctx.Err() != nil {
			return
		}
		u.record(o, err)
		timer.Reset(every*4/5 + rand.N(every*2/5+1))
	}
}

// record updates the health of an origin after an exchange.
func (u *Upstream) record(o *server, err error) {
	var recovered, failed bool
	switch {
	case err == nil:
		recovered = o.recordSuccess()
	case errors.Is(err, errConnected):
		recovered = o.recordConnect()
	case errors.Is(err, errNoKeepAlive):
		failed = o.recordTimeout(time.Now())
	default:
		failed = o.recordFailure(time.Now())
	}
	if recovered {
		u.log.Info("origin recovered", "origin", o.host)
	}
	if failed {
		u.log.Warn("origin unhealthy", "origin", o.host, "err", err)
	}
}

// errConnected is the result of a check that only opened a connection.
var errConnected = errors.New("a connection opened")

// check sends one health check.
func (u *Upstream) check(ctx context.Context, o *server) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if u.cfg.HealthPath == "" && u.ownTransports != nil {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", dialAddress(o))
		if err != nil {
			return err
		}
		_ = c.Close() // it was never used
		return errConnected
	}
	path := u.cfg.HealthPath
	if path == "" {
		path = "/"
	}
	// A connection takes bytes only as the answer to a request that it knows of.
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if c, ok := info.Conn.(*conn); ok {
			c.start(http.MethodGet)
		}
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.scheme+"://"+o.host+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "fieldmark-health")
	resp, err := u.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		return &badStatus{resp.Status}
	}
	return nil
}

// badStatus is the error of a check that was answered with an error status.
type badStatus struct{ status string }

// Error implements error.
func (e *badStatus) Error() string { return "the health check was answered " + e.status }

// dialAddress is the address to connect to.
func dialAddress(o *server) string {
	if _, _, err := net.SplitHostPort(o.host); err == nil {
		return o.host
	}
	port := "80"
	if o.scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(o.host, port)
}
