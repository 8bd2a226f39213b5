package wasmtest

import (
	"os"
	"os/exec"
	"path/filepath"
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

// Failing returns a module in C that passes every check of its vectors and fails for an input of 1 to 6: it divides
// by zero in line 5 of failing.c, loops, recurses, writes outside of its memory, traps, or declines. With debug it
// has names and debugging information. The test fails without clang.
func Failing(t *testing.T, debug bool) []byte {
	t.Helper()
	manifest := abi.Manifest{
		Name: "failing", Version: "1.0.0", ABI: abi.Name, Author: "Nobody", Licence: "MIT",
		Methodology: fieldmark.Methodology{ID: "failing", Version: "1.0", URL: "/failing"},
		Inputs:      []abi.Input{{Name: "a", Unit: "count", Direction: abi.None}},
		Components: []abi.Component{{ID: "c", Label: "C", Weight: 100, Signals: []abi.Signal{
			{ID: "c.s", Label: "S", Points: 100, Inputs: []string{"a"}, Unit: "count", Advice: "None."}}}},
	}
	var vectors []abi.Vector
	// Values below 1 choose no failure, so every vector passes.
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
	// Debian names it by its version, and other systems do not.
	compiler := "clang-19"
	if _, err := exec.LookPath(compiler); err != nil {
		compiler = "clang"
	}
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "failing.c"), []byte(failing), 0o600))
	// -O1 keeps the functions apart; the prefix map keeps the temporary folder out of the debugging information.
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
