package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/author"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/operate"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/sampling"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/witness"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/proxy"
	"github.com/fieldmark/fieldmark/origin/audit"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// commands are all commands with their flags. kong parses the command line by them and
// prints them as help.
type commands struct {
	Serve    serveCmd            `cmd:"" group:"run" help:"Run an edge and an origin in one process."`
	Edge     edgeCmd             `cmd:"" group:"run" help:"Run an edge, which serves badges, scores and pages."`
	Origin   originCmd           `cmd:"" group:"run" help:"Run an origin: brands, missions, keys, webhooks, events."`
	LLMs     author.LLMsCmd      `cmd:"" group:"brands" name:"llms" help:"Check and write llms.txt files."`
	Audit    author.AuditCmd     `cmd:"" group:"brands" help:"Audit a website and print a report; needs no server."`
	Brand    operate.BrandCmd    `cmd:"" group:"brands" help:"Register, audit, rename and remove brands."`
	Mission  operate.MissionCmd  `cmd:"" group:"missions" help:"Create, follow, change and end missions."`
	Calendar operate.CalendarCmd `cmd:"" group:"missions" help:"Manage calendar feeds of missions."`
	SLA      operate.SLACmd      `cmd:"" group:"missions" name:"sla" help:"Manage SLA policies and business calendars."`
	Payment  operate.PaymentCmd  `cmd:"" group:"missions" help:"Manage payments and refunds of missions."`
	Webhook  operate.WebhookCmd  `cmd:"" group:"webhooks" help:"Manage webhook endpoints; receive webhooks locally."`
	Key      keyCmd              `cmd:"" group:"access" help:"Create, list, rotate and revoke API keys."`

	Access operate.AccessCmd `cmd:"" group:"access" help:"List and decide requests for API keys."`

	Technician operate.TechnicianCmd `cmd:"" group:"missions" help:"Manage links to pages of technicians."`

	Certificate operate.CertificateCmd `cmd:"" group:"run" help:"Manage the TLS certificates of an origin."`

	SigningKey operate.SigningKeyCmd `cmd:"" group:"access" name:"signing-key" help:"Manage the keys that sign the requests of the auditor."`

	Offer    operate.OfferCmd   `cmd:"" group:"access" help:"Manage offers, the named sets of limits of accounts."`
	Account  operate.AccountCmd `cmd:"" group:"access" help:"Manage accounts, which own keys, missions and endpoints."`
	AuditLog auditLogCmd        `cmd:"" group:"access" name:"audit-log" help:"Show and verify the log of what administrators did."`
	Purge    operate.PurgeCmd   `cmd:"" group:"brands" help:"Purge edge caches."`
	CDN      operate.CDNCmd     `cmd:"" name:"cdn" group:"run" help:"Manage the purges of CDNs in front of the edges."`
	Admin    adminCmd           `cmd:"" group:"access" help:"Create administrators."`
	Module   moduleCmd          `cmd:"" group:"modules" help:"Write, check, upload and activate scoring modules."`
	Migrate  migrateCmd         `cmd:"" group:"maintenance" help:"Migrate the database to this version."`
	Backup   backupCmd          `cmd:"" group:"maintenance" help:"Copy the database to a file while origins run."`
	Restore  restoreCmd         `cmd:"" group:"maintenance" help:"Replace the database by a backup."`
	DB       dbCmd              `cmd:"" group:"maintenance" name:"db" help:"Check the database."`
	Status   statusCmd          `cmd:"" group:"run" help:"Show the state of nodes; exit status 1 if one is not ready."`
	Top      topCmd             `cmd:"" group:"run" help:"Show nodes, issues and charts every second."`
	Version  versionCmd         `cmd:"" group:"maintenance" help:"Print the version."`
	Man      manCmd             `cmd:"" group:"maintenance" help:"Print the manual page."`

	Completion kongcompletion.Completion `cmd:"" group:"maintenance" help:"Print a shell completion script."`

	Score      author.ScoreCmd `cmd:"" group:"brands" help:"Show a brand's score, or recompute it to verify it."`
	Witness    witness.Cmd     `cmd:"" group:"brands" help:"Follow the public log of a server, and cosign it."`
	Visibility visibilityCmd   `cmd:"" group:"brands" help:"Ask answer engines about brands, and import what they say."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
	LogLevel    slog.Level       `env:"FIELDMARK_LOG_LEVEL" default:"INFO" help:"Log level: DEBUG, INFO, WARN, ERROR."`
}

// moduleCmd works on scoring modules: in files, without a server, and at an origin.
type moduleCmd struct {
	Author   author.ModuleCommands  `embed:""`
	Operator operate.ModuleCommands `embed:""`
}

// visibilityCmd works on studies of answers: on this machine, without a server, and at an origin.
type visibilityCmd struct {
	Sampling sampling.Commands          `embed:""`
	Operator operate.VisibilityCommands `embed:""`
}

// groups are the sections of the help.
var groups = []kong.Group{
	{Key: "run", Title: "Run and watch:"},
	{Key: "brands", Title: "Brands and scores:"},
	{Key: "missions", Title: "Missions:"},
	{Key: "webhooks", Title: "Webhooks:"},
	{Key: "modules", Title: "Scoring modules in files:"},
	{Key: "operators", Title: "Scoring modules of an origin:"},
	{Key: "access", Title: "Access:"},
	{Key: "maintenance", Title: "Maintenance:"},
}

// newLogger returns a logger that writes JSON lines. Durations are written in seconds, and
// the unit is appended to the name.
func newLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Value.Kind() == slog.KindDuration {
				return slog.Float64(a.Key+"Seconds", a.Value.Duration().Seconds())
			}
			return a
		}}))
}

// flagVars returns the values that tags of flags refer to: a default that is a limit of a package is not written twice.
func flagVars() kong.Vars {
	vars := kong.Vars{"version": "fieldmark " + version}
	for name, n := range map[string]int{
		"network_rate": edge.DefaultNetworkQuota, "network_conns": conn.DefaultNetworkConns,
		"max_inflight": edge.DefaultInflight, "cache_bytes": edge.DefaultCacheBytes,
		"pass_bytes": proxy.DefaultBytes, "pass_body": edge.DefaultPassBody,
		"audit_requests": audit.DefaultMaxRequests,
	} {
		vars[name] = strconv.Itoa(n)
	}
	return vars
}

// run parses args, runs one command and returns its exit status.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) (status int) {
	var c commands
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("fieldmark"),
		kong.Description("Scores brands for answer engines, serves their badges, and manages field missions."),
		flagVars(),
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
		return exited // a shell requested completions
	}
	k, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help was printed
	}
	if err != nil {
		parser.FatalIfErrorf(err)
		return 2
	}
	s := &command.Streams{In: in, Out: out, Err: errOut, Log: newLogger(errOut, c.LogLevel)}
	k.BindTo(ctx, (*context.Context)(nil))
	k.Bind(s)
	if err := k.Run(); err != nil && !errors.Is(err, context.Canceled) {
		printError(errOut, err)
		if e, ok := errors.AsType[command.ExitError](err); ok {
			return e.Status
		}
		return 1
	}
	return 0
}

// printError prints an error, followed by one line for each of its fields.
func printError(w io.Writer, err error) {
	fe, ok := errors.AsType[*fieldmark.Error](err)
	if !ok {
		fmt.Fprintln(w, "fieldmark:", err)
		return
	}
	text := fe.Detail
	if text == "" {
		text = fe.Code.Title()
	}
	if fe.Err != nil {
		text += ": " + fe.Err.Error()
	}
	fmt.Fprintln(w, "fieldmark:", strings.Replace(err.Error(), fe.Error(), text, 1))
	for _, f := range fe.Fields {
		fmt.Fprintf(w, "  %s: %s\n", f.Pointer, f.Detail)
	}
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(s *command.Streams) error {
	_, err := fmt.Fprintln(s.Out, "fieldmark", version)
	return err
}
