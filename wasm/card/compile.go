package card

import (
	"encoding/binary"
	"fmt"

	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/bytecode"
)

// The memory of a compiled card: one page that never grows, the inputs first.
// Address 0 is not used, because a result address of 0 means that there is no
// result.
const (
	modulePages  = 1
	inputAddress = 16
)

// Compile returns the card as a scorer/1 module. The same card gives the same bytes
// on every machine.
func (c *Card) Compile() ([]byte, error) {
	manifest, err := c.manifest.Append(nil)
	if err != nil {
		return nil, fmt.Errorf("compile card: %w", err)
	}
	vectors, err := abi.AppendVectors(nil, c.Vectors())
	if err != nil {
		return nil, fmt.Errorf("compile card: %w", err)
	}
	bodies := c.functions()
	module := append([]byte(bytecode.Header),
		1, 5, 1, 0x60, 0, 1, bytecode.TypeI32, // types: 0 is () -> i32
	)
	types := append(binary.AppendUvarint(nil, uint64(len(bodies))), make([]byte, len(bodies))...) // all of type 0
	module = bytecode.AppendSection(module, bytecode.SectionFunction, types)
	module = append(module, 5, 4, 1, 1, modulePages, modulePages) // memory: one, with a maximum
	module = bytecode.AppendSection(module, bytecode.SectionExport, exports())
	module = bytecode.AppendSection(module, bytecode.SectionCode, bytecode.AppendVector(nil, bodies))
	module = abi.AppendCustom(module, abi.SectionManifest, manifest)
	module = abi.AppendCustom(module, abi.SectionVectors, vectors)
	if _, err := abi.Parse(module); err != nil {
		return nil, fmt.Errorf("compile card: %w", err)
	}
	return module, nil
}

// exports returns the export section: the memory and the two functions.
func exports() []byte {
	b := []byte{3}
	for _, e := range []struct {
		name        string
		kind, index byte
	}{{abi.ExportMemory, 2, 0}, {abi.ExportInput, 0, 0}, {abi.ExportScore, 0, 1}} {
		b = append(b, byte(len(e.name)))
		b = append(b, e.name...)
		b = append(b, e.kind, e.index)
	}
	return b
}

// Alignments of loads and stores, as exponents of two.
const (
	align1 = 0
	align4 = 2
	align8 = 3
)

// The locals of every function except the one that returns the input address: five
// i64, then three i32.
const (
	value    = iota // the current input
	sum             // of weight times mark, or the lowest mark
	weight          // of the measured parts
	reached         // points times mark of all signals so far
	measured        // points of the measured signals so far
	state           // of the current input
	unknown         // whether a part of the signal is unknown
	mark            // of the current signal
)

// inlineCode is the largest score function, in bytes, that is generated without
// calls. Calls would make the built-in module, of 7 kB, a third slower; above 16 kB
// a function approaches the limits of a module.
const inlineCode = 16 << 10

// emitter writes instructions.
type emitter struct {
	code   []byte
	inputs int
}

// ops writes instructions whose operands, if any, are single bytes.
func (e *emitter) ops(b ...byte) { e.code = append(e.code, b...) }

func (e *emitter) const32(v int64) {
	e.code = bytecode.AppendSigned(append(e.code, bytecode.I32Const), v)
}
func (e *emitter) const64(v int64) {
	e.code = bytecode.AppendSigned(append(e.code, bytecode.I64Const), v)
}

// memory writes a load or store at a fixed address. The caller has pushed the base,
// a constant 0.
func (e *emitter) memory(instruction, align byte, address int) {
	e.code = binary.AppendUvarint(append(e.code, instruction, align), uint64(address))
}

// functions returns the bodies of the input address and score functions and, if the
// score is too long for one function, of one function per signal and gate.
func (c *Card) functions() [][]byte {
	input := c.emitter()
	input.code = []byte{0} // no locals
	input.const32(inputAddress)
	bodies := [][]byte{append(input.code, bytecode.End)}

	if score := c.scoreFunction(true); len(score) <= inlineCode {
		return append(bodies, score)
	}
	bodies = append(bodies, c.scoreFunction(false))
	for i := range c.signals {
		e := c.emitter()
		e.signal(&c.signals[i])
		bodies = append(bodies, append(e.code, bytecode.End))
	}
	for i := range c.gates {
		e := c.emitter()
		e.condition(&c.gates[i])
		bodies = append(bodies, append(e.code, bytecode.End))
	}
	return bodies
}

// emitter returns an emitter with the locals declared.
func (c *Card) emitter() emitter {
	return emitter{inputs: len(c.manifest.Inputs), code: []byte{2, 5, bytecode.TypeI64, 3, bytecode.TypeI32}}
}

