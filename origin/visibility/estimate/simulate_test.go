package estimate_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/visibility/estimate"
)

var studies = flag.Int("studies", 200, "simulated studies for each cell of the tables of coverage")

// tolerance is the allowed distance from a table in points: 1.5 with 2,000 studies.
func tolerance() float64 { return 1.5 * math.Sqrt(2000/float64(*studies)) }

// correlations within a question of the columns of coverage; the last column has
// questions whose answers nearly always or nearly never name the brand.
var correlations = []float64{0, 0.1, 0.3, 0.5, 0.7, twoPoints}

const twoPoints = -1

// coverage has the share of 40,000 simulated studies whose interval held the true rate; rows without it have
// only the bounds of goal, and are simulated with 2,000 studies.
var coverage = []struct {
	questions, runs, days int
	rate                  float64
	want                  []float64 // in the order of correlations
}{
	{20, 5, 1, 0.05, []float64{100, 99.9, 99.5, 98.8, 98.0, 97.9}},
	{20, 5, 1, 0.30, []float64{97.2, 96.5, 97.5, 97.8, 97.6, 97.5}},
	{40, 5, 1, 0.10, []float64{97.6, 97.3, 97.5, 97.6, 97.8, 97.6}},
	{40, 5, 1, 0.30, []float64{96.8, 95.2, 95.2, 95.4, 95.9, 96.5}},
	{50, 7, 1, 0.02, []float64{98.1, 99.5, 99.3, 98.1, 97.2, 98.3}},
	{50, 7, 1, 0.10, []float64{96.4, 95.0, 96.5, 97.3, 97.0, 96.9}},
	{50, 7, 1, 0.30, []float64{96.3, 95.1, 95.0, 95.2, 95.5, 95.8}},
	{50, 7, 1, 0.80, []float64{96.5, 95.1, 95.1, 95.2, 96.4, 94.3}},
	{100, 5, 1, 0.30, []float64{96.0, 95.2, 94.9, 95.3, 95.3, 95.2}},
	{200, 5, 1, 0.05, []float64{95.3, 94.9, 94.7, 94.9, 96.2, 95.6}},
	{40, 5, 1, 0.50, nil}, {40, 5, 1, 0.80, nil}, {50, 7, 1, 0.50, nil}, {50, 7, 1, 0.70, nil}, {100, 5, 1, 0.60, nil},
	{20, 5, 1, 0.90, nil}, {100, 5, 1, 0.10, nil},
	{40, 1, 5, 0.30, nil}, {40, 1, 5, 0.50, nil}, {40, 1, 5, 0.80, nil}, {50, 1, 7, 0.30, nil}, {50, 1, 7, 0.50, nil},
	{50, 1, 7, 0.80, nil}, {100, 1, 5, 0.30, nil}, {50, 1, 7, 0.02, nil}, {50, 1, 7, 0.10, nil}, {20, 1, 5, 0.30, nil},
}

// goal returns the least and the most that intervals may cover, in percent: from 40 questions on, at rates of
// 0.3 to 0.8, they are neither too narrow nor too wide; elsewhere they may be wide, and say so. Intervals that
// cover other days are a little wider where answers hardly correlate, because a variance of days that is
// estimated below 0 counts as 0.
func goal(questions, days int, rate, rho float64) (least, most float64) {
	switch {
	case questions < 40 || rate < 0.3 || rate > 0.8:
		return 94, 100
	case days >= estimate.MinDays && rho == 0:
		return 94, 98.5
	case days >= estimate.MinDays:
		return 94, 97.5
	}
	return 94, 97
}

