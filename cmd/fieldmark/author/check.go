package author

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/wasm"
)

// The bounds of a check, which compiles what a stranger made. The built-in
// takes a tenth of a second and 100 MB, code at every limit some seconds.
const (
	trialTime    = time.Minute // by the wall clock, on a busy machine
	trialSeconds = 30          // of processor time
	trialMemory  = 4 << 30     // bytes of address space, of which a Go process reserves much unused
)

// CheckIsolated checks a module in a process of its own, which may be killed by
// what it compiles without harm to this one.
func CheckIsolated(ctx context.Context, module []byte) (report wasm.Report, err error) {
	self, err := os.Executable()
	if err != nil {
		return report, fmt.Errorf("check module aside: %w", err)
	}
	deadline, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	var out bytes.Buffer
	child := exec.CommandContext(deadline, self, "module", "trial")
	child.Args[0] = os.Args[0]
	child.Stdin, child.Stdout = bytes.NewReader(module), &out
	child.Env = append(os.Environ(), "GOTRACEBACK=none", "GOMEMLIMIT=2GiB")
	if err := child.Run(); err != nil {
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		// What it was made to swallow is the module's fault.
		report = wasm.Inspect(ctx, module)
		checkInputs(&report)
		report.Problems = append(report.Problems, fmt.Sprintf("could not be compiled and tried within %s of processor time and %d GiB: %v",
			time.Duration(trialSeconds)*time.Second, trialMemory>>30, err))
		return report, nil
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		return report, fmt.Errorf("check module aside: %w", err)
	}
	return report, nil
}

type moduleTrialCmd struct{}

// Run is the child of CheckIsolated.
func (c *moduleTrialCmd) Run(ctx context.Context, s *command.Streams) error {
	if err := limitProcess(trialSeconds, trialMemory); err != nil {
		return fmt.Errorf("limit this process: %w", err)
	}
	module, err := readModule(s.In)
	if err != nil {
		return err
	}
	report := wasm.Check(ctx, module)
	checkInputs(&report)
	return json.NewEncoder(s.Out).Encode(report)
}
