package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/fieldmark/fieldmark/wasm/abi"
)

// instance is one instance of a module: memory, globals and functions. The
// functions are looked up once, because a lookup costs more than a score.
type instance struct {
	module   api.Module
	memory   api.Memory
	view     []byte // of the whole memory; valid while it does not grow
	run      api.Function
	fuel     api.MutableGlobal
	depth    api.MutableGlobal
	budget   int64               // fuel per call
	globals  []api.MutableGlobal // the module's own globals
	input    []byte              // the part of view that holds the inputs
	snapshot *snapshot
	stack    [1]uint64
}

// snapshot is the state at the start of every call. All instances of a module share
// it: without imports they start identical.
type snapshot struct {
	input   uint32 // address
	memory  []byte
	globals []uint64
}

// instantiate makes an instance and prepares it.
func (p *pool) instantiate(ctx context.Context) (*instance, error) {
	module, err := p.runtime.InstantiateModule(withMemory(ctx), p.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, fmt.Errorf("instantiate: %w", firstLine(err))
	}
	in := &instance{module: module, memory: module.ExportedMemory(abi.ExportMemory),
		run: module.ExportedFunction(abi.ExportScore), budget: p.fuel}
	if err := p.prepare(ctx, in); err != nil {
		in.close()
		return nil, fmt.Errorf("instantiate: %w", err)
	}
	p.observe.instances(p.ref, 1)
	return in, nil
}

// prepare initializes a new instance, reads the address of its inputs, and
// compares it with the snapshot of the first instance.
func (p *pool) prepare(ctx context.Context, in *instance) error {
	for _, g := range []struct {
		name string
		into *api.MutableGlobal
	}{{exportFuel, &in.fuel}, {exportDepth, &in.depth}} {
		var ok bool
		if *g.into, ok = in.module.ExportedGlobal(g.name).(api.MutableGlobal); !ok {
			return fmt.Errorf("no mutable global %s", g.name)
		}
	}
	for _, name := range p.globals {
		global, ok := in.module.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return fmt.Errorf("no mutable global %s", name)
		}
		in.globals = append(in.globals, global)
	}
	if f := in.module.ExportedFunction(abi.ExportInit); f != nil {
		in.resetBudget()
		if err := f.CallWithStack(ctx, in.stack[:]); err != nil {
			return fmt.Errorf("%s: %w", abi.ExportInit, in.fault(err))
		}
	}
	addr, err := in.inputAddress(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", abi.ExportInput, err)
	}
	if again, err := in.inputAddress(ctx); err != nil || again != addr {
		return fmt.Errorf("%s says %d, then %d (%v)", abi.ExportInput, addr, again, err)
	}
	if p.class == abi.ClassWASI { // before the snapshot
		if err := in.warmUp(ctx, addr, p.inputSize); err != nil {
			return fmt.Errorf("%s: %w", abi.ExportScore, err)
		}
	}
	var ok bool
	if in.view, ok = in.memory.Read(0, in.memory.Size()); !ok {
		return errors.New("memory cannot be read")
	}
	end := uint64(addr) + uint64(p.inputSize)
	if addr%8 != 0 || end > uint64(len(in.view)) {
		return fmt.Errorf("inputs of %d bytes at %d, in a memory of %d", p.inputSize, addr, len(in.view))
	}
	in.input = in.view[addr:addr:end]
	return p.attachSnapshot(in, addr)
}

// warmUp scores once with all inputs unknown. Language runtimes allocate on the
// first call what they need for all others.
func (in *instance) warmUp(ctx context.Context, addr uint32, size int) error {
	if !in.memory.Write(addr, make([]byte, size)) {
		return fmt.Errorf("inputs of %d bytes at %d, in a memory of %d", size, addr, in.memory.Size())
	}
	in.resetBudget()
	if err := in.run.CallWithStack(ctx, in.stack[:]); err != nil {
		return in.fault(err)
	}
	return nil
}