// TestCoverage simulates studies of known truth: intervals must hold it as often as the
// table says. With 2,000 studies it prints the table of RATIONALE.md, which must be the same.
func TestCoverage(t *testing.T) {
	r := random(1)
	published, err := os.ReadFile("../RATIONALE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range coverage {
		if tt.want == nil && *studies < 2000 {
			continue
		}
		line := fmt.Sprintf("| %d x %d | %.2f |", tt.questions, tt.runs, tt.rate)
		if tt.days > 1 {
			line = fmt.Sprintf("| %d x %d days | %.2f |", tt.questions, tt.days, tt.rate)
		}
		for i, rho := range correlations {
			held := 0
			for range *studies {
				v := estimate.Estimate(r.study(tt.questions, tt.runs, tt.days, tt.rate, rho, 0))
				if holds(v, tt.rate) {
					held++
				}
			}
			got := 100 * float64(held) / float64(*studies)
			line += fmt.Sprintf(" %.1f |", got)
			if tt.want != nil && math.Abs(got-tt.want[i]) > tolerance() {
				t.Errorf("%s correlation %v: covers %.1f %%, want %.1f", line, rho, got, tt.want[i])
			}
			least, most := goal(tt.questions, tt.days, tt.rate, rho)
			if *studies < 2000 { // these numbers are too few for the bounds
				least, most = least-tolerance(), most+tolerance()
			}
			if got < least || got > most {
				t.Errorf("%s correlation %v: covers %.1f %%, want %.1f to %.1f", line, rho, got, least, most)
			}
		}
		t.Log(line)
		// The last digit may differ where the processor fuses multiplication and addition.
		if *studies == 2000 && runtime.GOARCH == "amd64" && !strings.Contains(string(published), line) {
			t.Errorf("RATIONALE.md has no line %s", line)
		}
	}
}

// TestCoverageOverDays simulates days on which all questions do better or worse.
func TestCoverageOverDays(t *testing.T) {
	r := random(2)
	for _, tt := range []struct {
		days int
		want []float64 // at a standard deviation of the day of 0, 0.5 and 1 in logits
	}{{5, []float64{95.6, 94.1, 91.3}}, {7, []float64{95.5, 93.1, 94.2}}, {14, []float64{96.0, 94.4, 95.8}}} {
		for i, want := range tt.want {
			held, deviation := 0, float64(i)/2
			truth := meanOfDays(0.3, deviation)
			for range *studies {
				if holds(estimate.Estimate(r.study(50, 1, tt.days, 0.3, 0.3, deviation)), truth) {
					held++
				}
			}
			got := 100 * float64(held) / float64(*studies)
			t.Logf("%2d days, deviation %.1f: %.1f", tt.days, deviation, got)
			if got < want-2*tolerance() {
				t.Errorf("%d days, deviation %.1f: covers %.1f %%, want about %.1f", tt.days, deviation, got, want)
			}
		}
	}
}

// TestFalseDifferences simulates brands of equal rates: any difference that a ranking claims
// is false.
func TestFalseDifferences(t *testing.T) {
	r := random(3)
	for _, rho := range []float64{0, 0.3, 0.7} {
		wrong := 0
		for range *studies {
			var brands [][]int64
			for range 20 {
				brands = append(brands, estimate.Values(r.study(50, 7, 1, 0.3, rho, 0)))
			}
			if places := estimate.Rank(brands); places[len(places)-1].Low > 1 || places[0].High < len(places) {
				wrong++
			}
		}
		got := 100 * float64(wrong) / float64(*studies)
		t.Logf("correlation %.1f: %.1f %% of rankings of 20 equal brands claim a difference", rho, got)
		if limit := falseLimit(); got > limit {
			t.Errorf("correlation %.1f: %.1f %% false differences, want at most %.1f", rho, got, limit)
		}
	}
}

// falseLimit is the most leaderboards that may claim a false difference, in percent.
func falseLimit() float64 {
	if *studies >= 2000 {
		return 5
	}
	return 5 + tolerance()
}

// TestRanksHoldTheTruth simulates brands of which some are equal and others are not: all ranges of ranks must
// hold all ranks that the true rates allow.
func TestRanksHoldTheTruth(t *testing.T) {
	r := random(10)
	truth := make([]float64, 20)
	for b := range truth {
		truth[b] = 0.15 + 0.1*float64(b/4) // five rates of four brands each
	}
	for _, rho := range []float64{0, 0.3, 0.7} {
		wrong, groups := 0, 0
		for range *studies {
			var brands [][]int64
			for _, rate := range truth {
				brands = append(brands, estimate.Values(r.study(50, 7, 1, rate, rho, 0)))
			}
			places := estimate.Rank(brands)
			groups += places[len(places)-1].Group
			for _, p := range places {
				better, worse := 0, 0
				for _, rate := range truth {
					if rate > truth[p.Brand] {
						better++
					} else if rate < truth[p.Brand] {
						worse++
					}
				}
				if p.Low > 1+better || p.High < len(truth)-worse {
					wrong++
					break
				}
			}
		}
		got := 100 * float64(wrong) / float64(*studies)
		t.Logf("correlation %.1f: %.1f %% of rankings of 20 brands with 5 rates exclude a true rank, %.1f groups", rho,
			got, float64(groups)/float64(*studies))
		if limit := falseLimit(); got > limit {
			t.Errorf("correlation %.1f: %.1f %% false ranks, want at most %.1f", rho, got, limit)
		}
	}
}

