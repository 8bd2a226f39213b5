package cache

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"
)

// fleetInfo is the company this process keeps: all that follow the same log.
type fleetInfo struct {
	log    string
	head   int64     // newest event when we joined
	joined time.Time // when that was
}

// Join lets the cache share entries with all that follow the log of this name.
// The caller must have told it of every event from some number on up to head,
// by Purge, and of that number by Lost: what Redis holds may be older than this
// process, and is judged by what this process knows.
func (c *Cache) Join(log string, head int64) {
	c.fleet.Store(&fleetInfo{log: log, head: head, joined: time.Now()})
}

// SharedFill makes a fill that asks the fleet first: an entry another process has
// filled is taken over if it is fresh by our own tag table, and of all who miss
// the same key one at a time runs fill, while the others wait for its entry and
// fill themselves after wait. Trouble with Redis only means that fill runs.
//
// revive makes the Value of an entry that came from elsewhere; it may be nil.
// key must not be a borrowed buffer. If fill fails and memory has nothing to
// fall back on, an old entry of the fleet's is returned as far as its OnError
// allows.
func (c *Cache) SharedFill(key string, wait time.Duration, revive func(*Entry) error, fill Fill) Fill {
	if c.redis == nil {
		return fill
	}
	return func(ctx context.Context) (*Entry, error) {
		company := c.fleet.Load()
		if company == nil {
			return fill(ctx)
		}
		f := fleetFill{c: c, fleet: company, key: strings.Clone(key), wait: wait, decode: revive, fill: fill}
		return f.run(ctx)
	}
}

// fleetFill is one fill of a key that the fleet shares.
type fleetFill struct {
	c      *Cache
	fleet  *fleetInfo
	key    string
	wait   time.Duration // for the entry of another process
	decode func(*Entry) error
	fill   Fill
	old    *Entry // what the fleet had, for need
}

func (f *fleetFill) run(ctx context.Context) (*Entry, error) {
	until := time.Now().Add(f.wait)
	for pause := leasePollMin; ; pause = min(2*pause, leasePollMax) {
		if e := f.load(ctx); e != nil {
			return e, nil
		}
		proof, known := f.c.redis.acquireLease(ctx, f.fleet.log, f.key)
		switch {
		case proof != "":
			// Whoever had the lease before may have saved since we looked.
			if e := f.load(ctx); e != nil {
				f.publish(nil, proof)
				return e, nil
			}
			return f.fillHere(ctx, proof)
		case !known || time.Now().After(until):
			return f.fillHere(ctx, "")
		}
		if pause == leasePollMin {
			f.c.redis.events.Waited()
		}
		if !sleep(ctx, pause/2+rand.N(pause)) {
			return f.fillHere(ctx, "")
		}
	}
}

// sleep waits, or reports that ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// load returns the fleet's entry if it is what a fill would give.
func (f *fleetFill) load(ctx context.Context) *Entry {
	c := f.c
	began := &flight{epoch: c.tags.epoch.Load(), began: c.now()}
	e := c.redis.load(ctx, f.fleet.log, f.key)
	if e == nil || f.fromFuture(e) || f.decode != nil && f.decode(e) != nil {
		c.redis.events.Miss()
		return nil
	}
	now := c.now()
	held := c.stamp(e, began, now)
	state := c.state(held, now)
	if state == Fresh && !c.drawEarly(held, now) && f.newer(e) {
		c.redis.events.Hit()
		return e
	}
	c.redis.events.Miss()
	// The moment a purged entry may be served for is over: we may have been told
	// of the purge just now and it be hours ago.
	if state != Miss && (now < held.deadlines.onErrorUntil || !c.tags.purged(held)) {
		f.old = e
	}
	return nil
}

// fromFuture reports whether e knows of events that had not happened when it
// was made, or is from before a Reset: the log was set back since, and its numbers
// were given out again.
func (f *fleetFill) fromFuture(e *Entry) bool {
	return e.AsOf > f.fleet.head && e.Born.Before(f.fleet.joined) || e.Born.UnixNano() < f.c.resetAt.Load()
}

// newer reports whether e is something else than what memory has: that was not
// good enough, or nobody would fill.
func (f *fleetFill) newer(e *Entry) bool {
	hash := f.c.hash(f.key)
	mine, _ := f.c.lookup(f.c.shard(hash), hash, f.key)
	return mine == nil || e.AsOf > mine.AsOf || e.Born.After(mine.Born)
}

// fillHere runs the fill here and shows the fleet what it gave.
func (f *fleetFill) fillHere(ctx context.Context, proof string) (*Entry, error) {
	began := time.Now().Round(0) // without a monotonic part, as others will see it
	left := false
	defer func() {
		if !left { // the fill panicked
			f.publish(nil, proof)
		}
	}()
	f.c.redis.events.Filled()
	e, err := f.fill(ctx)
	left = true
	if err != nil || e == nil {
		f.publish(nil, proof)
		return f.fallBack(err)
	}
	if e.Born.IsZero() {
		e.Born = began
	}
	if e.Took == 0 {
		e.Took = time.Since(began)
	}
	f.publish(e, proof)
	return e, nil
}

// publish saves e, if there is one, and gives the lease back, beside whoever waits
// for the fill: they have their answer already.
func (f *fleetFill) publish(e *Entry, proof string) {
	if e == nil && proof == "" {
		return
	}
	var kept *Entry
	if e != nil {
		copied := *e // the caller's becomes the cache's
		kept = &copied
	}
	f.c.fills.Go(func() {
		ctx := context.Background()
		if kept != nil {
			f.c.redis.save(ctx, f.fleet.log, f.key, kept)
		}
		if proof != "" {
			f.c.redis.releaseLease(ctx, f.fleet.log, f.key, proof)
		}
	})
}

// fallBack answers a failed fill with what the fleet had, if memory has nothing.
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
