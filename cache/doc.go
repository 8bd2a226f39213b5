// Package cache keeps bytes under keys, in memory and where wanted in a Redis
// shared with other processes, and knows, at every single hit, whether they are
// still true.
//
// What comes in: a key, a function that fills it, and the purges a log of
// events tells of. What goes out: an immutable Entry and the way it was come
// by. The package must not know what a brand, a badge or an HTTP message is.
//
// # When an entry is fresh
//
// Time: an entry is fresh from Born for Fresh (give or take a tenth, drawn
// once per stored entry, so that things filled together do not expire
// together). When that has passed it may be served for Stale more while one
// refresh runs, and for OnError, counted from the same moment, when a fill has
// failed. After both it is gone.
//
// Events: an entry carries tags and AsOf, the number of the last event known
// before its fill began. [Cache.Purge] says that an event changed what a tag
// stands for: every entry with that tag and an older AsOf is stale from that
// moment, also one whose fill is still under way and will be stored later.
// [Cache.PurgeHard] makes such entries absent, even for OnError. [Cache.InvalidateBefore]
// does to everything what Purge does to a tag.
//
// # What a reader sees after a purge
//
// For the first moments after a soft purge (at most 800 ms) the old entry is
// still handed out, marked stale, while the one refresh that the first reader
// started is running: a change of a popular thing makes nobody wait. A reader
// who comes later waits for the fill instead, so with a source that answers
// nobody sees the old value a second after the purge. If the fill fails, the
// old entry is served as far as OnError allows.
//
// # Get and Fetch
//
// [Cache.Get] is the hot path: no allocation, no lock of ours, no fill. An
// answer other than Fresh means: call [Cache.Fetch], which serves stale,
// refreshes, coalesces fills of one key and falls back on errors.
//
// # Redis
//
// [Cache.SharedFill] makes a fill that asks the processes which follow the same log
// first. An entry found in Redis is judged like any other, by the reader's own
// table of purges; it is asked within a fill only, never on a hit, and every fault
// of it is a miss. Entries carry a code under [RedisConfig.Secret]: a writer to
// Redis without the secret can remove entries but not make or change any.
package cache
