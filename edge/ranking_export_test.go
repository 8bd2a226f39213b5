package edge

import (
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm"
)

// Ranking is what benchmarks reach of a ranking, which no test can fill with a
// million brands through the door.
type Ranking struct{ s *snapshot }

// Lines makes n ranked brands of a thousand niches and eight languages.
func Lines(n int) []*line {
	niches, languages := make([]string, 1000), []string{"en", "de", "de-AT", "fr", "es", "ja", "pt", "zh"}
	for i := range niches {
		niches[i] = "niche-" + strconv.Itoa(i)
	}
	lines := make([]*line, n)
	for i := range lines {
		lines[i] = benchLine(i, i*7919, niches[i%len(niches)], languages[i%len(languages)])
	}
	return lines
}

func benchLine(i, seed int, niche, language string) *line {
	score := fieldmark.Milli(seed%1001) * 100
	then := score * 9 / 10
	at := fieldmark.AtMicros(1_790_000_000_000_000 + int64(seed%100_000)*1_000_000)
	moved := score - then.Tenth()
	return newLine(&fieldmark.Score{
		Slug: fieldmark.Slug("brand-" + strconv.Itoa(i)), Name: "Brand number " + strconv.Itoa(i), Niche: niche, Language: language,
		Trend: fieldmark.Trend{D7: &moved},
		Assessment: fieldmark.Assessment{Status: fieldmark.StatusScored, Score: &score, Range: &fieldmark.Range{Low: score, High: score}, AsOf: &at,
			Confidence: fieldmark.Confidence{Value: 700 + fieldmark.Milli(seed%300)}},
	})
}

// Rank builds a ranking.
func Rank(m *wasm.Module, lines []*line) Ranking {
	return Ranking{newSnapshot(m, lines, fieldmark.Time{})}
}

// Change gives a brand another score.
func (r Ranking) Change(i, seed int) Ranking {
	slug := fieldmark.Slug("brand-" + strconv.Itoa(i))
	old := r.s.line(slug)
	return Ranking{r.s.with(map[fieldmark.Slug]*line{slug: benchLine(i, seed, old.niche, old.language)})}
}

// Page cuts a page out of it.
func (r Ranking) Page(f fieldmark.BoardFilter, offset int) fieldmark.Board {
	return r.s.page(&boardQuery{filter: f, limit: 20}, offset, cursorKey{})
}

// Place ranks one brand.
func (r Ranking) Place(i int) *fieldmark.Rank {
	var b boards
	b.now.Store(r.s)
	return b.rank(fieldmark.Slug("brand-" + strconv.Itoa(i)))
}
