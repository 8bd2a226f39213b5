package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/client"
)

type brandRenameCmd struct {
	targetSettings `embed:""`
	Slug           string `arg:"" help:"The brand's slug."`
	To             string `arg:"" help:"Its new slug; the old one leads to it."`
}

// Run gives the brand another slug.
func (c *brandRenameCmd) Run(ctx context.Context, s *streams) error {
	from, err := fieldmark.ParseSlug(c.Slug)
	if err != nil {
		return err
	}
	to, err := fieldmark.ParseSlug(c.To)
	if err != nil {
		return err
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	b, err := api.RenameBrand(ctx, from, to)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s is %s now; the old address leads there\n", from, b.Slug)
	return err
}

type brandAliasCmd struct {
	targetSettings `embed:""`
	Slug           string   `arg:"" help:"The brand's slug."`
	Aliases        []string `arg:"" optional:"" help:"Other slugs that lead to it, in place of those that do now; none takes all away."`
}

// Run sets the slugs that lead to the brand.
func (c *brandAliasCmd) Run(ctx context.Context, s *streams) error {
	slug, err := fieldmark.ParseSlug(c.Slug)
	if err != nil {
		return err
	}
	var aliases []fieldmark.Slug
	for _, a := range c.Aliases {
		alias, err := fieldmark.ParseSlug(a)
		if err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
		aliases = append(aliases, alias)
	}
	api, err := c.connect()
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
	_, err = fmt.Fprintf(s.out, "%s is also found as: %s\n", slug, firstOf(strings.Join(names, ", "), "nothing else"))
	return err
}

type brandRemoveCmd struct {
	targetSettings `embed:""`
	Slug           string `arg:"" help:"The brand's slug."`
	Yes            bool   `help:"Do it: its facts, its history and its samples go with it."`
}

// Run takes the brand down.
func (c *brandRemoveCmd) Run(ctx context.Context, s *streams) error {
	slug, err := fieldmark.ParseSlug(c.Slug)
	if err != nil {
		return err
	}
	if !c.Yes {
		return withStatus(2, errors.New("this takes the brand down everywhere, with its facts, its history and its samples; say --yes. To hide it only: fieldmark brand add --private"))
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	if err := api.DeleteBrand(ctx, slug); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s is gone\n", slug)
	return err
}

type brandAuditsCmd struct {
	targetSettings `embed:""`
}

// Run prints a line per audit.
func (c *brandAuditsCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	runs, err := api.Audits(ctx)
	if err != nil {
		return err
	}
	for _, a := range runs {
		state := "waits until " + a.DueAt.String()
		if a.Running {
			state = "runs: " + firstOf(a.Step, "begins")
		}
		fmt.Fprintf(s.out, "%-32s try %d  %s\n", a.Brand, max(a.Attempts, 1), state)
	}
	return nil
}

// auditPoll is how often a person's wait is looked after.
const auditPoll = time.Second

// waitForAudit shows how far a brand's audit has come until it is out of line.
func waitForAudit(ctx context.Context, s *streams, api *client.Client, slug fieldmark.Slug) error {
	said := ""
	for {
		runs, err := api.Audits(ctx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(runs, func(a fieldmark.AuditRun) bool { return a.Brand == slug })
		if at < 0 {
			_, err := fmt.Fprintf(s.out, "%s is audited\n", slug)
			return err
		}
		if why := runs[at].Failure; why != "" {
			return fmt.Errorf("the audit of %s failed: %s", slug, why)
		}
		step := firstOf(runs[at].Step, "waits in line")
		if step != said {
			fmt.Fprintln(s.err, "  …", step)
			said = step
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(auditPoll):
		}
	}
}
