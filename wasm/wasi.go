package wasm

import (
	"context"
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/fieldmark/fieldmark/wasm/abi"
)

// Results of WASI preview 1 functions: success, no such file, invalid argument.
const (
	errnoSuccess = 0
	errnoBadFile = 8
	errnoInval   = 28
)

const (
	maxVectors = 16  // of one write; the rest is not counted
	maxRandom  = 256 // bytes of one call; runtimes seed themselves with at most 64
)

// nullWASI provides what a language runtime needs to start: a clock that always
// shows the same time, random numbers that are always the same, and no arguments,
// environment or files. Output is discarded. No function keeps state, so every
// instance starts in the same state.
// The list is what the runtimes of Go, TinyGo, Rust and C import at their start. A module that
// imports anything else does not load: a missing function is found at the upload, not in a score.
func nullWASI(ctx context.Context, rt wazero.Runtime) error {
	types := func(n32 int, wide ...int) []api.ValueType {
		t := make([]api.ValueType, n32)
		for i := range t {
			t[i] = api.ValueTypeI32
		}
		for _, i := range wide {
			t[i] = api.ValueTypeI64
		}
		return t
	}
	b := rt.NewHostModuleBuilder(abi.WASIModule)
	for name, f := range map[string]struct {
		params []api.ValueType
		run    func(m api.Module, stack []uint64) uint32
	}{
		"args_get":            {types(2), returnSuccess},
		"args_sizes_get":      {types(2), twoZeros},
		"environ_get":         {types(2), returnSuccess},
		"environ_sizes_get":   {types(2), twoZeros},
		"clock_time_get":      {types(3, 1), fixedClock},
		"fd_close":            {types(1), returnBadFile},
		"fd_fdstat_get":       {types(2), returnBadFile},
		"fd_fdstat_set_flags": {types(2), returnBadFile},
		"fd_prestat_get":      {types(2), returnBadFile},
		"fd_prestat_dir_name": {types(3), returnBadFile},
		"fd_read":             {types(4), returnBadFile},
		"fd_seek":             {types(4, 1), returnBadFile},
		"fd_write":            {types(4), discardWrite},
		"path_open":           {types(9, 5, 6), returnBadFile},
		"poll_oneoff":         {types(4), returnInvalid},
		"random_get":          {types(2), fixedRandom},
		"sched_yield":         {types(0), returnSuccess},
	} {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module,
			stack []uint64) {
			stack[0] = uint64(f.run(m, stack))
		}), f.params, types(1)).Export(name)
	}
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(context.Context, api.Module, []uint64) {
		panic(errExit)
	}), types(1), nil).Export("proc_exit")
	_, err := b.Instantiate(ctx)
	return err
}

// errExit is the trap of a module that calls proc_exit: a module is called, not run
// as a program.
// Go's runtime calls it when main returns or after a panic.
var errExit = errors.New("the module called proc_exit")

// returnSuccess is the result where there is nothing to do.
func returnSuccess(api.Module, []uint64) uint32 { return errnoSuccess }

// returnBadFile answers every use of a file: no descriptor is open.
func returnBadFile(api.Module, []uint64) uint32 { return errnoBadFile }

// returnInvalid refuses to wait: a module that sleeps would hold an instance.
func returnInvalid(api.Module, []uint64) uint32 { return errnoInval }

// twoZeros writes a count and a size of zero.
func twoZeros(m api.Module, stack []uint64) uint32 {
	if !m.Memory().WriteUint32Le(uint32(stack[0]), 0) || !m.Memory().WriteUint32Le(uint32(stack[1]), 0) {
		return errnoInval
	}
	return errnoSuccess
}

// fixedClock writes the time, which is always the same.
// A clock that moved would let a score depend on the machine, or on the second of its computation.
func fixedClock(m api.Module, stack []uint64) uint32 {
	if !m.Memory().WriteUint64Le(uint32(stack[2]), 1) { // Go treats 0 as no clock
		return errnoInval
	}
	return errnoSuccess
}

// discardWrite reports everything as written.
// Debug output is not an error. Its bytes are not read, so the host does the same work for any
// length.
func discardWrite(m api.Module, stack []uint64) uint32 {
	vectors, n, written := uint32(stack[1]), min(uint32(stack[2]), maxVectors), uint32(stack[3])
	var sum uint32
	for i := range n {
		length, ok := m.Memory().ReadUint32Le(vectors + 8*i + 4)
		if !ok {
			return errnoInval
		}
		sum += length
	}
	if !m.Memory().WriteUint32Le(written, sum) {
		return errnoInval
	}
	return errnoSuccess
}

// fixedRandom writes bytes that look random and are the same at every call, so that
// scores stay deterministic.
// The constants are those of Knuth's MMIX generator; the quality does not matter here.
func fixedRandom(m api.Module, stack []uint64) uint32 {
	at, n := uint32(stack[0]), uint32(stack[1])
	if n > maxRandom {
		return errnoInval
	}
	buf, ok := m.Memory().Read(at, n)
	if !ok {
		return errnoInval
	}
	state := uint64(0x9e3779b97f4a7c15)
	for i := range buf {
		state = state*6364136223846793005 + 1442695040888963407
		buf[i] = byte(state >> 56)
	}
	return errnoSuccess
}
