package wasm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/fieldmark/fieldmark/wasm/abi"
)

// pool holds the instances of one module and the runtime they live in. It is
// not a sync.Pool because an instance that is dropped without Close is never
// freed. The most recently used instance is taken first: its memory is warm.
type pool struct {
	runtime   wazero.Runtime
	compiled  wazero.CompiledModule
	inputSize int

	tokens chan struct{} // one for each instance in use; its capacity is the cap
	ending chan struct{} // closed when no more instances are given out
	done   chan struct{} // closed when the runtime is

	mu     sync.Mutex
	idle   []*instance
	inUse  int
	closed bool
	fate   error // of closing the runtime; valid when done is closed
}

func newPool(size int, rt wazero.Runtime, compiled wazero.CompiledModule, inputSize int) *pool {
	return &pool{
		runtime: rt, compiled: compiled, inputSize: inputSize,
		tokens: make(chan struct{}, size), ending: make(chan struct{}), done: make(chan struct{}),
	}
}

// get returns an instance nobody else has, waiting for one if all are in use.
// The caller must put it back.
func (p *pool) get(ctx context.Context) (*instance, error) {
	select {
	case p.tokens <- struct{}{}:
	default:
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
		in.close()
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
		in.close()
	}
	p.idle = nil
	p.fate = p.runtime.Close(context.Background())
	close(p.done)
}

// instance is one copy of a module: its memory, and its functions, which are
// looked up once because each look-up costs more than a score.
type instance struct {
	module   api.Module
	memory   api.Memory
	view     []byte // of the whole memory; valid while it does not grow
	snapshot []byte // of the memory as every call finds it
	run      api.Function
	input    []byte // the part of view where the inputs go
	stack    [1]uint64
}

func (p *pool) instantiate(ctx context.Context) (*instance, error) {
	module, err := p.runtime.InstantiateModule(ctx, p.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions(abi.ExportInit))
	if err != nil {
		return nil, fmt.Errorf("instantiate: %w", err)
	}
	in := &instance{module: module, memory: module.ExportedMemory(abi.ExportMemory), run: module.ExportedFunction(abi.ExportScore)}
	if err := in.prepare(ctx, p.inputSize); err != nil {
		in.close()
		return nil, fmt.Errorf("instantiate: %w", err)
	}
	return in, nil
}

// prepare asks where the inputs go and keeps the memory as it is then.
func (in *instance) prepare(ctx context.Context, inputSize int) error {
	if err := in.module.ExportedFunction(abi.ExportInput).CallWithStack(ctx, in.stack[:]); err != nil {
		return err
	}
	addr := uint32(in.stack[0])
	var ok bool
	if in.view, ok = in.memory.Read(0, in.memory.Size()); !ok {
		return errors.New("memory cannot be read")
	}
	end := uint64(addr) + uint64(inputSize)
	if addr%8 != 0 || end > uint64(len(in.view)) {
		return fmt.Errorf("inputs of %d bytes at %d, in a memory of %d", inputSize, addr, len(in.view))
	}
	in.input = in.view[addr:addr:end]
	in.snapshot = append([]byte(nil), in.view...)
	return nil
}

// score runs the module once and leaves its memory as it was before.
func (in *instance) score(ctx context.Context, values []int64, states []byte, out *abi.Result, signals int) error {
	abi.AppendInput(in.input, values, states)
	if err := in.run.CallWithStack(ctx, in.stack[:]); err != nil {
		return err
	}
	addr := uint32(in.stack[0])
	if addr == 0 {
		return errors.New("the module could not score these inputs")
	}
	if int(in.memory.Size()) != len(in.view) {
		return errors.New("the module let its memory grow while scoring")
	}
	if err := abi.DecodeResult(out, in.view, addr, signals); err != nil {
		return err
	}
	in.reset()
	return nil
}

// page is the unit a memory consists of.
type page = [abi.PageSize]byte

// reset makes the memory what it was before the call. The race detector is kept
// out (by assigning pages too: a call of copy it would still look into): it
// would look at every byte, a hundred times slower than the copy. Two users of
// one instance it still sees, where they write their inputs.
//
//go:norace
func (in *instance) reset() {
	for at := 0; at < len(in.view); at += abi.PageSize {
		*(*page)(in.view[at:]) = *(*page)(in.snapshot[at:])
	}
}

// close frees the instance. Whether it has a second use for its exit code, the
// only thing that can fail, does not matter to anyone.
func (in *instance) close() { _ = in.module.Close(context.Background()) }