// scoreFunction evaluates or calls each signal and gate, stores its result and adds
// it to the total.
func (c *Card) scoreFunction(inline bool) []byte {
	e := c.emitter()
	result := e.resultAddress()
	for i, points := range c.points {
		e.const32(0)
		if inline {
			e.signal(&c.signals[i])
		} else {
			e.call(2 + i)
		}
		e.ops(bytecode.LocalTee, mark)
		e.memory(bytecode.I32Store, align4, result+abi.ResultHeader+i*abi.ResultEntry)
		e.ops(bytecode.LocalGet, mark)
		e.const32(0)
		e.ops(bytecode.I32GeS, bytecode.If, bytecode.TypeEmpty, bytecode.LocalGet, measured)
		e.const64(points)
		e.ops(bytecode.I64Add, bytecode.LocalSet, measured, bytecode.LocalGet, mark, bytecode.I64ExtendI32S)
		e.const64(points)
		e.ops(bytecode.I64Mul, bytecode.LocalGet, reached, bytecode.I64Add, bytecode.LocalSet, reached, bytecode.End)
	}
	e.total(len(c.signals), result)
	e.const32(0)
	e.const32(0)
	for i := range c.gates {
		if inline {
			e.condition(&c.gates[i])
		} else {
			e.call(2 + len(c.signals) + i)
		}
		e.const32(int64(i))
		e.ops(bytecode.I32Shl, bytecode.I32Or)
	}
	e.memory(bytecode.I32Store, align4, result+4)
	e.const32(int64(result))
	return append(e.code, bytecode.End)
}

func (e *emitter) call(function int) {
	e.code = binary.AppendUvarint(append(e.code, bytecode.Call), uint64(function))
}

// resultAddress returns the first multiple of 8 after the inputs.
func (e *emitter) resultAddress() int { return (inputAddress + abi.InputSize(e.inputs) + 7) &^ 7 }

// signal pushes what signal.mark computes.
func (e *emitter) signal(s *signal) {
	if len(s.parts) == 1 {
		e.single(&s.parts[0])
		return
	}
	start := int64(0)
	if s.useMin {
		start = int64(abi.MarkFull)
	}
	e.const64(start)
	e.ops(bytecode.LocalSet, sum)
	e.const64(0)
	e.ops(bytecode.LocalSet, weight)
	e.const32(0)
	e.ops(bytecode.LocalSet, unknown)
	for i := range s.parts {
		e.part(&s.parts[i], s.useMin)
	}
	e.ops(bytecode.LocalGet, unknown, bytecode.If, bytecode.TypeI32)
	e.const32(int64(abi.MarkUnknown))
	e.ops(bytecode.Else, bytecode.LocalGet, weight, bytecode.I64Eqz, bytecode.If, bytecode.TypeI32)
	e.const32(int64(abi.MarkNotApplicable))
	e.ops(bytecode.Else)
	if s.useMin {
		e.ops(bytecode.LocalGet, sum)
	} else {
		e.halfUp(sum, weight, 2)
	}
	e.ops(bytecode.I32WrapI64, bytecode.End, bytecode.End)
}

// single pushes the mark of a signal with one part, for which mean and minimum are
// equal.
func (e *emitter) single(p *part) {
	e.const32(0)
	e.memory(bytecode.I32Load8U, align1, inputAddress+e.inputs*8+p.input)
	e.ops(bytecode.LocalTee, state)
	e.const32(int64(abi.StateMeasured))
	e.ops(bytecode.I32Eq, bytecode.If, bytecode.TypeI32)
	e.load(p.input)
	e.ops(bytecode.LocalSet, value)
	e.curve(&p.curve)
	e.ops(bytecode.I32WrapI64, bytecode.Else)
	e.const32(int64(abi.MarkNotApplicable))
	e.const32(int64(abi.MarkUnknown))
	e.ops(bytecode.LocalGet, state)
	e.const32(int64(abi.StateNotApplicable))
	e.ops(bytecode.I32Eq, bytecode.Select, bytecode.End)
}

// part adds one input to the sums of its signal.
func (e *emitter) part(p *part, useMin bool) {
	e.const32(0)
	e.memory(bytecode.I32Load8U, align1, inputAddress+e.inputs*8+p.input)
	e.ops(bytecode.LocalTee, state)
	e.const32(int64(abi.StateMeasured))
	e.ops(bytecode.I32Eq, bytecode.If, bytecode.TypeEmpty)
	e.load(p.input)
	e.ops(bytecode.LocalSet, value)
	if useMin {
		e.curve(&p.curve)
		e.ops(bytecode.LocalTee, value, bytecode.LocalGet, sum)
		e.ops(bytecode.LocalGet, value, bytecode.LocalGet, sum, bytecode.I64LtS)
		e.ops(bytecode.Select, bytecode.LocalSet, sum)
	} else {
		e.curve(&p.curve)
		e.const64(p.weight)
		e.ops(bytecode.I64Mul, bytecode.LocalGet, sum, bytecode.I64Add, bytecode.LocalSet, sum)
	}
	e.ops(bytecode.LocalGet, weight)
	e.const64(p.weight)
	e.ops(bytecode.I64Add, bytecode.LocalSet, weight, bytecode.Else, bytecode.LocalGet, state)
	e.const32(int64(abi.StateNotApplicable))
	e.ops(bytecode.I32Ne, bytecode.LocalGet, unknown, bytecode.I32Or, bytecode.LocalSet, unknown, bytecode.End)
}

