package card

import "github.com/fieldmark/fieldmark/wasm/abi"

// The golden examples of a card: inputs with the results that every implementation must give.

// randomVectors is the number of generated examples, in addition to the constructed
// ones.
const randomVectors = 8

// Vectors returns the golden examples that Compile adds to the module, also for
// modules that implement the method in another language: nothing known, nothing
// applicable, every input at its worst, its best and its limits, each gate alone,
// and random mixtures.
func (c *Card) Vectors() []abi.Vector {
	n := len(c.manifest.Inputs)
	values, states := make([]int64, n), make([]byte, n)
	var all []abi.Vector
	add := func() { all = append(all, abi.NewVector(values, states, c.Eval(values, states))) }
	fill := func(state byte, value func(input int) int64) {
		for i := range n {
			values[i], states[i] = value(i), state
		}
	}
	marks := c.extremes()
	worst := func(i int) int64 { return marks[i].worst }
	best := func(i int) int64 { return marks[i].best }

	fill(abi.StateUnknown, func(int) int64 { return 0 })
	add()
	fill(abi.StateNotApplicable, func(int) int64 { return 0 })
	add()
	for _, value := range []func(int) int64{worst, best,
		func(i int) int64 { return (worst(i) + best(i)) / 2 },
		func(int) int64 { return abi.MaxValue }, func(int) int64 { return -abi.MaxValue },
	} {
		fill(abi.StateMeasured, value)
		add()
	}
	for i := range c.gates {
		fill(abi.StateMeasured, best)
		c.gates[i].satisfy(values, states)
		add()
	}
	random := splitmix(1)
	for range randomVectors {
		fill(abi.StateMeasured, func(i int) int64 {
			span := marks[i].last - marks[i].first + 1
			return marks[i].first + int64(random.next()%uint64(span))
		})
		for i := range states {
			if r := random.next() % 16; r < 2 { // one input in eight is not measured
				states[i] = []byte{abi.StateUnknown, abi.StateNotApplicable}[r]
			}
		}
		add()
	}
	return all
}

// extreme has the values of one input that examples use.
type extreme struct {
	worst, best int64 // values with the lowest and the highest mark
	first, last int64 // from one unit before the first point of the curve to one after the last
}

// unit is one of whatever the input counts.
const unit = 1000

// extremes returns the extreme values of each input, by its first curve or else by a
// gate.
func (c *Card) extremes() []extreme {
	all := make([]extreme, len(c.manifest.Inputs))
	seen := make([]bool, len(all))
	for i := range c.gates {
		c.gates[i].extremes(all, c.manifest.Inputs)
	}
	for _, s := range c.signals {
		for _, p := range s.parts {
			if seen[p.input] {
				continue // one curve per input is enough
			}
			seen[p.input] = true
			all[p.input] = p.curve.extremes()
		}
	}
	return all
}

func (c *curve) extremes() extreme {
	x := extreme{first: c.knots[0].x - unit, last: c.knots[len(c.knots)-1].x + unit}
	x.worst, x.best = x.first, x.first
	for _, k := range append(c.knots[:len(c.knots):len(c.knots)], knot{x: x.last}) {
		if c.at(k.x) < c.at(x.worst) {
			x.worst = k.x
		}
		if c.at(k.x) > c.at(x.best) {
			x.best = k.x
		}
	}
	return x
}

// extremes uses the declared direction, for inputs without a curve.
func (c *condition) extremes(all []extreme, inputs []abi.Input) {
	for i := range c.of {
		c.of[i].extremes(all, inputs)
	}
	if len(c.of) > 0 {
		return
	}
	x := extreme{first: c.value - unit, last: c.value + unit, worst: c.value - unit, best: c.value + unit}
	if inputs[c.input].Direction == abi.Down {
		x.worst, x.best = x.best, x.worst
	}
	all[c.input] = x
}

// satisfy changes inputs so that the condition holds.
func (c *condition) satisfy(values []int64, states []byte) {
	switch c.op {
	case opAll:
		for i := range c.of {
			c.of[i].satisfy(values, states)
		}
		return
	case opAny:
		c.of[0].satisfy(values, states)
		return
	}
	step := map[operator]int64{opLess: -1, opEqual: 0, opGreater: 1}[c.op]
	values[c.input], states[c.input] = c.value+step, abi.StateMeasured
}

// splitmix is a small random number generator (Steele, Lea and Flood 2014). Unlike
// math/rand its output never changes, because the bytes of a module must not.
type splitmix uint64

func (s *splitmix) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
