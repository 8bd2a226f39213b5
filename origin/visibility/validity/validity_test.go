package validity_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/validity"
)

// TestTau compares with scipy 1.10 and all permutations.
func TestTau(t *testing.T) {
	x := [][]float64{{4, 2, 0, 4, 3, 1}, {2, 2, 4, 0, 1, 3}}
	y := [][]float64{{310, 120, 90, 280, 305, 60}, {40, 55, 70, 40, 10, 65}}
	random := rand.New(rand.NewChaCha8([32]byte{1}))
	for i, want := range []float64{0.690066, 0.785714} {
		if got, _, _, _, _ := validity.Tau(x[i:i+1], y[i:i+1], random); math.Abs(got-want) > 1e-6 {
			t.Errorf("niche %d: tau %f, want %f", i, got, want)
		}
	}
	tau, s, differX, differY, p := validity.Tau(x, y, random)
	if math.Abs(tau-0.736956) > 1e-6 || s != 21 || differX != 28 || differY != 29 {
		t.Errorf("pooled: tau %f, S %d, T %d and %d, want 0.736956, 21, 28 and 29", tau, s, differX, differY)
	}
	if exact := 1968.0 / 518400; math.Abs(p-exact) > 0.0025 { // four standard errors
		t.Errorf("p %f, want about %f", p, exact)
	}
}

// studies has brands whose citations follow their score with some noise; mentions follow nothing.
func studies(random *rand.Rand, sizes ...int) (all []validity.Study) {
	for i, n := range sizes {
		s := validity.Study{Ref: fieldmark.StudyRef{ID: fmt.Sprint("study-", i), Niche: fmt.Sprint("niche-", i),
			Digest: fieldmark.DigestOf([32]byte{byte(i)})}, Questions: 40, Engines: []string{"one"}}
		for b := range n {
			score := fieldmark.Milli(random.IntN(100_001))
			cited := fieldmark.Milli(int(score)/200 + random.IntN(300))
			named, memory := fieldmark.Milli(random.IntN(1001)), fieldmark.Milli(random.IntN(1001))
			s.Brands = append(s.Brands, validity.Brand{Slug: fieldmark.Slug(fmt.Sprint("brand-", b)), Citation: &cited,
				Mention: &named, Memory: &memory, Assessment: fieldmark.Assessment{Score: &score,
					Components: []fieldmark.Component{{ID: "access", Signals: []fieldmark.Signal{
						{ID: "access.https", Max: 2, Points: 2000, Status: fieldmark.Measured},
						{ID: "access.speed", Max: 4, Points: score / 25, Status: fieldmark.Measured}}}}}})
		}
		all = append(all, s)
	}
	return all
}

// TestCompute: what follows the score is found, what does not is not, and the order of the input does not matter.
func TestCompute(t *testing.T) {
	random := rand.New(rand.NewChaCha8([32]byte{2}))
	in := studies(random, 20, 25, 15)
	v := validity.Compute(in, fieldmark.ModuleRef{})
	if v.Brands != 60 || v.Tested != 2 || v.ByChance != 100 || len(v.Lines) != 4 || v.Questions != 120 {
		t.Fatalf("%+v", v)
	}
	score := v.Lines[0]
	if c := score.Citation; score.ID != "score" || c.Low < 300 || c.Tau < c.Low || c.Tau > c.High || c.P > 1 ||
		c.Brands != 60 || c.Popularity == nil || c.Popularity.Partial == nil {
		t.Errorf("citations: %+v", c)
	}
	if m := score.Mention; m.Low > 0 || m.High < 0 {
		t.Errorf("mentions: %+v, want an interval with 0", m)
	}
	if same := v.Lines[2]; same.ID != "access.https" || same.Citation != nil {
		t.Errorf("a signal that all brands pass: %+v", same)
	}
	if found := v.Lines[3].Citation; !found.Distinct {
		t.Errorf("a signal that follows the score: %+v", found)
	}
	if score.Citation.Proxies != nil {
		t.Errorf("proxy variables that nobody imported: %+v", score.Citation.Proxies)
	}
	proxied := studies(rand.New(rand.NewChaCha8([32]byte{2})), 20, 25, 15)
	for i := range proxied {
		for k := range proxied[i].Brands {
			b := &proxied[i].Brands[k]
			// Links are as the memory rate, by which the same numbers come out; few brands have views.
			b.Proxies = map[string]int64{"links": int64(*b.Memory)}
			if k < 5 {
				b.Proxies["views"] = int64(k)
			}
		}
	}
	p := validity.Compute(proxied, fieldmark.ModuleRef{})
	if c := p.Lines[0].Citation; p.Digest == v.Digest || len(c.Proxies) != 1 || c.Proxies[0].Name != "links" ||
		!reflect.DeepEqual(c.Proxies[0].Popularity, *c.Popularity) {
		t.Errorf("by links: %+v, want the numbers of the memory rate under another digest", c.Proxies)
	}
	slices.Reverse(in)
	slices.Reverse(in[0].Brands)
	if again := validity.Compute(in, fieldmark.ModuleRef{}); !reflect.DeepEqual(again, v) {
		t.Errorf("in another order: %+v, want %+v", again, v)
	}
	in[0].Brands[0].Assessment.FactsDigest = "sha256:other"
	if other := validity.Compute(in, fieldmark.ModuleRef{}); other.Digest == v.Digest {
		t.Error("other facts have the same digest")
	}
	if few := validity.Compute(studies(random, 29), fieldmark.ModuleRef{}); few.Brands != 29 || len(few.Lines) != 0 {
		t.Errorf("29 brands have lines: %+v", few)
	}
	many := validity.Compute(studies(random, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5), fieldmark.ModuleRef{})
	if c := many.Lines[0].Citation; c.Low > c.Tau || c.High < c.Tau || c.Low == c.High {
		t.Errorf("whole studies: %+v", c)
	}
}

// BenchmarkCompute computes the document of 1,000 brands in ten studies.
func BenchmarkCompute(b *testing.B) {
	in := studies(rand.New(rand.NewPCG(1, 2)), 100, 100, 100, 100, 100, 100, 100, 100, 100, 100)
	for b.Loop() {
		validity.Compute(in, fieldmark.ModuleRef{})
	}
}
