package card_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// one returns a card with a single signal and the given combine, parts and gates. Its
// inputs are a, b and c.
func one(combine, parts, gates string) string {
	return fmt.Sprintf(`{
		"name": "one", "version": "1.0.0",
		"methodology": {"id": "one", "version": "1.0", "url": "/methodology"},
		"author": "Somebody", "licence": "MIT",
		"inputs": [{"name": "a", "unit": "words", "direction": "none"}, {"name": "b", "unit": "words", "direction": `+
		`"none"}, {"name": "c", "unit": "words", "direction": "none"}],
		"components": [{"id": "all", "label": "All", "weight": 100, "signals": [
			{"id": "all.one", "label": "One", "points": 100, "advice": "Do.", "combine": %q, "parts": [%s]}
		]}],
		"gates": [%s]
	}`, combine, parts, gates)
}

// anyGate uses the inputs that a test does not need, because every input must be used.
const anyGate = `{"id": "g", "limit": 0, "reason": "Why.", "when": {"any": [
	{"input": "a", "op": "gt", "value": 9999}, {"input": "b", "op": "gt", "value": 9999}, {"input": "c", "op": "gt",` +
	` "value": 9999}]}}`

func parse(t testing.TB, text string) *card.Card {
	t.Helper()
	c, err := card.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	u = abi.StateUnknown
	m = abi.StateMeasured
	n = abi.StateNotApplicable
)

func TestCurves(t *testing.T) {
	line := `{"input": "a", "curve": {"linear": [[50, 0], [300, 1]]}}`
	falling := `{"input": "a", "curve": {"linear": [[800, 1], [3000, 0]]}}`
	bent := `{"input": "a", "curve": {"linear": [[-1, 0.5], [0, 0.5], [0.003, 1], [1, 0.2]]}}`
	steps := `{"input": "a", "curve": {"steps": [[90, 1], [180, 0.8], [365, 0.5], [730, 0.2]]}}`
	beyond := `{"input": "a", "curve": {"steps": [[0, 0.25]], "beyond": 1}}`
	for _, tt := range []struct {
		part  string
		value int64
		want  int32
	}{
		{line, -1 << 63, 0}, {line, 50_000, 0}, {line, 50_124, 0}, {line, 50_125, 1}, {line, 175_000, 500},
		{line, 299_874, 999}, {line, 299_875, 1000}, {line, 300_000, 1000}, {line, 1<<63 - 1, 1000},
		{falling, 0, 1000}, {falling, 800_000, 1000}, {falling, 801_100, 1000}, {falling, 801_101, 999},
		{falling, 1_900_000, 500}, {falling, 3_000_000, 0}, {falling, 9_000_000, 0},
		{bent, -5000, 500}, {bent, 0, 500}, {bent, 1, 667}, {bent, 2, 833}, {bent, 3, 1000}, {bent, 4, 999},
		{bent, 999, 201}, {bent, 1000, 200}, {bent, 1001, 200},
		{steps, -1, 1000}, {steps, 90_000, 1000}, {steps, 90_001, 800}, {steps, 180_000, 800}, {steps, 365_000, 500},
		{steps, 730_000, 200}, {steps, 730_001, 0},
		{beyond, 0, 250}, {beyond, 1, 1000},
	} {
		c := parse(t, one("mean", tt.part, anyGate))
		got := c.Eval([]int64{tt.value, 0, 0}, []byte{m, m, m})
		if got.Marks[0] != tt.want {
			t.Errorf("%s at %d thousandths: mark %d, want %d", tt.part, tt.value, got.Marks[0], tt.want)
		}
	}
}

