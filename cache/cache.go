package cache

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultBytes       = 256 << 20
	minBytes           = 1 << 20 // below it a shard holds too few entries to choose among
	defaultShards      = 8       // each has its own buffer and consumer
	maxShards          = 64
	defaultFillTimeout = 5 * time.Second // what a reader who waits may still find useful

	// jitter is the part of Fresh by which a stored entry's own freshness may
	// differ, either way.
	jitter = 0.1
	// earlyRange is how many fill times before expiry the draw for an early
	// refresh begins: before that it succeeds less than once in 10^17.
	earlyRange = 40
	// maxFillFraction bounds the fill time that enters the draw to an eighth of
	// Fresh, or a slow fill of a short-lived entry would refresh on every hit.
	maxFillFraction = 8
	// maxLifetime bounds Fresh, Stale and OnError, so that the sums of what
	// stands for "forever" do not overflow.
	maxLifetime = 10 * 365 * 24 * time.Hour
)

// Config sets up a Cache. The zero value of every field means its default.
type Config struct {
	// Bytes bounds what is kept in memory, keys and book-keeping included.
	// Default 256 MiB, at least 1 MiB.
	Bytes int64
	// Shards is the number of independent parts the bound is divided into: a
	// power of two up to 64, default 8. An entry larger than a 64th of a shard
	// is not kept.
	Shards int
	// FillTimeout is how long one fill may take. Default 5 s.
	FillTimeout time.Duration
	// Redis is the tier shared with other processes; nil if there is none. The
	// caller closes it after the Cache.
	Redis *Redis
	// Events are told what happens, for metrics.
	Events Events
}

// Events are called when something worth counting happens. Each may be nil.
// They run on the path that caused them: they must be quick, safe for
// concurrent use, and must not call the cache. Hit, Stale, Shared, OnError and
// Miss tell of every Fetch exactly once; Get tells of hits only, as whatever
// else it finds is for Fetch.
type Events struct {
	// Hit: a fresh entry was served, by Get or Fetch.
	Hit func()
	// Stale: an entry no longer fresh was served while a refresh runs.
	Stale func()
	// Coalesced: a Fetch waited for a fill that another had begun.
	Coalesced func()
	// OnError: an old entry was served because a fill failed.
	OnError func()
	// Miss: a Fetch waited for its own fill, or ended with an error.
	Miss func()
	// Filled: a fill succeeded and took so long.
	Filled func(took time.Duration)
	// FillFailed: a fill failed, panicked or ran past its deadline.
	FillFailed func(err error)
	// FillPanicked: a fill panicked. FillFailed is told too.
	FillPanicked func()
	// Dropped: a filled entry was not kept: too large, or less asked for than
	// what it would have displaced.
	Dropped func()
	// Evicted: so many entries were displaced by another.
	Evicted func(n int)
}

