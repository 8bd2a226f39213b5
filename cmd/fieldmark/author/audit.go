package author

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// AuditCmd audits a website, which need not be registered.
type AuditCmd struct {
	command.NetworkFlags `embed:""`
	URL                  string        `arg:"" help:"URL of the home page."`
	Name                 string        `help:"Name of the brand, compared with the names on the site; taken from the host or from the site itself if unset."`
	Language             string        `help:"Language of the website (BCP 47), if known."`
	ConnectTo            []string      `placeholder:"HOST:PORT:HOST:PORT" help:"Connect to the second address instead of the first, as in curl. The second address may be private."`
	Delay                time.Duration `default:"1s" help:"Pause between requests to one host."`
	Requests             int           `default:"56" help:"Maximum number of requests, redirects included."`
	Facts                string        `enum:"core,wide" default:"core" help:"Facts to measure; wide adds documents."`
	Seed                 string        `placeholder:"HEX" help:"Read the same pages as the audit with this seed."`
	Previous             string        `placeholder:"FILE" help:"Output of the last audit with --json. Pages whose text has not changed since then cannot have a later date. - reads standard input."`
	JSON                 bool          `name:"json" xor:"form" help:"Print facts and assessment as JSON."`
	MD                   bool          `name:"md" xor:"form" help:"Print the report as Markdown."`
	FailUnder            float64       `placeholder:"SCORE" help:"Exit with status 3 if the score is below this, or if the site has no score."`
	Quiet                bool          `short:"q" help:"Do not show progress."`
}

// AuditDocument is what --json prints.
type AuditDocument struct {
	Facts      fieldmark.Facts      `json:"facts"`
	Assessment fieldmark.Assessment `json:"assessment"`

	// Suspicions do not affect the assessment: one audit confirms none.
	Suspicions []fieldmark.Suspicion `json:"suspicions,omitempty"`
}

// Help is printed below the flags.
func (c *AuditCmd) Help() string {
	return `--facts wide also requests documents for agents, at most nine, which are observed and not
scored. Audits of registered brands do so.

Exit status: 0 the site was audited, and its score is not below --fail-under;
1 it could not be audited, for example because it did not respond; 2 the command
line is wrong; 3 the score is below --fail-under, or the site has no score.`
}

// Run audits the site and prints the report.
func (c *AuditCmd) Run(ctx context.Context, s *command.Streams) (err error) {
	if c.FailUnder < 0 || c.FailUnder > 100 {
		return command.WithStatus(2, errors.New("--fail-under: a score is 0 to 100"))
	}
	if c.Requests < 2 {
		return command.WithStatus(2, errors.New("--requests: an audit needs at least two requests"))
	}
	if c.Seed != "" && !audit.ValidSeed(c.Seed) {
		return command.WithStatus(2,
			errors.New("--seed: want 32 hexadecimal digits in lower case, as the report of an audit shows"))
	}
	report, err := c.audit(ctx, s)
	if err != nil {
		return err
	}
	facts := report.Facts
	a, err := assess(ctx, &facts)
	if err != nil {
		return err
	}
	if err := c.print(s, AuditDocument{facts, a, report.Suspicions}); err != nil {
		return err
	}
	return c.checkScore(&a)
}

// audit audits the site.
func (c *AuditCmd) audit(ctx context.Context, s *command.Streams) (audit.Report, error) {
	connect, err := command.ParseConnectTo("--connect-to", c.ConnectTo)
	if err != nil {
		return audit.Report{}, command.WithStatus(2, err)
	}
	previous, err := c.readPrevious(s)
	if err != nil {
		return audit.Report{}, command.WithStatus(2, err)
	}
	site := command.AddScheme(c.URL)
	delay := c.Delay
	if delay == 0 {
		delay = -1 // --delay=0 means no pause
	}
	outbound := c.Client(connect)
	if len(connect) == 0 {
		if err := outbound.CheckURL(ctx, site); errors.Is(err, safehttp.ErrNotAllowed) {
			return audit.Report{}, fmt.Errorf("%s: %w (--allow-networks permits private ones)", site, err)
		} else if err != nil {
			return audit.Report{}, fmt.Errorf("%s: %w", site, err)
		}
	}
	auditor, err := audit.New(audit.Config{HTTP: outbound, Delay: delay, MaxRequests: c.Requests})
	if err != nil {
		return audit.Report{}, err
	}
	return auditor.Audit(ctx, audit.Subject{
		URL: site, Name: c.Name, Language: c.Language, Seed: c.Seed, Previous: previous,
		Wide: c.Facts == "wide",
	}, c.progress(s))
}

