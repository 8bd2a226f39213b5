package edge_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/standing"
	"github.com/fieldmark/fieldmark/wasm"
)

// TestStandingsAgree: the standings of 1,000 brands are the scores that an edge serves, byte
// for byte.
func TestStandingsAgree(t *testing.T) {
	const brands = 1000
	h := newFixture(t)
	h.importBrands("b", brands)
	random := rand.New(rand.NewPCG(20, 26))
	for i := range brands {
		f := factsWith(random.Int64N(600))
		for j := range f.Facts {
			switch random.IntN(8) {
			case 0:
				f.Facts[j].State, f.Facts[j].Value = fieldmark.Unknown, 0
			case 1:
				f.Facts[j].Value = random.Int64N(f.Facts[j].Value + 1)
			}
		}
		f.AsOf = fieldmark.At(time.Now().Add(-time.Duration(random.Int64N(int64(120 * 24 * time.Hour)))))
		_, err := h.service.Brands.PutFacts(t.Context(), fieldmark.Slug("b-"+strconv.Itoa(i)), f)
		must(t, err)
	}
	scorer := &wasm.Scorer{}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	service := standing.New(standing.Config{Store: h.store, Scorer: scorer, Log: slog.New(slog.DiscardHandler)})
	go func() { done <- service.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		must(t, <-done)
		must(t, scorer.Close(context.WithoutCancel(ctx)))
	})
	active, err := h.service.Modules.Active(t.Context())
	must(t, err)
	h.until("every brand stands", func() bool {
		due, err := h.store.DueStandings(t.Context(), active.Digest, time.Now(), 1)
		must(t, err)
		return len(due) == 0
	})
	for i := range brands {
		slug := fieldmark.Slug("b-" + strconv.Itoa(i))
		stored, err := h.store.Standing(t.Context(), slug)
		must(t, err)
		score := h.score(string(slug))
		want, err := json.Marshal(score.Standing())
		must(t, err)
		got, err := json.Marshal(stored.StandingBody.Standing)
		must(t, err)
		if string(got) != string(want) || !maps.Equal(stored.Points, score.Points()) ||
			len(stored.Gates) != len(score.Gates) || stored.Facts != score.FactsDigest ||
			stored.Module != score.Module.Digest {
			t.Fatalf("%s stands at %s by %s, the edge serves %s", slug, got, stored.Module, want)
		}
	}
}