func TestCombine(t *testing.T) {
	const share = `"curve": {"linear": [[0, 0], [1, 1]]}`
	mean := one("mean", `{"input": "a", "weight": 4, `+share+`}, {"input": "b", "weight": 2, `+share+
		`}, {"input": "c", `+share+`}`, anyGate)
	least := one("min", `{"input": "a", `+share+`}, {"input": "b", `+share+`}, {"input": "c", `+share+`}`, anyGate)
	for _, tt := range []struct {
		card   string
		values []int64
		states []byte
		want   int32
	}{
		{mean, []int64{1000, 1000, 1000}, []byte{m, m, m}, 1000},
		{mean, []int64{1000, 0, 0}, []byte{m, m, m}, 571}, // 4/7
		{mean, []int64{1, 1, 0}, []byte{m, m, m}, 1},      // 6/7 of a thousandth
		{mean, []int64{0, 1, 1}, []byte{m, m, m}, 0},      // 3/7
		{mean, []int64{500, 0, 1000}, []byte{m, n, m}, 600},
		{mean, []int64{500, 0, 0}, []byte{m, n, n}, 500},
		{mean, []int64{500, 0, 0}, []byte{m, u, m}, abi.MarkUnknown},
		{mean, []int64{500, 0, 0}, []byte{u, n, n}, abi.MarkUnknown},
		{mean, []int64{500, 0, 0}, []byte{n, n, n}, abi.MarkNotApplicable},
		{mean, []int64{500, 0, 0}, []byte{m, 9, m}, abi.MarkUnknown}, // no state at all
		{least, []int64{900, 800, 1000}, []byte{m, m, m}, 800},
		{least, []int64{900, 800, 1000}, []byte{m, n, m}, 900},
		{least, []int64{1000, 1000, 1000}, []byte{m, m, m}, 1000},
		{least, []int64{900, 0, 1000}, []byte{m, u, m}, abi.MarkUnknown},
		{least, []int64{900, 0, 1000}, []byte{n, n, n}, abi.MarkNotApplicable},
	} {
		got := parse(t, tt.card).Eval(tt.values, tt.states)
		if got.Marks[0] != tt.want {
			t.Errorf("%v %v: mark %d, want %d", tt.values, tt.states, got.Marks[0], tt.want)
		}
	}
}

func TestGates(t *testing.T) {
	part := `{"input": "a", "curve": {"linear": [[0, 0], [1, 1]]}}`
	gate := func(id, when string) string {
		return fmt.Sprintf(`{"id": %q, "limit": 10, "reason": "Why.", "when": %s}`, id, when)
	}
	c := parse(t, one("mean", part, strings.Join([]string{
		gate("less", `{"input": "a", "op": "lt", "value": 5}`),
		gate("equal", `{"input": "a", "op": "eq", "value": 5}`),
		gate("greater", `{"input": "a", "op": "gt", "value": 5}`),
		gate("joined", `{"all": [{"input": "a", "op": "eq", "value": 5}, {"any": [{"input": "b", "op": "eq", `+
			`"value": 0}, {"input": "c", "op": "eq", "value": 0}]}]}`),
	}, ", ")))
	for _, tt := range []struct {
		values []int64
		states []byte
		want   uint32
	}{
		{[]int64{4999, 1, 1}, []byte{m, m, m}, 0b0001},
		{[]int64{5000, 1, 1}, []byte{m, m, m}, 0b0010},
		{[]int64{5001, 1, 1}, []byte{m, m, m}, 0b0100},
		{[]int64{5000, 0, 1}, []byte{m, m, m}, 0b1010},
		{[]int64{5000, 1, 0}, []byte{m, m, m}, 0b1010},
		{[]int64{5000, 0, 1}, []byte{m, u, m}, 0b0010},
		{[]int64{5000, 0, 0}, []byte{m, n, m}, 0b1010},
		{[]int64{0, 0, 0}, []byte{u, u, u}, 0},
		{[]int64{0, 0, 0}, []byte{n, n, n}, 0},
	} {
		if got := c.Eval(tt.values, tt.states); got.Gates != tt.want {
			t.Errorf("%v %v: gates %04b, want %04b", tt.values, tt.states, got.Gates, tt.want)
		}
	}
}

