package author

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/llms"
	"github.com/fieldmark/fieldmark/origin/llms/probe"
)

// LLMsCmd checks and writes llms.txt files, which describe a site to language models.
type LLMsCmd struct {
	Generate llmsGenerateCmd `cmd:"" default:"withargs" help:"Audit a website and write its llms.txt file, with its ten best pages; needs no server. The name of this command may be left out."`
	Lint     llmsLintCmd     `cmd:"" help:"Check an llms.txt file; needs no server."`
	New      llmsNewCmd      `cmd:"" help:"Write an llms.txt file from answers about a brand; needs no server."`
}

type llmsLintCmd struct {
	command.NetworkFlags `embed:""`
	Source               string   `arg:"" help:"A file, its URL, the URL of its site, or - for standard input."`
	ConnectTo            []string `placeholder:"HOST:PORT:HOST:PORT" help:"Connect to the second address instead of the first, as in curl. The second address may be private."`
	JSON                 bool     `name:"json" help:"Print the report as JSON."`
}

// maxLintInput bounds what is read, in bytes. It is more than the linter accepts, so that
// the linter can report that a file is too large.
const maxLintInput = 5 << 20

// Run prints the issues. It fails if one of them is an error.
func (c *llmsLintCmd) Run(ctx context.Context, s *command.Streams) error {
	report, err := c.lint(ctx, s)
	if err != nil {
		return err
	}
	if c.JSON {
		err = s.PrintJSON(report)
	} else {
		err = printLint(s.Out, cmp.Or(report.URL, c.name()), report)
	}
	if n := report.Errors(); err == nil && n > 0 {
		err = fmt.Errorf("%s has %s", cmp.Or(report.URL, c.name()), command.Count(n, "error", "errors"))
	}
	return err
}

// name returns the name of the file in the output.
func (c *llmsLintCmd) name() string {
	if c.Source == "-" {
		return "stdin"
	}
	return c.Source
}

func (c *llmsLintCmd) lint(ctx context.Context, s *command.Streams) (llms.Report, error) {
	if strings.HasPrefix(c.Source, "http://") || strings.HasPrefix(c.Source, "https://") {
		return c.probe(ctx)
	}
	in := s.In
	if c.Source != "-" {
		f, err := os.Open(c.Source)
		if err != nil {
			return llms.Report{}, err
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, maxLintInput))
	if err != nil {
		return llms.Report{}, fmt.Errorf("read %s: %w", c.name(), err)
	}
	return llms.Lint(body), nil
}

// probe checks the file on its site, and how it is served.
func (c *llmsLintCmd) probe(ctx context.Context) (llms.Report, error) {
	connect, err := command.ParseConnectTo("--connect-to", c.ConnectTo)
	if err != nil {
		return llms.Report{}, err
	}
	p, err := probe.New(probe.Config{HTTP: c.Client(connect)})
	if err != nil {
		return llms.Report{}, err
	}
	report, err := p.Lint(ctx, c.Source)
	if err != nil {
		return llms.Report{}, fmt.Errorf("%s: %w", c.Source, err)
	}
	return report, nil
}

// levelWords describe the levels.
var levelWords = [...]string{
	llms.LevelNone:     "not an llms.txt",
	llms.LevelMarkdown: "Markdown without a title",
	llms.LevelTitled:   "a title",
	llms.LevelSummed:   "a title and a summary",
	llms.LevelLinked:   "a title, a summary and sections of links",
}

// maxListedPlaces is how many places of one kind of fault are printed: a screen of them.
const maxListedPlaces = 20

// printLint prints one line for each kind of fault, like a compiler, with its other places,
// and a summary.
func printLint(w io.Writer, name string, r llms.Report) error {
	var b bytes.Buffer
	count := map[llms.Severity]int{}
	for _, i := range r.Issues {
		count[i.Severity] += i.Count
		at := name
		if i.Line > 0 {
			at = fmt.Sprintf("%s:%d:%d", name, i.Line, i.Column)
		}
		fmt.Fprintf(&b, "%s: %s: %s (%s)%s\n", at, i.Severity, i.Message, i.Code, placesOf(i))
	}
	fmt.Fprintf(&b, "%s: level %d of %d, %s; %s, %s, %s\n", name, r.Level, llms.LevelLinked, levelWords[r.Level],
		command.Count(count[llms.SeverityError], "error", "errors"),
		command.Count(count[llms.SeverityWarning], "warning", "warnings"),
		command.Count(count[llms.SeverityInfo], "note", "notes"))
	_, err := w.Write(b.Bytes())
	return err
}