// inputAddress calls the module's function that returns the address of its inputs.
func (in *instance) inputAddress(ctx context.Context) (uint32, error) {
	in.resetBudget()
	if err := in.module.ExportedFunction(abi.ExportInput).CallWithStack(ctx, in.stack[:]); err != nil {
		return 0, in.fault(err)
	}
	return uint32(in.stack[0]), nil
}

// attachSnapshot makes the state of the first instance the snapshot and rejects
// later instances that differ from it.
func (p *pool) attachSnapshot(in *instance, addr uint32) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.snapshot == nil {
		p.snapshot = &snapshot{input: addr, memory: bytes.Clone(in.view)}
		for _, g := range in.globals {
			p.snapshot.globals = append(p.snapshot.globals, g.Get())
		}
	}
	in.snapshot = p.snapshot
	same := addr == in.snapshot.input && bytes.Equal(in.view, in.snapshot.memory)
	for i, g := range in.globals {
		same = same && g.Get() == in.snapshot.globals[i]
	}
	if !same {
		return errors.New("starts in another state than the first instance")
	}
	return nil
}

// score runs the module once and restores its memory and globals.
func (in *instance) score(ctx context.Context, values []int64, states []byte, out *abi.Result, signals int) error {
	in.resetBudget()
	abi.AppendInput(in.input, values, states)
	if err := in.run.CallWithStack(ctx, in.stack[:]); err != nil {
		return in.fault(err)
	}
	addr := uint32(in.stack[0])
	if addr == 0 {
		return &Fault{Kind: FaultDeclined, Err: errors.New("the module could not score these inputs")}
	}
	if int(in.memory.Size()) != len(in.view) {
		return &Fault{Kind: FaultGrowth, Err: errors.New("the module must not grow its memory while scoring")}
	}
	if err := abi.DecodeResult(out, in.view, addr, signals); err != nil {
		return &Fault{Kind: FaultOutput, Err: err}
	}
	in.restore()
	return nil
}

// resetBudget gives the module the budget of one call.
func (in *instance) resetBudget() {
	in.fuel.Set(uint64(in.budget))
	in.depth.Set(MaxDepth)
}

// spent returns the fuel used since resetBudget.
func (in *instance) spent() int64 { return in.budget - int64(in.fuel.Get()) }

// fault classifies a trap. A module traps itself when a counter is exhausted, so
// the counters show the cause.
func (in *instance) fault(err error) error {
	switch {
	case int64(in.fuel.Get()) < 0:
		return &Fault{Kind: FaultFuel, Err: fmt.Errorf("used more than %d units of fuel", in.budget)}
	case int32(in.depth.Get()) < 0:
		return &Fault{Kind: FaultDepth, Err: fmt.Errorf("calls nested deeper than %d", MaxDepth)}
	}
	return &Fault{Kind: FaultTrap, Err: firstLine(err)}
}

// firstLine removes the stack trace that the engine appends.
func firstLine(err error) error {
	line, _, more := bytes.Cut([]byte(err.Error()), []byte("\n"))
	if !more {
		return err
	}
	return errors.New(string(line))
}

// page is the unit of linear memory.
type page = [abi.PageSize]byte

// restore sets memory and globals to the snapshot. The race detector is excluded,
// because it would check every byte, a hundred times slower than the copy; it also
// checks calls of copy, so whole pages are assigned. Two concurrent users of an
// instance are still detected when they write their inputs.
//
//go:norace
func (in *instance) restore() {
	for at := 0; at < len(in.view); at += abi.PageSize {
		*(*page)(in.view[at:]) = *(*page)(in.snapshot.memory[at:])
	}
	for i, g := range in.globals {
		g.Set(in.snapshot.globals[i])
	}
}

// close frees the instance. Its only possible error is about the exit code, which
// has no meaning here.
func (in *instance) close() { _ = in.module.Close(context.Background()) }
