package cache

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	defaultBytes       = 256 << 20
	minBytes           = 1 << 20 // below it a shard holds too few entries to choose which to evict
	defaultShards      = 8       // each has its own write buffer and goroutine in ristretto
	maxShards          = 64
	defaultFillTimeout = 5 * time.Second * timeout.Scale // a waiting reader rarely has more patience

	// jitter is the fraction of Fresh by which the lifetime of a stored entry is
	// changed, up or down, so that entries filled together expire apart.
	jitter = 0.1
	// earlyRange is how many fill times before expiry the draw for an early refresh
	// starts: before that it succeeds less than once in 10^17.
	earlyRange = 40
	// maxFillFraction limits the fill time used in the draw to an eighth of Fresh.
	// Without it a slow fill of a short-lived entry would refresh on every hit.
	maxFillFraction = 8
	// maxLifetime limits Fresh, Stale and OnError, so that adding up values meant
	// as "forever" does not overflow.
	maxLifetime = 10 * 365 * 24 * time.Hour
)

// Config configures a Cache. The zero value of every field selects its default.
type Config struct {
	// Bytes limits the memory for entries, keys and bookkeeping.
	// Default 256 MiB, at least 1 MiB.
	Bytes int64
	// Shards is the number of independent parts that Bytes is divided into: a power
	// of two up to 64, default 8. An entry larger than 1/64 of a shard is not
	// stored.
	Shards int
	// FillTimeout limits the duration of one fill. Default 5 s.
	FillTimeout time.Duration
	// Redis is the tier shared with other processes; nil means none. The caller
	// closes it after the Cache.
	Redis *Redis
	// Events are callbacks for metrics.
	Events Events
	// Prepare completes each entry before it is stored or returned for the first time. It
	// must not change an entry that it has completed already. Nil: nothing is added.
	Prepare func(*Entry)
}

// Events are callbacks that count what the cache does. Each may be nil. They run
// on the path that caused them, so they must be fast and safe for concurrent use
// and must not call the cache. Every Fetch calls exactly one of Hit, Stale,
// Coalesced, OnError and Miss. Get calls only Hit, because after any other result
// the caller uses Fetch.
type Events struct {
	// Hit: Get or Fetch returned a fresh entry.
	Hit func()
	// Stale: a stale entry was served while a refresh runs.
	Stale func()
	// Coalesced: a Fetch waited for a fill that another Fetch had started.
	Coalesced func()
	// OnError: a stale entry was served because a fill failed.
	OnError func()
	// Miss: a Fetch waited for its own fill, or returned an error.
	Miss func()
	// Filled: a fill succeeded after this time.
	Filled func(took time.Duration)
	// FillFailed: a fill failed, panicked or exceeded its deadline.
	FillFailed func(err error)
	// FillPanicked: a fill panicked. FillFailed is called too.
	FillPanicked func()
	// Dropped: a filled entry was not stored, because it is too large or requested
	// less often than the entries it would have evicted.
	Dropped func()
	// Evicted: n entries were evicted to make space for another.
	Evicted func(n int)
}

// withDefaults replaces nil callbacks with functions that do nothing.
func (ev Events) withDefaults() Events {
	nothing := func() {}
	for _, f := range []*func(){&ev.Hit, &ev.Stale, &ev.Coalesced, &ev.OnError, &ev.Miss, &ev.FillPanicked,
		&ev.Dropped} {
		if *f == nil {
			*f = nothing
		}
	}
	if ev.Filled == nil {
		ev.Filled = func(time.Duration) {}
	}
	if ev.FillFailed == nil {
		ev.FillFailed = func(error) {}
	}
	if ev.Evicted == nil {
		ev.Evicted = func(int) {}
	}
	return ev
}

// Cache is an in-memory cache with an optional shared tier in Redis. Create one
// with New and end it with Close. Its methods are safe for concurrent use.
type Cache struct {
	shards      []*shard
	shift       uint // hash >> shift = shard
	seed        maphash.Seed
	tags        *tagTable
	events      Events
	prepare     func(*Entry)
	fillTimeout time.Duration
	start       time.Time
	redis       *Redis
	fleet       atomic.Pointer[fleetInfo] // nil: Redis is not used
	resetAt     atomic.Int64              // time of the last Reset in Unix nanoseconds; 0: never

	inFlight atomic.Int64 // running fills
	fills    sync.WaitGroup
}

