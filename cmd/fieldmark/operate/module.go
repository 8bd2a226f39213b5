package operate

import (
	"cmp"
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
	"github.com/fieldmark/fieldmark/cmd/fieldmark/author"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// ModuleCommands manage the scoring modules of an origin.
type ModuleCommands struct {
	Push     modulePushCmd     `cmd:"" help:"Upload a module; the origin checks and stores it." group:"operators"`
	List     moduleListCmd     `cmd:"" help:"List uploaded and built-in modules." group:"operators"`
	Show     moduleShowCmd     `cmd:"" help:"Print an uploaded module and its check report as JSON." group:"operators"`
	Preview  modulePreviewCmd  `cmd:"" help:"Score every brand with a module; show the differences." group:"operators"`
	Activate moduleActivateCmd `cmd:"" help:"Activate a module for all brands, or some as a canary." group:"operators"`
	Rollback moduleRollbackCmd `cmd:"" help:"End a canary, or activate the previous module again." group:"operators"`
	Status   moduleStatusCmd   `cmd:"" help:"Show the active module and the state of each edge." group:"operators"`
}

// moduleFlags name an uploaded module.
type moduleFlags struct {
	adminFlags `embed:""`
	Digest     string `arg:"" help:"Digest of an uploaded module, or its first characters."`
}

// find returns the digest that the flag abbreviates.
func (f *moduleFlags) find(ctx context.Context) (*client.Client, fieldmark.Digest, error) {
	api, err := f.connect()
	if err != nil {
		return nil, "", err
	}
	if d, err := fieldmark.ParseDigest(f.Digest); err == nil {
		return api, d, nil
	}
	modules, err := api.Modules(ctx)
	if err != nil {
		return nil, "", err
	}
	prefix := digestPrefix + strings.TrimPrefix(f.Digest, digestPrefix)
	var found []fieldmark.Digest
	for i := range modules {
		if strings.HasPrefix(string(modules[i].Digest), prefix) {
			found = append(found, modules[i].Digest)
		}
	}
	if len(found) != 1 {
		return nil, "", fmt.Errorf("%d modules begin with %q; fieldmark module list shows all", len(found), f.Digest)
	}
	return api, found[0], nil
}

type modulePushCmd struct {
	adminFlags        `embed:""`
	author.ModuleFile `embed:""`
	JSON              bool `name:"json" help:"Print the module as JSON."`
}

// Run uploads a module and, if FILE.sig exists, its signature.
func (c *modulePushCmd) Run(ctx context.Context, s *command.Streams) (err error) {
	push := fieldmark.ModulePush{}
	if push.Module, err = c.Read(s); err != nil {
		return err
	}
	if push.Signature, err = readSignature(c.File); err != nil {
		return err
	}
	call := func(api *client.Client) (fieldmark.ModuleRecord, error) { return api.PushModule(ctx, push) }
	if c.JSON {
		return runJSON(c, s, call)
	}
	return run(c, call, func(m fieldmark.ModuleRecord) error {
		return printf(s, "stored %s %s as %s (%s)\n", m.Name, m.Version, m.Digest, m.State)
	})
}

// readSignature reads FILE.sig. It returns nil if the file does not exist.
func readSignature(path string) (*fieldmark.ModuleSignature, error) {
	raw, err := os.ReadFile(path + author.SignatureSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	signature := new(fieldmark.ModuleSignature)
	if err := json.Unmarshal(raw, signature); err != nil {
		return nil, fmt.Errorf("%s: %w", path+author.SignatureSuffix, err)
	}
	return signature, nil
}

type moduleListCmd struct {
	adminFlags `embed:""`
	JSON       bool `name:"json" help:"Print the list as JSON."`
}

// Run prints a line for each module.
func (c *moduleListCmd) Run(ctx context.Context, s *command.Streams) error {
	call := func(api *client.Client) ([]fieldmark.ModuleRecord, error) { return api.Modules(ctx) }
	if c.JSON {
		return runJSON(c, s, call)
	}
	return run(c, call, func(modules []fieldmark.ModuleRecord) error {
		t := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "DIGEST\tNAME\tVERSION\tSTATE\tBYTES\tUPLOADED\tSIGNED BY")
		for i := range modules {
			m := &modules[i]
			signer := "-"
			if m.Signature != nil {
				signer = string(m.Signature.Key)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", short(m.Digest), m.Name, m.Version, m.State, m.Bytes,
				m.CreatedAt, signer)
		}
		return t.Flush()
	})
}

// digestPrefix begins every digest.
const digestPrefix = "sha256:"

// short returns the first characters of a digest: enough to name a module.
func short(d fieldmark.Digest) string { return strings.TrimPrefix(string(d), digestPrefix)[:12] }

type moduleShowCmd struct{ moduleFlags }

// Run prints the module.
func (c *moduleShowCmd) Run(ctx context.Context, s *command.Streams) error {
	api, digest, err := c.find(ctx)
	if err != nil {
		return err
	}
	module, err := api.ModuleRecord(ctx, digest)
	if err != nil {
		return err
	}
	return s.PrintJSON(module)
}

type modulePreviewCmd struct {
	moduleFlags
	JSON bool `name:"json" help:"Print the comparison as JSON."`
}

// Help is printed below the flags.
func (modulePreviewCmd) Help() string {
	return `The origin scores every brand in the background with this module and with the active
one. Readers see no change. If you interrupt the command, run it again to continue.

Where studies of answers can be ranked, it also shows how the scores of both modules are
associated with the measured citation rates: over all studies (seen: the author could have
looked at them), and over those that began after the upload (held out by time).`
}

// previewPollInterval is the time between two requests for the progress of a preview.
const previewPollInterval = 200 * time.Millisecond

// Run starts a preview, prints its progress and then its result.
func (c *modulePreviewCmd) Run(ctx context.Context, s *command.Streams) error {
	api, digest, err := c.find(ctx)
	if err != nil {
		return err
	}
	p, err := api.PreviewModule(ctx, digest, true)
	for printed := -1; err == nil && (p.State == fieldmark.PreviewWaiting || p.State == fieldmark.PreviewRunning); {
		if p.Done != printed {
			printed = p.Done
			fmt.Fprintf(s.Err, "%s: %d of %d brands\n", p.State, p.Done, p.Total)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(previewPollInterval):
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
		return s.PrintJSON(p)
	}
	return author.PrintComparison(s.Out, p.Result)
}

type moduleActivateCmd struct {
	moduleFlags
	Canary string `placeholder:"N%" help:"Activate the module as a canary for this share of the brands, 1% to 99%."`
}

// Help is printed below the flags.
func (moduleActivateCmd) Help() string {
	return `Every edge compiles and tests the module in the background and then switches to it; no
request waits or fails. An edge on which the module fails five times within a minute
switches back by itself.

With --canary the module scores a share of the brands, the same on every edge. Their
score documents say so, and rankings keep using the active module. The brands of a
smaller share are part of every larger share; rollback ends the canary.`
}

// Run activates a module.
func (c *moduleActivateCmd) Run(ctx context.Context, s *command.Streams) error {
	percent := 100
	if c.Canary != "" {
		if n, err := fmt.Sscanf(strings.TrimSuffix(c.Canary, "%"), "%d", &percent); n != 1 || err != nil ||
			percent < 1 || percent > 99 {
			return fmt.Errorf("--canary %s: want a share of 1%% to 99%%", c.Canary)
		}
	}
	api, digest, err := c.find(ctx)
	if err != nil {
		return err
	}
	plan, err := api.ActivateModule(ctx, digest, percent)
	if err != nil {
		return err
	}
	if p, err := api.PreviewModule(ctx, digest, false); err == nil && p.Result != nil {
		printPreviewWarnings(s.Err, p.Result)
	}
	return printPlan(s.Out, plan)
}

// printPreviewWarnings prints the problems that the module's last preview found.
func printPreviewWarnings(w io.Writer, r *fieldmark.ModuleComparison) {
	if r.Faults > 0 {
		fmt.Fprintf(w, "warning: in the preview it could not score %d of %d brands, the first: %s\n", r.Faults,
			r.Brands, r.FirstFault)
	}
	if r.DirectionsBroken > 0 {
		fmt.Fprintf(w, "warning: in the preview the score of %d of %d brands moved against a declared direction, "+
			"the first: %s\n",
			r.DirectionsBroken, r.Brands, r.FirstDirection)
	}
}

func printPlan(w io.Writer, p fieldmark.ModulePlan) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "active\t%s %s\t%s\n", p.Name, p.Version, short(p.Digest))
	if c := p.Canary; c != nil {
		fmt.Fprintf(t, "canary for %d %%\t%s %s\t%s\n", c.Percent, c.Name, c.Version, short(c.Digest))
	}
	if b := p.Previous; b != nil {
		fmt.Fprintf(t, "previous\t%s %s\t%s\n", b.Name, b.Version, short(b.Digest))
	}
	return t.Flush()
}

