package upstream

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// How the health of origins is judged.
const (
	// DefaultHealthEvery finds a dead origin within ten seconds and costs one
	// request in five seconds of each node.
	DefaultHealthEvery = 5 * time.Second
	// checkTimeout bounds one check: an origin that needs longer is not well.
	checkTimeout = 2 * time.Second
	// illAfter is how many failures in a row make an origin ill. One may be a
	// connection that was cut; three are no accident.
	illAfter = 3
	// restFirst and restMost are how long an ill origin is left alone; it
	// doubles while it stays ill. A check that finds it well ends the rest.
	restFirst = time.Second
	restMost  = 30 * time.Second
)

// origin is one of the servers and what is known of it.
type origin struct {
	scheme, host string

	flying atomic.Int64 // requests whose answer is not read to its end

	mu sync.Mutex

	failures int  // in a row, of requests and checks together
	silent   bool // the last was a silence: that a connection opens says nothing
	until    time.Time
	rest     time.Duration
}

// well reports whether requests may go to the origin.
func (o *origin) well(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failures < illAfter || !now.Before(o.until)
}

// failed notes a request or check that got no answer. It reports whether the
// origin has just become ill.
func (o *origin) failed(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures++
	if o.failures < illAfter {
		return false
	}
	if o.failures == illAfter {
		o.rest = restFirst
	} else if now.Before(o.until) {
		return false // what was under way when it fell ill says nothing new
	} else {
		o.rest = min(2*o.rest, restMost)
	}
	o.until = now.Add(o.rest/2 + rand.N(o.rest)) // nodes come back one by one
	return o.failures == illAfter
}

// failedSilent is failed for an origin that has sent no sign of life for as long as
// several should have come: it is ill at once. A process that is stopped goes on
// accepting connections, so only an answer makes it well again.
func (o *origin) failedSilent(now time.Time) bool {
	o.mu.Lock()
	o.silent, o.failures = true, max(o.failures, illAfter-1)
	o.mu.Unlock()
	return o.failed(now)
}

// answered notes an answer. It reports whether the origin was ill.
func (o *origin) answered() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.failures >= illAfter
	o.failures, o.silent = 0, false
	return was
}

// connected notes a connection that opened, as answered does.
func (o *origin) connected() bool {
	o.mu.Lock()
	silent := o.silent
	o.mu.Unlock()
	return !silent && o.answered()
}

// pick returns the origin with the fewest requests under way among those that
// are well and were not tried; where none is well any other is better than an
// answer that nobody was asked for. nil means all were tried.
func (u *Upstream) pick(tried []*origin) *origin {
	now := time.Now()
	var best, last *origin
	first := rand.IntN(len(u.origins)) // equals take turns
	for i := range u.origins {
		o := u.origins[(first+i)%len(u.origins)]
		if contains(tried, o) {
			continue
		}
		if !o.well(now) {
			last = less(last, o)
			continue
		}
		best = less(best, o)
	}
	if best == nil {
		return last
	}
	return best
}

// less returns the one with fewer requests under way, a if they are equal.
func less(a, b *origin) *origin {
	if a == nil || b.flying.Load() < a.flying.Load() {
		return b
	}
	return a
}

func contains(list []*origin, o *origin) bool {
	for _, x := range list {
		if x == o {
			return true
		}
	}
	return false
}

// State is what is known of one origin.
type State struct {
	Origin string // scheme and host
	Well   bool
	Flying int64 // requests under way
}

// States returns what is known of each origin, in the order of the setting.
func (u *Upstream) States() []State {
	now := time.Now()
	all := make([]State, len(u.origins))
	for i, o := range u.origins {
		all[i] = State{Origin: o.scheme + "://" + o.host, Well: o.well(now), Flying: o.flying.Load()}
	}
	return all
}

// Run checks the origins until ctx ends, and closes what is idle then. With one
// origin there is nothing to choose, so it is not asked how it is.
func (u *Upstream) Run(ctx context.Context) error {
	defer u.CloseIdle()
	var wg sync.WaitGroup
	defer wg.Wait()
	if len(u.origins) > 1 && u.cfg.HealthEvery > 0 {
		for _, o := range u.origins {
			wg.Go(func() { u.watch(ctx, o) })
		}
	}
	<-ctx.Done()
	return nil
}

// watch checks one origin again and again.
func (u *Upstream) watch(ctx context.Context, o *origin) {
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
		u.note(o, err)
		timer.Reset(every*4/5 + rand.N(every*2/5+1))
	}
}

// note keeps what an exchange with an origin says of its health.
func (u *Upstream) note(o *origin, err error) {
	var recovered, failed bool
	switch {
	case err == nil:
		recovered = o.answered()
	case errors.Is(err, errConnected):
		recovered = o.connected()
	case errors.Is(err, errNoSignOfLife):
		failed = o.failedSilent(time.Now())
	default:
		failed = o.failed(time.Now())
	}
	if recovered {
		u.log.Info("origin is well again", "origin", o.host)
	}
	if failed {
		u.log.Warn("origin is ill; others are asked", "origin", o.host, "err", err)
	}
}

// errConnected is the result of a check that has opened a connection and asked
// nothing.
var errConnected = errors.New("a connection opened")

// check asks one origin how it is.
func (u *Upstream) check(ctx context.Context, o *origin) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if u.cfg.HealthPath == "" && u.own != nil {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", withPort(o))
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
		return &unwell{resp.Status}
	}
	return nil
}

// unwell is a check that was answered, but not well.
type unwell struct{ status string }

// Error implements error.
func (e *unwell) Error() string { return "the health check was answered " + e.status }

// withPort is the address to connect to.
func withPort(o *origin) string {
	if _, _, err := net.SplitHostPort(o.host); err == nil {
		return o.host
	}
	port := "80"
	if o.scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(o.host, port)
}
