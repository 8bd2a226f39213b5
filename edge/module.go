package edge

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/edge/snapshot"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

const (
	// fallbackFresh is the lifetime of a page made of a fallback score, which the active
	// module could not compute. It ends soon, because the module may be rolled back or
	// replaced at any time.
	fallbackFresh = 5 * time.Second
)

// errNoModule is returned while no scoring module is loaded.
var errNoModule = fieldmark.Errorf(fieldmark.CodeOriginUnavailable, "this node has not loaded a scoring module yet")

// modules are the scoring modules of a node: the active one for all brands and, during a
// canary, another for a share of them.
type modules struct {
	engine  *wasm.Engine
	active  *wasm.Registry
	canary  atomic.Pointer[canary] // nil: none
	keys    []fieldmark.ModuleKey  // that may sign modules; none: no signature is needed
	builtin []fieldmark.Digest     // welcome without a signature: they came with the program
	log     *slog.Logger

	generation atomic.Int64           // number of activations
	problem    atomic.Pointer[string] // why the wanted module is not active
	// the brand that the active one failed for most recently, and why
	unscored      atomic.Pointer[string]
	lastRollback  atomic.Pointer[fieldmark.ModuleRollback] // the last that was taken back
	countRollback func(fieldmark.ModuleRef)                // counts a rollback

	rolledBack atomic.Bool   // and the follower has not dealt with it
	wake       chan struct{} // makes the follower check at once
	report     chan struct{} // wakes the report to the origin
}

// canary is a module that scores some brands while another scores all others. Its
// registry holds the other one too, to which it falls back after faults.
type canary struct {
	registry *wasm.Registry
	plan     fieldmark.ModuleCanary
}

// newModules starts the engine and an empty registry. No module is loaded: the ranker loads the active one, so a node
// whose origin is unavailable still starts.
func newModules(cfg Config, m *meters) (*modules, error) {
	s := &modules{
		keys: cfg.ModuleKeys, builtin: cfg.BuiltIn, log: cfg.Log, countRollback: m.rollback,
		wake: make(chan struct{}, 1), report: make(chan struct{}, 1),
	}
	var err error
	if s.engine, err = wasm.New(wasm.Config{WASI: cfg.WASI, Observer: m.observer()}); err != nil {
		return nil, err
	}
	s.active, err = wasm.NewRegistry(wasm.RegistryConfig{Engine: s.engine, RolledBack: s.onRollback})
	return s, err
}

// onRollback is called by the goroutine that met the last fault before a rollback.
func (s *modules) onRollback(r wasm.Rollback) {
	s.lastRollback.Store(&fieldmark.ModuleRollback{
		From: r.From, To: r.To, Kind: string(r.Last.Kind), Error: r.Last.Err.Error(), At: fieldmark.At(time.Now()),
	})
	s.log.Error("a scoring module went wrong; the one before is back", "from", r.From.Digest, "to", r.To.Digest,
		"fault", r.Last.Kind, "err", r.Last.Err)
	s.countRollback(r.From)
	s.generation.Add(1)
	s.rolledBack.Store(true)
	notify(s.wake)
	notify(s.report)
}

// notify wakes the current or the next receiver of c without blocking.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// recordRefusal records why the wanted module is not active.
func (s *modules) recordRefusal(err error) {
	text := err.Error()
	if old := s.problem.Swap(&text); old == nil || *old != text {
		s.log.Error("scoring module refused; the active one stays", "err", err)
		notify(s.report)
	}
}

// checkSignature refuses a module without a valid signature where one is required.
func (s *modules) checkSignature(m fieldmark.SignedModule) error {
	if slices.Contains(s.builtin, m.Digest) {
		return nil
	}
	return fieldmark.CheckSigned(m.Digest, m.Signature, s.keys)
}

// registryFor returns the registry whose module scores a brand, and whether it is a canary.
func (s *modules) registryFor(slug fieldmark.Slug) (*wasm.Registry, bool) {
	if t := s.canary.Load(); t != nil && t.plan.Covers(slug) {
		if ref, err := t.registry.Ref(); err == nil && ref.Digest == t.plan.Digest {
			return t.registry, true
		}
	}
	return s.active, false
}

