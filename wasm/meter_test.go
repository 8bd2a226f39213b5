package wasm_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"

	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// anyProgram writes a fixture with random control flow: loops that may not end, calls
// in every direction, bulk instructions, globals and memory.
func anyProgram(r *rand.Rand) string {
	var s script
	functions := 1 + r.IntN(4)
	s.add("global %d", r.IntN(5))
	s.add("global %d", r.Int32())
	s.add("table 8")
	s.add("elem 2 2 %d", 1+functions)
	write := func() {
		s.add("locals 3")
		anyCode(&s, r, functions, 0)
	}
	s.add("score")
	write()
	for range functions {
		s.add("func")
		write()
	}
	return s.String()
}

// anyCode writes statements that leave the stack unchanged.
func anyCode(s *script, r *rand.Rand, functions, depth int) {
	value := func() {
		switch r.IntN(4) {
		case 0:
			s.add("local.get %d", r.IntN(3))
		case 1:
			s.add("global.get %d", r.IntN(2))
		case 2:
			s.add("i32.const %d\ni64.load", 2048+8*r.IntN(100))
		default:
			s.add("i64.const %d", r.IntN(2000)-1000)
		}
	}
	for range 1 + r.IntN(4) {
		kind := r.IntN(12)
		if depth > 4 && kind < 4 {
			kind = 11
		}
		switch kind {
		case 0: // may run long
			s.add("loop")
			anyCode(s, r, functions, depth+1)
			s.add("local.get %d\ni64.const 1\ni64.sub\nlocal.tee %[1]d\ni64.const 0\ni64.ne\nbr_if 0\nend", r.IntN(3))
		case 1: // ends after some rounds
			s.add("i64.const %d\nlocal.set 2\nloop\nlocal.get 2\ni64.eqz\nif\nelse\nlocal.get 2\ni64.const "+
				"1\ni64.sub\nlocal.set 2", r.IntN(50))
			anyCode(s, r, functions, depth+1)
			s.add("br 1\nend\nend")
		case 2:
			value()
			s.add("i64.eqz\nif")
			anyCode(s, r, functions, depth+1)
			s.add("else")
			anyCode(s, r, functions, depth+1)
			s.add("end")
		case 3:
			s.add("block")
			anyCode(s, r, functions, depth+1)
			value()
			s.add("i32.wrap_i64\nbr_table 5")
			s.add("end")
		case 4:
			s.add("call %d", 2+r.IntN(functions))
		case 5:
			s.add("i32.const %d\ncall_indirect", r.IntN(4))
		case 6:
			s.add("i32.const %d\ni32.const %d\ni32.const %d\nmemory.fill", 2048+r.IntN(1000), r.IntN(256),
				r.IntN(70_000))
		case 7:
			s.add("i32.const %d\ni32.const %d\ni32.const %d\nmemory.copy", 2048+r.IntN(1000), r.IntN(4000),
				r.IntN(3000))
		case 8:
			value()
			s.add("global.set %d", r.IntN(2))
		case 9:
			s.add("i32.const %d", 2048+8*r.IntN(100))
			value()
			s.add("i64.store")
		case 10:
			value()
			value()
			s.add("i64.div_s\ndrop")
		default:
			value()
			value()
			s.add("i64.xor\nlocal.set %d", r.IntN(3))
		}
	}
}

// outcome contains every result in which two calls may differ.
type outcome struct {
	Kind  wasm.FaultKind
	Fuel  int64
	Score int32
	Marks []int32
}

func run(t testing.TB, m *wasm.Module, values []int64, states []byte) outcome {
	t.Helper()
	var out abi.Result
	fuel, err := m.Measure(t.Context(), values, states, &out)
	o := outcome{Fuel: fuel}
	if fault, ok := errors.AsType[*wasm.Fault](err); ok {
		o.Kind = fault.Kind
	} else if err != nil {
		t.Fatal(err)
	} else {
		o.Score, o.Marks = out.Score, slices.Clone(out.Marks)
	}
	return o
}

