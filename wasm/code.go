package wasm

import (
	"fmt"

	"github.com/fieldmark/fieldmark/wasm/bytecode"
)

// The cost of an instruction in units of fuel. Nearly all cost 1, which is 0.05 to
// 1.6 ns on a processor of 2024, cache misses included.
const (
	costEntry    = 4    // a function: the call, its frame and the two checks
	costGrow     = 1000 // memory.grow, which leaves compiled code and may copy the memory
	costBulk     = 8    // memory.copy and memory.fill, in addition to an eighth per byte
	costCallType = 4    // call_indirect, which checks bounds and type
	costHost     = 1000 // a call of the host, which leaves compiled code; none does more than 1 kB of work
)

// body is the code of one function and the places where the rewriter inserts code.
type body struct {
	declarations []byte      // of locals, unchanged
	code         []byte      // the instructions, with the last end
	locals       int         // number, parameters included
	costs        []int       // of regions, in the order of their starts
	insertions   []insertion // in the order of the code
	calls        bool        // whether it calls any function
	bulk         bool        // whether it copies or fills memory
}

// insertionKind selects what the rewriter inserts.
type insertionKind byte

const (
	insertRegion insertionKind = iota // start of a region: charge its cost
	insertCall                        // around a direct call
	insertIndirect
	insertBulk // before a bulk instruction
)

// insertion is a place in a function where code is inserted.
type insertion struct {
	kind   insertionKind
	at     int    // offset into the code
	after  int    // offset after the call
	callee uint32 // of a direct call, without counting imports
}

// function validates the body of one function.
//
// A region is the code between two loop heads: the function without its loops, or
// one loop without its inner loops. However it branches, no instruction of a region
// runs twice without passing a loop head. So charging a whole region at its head
// covers everything that runs.
// Compilers produce the same number of units for one source, so a budget means the same on every
// machine, which time does not.
func (p *program) function(index int, raw []byte) body {
	c := bytecode.Reader{Buf: raw}
	var b body
	p.checkLimit(&p.used.body, len(raw), p.limits().body, "function %d has %d bytes", index, len(raw))
	if len(p.params) > 0 {
		b.locals = p.params[p.functions[index]]
	}
	if !p.locals(&c, &b, index) {
		return b
	}
	b.code = raw[c.Pos:]
	w := bodyValidator{p: p, b: &b, function: index, c: bytecode.Reader{Buf: b.code}, open: []int{0}}
	b.costs = []int{costEntry + b.locals/4}
	b.insertions = []insertion{{kind: insertRegion}}
	for len(w.open) > 0 && !w.c.Failed {
		if !w.step() {
			return b
		}
	}
	if w.c.Failed || w.c.Pos != len(b.code) {
		p.addProblem("function %d is malformed at byte %d", index, w.c.Pos)
	}
	p.checkLimit(&p.used.blocks, w.blocks, maxBlocks, "function %d has %d blocks", index, w.blocks)
	p.checkLimit(&p.used.loops, w.loops, maxLoops, "function %d has %d loops", index, w.loops)
	p.used.allBlocks += w.blocks
	return b
}

// locals parses the declarations of locals.
// Each declaration repeats a type: ten bytes can declare four billion locals, hence the bound
// within the loop.
func (p *program) locals(c *bytecode.Reader, b *body, index int) bool {
	start := c.Pos
	for n := c.U32(); n > 0 && !c.Failed; n-- {
		count, kind := c.U32(), c.Byte()
		b.locals += int(min(count, maxLocals+1))
		if !isNumber(kind) && !c.Failed {
			p.addProblem("function %d: local of type %#x", index, kind)
			return false
		}
		if b.locals > maxLocals {
			break
		}
	}
	if !p.checkLimit(&p.used.locals, b.locals, maxLocals, "function %d has %d or more locals", index, b.locals) {
		return false
	}
	if c.Failed {
		p.addProblem("function %d: its locals are malformed", index)
		return false
	}
	b.declarations = c.Buf[start:c.Pos]
	return true
}

// bodyValidator is the validation of one function body.
type bodyValidator struct {
	p        *program
	b        *body
	function int
	c        bytecode.Reader
	open     []int // regions of the open blocks; the first is the function's
	blocks   int
	loops    int
}

// reject adds a problem at the current position. It returns false, for step.
func (w *bodyValidator) reject(format string, args ...any) bool {
	w.p.addProblem("function %d, byte %d: %s", w.function, w.c.Pos, fmt.Sprintf(format, args...))
	return false
}

