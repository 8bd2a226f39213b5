package wasm_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// hostile assembles one fixture of testdata/hostile.
func hostile(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "hostile", name+".txt"))
	must(t, err)
	module, _ := assemble(t, string(text))
	return module
}

// anyInputs fills inputs of the built-in, most of them measured.
func anyInputs(r *rand.Rand, values []int64, states []byte) {
	for i := range values {
		values[i], states[i] = r.Int64N(3000)-100, byte(min(r.IntN(8), 1))
		if r.IntN(10) == 0 {
			values[i], states[i] = r.Int64N(2*abi.MaxValue)-abi.MaxValue, abi.StateMeasured
		}
		if states[i] != abi.StateMeasured {
			values[i] = 0
		}
	}
}

// TestFindings checks that the host handles each problem found when measuring
// WebAssembly engines.
func TestFindings(t *testing.T) {
	for _, f := range []struct {
		name string
		test func(*testing.T)
	}{
		{"01 a deadline stops nothing, fuel does", findDeadline},
		{"02 a call does not hold the collector up", findCollector},
		{"03 no call looks at its context", findContext},
		{"04 the meter costs little", findMeterCost},
		{"05 fuel is the same on every engine and call", findFuel},
		{"06 an instance is reset and kept", findReset},
		{"07 a score allocates nothing", TestScoreAllocatesNothing},
		{"08 no compile bomb reaches the compiler", findCompileBombs},
		{"09 tables and stacks are bounded", findTables},
		{"10 no instance is left behind", findLeaks},
		{"11 one engine is held against the other", findEngines},
		{"12 native and module agree to the bit", findBits},
	} {
		t.Run(f.name, f.test)
	}
}

// findDeadline: 2^32 calls without a loop, which a deadline would end after 25 s.
func findDeadline(t *testing.T) {
	m := load(t, newEngine(t, wasm.Config{Instances: 1}), hostile(t, "call-tree"))
	besideCollector(t, m)
	if got := run(t, m, []int64{trigger}, []byte{1}); got.Kind != wasm.FaultFuel {
		t.Errorf("ended by %q, want fuel", got.Kind)
	}
}

// findCollector: code that cannot be interrupted delays the garbage collector, so every
// call must be short, whatever it does.
func findCollector(t *testing.T) {
	engine := newEngine(t, wasm.Config{Instances: 1})
	for _, name := range []string{"endless-loop", "bulk-bomb", "cache-misses"} {
		besideCollector(t, load(t, engine, hostile(t, name)))
	}
}

// findContext: checking a context during a call makes it 7 to 19 times slower. A call
// that gets an instance therefore completes even if its context has ended.
func findContext(t *testing.T) {
	m := load(t, newEngine(t, wasm.Config{Instances: 1}), compilePlain(t))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var out abi.Result
	if err := m.Score(ended, []int64{500}, []byte{1}, &out); err != nil || out.Score != 50_000 {
		t.Errorf("score %d, error %v", out.Score, err)
	}
}

// findMeterCost: checking a context makes a call 7 to 19 times slower, counting fuel
// makes it a fifth slower. The benchmark measures it; the limit here allows for a busy
// machine.
func findMeterCost(t *testing.T) {
	values, states, n := defaultInputs()
	input := abi.AppendInput(nil, values, states)
	rewritten, err := wasm.Rewritten(geo.Module())
	must(t, err)
	var calls []func()
	for _, code := range [][]byte{geo.Module(), rewritten} {
		score, memory, fuel := bare(t, code)
		stack := make([]uint64, 1)
		calls = append(calls, func() {
			if fuel != nil {
				fuel.Set(wasm.MaxFuel)
			}
			copy(memory[16:16+abi.InputSize(n)], input)
			must(t, score(t.Context(), stack))
		})
	}
	ns := inTurns(calls...)
	t.Logf("%.0f ns bare, %.0f metered", ns[0], ns[1])
	if ns[1] > 2*ns[0] {
		t.Errorf("%.0f ns bare, %.0f metered, at most twice that", ns[0], ns[1])
	}
}

// findFuel: the fuel of a call depends on its inputs only.
func findFuel(t *testing.T) {
	compiled, interpreted := newEngine(t, wasm.Config{Instances: 1}), newEngine(t, wasm.Config{Instances: 1,
		Interpret: true})
	a, b := load(t, compiled, geo.Module()), load(t, interpreted, geo.Module())
	r := rand.New(rand.NewPCG(5, 5))
	values, states, _ := defaultInputs()
	for range 300 {
		anyInputs(r, values, states)
		first, again, other := run(t, a, values, states), run(t, a, values, states), run(t, b, values, states)
		if diff := cmp.Diff(first, again) + cmp.Diff(first, other); diff != "" || first.Fuel <= 0 {
			t.Fatalf("values %v, states %v: %d units\n%s", values, states, first.Fuel, diff)
		}
	}
}

