package edge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/badge"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/wasm"
)

const (
	// rankBatch is how many changed brands are scored before the ranking is
	// published: of an import of thousands the first are shown within a second.
	rankBatch = 256
	// scoreAtOnce is how many brands are scored at a time. Most of the time is
	// spent waiting for the origin and for other nodes' fills.
	scoreAtOnce = 8
	// followerLease is how long a score that another node is making is waited for:
	// several usual fills. A reader waits longer, but others do not wait for him.
	followerLease = 250 * time.Millisecond
	// agedEvery is how often brands are looked for whose facts have grown too old
	// for what is said of them: no event reports that.
	agedEvery = time.Hour
	// dailySpread is the time after midnight UTC over which nodes rank all brands
	// again, as trends look back from the start of the day: a fleet that did it at
	// once would ask the origins for everything at once.
	dailySpread = time.Hour
)

// ranker keeps the ranking in step with the log, beside the reader of the log.
// Only its own goroutine touches it.
type ranker struct {
	edge *Edge
	done wanted // what was dealt with

	ranking *ranking.Snapshot // nil: none
	module  *wasm.Module      // that the ranking was made by; nil: none
	release func()            // gives up the module
	cost    time.Duration     // what the last publication took
	tried   time.Time         // when the wanted module was last asked for
	purge   bool              // scores of the module before may have been stored

	pass    *rankPass                // nil: none is under way
	changed map[fieldmark.Slug]int64 // brands that were ranked since the pass began

	aged  []fieldmark.Slug // brands to be scored again for their age
	asOf  time.Time        // the time up to which ages were looked at
	daily time.Time        // when all brands are ranked again without a cause
}

