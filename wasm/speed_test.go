package wasm_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// BenchmarkDefault measures the built-in scorer as the native card, with the engine
// only, with the engine and the meter, and as a host runs it, with checks and resets.
// It alternates between them and reports the best time of each, because the machine
// also runs other work.
func BenchmarkDefault(b *testing.B) {
	values, states, n := defaultInputs()
	c := geo.Card()
	m := load(b, newEngine(b, wasm.Config{}), geo.Module())
	input := make([]byte, 0, abi.InputSize(n))
	stack := make([]uint64, 1)
	engineAlone := func(code []byte) func() {
		score, memory, fuel := bare(b, code)
		return func() {
			if fuel != nil {
				fuel.Set(wasm.MaxFuel)
			}
			copy(memory[16:], abi.AppendInput(input, values, states))
			must(b, score(b.Context(), stack))
		}
	}
	rewritten, err := wasm.Rewritten(geo.Module())
	must(b, err)
	var out abi.Result
	for b.Loop() {
		ns := inTurns(
			func() { c.Eval(values, states) },
			engineAlone(geo.Module()),
			engineAlone(rewritten),
			func() { must(b, m.Score(b.Context(), values, states, &out)) },
		)
		for i, name := range []string{"native-ns", "bare-ns", "metered-ns", "module-ns"} {
			b.ReportMetric(ns[i], name)
		}
		b.ReportMetric(ns[2]/ns[1], "x-metering")
		b.ReportMetric(ns[2]-ns[0], "beside-native-ns")
		b.ReportMetric(ns[3]-ns[2], "check+reset-ns")
	}
}

// inTurns returns the lowest time of each over many rounds, in nanoseconds.
func inTurns(run ...func()) []float64 {
	const rounds, calls = 200, 200
	best := make([]float64, len(run))
	for range rounds {
		for i, fn := range run {
			began := time.Now()
			for range calls {
				fn()
			}
			if took := float64(time.Since(began)) / calls; best[i] == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
	return best
}

// BenchmarkBrands scores 100,000 brands on all processors.
func BenchmarkBrands(b *testing.B) {
	const brands = 100_000
	values, states, _ := defaultInputs()
	m := load(b, newEngine(b, wasm.Config{}), geo.Module())
	for b.Loop() {
		var workers sync.WaitGroup
		each := brands / runtime.GOMAXPROCS(0)
		for range runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				var out abi.Result
				for range each {
					if err := m.Score(b.Context(), values, states, &out); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		workers.Wait()
	}
}

// BenchmarkCold measures the time from bytes to a compiled module, and to a module
// ready for use, with its vectors verified and its instances created.
func BenchmarkCold(b *testing.B) {
	b.Run("compile", func(b *testing.B) {
		rewritten, err := wasm.Rewritten(geo.Module())
		must(b, err)
		for b.Loop() {
			rt := wazero.NewRuntimeWithConfig(b.Context(), wazero.NewRuntimeConfig().WithDebugInfoEnabled(false))
			_, err := rt.CompileModule(b.Context(), rewritten)
			must(b, errors.Join(err, rt.Close(b.Context())))
		}
	})
	b.Run("load", func(b *testing.B) {
		engine := newEngine(b, wasm.Config{Instances: 1})
		for b.Loop() {
			must(b, load(b, engine, geo.Module()).Close(b.Context()))
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

// bare runs code with the engine only; fuel is nil unless the code is metered.
func bare(b testing.TB, code []byte) (score func(context.Context, []uint64) error, memory []byte,
	fuel api.MutableGlobal) {
	rt := wazero.NewRuntime(b.Context())
	b.Cleanup(func() { _ = rt.Close(context.Background()) })
	module, err := rt.Instantiate(b.Context(), code)
	must(b, err)
	memory, _ = module.ExportedMemory(abi.ExportMemory).Read(0, abi.PageSize)
	fuel, _ = module.ExportedGlobal(abi.ReservedPrefix + "fuel").(api.MutableGlobal)
	return module.ExportedFunction(abi.ExportScore).CallWithStack, memory, fuel
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
