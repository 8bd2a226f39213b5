package card

import (
	"encoding/binary"
	"fmt"

	"github.com/fieldmark/fieldmark/wasm/abi"
)

// The memory of a compiled card: one page that never grows, the inputs first.
// Address 0 stays free because a result address of 0 means "no result".
const (
	modulePages  = 1
	inputAddress = 16
)

// Compile returns the card as a scorer/1 module. The same card gives the same
// bytes on every machine.
func (c *Card) Compile() ([]byte, error) {
	manifest, err := c.manifest.Append(nil)
	if err != nil {
		return nil, fmt.Errorf("compile card: %w", err)
	}
	vectors, err := abi.AppendVectors(nil, c.vectors())
	if err != nil {
		return nil, fmt.Errorf("compile card: %w", err)
	}
	bodies := c.functions()
	module := append([]byte("\x00asm\x01\x00\x00\x00"),
		1, 5, 1, 0x60, 0, 1, typeI32, // types: 0 is () -> i32
	)
	module = appendSection(module, 3, append(binary.AppendUvarint(nil, uint64(len(bodies))), make([]byte, len(bodies))...))
	module = append(module, 5, 4, 1, 1, modulePages, modulePages) // memory: one, with a maximum
	module = appendSection(module, 7, exports())
	module = appendSection(module, 10, code(bodies))
	module = abi.AppendCustom(module, abi.SectionManifest, manifest)
	module = abi.AppendCustom(module, abi.SectionVectors, vectors)
	if _, err := abi.Parse(module); err != nil {
		return nil, fmt.Errorf("compile card: %w", err)
	}
	return module, nil
}

func appendSection(dst []byte, id byte, body []byte) []byte {
	dst = binary.AppendUvarint(append(dst, id), uint64(len(body)))
	return append(dst, body...)
}

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

// The instructions and types used (Core Specification 5.4).
const (
	typeI32   = 0x7f
	typeI64   = 0x7e
	typeEmpty = 0x40

	ifThen   = 0x04
	ifElse   = 0x05
	end      = 0x0b
	selectOp = 0x1b
	call     = 0x10
	localGet = 0x20
	localSet = 0x21
	localTee = 0x22
	i64Load  = 0x29
	i32Load8 = 0x2d
	i32Store = 0x36
	i32Const = 0x41
	i64Const = 0x42
	i32Eq    = 0x46
	i32Ne    = 0x47
	i32GeS   = 0x4e
	i64Eqz   = 0x50
	i64Eq    = 0x51
	i64LtS   = 0x53
	i64GtS   = 0x55
	i64LeS   = 0x57
	i32And   = 0x71
	i32Or    = 0x72
	i32Shl   = 0x74
	i64Add   = 0x7c
	i64Sub   = 0x7d
	i64Mul   = 0x7e
	i64DivU  = 0x80
	i32Wrap  = 0xa7

	i64Extend = 0xac // of a signed i32

	align1 = 0 // alignments of loads and stores, as exponents of two
	align4 = 2
	align8 = 3
)

// The locals of every function but the input's: five i64, then three i32.
const (
	value    = iota // the input at hand
	sum             // of weight times mark, or the lowest mark
	weight          // of the measured parts
	reached         // points times mark of all signals so far
	measured        // points of the measured signals so far
	state           // of the input at hand
	unknown         // whether a part of the signal is unknown
	mark            // of the signal at hand
)

// inlineCode is up to how many bytes the score is one function. Calls would
// cost the built-in, of 7 kB, a third of its time; past 16 kB a function nears
// the limits of a module.
const inlineCode = 16 << 10

// emitter writes instructions.
type emitter struct {
	code   []byte
	inputs int
}

// ops writes instructions whose operands, if any, are single bytes.
func (e *emitter) ops(b ...byte) { e.code = append(e.code, b...) }

func (e *emitter) const32(v int64) { e.code = appendSigned(append(e.code, i32Const), v) }
func (e *emitter) const64(v int64) { e.code = appendSigned(append(e.code, i64Const), v) }

// memory writes a load or a store at a fixed address; the base is the constant
// 0 the caller pushed.
func (e *emitter) memory(instruction, align byte, address int) {
	e.code = binary.AppendUvarint(append(e.code, instruction, align), uint64(address))
}

