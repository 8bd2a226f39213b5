package wasm_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// hostileFixtures reads the names and texts of testdata/hostile.
func hostileFixtures(t testing.TB) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/hostile/*.txt")
	if err != nil || len(paths) < 40 {
		t.Fatalf("%d fixtures, %v", len(paths), err)
	}
	all := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".txt")] = string(text)
	}
	return all
}

// TestHostileCorpus loads every fixture. What it wants is one of
//
//	refused TEXT   it is not loaded, and a reason says TEXT
//	stopped KIND   it is loaded; its call ends by that fault, also beside the collector
//	same           it is loaded; its calls are all alike
func TestHostileCorpus(t *testing.T) {
	for name, text := range hostileFixtures(t) {
		t.Run(name, func(t *testing.T) {
			module, want := assemble(t, text)
			verb, rest, _ := strings.Cut(want, " ")
			m, err := newEngine(t, wasm.Config{Instances: 2}).Load(t.Context(), module)
			if verb == "refused" {
				if err == nil || !strings.Contains(err.Error(), rest) {
					t.Errorf("got error %v, want one with %q", err, rest)
				}
				if r := wasm.Check(t.Context(), module); len(r.Problems) == 0 {
					t.Error("check does not complain")
				}
				return
			}
			if err != nil {
				t.Fatalf("not loaded: %v", err)
			}
			if verb == "same" {
				rest = ""
			}
			for range 3 {
				if got := run(t, m, []int64{trigger}, []byte{1}); string(got.Kind) != rest {
					t.Errorf("fault %q, want %q", got.Kind, rest)
				}
			}
			besideCollector(t, m)
			var out abi.Result
			if err := m.Score(t.Context(), []int64{1}, []byte{1}, &out); err != nil || out.Score != abi.NoScore {
				t.Errorf("the call after it: score %d, error %v", out.Score, err)
			}
		})
	}
}

// besideCollector runs a call during continuous garbage collections, which must stop
// every goroutine: compiled code that never yields would block both.
func besideCollector(t testing.TB, m *wasm.Module) {
	var stop atomic.Bool
	var collector sync.WaitGroup
	running := make(chan struct{})
	collector.Go(func() {
		for first := true; first || !stop.Load(); first = false {
			if first {
				close(running)
			}
			runtime.GC()
		}
	})
	<-running
	run(t, m, []int64{trigger}, []byte{1})
	stop.Store(true)
	collector.Wait()
}

// FuzzLoad tests the validator, the rewriter and the engine with arbitrary bytes:
// nothing panics, and a module that loads returns a result or is stopped.
func FuzzLoad(f *testing.F) {
	for _, text := range hostileFixtures(f) {
		if module, _ := assemble(f, text); len(module) < 4<<10 {
			f.Add(codeOf(module))
		}
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		engine, err := wasm.New(wasm.Config{Instances: 1})
		if err != nil {
			t.Fatal(err)
		}
		m, err := engine.Load(t.Context(), stamp(t, bytes.Clone(code), 1))
		if err != nil {
			return
		}
		run(t, m, []int64{trigger}, []byte{1})
		if err := engine.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// codeOf returns a module without the sections that stamp appends.
func codeOf(module []byte) []byte {
	at := bytes.Index(module, []byte(abi.SectionManifest))
	for at > 0 && !(module[at] == 0 && at+6 > bytes.Index(module, []byte(abi.SectionManifest))-6) {
		at--
	}
	return module[:max(at, 0)]
}
