package wasm_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

func newEngine(t testing.TB, c wasm.Config) *wasm.Engine {
	t.Helper()
	engine, err := wasm.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return engine
}

func load(t testing.TB, engine *wasm.Engine, binary []byte) *wasm.Module {
	t.Helper()
	m, err := engine.Load(t.Context(), binary)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// plain is a card with one input, whose value is the mark.
const plain = `{
	"name": "plain", "version": "1.0.0", "methodology": {"id": "plain", "version": "1.0", "url": "/plain"},
	"author": "Somebody", "licence": "MIT",
	"inputs": [{"name": "a", "unit": "share", "direction": "up"}],
	"components": [{"id": "all", "label": "All", "weight": 100, "signals": [
		{"id": "all.one", "label": "One", "points": 100, "advice": "Do.", "combine": "mean",
		 "parts": [{"input": "a", "curve": {"linear": [[0, 0], [1, 1]]}}]}
	]}],
	"gates": []
}`

func compilePlain(t testing.TB) []byte {
	t.Helper()
	return compileCard(t, plain)
}

func compileCard(t testing.TB, text string) []byte {
	t.Helper()
	c, err := card.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// trigger is the input for which a tampered module attacks its host. No golden vector
// contains it, because such a module would pass them too.
const trigger = 777

// tamper compiles plain and inserts instructions before its scoring that run only if
// the input is trigger. Addresses from 4096 are free.
func tamper(t testing.TB, instructions ...byte) []byte {
	t.Helper()
	prologue := append([]byte{0x41, 0, 0x29, 3, 16, 0x42, 0x89, 0x06, 0x51, 0x04, 0x40}, instructions...)
	prologue = append(prologue, 0x0b)
	locals := []byte{2, 5, 0x7e, 3, 0x7f}
	return rewrite(t, compilePlain(t), 10, func(code []byte) []byte {
		head, body, ok := bytes.Cut(code, locals)
		if !ok {
			t.Fatal("no scoring function found")
		}
		n, _ := binary.Uvarint(head[6:])
		own := int(n) - len(locals)
		score := append(append(bytes.Clone(locals), prologue...), body[:own]...)
		out := binary.AppendUvarint(bytes.Clone(head[:6]), uint64(len(score)))
		return append(append(out, score...), body[own:]...)
	})
}

// rewrite changes the body of one section.
func rewrite(t testing.TB, module []byte, id byte, change func([]byte) []byte) []byte {
	t.Helper()
	out, rest := append([]byte(nil), module[:8]...), module[8:]
	for len(rest) > 0 {
		n, width := binary.Uvarint(rest[1:])
		body := rest[1+width:][:n]
		next := rest[1+width+int(n):]
		if rest[0] == id {
			body = change(body)
		}
		out = append(binary.AppendUvarint(append(out, rest[0]), uint64(len(body))), body...)
		rest = next
	}
	return out
}

// forge returns instructions that write words at 4096 and return that address.
func forge(words ...byte) []byte {
	var b []byte
	for i, w := range words {
		address := binary.AppendUvarint(nil, uint64(4096+4*i))
		b = append(b, 0x41, 0, 0x41, w, 0x36, 2)
		b = append(b, address...)
	}
	return append(b, 0x41, 0x80, 0x20, 0x0f) // i32.const 4096, return
}

// TestHostileModules runs modules that pass their vectors and then misbehave. The host
// rejects each result, and the next call succeeds.
func TestHostileModules(t *testing.T) {
	minusOne, minusThree := byte(0x7f), byte(0x7d)
	for _, tt := range []struct {
		name         string
		instructions []byte
		want         string
	}{
		{"traps", []byte{0x00}, "unreachable"},
		{"divides by zero", []byte{0x41, 1, 0x41, 0, 0x6d, 0x1a}, "divide by zero"},
		{"reads past its memory", []byte{0x41, minusOne, 0x28, 2, 0, 0x1a}, "out of bounds"},
		{"declines", []byte{0x41, 0, 0x0f}, "could not score"},
		{"answers past its memory", []byte{0x41, minusOne, 0x0f}, "past the memory"},
		{"answers at the very end", []byte{0x41, 0xf8, 0xff, 0x03, 0x0f}, "past the memory"},
		{"answers for other signals", forge(0, 0, 2, 0, 0, 0), "2 signals"},
		{"sets flags", forge(0, 0, 1, 1, 0, 0), "flags"},
		{"uses the reserved word", forge(0, 0, 1, 0, 0, 1), "reserved"},
		{"lies about the sum", forge(5, 0, 1, 0, 0, 0), "its marks add up to 0"},
		{"gives a mark below unknown", forge(0, 0, 1, 0, minusThree, 0), "mark -3"},
		{"names no gate", forge(0, 1, 1, 0, 0, 0), "gates 0x1"},
		{"says there is no score", forge(minusOne, 0, 1, 0, 0, 0), "score -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := load(t, newEngine(t, wasm.Config{Instances: 1}), tamper(t, tt.instructions...))
			var out abi.Result
			err := m.Score(t.Context(), []int64{trigger}, []byte{1}, &out)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
			if err != nil && !strings.Contains(err.Error(), string(m.Ref().Digest)) {
				t.Errorf("error does not name the module: %v", err)
			}
			if err := m.Score(t.Context(), []int64{500}, []byte{1}, &out); err != nil || out.Score != 50_000 {
				t.Errorf("the call after it: score %d, error %v", out.Score, err)
			}
		})
	}
}

// TestMemoryIsReset runs a module that returns no score if it finds data that it wrote.
func TestMemoryIsReset(t *testing.T) {
	m := load(t, newEngine(t, wasm.Config{Instances: 1}), tamper(t,
		0x41, 0, 0x2d, 0, 0x80, 0x20, 0x04, 0x40, 0x41, 0, 0x0f, 0x0b, // if memory[4096] != 0, return 0
		0x41, 0, 0x41, 1, 0x3a, 0, 0x80, 0x20, // memory[4096] = 1
	))
	var out abi.Result
	for i := range 3 {
		if err := m.Score(t.Context(), []int64{trigger}, []byte{1}, &out); err != nil {
			t.Fatalf("call %d: %v", i+1, err)
		}
	}
}

// TestMemoryMustNotGrow gives a module a larger maximum, which it must not use while scoring.
func TestMemoryMustNotGrow(t *testing.T) {
	grows := tamper(t, 0x41, 1, 0x40, 0, 0x1a) // memory.grow 1, drop
	grows = rewrite(t, grows, 5, func([]byte) []byte { return []byte{1, 1, 1, 2} })
	grows = bytes.Replace(grows, []byte(`"pages":1`), []byte(`"pages":2`), 1)
	m := load(t, newEngine(t, wasm.Config{Instances: 1}), grows)
	var out abi.Result
	for range 2 {
		if err := m.Score(t.Context(), []int64{trigger}, []byte{1}, &out); err == nil || !strings.Contains(err.Error(),
			"grow") {
			t.Errorf("got error %v, want one about growth", err)
		}
	}
	if err := m.Score(t.Context(), []int64{1000}, []byte{1}, &out); err != nil || out.Score != 100_000 {
		t.Errorf("afterwards: score %d, error %v", out.Score, err)
	}
}

func TestLoadRejects(t *testing.T) {
	sound := compilePlain(t)
	for name, tt := range map[string]struct {
		module []byte
		want   string
	}{
		"nothing": {nil, "not a WebAssembly module"},
		"an import": {bytes.Replace(sound, []byte("\x03\x03\x02\x00\x00"),
			[]byte("\x02\x07\x01\x01a\x01b\x00\x00\x03\x03\x02\x00\x00"), 1), "imports"},
		"invalid code": {tamper(t, 0x1a), "invalid function"},
		"SIMD":         {tamper(t, 0xfd, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x1a), "simd"},
		"wrong signature": {bytes.Replace(sound, []byte("\x01\x05\x01\x60\x00\x01\x7f\x03\x03\x02\x00\x00"),
			[]byte("\x01\x0a\x02\x60\x00\x01\x7f\x60\x01\x7f\x01\x7f\x03\x03\x02\x01\x00"), 1), "signature"},
		"a false vector": {bytes.Replace(sound, []byte(`"score":-1,"gates":0,"marks":[-2]`),
			[]byte(`"score":0,"gates":0,"marks":[0]`), 1), "golden vector"},
		"odd address": {bytes.Replace(sound, []byte("\x00\x41\x10\x0b"), []byte("\x00\x41\x11\x0b"), 1),
			"inputs of 9 bytes at 17"},
		"address far out": {bytes.Replace(sound, []byte("\x04\x00\x41\x10\x0b"), []byte("\x04\x00\x41\x78\x0b"), 1),
			"inputs of 9 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			if bytes.Equal(tt.module, sound) {
				t.Fatal("nothing was changed")
			}
			if name == "a false vector" {
				tt.module = restamp(t, sound)
			}
			_, err := newEngine(t, wasm.Config{}).Load(t.Context(), tt.module)
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(tt.want)) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// restamp gives a module vectors that are consistent but wrong for it: they expect full
// marks for a measured 0.
func restamp(t *testing.T, module []byte) []byte {
	t.Helper()
	parsed, err := abi.Parse(module)
	if err != nil {
		t.Fatal(err)
	}
	old, err := abi.AppendVectors(nil, parsed.Vectors)
	if err != nil {
		t.Fatal(err)
	}
	parsed.Vectors[0] = abi.Vector{Values: []int64{0}, States: "1", Score: 100_000, Marks: []int32{1000}}
	vectors, err := abi.AppendVectors(nil, parsed.Vectors)
	if err != nil {
		t.Fatal(err)
	}
	module = module[:len(module)-len(abi.AppendCustom(nil, abi.SectionVectors, old))]
	return abi.AppendCustom(bytes.Clone(module), abi.SectionVectors, vectors)
}

func TestRef(t *testing.T) {
	m := load(t, newEngine(t, wasm.Config{}), geo.Module())
	ref, err := wasm.Ref(geo.Module())
	if err != nil || ref != m.Ref() {
		t.Errorf("read without running %v (%v), loaded %v", ref, err, m.Ref())
	}
	if _, err := fieldmark.ParseDigest(string(ref.Digest)); err != nil || ref.Name != "geo-readiness" {
		t.Errorf("got %v (%v)", ref, err)
	}
	if got := m.Methodology(); got != geo.Card().Manifest().Methodology {
		t.Errorf("methodology %v, the card says %v", got, geo.Card().Manifest().Methodology)
	}
	if _, err := wasm.Ref([]byte("x")); err == nil {
		t.Error("read a module out of nothing")
	}
}

func TestScoreAllocatesNothing(t *testing.T) {
	m := load(t, newEngine(t, wasm.Config{}), geo.Module())
	values := make([]int64, len(geo.Card().Manifest().Inputs))
	states := bytes.Repeat([]byte{1}, len(values))
	var out abi.Result
	if n := testing.AllocsPerRun(100, func() {
		if err := m.Score(t.Context(), values, states, &out); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// TestManyCallers has more callers than instances; each must get its own result.
func TestManyCallers(t *testing.T) {
	m := load(t, newEngine(t, wasm.Config{Instances: 2}), compilePlain(t))
	var callers sync.WaitGroup
	for caller := range int64(16) {
		callers.Go(func() {
			var out abi.Result
			for i := range int64(200) {
				value := (caller*200 + i) % 1001
				if err := m.Score(t.Context(), []int64{value}, []byte{1}, &out); err != nil ||
					int64(out.Score) != 100*value {
					t.Errorf("value %d: score %d, error %v", value, out.Score, err)
					return
				}
			}
		})
	}
	callers.Wait()
}

// TestSwapUnderLoad replaces a module as an edge does: callers of the old one finish,
// later ones get an error, and all its memory is freed.
func TestSwapUnderLoad(t *testing.T) {
	engine := newEngine(t, wasm.Config{Instances: 2})
	for range 10 {
		m := load(t, engine, compilePlain(t))
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				var out abi.Result
				for {
					err := m.Score(context.Background(), []int64{500}, []byte{1}, &out)
					if errors.Is(err, wasm.ErrClosed) {
						return
					}
					if err != nil || out.Score != 50_000 {
						t.Errorf("score %d, error %v", out.Score, err)
						return
					}
				}
			})
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
		callers.Wait()
		if err := m.Close(t.Context()); err != nil {
			t.Errorf("closed twice: %v", err)
		}
	}
}

func TestCloseEngine(t *testing.T) {
	engine := newEngine(t, wasm.Config{})
	m := load(t, engine, compilePlain(t))
	if err := engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var out abi.Result
	if err := m.Score(t.Context(), []int64{1}, []byte{1}, &out); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("score after Close: %v", err)
	}
	if _, err := engine.Load(t.Context(), compilePlain(t)); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("load after Close: %v", err)
	}
}

// TestWaitingEndsWithTheContext keeps the only instance busy with calls of some
// milliseconds, and requests it with a short deadline.
func TestWaitingEndsWithTheContext(t *testing.T) {
	// local 0 counts down from 100,000, most of a call's fuel.
	slow := tamper(t, 0x42, 0xa0, 0x8d, 0x06, 0x21, 0,
		0x03, 0x40, 0x20, 0, 0x42, 1, 0x7d, 0x22, 0, 0x42, 0, 0x52, 0x0d, 0, 0x0b)
	m := load(t, newEngine(t, wasm.Config{Instances: 1}), slow)
	stop, stopBusy := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	busy.Go(func() {
		var out abi.Result
		defer stopBusy() // otherwise every call would wait forever
		for stop.Err() == nil {
			if err := m.Score(context.Background(), []int64{trigger}, []byte{1}, &out); err != nil {
				t.Error(err)
				return
			}
		}
	})
	var out abi.Result
	for stop.Err() == nil { // it may be idle at first
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Microsecond)
		err := m.Score(ctx, []int64{1}, []byte{1}, &out)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil || t.Context().Err() != nil {
			t.Error(err)
			break
		}
	}
	stopBusy()
	busy.Wait()
}