// digest names the module that scores a brand here; empty before the first.
func (s *modules) digest(slug fieldmark.Slug) fieldmark.Digest {
	registry, _ := s.registryFor(slug)
	ref, err := registry.Ref()
	if err != nil {
		return ""
	}
	return ref.Digest
}

// require returns errNoModule before the first module is loaded. Handlers check
// it before a fill begins: the cache keeps a failed fill for a second, in which
// the module may come.
func (s *modules) require() error {
	if _, err := s.active.Ref(); err != nil {
		return errNoModule
	}
	return nil
}

// close frees every module. No brand may be scored after it returns.
func (s *modules) close(ctx context.Context) error {
	var errs []error
	if t := s.canary.Swap(nil); t != nil {
		errs = append(errs, t.registry.Close())
	}
	return errors.Join(append(errs, s.active.Close(), s.engine.Close(ctx))...)
}

// assess scores one brand by the module that is active for it.
func (s *scorer) assess(ctx context.Context, state fieldmark.BrandState, now time.Time) (fieldmark.Score, error) {
	registry, isCanary := s.modules.registryFor(state.Brand.Slug)
	m, release, err := registry.Acquire()
	if isCanary && errors.Is(err, wasm.ErrNoModule) { // the canary ended just now
		registry, isCanary = s.modules.active, false
		m, release, err = registry.Acquire()
	}
	if err != nil {
		return fieldmark.Score{}, errNoModule
	}
	defer release()
	score, err := s.assessBy(ctx, m, state, now)
	score.Canary = isCanary
	registry.Report(m, err)
	return score, err
}

// assessBy scores one brand by a given module.
func (s *scorer) assessBy(ctx context.Context, m *wasm.Module, state fieldmark.BrandState,
	now time.Time) (fieldmark.Score, error) {
	if state.Facts == nil {
		a := fieldmark.PendingAssessment()
		if state.UnlistedAt != nil {
			a.Status = fieldmark.StatusUnlisted
		}
		a.Methodology, a.Module = m.Methodology(), m.Ref() // by which it will be scored
		score := fieldmark.NewScore(state.Brand, a)
		score.UnlistedAt = state.UnlistedAt
		return score, nil
	}
	began := time.Now()
	a, err := m.Evaluate(ctx, state.Facts, now)
	if err != nil {
		return fieldmark.Score{}, fmt.Errorf("score %s: %w", state.Brand.Slug, err)
	}
	a.FactsDigest = state.FactsDigest // of the facts with their evidence, which the edge may not have
	since(s.meters.scores, began)
	score := fieldmark.NewScore(state.Brand, a)
	score.Substantiate(state.Facts)
	scoring.SetVisibility(&score, &state, now)
	if err := m.SetTrends(ctx, &score, &state, now); err != nil {
		return fieldmark.Score{}, fmt.Errorf("score the past of %s: %w", state.Brand.Slug, err)
	}
	return score, nil
}

// isFault reports whether an error is a fault of a module.
func isFault(err error) bool {
	_, ok := errors.AsType[*wasm.Fault](err)
	return ok
}

// fallback returns a score for a brand that the active module cannot score and that is
// not cached: by the previous module, or else without a value. A bad module must not remove
// brands from the site.
func (s *scorer) fallback(ctx context.Context, slug fieldmark.Slug) (*cache.Entry, error) {
	state, asOf, err := s.origin.BrandState(ctx, slug)
	if err := asNotFound(slug, &state, err); err != nil {
		return nil, asUnavailable(err)
	}
	at := time.Now()
	registry, _ := s.modules.registryFor(slug)
	score := fieldmark.NewScore(state.Brand, fieldmark.PendingAssessment())
	score.Status = fieldmark.StatusInsufficientData
	if m, release, err := registry.AcquirePrevious(); err == nil {
		before, err := s.assessBy(ctx, m, state, assessedAt(at))
		release()
		if err == nil {
			score = before
		}
	} else if m, release, err := registry.Acquire(); err == nil {
		score.Methodology, score.Module = m.Methodology(), m.Ref()
		release()
	}
	entry, err := newScoreEntry(score, min(asOf, s.replica.moduleAsOf.Load()), at)
	if err != nil {
		return nil, err
	}
	entry.Fresh = fallbackFresh
	entry.Value.(*scoreValue).stale = true
	return entry, nil
}

