package abi_test

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark/internal/testkit/wasmtest"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// TestLayout checks the exact bytes exchanged with a module; any change is a new ABI.
func TestLayout(t *testing.T) {
	result := wasmtest.AppendResult(nil, abi.Result{Score: 61234, Gates: 5, Marks: []int32{1000, abi.MarkNotApplicable,
		abi.MarkUnknown}})
	if got, want := hex.EncodeToString(result), "32ef0000"+"05000000"+"03000000"+"00000000"+
		"e803000000000000"+"ffffffff00000000"+"feffffff00000000"; got != want {
		t.Errorf("result\ngot  %s\nwant %s", got, want)
	}
	input := abi.AppendInput(nil, []int64{1500, -1, 7, math.MaxInt64, math.MinInt64}, []byte{1, 1, 0, 1, 1})
	if got, want := hex.EncodeToString(input), "dc05000000000000"+"ffffffffffffffff"+"0000000000000000"+
		"0010a5d4e8000000"+"00f05a2b17ffffff"+"0101000101"; got != want {
		t.Errorf("input\ngot  %s\nwant %s", got, want)
	}
	if got := abi.InputSize(5); got != len(input) {
		t.Errorf("InputSize(5) = %d, written are %d bytes", got, len(input))
	}
	if got := abi.ResultSize(3); got != len(result) {
		t.Errorf("ResultSize(3) = %d, written are %d bytes", got, len(result))
	}
}

func TestDecodeResult(t *testing.T) {
	want := abi.Result{Score: 50000, Gates: 1, Marks: []int32{500, abi.MarkUnknown}}
	memory := wasmtest.AppendResult(make([]byte, 100), want)
	var got abi.Result
	if err := abi.DecodeResult(&got, memory, 100, 2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	change := func(at int, b byte) []byte {
		c := append([]byte(nil), memory...)
		c[at] = b
		return c
	}
	for _, tt := range []struct {
		name   string
		memory []byte
		addr   uint32
		n      int
	}{
		{"past the end", memory, 101, 2},
		{"far past the end", memory, math.MaxUint32, 2},
		{"other number of signals", memory, 100, 1},
		{"flags", change(100+12, 1), 100, 2},
		{"reserved word", change(100+16+4, 1), 100, 2},
		{"no memory", nil, 0, 2},
	} {
		if err := abi.DecodeResult(&got, tt.memory, tt.addr, tt.n); err == nil {
			t.Errorf("%s: accepted as %v", tt.name, got)
		}
	}
}

func TestTotal(t *testing.T) {
	for _, tt := range []struct {
		points []int64
		marks  []int32
		want   int32
	}{
		{[]int64{60, 40}, []int32{1000, 1000}, 100_000},
		{[]int64{60, 40}, []int32{0, 0}, 0},
		{[]int64{60, 40}, []int32{500, 1000}, 70_000},
		{[]int64{60, 40}, []int32{500, abi.MarkUnknown}, 50_000},
		{[]int64{60, 40}, []int32{abi.MarkNotApplicable, abi.MarkUnknown}, abi.NoScore},
		{[]int64{1, 2, 97}, []int32{1, 0, abi.MarkUnknown}, 33},   // 33.3 thousandths
		{[]int64{1, 2, 97}, []int32{0, 1, abi.MarkUnknown}, 67},   // 66.7
		{[]int64{3, 5, 92}, []int32{1, 0, abi.MarkUnknown}, 38},   // 37.5, rounded half up
		{[]int64{3, 5, 92}, []int32{999, 1000, -1}, 99_963},       // 99962.5
		{[]int64{14, 11, 75}, []int32{333, 667, 421}, 43_574},     // 43574.0
		{[]int64{100}, []int32{1}, 100},                           // one thousandth
		{[]int64{1, 99}, []int32{1000, abi.MarkUnknown}, 100_000}, // only the measured part counts
	} {
		if got := abi.Total(tt.points, tt.marks); got != tt.want {
			t.Errorf("Total(%v, %v) = %d, want %d", tt.points, tt.marks, got, tt.want)
		}
	}
}

func TestResultCheck(t *testing.T) {
	points := []int64{60, 40}
	good := abi.Result{Score: 70_000, Gates: 3, Marks: []int32{500, 1000}}
	if err := good.Check(points, 2); err != nil {
		t.Errorf("%v: %v", good, err)
	}
	for name, r := range map[string]abi.Result{
		"lies upwards":       {Score: 70_001, Marks: []int32{500, 1000}},
		"lies downwards":     {Score: 69_999, Marks: []int32{500, 1000}},
		"score of nothing":   {Score: 0, Marks: []int32{-1, -2}},
		"no score of much":   {Score: abi.NoScore, Marks: []int32{500, 1000}},
		"mark above full":    {Score: 70_000, Marks: []int32{1001, 1000}},
		"mark below unknown": {Score: 100_000, Marks: []int32{-3, 1000}},
		"gate without name":  {Score: 70_000, Gates: 4, Marks: []int32{500, 1000}},
		"a signal less":      {Score: 50_000, Marks: []int32{500}},
	} {
		if err := r.Check(points, 2); err == nil {
			t.Errorf("%s: %v was accepted", name, r)
		}
	}
	full := abi.Result{Score: 70_000, Gates: math.MaxUint32, Marks: []int32{500, 1000}}
	if err := full.Check(points, abi.MaxGates); err != nil {
		t.Errorf("all 32 gates: %v", err)
	}
}

func TestHotPathAllocatesNothing(t *testing.T) {
	points, values, states := []int64{60, 40}, []int64{1, 2}, []byte{1, 1}
	buf, memory := make([]byte, 0, 64), wasmtest.AppendResult(nil, abi.Result{Score: 70_000, Marks: []int32{500, 1000}})
	r := abi.Result{Marks: make([]int32, 0, 2)}
	if n := testing.AllocsPerRun(100, func() {
		buf = abi.AppendInput(buf[:0], values, states)
		if err := abi.DecodeResult(&r, memory, 0, 2); err != nil {
			t.Error(err)
		}
		if err := r.Check(points, 0); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func FuzzDecodeResult(f *testing.F) {
	f.Add(wasmtest.AppendResult(nil, abi.Result{Score: 70_000, Marks: []int32{500, 1000}}), uint32(0), uint8(2))
	f.Fuzz(func(t *testing.T, memory []byte, addr uint32, signals uint8) {
		points := make([]int64, signals)
		for i := range points {
			points[i] = 1 + int64(i)%50
		}
		var r abi.Result
		if abi.DecodeResult(&r, memory, addr, int(signals)) != nil || r.Check(points, 5) != nil {
			return
		}
		if r.Score < abi.NoScore || r.Score > 100_000 {
			t.Errorf("accepted a score of %d", r.Score)
		}
	})
}
