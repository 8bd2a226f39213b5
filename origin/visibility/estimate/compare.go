package estimate

import (
	"cmp"
	"math/big"
	"slices"
)

// Values returns the value of each question in the mean of rates, in billionths: for a
// rate that counts every answer this is its numerator over its denominator, for another
// one its linear approximation. Only the values of brands of one study can be compared.
func Values(rates ...Ratio) []int64 {
	s := newSum(rates)
	values := make([]int64, len(s.byQuestion))
	for i, u := range s.byQuestion {
		values[i] = (s.value + u/s.weight*int64(s.questions)) / (unit / billion)
	}
	return values
}

const billion = 1_000_000_000

// Difference is a paired comparison of two series of values of the same questions.
type Difference struct {
	questions int64
	sum       *big.Int // of the differences
	spread    *big.Int // questions * sum of squares - sum²
	flat      bool     // neither series varies
}

// Paired compares the values a - b of each question. It panics unless both have the same
// number of questions.
func Paired(a, b []int64) Difference {
	var squares wide
	d := Difference{questions: int64(len(a)), sum: new(big.Int), flat: true}
	var total int64
	for i := range a {
		squares.addSquare(a[i] - b[i])
		total += a[i] - b[i]
		d.flat = d.flat && a[i] == a[0] && b[i] == b[0]
	}
	d.sum.SetInt64(total)
	d.spread = new(big.Int).SetUint64(squares.hi)
	d.spread.Or(d.spread.Lsh(d.spread, 64), new(big.Int).SetUint64(squares.lo))
	d.spread.Mul(d.spread, big.NewInt(d.questions))
	d.spread.Sub(d.spread, new(big.Int).Mul(d.sum, d.sum))
	return d
}

// Sign is -1, 0 or 1, as the mean of the first series is below, equal to or above that of
// the second one.
func (d Difference) Sign() int { return d.sum.Sign() }

// exceeds reports whether |t| is larger than a quantile in millionths. Two series without
// any variance are not different: other questions may give other answers.
func (d Difference) exceeds(c int64) bool {
	if d.flat || d.sum.Sign() == 0 {
		return false
	}
	// t² = sum² (m-1) / spread
	left := new(big.Int).Mul(d.sum, d.sum)
	left.Mul(left, big.NewInt((d.questions-1)*micro)).Mul(left, big.NewInt(micro))
	right := new(big.Int).Mul(big.NewInt(c), big.NewInt(c))
	return left.Cmp(right.Mul(right, d.spread)) > 0
}

// compareSize orders differences by t², the largest first.
func compareSize(a, b Difference) int {
	left := new(big.Int).Mul(a.sum, a.sum)
	left.Mul(left, b.spread)
	right := new(big.Int).Mul(b.sum, b.sum)
	return right.Mul(right, a.spread).Cmp(left)
}

// Interval95 returns the mean difference and its 95 % interval, in millionths.
func (d Difference) Interval95() (value, low, high int64) {
	return d.interval(T975(int(d.questions - 1)))
}

// interval is mean ± c * √(spread/(m²(m-1))).
func (d Difference) interval(c int64) (value, low, high int64) {
	m := d.questions
	value = roundQuo(d.sum, big.NewInt(m*billion/micro))
	root := new(big.Int).Mul(d.spread, big.NewInt(micro)) // three more digits than billionths
	root.Quo(root, big.NewInt(m*m*max(m-1, 1))).Sqrt(root).Mul(root, big.NewInt(c))
	half := roundQuo(root, big.NewInt(unit))
	return value, value - half, value + half
}

// roundQuo returns n/d rounded to the nearest, for d > 0.
func roundQuo(n, d *big.Int) int64 {
	q := halfUp(new(big.Int).Abs(n), d).Int64()
	return int64(n.Sign()) * q
}

// Place is where a brand is in a ranking: between two ranks, in a group that cannot be
// distinguished from its first.
type Place struct {
	Brand     int // index of its values
	Low, High int // ranks from 1
	Group     int // from 1
}

// Rank ranks series of values, the highest mean first. All pairs are compared (Holm, 5 %), so the
// chance that a study shows any false difference is at most 5 %. Brands of one group are
// in the order of their means, which shows nothing; equal means keep their order.
func Rank(brands [][]int64) []Place {
	better := differences(brands)
	order := make([]int, len(brands))
	sums := make([]int64, len(brands))
	for i, values := range brands {
		order[i] = i
		for _, v := range values {
			sums[i] += v
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sums[b], sums[a]) })
	places := make([]Place, len(order))
	group, first := 0, 0
	for i, b := range order {
		p := Place{Brand: b, Low: 1, High: len(brands)}
		for other := range brands {
			if better[other][b] {
				p.Low++
			}
			if better[b][other] {
				p.High--
			}
		}
		if i == 0 || better[first][b] {
			group, first = group+1, b
		}
		p.Group = group
		places[i] = p
	}
	return places
}

// differences reports for each pair whether the first is better than the second.
func differences(brands [][]int64) [][]bool {
	type pair struct {
		a, b int
		Difference
	}
	better := make([][]bool, len(brands))
	var pairs []pair
	tests, last, enough := 0, int64(0), len(brands) > 0 && len(brands[0]) > minDegrees
	if enough {
		last = quantile(z975, len(brands[0])-1)
	}
	for a := range brands {
		better[a] = make([]bool, len(brands))
		for b := range a {
			tests++
			// A pair below the last bound is below every one.
			if d := Paired(brands[a], brands[b]); enough && d.exceeds(last) {
				pairs = append(pairs, pair{a, b, d})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return compareSize(a.Difference, b.Difference) })
	for i, p := range pairs {
		if !p.exceeds(quantile(holmZ(tests-i), len(brands[0])-1)) {
			break
		}
		if p.Sign() > 0 {
			better[p.a][p.b] = true
		} else {
			better[p.b][p.a] = true
		}
	}
	return better
}