// withDefaults puts a function that does nothing where there is none.
func (ev Events) withDefaults() Events {
	nothing := func() {}
	for _, f := range []*func(){&ev.Hit, &ev.Stale, &ev.Coalesced, &ev.OnError, &ev.Miss, &ev.FillPanicked, &ev.Dropped} {
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

// Cache is the memory. Make one with New and end it with Close.
type Cache struct {
	shards      []*shard
	shift       uint // hash >> shift = shard
	seed        maphash.Seed
	tags        *tagTable
	events      Events
	fillTimeout time.Duration
	start       time.Time
	redis       *Redis
	fleet       atomic.Pointer[fleetInfo] // nil: Redis is not asked
	resetAt     atomic.Int64              // when Reset was called last, in Unix nanoseconds; 0: never

	inFlight atomic.Int64 // fills under way
	fills    sync.WaitGroup
}

// New makes a cache. Unlike our other constructors it starts goroutines, those
// of the ristretto instances inside, so every New needs its Close.
func New(cfg Config) (*Cache, error) {
	cfg.Bytes = orDefault(cfg.Bytes, defaultBytes)
	cfg.Shards = orDefault(cfg.Shards, defaultShards)
	cfg.FillTimeout = orDefault(cfg.FillTimeout, defaultFillTimeout)
	var complaints []error
	if cfg.Bytes < minBytes {
		complaints = append(complaints, fmt.Errorf("bytes: got %d, want at least %d", cfg.Bytes, minBytes))
	}
	if cfg.Shards < 1 || cfg.Shards > maxShards || bits.OnesCount(uint(cfg.Shards)) != 1 {
		complaints = append(complaints, fmt.Errorf("shards: got %d, want a power of two up to %d", cfg.Shards, maxShards))
	}
	if cfg.FillTimeout < 0 {
		complaints = append(complaints, fmt.Errorf("fill timeout: got %s, want a positive time", cfg.FillTimeout))
	}
	if err := errors.Join(complaints...); err != nil {
		return nil, fmt.Errorf("configure cache: %w", err)
	}
	c := &Cache{
		shift:       uint(64 - bits.TrailingZeros(uint(cfg.Shards))),
		seed:        maphash.MakeSeed(),
		tags:        newTagTable(),
		events:      cfg.Events.withDefaults(),
		fillTimeout: cfg.FillTimeout,
		start:       time.Now(),
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

func orDefault[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// Close ends the fills under way, waits for them and frees the memory. It must
// come after the last Get and Fetch have returned. A fill that ignores the end
// of its context is left behind after five seconds.
func (c *Cache) Close() {
	for _, s := range c.shards {
		s.flights.close()
	}
	gone := make(chan struct{})
	go func() { c.fills.Wait(); close(gone) }()
	patience := time.NewTimer(closeTimeout)
	defer patience.Stop()
	select {
	case <-gone:
	case <-patience.C:
	}
	for _, s := range c.shards {
		s.close()
	}
}

func (c *Cache) hash(key string) uint64 { return maphash.String(c.seed, key) }

func (c *Cache) shard(hash uint64) *shard { return c.shards[hash>>c.shift] }

// now is nanoseconds since the cache was made: half the price of time.Now.
func (c *Cache) now() int64 { return int64(time.Since(c.start)) }

// Get looks a key up without filling it. It allocates nothing and keeps nothing
// of key, which may be made over a borrowed buffer. Whatever is not Fresh is a
// matter for Fetch: one reader in many is told Stale a little early, so that
// its Fetch starts the refresh in time. A Miss comes without an entry.
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

// lookup is Get for those who will deal with any state.
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

// state decides what may be done with e. Nothing else decides it.
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

// stamp makes the copy of e that is kept, with all that hits compare.
func (c *Cache) stamp(e *Entry, f *flight, now int64) *Entry {
	kept := *e
	h := &kept.deadlines
	*h = deadlines{epoch: f.epoch, asOf: kept.AsOf}
	if kept.Born.IsZero() {
		kept.Born = c.start.Add(time.Duration(f.began))
	}
	// A source whose clock is ahead must not lengthen any life.
	born := min(int64(kept.Born.Sub(c.start)), now)
	fresh := float64(min(kept.Fresh, maxLifetime)) * (1 - jitter + 2*jitter*rand.Float64())
	h.freshUntil = born + int64(fresh)
	h.staleUntil = windowEnd(h.freshUntil, kept.Stale)
	h.onErrorUntil = windowEnd(h.freshUntil, kept.OnError)
	took := float64(now - f.began)
	if kept.Took > 0 {
		took = float64(kept.Took)
	}
	h.delta = min(took, fresh/maxFillFraction)
	h.earlyFrom = h.freshUntil - int64(earlyRange*h.delta)
	c.tags.setStripes(&kept)
	return &kept
}

// windowEnd is when a window that opens at freshUntil closes. One that is not
// there is closed already while the entry is fresh: a purge opens no other.
func windowEnd(freshUntil int64, window time.Duration) int64 {
	if window <= 0 {
		return math.MinInt64
	}
	return freshUntil + int64(min(window, maxLifetime))
}

// Purge makes every entry that carries one of tags and is older than event
// stale. It returns at once, whatever the number of entries.
func (c *Cache) Purge(event int64, tags ...string) {
	c.tags.purge(event, c.now(), false, tags)
}

// PurgeHard makes every entry that carries one of tags and is older than event
// absent: it is not even served on errors.
func (c *Cache) PurgeHard(event int64, tags ...string) {
	c.tags.purge(event, c.now(), true, tags)
}

// InvalidateBefore makes every entry older than event stale: events up to it were missed,
// so nobody knows what they purged.
func (c *Cache) InvalidateBefore(event int64) {
	c.tags.purgeAll(event, c.now(), false)
}

// InvalidateBeforeHard makes every entry older than event absent.
func (c *Cache) InvalidateBeforeHard(event int64) {
	c.tags.purgeAll(event, c.now(), true)
}

// Reset makes everything stale at once and forgets all event numbers: the log
// itself began again, so old and new numbers cannot be compared. Old entries
// are served on errors only. The shared tier is left until the next Join, and what
// it has from before is not used: it may be of events that were lost, whose
// numbers were given out again since.
func (c *Cache) Reset() {
	c.fleet.Store(nil)
	c.resetAt.Store(time.Now().UnixNano())
	c.tags.reset()
}

// Entries is how many entries are kept.
func (c *Cache) Entries() int64 {
	var n int64
	for _, s := range c.shards {
		n += s.entries.Load()
	}
	return n
}

// Used is how many bytes the cache accounts for, never more than Config.Bytes.
func (c *Cache) Used() int64 {
	var n int64
	for _, s := range c.shards {
		n += s.used()
	}
	return n
}
