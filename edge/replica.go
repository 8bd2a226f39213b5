package edge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/conn/h2"
	"github.com/fieldmark/fieldmark/edge/conn/h3"
	"github.com/fieldmark/fieldmark/edge/eventlog"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

// Intervals and timeouts of following the event log.
const (
	pollWait = fieldmark.MaxWait * time.Second
	// backoffFirst and backoffMax bound the pause after a failed request to the origin;
	// each pause is jittered by half so that the nodes of a fleet do not reconnect at once.
	// backoffMax is also the longest delay before a reconnected node receives the events it
	// missed: with the jitter it stays below a second.
	backoffFirst = 100 * time.Millisecond
	backoffMax   = 500 * time.Millisecond
	// minSilence is the least time without a byte after which a poll is sent to
	// another origin. An origin that works sends one every 300 ms; a change should
	// be visible within a second or two even if one origin fails.
	minSilence = time.Second
	// missedKeepAlives is how many keep-alives must be missing, should an origin
	// send them less often.
	missedKeepAlives = 3
	// replayedEvents is how many events before its start a node that shares a tier looks
	// through for purges; what is older in the tier counts as stale. Ten pages of
	// the log cost less than a few hundred fills.
	replayedEvents = 10_000
	// beyondLog is past every number an event can have: a request for the events after
	// it returns at once, with the head of the log.
	beyondLog = 1 << 53
)

// replicaState is how far the node has replicated the origin's event log.
type replicaState struct {
	applied atomic.Int64 // the newest event up to which all changes are in the ranking
	purged  atomic.Int64 // the newest event whose purges are applied, or just being applied
	// moduleAsOf is the newest event up to which the loaded module is known to be the
	// active one. Scores that it computes are not newer than that event, even if the facts
	// are.
	moduleAsOf   atomic.Int64
	connected    atomic.Bool  // whether the last question was answered
	lostAt       atomic.Int64 // when connected became false, in nanoseconds since 1970; 0: never
	originProven atomic.Bool  // whether one was ever: the origin is one of Fieldmark's
	currentAt    atomic.Int64 // when the ranking last matched the log, in nanoseconds since 1970
	backlog      *backlog
}

// markCurrent records that the ranking matches the log now.
func (f *replicaState) markCurrent() { f.currentAt.Store(time.Now().UnixNano()) }

// rankingAge is how long ago that was; 0 before the first ranking.
func (f *replicaState) rankingAge(now time.Time) time.Duration {
	at := f.currentAt.Load()
	if at == 0 {
		return 0
	}
	return now.Sub(time.Unix(0, at))
}

// lag is the age of the oldest event that this node has not applied in full, as far as
// it can know: while the origin does not answer it is the time since it last did.
func (f *replicaState) lag(now time.Time) time.Duration {
	var lag time.Duration
	if oldest := f.backlog.oldest(); !oldest.IsZero() {
		lag = max(now.Sub(oldest), 0)
	}
	if at := f.lostAt.Load(); at != 0 && !f.connected.Load() {
		lag = max(lag, now.Sub(time.Unix(0, at)))
	}
	return lag
}

// publishProgress updates what the node reports of its place in the log, after a change
// of the backlog.
func (f *replicaState) publishProgress() {
	f.backlog.report(func(n int64, all bool) {
		f.applied.Store(n)
		if all {
			f.markCurrent()
		}
	})
}

// replicate follows the event log until ctx ends. It applies purges, and leaves slow work to the ranker.
func (e *Edge) replicate(ctx context.Context) error {
	f := e.replicator
	pause := backoffFirst
	for ctx.Err() == nil {
		err := f.sync(ctx)
		if err == nil {
			pause = backoffFirst
			if !e.replica.connected.Swap(true) {
				e.log.Info("following the origin", "event", f.at.Number)
			}
			continue
		}
		if ctx.Err() != nil {
			break
		}
		e.lifetime.Clear() // purges may be missing from now on
		connected := e.replica.connected.Swap(false)
		if connected {
			e.replica.lostAt.Store(time.Now().UnixNano())
		}
		if connected || pause == backoffFirst {
			e.log.Warn("event stream disconnected; serving cached data", "err", err)
		}
		_ = timeout.Sleep(ctx, pause/2+rand.N(pause))
		pause = min(2*pause, backoffMax)
	}
	return nil
}

