package wasm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/wasmtest"
	"github.com/fieldmark/fieldmark/wasm"
)

// population calls fn with one site for each number of words, and one without facts.
func population(words ...int64) func(func(fieldmark.BrandState) error) error {
	return func(fn func(fieldmark.BrandState) error) error {
		for i, n := range words {
			facts := &fieldmark.Facts{Version: fieldmark.FactsVersion, Pages: 10, AsOf: fieldmark.At(auditedAt),
				Facts: []fieldmark.Fact{
					{ID: "text.words", State: fieldmark.Measured, Value: n * 1000, Unit: "words"}}}
			if err := fn(fieldmark.BrandState{Brand: fieldmark.Brand{Slug: fieldmark.Slug(fmt.Sprintf("s%d", i))},
				Facts: facts}); err != nil {
				return err
			}
		}
		return fn(fieldmark.BrandState{Brand: fieldmark.Brand{Slug: "young"}})
	}
}

// TestCompare checks the exact differences that a change of module causes.
func TestCompare(t *testing.T) {
	from, to := wasmtest.Words(t, "1.0.0", "words", 1000), wasmtest.Words(t, "2.0.0", "words", 2000)
	got, err := wasm.Compare(t.Context(), from, to, auditedAt, population(100, 400, 900, 0))
	if err != nil {
		t.Fatal(err)
	}
	// 10, 40, 90 and 0 become 5, 20, 45 and 0; D becomes E and A becomes D.
	if got.Brands != 4 || got.Moved != 3 || got.GradesChanged != 2 || got.GradeShare != 500 || got.MeanMove != 17_500 ||
		got.LargestMove != 45_000 || got.RankCorrelation != 1000 || got.Faults != 0 {
		t.Errorf("got %+v", got)
	}
	if m := got.Movers[0]; m.Slug != "s2" || *m.From != 90_000 || *m.To != 45_000 || m.Grades != [2]fieldmark.Grade{"A",
		"D"} ||
		len(m.Reasons) != 1 || m.Reasons[0].ID != "all.words" || m.Reasons[0].From != 90_000 ||
		m.Reasons[0].To != 45_000 {
		t.Errorf("first mover %+v", m)
	}
	bad, err := wasm.Compare(t.Context(), from, wasmtest.Bad(t, "3.0.0"), auditedAt, population(100, wasmtest.BadWords,
		5))
	if err != nil || bad.Faults != 1 || !strings.HasPrefix(bad.FirstFault, "s1: ") || bad.Moved != 0 {
		t.Errorf("a module that traps: %+v, %v", bad, err)
	}
	if bad.DirectionsBroken != 0 {
		t.Errorf("a module that traps: %d directions broken, %s", bad.DirectionsBroken, bad.FirstDirection)
	}
	// No check finds a module that is wrong for a single value; the brand with that
	// value does.
	partial, err := wasm.Compare(t.Context(), from, wasmtest.Partial(t, "3.0.1"), auditedAt, population(100,
		wasmtest.BadWords, 5))
	want := "s1: text.words is declared up, but from 777 to 776 the score goes from 0 to 77.6"
	if err != nil || partial.DirectionsBroken != 1 || partial.FirstDirection != want {
		t.Errorf("a module that lies about one brand: got %d, %q (%v); want 1, %q", partial.DirectionsBroken,
			partial.FirstDirection, err, want)
	}
	stop := errors.New("stop")
	if _, err := wasm.Compare(t.Context(), from, to, auditedAt,
		func(func(fieldmark.BrandState) error) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the population: %v", err)
	}
}

// TestWith: modules score the same facts side by side, and one that traps has no score for them.
func TestWith(t *testing.T) {
	facts := &fieldmark.Facts{Version: fieldmark.FactsVersion, Pages: 10, AsOf: fieldmark.At(auditedAt),
		Facts: []fieldmark.Fact{{ID: "text.words", State: fieldmark.Measured, Value: wasmtest.BadWords * 1000,
			Unit: "words"}}}
	modules := [][]byte{wasmtest.Words(t, "1.0.0", "words", 1000), wasmtest.Bad(t, "3.0.0")}
	err := wasm.With(t.Context(), modules, func(score wasm.ScoreFunc) error {
		if got, err := score(t.Context(), 0, facts, auditedAt); err != nil || got == nil || *got == 0 {
			t.Errorf("by the first module: %v, %v", got, err)
		}
		if got, err := score(t.Context(), 1, facts, auditedAt); err != nil || got != nil {
			t.Errorf("by a module that traps: %v, %v; want none", got, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := wasm.With(t.Context(), [][]byte{{0}}, func(wasm.ScoreFunc) error { return nil }); err == nil {
		t.Error("bytes that are no module were loaded")
	}
}
