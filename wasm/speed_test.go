package wasm_test

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// BenchmarkDefault is the built-in scored by the native card, by the bare engine
// without meter, check or reset, and as a host runs it: read the ratios of one
// run, the machine is never quiet. Brands is 100,000 sites scored again by one
// goroutine; cold is all from bytes to a module ready for use.
func BenchmarkDefault(b *testing.B) {
	values, states, n := defaultInputs()
	var out abi.Result
	b.Run("native", func(b *testing.B) {
		c := geo.Card()
		for b.Loop() {
			c.Eval(values, states)
		}
	})
	b.Run("bare", func(b *testing.B) {
		score, memory := bare(b)
		stack := make([]uint64, 1)
		input := make([]byte, 0, abi.InputSize(n))
		for b.Loop() {
			copy(memory[16:], abi.AppendInput(input, values, states))
			if err := score(b.Context(), stack); err != nil {
				b.Fatal(err)
			}
		}
	})
	m := load(b, newEngine(b, wasm.Config{}), geo.Module())
	b.Run("module", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := m.Score(b.Context(), values, states, &out); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("brands", func(b *testing.B) {
		for b.Loop() {
			for range 100_000 {
				if err := m.Score(b.Context(), values, states, &out); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("cold", func(b *testing.B) {
		engine := newEngine(b, wasm.Config{Instances: 1})
		for b.Loop() {
			if err := load(b, engine, geo.Module()).Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			wasm.Check(b.Context(), geo.Module())
		}
	})
}

func defaultInputs() (values []int64, states []byte, n int) {
	n = len(geo.Card().Manifest().Inputs)
	values, states = make([]int64, n), make([]byte, n)
	for i := range values {
		values[i], states[i] = int64(500+i), abi.StateMeasured
	}
	return values, states, n
}

// bare runs the built-in by the engine alone.
func bare(b *testing.B) (score func(context.Context, []uint64) error, memory []byte) {
	rt := wazero.NewRuntime(b.Context())
	b.Cleanup(func() { _ = rt.Close(context.Background()) })
	module, err := rt.Instantiate(b.Context(), geo.Module())
	if err != nil {
		b.Fatal(err)
	}
	memory, _ = module.ExportedMemory(abi.ExportMemory).Read(0, abi.PageSize)
	return module.ExportedFunction(abi.ExportScore).CallWithStack, memory
}
