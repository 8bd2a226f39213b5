package wasm

import "github.com/fieldmark/fieldmark"

// FaultKind is a way in which a call of a module can go wrong.
type FaultKind string

// The kinds of faults. None does harm beyond its own call.
const (
	FaultFuel     FaultKind = "fuel"     // it ran longer than its budget
	FaultDepth    FaultKind = "depth"    // its calls nested too deeply
	FaultTrap     FaultKind = "trap"     // it did what WebAssembly stops: a wild address, a division by zero
	FaultOutput   FaultKind = "output"   // its result does not hold
	FaultGrowth   FaultKind = "growth"   // its memory grew
	FaultDeclined FaultKind = "declined" // it said that it cannot score
	FaultInput    FaultKind = "input"    // it reads a fact in another unit than that is measured in
)

// Fault is the error of a call that a module, and not its caller, got wrong.
type Fault struct {
	Digest fieldmark.Digest // of the module
	Kind   FaultKind
	Err    error
}

// Error says which module did what.
func (f *Fault) Error() string {
	if f.Digest == "" {
		return f.Err.Error()
	}
	return "module " + string(f.Digest) + ": " + f.Err.Error()
}

// Unwrap returns what exactly went wrong.
func (f *Fault) Unwrap() error { return f.Err }
