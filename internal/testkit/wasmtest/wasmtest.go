package wasmtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
)

const text = `{"name": "words", "version": "%s", "methodology": {"id": "words", "version": "1.0", "url": "/words"},
	"author": "Somebody", "licence": "MIT", "inputs": [{"name": "text.words", "unit": "%s", "direction": "up"}],
	"components": [{"id": "all", "label": "All", "weight": 100, "signals": [{"id": "all.words", "label": "Words", ` +
	`"points": 100,
		"advice": "Write more.", "combine": "mean", "parts": [{"input": "text.words", "curve": {"linear": [[0, 0], ` +
	`[%d, 1]]}}]}]}],
	"gates": []}`

// Words returns a module that scores a site by its number of words alone; enough words
// earn the full score. In the unit "words" it fits what an audit measures.
func Words(t testing.TB, version, unit string, enough int) []byte {
	t.Helper()
	c, err := card.Parse(fmt.Appendf(nil, text, version, unit, enough))
	if err != nil {
		t.Fatal(err)
	}
	module, err := c.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// BadWords is the number of words at which Bad traps. No golden vector contains it and
// no check finds it, so only a site with that number triggers the trap.
const BadWords = 777

// Bad returns the module of Words with 1,000 as enough, and a trap before its scoring.
func Bad(t testing.TB, version string) []byte {
	t.Helper()
	return whenBad(t, version, 0x00) // unreachable
}

// Endless returns the module of Words that never ends for a site with BadWords words.
func Endless(t testing.TB, version string) []byte {
	t.Helper()
	return whenBad(t, version, 0x03, 0x40, 0x0c, 0, 0x0b) // a loop that branches to its start
}

// Nonsense returns the module of Words whose result for a site with BadWords words lies
// outside of its memory.
func Nonsense(t testing.TB, version string) []byte {
	t.Helper()
	return whenBad(t, version, 0x41, 0x70, 0x0f) // return -16
}

// Partial returns the module of Words that scores a site with BadWords words like an
// empty one, so that one word more or less earns more.
func Partial(t testing.TB, version string) []byte {
	t.Helper()
	return whenBad(t, version, 0x41, 0, 0x42, 0, 0x37, 3, 16) // the input becomes 0
}

// whenBad returns the module of Words with code that runs before its scoring if the first
// input is BadWords.
func whenBad(t testing.TB, version string, code ...byte) []byte {
	t.Helper()
	prologue := []byte{0x41, 0, 0x29, 3, 16} // the first input
	prologue = appendConst(prologue, BadWords*1000)
	prologue = append(prologue, 0x51, 0x04, 0x40) // if equal
	return withPrologue(t, version, append(append(prologue, code...), 0x0b))
}

// appendConst appends i64.const v, for v of 0 or more.
func appendConst(b []byte, v int64) []byte {
	for b = append(b, 0x42); v >= 64; v >>= 7 {
		b = append(b, byte(v&0x7f)|0x80)
	}
	return append(b, byte(v))
}

// withPrologue inserts code before the scoring function of the module of Words with
// 1,000 as enough.
func withPrologue(t testing.TB, version string, prologue []byte) []byte {
	t.Helper()
	module := Words(t, version, "words", 1000)
	locals := []byte{2, 5, 0x7e, 3, 0x7f} // of the scoring function
	out, rest := slices.Clone(module[:8]), module[8:]
	for len(rest) > 0 {
		// A section: its id, its length as LEB128, its bytes.
		id := rest[0]
		n, width := binary.Uvarint(rest[1:])
		body := rest[1+width : 1+width+int(n)]
		rest = rest[1+width+int(n):]
		// The code section. The scoring function is found by its locals, which no other function has.
		if id == 10 {
			head, tail, ok := bytes.Cut(body, locals)
			if !ok {
				t.Fatal("no scoring function found")
			}
			size, _ := binary.Uvarint(head[6:])
			own := int(size) - len(locals)
			score := slices.Concat(locals, prologue, tail[:own])
			body = slices.Concat(binary.AppendUvarint(slices.Clone(head[:6]), uint64(len(score))), score, tail[own:])
		}
		out = append(binary.AppendUvarint(append(out, id), uint64(len(body))), body...)
	}
	return out
}

// AppendResult appends a result as a module writes it to its memory.
func AppendResult(dst []byte, r abi.Result) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, uint32(r.Score))
	dst = le.AppendUint32(dst, r.Gates)
	dst = le.AppendUint32(dst, uint32(len(r.Marks)))
	dst = le.AppendUint32(dst, 0)
	for _, m := range r.Marks {
		dst = le.AppendUint32(dst, uint32(m))
		dst = le.AppendUint32(dst, 0)
	}
	return dst
}
