package author

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// ModuleCommands work on scoring modules in files.
type ModuleCommands struct {
	Facts   moduleFactsCmd   `cmd:"" help:"List the facts that a module can read, with their units."`
	New     moduleNewCmd     `cmd:"" help:"Create a project with an example."`
	Build   moduleBuildCmd   `cmd:"" help:"Compile a scorecard to a module."`
	Format  moduleFormatCmd  `cmd:"" help:"Format a scorecard."`
	Explain moduleExplainCmd `cmd:"" help:"Explain a scorecard, and how it scores a site."`
	Schema  moduleSchemaCmd  `cmd:"" help:"Print the JSON Schema of a scorecard."`
	Inspect moduleInspectCmd `cmd:"" help:"Show the manifest and the resources of a module without running it."`
	Check   moduleCheckCmd   `cmd:"" help:"Validate a module as an origin does; exit status 0 if it may be activated."`
	Run     moduleRunCmd     `cmd:"" help:"Score facts with a module and print the assessment."`
	Bench   moduleBenchCmd   `cmd:"" help:"Measure the cost of a module."`
	Pack    modulePackCmd    `cmd:"" help:"Add the manifest and the golden vectors to compiled code."`
	Test    moduleTestCmd    `cmd:"" help:"Run the golden vectors of a module."`
	Diff    moduleDiffCmd    `cmd:"" help:"Compare two modules on facts in a file."`
	Keygen  moduleKeygenCmd  `cmd:"" help:"Generate a key for signing modules and print its public key."`
	Sign    moduleSignCmd    `cmd:"" help:"Sign a module; the signature is written to FILE.sig."`

	Trial moduleTrialCmd `cmd:"" hidden:"" help:"Check the module on standard input within limits; print the report."`
	Play  modulePlayCmd  `cmd:"" hidden:"" help:"Run the input of a playground on standard input."`
}

// ModuleFile is the module a command is about.
type ModuleFile struct {
	File string `arg:"" help:"Module: a .wasm file; - reads standard input."`
}

// Read reads the module; one byte more than allowed is enough to refuse it.
func (m *ModuleFile) Read(s *command.Streams) ([]byte, error) {
	if m.File == "-" {
		return readModule(s.In)
	}
	f, err := os.Open(m.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readModule(f)
}

func readModule(r io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, fieldmark.MaxAnyModule+1))
}

type moduleInspectCmd struct {
	ModuleFile
	JSON bool `name:"json" help:"Print the report as JSON."`
}

// Run prints the report.
func (c *moduleInspectCmd) Run(ctx context.Context, s *command.Streams) error {
	module, err := c.Read(s)
	if err != nil {
		return err
	}
	report := wasm.Inspect(ctx, module)
	checkInputs(&report)
	return printModule(s, &report, c.JSON)
}

type moduleCheckCmd struct {
	ModuleFile
	JSON bool `name:"json" help:"Print the report as JSON."`
}

// Help is printed below the flags.
func (moduleCheckCmd) Help() string {
	return `Runs the checks of an origin, in a child process with limits on time and memory:
size, structure and limits; golden vectors and edge cases in two engines, which must
agree on results and fuel; new instances against reused ones; the most expensive
input; every declared direction; inputs that no audit measures.

All problems are listed. Exit status: 0 the module may be activated, 1 it may not,
2 the command line is wrong.`
}

// Run checks the module and prints the report.
func (c *moduleCheckCmd) Run(ctx context.Context, s *command.Streams) error {
	module, err := c.Read(s)
	if err != nil {
		return err
	}
	report, err := CheckIsolated(ctx, module)
	if err != nil {
		return err
	}
	return printModule(s, &report, c.JSON)
}

// errMayNot ends a report with complaints.
var errMayNot = errors.New("this module may not be activated")

// printModule prints a report; complaints make it an error.
func printModule(s *command.Streams, r *wasm.Report, asJSON bool) error {
	if asJSON {
		if err := s.PrintJSON(r); err != nil {
			return err
		}
	} else if err := printModuleText(s.Out, r); err != nil {
		return err
	}
	if len(r.Problems) > 0 {
		return errMayNot
	}
	return nil
}

func printModuleText(w io.Writer, r *wasm.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "digest\t%s\nsize\t%d bytes\n", r.Digest, r.Bytes)
	if m := r.Manifest; m != nil {
		signals := len(m.Points())
		fmt.Fprintf(t, "name\t%s %s\nmethodology\t%s %s\nauthor\t%s, %s\n", m.Name, m.Version, m.Methodology.ID,
			m.Methodology.Version, m.Author, m.Licence)
		fmt.Fprintf(t, "inputs\t%d\nsignals\t%d in %d components, %d gates\n", len(m.Inputs), signals,
			len(m.Components), len(m.Gates))
	}
	fmt.Fprintf(t, "vectors\t%d\nimports\t%s\nexports\t%s\n", r.Vectors, listOr(r.Imports, "none"),
		listOr(r.Exports, "none"))
	for _, l := range r.Limits {
		fmt.Fprintf(t, "%s\t%d of %d\n", l.Name, l.Used, l.Max)
	}
	if tr := r.Measurements; tr != nil {
		fmt.Fprintf(t, "tried\t%d calls, %d of them by both engines, %d along directions\n", tr.Calls, tr.Compared,
			tr.Directions)
		fmt.Fprintf(t, "fuel\t%d for its vectors, %d at worst, %.2f %% of the budget\n", tr.Fuel, tr.WorstFuel,
			tr.WorstShare)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range r.Problems {
		fmt.Fprintln(w, "✗", c)
	}
	if len(r.Problems) == 0 && r.Measurements != nil {
		fmt.Fprintln(w, "✓ may be activated")
	}
	return nil
}