type moduleRollbackCmd struct{ adminFlags }

// Run undoes the last activation.
func (c *moduleRollbackCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.ModulePlan, error) { return api.RollBackModule(ctx) },
		func(p fieldmark.ModulePlan) error { return printPlan(s.Out, p) })
}

type moduleStatusCmd struct {
	adminFlags `embed:""`
	JSON       bool `name:"json" help:"Print the status as JSON."`
}

// Run prints the active modules and the state of each edge.
func (c *moduleStatusCmd) Run(ctx context.Context, s *command.Streams) error {
	call := func(api *client.Client) (fieldmark.ModuleStatus, error) { return api.ModuleStatus(ctx) }
	if c.JSON {
		return runJSON(c, s, call)
	}
	return run(c, call, func(status fieldmark.ModuleStatus) error {
		if err := printPlan(s.Out, status.Plan); err != nil {
			return err
		}
		if f := status.HeldOut; f != nil {
			fmt.Fprintln(s.Out, strings.Replace(author.ForetellingText(f), "\t", ": ", 1))
		}
		t := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "\nEDGE\tMODULE\tGENERATION\tCANARY\tSEEN\tPROBLEM")
		for i := range status.Nodes {
			printNode(t, &status.Nodes[i])
		}
		return t.Flush()
	})
}

// printNode prints the state of an edge as one line of a table.
func printNode(w io.Writer, n *fieldmark.NodeReport) {
	module, canary, problem := "-", "-", n.Error
	if n.Module.Digest != "" {
		module = n.Module.Version + " " + short(n.Module.Digest)
	}
	if n.Canary != nil {
		canary = fmt.Sprintf("%s %d %%", short(n.Canary.Digest), n.Canary.Percent)
	}
	if r := n.RolledBack; r != nil {
		problem = cmp.Or(problem, fmt.Sprintf("rolled back %s at %s: %s", short(r.From.Digest), r.At, r.Error))
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", n.Address, module, n.Generation, canary, n.SeenAt, problem)
}