// New creates a cache. It starts the goroutines of the ristretto instances inside,
// so every New needs a Close.
func New(cfg Config) (*Cache, error) {
	cfg.Bytes = cmp.Or(cfg.Bytes, defaultBytes)
	cfg.Shards = cmp.Or(cfg.Shards, defaultShards)
	cfg.FillTimeout = cmp.Or(cfg.FillTimeout, defaultFillTimeout)
	var problems []error
	if cfg.Bytes < minBytes {
		problems = append(problems, fmt.Errorf("bytes: got %d, want at least %d", cfg.Bytes, minBytes))
	}
	if cfg.Shards < 1 || cfg.Shards > maxShards || bits.OnesCount(uint(cfg.Shards)) != 1 {
		problems = append(problems, fmt.Errorf("shards: got %d, want a power of two up to %d", cfg.Shards, maxShards))
	}
	if cfg.FillTimeout < 0 {
		problems = append(problems, fmt.Errorf("fill timeout: got %s, want a positive time", cfg.FillTimeout))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("configure cache: %w", err)
	}
	c := &Cache{
		shift:       uint(64 - bits.TrailingZeros(uint(cfg.Shards))),
		seed:        maphash.MakeSeed(),
		tags:        newTagTable(),
		events:      cfg.Events.withDefaults(),
		fillTimeout: cfg.FillTimeout,
		start:       time.Now(),
		prepare:     cfg.Prepare,
		redis:       cfg.Redis,
	}
	for range cfg.Shards {
		s, err := newShard(cfg.Bytes / int64(cfg.Shards))
		if err != nil {
			c.Close()
			return nil, err
		}
		c.shards = append(c.shards, s)
	}
	return c, nil
}

// Close cancels the running fills, waits for them and frees the memory. Call it
// after the last Get and Fetch have returned. It stops waiting for a fill that
// ignores its context after five seconds.
func (c *Cache) Close() {
	for _, s := range c.shards {
		s.flights.close()
	}
	done := make(chan struct{})
	go func() { c.fills.Wait(); close(done) }()
	timeout := time.NewTimer(closeTimeout)
	defer timeout.Stop()
	select {
	case <-done:
	case <-timeout.C:
	}
	for _, s := range c.shards {
		s.close()
	}
}

// hash returns the hash of key that selects the shard and the slot. It is seeded, so
// that clients cannot construct collisions.
func (c *Cache) hash(key string) uint64 { return maphash.String(c.seed, key) }

// shard returns the shard of a hash, by its highest bits.
func (c *Cache) shard(hash uint64) *shard { return c.shards[hash>>c.shift] }

// now returns nanoseconds since New, at half the cost of time.Now.
func (c *Cache) now() int64 { return int64(time.Since(c.start)) }

// Get looks up a key without filling it. It does not allocate and does not keep
// key, which may be a view of a borrowed buffer. If the state is not Fresh, call
// Fetch. One reader in many gets Stale shortly before the entry expires, so that
// its Fetch starts the refresh in time. With Miss the entry is nil.
func (c *Cache) Get(key string) (*Entry, State) {
	hash := c.hash(key)
	b := c.shard(hash).get(hash, key)
	if b == nil {
		return nil, Miss
	}
	e, now := b.entry.Load(), c.now()
	state := c.state(e, now)
	switch state {
	case Miss:
		return nil, Miss
	case Fresh:
		if c.drawEarly(e, now) && b.early.CompareAndSwap(false, true) {
			return e, Stale
		}
		c.events.Hit()
	}
	return e, state
}

// lookup is Get for callers inside the package that handle every state.
func (c *Cache) lookup(s *shard, hash uint64, key string) (*Entry, State) {
	b := s.get(hash, key)
	if b == nil {
		return nil, Miss
	}
	e := b.entry.Load()
	state := c.state(e, c.now())
	if state == Miss {
		return nil, Miss
	}
	return e, state
}