// replicator is the state of replicate; nothing else touches it.
type replicator struct {
	edge       *Edge
	source     *eventlog.Source      // of the pages after attach
	log        string                // the name of the log followed; empty before join
	at         fieldmark.EventCursor // the newest event read
	maxSilence time.Duration         // what a poll may be silent for; 0: the origin sends no keep-alives
	lifetime   fieldmark.CDNLifetime // for CDNs, while the edge is not behind
	lifetimeAt int64                 // number of the event since which it is known
}

// sync attaches to the log if needed, or applies its next page. It is safe to repeat.
func (f *replicator) sync(ctx context.Context) error {
	if f.edge.modules.rolledBack.Swap(false) {
		f.edge.lifetime.Clear()
		f.edge.cache.Reset() // scores that the bad module computed may be wrong
		f.log = ""
	}
	if f.log == "" {
		return f.attach(ctx)
	}
	return f.pollAndApply(ctx)
}

// attach starts to replicate the log at its head.
func (f *replicator) attach(ctx context.Context) error {
	e := f.edge
	page, err := f.pollEvents(ctx, fieldmark.EventCursor{Number: beyondLog}, 0)
	if err != nil {
		return fmt.Errorf("read the head of the log: %w", err)
	}
	e.replica.originProven.Store(page.Log != "")
	e.originVersion.set(page.Edition)
	at := fieldmark.EventCursor{Number: page.Head}
	if page.Head > 0 {
		newest, err := f.pollEvents(ctx, fieldmark.EventCursor{Number: page.Head - 1}, 0)
		if err != nil {
			return fmt.Errorf("read event %d: %w", page.Head, err)
		}
		if newest.Log != page.Log {
			return fmt.Errorf("the log changed while event %d was read", page.Head)
		}
		if next := newest.Next(fieldmark.EventCursor{}); next.Number == page.Head {
			at = next
		}
	}
	// Before the shared tier is used: after a restore the number may be lower.
	e.replica.purged.Store(page.Head)
	if e.redis != nil {
		if err := f.replay(ctx, page); err != nil {
			return err
		}
	}
	e.replica.backlog.attach(page.Head, e.replica.moduleAsOf.Store)
	if e.loader != nil {
		notify(e.loader.wake) // events may have been missed
	}
	f.log, f.at = page.Log, at
	// Events about it were not read: only what the origin reads from now on counts.
	f.lifetime, f.lifetimeAt = fieldmark.CDNLifetime{}, page.Head
	return nil
}

// pollEvents requests the events after a cursor. If the origin sends keep-alives and
// they fail to appear, another origin is tried.
func (f *replicator) pollEvents(ctx context.Context, after fieldmark.EventCursor,
	wait time.Duration) (fieldmark.EventPage, error) {
	if f.maxSilence > 0 {
		ctx = upstream.WithKeepAliveTimeout(ctx, f.maxSilence)
	}
	page, err := f.edge.cfg.Origin.Events(ctx, after, wait)
	if err != nil {
		return page, err
	}
	f.maxSilence = 0
	if page.KeepAlive > 0 {
		f.maxSilence = max(minSilence, missedKeepAlives*time.Duration(page.KeepAlive)*time.Millisecond)
	}
	return page, nil
}

// replay applies the purges of the recent past, by which entries of the shared
// tier are judged, and begins to use it.
func (f *replicator) replay(ctx context.Context, to fieldmark.EventPage) error {
	e := f.edge
	at := fieldmark.EventCursor{Number: max(to.Head-replayedEvents, to.Oldest-1, 0)}
	e.cache.InvalidateBefore(at.Number)
	for at.Number < to.Head {
		page, err := f.pollEvents(ctx, at, 0)
		if err != nil {
			return fmt.Errorf("read the log after %d: %w", at.Number, err)
		}
		next := page.Next(at)
		if page.Log != to.Log || next == at || page.Diverged(at) {
			return fmt.Errorf("the log changed while it was read after %d", at.Number)
		}
		for i := range page.Events {
			e.applyPurge(&page.Events[i])
		}
		at = next
	}
	if err := e.redis.Ping(ctx); err != nil {
		e.log.Warn("redis does not answer; filling from the origin", "err", err)
	}
	e.cache.Join(to.Log, to.Head)
	return nil
}

