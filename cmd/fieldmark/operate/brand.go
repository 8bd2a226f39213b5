package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// BrandCmd manages brands.
type BrandCmd struct {
	Add    brandAddCmd    `cmd:"" help:"Register a brand, or change it."`
	Import brandImportCmd `cmd:"" help:"Register the brands in a JSON file."`
	List   brandListCmd   `cmd:"" help:"List brands."`
	Show   brandShowCmd   `cmd:"" help:"Show a brand, suspected manipulation on its site, and open disputes."`
	Audit  brandAuditCmd  `cmd:"" help:"Request an audit of a registered brand."`
	Audits brandAuditsCmd `cmd:"" help:"List running audits with their progress, and pending audits."`
	Rename brandRenameCmd `cmd:"" help:"Change a brand's slug; the old slug redirects to the new one."`
	Alias  brandAliasCmd  `cmd:"" help:"Set the aliases of a brand: other slugs that redirect to it."`
	Remove brandRemoveCmd `cmd:"" help:"Remove a brand from every edge at once."`

	Claim   brandClaimCmd   `cmd:"" help:"List, show and revoke the claims of brands by their owners."`
	Request brandRequestCmd `cmd:"" help:"List and decide changes of brands that their owners request."`
	Dispute brandDisputeCmd `cmd:"" help:"List and decide disputes of findings about brands."`
}

type brandAddCmd struct {
	adminFlags  `embed:""`
	Name        string `arg:"" help:"Name of the brand."`
	Site        string `arg:"" help:"Website: an absolute http or https URL."`
	Slug        string `help:"Slug; derived from the name if unset."`
	Niche       string `default:"general" help:"Line of business: a-z, 0-9 and hyphens."`
	Language    string `default:"en" help:"Language of the website (BCP 47)."`
	Description string `help:"Description, in one or two sentences."`
	Private     bool   `help:"Keep the brand off the leaderboard."`
	Audit       bool   `help:"Request an audit." default:"true" negatable:""`
}

// Run registers the brand.
func (c *brandAddCmd) Run(ctx context.Context, s *command.Streams) error {
	slug, err := fieldmark.ParseSlug(cmp.Or(c.Slug, slugify(c.Name)))
	if err != nil {
		return fmt.Errorf("--slug: %w", err)
	}
	return run(c, func(api *client.Client) (fieldmark.Brand, error) {
		b, err := api.PutBrand(ctx, fieldmark.Brand{
			Slug: slug, Name: c.Name, URL: c.Site, Niche: c.Niche, Language: c.Language,
			Description: c.Description, Public: !c.Private,
		})
		if err == nil && c.Audit {
			err = api.RequestAudit(ctx, b.Slug)
		}
		return b, err
	}, func(b fieldmark.Brand) error { return printf(s, "%s is registered\n", b.Slug) })
}

type brandListCmd struct {
	adminFlags `embed:""`
	Limit      int `default:"0" help:"Maximum number of brands; 0 lists all."`
}

// Run prints a line for each brand.
func (c *brandListCmd) Run(ctx context.Context, s *command.Streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	left := c.Limit
	return eachBrand(ctx, api, func(b *fieldmark.Brand) (more bool) {
		fmt.Fprintf(s.Out, "%-32s %-24s %-6s %s  %s\n", b.Slug, b.Niche, b.Language, b.URL, b.Name)
		left--
		return left != 0
	})
}

// brandPage is the number of brands in one request: the most that the API returns.
const brandPage = 200

// eachBrand calls fn for each brand, in the order of slugs, until it returns false.
func eachBrand(ctx context.Context, api *client.Client, fn func(*fieldmark.Brand) (more bool)) error {
	for after := fieldmark.Slug(""); ; {
		page, err := api.Brands(ctx, after, brandPage)
		if err != nil {
			return err
		}
		for i := range page.Data {
			if after = page.Data[i].Slug; !fn(&page.Data[i]) {
				return nil
			}
		}
		if !page.HasMore {
			return nil
		}
	}
}

// brandFlags name one brand.
type brandFlags struct {
	adminFlags `embed:""`
	Slug       string `arg:"" help:"Slug of the brand."`
}

// connectBrand returns a client and the parsed slug.
func (f *brandFlags) connectBrand() (*client.Client, fieldmark.Slug, error) {
	slug, err := fieldmark.ParseSlug(f.Slug)
	if err != nil {
		return nil, "", err
	}
	api, err := f.connect()
	return api, slug, err
}

