package proxy

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// soloFor is how long the requests of a key are not coalesced after its response turned
	// out not to be shareable. Longer would send more requests than needed once it is
	// shareable; shorter would make many requests wait for a leader again.
	soloFor = 10 * time.Second
	// backoffFor is how long no request is sent to an origin that failed for a key, if a
	// stale response may be served instead.
	backoffFor = time.Second
	// maxWait is how long a request waits for another's answer before it is sent
	// itself.
	maxWait = 5 * time.Second * timeout.Scale
	// maxMarkers bounds the table. Beyond it marks are dropped, which costs an extra wait.
	maxMarkers = 1 << 16
)

// variantMarker is a digest of a key, for what outlives its requests. Clients choose keys, of
// up to 18 kB with an Origin that fills the head, and 65,536 of those are a gigabyte.
type variantMarker [sha256.Size]byte

func markerOf(key string) variantMarker { return sha256.Sum256([]byte(key)) }

// flight is one request to the origin whose response several requests may wait for.
type flight struct {
	key     variantMarker
	seq     int64 // Proxy.seq when it began
	pending *pendingURL
	done    chan struct{}
	lease   *sharedLease // of its leader; nil: none

	// Set before done is closed.
	shared  *variant // nil: each sends its own request
	err     error    // the origin could not be reached
	onError bool     // shared is stale and sent in need

	until time.Time // when it is deleted; under flights.mu
	ended bool      // under flights.mu
}

// wait reports whether the flight ended in time.
func (f *flight) wait() bool {
	t := time.NewTimer(maxWait)
	defer t.Stop()
	select {
	case <-f.done:
		return f.shared != nil || f.err != nil
	case <-t.C:
		return false
	}
}

// flights are the coalesced requests in flight and the marks of those that ended.
type flights struct {
	mu       sync.Mutex
	byKey    map[variantMarker]*flight
	backoffs map[variantMarker]time.Time // keys whose origin has failed just now
}

// join finds the flight of a key or begins one, which the caller then leads. A nil flight
// means that the request must not be coalesced. outdated reports whether the result of a
// flight was purged since it began: only requests that came before the purge may share it.
func (t *flights) join(of string, seq int64, url *pendingURL, outdated func(*flight) bool) (f *flight, leads bool) {
	now, key := time.Now(), markerOf(of)
	t.mu.Lock()
	defer t.mu.Unlock()
	f = t.byKey[key]
	switch {
	case f == nil:
	case f.ended && now.Before(f.until):
		return nil, false
	case !f.ended && !outdated(f):
		return f, false
	}
	if len(t.byKey) >= maxMarkers {
		t.sweep(now)
	}
	f = &flight{key: key, seq: seq, pending: url, done: make(chan struct{})}
	t.byKey[key] = f
	return f, true
}

// sweep removes expired markers, and all of them if that is not enough.
func (t *flights) sweep(now time.Time) {
	for _, all := range []bool{false, true} {
		for k, f := range t.byKey {
			if f.ended && (all || now.After(f.until)) {
				delete(t.byKey, k)
			}
		}
		if len(t.byKey) < maxMarkers {
			return
		}
	}
}

// end gives the outcome to all who wait. Only the first call has an effect. If the response
// cannot be shared, the key is marked: its requests are not coalesced for soloFor.
func (t *flights) end(f *flight, shared *variant, onError bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.ended {
		return
	}
	f.shared, f.onError, f.err, f.ended, f.until = shared, onError, err, true, time.Now().Add(soloFor)
	close(f.done)
	if (shared != nil || err != nil) && t.byKey[f.key] == f {
		delete(t.byKey, f.key)
	}
}

// backOff notes that the origin has failed for a key.
func (t *flights) backOff(key string) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.backoffs == nil || len(t.backoffs) >= maxMarkers {
		t.backoffs = map[variantMarker]time.Time{}
	}
	t.backoffs[markerOf(key)] = now.Add(backoffFor)
}

// isBackingOff reports whether the origin has failed for a key just now.
func (t *flights) isBackingOff(of string) bool {
	key := markerOf(of)
	t.mu.Lock()
	defer t.mu.Unlock()
	until, ok := t.backoffs[key]
	if ok && !time.Now().Before(until) {
		delete(t.backoffs, key)
		return false
	}
	return ok
}
