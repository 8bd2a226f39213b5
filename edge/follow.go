package edge

import (
	"context"
	"encoding/json"
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
	// origin; each pause is jittered by half so that a fleet does not return at
	// once. The longest is also how late a node hears of what it missed, once it
	// may: with the jitter it stays below a second.
	backoffFirst = 100 * time.Millisecond
	backoffMax   = 500 * time.Millisecond
	// rerankEvery is how often everything is ranked anew without a cause:
	// confidence falls with age, and no event tells of a birthday.
	rerankEvery = time.Hour
	// warmScores is how many score documents a node makes ready while it ranks.
	// Beyond it a node that starts would spend minutes on what few ask for.
	warmScores = 10_000
	// replayed is how many events before its start a node that shares a tier looks
	// through for purges; what is older in the tier counts as stale. Ten pages of
	// the log cost less than a few hundred fills.
	replayed = 10_000
	// beyond is past every number an event can have: asking for what follows it
	// tells at once where the log stands.
	beyond = 1 << 53
)

// follower is what the node knows of the origin's event log.
type follower struct {
	cursor atomic.Int64 // the newest event applied
	// module is the newest event up to which the loaded module is known to be the
	// one in force. What it scores is no newer than that, whatever the facts are.
	module    atomic.Int64
	connected atomic.Bool  // whether the last question was answered
	proved    atomic.Bool  // whether one was ever: the origin is one of Fieldmark's
	agreed    atomic.Int64 // when the ranking was last known to be what the log says, in nanoseconds since 1970
}

// agree notes that the ranking is what the log says now.
func (f *follower) agree() { f.agreed.Store(time.Now().UnixNano()) }

// age is how long ago that was; 0 before the first ranking.
func (f *follower) age(now time.Time) time.Duration {
	at := f.agreed.Load()
	if at == 0 {
		return 0
	}
	return now.Sub(time.Unix(0, at))
}

// keepUp keeps the node in step with the origin until ctx ends.
func (e *Edge) keepUp(ctx context.Context) error {
	f := &following{edge: e}
	defer f.leave()
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
	edge     *Edge
	log      string        // the name of the log followed; empty before join
	ranking  *snapshot     // of the module it names
	release  func()        // gives up the ranking's module
	ranked   time.Time     // when everything was last ranked
	cost     time.Duration // what the last snapshot took
	tried    time.Time     // when the wanted module was last asked for
	forgiven int64         // the newest activation that was looked at
}

// step brings the node from nothing to a ranking, and from there one stretch of
// the log further. It is safe to repeat.
func (f *following) step(ctx context.Context) error {
	f.settle()
	if f.edge.modules.problem.Load() != nil && time.Since(f.tried) > refusedRetry {
		if err := f.loadModules(ctx); err != nil {
			return err
		}
	}
	if f.log == "" {
		if err := f.join(ctx); err != nil {
			return err
		}
	}
	if f.ranking == nil || f.superseded() || time.Since(f.ranked) > rerankEvery {
		if err := f.rankAll(ctx); err != nil {
			return err
		}
	}
	return f.advance(ctx)
}

// join begins to follow the log where it stands now, with the module in force.
func (f *following) join(ctx context.Context) error {
	e := f.edge
	page, err := e.cfg.Origin.Events(ctx, beyond, 0)
	if err != nil {
		return fmt.Errorf("ask where the log stands: %w", err)
	}
	e.follow.proved.Store(page.Log != "")
	e.edition.learn(page.Edition)
	if e.redis != nil {
		if err := f.replay(ctx, page); err != nil {
			return err
		}
	}
	if err := f.loadModules(ctx); err != nil {
		return err
	}
	f.forgiven = page.Head
	e.follow.module.Store(page.Head)
	e.follow.cursor.Store(page.Head)
	f.log = page.Log
	return nil
}

// replay applies the purges of the recent past, by which entries of the shared
// tier are judged, and begins to use it.
func (f *following) replay(ctx context.Context, to fieldmark.EventPage) error {
	e := f.edge
	from := max(to.Head-replayed, to.Oldest-1, 0)
	e.cache.Lost(from)
	for at := from; at < to.Head; {
		page, err := e.cfg.Origin.Events(ctx, at, 0)
		if err != nil {
			return fmt.Errorf("read the log after %d: %w", at, err)
		}
		if page.Log != to.Log || len(page.Events) == 0 {
			return fmt.Errorf("the log changed while it was read after %d", at)
		}
		for i := range page.Events {
			e.purge(&page.Events[i])
		}
		at = page.Events[len(page.Events)-1].Number
	}
	if err := e.redis.Ping(ctx); err != nil {
		e.log.Warn("redis does not answer; filling from the origin", "err", err)
	}
	e.cache.Join(to.Log, to.Head)
	return nil
}

