package edge

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/wasm"
)

const (
	// despiteFresh is how long a page may be kept that was made of a score the
	// present module could not make: until it is taken back or mended.
	despiteFresh = 5 * time.Second
	// shares is how finely brands are divided for a trial.
	shares = 10_000
)

// errNoModule is returned while no scoring module is loaded.
var errNoModule = fieldmark.Errorf(fieldmark.CodeOriginUnavailable, "this node has not loaded a scoring module yet")

// modules are the scoring modules of a node: one for all brands, and for a share
// of them perhaps another that is on trial.
type modules struct {
	engine  *wasm.Engine
	active  *wasm.Registry
	trial   atomic.Pointer[trial] // nil: none
	keys    []fieldmark.ModuleKey // who may vouch for a module; none: nobody needs to
	builtin []fieldmark.Digest    // welcome without a signature: they came with the program
	log     *slog.Logger

	generation atomic.Int64                             // how many were put in force
	problem    atomic.Pointer[string]                   // why the wanted one is not in force
	unscored   atomic.Pointer[string]                   // the brand that the active one failed for most recently, and why
	fallen     atomic.Pointer[fieldmark.ModuleRollback] // the last that was taken back
	took       func(fieldmark.ModuleRef)                // counts a rollback

	rolledBack atomic.Bool   // and the follower has not dealt with it
	wake       chan struct{} // has the follower look at once
	news       chan struct{} // has the origin told at once
}

// trial is a module that scores some brands while another scores all others. Its
// registry holds the other one too, to which it falls back after faults.
type trial struct {
	registry *wasm.Registry
	canary   fieldmark.ModuleCanary
}

func newModules(cfg Config, m *meters) (*modules, error) {
	s := &modules{
		keys: cfg.ModuleKeys, builtin: cfg.BuiltIn, log: cfg.Log, took: m.rollback,
		wake: make(chan struct{}, 1), news: make(chan struct{}, 1),
	}
	var err error
	if s.engine, err = wasm.New(wasm.Config{WASI: cfg.WASI, Observer: m.observer()}); err != nil {
		return nil, err
	}
	s.active, err = wasm.NewRegistry(wasm.RegistryConfig{Engine: s.engine, RolledBack: s.onRollback})
	return s, err
}

// onRollback is called by whoever met the fault that was too much.
func (s *modules) onRollback(r wasm.Rollback) {
	s.fallen.Store(&fieldmark.ModuleRollback{
		From: r.From, To: r.To, Kind: string(r.Last.Kind), Error: r.Last.Err.Error(), At: fieldmark.At(time.Now()),
	})
	s.log.Error("a scoring module went wrong; the one before is back", "from", r.From.Digest, "to", r.To.Digest, "fault", r.Last.Kind, "err", r.Last.Err)
	s.took(r.From)
	s.generation.Add(1)
	s.rolledBack.Store(true)
	poke(s.wake)
	poke(s.news)
}

// poke leaves a word for one who listens now or later.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// refuse notes why the wanted module does not score.
func (s *modules) refuse(err error) {
	text := err.Error()
	if old := s.problem.Swap(&text); old == nil || *old != text {
		s.log.Error("scoring module refused; the one in force stays", "err", err)
		poke(s.news)
	}
}

// admit refuses a module nobody vouches for, where somebody must.
func (s *modules) admit(m fieldmark.SignedModule) error {
	if slices.Contains(s.builtin, m.Digest) {
		return nil
	}
	return fieldmark.CheckSigned(m.Digest, m.Signature, s.keys)
}

// of returns the registry whose module scores a brand, and whether on trial.
func (s *modules) of(slug fieldmark.Slug) (*wasm.Registry, bool) {
	if t := s.trial.Load(); t != nil && t.covers(slug) {
		if ref, err := t.registry.Ref(); err == nil && ref.Digest == t.canary.Digest {
			return t.registry, true
		}
	}
	return s.active, false
}

// covers says whether a brand belongs to the share on trial. It is the same
// share on every node, other modules have another, and a larger one has it in it.
func (t *trial) covers(slug fieldmark.Slug) bool {
	sum := sha256.Sum256([]byte(string(t.canary.Digest) + "\x00" + string(slug)))
	return binary.BigEndian.Uint64(sum[:8])%shares < uint64(t.canary.Percent)*(shares/100)
}