// placesOf returns the words of an issue line by line, or the lines of a repeated one.
func placesOf(i llms.Issue) string {
	if len(i.Places) == 0 {
		return ""
	}
	shown := i.Places[:min(len(i.Places), maxListedPlaces)]
	var b strings.Builder
	if i.Places[0].Text != "" {
		for _, p := range shown {
			fmt.Fprintf(&b, "\n    line %d: %q", p.Line, p.Text)
		}
		if more := i.Count - len(shown); more > 0 {
			fmt.Fprintf(&b, "\n    and %d more", more)
		}
		return b.String()
	}
	separator := "; also in line "
	for _, p := range shown[1:] {
		fmt.Fprintf(&b, "%s%d", separator, p.Line)
		separator = ", "
	}
	if more := i.Count - len(shown); more > 0 && len(shown) > 1 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// llmsFile is where a file is written.
type llmsFile struct {
	Out   string `name:"output" short:"o" aliases:"out" placeholder:"FILE" help:"Output file; default standard output."`
	Force bool   `help:"Replace an existing file."`
}

type llmsNewCmd struct {
	llmsFile `embed:""`
	Lang     string `placeholder:"TAG" help:"Language of the answers (BCP 47); prompted for if unset."`
}

// Run prompts for the answers, writes the file and prints how to install it.
func (c *llmsNewCmd) Run(_ context.Context, s *command.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	request, err := prompt(s, c.Lang)
	if err != nil {
		return err
	}
	return c.generate(s, request)
}

// llmsGenerateCmd writes the file of a website from its own audit.
type llmsGenerateCmd struct {
	command.NetworkFlags `embed:""`
	llmsFile             `embed:""`
	URL                  string        `arg:"" help:"URL of the home page."`
	Name                 string        `help:"Name of the brand; taken from the title of the home page if unset."`
	Niche                string        `help:"The field it works in."`
	Description          string        `help:"What it does; taken from the description of the home page if unset."`
	Lang                 string        `placeholder:"TAG" help:"Language (BCP 47); default: that of the home page."`
	ConnectTo            []string      `placeholder:"HOST:PORT:HOST:PORT" help:"Connect to the second address instead of the first, as in curl. The second address may be private."`
	Delay                time.Duration `default:"1s" help:"Pause between requests to one host."`
	Quiet                bool          `short:"q" help:"Do not show progress."`
}

// Run audits the site, writes the file and prints how to install it.
func (c *llmsGenerateCmd) Run(ctx context.Context, s *command.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	cmd := AuditCmd{NetworkFlags: c.NetworkFlags, URL: c.URL, Name: c.Name, Language: c.Lang, ConnectTo: c.ConnectTo,
		Delay: c.Delay, Requests: audit.DefaultMaxRequests, Quiet: c.Quiet}
	report, err := cmd.audit(ctx, s)
	if err != nil {
		return err
	}
	if f, ok := report.Facts.Find("home.reachable"); !ok || f.Value == 0 {
		return unreachable(&report.Facts)
	}
	return c.generate(s, llms.FromAudit(fieldmark.Brand{Name: c.Name, Niche: c.Niche, Description: c.Description,
		Language: c.Lang, URL: c.URL}, &report.Facts))
}

// check refuses to replace a file unless it was asked for.
func (c *llmsFile) check() error {
	if c.Out != "" && !c.Force {
		if _, err := os.Stat(c.Out); err == nil {
			return fmt.Errorf("%s exists already; use --force to replace it", c.Out)
		}
	}
	return nil
}

// generate writes the file of a request and prints its warnings.
func (c *llmsFile) generate(s *command.Streams, request llms.Request) error {
	doc, err := llms.Generate(request)
	if err != nil {
		return err
	}
	if err := c.write(s, doc); err != nil {
		return err
	}
	for _, w := range doc.Warnings {
		fmt.Fprintf(s.Err, "Note: %s%s\n", questionOf(w.Field), w.Message)
	}
	if c.Out != "" {
		fmt.Fprintf(s.Err, "Wrote %s (%s). Publish it as /llms.txt on your website, and add this line\nto the "+
			"<head> of every page:\n  %s\n",
			c.Out, command.Count(doc.Bytes, "byte", "bytes"), doc.Install.HTMLLink)
	}
	return nil
}

func (c *llmsFile) write(s *command.Streams, doc llms.Document) error {
	if c.Out == "" {
		_, err := io.WriteString(s.Out, doc.Content)
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !c.Force {
		flags |= os.O_EXCL // it may have been created while the user answered
	}
	f, err := os.OpenFile(c.Out, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, doc.Content)
	return errors.Join(err, f.Close())
}
