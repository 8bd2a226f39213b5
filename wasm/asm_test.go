package wasm_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/wasmtest"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// A fixture is text: one instruction or directive per line, as the comments of the
// functions below describe. It is assembled into a module that returns "no score" for
// every input and runs the code of the fixture only for the input trigger, so that
// golden vectors never run it.

// assembly collects the parts of a module.
type assembly struct {
	t       testing.TB
	want    string
	funcs   []function // 0 is input, 1 is score, then those of the fixture
	at      *function
	init    *function
	globals [][]byte
	table   []byte
	elems   []byte
	memory  [2]int
	raw     map[byte][]byte
	header  []byte
}

type function struct {
	locals int // of type i64
	code   []byte
}

var mnemonics = map[string]byte{
	"unreachable": 0, "nop": 1, "block": 2, "loop": 3, "if": 4, "else": 5, "end": 0x0b, "br": 0x0c, "br_if": 0x0d,
	"return": 0x0f,
	"call":   0x10, "drop": 0x1a, "select": 0x1b, "local.get": 0x20, "local.set": 0x21, "local.tee": 0x22,
	"global.get": 0x23, "global.set": 0x24,
	"i32.load": 0x28, "i64.load": 0x29, "i32.load8_u": 0x2d, "i32.store": 0x36, "i64.store": 0x37, "i32.store8": 0x3a,
	"memory.size": 0x3f, "memory.grow": 0x40, "i32.const": 0x41, "i64.const": 0x42, "f64.const": 0x44,
	"i32.eqz": 0x45, "i32.eq": 0x46, "i32.ne": 0x47, "i32.lt_s": 0x48, "i64.eqz": 0x50, "i64.ne": 0x52,
	"i64.lt_s": 0x53,
	"i32.add":  0x6a, "i32.sub": 0x6b, "i32.mul": 0x6c, "i32.div_s": 0x6d, "i32.and": 0x71, "i32.or": 0x72,
	"i32.xor": 0x73, "i32.shr_u": 0x76,
	"i64.add": 0x7c, "i64.sub": 0x7d, "i64.mul": 0x7e, "i64.div_s": 0x7f, "i64.and": 0x83, "i64.xor": 0x85,
	"f64.sqrt": 0x9f, "f64.add": 0xa0, "f64.div": 0xa3, "i32.wrap_i64": 0xa7, "i32.trunc_f64_s": 0xaa,
	"i64.extend_i32_u": 0xad, "f64.convert_i64_s": 0xb9,
}

// assemble returns the module of a fixture and the lines of its "want" directives.
func assemble(t testing.TB, text string) (module []byte, want string) {
	t.Helper()
	a := &assembly{t: t, funcs: make([]function, 2), memory: [2]int{1, 1}, raw: map[byte][]byte{}}
	a.lines(strings.Split(text, "\n"))
	return a.module(), a.want
}

// lines assembles lines; "repeat n" … "done" writes those between n times.
func (a *assembly) lines(lines []string) {
	for i := 0; i < len(lines); i++ {
		line, _, _ := strings.Cut(lines[i], ";;")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if words[0] != "repeat" {
			a.line(words, strings.TrimSpace(line))
			continue
		}
		end, depth := i+1, 1
		for ; depth > 0; end++ {
			switch f := strings.Fields(lines[end]); {
			case len(f) > 0 && f[0] == "repeat":
				depth++
			case len(f) > 0 && f[0] == "done":
				depth--
			}
		}
		for range a.number(words[1]) {
			a.lines(lines[i+1 : end-1])
		}
		i = end - 1
	}
}

func (a *assembly) number(s string) int64 {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		a.t.Fatal(err)
	}
	return n
}

func (a *assembly) line(words []string, line string) {
	switch words[0] {
	case "want":
		a.want = strings.TrimSpace(strings.TrimPrefix(line, "want"))
	case "memory":
		a.memory = [2]int{int(a.number(words[1])), int(a.number(words[2]))}
	case "global":
		a.globals = append(a.globals, append(appendLEB([]byte{0x7e, 1, 0x42}, a.number(words[1])), 0x0b))
	case "table":
		a.table = binary.AppendUvarint([]byte{1, 0x70, 0}, uint64(a.number(words[1])))
	case "elem": // functions, from entry 0 on
		a.elems = append([]byte{1, 0, 0x41, 0, 0x0b}, byte(len(words)-1))
		for _, w := range words[1:] {
			a.elems = append(a.elems, byte(a.number(w)))
		}
	case "section": // number and content as hexadecimal digits
		content, err := hex.DecodeString(strings.Join(words[2:], ""))
		if err != nil {
			a.t.Fatal(err)
		}
		a.raw[byte(a.number(words[1]))] = content
	case "header": // the version and layer of a module
		a.header, _ = hex.DecodeString(strings.Join(words[1:], ""))
	case "input":
		a.at = &a.funcs[0]
	case "score":
		a.at = &a.funcs[1]
	case "init":
		a.init = &function{}
		a.at = a.init
	case "func":
		a.funcs = append(a.funcs, function{})
		a.at = &a.funcs[len(a.funcs)-1]
	case "locals":
		a.at.locals = int(a.number(words[1]))
	default:
		a.instruction(words)
	}
}