// TestFalseAlarms simulates two studies in which nothing changed, and ones in which all
// brands did.
func TestFalseAlarms(t *testing.T) {
	r := random(4)
	alarms, blamed := 0, 0
	n := 10 * *studies
	for range n {
		rates := r.rates(50, 0.3, 0.3)
		now, then := estimate.Values(r.answers(rates, 7)), estimate.Values(r.answers(rates, 7))
		if _, ok := estimate.Compare(now, then, now, now, false); ok {
			alarms++
		}
		moved := r.shifted(rates, 0.8)
		others, othersThen := make([]int64, 50), make([]int64, 50)
		for range 9 {
			rates := r.rates(50, 0.3, 0.3)
			add(others, estimate.Values(r.answers(r.shifted(rates, 0.8), 7)))
			add(othersThen, estimate.Values(r.answers(rates, 7)))
		}
		c, ok := estimate.Compare(estimate.Values(r.answers(moved, 7)), then, others, othersThen, false)
		if ok && c.Cause == estimate.CauseBrand {
			blamed++
		}
	}
	t.Logf("of %d: %d false alarms, %d changes of all brands attributed to one", n, alarms, blamed)
	if alarms > n/500+2 || blamed > n/200+2 {
		t.Errorf("%d false alarms, %d wrong causes, want at most %d and %d", alarms, blamed, n/500+2, n/200+2)
	}
}

func add(sum, values []int64) {
	for i, v := range values {
		sum[i] += v / 9
	}
}

func holds(v estimate.Interval, truth float64) bool {
	low, high := float64(v.Low)/1000, float64(v.High)/1000
	return low-0.0005 <= truth && truth <= high+0.0005 // ends are rounded to thousandths
}

type generator struct{ *rand.Rand }

func random(seed byte) generator {
	return generator{rand.New(rand.NewChaCha8([32]byte{seed}))}
}

// rates draws a rate for each question with a mean and a correlation within questions.
func (r generator) rates(questions int, mean, rho float64) []float64 {
	rates := make([]float64, questions)
	for j := range rates {
		switch {
		case rho == 0:
			rates[j] = mean
		case rho == twoPoints:
			rates[j] = 0.01
			if r.Float64() < (mean-0.01)/0.89 {
				rates[j] = 0.9
			}
		default:
			size := 1/rho - 1
			a, b := r.gamma(mean*size), r.gamma((1-mean)*size)
			rates[j] = a / (a + b)
		}
	}
	return rates
}

func (r generator) shifted(rates []float64, by float64) []float64 {
	moved := make([]float64, len(rates))
	for j, p := range rates {
		moved[j] = shift(p, by)
	}
	return moved
}

func shift(p, logits float64) float64 {
	if p <= 0 || p >= 1 || logits == 0 {
		return p
	}
	return 1 / (1 + (1-p)/p*math.Exp(-logits))
}

// answers draws runs answers to each question.
func (r generator) answers(rates []float64, runs int) estimate.Ratio {
	ratio := estimate.Ratio{Questions: len(rates), Days: 1, Of: len(rates) * runs}
	for _, p := range rates {
		ratio.Num = append(ratio.Num, share(r.binomial(runs, p), runs))
		ratio.Den = append(ratio.Den, 1_000_000)
	}
	return ratio
}

