package extism_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	extism "github.com/extism/go-sdk"

	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// imports are the functions of Extism's kernel that the plugin needs; wat names
// them so that no function of the module changes its number.
const imports = `
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u64" (func $input_load_u64 (param i64) (result i64)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
`

// plugin is the code of the built-in with what makes a plugin of it.
func plugin(t testing.TB) []byte {
	t.Helper()
	cache, err := os.UserCacheDir()
	must(t, err)
	tools := filepath.Join(cache, "fieldmark-npm", "wat", "node_modules", ".bin")
	if _, err := os.Stat(tools); err != nil {
		t.Fatal("wabt is not there; go test ./wasm -run HandWritten installs it")
	}
	dir := t.TempDir()
	run := func(tool string, args ...string) []byte {
		command := exec.Command(filepath.Join(tools, tool), args...)
		command.Dir = dir
		out, err := command.Output()
		must(t, err)
		return out
	}
	must(t, os.WriteFile(filepath.Join(dir, "geo.wasm"), geo.Module(), 0o644))
	text := string(run("wasm2wat", "--generate-names", "geo.wasm"))
	glue, err := os.ReadFile("plugin.wat")
	must(t, err)
	text = strings.Replace(text, "(module", "(module"+imports, 1)
	text = text[:strings.LastIndex(text, ")")] + string(glue) + ")\n"
	must(t, os.WriteFile(filepath.Join(dir, "plugin.wat"), []byte(text), 0o644))
	run("wat2wasm", "plugin.wat", "-o", "plugin.wasm")
	code, err := os.ReadFile(filepath.Join(dir, "plugin.wasm"))
	must(t, err)
	return code
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inputs are a site of which everything is known.
func inputs() (values []int64, states []byte) {
	n := len(geo.Card().Manifest().Inputs)
	values, states = make([]int64, n), slices.Repeat([]byte{abi.StateMeasured}, n)
	for i := range values {
		values[i] = int64(500 + i)
	}
	return values, states
}

// cost is what calls took of processors and of memory.
type cost struct{ nanoseconds, bytes float64 }

// measure runs each call rounds times in turns and keeps what it cost at best:
// all threads of the process, the garbage collector's included.
func measure(b *testing.B, calls int, run ...func()) []cost {
	best := make([]cost, len(run))
	for range 7 {
		for i, fn := range run {
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := processor(b)
			for range calls {
				fn()
			}
			runtime.GC()
			took := processor(b) - began
			runtime.ReadMemStats(&after)
			c := cost{took / float64(calls), float64(after.TotalAlloc-before.TotalAlloc) / float64(calls)}
			if best[i].nanoseconds == 0 || c.nanoseconds < best[i].nanoseconds {
				best[i] = c
			}
		}
	}
	return best
}

// processor is the time all threads of this process have had, in nanoseconds.
func processor(b *testing.B) float64 {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkExtism scores the same inputs by the same code twice: as a scoring
// module of Fieldmark, metered, reset and checked; and as an Extism plugin in one
// instance that is kept, without limits, which is what that does fastest.
func BenchmarkExtism(b *testing.B) {
	ctx := context.Background()
	values, states := inputs()
	input := abi.AppendInput(nil, values, states)
	for len(input)%8 > 0 {
		input = append(input, 0)
	}
	want := geo.Card().Eval(values, states)

	engine, err := wasm.New(wasm.Config{Instances: 1})
	must(b, err)
	module, err := engine.Load(ctx, geo.Module())
	must(b, err)
	defer func() { must(b, engine.Close(ctx)) }()
	manifest := extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: plugin(b)}}}
	other, err := extism.NewPlugin(ctx, manifest, extism.PluginConfig{}, nil)
	must(b, err)
	defer func() { must(b, other.Close(ctx)) }()

	var ours, theirs abi.Result
	scoreOurs := func() { must(b, module.Score(ctx, values, states, &ours)) }
	scoreTheirs := func() {
		_, out, err := other.Call("score", input)
		must(b, err)
		must(b, abi.DecodeResult(&theirs, append(make([]byte, 8), out...), 8, len(want.Marks)))
	}
	scoreOurs()
	scoreTheirs()
	for name, got := range map[string]abi.Result{"module": ours, "plugin": theirs} {
		if got.Score != want.Score || got.Gates != want.Gates || !slices.Equal(got.Marks, want.Marks) {
			b.Fatalf("%s: got %v, want %v", name, got, want)
		}
	}
	for b.Loop() {
		c := measure(b, 2000, scoreOurs, scoreTheirs)
		b.ReportMetric(c[0].nanoseconds, "module-cpu-ns")
		b.ReportMetric(c[1].nanoseconds, "extism-cpu-ns")
		b.ReportMetric(c[1].nanoseconds/c[0].nanoseconds, "x-cpu")
		b.ReportMetric(c[0].bytes, "module-bytes")
		b.ReportMetric(c[1].bytes, "extism-bytes")
		b.ReportMetric(c[1].bytes/max(c[0].bytes, 1), "x-garbage")
	}
}
