package cache

// Put keeps an entry made outside of a fill and returns the copy that is kept.
// e.AsOf must have been read before the making of e began: a purge since then
// concerns it. Who else fills the same key is not told.
func (c *Cache) Put(key string, e *Entry) *Entry {
	hash := c.hash(key)
	now := c.now()
	kept := c.stamp(e, &flight{epoch: c.tags.epoch.Load(), began: now}, now)
	dropped, evicted := c.shard(hash).put(hash, key, kept)
	if dropped > 0 {
		c.events.Dropped()
	}
	if evicted > 0 {
		c.events.Evicted(int(evicted))
	}
	return kept
}

// Purged reports whether one of tags was purged by an event after asOf.
func (c *Cache) Purged(asOf int64, tags ...string) bool {
	e := &Entry{Tags: tags}
	e.deadlines.asOf, e.deadlines.epoch = asOf, c.tags.epoch.Load()
	c.tags.setStripes(e)
	return c.tags.purged(e)
}

// MaxEntryBytes is the cost above which an entry is not kept, in bytes, with its key
// and book-keeping.
func (c *Cache) MaxEntryBytes() int64 { return c.shards[0].largest }
