package validity

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
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
	Proxies           map[string]int64 // proxy variables of popularity, by name; nil: none is known
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
	proxies := proxiesOf(studies)
	var cited, named []*fieldmark.Association
	for i := range v.Lines {
		l := &v.Lines[i]
		l.Citation = compare(studies, proxies, l, v.Digest, "citation",
			func(b *Brand) *fieldmark.Milli { return b.Citation })
		l.Mention = compare(studies, proxies, l, v.Digest, "mention",
			func(b *Brand) *fieldmark.Milli { return b.Mention })
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
			input := []any{b.Slug, b.Assessment.FactsDigest, b.Memory}
			// Documents of brands without proxy variables keep the digest that they have.
			if len(b.Proxies) > 0 {
				input = append(input, b.Proxies)
			}
			raw, err := json.Marshal(input)
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

// proxiesOf lists the names of the proxy variables of the brands.
func proxiesOf(studies []Study) (names []string) {
	for i := range studies {
		for _, b := range studies[i].Brands {
			names = slices.AppendSeq(names, maps.Keys(b.Proxies))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// compare associates a line with a rate, and both with popularity: the memory rate, and each proxy variable.
func compare(studies []Study, proxies []string, l *fieldmark.ValidityLine, digest fieldmark.Digest, metric string,
	rate func(*Brand) *fieldmark.Milli) *fieldmark.Association {
	var all []series
	for i := range studies {
		x, y := columns(&studies[i], l, rate)
		all = append(all, newSeries(x, y))
	}
	// Each line has its own random numbers, so that adding a line changes no other.
	seed := sha256.Sum256([]byte(string(digest) + "\x00" + metric + "\x00" + l.Kind + "\x00" + l.ID))
	a := associate(all, rand.New(rand.NewChaCha8(seed)))
	if a == nil {
		return nil
	}
	a.Popularity = popularityOf(studies, l, rate, a.Tau, func(b *Brand) float64 { return number(b.Memory) })
	for _, name := range proxies {
		if p := popularityOf(studies, l, rate, a.Tau, func(b *Brand) float64 {
			if value, ok := b.Proxies[name]; ok {
				return float64(value)
			}
			return math.NaN()
		}); p != nil {
			a.Proxies = append(a.Proxies, fieldmark.Proxy{Name: name, Popularity: *p})
		}
	}
	return a
}

// columns returns the shares of points and the rates of the brands of a study.
func columns(s *Study, l *fieldmark.ValidityLine, rate func(*Brand) *fieldmark.Milli) (x, y []float64) {
	for k := range s.Brands {
		x = append(x, shareOf(&s.Brands[k].Assessment, l))
		y = append(y, number(rate(&s.Brands[k])))
	}
	return x, y
}

// popularityOf returns what remains of the association of a line with a rate, given how well known brands are; nil if
// that is known of too few.
func popularityOf(studies []Study, l *fieldmark.ValidityLine, rate func(*Brand) *fieldmark.Milli, tau fieldmark.Milli,
	known func(*Brand) float64) *fieldmark.Popularity {
	var low, high, byLine, byRate []series
	p := &fieldmark.Popularity{}
	for i := range studies {
		x, y := columns(&studies[i], l, rate)
		z := make([]float64, len(x))
		for k := range z {
			if z[k] = known(&studies[i].Brands[k]); !math.IsNaN(z[k]) && !math.IsNaN(x[k]) && !math.IsNaN(y[k]) {
				p.Brands++
			}
		}
		byLine, byRate = append(byLine, newSeries(x, z)), append(byRate, newSeries(z, y))
		below, above := halves(y, z)
		low, high = append(low, newSeries(x, below)), append(high, newSeries(x, above))
	}
	// A correction for popularity by a few brands would be noise.
	if p.Brands < fieldmark.MinValidityBrands {
		return nil
	}
	p.Low, p.High = pooledTau(low), pooledTau(high)
	xz, zy := pooledTau(byLine), pooledTau(byRate)
	if xz != nil && zy != nil {
		p.Line, p.Rate = xz, zy
		t, u, w := float64(tau)/1000, float64(*xz)/1000, float64(*zy)/1000
		// The partial correlation of Kendall (1942): what is left if popularity explains its part of both.
		if below := math.Sqrt((1 - u*u) * (1 - w*w)); below > 0 {
			p.Partial = new(thousandths((t - u*w) / below))
		}
	}
	return p
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

// halves divides the brands of a study at the median of how well known they are; a brand of the other half, or
// of which that is not known, has no value.
// It shows whether an association holds among brands that engines know equally well.
func halves(y, known []float64) (below, above []float64) {
	sorted := slices.DeleteFunc(slices.Clone(known), math.IsNaN)
	slices.Sort(sorted)
	below, above = make([]float64, len(y)), make([]float64, len(y))
	for i := range y {
		below[i], above[i] = math.NaN(), math.NaN()
		switch {
		case math.IsNaN(known[i]):
		case known[i] < sorted[len(sorted)/2]:
			below[i] = y[i]
		default:
			above[i] = y[i]
		}
	}
	return below, above
}
