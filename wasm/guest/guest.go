package guest

// The limits of scorer/1.
const (
	MaxInputs  = 256
	MaxSignals = 256
)

// The states of an input.
const (
	Unknown       = 0
	Measured      = 1
	NotApplicable = 2
)

// The marks of a signal: 0 to Full, or one of these.
const (
	Full              = 1000
	MarkNotApplicable = -1
	MarkUnknown       = -2

	noScore = -1
)

// Inputs are the facts in the order of the manifest, in thousandths of their unit.
type Inputs struct {
	Values []int64 // 0 unless measured
	States []byte
}

// Below reports whether an input was measured and is below a limit.
func (in *Inputs) Below(i int, limit int64) bool {
	return in.States[i] == Measured && in.Values[i] < limit
}

// Result is the output of a scorer.
type Result struct {
	Score int32  // set by Total
	Gates uint32 // bit i is gate i of the manifest
	Marks []int32
}

// Gate records whether a gate applies.
func (r *Result) Gate(i int, applies bool) {
	if applies {
		r.Gates |= 1 << i
	}
}

// Total sets Score from the marks of signals with these points, as the host does.
func (r *Result) Total(points []int64) {
	var reached, measured int64
	for i, mark := range r.Marks {
		if mark >= 0 {
			reached += points[i] * int64(mark)
			measured += points[i]
		}
	}
	if r.Score = noScore; measured > 0 {
		r.Score = int32((200*reached + measured) / (2 * measured))
	}
}

// Knot is a point of a curve: an input and the mark it earns.
type Knot struct{ X, Y int64 }

// Linear interpolates linearly between the knots and is flat outside of them.
func Linear(v int64, knots []Knot) int64 {
	if v <= knots[0].X {
		return knots[0].Y
	}
	for i := 1; i < len(knots); i++ {
		a, b := knots[i-1], knots[i]
		if v > b.X {
			continue
		}
		d := b.X - a.X
		return (2*a.Y*(b.X-v) + 2*b.Y*(v-a.X) + d) / (2 * d)
	}
	return knots[len(knots)-1].Y
}

// Steps returns the mark of the first knot that is not below v, and beyond after
// the last knot.
func Steps(v int64, knots []Knot, beyond int64) int64 {
	for _, k := range knots {
		if v <= k.X {
			return k.Y
		}
	}
	return beyond
}

// Mix combines the parts of a signal.
type Mix struct {
	sum, weight, least int64
	unknown            bool
}

// Add adds a part: an input, its weight, and the mark of its value.
func (m *Mix) Add(in *Inputs, input int, weight, mark int64) {
	if m.weight == 0 {
		m.least = Full
	}
	switch in.States[input] {
	case Unknown:
		m.unknown = true
	case Measured:
		m.sum += weight * mark
		m.weight += weight
		m.least = min(m.least, mark)
	}
}

// Mean returns the weighted mean of the parts.
func (m *Mix) Mean() int32 {
	switch {
	case m.unknown:
		return MarkUnknown
	case m.weight == 0:
		return MarkNotApplicable
	}
	return int32((2*m.sum + m.weight) / (2 * m.weight))
}

// Least returns the mark of the worst part.
func (m *Mix) Least() int32 {
	switch {
	case m.unknown:
		return MarkUnknown
	case m.weight == 0:
		return MarkNotApplicable
	}
	return int32(m.least)
}
