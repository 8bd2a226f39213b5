package ranking_test

import (
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/ranking"
)

// millionBrands is the size a ranking is measured at.
const millionBrands = 1_000_000

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkMillion builds, queries and updates a ranking of a million brands, and reports
// the memory per brand. Scoring is not included.
func BenchmarkMillion(b *testing.B) {
	before := heap()
	rows := makeRows(millionBrands)
	r := ranked{ranking.New(ranking.Method{}, rows, fieldmark.Time{})}
	bytes := float64(heap()-before) / millionBrands
	all := fieldmark.BoardFilter{Basis: fieldmark.BasisReadiness}

	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			ranking.New(ranking.Method{}, rows, fieldmark.Time{})
		}
		b.ReportMetric(bytes, "bytes/brand")
	})
	for name, f := range map[string]fieldmark.BoardFilter{
		"page": all, "page-of-niche": {Basis: all.Basis, Niche: "niche-7"},
		"page-of-language": {Basis: all.Basis, Language: "de"},
	} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				r.page(f, i*20%10_000)
			}
		})
	}
	b.Run("first-of-language", func(b *testing.B) { // no list of it is made yet
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			next := r.change(i, i)
			b.StartTimer()
			next.page(fieldmark.BoardFilter{Basis: all.Basis, Language: "de"}, 0)
		}
	})
	b.Run("rank", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			r.s.Rank(brand(i * 7919 % millionBrands))
		}
	})
	for name, apart := range map[string]int{"batch": 7919, "batch-of-one-niche": 1000} {
		slugs := make([]fieldmark.Slug, fieldmark.MaxBatchScores)
		for i := range slugs {
			slugs[i] = brand(i * apart % millionBrands)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var body []byte
			before := processorTime(b)
			for b.Loop() {
				body = r.s.AppendBatch(body[:0], slugs, 1)
			}
			b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(len(body)), "bytes/batch")
		})
	}
	b.Run("change", func(b *testing.B) {
		kept := r
		for i := 0; b.Loop(); i++ {
			kept = kept.change(i*7919%millionBrands, i*104_729)
		}
	})
	b.Run("keep", func(b *testing.B) { // thirty-two rankings that differ by a change each, as cursors pin them
		var size float64
		for b.Loop() {
			before, kept := heap(), []ranked{r}
			for i := range 32 {
				kept = append(kept, kept[i].change(i*31_337, i))
			}
			size = float64(heap()-before) / 32
			runtime.KeepAlive(kept)
		}
		b.ReportMetric(size, "bytes/ranking")
	})
}

// processorTime returns the processor time of this process: on a busy machine it says more than the time that
// passes.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// ranked is a ranking of brands that makeRows made.
type ranked struct{ s *ranking.Snapshot }

// makeRows makes n ranked brands of a thousand niches and eight languages.
func makeRows(n int) []*ranking.Row {
	rows := make([]*ranking.Row, n)
	for i := range rows {
		rows[i] = makeRow(i, i*7919)
	}
	return rows
}

func brand(i int) fieldmark.Slug { return fieldmark.Slug("brand-" + strconv.Itoa(i)) }

var niches, languages = func() (niches []string, languages []string) {
	for i := range 1000 {
		niches = append(niches, "niche-"+strconv.Itoa(i))
	}
	return niches, []string{"en", "de", "de-AT", "fr", "es", "ja", "pt", "zh"}
}()

func makeRow(i, seed int) *ranking.Row {
	score := fieldmark.Milli(seed%1001) * 100
	then := score * 9 / 10
	at := fieldmark.AtMicros(1_790_000_000_000_000 + int64(seed%100_000)*1_000_000)
	moved := score - then.Tenth()
	return ranking.NewRow(&fieldmark.Score{
		Slug: brand(i), Name: "Brand number " + strconv.Itoa(i), Niche: niches[i%len(niches)],
		Language: languages[i%len(languages)],
		Trend:    fieldmark.Trend{D7: &moved},
		Assessment: fieldmark.Assessment{Status: fieldmark.StatusScored, Score: &score, AsOf: &at,
			Range:      &fieldmark.Range{Low: score, High: score},
			Confidence: fieldmark.Confidence{Value: 700 + fieldmark.Milli(seed%300)}},
	})
}

// change gives a brand another score.
func (r ranked) change(i, seed int) ranked {
	return ranked{r.s.Apply(map[fieldmark.Slug]*ranking.Row{brand(i): makeRow(i, seed)})}
}

func (r ranked) page(f fieldmark.BoardFilter, offset int) fieldmark.Board {
	return r.s.Page(&ranking.Query{Filter: f, Limit: 20}, offset, ranking.CursorKey{})
}