// appendSigned appends a signed LEB128.
func appendSigned(dst []byte, v int64) []byte {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(dst, b)
		}
		dst = append(dst, b|0x80)
	}
}

// functions returns the bodies of the input's address and of the score; if the
// score is long, also those of each signal and each gate, which it then calls.
func (c *Card) functions() [][]byte {
	input := c.emitter()
	input.code = []byte{0} // no locals
	input.const32(inputAddress)
	bodies := [][]byte{append(input.code, end)}

	if score := c.scoreFunction(true); len(score) <= inlineCode {
		return append(bodies, score)
	}
	bodies = append(bodies, c.scoreFunction(false))
	for i := range c.signals {
		e := c.emitter()
		e.signal(&c.signals[i])
		bodies = append(bodies, append(e.code, end))
	}
	for i := range c.gates {
		e := c.emitter()
		e.condition(&c.gates[i])
		bodies = append(bodies, append(e.code, end))
	}
	return bodies
}

// emitter returns an emitter that has declared the locals.
func (c *Card) emitter() emitter {
	return emitter{inputs: len(c.manifest.Inputs), code: []byte{2, 5, typeI64, 3, typeI32}}
}

// code returns the code section.
func code(bodies [][]byte) []byte {
	b := binary.AppendUvarint(nil, uint64(len(bodies)))
	for _, body := range bodies {
		b = binary.AppendUvarint(b, uint64(len(body)))
		b = append(b, body...)
	}
	return b
}

// scoreFunction evaluates or calls each signal and gate, stores what comes of
// it and adds it up.
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
		e.ops(localTee, mark)
		e.memory(i32Store, align4, result+abi.ResultHeader+i*abi.ResultEntry)
		e.ops(localGet, mark)
		e.const32(0)
		e.ops(i32GeS, ifThen, typeEmpty, localGet, measured)
		e.const64(points)
		e.ops(i64Add, localSet, measured, localGet, mark, i64Extend)
		e.const64(points)
		e.ops(i64Mul, localGet, reached, i64Add, localSet, reached, end)
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
		e.ops(i32Shl, i32Or)
	}
	e.memory(i32Store, align4, result+4)
	e.const32(int64(result))
	return append(e.code, end)
}

func (e *emitter) call(function int) {
	e.code = binary.AppendUvarint(append(e.code, call), uint64(function))
}

// resultAddress is the first multiple of 8 behind the inputs.
func (e *emitter) resultAddress() int { return (inputAddress + abi.InputSize(e.inputs) + 7) &^ 7 }

// signal pushes what signal.mark computes.
func (e *emitter) signal(s *signal) {
	if len(s.parts) == 1 {
		e.single(&s.parts[0])
		return
	}
	start := int64(0)
	if s.least {
		start = int64(abi.MarkFull)
	}
	e.const64(start)
	e.ops(localSet, sum)
	e.const64(0)
	e.ops(localSet, weight)
	e.const32(0)
	e.ops(localSet, unknown)
	for i := range s.parts {
		e.part(&s.parts[i], s.least)
	}
	e.ops(localGet, unknown, ifThen, typeI32)
	e.const32(int64(abi.MarkUnknown))
	e.ops(ifElse, localGet, weight, i64Eqz, ifThen, typeI32)
	e.const32(int64(abi.MarkNotApplicable))
	e.ops(ifElse)
	if s.least {
		e.ops(localGet, sum)
	} else {
		e.halfUp(sum, weight, 2)
	}
	e.ops(i32Wrap, end, end)
}

// single pushes the mark of a signal of one part, whose mean and lowest it is.
func (e *emitter) single(p *part) {
	e.const32(0)
	e.memory(i32Load8, align1, inputAddress+e.inputs*8+p.input)
	e.ops(localTee, state)
	e.const32(int64(abi.StateMeasured))
	e.ops(i32Eq, ifThen, typeI32)
	e.load(p.input)
	e.ops(localSet, value)
	e.curve(&p.curve)
	e.ops(i32Wrap, ifElse)
	e.const32(int64(abi.MarkNotApplicable))
	e.const32(int64(abi.MarkUnknown))
	e.ops(localGet, state)
	e.const32(int64(abi.StateNotApplicable))
	e.ops(i32Eq, selectOp, end)
}

