package sampling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/visibility/plan"
	"github.com/fieldmark/fieldmark/origin/visibility/sampler"
)

// Exit statuses of sample besides 0, 1 and 2.
const (
	statusBudget   = 3 // the budget is reached
	statusUnranked = 4 // the study cannot be ranked any more
)

// Commands are the commands of a study on this machine.
type Commands struct {
	Sample     sampleCmd     `cmd:"" help:"Ask answer engines what is due of a plan."`
	Status     statusCmd     `cmd:"" help:"Show answers, failures and costs of a study."`
	Review     reviewCmd     `cmd:"" help:"Mark by hand whether matches of brands with common names are right."`
	Grade      gradeCmd      `cmd:"" help:"Mark by hand whether statements about brands are right."`
	Export     exportCmd     `cmd:"" help:"Count the answers of a study that is over, for import."`
	Verify     verifyCmd     `cmd:"" help:"Count the stored answers again, and compare."`
	Prune      pruneCmd      `cmd:"" help:"Remove answers that are older than the plan keeps; digests stay."`
	FakeEngine fakeEngineCmd `cmd:"" name:"fake-engine" help:"Serve an engine that invents answers."`
}

type sampleCmd struct {
	Plan    string `arg:"" type:"path" help:"The plan, a YAML file."`
	Dir     string `type:"path" placeholder:"DIR" help:"Folder of the study; default: its name, beside the plan."`
	DryRun  bool   `help:"Print calls, cost, days and the precision to expect. Sends nothing, needs no key."`
	Wait    bool   `help:"Stay until the study is over. Without it, ask what is due and end, as a timer needs it."`
	Branded bool   `help:"Also ask prompts that name a brand of the panel; they are reported apart and never ranked."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Help describes the exit statuses.
func (c *sampleCmd) Help() string {
	return "Answers stay in the folder of the study. A study continues where it stopped, whatever ended the process: " +
		"no question is asked again that may have been asked.\n\n" +
		"Exit status: 0 nothing more is due, 1 no engine can go on, 2 the call or the plan makes no sense (every " +
		"fault is listed, and nothing was sent), 3 the budget is reached, 4 the study cannot be ranked any more."
}

// Run asks what is due, or prints the forecast.
func (c *sampleCmd) Run(ctx context.Context, s *command.Streams) error {
	p, texts, err := plan.Load(c.Plan)
	if err != nil {
		return usage(err)
	}
	dir := c.Dir
	if dir == "" {
		dir = strings.TrimSuffix(c.Plan, baseName(c.Plan)) + p.Study
	}
	if c.DryRun {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			if err := p.Begin(time.Now()); err != nil {
				return usage(err)
			}
		}
		return c.forecast(s, p)
	}
	st, err := sampler.Begin(dir, p, texts, sampler.Options{Branded: c.Branded, Key: sampler.ReadKey})
	if err != nil {
		return usage(err)
	}
	ended, runErr := c.run(ctx, s, st)
	status := st.Status(time.Now())
	err = errors.Join(runErr, st.AddRates(&status), st.Close())
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if perr := printStatus(s, &status, c.JSON); perr != nil {
		return perr
	}
	for _, engine := range slices.Sorted(maps.Keys(ended.Stopped)) {
		fmt.Fprintf(s.Err, "fieldmark: engine %s stopped: %s\n", engine, ended.Stopped[engine])
	}
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case ended.Budget:
		return command.WithStatus(statusBudget, errors.New("the budget is reached: raise it in the plan to go on"))
	case len(ended.Stopped) == len(p.Engines):
		return errors.New("no engine can go on")
	case len(status.Unranked) > 0:
		return command.WithStatus(statusUnranked, errors.New("the study cannot be ranked any more"))
	}
	return nil
}

// baseName returns the last element of a path with either separator.
func baseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// usage gives the errors of a call or plan that makes no sense their exit status.
func usage(err error) error {
	if plan.IsFault(err) || errors.Is(err, sampler.ErrChanged) || errors.Is(err, sampler.ErrKey) ||
		errors.Is(err, os.ErrNotExist) {
		return command.WithStatus(command.StatusUsage, err)
	}
	return err
}

// run runs the sampler and shows its progress.
func (c *sampleCmd) run(ctx context.Context, s *command.Streams, st *sampler.Study) (sampler.Ended, error) {
	stop := make(chan struct{})
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		c.progress(s, st, stop)
	}()
	ended, err := st.Run(ctx, c.Wait)
	close(stop)
	<-shown
	return ended, err
}

// How often progress is shown: a line that is replaced on a terminal, lines in a log.
const (
	terminalInterval = time.Second
	logInterval      = time.Minute
)

// progress prints the progress until stop. It reads no answers, so interim rates are not shown.
func (c *sampleCmd) progress(s *command.Streams, st *sampler.Study, stop <-chan struct{}) {
	_, _, isTerminal := s.TerminalSize()
	isTerminal = isTerminal && !c.JSON
	interval := logInterval
	if isTerminal {
		interval = terminalInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			if isTerminal {
				fmt.Fprint(s.Out, "\r\x1b[K")
			}
			return
		case <-ticker.C:
			status := st.Status(time.Now())
			switch {
			case c.JSON:
				_ = s.PrintJSON(&status) // the final status is printed with its error
			case isTerminal:
				fmt.Fprint(s.Out, "\r\x1b[K"+progressLine(&status))
			default:
				fmt.Fprintln(s.Out, progressLine(&status))
			}
		}
	}
}

// barWidth is the width of the progress bar in characters.
const barWidth = 20

func progressLine(st *sampler.Status) string {
	done, of, failed := 0, 0, 0
	for _, e := range st.Engines {
		done, of, failed = done+e.Done, of+e.Of, failed+e.Failed+e.Lost+e.Missed
	}
	filled := 0
	if of > 0 {
		filled = barWidth * (done + failed) / of
	}
	return fmt.Sprintf("[%s%s] %d of %d answers, %d without, $%s of $%s, until %s, not final",
		strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), done, of, failed, sampler.Dollars(st.Spent),
		sampler.Dollars(st.Budget), st.To)
}

func (c *sampleCmd) forecast(s *command.Streams, p *plan.Plan) error {
	f := sampler.ForecastOf(p, c.Branded)
	if c.JSON {
		return s.PrintJSON(&f)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Study %s, plan %s\n", f.Study, f.PlanHash)
	fmt.Fprintf(&b, "%d prompts (%d questions) x %d days x %d runs, %d engines: %d calls\n\n", f.Prompts, f.Questions,
		f.Days, f.Runs, len(f.Engines), f.Calls)
	for _, e := range f.Engines {
		fmt.Fprintf(&b, "  %-20s %6d calls of about %d + %d tokens, likely $%s, worst $%s\n", e.Engine, e.Calls,
			e.Input, e.Output, sampler.Dollars(e.Likely), sampler.Dollars(e.Worst))
	}
	fmt.Fprintf(&b, "  %-20s likely $%s, worst $%s, budget $%s\n\n", "all", sampler.Dollars(f.Likely),
		sampler.Dollars(f.Worst), sampler.Dollars(f.Budget))
	b.WriteString("Half-widths of the 95 % interval to expect, in points, if answers to one question correlate by\n" +
		"   rate     0.3     0.5     0.7\n")
	for _, w := range f.Widths {
		fmt.Fprintf(&b, "  %3d %%  %6.1f  %6.1f  %6.1f\n", w.Rate, w.At03, w.At05, w.At07)
	}
	b.WriteByte('\n')
	if len(f.Branded) > 0 {
		verb := "are not asked without --branded"
		if c.Branded {
			verb = "are asked, and never ranked"
		}
		fmt.Fprintf(&b, "%d prompts name a brand and %s: %s\n", len(f.Branded), verb, strings.Join(f.Branded, ", "))
	}
	if len(f.Missing) == 0 {
		b.WriteString("The result can be ranked.\n")
	}
	for _, m := range f.Missing {
		fmt.Fprintf(&b, "For a ranking it needs %s.\n", m)
	}
	for _, note := range f.Notes {
		fmt.Fprintf(&b, "Note: %s.\n", note)
	}
	_, err := fmt.Fprint(s.Out, b.String())
	return err
}
