package estimate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/estimate"
)

// counts makes the rate of numerators over denominators of 40 questions; answers is the
// number of answers to a question.
func counts(num, den, answers func(j int) int) estimate.Ratio {
	r := estimate.Ratio{Questions: 40, Days: 1}
	for j := range 40 {
		n := answers(j)
		r.Num = append(r.Num, share(num(j), n))
		r.Den = append(r.Den, share(den(j), n))
		r.Of += den(j)
	}
	return r
}

func share(k, n int) int64 { return int64(2*k*1_000_000+n) / int64(2*n) }

func five(int) int { return 5 }

// The vectors were computed with statsmodels 0.13 and R 4.2.
func vectorA(j int) int { return (7*j*j + 3*j) % 6 }
func vectorF(j int) int { return (5*j*j + j) % 6 }
func vectorG(j int) int { return min(5, 3*j%4) }
func vectorS(j int) int {
	if j%5 != 0 {
		return 0
	}
	return 5 - j/5%3
}
func cited(j int) int { return 3 + j%3 }
func cites(j int) int { return min(cited(j), (5*j+j/7)%4) }

func mentions(num func(int) int) estimate.Ratio { return counts(num, five, five) }

func TestEstimate(t *testing.T) {
	few := func(j int) int {
		if j%4 == 3 {
			return 4
		}
		return 5
	}
	weigh := func(r estimate.Ratio, weight int64) estimate.Ratio { r.Weight = weight; return r }
	voice := counts(vectorA, func(j int) int { return vectorA(j) + 3*j%7 }, five)
	for name, tt := range map[string]struct {
		rates                       []estimate.Ratio
		value, effective, low, high float64
		few                         bool
		se                          float64 // standard error; 0: not by the variance
	}{
		"A":    {[]estimate.Ratio{mentions(vectorA)}, 0.52, 66.8571, 0.398869, 0.638824, false, 0.061101},
		"S":    {[]estimate.Ratio{mentions(vectorS)}, 0.165, 40, 0.078822, 0.313348, true, 0},
		"none": {[]estimate.Ratio{mentions(func(int) int { return 0 })}, 0, 40, 0, 0.092791, true, 0},
		"all":  {[]estimate.Ratio{mentions(five)}, 1, 40, 0.907209, 1, true, 0},
		"D":    {[]estimate.Ratio{counts(cites, cited, five)}, 0.320755, 113.7405, 0.239780, 0.414176, false, 0.043767},
		"A of 4 or 5": {[]estimate.Ratio{counts(func(j int) int { return min(vectorA(j), few(j)) }, few, few)},
			0.55, 57.6269, 0.418554, 0.674817, false, 0.065535},
		"V": {[]estimate.Ratio{weigh(mentions(vectorA), 35), weigh(counts(cites, cited, five), 30), weigh(voice, 25)},
			0.437536, 238.0044, 0.374093, 0.503089, false, 0.032156},
		"two engines": {[]estimate.Ratio{mentions(vectorA), mentions(vectorF)}, 0.39,
			85.9880, 0.290928, 0.499064, false, 0.052599},
	} {
		got := estimate.Estimate(tt.rates...)
		se := math.Sqrt(tt.value * (1 - tt.value) * 1e6 / float64(got.Effective))
		if tt.se > 0 && math.Abs(se-tt.se) > 0.00001 {
			t.Errorf("%s: a standard error of %.6f, want %.6f", name, se, tt.se)
		}
		if !near(got.Value, tt.value) || !near(got.Low, tt.low) || !near(got.High, tt.high) || got.Few != tt.few ||
			math.Abs(float64(got.Effective)/1e6-tt.effective) > 0.001 || got.Questions != 40 || got.Days {
			t.Errorf("%s: %+v, want %v", name, got, tt)
		}
	}
}

func near(got fieldmark.Milli, want float64) bool { return math.Abs(float64(got)/1000-want) <= 0.001 }

func TestEstimateOverDays(t *testing.T) {
	r := estimate.Ratio{Questions: 40, Days: 7, Of: 280}
	for j := range 40 {
		for d := range 7 {
			y, day := int64(0), 0
			if d == 5 {
				day = 3
			}
			if (7*j*j+3*j)%6+(d*d+j)%5+day >= 5 {
				y = share(1, 7)
			}
			r.Num, r.Den = append(r.Num, y), append(r.Den, share(1, 7))
		}
	}
	got := estimate.Estimate(r)
	if !near(got.Value, 160.0/280) || math.Abs(float64(got.Effective)/1e6-48.0396) > 0.001 ||
		!near(got.Low, 0.427074) || !near(got.High, 0.704572) || !got.Days {
		t.Errorf("over days: %+v, want 48.0396 effective answers, 0.427 to 0.705", got)
	}
	questions, days, cells, both, degrees := estimate.Variances(r)
	for name, v := range map[string][2]float64{"questions": {questions, 0.00381999}, "days": {days, 0.00215561},
		"cells": {cells, 0.00087777}, "both levels": {both, 0.00509783}} {
		if math.Abs(v[0]-v[1]) > 1e-7 {
			t.Errorf("the variance over %s is %.8f, want %.8f", name, v[0], v[1])
		}
	}
	if degrees != 39 {
		t.Errorf("%d degrees of freedom, want 39", degrees)
	}
}