// applyPurge purges what an event names from the caches.
func (e *Edge) applyPurge(ev *fieldmark.Event) {
	soft, hard := e.cache.Purge, e.cache.PurgeHard
	var p fieldmark.Purged
	if ev.Type == fieldmark.EventCachePurged && json.Unmarshal(ev.Data, &p) == nil {
		if p.Hard {
			soft = hard
		}
		switch {
		case p.Everything && p.Hard:
			e.cache.InvalidateBeforeHard(ev.Number)
		case p.Everything:
			e.cache.InvalidateBefore(ev.Number)
		}
		if p.Everything {
			e.proxied.proxy.PurgeAll(p.Hard)
		}
	}
	if ev.Type == fieldmark.EventBrandRemoved {
		soft = hard // it must not be served again, even if the origin fails
	}
	for _, tag := range ev.Tags {
		soft(ev.Number, string(tag))
		// proxied responses carry tags too
		e.proxied.proxy.Purge(p.Hard || ev.Type == fieldmark.EventBrandRemoved, string(tag))
		e.meters.purges.Inc()
	}
}

// pollAndApply waits for the next page of the log and applies its purges, so that no
// outdated entry is served. The ranking is updated concurrently.
func (f *replicator) pollAndApply(ctx context.Context) error {
	e := f.edge
	wait := pollWait
	if !e.replica.connected.Load() {
		wait = 0 // the edition of an origin that has just started takes effect at once
	}
	page, err := f.pollOrWake(ctx, wait)
	if err != nil && e.modules.rolledBack.Load() {
		return nil // woken to deal with that
	}
	if err != nil {
		return fmt.Errorf("follow the log after %d: %w", f.at.Number, err)
	}
	e.originVersion.set(page.Edition)
	if page.Log != f.log || page.Head < f.at.Number || page.Oldest > f.at.Number+1 || page.Diverged(f.at) {
		f.reattach(page)
		return nil
	}
	next := page.Next(f.at)
	if next == f.at {
		e.replica.publishProgress()
		f.setLifetime(&page)
		return nil
	}
	n := summarize(page.Events)
	n.last = next.Number
	// Before the backlog: the ranker may report these events as applied at once, and who then reads the counter is to
	// find them in it.
	e.meters.follows.Add(len(page.Events))
	// Both before the purges: entries filled after the purges must stay valid, and a client
	// that comes after the purges must find their brands.
	e.replica.backlog.add(n, page.Head, e.replica.moduleAsOf.Store)
	e.replica.purged.Store(n.last)
	for i := range page.Events {
		e.applyPurge(&page.Events[i])
		if page.Events[i].Type == fieldmark.EventCertificateChanged && e.loader != nil {
			notify(e.loader.wake)
		}
		if len(page.Events[i].Tags) > 0 {
			e.meters.purgeLag.Update(max(time.Since(page.Events[i].Time.Std()), 0).Seconds())
		}
	}
	e.replica.publishProgress()
	f.at = next
	f.setLifetime(&page)
	return nil
}

// setLifetime sets the lifetime for CDNs after a page of the log was applied: that of its last cdn.changed, or
// that of the page if it is not from before the newest that the edge has applied. An edge that is behind the log
// states none: its responses may be older than a purge.
func (f *replicator) setLifetime(page *fieldmark.EventPage) {
	var l *fieldmark.CDNLifetime
	for i := range page.Events {
		if ev := &page.Events[i]; ev.Type == fieldmark.EventCDNChanged {
			l = new(fieldmark.CDNLifetime)
			if json.Unmarshal(ev.Data, l) != nil {
				*l = fieldmark.CDNLifetime{}
			}
			f.lifetimeAt = ev.Number
		}
	}
	if page.CDN != nil && page.CDN.AsOf >= f.lifetimeAt {
		l = page.CDN
	}
	if l != nil {
		f.lifetime = *l
	}
	if f.at.Number < page.Head {
		f.edge.lifetime.Clear()
		return
	}
	f.edge.lifetime.Set(f.lifetime, h2.AppendField, h3.AppendField)
}

