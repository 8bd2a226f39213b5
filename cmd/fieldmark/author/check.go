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

// The limits of a check, which compiles untrusted code. The built-in module takes a tenth
// of a second and 100 MB, a module at every limit some seconds.
const (
	checkTimeout = time.Minute // wall clock, on a busy machine
	checkCPU     = 30          // seconds of processor time
	checkMemory  = 4 << 30     // bytes of address space, much of which a Go process only reserves
)

// CheckIsolated checks a module in a child process, so that a module that exhausts the
// limits only kills the child.
func CheckIsolated(ctx context.Context, module []byte) (report wasm.Report, err error) {
	out, err := runChild(ctx, checkTimeout, module, []string{"module", "trial"}, "GOMEMLIMIT=2GiB")
	if err != nil {
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		// The child exceeded a limit, or crashed, because of the module.
		report = wasm.Inspect(ctx, module)
		checkInputs(&report)
		report.Problems = append(report.Problems,
			fmt.Sprintf("could not be compiled and run within %s of processor time and %d GiB: %v",
				time.Duration(checkCPU)*time.Second, checkMemory>>30, err))
		return report, nil
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return report, fmt.Errorf("check the module in a child process: %w", err)
	}
	return report, nil
}

// runChild runs a command of this program with some input, and returns what it prints.
func runChild(ctx context.Context, within time.Duration, input []byte, args []string, env ...string) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	deadline, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	child := exec.CommandContext(deadline, self, args...)
	child.Args[0] = os.Args[0]
	child.Stdin = bytes.NewReader(input)
	child.Env = append(append(os.Environ(), "GOTRACEBACK=none"), env...)
	return child.Output()
}

type moduleTrialCmd struct{}

// Run is the child of CheckIsolated.
func (c *moduleTrialCmd) Run(ctx context.Context, s *command.Streams) error {
	if err := limitProcess(checkCPU, checkMemory); err != nil {
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