// load pushes the value of an input.
func (e *emitter) load(input int) {
	e.const32(0)
	e.memory(bytecode.I64Load, align8, inputAddress+input*8)
}

// halfUp pushes (twice*n + d) / (2*d): n times twice/2 divided by d, rounded half
// up. Nothing is negative, and unsigned division has no overflow case.
func (e *emitter) halfUp(n, d byte, twice int64) {
	e.ops(bytecode.LocalGet, n)
	e.const64(twice)
	e.ops(bytecode.I64Mul, bytecode.LocalGet, d, bytecode.I64Add, bytecode.LocalGet, d)
	e.const64(2)
	e.ops(bytecode.I64Mul, bytecode.I64DivU)
}

// curve pushes the mark of the current input, as curve.at computes it.
func (e *emitter) curve(c *curve) {
	for i, k := range c.knots {
		e.ops(bytecode.LocalGet, value)
		e.const64(k.x)
		e.ops(bytecode.I64LeS, bytecode.If, bytecode.TypeI64)
		if !c.smooth || i == 0 {
			e.const64(k.y)
		} else {
			e.between(c.knots[i-1], k)
		}
		e.ops(bytecode.Else)
	}
	e.const64(c.tail)
	for range c.knots {
		e.ops(bytecode.End)
	}
}

// between pushes what the function between computes. Where the slope is a whole
// number there is nothing to round, and the division, the slowest instruction, is
// left out.
func (e *emitter) between(a, b knot) {
	if rise := b.y - a.y; rise%(b.x-a.x) == 0 {
		e.ops(bytecode.LocalGet, value)
		if a.x != 0 {
			e.const64(a.x)
			e.ops(bytecode.I64Sub)
		}
		if slope := rise / (b.x - a.x); slope != 1 {
			e.const64(slope)
			e.ops(bytecode.I64Mul)
		}
		if a.y != 0 {
			e.const64(a.y)
			e.ops(bytecode.I64Add)
		}
		return
	}
	e.const64(b.x)
	e.ops(bytecode.LocalGet, value, bytecode.I64Sub)
	e.const64(2 * a.y)
	e.ops(bytecode.I64Mul, bytecode.LocalGet, value)
	e.const64(a.x)
	e.ops(bytecode.I64Sub)
	e.const64(2 * b.y)
	e.ops(bytecode.I64Mul, bytecode.I64Add)
	e.const64(b.x - a.x)
	e.ops(bytecode.I64Add)
	e.const64(2 * (b.x - a.x))
	e.ops(bytecode.I64DivU)
}

// total stores the score, the number of signals and the flags.
func (e *emitter) total(signals, result int) {
	e.const32(0)
	e.ops(bytecode.LocalGet, measured, bytecode.I64Eqz, bytecode.If, bytecode.TypeI32)
	e.const32(int64(abi.NoScore))
	e.ops(bytecode.Else)
	e.halfUp(reached, measured, 2*100)
	e.ops(bytecode.I32WrapI64, bytecode.End)
	e.memory(bytecode.I32Store, align4, result)

	e.const32(0)
	e.const32(int64(signals))
	e.memory(bytecode.I32Store, align4, result+8)
	e.const32(0)
	e.const32(0)
	e.memory(bytecode.I32Store, align4, result+12)
}

// condition pushes 1 if the condition holds, else 0. Nothing in it can trap, so all
// comparisons are evaluated and joined with bit operations.
func (e *emitter) condition(c *condition) {
	if c.op == opAll || c.op == opAny {
		join := byte(bytecode.I32And)
		if c.op == opAny {
			join = bytecode.I32Or
		}
		for i := range c.of {
			e.condition(&c.of[i])
			if i > 0 {
				e.ops(join)
			}
		}
		return
	}
	e.const32(0)
	e.memory(bytecode.I32Load8U, align1, inputAddress+e.inputs*8+c.input)
	e.const32(int64(abi.StateMeasured))
	e.ops(bytecode.I32Eq)
	e.load(c.input)
	e.const64(c.value)
	compare := map[operator]byte{opLess: bytecode.I64LtS, opEqual: bytecode.I64Eq, opGreater: bytecode.I64GtS}
	e.ops(compare[c.op], bytecode.I32And)
}