// pollOrWake waits for the next stretch of the log, and no longer when a module was
// taken back.
func (f *replicator) pollOrWake(ctx context.Context, wait time.Duration) (fieldmark.EventPage, error) {
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-f.edge.modules.wake:
			cancel()
		case <-ctx.Done():
		}
	})
	page, err := f.source.Next(ctx, f.log, f.at, wait)
	cancel()
	watch.Wait()
	return page, err
}

// eventBatch is what a stretch of the log means for the ranking.
type eventBatch struct {
	brands      map[fieldmark.Slug]unranked // to be scored again
	everything  bool                        // all of them
	activations []fieldmark.Event           // another module may be the active one
	last        int64
}

// change adds an event about a brand.
func (n *eventBatch) change(slug fieldmark.Slug, ev *fieldmark.Event) {
	u, ok := n.brands[slug]
	if !ok {
		u.first, u.firstAt = ev.Number, ev.Time.Std()
	}
	u.last, u.lastAt = ev.Number, ev.Time.Std()
	n.brands[slug] = u
}

// summarize returns what events mean for the ranking; the caller sets last.
func summarize(events []fieldmark.Event) eventBatch {
	n := eventBatch{brands: map[fieldmark.Slug]unranked{}}
	for i := range events {
		ev := &events[i]
		if ev.Type == fieldmark.EventModuleActivated {
			n.activations = append(n.activations, *ev)
		}
		if ev.Brand != "" {
			n.change(ev.Brand, ev)
		}
		purged := ev.Type == fieldmark.EventCachePurged
		n.everything = n.everything || purged && len(ev.Tags) == 0
		for _, tag := range ev.Tags {
			if slug, ok := tag.Brand(); ok {
				n.change(slug, ev) // also the one it had before
			} else if tag == fieldmark.TagModule || tag == fieldmark.TagBoard {
				n.everything = n.everything || purged // any other is of what is passed on
			}
		}
	}
	return n
}

// reattach detaches after the log's tail was lost: what is cached counts as stale,
// everything is ranked again, and until then the ranking does not show which brands do
// not exist.
func (f *replicator) reattach(page fieldmark.EventPage) {
	e := f.edge
	e.lifetime.Clear()
	diverged := page.Diverged(f.at)
	e.log.Warn("the event log has a gap; starting again", "event", f.at.Number, "head", page.Head, "oldest",
		page.Oldest, "diverged", diverged)
	e.meters.lost.Inc()
	e.replica.backlog.detach(func() { e.rankings.SetIncomplete(true) })
	e.proxied.proxy.PurgeAll(false) // the purges that were missed are not known
	if page.Log == f.log && page.Head >= f.at.Number && !diverged {
		e.cache.InvalidateBefore(page.Head)
	} else {
		e.cache.Reset() // numbers of events that were lost compare with none
	}
	f.log = ""
}

// backlog is what was read from the event log and is not in the ranking yet. The
// reader of the log adds to it and never waits for the ranker, which may need
// seconds for a thousand brands: purges go ahead of the ranking. Functions that
// methods are given run while mu is held, so that what they publish is in order;
// they store a number and nothing else.
type backlog struct {
	ready chan struct{} // holds a signal while the ranker has not looked

	mu sync.Mutex
	requests
	brands      map[fieldmark.Slug]unranked
	last        int64             // number of the newest event read
	head        int64             // number of the newest event there is, as last reported
	activations []fieldmark.Event // of modules, that the ranker has not seen
	moduleKnown bool              // no activation was read that the ranker has not dealt with
}

