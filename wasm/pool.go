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

	tokens chan struct{} // one for each instance in use; its capacity is the cap
	ending chan struct{} // closed when no more instances are given out
	done   chan struct{} // closed when the runtime is

	mu     sync.Mutex
	idle   []*instance
	inUse  int
	closed bool
	image  *image // how every instance begins; of the first that was made
	fate   error  // of closing the runtime; valid when done is closed
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
		tokens:     make(chan struct{}, size), ending: make(chan struct{}), done: make(chan struct{}),
	}
}

// get returns an instance nobody else has, waiting for one if all are in use.
// The caller must put it back.
func (p *pool) get(ctx context.Context) (*instance, error) {
	select {
	case p.tokens <- struct{}{}:
	default:
		p.observe.waited(p.ref)
		select {
		case p.tokens <- struct{}{}:
		case <-p.ending:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for an instance: %w", ctx.Err())
		}
	}
	in, err := p.take()
	if err == nil && in == nil {
		if in, err = p.instantiate(ctx); err != nil {
			p.put(nil, false)
		}
	}
	return in, err
}

// take counts one more in use and returns an idle instance, or nil if a new one
// is to be made. On error the token is given back.
func (p *pool) take() (*instance, error) {
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

// put takes an instance back, to be used again if it is healthy.
func (p *pool) put(in *instance, healthy bool) {
	p.mu.Lock()
	keep := healthy && !p.closed
	if keep {
		p.idle = append(p.idle, in)
	}
	p.mu.Unlock()
	if in != nil && !keep {
		p.drop(in)
	}
	<-p.tokens

	p.mu.Lock()
	p.inUse--
	last := p.closed && p.inUse == 0
	p.mu.Unlock()
	if last {
		p.finish()
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
		close(p.ending)
	}
	if last {
		p.finish()
	}
	select {
	case <-p.done:
		return p.fate
	case <-ctx.Done():
		return ctx.Err()
	}
}

// finish frees everything. It runs once: inUse never grows after closing, so it
// comes to zero once, and either close or the last put sees it.
func (p *pool) finish() {
	for _, in := range p.idle {
		p.drop(in)
	}
	p.idle = nil
	p.fate = p.runtime.Close(context.Background())
	close(p.done)
}

// warm has n instances made and kept, so that the first callers find them.
func (p *pool) warm(ctx context.Context, n int) error {
	var made []*instance
	defer func() {
		for _, in := range made {
			p.put(in, true)
		}
	}()
	for range min(n, cap(p.tokens)) {
		in, err := p.get(ctx)
		if err != nil {
			return err
		}
		made = append(made, in)
	}
	return nil
}

// discard closes every idle instance, so that the next caller gets a new one.
func (p *pool) discard() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, in := range idle {
		p.drop(in)
	}
}

// drop frees an instance.
func (p *pool) drop(in *instance) {
	in.close()
	p.observe.instances(p.ref, -1)
}
