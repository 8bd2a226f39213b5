package wasm_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

func newRegistry(t testing.TB, c wasm.RegistryConfig) *wasm.Registry {
	t.Helper()
	if c.Engine == nil {
		c.Engine = newEngine(t, wasm.Config{Instances: 2})
	}
	r, err := wasm.NewRegistry(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func activate(t testing.TB, r *wasm.Registry, module []byte) fieldmark.ModuleRef {
	t.Helper()
	ref, err := r.Activate(t.Context(), module)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// bad is another version of plain, which traps at trigger.
func bad(t testing.TB) []byte { return tamper(t, 0x00) }

// TestRollBack makes a module fail five times: the registry activates the previous
// module, reports the rollback, and rejects the faulty one until it is cleared.
func TestRollBack(t *testing.T) {
	var news []wasm.Rollback
	r := newRegistry(t, wasm.RegistryConfig{RolledBack: func(n wasm.Rollback) { news = append(news, n) }})
	var out abi.Result
	if err := r.Score(t.Context(), []int64{1}, []byte{1}, &out); !errors.Is(err, wasm.ErrNoModule) {
		t.Errorf("before any module: %v", err)
	}
	good := activate(t, r, compilePlain(t))
	worse := activate(t, r, bad(t))
	for i := range 5 {
		if ref, _ := r.Ref(); ref != worse {
			t.Fatalf("after %d faults %v is active", i, ref)
		}
		if err := r.Score(t.Context(), []int64{trigger}, []byte{1}, &out); err == nil {
			t.Fatal("no fault")
		}
	}
	if ref, _ := r.Ref(); ref != good {
		t.Errorf("active is %v, want %v", ref, good)
	}
	if len(news) != 1 || news[0].From != worse || news[0].To != good || news[0].Last.Kind != wasm.FaultTrap {
		t.Errorf("news %+v", news)
	}
	if err := r.Score(t.Context(), []int64{trigger}, []byte{1}, &out); err != nil || out.Score != 100*trigger {
		t.Errorf("afterwards: score %d, error %v", out.Score, err)
	}
	if _, err := r.Activate(t.Context(), bad(t)); !errors.Is(err, wasm.ErrRolledBack) {
		t.Errorf("activated again: %v", err)
	}
	r.ClearRollback(worse.Digest)
	if got := activate(t, r, bad(t)); got != worse {
		t.Errorf("forgiven: %v", got)
	}
}

// TestRareFaultsDoNotRollBack causes a fault every 20 seconds for an hour.
func TestRareFaultsDoNotRollBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, wasm.RegistryConfig{})
		activate(t, r, compilePlain(t))
		worse := activate(t, r, bad(t))
		var out abi.Result
		for range 180 {
			if err := r.Score(t.Context(), []int64{trigger}, []byte{1}, &out); err == nil {
				t.Fatal("no fault")
			}
			time.Sleep(20 * time.Second)
		}
		if ref, _ := r.Ref(); ref != worse {
			t.Errorf("active is %v, want %v", ref, worse)
		}
	})
}

// TestFirstModuleStays checks that the first module, which has no predecessor, is not
// rolled back.
func TestFirstModuleStays(t *testing.T) {
	r := newRegistry(t, wasm.RegistryConfig{})
	only := activate(t, r, bad(t))
	var out abi.Result
	for range 20 {
		_ = r.Score(t.Context(), []int64{trigger}, []byte{1}, &out)
	}
	if ref, _ := r.Ref(); ref != only {
		t.Errorf("active is %v", ref)
	}
	if _, err := r.Activate(t.Context(), []byte("x")); err == nil {
		t.Error("activated nothing")
	}
	if err := r.Score(t.Context(), []int64{1}, []byte{1}, &out); err != nil {
		t.Errorf("after a refused module: %v", err)
	}
}