// requests counts the work requested from the ranker, which compares the numbers with those
// it has completed.
type requests struct {
	attached   int // times the log was attached to or lost: drop what was known before
	modules    int // times another module may have become the active one
	everything int // times all brands had to be ranked again
}

// unranked holds the events of one brand whose change is not in the ranking yet: no event
// is older than first, and last is the newest; firstAt and lastAt are their times by the
// origin's clock.
type unranked struct {
	first, last     int64
	firstAt, lastAt time.Time
}

func newBacklog() *backlog {
	return &backlog{ready: make(chan struct{}, 1), brands: map[fieldmark.Slug]unranked{}}
}

// attach starts over at the head of a log.
func (b *backlog) attach(head int64, known func(int64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attached, b.modules, b.everything = b.attached+1, b.modules+1, b.everything+1
	b.brands, b.activations, b.last, b.head, b.moduleKnown = map[fieldmark.Slug]unranked{}, nil, head, head, false
	known(0)
	notify(b.ready)
}

// detach is called when the log was found to be another than the one followed:
// what was ranked until attach is of the old one.
func (b *backlog) detach(lost func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attached++
	lost()
}

// whileAttached calls fn if the log is still attached to for the given time.
func (b *backlog) whileAttached(count int, fn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.attached == count {
		fn()
	}
}

// add adds what a stretch of the log changes. Known is called with the number up
// to which the loaded module is known to be the active one.
func (b *backlog) add(n eventBatch, head int64, known func(int64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for slug, u := range n.brands {
		if old, ok := b.brands[slug]; ok {
			u.first, u.firstAt = old.first, old.firstAt
		}
		b.brands[slug] = u
	}
	if n.everything {
		b.everything++
	}
	b.last, b.head = n.last, head
	if len(n.activations) > 0 {
		b.modules++
		b.moduleKnown = false
		b.activations = append(b.activations, n.activations...)
	}
	if b.moduleKnown {
		known(n.last)
	}
	notify(b.ready)
}

// state returns what is wanted, and the activations since the last call.
func (b *backlog) state() (w requests, activations []fieldmark.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	activations, b.activations = b.activations, nil
	return b.requests, activations
}

// moduleLoaded reports that the module of the given count is loaded.
func (b *backlog) moduleLoaded(count int, known func(last int64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.modules == count {
		b.moduleKnown = true
		known(b.last)
	}
}

// batch returns up to limit brands to rank, those that have waited longest, with
// the newest event of each.
func (b *backlog) batch(limit int) map[fieldmark.Slug]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	slugs := slices.SortedFunc(maps.Keys(b.brands), func(x, y fieldmark.Slug) int {
		return cmp.Compare(b.brands[x].first, b.brands[y].first)
	})
	slugs = slugs[:min(limit, len(slugs))]
	batch := make(map[fieldmark.Slug]int64, len(slugs))
	for _, slug := range slugs {
		batch[slug] = b.brands[slug].last
	}
	return batch
}

// applied removes brands that are in the ranking as of the given events.
func (b *backlog) applied(brands map[fieldmark.Slug]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for slug, event := range brands {
		u, ok := b.brands[slug]
		switch {
		case ok && u.last <= event:
			delete(b.brands, slug)
		case ok:
			u.first, u.firstAt = max(u.first, event+1), u.lastAt
			b.brands[slug] = u
		}
	}
}

// report calls fn with the number of the newest event up to which every change is
// in the ranking, and whether that is all there is.
func (b *backlog) report(fn func(n int64, all bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.last
	for _, u := range b.brands {
		n = min(n, u.first-1)
	}
	fn(n, n >= b.head)
}

// oldest returns when the oldest of the events happened whose change is not in the
// ranking yet; zero if all are in it.
func (b *backlog) oldest() (at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range b.brands {
		if at.IsZero() || u.firstAt.Before(at) {
			at = u.firstAt
		}
	}
	return at
}

// has reports whether a brand has changed since it was ranked.
func (b *backlog) has(slug fieldmark.Slug) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.brands[slug]
	return ok
}
