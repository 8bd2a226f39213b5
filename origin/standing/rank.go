package standing

import (
	"context"
	"errors"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// rankAt is the time of day, in UTC, at which brands are ranked: edges rank all brands
	// from midnight on, and the last audits of the day before are scored by then.
	rankAt   = 20 * time.Minute
	rankPoll = time.Minute
	// settled is how long a standing may be due before the ranking waits for it: ranks mixed
	// from two modules would be wrong for every brand.
	settled = time.Minute
	// minRankShare is the share of its rank, as a divisor, by which a brand has to move
	// overall: 5 %. Between many brands a rank moves daily without any change of the brand.
	minRankShare = 20
)

// rankDaily ranks all public brands and sends rank.changed, once a day in one process.
func (s *Service) rankDaily(ctx context.Context) error {
	now := time.Now()
	if due, err := s.cfg.Store.DailyJobDue(ctx, store.JobRanking, now); err != nil || !due {
		return err
	}
	plan, err := s.cfg.Store.ModulePlan(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if late, err := s.cfg.Store.StandingsLate(ctx, plan.Digest, now.Add(-settled)); err != nil || late {
		return err
	}
	return s.cfg.Jobs.Daily(ctx, store.JobRanking, now,
		func(ctx context.Context) error { return s.rankNow(ctx, now) })
}

// rankNow ranks all brands and ends the job of the day.
func (s *Service) rankNow(ctx context.Context, now time.Time) error {
	if err := s.rank(ctx, fieldmark.At(now)); err != nil {
		return err
	}
	next := now.UTC().Truncate(24 * time.Hour).Add(rankAt)
	if !next.After(now) {
		next = next.AddDate(0, 0, 1)
	}
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.DropSentRanks(ctx); err != nil {
			return err
		}
		return tx.EndDailyJob(ctx, store.JobRanking, s.cfg.Jobs.Worker(), next)
	})
}

// rank counts the ranges of all scores in one scan, and sends the changes of watched and
// managed brands. A brand whose change was sent compares equal when another process goes on
// after this one was stopped.
func (s *Service) rank(ctx context.Context, now fieldmark.Time) error {
	all := newRanking()
	if err := s.cfg.Store.RankedRanges(ctx, all.add); err != nil {
		return err
	}
	all.sum()
	for after := fieldmark.Slug(""); ; {
		brands, err := s.cfg.Store.SentRanks(ctx, after, batch)
		if err != nil {
			return err
		}
		err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			for i := range brands {
				if err := putRank(ctx, tx, &brands[i], all.rank(&brands[i]), now); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(brands) < batch {
			return err
		}
		after = brands[len(brands)-1].Brand.Slug
	}
}

// putRank stores and sends the rank of a brand if it moved far enough from what was sent. The
// first rank is what later ones are compared with, and not a change.
func putRank(ctx context.Context, tx *store.Tx, was *store.SentRank, next *fieldmark.Rank, now fieldmark.Time) error {
	if !was.First() && !rankMoved(was.Sent, next) {
		return nil
	}
	written, err := tx.PutSentRank(ctx, was, next)
	if err != nil || !written || was.First() {
		return err
	}
	b := &was.Brand
	return event.EmitBrand(ctx, tx, b.Slug, fieldmark.EventRankChanged, fieldmark.RankChange{Slug: b.Slug, Name: b.Name,
		URL: b.URL, Basis: fieldmark.BasisReadiness, From: was.Sent, To: next, AsOf: now})
}

// rankMoved reports whether a rank is another one in the niche, or differs overall by 5 % and
// at least one.
func rankMoved(from, to *fieldmark.Rank) bool {
	if from == nil || to == nil {
		return from != to
	}
	moved := max(to.Overall-from.Overall, from.Overall-to.Overall)
	return from.Niche != to.Niche || moved >= max(1, (from.Overall+minRankShare-1)/minRankShare)
}

// buckets are the values of a score: 0 to 100 with one decimal.
const buckets = 1001

func bucket(points fieldmark.Milli) int {
	return min(max(int(points/(fieldmark.MilliOne/10)), 0), buckets-1)
}

// counts are how many ranges end in each bucket; after sum, in it or below.
type counts struct{ lows, highs [buckets]int32 }

func (c *counts) add(r fieldmark.Range) {
	c.lows[bucket(r.Low)]++
	c.highs[bucket(r.High)]++
}

func (c *counts) sum() {
	for i := 1; i < buckets; i++ {
		c.lows[i] += c.lows[i-1]
		c.highs[i] += c.highs[i-1]
	}
}

// rank returns the best and the last rank of a range, and how many ranges there are: one more
// than there are ranges above it, and all that are not below it.
func (c *counts) rank(r fieldmark.Range) (best, last, of int) {
	of = int(c.lows[buckets-1])
	last = of
	if low := bucket(r.Low); low > 0 {
		last -= int(c.highs[low-1])
	}
	return 1 + of - int(c.lows[bucket(r.High)]), last, of
}

// ranking are the counts that ranks follow from, as an edge computes them for its leaderboard.
type ranking struct {
	all    counts
	niches map[string]*counts
}

func newRanking() *ranking { return &ranking{niches: map[string]*counts{}} }

func (r *ranking) add(niche string, of fieldmark.Range) {
	c := r.niches[niche]
	if c == nil {
		c = &counts{}
		r.niches[niche] = c
	}
	r.all.add(of)
	c.add(of)
}

func (r *ranking) sum() {
	r.all.sum()
	for _, c := range r.niches {
		c.sum()
	}
}

// rank returns the rank of a brand; nil: it is not ranked.
func (r *ranking) rank(b *store.SentRank) *fieldmark.Rank {
	niche := r.niches[b.Brand.Niche]
	if b.Range == nil || niche == nil {
		return nil
	}
	var k fieldmark.Rank
	k.Overall, k.OverallLast, k.Of = r.all.rank(*b.Range)
	k.Niche, k.NicheLast, k.OfNiche = niche.rank(*b.Range)
	return &k
}