// step validates one instruction. It returns false if the rest cannot be parsed.
// It lists every instruction that is allowed; there is no default that accepts.
func (w *bodyValidator) step() bool {
	at := w.c.Pos
	op := w.c.Byte()
	region := w.open[len(w.open)-1]
	w.b.costs[region]++
	switch op {
	case bytecode.Block, bytecode.Loop, bytecode.If:
		return w.block(op, region)
	case bytecode.End:
		w.open = w.open[:len(w.open)-1]
	case bytecode.BrTable:
		n := int(w.c.U32())
		if !w.p.checkLimit(&w.p.used.branchTable, n, maxBranchTable, "function %d: br_table of %d targets", w.function,
			n) {
			return false
		}
		for range n + 1 {
			w.c.U32()
		}
	// The callee charges its own regions; the insertion
	// checks the depth of calls.
	case bytecode.Call:
		callee := w.c.U32()
		if int(callee) < w.p.imported {
			w.b.costs[region] += costHost
			return true
		}
		w.b.calls = true
		w.b.insertions = append(w.b.insertions, insertion{kind: insertCall, at: at, after: w.c.Pos,
			callee: callee - uint32(w.p.imported)})
		if n := w.p.imported + len(w.p.functions); int(callee) >= n {
			return w.reject("call of function %d, there are %d", callee, n)
		}
	case bytecode.CallIndirect:
		w.c.U32()
		if table := w.c.Byte(); table != 0 || w.p.tables == 0 {
			return w.reject("call through a table that does not exist")
		}
		w.b.calls = true
		w.b.costs[region] += costCallType
		w.b.insertions = append(w.b.insertions, insertion{kind: insertIndirect, at: at, after: w.c.Pos})
	case bytecode.Misc:
		return w.misc(at, region)
	case bytecode.MemoryGrow:
		w.b.costs[region] += costGrow
		w.c.Byte()
	// The rewriter adds a local and globals after the last ones: a module must not
	// be able to refer to them.
	case bytecode.LocalGet, bytecode.LocalSet, bytecode.LocalTee:
		if i := w.c.U32(); int(i) >= w.b.locals {
			return w.reject("local %d, there are %d", i, w.b.locals)
		}
	case bytecode.GlobalGet, bytecode.GlobalSet:
		if i := w.c.U32(); int(i) >= len(w.p.mutable) {
			return w.reject("global %d, there are %d", i, len(w.p.mutable))
		}
	default:
		if !skipImmediates(&w.c, op) {
			return w.reject("instruction %#02x (%s) is not allowed", op, family(op))
		}
	}
	return true
}

// block validates the start of a block. A loop starts a new region.
// Blocks with parameters refer to types by index, which the rewriter would have to follow.
func (w *bodyValidator) block(op byte, region int) bool {
	if t := w.c.Byte(); t != bytecode.TypeEmpty && !isNumber(t) && !w.c.Failed {
		return w.reject("block of type %#x; blocks have no parameters and at most one result", t)
	}
	w.blocks++
	if op == bytecode.Loop {
		w.loops++
		region = len(w.b.costs)
		w.b.costs = append(w.b.costs, 1)
		w.b.insertions = append(w.b.insertions, insertion{kind: insertRegion, at: w.c.Pos})
	}
	w.open = append(w.open, region)
	return true
}

// misc validates instructions of two bytes. Those on segments and tables are
// rejected, because restoring memory and globals does not undo what they change.
func (w *bodyValidator) misc(at, region int) bool {
	second := w.c.Byte() // a longer encoding could be another number to other readers
	switch {
	case second <= bytecode.MiscTruncLast:
		return true
	case second == bytecode.MiscMemoryCopy:
		w.c.Bytes(2)
	case second == bytecode.MiscMemoryFill:
		w.c.Bytes(1)
	default:
		return w.reject("instruction 0xfc %d (segments and tables) is not allowed", second)
	}
	w.b.bulk = true
	w.b.costs[region] += costBulk
	w.b.insertions = append(w.b.insertions, insertion{kind: insertBulk, at: at})
	return true
}

// skipImmediates skips the operands of a one-byte instruction that step does not
// handle by name. It returns false if the instruction is not allowed.
func skipImmediates(c *bytecode.Reader, op byte) bool {
	switch {
	case op == bytecode.Unreachable, op == 0x01, op == bytecode.Else, op == 0x0f, op == 0x1a, op == 0x1b:
	case op == bytecode.Br, op == bytecode.BrIf:
		c.U32()
	case op >= 0x28 && op <= 0x3e: // loads and stores
		if c.Byte() > 3 { // alignment; bit 6 would select another memory
			c.Failed = true
		}
		c.U32()
	case op == bytecode.MemorySize:
		c.Byte()
	case op == bytecode.I32Const:
		c.SkipSigned(5)
	case op == bytecode.I64Const:
		c.SkipSigned(10)
	case op == bytecode.F32Const:
		c.Bytes(4)
	case op == bytecode.F64Const:
		c.Bytes(8)
	case op >= 0x45 && op <= 0xc4: // arithmetic
	default:
		return false
	}
	return true
}

// family names the proposal that a rejected instruction belongs to.
func family(op byte) string {
	switch {
	case op >= 0x06 && op <= 0x0a, op == 0x18, op == 0x19, op == 0x1f:
		return "exceptions"
	case op == 0x12, op == 0x13, op == 0x14, op == 0x15:
		return "tail calls and typed references"
	case op == 0x1c, op == 0x25, op == 0x26, op >= 0xd0 && op <= 0xd6:
		return "reference types"
	case op == 0xfb:
		return "garbage collection"
	case op == 0xfd:
		return "SIMD"
	case op == 0xfe:
		return "threads"
	}
	return "unknown"
}
