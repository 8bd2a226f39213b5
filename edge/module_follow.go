package edge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/wasm"
)

const (
	// refusedRetry is when a module that was refused is tried again: the machine
	// may have been too busy to compile it in time.
	refusedRetry = time.Minute
	// reportEvery is how often the origin hears of a node that has no news; it
	// forgets one it has not heard of for some minutes.
	reportEvery = 30 * time.Second
)

// loadModules puts in force what the origin says. A module that is refused is
// noted, and what was in force stays; only a node that has none yet fails.
func (r *ranker) loadModules(ctx context.Context) error {
	e := r.edge
	plan, err := e.cfg.Origin.ModulePlan(ctx)
	if err != nil {
		return fmt.Errorf("ask for the active module: %w", err)
	}
	r.tried = time.Now()
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
	trying := r.try(ctx, plan)
	if err := errors.Join(err, trying); err != nil {
		if no, ok := errors.AsType[*refusedModule](err); ok {
			e.modules.refuse(no.err)
			return nil
		}
		return err // of asking: the next attempt may have an answer
	}
	e.modules.problem.Store(nil)
	return nil
}

// refusedModule is the error of a module that came and may not score here.
type refusedModule struct{ err error }

func (r *refusedModule) Error() string { return r.err.Error() }

// activate fetches a module, unless it is there, proves it and swaps it in.
func (r *ranker) activate(ctx context.Context, into *wasm.Registry, m fieldmark.SignedModule) error {
	e := r.edge
	if ref, err := into.Ref(); err == nil && ref.Digest == m.Digest {
		return nil
	}
	if err := e.modules.admit(m); err != nil {
		return &refusedModule{err}
	}
	code, err := e.cfg.Origin.Module(ctx, m.Digest)
	if err != nil {
		return fmt.Errorf("fetch module %s: %w", m.Digest, err)
	}
	ref, err := wasm.Ref(code)
	if err == nil && ref.Digest != m.Digest {
		return fmt.Errorf("asked for module %s and got %s", m.Digest, ref.Digest)
	}
	if err == nil {
		_, err = into.Activate(ctx, code)
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &refusedModule{err}
	}
	if into == e.modules.active {
		e.modules.generation.Add(1)
		e.log.Info("scoring module loaded", "name", ref.Name, "version", ref.Version, "digest", ref.Digest)
		poke(e.modules.news)
	}
	return nil
}

// try begins, changes or ends the trial of a module on a share of the brands.
func (r *ranker) try(ctx context.Context, plan fieldmark.ModulePlan) error {
	s := r.edge.modules
	old := s.trial.Load()
	if plan.Canary == nil {
		if s.trial.Store(nil); old != nil {
			poke(s.news)
			return old.registry.Close()
		}
		return nil
	}
	if old != nil && old.canary.Digest == plan.Canary.Digest {
		s.trial.Store(&trial{registry: old.registry, canary: *plan.Canary})
		return r.activate(ctx, old.registry, plan.Canary.SignedModule) // it may have been taken back, and forgiven since
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
	s.trial.Store(&trial{registry: registry, canary: *plan.Canary})
	r.edge.log.Info("scoring module on trial", "digest", plan.Canary.Digest, "percent", plan.Canary.Percent)
	poke(s.news)
	if old != nil {
		return old.registry.Close()
	}
	return nil
}

// forgive lets modules be activated again that were taken back here, because an
// operator has activated them since.
func (r *ranker) forgive(activations []fieldmark.Event) {
	for i := range activations {
		r.edge.modules.forgive(activations[i].Data)
	}
}

// row scores a brand for the ranking. A module that cannot keeps the line it
// gave the brand before; without one the brand is known but not ranked.
func (e *Edge) row(ctx context.Context, m *wasm.Module, state fieldmark.BrandState, now time.Time) (*ranking.Row, *fieldmark.Score, error) {
	score, err := e.assessBy(ctx, m, state, now)
	if err == nil {
		return ranking.NewRow(&score), &score, nil
	}
	e.modules.active.Report(m, err)
	if !isFault(err) {
		return nil, nil, err
	}
	if ref, active := e.modules.active.Ref(); active != nil || ref != m.Ref() {
		return nil, nil, fmt.Errorf("the module was taken back: %w", err)
	}
	e.modules.unscored.Store(new(fmt.Sprintf("%s: %s", state.Brand.Slug, err)))
	var old *ranking.Row
	if s := e.rankings.Current(); s != nil && s.Method.Module == m.Ref() {
		old = s.Row(state.Brand.Slug)
	}
	return ranking.NewFailed(state.Brand.Slug, old), nil, nil
}

// report tells the origin which module scores here, whenever that changes and
// now and then, until ctx ends.
func (e *Edge) report(ctx context.Context) error {
	again := time.NewTicker(reportEvery)
	defer again.Stop()
	for {
		if ctx.Err() != nil {
			return nil
		}
		if err := e.cfg.Origin.ReportNode(ctx, e.Report()); err != nil && ctx.Err() == nil {
			e.log.Debug("tell the origin of this node", "err", err) // the follower has said that it is away
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		case <-e.modules.news:
		}
	}
}

// Report says which module scores on this node, why not the wanted one, and
// whether there are brands that it cannot score.
func (e *Edge) Report() fieldmark.NodeReport {
	s := e.modules
	r := fieldmark.NodeReport{Node: e.id, Address: e.cfg.BaseURL, Generation: s.generation.Load(), RolledBack: s.fallen.Load(),
		Cursor: e.follow.cursor.Load(), Hits: int64(e.meters.hits.Get()), Misses: int64(e.meters.misses.Get()), Version: e.cfg.Version}
	if ref, err := s.active.Ref(); err == nil {
		r.Module = ref
	}
	if t := s.trial.Load(); t != nil {
		if ref, err := t.registry.Ref(); err == nil && ref.Digest == t.canary.Digest {
			r.Canary = &t.canary
		}
	}
	if problem := s.problem.Load(); problem != nil {
		r.Error = *problem
	} else if now := e.rankings.Current(); now != nil && now.Failed > 0 && now.Method.Module == r.Module {
		r.Error = fmt.Sprintf("the module cannot score %d of the brands, most recently %s", now.Failed, *s.unscored.Load())
	}
	return r
}
