package scoring_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// eligibleFacts returns the facts of a site that every engine can use.
func eligibleFacts() *fieldmark.Facts {
	facts := &fieldmark.Facts{Pages: 10, AsOf: fieldmark.At(audited)}
	for _, id := range []string{"crawler.bingbot", "crawler.claude-searchbot", "crawler.googlebot",
		"crawler.oai-searchbot", "crawler.perplexitybot", "home.indexable", "home.reachable"} {
		facts.Facts = append(facts.Facts, fieldmark.Fact{ID: id, State: fieldmark.Measured, Value: 1000})
	}
	facts.Facts = append(facts.Facts, fieldmark.Fact{ID: "home.words", State: fieldmark.Measured, Value: 300_000},
		fieldmark.Fact{ID: "page.snippet_eligible", State: fieldmark.Measured, Value: 1000})
	slices.SortFunc(facts.Facts, func(a, b fieldmark.Fact) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return facts
}

// TestWeightError compares the closed form with 20,000 random sets of weights: about nine
// of ten scores must be within the stated distance.
func TestWeightError(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var signals []fieldmark.Signal
		var marks []float64
		for left := 100; left > 0; {
			points := min(left, 1+random.IntN(12))
			left -= points
			mark := []int64{0, 1000, random.Int64N(1001)}[random.IntN(3)]
			marks = append(marks, float64(mark)/1000)
			signals = append(signals, signal(points, fieldmark.Milli(int64(points)*mark), fieldmark.Measured))
		}
		a := assess(10, 0, nil, signals...)
		stated := a.Uncertainty.Weights.Float()
		const draws = 20_000
		within := 0
		for range draws {
			var points, weight float64
			for i, s := range signals {
				w := float64(s.Max) * math.Exp((2*random.Float64()-1)*math.Log(3)/2)
				points += w * marks[i]
				weight += w
			}
			if math.Abs(100*points/weight-a.Score.Float()) <= stated {
				within++
			}
		}
		if share := float64(within) / draws; share < 0.86 || share > 0.94 {
			t.Errorf("score %v ±%v contains %.3f of the scores with other weights, want 0.9", a.Score, stated, share)
		}
	}
}

func TestSamplingError(t *testing.T) {
	drawn := func(n int) *fieldmark.Facts {
		facts := eligibleFacts()
		facts.Sample = &fieldmark.Sample{Seed: "5eed", Population: 400}
		facts.Replicates = &fieldmark.Replicates{Drawn: n}
		return facts
	}
	complete := drawn(5)
	complete.Sample = &fieldmark.Sample{Population: complete.Pages + 1} // one of them responded 404
	tests := []struct {
		name       string
		facts      *fieldmark.Facts
		replicates []fieldmark.Milli
		want       string // empty: not estimated
	}{
		{"no draw is recorded", eligibleFacts(), nil, ""},
		{"too few pages", drawn(1), []fieldmark.Milli{80_000, 90_000}, ""},
		{"all pages were read", complete, []fieldmark.Milli{80_000, 90_000}, "0"},
		{"replicates agree", drawn(9), []fieldmark.Milli{85_000, 85_000, 85_000}, "0"},
		// Standard deviation 1, times the root of 9/8, times 3.261 for 8 degrees of freedom.
		{"standard deviation of 1", drawn(9), []fieldmark.Milli{84_000, 85_000, 86_000}, "3.5"},
		{"and two pages", drawn(2), []fieldmark.Milli{84_000, 85_000, 86_000}, "25.4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := scoring.Assess([]fieldmark.Component{{ID: "c", Weight: 100,
				Signals: []fieldmark.Signal{signal(100, 85_000, fieldmark.Measured)}}}, nil, tt.facts, tt.replicates,
				audited)
			got := ""
			if a.Uncertainty.Sampling != nil {
				got = a.Uncertainty.Sampling.String()
			}
			if got != tt.want {
				t.Errorf("sampling error %q, want %q", got, tt.want)
			}
			if a.Uncertainty.Sampling != nil && a.Range.Low != max(0, 85_000-*a.Uncertainty.Sampling) {
				t.Errorf("range from %s, want the sampling error of %s below the score", a.Range.Low, got)
			}
		})
	}
}

func TestEligibility(t *testing.T) {
	with := func(id string, state fieldmark.FactState, value int64) *fieldmark.Facts {
		facts := eligibleFacts()
		for i := range facts.Facts {
			if facts.Facts[i].ID == id {
				facts.Facts[i].State, facts.Facts[i].Value = state, value
			}
		}
		return facts
	}
	blocked := eligibleFacts()
	for i := range blocked.Facts[:5] {
		blocked.Facts[i].Value = 0
	}
	tests := []struct {
		name  string
		facts *fieldmark.Facts
		check int
		state fieldmark.EligibilityState
	}{
		{"all conditions met", eligibleFacts(), 0, fieldmark.Eligible},
		{"no response", with("home.reachable", fieldmark.Measured, 0), 0, fieldmark.NotEligible},
		{"one crawler is blocked", with("crawler.perplexitybot", fieldmark.Measured, 0), 0, fieldmark.PartlyEligible},
		{"a few paths are blocked", with("crawler.googlebot", fieldmark.Measured, 900), 0, fieldmark.Eligible},
		{"all crawlers are blocked", blocked, 0, fieldmark.NotEligible},
		{"robots.txt not read", with("crawler.googlebot", fieldmark.Unknown, 0), 0, fieldmark.EligibilityUnknown},
		{"noindex", with("home.indexable", fieldmark.Measured, 0), 1, fieldmark.NotEligible},
		{"noindex on most pages", with("page.snippet_eligible", fieldmark.Measured, 400), 1, fieldmark.PartlyEligible},
		{"home page not parsed", with("home.indexable", fieldmark.Unknown, 0), 1, fieldmark.EligibilityUnknown},
		{"an app shell", with("home.words", fieldmark.Measured, 49_000), 2, fieldmark.NotEligible},
		{"text not parsed", with("home.words", fieldmark.Unknown, 0), 2, fieldmark.EligibilityUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := scoring.Eligibility(tt.facts)
			if e.State != tt.state || e.Checks[tt.check].State != tt.state || e.Checks[tt.check].Reason == "" {
				t.Errorf("%s by %+v, want %s", e.State, e.Checks[tt.check], tt.state)
			}
		})
	}
}
