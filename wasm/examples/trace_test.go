package examples_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// failing is a scorer that fails in a way that its input selects. Line numbers are part of the test.
const failing = `typedef long long i64;
static struct { i64 value; unsigned char state; } in;
static int out[] = {-1, 0, 1, 0, -2, 0}; static volatile int zero;
__attribute__((noinline)) static void divide(int a) {
  zero = a / zero;
}
__attribute__((noinline)) static void spin(int a) {
  for (;;) zero += a++;
}
__attribute__((noinline)) static void deeper(int a) {
  deeper(a + 1); zero = a;
}
__attribute__((noinline)) static void escape(int a) {
  *(volatile int *)(65536 - a) = 1;
}
__attribute__((export_name("scorer_v1_input"))) void *input(void) { return &in; }
__attribute__((export_name("scorer_v1_score"))) void *score(void) {
  switch ((int)(in.value / 1000)) {
  case 1: divide(7); break;
  case 2: spin(7); break;
  case 3: deeper(7); break;
  case 4: escape(0); break;
  case 5: __builtin_trap();
  case 6: return 0;
  }
  return out;
}
`

// column is that of a place, in which versions of the compiler differ.
var column = regexp.MustCompile(`(:\d+):\d+\)`)

// TestTrace compiles a scorer in C with its debugging information and wants the functions and the lines
// of each fault. A module that was packed without it has only the indices of its functions.
func TestTrace(t *testing.T) {
	for _, debug := range []bool{true, false} {
		m := loadFailing(t, packFailing(t, debug))
		for value, want := range map[int64]struct {
			kind  wasm.FaultKind
			stack string // with debugging information
		}{
			1: {wasm.FaultTrap, "divide (failing.c:5), called by score (failing.c:19)"},
			2: {wasm.FaultFuel, "spin, called by score"},
			3: {wasm.FaultDepth, "deeper, called by deeper, called by deeper, called by deeper, called by deeper"},
			4: {wasm.FaultTrap, "escape (failing.c:14), called by score (failing.c:22)"},
			5: {wasm.FaultTrap, "score (failing.c:23)"},
			6: {wasm.FaultDeclined, ""},
		} {
			fault := m.fail(t, value)
			_, stack, _ := strings.Cut(fault.Error(), ", in ")
			stack = column.ReplaceAllString(stack, "$1)")
			if fault.Kind != want.kind || debug && stack != want.stack {
				t.Errorf("input %d: %v; want %s in %s", value, fault, want.kind, want.stack)
			}
			indices := strings.ReplaceAll(stack, "called by ", "")
			if !debug && strings.Trim(indices, "$0123456789, ") != "" {
				t.Errorf("input %d: stack %q of a module without names", value, stack)
			}
		}
	}
}

// TestTraceOfDamagedModule changes bytes of the names and of the debugging information, which are the
// author's: a fault keeps its kind, and at most its place is missing.
func TestTraceOfDamagedModule(t *testing.T) {
	module := packFailing(t, true)
	first := bytes.Index(module, []byte(".debug_"))
	last := bytes.Index(module, []byte(abi.SectionManifest))
	if first < 0 || last < first {
		t.Fatalf("debugging information at %d to %d of %d bytes", first, last, len(module))
	}
	const tries = 150
	for i := range tries {
		damaged := bytes.Clone(module)
		damaged[first+i*(last-first)/tries] ^= 0xff
		if _, err := wasm.Ref(damaged); err != nil {
			continue // the length of a section
		}
		if fault := loadFailing(t, damaged).fail(t, 1); fault.Kind != wasm.FaultTrap {
			t.Errorf("byte %d: %v", first+i*(last-first)/tries, fault)
		}
	}
}

// failingModule is failing, loaded with traces.
type failingModule struct{ *wasm.Module }

func loadFailing(t *testing.T, module []byte) failingModule {
	t.Helper()
	engine, err := wasm.New(wasm.Config{Instances: 1, Trace: true})
	must(t, err)
	t.Cleanup(func() { must(t, engine.Close(context.Background())) })
	m, err := engine.Load(t.Context(), module)
	must(t, err)
	return failingModule{m}
}

// fail calls the module with an input for which it fails.
func (m failingModule) fail(t *testing.T, value int64) *wasm.Fault {
	t.Helper()
	var out abi.Result
	err := m.Score(t.Context(), []int64{value * 1000}, []byte{abi.StateMeasured}, &out)
	fault, ok := errors.AsType[*wasm.Fault](err)
	if !ok {
		t.Fatalf("input %d: %v; want a fault", value, err)
	}
	return fault
}

// packFailing compiles failing and adds a manifest, and vectors that do not fail.
func packFailing(t *testing.T, debug bool) []byte {
	t.Helper()
	manifest := abi.Manifest{
		Name: "failing", Version: "1.0.0", ABI: abi.Name, Author: "Nobody", Licence: "MIT",
		Methodology: fieldmark.Methodology{ID: "failing", Version: "1.0", URL: "/failing"},
		Inputs:      []abi.Input{{Name: "a", Unit: "count", Direction: abi.None}},
		Components: []abi.Component{{ID: "c", Label: "C", Weight: 100, Signals: []abi.Signal{
			{ID: "c.s", Label: "S", Points: 100, Inputs: []string{"a"}, Unit: "count", Advice: "None."}}}},
	}
	var vectors []abi.Vector
	for i := range abi.MinVectors {
		vectors = append(vectors, abi.Vector{Values: []int64{int64(i)}, States: "1", Score: abi.NoScore,
			Marks: []int32{abi.MarkUnknown}})
	}
	module, err := wasm.Pack(compileFailing(t), manifest, vectors, debug)
	must(t, err)
	return module
}

// compileFailing compiles failing with names and line numbers.
func compileFailing(t *testing.T) []byte {
	t.Helper()
	compiler := "clang-19"
	if _, err := exec.LookPath(compiler); err != nil {
		compiler = "clang"
	}
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "failing.c"), []byte(failing), 0o600))
	cmd := exec.Command(compiler, "--target=wasm32", "-mcpu=mvp", "-O1", "-g", "-fdebug-prefix-map="+folder+"=.",
		"-nostdlib", "-ffreestanding", "-Wl,--no-entry", "-Wl,-z,stack-size=8192", "-Wl,--initial-memory=65536",
		"-Wl,--max-memory=65536", "-o", "failing.wasm", "failing.c")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compile: %v\n%s", err, out)
	}
	module, err := os.ReadFile(filepath.Join(folder, "failing.wasm"))
	must(t, err)
	return module
}