func TestQuantiles(t *testing.T) {
	for degrees, want := range map[int]float64{1: 12.706205, 5: 2.570582, 9: 2.262157, 19: 2.093024, 39: 2.022691,
		49: 2.009575, 99: 1.984217, 199: 1.971957, 999: 1.962341} {
		if got := float64(estimate.T975(degrees)) / 1e6; math.Abs(got-want) > 0.00001 {
			t.Errorf("t(0.975, %d) = %.6f, want %.6f", degrees, got, want)
		}
	}
}

// TestPaired compares with a paired t test in R.
func TestPaired(t *testing.T) {
	value, low, high := estimate.Paired(estimate.Values(mentions(vectorA)),
		estimate.Values(mentions(vectorG))).Interval95()
	for _, tt := range []struct {
		got  int64
		want float64
	}{{value, 0.22}, {low, 0.082738}, {high, 0.357262}} {
		if math.Abs(float64(tt.got)/1e6-tt.want) > 0.00001 {
			t.Errorf("A - G: got %d, want %v", tt.got, tt.want)
		}
	}
}

// TestHolm compares all pairs of four brands with R: each t, and the bounds that they must exceed one after
// the other. With 39 degrees of freedom the first three do.
func TestHolm(t *testing.T) {
	brand := map[byte]func(int) int{'A': vectorA, 'F': vectorF, 'G': vectorG, 'S': vectorS}
	for i, tt := range []struct {
		pair     string
		t, bound float64
	}{
		{"AF", 4.333333, 2.779568}, {"AS", 4.138459, 2.707913}, {"AG", 3.241916, 2.618864},
		{"GS", 2.040112, 2.501658}, {"FS", 1.201111, 0}, {"FG", -0.578588, 0},
	} {
		got := estimate.Paired(estimate.Values(mentions(brand[tt.pair[0]])),
			estimate.Values(mentions(brand[tt.pair[1]]))).T()
		if math.Abs(got-tt.t) > 0.00001 {
			t.Errorf("t of %s: %.6f, want %.6f", tt.pair, got, tt.t)
		}
		bound := float64(estimate.HolmBound(6-i, 39)) / 1e6
		if tt.bound > 0 && math.Abs(bound-tt.bound) > 0.00001 {
			t.Errorf("bound of %s with %d tests: %.6f, want %.6f", tt.pair, 6-i, bound, tt.bound)
		}
	}
	if got := float64(estimate.HolmBound(1, 39)) / 1e6; math.Abs(got-2.022691) > 0.00001 {
		t.Errorf("the last bound is %.6f, want that of one test", got)
	}
}

func TestRank(t *testing.T) {
	constant := func(n int) func(int) int { return func(int) int { return n } }
	for name, tt := range map[string]struct {
		brands []func(int) int
		want   string // brand low-high group
	}{
		"A F G S": {[]func(int) int{vectorA, vectorF, vectorG, vectorS},
			"0 1-1 g1, 2 2-4 g2, 1 2-4 g2, 3 2-4 g2"},
		"another order": {[]func(int) int{vectorS, vectorG, vectorA, vectorF},
			"2 1-1 g1, 1 2-4 g2, 3 2-4 g2, 0 2-4 g2"},
		"one":                {[]func(int) int{vectorA}, "0 1-1 g1"},
		"equal":              {[]func(int) int{vectorA, vectorA}, "0 1-2 g1, 1 1-2 g1"},
		"without variance":   {[]func(int) int{constant(0), constant(5)}, "1 1-2 g1, 0 1-2 g1"},
		"flat beside others": {[]func(int) int{constant(0), vectorA, constant(5)}, "2 1-2 g1, 1 2-2 g2, 0 2-3 g3"},
	} {
		var brands [][]int64
		for _, num := range tt.brands {
			brands = append(brands, estimate.Values(mentions(num)))
		}
		var got []string
		for _, p := range estimate.Rank(brands) {
			got = append(got, fmt.Sprintf("%d %d-%d g%d", p.Brand, p.Low, p.High, p.Group))
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%s: got %s, want %s", name, s, tt.want)
		}
	}
}

func TestQuestionsFor(t *testing.T) {
	pilot := estimate.Values(mentions(vectorA))
	m := estimate.QuestionsFor(pilot, 30_000)
	if best := estimate.HalfWidthOf(pilot, m); best > 30_000 || estimate.HalfWidthOf(pilot, m-1) <= 30_000 {
		t.Errorf("%d questions give ±%d millionths, want the least number with at most 30000", m, best)
	}
	flat := make([]int64, 30)
	if got := estimate.QuestionsFor(flat, 30_000); got != 93 { // 2.045230² * 0.02 / 0.03²
		t.Errorf("a pilot without variance wants %d questions, want 93", got)
	}
}
