package estimate

import "math/bits"

// Ratio is a rate as the sum of numerators over the sum of denominators of its questions.
// Every question weighs the same, however many answers it has.
type Ratio struct {
	Questions, Days int
	// Num and Den have one value for each question and day, at [question*Days+day], in
	// millionths of the answers to the question: an answer of five that names a brand is
	// 200,000. Den is 0 where nothing was answered. 0 <= Num <= Den.
	Num, Den []int64
	Of       int   // answers in the denominator
	Weight   int64 // in a sum of rates; 0 is 1

	// value and influences are set by Prepare.
	value      int64   // in units
	influences []int64 // by cell, in units, without the weight
}

// Prepare computes what every estimate with this ratio needs, for ratios that are part of several. Num and Den
// must not change afterwards.
func (r *Ratio) Prepare() {
	num, den := r.sums()
	r.value = int64(mulDiv(uint64(num), unit, uint64(den)))
	r.influences = make([]int64, len(r.Num))
	for c := range r.Num {
		if r.Den[c] > 0 {
			r.influences[c] = influence(r.Num[c], r.Den[c], num, den)
		}
	}
}

// Bounds of a Ratio, so that no sum overflows. The denominator of a share of voice adds up
// at most 100 brands.
const (
	MaxQuestions = 1_000
	MaxDays      = 31
	maxDen       = 100 * micro
)

// unit is the unit of values and influences: billionths of a thousandth.
const unit = 1_000_000_000_000

// sums returns the sums of numerators and denominators.
func (r *Ratio) sums() (num, den int64) {
	for i := range r.Num {
		num, den = num+r.Num[i], den+r.Den[i]
	}
	return num, den
}

// influence returns how much a cell contributes to the error of num/den, in units:
// (a*den - num*b)/den². Its magnitude is at most one unit, because a <= den and num <= den.
func influence(a, b, num, den int64) int64 {
	e := a*den - num*b // below 2^63: a, num <= 10^9, b <= 10^8, den <= 10^11
	sign := int64(1)
	if e < 0 {
		sign, e = -1, -e
	}
	first := mulDiv(uint64(e), micro*1_000, uint64(den))
	return sign * int64(mulDiv(first, unit/micro/1_000, uint64(den)))
}

// mulDiv returns a*b/d rounded down, which must fit into 64 bits.
func mulDiv(a, b, d uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	q, _ := bits.Div64(hi, lo, d)
	return q
}

// wide is a sum of squares of 128 bits.
type wide struct{ hi, lo uint64 }

func (s *wide) addSquare(v int64) {
	if v < 0 {
		v = -v
	}
	hi, lo := bits.Mul64(uint64(v), uint64(v))
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi += hi + carry
}