// clearRollback allows the module named by an activation to become active again.
func (s *modules) clearRollback(data json.RawMessage) {
	var ref fieldmark.ModuleRef
	if json.Unmarshal(data, &ref) != nil {
		return
	}
	s.active.ClearRollback(ref.Digest)
	if t := s.canary.Load(); t != nil {
		t.registry.ClearRollback(ref.Digest)
	}
}

const (
	// refusedRetry is when a module that was refused is tried again: the machine
	// may have been too busy to compile it in time.
	refusedRetry = time.Minute
	// stopReportTimeout limits the last report of a node, which stops anyway.
	stopReportTimeout = 2 * time.Second
)

// loadModules activates the modules that the origin names. If one is refused the node
// reports that and keeps the one it has; only a node without a module fails.
func (r *ranker) loadModules(ctx context.Context) error {
	e := r.edge
	plan, err := e.cfg.Origin.ModulePlan(ctx)
	if err != nil {
		return fmt.Errorf("read the active module: %w", err)
	}
	r.loadedAt = time.Now()
	_, none := e.modules.active.Ref()
	if none != nil && plan.Previous != nil {
		// It is made ready first, so that this node too has something to go back to.
		if err := r.activate(ctx, e.modules.active, *plan.Previous); err != nil {
			e.log.Warn("the scoring module before the active one is not available", "err", err)
		}
	}
	err = r.activate(ctx, e.modules.active, plan.SignedModule)
	if _, none = e.modules.active.Ref(); none != nil {
		return err
	}
	trying := r.startCanary(ctx, plan)
	if err := errors.Join(err, trying); err != nil {
		if no, ok := errors.AsType[*refusedModule](err); ok {
			e.modules.recordRefusal(no.err)
			return nil
		}
		return err // of the request: the next attempt may succeed
	}
	e.modules.problem.Store(nil)
	return nil
}

// refusedModule is the error of a module that was received but may not score on this node.
type refusedModule struct{ err error }

func (r *refusedModule) Error() string { return r.err.Error() }

// activate fetches a module, unless it is there, proves it and swaps it in.
func (r *ranker) activate(ctx context.Context, into *wasm.Registry, m fieldmark.SignedModule) error {
	e := r.edge
	if ref, err := into.Ref(); err == nil && ref.Digest == m.Digest {
		return nil
	}
	if err := e.modules.checkSignature(m); err != nil {
		return &refusedModule{err}
	}
	code, err := e.cfg.Origin.Module(ctx, m.Digest)
	if err != nil {
		return fmt.Errorf("fetch module %s: %w", m.Digest, err)
	}
	if got := fieldmark.DigestOf(sha256.Sum256(code)); got != m.Digest {
		return fmt.Errorf("requested module %s, received %s", m.Digest, got)
	}
	ref, err := into.Activate(ctx, code)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &refusedModule{err}
	}
	if into == e.modules.active {
		e.modules.generation.Add(1)
		e.log.Info("scoring module loaded", "name", ref.Name, "version", ref.Version, "digest", ref.Digest)
		notify(e.modules.report)
	}
	return nil
}

// startCanary begins, changes or ends the canary of a module, a share of the brands.
func (r *ranker) startCanary(ctx context.Context, plan fieldmark.ModulePlan) error {
	s := r.edge.modules
	old := s.canary.Load()
	if plan.Canary == nil {
		if s.canary.Store(nil); old != nil {
			notify(s.report)
			return old.registry.Close()
		}
		return nil
	}
	if old != nil && old.plan.Digest == plan.Canary.Digest {
		s.canary.Store(&canary{registry: old.registry, plan: *plan.Canary})
		// it may have been rolled back, and its rollback cleared since
		return r.activate(ctx, old.registry, plan.Canary.SignedModule)
	}
	registry, err := wasm.NewRegistry(wasm.RegistryConfig{Engine: s.engine, RolledBack: s.onRollback})
	if err != nil {
		return err
	}
	for _, m := range []fieldmark.SignedModule{plan.SignedModule, plan.Canary.SignedModule} {
		if err := r.activate(ctx, registry, m); err != nil {
			return errors.Join(err, registry.Close())
		}
	}
	s.canary.Store(&canary{registry: registry, plan: *plan.Canary})
	r.edge.log.Info("canary scoring module started", "digest", plan.Canary.Digest, "percent", plan.Canary.Percent)
	notify(s.report)
	if old != nil {
		return old.registry.Close()
	}
	return nil
}

