package card

// knot is a point of a curve: an input and the mark it earns, in thousandths.
type knot struct{ x, y int64 }

// curve maps an input to a mark. Before the first knot it is flat; behind the
// last it is tail.
type curve struct {
	knots  []knot
	smooth bool // straight lines between knots instead of steps
	tail   int64
}

// at evaluates the curve. The emitter writes this very chain of comparisons.
func (c *curve) at(v int64) int64 {
	for i, k := range c.knots {
		if v > k.x {
			continue
		}
		if !c.smooth || i == 0 {
			return k.y
		}
		return between(c.knots[i-1], k, v)
	}
	return c.tail
}

// between interpolates and rounds half up. The weights of both ends are used
// instead of a slope so that no term is negative and division cannot differ
// between languages. With x within abi.MaxValue the terms stay below 2^53.
func between(a, b knot, v int64) int64 {
	d := b.x - a.x
	return (2*a.y*(b.x-v) + 2*b.y*(v-a.x) + d) / (2 * d)
}
