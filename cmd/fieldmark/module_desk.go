package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/wasm"
)

// moduleDesk is how an origin judges modules: checked in a process of their own,
// compared in this one once they have passed.
func moduleDesk() origin.ModuleDesk {
	return origin.ModuleDesk{
		Check: func(ctx context.Context, module []byte) (check origin.ModuleCheck, err error) {
			report, err := checkAside(ctx, module)
			if err != nil {
				return check, err
			}
			if check.Report, err = json.Marshal(report); err != nil {
				return check, err
			}
			if check.Complaints = report.Complaints; report.Manifest != nil {
				check.Ref = fieldmark.ModuleRef{Name: report.Manifest.Name, Version: report.Manifest.Version, Digest: report.Digest}
			}
			return check, nil
		},
		Compare: func(ctx context.Context, from, to []byte, each func(func(fieldmark.BrandState) error) error) (fieldmark.ModuleComparison, error) {
			return wasm.Compare(ctx, from, to, time.Now(), each)
		},
	}
}

// moduleSettings are whose modules may score, on edges and at the origin.
type moduleSettings struct {
	ModuleKeys []string `name:"module-keys" env:"FIELDMARK_MODULE_KEYS" placeholder:"KEY" help:"Public keys, as fieldmark module keygen prints them: only modules signed by one of them are taken, here and by edges that have the setting too. Unset, modules need no signature."`
}

func (m *moduleSettings) keys() (keys []fieldmark.ModuleKey, err error) {
	for _, text := range m.ModuleKeys {
		key, err := fieldmark.ParseModuleKey(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("--module-keys: %w", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// modulePick names a kept module by its digest or the first characters of one.
type modulePick struct {
	targetSettings `embed:""`
	Digest         string `arg:"" help:"Digest of a kept module, or its first characters."`
}

// pick finds the module that is meant.
func (p *modulePick) pick(ctx context.Context) (*client.Client, fieldmark.Digest, error) {
	api, err := p.connect()
	if err != nil {
		return nil, "", err
	}
	if d, err := fieldmark.ParseDigest(p.Digest); err == nil {
		return api, d, nil
	}
	list, err := api.Modules(ctx)
	if err != nil {
		return nil, "", err
	}
	want := "sha256:" + strings.TrimPrefix(p.Digest, "sha256:")
	var found []fieldmark.Digest
	for i := range list {
		if strings.HasPrefix(string(list[i].Digest), want) {
			found = append(found, list[i].Digest)
		}
	}
	if len(found) != 1 {
		return nil, "", fmt.Errorf("%d modules begin with %q; fieldmark module list shows them", len(found), p.Digest)
	}
	return api, found[0], nil
}

type modulePushCmd struct {
	targetSettings `embed:""`
	moduleFile     `embed:""`
	JSON           bool `name:"json" help:"Print the record as JSON."`
}

// Run sends a module, with the signature that lies beside it.
func (c *modulePushCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	push := fieldmark.ModulePush{}
	if push.Module, err = c.read(s); err != nil {
		return err
	}
	if push.Signature, err = readSignature(c.File); err != nil {
		return err
	}
	record, err := api.PushModule(ctx, push)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s, record)
	}
	_, err = fmt.Fprintf(s.out, "kept %s %s as %s (%s)\n", record.Name, record.Version, record.Digest, record.State)
	return err
}

// readSignature reads FILE.sig; it is nil where there is none.
func readSignature(path string) (*fieldmark.ModuleSignature, error) {
	raw, err := os.ReadFile(path + signatureSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	signature := new(fieldmark.ModuleSignature)
	if err := json.Unmarshal(raw, signature); err != nil {
		return nil, fmt.Errorf("%s: %w", path+signatureSuffix, err)
	}
	return signature, nil
}

type moduleListCmd struct {
	targetSettings `embed:""`
	JSON           bool `name:"json" help:"Print the list as JSON."`
}

// Run lists the kept modules.
func (c *moduleListCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	list, err := api.Modules(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s, list)
	}
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DIGEST\tNAME\tVERSION\tSTATE\tBYTES\tKEPT\tSIGNED BY")
	for i := range list {
		m := &list[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", short(m.Digest), m.Name, m.Version, m.State, m.Bytes, m.CreatedAt, signer(m.Signature))
	}
	return t.Flush()
}

// short is enough of a digest to tell modules apart and to name one.
func short(d fieldmark.Digest) string { return strings.TrimPrefix(string(d), "sha256:")[:12] }

func signer(s *fieldmark.ModuleSignature) string {
	if s == nil {
		return "-"
	}
	return string(s.Key)
}

type moduleShowCmd struct{ modulePick }

// Run prints all that is known of a module, the report of its check included.
func (c *moduleShowCmd) Run(ctx context.Context, s *streams) error {
	api, digest, err := c.pick(ctx)
	if err != nil {
		return err
	}
	record, err := api.ModuleRecord(ctx, digest)
	if err != nil {
		return err
	}
	return printJSON(s, record)
}

type modulePreviewCmd struct {
	modulePick
	JSON bool `name:"json" help:"Print the comparison as JSON."`
}

// previewPoll is the pause between two questions how far a preview is.
const previewPoll = 200 * time.Millisecond

// Help says what it does not do.
func (modulePreviewCmd) Help() string {
	return `Nothing changes for readers. The origin scores every brand by this module and by the
one in force, in the background; asked again meanwhile, it goes on.`
}

// Run asks for a preview and shows how far it is until it is done.
func (c *modulePreviewCmd) Run(ctx context.Context, s *streams) error {
	api, digest, err := c.pick(ctx)
	if err != nil {
		return err
	}
	p, err := api.PreviewModule(ctx, digest, true)
	for told := -1; err == nil && (p.State == fieldmark.PreviewWaiting || p.State == fieldmark.PreviewRunning); {
		if p.Done != told {
			told = p.Done
			fmt.Fprintf(s.err, "%s: %d of %d brands\n", p.State, p.Done, p.Total)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(previewPoll):
		}
		p, err = api.PreviewModule(ctx, digest, false)
	}
	if err != nil {
		return err
	}
	if p.Result == nil {
		return fmt.Errorf("the preview failed: %s", p.Error)
	}
	if c.JSON {
		return printJSON(s, p)
	}
	return printComparison(s.out, p.Result)
}

// printComparison tells a person what a module would change.
func printComparison(w io.Writer, r *fieldmark.ModuleComparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "compared\t%d brands\n", r.Brands)
	fmt.Fprintf(t, "another grade\t%d, %s %%\n", r.GradesChanged, (r.GradeShare * 100))
	fmt.Fprintf(t, "moved\t%d, by %s on average over all, %s at most\n", r.Moved, r.MeanMove, r.LargestMove)
	fmt.Fprintf(t, "rank correlation\t%s\n", r.RankCorrelation)
	if r.Faults > 0 {
		fmt.Fprintf(t, "cannot score\t%d, the first: %s\n", r.Faults, r.FirstFault)
	}
	if r.DirectionsBroken > 0 {
		fmt.Fprintf(t, "against a direction\t%d, the first: %s\n", r.DirectionsBroken, r.FirstDirection)
	}
	for _, m := range r.Movers {
		fmt.Fprintf(t, "%s\t%s → %s\t%s → %s", m.Slug, orDash(m.From), orDash(m.To), gradeOrDash(m.Grades[0]), gradeOrDash(m.Grades[1]))
		for _, reason := range m.Reasons {
			fmt.Fprintf(t, "\t%s %s → %s", reason.ID, reason.From, reason.To)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

func orDash(m *fieldmark.Milli) string {
	if m == nil {
		return "-"
	}
	return m.String()
}

func gradeOrDash(g fieldmark.Grade) string {
	if g == "" {
		return "-"
	}
	return string(g)
}

type moduleActivateCmd struct {
	modulePick
	Canary string `placeholder:"N%" help:"Put it on trial for this share of the brands, 1% to 99%, instead of in force for all."`
}

// Help says who follows, and what happens if it goes wrong.
func (moduleActivateCmd) Help() string {
	return `Every edge loads the module aside, proves it and swaps it in; no request waits or
fails. An edge on which it faults five times within a minute takes it back by itself.

With --canary it scores a share of the brands, the same on every edge and marked in
their documents; rankings go on by the module in force. A larger share has the
smaller one in it; rollback ends the trial.`
}

// Run puts a module in force or on trial.
func (c *moduleActivateCmd) Run(ctx context.Context, s *streams) error {
	percent := 100
	if c.Canary != "" {
		if n, err := fmt.Sscanf(strings.TrimSuffix(c.Canary, "%"), "%d", &percent); n != 1 || err != nil || percent < 1 || percent > 99 {
			return fmt.Errorf("--canary %s: give a share of 1%% to 99%%", c.Canary)
		}
	}
	api, digest, err := c.pick(ctx)
	if err != nil {
		return err
	}
	plan, err := api.ActivateModule(ctx, digest, percent)
	if err != nil {
		return err
	}
	if p, err := api.PreviewModule(ctx, digest, false); err == nil && p.Result != nil {
		printPreviewWarnings(s.err, p.Result)
	}
	return printPlan(s.out, plan)
}

// printPreviewWarnings repeats what speaks against a module in its last preview.
func printPreviewWarnings(w io.Writer, r *fieldmark.ModuleComparison) {
	if r.Faults > 0 {
		fmt.Fprintf(w, "warning: in the preview it could not score %d of %d brands, the first: %s\n", r.Faults, r.Brands, r.FirstFault)
	}
	if r.DirectionsBroken > 0 {
		fmt.Fprintf(w, "warning: in the preview the score of %d of %d brands moved against a declared direction, the first: %s\n",
			r.DirectionsBroken, r.Brands, r.FirstDirection)
	}
}

func printPlan(w io.Writer, p fieldmark.ModulePlan) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "in force\t%s %s\t%s\n", p.Name, p.Version, short(p.Digest))
	if c := p.Canary; c != nil {
		fmt.Fprintf(t, "on trial for %d %%\t%s %s\t%s\n", c.Percent, c.Name, c.Version, short(c.Digest))
	}
	if b := p.Previous; b != nil {
		fmt.Fprintf(t, "before\t%s %s\t%s\n", b.Name, b.Version, short(b.Digest))
	}
	return t.Flush()
}

type moduleRollbackCmd struct{ targetSettings }

// Run takes the newest activation back.
func (c *moduleRollbackCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	plan, err := api.RollBackModule(ctx)
	if err != nil {
		return err
	}
	return printPlan(s.out, plan)
}

type moduleStatusCmd struct {
	targetSettings `embed:""`
	JSON           bool `name:"json" help:"Print the status as JSON."`
}

// Run shows the plan and what every edge makes of it.
func (c *moduleStatusCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	status, err := api.ModuleStatus(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s, status)
	}
	if err := printPlan(s.out, status.Plan); err != nil {
		return err
	}
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nEDGE\tSCORES BY\tGENERATION\tTRIAL\tSEEN\tPROBLEM")
	for i := range status.Nodes {
		n := &status.Nodes[i]
		by, trial, problem := "-", "-", n.Error
		if n.Module.Digest != "" {
			by = n.Module.Version + " " + short(n.Module.Digest)
		}
		if n.Canary != nil {
			trial = fmt.Sprintf("%s %d %%", short(n.Canary.Digest), n.Canary.Percent)
		}
		if r := n.RolledBack; r != nil && problem == "" {
			problem = fmt.Sprintf("took %s back at %s: %s", short(r.From.Digest), r.At, r.Error)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\n", n.Address, by, n.Generation, trial, n.SeenAt, problem)
	}
	return t.Flush()
}