// TestAcquiredModuleStaysOpen scores one list with one module during two swaps.
func TestAcquiredModuleStaysOpen(t *testing.T) {
	r := newRegistry(t, wasm.RegistryConfig{})
	first := activate(t, r, compilePlain(t))
	m, release, err := r.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	activate(t, r, bad(t))
	activate(t, r, compileCard(t, strings.Replace(plain, "1.0.0", "1.0.1", 1)))
	var out abi.Result
	if err := m.Score(t.Context(), []int64{5}, []byte{1}, &out); err != nil || m.Ref() != first {
		t.Errorf("%v: %v", m.Ref(), err)
	}
	release()
	if err := m.Score(t.Context(), []int64{5}, []byte{1}, &out); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("after its release: %v", err)
	}
}

// TestRegistryAssesses scores facts with the active module.
func TestRegistryAssesses(t *testing.T) {
	r := newRegistry(t, wasm.RegistryConfig{})
	ref := activate(t, r, geo.Module())
	a, err := r.Assess(t.Context(), bakery(), auditedAt)
	if err != nil || a.Module != ref || a.Score == nil {
		t.Errorf("assessment by %v, error %v", a.Module, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Assess(t.Context(), bakery(), auditedAt); !errors.Is(err, wasm.ErrNoModule) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := r.Activate(t.Context(), geo.Module()); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("activated after Close: %v", err)
	}
}

// TestSwapSoak swaps as fast as modules load while callers score: no call fails, and
// all replaced modules are freed.
func TestSwapSoak(t *testing.T) {
	const swaps = 60
	var instances, calls, swapped atomic.Int64
	engine := newEngine(t, wasm.Config{Instances: 2, Observer: wasm.Observer{
		Instances: func(_ fieldmark.ModuleRef, change int) { instances.Add(int64(change)) },
		Loaded:    func(fieldmark.ModuleRef, time.Duration) { swapped.Add(1) },
	}})
	r, err := wasm.NewRegistry(wasm.RegistryConfig{Engine: engine})
	if err != nil {
		t.Fatal(err)
	}
	modules := [][]byte{
		compilePlain(t), compileCard(t, strings.Replace(plain, "1.0.0", "1.0.1", 1)), compileCard(t,
			strings.Replace(plain, "1.0.0", "1.0.2", 1)),
	}
	activate(t, r, modules[0])
	before := heap()
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for caller := range int64(4) {
		callers.Go(func() {
			var out abi.Result
			for i := caller; ctx.Err() == nil; i++ {
				value := i % 1001
				if err := r.Score(t.Context(), []int64{value}, []byte{1}, &out); err != nil ||
					int64(out.Score) != 100*value {
					t.Errorf("value %d: score %d, error %v", value, out.Score, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for i := range swaps {
		activate(t, r, modules[i%len(modules)])
	}
	stop()
	callers.Wait()
	after := heap()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("%d calls, %d modules loaded, heap %d to %d kB", calls.Load(), swapped.Load(), before>>10, after>>10)
	if calls.Load() < 100 || swapped.Load() < swaps/2 || instances.Load() != 0 {
		t.Errorf("%d calls, %d loads, %d instances left", calls.Load(), swapped.Load(), instances.Load())
	}
	if after > before+4<<20 {
		t.Errorf("heap grew from %d to %d bytes", before, after)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// TestObserver checks every event, with the fuel of each call.
func TestObserver(t *testing.T) {
	var fuel atomic.Int64
	var faults, waits atomic.Int64
	engine := newEngine(t, wasm.Config{Instances: 1, Observer: wasm.Observer{
		Scored:  func(_ fieldmark.ModuleRef, n int64, took time.Duration) { fuel.Store(n) },
		Faulted: func(_ fieldmark.ModuleRef, kind wasm.FaultKind) { faults.Add(1) },
		Waited:  func(fieldmark.ModuleRef) { waits.Add(1) },
	}})
	m := load(t, engine, bad(t))
	want := run(t, m, []int64{1}, []byte{1}).Fuel
	if got := fuel.Load(); got != want || want <= 0 {
		t.Errorf("told of %d units, want %d", got, want)
	}
	run(t, m, []int64{trigger}, []byte{1})
	if faults.Load() != 1 {
		t.Errorf("told of %d faults, want 1", faults.Load())
	}
}
