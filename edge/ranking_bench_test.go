package edge_test

import (
	"runtime"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// millionBrands is the size a ranking is measured at.
const millionBrands = 1_000_000

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkMillion builds a ranking of a million brands, asks it, and keeps it
// current, and says what a brand takes. Scoring is not part of it.
func BenchmarkMillion(b *testing.B) {
	engine, err := wasm.New(wasm.Config{Instances: 1})
	must(b, err)
	defer func() { must(b, engine.Close(b.Context())) }()
	m, err := engine.Load(b.Context(), geo.Module())
	must(b, err)
	before := heap()
	lines := edge.Lines(millionBrands)
	r := edge.Rank(m, lines)
	bytes := float64(heap()-before) / millionBrands
	all := fieldmark.BoardFilter{Basis: fieldmark.BasisReadiness}

	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			edge.Rank(m, lines)
		}
		b.ReportMetric(bytes, "bytes/brand")
	})
	for name, f := range map[string]fieldmark.BoardFilter{
		"page": all, "page-of-niche": {Basis: all.Basis, Niche: "niche-7"}, "page-of-language": {Basis: all.Basis, Language: "de"},
	} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				r.Page(f, i*20%10_000)
			}
		})
	}
	b.Run("first-of-language", func(b *testing.B) { // no list of it is made yet
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			next := r.Change(i, i)
			b.StartTimer()
			next.Page(fieldmark.BoardFilter{Basis: all.Basis, Language: "de"}, 0)
		}
	})
	b.Run("rank", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			r.Place(i * 7919 % millionBrands)
		}
	})
	b.Run("change", func(b *testing.B) {
		kept := r
		for i := 0; b.Loop(); i++ {
			kept = kept.Change(i*7919%millionBrands, i*104_729)
		}
	})
	b.Run("keep", func(b *testing.B) { // thirty-two rankings that differ by a change each, as cursors pin them
		var size float64
		for b.Loop() {
			before, kept := heap(), []edge.Ranking{r}
			for i := range 32 {
				kept = append(kept, kept[i].Change(i*31_337, i))
			}
			size = float64(heap()-before) / 32
			runtime.KeepAlive(kept)
		}
		b.ReportMetric(size, "bytes/ranking")
	})
}
