package wasm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/bytecode"
)

// Pack turns the output of a compiler into a module: it drops every custom section,
// such as names and debug information, unless debug is set, and appends the manifest, with the
// declared memory, and the golden vectors. It validates the result as Load does, without
// running it.
// Names and paths of the author's machine are in the dropped sections, and would change the digest
// of equal code. A module that keeps them shows in its faults where they happened (see Config.Trace).
func Pack(compiled []byte, manifest abi.Manifest, vectors []abi.Vector, debug bool) ([]byte, error) {
	sections, err := abi.Sections(compiled)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	out := []byte(bytecode.Header)
	for _, s := range sections {
		if s.ID != bytecode.SectionCustom || debug {
			out = bytecode.AppendSection(out, s.ID, s.Body)
		}
	}
	parsed, _ := abi.Parse(out) // the missing manifest is expected here
	if manifest.ABI == "" {
		manifest.ABI = abi.Name
	}
	if parsed != nil {
		manifest.Limits.Pages = parsed.Pages
	}
	if manifest.Gates == nil {
		manifest.Gates = []abi.Gate{}
	}
	text, err := manifest.Append(nil)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	golden, err := abi.AppendVectors(nil, vectors)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	out = abi.AppendCustom(out, abi.SectionManifest, text)
	out = abi.AppendCustom(out, abi.SectionVectors, golden)
	if _, err := Ref(out); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return out, nil
}

// Metered returns the form of a module of the standard class that edges run: it counts fuel and the
// depth of calls in the exports fieldmark.fuel and fieldmark.depth, whose first values are the budgets,
// and traps when one falls below zero. It keeps the manifest, the golden vectors and the names of
// functions. The error contains abi.Problems if the module is invalid.
func Metered(module []byte) ([]byte, error) {
	r, parsed, p := inspect(module)
	if len(r.Problems) > 0 {
		return nil, abi.Problems(r.Problems)
	}
	if parsed.Class != abi.ClassStandard {
		return nil, fmt.Errorf("the module belongs to the class %s and has imports", parsed.Class)
	}
	out := p.meter().binary
	for _, s := range p.sections {
		name := bytecode.Reader{Buf: s.Body}
		if s.ID == bytecode.SectionCustom && slices.Contains(keptSections, string(name.Vector())) {
			out = bytecode.AppendSection(out, s.ID, s.Body)
		}
	}
	return out, nil
}

// keptSections are the custom sections of the form that Metered returns.
var keptSections = []string{abi.SectionManifest, abi.SectionVectors, nameSection[1:]}

// VectorOutcome is the outcome of one golden vector.
type VectorOutcome struct {
	Fuel    int64
	Problem string // empty: the result was equal bit by bit
}

// TestVectors runs every golden vector of a module and returns their outcomes.
// It runs the compiling engine only; Check compares both.
func TestVectors(ctx context.Context, module []byte) (outcomes []VectorOutcome, err error) {
	r, parsed, p := inspect(module)
	if len(r.Problems) > 0 {
		return nil, abi.Problems(r.Problems)
	}
	engine, err := New(Config{Instances: 1, WASI: true})
	if err != nil {
		return nil, err
	}
	m, err := engine.compile(ctx, p, r.Digest, parsed.Manifest)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.pool.close(context.WithoutCancel(ctx))) }()
	for i := range parsed.Vectors {
		v := &parsed.Vectors[i]
		var o VectorOutcome
		var got abi.Result
		o.Fuel, err = m.Measure(ctx, v.Values, v.AppendStates(nil), &got)
		want := v.Result()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			o.Problem = err.Error()
		case got.Score != want.Score || got.Gates != want.Gates || !slices.Equal(got.Marks, want.Marks):
			o.Problem = fmt.Sprintf("got %v, want %v", got, want)
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}
