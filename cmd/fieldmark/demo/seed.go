package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/client"
)

// AuditDelay is the pause between two requests of an audit. The audited sites run in
// the same process, so it only has to keep the machine responsive.
const AuditDelay = 20 * time.Millisecond

// Seeder fills a running Fieldmark with the demo.
type Seeder struct {
	Service   *origin.Service
	SiteURL   func(Site) string // as for Handler
	Data      string            // the data folder, which gets demo.json
	Out       io.Writer         // the terminal
	Transport http.RoundTripper // to the edge; nil: a pooled transport
}

// Seed registers the demo's brands, requests an audit for each brand without facts,
// and creates an administrator and keys on the first start. It prints what to try next
// and then a line for each audit that ends. addresses holds the URLs and the node token
// of the running process.
func (s *Seeder) Seed(ctx context.Context, addresses Access) error {
	a, first, err := s.credentials(ctx)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	a.BaseURL, a.OriginURL = addresses.BaseURL, addresses.OriginURL
	a.DebugURL, a.NodeToken = addresses.DebugURL, addresses.NodeToken
	if err := a.write(s.Data); err != nil {
		return err
	}
	pending, err := s.register(ctx)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := s.importStudies(ctx); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	printBanner(s.Out, a, first, s.Data)
	return s.reportAudits(ctx, a.BaseURL, pending)
}

// credentials returns the credentials of an earlier start, or creates them and reports
// that this is the first start.
func (s *Seeder) credentials(ctx context.Context) (a *Access, first bool, err error) {
	if a, err = ReadAccess(s.Data); err != nil {
		return nil, false, err
	}
	if a != nil {
		if _, err := s.Service.Access.Keys.Authenticate(ctx, a.APIKey, access.Caller{}); err == nil {
			return a, false, nil
		}
	}
	a = &Access{AdminUser: "admin", AdminPassword: rand.Text()}
	if err := s.Service.Access.Admins.SetPassword(ctx, a.AdminUser, a.AdminPassword); err != nil {
		return nil, false, err
	}
	key, err := s.Service.Access.Keys.Create(ctx, access.DefaultAccount,
		fieldmark.KeyRequest{Name: "demo", Agent: fieldmark.AgentWrite, Scopes: []fieldmark.Scope{
			fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead, fieldmark.ScopeMissionUpdate,
			fieldmark.ScopeMissionCancel, fieldmark.ScopeMissionOperate, fieldmark.ScopeWebhookManage}})
	if err != nil {
		return nil, false, err
	}
	adminKey, err := s.Service.Access.Keys.Create(ctx, access.DefaultAccount, fieldmark.KeyRequest{
		Name: "demo command line", Scopes: []fieldmark.Scope{fieldmark.ScopeAdmin}})
	if err != nil {
		return nil, false, err
	}
	a.APIKey, a.AdminKey = key.Token, adminKey.Token
	return a, true, nil
}

// register registers the demo's brands and requests an audit for each brand that is
// new, has moved or was never audited. It returns the names of these brands.
func (s *Seeder) register(ctx context.Context) (map[fieldmark.Slug]string, error) {
	pending := map[fieldmark.Slug]string{}
	history, err := s.auditHistory(ctx)
	if err != nil {
		return nil, err
	}
	for _, site := range sites {
		_, changed, err := s.Service.Brands.Put(ctx, fieldmark.Brand{
			Slug: site.Slug, Name: site.Name, URL: s.SiteURL(site) + "/", Niche: site.Niche,
			Language: site.Language, Description: site.Description, Public: true,
		})
		if err != nil {
			return nil, fmt.Errorf("register %s: %w", site.Slug, err)
		}
		for _, facts := range history[site.Slug] {
			if _, err := s.Service.Brands.PutFacts(ctx, site.Slug, facts); err != nil {
				return nil, err
			}
		}
		state, _, err := s.Service.Brands.State(ctx, site.Slug)
		if err != nil {
			return nil, err
		}
		if state.Facts != nil && !changed && len(history[site.Slug]) == 0 {
			continue
		}
		if err := s.Service.Brands.Audits.Request(ctx, site.Slug); err != nil {
			return nil, fmt.Errorf("request an audit of %s: %w", site.Slug, err)
		}
		pending[site.Slug] = site.Name
	}
	return pending, nil
}

// maxEventAge separates the audits that Seed requested from those of earlier editions,
// whose dates are at least a week ago.
const maxEventAge = 24 * time.Hour

// reportAudits prints a line for each pending audit that ends, with the score that the
// edge then serves.
func (s *Seeder) reportAudits(ctx context.Context, base string, pending map[fieldmark.Slug]string) error {
	if len(pending) == 0 {
		fmt.Fprintln(s.Out, "Every brand was audited before.")
		return nil
	}
	edge, err := client.New(client.Config{BaseURL: base, Transport: s.Transport})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "Auditing %d brands over HTTP. The pages fill in as audits finish.\n", len(pending))
	after, all := int64(0), len(pending)
	for len(pending) > 0 {
		page, err := s.Service.Events.After(ctx, fieldmark.EventCursor{Number: after}, time.Second, 0)
		if err != nil {
			return unlessDone(ctx, err)
		}
		for _, ev := range page.Events {
			after = ev.Number
			name, ok := pending[ev.Brand]
			if ev.Type != fieldmark.EventBrandAudited || !ok {
				continue
			}
			asOf, err := auditTime(ev)
			if err != nil {
				return err
			}
			if time.Since(asOf.Std()) > maxEventAge {
				continue
			}
			score, err := waitForScore(ctx, edge, ev.Brand, asOf)
			if err != nil {
				return unlessDone(ctx, err)
			}
			delete(pending, ev.Brand)
			fmt.Fprintf(s.Out, "  %2d of %d  %s  %s\n", all-len(pending), all, scoreText(score), name)
		}
	}
	fmt.Fprintln(s.Out, "All audits are done. Press Ctrl-C to stop; the next start keeps all data.")
	return nil
}

// unlessDone drops an error that only says that the process is stopping.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// scorePolls and scorePollInterval bound waitForScore to five seconds. An edge applies
// an event within one.
const (
	scorePolls        = 50
	scorePollInterval = 100 * time.Millisecond
)

// waitForScore polls the edge until it serves the score of an audit.
func waitForScore(ctx context.Context, edge *client.Client, slug fieldmark.Slug, asOf fieldmark.Time) (fieldmark.Score,
	error) {
	for range scorePolls {
		score, err := edge.Score(ctx, slug)
		if err == nil && score.AsOf != nil && !score.AsOf.Std().Before(asOf.Std()) {
			return score, nil
		}
		select {
		case <-ctx.Done():
			return score, ctx.Err()
		case <-time.After(scorePollInterval):
		}
	}
	return fieldmark.Score{}, fmt.Errorf("the edge does not serve the audited score of %s", slug)
}

// scoreText formats a score for a line of the report.
func scoreText(s fieldmark.Score) string {
	if s.Score == nil {
		return fmt.Sprintf("%5s  %-22s", "-", s.Status)
	}
	text := "grade " + string(s.Grade)
	if s.GeoReady {
		text += ", GEO-ready"
	}
	for _, g := range s.Gates {
		text += fmt.Sprintf(", at most %d", g.Limit)
	}
	return fmt.Sprintf("%5s  %-22s", s.Score, text)
}
