package wasm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// When a module is rolled back. One fault may be caused by one unusual site; five
// within a minute mean a bad module.
const (
	faultsToRollBack = 5
	faultWindow      = time.Minute
)

var (
	// ErrNoModule is returned before the first Activate.
	ErrNoModule = errors.New("no scoring module is active")

	// ErrRolledBack is returned when activating a module that was rolled back.
	ErrRolledBack = errors.New("this scoring module was rolled back after its faults")
)

// Rollback reports that a module had too many faults and its predecessor is active
// again.
type Rollback struct {
	From, To fieldmark.ModuleRef
	Last     *Fault // the fault that caused it
}

// RegistryConfig configures a Registry.
type RegistryConfig struct {
	Engine *Engine

	// RolledBack, if set, is called after a rollback, on the goroutine of the call
	// that failed. It must not block.
	RolledBack func(Rollback)
}

// Registry holds the active module and the previous one. Readers take the active
// one without a lock and keep it while they use it. A swap does not make them fail
// or wait, and a module is freed when its last reader is done.
type Registry struct {
	engine     *Engine
	rolledBack func(Rollback)
	active     atomic.Pointer[generation]

	mu                sync.Mutex // held while modules are swapped
	previous          *generation
	rolledBackModules map[fieldmark.Digest]bool
	closed            bool
}

// generation is an activated module. It is freed when refs reaches zero: one for
// being active or previous, one for each reader.
type generation struct {
	module *Module
	refs   atomic.Int64

	mu     sync.Mutex
	faults [faultsToRollBack]time.Time // times of the last faults, a ring buffer
	next   int
}

// NewRegistry returns a Registry without a module.
func NewRegistry(c RegistryConfig) (*Registry, error) {
	if c.Engine == nil {
		return nil, errors.New("wasm: a registry needs an Engine")
	}
	return &Registry{engine: c.Engine, rolledBack: c.RolledBack, rolledBackModules: map[fieldmark.Digest]bool{}}, nil
}

// Activate loads a module while the active one keeps serving, and swaps it in. The
// replaced module is kept for a rollback. If anything is wrong with the new module,
// the active one stays. Activating the active module has no effect.
func (r *Registry) Activate(ctx context.Context, module []byte) (fieldmark.ModuleRef, error) {
	if ref, done, err := r.reactivate(fieldmark.DigestOf(sha256.Sum256(module))); done || err != nil {
		return ref, err
	}
	m, err := r.engine.Load(ctx, module)
	if err != nil {
		return fieldmark.ModuleRef{}, err
	}
	g := &generation{module: m}
	g.refs.Store(1)

	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return fieldmark.ModuleRef{}, errors.Join(ErrClosed, g.release())
	}
	old := r.previous
	r.previous = r.active.Swap(g)
	r.mu.Unlock()
	return m.ref, old.release()
}

// reactivate swaps to the previous module if it has this digest, which needs no
// loading. It reports whether Activate is done.
func (r *Registry) reactivate(d fieldmark.Digest) (ref fieldmark.ModuleRef, done bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rolledBackModules[d] {
		return fieldmark.ModuleRef{}, false, fmt.Errorf("activate module %s: %w", d, ErrRolledBack)
	}
	if g := r.active.Load(); g != nil && g.module.ref.Digest == d {
		return g.module.ref, true, nil
	}
	if g := r.previous; g != nil && g.module.ref.Digest == d {
		r.previous = r.active.Swap(g)
		return g.module.ref, true, nil
	}
	return fieldmark.ModuleRef{}, false, nil
}

// ClearRollback allows a rolled-back module to be activated again, at the request
// of an operator.
func (r *Registry) ClearRollback(d fieldmark.Digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.rolledBackModules, d)
}

// Acquire returns the active module, which stays open until release is called. A
// caller that scores many brands for one list acquires once, so that one module
// scores them all.
func (r *Registry) Acquire() (m *Module, release func(), err error) {
	g, err := r.acquire()
	if err != nil {
		return nil, nil, err
	}
	return g.module, func() { _ = g.release() }, nil // freeing memory is all that remains
}

