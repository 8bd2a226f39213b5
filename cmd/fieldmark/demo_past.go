package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/demo"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// pastAudits is how many sites of the past are audited at once: the work is
// all ours, and more than there are processors only wait for each other.
const pastAudits = 8

// auditPast audits the earlier editions of the demo web for the brands that are
// not on record yet, so that their history is one of audits, as everybody's is.
// It returns the facts of each, oldest first.
func auditPast(ctx context.Context, svc *origin.Service, base func(demo.Site) string) (map[fieldmark.Slug][]fieldmark.Facts, error) {
	var fresh []demo.Site
	for _, site := range demo.Sites() {
		switch _, _, err := svc.BrandState(ctx, site.Slug); {
		case fieldmark.IsCode(err, fieldmark.CodeNotFound):
			fresh = append(fresh, site)
		case err != nil:
			return nil, err
		}
	}
	past := map[fieldmark.Slug][]fieldmark.Facts{}
	if len(fresh) == 0 {
		return past, nil
	}
	for _, ago := range demo.Past() {
		facts, err := auditEdition(ctx, fresh, base, ago)
		if err != nil {
			return nil, fmt.Errorf("audit the demo web of %d days ago: %w", ago, err)
		}
		for i, site := range fresh {
			if facts[i].Pages > 0 { // a site that is not there has no past to tell of
				past[site.Slug] = append(past[site.Slug], facts[i])
			}
		}
	}
	return past, nil
}

// auditEdition serves an edition on a port of its own for as long as it takes to
// audit it under the names and addresses of today.
func auditEdition(ctx context.Context, sites []demo.Site, base func(demo.Site) string, ago int) ([]fieldmark.Facts, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	connect := map[string]string{}
	for _, site := range sites {
		u, err := url.Parse(base(site))
		if err != nil {
			return nil, err
		}
		connect[u.Host] = ln.Addr().String()
	}
	outbound := safehttp.New(safehttp.Config{Allow: loopback(), ConnectTo: connect})
	defer outbound.CloseIdle()
	auditor, err := audit.New(audit.Config{HTTP: outbound, Delay: -1})
	if err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(ctx)
	var served errgroup.Group
	served.Go(func() error { return serveHTTP(serving, demo.Edition(base, ago), ln) })
	day := time.Now().AddDate(0, 0, -ago)
	facts := make([]fieldmark.Facts, len(sites))
	g, auditing := errgroup.WithContext(ctx)
	g.SetLimit(pastAudits)
	for i, site := range sites {
		g.Go(func() (err error) {
			facts[i], err = auditor.Audit(auditing, audit.Subject{URL: base(site) + "/", Name: site.Name, Language: site.Language, AsOf: day}, nil)
			return err
		})
	}
	err = g.Wait()
	stop()
	if stopped := served.Wait(); err == nil {
		err = stopped
	}
	return facts, err
}

// auditedAt is when the audit was made that an event tells of.
func auditedAt(ev fieldmark.Event) (fieldmark.Time, error) {
	var told struct {
		AsOf fieldmark.Time `json:"asOf"`
	}
	if err := json.Unmarshal(ev.Data, &told); err != nil {
		return told.AsOf, fmt.Errorf("event %s: %w", ev.ID, err)
	}
	return told.AsOf, nil
}
