package validity

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// Study has the values of the brands of a study.
type Study struct {
	Ref       fieldmark.StudyRef
	Questions int
	Engines   []string
	Brands    []Brand
}

// Brand is a brand in a study: what was measured of it, and what its site scored when the study began.
type Brand struct {
	Slug              fieldmark.Slug
	Mention, Citation *fieldmark.Milli // shares of answers; nil: not measured
	Memory            *fieldmark.Milli // mention rate of the same questions without search; nil: not measured
	Assessment        fieldmark.Assessment
}

// notTested are what the document does not show.
var notTested = []string{
	"Whether raising a score raises mentions or citations: nothing was changed on purpose here.",
	"Age and size of the sites, their language, and what others write about the brands.",
	"Other questions, niches, engines and times than those of the studies.",
}

// Compute returns the document of studies, which are of different niches or locales. The same studies give
// the same document in any order, but for AsOf, which the caller sets.
func Compute(studies []Study, module fieldmark.ModuleRef) fieldmark.Validity {
	studies = slices.Clone(studies)
	slices.SortFunc(studies, func(a, b Study) int { return cmp.Compare(a.Ref.Digest, b.Ref.Digest) })
	v := fieldmark.Validity{Module: module, MinBrands: fieldmark.MinValidityBrands, NotTested: notTested,
		Studies: []fieldmark.ValidityStudy{}, Engines: []string{}, Lines: []fieldmark.ValidityLine{}}
	for i := range studies {
		s := &studies[i]
		slices.SortFunc(s.Brands, func(a, b Brand) int { return strings.Compare(string(a.Slug), string(b.Slug)) })
		v.Studies = append(v.Studies, fieldmark.ValidityStudy{StudyRef: s.Ref, Brands: len(s.Brands)})
		v.Brands, v.Questions = v.Brands+len(s.Brands), v.Questions+s.Questions
		v.Engines = append(v.Engines, s.Engines...)
	}
	slices.Sort(v.Engines)
	v.Engines = slices.Compact(v.Engines)
	// It seeds the random numbers, so every process computes the same intervals.
	v.Digest = digestOf(studies, module)
	// Fewer brands would show intervals from -1 to 1.
	if v.Brands < fieldmark.MinValidityBrands {
		return v
	}
	v.Lines = linesOf(studies)
	var cited, named []*fieldmark.Association
	for i := range v.Lines {
		l := &v.Lines[i]
		l.Citation = compare(studies, l, v.Digest, "citation", func(b *Brand) *fieldmark.Milli { return b.Citation })
		l.Mention = compare(studies, l, v.Digest, "mention", func(b *Brand) *fieldmark.Milli { return b.Mention })
		// Only signals are tested: components and the score are sums of them.
		if l.Kind == fieldmark.ValiditySignal {
			cited, named = append(cited, l.Citation), append(named, l.Mention)
			v.Tested++
		}
	}
	holm(cited)
	holm(named)
	// So many tests would differ from 0 by chance at 5 %, without the correction of Holm.
	v.ByChance = fieldmark.Milli(50 * v.Tested)
	return v
}

// digestOf identifies the input: the studies, the module, and the facts that it scored.
func digestOf(studies []Study, module fieldmark.ModuleRef) fieldmark.Digest {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", module.Digest)
	for i := range studies {
		fmt.Fprintf(h, "%s\n", studies[i].Ref.Digest)
		for _, b := range studies[i].Brands {
			raw, err := json.Marshal([]any{b.Slug, b.Assessment.FactsDigest, b.Memory})
			if err != nil {
				panic("BUG: a brand that cannot be encoded: " + err.Error())
			}
			h.Write(append(raw, '\n'))
		}
	}
	return fieldmark.DigestOf([sha256.Size]byte(h.Sum(nil)))
}

// linesOf lists the score, and every component and signal of the brands, by id.
// Labels are those of the first brand; one module scores all of them.
func linesOf(studies []Study) (lines []fieldmark.ValidityLine) {
	seen := map[string]bool{}
	add := func(id, kind, label string) {
		if !seen[kind+id] {
			seen[kind+id] = true
			lines = append(lines, fieldmark.ValidityLine{ID: id, Kind: kind, Label: label})
		}
	}
	for i := range studies {
		for _, b := range studies[i].Brands {
			for _, c := range b.Assessment.Components {
				add(c.ID, fieldmark.ValidityComponent, c.Label)
				for _, s := range c.Signals {
					add(s.ID, fieldmark.ValiditySignal, s.Label)
				}
			}
		}
	}
	slices.SortFunc(lines, func(a, b fieldmark.ValidityLine) int { return strings.Compare(a.ID, b.ID) })
	return append([]fieldmark.ValidityLine{{ID: "score", Kind: fieldmark.ValidityScore, Label: "Score"}}, lines...)
}

// shareOf returns what share of its points a line has in an assessment; NaN if it was not measured.
func shareOf(a *fieldmark.Assessment, l *fieldmark.ValidityLine) float64 {
	if l.Kind == fieldmark.ValidityScore {
		if a.Score == nil {
			return math.NaN()
		}
		return float64(*a.Score)
	}
	for i := range a.Components {
		c := &a.Components[i]
		points, of := 0.0, 0.0
		for j := range c.Signals {
			s := &c.Signals[j]
			// A signal that was not measured has no points, for another reason than a bad site.
			if s.Status != fieldmark.Measured || s.Max == 0 {
				continue
			}
			if l.Kind == fieldmark.ValiditySignal && s.ID == l.ID {
				return float64(s.Points) / float64(s.Max)
			}
			points, of = points+float64(s.Points), of+float64(s.Max)
		}
		if l.Kind == fieldmark.ValidityComponent && c.ID == l.ID && of > 0 {
			return points / of
		}
	}
	return math.NaN()
}

// compare associates a line with a rate, and both with popularity.
func compare(studies []Study, l *fieldmark.ValidityLine, digest fieldmark.Digest, metric string,
	rate func(*Brand) *fieldmark.Milli) *fieldmark.Association {
	var all, low, high, byLine, byRate []series
	known := 0
	for i := range studies {
		brands := studies[i].Brands
		x, y, memory := make([]float64, len(brands)), make([]float64, len(brands)), make([]float64, len(brands))
		for k := range brands {
			x[k] = shareOf(&brands[k].Assessment, l)
			y[k], memory[k] = number(rate(&brands[k])), number(brands[k].Memory)
			if !math.IsNaN(memory[k]) && !math.IsNaN(x[k]) && !math.IsNaN(y[k]) {
				known++
			}
		}
		all = append(all, newSeries(x, y))
		byLine, byRate = append(byLine, newSeries(x, memory)), append(byRate, newSeries(memory, y))
		below, above := halves(y, memory)
		low, high = append(low, newSeries(x, below)), append(high, newSeries(x, above))
	}
	seed := sha256.Sum256([]byte(string(digest) + "\x00" + metric + "\x00" + l.Kind + "\x00" + l.ID))
	a := associate(all, rand.New(rand.NewChaCha8(seed)))
	// A correction for popularity by a few brands would be noise.
	if a == nil || known < fieldmark.MinValidityBrands {
		return a
	}
	p := &fieldmark.Popularity{Brands: known, Low: pooledTau(low), High: pooledTau(high)}
	xz, zy := pooledTau(byLine), pooledTau(byRate)
	if xz != nil && zy != nil {
		p.Line, p.Rate = xz, zy
		t, u, w := float64(a.Tau)/1000, float64(*xz)/1000, float64(*zy)/1000
		// The partial correlation of Kendall (1942): what is left if popularity explains its part of both.
		if below := math.Sqrt((1 - u*u) * (1 - w*w)); below > 0 {
			p.Partial = new(thousandths((t - u*w) / below))
		}
	}
	a.Popularity = p
	return a
}

// number returns NaN for a value that was not measured.
func number(m *fieldmark.Milli) float64 {
	if m == nil {
		return math.NaN()
	}
	return float64(*m)
}

func pooledTau(all []series) *fieldmark.Milli {
	tau, ok := pooled(all).tau()
	if !ok {
		return nil
	}
	return new(thousandths(tau))
}

// halves divides the brands of a study at the median of their memory rates; a brand of the other half, or
// without one, has no value.
// It shows whether an association holds among brands that engines know equally well.
func halves(y, memory []float64) (below, above []float64) {
	known := slices.DeleteFunc(slices.Clone(memory), math.IsNaN)
	slices.Sort(known)
	below, above = make([]float64, len(y)), make([]float64, len(y))
	for i := range y {
		below[i], above[i] = math.NaN(), math.NaN()
		switch {
		case math.IsNaN(memory[i]):
		case memory[i] < known[len(known)/2]:
			below[i] = y[i]
		default:
			above[i] = y[i]
		}
	}
	return below, above
}