func TestParseReportsPositions(t *testing.T) {
	good := `{"input": "a", "curve": {"linear": [[0, 0], [1, 1]]}}`
	for _, tt := range []struct{ text, want string }{
		{``, "EOF"},
		{`{"name": "one",` + "\n" + `"wieght": 1}`, `card: 2:`},
		{one("mean", good, anyGate) + "{}", "after the closing brace"},
		{one("max", good, anyGate), `components[0].signals[0].combine is "max"`},
		{one("mean", ``, anyGate), "signals[0].parts are 0"},
		{one("mean", `{"input": "z", "curve": {"linear": [[0, 0], [1, 1]]}}`, anyGate), `parts[0].input "z"`},
		{one("mean", good+","+good, anyGate), "inputs[1] \"a\" is named twice"},
		{one("mean", `{"input": "a", "weight": 0, "curve": {"linear": [[0, 0], [1, 1]]}}`, anyGate),
			"parts[0].weight is 0"},
		{one("min", `{"input": "a", "weight": 2, "curve": {"linear": [[0, 0], [1, 1]]}}`, anyGate),
			"parts[0].weight has no effect"},
		{one("mean", `{"input": "a"}`, anyGate), "parts[0].curve must have"},
		{one("mean", `{"input": "a", "curve": {"linear": [[0, 0], [1, 1]], "steps": [[0, 1]]}}`, anyGate),
			"parts[0].curve must have"},
		{one("mean", `{"input": "a", "curve": {"linear": [[0, 0], [1, 1]], "beyond": 1}}`, anyGate),
			"curve.beyond is only allowed"},
		{one("mean", `{"input": "a", "curve": {"linear": [[0, 0]]}}`, anyGate), "curve.linear has 1 points"},
		{one("mean", `{"input": "a", "curve": {"linear": [[0, 0], [0, 1]]}}`, anyGate),
			"linear[1] must have a larger x"},
		{one("mean", `{"input": "a", "curve": {"linear": [[0, 0], [1, 1, 1]]}}`, anyGate), "linear[1] has 3 numbers"},
		{one("mean", `{"input": "a", "curve": {"linear": [[0, 0], [1, 1.001]]}}`, anyGate),
			"linear[1] gives a mark of 1.001"},
		{one("mean", `{"input": "a", "curve": {"steps": [[0, -0.1]]}}`, anyGate), "steps[0] gives a mark of -0.1"},
		{one("mean", `{"input": "a", "curve": {"steps": [[0, 0.0001]]}}`, anyGate), "not a decimal number"},
		{one("mean", `{"input": "a", "curve": {"steps": [[1e3, 0]]}}`, anyGate), "not a decimal number"},
		{one("mean", `{"input": "a", "curve": {"steps": [["1", 0]]}}`, anyGate), "not a decimal number"},
		{one("mean", `{"input": "a", "curve": {"steps": [[1000000000.001, 0]]}}`, anyGate), "out of bounds"},
		{one("mean", good, `{"id": "g", "limit": 0, "reason": "Why."}`), "gates[0].when is missing"},
		{one("mean", good, `{"id": "g", "limit": 0, "reason": "Why.", "when": {}}`), "gates[0].when must be one of"},
		{one("mean", good, `{"id": "g", "limit": 0, "reason": "Why.", "when": {"all": []}}`),
			"gates[0].when.all joins 0"},
		{one("mean", good, `{"id": "g", "limit": 0, "reason": "Why.", "when": {"all": [{"input": "a", "op": "le", `+
			`"value": 1}]}}`), "gates[0].when.all[0].op"},
		{one("mean", good, `{"id": "g", "limit": 0, "reason": "Why.", "when": {"any": [{"input": "a", "op": "lt"}]}}`),
			"gates[0].when.any[0].value is missing"},
		{one("mean", good, `{"id": "g", "limit": 0, "reason": "Why.", "when": {"any": [{"all": [{"any": [{"all": `+
			`[{"input": "a", "op": "lt", "value": 1}]}]}]}]}}`), "at most 4 deep"},
		{strings.Replace(one("mean", good, anyGate), `"points": 100`, `"points": 99`, 1),
			"components[0].weight is 100, its signals add up to 99"},
		{strings.Repeat(" ", card.MaxFile+1), "at most"},
	} {
		if _, err := card.Parse([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got error %v, want one with %q", err, tt.want)
		}
	}
}

// TestParseReportsAllMistakes checks that several mistakes of different kinds are each
// reported once, in the order of the file.
func TestParseReportsAllMistakes(t *testing.T) {
	text := strings.NewReplacer(`"version": "1.0.0"`, `"version": "new"`, `"weight": 100`, `"weight": 90`).Replace(
		one("max", `{"input": "z", "curve": {"linear": [[0, 0], [1, 1]]}}, {"input": "b"}`,
			`{"id": "g", "limit": 101, "reason": "Why."}`))
	_, err := card.Parse([]byte(text))
	list, _ := errors.AsType[abi.Problems](err)
	want := []string{"version is", "components[0].weight is 90", `signals[0].combine is "max"`, `parts[0].input "z"`,
		"parts[1].curve must have", "gates[0].when is missing", "gates[0].limit is 101"}
	if len(list) != len(want) {
		t.Fatalf("got %d mistakes, want %d:\n%s", len(list), len(want), strings.Join(list, "\n"))
	}
	for _, w := range want {
		if !slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, w) }) {
			t.Errorf("got\n%s\nwant one with %q", strings.Join(list, "\n"), w)
		}
	}
	if !strings.Contains(list[0], "version") || !strings.Contains(list[len(list)-1], "gates[0]") {
		t.Errorf("got\n%s\nwant the order of the file", strings.Join(list, "\n"))
	}
}