// findReset: a reset takes a microsecond, a new instance fifty; so one instance runs
// all calls, and must see no data of the previous call.
func findReset(t *testing.T) {
	var made atomic.Int64
	engine := newEngine(t, wasm.Config{Instances: 1, Observer: wasm.Observer{
		Instances: func(_ fieldmark.ModuleRef, change int) { made.Add(int64(max(change, 0))) },
	}})
	m := load(t, engine, hostile(t, "stateful-memory"))
	before := made.Load()
	first := run(t, m, []int64{trigger}, []byte{1})
	for range 1000 {
		if diff := cmp.Diff(first, run(t, m, []int64{trigger}, []byte{1})); diff != "" {
			t.Fatalf("(-first +later)\n%s", diff)
		}
	}
	if n := made.Load() - before; n != 0 {
		t.Errorf("%d more instances for 1,001 calls, want none", n)
	}
}

// findCompileBombs: 400 kB can occupy a compiler for 37 s and use a gigabyte, and no
// context ends it; so a module above the limits is rejected before it is compiled.
func findCompileBombs(t *testing.T) {
	engine := newEngine(t, wasm.Config{Instances: 1})
	for _, name := range []string{"branch-table-bomb", "loop-bomb", "if-bomb", "block-bomb", "long-function",
		"locals-bomb"} {
		module := hostile(t, name)
		_, err := engine.Load(t.Context(), module)
		if err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s: error %v, want one of a limit", name, err)
		}
	}
}

// findTables: a memory limit covers neither tables nor stacks. The table is rejected;
// the recursion stops early and releases its stack.
func findTables(t *testing.T) {
	engine := newEngine(t, wasm.Config{Instances: 1})
	if _, err := engine.Load(t.Context(), hostile(t, "table-bomb")); err == nil || !strings.Contains(err.Error(),
		"entries, at most") {
		t.Errorf("table of 762 MB: %v", err)
	}
	for _, name := range []string{"recursion", "big-frame"} {
		m := load(t, engine, hostile(t, name))
		before := heap()
		if got := run(t, m, []int64{trigger}, []byte{1}); got.Kind != wasm.FaultDepth {
			t.Errorf("%s: ended by %q, want depth", name, got.Kind)
		}
		if after := heap(); after > before+8<<20 {
			t.Errorf("%s: heap from %d to %d MiB", name, before>>20, after>>20)
		}
	}
}

// findLeaks: an instance that is dropped without Close is never freed.
func findLeaks(t *testing.T) {
	var alive atomic.Int64
	engine := newEngine(t, wasm.Config{Instances: 2, Observer: wasm.Observer{
		Instances: func(_ fieldmark.ModuleRef, change int) { alive.Add(int64(change)) },
	}})
	m := load(t, engine, bad(t))
	before := heap()
	for range 500 { // each discards its instance
		run(t, m, []int64{trigger}, []byte{1})
	}
	if after := heap(); after > before+16<<20 { // 66 MB if they were not freed
		t.Errorf("heap from %d to %d MiB", before>>20, after>>20)
	}
	if n := alive.Load(); n > 2 {
		t.Errorf("%d instances alive, at most 2", n)
	}
	must(t, m.Close(t.Context()))
	if n := alive.Load(); n != 0 {
		t.Errorf("%d instances left", n)
	}
}

// findEngines: the compiling engine has had miscompilations, and experimental features
// that let a guest escape. So every check also runs the interpreter, and all
// experimental features are off.
func findEngines(t *testing.T) {
	r := wasm.Check(t.Context(), compilePlain(t))
	if len(r.Problems) > 0 || r.Measurements == nil || r.Measurements.Compared < 50 {
		t.Errorf("complaints %q, trial %+v", r.Problems, r.Measurements)
	}
	engine := newEngine(t, wasm.Config{Instances: 1})
	for _, name := range []string{"simd", "atomics", "tail-call", "table-growth"} {
		if _, err := engine.Load(t.Context(), hostile(t, name)); err == nil || !strings.Contains(err.Error(),
			"not allowed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	module, _ := assemble(t, "score\nbyte 0x06 0x40\nend") // try
	if _, err := engine.Load(t.Context(), module); err == nil || !strings.Contains(err.Error(), "exceptions") {
		t.Errorf("exceptions: %v", err)
	}
}

// findBits: a card and its compiled module agree on every input, and compilation gives
// the same bytes on every machine.
func findBits(t *testing.T) {
	text, err := os.ReadFile("geo/geo-readiness-2.json")
	must(t, err)
	c, err := card.Parse(text)
	must(t, err)
	made, err := c.Compile()
	if err != nil || !bytes.Equal(made, geo.Module()) {
		t.Errorf("rebuilt it has %d bytes, committed are %d (%v)", len(made), len(geo.Module()), err)
	}
	m := load(t, newEngine(t, wasm.Config{Instances: 1}), made)
	r := rand.New(rand.NewPCG(12, 12))
	values, states, _ := defaultInputs()
	var got abi.Result
	for range 5000 { // wasm/geo tests 100,000 more
		anyInputs(r, values, states)
		must(t, m.Score(t.Context(), values, states, &got))
		if diff := cmp.Diff(c.Eval(values, states), got); diff != "" {
			t.Fatalf("values %v, states %v: (-card +module)\n%s", values, states, diff)
		}
	}
}
