package wasm

import (
	"time"

	"github.com/fieldmark/fieldmark"
)

// Observer is told what modules do. Each function may be nil; none may block,
// and all may be called by many goroutines at once.
type Observer struct {
	// Loaded is told of a module that can be used, and what making it took.
	Loaded func(m fieldmark.ModuleRef, took time.Duration)

	// Scored is told of every call that went well. Setting it costs each call
	// two looks at the clock.
	Scored func(m fieldmark.ModuleRef, fuel int64, took time.Duration)

	// Faulted is told of every call that did not.
	Faulted func(m fieldmark.ModuleRef, kind FaultKind)

	// Waited is told of a caller that found all instances in use.
	Waited func(m fieldmark.ModuleRef)

	// Instances is told when one more exists (1) or one less (-1).
	Instances func(m fieldmark.ModuleRef, change int)
}

func (o *Observer) loaded(m fieldmark.ModuleRef, took time.Duration) {
	if o.Loaded != nil {
		o.Loaded(m, took)
	}
}

// started is the time if anybody wants to know how long something took.
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
