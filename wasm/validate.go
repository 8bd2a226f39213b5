package wasm

import (
	"fmt"

	"github.com/fieldmark/fieldmark/wasm/abi"
)

// The limits of a module's structure. An honest scorer stays far below each;
// what is above costs a compiler minutes and gigabytes: 400 kB of one br_table
// took 37 s, 81 kB of loops 16 s. At these limits the worst function found
// compiles in under a second.
const (
	maxTypes       = 1000   // signatures; guests of whole languages have under 100
	maxFunctions   = 10_000 // Go's own runtime has 3,000
	maxGlobals     = 1024   // each mutable one is restored after every call
	maxTable       = 10_000 // entries, 16 bytes of host memory each; a stock Go guest has 6,222
	maxLocals      = 512    // of one function with its parameters; the most seen are 152
	maxBranchTable = 2048   // targets; the most seen are 1,525
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

// maxProblems bounds the answer to a module that is wrong everywhere.
const maxProblems = 50

// The sections the walk looks into (Core Specification 5.5).
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionGlobal    = 6
	sectionExport    = 7
	sectionElement   = 9
	sectionCode      = 10
	sectionData      = 11
	sectionDataCount = 12
)

// program is a module taken apart as far as the rewriter needs it. The walk
// lets pass only what the rewriter understands to the byte; whether the rest is
// valid is for the engine to say.
type program struct {
	class     abi.Class
	imported  int // functions, which come first in the numbering
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

// validate takes a module apart and lists all that is wrong with its structure. The
// sections must have passed abi.Parse or be as abi.Sections gave them.
func validate(sections []abi.Section, class abi.Class, imported int) *program {
	p := &program{sections: sections, class: class, imported: imported}
	for i := range sections {
		s := &sections[i]
		c := cursor{b: s.Body}
		switch s.ID {
		case sectionType:
			p.typeSection(&c)
		case sectionFunction:
			p.functionSection(&c)
		case sectionTable:
			p.tableSection(&c)
		case sectionGlobal:
			p.globalSection(&c)
		case sectionElement:
			p.elementSection(&c)
		case sectionCode:
			p.codeSection(&c)
		case sectionData:
			p.dataSection(&c)
		default:
			continue
		}
		if c.failed || c.at != len(c.b) {
			p.addProblem("section %d is malformed at byte %d", s.ID, c.at)
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
		p.problems = append(p.problems, "and more of the kind")
	}
}

// checkLimit notes how much of a limit is used and complains of too much.
func (p *program) checkLimit(used *int, n, limit int, format string, args ...any) bool {
	*used = max(*used, n)
	if n > limit {
		p.addProblem("%s, at most %d", fmt.Sprintf(format, args...), limit)
	}
	return n <= limit
}

// Types of values and of functions.
const (
	typeI32      = 0x7f
	typeI64      = 0x7e
	typeF64      = 0x7c
	typeFunction = 0x60
	typeFuncref  = 0x70
	typeEmpty    = 0x40
)

func isNumber(valueType byte) bool { return valueType >= typeF64 && valueType <= typeI32 }

func (p *program) typeSection(c *cursor) {
	n := int(c.u32())
	if !p.checkLimit(&p.used.types, n, maxTypes, "%d types", n) {
		c.skip()
		return
	}
	for i := 0; i < n && !c.failed; i++ {
		if form := c.byte(); form != typeFunction && !c.failed {
			p.addProblem("type %d is of kind %#x, only functions are known", i, form)
			c.skip()
			return
		}
		params, results := c.bytes(int(c.u32())), c.bytes(int(c.u32()))
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

func (p *program) functionSection(c *cursor) {
	n := int(c.u32())
	if !p.checkLimit(&p.used.functions, n, maxFunctions, "%d functions", n) {
		c.skip()
		return
	}
	for i := 0; i < n && !c.failed; i++ {
		t := c.u32()
		if int(t) >= len(p.params) && !c.failed {
			p.addProblem("function %d is of type %d, there are %d", i, t, len(p.params))
			t = 0
		}
		p.functions = append(p.functions, t)
	}
}

// tableSection admits one table of functions. Nothing allowed can change it
// once the module stands, so it needs no reset.
func (p *program) tableSection(c *cursor) {
	n := int(c.u32())
	if n > 1 {
		p.addProblem("%d tables, at most 1", n)
		c.skip()
		return
	}
	if n == 0 {
		return
	}
	p.tables = 1
	kind, flags := c.byte(), c.byte()
	least := int(c.u32())
	p.checkLimit(&p.used.table, least, maxTable, "table of %d entries", least)
	switch {
	case kind != typeFuncref:
		p.addProblem("table of kind %#x, only functions are known", kind)
	case flags == 1:
		c.u32() // the maximum; a table cannot grow
	case flags != 0:
		p.addProblem("table with limits of kind %d", flags)
		c.skip()
	}
}

func (p *program) globalSection(c *cursor) {
	n := int(c.u32())
	if !p.checkLimit(&p.used.globals, n, maxGlobals, "%d globals", n) {
		c.skip()
		return
	}
	for i := 0; i < n && !c.failed; i++ {
		if t := c.byte(); !isNumber(t) && !c.failed {
			p.addProblem("global %d: %#x is not one of i32, i64, f32 and f64", i, t)
		}
		p.mutable = append(p.mutable, c.byte() == 1)
		if !c.constant() {
			p.addProblem("global %d is not initialised by a constant", i)
			c.skip()
		}
	}
}

// elementSection admits segments that are gone once the table is filled.
func (p *program) elementSection(c *cursor) {
	n := int(c.u32())
	for i := 0; i < n && !c.failed; i++ {
		if kind := c.u32(); kind != 0 && !c.failed {
			p.addProblem("element segment %d is of kind %d, must be active", i, kind)
			c.skip()
			return
		}
		if !c.constant() {
			p.addProblem("element segment %d does not begin at a constant", i)
			c.skip()
			return
		}
		for n := int(c.u32()); n > 0 && !c.failed; n-- {
			c.u32()
		}
	}
}

// dataSection admits segments that are gone once the memory is filled.
func (p *program) dataSection(c *cursor) {
	n := int(c.u32())
	for i := 0; i < n && !c.failed; i++ {
		if kind := c.u32(); kind != 0 && !c.failed {
			p.addProblem("data segment %d is of kind %d, must be active", i, kind)
			c.skip()
			return
		}
		if !c.constant() {
			p.addProblem("data segment %d does not begin at a constant", i)
			c.skip()
			return
		}
		c.bytes(int(c.u32()))
	}
}

func (p *program) codeSection(c *cursor) {
	n := int(c.u32())
	if n > maxFunctions {
		p.addProblem("%d function bodies, at most %d", n, maxFunctions)
		c.skip()
		return
	}
	for i := 0; i < n && !c.failed; i++ {
		raw := c.bytes(int(c.u32()))
		if c.failed {
			return
		}
		if i >= len(p.functions) {
			p.bodies = append(p.bodies, body{})
			continue // complained of where the counts are compared
		}
		p.bodies = append(p.bodies, p.function(i, raw))
	}
	if most := p.limits().blocks; p.used.allBlocks > most {
		p.addProblem("%d blocks in all, at most %d", p.used.allBlocks, most)
	}
}

// cursor reads the primitives of the binary format and knows where it is. A
// failed read yields zeros from then on, so callers check once.
type cursor struct {
	b      []byte
	at     int
	failed bool
}

// skip goes to the end: there is nothing more to say about these bytes.
func (c *cursor) skip() { c.at = len(c.b) }

func (c *cursor) byte() byte {
	if b := c.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (c *cursor) bytes(n int) []byte {
	if c.failed || n < 0 || n > len(c.b)-c.at {
		c.failed = true
		return nil
	}
	b := c.b[c.at : c.at+n : c.at+n]
	c.at += n
	return b
}

// u32 reads an unsigned LEB128 of 32 bits.
func (c *cursor) u32() uint32 {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		b := c.byte()
		if shift == 28 && b > 0x0f {
			break
		}
		v |= uint32(b&0x7f) << shift
		if c.failed { // in the middle of a number
			return 0
		}
		if b < 0x80 {
			return v
		}
	}
	c.failed = true
	return 0
}

// signed passes over a signed LEB128 of at most n bytes.
func (c *cursor) signed(n int) {
	for range n {
		if c.byte() < 0x80 {
			return
		}
	}
	c.failed = true
}

// constant passes over one constant instruction and the end of its expression.
func (c *cursor) constant() bool {
	start := c.at
	op := c.byte()
	switch op {
	case opI32Const, opI64Const, opF32Const, opF64Const:
		c.immediates(op)
	default:
		return false
	}
	return c.byte() == opEnd && !c.failed && c.at-start <= maxConstant
}