// TestParseReportsEveryWrongShape checks that values of a wrong type and unknown
// members are all reported at once, each with its position.
func TestParseReportsEveryWrongShape(t *testing.T) {
	_, err := card.Parse([]byte("{\"name\": 1,\n\"wieght\": 1,\n\"inputs\": {},\n" +
		"\"components\": [{\"weight\": \"100\",\n\"signals\": [{\"points\": 1.5,\n\"parts\": [{\"curve\": " +
		"{\"linear\": [[0, true]]}}]}]}],\n\"gates\": [7]}"))
	got, _ := errors.AsType[abi.Problems](err)
	want := abi.Problems{
		`1:10: name is 1, must be a string`,
		`2:11: wieght is not a member of a card`,
		`3:11: inputs must be an array`,
		`4:27: components[0].weight is "100", must be a whole number`,
		`5:24: components[0].signals[0].points is 1.5, must be a whole number`,
		`6:37: components[0].signals[0].parts[0].curve.linear[0][1] true is not a decimal number with at most three ` +
			`digits after the point`,
		`7:11: gates[0] must be an object`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestUnusedInput checks that an unused input causes a warning and no error: an author
// who has not written the signal yet can build and test the rest.
func TestUnusedInput(t *testing.T) {
	c := parse(t, one("mean", `{"input": "a", "curve": {"linear": [[0, 0], [1, 1]]}}`, ``))
	got := c.Warnings()
	if len(got) != 2 || !strings.Contains(got[0], `5:67: inputs[1] "b" is not used`) || !strings.Contains(got[1],
		`"c"`) {
		t.Errorf("got warnings %q, want b and c", got)
	}
	module, err := c.Compile()
	if err != nil {
		t.Fatal(err)
	}
	if r := wasm.Check(t.Context(), module); len(r.Problems) > 0 {
		t.Errorf("complaints: %q", r.Problems)
	}
}

// TestCompile checks the compiled module: it satisfies the ABI, has the same bytes each
// time, and its manifest matches the card.
func TestCompile(t *testing.T) {
	c := parse(t, one("mean", `{"input": "a", "curve": {"linear": [[0, 0], [1, 1]]}}`, anyGate))
	first, err := c.Compile()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(one("mean", `{"input": "a", "curve": {"linear": [[0, 0], [1, 1]]}}`, anyGate), "{",
		`{"$schema": "card.schema.json",`, 1)
	second, err := parse(t, text).Compile() // the same card with another schema name
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("compiled twice, %d and %d bytes differ (%v)", len(first), len(second), err)
	}
	got, err := abi.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Manifest(), *got.Manifest); diff != "" {
		t.Errorf("manifest (-card +module)\n%s", diff)
	}
	for i, v := range got.Vectors {
		if diff := cmp.Diff(v.Result(), c.Eval(v.Values, v.AppendStates(nil))); diff != "" {
			t.Errorf("vector %d (-vector +card)\n%s", i, diff)
		}
	}
}

