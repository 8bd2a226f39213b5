package cache

import (
	"slices"
	"time"
)

// Entry is what the cache keeps under a key. The cache stores its own shallow
// copy of what a fill returned; neither may be changed afterwards.
//
// All fields but Value and Weight are part of the encoded form in which an
// entry is kept outside the process too (see AppendBinary).
type Entry struct {
	deadlines deadlines // first, with what a hit sends behind it: few cache lines are touched

	// Body is the content.
	Body []byte
	// Head is a prebuilt block that goes out before Body, in whatever form the
	// caller likes; the cache only counts its bytes.
	Head []byte
	// Born is when the content was true at the source. Zero means when its
	// fill began.
	Born time.Time
	// Value is a decoded or prebuilt form of Body, kept in memory only. It must
	// be safe to read from many goroutines.
	Value any
	// Type is the content type and ETag the validator of Body.
	Type, ETag string
	// Status is the caller's status code: a 404 with a short Fresh is how the
	// cache remembers that something does not exist.
	Status int

	// Tags are the names a purge reaches the entry by. Up to MaxTags are
	// followed one by one; an entry with more goes stale with any purge.
	Tags []string
	// AsOf is the number of the last event known before the fill began to
	// read, or the oldest AsOf among the entries it was built from (see From).
	AsOf int64

	// Fresh is how long after Born the entry is fresh.
	Fresh time.Duration
	// Stale is how long after its freshness ended, or was ended by a soft
	// purge, the entry may be served while one refresh runs. It counts from
	// Born+Fresh in both cases.
	Stale time.Duration
	// OnError is how long after Born+Fresh the entry may be served because a
	// fill failed or did not come in time.
	OnError time.Duration

	// Took is how long its content took to make; zero means as long as its fill
	// ran. The longer, the earlier a refresh is drawn.
	Took time.Duration

	// Weight is roughly how many bytes Value holds; they count against the
	// cache's bound.
	Weight int64
}

// deadlines is what the cache works out once, when it stores an entry, so that a
// hit compares integers. Times are nanoseconds since the cache was made.
type deadlines struct {
	freshUntil   int64
	earlyFrom    int64 // before it, an early refresh is too unlikely to roll for
	epoch        int64
	asOf         int64
	stripes      [MaxTags]uint16
	tags         uint8 // used stripes; allTags = follow every purge
	staleUntil   int64
	onErrorUntil int64
	delta        float64 // how long the fill took, in nanoseconds
}

// From records that e was built from parts and returns e: its AsOf and Born
// become the oldest among e's own (if set) and theirs, and their tags are
// added to its own. Derived content can then not outlive what it came from.
// What it took to make the parts is not counted: a refresh makes use of them.
func (e *Entry) From(parts ...*Entry) *Entry {
	tags := slices.Clone(e.Tags)
	for i, p := range parts {
		if i == 0 && e.AsOf == 0 || p.AsOf < e.AsOf {
			e.AsOf = p.AsOf
		}
		if e.Born.IsZero() || p.Born.Before(e.Born) {
			e.Born = p.Born
		}
		for _, t := range p.Tags {
			if !slices.Contains(tags, t) {
				tags = append(tags, t)
			}
		}
	}
	e.Tags = tags
	return e
}

// State says what may be done with an entry found under a key.
type State uint8

// The states, from nothing to everything.
const (
	// Miss: there is nothing, or nothing that may be served.
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

// Source says how Fetch came by its entry.
type Source uint8

// The sources. SourceNone goes with an error.
const (
	// SourceNone: no entry; Fetch returned an error.
	SourceNone Source = iota
	// SourceHit: fresh from memory.
	SourceHit
	// SourceStale: no longer fresh, served while a refresh runs.
	SourceStale
	// SourceFill: this call's own fill.
	SourceFill
	// SourceCoalesced: a fill that another call began.
	SourceCoalesced
	// SourceOnError: no longer fresh, served because the fill failed or did not
	// come within the caller's deadline.
	SourceOnError
)

// String names the source.
func (s Source) String() string {
	return [...]string{"none", "hit", "stale", "fill", "shared", "on-error"}[s]
}

// MaxTags is how many tags of an entry a hit looks up. Eight loads are still
// cheaper than the clock reading beside them.
const MaxTags = 8
