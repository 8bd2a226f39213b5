package wasm

import (
	"time"

	"github.com/fieldmark/fieldmark"
)

// Observer receives the events of modules. Each function may be nil. None may
// block, and all must be safe for concurrent use.
type Observer struct {
	// Loaded: a module was loaded in this time.
	Loaded func(m fieldmark.ModuleRef, took time.Duration)

	// Scored: a call succeeded. Setting it adds two clock readings to each call.
	Scored func(m fieldmark.ModuleRef, fuel int64, took time.Duration)

	// Faulted: a call failed because of the module.
	Faulted func(m fieldmark.ModuleRef, kind FaultKind)

	// Waited: a caller found all instances in use.
	Waited func(m fieldmark.ModuleRef)

	// Instances: the number of instances changed by 1 or -1.
	Instances func(m fieldmark.ModuleRef, change int)
}

func (o *Observer) loaded(m fieldmark.ModuleRef, took time.Duration) {
	if o.Loaded != nil {
		o.Loaded(m, took)
	}
}

// started returns the time if Scored is set.
func (o *Observer) started() (t time.Time) {
	if o.Scored != nil {
		t = time.Now()
	}
	return t
}

func (o *Observer) scored(m fieldmark.ModuleRef, fuel int64, since time.Time) {
	if o.Scored != nil {
		o.Scored(m, fuel, time.Since(since))
	}
}

func (o *Observer) faulted(m fieldmark.ModuleRef, kind FaultKind) {
	if o.Faulted != nil {
		o.Faulted(m, kind)
	}
}

func (o *Observer) waited(m fieldmark.ModuleRef) {
	if o.Waited != nil {
		o.Waited(m)
	}
}

func (o *Observer) instances(m fieldmark.ModuleRef, change int) {
	if o.Instances != nil {
		o.Instances(m, change)
	}
}
