package wasm

import (
	"bytes"
	"context"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/bytecode"
)

// maxFrames bounds the frames of a fault: the innermost ones show what failed, and a recursion
// would fill the message.
const maxFrames = 5

// Frame is a call of a function that was running when a module failed.
type Frame struct {
	Function string // its name in the section "name" of the module, or $ and its index
	// Source is the file, line and column, if the module has DWARF sections (compilers write them
	// with -g); otherwise it is empty. The file is as the compiler was called.
	Source string
}

// String returns the function and its place.
func (f Frame) String() string {
	if f.Source == "" {
		return f.Function
	}
	return f.Function + " (" + f.Source + ")"
}

// nameSection is the name of the custom section with the names of functions.
const nameSection = "\x04name"

// traced is what the stack of a fault is found with. The form of a module that Engine runs has no
// names, because an edge needs none, and its offsets are not those of the debugging information.
type traced struct {
	original []byte   // of the author, with its names and DWARF sections
	program  *program // to be rewritten with its names
	inputs   int
}

// names returns the section with the names of functions, nil without one, and the name that it gives to
// the module (WebAssembly core specification, appendix "Name Section"), which precedes those of functions.
func (t *traced) names() (section *abi.Section, module string) {
	for i, s := range t.program.sections {
		if rest, ok := bytes.CutPrefix(s.Body, []byte(nameSection)); ok && s.ID == bytecode.SectionCustom {
			r := bytecode.Reader{Buf: rest}
			if id := r.Byte(); id == 0 { // the subsection of the module comes first
				name := bytecode.Reader{Buf: r.Vector()}
				module = string(name.Vector())
			}
			return &t.program.sections[i], module
		}
	}
	return nil, ""
}

// metered returns the form that counts fuel and depth, with the names of functions. Rewriting adds no
// functions, so the names have the same indices.
func (t *traced) metered() []byte {
	module := t.program.meter().binary
	if names, _ := t.names(); names != nil {
		module = bytecode.AppendSection(module, names.ID, names.Body)
	}
	return module
}

// stack repeats a call that failed and returns the calls that were running then, the innermost first.
// A module is deterministic, so the repetition fails at the same instruction. That makes the original,
// which counts nothing, safe to run after a trap: the first call has shown that it ends within the
// fuel. It is not run after a fault of fuel or depth, which only the metered form ends.
// The result is empty if the module cannot be traced: the names and the debugging information are
// the author's, and the engine may refuse them.
func (t *traced) stack(ctx context.Context, kind FaultKind, values []int64, states []byte) (frames []Frame) {
	binary := t.original
	switch kind {
	case FaultTrap:
	case FaultFuel, FaultDepth:
		binary = t.metered()
	default:
		return nil // the call returned
	}
	defer func() { // readers of DWARF may panic when it is damaged
		if recover() != nil {
			frames = nil
		}
	}()
	rt := newRuntime(ctx, wazero.NewRuntimeConfig(), t.program.class, true)
	defer rt.Close(context.WithoutCancel(ctx))
	_, module := t.names()
	return parseStack(t.repeat(ctx, rt, binary, values, states), module)
}

// repeat runs a form of the module as an instance of a pool is run, and returns the error of the call.
func (t *traced) repeat(ctx context.Context, rt wazero.Runtime, binary []byte, values []int64, states []byte) error {
	within := compileTime
	if t.program.class == abi.ClassWASI {
		within = compileWASITime
		if err := nullWASI(ctx, rt); err != nil {
			return err
		}
	}
	deadline, cancel := context.WithTimeout(experimental.WithCompilationWorkers(ctx, compileWorkers), within)
	defer cancel()
	compiled, err := rt.CompileModule(deadline, binary)
	if err != nil {
		return err
	}
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	m, err := rt.InstantiateModule(withMemory(ctx), compiled, config)
	if err != nil {
		return err
	}
	if f := m.ExportedFunction(abi.ExportInit); f != nil {
		if _, err := f.Call(ctx); err != nil {
			return err
		}
	}
	at, err := m.ExportedFunction(abi.ExportInput).Call(ctx)
	if err != nil {
		return err
	}
	run := m.ExportedFunction(abi.ExportScore)
	memory, addr := m.ExportedMemory(abi.ExportMemory), uint32(at[0])
	if t.program.class == abi.ClassWASI { // see warmUp
		memory.Write(addr, make([]byte, abi.InputSize(t.inputs)))
		if _, err := run.Call(ctx); err != nil {
			return err
		}
	}
	memory.Write(addr, abi.AppendInput(nil, values, states)) // in bounds: prepare has checked the address
	_, err = run.Call(ctx)
	return err
}

// stackHeader precedes the stack in an error of the engine.
const stackHeader = "wasm stack trace:"

// parseStack reads the stack in an error of the engine: a function on each line, with one tab, and its
// places below it, with two. Of inlined functions the first place is the innermost.
func parseStack(err error, module string) (frames []Frame) {
	if err == nil {
		return nil
	}
	_, stack, _ := strings.Cut(err.Error(), stackHeader)
	for line := range strings.Lines(stack) {
		text, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t")
		if !ok {
			continue
		}
		if source, inner := strings.CutPrefix(text, "\t"); inner {
			if last := len(frames) - 1; last >= 0 && frames[last].Source == "" {
				_, place, _ := strings.Cut(source, ": ")
				frames[last].Source = strings.TrimSuffix(place, " (inlined)")
			}
			continue
		}
		if len(frames) == maxFrames {
			break
		}
		// The name of the module, a dot, the function and its signature. Functions may have dots too.
		name := strings.TrimPrefix(text, module+".")
		if end := strings.LastIndexByte(name, '('); end > 0 {
			name = name[:end]
		}
		frames = append(frames, Frame{Function: name})
	}
	return frames
}
