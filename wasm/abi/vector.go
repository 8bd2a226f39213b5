package abi

import (
	"fmt"
	"strings"
)

// Vector is a golden example: inputs and the result they must give. A host runs all
// vectors of a module before it uses the module.
type Vector struct {
	Values []int64 `json:"values"`
	States string  `json:"states"` // one digit per input: 0 unknown, 1 measured, 2 not applicable
	Score  int32   `json:"score"`
	Gates  uint32  `json:"gates"`
	Marks  []int32 `json:"marks"`
}

// NewVector returns a vector for inputs and their result. A value that was not
// measured becomes 0, which is what a module gets.
func NewVector(values []int64, states []byte, r Result) Vector {
	v := Vector{Score: r.Score, Gates: r.Gates, Marks: r.Marks, Values: make([]int64, len(values))}
	digits := make([]byte, len(states))
	for i, s := range states {
		digits[i] = '0' + s
		if s == StateMeasured {
			v.Values[i] = Clamp(values[i])
		}
	}
	v.States = string(digits)
	return v
}

// AppendStates appends the states as a module reads them.
func (v *Vector) AppendStates(dst []byte) []byte {
	for i := range len(v.States) {
		dst = append(dst, v.States[i]-'0')
	}
	return dst
}

// Result returns the result that the module must give.
func (v *Vector) Result() Result { return Result{Score: v.Score, Gates: v.Gates, Marks: v.Marks} }

// AppendVectors appends vectors in their canonical form.
func AppendVectors(dst []byte, all []Vector) ([]byte, error) { return appendCanonical(dst, all) }

// ParseVectors decodes and validates the vectors of a module with the given
// manifest.
func ParseVectors(b []byte, m *Manifest) ([]Vector, error) {
	if len(b) > MaxVectorData {
		return nil, fmt.Errorf("vectors of %d bytes, at most %d", len(b), MaxVectorData)
	}
	var all []Vector
	if err := decodeStrictly(b, &all); err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	if len(all) < MinVectors || len(all) > MaxVectors {
		return nil, fmt.Errorf("vectors: are %d, must be %d to %d", len(all), MinVectors, MaxVectors)
	}
	points := m.Points()
	for i := range all {
		if err := all[i].check(m, points); err != nil {
			return nil, fmt.Errorf("vectors: [%d]: %w", i, err)
		}
	}
	canonical, err := AppendVectors(nil, all)
	if err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	if err := requireCanonical(b, canonical); err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	return all, nil
}

// check validates a vector, including that its score is the total of its marks.
func (v *Vector) check(m *Manifest, points []int64) error {
	if len(v.Values) != len(m.Inputs) || len(v.States) != len(m.Inputs) {
		return fmt.Errorf("has %d values and %d states, the manifest has %d inputs", len(v.Values), len(v.States),
			len(m.Inputs))
	}
	if strings.Trim(v.States, "012") != "" {
		return fmt.Errorf("a state is 0, 1 or 2")
	}
	for i, n := range v.Values {
		if n != Clamp(n) {
			return fmt.Errorf("value %d is out of bounds", i)
		}
		if n != 0 && v.States[i]-'0' != StateMeasured {
			return fmt.Errorf("value %d is not measured and must be 0", i)
		}
	}
	r := v.Result()
	return r.Check(points, len(m.Gates))
}
