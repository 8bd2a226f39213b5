package card_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
)

// object is a JSON object under construction.
type object = map[string]any

// anyCard writes a random card with every feature, unusual numbers and long curves.
func anyCard(r *rand.Rand) object {
	inputs := make([]object, 1+r.IntN(12))
	unused := make([]object, len(inputs))
	for i := range inputs {
		name := fmt.Sprintf("in.n%d", i)
		inputs[i] = object{"name": name, "unit": "count", "direction": "none"}
		unused[i] = anyComparison(r, i)
	}
	var components []object
	left := 100
	for i := 0; left > 0; i++ {
		var signals []object
		weight := 0
		for j := 0; j < 4 && left > 0; j++ {
			points := 1 + r.IntN(min(left, 30))
			left -= points
			weight += points
			signals = append(signals, anySignal(r, fmt.Sprintf("c%d.s%d", i, j), points, len(inputs)))
		}
		if i == abi.MaxComponents-1 && left > 0 { // the last one gets the rest
			last := signals[len(signals)-1]
			last["points"] = last["points"].(int) + left
			weight, left = weight+left, 0
		}
		components = append(components, object{"id": fmt.Sprintf("c%d", i), "label": "C", "weight": weight,
			"signals": signals})
	}
	gates := []object{{"id": "first", "limit": 1, "reason": "R", "when": object{"any": unused}}}
	for i := range r.IntN(abi.MaxGates) {
		gates = append(gates, object{"id": fmt.Sprintf("g%d", i), "limit": r.IntN(101), "reason": "R",
			"when": anyCondition(r, len(inputs), 1)})
	}
	return object{
		"name": "any", "version": "0.1", "methodology": object{"id": "any", "version": "0.1", "url": "/any"},
		"author": "A", "licence": "L", "inputs": inputs, "components": components, "gates": gates,
	}
}

func anySignal(r *rand.Rand, id string, points, inputs int) object {
	combine := []string{"mean", "min"}[r.IntN(2)]
	var parts []object
	for _, i := range r.Perm(inputs)[:1+r.IntN(inputs)] {
		part := object{"input": fmt.Sprintf("in.n%d", i), "curve": anyCurve(r)}
		if combine == "mean" {
			part["weight"] = 1 + r.IntN(1000)
		}
		parts = append(parts, part)
	}
	return object{"id": id, "label": "S", "points": points, "advice": "A", "combine": combine, "parts": parts}
}

func anyCurve(r *rand.Rand) object {
	kind, count := "steps", 1+r.IntN(5)
	if r.IntN(2) == 0 {
		kind, count = "linear", 2+r.IntN(5)
	}
	span := []int64{10, 5000, 2 * abi.MaxValue / 10}[r.IntN(3)]
	x := -r.Int64N(min(span, abi.MaxValue/2) + 1)
	var points [][2]json.Number
	for range count {
		points = append(points, [2]json.Number{decimal(x), decimal(r.Int64N(1001))})
		x = min(x+1+r.Int64N(span), abi.MaxValue-int64(count)) + 1
	}
	curve := object{kind: points}
	if kind == "steps" && r.IntN(2) == 0 {
		curve["beyond"] = decimal(r.Int64N(1001))
	}
	return curve
}

func anyCondition(r *rand.Rand, inputs, depth int) object {
	if depth == 4 || r.IntN(2) == 0 {
		return anyComparison(r, r.IntN(inputs))
	}
	var of []object
	for range 1 + r.IntN(3) {
		of = append(of, anyCondition(r, inputs, depth+1))
	}
	return object{[]string{"all", "any"}[r.IntN(2)]: of}
}

func anyComparison(r *rand.Rand, input int) object {
	value := []int64{0, 1000, r.Int64N(5000), abi.MaxValue, -abi.MaxValue}[r.IntN(5)]
	return object{"input": fmt.Sprintf("in.n%d", input), "op": []string{"lt", "eq", "gt"}[r.IntN(3)],
		"value": decimal(value)}
}

func decimal(thousandths int64) json.Number {
	sign := ""
	if thousandths < 0 {
		sign, thousandths = "-", -thousandths
	}
	return json.Number(fmt.Sprintf("%s%d.%03d", sign, thousandths/1000, thousandths%1000))
}

func anyValue(r *rand.Rand) int64 {
	switch r.IntN(6) {
	case 0:
		return []int64{0, 1000, math.MinInt64, math.MaxInt64, abi.MaxValue, -abi.MaxValue, abi.MaxValue + 1}[r.IntN(7)]
	case 1:
		return int64(r.Uint64())
	case 2:
		return r.Int64N(2*abi.MaxValue) - abi.MaxValue
	default:
		return r.Int64N(20_000) - 5000
	}
}

// TestNativeAgreesWithModule compiles random cards and compares each module with its
// card, bit by bit, for 100,000 inputs in all.
func TestNativeAgreesWithModule(t *testing.T) {
	const cards, each = 100, 1000
	engine, err := wasm.New(wasm.Config{Instances: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for seed := range uint64(cards) {
		r := rand.New(rand.NewPCG(seed, 0))
		text, err := json.Marshal(anyCard(r))
		if err != nil {
			t.Fatal(err)
		}
		c, err := card.Parse(text)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		agree(t, engine, c, r, each)
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, text)
		}
	}
}

func agree(t *testing.T, engine *wasm.Engine, c *card.Card, r *rand.Rand, times int) {
	t.Helper()
	binary, err := c.Compile()
	if err != nil {
		t.Fatal(err)
	}
	module, err := engine.Load(t.Context(), binary)
	if err != nil {
		t.Fatal(err)
	}
	inputs := len(c.Manifest().Inputs)
	values, states := make([]int64, inputs), make([]byte, inputs)
	var got abi.Result
	for range times {
		for i := range values {
			values[i], states[i] = anyValue(r), abi.StateMeasured
			if r.IntN(8) == 0 {
				states[i] = byte(r.IntN(3))
			}
		}
		want := c.Eval(values, states)
		if err := module.Score(t.Context(), values, states, &got); err != nil {
			t.Errorf("values %v states %v: %v", values, states, err)
			break
		}
		if got.Score != want.Score || got.Gates != want.Gates || !slices.Equal(got.Marks, want.Marks) {
			t.Errorf("values %v states %v: (-card +module)\n%s", values, states, cmp.Diff(want, got))
			break
		}
	}
	if err := module.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
