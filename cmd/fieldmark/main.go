package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/fieldmark/fieldmark"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// cli is every command with its settings; kong makes the help from it.
type cli struct {
	Serve    serveCmd    `cmd:"" group:"run" help:"Run an edge and an origin in one process."`
	Edge     edgeCmd     `cmd:"" group:"run" help:"Run an edge: badges, scores, leaderboard and pages in front of an origin."`
	Origin   originCmd   `cmd:"" group:"run" help:"Run an origin: brands, missions, keys, webhooks and the event log."`
	LLMs     llmsCmd     `cmd:"" group:"brands" name:"llms" help:"Check and write llms.txt files."`
	Audit    auditCmd    `cmd:"" group:"brands" help:"Audit any website and print a report; needs no server."`
	Brand    brandCmd    `cmd:"" group:"brands" help:"Register brands, have them audited, rename, alias and take them down."`
	Mission  missionCmd  `cmd:"" group:"missions" help:"Open, follow, change, move and end missions."`
	Calendar calendarCmd `cmd:"" group:"missions" help:"Show the plan on phones: make, list, rotate and revoke calendar feeds."`
	SLA      slaCmd      `cmd:"" group:"missions" name:"sla" help:"Set what is promised of missions, and the business calendars it is counted by."`
	Payment  paymentCmd  `cmd:"" group:"missions" help:"Ask for payments of missions, follow, mark and refund them."`
	Webhook  webhookCmd  `cmd:"" group:"webhooks" help:"Look after webhook endpoints, and receive webhooks while developing."`
	Key      keyCmd      `cmd:"" group:"access" help:"Create, list, rotate and revoke API keys."`
	Account  accountCmd  `cmd:"" group:"access" help:"Look after accounts, which own keys, missions and endpoints."`
	AuditLog auditLogCmd `cmd:"" group:"access" name:"audit-log" help:"Show what administrators did, and check that nobody changed the record of it."`
	Purge    purgeCmd    `cmd:"" group:"brands" help:"Have every edge derive something again."`
	Admin    adminCmd    `cmd:"" group:"access" help:"Create administrators."`
	Module   moduleCmd   `cmd:"" group:"modules" help:"Make, check and try scoring modules; keep, preview and activate them at an origin."`
	Migrate  migrateCmd  `cmd:"" group:"upkeep" help:"Bring the database up to this version."`
	Backup   backupCmd   `cmd:"" group:"upkeep" help:"Copy the database to a file while origins run."`
	Restore  restoreCmd  `cmd:"" group:"upkeep" help:"Put a backup in place of the database."`
	DB       dbCmd       `cmd:"" group:"upkeep" name:"db" help:"Look after the database."`
	Status   statusCmd   `cmd:"" group:"run" help:"Show nodes at a glance; the exit status tells whether all are ready."`
	Top      topCmd      `cmd:"" group:"run" help:"Show nodes every second with what happened in between."`
	Version  versionCmd  `cmd:"" group:"upkeep" help:"Print the version."`
	Man      manCmd      `cmd:"" group:"upkeep" help:"Print the manual page."`

	Completion kongcompletion.Completion `cmd:"" group:"upkeep" help:"Print what makes a shell complete commands and flags."`

	geoCommands `embed:""`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
	LogLevel    slog.Level       `env:"FIELDMARK_LOG_LEVEL" default:"INFO" help:"Least serious log line to write: DEBUG, INFO, WARN or ERROR."`
}

// groups are the parts of the help.
var groups = []kong.Group{
	{Key: "run", Title: "Run and watch:"},
	{Key: "brands", Title: "Brands and scores:"},
	{Key: "missions", Title: "Missions:"},
	{Key: "webhooks", Title: "Webhooks:"},
	{Key: "modules", Title: "Scoring modules, at the author's desk:"},
	{Key: "operators", Title: "Scoring modules, at an origin:"},
	{Key: "access", Title: "Access:"},
	{Key: "upkeep", Title: "Upkeep:"},
}

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	log      *slog.Logger
}

// newLogger writes JSON lines. A duration is written in seconds, under a name
// that ends with its unit.
func newLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			return slog.Float64(a.Key+"Seconds", a.Value.Duration().Seconds())
		}
		return a
	}}))
}

// run parses args, runs one command and returns its exit status: 0 when it did
// what it was asked, 1 when it could not, 2 when the call made no sense.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) (status int) {
	var c cli
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("fieldmark"),
		kong.Description("Brand marks and field missions behind one front door."),
		kong.Vars{"version": "fieldmark " + version},
		kong.ExplicitGroups(groups),
		kong.UsageOnError(), kong.Writers(out, errOut),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
	if err != nil {
		fmt.Fprintln(errOut, "fieldmark:", err)
		return 2
	}
	kongcompletion.Register(parser, kongcompletion.WithExitFunc(func(code int) { exited = code }))
	if exited >= 0 {
		return exited // a shell asked what could follow
	}
	k, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help was printed
	}
	if err != nil {
		parser.FatalIfErrorf(err)
		return 2
	}
	s := &streams{in: in, out: out, err: errOut,
		log: newLogger(errOut, c.LogLevel)}
	k.BindTo(ctx, (*context.Context)(nil))
	k.Bind(s)
	if err := k.Run(); err != nil && !errors.Is(err, context.Canceled) {
		printError(errOut, err)
		if e, ok := errors.AsType[statusError](err); ok {
			return e.status
		}
		return 1
	}
	return 0
}

// statusError is an error that ends the program with a status of its own.
type statusError struct {
	status int
	error
}

func withStatus(status int, err error) error { return statusError{status, err} }

// Unwrap returns the error without its status.
func (e statusError) Unwrap() error { return e.error }

// printError says what went wrong in a person's words, every complaint on a
// line of its own.
func printError(w io.Writer, err error) {
	fe, ok := errors.AsType[*fieldmark.Error](err)
	if !ok {
		fmt.Fprintln(w, "fieldmark:", err)
		return
	}
	said := fe.Detail
	if said == "" {
		said = fe.Code.Title()
	}
	if fe.Err != nil {
		said += ": " + fe.Err.Error()
	}
	fmt.Fprintln(w, "fieldmark:", strings.Replace(err.Error(), fe.Error(), said, 1))
	for _, f := range fe.Fields {
		fmt.Fprintf(w, "  %s: %s\n", f.Pointer, f.Detail)
	}
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(s *streams) error {
	_, err := fmt.Fprintln(s.out, "fieldmark", version)
	return err
}
