package sampling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/visibility/estimate"
	"github.com/fieldmark/fieldmark/origin/visibility/plan"
	"github.com/fieldmark/fieldmark/origin/visibility/sampler"
)

// Exit statuses of sample besides 0, 1 and 2.
const (
	// They differ from 1, so that a script can raise the budget or end a timer.
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

// sampleCmd sends the questions of a plan. A timer may start it at any interval: what is sent is decided by the
// journal.
type sampleCmd struct {
	Plan    string `arg:"" type:"path" help:"The plan, a YAML file."`
	Dir     string `type:"path" placeholder:"DIR" help:"Folder of the study; default: its name, beside the plan."`
	DryRun  bool   `help:"Print calls, cost, days and the precision to expect. Sends nothing, needs no key."`
	Wait    bool   `help:"Stay until the study is over. Without it, ask what is due and end, as a timer needs it."`
	Branded bool   `help:"Also ask prompts that name a brand of the panel; they are reported apart and never ranked."`
	JSON    bool   `name:"json" help:"Print JSON."`

	Until float64 `placeholder:"POINTS" help:"Ask as many questions as this half-width needs."`
	Pilot string  `type:"path" placeholder:"DIR" help:"For --until: an earlier study of the set as the first stage."`
}

// Help describes the exit statuses.
func (c *sampleCmd) Help() string {
	return "Answers stay in the folder of the study. A study continues where it stopped, whatever ended the process: " +
		"no question is asked again that may have been asked.\n\n" +
		"With --until a study has two stages. The first asks 30 random questions on the days of the plan; how much " +
		"their answers differ decides how many others are asked on as many further days. --pilot takes that from an " +
		"earlier study instead. Give both options at every start of the study.\n\n" +
		"Exit status: 0 nothing more is due, 1 no engine can go on, 2 the call or the plan makes no sense (every " +
		"fault is listed, and nothing was sent), 3 the budget is reached, 4 the study cannot be ranked any more."
}

// Run sends the questions that are due, or prints the forecast.
func (c *sampleCmd) Run(ctx context.Context, s *command.Streams) error {
	p, texts, err := plan.Load(c.Plan)
	if err != nil {
		return usage(err)
	}
	if (c.Until != 0 || c.Pilot != "") && (c.Until < minUntil || c.Until > maxUntil) {
		return command.WithStatus(command.StatusUsage, fmt.Errorf(
			"--until needs %g to %g points, and --pilot needs --until", minUntil, maxUntil))
	}
	dir := c.Dir
	// Beside the plan, so that the plan and its answers are archived together.
	if dir == "" {
		dir = strings.TrimSuffix(c.Plan, baseName(c.Plan)) + p.Study
	}
	// Without a key and without the folder: a plan can be checked before there is a contract with a vendor.
	if c.DryRun {
		// A study that has begun may have old prices and a first day in the past.
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			if err := p.Begin(time.Now()); err != nil {
				return usage(err)
			}
		}
		return c.forecast(s, p)
	}
	o := sampler.Options{Branded: c.Branded, Until: int(math.Round(10 * c.Until)), Key: sampler.ReadKey}
	if c.Pilot != "" {
		o.Size = func() (int, error) {
			r, err := c.reach(p)
			return r.Questions, err
		}
	}
	st, err := sampler.Begin(dir, p, texts, o)
	if err != nil {
		return usage(err)
	}
	ended, runErr := c.run(ctx, s, st)
	status := st.Status(time.Now())
	// A study that was interrupted shows its status, too.
	err = errors.Join(runErr, st.AddRates(&status), st.Close())
	if err != nil && !errors.Is(err, context.Canceled) {
		return usage(err)
	}
	if perr := printStatus(s, &status, c.JSON); perr != nil {
		return perr
	}
	// On the error stream, so that JSON on the other one can be parsed.
	for _, engine := range slices.Sorted(maps.Keys(ended.Stopped)) {
		fmt.Fprintf(s.Err, "fieldmark: engine %s stopped: %s\n", engine, ended.Stopped[engine])
	}
	switch {
	// Before the budget: an interrupted run has not decided whether more is due.
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

// Bounds of --until in points: below, no set of 1,000 questions is enough; above, an interval is too wide to be of use.
const minUntil, maxUntil = 0.5, 50.0

// reach returns how many questions the half-width of --until needs, by the study of --pilot. It fails if the plan has
// fewer.
func (c *sampleCmd) reach(p *plan.Plan) (sampler.Reach, error) {
	pilot, err := sampler.Open(c.Pilot)
	if err != nil {
		return sampler.Reach{}, err
	}
	return sampler.ReachOf(pilot, p, c.Until, time.Now())
}

// baseName returns the last element of a path with either separator.
// package filepath knows only the separator of this system, and a plan may come from another.
func baseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// usage gives the errors of a call or plan that makes no sense their exit status.
// They are errors that the operator corrects, and nothing was sent.
func usage(err error) error {
	if plan.IsFault(err) || errors.Is(err, sampler.ErrChanged) || errors.Is(err, sampler.ErrKey) ||
		errors.Is(err, sampler.ErrStages) || errors.Is(err, sampler.ErrNoPilot) || errors.Is(err, sampler.ErrTooFew) ||
		errors.Is(err, os.ErrNotExist) {
		return command.WithStatus(command.StatusUsage, err)
	}
	return err
}

// run runs the sampler and shows its progress.
// Progress is shown by another goroutine, because a call can take minutes.
func (c *sampleCmd) run(ctx context.Context, s *command.Streams, st *sampler.Study) (sampler.Ended, error) {
	stop := make(chan struct{})
	// Waited for, so that no progress is printed after the status.
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
	// In a file or a pipe, control characters would be noise, and a line each second too much.
	_, _, isTerminal := s.TerminalSize()
	isTerminal = isTerminal && !c.JSON
	interval := logInterval
	if isTerminal {
		interval = terminalInterval
	}
	ticker := time.NewTicker(interval)
	// The first line comes after one interval: a run with nothing due prints only the status.
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			if isTerminal {
				// Erases the line (ECMA-48, EL), so that the status begins at its start.
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

// progressLine says that the numbers are not final: a study must not be stopped because of them.
func progressLine(st *sampler.Status) string {
	done, of, failed := 0, 0, 0
	for _, e := range st.Engines {
		done, of, failed = done+e.Done, of+e.Of, failed+e.Failed+e.Lost+e.Missed
	}
	// A plan whose prompts are all branded has no calls without --branded.
	filled := 0
	if of > 0 {
		filled = barWidth * (done + failed) / of
	}
	return fmt.Sprintf("[%s%s] %d of %d answers, %d without, $%s of $%s, until %s, not final",
		strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), done, of, failed, sampler.Dollars(st.Spent),
		sampler.Dollars(st.Budget), st.To)
}

// forecast prints calls and cost before any money is spent. Worst is what the budget must allow.
func (c *sampleCmd) forecast(s *command.Streams, p *plan.Plan) error {
	f := sampler.ForecastOf(p, c.Branded)
	switch {
	case c.Pilot != "":
		r, err := c.reach(p)
		if err != nil {
			return usage(err)
		}
		f.Reach = &r
	case c.Until != 0:
		f.Notes = append(f.Notes, fmt.Sprintf("in two stages: %d questions on %d days, whose answers decide how many "+
			"of the others are asked on as many further days; the sums above are for all of them",
			estimate.PilotQuestions, f.Days))
	}
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
	// For three correlations, because that of a set of questions is not known before it was asked.
	b.WriteString("Half-widths of the 95 % interval to expect, in points, if answers to one question correlate by\n" +
		"   rate     0.3     0.5     0.7\n")
	for _, w := range f.Widths {
		fmt.Fprintf(&b, "  %3d %%  %6.1f  %6.1f  %6.1f\n", w.Rate, w.At03, w.At05, w.At07)
	}
	b.WriteByte('\n')
	if r := f.Reach; r != nil {
		fmt.Fprintf(&b, "±%.1f points at the mention rate of %s want %d questions; the %d of the plan give ±%.1f.\n",
			r.HalfWidth, r.Brand, r.Questions, r.Has, r.Best)
	}
	// Without any, there is nothing to decide.
	if len(f.Branded) > 0 {
		// Named, because a question that contains a brand is often a mistake.
		verb := "are not asked without --branded"
		if c.Branded {
			verb = "are asked, and never ranked"
		}
		fmt.Fprintf(&b, "%d prompts name a brand and %s: %s\n", len(f.Branded), verb, strings.Join(f.Branded, ", "))
	}
	if len(f.Missing) == 0 {
		b.WriteString("The result can be ranked.\n")
	}
	// No error: a study that is too small for a ranking can still be useful.
	for _, m := range f.Missing {
		fmt.Fprintf(&b, "For a ranking it needs %s.\n", m)
	}
	for _, note := range f.Notes {
		fmt.Fprintf(&b, "Note: %s.\n", note)
	}
	_, err := fmt.Fprint(s.Out, b.String())
	return err
}
