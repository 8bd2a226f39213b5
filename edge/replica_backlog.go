package edge

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
)

// backlog is what was read from the event log and is not in the ranking yet. The
// reader of the log adds to it and never waits for the ranker, which may need
// seconds for a thousand brands: purges go ahead of the ranking. Functions that
// methods are given run while mu is held, so that what they publish is in order;
// they store a number and nothing else.
type backlog struct {
	ready chan struct{} // holds a signal while the ranker has not looked

	mu sync.Mutex
	requests
	brands      map[fieldmark.Slug]unranked
	last        int64             // number of the newest event read
	head        int64             // number of the newest event there is, as last reported
	activations []fieldmark.Event // of modules, that the ranker has not seen
	moduleKnown bool              // no activation was read that the ranker has not dealt with
}

// requests counts what was asked of the ranker; it compares the numbers with those
// it has dealt with.
type requests struct {
	attached   int // times the log was attached to or lost: drop what was known before
	modules    int // times another module may have become the active one
	everything int // times all brands had to be ranked again
}

// unranked is the events of one brand whose change is not in the ranking yet:
// none is older than first, the newest is last; firstAt and lastAt are their times by
// the clock of the origin.
type unranked struct {
	first, last     int64
	firstAt, lastAt time.Time
}

func newBacklog() *backlog {
	return &backlog{ready: make(chan struct{}, 1), brands: map[fieldmark.Slug]unranked{}}
}

// attach starts over at the head of a log.
func (b *backlog) attach(head int64, known func(int64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attached, b.modules, b.everything = b.attached+1, b.modules+1, b.everything+1
	b.brands, b.activations, b.last, b.head, b.moduleKnown = map[fieldmark.Slug]unranked{}, nil, head, head, false
	known(0)
	notify(b.ready)
}

// detach is called when the log was found to be another than the one followed:
// what was ranked until attach is of the old one.
func (b *backlog) detach(lost func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attached++
	lost()
}

// whileAttached calls fn if the log is still attached to for the given time.
func (b *backlog) whileAttached(count int, fn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.attached == count {
		fn()
	}
}

// add adds what a stretch of the log changes. Known is called with the number up
// to which the loaded module is known to be the active one.
func (b *backlog) add(n eventBatch, head int64, known func(int64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for slug, u := range n.brands {
		if old, ok := b.brands[slug]; ok {
			u.first, u.firstAt = old.first, old.firstAt
		}
		b.brands[slug] = u
	}
	if n.everything {
		b.everything++
	}
	b.last, b.head = n.last, head
	if len(n.activations) > 0 {
		b.modules++
		b.moduleKnown = false
		b.activations = append(b.activations, n.activations...)
	}
	if b.moduleKnown {
		known(n.last)
	}
	notify(b.ready)
}

// state returns what is wanted, and the activations since the last call.
func (b *backlog) state() (w requests, activations []fieldmark.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	activations, b.activations = b.activations, nil
	return b.requests, activations
}

// requireModule reports that the module of the given count is loaded.
func (b *backlog) moduleLoaded(count int, known func(last int64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.modules == count {
		b.moduleKnown = true
		known(b.last)
	}
}

// batch returns up to limit brands to rank, those that have waited longest, with
// the newest event of each.
func (b *backlog) batch(limit int) map[fieldmark.Slug]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	slugs := slices.SortedFunc(maps.Keys(b.brands), func(x, y fieldmark.Slug) int {
		return cmp.Compare(b.brands[x].first, b.brands[y].first)
	})
	slugs = slugs[:min(limit, len(slugs))]
	batch := make(map[fieldmark.Slug]int64, len(slugs))
	for _, slug := range slugs {
		batch[slug] = b.brands[slug].last
	}
	return batch
}

// applied removes brands that are in the ranking as of the given events.
func (b *backlog) applied(brands map[fieldmark.Slug]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for slug, event := range brands {
		u, ok := b.brands[slug]
		switch {
		case ok && u.last <= event:
			delete(b.brands, slug)
		case ok:
			u.first, u.firstAt = max(u.first, event+1), u.lastAt
			b.brands[slug] = u
		}
	}
}

// report calls fn with the number of the newest event up to which every change is
// in the ranking, and whether that is all there is.
func (b *backlog) report(fn func(n int64, all bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.last
	for _, u := range b.brands {
		n = min(n, u.first-1)
	}
	fn(n, n >= b.head)
}

// oldest returns when the oldest of the events happened whose change is not in the
// ranking yet; zero: there is none.
func (b *backlog) oldest() (at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range b.brands {
		if at.IsZero() || u.firstAt.Before(at) {
			at = u.firstAt
		}
	}
	return at
}

// has reports whether a brand has changed since it was ranked.
func (b *backlog) has(slug fieldmark.Slug) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.brands[slug]
	return ok
}
