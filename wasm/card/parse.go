package card

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// The limits of a card file.
const (
	MaxFile   = 256 << 10 // bytes; the built-in's is under 32 KiB
	maxKnots  = 16        // points of a curve; each is a branch in the module
	maxPoints = 4096      // points of all curves; keeps a signal's function below the limits of a module
	maxParts  = 16        // inputs of a signal
	maxWeight = 1000      // of a part
	maxDepth  = 4         // nesting of conditions
	maxJoined = 32        // conditions in one join
	maxWhen   = 256       // comparisons in one gate
)

// The format of the file; Parse converts it into a Card.
type (
	file struct {
		Schema      string                `json:"$schema"` // for editors; ignored
		Name        string                `json:"name"`
		Version     string                `json:"version"`
		Methodology fieldmark.Methodology `json:"methodology"`
		Author      string                `json:"author"`
		Licence     string                `json:"licence"`
		Inputs      []abi.Input           `json:"inputs"`
		Components  []componentFile       `json:"components"`
		Gates       []gateFile            `json:"gates"`
	}
	componentFile struct {
		ID      string       `json:"id"`
		Label   string       `json:"label"`
		Weight  int          `json:"weight"`
		Signals []signalFile `json:"signals"`
	}
	signalFile struct {
		ID      string     `json:"id"`
		Label   string     `json:"label"`
		Points  int        `json:"points"`
		Advice  string     `json:"advice"`
		Combine string     `json:"combine"`
		Parts   []partFile `json:"parts"`

		EvidenceGrade fieldmark.EvidenceGrade `json:"evidenceGrade"`
		Effort        int                     `json:"effort"`
	}
	partFile struct {
		Input  string     `json:"input"`
		Weight *int64     `json:"weight"`
		Curve  *curveFile `json:"curve"`
	}
	curveFile struct {
		Linear []pointFile `json:"linear"`
		Steps  []pointFile `json:"steps"`
		Beyond *number     `json:"beyond"`
	}
	pointFile []number // x and y
	gateFile  struct {
		ID     string         `json:"id"`
		Limit  int            `json:"limit"`
		Reason string         `json:"reason"`
		When   *conditionFile `json:"when"`
	}
	conditionFile struct {
		Input string          `json:"input"`
		Op    operator        `json:"op"`
		Value *number         `json:"value"`
		All   []conditionFile `json:"all"`
		Any   []conditionFile `json:"any"`
	}
)