// TestMeterIsDeterministic runs random programs several times with both engines. They
// must stop, with exactly the same fuel and outcome.
func TestMeterIsDeterministic(t *testing.T) {
	compiler, interpreter := newEngine(t, wasm.Config{Instances: 1}), newEngine(t, wasm.Config{Instances: 1,
		Interpret: true})
	kinds := map[wasm.FaultKind]int{}
	for seed := range uint64(100) {
		text := anyProgram(rand.New(rand.NewPCG(seed, 1)))
		module, _ := assemble(t, text)
		fast, slow := load(t, compiler, module), load(t, interpreter, module)
		var first outcome
		for i := range 3 {
			got, want := run(t, fast, []int64{trigger}, []byte{1}), run(t, slow, []int64{trigger}, []byte{1})
			if i == 0 {
				first = want
				kinds[want.Kind]++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, call %d: (-interpreter +compiler)\n%s\n%s", seed, i, diff, text)
			}
			if diff := cmp.Diff(first, got); diff != "" {
				t.Fatalf("seed %d: (-first call +call %d)\n%s\n%s", seed, i, diff, text)
			}
		}
		for _, m := range []*wasm.Module{fast, slow} {
			if err := m.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("outcomes: %v", kinds)
	if kinds[""] < 10 || kinds[wasm.FaultFuel] < 10 || kinds[wasm.FaultDepth] < 5 || kinds[wasm.FaultTrap] < 5 {
		t.Errorf("too few of a kind: %v", kinds)
	}
}

// TestFuelIsPredictable compares the fuel that the rewriter charges with a count by
// hand.
func TestFuelIsPredictable(t *testing.T) {
	engine := newEngine(t, wasm.Config{Instances: 1})
	empty, _ := assemble(t, "score\n")
	base := run(t, load(t, engine, empty), []int64{trigger}, []byte{1}).Fuel
	for _, tt := range []struct {
		name, code string
		want       int64
	}{
		{"an instruction", "score\nnop", 1},
		{"both branches", "score\ni32.const 1\nif\nnop\nelse\nnop\nnop\nend", 7},
		{"a loop of ten rounds",
			"score\nlocals 1\ni64.const 10\nlocal.set 0\nloop\nlocal.get 0\ni64.const 1\ni64.sub\nlocal.tee " +
				"0\ni64.const 0\ni64.ne\nbr_if 0\nend", 2 + 1 + 10*9},
		{"a call", "score\ncall 2\nfunc\nnop", 1 + 4 + 2},
		{"a fill of 8,000 bytes", "score\ni32.const 2048\ni32.const 0\ni32.const 8000\nmemory.fill", 4 + 8 + 1000},
		{"memory.grow", "score\ni32.const 0\nmemory.grow\ndrop", 3 + 1000},
	} {
		module, _ := assemble(t, tt.code)
		if got := run(t, load(t, engine, module), []int64{trigger}, []byte{1}).Fuel - base; got != tt.want {
			t.Errorf("%s: %d units, want %d", tt.name, got, tt.want)
		}
	}
}

// TestStateIsReset runs modules that return no score if they find data of an earlier
// call.
func TestStateIsReset(t *testing.T) {
	for name, code := range map[string]string{
		"global": "global 5\nscore\nglobal.get 0\ni64.const 5\ni64.ne\nif\nunreachable\nend\ni64.const " +
			"6\nglobal.set 0",
		"memory": "score\ni32.const 4096\ni32.load\nif\nunreachable\nend\ni32.const 4096\ni32.const 1\ni32.store",
		"after init": "global 5\ninit\ni64.const 7\nglobal.set 0\nscore\nglobal.get 0\ni64.const " +
			"7\ni64.ne\nif\nunreachable\nend\ni64.const 6\nglobal.set 0",
		"its answer": "score\ni32.const 1024\ni32.load\ni32.const -1\ni32.ne\nif\nunreachable\nend\ni32.const " +
			"1020\ni64.const -1\ni64.store",
	} {
		module, _ := assemble(t, code)
		for _, interpret := range []bool{false, true} {
			m := load(t, newEngine(t, wasm.Config{Instances: 1, Interpret: interpret}), module)
			for i := range 3 {
				if got := run(t, m, []int64{trigger}, []byte{1}); got.Kind != "" {
					t.Errorf("%s, interpreter %t, call %d: %s", name, interpret, i, got.Kind)
				}
			}
		}
	}
}

// unmetered runs a module without rewriting, with the engine only.
func unmetered(t testing.TB, module []byte, interpret bool, values []int64, states []byte) outcome {
	t.Helper()
	config := wazero.NewRuntimeConfig()
	if interpret {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	rt := wazero.NewRuntimeWithConfig(t.Context(), config)
	defer func() { must(t, rt.Close(context.Background())) }()
	m, err := rt.Instantiate(t.Context(), module)
	must(t, err)
	call := func(name string) uint32 {
		result, err := m.ExportedFunction(name).Call(t.Context())
		must(t, err)
		return uint32(result[0])
	}
	input := abi.AppendInput(nil, values, states)
	if !m.ExportedMemory(abi.ExportMemory).Write(call(abi.ExportInput), input) {
		t.Fatal("inputs beyond the memory")
	}
	at := call(abi.ExportScore)
	memory, _ := m.ExportedMemory(abi.ExportMemory).Read(0, m.ExportedMemory(abi.ExportMemory).Size())
	var out abi.Result
	must(t, abi.DecodeResult(&out, memory, at, 1))
	return outcome{Score: out.Score, Marks: out.Marks}
}

// FuzzProgram runs random programs: both engines stop in the same way, and a program
// that ends has the same result as without a meter.
func FuzzProgram(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		text := anyProgram(rand.New(rand.NewPCG(seed, 2)))
		module, _ := assemble(t, text)
		var got [2]outcome
		for i, interpret := range []bool{false, true} {
			m := load(t, newEngine(t, wasm.Config{Instances: 1, Interpret: interpret}), module)
			got[i] = run(t, m, []int64{trigger}, []byte{1})
		}
		if diff := cmp.Diff(got[1], got[0]); diff != "" {
			t.Errorf("(-interpreter +compiler)\n%s\n%s", diff, text)
		}
		if got[0].Kind != "" {
			return // without a meter it may not stop
		}
		for _, interpret := range []bool{false, true} {
			plain := unmetered(t, module, interpret, []int64{trigger}, []byte{1})
			plain.Fuel = got[0].Fuel
			if diff := cmp.Diff(plain, got[0]); diff != "" {
				t.Errorf("interpreter %t (-unmetered +metered)\n%s\n%s", interpret, diff, text)
			}
		}
	})
}
