package wasm

import (
	"fmt"

	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/bytecode"
)

// The limits of a module's structure. A normal module stays far below each. Above
// them a malicious module costs the compiler minutes and gigabytes: 400 kB of one
// br_table took 37 s, 81 kB of loops 16 s. At these limits the worst function found
// compiles in under a second.
const (
	maxTypes       = 1000   // signatures; modules with a language runtime have under 100
	maxFunctions   = 10_000 // Go's runtime has 3,000
	maxGlobals     = 1024   // each mutable one is restored after every call
	maxTable       = 10_000 // entries, 16 bytes of host memory each; a module from stock Go has 6,222
	maxLocals      = 512    // of one function, parameters included; the maximum seen is 152
	maxBranchTable = 2048   // targets; the maximum seen is 1,525
	maxBlocks      = 2000   // blocks, loops and ifs of one function
	maxLoops       = 500    // loops of one function
	maxConstant    = 16     // bytes of a constant expression; the longest needs 12
)

// classLimits are the limits that differ between the classes of modules.
type classLimits struct {
	body   int   // bytes of one function; the largest seen has 29 kB
	blocks int   // of the whole module
	fuel   int64 // of one call
}

func limitsOf(c abi.Class) classLimits {
	if c == abi.ClassWASI {
		return classLimits{body: 64 << 10, blocks: 150_000, fuel: MaxWASIFuel}
	}
	return classLimits{body: 32 << 10, blocks: 60_000, fuel: MaxFuel}
}

func (p *program) limits() classLimits { return limitsOf(p.class) }

// maxProblems limits the problems reported for one module.
const maxProblems = 50

// program is a module, parsed as far as the rewriter needs. validate accepts only
// what the rewriter understands completely; the engine validates the rest.
type program struct {
	class     abi.Class
	imported  int // number of functions, which come first in the numbering
	sections  []abi.Section
	params    []int    // of each type
	functions []uint32 // type of each function
	mutable   []bool   // of each global
	tables    int
	bodies    []body
	used      usage

	problems abi.Problems
}

// usage is how much of each limit a module uses.
type usage struct {
	types, functions, globals, table, body, locals, branchTable, blocks, loops, allBlocks int
}

// validate parses a module and collects all problems of its structure. The sections
// come from abi.Sections.
// Sections that only name or number things are left to the engine.
func validate(sections []abi.Section, class abi.Class, imported int) *program {
	p := &program{sections: sections, class: class, imported: imported}
	for i := range sections {
		s := &sections[i]
		c := bytecode.Reader{Buf: s.Body}
		switch s.ID {
		case bytecode.SectionType:
			p.typeSection(&c)
		case bytecode.SectionFunction:
			p.functionSection(&c)
		case bytecode.SectionTable:
			p.tableSection(&c)
		case bytecode.SectionGlobal:
			p.globalSection(&c)
		case bytecode.SectionElement:
			p.elementSection(&c)
		case bytecode.SectionCode:
			p.codeSection(&c)
		case bytecode.SectionData:
			p.dataSection(&c)
		default:
			continue
		}
		// Bytes after the last entry could mean something to another parser.
		if c.Failed || c.Pos != len(c.Buf) {
			p.addProblem("section %d is malformed at byte %d", s.ID, c.Pos)
		}
	}
	if len(p.functions) != len(p.bodies) {
		p.addProblem("%d functions with %d bodies", len(p.functions), len(p.bodies))
	}
	return p
}

func (p *program) addProblem(format string, args ...any) {
	switch n := len(p.problems); {
	case n < maxProblems:
		p.problems = append(p.problems, fmt.Sprintf(format, args...))
	case n == maxProblems:
		p.problems = append(p.problems, "and more")
	}
}

// checkLimit records the use of a limit and reports a problem if it is exceeded.
func (p *program) checkLimit(used *int, n, limit int, format string, args ...any) bool {
	*used = max(*used, n)
	if n > limit {
		p.addProblem("%s, at most %d", fmt.Sprintf(format, args...), limit)
	}
	return n <= limit
}

func isNumber(valueType byte) bool {
	return valueType >= bytecode.TypeF64 && valueType <= bytecode.TypeI32
}

// typeSection accepts functions of numbers with at most one result.
// Several results, references and vectors would need more rules in the rewriter, and no
// compiler produces them for this ABI.
func (p *program) typeSection(c *bytecode.Reader) {
	n := int(c.U32())
	if !p.checkLimit(&p.used.types, n, maxTypes, "%d types", n) {
		c.Skip()
		return
	}
	for i := 0; i < n && !c.Failed; i++ {
		if form := c.Byte(); form != bytecode.TypeFunction && !c.Failed {
			p.addProblem("type %d is of kind %#x, only functions are supported", i, form)
			c.Skip()
			return
		}
		params, results := c.Vector(), c.Vector()
		for _, t := range append(params[:len(params):len(params)], results...) {
			if !isNumber(t) {
				p.addProblem("type %d: %#x is not one of i32, i64, f32 and f64", i, t)
			}
		}
		if len(results) > 1 {
			p.addProblem("type %d has %d results, at most 1", i, len(results))
		}
		p.params = append(p.params, len(params))
	}
}

