package wasm

import (
	"context"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// pool holds the instances of one module and the runtime they live in. It is
// not a sync.Pool because an instance that is dropped without Close is never
// freed. The most recently used instance is taken first: its memory is warm.
type pool struct {
	poolConfig

	tokens  chan struct{} // one for each instance in use; its capacity is the cap
	closing chan struct{} // closed when no more instances are given out
	done    chan struct{} // closed when the runtime is

	mu       sync.Mutex
	idle     []*instance
	inUse    int
	closed   bool
	snapshot *snapshot // how every instance begins; of the first that was made
	closeErr error     // of closing the runtime; valid when done is closed
}

// poolConfig is what a pool makes instances of.
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

// acquire returns an instance nobody else has, waiting for one if all are in use.
// The caller must put it back.
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

// takeIdle counts one more in use and returns an idle instance, or nil if a new one
// is to be made. On error the token is given back.
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

// release takes an instance back, to be used again if it is healthy.
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

// close gives out no more instances and waits for those in use until ctx ends.
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

// shutdown frees everything. It runs once: inUse never grows after closing, so it
// comes to zero once, and either close or the last put sees it.
func (p *pool) shutdown() {
	for _, in := range p.idle {
		p.destroy(in)
	}
	p.idle = nil
	p.closeErr = p.runtime.Close(context.Background())
	close(p.done)
}

// prewarm has n instances made and kept, so that the first callers find them.
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
