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
	"github.com/fieldmark/fieldmark/edge/snapshot"
	"github.com/fieldmark/fieldmark/internal/timeout"
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
	// several usual fills. A reader waits longer, but no other brand waits for a reader.
	followerLease = 250 * time.Millisecond
	// agedEvery is the interval of the search for brands whose facts became too old for
	// their published score: no event reports that.
	agedEvery = time.Hour
	// dailySpread is the time after midnight UTC over which nodes rank all brands
	// again, as trends look back from the start of the day: a fleet that did it at
	// once would request everything from the origins at once.
	dailySpread = time.Hour
)

// ranker keeps the ranking in step with the log, beside the reader of the log.
// Only its own goroutine touches it.
type ranker struct {
	edge *Edge
	done requests // what was dealt with

	ranking     *ranking.Snapshot // nil: none
	module      *wasm.Module      // that computed the ranking; nil: none
	release     func()            // abandons the module
	publishTime time.Duration     // what the last publication took
	loadedAt    time.Time         // when the wanted module was last requested
	purgeScores bool              // scores of the module before may have been stored

	pass              *rankPass                // nil: no pass is running
	changedDuringPass map[fieldmark.Slug]int64 // brands that were ranked since the pass began

	aged         []fieldmark.Slug // brands to be scored again for their age
	agedUntil    time.Time        // the time up to which ages were looked at
	nextFullPass time.Time        // when all brands are ranked again without a cause
}

// runRanker keeps the ranking current with the event log until ctx ends.
func (e *Edge) runRanker(ctx context.Context) error {
	r := &ranker{edge: e}
	defer r.reset()
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
		_ = timeout.Sleep(ctx, pause/2+rand.N(pause))
		pause = min(2*pause, backoffMax)
	}
	return nil
}