// digest names the module that scores a brand here; empty before the first.
func (s *modules) digest(slug fieldmark.Slug) fieldmark.Digest {
	registry, _ := s.of(slug)
	ref, err := registry.Ref()
	if err != nil {
		return ""
	}
	return ref.Digest
}

// moduleLoaded returns errNoModule before the first module is loaded. Handlers check
// it before a fill begins: the cache remembers a failed fill for a second, in which
// the module may come.
func (e *Edge) moduleLoaded() error {
	if _, err := e.modules.active.Ref(); err != nil {
		return errNoModule
	}
	return nil
}

// close frees every module; nobody scores any more.
func (s *modules) close(ctx context.Context) error {
	var errs []error
	if t := s.trial.Swap(nil); t != nil {
		errs = append(errs, t.registry.Close())
	}
	return errors.Join(append(errs, s.active.Close(), s.engine.Close(ctx))...)
}

// assess scores one brand by the module that is in force for it.
func (e *Edge) assess(ctx context.Context, state fieldmark.BrandState, now time.Time) (fieldmark.Score, error) {
	registry, onTrial := e.modules.of(state.Brand.Slug)
	m, release, err := registry.Acquire()
	if onTrial && errors.Is(err, wasm.ErrNoModule) { // the trial ended just now
		registry, onTrial = e.modules.active, false
		m, release, err = registry.Acquire()
	}
	if err != nil {
		return fieldmark.Score{}, errNoModule
	}
	defer release()
	score, err := e.assessBy(ctx, m, state, now)
	score.Canary = onTrial
	registry.Report(m, err)
	return score, err
}

// assessBy scores one brand by a given module.
func (e *Edge) assessBy(ctx context.Context, m *wasm.Module, state fieldmark.BrandState, now time.Time) (fieldmark.Score, error) {
	if state.Facts == nil {
		a := fieldmark.PendingAssessment()
		a.Methodology, a.Module = m.Methodology(), m.Ref() // by which it will be scored
		return fieldmark.NewScore(state.Brand, a), nil
	}
	began := time.Now()
	a, err := m.Assess(ctx, state.Facts, now)
	if err != nil {
		return fieldmark.Score{}, fmt.Errorf("score %s: %w", state.Brand.Slug, err)
	}
	since(e.meters.scores, began)
	score := fieldmark.NewScore(state.Brand, a)
	score.SetVisibility(state.Visibility, now)
	if err := e.compare(ctx, m, &score, &state, now); err != nil {
		return fieldmark.Score{}, fmt.Errorf("score the past of %s: %w", state.Brand.Slug, err)
	}
	return score, nil
}

// isFault says whether a module, and nothing else, is to blame.
func isFault(err error) bool {
	_, ok := errors.AsType[*wasm.Fault](err)
	return ok
}

// despite answers for a brand that the module in force cannot score and of which
// nothing is cached: by the module before, or else without a score. Whoever asks
// shall not suffer from a bad module.
func (e *Edge) despite(ctx context.Context, slug fieldmark.Slug) (*cache.Entry, error) {
	state, asOf, err := e.cfg.Origin.BrandState(ctx, slug)
	if err := notHere(slug, &state, err); err != nil {
		return nil, senseless(err)
	}
	registry, _ := e.modules.of(slug)
	score := fieldmark.NewScore(state.Brand, fieldmark.PendingAssessment())
	score.Status = fieldmark.StatusInsufficientData
	if m, release, err := registry.AcquirePrevious(); err == nil {
		before, err := e.assessBy(ctx, m, state, time.Now())
		release()
		if err == nil {
			score = before
		}
	} else if m, release, err := registry.Acquire(); err == nil {
		score.Methodology, score.Module = m.Methodology(), m.Ref()
		release()
	}
	entry, err := newScoreEntry(score, min(asOf, e.follow.module.Load()))
	if err != nil {
		return nil, err
	}
	entry.Born, entry.Fresh = time.Now(), despiteFresh
	entry.Value.(*scoreValue).stale = true
	return entry, nil
}

// forgive lets the module that an activation names be put in force again.
func (s *modules) forgive(data json.RawMessage) {
	var ref fieldmark.ModuleRef
	if json.Unmarshal(data, &ref) != nil {
		return
	}
	s.active.ClearRollback(ref.Digest)
	if t := s.trial.Load(); t != nil {
		t.registry.ClearRollback(ref.Digest)
	}
}
