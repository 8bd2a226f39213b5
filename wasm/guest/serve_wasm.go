package guest

import "unsafe"

// The memory that the host writes and reads. It is static, so that nothing is
// allocated.
var (
	input  [MaxInputs + MaxInputs/8]uint64 // values, then states
	output [4 + 2*MaxSignals]int32         // score, gates, signals, flags, then marks with a reserved word each
	marks  [MaxSignals]int32
	in     Inputs
	serve  func(in *Inputs, out *Result)
)

// Serve registers the scoring function and the number of inputs and signals of the
// manifest. Call it from an init function.
func Serve(inputs, signals int, score func(in *Inputs, out *Result)) {
	in.Values = unsafe.Slice((*int64)(unsafe.Pointer(&input)), inputs)
	in.States = unsafe.Slice((*byte)(unsafe.Pointer(&input[inputs])), inputs)
	output[2] = int32(signals)
	serve = score
}

//go:wasmexport scorer_v1_input
func scorerInput() int32 { return int32(uintptr(unsafe.Pointer(&input))) }

//go:wasmexport scorer_v1_score
func scorerScore() int32 {
	r := Result{Marks: marks[:output[2]]}
	serve(&in, &r)
	output[0], output[1] = r.Score, int32(r.Gates)
	for i, m := range r.Marks {
		output[4+2*i] = m
	}
	return int32(uintptr(unsafe.Pointer(&output)))
}
