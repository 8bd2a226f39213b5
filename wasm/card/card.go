package card

import (
	"fmt"
	"slices"

	"github.com/fieldmark/fieldmark/wasm/abi"
)

// Card is a scorecard that Parse accepted. It is immutable and safe for concurrent
// use.
type Card struct {
	manifest abi.Manifest
	points   []int64 // of the signals, in the order of a result
	signals  []signal
	gates    []condition
	warnings []string
}

type signal struct {
	useMin bool // the value is the lowest part, not the mean
	parts  []part
}

type part struct {
	input  int // index into the manifest's inputs
	weight int64
	curve  curve
}

// operator is what a condition does: it compares one input or joins other
// conditions.
type operator string

const (
	opLess    operator = "lt"
	opEqual   operator = "eq"
	opGreater operator = "gt"
	opAll     operator = "all"
	opAny     operator = "any"
)

type condition struct {
	op    operator
	input int
	value int64
	of    []condition // for opAll and opAny
}

// Warnings returns what is allowed but probably a mistake, such as an input that no
// signal and no gate uses, with positions like the errors of Parse.
func (c *Card) Warnings() []string { return slices.Clone(c.warnings) }

// Manifest returns the manifest of the compiled module.
func (c *Card) Manifest() abi.Manifest { return c.manifest }

// Eval evaluates the card natively, for inputs in the order of the manifest. It is
// the reference for the compiled module. Values are clamped to abi.MaxValue, as a
// host clamps the inputs of a module.
func (c *Card) Eval(values []int64, states []byte) abi.Result {
	if len(values) != len(c.manifest.Inputs) || len(states) != len(values) {
		panic(fmt.Sprintf("BUG: card with %d inputs evaluated with %d values and %d states", len(c.manifest.Inputs),
			len(values), len(states)))
	}
	r := abi.Result{Marks: make([]int32, len(c.signals))}
	for i := range c.signals {
		r.Marks[i] = c.signals[i].mark(values, states)
	}
	for i := range c.gates {
		if c.gates[i].holds(values, states) {
			r.Gates |= 1 << i
		}
	}
	r.Score = abi.Total(c.points, r.Marks)
	return r
}

// mark returns the mark of a signal in thousandths. Parts that are not applicable are
// ignored; one unknown part makes the signal unknown.
func (s *signal) mark(values []int64, states []byte) int32 {
	var sum, weight int64
	lowest := int64(abi.MarkFull)
	unknown := false
	for i := range s.parts {
		p := &s.parts[i]
		switch states[p.input] {
		case abi.StateMeasured:
			mark := p.curve.at(abi.Clamp(values[p.input]))
			sum += p.weight * mark
			weight += p.weight
			lowest = min(lowest, mark)
		case abi.StateNotApplicable:
		default:
			unknown = true
		}
	}
	switch {
	case unknown:
		return abi.MarkUnknown
	case weight == 0:
		return abi.MarkNotApplicable
	case s.useMin:
		return int32(lowest)
	}
	return int32((2*sum + weight) / (2 * weight))
}

// holds evaluates a condition. A comparison of an input that was not measured is
// false.
func (c *condition) holds(values []int64, states []byte) bool {
	switch c.op {
	case opAll:
		for i := range c.of {
			if !c.of[i].holds(values, states) {
				return false
			}
		}
		return true
	case opAny:
		for i := range c.of {
			if c.of[i].holds(values, states) {
				return true
			}
		}
		return false
	}
	if states[c.input] != abi.StateMeasured {
		return false
	}
	v := abi.Clamp(values[c.input])
	switch c.op {
	case opLess:
		return v < c.value
	case opEqual:
		return v == c.value
	default:
		return v > c.value
	}
}