// TestExplain checks the text of an explanation, and that its numbers equal those of
// Eval.
func TestExplain(t *testing.T) {
	c := parse(t, one("mean",
		`{"input": "a", "weight": 3, "curve": {"linear": [[50, 0], [100, 0.25], [300, 1]]}}, {"input": "b", `+
			`"curve": {"steps": [[2, 0.875]], "beyond": 0.1}}`,
		`{"id": "g", "limit": 40, "reason": "Why.", "when": {"any": [{"input": "a", "op": "lt", "value": 60}, `+
			`{"all": [{"input": "a", "op": "eq", "value": 61.5}, {"input": "b", "op": "gt", "value": 9}, {"input": `+
			`"c", "op": "lt", "value": 1}]}]}}`))
	method := c.Explain(nil, nil)
	s := method.Components[0].Signals[0]
	if method.Score != nil || s.Status != fieldmark.Unknown || s.Rule != "the weighted mean of its inputs" {
		t.Errorf("the method alone: %+v", method)
	}
	unit := s.Parts[0].Unit
	for _, tt := range []struct{ got, want string }{
		{s.Parts[0].Rule, "up to 50 U: 0 %; 100 U: 25 %; from 300 U: 100 %; in proportion between"},
		{s.Parts[1].Rule, "up to 2 U: 87.5 %; above: 10 %"},
		{method.Gates[0].When, "a is below 60 U or (a is 61.5 U and b is above 9 U and c is below 1 U)"},
	} {
		if want := strings.ReplaceAll(tt.want, "U", unit); tt.got != want {
			t.Errorf("got %q, want %q", tt.got, want)
		}
	}

	values, states := []int64{55_000, 1000, 0}, []byte{abi.StateMeasured, abi.StateMeasured, abi.StateUnknown}
	e := c.Explain(values, states)
	want := c.Eval(values, states)
	s = e.Components[0].Signals[0]
	if int32(s.Mark) != want.Marks[0] || s.Reached != 100*s.Mark || e.Components[0].Reached != s.Reached ||
		e.Components[0].Measured != 100 ||
		s.Parts[0].Mark != 25 || s.Parts[1].Mark != 875 || s.Parts[1].Value != 1000 {
		t.Errorf("signal %+v, Eval says %v", s, want)
	}
	if !e.Gates[0].Caught || e.Score == nil || *e.Score != fieldmark.Milli(min(want.Score, 40_000)) {
		t.Errorf("gate %+v, score %v, Eval says %v", e.Gates[0], e.Score, want)
	}
	if e := c.Explain(values, []byte{abi.StateNotApplicable, abi.StateNotApplicable,
		abi.StateNotApplicable}); e.Score != nil || e.Components[0].Signals[0].Status != fieldmark.NotApplicable {
		t.Errorf("nothing applies: %+v", e)
	}
}

// FuzzParse checks that every card that Parse accepts can be evaluated and compiled.
func FuzzParse(f *testing.F) {
	manifest := geo.Card().Manifest()
	text, err := manifest.Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text) // almost a card
	f.Add([]byte(one("mean", `{"input": "a", "curve": {"linear": [[0, 0], [1, 1]]}}`, anyGate)))
	f.Add([]byte(one("min",
		`{"input": "a", "curve": {"steps": [[0, 0.5]], "beyond": 1}}, {"input": "b", "curve": {"steps": [[0, 1]]}}`,
		anyGate)))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := card.Parse(b)
		if err != nil {
			return
		}
		if _, err := c.Compile(); err != nil {
			t.Errorf("%q is a card that cannot be compiled: %v", b, err)
		}
		c.Explain(nil, nil)
	})
}
