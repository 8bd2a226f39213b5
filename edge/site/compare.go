package site

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fieldmark/fieldmark"
)

// MaxCompared is how many brands a page compares: more columns do not fit beside each
// other on a desktop.
const MaxCompared = 4

// ComparePage is the data of the page that compares brands.
type ComparePage struct {
	BaseURL string            // scheme and host of the site, without a slash at the end
	Asked   string            // as entered; any text
	Faults  []string          // what is wrong with it
	Brands  []fieldmark.Score // at most MaxCompared, with their ranks
}

// compareView is what templates/compare.html shows.
type compareView struct {
	Head     head
	Page     *ComparePage
	Verdicts []string // which of two neighbours by score is ahead
	Groups   []compareGroup
}

// compareGroup is a component with its signals, in rows.
type compareGroup struct {
	compareRow
	Signals []compareRow
}

// compareRow is one property of all brands.
type compareRow struct {
	Label string
	Max   int
	Cells []compareCell // one for each brand
}

// compareCell is the points of a brand.
type compareCell struct {
	Points fieldmark.Milli
	Text   string // instead of points
	Best   bool   // no other brand has more, and one has fewer
}

func newCompareView(c chrome, p *ComparePage) *compareView {
	v := &compareView{Page: p, Head: fixedHead(c, p.BaseURL, PathCompare, "Compare brands",
		"Generative engine optimisation (GEO) of up to four brands side by side: scores, ranges, caps, and the "+
			"points of every signal.")}
	v.Head.Index = p.Asked == ""
	byScore := slices.DeleteFunc(slices.Clone(p.Brands), func(s fieldmark.Score) bool { return s.Range == nil })
	slices.SortStableFunc(byScore, func(a, b fieldmark.Score) int { return cmp.Compare(*b.Score, *a.Score) })
	for i := 1; i < len(byScore); i++ {
		a, b := &byScore[i-1], &byScore[i]
		text := "%s is ahead of %s: their ranges do not overlap."
		if b.Range.High >= a.Range.Low {
			text = "%s and %s cannot be distinguished: their ranges overlap."
		}
		v.Verdicts = append(v.Verdicts, fmt.Sprintf(text, plain(a.Name), plain(b.Name)))
	}
	v.Groups = compareGroups(p.Brands)
	return v
}

// compareGroups puts the points of brands beside each other. Brands that another module
// scored may lack a signal.
func compareGroups(brands []fieldmark.Score) (groups []compareGroup) {
	for i := range brands {
		for _, c := range brands[i].Components {
			at := slices.IndexFunc(groups, func(g compareGroup) bool { return g.Label == c.Label })
			if at < 0 {
				at = len(groups)
				groups = append(groups, compareGroup{compareRow: newCompareRow(c.Label, c.Weight, len(brands))})
			}
			g := &groups[at]
			g.Cells[i] = compareCell{Points: c.Points}
			for _, s := range c.Signals {
				at := slices.IndexFunc(g.Signals, func(r compareRow) bool { return r.Label == s.Label })
				if at < 0 {
					at = len(g.Signals)
					g.Signals = append(g.Signals, newCompareRow(s.Label, s.Max, len(brands)))
				}
				cell := compareCell{Points: s.Points}
				if s.Status != fieldmark.Measured {
					cell.Text = stateWords(s.Status)
				}
				g.Signals[at].Cells[i] = cell
			}
		}
	}
	for i := range groups {
		groups[i].markBest()
		for j := range groups[i].Signals {
			groups[i].Signals[j].markBest()
		}
	}
	return groups
}

func newCompareRow(label string, most, brands int) compareRow {
	r := compareRow{Label: label, Max: most, Cells: make([]compareCell, brands)}
	for i := range r.Cells {
		r.Cells[i].Text = "–"
	}
	return r
}

// markBest marks the cells with the most points, unless all have as many.
func (r *compareRow) markBest() {
	most, least := fieldmark.Milli(-1), fieldmark.Milli(-1)
	for _, c := range r.Cells {
		if c.Text == "" {
			most = max(most, c.Points)
			if least < 0 || c.Points < least {
				least = c.Points
			}
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		c.Best = c.Text == "" && c.Points == most && most > least
	}
}

// Verdict describes the status of a brand.
func (*compareView) Verdict(s fieldmark.Score) verdict { return verdictOf(&s) }
