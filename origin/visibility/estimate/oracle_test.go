package estimate_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/origin/visibility/estimate"
)

// oracle is the input of the script of R, and what is compared with its output.
type oracle struct {
	table strings.Builder
	check []func(t *testing.T, got []float64)
}

func (o *oracle) add(what string, check func(t *testing.T, got []float64), rates ...estimate.Ratio) {
	for rate, r := range rates {
		for i := range r.Num {
			fmt.Fprintf(&o.table, "%s,%d,%d,%d,%d,q%d,d%d,%d,%d\n", what, len(o.check), rate, max(r.Weight, 1), r.Of,
				i/r.Days, i%r.Days, r.Num[i], r.Den[i])
		}
	}
	o.check = append(o.check, check)
}

// interval adds an estimate: both ends and the effective number of answers must be those of R.
func (o *oracle) interval(name string, rates ...estimate.Ratio) {
	v := estimate.Estimate(rates...)
	o.add("estimate", func(t *testing.T, got []float64) {
		effective := float64(v.Effective) / 1e6
		if !near(v.Value, got[0]) || !near(v.Low, got[1]) || !near(v.High, got[2]) ||
			math.Abs(effective-got[3]) > 0.001*max(1, got[3]/100) { // shares are rounded to millionths
			t.Errorf("%s: %+v, R says %.6f, %.6f to %.6f of %.4f answers", name, v, got[0], got[1], got[2], got[3])
		}
	}, rates...)
}

// compared adds a paired comparison.
func (o *oracle) compared(name string, a, b estimate.Ratio) {
	d := estimate.Paired(estimate.Values(a), estimate.Values(b))
	value, low, high := d.Interval95()
	o.add("compare", func(t *testing.T, got []float64) {
		for i, v := range []float64{float64(value) / 1e6, float64(low) / 1e6, float64(high) / 1e6, d.T()} {
			want := got[i]
			if i < 3 {
				want /= 1e6 // R compares millionths
			}
			if math.Abs(v-want) > 0.00001*max(1, math.Abs(want)) {
				t.Errorf("%s: number %d is %.6f, R says %.6f", name, i, v, want)
			}
		}
	}, a, b)
}

// ranked adds the ranks of brands.
func (o *oracle) ranked(name string, brands ...estimate.Ratio) {
	var values [][]int64
	for _, r := range brands {
		values = append(values, estimate.Values(r))
	}
	places := estimate.Rank(values)
	o.add("ranks", func(t *testing.T, got []float64) {
		for _, p := range places {
			if low, high := int(got[p.Brand]), int(got[len(places)+p.Brand]); p.Low != low || p.High != high {
				t.Errorf("%s: brand %d has the ranks %d to %d, R says %d to %d", name, p.Brand, p.Low, p.High, low,
					high)
			}
		}
	}, brands...)
}

// TestR compares intervals, comparisons and ranks with those that R computes by its own functions.
func TestR(t *testing.T) {
	rscript, err := exec.LookPath("Rscript")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("r-base-core is not installed")
		}
		t.Skip("r-base-core is not installed")
	}
	var o oracle
	o.interval("A", mentions(vectorA))
	o.interval("none", mentions(func(int) int { return 0 }))
	o.interval("all", mentions(five))
	o.interval("citations", counts(cites, cited, five))
	o.interval("two engines", mentions(vectorA), mentions(vectorF))
	o.compared("A - G", mentions(vectorA), mentions(vectorG))
	o.ranked("A F G S", mentions(vectorA), mentions(vectorF), mentions(vectorG), mentions(vectorS))
	r := random(11)
	for i := range 150 {
		questions, runs, days := 2+r.IntN(120), 1+r.IntN(6), []int{1, 1, 4, 5, 7, 14}[r.IntN(6)]
		rate, rho := r.Float64(), r.Float64()
		one := r.study(questions, runs, days, rate, rho, r.Float64())
		name := fmt.Sprintf("study %d: %d x %d x %d, %.3f, %.3f", i, questions, runs, days, rate, rho)
		o.interval(name, one)
		two := r.study(questions, runs, days, rate, rho, r.Float64())
		one.Weight, two.Weight = 35, 30
		o.interval(name+", weighted", one, two)
	}
	for i := range 40 {
		questions := 12 + r.IntN(90)
		var brands []estimate.Ratio
		for range 3 + r.IntN(9) {
			brands = append(brands, r.study(questions, 5, 1, 0.1+0.8*r.Float64(), 0.5*r.Float64(), 0))
		}
		o.ranked(fmt.Sprintf("ranking %d", i), brands...)
		o.compared(fmt.Sprintf("comparison %d", i), brands[0], brands[1])
	}
	o.run(t, rscript)
}

func (o *oracle) run(t *testing.T, rscript string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, rscript, "--vanilla", "testdata/oracle.R")
	cmd.Stdin = strings.NewReader("what,case,rate,weight,of,question,day,num,den\n" + o.table.String())
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("R: %v: %s", err, said.String())
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		number, err := strconv.Atoi(fields[0])
		if err != nil {
			t.Fatalf("R printed %q", line)
		}
		var got []float64
		for _, field := range fields[1:] {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatalf("R printed %q", line)
			}
			got = append(got, v)
		}
		o.check[number](t, got)
		seen++
	}
	if seen != len(o.check) {
		t.Errorf("R computed %d of %d cases", seen, len(o.check))
	}
}