// AcquirePrevious is Acquire for the previous module, which may score what the
// active one cannot.
func (r *Registry) AcquirePrevious() (m *Module, release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.previous
	if g == nil {
		return nil, nil, ErrNoModule
	}
	g.refs.Add(1) // the registry holds it, so it is not zero
	return g.module, func() { _ = g.release() }, nil
}

// acquire adds a reference to the active generation, without a lock.
func (r *Registry) acquire() (*generation, error) {
	for {
		g := r.active.Load()
		if g == nil {
			return nil, ErrNoModule
		}
		// A generation at zero is being freed, and the pointer has changed.
		if n := g.refs.Load(); n > 0 && g.refs.CompareAndSwap(n, n+1) {
			return g, nil
		}
	}
}

// release removes one reference and frees the module with the last. g may be nil.
func (g *generation) release() error {
	if g == nil || g.refs.Add(-1) > 0 {
		return nil
	}
	return g.module.Close(context.Background()) // no caller uses it any more
}

// Ref returns the name, version and digest of the active module.
func (r *Registry) Ref() (fieldmark.ModuleRef, error) {
	g := r.active.Load()
	if g == nil {
		return fieldmark.ModuleRef{}, ErrNoModule
	}
	return g.module.ref, nil
}

// Assess scores facts with the active module, as Module.Assess does. It counts
// faults; too many roll back to the previous module.
func (r *Registry) Assess(ctx context.Context, facts *fieldmark.Facts, now time.Time) (fieldmark.Assessment, error) {
	g, err := r.acquire()
	if err != nil {
		return fieldmark.Assessment{}, err
	}
	a, err := g.module.Assess(ctx, facts, now)
	r.countFault(g, err)
	return a, errors.Join(err, g.release())
}

// Score runs the active module once, as Module.Score does, and counts faults.
func (r *Registry) Score(ctx context.Context, values []int64, states []byte, out *abi.Result) error {
	g, err := r.acquire()
	if err != nil {
		return err
	}
	err = g.module.Score(ctx, values, states, out)
	if err != nil {
		r.countFault(g, err)
	}
	if closing := g.release(); err == nil {
		err = closing
	}
	return err
}

// Report counts a fault of an acquired module.
func (r *Registry) Report(m *Module, err error) {
	if g := r.active.Load(); g != nil && g.module == m {
		r.countFault(g, err)
	}
}

// countFault counts an error that is a fault of the module, and rolls back after
// too many.
func (r *Registry) countFault(g *generation, err error) {
	fault, ok := errors.AsType[*Fault](err)
	if !ok || !g.recordFault(time.Now()) {
		return
	}
	r.rollBack(g, fault)
}

// recordFault records a fault and reports whether it is one too many.
func (g *generation) recordFault(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults[g.next] = now
	g.next = (g.next + 1) % len(g.faults)
	first := g.faults[g.next] // the oldest one kept
	return !first.IsZero() && now.Sub(first) < faultWindow
}

// rollBack replaces g by the previous module, if g is still active and there was a
// previous one.
func (r *Registry) rollBack(g *generation, last *Fault) {
	r.mu.Lock()
	if r.closed || r.previous == nil || r.active.Load() != g {
		r.mu.Unlock()
		return
	}
	back := r.previous
	r.active.Store(back)
	r.previous = nil
	r.rolledBackModules[g.module.ref.Digest] = true
	r.mu.Unlock()
	_ = g.release() // the caller of countFault still holds a reference
	if r.rolledBack != nil {
		r.rolledBack(Rollback{From: g.module.ref, To: back.module.ref, Last: last})
	}
}

// Close frees both modules when their readers are done. Later activations fail.
func (r *Registry) Close() error {
	r.mu.Lock()
	r.closed = true
	active, previous := r.active.Swap(nil), r.previous
	r.previous = nil
	r.mu.Unlock()
	return errors.Join(active.release(), previous.release())
}