// Parse parses and validates a card. If the file is JSON, the error is abi.Problems: all
// mistakes in the order of the file, each with line, column and path, for example
// 12:7: components[0].signals[2].parts[1].curve. The content is checked once every value
// has the right type.
func Parse(b []byte) (*Card, error) {
	text, err := parseText(b)
	if err != nil {
		return nil, err
	}
	p := parser{inputs: map[string]int{}, used: map[string]bool{}}
	if p.checkShape(text, reflect.TypeFor[file](), ""); len(p.problems) > 0 {
		return nil, fmt.Errorf("card: %w", abi.Problems(text.locateAll(b, p.problems)))
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	c := p.card(&f)
	if list, ok := errors.AsType[abi.Problems](c.manifest.Check()); ok {
		p.addManifest(list)
	}
	if len(p.problems) > 0 {
		return nil, fmt.Errorf("card: %w", abi.Problems(text.locateAll(b, p.problems)))
	}
	c.warnings = text.locateAll(b, p.warnings)
	return c, nil
}

// parser validates what the manifest does not contain: curves, parts and
// conditions.
type parser struct {
	inputs   map[string]int
	used     map[string]bool
	points   int // of all curves so far
	compared int // by the current gate
	problems []string
	warnings []string
}

// derivedPath matches manifest members that are derived from a signal's parts. A
// card does not have them, so the mistake is in a part.
var derivedPath = regexp.MustCompile(`^(components\[[0-9]+\]\.signals\[[0-9]+\]\.)(inputs|unit)`)

// addManifest adds the problems of the manifest, except those that repeat a problem
// of a signal's parts.
func (p *parser) addManifest(list abi.Problems) {
	own := p.problems
	for _, problem := range list {
		m := derivedPath.FindStringSubmatch(problem)
		if m != nil && slices.ContainsFunc(own, func(s string) bool { return strings.HasPrefix(s, m[1]) }) {
			continue
		}
		p.problems = append(p.problems, problem)
	}
	p.problems = p.problems[:min(len(p.problems), maxProblems)]
}

// maxProblems limits the report about a malicious file.
const maxProblems = 20

func (p *parser) addProblem(path, format string, args ...any) {
	if len(p.problems) < maxProblems {
		p.problems = append(p.problems, path+" "+fmt.Sprintf(format, args...))
	}
}

// card converts the file. It continues after problems, to report all of them.
func (p *parser) card(f *file) *Card {
	c := &Card{manifest: abi.Manifest{
		Name: f.Name, Version: f.Version, ABI: abi.Name, Methodology: f.Methodology,
		Author: f.Author, Licence: f.Licence, Inputs: f.Inputs, Gates: []abi.Gate{},
		Limits: abi.Limits{Pages: modulePages},
	}}
	for i, in := range f.Inputs {
		p.inputs[in.Name] = i
	}
	for i := range f.Components {
		p.component(c, &f.Components[i], fmt.Sprintf("components[%d]", i))
	}
	for i, g := range f.Gates {
		path := fmt.Sprintf("gates[%d].when", i)
		c.manifest.Gates = append(c.manifest.Gates, abi.Gate{ID: g.ID, Limit: g.Limit, Reason: g.Reason})
		if g.When == nil {
			p.addProblem(path, "is missing")
			continue
		}
		p.compared = 0
		c.gates = append(c.gates, p.condition(g.When, path, 1))
		if p.compared > maxWhen {
			p.addProblem(path, "makes %d comparisons, at most %d", p.compared, maxWhen)
		}
	}
	for i, in := range f.Inputs {
		if !p.used[in.Name] && len(p.warnings) < maxProblems {
			p.warnings = append(p.warnings, fmt.Sprintf("inputs[%d] %q is not used by any signal or gate", i, in.Name))
		}
	}
	if p.points > maxPoints {
		p.addProblem("components", "have curves of %d points, at most %d", p.points, maxPoints)
	}
	c.points = c.manifest.Points()
	return c
}

func (p *parser) component(c *Card, f *componentFile, path string) {
	out := abi.Component{ID: f.ID, Label: f.Label, Weight: f.Weight}
	for i := range f.Signals {
		s := &f.Signals[i]
		parsed, names := p.signal(s, fmt.Sprintf("%s.signals[%d]", path, i))
		c.signals = append(c.signals, parsed)
		unit := abi.UnitShare
		if len(names) == 1 {
			unit = c.manifest.Inputs[p.inputs[names[0]]].Unit
		}
		out.Signals = append(out.Signals, abi.Signal{
			ID: s.ID, Label: s.Label, Points: s.Points, Inputs: names, Unit: unit, Advice: s.Advice,
			EvidenceGrade: s.EvidenceGrade, Effort: s.Effort,
		})
	}
	c.manifest.Components = append(c.manifest.Components, out)
}

// signal returns the parsed signal and the names of its known inputs.
func (p *parser) signal(f *signalFile, path string) (signal, []string) {
	s := signal{useMin: f.Combine == "min"}
	if f.Combine != "min" && f.Combine != "mean" {
		p.addProblem(path+".combine", "is %q, may be mean or min", f.Combine)
	}
	if len(f.Parts) < 1 || len(f.Parts) > maxParts {
		p.addProblem(path+".parts", "are %d, may be 1 to %d", len(f.Parts), maxParts)
		return s, nil
	}
	var names []string
	for i := range f.Parts {
		in := &f.Parts[i]
		at := fmt.Sprintf("%s.parts[%d]", path, i)
		weight := int64(1)
		if in.Weight != nil {
			weight = *in.Weight
			if s.useMin {
				p.addProblem(at+".weight", "has no effect with combine min")
			}
		}
		if weight < 1 || weight > maxWeight {
			p.addProblem(at+".weight", "is %d, may be 1 to %d", weight, maxWeight)
		}
		if index, ok := p.input(in.Input, at+".input"); ok {
			names = append(names, in.Input)
			s.parts = append(s.parts, part{input: index, weight: weight, curve: p.curve(in.Curve, at+".curve")})
		}
	}
	return s, names
}

func (p *parser) input(name, path string) (int, bool) {
	index, ok := p.inputs[name]
	if !ok {
		p.addProblem(path, "%.64q is not an input", name)
	}
	p.used[name] = true
	return index, ok
}

// curve parses a curve, which is either linear or steps.
func (p *parser) curve(f *curveFile, path string) curve {
	if f == nil || (f.Linear == nil) == (f.Steps == nil) {
		p.addProblem(path, "must have either linear or steps")
		return curve{}
	}
	if f.Steps != nil {
		c := curve{knots: p.knots(f.Steps, path+".steps", 1)}
		if f.Beyond != nil {
			c.tail = p.mark(*f.Beyond, path+".beyond")
		}
		return c
	}
	if f.Beyond != nil {
		p.addProblem(path+".beyond", "is only allowed with steps")
	}
	c := curve{knots: p.knots(f.Linear, path+".linear", 2), smooth: true}
	if len(c.knots) > 0 {
		c.tail = c.knots[len(c.knots)-1].y
	}
	return c
}

// knots parses the points of a curve, whose x must increase.
func (p *parser) knots(points []pointFile, path string, least int) []knot {
	if len(points) < least || len(points) > maxKnots {
		p.addProblem(path, "has %d points, may have %d to %d", len(points), least, maxKnots)
		return nil
	}
	p.points += len(points)
	var all []knot
	for i, xy := range points {
		at := fmt.Sprintf("%s[%d]", path, i)
		if len(xy) != 2 {
			p.addProblem(at, "has %d numbers, must be [x, y]", len(xy))
			return nil
		}
		if i > 0 && int64(xy[0]) <= all[i-1].x {
			p.addProblem(at, "must have a larger x than the point before")
		}
		all = append(all, knot{x: int64(xy[0]), y: p.mark(xy[1], at)})
	}
	return all
}

func (p *parser) mark(n number, path string) int64 {
	if n < 0 || n > number(abi.MarkFull) {
		p.addProblem(path, "gives a mark of %s, may be 0 to 1", fieldmark.Milli(n))
	}
	return int64(n)
}

// condition parses a comparison, or a join of conditions, at most maxDepth deep.
func (p *parser) condition(f *conditionFile, path string, depth int) condition {
	leaf := f.Input != "" || f.Op != "" || f.Value != nil
	forms := 0
	for _, present := range []bool{leaf, f.All != nil, f.Any != nil} {
		if present {
			forms++
		}
	}
	if forms != 1 || depth > maxDepth {
		p.addProblem(path, "must be one of a comparison, all or any, at most %d deep", maxDepth)
		return condition{}
	}
	if leaf {
		return p.comparison(f, path)
	}
	c, list := condition{op: opAll}, f.All
	if f.Any != nil {
		c.op, list = opAny, f.Any
	}
	if len(list) < 1 || len(list) > maxJoined {
		p.addProblem(path+"."+string(c.op), "joins %d conditions, may join 1 to %d", len(list), maxJoined)
		return c
	}
	for i := range list {
		c.of = append(c.of, p.condition(&list[i], fmt.Sprintf("%s.%s[%d]", path, c.op, i), depth+1))
	}
	return c
}

func (p *parser) comparison(f *conditionFile, path string) condition {
	if f.Op != opLess && f.Op != opEqual && f.Op != opGreater {
		p.addProblem(path+".op", "is %.8q, may be lt, eq or gt", string(f.Op))
	}
	p.compared++
	index, _ := p.input(f.Input, path+".input")
	if f.Value == nil {
		p.addProblem(path+".value", "is missing")
		return condition{}
	}
	return condition{op: f.Op, input: index, value: int64(*f.Value)}
}

// number is a decimal number in thousandths. It is parsed as text to avoid floating
// point: 0.001 is exactly one thousandth.
type number int64

var numberPattern = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,9})(\.[0-9]{1,3})?$`)

// UnmarshalJSON accepts a plain decimal number within abi.MaxValue.
func (n *number) UnmarshalJSON(b []byte) error {
	s := string(b)
	if !numberPattern.MatchString(s) {
		return fmt.Errorf("%.32s is not a decimal number with at most three digits after the point", s)
	}
	whole, frac, _ := strings.Cut(s, ".")
	v, err := strconv.ParseInt(whole+(frac + "000")[:3], 10, 64)
	if err != nil || v != abi.Clamp(v) {
		return fmt.Errorf("%.32s is out of bounds", s)
	}
	*n = number(v)
	return nil
}
