package cache

import (
	"context"
	"time"
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
	// Events are told what happens, for metrics.
	Events Events
}

// Events are called when something worth counting happens. Each may be nil.
// They run on the path that caused them: they must be quick, safe for
// concurrent use, and must not call the cache.
type Events struct {
	// Hit: a fresh entry was served, by Get or Fetch. Get tells of nothing else.
	Hit func()
	// Stale: a Fetch served an entry while a refresh runs.
	Stale func()
	// Miss: a Fetch found nothing it might serve at once.
	Miss func()
	// Shared: a Fetch waited for a fill that another had begun.
	Shared func()
	// OnError: a Fetch served an old entry because the fill failed.
	OnError func()
	// Filled: a fill succeeded and took so long.
	Filled func(took time.Duration)
	// FillFailed: a fill failed, panicked or ran past its deadline.
	FillFailed func(err error)
	// FillPanicked: a fill panicked; FillFailed is called too.
	FillPanicked func()
	// Dropped: a filled entry was not kept: too large, or less asked for than
	// what it would have displaced.
	Dropped func()
	// Evicted: so many entries were displaced by another.
	Evicted func(n int)
}

// Fill makes the entry of a key. It runs on a goroutine of the cache under a
// context of the cache, which ends after Config.FillTimeout or with Close and
// carries nothing of the caller's: what the fill needs it must hold, and as
// it may outlive the call that brought it, it must hold no borrowed buffer.
type Fill func(ctx context.Context) (*Entry, error)

// Cache is the memory. Make one with New and end it with Close.
type Cache struct{}

// New makes a cache. Unlike our other constructors it starts goroutines, those
// of the ristretto instances inside, so every New needs its Close.
func New(cfg Config) (*Cache, error) { return &Cache{}, nil }

// Close ends background refreshes and waits for them. It must come after the
// last Get and Fetch have returned.
func (c *Cache) Close() {}

// Get looks a key up without filling it. It allocates nothing and keeps nothing
// of key, which may be made over a borrowed buffer. Whatever is not Fresh is a
// matter for Fetch; a Miss comes without an entry.
func (c *Cache) Get(key string) (*Entry, State) { return nil, Miss }

// Fetch returns the entry under key, filling it if need be.
func (c *Cache) Fetch(ctx context.Context, key string, fill Fill) (*Entry, Source, error) {
	e, err := fill(ctx)
	return e, SourceFill, err
}

// Purge makes every entry that carries one of tags and is older than event
// stale.
func (c *Cache) Purge(event int64, tags ...string) {}

// PurgeHard makes every entry that carries one of tags and is older than event
// absent.
func (c *Cache) PurgeHard(event int64, tags ...string) {}

// Lost makes every entry older than event stale: events up to it were missed.
func (c *Cache) Lost(event int64) {}

// Reset makes everything stale and forgets all event numbers: the log itself
// began again.
func (c *Cache) Reset() {}

// Used is how many bytes the cache accounts for, never more than Config.Bytes.
func (c *Cache) Used() int64 { return 0 }