func (a *assembly) instruction(words []string) {
	c := a.at.code
	switch name := words[0]; name {
	case "byte":
		for _, w := range words[1:] {
			c = append(c, byte(a.number(w)))
		}
	case "memory.fill":
		c = append(c, 0xfc, 11, 0)
	case "memory.copy":
		c = append(c, 0xfc, 10, 0, 0)
	case "call_indirect": // of type () -> ()
		c = append(c, 0x11, 1, 0)
	case "br_table": // number of targets, all 0
		c = binary.AppendUvarint(append(c, 0x0e), uint64(a.number(words[1])))
		c = append(c, make([]byte, a.number(words[1])+1)...)
	default:
		op, ok := mnemonics[name]
		if !ok {
			a.t.Fatalf("no instruction %q", name)
		}
		c = append(c, op)
		switch {
		case name == "block" || name == "loop" || name == "if":
			c = append(c, 0x40)
		case op >= 0x28 && op <= 0x3e:
			c = append(c, 0, 0)
		case name == "memory.size" || name == "memory.grow":
			c = append(c, 0)
		case name == "f64.const":
			c = append(c, make([]byte, 8)...)
		case name == "i32.const" || name == "i64.const":
			c = appendLEB(c, a.number(words[1]))
		case len(words) > 1:
			c = binary.AppendUvarint(c, uint64(a.number(words[1])))
		}
	}
	a.at.code = c
}

// appendLEB appends a signed LEB128.
func appendLEB(b []byte, v int64) []byte {
	for ; v > 63 || v < -64; v >>= 7 {
		b = append(b, byte(v)&0x7f|0x80)
	}
	return append(b, byte(v)&0x7f)
}

// inputAt and resultAt are the addresses of the inputs and of the result.
const inputAt, resultAt = 16, 1024

func (a *assembly) module() []byte {
	count := func(n int, content []byte) []byte { return append(binary.AppendUvarint(nil, uint64(n)), content...) }
	if len(a.funcs[0].code) == 0 {
		a.funcs[0].code = []byte{0x41, inputAt}
	}
	score := append([]byte{0x41, 0, 0x29, 3, inputAt, 0x42, 0x89, 0x06, 0x51, 0x04, 0x40}, a.funcs[1].code...)
	a.funcs[1].code = appendLEB(append(score, 0x0b, 0x41), resultAt)
	types, exports := []byte{0, 0}, 3
	names := []byte("\x06memory\x02\x00\x0fscorer_v1_input\x00\x00\x0fscorer_v1_score\x00\x01")
	for range a.funcs[2:] {
		types = append(types, 1)
	}
	if a.init != nil {
		a.funcs, types, exports = append(a.funcs, *a.init), append(types, 1), 4
		names = binary.AppendUvarint(append(names, "\x0b_initialize\x00"...), uint64(len(a.funcs)-1))
	}
	var code, globals []byte
	for _, f := range a.funcs {
		b := []byte{0}
		if f.locals > 0 {
			b = append(binary.AppendUvarint([]byte{1}, uint64(f.locals)), 0x7e)
		}
		b = append(append(b, f.code...), 0x0b)
		code = append(binary.AppendUvarint(code, uint64(len(b))), b...)
	}
	for _, g := range a.globals {
		globals = append(globals, g...)
	}
	answer := wasmtest.AppendResult(nil, abi.Result{Score: abi.NoScore, Marks: []int32{abi.MarkUnknown}})
	data := append(append([]byte{0, 0x41}, appendLEB(nil, resultAt)...), 0x0b, byte(len(answer)))
	limits := binary.AppendUvarint([]byte{1, 1}, uint64(a.memory[0]))
	all := []section{
		{1, []byte{2, 0x60, 0, 1, 0x7f, 0x60, 0, 0}}, {2, a.raw[2]}, {3, count(len(types), types)}, {4, a.table},
		{5, binary.AppendUvarint(limits, uint64(a.memory[1]))}, {6, count(len(a.globals), globals)},
		{7, count(exports, names)}, {8, a.raw[8]}, {9, a.elems}, {10, count(len(a.funcs), code)},
		{11, count(1, append(data, answer...))},
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	if a.header != nil {
		copy(out[4:], a.header)
	}
	for _, s := range all {
		if body, ok := a.raw[s.id]; ok {
			s.body = body
		}
		if len(s.body) > 0 {
			out = append(binary.AppendUvarint(append(out, s.id), uint64(len(s.body))), s.body...)
		}
	}
	return stamp(a.t, out, a.memory[1])
}

// section is a part of a module.
type section struct {
	id   byte
	body []byte
}

// stamp appends the manifest and vectors of a module with one input and no score.
func stamp(t testing.TB, module []byte, pages int) []byte {
	t.Helper()
	manifest := abi.Manifest{
		Name: "fixture", Version: "1.0.0", ABI: abi.Name, Methodology: fieldmark.Methodology{ID: "fixture",
			Version: "1.0", URL: "/fixture"},
		Author: "Nobody", Licence: "MIT", Inputs: []abi.Input{{Name: "a", Unit: "count", Direction: abi.None}},
		Components: []abi.Component{{ID: "c", Label: "C", Weight: 100, Signals: []abi.Signal{
			{ID: "c.s", Label: "S", Points: 100, Inputs: []string{"a"}, Unit: "count", Advice: "None."}}}},
		Limits: abi.Limits{Pages: max(1, min(pages, abi.MaxPages))},
	}
	words, err := manifest.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []abi.Vector
	for i := range abi.MinVectors {
		vectors = append(vectors, abi.Vector{Values: []int64{int64(i)}, States: "1", Score: abi.NoScore,
			Marks: []int32{abi.MarkUnknown}})
	}
	golden, err := abi.AppendVectors(nil, vectors)
	if err != nil {
		t.Fatal(err)
	}
	module = abi.AppendCustom(module, abi.SectionManifest, words)
	return abi.AppendCustom(module, abi.SectionVectors, golden)
}

// lines of a fixture made by a test.
type script struct{ strings.Builder }

func (s *script) add(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }
