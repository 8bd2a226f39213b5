package validity

import (
	"crypto/sha256"
	"math/rand/v2"
	"slices"

	"github.com/fieldmark/fieldmark"
)

// Scored is a brand of a study with the scores that two modules gave its site when the study began. Nil: not
// scored, or not measured.
type Scored struct {
	Mention, Citation *fieldmark.Milli
	Score, Against    *fieldmark.Milli
}

// Foretell returns how the scores of a module are associated with the citation rates of studies, or with the
// mention rates if no brand differs in citations, and the difference to the module that it is compared with,
// by a paired bootstrap: each resample has the same brands for both. The seed makes the result repeatable.
// Below fieldmark.MinValidityBrands there are counts only.
func Foretell(studies [][]Scored, basis fieldmark.ForetellingBasis, seed fieldmark.Digest) *fieldmark.Foretelling {
	f := &fieldmark.Foretelling{Basis: basis, Metric: "citation", MinBrands: fieldmark.MinValidityBrands}
	pairs := pairsOf(studies, func(b *Scored) *fieldmark.Milli { return b.Citation })
	// Not by the better result: mentions are used only where citations give none.
	if _, ok := pooled(pairs.score).tau(); !ok {
		f.Metric = "mention"
		pairs = pairsOf(studies, func(b *Scored) *fieldmark.Milli { return b.Mention })
	}
	for i := range pairs.score {
		// A study whose brands have no score is not counted.
		if n := len(pairs.score[i].x); n > 0 {
			f.Studies, f.Brands = f.Studies+1, f.Brands+n
		}
	}
	tau, ok := pooled(pairs.score).tau()
	if f.Brands < fieldmark.MinValidityBrands || !ok {
		return f
	}
	// The basis is part of the seed, so that seen and held-out studies have separate resamples.
	random := rand.New(rand.NewChaCha8(sha256.Sum256([]byte("foretell\x00" + string(basis) + "\x00" + string(seed)))))
	taus, differences := pairs.bootstrap(random)
	f.Tau = new(thousandths(tau))
	f.Low, f.High = percentiles(taus)
	if other, ok := pooled(pairs.against).tau(); ok && pairs.compared {
		f.Against = &fieldmark.ForetellingDifference{Tau: thousandths(other), Difference: thousandths(tau - other)}
		f.Against.Low, f.Against.High = percentiles(differences)
	}
	return f
}

// scorePairs has the same brands of each study in both series.
type scorePairs struct {
	score, against []series
	compared       bool // there are scores to compare with
}

// pairsOf keeps the brands that have a rate, a score and, if any brand has one, a score to compare with.
func pairsOf(studies [][]Scored, rate func(*Scored) *fieldmark.Milli) (p scorePairs) {
	p.compared = slices.ContainsFunc(studies, func(brands []Scored) bool {
		return slices.ContainsFunc(brands, func(b Scored) bool { return b.Against != nil })
	})
	for _, brands := range studies {
		var x, other, y []float64
		for i := range brands {
			b := &brands[i]
			// Both modules are compared on the same brands: one that only one of them scores would shift its tau.
			if rate(b) == nil || b.Score == nil || p.compared && b.Against == nil {
				continue
			}
			x, y = append(x, number(b.Score)), append(y, number(rate(b)))
			if p.compared {
				other = append(other, number(b.Against))
			}
		}
		p.score = append(p.score, newSeries(x, y))
		if p.compared {
			p.against = append(p.against, newSeries(other, y))
		}
	}
	return p
}

// bootstrap resamples brands within studies, or whole studies if there are many.
func (p *scorePairs) bootstrap(random *rand.Rand) (taus, differences []float64) {
	for range resamples {
		var c, other counts
		for i := range p.score {
			// One index for both modules, which makes the resamples paired.
			if len(p.score) >= wholeStudies {
				i = random.IntN(len(p.score))
			}
			at := identity(len(p.score[i].x))
			if len(p.score) < wholeStudies {
				for k := range at {
					at[k] = int32(random.IntN(len(at)))
				}
			}
			c.add(p.score[i].count(at))
			if p.compared {
				other.add(p.against[i].count(at))
			}
		}
		tau, ok := c.tau()
		if !ok {
			continue // all brands of the resample have one value
		}
		taus = append(taus, tau)
		if u, ok := other.tau(); ok {
			differences = append(differences, tau-u)
		}
	}
	return taus, differences
}

// percentiles returns the 95 % interval of resampled values; the whole range if too few are defined.
func percentiles(values []float64) (low, high *fieldmark.Milli) {
	if len(values) < resamples/2 {
		return new(-fieldmark.MilliOne), new(fieldmark.Milli(fieldmark.MilliOne))
	}
	slices.Sort(values)
	cut := len(values) / 40
	return new(thousandths(values[cut])), new(thousandths(values[len(values)-1-cut]))
}
