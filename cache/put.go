package cache

// Put stores an entry made outside of a fill and returns the stored copy. Read
// e.AsOf before starting to make e, so that a purge since then applies to it. Fills
// of the same key that are running are not affected.
func (c *Cache) Put(key string, e *Entry) *Entry {
	hash := c.hash(key)
	now := c.now()
	stored := c.stamp(e, &flight{epoch: c.tags.epoch.Load(), began: now}, now)
	dropped, evicted := c.shard(hash).put(hash, key, stored)
	if dropped > 0 {
		c.events.Dropped()
	}
	if evicted > 0 {
		c.events.Evicted(int(evicted))
	}
	return stored
}

// Purged reports whether one of tags was purged by an event after asOf.
func (c *Cache) Purged(asOf int64, tags ...string) bool {
	e := &Entry{Tags: tags}
	e.deadlines.asOf, e.deadlines.epoch = asOf, c.tags.epoch.Load()
	c.tags.setStripes(e)
	return c.tags.purged(e)
}

// MaxEntryBytes returns the size above which an entry is not stored, its key and
// bookkeeping included.
func (c *Cache) MaxEntryBytes() int64 { return c.shards[0].largest }
