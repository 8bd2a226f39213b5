package wasm_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

func TestCheckOfTheBuiltIn(t *testing.T) {
	start := time.Now()
	r := wasm.Check(t.Context(), geo.Module())
	t.Logf("%s: %+v", time.Since(start), r.Measurements)
	if len(r.Problems) > 0 {
		t.Fatalf("complaints: %q", r.Problems)
	}
	if r.Manifest.Name != "geo-readiness" || r.Vectors < 10 || len(r.Imports) != 0 || !slices.Contains(r.Exports,
		"scorer_v1_score") {
		t.Errorf("got %+v", r)
	}
	if tr := r.Measurements; tr.Compared < 100 || tr.Directions < 1000 || tr.WorstFuel < tr.Fuel ||
		tr.WorstShare <= 0 || tr.WorstShare > 1 {
		t.Errorf("got %+v", tr)
	}
	inspected := wasm.Inspect(t.Context(), geo.Module())
	if inspected.Measurements != nil || inspected.Digest != r.Digest || len(inspected.Problems) > 0 {
		t.Errorf("inspected: %+v", inspected)
	}
	for _, l := range r.Limits {
		if l.Used > l.Max || l.Max == 0 {
			t.Errorf("limit %+v", l)
		}
	}
}

// TestCheckReportsProblems checks modules that load but must not be activated, and the
// problem reported for each.
func TestCheckReportsProblems(t *testing.T) {
	sometimes := func(code string) []byte { // runs code for every input above 100
		module, _ := assemble(t, code)
		return bytes.Replace(module, []byte{0x29, 3, 16, 0x42, 0x89, 0x06, 0x51, 0x04, 0x40},
			[]byte{0x29, 3, 16, 0x42, 0xe4, 0x00, 0x55, 0x04, 0x40}, 1)
	}
	for _, tt := range []struct {
		name   string
		module []byte
		want   []string
	}{
		{"traps", sometimes("score\nunreachable\nunreachable"), []string{"trap"}},
		{"endless", sometimes("score\nloop\nbr 0\nend"), []string{"fuel: used more than"}},
		{"nested", sometimes("score\ncall 2\nfunc\ncall 2"), []string{"depth"}},
		{"declines", sometimes("score\ni32.const 0\nreturn"), []string{"declined"}},
		{"broken everywhere", []byte("\x00asm\x01\x00\x00\x00"), []string{"no memory",
			"no exported function scorer_v1_score", "scorer.manifest", "scorer.vectors"}},
		{"no module", []byte("(module)"), []string{"not a WebAssembly module"}},
	} {
		r := wasm.Check(t.Context(), tt.module)
		all := strings.Join(r.Problems, "\n")
		for _, want := range tt.want {
			if !strings.Contains(all, want) {
				t.Errorf("%s: no complaint with %q in:\n%s", tt.name, want, all)
			}
		}
	}
}

// TestCheckMovesInputs checks that a module is rejected if its scores contradict the
// declared direction of an input.
func TestCheckMovesInputs(t *testing.T) {
	down := strings.Replace(plain, `"direction": "up"`, `"direction": "down"`, 1)
	r := wasm.Check(t.Context(), compileCard(t, down))
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "input a is declared down, but from") {
		t.Errorf("complaints: %q", r.Problems)
	}
}
