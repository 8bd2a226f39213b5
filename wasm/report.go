package wasm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// Report is the result of inspecting or checking a module. A module without
// problems may be activated.
type Report struct {
	Digest       fieldmark.Digest `json:"digest"`
	Class        string           `json:"class"` // standard, or wasi-null: only for edges that opted in
	Bytes        int              `json:"bytes"`
	Manifest     *abi.Manifest    `json:"manifest,omitempty"` // absent if it cannot be read
	Vectors      int              `json:"vectors"`
	Imports      []string         `json:"imports"`
	Exports      []string         `json:"exports"`
	Limits       []LimitUse       `json:"limits"`
	Measurements *Measurements    `json:"trial,omitempty"` // only from Check, if the module could be loaded

	Problems []string `json:"complaints"` // every reason against activating it
}

// LimitUse is how much of a limit a module uses.
type LimitUse struct {
	Name string `json:"name"`
	Used int    `json:"used"`
	Max  int    `json:"max"`
}

// Measurements are what Check observed while running a module.
type Measurements struct {
	Calls       int     `json:"calls"`       // with the compiling engine
	Compared    int     `json:"compared"`    // also run on the interpreter, with equal result and fuel
	Directions  int     `json:"directions"`  // steps in a declared direction
	Fuel        int64   `json:"fuel"`        // maximum of the golden vectors
	WorstFuel   int64   `json:"worstFuel"`   // of the most expensive input found
	WorstShare  float64 `json:"worstShare"`  // percent of the budget
	WorstValues []int64 `json:"worstValues"` // that input
	WorstStates string  `json:"worstStates"` // encoded as in a golden vector
}

// Inspect validates a module without running it.
func Inspect(_ context.Context, module []byte) Report {
	r, _, _ := inspect(module)
	return r
}

// SignalFacts returns the ids of the facts that a signal of a module depends on; none if the
// module has no such signal.
func SignalFacts(module []byte, signal string) ([]string, error) {
	parsed, _, err := parseModule(module)
	if err != nil {
		return nil, err
	}
	for _, c := range parsed.Manifest.Components {
		for i := range c.Signals {
			if c.Signals[i].ID == signal {
				return c.Signals[i].Inputs, nil
			}
		}
	}
	return nil, nil
}

// inspect validates a module and returns what it parsed, for Check.
// It goes on after a problem where it can: an author who gets all of them needs one upload less.
func inspect(module []byte) (Report, *abi.Module, *program) {
	r := Report{
		Digest: fieldmark.DigestOf(sha256.Sum256(module)), Bytes: len(module),
		Imports: []string{}, Exports: []string{}, Limits: []LimitUse{}, Problems: []string{},
	}
	parsed, p, err := parseModule(module)
	r.addError(err)
	class := abi.ClassStandard
	if parsed != nil {
		class = parsed.Class
	}
	r.Class = class.String()
	r.addLimit("bytes", len(module), class.MaxBytes())
	if p != nil {
		r.addLimits(&p.used, p.limits())
	}
	if parsed != nil {
		r.Manifest, r.Vectors = parsed.Manifest, len(parsed.Vectors)
		r.Imports, r.Exports = append(r.Imports, parsed.Imports...), append(r.Exports, parsed.Exports...)
		r.addLimit("memory pages", parsed.Pages, class.MaxPages())
	}
	return r, parsed, p
}

// addError adds every problem of an error.
func (r *Report) addError(err error) {
	if list, ok := errors.AsType[abi.Problems](err); ok {
		r.Problems = append(r.Problems, list...)
	} else if err != nil {
		r.Problems = append(r.Problems, err.Error())
	}
}

func (r *Report) addf(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

func (r *Report) addLimit(name string, used, limit int) {
	r.Limits = append(r.Limits, LimitUse{name, used, limit})
}

func (r *Report) addLimits(u *usage, class classLimits) {
	r.addLimit("types", u.types, maxTypes)
	r.addLimit("functions", u.functions, maxFunctions)
	r.addLimit("globals", u.globals, maxGlobals)
	r.addLimit("table entries", u.table, maxTable)
	r.addLimit("bytes of a function", u.body, class.body)
	r.addLimit("locals of a function", u.locals, maxLocals)
	r.addLimit("targets of a br_table", u.branchTable, maxBranchTable)
	r.addLimit("blocks of a function", u.blocks, maxBlocks)
	r.addLimit("loops of a function", u.loops, maxLoops)
	r.addLimit("blocks", u.allBlocks, class.blocks)
}
