package examples_test

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/wasmtest"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// column is that of a place, in which versions of the compiler differ.
var column = regexp.MustCompile(`(:\d+):\d+\)`)

// TestTrace compiles a scorer in C with its debugging information and wants the functions and the lines
// of each fault. A module that was packed without it has only the indices of its functions.
func TestTrace(t *testing.T) {
	for _, debug := range []bool{true, false} {
		m := loadFailing(t, wasmtest.Failing(t, debug))
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
	module := wasmtest.Failing(t, true)
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
