package ranking

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
	"iter"
	"maps"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// Method identifies the module and methodology of the scores.
type Method struct {
	Module      fieldmark.ModuleRef
	Methodology fieldmark.Methodology
}

// Snapshot is one ranking of every public brand by one module. It is immutable and
// safe for concurrent use.
type Snapshot struct {
	ID          string // of its content: two nodes with the same facts have the same
	Method      Method
	AsOf        *fieldmark.Time // of the newest audit in it; nil: none
	Pending     int             // brands that are not audited yet
	Unreachable int             // brands whose site did not respond
	Failed      int             // brands that the module cannot score

	slugs     *sortedList // every public brand and every alias
	bySlug    slugTable   // the same
	byBasis   [bases]categories
	languages map[string]int // of ranked brands
	since     fieldmark.Time // what changes are counted from
	newest    int64          // AsOf in microseconds; 0: none
	sum       [2]uint64      // of its ranked rows
	unranked  uint64         // sum of the hashes of all other rows, which ID does not cover

	filtered *filteredCache
}

// New ranks rows, which are of brands and of aliases, and keeps them. since is what
// changes are counted from.
func New(m Method, rows []*Row, since fieldmark.Time) *Snapshot {
	s := &Snapshot{Method: m, since: since, languages: map[string]int{}, filtered: &filteredCache{}}
	var ranked [bases][]*Row
	for _, r := range rows {
		s.count(r, 1)
		if r.ranked {
			ranked[readiness] = append(ranked[readiness], r)
		}
		if r.full {
			ranked[fullScore] = append(ranked[fullScore], r)
		}
	}
	s.slugs = newSortedList(compareSlugs, rows)
	s.bySlug = newSlugTable(s.slugs.from(0), s.slugs.size)
	for basis := range ranked {
		s.byBasis[basis] = newCategories(basis, ranked[basis])
	}
	s.findNewest()
	s.finish()
	return s
}

// Apply returns the ranking with rows changed: a row replaces the one of its slug, nil
// removes it.
func (s *Snapshot) Apply(changed map[fieldmark.Slug]*Row) *Snapshot {
	next := &Snapshot{
		Method: s.Method, since: s.since, languages: maps.Clone(s.languages), filtered: &filteredCache{},
		Pending: s.Pending, Unreachable: s.Unreachable, Failed: s.Failed, sum: s.sum, unranked: s.unranked,
	}
	var out, in, outRanked, inRanked, outFull, inFull []*Row
	sort := func(r *Row, all, ranked, full *[]*Row) {
		*all = append(*all, r)
		if r.ranked {
			*ranked = append(*ranked, r)
		}
		if r.full {
			*full = append(*full, r)
		}
	}
	for slug, r := range changed {
		if old := s.Row(slug); old != nil {
			next.count(old, -1)
			sort(old, &out, &outRanked, &outFull)
		}
		if r != nil {
			next.count(r, 1)
			sort(r, &in, &inRanked, &inFull)
		}
	}
	next.slugs = s.slugs.apply(out, in)
	if next.bySlug = s.bySlug.apply(out, in); next.bySlug.crowded() {
		next.bySlug = newSlugTable(next.slugs.from(0), next.slugs.size)
	}
	next.byBasis = [bases]categories{
		readiness: s.byBasis[readiness].apply(readiness, outRanked, inRanked),
		fullScore: s.byBasis[fullScore].apply(fullScore, outFull, inFull),
	}
	next.newest = s.newest
	for _, r := range outRanked {
		if r.asOf == s.newest {
			next.newest = 0
		}
	}
	for _, r := range inRanked {
		if r.asOf >= s.newest {
			next.newest = max(next.newest, r.asOf)
		}
	}
	if next.newest == 0 {
		next.findNewest()
	}
	next.finish()
	return next
}

// findNewest searches all rows for the newest audit.
func (s *Snapshot) findNewest() {
	for r := range s.Ranked() {
		s.newest = max(s.newest, r.asOf)
	}
}

