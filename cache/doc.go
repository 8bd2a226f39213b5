// Package cache stores bytes under keys, in memory and optionally in a Redis shared
// with other processes, and decides at every hit whether they are still valid.
//
// Input: a key, a function that fills it, and the purges derived from an event log.
// Output: an immutable Entry and the Source it came from. The package must not
// depend on brands, badges or HTTP messages.
//
// # When an entry is fresh
//
// Time: an entry is fresh from Born for Fresh, give or take a tenth, which is drawn
// once per stored entry so that entries filled together do not expire together.
// After that it may be served for Stale while one refresh runs, and for OnError,
// counted from the same moment, when a fill has failed. After both it is absent.
//
// Events: an entry carries tags and AsOf, the number of the last event known before
// its fill began. [Cache.Purge] reports that an event changed the resources with a tag:
// every entry with that tag and an older AsOf becomes stale at once, also one whose
// fill is still running and is stored later. [Cache.PurgeHard] makes such entries
// absent, even for OnError. [Cache.InvalidateBefore] makes every older entry stale,
// whatever its tags.
//
// # What a reader sees after a purge
//
// For up to 800 ms after a soft purge the old entry is still served, marked stale,
// while the refresh started by the first reader runs: a change of a popular resource
// makes no reader wait. Later readers wait for the fill, so while the source answers,
// no reader sees the old value a second after the purge. If the fill fails, the old
// entry is served within the limit of OnError.
//
// # Get and Fetch
//
// [Cache.Get] is the hot path: it does not allocate, lock or fill. If its result is
// not Fresh, call [Cache.Fetch], which serves stale entries, refreshes, coalesces
// the fills of one key and falls back on errors.
//
// # Redis
//
// [Cache.SharedFill] makes a fill that first looks for an entry filled by another
// process that follows the same log. Such an entry is checked like any other, against
// the purges known to this process. Redis is used within fills only, never by a hit,
// and every failure of it is a miss. Entries are authenticated with
// [RedisConfig.Secret]: a writer to Redis without the secret can delete entries but
// not forge or change them.
package cache
