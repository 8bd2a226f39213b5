package card_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
)

// TestLargestCardPasses checks that a card with the maximum number of signals, parts,
// points and comparisons compiles to a module within its limits.
func TestLargestCardPasses(t *testing.T) {
	var inputs, parts, signals, gates []object
	for i := range 16 {
		name := fmt.Sprintf("in.n%d", i)
		inputs = append(inputs, object{"name": name, "unit": "count", "direction": "none"})
		var points [][2]float64
		for x := range 16 {
			points = append(points, [2]float64{float64(900_000_000 + 1_000_000*x + i), float64(x%2) / 2})
		}
		parts = append(parts, object{"input": name, "weight": 999, "curve": object{"linear": points}})
	}
	for i := range 16 {
		points := 6
		if i < 4 {
			points = 7
		}
		signals = append(signals, object{"id": fmt.Sprintf("c.s%d", i), "label": "S", "points": points, "advice": "A",
			"combine": "mean", "parts": parts})
	}
	var many []object
	for range 8 {
		var of []object
		for i := range 32 {
			of = append(of, object{"input": fmt.Sprintf("in.n%d", i%16), "op": "lt", "value": 900_000_000})
		}
		many = append(many, object{"all": of})
	}
	for i := range 4 {
		gates = append(gates, object{"id": fmt.Sprintf("g%d", i), "limit": 1, "reason": "R",
			"when": object{"any": many}})
	}
	text, err := json.Marshal(object{
		"name": "large", "version": "1.0.0", "methodology": object{"id": "large", "version": "1.0", "url": "/large"},
		"author": "A", "licence": "L",
		"inputs": inputs, "components": []object{{"id": "c", "label": "C", "weight": 100, "signals": signals}},
		"gates": gates,
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := card.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	module, err := c.Compile()
	if err != nil {
		t.Fatal(err)
	}
	r := wasm.Check(t.Context(), module)
	if len(r.Problems) > 0 {
		t.Errorf("complaints: %q", r.Problems)
	}
	t.Logf("%d bytes, limits %v, worst %.2f %% of the budget", len(module), r.Limits, r.Measurements.WorstShare)
	if len(r.Manifest.Inputs) > abi.MaxInputs {
		t.Error("too many inputs")
	}
}