// readPrevious reads the facts of the last audit, nil without the flag.
func (c *AuditCmd) readPrevious(s *command.Streams) (*fieldmark.Facts, error) {
	if c.Previous == "" {
		return nil, nil
	}
	b, err := s.ReadFile(c.Previous)
	if err != nil {
		return nil, fmt.Errorf("--previous: %w", err)
	}
	var doc AuditDocument
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("--previous: %s is not the output of audit --json: %w", c.Previous, err)
	}
	if doc.Facts.Version != fieldmark.FactsVersion {
		return nil, fmt.Errorf("--previous: %s has no facts of version %s", c.Previous, fieldmark.FactsVersion)
	}
	return &doc.Facts, nil
}

// print prints the report in the chosen format.
func (c *AuditCmd) print(s *command.Streams, d AuditDocument) error {
	notes := notesOf(&d.Facts)
	for i := range d.Suspicions {
		notes = append(notes, note{"suspected manipulation:", command.SuspicionText(&d.Suspicions[i]) +
			"; this score is not affected, but a registered brand is audited again after a day"})
	}
	switch {
	case c.JSON:
		return s.PrintJSON(d)
	case d.Assessment.Status == fieldmark.StatusUnreachable:
		return unreachable(&d.Facts)
	case c.MD:
		return printMarkdown(s.Out, &d.Facts, &d.Assessment, notes)
	}
	return printReport(s.Out, &d.Facts, &d.Assessment, notes, s.UseColor())
}

// note is a line of a report below the score.
type note struct{ label, text string }

// notesOf returns why the home page was not read, or else which pages were.
func notesOf(facts *fieldmark.Facts) (notes []note) {
	if f, ok := facts.Find("home.reachable"); ok && f.State == fieldmark.Unknown {
		for _, e := range f.Evidence {
			notes = append(notes, note{"not read:", e.URL + " " + e.Fact})
		}
		return notes
	}
	switch s := facts.Sample; {
	case s == nil:
		return nil
	case s.Seed == "":
		return []note{{"sample:", fmt.Sprintf("all %d known pages were requested, %d were read", s.Population,
			facts.Pages)}}
	default:
		return []note{{"sample:", fmt.Sprintf("%d of %d known pages were read; --seed %s reads the same pages",
			facts.Pages,
			s.Population, s.Seed)}}
	}
}

// checkScore returns an error if the score is too low.
func (c *AuditCmd) checkScore(a *fieldmark.Assessment) error {
	switch {
	case c.FailUnder == 0:
		return nil
	case a.Score == nil:
		return command.WithStatus(command.StatusNotMet, fmt.Errorf("there is no score (%s) to compare with %g",
			a.Status, c.FailUnder))
	case a.Score.Float() < c.FailUnder:
		return command.WithStatus(command.StatusNotMet, fmt.Errorf("the score %s is below %g", a.Score, c.FailUnder))
	}
	return nil
}

// unreachable returns an error with the reason why the site cannot be audited.
func unreachable(facts *fieldmark.Facts) error {
	why := "its home page is not an HTML page"
	if f, ok := facts.Find("home.reachable"); ok && len(f.Evidence) > 0 {
		why = f.Evidence[0].Fact
	}
	return fmt.Errorf("%s cannot be audited: %s", facts.URL, why)
}

// progress returns a function that prints each step to the error stream.
func (c *AuditCmd) progress(s *command.Streams) func(string) {
	if c.Quiet {
		return func(string) {}
	}
	return func(step string) { fmt.Fprintln(s.Err, "  …", step) }
}

// assess scores facts with the built-in module, as an edge does.
func assess(ctx context.Context, facts *fieldmark.Facts) (a fieldmark.Assessment, err error) {
	engine, err := wasm.New(wasm.Config{Instances: 1})
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, engine.Close(context.WithoutCancel(ctx))) }()
	m, err := engine.Load(ctx, geo.Module())
	if err != nil {
		return a, err
	}
	return m.Assess(ctx, facts, time.Now())
}
