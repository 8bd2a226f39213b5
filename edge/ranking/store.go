package ranking

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fieldmark/fieldmark"
)

// maxHistory is how many rankings a cursor can still point into. At one a second it
// is the least a reader of several pages can count on; rankings of a quiet time last
// until the next change.
const maxHistory = 32

// Store holds the current ranking and the last few before it. The zero value is
// empty. It is safe for concurrent use; reads take no lock.
type Store struct {
	current    atomic.Pointer[Snapshot]
	incomplete atomic.Bool

	mu      sync.Mutex
	history []*Snapshot // newest last
	drop    bool        // the next ranking is the only one to keep
}

// Current returns the current ranking, nil before the first.
func (s *Store) Current() *Snapshot { return s.current.Load() }

// ID returns the id of the current ranking, empty before the first.
func (s *Store) ID() string {
	if now := s.current.Load(); now != nil {
		return now.ID
	}
	return ""
}

// Set makes next the current ranking.
func (s *Store) Set(next *Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.current.Swap(next)
	if old != nil && old.ID == next.ID { // the same order; statuses of unranked brands may differ
		s.history[len(s.history)-1], s.drop = next, false
		return
	}
	if s.drop {
		s.history, s.drop = nil, false
	}
	s.history = append(s.history, next)
	if len(s.history) > maxHistory {
		s.history = slices.Delete(s.history, 0, len(s.history)-maxHistory)
	}
}

// DropHistory drops all rankings but the current one, and that one with the next Set:
// a brand that was taken down must not be read in an old ranking.
func (s *Store) DropHistory() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = s.history[max(len(s.history)-1, 0):]
	s.drop = true
}

// Find returns the current or an old ranking by its id, or nil.
func (s *Store) Find(id string) *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range slices.Backward(s.history) {
		if old.ID == id {
			return old
		}
	}
	return nil
}

// SetIncomplete sets whether events were missed: until all brands are ranked again the
// ranking cannot report that a brand does not exist.
func (s *Store) SetIncomplete(incomplete bool) { s.incomplete.Store(incomplete) }

// Presence is whether a brand exists, as far as a node can determine.
type Presence int

// The answers of Lookup.
const (
	Unknown Presence = iota
	Present
	Absent
)

// Lookup reports whether a public brand has the slug.
func (s *Store) Lookup(slug fieldmark.Slug) Presence {
	now := s.current.Load()
	if now == nil || s.incomplete.Load() {
		return Unknown
	}
	if r := now.Row(slug); r != nil && !r.IsAlias() {
		return Present
	}
	return Absent
}

// AliasTarget returns the slug that an old one leads to, or nothing.
func (s *Store) AliasTarget(slug fieldmark.Slug) fieldmark.Slug {
	if now := s.current.Load(); now != nil {
		if r := now.Row(slug); r != nil {
			return r.Target()
		}
	}
	return ""
}

// Rank returns the place of a score's brand in the current ranking, or nil. A score that
// does not qualify for the ranking has none, even while the ranking still lists the
// brand: after a change, the score is renewed first and the ranking shortly after it.
func (s *Store) Rank(score *fieldmark.Score) *fieldmark.Rank {
	if now := s.current.Load(); now != nil && score.Ranked() {
		return now.Rank(score.Slug)
	}
	return nil
}

// Score returns what the current ranking keeps of a ranked brand.
func (s *Store) Score(slug fieldmark.Slug) (*fieldmark.Score, bool) {
	if now := s.current.Load(); now != nil {
		return now.Score(slug)
	}
	return nil, false
}
