package mux

import (
	"sync/atomic"
	"time"
)

// Bucket bounds how often a client may cause work that costs it little (RFC 9113, 10.5;
// RFC 9114, 10.5): it holds a number of charges and is refilled at a rate.
type Bucket struct {
	Name   string
	size   float64
	rate   float64 // charges per second
	used   float64
	filled time.Time
}

// Take takes one charge and reports whether there was one.
func (b *Bucket) Take(now time.Time) bool {
	if b.used > 0 {
		b.used = max(0, b.used-b.rate*now.Sub(b.filled).Seconds())
	}
	b.filled = now
	b.used++
	return b.used <= b.size
}

// Limits are the buckets of a connection. They are constants, not settings: browsers stay
// far below them.
type Limits struct {
	// Resets is charged for a stream that ended before its response, by either side:
	// rapid reset (CVE-2023-44487) and its twin in which the server is made to reset
	// (CVE-2025-8671). A browser that leaves a page resets its hundred streams once.
	Resets Bucket
	// Owed is charged for frames that must be answered: SETTINGS and PING of HTTP/2
	// (CVE-2019-9512, CVE-2019-9515).
	Owed Bucket
	// Idle is charged for frames that change nothing: empty or padded DATA, PRIORITY,
	// WINDOW_UPDATE, unknown frames and streams, frames of closed streams
	// (CVE-2019-9518, CVE-2019-9513), and for DATA that a small window forces to be short
	// (CVE-2019-9511).
	Idle Bucket
}

// Buckets are the names of the buckets, as Events.Calmed gets them.
var Buckets = [...]string{"resets", "owed", "idle"}

// NewLimits returns full buckets.
func NewLimits(now time.Time) Limits {
	return Limits{
		Resets: Bucket{Name: Buckets[0], size: 200, rate: 20, filled: now},
		Owed:   Bucket{Name: Buckets[1], size: 100, rate: 10, filled: now},
		Idle:   Bucket{Name: Buckets[2], size: 1000, rate: 100, filled: now},
	}
}

// windowBudget bounds what large windows add on a node, in bytes.
const windowBudget = 64 << 20

// WindowBudget bounds the memory of large windows on a node. The zero value is ready.
type WindowBudget struct{ used atomic.Int64 }

// TryAcquire reserves n bytes and reports whether they were free.
func (b *WindowBudget) TryAcquire(n int) bool {
	if b.used.Add(int64(n)) <= windowBudget {
		return true
	}
	b.used.Add(int64(-n))
	return false
}

// Release returns n bytes.
func (b *WindowBudget) Release(n int) { b.used.Add(int64(-n)) }