// functionSection reads the type of each function.
func (p *program) functionSection(c *bytecode.Reader) {
	n := int(c.U32())
	if !p.checkLimit(&p.used.functions, n, maxFunctions, "%d functions", n) {
		c.Skip()
		return
	}
	for i := 0; i < n && !c.Failed; i++ {
		t := c.U32()
		if int(t) >= len(p.params) && !c.Failed {
			p.addProblem("function %d is of type %d, there are %d", i, t, len(p.params))
			t = 0
		}
		p.functions = append(p.functions, t)
	}
}

// tableSection accepts one table of functions. No allowed instruction changes it,
// so it is not restored between calls.
func (p *program) tableSection(c *bytecode.Reader) {
	n := int(c.U32())
	if n > 1 {
		p.addProblem("%d tables, at most 1", n)
		c.Skip()
		return
	}
	if n == 0 {
		return
	}
	p.tables = 1
	kind, flags := c.Byte(), c.Byte()
	least := int(c.U32())
	p.checkLimit(&p.used.table, least, maxTable, "table of %d entries", least)
	switch {
	case kind != bytecode.TypeFuncref:
		p.addProblem("table of kind %#x, only functions are supported", kind)
	case flags == 1:
		c.U32() // the maximum; a table cannot grow
	case flags != 0:
		p.addProblem("table with limits of kind %d", flags)
		c.Skip()
	}
}

// globalSection accepts numbers that are initialised by a constant.
// An initial value that refers to another global would have to be restored in order.
func (p *program) globalSection(c *bytecode.Reader) {
	n := int(c.U32())
	if !p.checkLimit(&p.used.globals, n, maxGlobals, "%d globals", n) {
		c.Skip()
		return
	}
	for i := 0; i < n && !c.Failed; i++ {
		if t := c.Byte(); !isNumber(t) && !c.Failed {
			p.addProblem("global %d: %#x is not one of i32, i64, f32 and f64", i, t)
		}
		p.mutable = append(p.mutable, c.Byte() == 1)
		if !skipConstant(c) {
			p.addProblem("global %d is not initialised by a constant", i)
			c.Skip()
		}
	}
}

// elementSection accepts only active segments, which no longer exist once the table
// is filled.
func (p *program) elementSection(c *bytecode.Reader) {
	n := int(c.U32())
	for i := 0; i < n && !c.Failed; i++ {
		if kind := c.U32(); kind != 0 && !c.Failed {
			p.addProblem("element segment %d is of kind %d, must be active", i, kind)
			c.Skip()
			return
		}
		if !skipConstant(c) {
			p.addProblem("element segment %d does not start at a constant", i)
			c.Skip()
			return
		}
		for n := int(c.U32()); n > 0 && !c.Failed; n-- {
			c.U32()
		}
	}
}

// dataSection accepts only active segments, which no longer exist once the memory
// is filled.
// Passive segments can be dropped by an instruction, which is state that a restored memory does
// not bring back.
func (p *program) dataSection(c *bytecode.Reader) {
	n := int(c.U32())
	for i := 0; i < n && !c.Failed; i++ {
		if kind := c.U32(); kind != 0 && !c.Failed {
			p.addProblem("data segment %d is of kind %d, must be active", i, kind)
			c.Skip()
			return
		}
		if !skipConstant(c) {
			p.addProblem("data segment %d does not start at a constant", i)
			c.Skip()
			return
		}
		c.Vector()
	}
}

// codeSection validates the body of each function.
func (p *program) codeSection(c *bytecode.Reader) {
	n := int(c.U32())
	if n > maxFunctions {
		p.addProblem("%d function bodies, at most %d", n, maxFunctions)
		c.Skip()
		return
	}
	for i := 0; i < n && !c.Failed; i++ {
		raw := c.Vector()
		if c.Failed {
			return
		}
		if i >= len(p.functions) {
			p.bodies = append(p.bodies, body{})
			continue // reported where the counts are compared
		}
		p.bodies = append(p.bodies, p.function(i, raw))
	}
	if most := p.limits().blocks; p.used.allBlocks > most {
		p.addProblem("%d blocks in total, at most %d", p.used.allBlocks, most)
	}
}

// skipConstant skips one constant instruction and the end of its expression.
// The length is bounded because LEB128 allows padding: an integer may be written with any number
// of bytes up to its limit.
func skipConstant(c *bytecode.Reader) bool {
	start := c.Pos
	op := c.Byte()
	switch op {
	case bytecode.I32Const, bytecode.I64Const, bytecode.F32Const, bytecode.F64Const:
		skipImmediates(c, op)
	default:
		return false
	}
	return c.Byte() == bytecode.End && !c.Failed && c.Pos-start <= maxConstant
}