// step deals with what has come up since the last one, or waits for it.
func (r *ranker) step(ctx context.Context) error {
	e := r.edge
	w, activations := e.replica.backlog.state()
	r.clearRollbacks(activations)
	r.purgeScores = r.purgeScores || len(activations) > 0
	if w.attached != r.done.attached {
		r.reset() // it may have brands that are not in the log, or scores of a bad module
		r.done.attached = w.attached
	}
	if w.attached == 0 {
		return r.wait(ctx)
	}
	if w.modules != r.done.modules || e.modules.problem.Load() != nil && time.Since(r.loadedAt) > refusedRetry {
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
	if batch := e.replica.backlog.batch(rankBatch); len(batch) > 0 {
		return r.rerank(ctx, batch)
	}
	e.replica.publishProgress()
	if now := time.Now(); now.Sub(r.agedUntil) >= agedEvery {
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
	case <-r.edge.replica.backlog.ready:
	case <-t.C:
	}
	return nil
}

// refreshModules loads what the origin names as the modules to score with.
func (r *ranker) refreshModules(ctx context.Context, w requests) error {
	e := r.edge
	before, none := e.modules.active.Ref()
	if err := r.loadModules(ctx); err != nil {
		return err
	}
	r.done.modules = w.modules
	e.replica.backlog.moduleLoaded(w.modules, e.replica.moduleAsOf.Store)
	now, _ := e.modules.active.Ref()
	if r.purgeScores || none == nil && now != before {
		// What was filled meanwhile was scored by the old one, and is marked as no
		// newer than the last event at which that was known to be right.
		e.cache.Purge(max(e.replica.moduleAsOf.Load(), 1), string(fieldmark.TagModule))
	}
	r.purgeScores = false
	return nil
}

// isSuperseded reports whether a ranking was made by another module than the active
// one.
func (r *ranker) isSuperseded(m *wasm.Module) bool {
	ref, err := r.edge.modules.active.Ref()
	return err == nil && m.Ref() != ref
}

// setRanking shows the ranking that rank makes.
func (r *ranker) setRanking(rank func() *ranking.Snapshot) {
	began := time.Now()
	r.ranking = rank()
	r.edge.rankings.Set(r.ranking)
	r.publishTime = time.Since(began)
}

// reset drops the ranking, its module and the running pass.
func (r *ranker) reset() {
	r.cancelPass()
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
	rows, failed := r.rescoreAll(ctx, r.module, batch)
	if len(rows) == 0 {
		return failed
	}
	applied := make(map[fieldmark.Slug]int64, len(rows))
	withdrawn := false
	for slug, row := range rows {
		applied[slug] = batch[slug]
		old := r.ranking.Row(slug)
		withdrawn = withdrawn || old != nil && old.Listed() && (row == nil || !row.Listed())
	}
	if withdrawn {
		e.rankings.DropHistory()
	} else {
		_ = timeout.Sleep(ctx, r.publishTime)
	}
	r.setRanking(func() *ranking.Snapshot { return r.ranking.Apply(rows) })
	if r.pass != nil {
		for slug, event := range applied {
			r.changedDuringPass[slug] = event
		}
	}
	e.replica.backlog.applied(applied)
	e.replica.publishProgress()
	r.refresh(ctx, applied)
	return failed
}

// rerankAged scores a batch of brands again for their age alone.
func (r *ranker) rerankAged(ctx context.Context) error {
	batch := map[fieldmark.Slug]int64{}
	n := min(rankBatch, len(r.aged))
	for _, slug := range r.aged[:n] {
		batch[slug] = r.edge.replica.purged.Load()
	}
	if err := r.rerank(ctx, batch); err != nil {
		return err
	}
	r.aged = r.aged[n:]
	return nil
}

// findAged finds ranked brands whose confidence or readiness changed since the last search
// because their facts aged.
func (r *ranker) findAged(now time.Time) {
	for row := range r.ranking.Ranked() {
		if facts := fieldmark.AtMicros(row.AsOf()).Std(); ageOf(facts, r.agedUntil) != ageOf(facts, now) {
			r.aged = append(r.aged, row.Slug())
		}
	}
	r.agedUntil = now
}

// rescoreAll scores brands as of an event each. A nil row is a brand that is not
// public any more. With an error come the rows of all brands but those that
// failed.
func (r *ranker) rescoreAll(ctx context.Context, m *wasm.Module,
	batch map[fieldmark.Slug]int64) (map[fieldmark.Slug]*ranking.Row, error) {
	var mu sync.Mutex
	rows := make(map[fieldmark.Slug]*ranking.Row, len(batch))
	var g errgroup.Group // without a context: one brand that fails stops no other
	g.SetLimit(scoreAtOnce)
	for slug, event := range batch {
		g.Go(func() error {
			row, err := r.edge.scorer.rescore(ctx, m, slug, event)
			switch {
			case fieldmark.IsCode(err, fieldmark.CodeNotFound):
				r.edge.cache.PurgeHard(event, string(fieldmark.TagBrand(slug))) // withdrawn: not even served in need
				if m, ok := errors.AsType[redirectError](err); ok {
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

// rescore scores a brand after an event, by the ranking's module. It shares
// the score with the cache, and so with the fleet, where that is of use.
func (s *scorer) rescore(ctx context.Context, m *wasm.Module, slug fieldmark.Slug, event int64) (*ranking.Row, error) {
	entry, _, err := s.derive(ctx, slug, followerLease)
	switch {
	case err == nil:
		v := entry.Value.(*scoreValue)
		if entry.AsOf >= event && !v.stale && v.score.Module == m.Ref() && !agedSince(&v.score, entry.Born) {
			return ranking.NewRow(&v.score), nil
		}
	case !fieldmark.IsCode(err, fieldmark.CodeNotFound): // perhaps from before the event
		return nil, err
	}
	state, _, err := s.origin.BrandState(ctx, slug)
	if err := asNotFound(slug, &state, err); err != nil {
		return nil, err
	}
	again, _, err := s.scoreRow(ctx, m, state, time.Now())
	return again, err
}

// agedSince reports whether a score that was made at an instant would be another now for the age of its facts.
func agedSince(s *fieldmark.Score, made time.Time) bool {
	return s.AsOf != nil && ageOf(s.AsOf.Std(), made) != ageOf(s.AsOf.Std(), time.Now())
}

// refresh starts to renew what is cached of the changed brands, so that even
// the first reader after a change sees it.
func (r *ranker) refresh(ctx context.Context, changed map[fieldmark.Slug]int64) {
	e := r.edge
	for slug := range changed {
		for theme := range themeQuery {
			key := badgeKey(slug, badge.Theme(theme))
			if _, state := e.cache.Get(key); state == cache.Stale {
				e.scorer.logRefresh(e.cache.Fetch(ctx, key, e.badges.fillOf(slug, badge.Theme(theme))))
			}
		}
		if _, state := e.cache.Get(e.brands.key(slug)); state == cache.Stale {
			e.scorer.logRefresh(e.cache.Fetch(ctx, e.brands.key(slug), e.brands.fillOf(slug)))
		}
	}
}

// logRefresh logs why a refresh could not begin; the next reader tries again.
func (s *scorer) logRefresh(_ *cache.Entry, _ cache.Source, err error) {
	if err != nil && !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		s.log.Debug("refresh after a change", "err", err)
	}
}

const (
	// passPage is how many brands are read in one request: 6 MB with evidence and 2
	// without, which the origin reads in well under a second.
	passPage = 500
	// maxWarmScores is how many score documents a node prepares while it ranks. Without the
	// limit a starting node would spend minutes on documents that are rarely requested.
	maxWarmScores = 10_000
)

// rankPass scores every public brand by one module, page by page, beside the
// reader of the log. A page that fails is requested again, not those before it.
type rankPass struct {
	edge         *Edge
	module       *wasm.Module
	release      func()        // abandons the module
	requested    requests      // what was wanted when it began
	began        time.Time     // the time it ranks as of
	moduleAsOf   int64         // the newest event at which the module was known to be the active one
	storesScores bool          // it makes score documents ready
	fileWait     time.Duration // how long it waits for a ranking file; negative: it uses none

	cancel context.CancelFunc
	done   chan struct{} // closed when what follows is complete
	rows   []*ranking.Row
	asOf   int64 // the newest event that was in the log before the first page was read
	err    error

	file *snapshot.Loaded // that rows are from; nil: all brands were scored
}

// rankAll starts a pass if one is requested and publishes what it has ranked.
func (r *ranker) rankAll(ctx context.Context, w requests) error {
	if r.pass != nil && r.isSuperseded(r.pass.module) {
		r.cancelPass()
	}
	if r.pass != nil {
		select {
		case <-r.pass.done:
			return r.finishPass(ctx)
		default:
			return nil
		}
	}
	if r.ranking != nil && w.everything == r.done.everything && !r.isSuperseded(r.module) &&
		time.Now().Before(r.nextFullPass) {
		return nil
	}
	return r.startPass(ctx, w)
}

// startPass scores all brands with the active module in another goroutine, so that changes are applied to the present
// ranking meanwhile. The event number is read before the module: a module that is activated in between causes another
// pass, never a ranking that is older than it claims.
func (r *ranker) startPass(ctx context.Context, w requests) error {
	e := r.edge
	known := e.replica.moduleAsOf.Load() // before the module is read
	m, release, err := e.modules.active.Acquire()
	if err != nil {
		return errNoModule
	}
	ctx, cancel := context.WithCancel(ctx)
	r.pass = &rankPass{edge: e, module: m, release: release, requested: w, began: time.Now(), moduleAsOf: known,
		storesScores: r.ranking == nil || r.ranking.Method.Module != m.Ref(), cancel: cancel, done: make(chan struct{})}
	r.pass.fileWait = r.fileWait(m, w)
	r.changedDuringPass = map[fieldmark.Slug]int64{}
	go r.pass.run(ctx)
	return nil
}

// cancelPass gives a pass up, if there is one, and waits for its end.
func (r *ranker) cancelPass() {
	if r.pass == nil {
		return
	}
	r.pass.cancel()
	<-r.pass.done
	r.pass.release()
	r.pass = nil
}

// finishPass publishes what a pass has ranked. Brands that were ranked while it
// ran are scored again first, so that no brand goes back to what the pass saw.
func (r *ranker) finishPass(ctx context.Context) error {
	p := r.pass
	if p.err != nil {
		r.cancelPass()
		return p.err
	}
	rows, err := r.rescoreAll(ctx, p.module, p.changed(r.changedDuringPass))
	if err != nil {
		return err // the pass is kept: only this is tried again
	}
	r.pass = nil
	p.cancel()
	if r.ranking != nil {
		r.release()
	}
	r.module, r.release, r.done.everything, r.agedUntil = p.module, p.release, p.requested.everything, p.began
	day := p.began.UTC().Truncate(24 * time.Hour)
	r.nextFullPass = day.AddDate(0, 0, 1).Add(rand.N(dailySpread))
	r.setRanking(func() *ranking.Snapshot {
		s := ranking.New(ranking.Method{Module: p.module.Ref(), Methodology: p.module.Methodology()}, p.rows,
			fieldmark.At(fieldmark.TrendTimes(p.began)[0]))
		if len(rows) > 0 {
			s = s.Apply(rows)
		}
		return s
	})
	r.edge.replica.backlog.whileAttached(p.requested.attached, func() { r.edge.rankings.SetIncomplete(false) })
	return nil
}

// scoreAll reads and scores all pages.
func (p *rankPass) scoreAll(ctx context.Context) {
	pause := backoffFirst
	var after fieldmark.Slug
	for first := true; ; {
		bare := !p.storesScores || len(p.rows) >= maxWarmScores
		var page []fieldmark.BrandState
		asOf, more, err := p.edge.cfg.Origin.BrandStates(ctx, after, passPage, bare,
			func(s fieldmark.BrandState) error {
				page = append(page, s)
				return nil
			})
		if ctx.Err() != nil {
			p.err = ctx.Err()
			return
		}
		if err != nil {
			if pause == backoffFirst {
				p.edge.log.Warn("brands cannot be read; trying again", "after", after, "err", err)
			}
			_ = timeout.Sleep(ctx, pause/2+rand.N(pause))
			pause = min(2*pause, backoffMax)
			continue
		}
		pause = backoffFirst
		if first {
			p.asOf, first = asOf, false
		}
		for i := range page {
			if p.err = p.add(ctx, &page[i], min(asOf, p.moduleAsOf), !bare); p.err != nil {
				return
			}
		}
		if !more {
			return
		}
		after = page[len(page)-1].Brand.Slug
	}
}

// add scores one brand. Keep makes its score document ready.
func (p *rankPass) add(ctx context.Context, state *fieldmark.BrandState, asOf int64, keep bool) error {
	e := p.edge
	row, score, err := e.scorer.scoreRow(ctx, p.module, *state, assessedAt(p.began))
	if err != nil {
		return fmt.Errorf("rank every brand: %w", err)
	}
	p.rows = append(append(p.rows, row), aliasRows(state)...)
	if keep && score != nil && len(p.rows) <= maxWarmScores && e.modules.digest(score.Slug) == p.module.Ref().Digest {
		e.scorer.store(ctx, *score, asOf, p.began)
	}
	return nil
}

// aliasRows are the rows of a brand's other slugs.
func aliasRows(state *fieldmark.BrandState) []*ranking.Row {
	rows := make([]*ranking.Row, len(state.Aliases))
	for i, slug := range state.Aliases {
		rows[i] = ranking.NewAlias(slug, state.Brand.Slug)
	}
	return rows
}

// store stores a score ahead of requests, so that it is there while the origin is
// unreachable.
func (s *scorer) store(ctx context.Context, score fieldmark.Score, asOf int64, at time.Time) {
	s.logRefresh(s.cache.Fetch(ctx, scoreKey(score.Slug), func(context.Context) (*cache.Entry, error) {
		return newScoreEntry(score, asOf, at)
	}))
}
