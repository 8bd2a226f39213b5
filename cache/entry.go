package cache

import (
	"fmt"
	"slices"
	"time"
)

// Entry is the value stored under a key. The cache stores a shallow copy of what a
// fill returned; neither copy may be changed afterwards.
//
// All fields except Value and Weight are part of the encoded form for Redis (see
// AppendBinary).
type Entry struct {
	deadlines deadlines // first, next to the fields a hit sends: few cache lines are touched

	// Body is the content.
	Body []byte
	// Head is a prebuilt block that is sent before Body. The cache does not
	// interpret it and only counts its bytes.
	Head []byte
	// Born is when the content was correct at the source. Zero means the start of
	// the fill.
	Born time.Time
	// Value is a decoded or prebuilt form of Body, kept in memory only. It must be
	// safe for concurrent reads.
	Value any
	// Type is the content type and ETag the validator of Body.
	Type, ETag string
	// Status is the caller's status code. A 404 with a short Fresh caches the
	// absence of a resource.
	Status int

	// Tags are the names by which a purge reaches the entry. Up to MaxTags are
	// compared one by one; an entry with more becomes stale on every purge.
	Tags []string
	// AsOf is the number of the last event known before the fill started to read,
	// or the oldest AsOf of the entries it was built from (see From). An entry without
	// tags that leaves it 0 depends on no event: it is as new as the start of its fill.
	AsOf int64

	// Fresh is how long after Born the entry is fresh.
	Fresh time.Duration
	// Stale is how long the entry may be served while one refresh runs
	// (stale-while-revalidate). It counts from Born+Fresh, also if a soft purge
	// ended freshness earlier.
	Stale time.Duration
	// OnError is how long after Born+Fresh the entry may be served because a fill
	// failed or was too slow (stale-if-error).
	OnError time.Duration

	// Took is how long the content took to make; zero means the duration of the
	// fill. The longer, the earlier a refresh may start.
	Took time.Duration

	// Weight is the approximate size of Value in bytes, counted against
	// Config.Bytes.
	Weight int64
}

// deadlines are computed once, when an entry is stored, so that a hit compares
// integers only. Times are nanoseconds since New.
type deadlines struct {
	freshUntil   int64
	earlyFrom    int64 // before this an early refresh is too unlikely to draw for
	epoch        int64
	asOf         int64
	stripes      [MaxTags]stripePair
	tags         uint8 // number of tags in stripes; allTags: affected by every purge
	staleUntil   int64
	onErrorUntil int64
	delta        float64 // duration of the fill in nanoseconds
}

// From records that e was built from parts, at least one, and returns e. It gets their tags, and
// the oldest AsOf and Born among them. So derived content cannot outlive its sources. Took is
// unchanged: a refresh reuses the parts.
//
// All parts must carry the same tags, or From panics. AsOf holds for every tag of e: a part
// without one of them is still fresh after a purge of that tag, and its AsOf may be from before
// the purge. With it e would be stale from the start, and filled for every request until that
// part expires.
func (e *Entry) From(parts ...*Entry) *Entry {
	first := parts[0]
	e.AsOf, e.Born, e.Tags = first.AsOf, first.Born, first.Tags
	for _, p := range parts[1:] {
		if !slices.Equal(p.Tags, e.Tags) {
			panic(fmt.Sprintf("BUG: an entry from parts with different tags: %q and %q", e.Tags, p.Tags))
		}
		e.AsOf = min(e.AsOf, p.AsOf)
		if p.Born.Before(e.Born) {
			e.Born = p.Born
		}
	}
	return e
}

// State is how an entry found under a key may be used.
type State uint8

// The states, in increasing order of freshness.
const (
	// Miss: there is no entry, or none that may be served.
	Miss State = iota
	// ErrorOnly: the entry may be served only if a fill fails.
	ErrorOnly
	// Stale: the entry may be served while a refresh runs.
	Stale
	// Fresh: the entry may be served.
	Fresh
)

// String names the state.
func (s State) String() string {
	return [...]string{"miss", "error-only", "stale", "fresh"}[s]
}

// Source is where Fetch got its entry.
type Source uint8

// The sources. SourceNone goes with an error.
const (
	// SourceNone: no entry; Fetch returned an error.
	SourceNone Source = iota
	// SourceHit: fresh from memory.
	SourceHit
	// SourceStale: no longer fresh, served while a refresh runs.
	SourceStale
	// SourceFill: from the fill this call started.
	SourceFill
	// SourceCoalesced: from a fill that another call started.
	SourceCoalesced
	// SourceOnError: stale, served because the fill failed or did not end within
	// the caller's deadline.
	SourceOnError
)

// String names the source.
func (s Source) String() string {
	return [...]string{"none", "hit", "stale", "fill", "shared", "on-error"}[s]
}

// MaxTags is how many tags of an entry a hit compares one by one. Eight atomic
// loads cost less than reading the clock.
const MaxTags = 8