// purge does to the cache what an event says.
func (e *Edge) purge(ev *fieldmark.Event) {
	soft, hard := e.cache.Purge, e.cache.PurgeHard
	var p fieldmark.Purged
	if ev.Type == fieldmark.EventCachePurged && json.Unmarshal(ev.Data, &p) == nil {
		if p.Hard {
			soft = hard
		}
		switch {
		case p.Everything && p.Hard:
			e.cache.LostHard(ev.Number)
		case p.Everything:
			e.cache.Lost(ev.Number)
		}
		if p.Everything {
			e.proxy.PurgeAll(p.Hard)
		}
	}
	if ev.Type == fieldmark.EventBrandRemoved {
		soft = hard // nobody shall see it again, whatever happens to the origin
	}
	for _, tag := range ev.Tags {
		soft(ev.Number, string(tag))
		e.proxy.Purge(p.Hard || ev.Type == fieldmark.EventBrandRemoved, string(tag)) // passed answers carry tags too
		e.meters.purges.Inc()
	}
}

// rankAll scores every public brand by one module.
func (f *following) rankAll(ctx context.Context) error {
	e := f.edge
	m, release, err := e.modules.active.Acquire()
	if err != nil {
		return errNoModule
	}
	began, known := time.Now(), e.follow.cursor.Load()
	var lines []*line
	asOf, err := e.cfg.Origin.EachBrandState(ctx, func(state fieldmark.BrandState) error {
		line, score, err := f.row(ctx, m, state, began)
		if err != nil {
			return err
		}
		lines = append(append(lines, line), aliasLines(&state)...)
		if score != nil && len(lines) <= warmScores && e.modules.digest(score.Slug) == m.Ref().Digest {
			e.keep(ctx, *score, known)
		}
		return nil
	})
	if err != nil {
		release()
		return fmt.Errorf("rank every brand: %w", err)
	}
	f.leave()
	f.release, f.ranked = release, began
	f.publish(func() *snapshot {
		return newSnapshot(m, lines, fieldmark.At(fieldmark.TrendTimes(began)[0]), asOf)
	})
	return nil
}

// aliasLines are the other slugs of a brand, as lines that only lead to it.
func aliasLines(state *fieldmark.BrandState) []*line {
	lines := make([]*line, len(state.Aliases))
	for i, slug := range state.Aliases {
		lines[i] = &line{slug: slug, to: state.Brand.Slug}
	}
	return lines
}

// keep puts a score at hand before anybody asks, so that it is there when the
// origin is not.
func (e *Edge) keep(ctx context.Context, score fieldmark.Score, asOf int64) {
	e.refreshed(e.cache.Fetch(ctx, fieldmark.PathScore+string(score.Slug), func(context.Context) (*cache.Entry, error) {
		return newScoreEntry(score, asOf)
	}))
}

// superseded says whether another module is in force than the ranking was made by.
func (f *following) superseded() bool {
	ref, err := f.edge.modules.active.Ref()
	return err == nil && f.ranking != nil && f.ranking.module.Ref() != ref
}

// publish shows the ranking that rank makes.
func (f *following) publish(rank func() *snapshot) {
	began := time.Now()
	f.ranking = rank()
	f.edge.boards.set(f.ranking)
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
	page, err := f.listen(ctx, cursor, wait)
	if err != nil && e.modules.rolledBack.Load() {
		return nil // woken to deal with that
	}
	if err != nil {
		return fmt.Errorf("follow the log after %d: %w", cursor, err)
	}
	e.edition.learn(page.Edition)
	if page.Log != f.log || page.Head < cursor || page.Oldest > cursor+1 {
		return f.restart(page)
	}
	if len(page.Events) == 0 {
		e.follow.agree()
		return nil
	}
	n := readNews(page.Events)
	if !n.module {
		e.follow.module.Store(n.last) // before the purges: what is filled after them must outlive them
	}
	for i := range page.Events {
		e.purge(&page.Events[i])
		if len(page.Events[i].Tags) > 0 {
			e.meters.purgeLag.Update(max(time.Since(page.Events[i].Time.Std()), 0).Seconds())
		}
	}
	if n.module {
		f.forgive(page.Events)
		if err := f.loadModules(ctx); err != nil {
			return err
		}
		e.follow.module.Store(n.last)
		e.cache.Purge(n.last, string(fieldmark.TagModule)) // what was filled meanwhile was scored by the old one
	}
	if n.everything || f.superseded() {
		if err := f.rankAll(ctx); err != nil {
			return err
		}
	}
	if err := f.rerank(ctx, n.brands, n.last); err != nil {
		return err
	}
	e.meters.follows.Add(len(page.Events))
	e.follow.cursor.Store(max(n.last, e.follow.cursor.Load()))
	if page.Head <= n.last {
		e.follow.agree()
	}
	return nil
}

