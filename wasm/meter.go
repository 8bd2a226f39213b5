package wasm

import (
	"encoding/binary"
	"strconv"

	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/bytecode"
)

// The budgets of one call. Compiled code cannot be interrupted, and the garbage
// collector of the whole process waits while it runs. So a module is rewritten to
// count what it does and to stop itself.
const (
	// MaxFuel is 2 million units: ten milliseconds in the worst case, and 600 times
	// what the built-in module needs.
	MaxFuel = 2_000_000

	// MaxWASIFuel is the budget of the class wasi-null, whose garbage collector
	// needs more. Such a call may block the process for two seconds (2 million
	// units of overlapping memory.copy over 16 MiB took 40 ms, other code at most a
	// quarter of that), so edges must opt in.
	MaxWASIFuel = 100_000_000

	// MaxDepth limits nested calls, in frames of 1 kB of code. It keeps the stack
	// within about 4 MiB; without it the engine lets the stack grow to 50 MB and
	// never frees it.
	MaxDepth = 1000

	// MaxMemory limits the memory of a module, and so the copy that restores it
	// after a call: about 50 µs.
	MaxMemory = abi.MaxPages * abi.PageSize
)

// The exports that the rewriter adds.
const (
	exportFuel   = abi.ReservedPrefix + "fuel"
	exportDepth  = abi.ReservedPrefix + "depth"
	exportGlobal = abi.ReservedPrefix + "global." // followed by its index
)

// frameUnit is how many bytes of code, and of locals at eight bytes each, count as
// one frame: a function cannot keep more values alive than it has code to produce.
const frameUnit = 1024

// metered is a module rewritten to count fuel and depth.
type metered struct {
	binary  []byte
	globals []string // exports of the module's mutable globals
}

// meter rewrites a module that passed validate. Each region pays its cost from the
// fuel global when it starts, and each bulk instruction an eighth of a unit per
// byte. Each call subtracts its caller's frame from the depth global and adds it
// back on return. When either falls below zero the module traps. Custom sections
// are dropped.
func (p *program) meter() metered {
	m := meter{p: p, fuel: uint32(len(p.mutable)), depth: uint32(len(p.mutable)) + 1}
	out := []byte(bytecode.Header)
	sections := map[byte][]byte{bytecode.SectionGlobal: {0}}
	for _, s := range p.sections {
		if s.ID != bytecode.SectionCustom {
			sections[s.ID] = s.Body
		}
	}
	exports, names := m.exports(sections[bytecode.SectionExport])
	for _, id := range []byte{
		bytecode.SectionType, bytecode.SectionImport, bytecode.SectionFunction, bytecode.SectionTable,
		bytecode.SectionMemory, bytecode.SectionGlobal, bytecode.SectionExport, bytecode.SectionStart,
		bytecode.SectionElement, bytecode.SectionDataCount, bytecode.SectionCode, bytecode.SectionData,
	} {
		content, ok := sections[id]
		switch id {
		case bytecode.SectionGlobal:
			content = m.globals(content)
		case bytecode.SectionExport:
			content = exports
		case bytecode.SectionCode:
			content = m.code()
		}
		if ok {
			out = bytecode.AppendSection(out, id, content)
		}
	}
	return metered{binary: out, globals: names}
}

// meter writes the additions to a program.
type meter struct {
	p           *program
	fuel, depth uint32 // indices of the two globals
}

// globals appends the fuel and depth globals with their full budgets, so that a
// host that does not set them is protected too.
func (m *meter) globals(section []byte) []byte {
	c := bytecode.Reader{Buf: section}
	n := c.U32()
	b := binary.AppendUvarint(nil, uint64(n)+2)
	b = append(b, c.Rest()...)
	b = bytecode.AppendSigned(append(b, bytecode.TypeI64, 1, bytecode.I64Const), m.p.limits().fuel)
	b = bytecode.AppendSigned(append(b, bytecode.End, bytecode.TypeI32, 1, bytecode.I32Const), MaxDepth)
	return append(b, bytecode.End)
}

// exports appends the exports of fuel and depth, and of every mutable global, so
// that the host can set and restore them.
func (m *meter) exports(section []byte) (content []byte, names []string) {
	c := bytecode.Reader{Buf: section}
	n := c.U32()
	var added []byte
	export := func(name string, index uint32) {
		added = binary.AppendUvarint(added, uint64(len(name)))
		added = append(append(added, name...), bytecode.KindGlobal)
		added = binary.AppendUvarint(added, uint64(index))
	}
	for i, mutable := range m.p.mutable {
		if mutable {
			names = append(names, exportGlobal+strconv.Itoa(i))
			export(names[len(names)-1], uint32(i))
		}
	}
	export(exportFuel, m.fuel)
	export(exportDepth, m.depth)
	content = binary.AppendUvarint(nil, uint64(n)+uint64(len(names))+2)
	content = append(content, c.Rest()...)
	return append(content, added...), names
}

