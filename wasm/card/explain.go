package card

import (
	"fmt"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// Explanation describes a card in words, and how it scores the inputs of one brand.
type Explanation struct {
	Score      *fieldmark.Milli       `json:"score"` // with gates; null without inputs, or if nothing was measured
	Components []ComponentExplanation `json:"components"`
	Gates      []GateExplanation      `json:"gates"`
}

// ComponentExplanation describes how a component gets its points.
type ComponentExplanation struct {
	ID       string              `json:"id"`
	Label    string              `json:"label"`
	Weight   int                 `json:"weight"`
	Reached  fieldmark.Milli     `json:"reached"`  // points
	Measured int                 `json:"measured"` // points that could be reached: those of measured signals
	Signals  []SignalExplanation `json:"signals"`
}

// SignalExplanation describes how a signal gets its points.
type SignalExplanation struct {
	ID      string              `json:"id"`
	Label   string              `json:"label"`
	Points  int                 `json:"points"`
	Rule    string              `json:"rule"`    // how the marks of the parts are combined
	Status  fieldmark.FactState `json:"status"`  // unknown without inputs
	Mark    fieldmark.Milli     `json:"mark"`    // 0 to 1, if measured
	Reached fieldmark.Milli     `json:"reached"` // points
	Parts   []PartExplanation   `json:"parts"`
}

// PartExplanation describes the mark of one input.
type PartExplanation struct {
	Input  string              `json:"input"`
	Unit   string              `json:"unit"`
	Weight int64               `json:"weight"`
	Rule   string              `json:"rule"` // the curve in words
	Status fieldmark.FactState `json:"status"`
	Value  fieldmark.Milli     `json:"value"` // if measured
	Mark   fieldmark.Milli     `json:"mark"`  // 0 to 1, if measured
}

// GateExplanation describes when a gate limits the score, and whether it does.
type GateExplanation struct {
	ID     string `json:"id"`
	Limit  int    `json:"limit"`
	Reason string `json:"reason"`
	When   string `json:"when"`
	Caught bool   `json:"caught"`
}

// Explain describes the card, for inputs in the order of the manifest as Eval takes
// them. With nil inputs it describes only the method.
func (c *Card) Explain(values []int64, states []byte) Explanation {
	if values == nil {
		values, states = make([]int64, len(c.manifest.Inputs)), make([]byte, len(c.manifest.Inputs))
	}
	result := c.Eval(values, states)
	e := Explanation{Gates: []GateExplanation{}}
	if result.Score != abi.NoScore {
		score := fieldmark.Milli(result.Score)
		e.Score = &score
	}
	for i, g := range c.manifest.Gates {
		caught := result.Gates>>i&1 == 1
		e.Gates = append(e.Gates, GateExplanation{ID: g.ID, Limit: g.Limit, Reason: g.Reason,
			When: c.condition(&c.gates[i]), Caught: caught})
		switch {
		case caught && g.ID == fieldmark.GateUnreachable:
			e.Score = nil
		case caught && e.Score != nil:
			*e.Score = min(*e.Score, fieldmark.Milli(g.Limit)*fieldmark.MilliOne)
		}
	}
	signals, marks := c.signals, result.Marks
	for _, component := range c.manifest.Components {
		out := ComponentExplanation{ID: component.ID, Label: component.Label, Weight: component.Weight}
		for i := range component.Signals {
			s := c.signal(&component.Signals[i], &signals[i], marks[i], values, states)
			if out.Reached += s.Reached; s.Status == fieldmark.Measured {
				out.Measured += s.Points
			}
			out.Signals = append(out.Signals, s)
		}
		signals, marks = signals[len(component.Signals):], marks[len(component.Signals):]
		e.Components = append(e.Components, out)
	}
	return e
}

func (c *Card) signal(declared *abi.Signal, s *signal, mark int32, values []int64, states []byte) SignalExplanation {
	out := SignalExplanation{ID: declared.ID, Label: declared.Label, Points: declared.Points, Rule: s.rule(),
		Status: fieldmark.Measured}
	switch mark {
	case abi.MarkUnknown:
		out.Status = fieldmark.Unknown
	case abi.MarkNotApplicable:
		out.Status = fieldmark.NotApplicable
	default:
		out.Mark = fieldmark.Milli(mark)
		out.Reached = out.Mark * fieldmark.Milli(declared.Points)
	}
	for i := range s.parts {
		p := &s.parts[i]
		in := &c.manifest.Inputs[p.input]
		part := PartExplanation{Input: in.Name, Unit: in.Unit, Weight: p.weight, Rule: p.curve.rule(in.Unit),
			Status: fieldmark.Unknown}
		switch states[p.input] {
		case abi.StateMeasured:
			v := abi.Clamp(values[p.input])
			part.Status, part.Value, part.Mark = fieldmark.Measured, fieldmark.Milli(v), fieldmark.Milli(p.curve.at(v))
		case abi.StateNotApplicable:
			part.Status = fieldmark.NotApplicable
		}
		out.Parts = append(out.Parts, part)
	}
	return out
}

func (s *signal) rule() string {
	switch {
	case len(s.parts) == 1:
		return "by one input"
	case s.useMin:
		return "the worst input decides"
	}
	return "the weighted mean of its inputs"
}

// unitBool is the unit of facts that are no (0) or yes (1).
const unitBool = "bool"

// rule describes the curve in words.
func (c *curve) rule(unit string) string {
	if unit == unitBool && c.smooth && len(c.knots) == 2 && c.knots[0].x == 0 &&
		c.knots[1].x == int64(fieldmark.MilliOne) {
		return "no: " + percent(c.knots[0].y) + "; yes: " + percent(c.knots[1].y)
	}
	var all []string
	for i, k := range c.knots {
		at := fieldmark.Milli(k.x).String() + " " + unit
		switch {
		case !c.smooth:
			at = "up to " + at
		case i == 0:
			at = "up to " + at
		case i == len(c.knots)-1:
			at = "from " + at
		}
		all = append(all, at+": "+percent(k.y))
	}
	if !c.smooth {
		return strings.Join(append(all, "above: "+percent(c.tail)), "; ")
	}
	return strings.Join(all, "; ") + "; in proportion between"
}

// percent formats a mark as a percentage, without trailing zeros.
func percent(mark int64) string {
	if mark%10 == 0 {
		return fmt.Sprintf("%d %%", mark/10)
	}
	return fmt.Sprintf("%d.%d %%", mark/10, mark%10)
}

var opWords = map[operator]string{opLess: "is below", opEqual: "is", opGreater: "is above"}

func (c *Card) condition(when *condition) string {
	join := map[operator]string{opAll: " and ", opAny: " or "}[when.op]
	if join == "" {
		in := &c.manifest.Inputs[when.input]
		return fmt.Sprintf("%s %s %s %s", in.Name, opWords[when.op], fieldmark.Milli(when.value), in.Unit)
	}
	var all []string
	for i := range when.of {
		text := c.condition(&when.of[i])
		if len(when.of[i].of) > 1 {
			text = "(" + text + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, join)
}