// state decides how e may be used. It is the only place that does: ristretto may
// lose, delay or evict entries, and the worst result is one more fill.
func (c *Cache) state(e *Entry, now int64) State {
	h := &e.deadlines
	purged := c.tags.purged(e)
	switch {
	case !purged && now < h.freshUntil:
		return Fresh
	case purged && c.tags.hardPurged(e):
		return Miss
	case now < h.staleUntil && !(purged && c.tags.graceOver(e, now)):
		return Stale
	case now < h.onErrorUntil:
		return ErrorOnly
	}
	return Miss
}

// stamp returns the copy of e to store, with the deadlines that hits compare.
func (c *Cache) stamp(e *Entry, f *flight, now int64) *Entry {
	if c.prepare != nil {
		c.prepare(e)
	}
	stored := *e
	if len(stored.Tags) == 0 && stored.AsOf == 0 {
		stored.AsOf = f.all
	}
	h := &stored.deadlines
	*h = deadlines{epoch: f.epoch, asOf: stored.AsOf}
	if stored.Born.IsZero() {
		stored.Born = c.start.Add(time.Duration(f.began))
	}
	// A source whose clock is ahead must not extend a lifetime.
	born := min(int64(stored.Born.Sub(c.start)), now)
	fresh := float64(min(stored.Fresh, maxLifetime)) * (1 - jitter + 2*jitter*rand.Float64())
	h.freshUntil = born + int64(fresh)
	h.staleUntil = windowEnd(h.freshUntil, stored.Stale)
	h.onErrorUntil = windowEnd(h.freshUntil, stored.OnError)
	took := float64(now - f.began)
	if stored.Took > 0 {
		took = float64(stored.Took)
	}
	h.delta = min(took, fresh/maxFillFraction)
	h.earlyFrom = h.freshUntil - int64(earlyRange*h.delta)
	c.tags.setStripes(&stored)
	return &stored
}

// windowEnd returns when a window that opens at freshUntil closes. Without a window
// it returns a time in the past: a purge ends freshness early, and must not open a
// window that the entry does not have.
func windowEnd(freshUntil int64, window time.Duration) int64 {
	if window <= 0 {
		return math.MinInt64
	}
	return freshUntil + int64(min(window, maxLifetime))
}

// Purge makes stale every entry that carries one of tags and is older than event.
// Its cost does not depend on the number of entries.
func (c *Cache) Purge(event int64, tags ...string) {
	c.tags.purge(event, c.now(), false, tags)
}

// PurgeHard makes absent every entry that carries one of tags and is older than
// event: it is not served on errors either.
func (c *Cache) PurgeHard(event int64, tags ...string) {
	c.tags.purge(event, c.now(), true, tags)
}

// InvalidateBefore makes stale every entry older than event. Use it when events up
// to that number were missed, so that it is unknown what they changed.
func (c *Cache) InvalidateBefore(event int64) {
	c.tags.purgeAll(event, c.now(), false)
}

// InvalidateBeforeHard makes absent every entry older than event.
func (c *Cache) InvalidateBeforeHard(event int64) {
	c.tags.purgeAll(event, c.now(), true)
}

// Reset makes every entry stale and clears all event numbers. Use it when the event
// log was restored or replaced, because old and new numbers cannot be compared. Old
// entries are served on errors only. Redis is not used again until the next Join,
// and its entries from before the Reset are ignored: they may refer to lost events
// whose numbers were reused since.
func (c *Cache) Reset() {
	c.fleet.Store(nil)
	c.resetAt.Store(time.Now().UnixNano())
	c.tags.reset()
}

// Entries returns the number of stored entries.
func (c *Cache) Entries() int64 {
	var n int64
	for _, s := range c.shards {
		n += s.entries.Load()
	}
	return n
}

// Used returns the accounted size in bytes, which never exceeds Config.Bytes.
func (c *Cache) Used() int64 {
	var n int64
	for _, s := range c.shards {
		n += s.used()
	}
	return n
}
