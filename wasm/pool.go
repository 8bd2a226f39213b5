package wasm

import (
	"context"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// pool holds the instances of one module and their runtime. It is not a sync.Pool,
// because an instance dropped without Close is never freed. The most recently used
// instance is taken first, because its memory is in the processor's cache.
type pool struct {
	poolConfig

	tokens  chan struct{} // one per instance in use; its capacity is the limit
	closing chan struct{} // closed when no more instances are handed out
	done    chan struct{} // closed when the runtime is closed

	mu       sync.Mutex
	idle     []*instance
	inUse    int
	closed   bool
	snapshot *snapshot // state of every instance at the start of a call; from the first one made
	closeErr error     // result of closing the runtime; valid after done is closed
}

// poolConfig is what instances are made from.
type poolConfig struct {
	runtime   wazero.Runtime
	compiled  wazero.CompiledModule
	globals   []string // exports of the module's mutable globals
	inputSize int
	fuel      int64 // of one call
	class     abi.Class
	ref       fieldmark.ModuleRef
	observe   *Observer
}

func newPool(size int, c poolConfig) *pool {
	return &pool{
		poolConfig: c,
		tokens:     make(chan struct{}, size), closing: make(chan struct{}), done: make(chan struct{}),
	}
}

// acquire returns an instance for exclusive use. It waits if all are in use. The
// caller must release it.
// An instance is made outside of the lock, since that takes as long as thousands of calls.
func (p *pool) acquire(ctx context.Context) (*instance, error) {
	select {
	case p.tokens <- struct{}{}:
	default:
		p.observe.waited(p.ref)
		select {
		case p.tokens <- struct{}{}:
		case <-p.closing:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for an instance: %w", ctx.Err())
		}
	}
	in, err := p.takeIdle()
	if err == nil && in == nil {
		if in, err = p.instantiate(ctx); err != nil {
			p.release(nil, false)
		}
	}
	return in, err
}

// takeIdle counts one more instance in use and returns an idle one, or nil if the
// caller must make one. On error it gives the token back.
func (p *pool) takeIdle() (*instance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		<-p.tokens
		return nil, ErrClosed
	}
	p.inUse++
	n := len(p.idle)
	if n == 0 {
		return nil, nil
	}
	in := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return in, nil
}

// release returns an instance, for reuse if it is healthy.
// One that has failed is destroyed: its memory may hold what the fault left behind. The token goes
// back last, so there are never more instances than tokens.
func (p *pool) release(in *instance, healthy bool) {
	p.mu.Lock()
	keep := healthy && !p.closed
	if keep {
		p.idle = append(p.idle, in)
	}
	p.mu.Unlock()
	if in != nil && !keep {
		p.destroy(in)
	}
	<-p.tokens

	p.mu.Lock()
	p.inUse--
	last := p.closed && p.inUse == 0
	p.mu.Unlock()
	if last {
		p.shutdown()
	}
}

// close stops handing out instances and waits for those in use until ctx ends.
// Callers that wait for a token get ErrClosed at once; calls that run end normally.
func (p *pool) close(ctx context.Context) error {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	last := first && p.inUse == 0
	p.mu.Unlock()
	if first {
		close(p.closing)
	}
	if last {
		p.shutdown()
	}
	select {
	case <-p.done:
		return p.closeErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// shutdown frees everything. It runs once: inUse does not grow after closing, so it
// reaches zero once, either in close or in the last release.
func (p *pool) shutdown() {
	for _, in := range p.idle {
		p.destroy(in)
	}
	p.idle = nil
	// Freeing must not be cut short: the memory is mapped, and the collector does not see it.
	p.closeErr = p.runtime.Close(context.Background())
	close(p.done)
}

// prewarm makes n instances, so that the first callers find them.
// All are held until the last is made, or acquire would return the same one again.
func (p *pool) prewarm(ctx context.Context, n int) error {
	var made []*instance
	defer func() {
		for _, in := range made {
			p.release(in, true)
		}
	}()
	for range min(n, cap(p.tokens)) {
		in, err := p.acquire(ctx)
		if err != nil {
			return err
		}
		made = append(made, in)
	}
	return nil
}

// discardIdle closes every idle instance, so that the next caller gets a new one.
func (p *pool) discardIdle() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, in := range idle {
		p.destroy(in)
	}
}

// destroy frees an instance.
func (p *pool) destroy(in *instance) {
	in.close()
	p.observe.instances(p.ref, -1)
}