// clearRollbacks lets modules be activated again that were taken back here, because an
// operator has activated them since.
func (r *ranker) clearRollbacks(activations []fieldmark.Event) {
	for i := range activations {
		r.edge.modules.clearRollback(activations[i].Data)
	}
}

// scoreRow scores a brand for the ranking. If the module fails, the brand keeps its
// previous row; without one the brand is known but not ranked.
func (s *scorer) scoreRow(ctx context.Context, m *wasm.Module, state fieldmark.BrandState, now time.Time) (*ranking.Row,
	*fieldmark.Score, error) {
	score, err := s.assessBy(ctx, m, state, now)
	if err == nil {
		return ranking.NewRow(&score), &score, nil
	}
	s.modules.active.Report(m, err)
	if !isFault(err) {
		return nil, nil, err
	}
	if ref, active := s.modules.active.Ref(); active != nil || ref != m.Ref() {
		return nil, nil, fmt.Errorf("the module was taken back: %w", err)
	}
	s.modules.unscored.Store(new(fmt.Sprintf("%s: %s", state.Brand.Slug, err)))
	var old *ranking.Row
	if s := s.rankings.Current(); s != nil && s.Method.Module == m.Ref() {
		old = s.Row(state.Brand.Slug)
	}
	return ranking.NewFailed(state.Brand.Slug, old), nil, nil
}