func (r generator) study(questions, runs, days int, rate, rho, deviation float64) estimate.Ratio {
	rates := r.rates(questions, rate, rho)
	ratio := estimate.Ratio{Questions: questions, Days: days, Of: questions * runs * days}
	shifts := make([]float64, days)
	for d := range shifts {
		shifts[d] = deviation * r.NormFloat64()
	}
	for _, p := range rates {
		for d := range days {
			ratio.Num = append(ratio.Num, share(r.binomial(runs, shift(p, shifts[d])), runs*days))
			ratio.Den = append(ratio.Den, share(runs, runs*days))
		}
	}
	return ratio
}

func (r generator) binomial(n int, p float64) (k int) {
	for range n {
		if r.Float64() < p {
			k++
		}
	}
	return k
}

// gamma draws from a gamma distribution (Marsaglia and Tsang, 2000).
func (r generator) gamma(shape float64) float64 {
	if shape < 1 {
		return r.gamma(shape+1) * math.Pow(r.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	for {
		x := r.NormFloat64()
		v := math.Pow(1+x/math.Sqrt(9*d), 3)
		if v > 0 && math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// meanOfDays is the mean rate over days and questions, by drawing many.
func meanOfDays(rate, deviation float64) float64 {
	if deviation == 0 {
		return rate
	}
	r := random(9)
	sum := 0.0
	const n = 200_000
	for _, p := range r.rates(n, rate, 0.3) {
		sum += shift(p, deviation*r.NormFloat64())
	}
	return sum / n
}

// TestOrder shuffles questions: results must be the same.
func TestOrder(t *testing.T) {
	r := random(5)
	for range 50 {
		ratio := r.study(30, 2, 7, 0.3, 0.5, 0.5)
		other := estimate.Ratio{Questions: 30, Days: 7, Of: ratio.Of}
		for _, j := range r.Perm(30) {
			other.Num = append(other.Num, ratio.Num[j*7:][:7]...)
			other.Den = append(other.Den, ratio.Den[j*7:][:7]...)
		}
		if a, b := estimate.Estimate(ratio), estimate.Estimate(other); a != b {
			t.Fatalf("in another order: %+v, want %+v", b, a)
		}
	}
}

// TestFloatingPoint compares with the same formula in floating point.
func TestFloatingPoint(t *testing.T) {
	r := random(6)
	for range 50 * *studies {
		questions := 2 + r.IntN(60)
		ratio := r.study(questions, 1+r.IntN(9), 1, r.Float64(), r.Float64(), 0)
		got := estimate.Estimate(ratio)
		low, high := floating(ratio, got)
		if math.Abs(low-float64(got.Low)/1000) > 0.001 || math.Abs(high-float64(got.High)/1000) > 0.001 {
			t.Fatalf("%v: %+v, want %.4f to %.4f", ratio, got, low, high)
		}
	}
}

func floating(r estimate.Ratio, v estimate.Interval) (low, high float64) {
	m := float64(r.Questions)
	var a, b, squares float64
	for j := range r.Num {
		a, b = a+float64(r.Num[j]), b+float64(r.Den[j])
	}
	for j := range r.Num {
		e := (float64(r.Num[j])*b - a*float64(r.Den[j])) / b / b
		squares += e * e
	}
	p := a / b
	n := float64(r.Of)
	if squares > 0 {
		n = min(max(p*(1-p)*(m-1)/m/squares, m-1), n)
	}
	if a == 0 || a == b {
		n = m
	}
	if v.Few {
		n = min(n, m)
	}
	c := float64(estimate.T975(r.Questions-1)) / 1e6
	half := c * math.Sqrt(p*(1-p)*n+c*c/4)
	return max((p*n+c*c/2-half)/(n+c*c), 0), min((p*n+c*c/2+half)/(n+c*c), 1)
}

func BenchmarkEstimate(b *testing.B) {
	ratio := random(7).study(50, 1, 7, 0.3, 0.3, 0)
	for b.Loop() {
		estimate.Estimate(ratio)
	}
}

func BenchmarkRank(b *testing.B) {
	r := random(8)
	var brands [][]int64
	for range 100 {
		brands = append(brands, estimate.Values(r.study(50, 7, 1, 0.3, 0.3, 0)))
	}
	for b.Loop() {
		estimate.Rank(brands)
	}
}
