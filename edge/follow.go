package edge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/badge"
)

// The pace of following.
const (
	pollWait = fieldmark.MaxWait * time.Second
	// backoffFirst and backoffMax bound the pause after a failed question to the
	// origin; each pause is jittered so that a fleet does not return at once.
	backoffFirst = 100 * time.Millisecond
	backoffMax   = 5 * time.Second
	// rerankEvery is how often everything is ranked anew without a cause:
	// confidence falls with age, and no event tells of a birthday.
	rerankEvery = time.Hour
	// moduleDrain is how long a replaced module stays usable for scores that had
	// begun; no fill may take that long.
	moduleDrain = 30 * time.Second
)

// follower is what the node knows of the origin's event log.
type follower struct {
	cursor    atomic.Int64 // the newest event applied
	connected atomic.Bool  // whether the last question was answered
}

// keepUp keeps the node in step with the origin until ctx ends.
func (e *Edge) keepUp(ctx context.Context) error {
	f := &following{edge: e}
	defer f.retire(ctx)
	pause := backoffFirst
	for ctx.Err() == nil {
		err := f.step(ctx)
		if err == nil {
			pause = backoffFirst
			if !e.follow.connected.Swap(true) {
				e.log.Info("following the origin", "event", e.follow.cursor.Load())
			}
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if e.follow.connected.Swap(false) || pause == backoffFirst {
			e.log.Warn("lost touch with the origin; serving what is known", "err", err)
		}
		sleep(ctx, pause/2+rand.N(pause))
		pause = min(2*pause, backoffMax)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// following is the state of keepUp; nothing else touches it.
type following struct {
	edge    *Edge
	log     string // the name of the log followed
	ranking *ranking
	ranked  time.Time     // when everything was last ranked
	cost    time.Duration // what the last snapshot took
	drains  []*time.Timer
}

// step brings the node from nothing to a ranking, and from there one stretch of
// the log further. It is safe to repeat.
func (f *following) step(ctx context.Context) error {
	if f.edge.module.Load() == nil {
		if err := f.loadModule(ctx); err != nil {
			return err
		}
	}
	if f.ranking == nil || time.Since(f.ranked) > rerankEvery {
		if err := f.rankAll(ctx); err != nil {
			return err
		}
	}
	return f.advance(ctx)
}

// loadModule fetches the active module by its digest, proves it and swaps it in.
func (f *following) loadModule(ctx context.Context) error {
	e := f.edge
	ref, err := e.cfg.Origin.ActiveModule(ctx)
	if err != nil {
		return fmt.Errorf("ask for the active module: %w", err)
	}
	old := e.module.Load()
	if old != nil && old.Ref().Digest == ref.Digest {
		return nil
	}
	code, err := e.cfg.Origin.Module(ctx, ref.Digest)
	if err != nil {
		return fmt.Errorf("fetch module %s: %w", ref.Digest, err)
	}
	m, err := e.engine.Load(ctx, code)
	if err != nil {
		return fmt.Errorf("load module %s: %w", ref.Digest, err)
	}
	if got := m.Ref().Digest; got != ref.Digest {
		return errors.Join(fmt.Errorf("asked for module %s and got %s", ref.Digest, got), m.Close(ctx))
	}
	e.module.Store(m)
	e.log.Info("scoring module loaded", "name", ref.Name, "version", ref.Version, "digest", ref.Digest)
	if old != nil {
		f.drains = append(f.drains, time.AfterFunc(moduleDrain, func() {
			if err := old.Close(context.WithoutCancel(ctx)); err != nil {
				e.log.Error("close a replaced module", "err", err)
			}
		}))
	}
	return nil
}

// retire stops what loadModule left waiting; closing the engine closes its
// modules.
func (f *following) retire(context.Context) {
	for _, t := range f.drains {
		t.Stop()
	}
}

// rankAll scores every public brand by one module.
func (f *following) rankAll(ctx context.Context) error {
	e := f.edge
	r := &ranking{module: e.module.Load(), rows: map[fieldmark.Slug]row{}}
	began := time.Now()
	asOf, err := e.cfg.Origin.EachBrandState(ctx, func(state fieldmark.BrandState) error {
		score, err := e.assessBy(ctx, r.module, state, began)
		if err != nil {
			return err
		}
		r.rows[state.Brand.Slug] = newRow(&score)
		return nil
	})
	if err != nil {
		return fmt.Errorf("rank every brand: %w", err)
	}
	r.event = asOf
	f.ranking, f.ranked = r, began
	e.follow.cursor.Store(max(asOf, e.follow.cursor.Load()))
	f.publish()
	return nil
}

// publish makes a snapshot of the ranking and shows it.
func (f *following) publish() {
	began := time.Now()
	s := f.ranking.snapshot(began)
	if f.edge.boards.set(s) {
		f.edge.cache.Purge(s.event, pageTag)
	}
	f.cost = time.Since(began)
}

// advance waits for the next stretch of the log and applies it: first every
// purge, so that nothing old is served any more, then the ranking.
func (f *following) advance(ctx context.Context) error {
	e := f.edge
	cursor := e.follow.cursor.Load()
	wait := pollWait
	if !e.follow.connected.Load() {
		wait = 0 // what the origin says of itself is worth hearing at once
	}
	page, err := e.cfg.Origin.Events(ctx, cursor, wait)
	if err != nil {
		return fmt.Errorf("follow the log after %d: %w", cursor, err)
	}
	e.edition.learn(page.Edition)
	if f.log == "" {
		f.log = page.Log
	}
	if page.Log != f.log || page.Head < cursor || page.Oldest > cursor+1 {
		return f.restart(page)
	}
	if len(page.Events) == 0 {
		return nil
	}
	changed, newModule := map[fieldmark.Slug]bool{}, false
	for _, ev := range page.Events {
		for _, tag := range ev.Tags {
			e.cache.Purge(ev.Number, string(tag))
			e.meters.purges.Inc()
		}
		if ev.Brand != "" {
			changed[ev.Brand] = true
		}
		newModule = newModule || ev.Type == fieldmark.EventModuleActivated
	}
	last := page.Events[len(page.Events)-1].Number
	if newModule {
		if err := f.loadModule(ctx); err != nil {
			return err
		}
		if f.ranking.module != e.module.Load() {
			if err := f.rankAll(ctx); err != nil {
				return err
			}
		}
	}
	if err := f.rerank(ctx, changed, last); err != nil {
		return err
	}
	e.meters.follows.Add(len(page.Events))
	e.follow.cursor.Store(max(last, e.follow.cursor.Load()))
	return nil
}

// rerank scores the changed brands again and publishes, no faster than half of
// the time: a large ranking that changes all the while must leave a core free.
func (f *following) rerank(ctx context.Context, changed map[fieldmark.Slug]bool, last int64) error {
	e := f.edge
	for slug := range changed {
		state, _, err := e.cfg.Origin.BrandState(ctx, slug)
		switch {
		case fieldmark.IsCode(err, fieldmark.CodeNotFound), err == nil && !state.Brand.Public:
			delete(f.ranking.rows, slug)
			e.cache.PurgeHard(last, string(fieldmark.TagBrand(slug))) // withdrawn: not even served in need
			continue
		case err != nil:
			return fmt.Errorf("rank %s again: %w", slug, err)
		}
		score, err := e.assessBy(ctx, f.ranking.module, state, time.Now())
		if err != nil {
			return err
		}
		f.ranking.rows[slug] = newRow(&score)
	}
	f.ranking.event = max(f.ranking.event, last)
	if len(changed) > 0 {
		sleep(ctx, f.cost)
		f.publish()
		f.refresh(ctx, changed)
	}
	return nil
}

// refresh starts to make anew what is held of the changed brands, so that even
// the first reader after a change sees it.
func (f *following) refresh(ctx context.Context, changed map[fieldmark.Slug]bool) {
	e := f.edge
	for slug := range changed {
		for theme := range themeQuery {
			key := badgeKey(slug, badge.Theme(theme))
			if _, state := e.cache.Get(key); state == cache.Stale {
				e.refreshed(e.cache.Fetch(ctx, key, e.badgeFill(slug, badge.Theme(theme))))
			}
		}
		if _, state := e.cache.Get(pageKey(slug)); state == cache.Stale {
			e.refreshed(e.cache.Fetch(ctx, pageKey(slug), e.pageFill(slug)))
		}
	}
}

// refreshed notes why a refresh could not begin; the next reader tries again.
func (e *Edge) refreshed(_ *cache.Entry, _ cache.Source, err error) {
	if err != nil && !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		e.log.Debug("refresh after a change", "err", err)
	}
}

// restart begins anew after the log's tail was lost: what is cached counts as
// stale, and everything is ranked again.
func (f *following) restart(page fieldmark.EventPage) error {
	e := f.edge
	e.log.Warn("the event log has a gap; starting again", "event", e.follow.cursor.Load(), "head", page.Head, "oldest", page.Oldest)
	e.meters.lost.Inc()
	if page.Log == f.log && page.Head >= e.follow.cursor.Load() {
		e.cache.Lost(page.Head)
	} else {
		e.cache.Reset()
	}
	f.log = page.Log
	e.follow.cursor.Store(page.Head)
	f.ranking = nil
	return nil
}
