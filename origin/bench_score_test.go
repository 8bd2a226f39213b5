package origin_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

// BenchmarkScoreChanged stores the facts of fifty audits a second, each of which moves a score,
// and reports the time from before the commit until the receiver has score.changed.
func BenchmarkScoreChanged(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		benchScoreChanged(b, store.Config{Path: filepath.Join(b.TempDir(), "record.db")})
	})
	b.Run("postgres", func(b *testing.B) { benchScoreChanged(b, storetest.DurablePostgres(b)) })
}

func benchScoreChanged(b *testing.B, at store.Config) {
	const brands = 50
	w := openFixture(b, at, func(c *origin.Config) { c.Scorer, c.Auditor = pointScorer{}, nil })
	waits := &latencies{began: map[string]time.Time{}}
	sink := newWireSink(b, func(_ string, body []byte) {
		var m struct{ Data fieldmark.ScoreChange }
		if err := json.Unmarshal(body, &m); err != nil || m.Data.To.Score == nil {
			b.Errorf("%s: %v", body, err)
			return
		}
		waits.end(fmt.Sprint(m.Data.Slug, *m.Data.To.Score))
	})
	slugs := make([]fieldmark.Slug, brands)
	for i := range slugs {
		slugs[i] = fieldmark.Slug(fmt.Sprint("b", i))
		if _, _, err := w.Brands.Put(b.Context(), fieldmark.Brand{Slug: slugs[i], Name: "B", URL: "https://b.example/",
			Niche: "tools", Language: "en", Public: true}); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.Webhooks.CreateEndpoint(b.Context(), access.DefaultAccount, fieldmark.EndpointRequest{
		URL: sink.url(0), Events: []string{"score.changed"},
		EndpointSettings: fieldmark.EndpointSettings{Brands: slugs}}); err != nil {
		b.Fatal(err)
	}
	defer w.run(b)()
	b.ResetTimer()
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for i := range b.N {
		<-every.C
		slug, points := slugs[i%brands], int64(31_000+i/brands%60*1000)
		waits.begin(fmt.Sprint(slug, fieldmark.Milli(points)))
		if _, err := w.Brands.PutFacts(b.Context(), slug, facts(time.Now(), points)); err != nil {
			b.Fatal(err)
		}
	}
	for sink.got.Load() < int64(b.N) {
		time.Sleep(time.Millisecond)
	}
	b.ReportMetric(waits.percentile(50), "p50-ms")
	b.ReportMetric(waits.percentile(99), "p99-ms")
}
