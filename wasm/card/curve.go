package card

// knot is a point of a curve: an input and the mark it earns, in thousandths.
type knot struct{ x, y int64 }

// curve maps an input to a mark. It is flat before the first knot, and has the
// value tail after the last.
type curve struct {
	knots  []knot
	smooth bool // linear between knots instead of steps
	tail   int64
}

// at evaluates the curve. The compiled module has the same chain of comparisons.
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

// between interpolates and rounds half up. It weights both ends instead of using a
// slope, so that no term is negative and division gives the same result in every
// language. With x within abi.MaxValue the terms stay below 2^53.
func between(a, b knot, v int64) int64 {
	d := b.x - a.x
	return (2*a.y*(b.x-v) + 2*b.y*(v-a.x) + d) / (2 * d)
}