// keepRanked keeps the ranking in step with what the log says until ctx ends.
func (e *Edge) keepRanked(ctx context.Context) error {
	r := &ranker{edge: e}
	defer r.drop()
	pause := backoffFirst
	for ctx.Err() == nil {
		err := r.step(ctx)
		if err == nil {
			pause = backoffFirst
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if pause == backoffFirst {
			e.log.Warn("the ranking is behind the event log", "err", err)
		}
		sleep(ctx, pause/2+rand.N(pause))
		pause = min(2*pause, backoffMax)
	}
	return nil
}

// step deals with what has come up since the last one, or waits for it.
func (r *ranker) step(ctx context.Context) error {
	e := r.edge
	w, activations := e.follow.backlog.state()
	r.forgive(activations)
	r.purge = r.purge || len(activations) > 0
	if w.attached != r.done.attached {
		r.drop() // it may be of brands that the log does not know, or by a bad module
		r.done.attached = w.attached
	}
	if w.attached == 0 {
		return r.wait(ctx)
	}
	if w.modules != r.done.modules || e.modules.problem.Load() != nil && time.Since(r.tried) > refusedRetry {
		if err := r.refreshModules(ctx, w); err != nil {
			return err
		}
	}
	if err := r.rankAll(ctx, w); err != nil {
		return err
	}
	if r.ranking == nil {
		return r.wait(ctx)
	}
	if batch := e.follow.backlog.batch(rankBatch); len(batch) > 0 {
		return r.rerank(ctx, batch)
	}
	e.follow.caughtUp()
	if now := time.Now(); now.Sub(r.asOf) >= agedEvery {
		r.findAged(now)
	}
	if len(r.aged) > 0 {
		return r.rerankAged(ctx)
	}
	return r.wait(ctx)
}

// wait waits until there is something to do.
func (r *ranker) wait(ctx context.Context) error {
	until := agedEvery
	if r.edge.modules.problem.Load() != nil {
		until = refusedRetry
	}
	t := time.NewTimer(until)
	defer t.Stop()
	var passed chan struct{}
	if r.pass != nil {
		passed = r.pass.done
	}
	select {
	case <-ctx.Done():
	case <-passed:
	case <-r.edge.follow.backlog.ready:
	case <-t.C:
	}
	return nil
}

// refreshModules loads what the origin names as the modules to score with.
func (r *ranker) refreshModules(ctx context.Context, w wanted) error {
	e := r.edge
	before, none := e.modules.active.Ref()
	if err := r.loadModules(ctx); err != nil {
		return err
	}
	r.done.modules = w.modules
	e.follow.backlog.moduleLoaded(w.modules, e.follow.module.Store)
	now, _ := e.modules.active.Ref()
	if r.purge || none == nil && now != before {
		// What was filled meanwhile was scored by the old one, and is marked as no
		// newer than the last event at which that was known to be right.
		e.cache.Purge(max(e.follow.module.Load(), 1), string(fieldmark.TagModule))
	}
	r.purge = false
	return nil
}

// superseded reports whether a ranking was made by another module than the active
// one.
func (r *ranker) superseded(m *wasm.Module) bool {
	ref, err := r.edge.modules.active.Ref()
	return err == nil && m.Ref() != ref
}

// publish shows the ranking that rank makes.
func (r *ranker) publish(rank func() *ranking.Snapshot) {
	began := time.Now()
	r.ranking = rank()
	r.edge.rankings.Set(r.ranking)
	r.cost = time.Since(began)
}

// drop gives up the ranking, the module it was made by, and a pass.
func (r *ranker) drop() {
	r.endPass()
	if r.ranking != nil {
		r.release()
	}
	r.ranking, r.module, r.release, r.aged = nil, nil, nil, nil
}

// rerank scores changed brands again and publishes, no faster than half of the
// time: a large ranking that changes all the while must leave a core free. What
// could be scored is shown even if some could not.
func (r *ranker) rerank(ctx context.Context, batch map[fieldmark.Slug]int64) error {
	e := r.edge
	rows, failed := r.scoreAll(ctx, r.module, batch)
	if len(rows) == 0 {
		return failed
	}
	applied := make(map[fieldmark.Slug]int64, len(rows))
	withdrawn := false
	for slug, row := range rows {
		applied[slug] = batch[slug]
		withdrawn = withdrawn || row == nil && r.ranking.Row(slug) != nil
	}
	if withdrawn {
		e.rankings.DropHistory()
	} else {
		sleep(ctx, r.cost)
	}
	r.publish(func() *ranking.Snapshot { return r.ranking.Apply(rows) })
	if r.pass != nil {
		for slug, event := range applied {
			r.changed[slug] = event
		}
	}
	e.follow.backlog.applied(applied)
	e.follow.caughtUp()
	r.refresh(ctx, applied)
	return failed
}

// rerankAged scores a batch of brands again for their age alone.
func (r *ranker) rerankAged(ctx context.Context) error {
	batch := map[fieldmark.Slug]int64{}
	n := min(rankBatch, len(r.aged))
	for _, slug := range r.aged[:n] {
		batch[slug] = r.edge.follow.purged.Load()
	}
	if err := r.rerank(ctx, batch); err != nil {
		return err
	}
	r.aged = r.aged[n:]
	return nil
}

// findAged looks for ranked brands of whose confidence or readiness something else
// is to be said since the last look, as their facts have grown older.
func (r *ranker) findAged(now time.Time) {
	for row := range r.ranking.Ranked() {
		at := fieldmark.AtMicros(row.AsOf()).Std()
		for _, limit := range fieldmark.AgeLimits() {
			if due := at.Add(limit); due.Before(now) && !due.Before(r.asOf) {
				r.aged = append(r.aged, row.Slug())
				break
			}
		}
	}
	r.asOf = now
}

// scoreAll scores brands as of an event each. A nil row is a brand that is not
// public any more. With an error come the rows of all brands but those that
// failed.
func (r *ranker) scoreAll(ctx context.Context, m *wasm.Module, batch map[fieldmark.Slug]int64) (map[fieldmark.Slug]*ranking.Row, error) {
	var mu sync.Mutex
	rows := make(map[fieldmark.Slug]*ranking.Row, len(batch))
	var g errgroup.Group // without a context: one brand that fails stops no other
	g.SetLimit(scoreAtOnce)
	for slug, event := range batch {
		g.Go(func() error {
			row, err := r.edge.scoreAgain(ctx, m, slug, event)
			switch {
			case fieldmark.IsCode(err, fieldmark.CodeNotFound):
				r.edge.cache.PurgeHard(event, string(fieldmark.TagBrand(slug))) // withdrawn: not even served in need
				if m, ok := errors.AsType[moved](err); ok {
					row = ranking.NewAlias(slug, m.to)
				}
			case err != nil:
				return fmt.Errorf("rank %s again: %w", slug, err)
			}
			mu.Lock()
			defer mu.Unlock()
			rows[slug] = row
			return nil
		})
	}
	err := g.Wait()
	return rows, err
}

// scoreAgain scores a brand after an event, by the ranking's module. It shares
// the score with the cache, and so with the fleet, where that is of use.
func (e *Edge) scoreAgain(ctx context.Context, m *wasm.Module, slug fieldmark.Slug, event int64) (*ranking.Row, error) {
	entry, _, err := e.deriveScore(ctx, slug, followerLease)
	switch {
	case err == nil:
		if v := entry.Value.(*scoreValue); entry.AsOf >= event && !v.stale && v.score.Module == m.Ref() {
			return ranking.NewRow(&v.score), nil
		}
	case !fieldmark.IsCode(err, fieldmark.CodeNotFound): // which may be an answer of before the event
		return nil, err
	}
	state, _, err := e.cfg.Origin.BrandState(ctx, slug)
	if err := notHere(slug, &state, err); err != nil {
		return nil, err
	}
	again, _, err := e.row(ctx, m, state, time.Now())
	return again, err
}

// refresh starts to make anew what is held of the changed brands, so that even
// the first reader after a change sees it.
func (r *ranker) refresh(ctx context.Context, changed map[fieldmark.Slug]int64) {
	e := r.edge
	for slug := range changed {
		for theme := range themeQuery {
			key := badgeKey(slug, badge.Theme(theme))
			if _, state := e.cache.Get(key); state == cache.Stale {
				e.refreshed(e.cache.Fetch(ctx, key, e.badgeFill(slug, badge.Theme(theme))))
			}
		}
		if _, state := e.cache.Get(e.pageKey(slug)); state == cache.Stale {
			e.refreshed(e.cache.Fetch(ctx, e.pageKey(slug), e.pageFill(slug)))
		}
	}
}

// refreshed logs why a refresh could not begin; the next reader tries again.
func (e *Edge) refreshed(_ *cache.Entry, _ cache.Source, err error) {
	if err != nil && !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		e.log.Debug("refresh after a change", "err", err)
	}
}
