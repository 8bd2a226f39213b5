package ranking

import "maps"

// histogram counts scores by bucket. Scores have one decimal, so a rank is a sum over
// at most a thousand numbers however many brands there are.
type histogram [1001]int32

func bucket(score int32) int { return int(score) / 100 }

// rank is the rank of a score: one more than there are better ones.
func (h *histogram) rank(score int32) int {
	better := 1
	for _, n := range h[bucket(score)+1:] {
		better += int(n)
	}
	return better
}

// category is a sorted list with the histograms that ranks are counted from: now, and
// a week ago.
type category struct {
	rows         *sortedList
	now, weekAgo histogram
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
	s := r.ratings[basis]
	c.now[bucket(s.score)] += by
	if s.weekAgo >= 0 {
		c.weekAgo[bucket(s.weekAgo)] += by
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
