package ranking

import (
	"maps"
	"sync"
)

// histogram counts points by bucket. Points have one decimal, so a rank is a sum over at
// most a thousand numbers however many brands there are.
type histogram [1001]int32

func bucket(points int32) int { return int(points) / 100 }

// above returns how many of the counted points are more than the given ones.
func (h *histogram) above(points int32) (n int) {
	for _, in := range h[bucket(points)+1:] {
		n += int(in)
	}
	return n
}

// below is the opposite of above.
func (h *histogram) below(points int32) (n int) {
	for _, in := range h[:bucket(points)] {
		n += int(in)
	}
	return n
}

// ranges are the histograms of the ends of ranges.
type ranges struct {
	lows, highs histogram
	size        int
}

func (r *ranges) add(s span, by int32) {
	r.lows[bucket(s.low)] += by
	r.highs[bucket(s.high)] += by
	r.size += int(by)
}

// rank returns the best and the last rank of a range: one more than there are ranges
// certainly above it, and the number of ranges that are not certainly below it.
func (r *ranges) rank(s span) (best, last int) {
	return 1 + r.lows.above(s.high), r.size - r.highs.below(s.low)
}

// totals are the ranks by bucket, so that a rank costs two lookups that are near each other. A batch requests a
// thousand ranks, and each would otherwise be a sum over a thousand numbers.
type totals struct {
	rows  int
	ranks [len(histogram{})]struct {
		best int32 // of a range that ends in the bucket
		last int32 // of a range that begins in it
	}
}

// rank is that of ranges, from the totals, and the number of rows.
func (c *category) rank(s span) (best, last, of int) {
	c.sum.Do(func() {
		t := &totals{rows: c.rows.size}
		above, below := int32(0), int32(0)
		for i := range t.ranks {
			t.ranks[i].last = int32(t.rows) - below
			below += c.now.highs[i]
		}
		for i := len(t.ranks) - 1; i >= 0; i-- {
			t.ranks[i].best = 1 + above
			above += c.now.lows[i]
		}
		c.totals = t
	})
	t := c.totals
	return int(t.ranks[bucket(s.high)].best), int(t.ranks[bucket(s.low)].last), t.rows
}

// category is a sorted list with the histograms that ranks are counted from: now, and
// a week ago.
type category struct {
	sum    sync.Once // computes totals when a rank is first requested
	totals *totals

	rows         *sortedList
	now, weekAgo ranges
}

// change returns how many ranks a row has certainly gained within a week: 0 while the
// ranks of then and of now overlap. not ok is a row that had no score then.
func (c *category) change(s *rating) (gained int, ok bool) {
	then, ok := s.then()
	if !ok {
		return 0, false
	}
	best, last := c.now.rank(s.span)
	bestThen, lastThen := c.weekAgo.rank(then)
	switch {
	case bestThen > last:
		return bestThen - last, true
	case lastThen < best:
		return lastThen - best, true
	}
	return 0, true
}

func newCategory(basis int, rows []*Row) *category {
	c := &category{}
	for _, r := range rows {
		c.count(r, basis, 1)
	}
	c.rows = newSortedList(compareScores[basis], rows)
	return c
}

func (c *category) count(r *Row, basis int, by int32) {
	s := &r.ratings[basis]
	c.now.add(s.span, by)
	if then, ok := s.then(); ok {
		c.weekAgo.add(then, by)
	}
}

func (c *category) apply(basis int, out, in []*Row) *category {
	next := &category{rows: c.rows.apply(out, in), now: c.now, weekAgo: c.weekAgo}
	for _, r := range out {
		next.count(r, basis, -1)
	}
	for _, r := range in {
		next.count(r, basis, 1)
	}
	return next
}

// categories are all lists of one basis.
type categories struct {
	all    *category
	niches map[string]*category
}

func newCategories(basis int, rows []*Row) categories {
	c := categories{all: newCategory(basis, rows), niches: map[string]*category{}}
	byNiche := map[string][]*Row{}
	for _, r := range rows {
		byNiche[r.niche] = append(byNiche[r.niche], r)
	}
	for niche, rows := range byNiche {
		c.niches[niche] = newCategory(basis, rows)
	}
	return c
}

func (c categories) apply(basis int, out, in []*Row) categories {
	if len(out) == 0 && len(in) == 0 {
		return c
	}
	next := categories{all: c.all.apply(basis, out, in), niches: maps.Clone(c.niches)}
	type change struct{ out, in []*Row }
	changes := map[string]change{}
	for _, r := range out {
		c := changes[r.niche]
		c.out = append(c.out, r)
		changes[r.niche] = c
	}
	for _, r := range in {
		c := changes[r.niche]
		c.in = append(c.in, r)
		changes[r.niche] = c
	}
	for niche, change := range changes {
		old := next.niches[niche]
		if old == nil {
			old = newCategory(basis, nil)
		}
		if c := old.apply(basis, change.out, change.in); c.rows.size > 0 {
			next.niches[niche] = c
		} else {
			delete(next.niches, niche)
		}
	}
	return next
}
