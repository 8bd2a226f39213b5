package wasm

import "github.com/fieldmark/fieldmark"

// FaultKind describes how a call of a module failed.
type FaultKind string

// The kinds of faults. A fault affects only its own call.
const (
	FaultFuel  FaultKind = "fuel"  // it exceeded its fuel budget
	FaultDepth FaultKind = "depth" // its calls were nested too deeply
	// a WebAssembly trap, for example an address out of bounds or a division by zero
	FaultTrap     FaultKind = "trap"
	FaultOutput   FaultKind = "output"   // its result is invalid
	FaultGrowth   FaultKind = "growth"   // its memory grew
	FaultDeclined FaultKind = "declined" // it reported that it cannot score the inputs
	FaultInput    FaultKind = "input"    // it expects a fact in another unit
)

// Fault is an error caused by a module and not by its caller.
type Fault struct {
	Digest fieldmark.Digest // of the module
	Kind   FaultKind
	Err    error
	Stack  []Frame // the innermost first; empty without Config.Trace, and of faults after the call
}

// Error returns the module, what happened, and where.
func (f *Fault) Error() string {
	text := f.Err.Error()
	if f.Digest != "" {
		text = "module " + string(f.Digest) + ": " + text
	}
	for i, frame := range f.Stack {
		text += [...]string{", in ", ", called by "}[min(i, 1)] + frame.String()
	}
	return text
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }
