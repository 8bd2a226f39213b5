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

// Module is a loaded scoring module. It is safe for concurrent use.
type Module struct {
	engine *Engine
	ref    fieldmark.ModuleRef
	pool   *pool

	manifest *abi.Manifest
	fuel     int64   // of one call
	points   []int64 // of the signals, in the order of a result
	traced   *traced // nil without Config.Trace
}

// Ref reads a module's name, version and digest without running it. It rejects what
// Load rejects before compiling.
func Ref(module []byte) (fieldmark.ModuleRef, error) {
	digest := fieldmark.DigestOf(sha256.Sum256(module))
	parsed, _, err := parseModule(module)
	if err != nil {
		return fieldmark.ModuleRef{}, fmt.Errorf("read module %s: %w", digest, err)
	}
	return fieldmark.ModuleRef{Name: parsed.Manifest.Name, Version: parsed.Manifest.Version, Digest: digest}, nil
}

// parseModule reads a module without running it: its manifest and vectors, and its
// code ready to be rewritten. The error is abi.Problems if there may be several.
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

// Ref returns the module's name, version and digest.
func (m *Module) Ref() fieldmark.ModuleRef { return m.ref }

// Manifest returns the module's manifest, which must not be changed.
func (m *Module) Manifest() *abi.Manifest { return m.manifest }

// Methodology returns the method that the module implements.
func (m *Module) Methodology() fieldmark.Methodology { return m.manifest.Methodology }

// Score runs the module once, on inputs in the order of its manifest, and validates
// its result. It reuses out.Marks and allocates nothing else.
func (m *Module) Score(ctx context.Context, values []int64, states []byte, out *abi.Result) error {
	_, err := m.Measure(ctx, values, states, out)
	return err
}

// Fuel returns the budget of one call.
func (m *Module) Fuel() int64 { return m.fuel }

// Measure is Score and also returns the fuel used, even after a failure. The same
// inputs use the same fuel on every machine and with both engines.
func (m *Module) Measure(ctx context.Context, values []int64, states []byte, out *abi.Result) (fuel int64, err error) {
	if len(values) != len(m.manifest.Inputs) || len(states) != len(values) {
		return 0, fmt.Errorf("module %s: %d values and %d states for %d inputs", m.ref.Digest, len(values), len(states),
			len(m.manifest.Inputs))
	}
	in, err := m.pool.acquire(ctx)
	if err != nil {
		return 0, m.annotate(err)
	}
	err = m.scoreOn(ctx, in, values, states, out)
	fuel = in.spent()
	// After a failure the instance may be in any state, so it is not reused.
	m.pool.release(in, err == nil)
	if fault, ok := errors.AsType[*Fault](err); ok && m.traced != nil {
		fault.Stack = m.traced.stack(ctx, fault.Kind, values, states)
	}
	return fuel, err
}

// scoreOn runs the module once on an instance the caller has acquired.
func (m *Module) scoreOn(ctx context.Context, in *instance, values []int64, states []byte, out *abi.Result) error {
	start := m.engine.observe.started()
	err := in.score(ctx, values, states, out, len(m.points))
	if err != nil {
		return m.annotate(err)
	}
	if err := out.Check(m.points, len(m.manifest.Gates)); err != nil {
		return m.annotate(&Fault{Kind: FaultOutput, Err: err})
	}
	m.engine.observe.scored(m.ref, in.spent(), start)
	return nil
}

// annotate adds the module to an error, and reports a fault to the observer.
func (m *Module) annotate(err error) error {
	if fault, ok := errors.AsType[*Fault](err); ok {
		m.engine.observe.faulted(m.ref, fault.Kind)
		if err == error(fault) {
			err = fault.Err // otherwise keep the context
		}
		return &Fault{Digest: m.ref.Digest, Kind: fault.Kind, Err: err}
	}
	return fmt.Errorf("module %s: %w", m.ref.Digest, err)
}

// verifyVectors runs the golden vectors, whose results must be equal bit by bit.
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

// Close frees the module after the running calls have ended. If ctx ends first,
// Close returns its error and the last call frees the module.
func (m *Module) Close(ctx context.Context) error {
	m.engine.unregister(m)
	if err := m.pool.close(ctx); err != nil {
		return fmt.Errorf("close module %s: %w", m.ref.Digest, err)
	}
	return nil
}
