package abi

import (
	"encoding/binary"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// Result is the output of a module: a mark for each signal in the order of the
// manifest, the gates that apply, and the total.
type Result struct {
	Score int32  // thousandths, 0 to 100000, gates not applied; or NoScore
	Gates uint32 // bit i is gate i of the manifest
	Marks []int32
}

// The layout of a result: a header of score, gates, number of signals and flags,
// then a mark and a reserved word for each signal.
const (
	ResultHeader = 16
	ResultEntry  = 8
)

// ResultSize returns the size of a result of n signals in bytes.
func ResultSize(n int) int { return ResultHeader + n*ResultEntry }

// InputSize returns the size of n inputs in bytes: their values, then their states.
func InputSize(n int) int { return n*8 + n }

// AppendInput appends inputs as a module reads them. It guarantees what a module
// may rely on: a value is 0 unless measured, and within MaxValue.
func AppendInput(dst []byte, values []int64, states []byte) []byte {
	for i, v := range values {
		if states[i] != StateMeasured {
			v = 0
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(Clamp(v)))
	}
	return append(dst, states...)
}

// Clamp limits a value to MaxValue in both directions.
func Clamp(v int64) int64 { return min(max(v, -MaxValue), MaxValue) }

// Shown returns the score that a page shows, with gates applied, in thousandths.
// NoScore is below every score.
func (m *Manifest) Shown(r *Result) int64 {
	score := int64(r.Score)
	for i, g := range m.Gates {
		if r.Gates>>i&1 == 0 {
			continue
		}
		if g.ID == fieldmark.GateUnreachable {
			return int64(NoScore)
		}
		score = min(score, int64(g.Limit)*1000)
	}
	return score
}

// DecodeResult decodes the result at addr in memory, of the given number of
// signals. It reuses r.Marks and keeps no part of memory. Check validates the
// numbers.
func DecodeResult(r *Result, memory []byte, addr uint32, signals int) error {
	size := uint64(ResultSize(signals))
	if uint64(addr)+size > uint64(len(memory)) {
		return fmt.Errorf("result of %d bytes at %d, past the memory of %d", size, addr, len(memory))
	}
	b := memory[addr : uint64(addr)+size]
	le := binary.LittleEndian
	if n := le.Uint32(b[8:]); n != uint32(signals) {
		return fmt.Errorf("result of %d signals, the manifest has %d", n, signals)
	}
	if flags := le.Uint32(b[12:]); flags != 0 {
		return fmt.Errorf("result with flags %#x, all are reserved", flags)
	}
	r.Score, r.Gates = int32(le.Uint32(b)), le.Uint32(b[4:])
	r.Marks = r.Marks[:0]
	for e := b[ResultHeader:]; len(e) > 0; e = e[ResultEntry:] {
		if reserved := le.Uint32(e[4:]); reserved != 0 {
			return fmt.Errorf("signal %d: reserved word is %#x", len(r.Marks), reserved)
		}
		r.Marks = append(r.Marks, int32(le.Uint32(e)))
	}
	return nil
}

// Total returns the score of marks for signals with the given points: the share of
// the measured points that was reached, in thousandths of 100, rounded half up.
func Total(points []int64, marks []int32) int32 {
	var reached, measured int64
	for i, m := range marks {
		if m >= 0 {
			reached += points[i] * int64(m)
			measured += points[i]
		}
	}
	if measured == 0 {
		return NoScore
	}
	return int32((2*100*reached + measured) / (2 * measured))
}

// Check validates a result against the points of the signals and the number of
// gates of its manifest. It recomputes the total, so that a module cannot report a
// wrong one.
func (r *Result) Check(points []int64, gates int) error {
	if len(r.Marks) != len(points) {
		return fmt.Errorf("result of %d signals, the manifest has %d", len(r.Marks), len(points))
	}
	if r.Gates>>gates != 0 { // a shift by 32 leaves 0
		return fmt.Errorf("gates %#x, the manifest has %d", r.Gates, gates)
	}
	for i, m := range r.Marks {
		if m < MarkUnknown || m > MarkFull {
			return fmt.Errorf("signal %d: mark %d is out of bounds", i, m)
		}
	}
	if want := Total(points, r.Marks); r.Score != want {
		return fmt.Errorf("score %d, its marks add up to %d", r.Score, want)
	}
	return nil
}
