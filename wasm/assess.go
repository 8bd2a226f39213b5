package wasm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// maxSignalEvidence limits the evidence of one signal: two entries for each part of
// the largest signal of the built-in modules.
const maxSignalEvidence = 12

// Assess scores facts at the time now. Facts are matched by id; a missing fact
// counts as unknown.
func (m *Module) Assess(ctx context.Context, facts *fieldmark.Facts, now time.Time) (fieldmark.Assessment, error) {
	digest, err := facts.Digest()
	if err != nil {
		return fieldmark.Assessment{}, fmt.Errorf("module %s: %w", m.ref.Digest, err)
	}
	a, err := m.Evaluate(ctx, facts, now)
	a.FactsDigest = digest
	return a, err
}

// Evaluate is Assess without the digest of the facts, which costs as much as the rest.
// An edge computes the digest of facts once, when they arrive, and uses this.
func (m *Module) Evaluate(ctx context.Context, facts *fieldmark.Facts, now time.Time) (fieldmark.Assessment, error) {
	bound, err := m.bind(facts)
	if err != nil {
		return fieldmark.Assessment{}, m.annotate(err)
	}
	var result abi.Result
	if err := m.Score(ctx, bound.values, bound.states, &result); err != nil {
		return fieldmark.Assessment{}, err
	}
	components, gates := m.components(bound, result.Marks), m.gates(result.Gates)
	replicates, err := m.replicates(ctx, &bound, facts.Replicates)
	if err != nil {
		return fieldmark.Assessment{}, err
	}
	a := scoring.Assess(components, gates, facts, replicates, now)
	a.Methodology = m.manifest.Methodology
	a.Module = m.ref
	return a, nil
}

// binding is the facts in the order of a manifest's inputs.
type binding struct {
	facts  map[string]fieldmark.Fact
	values []int64
	states []byte
}

// bind puts facts into the order of the inputs. A fact in another unit is a fault.
// A missing fact is not an error: facts of an older auditor are scored by a newer module.
func (m *Module) bind(facts *fieldmark.Facts) (binding, error) {
	n := len(m.manifest.Inputs)
	b := binding{facts: make(map[string]fieldmark.Fact, n), values: make([]int64, n), states: make([]byte, n)}
	for i, in := range m.manifest.Inputs {
		fact, ok := facts.Find(in.Name)
		if !ok {
			fact = fieldmark.Fact{ID: in.Name, State: fieldmark.Unknown, Unit: in.Unit}
		}
		b.facts[in.Name] = fact
		switch fact.State {
		case fieldmark.Measured:
			// Milliseconds read as seconds would give a wrong score, not an error.
			if fact.Unit != in.Unit {
				return binding{}, &Fault{Kind: FaultInput,
					Err: fmt.Errorf("fact %s is in %q, the module reads it in %q", in.Name, fact.Unit, in.Unit)}
			}
			b.values[i], b.states[i] = fact.Value, abi.StateMeasured
		case fieldmark.NotApplicable:
			b.states[i] = abi.StateNotApplicable
		default:
			b.states[i] = abi.StateUnknown
		}
	}
	return b, nil
}

// replicates returns the scores of replicates, without gates, by one instance. It
// overwrites the values and states of b, so it comes last.
// Gates are left out because a replicate measures how much the sample of pages matters; a gate is
// about the whole site. One instance serves all of them, so that a brand with 200 replicates does
// not wait 200 times.
func (m *Module) replicates(ctx context.Context, b *binding, r *fieldmark.Replicates) (scores []fieldmark.Milli,
	err error) {
	if r == nil {
		return nil, nil
	}
	inputs := make([]int, len(r.Facts)) // of each fact; -1: the module does not read it
	for i, id := range r.Facts {
		inputs[i] = slices.IndexFunc(m.manifest.Inputs, func(in abi.Input) bool { return in.Name == id })
	}
	in, err := m.pool.acquire(ctx)
	if err != nil {
		return nil, m.annotate(err)
	}
	defer func() { m.pool.release(in, err == nil) }()
	var result abi.Result
	all := r.Values[:min(len(r.Values), fieldmark.MaxReplicates)]
	scores = make([]fieldmark.Milli, 0, len(all))
	for _, values := range all {
		b.replace(inputs, values)
		if err := m.scoreOn(ctx, in, b.values, b.states, &result); err != nil {
			return nil, err
		}
		if result.Score != abi.NoScore {
			scores = append(scores, fieldmark.Milli(result.Score))
		}
	}
	return scores, nil
}

