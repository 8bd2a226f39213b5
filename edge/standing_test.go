package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/standing"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/wasm"
)

// TestStandingsAgree: the standings of 1,000 brands are the scores that an edge serves, byte
// for byte.
func TestStandingsAgree(t *testing.T) {
	t.Parallel()
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
	scorer, log := &wasm.Scorer{}, slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	start := func() {
		service := standing.New(standing.Config{Store: h.store, Scorer: scorer, Log: log,
			Jobs: job.NewRunner(h.store, log)})
		running.Go(func() { must(t, service.Run(ctx)) })
	}
	// Ranks are stored for brands that an endpoint watches: from the beginning, because the first service ranks
	// once a minute where it takes that long.
	const watched = 100
	must(t, h.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		e := store.Endpoint{Endpoint: fieldmark.Endpoint{ID: fieldmark.NewID(fieldmark.PrefixWebhook, time.Now()),
			Account: access.DefaultAccount, URL: "https://receiver.example/", CreatedAt: fieldmark.At(time.Now())}}
		var slugs []fieldmark.Slug
		for i := range watched {
			slugs = append(slugs, fieldmark.Slug("b-"+strconv.Itoa(i)))
		}
		return errors.Join(tx.AddEndpoint(ctx, &e), tx.SetWatches(ctx, e.ID, slugs))
	}))
	start()
	t.Cleanup(func() {
		stop()
		running.Wait()
		must(t, scorer.Close(context.WithoutCancel(ctx)))
	})
	active, err := h.service.Modules.Active(t.Context())
	must(t, err)
	h.until("every brand stands", func() bool {
		late, err := h.store.StandingsLate(t.Context(), active.Digest, time.Now())
		must(t, err)
		return !late
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
			stored.Module != score.Module.Digest || (stored.Range != nil) != score.Ranked() ||
			stored.Range != nil && *stored.Range != *score.Range {
			t.Fatalf("%s stands at %s by %s, the edge serves %s", slug, got, stored.Module, want)
		}
	}

	start() // ranks at its start
	var ranks []store.SentRank
	h.until("the watched brands are ranked", func() bool {
		var err error
		ranks, err = h.store.SentRanks(ctx, "", brands)
		must(t, err)
		return len(ranks) == watched && !slices.ContainsFunc(ranks, func(r store.SentRank) bool { return r.First() })
	})
	for _, r := range ranks {
		if want := h.score(string(r.Brand.Slug)).Rank; !cmp.Equal(r.Sent, want) {
			t.Errorf("%s has the rank %+v, the edge serves %+v", r.Brand.Slug, r.Sent, want)
		}
	}
}
