package monitor

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// pruneInterval is how often old counts are deleted.
const pruneInterval = time.Hour

// counts are totals since the start of this process.
type counts struct {
	sent, failed                  int64
	met, atRisk, breached, audits int64
}

// Run adds what this process counts to the counts of each minute, until ctx ends. It reads
// counters that exist anyway, once a minute.
func (s *Service) Run(ctx context.Context) error {
	s.lastCounts = s.counts()
	var g errgroup.Group
	g.Go(func() error {
		s.cfg.Jobs.AtStartAndEvery(ctx, pruneInterval, "prune metrics", s.prune)
		return nil
	})
	g.Go(func() error {
		s.cfg.Jobs.Every(ctx, store.MetricMinute, "write metrics", s.record)
		return nil
	})
	return g.Wait()
}

// counts reads the counters of this process. They only grow, so two readings give the events
// between them.
func (s *Service) counts() counts {
	c := counts{met: s.cfg.Count(fieldmark.EventSLAMet), atRisk: s.cfg.Count(fieldmark.EventSLAAtRisk),
		breached: s.cfg.Count(fieldmark.EventSLABreached), audits: s.cfg.Count(fieldmark.EventBrandAudited)}
	c.sent, c.failed = s.cfg.Webhooks.Stats.Attempts()
	return c
}

// record adds the counts since the last record. A minute that cannot be written is added to
// the next one.
func (s *Service) record(ctx context.Context) error {
	now, last := s.counts(), s.lastCounts
	unhealthy, err := s.cfg.Webhooks.Stats.Unhealthy(ctx)
	if err != nil {
		return err
	}
	// most of it is in this minute
	// Half a minute back is the middle of what was counted.
	b := fieldmark.MetricBucket{At: fieldmark.At(time.Now().Add(-store.MetricMinute / 2)),
		MetricCounts: fieldmark.MetricCounts{
			Sent: now.sent - last.sent, Failed: now.failed - last.failed, SLAMet: now.met - last.met,
			SLAAtRisk: now.atRisk - last.atRisk, SLABreached: now.breached - last.breached,
			Audits: now.audits - last.audits,
		}}
	for _, e := range unhealthy {
		b.Held += int64(e.Held)
	}
	// AddMetric adds to the row of the minute: every process of the fleet writes into the same
	// one.
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.AddMetric(ctx, b) })
	if err == nil {
		s.lastCounts = now
	}
	return err
}

// prune deletes old counts.
func (s *Service) prune(ctx context.Context) error {
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.PruneMetrics(ctx, time.Now())
	})
}

// ranges are the lengths of ranges and of the steps in which they are shown: about a hundred
// points, as many as a chart has room for on a phone.
var ranges = map[fieldmark.MetricRange]struct{ length, step, row time.Duration }{
	fieldmark.Range1h:  {time.Hour, time.Minute, store.MetricMinute},
	fieldmark.Range24h: {24 * time.Hour, 15 * time.Minute, store.MetricMinute},
	fieldmark.Range7d:  {7 * 24 * time.Hour, 2 * time.Hour, store.MetricHour},
	fieldmark.Range90d: {90 * 24 * time.Hour, 24 * time.Hour, store.MetricHour},
}

// arriving is how long after the end of a period its counts may still arrive from edges.
const arriving = 10 * time.Second

// Metrics returns the counts of all nodes up to now in full periods, without gaps.
func (s *Service) Metrics(ctx context.Context, r fieldmark.MetricRange) (m fieldmark.Metrics, err error) {
	shape, ok := ranges[r]
	if !ok {
		return m, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the range may be 1h, 24h, 7d or 90d")
	}
	// Only full periods: a half-counted last point would look like a drop.
	last := time.Now().Add(-arriving).Truncate(shape.step).Add(-shape.step)
	first := last.Add(shape.step - shape.length)
	rows, err := s.cfg.Store.Metrics(ctx, shape.row, first)
	if err != nil {
		return m, fmt.Errorf("metrics: %w", err)
	}
	m = fieldmark.Metrics{Range: r, StepSeconds: int(shape.step / time.Second)}
	// Minutes in which nothing happened have no row, but a point: charts need even steps.
	for at := first; !at.After(last); at = at.Add(shape.step) {
		b := fieldmark.MetricBucket{}
		for len(rows) > 0 && rows[0].At.Std().Before(at.Add(shape.step)) {
			b.Add(rows[0])
			rows = rows[1:]
		}
		m.Points = append(m.Points, fieldmark.MetricPoint{At: fieldmark.At(at), MetricCounts: b.MetricCounts,
			P50Micros: b.Percentile(.5).Microseconds(), P99Micros: b.Percentile(.99).Microseconds()})
	}
	return m, nil
}