// replace sets inputs to the values of a replicate; nil is unknown.
func (b *binding) replace(inputs []int, values []*fieldmark.Milli) {
	for i, value := range values[:min(len(values), len(inputs))] {
		switch in := inputs[i]; {
		case in < 0:
		case value == nil:
			b.values[in], b.states[in] = 0, abi.StateUnknown
		default:
			b.values[in], b.states[in] = int64(*value), abi.StateMeasured
		}
	}
}

// components combines the texts of the manifest with the marks of the module.
// There are as many marks as signals in the manifest, which Score has checked.
func (m *Module) components(b binding, marks []int32) []fieldmark.Component {
	all := make([]fieldmark.Component, len(m.manifest.Components))
	for i, c := range m.manifest.Components {
		signals := make([]fieldmark.Signal, len(c.Signals))
		for j := range c.Signals {
			signals[j] = b.signal(&c.Signals[j], marks[0])
			marks = marks[1:]
		}
		all[i] = fieldmark.Component{ID: c.ID, Label: c.Label, Weight: c.Weight, Signals: signals}
	}
	return all
}

// signal combines the manifest of a signal with its mark. Advice is shown only below
// the full mark.
// The value of a signal with one input is that of the fact, which people can check on their site;
// with several it is the mark.
func (b *binding) signal(s *abi.Signal, mark int32) fieldmark.Signal {
	out := fieldmark.Signal{
		ID: s.ID, Label: s.Label, Unit: s.Unit, Max: s.Points, Evidence: b.evidence(s.Inputs),
		EvidenceGrade: s.EvidenceGrade, Effort: s.Effort,
	}
	switch mark {
	case abi.MarkNotApplicable:
		out.Status = fieldmark.NotApplicable
	case abi.MarkUnknown:
		out.Status = fieldmark.Unknown
		out.Advice = "Could not be measured: " + strings.Join(b.unknown(s.Inputs), ", ") + "."
	default:
		out.Status = fieldmark.Measured
		value := fieldmark.Milli(mark)
		if len(s.Inputs) == 1 {
			value = fieldmark.Milli(b.facts[s.Inputs[0]].Value)
		}
		out.Value = &value
		out.Points = fieldmark.Milli(s.Points) * fieldmark.Milli(mark)
		if mark < abi.MarkFull {
			out.Advice = s.Advice
		}
	}
	return out
}

// unknown returns the inputs that could not be measured. A module may declare a
// signal unknown for other reasons; then all inputs are returned.
func (b *binding) unknown(inputs []string) []string {
	var names []string
	for _, name := range inputs {
		if b.facts[name].State == fieldmark.Unknown {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return inputs
	}
	return names
}

// evidence merges the evidence of inputs: the first entry of each, then the second
// of each, up to the limit, without duplicates.
// Without the rounds the first input of a signal would use up the whole limit.
func (b *binding) evidence(inputs []string) []fieldmark.Evidence {
	all := []fieldmark.Evidence{}
	for round := range fieldmark.MaxEvidence {
		for _, name := range inputs {
			list := b.facts[name].Evidence
			if round >= len(list) || slices.Contains(all, list[round]) {
				continue
			}
			if len(all) == maxSignalEvidence {
				return all
			}
			all = append(all, list[round])
		}
	}
	return all
}

// gates returns the gates that apply, in the order of the manifest.
func (m *Module) gates(mask uint32) []fieldmark.Gate {
	caught := []fieldmark.Gate{}
	for i, g := range m.manifest.Gates {
		if mask>>i&1 == 1 {
			caught = append(caught, fieldmark.Gate{ID: g.ID, Limit: g.Limit, Reason: g.Reason})
		}
	}
	return caught
}
