package cache

import (
	"sync/atomic"
	"time"
)

const (
	// failureThreshold is how many calls in a row must fail before the breaker
	// opens. One failure may be bad luck, and each costs a reader the whole
	// deadline.
	failureThreshold = 3
	// probeInterval is the pause between two probes while the breaker is open.
	probeInterval = 500 * time.Millisecond
)

// breaker is a circuit breaker: it keeps callers from waiting for a Redis that does
// not answer. The zero value is closed and lets calls through. After
// failureThreshold failures in a row it opens and rejects every call until a probe
// succeeds. Probes run in the background, never in a request. It is safe for
// concurrent use.
type breaker struct {
	failures  atomic.Int32
	probing   atomic.Bool
	nextProbe atomic.Int64 // when the next probe may begin, in Unix nanoseconds
}

// allow reports whether a call may be made. If probe is true, the caller must start
// a probe in the background and pass its outcome to probeDone.
func (b *breaker) allow() (call, probe bool) {
	if b.failures.Load() < failureThreshold {
		return true, false
	}
	if time.Now().UnixNano() < b.nextProbe.Load() || !b.probing.CompareAndSwap(false, true) {
		return false, false
	}
	return false, true
}

// record counts the outcome of a call.
func (b *breaker) record(err error) {
	if err == nil {
		if b.failures.Load() != 0 { // write the shared cache line only when it changes
			b.failures.Store(0)
		}
		return
	}
	if b.failures.Add(1) == failureThreshold {
		b.nextProbe.Store(time.Now().Add(probeInterval).UnixNano())
	}
}

// probeDone records the outcome of a probe and closes the breaker if it succeeded.
func (b *breaker) probeDone(err error) {
	b.nextProbe.Store(time.Now().Add(probeInterval).UnixNano())
	if err == nil {
		b.failures.Store(0)
	}
	b.probing.Store(false)
}
