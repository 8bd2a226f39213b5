package geo_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// eachVersion runs a test for each version of the methodology.
func eachVersion(t *testing.T, test func(*testing.T, *card.Card, *wasm.Module)) {
	for i, c := range geo.Cards() {
		t.Run(c.Manifest().Version, func(t *testing.T) { test(t, c, load(t, geo.Modules()[i])) })
	}
}

// load loads a committed module with the production engine.
func load(t testing.TB, module []byte) *wasm.Module {
	t.Helper()
	engine, err := wasm.New(wasm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	m, err := engine.Load(t.Context(), module)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// anyValue returns values at the knots of curves, between them, and far outside.
func anyValue(r *rand.Rand) int64 {
	switch r.IntN(8) {
	case 0:
		return 0
	case 1:
		return 1000
	case 2:
		return int64(r.Uint64()) // any value at all
	case 3:
		return []int64{math.MinInt64, math.MaxInt64, abi.MaxValue, -abi.MaxValue, -1, 1}[r.IntN(6)]
	case 4:
		return r.Int64N(4_000_000)
	case 5:
		return 1000 * r.Int64N(1000)
	default:
		return r.Int64N(1001)
	}
}

// fillAny sets random inputs, most of them measured, as in real audits.
func fillAny(r *rand.Rand, values []int64, states []byte) {
	for i := range values {
		values[i], states[i] = anyValue(r), abi.StateMeasured
		if r.IntN(10) == 0 {
			states[i] = byte(r.IntN(3))
		}
	}
}

// TestNativeAgreesWithModule compares the modules with the cards, bit by bit.
func TestNativeAgreesWithModule(t *testing.T) {
	eachVersion(t, func(t *testing.T, c *card.Card, m *wasm.Module) {
		n := len(c.Manifest().Inputs)
		values, states := make([]int64, n), make([]byte, n)
		r := rand.New(rand.NewPCG(1, 2))
		gates := map[uint32]int{}
		var got abi.Result
		for range 100_000 {
			fillAny(r, values, states)
			want := c.Eval(values, states)
			gates[want.Gates]++
			if err := m.Score(t.Context(), values, states, &got); err != nil {
				t.Fatalf("values %v states %v: %v", values, states, err)
			}
			if got.Score != want.Score || got.Gates != want.Gates || !slices.Equal(got.Marks, want.Marks) {
				t.Fatalf("values %v states %v: module and card differ (-card +module)\n%s", values, states,
					cmp.Diff(want, got))
			}
		}
		if len(gates) < 10 {
			t.Errorf("only %d combinations of gates were met: %v", len(gates), gates)
		}
	})
}

func BenchmarkScore(b *testing.B) {
	m, values, states := load(b, geo.Module()), make([]int64, len(geo.Card().Manifest().Inputs)),
		make([]byte, len(geo.Card().Manifest().Inputs))
	fillAny(rand.New(rand.NewPCG(1, 2)), values, states)
	var out abi.Result
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Score(b.Context(), values, states, &out); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNativeCard(b *testing.B) {
	c := geo.Card()
	values, states := make([]int64, len(c.Manifest().Inputs)), make([]byte, len(c.Manifest().Inputs))
	fillAny(rand.New(rand.NewPCG(1, 2)), values, states)
	b.ReportAllocs()
	for b.Loop() {
		c.Eval(values, states)
	}
}
