package cache

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark/internal/timeout"
)

// fleetInfo identifies the processes that share entries: all that follow the same
// event log.
type fleetInfo struct {
	log    string
	head   int64     // newest event number when this process joined
	joined time.Time // when this process joined
}

// Join starts sharing entries with every process that follows the event log of
// this name. Call it after replaying the log: InvalidateBefore(n), then Purge for
// each event from n to head. Entries in Redis may be older than this process, and
// only its own tag table shows which of them are stale; without the replay a
// restarted process would serve values that were purged while it was down.
func (c *Cache) Join(log string, head int64) {
	c.fleet.Store(&fleetInfo{log: log, head: head, joined: time.Now()})
}

// SharedFill wraps fill so that it first looks for an entry in Redis. An entry
// filled by another process is used if the tag table of this process says it is
// fresh. Among all processes that miss the same key, the one that holds the lease
// runs fill; the others poll Redis for its entry and run fill themselves after
// wait. If Redis is unavailable, fill runs.
//
// decode sets the Value of an entry read from Redis; it may be nil. key must not
// be a borrowed buffer. If fill fails and memory has no entry to fall back on, an
// old entry from Redis is returned, within the limit of its OnError.
func (c *Cache) SharedFill(key string, wait time.Duration, decode func(*Entry) error, fill Fill) Fill {
	if c.redis == nil {
		return fill
	}
	return func(ctx context.Context) (*Entry, error) {
		fleet := c.fleet.Load()
		if fleet == nil {
			return fill(ctx)
		}
		f := fleetFill{c: c, fleet: fleet, key: strings.Clone(key), wait: wait, decode: decode, fill: fill}
		return f.run(ctx)
	}
}

// fleetFill is one fill of a key that is shared by the fleet.
type fleetFill struct {
	c      *Cache
	fleet  *fleetInfo
	key    string
	wait   time.Duration // how long to wait for the entry of another process
	decode func(*Entry) error
	fill   Fill
	old    *Entry // a stale entry from Redis, for fallBack
}

// run returns an entry from Redis or fills the key here. Redis pub/sub is not used
// to wake waiters: a lost message would cost the whole wait.
func (f *fleetFill) run(ctx context.Context) (*Entry, error) {
	until := time.Now().Add(f.wait)
	for pause := leasePollMin; ; pause = min(2*pause, leasePollMax) {
		if e := f.load(ctx); e != nil {
			return e, nil
		}
		token, known := f.c.redis.acquireLease(ctx, f.fleet.log, f.key)
		switch {
		case token != "":
			// The previous holder may have saved its entry after the load above.
			if e := f.load(ctx); e != nil {
				f.publish(nil, token)
				return e, nil
			}
			return f.fillHere(ctx, token)
		case !known || time.Now().After(until):
			return f.fillHere(ctx, "")
		}
		if pause == leasePollMin {
			f.c.redis.events.Waited()
		}
		if timeout.Sleep(ctx, pause/2+rand.N(pause)) != nil {
			return f.fillHere(ctx, "")
		}
	}
}

// load returns the entry in Redis if it is as good as a new fill, else nil.
func (f *fleetFill) load(ctx context.Context) *Entry {
	c := f.c
	began := &flight{epoch: c.tags.epoch.Load(), began: c.now()}
	e := c.redis.load(ctx, f.fleet.log, f.key)
	if e == nil || f.fleet.fromFuture(c, e) || f.decode != nil && f.decode(e) != nil {
		c.redis.events.Miss()
		return nil
	}
	now := c.now()
	stored := c.stamp(e, began, now)
	state := c.state(stored, now)
	if state == Fresh && !c.drawEarly(stored, now) && f.newer(e) {
		c.redis.events.Hit()
		return e
	}
	c.redis.events.Miss()
	// The grace period after a purge cannot be measured here: this process may have
	// received the purge late, so a purged entry is used only if a fill fails.
	if state != Miss && (now < stored.deadlines.onErrorUntil || !c.tags.purged(stored)) {
		f.old = e
	}
	return nil
}

// fromFuture reports whether e refers to events that had not happened when e was
// made, or was made before a Reset. Either way the event log was restored from a
// backup since then and reused the numbers for other events.
func (i *fleetInfo) fromFuture(c *Cache, e *Entry) bool {
	return e.AsOf > i.head && e.Born.Before(i.joined) || e.Born.UnixNano() < c.resetAt.Load()
}

// newer reports whether e is newer than the entry in memory. An equal one is what
// made this fill necessary, and returning it would mean that no process fills.
func (f *fleetFill) newer(e *Entry) bool {
	hash := f.c.hash(f.key)
	mine, _ := f.c.lookup(f.c.shard(hash), hash, f.key)
	return mine == nil || e.AsOf > mine.AsOf || e.Born.After(mine.Born)
}

// fillHere runs the fill in this process and publishes its entry to the fleet.
func (f *fleetFill) fillHere(ctx context.Context, leaseToken string) (*Entry, error) {
	began := time.Now().Round(0) // no monotonic reading: other processes compare it
	returned := false
	defer func() {
		if !returned { // the fill panicked
			f.publish(nil, leaseToken)
		}
	}()
	f.c.redis.events.Filled()
	e, err := f.fill(ctx)
	returned = true
	if err != nil || e == nil {
		f.publish(nil, leaseToken)
		return f.fallBack(err)
	}
	if e.Born.IsZero() {
		e.Born = began
	}
	if e.Took == 0 {
		e.Took = time.Since(began)
	}
	f.publish(e, leaseToken)
	return e, nil
}

// publish saves e in Redis, unless it is nil, and releases the lease. It does so in
// the background, because the waiters of the fill already have their entry.
func (f *fleetFill) publish(e *Entry, leaseToken string) {
	if e == nil && leaseToken == "" {
		return
	}
	var saved *Entry
	if e != nil {
		copied := *e // the caller's entry belongs to the cache from now on
		saved = &copied
	}
	f.c.fills.Go(func() {
		ctx := context.Background()
		if saved != nil {
			f.c.redis.save(ctx, f.fleet.log, f.key, saved)
		}
		if leaseToken != "" {
			f.c.redis.releaseLease(ctx, f.fleet.log, f.key, leaseToken)
		}
	})
}

// fallBack returns the old entry from Redis after a failed fill, if memory has none.
func (f *fleetFill) fallBack(err error) (*Entry, error) {
	if f.old == nil || errors.Is(err, ErrGone) {
		return nil, err
	}
	hash := f.c.hash(f.key)
	if _, state := f.c.lookup(f.c.shard(hash), hash, f.key); state != Miss {
		return nil, err
	}
	return f.old, nil
}