// runReports reports to the origin every fieldmark.ReportInterval, and when the module
// changes, until ctx ends. The last report says that the node stops, so that the origin does
// not miss it.
func (e *Edge) runReports(ctx context.Context) error {
	again := time.NewTicker(fieldmark.ReportInterval)
	defer again.Stop()
	counted := newMinuteReader(e.meters, time.Now())
	for ctx.Err() == nil {
		e.checkRedis(ctx)
		counted.read(time.Now())
		r := e.Report()
		r.Buckets = counted.pending
		if err := e.cfg.Origin.ReportNode(ctx, r); err == nil {
			counted.pending = nil
		} else if ctx.Err() == nil {
			e.log.Debug("report to the origin", "err", err) // the replicator logs that the origin is unreachable
		}
		select {
		case <-ctx.Done():
		case <-again.C:
		case <-e.modules.report:
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopReportTimeout)
	defer cancel()
	r := e.Report()
	r.Stopping = true
	if err := e.cfg.Origin.ReportNode(last, r); err != nil {
		e.log.Debug("last report to the origin", "err", err)
	}
	return nil
}

// checkRedis pings Redis: a node without requests would not notice that it
// is unreachable.
func (e *Edge) checkRedis(ctx context.Context) {
	if e.redis == nil {
		return
	}
	err := e.redis.Ping(ctx)
	switch {
	case ctx.Err() != nil:
	case err == nil:
		e.redisDown.Store(0)
	default:
		e.redisDown.CompareAndSwap(0, time.Now().UnixMicro())
	}
}

// Report returns which module scores on this node, why not the wanted one, and
// whether there are brands that it cannot score.
func (e *Edge) Report() fieldmark.NodeReport {
	s := e.modules
	r := fieldmark.NodeReport{Node: e.id, Address: e.cfg.BaseURL, Generation: s.generation.Load(),
		RolledBack: s.lastRollback.Load(),
		Cursor:     e.replica.applied.Load(), Hits: int64(e.meters.hits.Get()), Misses: int64(e.meters.misses.Get()),
		Version: e.cfg.Version, Name: e.cfg.Name, StartedAt: e.startedAt}
	if at := e.redisDown.Load(); at != 0 {
		since := fieldmark.AtMicros(at)
		r.RedisDownSince = &since
	}
	if e.loader == nil { // the origin watches the certificates that it has ordered
		if all := e.certificates.Expiries(); len(all) > 0 && !all[0].NotAfter.IsZero() {
			ends := fieldmark.At(all[0].NotAfter)
			r.CertificateEnds, r.CertificateName = &ends, all[0].Name
		}
	}
	if ref, err := s.active.Ref(); err == nil {
		r.Module = ref
	}
	if t := s.canary.Load(); t != nil {
		if ref, err := t.registry.Ref(); err == nil && ref.Digest == t.plan.Digest {
			r.Canary = &t.plan
		}
	}
	if problem := s.problem.Load(); problem != nil {
		r.Error = *problem
	} else if now := e.rankings.Current(); now != nil && now.Failed > 0 && now.Method.Module == r.Module {
		r.Error = fmt.Sprintf("the module cannot score %d of the brands, most recently %s", now.Failed,
			*s.unscored.Load())
	}
	return r
}

const (
	// moduleFileWait is how long a ranking by the module before is shown before the node scores all brands itself:
	// origins compute a million standings in half of that.
	moduleFileWait = 10 * time.Minute
	// dayFileWait is the same after midnight, when origins compute the standings whose trends change.
	dayFileWait = 20 * time.Minute
)

// fileWait returns how long the next pass waits for a ranking file; negative: all brands have to be scored here.
func (r *ranker) fileWait(m *wasm.Module, w requests) time.Duration {
	switch {
	case r.ranking == nil:
		return 0 // nothing is served meanwhile
	case w.everything != r.done.everything:
		return -1 // an administrator does not trust what was derived
	case r.ranking.Method.Module != m.Ref():
		return moduleFileWait
	}
	return dayFileWait
}

// changed returns the brands to score again after a pass, of those that were ranked while it ran.
func (p *rankPass) changed(during map[fieldmark.Slug]int64) map[fieldmark.Slug]int64 {
	if p.file == nil {
		return during
	}
	all := maps.Clone(p.file.Changed)
	for slug, event := range during {
		if event > p.file.File.Event {
			all[slug] = max(all[slug], event)
		}
	}
	return all
}

// run takes the rows of a ranking file, or scores all brands.
func (p *rankPass) run(ctx context.Context) {
	defer close(p.done)
	if p.fileWait < 0 || !p.load(ctx) {
		p.scoreAll(ctx)
	}
}

// load takes the rows of a ranking file, and reports whether it did.
func (p *rankPass) load(ctx context.Context) bool {
	e := p.edge
	loader := &snapshot.Loader{Origin: e.cfg.Origin, Log: e.log, Module: p.module.Ref().Digest,
		Row: func(ctx context.Context, state *fieldmark.BrandState, at time.Time) (*ranking.Row, error) {
			score, err := e.scorer.assessBy(ctx, p.module, *state, at)
			if isFault(err) {
				return ranking.NewFailed(state.Brand.Slug, nil), nil
			}
			return ranking.NewRow(&score), err
		},
		Changes: func(events []fieldmark.Event) (map[fieldmark.Slug]int64, bool) {
			n := summarize(events)
			brands := make(map[fieldmark.Slug]int64, len(n.brands))
			for slug, u := range n.brands {
				brands[slug] = u.last
			}
			return brands, n.everything
		}}
	file, err := loader.Load(ctx, p.fileWait)
	if _, refused := errors.AsType[*snapshot.Refused](err); refused {
		e.meters.snapshotsRefused.Inc()
	}
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, snapshot.ErrNone) {
			e.log.Warn("scoring all brands", "err", err)
		}
		return false
	}
	e.meters.snapshots.Inc()
	if file.Failed != "" {
		e.modules.unscored.CompareAndSwap(nil, new(string(file.Failed)+": the origin could not score it"))
	}
	p.file, p.rows, p.asOf = file, file.Rows, file.File.Event
	// Ages are counted from when the file was made, and trends from its day.
	p.began = file.File.CreatedAt.Std()
	return true
}