func listOr(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ", ")
}

type moduleRunCmd struct {
	ModuleFile
	Facts string `required:"" placeholder:"FILE" help:"Facts as JSON, as fieldmark audit --json prints them."`
}

// Help is printed below the flags.
func (moduleRunCmd) Help() string {
	return `  fieldmark audit --json https://example.com > facts.json
  fieldmark module run my.wasm --facts facts.json`
}

// Run scores the facts as an edge does.
func (c *moduleRunCmd) Run(ctx context.Context, s *command.Streams) error {
	module, err := c.Read(s)
	if err != nil {
		return err
	}
	facts, err := readFacts(c.Facts)
	if err != nil {
		return err
	}
	return withModule(ctx, module, func(m *wasm.Module) error {
		a, err := m.Assess(ctx, &facts, time.Now())
		if err != nil {
			return err
		}
		return s.PrintJSON(a)
	})
}

// readFacts reads facts, or an audit document with facts.
func readFacts(path string) (fieldmark.Facts, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return fieldmark.Facts{}, err
	}
	facts, err := parseFacts(raw)
	if err != nil {
		return facts, fmt.Errorf("%s: %w", path, err)
	}
	return facts, nil
}

// parseFacts parses facts in any order, or an audit document with facts.
func parseFacts(raw []byte) (fieldmark.Facts, error) {
	var document AuditDocument
	if err := json.Unmarshal(raw, &document); err != nil || len(document.Facts.Facts) == 0 {
		document = AuditDocument{}
		if err := json.Unmarshal(raw, &document.Facts); err != nil {
			return document.Facts, err
		}
	}
	facts := document.Facts
	if len(facts.Facts) == 0 {
		return facts, errors.New("contains no facts")
	}
	slices.SortStableFunc(facts.Facts, func(a, b fieldmark.Fact) int { return strings.Compare(a.ID, b.ID) })
	return facts, nil
}

// withModule loads a module and passes it to a function.
func withModule(ctx context.Context, module []byte, use func(*wasm.Module) error) (err error) {
	engine, err := wasm.New(wasm.Config{Instances: 1, WASI: true, Trace: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close(context.WithoutCancel(ctx))) }()
	m, err := engine.Load(ctx, module)
	if err != nil {
		return err
	}
	return use(m)
}

type moduleBenchCmd struct {
	ModuleFile
	Calls int `default:"20000" help:"Number of calls to measure."`
}

// Run loads the module and times calls on its golden vectors.
func (c *moduleBenchCmd) Run(ctx context.Context, s *command.Streams) error {
	module, err := c.Read(s)
	if err != nil {
		return err
	}
	if c.Calls < 1 {
		return errors.New("--calls must be at least 1")
	}
	start := time.Now()
	return withModule(ctx, module, func(m *wasm.Module) error {
		loaded := time.Since(start)
		parsed, err := abi.Parse(module)
		if err != nil {
			return err
		}
		took, fuel, err := timeVectors(ctx, m, parsed.Vectors, c.Calls)
		if err != nil {
			return err
		}
		slices.Sort(took)
		t := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "load\t%s with its vectors\n", loaded.Round(10*time.Microsecond))
		fmt.Fprintf(t, "score\t%s at best, %s median, %s in 99 of 100 calls\n", took[0], took[len(took)/2],
			took[len(took)*99/100])
		fmt.Fprintf(t, "fuel\t%d at most, %.2f %% of the budget\n", fuel, float64(fuel)/float64(m.Fuel())*100)
		return t.Flush()
	})
}

func timeVectors(ctx context.Context, m *wasm.Module, vectors []abi.Vector, calls int) (took []time.Duration,
	most int64, err error) {
	took = make([]time.Duration, calls)
	states := make([][]byte, len(vectors))
	for i := range vectors {
		states[i] = vectors[i].AppendStates(nil)
	}
	var out abi.Result
	for i := range took {
		v := i % len(vectors)
		start := time.Now()
		fuel, err := m.Measure(ctx, vectors[v].Values, states[v], &out)
		took[i] = time.Since(start)
		if err != nil {
			return nil, 0, err
		}
		most = max(most, fuel)
	}
	return took, most, nil
}
