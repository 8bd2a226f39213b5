package h2

import "time"

// bucket bounds how often a client may cause work that costs it little (10.5): it holds
// a number of charges and is refilled at a rate.
type bucket struct {
	name   string
	size   float64
	rate   float64 // charges per second
	used   float64
	filled time.Time
}

// take takes one charge at a time and reports whether there was one.
func (b *bucket) take(now time.Time) bool {
	if b.used > 0 {
		b.used = max(0, b.used-b.rate*now.Sub(b.filled).Seconds())
	}
	b.filled = now
	b.used++
	return b.used <= b.size
}

// limits are the buckets of a connection. They are constants, not settings: browsers stay
// far below them.
type limits struct {
	// resets is charged for a stream that ended before its response, by either side:
	// rapid reset (CVE-2023-44487) and its twin in which the server is made to reset
	// (CVE-2025-8671). A browser that leaves a page resets its hundred streams once.
	resets bucket
	// owed is charged for frames that must be answered: SETTINGS and PING
	// (CVE-2019-9512, CVE-2019-9515).
	owed bucket
	// idle is charged for frames that change nothing: empty or padded DATA, PRIORITY,
	// WINDOW_UPDATE, unknown frames, frames of closed streams (CVE-2019-9518,
	// CVE-2019-9513), and for DATA that a small window forces to be short
	// (CVE-2019-9511).
	idle bucket
}

// Buckets are the names of the buckets, as Events.Calmed gets them.
var Buckets = [...]string{"resets", "owed", "idle"}

func newLimits(now time.Time) limits {
	return limits{
		resets: bucket{name: Buckets[0], size: 200, rate: 20, filled: now},
		owed:   bucket{name: Buckets[1], size: 100, rate: 10, filled: now},
		idle:   bucket{name: Buckets[2], size: 1000, rate: 100, filled: now},
	}
}

// charge charges a bucket. An empty one ends the connection; the caller holds c.mu.
func (c *Conn) charge(b *bucket) error {
	if b.take(c.now) {
		return nil
	}
	if c.calmed == "" {
		c.calmed = b.name
		c.cfg.Events.Calmed(b.name)
	}
	return connErrorf(EnhanceYourCalm, "too many frames of a kind: "+b.name)
}