// part adds one input to the sums of its signal.
func (e *emitter) part(p *part, least bool) {
	e.const32(0)
	e.memory(i32Load8, align1, inputAddress+e.inputs*8+p.input)
	e.ops(localTee, state)
	e.const32(int64(abi.StateMeasured))
	e.ops(i32Eq, ifThen, typeEmpty)
	e.load(p.input)
	e.ops(localSet, value)
	if least {
		e.curve(&p.curve)
		e.ops(localTee, value, localGet, sum, localGet, value, localGet, sum, i64LtS, selectOp, localSet, sum)
	} else {
		e.curve(&p.curve)
		e.const64(p.weight)
		e.ops(i64Mul, localGet, sum, i64Add, localSet, sum)
	}
	e.ops(localGet, weight)
	e.const64(p.weight)
	e.ops(i64Add, localSet, weight, ifElse, localGet, state)
	e.const32(int64(abi.StateNotApplicable))
	e.ops(i32Ne, localGet, unknown, i32Or, localSet, unknown, end)
}

// load pushes the value of an input.
func (e *emitter) load(input int) {
	e.const32(0)
	e.memory(i64Load, align8, inputAddress+input*8)
}

// halfUp pushes (twice*n + d) / (2*d): n times twice/2 divided by d, rounded
// half up. Nothing is negative, and unsigned division has one case less to look at.
func (e *emitter) halfUp(n, d byte, twice int64) {
	e.ops(localGet, n)
	e.const64(twice)
	e.ops(i64Mul, localGet, d, i64Add, localGet, d)
	e.const64(2)
	e.ops(i64Mul, i64DivU)
}

// curve pushes the mark of the input at hand, as curve.at computes it.
func (e *emitter) curve(c *curve) {
	for i, k := range c.knots {
		e.ops(localGet, value)
		e.const64(k.x)
		e.ops(i64LeS, ifThen, typeI64)
		if !c.smooth || i == 0 {
			e.const64(k.y)
		} else {
			e.between(c.knots[i-1], k)
		}
		e.ops(ifElse)
	}
	e.const64(c.tail)
	for range c.knots {
		e.ops(end)
	}
}

// between pushes what between computes. Where the line rises by whole thousandths
// nothing is to be rounded, and a division, the dearest instruction, is saved.
func (e *emitter) between(a, b knot) {
	if rise := b.y - a.y; rise%(b.x-a.x) == 0 {
		e.ops(localGet, value)
		if a.x != 0 {
			e.const64(a.x)
			e.ops(i64Sub)
		}
		if slope := rise / (b.x - a.x); slope != 1 {
			e.const64(slope)
			e.ops(i64Mul)
		}
		if a.y != 0 {
			e.const64(a.y)
			e.ops(i64Add)
		}
		return
	}
	e.const64(b.x)
	e.ops(localGet, value, i64Sub)
	e.const64(2 * a.y)
	e.ops(i64Mul, localGet, value)
	e.const64(a.x)
	e.ops(i64Sub)
	e.const64(2 * b.y)
	e.ops(i64Mul, i64Add)
	e.const64(b.x - a.x)
	e.ops(i64Add)
	e.const64(2 * (b.x - a.x))
	e.ops(i64DivU)
}

// total stores the score, the number of signals and the flags.
func (e *emitter) total(signals, result int) {
	e.const32(0)
	e.ops(localGet, measured, i64Eqz, ifThen, typeI32)
	e.const32(int64(abi.NoScore))
	e.ops(ifElse)
	e.halfUp(reached, measured, 2*100)
	e.ops(i32Wrap, end)
	e.memory(i32Store, align4, result)

	e.const32(0)
	e.const32(int64(signals))
	e.memory(i32Store, align4, result+8)
	e.const32(0)
	e.const32(0)
	e.memory(i32Store, align4, result+12)
}

// condition pushes 1 if the condition holds, else 0. Nothing in it can trap, so
// all of it is computed and joined bit by bit.
func (e *emitter) condition(c *condition) {
	if c.op == opAll || c.op == opAny {
		join := byte(i32And)
		if c.op == opAny {
			join = i32Or
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
	e.memory(i32Load8, align1, inputAddress+e.inputs*8+c.input)
	e.const32(int64(abi.StateMeasured))
	e.ops(i32Eq)
	e.load(c.input)
	e.const64(c.value)
	e.ops(map[operator]byte{opLess: i64LtS, opEqual: i64Eq, opGreater: i64GtS}[c.op], i32And)
}