// news is what a stretch of the log means for the ranking.
type news struct {
	brands     map[fieldmark.Slug]bool // to be scored again
	everything bool                    // all of them
	module     bool                    // another module may be in force
	last       int64
}

func readNews(events []fieldmark.Event) news {
	n := news{brands: map[fieldmark.Slug]bool{}, last: events[len(events)-1].Number}
	for i := range events {
		ev := &events[i]
		n.module = n.module || ev.Type == fieldmark.EventModuleActivated
		if ev.Brand != "" {
			n.brands[ev.Brand] = true
		}
		purged := ev.Type == fieldmark.EventCachePurged
		n.everything = n.everything || purged && len(ev.Tags) == 0
		for _, tag := range ev.Tags {
			if slug, ok := tag.Brand(); ok {
				n.brands[slug] = true // also the one it had before
			} else if tag == fieldmark.TagModule || tag == fieldmark.TagBoard {
				n.everything = n.everything || purged // any other is of what is passed on
			}
		}
	}
	return n
}

// rerank scores the changed brands again and publishes, no faster than half of
// the time: a large ranking that changes all the while must leave a core free.
func (f *following) rerank(ctx context.Context, changed map[fieldmark.Slug]bool, last int64) error {
	e := f.edge
	lines := make(map[fieldmark.Slug]*line, len(changed))
	for slug := range changed {
		again, err := f.scoreAgain(ctx, slug, last)
		switch {
		case fieldmark.IsCode(err, fieldmark.CodeNotFound):
			lines[slug] = nil
			if m, ok := errors.AsType[moved](err); ok {
				lines[slug] = &line{slug: slug, to: m.to}
			}
			e.cache.PurgeHard(last, string(fieldmark.TagBrand(slug))) // withdrawn: not even served in need
		case err != nil:
			return fmt.Errorf("rank %s again: %w", slug, err)
		default:
			lines[slug] = again
		}
	}
	if len(changed) > 0 {
		withdrawn := false
		for slug, l := range lines {
			withdrawn = withdrawn || l == nil && f.ranking.line(slug) != nil
		}
		if withdrawn {
			e.boards.forget()
		} else {
			sleep(ctx, f.cost)
		}
		f.publish(func() *snapshot { return f.ranking.with(lines, max(f.ranking.event, last)) })
		f.refresh(ctx, changed)
	}
	return nil
}

// scoreAgain scores a brand after an event, by the ranking's module. It shares
// the score with the cache, and so with the fleet, where that is of use.
func (f *following) scoreAgain(ctx context.Context, slug fieldmark.Slug, event int64) (*line, error) {
	e := f.edge
	entry, _, err := e.deriveScore(ctx, slug)
	switch {
	case err == nil:
		if v := entry.Value.(*scoreValue); entry.AsOf >= event && !v.stale && v.score.Module == f.ranking.module.Ref() {
			return newLine(&v.score), nil
		}
	case !fieldmark.IsCode(err, fieldmark.CodeNotFound): // which may be an answer of before the event
		return nil, err
	}
	state, _, err := e.cfg.Origin.BrandState(ctx, slug)
	if err := notHere(slug, &state, err); err != nil {
		return nil, err
	}
	again, _, err := f.row(ctx, f.ranking.module, state, time.Now())
	return again, err
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
		if _, state := e.cache.Get(e.pageKey(slug)); state == cache.Stale {
			e.refreshed(e.cache.Fetch(ctx, e.pageKey(slug), e.pageFill(slug)))
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
	e.proxy.PurgeAll(false) // nobody knows what was purged meanwhile
	if page.Log == f.log && page.Head >= e.follow.cursor.Load() {
		e.cache.Lost(page.Head)
	} else {
		e.cache.Reset()
	}
	f.leave()
	f.log = ""
	return nil
}