// unrankedSeed is of the hashes in Snapshot.unranked.
var unrankedSeed = maphash.MakeSeed()

// count adds a row to the totals if by is 1 and removes it if by is -1.
func (s *Snapshot) count(r *Row, by int) {
	if !r.ranked {
		s.unranked += uint64(by) * maphash.String(unrankedSeed, strings.Join([]string{string(r.slug), r.name, r.host,
			string(r.status)}, "\x00"))
	}
	if r.failed {
		s.Failed += by
	}
	switch {
	case r.ranked:
		if s.languages[r.language] += by; s.languages[r.language] == 0 {
			delete(s.languages, r.language)
		}
		// A sum does not depend on the order, and rows can be taken out again.
		s.sum[0] += uint64(by) * r.sum[0]
		s.sum[1] += uint64(by) * r.sum[1]
	case r.alias:
	case r.status == fieldmark.StatusPending:
		s.Pending += by
	case r.status == fieldmark.StatusUnreachable:
		s.Unreachable += by
	}
}

// finish sets what follows from the lists.
func (s *Snapshot) finish() {
	if s.newest > 0 {
		at := fieldmark.AtMicros(s.newest)
		s.AsOf = &at
	}
	text := []byte(string(s.Method.Module.Digest) + "\x00" + s.since.String() + "\x00")
	text = binary.BigEndian.AppendUint64(text, s.sum[0])
	text = binary.BigEndian.AppendUint64(text, s.sum[1])
	sum := sha256.Sum256(text)
	s.ID = hex.EncodeToString(sum[:8])
}

// Key names all that pages made of this ranking show, of brands without a rank too.
func (s *Snapshot) Key() string {
	return s.ID + "/" + strconv.FormatUint(s.unranked, 36) + "/" + strconv.Itoa(s.Pending) + "/" +
		strconv.Itoa(s.Unreachable)
}

// Row returns the row of a slug, or nil.
func (s *Snapshot) Row(slug fieldmark.Slug) *Row { return s.bySlug.find(slug) }

// Len returns how many slugs there are: public brands and aliases.
func (s *Snapshot) Len() int { return s.slugs.size }

// Slugs yields the rows of all slugs in their order, from a place on.
func (s *Snapshot) Slugs(from int) iter.Seq[*Row] { return s.slugs.from(from) }

// Ranked yields the ranked brands, the best first.
func (s *Snapshot) Ranked() iter.Seq[*Row] { return s.byBasis[readiness].all.rows.from(0) }

// RankedCount returns how many brands are ranked.
func (s *Snapshot) RankedCount() int { return s.byBasis[readiness].all.rows.size }

// HasFull reports whether any brand is ranked by its full score.
func (s *Snapshot) HasFull() bool { return s.byBasis[fullScore].all.rows.size > 0 }

// Rank returns a brand's rank, or nil if it has no rank.
func (s *Snapshot) Rank(slug fieldmark.Slug) *fieldmark.Rank {
	r := s.Row(slug)
	if r == nil || !r.ranked {
		return nil
	}
	all, at := s.byBasis[readiness], r.ratings[readiness].span
	niche := all.niches[r.niche]
	rank := &fieldmark.Rank{Of: all.all.rows.size, OfNiche: niche.rows.size}
	rank.Overall, rank.OverallLast = all.all.now.rank(at)
	rank.Niche, rank.NicheLast = niche.now.rank(at)
	return rank
}

// Score returns what the ranking keeps of a ranked brand: enough for a badge.
func (s *Snapshot) Score(slug fieldmark.Slug) (*fieldmark.Score, bool) {
	r := s.Row(slug)
	if r == nil || !r.ranked {
		return nil, false
	}
	e := r.entry(readiness)
	return &fieldmark.Score{Slug: slug, Name: e.Name, Niche: e.Niche, Language: e.Language,
		Assessment: fieldmark.Assessment{
			Status: fieldmark.StatusScored, Score: &e.Score, Grade: e.Grade, Range: &e.Range, GeoReady: e.GeoReady,
			AsOf: &e.AsOf,
		}}, true
}