// code returns the code section with all functions rewritten.
func (m *meter) code() []byte {
	bodies := make([][]byte, len(m.p.bodies))
	for i := range bodies {
		bodies[i] = m.function(&m.p.bodies[i])
	}
	return bytecode.AppendVector(nil, bodies)
}

// function returns the body of a function with its insertions.
func (m *meter) function(f *body) []byte {
	out := m.locals(f)
	frame := int64(1 + (len(f.code)+8*f.locals)/frameUnit)
	region, from := 0, 0
	for _, k := range f.insertions {
		out = append(out, f.code[from:k.at]...)
		from = k.at
		switch k.kind {
		case insertRegion:
			out = m.charge(out, int64(f.costs[region]))
			region++
		case insertBulk:
			out = m.chargeBulk(out, uint32(f.locals))
		case insertCall, insertIndirect:
			// A function that calls nothing cannot nest deeper.
			if k.kind == insertCall && !m.p.bodies[k.callee].calls {
				continue
			}
			out = m.enterCall(out, frame)
			out = append(out, f.code[from:k.after]...)
			out = m.leaveCall(out, frame)
			from = k.after
		}
	}
	return append(out, f.code[from:]...)
}

// locals returns the function's declarations of locals, with one more i32 where
// bulk instructions need to keep their length.
func (m *meter) locals(f *body) []byte {
	if !f.bulk {
		return append([]byte(nil), f.declarations...)
	}
	c := bytecode.Reader{Buf: f.declarations}
	n := c.U32()
	out := binary.AppendUvarint(nil, uint64(n)+1)
	out = append(out, c.Rest()...)
	return append(out, 1, bytecode.TypeI32)
}

// charge subtracts the cost of a region from the fuel and traps if it is exhausted.
func (m *meter) charge(b []byte, cost int64) []byte {
	b = bytecode.AppendSigned(append(m.global(b, bytecode.GlobalGet, m.fuel), bytecode.I64Const), cost)
	return m.subtractFuel(b)
}

// chargeBulk subtracts an eighth of the length on top of the stack, which it keeps
// there.
func (m *meter) chargeBulk(b []byte, scratch uint32) []byte {
	b = binary.AppendUvarint(append(b, bytecode.LocalSet), uint64(scratch))
	b = m.global(b, bytecode.GlobalGet, m.fuel)
	b = binary.AppendUvarint(append(b, bytecode.LocalGet), uint64(scratch))
	b = m.subtractFuel(append(b, bytecode.I64ExtendI32U, bytecode.I64Const, 3, bytecode.I64ShrU))
	return binary.AppendUvarint(append(b, bytecode.LocalGet), uint64(scratch))
}

// subtractFuel subtracts the top of the stack from the fuel below it.
func (m *meter) subtractFuel(b []byte) []byte {
	b = m.global(append(b, bytecode.I64Sub), bytecode.GlobalSet, m.fuel)
	b = m.global(b, bytecode.GlobalGet, m.fuel)
	return append(b, bytecode.I64Const, 0, bytecode.I64LtS, bytecode.If, bytecode.TypeEmpty, bytecode.Unreachable,
		bytecode.End)
}

// enterCall subtracts a frame from the depth and traps below zero.
func (m *meter) enterCall(b []byte, frame int64) []byte {
	b = bytecode.AppendSigned(append(m.global(b, bytecode.GlobalGet, m.depth), bytecode.I32Const), frame)
	b = m.global(append(b, bytecode.I32Sub), bytecode.GlobalSet, m.depth)
	b = m.global(b, bytecode.GlobalGet, m.depth)
	return append(b, bytecode.I32Const, 0, bytecode.I32LtS, bytecode.If, bytecode.TypeEmpty, bytecode.Unreachable,
		bytecode.End)
}

// leaveCall adds the frame back after a call.
func (m *meter) leaveCall(b []byte, frame int64) []byte {
	b = bytecode.AppendSigned(append(m.global(b, bytecode.GlobalGet, m.depth), bytecode.I32Const), frame)
	return m.global(append(b, bytecode.I32Add), bytecode.GlobalSet, m.depth)
}

func (m *meter) global(b []byte, op byte, index uint32) []byte {
	return binary.AppendUvarint(append(b, op), uint64(index))
}
