package ranking

import (
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/rankingfile"
)

// maxUnranked is how many brands without a rank a search returns; a longer text finds
// fewer.
const maxUnranked = 20

// Found is the result of a search.
// The ranked brands keep their rank of the whole list.
type Found struct {
	Board         fieldmark.Board // the ranked brands of the query's filter, by rank
	Unranked      []Unranked      // at most maxUnranked, by slug
	UnrankedTotal int
}

// Unranked is a public brand without a rank.
type Unranked struct {
	Slug   fieldmark.Slug
	Name   string // empty if the active module cannot score the brand
	Status fieldmark.ScoreStatus
}

// Search finds public brands by a part of their name, their slug or the host of their
// site. The filter of the query applies to ranked brands only. It looks through every name.
// A search costs a pass over all rows, so callers limit how often a client may search.
func (s *Snapshot) Search(q *Query, text string) (f Found) {
	c, basis := s.filter(q.Filter), basisOf(q.Filter.Basis)
	f.Board = s.emptyBoard(q.Filter)
	n := newNeedle(text)
	for r := range c.rows.from(0) {
		if !n.matches(r) {
			continue
		}
		if f.Board.Total++; len(f.Board.Items) < q.Limit {
			f.Board.Items = append(f.Board.Items, s.rankedEntry(r, c, basis, q.filtered()))
		}
	}
	for r := range s.slugs.from(0) {
		if r.ranked || !r.Listed() || !n.matches(r) {
			continue
		}
		if f.UnrankedTotal++; len(f.Unranked) < maxUnranked {
			f.Unranked = append(f.Unranked, Unranked{Slug: r.slug, Name: r.name, Status: r.status})
		}
	}
	return f
}

// FindHost returns the slugs of the public brands whose site has a host, by slug. It looks
// through every brand.
func (s *Snapshot) FindHost(host string) (slugs []fieldmark.Slug) {
	host = rankingfile.HostOf(host)
	for r := range s.slugs.from(0) {
		if r.Listed() && r.host == host && host != "" {
			slugs = append(slugs, r.slug)
		}
	}
	return slugs
}

// needle is the text of a search in the form of each property it is compared with.
// It is made once for a search.
type needle struct{ name, slug, host string }

// newNeedle prepares a text: blanks become hyphens for slugs, and one word may be a host.
func newNeedle(text string) needle {
	n := needle{name: strings.ToLower(strings.TrimSpace(text))}
	words := strings.Fields(n.name)
	n.slug = strings.Join(words, "-")
	if len(words) == 1 {
		n.host = rankingfile.HostOf(n.name)
	}
	return n
}

// matches compares without case. A part of a host counts only if it is not the top-level
// domain.
func (n *needle) matches(r *Row) bool {
	if n.slug != "" && strings.Contains(string(r.slug), n.slug) || strings.Contains(strings.ToLower(r.name), n.name) {
		return true
	}
	if n.host == "" {
		return false
	}
	host := r.host
	if !strings.Contains(n.host, ".") { // no top-level domain: "com" would find most brands
		host = host[:max(strings.LastIndexByte(host, '.'), 0)]
	}
	return strings.Contains(host, n.host)
}
