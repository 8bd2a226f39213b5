package cache

import (
	"sync/atomic"
	"time"
)

const (
	// failureThreshold is how many calls in a row must fail until no more are made: one
	// can be bad luck, and each costs a reader the whole deadline.
	failureThreshold = 3
	// probeInterval is the pause between attempts to reach a tier that is away.
	probeInterval = 500 * time.Millisecond
)

// breaker keeps callers from waiting for what does not answer. The zero value
// lets calls through. When it has tripped, nobody is let through until a probe,
// made beside all requests, has succeeded.
type breaker struct {
	failures  atomic.Int32
	probing   atomic.Bool
	nextProbe atomic.Int64 // when the next probe may begin, in Unix nanoseconds
}

// allow reports whether a call may be made, and whether the caller has to start
// a probe instead and end it with done.
func (b *breaker) allow() (call, probe bool) {
	if b.failures.Load() < failureThreshold {
		return true, false
	}
	if time.Now().UnixNano() < b.nextProbe.Load() || !b.probing.CompareAndSwap(false, true) {
		return false, false
	}
	return false, true
}

// record records the outcome of a call.
func (b *breaker) record(err error) {
	if err == nil {
		if b.failures.Load() != 0 { // a shared line is written only if it changes
			b.failures.Store(0)
		}
		return
	}
	if b.failures.Add(1) == failureThreshold {
		b.nextProbe.Store(time.Now().Add(probeInterval).UnixNano())
	}
}

// probeDone records the outcome of a probe.
func (b *breaker) probeDone(err error) {
	b.nextProbe.Store(time.Now().Add(probeInterval).UnixNano())
	if err == nil {
		b.failures.Store(0)
	}
	b.probing.Store(false)
}