type brandAuditCmd struct {
	brandFlags `embed:""`
	Wait       bool `help:"Show the progress of the audit and wait for its end."`
}

// Run requests the audit.
func (c *brandAuditCmd) Run(ctx context.Context, s *command.Streams) error {
	api, slug, err := c.connectBrand()
	if err != nil {
		return err
	}
	if err := api.RequestAudit(ctx, slug); err != nil {
		return err
	}
	if c.Wait {
		return waitForAudit(ctx, s, api, slug)
	}
	return printf(s, "%s will be audited\n", slug)
}

type brandRenameCmd struct {
	brandFlags `embed:""`
	To         string `arg:"" help:"New slug."`
}

// Run changes the slug.
func (c *brandRenameCmd) Run(ctx context.Context, s *command.Streams) error {
	to, err := fieldmark.ParseSlug(c.To)
	if err != nil {
		return err
	}
	api, from, err := c.connectBrand()
	if err != nil {
		return err
	}
	b, err := api.RenameBrand(ctx, from, to)
	if err != nil {
		return err
	}
	return printf(s, "%s is now %s; the old address redirects to the new one\n", from, b.Slug)
}

type brandAliasCmd struct {
	brandFlags `embed:""`
	Aliases    []string `arg:"" optional:"" help:"Aliases that replace the present ones; none removes all."`
}

// Run sets the aliases.
func (c *brandAliasCmd) Run(ctx context.Context, s *command.Streams) error {
	var aliases []fieldmark.Slug
	for _, a := range c.Aliases {
		alias, err := fieldmark.ParseSlug(a)
		if err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
		aliases = append(aliases, alias)
	}
	api, slug, err := c.connectBrand()
	if err != nil {
		return err
	}
	if aliases, err = api.SetAliases(ctx, slug, aliases); err != nil {
		return err
	}
	names := make([]string, len(aliases))
	for i, a := range aliases {
		names[i] = string(a)
	}
	return printf(s, "aliases of %s: %s\n", slug, cmp.Or(strings.Join(names, ", "), "none"))
}

type brandRemoveCmd struct {
	brandFlags `embed:""`
	Yes        bool `help:"Confirm that the brand's facts, history and samples are deleted too."`
}

// Run removes the brand.
func (c *brandRemoveCmd) Run(ctx context.Context, s *command.Streams) error {
	if !c.Yes {
		return command.WithStatus(command.StatusUsage,
			errors.New("this deletes the brand with its facts, history and samples; "+
				"confirm with --yes. To hide the brand only: fieldmark brand add --private"))
	}
	api, slug, err := c.connectBrand()
	if err != nil {
		return err
	}
	if err := api.DeleteBrand(ctx, slug); err != nil {
		return err
	}
	return printf(s, "%s is removed\n", slug)
}

type brandAuditsCmd struct {
	adminFlags `embed:""`
}

// Run prints a line for each audit.
func (c *brandAuditsCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) ([]fieldmark.AuditRun, error) { return api.Audits(ctx) },
		func(runs []fieldmark.AuditRun) error {
			for _, a := range runs {
				state := "pending until " + a.DueAt.String()
				if a.Running {
					state = "running: " + cmp.Or(a.Step, "starting")
				}
				if err := printf(s, "%-32s attempt %d  %s\n", a.Brand, max(a.Attempts, 1), state); err != nil {
					return err
				}
			}
			return nil
		})
}

// auditPollInterval is the time between two requests for the progress of an audit.
const auditPollInterval = time.Second

// waitForAudit prints the progress of a brand's audit until the audit has ended.
func waitForAudit(ctx context.Context, s *command.Streams, api *client.Client, slug fieldmark.Slug) error {
	printed := ""
	for {
		runs, err := api.Audits(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(runs, func(a fieldmark.AuditRun) bool { return a.Brand == slug })
		if i < 0 {
			return printf(s, "%s is audited\n", slug)
		}
		if failure := runs[i].Failure; failure != "" {
			return fmt.Errorf("the audit of %s failed: %s", slug, failure)
		}
		if step := cmp.Or(runs[i].Step, "pending"); step != printed {
			fmt.Fprintln(s.Err, "  …", step)
			printed = step
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(auditPollInterval):
		}
	}
}
