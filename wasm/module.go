package wasm

import (
	"context"
	"crypto/sha256"
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
	points   []int64 // of the signals, in the order of a result
}

// Ref reads a module's name, version and digest without running it. It refuses
// what Load would refuse before compiling.
func Ref(module []byte) (fieldmark.ModuleRef, error) {
	digest := fieldmark.DigestOf(sha256.Sum256(module))
	parsed, err := abi.Parse(module)
	if err != nil {
		return fieldmark.ModuleRef{}, fmt.Errorf("read module %s: %w", digest, err)
	}
	return fieldmark.ModuleRef{Name: parsed.Manifest.Name, Version: parsed.Manifest.Version, Digest: digest}, nil
}

// Ref names the module.
func (m *Module) Ref() fieldmark.ModuleRef { return m.ref }

// Methodology names the method the module implements.
func (m *Module) Methodology() fieldmark.Methodology { return m.manifest.Methodology }

// Score runs the module once on inputs in the order of its manifest and checks
// what it says. It reuses out.Marks and allocates nothing else.
func (m *Module) Score(ctx context.Context, values []int64, states []byte, out *abi.Result) error {
	if len(values) != len(m.manifest.Inputs) || len(states) != len(values) {
		return fmt.Errorf("module %s: %d values and %d states for %d inputs", m.ref.Digest, len(values), len(states), len(m.manifest.Inputs))
	}
	in, err := m.pool.get(ctx)
	if err != nil {
		return fmt.Errorf("module %s: %w", m.ref.Digest, err)
	}
	err = in.score(ctx, values, states, out, len(m.points))
	if err == nil {
		err = out.Check(m.points, len(m.manifest.Gates))
	}
	// What went wrong once may have left anything behind.
	m.pool.put(in, err == nil)
	if err != nil {
		return fmt.Errorf("module %s: %w", m.ref.Digest, err)
	}
	return nil
}

// prove runs the golden vectors, each of which must come out to the bit.
func (m *Module) prove(ctx context.Context, vectors []abi.Vector) error {
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
	m.engine.release(m)
	if err := m.pool.close(ctx); err != nil {
		return fmt.Errorf("close module %s: %w", m.ref.Digest, err)
	}
	return nil
}
