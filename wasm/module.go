package wasm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// Module is a loaded scoring module. It may be used by many goroutines.
type Module struct {
	engine *Engine
	ref    fieldmark.ModuleRef
	pool   *pool

	manifest *abi.Manifest
	fuel     int64   // of one call
	points   []int64 // of the signals, in the order of a result
}

// Ref reads a module's name, version and digest without running it. It refuses
// what Load would refuse before compiling.
func Ref(module []byte) (fieldmark.ModuleRef, error) {
	digest := fieldmark.DigestOf(sha256.Sum256(module))
	parsed, _, err := parseModule(module)
	if err != nil {
		return fieldmark.ModuleRef{}, fmt.Errorf("read module %s: %w", digest, err)
	}
	return fieldmark.ModuleRef{Name: parsed.Manifest.Name, Version: parsed.Manifest.Version, Digest: digest}, nil
}

// parseModule takes a module apart without running it: what it says of itself, and its
// code ready to be rewritten. The error is abi.Problems where several things
// can be wrong at once.
func parseModule(module []byte) (*abi.Module, *program, error) {
	sections, err := abi.Sections(module)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := abi.Parse(module)
	p := validate(sections, parsed.Class, parsed.Imported)
	if err != nil {
		list, ok := errors.AsType[abi.Problems](err)
		if !ok {
			list = abi.Problems{err.Error()}
		}
		p.problems = append(list[:len(list):len(list)], p.problems...)
	}
	if len(p.problems) > 0 {
		return parsed, p, p.problems
	}
	return parsed, p, nil
}

// Ref names the module.
func (m *Module) Ref() fieldmark.ModuleRef { return m.ref }

// Manifest returns what the module says of itself; it must not be changed.
func (m *Module) Manifest() *abi.Manifest { return m.manifest }

// Methodology names the method the module implements.
func (m *Module) Methodology() fieldmark.Methodology { return m.manifest.Methodology }

// Score runs the module once on inputs in the order of its manifest and checks
// what it says. It reuses out.Marks and allocates nothing else.
func (m *Module) Score(ctx context.Context, values []int64, states []byte, out *abi.Result) error {
	_, err := m.Measure(ctx, values, states, out)
	return err
}

// Fuel is the budget of one call.
func (m *Module) Fuel() int64 { return m.fuel }

// Measure is Score and says how much fuel it took, also where it failed. The
// same inputs always take the same fuel, on every machine and either engine.
func (m *Module) Measure(ctx context.Context, values []int64, states []byte, out *abi.Result) (fuel int64, err error) {
	if len(values) != len(m.manifest.Inputs) || len(states) != len(values) {
		return 0, fmt.Errorf("module %s: %d values and %d states for %d inputs", m.ref.Digest, len(values), len(states), len(m.manifest.Inputs))
	}
	in, err := m.pool.acquire(ctx)
	if err != nil {
		return 0, m.annotate(err)
	}
	start := m.engine.observe.started()
	err = m.scoreOn(ctx, in, values, states, out)
	fuel = in.spent()
	// What went wrong once may have left anything behind.
	m.pool.release(in, err == nil)
	if err == nil {
		m.engine.observe.scored(m.ref, fuel, start)
	}
	return fuel, err
}

// scoreOn runs the module once on an instance the caller holds.
func (m *Module) scoreOn(ctx context.Context, in *instance, values []int64, states []byte, out *abi.Result) error {
	err := in.score(ctx, values, states, out, len(m.points))
	if err == nil {
		if err = out.Check(m.points, len(m.manifest.Gates)); err == nil {
			return nil
		}
		err = &Fault{Kind: FaultOutput, Err: err}
	}
	return m.annotate(err)
}

// annotate names the module in an error.
func (m *Module) annotate(err error) error {
	if fault, ok := errors.AsType[*Fault](err); ok {
		m.engine.observe.faulted(m.ref, fault.Kind)
		if err == error(fault) {
			err = fault.Err // else keep where it happened
		}
		return &Fault{Digest: m.ref.Digest, Kind: fault.Kind, Err: err}
	}
	return fmt.Errorf("module %s: %w", m.ref.Digest, err)
}

// verifyVectors runs the golden vectors, each of which must come out to the bit.
func (m *Module) verifyVectors(ctx context.Context, vectors []abi.Vector) error {
	var states []byte
	var got abi.Result
	for i := range vectors {
		states = vectors[i].AppendStates(states[:0])
		if err := m.Score(ctx, vectors[i].Values, states, &got); err != nil {
			return fmt.Errorf("golden vector %d: %w", i, err)
		}
		want := vectors[i].Result()
		if got.Score != want.Score || got.Gates != want.Gates || !slices.Equal(got.Marks, want.Marks) {
			return fmt.Errorf("golden vector %d: got %v, want %v", i, got, want)
		}
	}
	return nil
}

// Close gives back everything the module holds, after the calls that are still
// running. If ctx ends before, the last of them does it.
func (m *Module) Close(ctx context.Context) error {
	m.engine.unregister(m)
	if err := m.pool.close(ctx); err != nil {
		return fmt.Errorf("close module %s: %w", m.ref.Digest, err)
	}
	return nil
}
