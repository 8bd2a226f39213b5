package playground

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/store"
)

// The limits of runs, which need no key.
const (
	// MaxCard limits a scorecard in bytes, as the compiler does.
	MaxCard = 256 << 10
	// maxInputs limits the inputs of a call, as the ABI does.
	maxInputs = 256
	// perMinute and perDay limit the runs of a network: an author who tries a change every few seconds
	// stays below them. Each takes a processor for a fraction of a second, at most RunTimeout.
	perMinute, burst = 20, 10
	perDay, dayBurst = 500, 100
	// RunTimeout bounds a run; an ordinary one takes a tenth of a second. With maxWait it is below the time
	// of a request.
	RunTimeout = 12 * time.Second
	// One run at a time leaves the other processors to the origin. Others wait for maxWait, and at most
	// maxWaiting of them, because each holds a module in memory.
	maxWait    = 4 * time.Second * timeout.Scale
	maxWaiting = 8
)

// Kind is the operation of a run.
type Kind string

// The kinds of runs.
const (
	KindCardJSON Kind = "card.json" // compiles and checks a card in JSON
	KindCardYAML Kind = "card.yaml" // the same in YAML
	KindModule   Kind = "module"    // checks a module
	KindCall     Kind = "call"      // runs a module once and finds where it fails
)

// Input is what a run is about.
type Input struct {
	Kind   Kind
	Body   []byte  // a card or a module
	Values []int64 // of a call, in thousandths, in the order of the module's inputs
	States string  // of a call, one digit for each value, as in a golden vector
}

// Runner runs an input in a separate process that is limited in time and memory. The mistakes of a card are a
// *fieldmark.Error with CodeValidationFailed whose fields have lines. The result is a Report, or a Call for KindCall.
type Runner func(ctx context.Context, in Input) (json.RawMessage, error)

// Finding is something about a card or a module. Line and Column are of the card, from 1; 0 if it is not about a
// line of one.
type Finding struct {
	Detail string `json:"detail"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Report is the result of a check.
type Report struct {
	Card     string          `json:"card,omitempty"`    // as formatted JSON
	Module   []byte          `json:"module,omitempty"`  // that the card compiles to
	Metered  []byte          `json:"metered,omitempty"` // that counts fuel; only of valid modules without imports
	Check    json.RawMessage `json:"check"`             // as fieldmark module check --json prints it
	Problems []Finding       `json:"problems"`          // every reason against activating the module
	Warnings []Finding       `json:"warnings"`          // of the card
}

// Call is the result of one call, as an edge makes it.
type Call struct {
	Fuel  int64  `json:"fuel"` // that it used, in units
	Fault *Fault `json:"fault,omitempty"`
}

// Fault is why a call failed, and where.
type Fault struct {
	Kind   string  `json:"kind"` // fuel, depth, trap, output, growth or declined
	Detail string  `json:"detail"`
	Stack  []Frame `json:"stack"` // the innermost function first
}

// Frame is a function that was running. Source is a file, line and column, if the module has .debug_line.
type Frame struct {
	Function string `json:"function"`
	Source   string `json:"source,omitempty"`
}

// Service runs cards and modules. Its methods may be called from any goroutine.
type Service struct {
	store   *store.Store
	run     Runner
	running chan struct{} // one run
	waiting chan struct{} // runs, with the one that runs
}

// New returns a Service. Without a runner every call is CodeModuleDisabled.
func New(s *store.Store, run Runner) *Service {
	return &Service{store: s, run: run, running: make(chan struct{}, 1), waiting: make(chan struct{}, 1+maxWaiting)}
}

// Run runs an input of a client. The errors are CodeRateLimited for a client network that runs too much,
// CodeOverloaded if others wait, and those of the Runner.
func (s *Service) Run(ctx context.Context, client netip.Addr, in Input) (json.RawMessage, error) {
	if s.run == nil {
		return nil, fieldmark.Errorf(fieldmark.CodeModuleDisabled, "this server does not check the modules of others")
	}
	if len(in.Values) > maxInputs || len(in.States) != len(in.Values) || strings.Trim(in.States, "012") != "" {
		return nil, fieldmark.Errorf(fieldmark.CodeValidationFailed,
			"values must have at most %d numbers, and states a digit from 0 to 2 for each", maxInputs)
	}
	select {
	case s.waiting <- struct{}{}:
		defer func() { <-s.waiting }()
	default:
		return nil, errBusy()
	}
	if err := s.spend(ctx, client); err != nil {
		return nil, err
	}
	wait := time.NewTimer(maxWait)
	defer wait.Stop()
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-wait.C:
		return nil, errBusy()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.run(ctx, in)
}

func errBusy() error {
	return &fieldmark.Error{Code: fieldmark.CodeOverloaded, RetryAfter: maxWait,
		Detail: "other cards and modules are being checked; try again later"}
}

// spend counts a run of a client's network.
func (s *Service) spend(ctx context.Context, client netip.Addr) error {
	network := fieldmark.NetworkOf(client)
	budgets := []store.Budget{
		{Name: "playground minute " + network.String(), Quota: perMinute, Window: time.Minute, Burst: burst},
		{Name: "playground day " + network.String(), Quota: perDay, Window: 24 * time.Hour, Burst: dayBurst},
	}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Spend(ctx, time.Now(), budgets...)
	})
	if refused, ok := errors.AsType[*store.BudgetError](err); ok {
		return &fieldmark.Error{Code: fieldmark.CodeRateLimited, RetryAfter: refused.RetryAfter,
			Detail: fmt.Sprintf("your network may check %d cards and modules a minute, and %d a day", perMinute,
				perDay)}
	}
	return err
}
