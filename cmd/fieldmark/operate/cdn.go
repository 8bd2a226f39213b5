package operate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// CDNCmd manages the purges of CDNs in front of the edges.
type CDNCmd struct {
	List   cdnListCmd   `cmd:"" help:"List CDNs, how far they are purged, their probes and what failed."`
	Add    cdnAddCmd    `cmd:"" help:"Purge a CDN from now on, or replace the settings of one."`
	Test   cdnTestCmd   `cmd:"" help:"Send a CDN a purge of what nothing has, and a probe."`
	Purge  cdnPurgeCmd  `cmd:"" help:"Purge everything from a CDN; not of trafficserver or nginx."`
	Remove cdnRemoveCmd `cmd:"" help:"Stop purging a CDN."`
}

type cdnListCmd struct {
	adminFlags `embed:""`
}

// Run prints a line for each CDN, and others for what failed.
func (c *cdnListCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) ([]fieldmark.CDN, error) { return api.CDNs(ctx) },
		func(list []fieldmark.CDN) error {
			for i := range list {
				if err := printCDN(s, &list[i]); err != nil {
					return err
				}
			}
			return nil
		})
}

func printCDN(s *command.Streams, c *fieldmark.CDN) error {
	where := strings.Join(c.URLs, " ")
	if c.Zone != "" {
		where = strings.TrimSpace(c.Zone + " " + where)
	}
	err := printf(s, "%-20s %-8s event %d, %d s behind  %s  %s\n", c.Name, c.State, c.Event, c.LagSeconds, c.Kind,
		where)
	if err == nil && c.LastError != "" {
		err = printf(s, "  %s\n", c.LastError)
	}
	if err == nil && c.Probe != nil {
		err = printProbe(s, c.Probe)
	}
	if err == nil && c.EmptiedAt != nil {
		what := "purged of everything"
		if c.Kind.ByAddress() {
			what = "could not be purged of everything"
		}
		err = printf(s, "  %s at %s: %s\n", what, c.EmptiedAt, c.EmptiedFor)
	}
	return err
}

// printProbe prints the state of probes and the last one.
func printProbe(s *command.Streams, p *fieldmark.CDNProbe) error {
	last := "none yet"
	switch {
	case p.At != nil && p.Error != "":
		last = p.At.String() + " " + p.Error
	case p.At != nil:
		last = fmt.Sprintf("%s the badge of %s is that of an edge", p.At, p.Brand)
	}
	return printf(s, "  probes %s since %s; last: %s\n", p.State, p.Since, last)
}

type cdnAddCmd struct {
	adminFlags `embed:""`
	Name       string `arg:"" help:"Name of the CDN."`

	Kind string `required:"" help:"varnish, varnish_ban, fastly, cloudflare, template, trafficserver or nginx."`

	URL       []string          `name:"at" sep:"none" help:"Address of a cache or template; repeatable."`
	Zone      string            `placeholder:"ID" help:"Service of Fastly, or zone of Cloudflare."`
	Plan      string            `help:"Plan of Cloudflare: free, pro, business or enterprise."`
	Account   string            `placeholder:"ID" help:"Account of Cloudflare, whose zones share its limits."`
	Public    string            `help:"URL of the site through the CDN, for probes; without it, not probed."`
	Seconds   int               `placeholder:"N" help:"Lifetime of badges there while all CDNs are verified; 3600."`
	TokenFile string            `type:"existingfile" help:"File with the token, which is never shown."`
	Method    string            `help:"Method of a template."`
	Header    map[string]string `mapsep:"none" help:"Field of a template, with {keys} or {token}."`
	Body      string            `help:"Body of a template, with {keys} or {keys_json}."`
}

// Run creates or replaces the CDN.
func (c *cdnAddCmd) Run(ctx context.Context, s *command.Streams) error {
	r := fieldmark.CDNRequest{CDNSettings: fieldmark.CDNSettings{Kind: fieldmark.CDNKind(c.Kind), URLs: c.URL,
		Zone: c.Zone, Plan: c.Plan, Account: c.Account, Public: c.Public, Seconds: c.Seconds,
		Method: c.Method, Headers: c.Header, Body: c.Body}}
	if c.TokenFile != "" {
		token, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return err
		}
		r.Token = strings.TrimSpace(string(token))
	}
	return run(c, func(api *client.Client) (fieldmark.CDN, error) { return api.PutCDN(ctx, c.Name, r) },
		func(made fieldmark.CDN) error { return printCDN(s, &made) })
}

type cdnTestCmd struct {
	adminFlags `embed:""`
	Name       string `arg:"" help:"Name of the CDN."`
}

// Run fails if the CDN does not accept the purge.
func (c *cdnTestCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.CDNResult, error) { return api.TestCDN(ctx, c.Name) },
		printCDNResult(s, c.Name+" accepts purges"))
}

type cdnPurgeCmd struct {
	adminFlags `embed:""`
	Name       string `arg:"" help:"Name of the CDN."`
}

// Run fails if the CDN does not accept the purge.
func (c *cdnPurgeCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.CDNResult, error) { return api.PurgeCDN(ctx, c.Name) },
		printCDNResult(s, "everything was purged from "+c.Name))
}

func printCDNResult(s *command.Streams, done string) func(fieldmark.CDNResult) error {
	return func(r fieldmark.CDNResult) error {
		if !r.OK {
			return errors.New(r.Error)
		}
		if err := printf(s, "%s (%d ms)\n", done, r.TookMs); err != nil || r.Probe == nil {
			return err
		}
		if r.Probe.Error != "" {
			return errors.New("a probe failed: " + r.Probe.Error)
		}
		return printProbe(s, r.Probe)
	}
}

type cdnRemoveCmd struct {
	adminFlags `embed:""`
	Name       string `arg:"" help:"Name of the CDN."`
}

// Run removes the CDN.
func (c *cdnRemoveCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (none struct{}, err error) { return none, api.RemoveCDN(ctx, c.Name) },
		func(struct{}) error { return printf(s, "%s is no longer purged\n", c.Name) })
}
