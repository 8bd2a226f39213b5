package author

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/wasmtest"
	"github.com/fieldmark/fieldmark/origin/playground"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
	"github.com/fieldmark/fieldmark/wasm/examples"
)

// playInto plays an input and decodes its result. It returns the mistakes of a card.
func playInto(t *testing.T, into any, in playground.Input) []fieldmark.FieldError {
	t.Helper()
	p, err := play(t.Context(), in)
	must(t, err)
	if len(p.Mistakes) == 0 {
		must(t, json.Unmarshal(p.Result, into))
	}
	return p.Mistakes
}

// exampleCard is the card of a new project.
func exampleCard(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "project")
	must(t, examples.Write("card", folder))
	return readFile(t, folder, "card.json")
}

// TestPlayCard: the playground compiles a card as `module build` does, checks it as `module check` does, and a
// mistake in JSON or YAML has its line.
func TestPlayCard(t *testing.T) {
	text := exampleCard(t)
	parsed, err := card.Parse([]byte(text))
	must(t, err)
	built, err := parsed.Compile()
	must(t, err)
	var r playground.Report
	if m := playInto(t, &r, playground.Input{Kind: playground.KindCardJSON, Body: []byte(text)}); m != nil {
		t.Fatalf("mistakes %v", m)
	}
	if string(r.Module) != string(built) || len(r.Problems) > 0 || r.Card == "" {
		t.Errorf("module of %d bytes, want %d; problems %v", len(r.Module), len(built), r.Problems)
	}
	if again, err := card.Parse([]byte(r.Card)); err != nil {
		t.Error(err)
	} else if module, err := again.Compile(); err != nil || string(module) != string(built) {
		t.Errorf("the formatted card compiles to another module: %v", err)
	}
	var check wasm.Report
	must(t, json.Unmarshal(r.Check, &check))
	if check.Measurements == nil || check.Measurements.WorstFuel == 0 {
		t.Errorf("the check has no measurements: %s", r.Check)
	}
	const yaml = "name: one\nversion: 1.0.0\nmethodology: {id: one, version: '1.0', url: /m}\nauthor: A\n" +
		"licence: MIT\ninputs:\n- {name: made.up, unit: words, direction: down}\ncomponents:\n- id: all\n" +
		"  label: All\n  weight: %s\n  signals:\n  - {id: all.one, label: One, points: 100, advice: Do., " +
		"combine: mean, parts: [{input: made.up, curve: {linear: [[0, 0], [1, 1]]}}]}\ngates: []\n"
	m := playInto(t, &r, playground.Input{Kind: playground.KindCardYAML, Body: fmt.Appendf(nil, yaml, "90")})
	want := []fieldmark.FieldError{{Pointer: "/components/0/weight", Code: "format", Line: 11, Column: 11,
		Detail: "components[0].weight is 90, its signals add up to 100"}}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("mistakes (-want +got)\n%s", diff)
	}
	for _, tt := range []struct {
		kind playground.Kind
		text string
		line int
	}{
		{playground.KindCardYAML, "name: one\nversion: [", 2},
		{playground.KindCardJSON, "{\n\"name\": \"one\",\n\"version\" 1}", 3},
		{playground.KindCardJSON, "{\n\"wieght\": 1}", 2},
		{playground.KindCardJSON, "", 1},
	} {
		if m := playInto(t, &r, playground.Input{Kind: tt.kind, Body: []byte(tt.text)}); len(m) == 0 ||
			m[0].Line != tt.line || m[0].Detail == "" {
			t.Errorf("%s %q: mistakes %+v, want one in line %d", tt.kind, tt.text, m, tt.line)
		}
	}
	// The check finds that the score grows against the declared direction, and that no audit has the input.
	if m := playInto(t, &r, playground.Input{Kind: playground.KindCardYAML,
		Body: fmt.Appendf(nil, yaml, "100")}); m != nil {
		t.Fatalf("mistakes %v", m)
	}
	for _, of := range []string{"is declared down", "no audit measures it"} {
		if !slices.ContainsFunc(r.Problems, func(f playground.Finding) bool {
			return strings.Contains(f.Detail, of) && f.Line == 7
		}) {
			t.Errorf("no problem in line 7 says %q: %+v", of, r.Problems)
		}
	}
}

// TestPlayModule: the report of a module is that of a check, its metered form counts the fuel of an edge, and
// a call that fails has the functions and places where it did.
func TestPlayModule(t *testing.T) {
	module, _ := wasmtest.Example(t, "c")
	var r playground.Report
	playInto(t, &r, playground.Input{Kind: playground.KindModule, Body: module})
	if len(r.Problems) > 0 || len(r.Metered) == 0 || len(r.Module) > 0 {
		t.Errorf("problems %v, metered form of %d bytes", r.Problems, len(r.Metered))
	}
	parsed, err := abi.Parse(module)
	must(t, err)
	v := parsed.Vectors[0]
	var call playground.Call
	playInto(t, &call, playground.Input{Kind: playground.KindCall, Body: module, Values: v.Values, States: v.States})
	if call.Fault != nil || call.Fuel == 0 {
		t.Errorf("a golden vector: %+v", call)
	}
	playInto(t, &call, playground.Input{Kind: playground.KindCall, Body: module})
	if call.Fault == nil || !strings.Contains(call.Fault.Detail, "inputs") {
		t.Errorf("a call without inputs: %+v", call.Fault)
	}
	r = playground.Report{}
	playInto(t, &r, playground.Input{Kind: playground.KindModule, Body: []byte("no module")})
	if len(r.Problems) == 0 || len(r.Metered) > 0 {
		t.Errorf("no module: problems %v", r.Problems)
	}
	for value, want := range map[int64]string{1: "trap divide failing.c:5:", 2: "fuel spin ", 3: "depth deeper "} {
		playInto(t, &call, playground.Input{Kind: playground.KindCall, Body: wasmtest.Failing(t, true),
			Values: []int64{1000 * value}, States: "1"})
		got := call.Fault.Kind
		if len(call.Fault.Stack) > 0 {
			got += " " + call.Fault.Stack[0].Function + " " + call.Fault.Stack[0].Source
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("input %d: %s, want %s", value, got, want)
		}
	}
}
