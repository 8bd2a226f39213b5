package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/demo"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/client"
)

// demoAuditDelay paces audits of the demo web: it is ours, and nobody waits.
const demoAuditDelay = 20 * time.Millisecond

// demoFacts is demo.json: what a script needs to drive the demo.
type demoFacts struct {
	BaseURL       string `json:"baseUrl"`
	OriginURL     string `json:"originUrl"`
	DebugURL      string `json:"debugUrl"`
	AdminUser     string `json:"adminUser"`
	AdminPassword string `json:"adminPassword"`
	APIKey        string `json:"apiKey"`
	AdminKey      string `json:"adminKey"`
	NodeToken     string `json:"nodeToken"`
}

const (
	demoFile = "demo.json"
	demoLog  = "demo.log"
)

// logToFile moves the log out of the terminal, which in a demo belongs to a
// person.
func (c *serveCmd) logToFile(s *streams) (close func() error, err error) {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(c.Data, demoLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	s.log = newLogger(f, slog.LevelInfo)
	return f.Close, nil
}

// siteBase tells a demo site its address.
func siteBase(ln net.Listener) func(demo.Site) string {
	port := ln.Addr().(*net.TCPAddr).Port
	return func(s demo.Site) string { return "http://" + net.JoinHostPort(s.Host, strconv.Itoa(port)) }
}

// seed registers the demo's brands, has those without facts audited, makes an
// administrator and keys on the first start, and tells the person at the
// terminal what to try.
func (c *serveCmd) seed(ctx context.Context, s *streams, n *originNode, l listeners, token string) error {
	facts, first, err := c.demoFacts(ctx, n.service)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	facts.BaseURL, facts.OriginURL, facts.DebugURL, facts.NodeToken = c.base(l.edge), urlOf(l.origin), urlOf(l.debug), token
	if err := c.writeDemoFacts(facts); err != nil {
		return err
	}
	waiting, err := registerDemo(ctx, n.service, siteBase(l.demo))
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	welcome(s.out, facts, first, c.Data)
	return reportAudits(ctx, s, n.service, facts.BaseURL, waiting)
}

// demoFacts reads what the first start made, or makes it.
func (c *serveCmd) demoFacts(ctx context.Context, svc *origin.Service) (f demoFacts, first bool, err error) {
	raw, err := os.ReadFile(filepath.Join(c.Data, demoFile))
	if err == nil {
		if err := json.Unmarshal(raw, &f); err != nil {
			return f, false, fmt.Errorf("%s: %w", demoFile, err)
		}
		if _, err := svc.Authenticate(ctx, f.APIKey, origin.Caller{}); err == nil {
			return f, false, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return f, false, err
	}
	f = demoFacts{AdminUser: "admin", AdminPassword: rand.Text()}
	if err := svc.SetAdminPassword(ctx, f.AdminUser, f.AdminPassword); err != nil {
		return f, false, err
	}
	key, err := svc.CreateKey(ctx, access.DefaultAccount, fieldmark.KeyRequest{
		Name: "demo", Scopes: []fieldmark.Scope{
			fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead, fieldmark.ScopeMissionUpdate, fieldmark.ScopeMissionCancel, fieldmark.ScopeMissionOperate, fieldmark.ScopeWebhookManage}})
	if err != nil {
		return f, false, err
	}
	adminKey, err := svc.CreateKey(ctx, access.DefaultAccount, fieldmark.KeyRequest{
		Name: "demo command line", Scopes: []fieldmark.Scope{fieldmark.ScopeAdmin}})
	if err != nil {
		return f, false, err
	}
	f.APIKey, f.AdminKey = key.Token, adminKey.Token
	return f, true, nil
}

// writeDemoFacts replaces demo.json whole; only its owner may read it.
func (c *serveCmd) writeDemoFacts(f demoFacts) error {
	raw, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(c.Data, demoFile)
	if err := os.WriteFile(path+".new", append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", demoFile, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write %s: %w", demoFile, err)
	}
	return nil
}

// registerDemo puts the demo's brands on record and queues an audit for each
// that is new, moved, or was never audited. It returns which it waits for.
func registerDemo(ctx context.Context, svc *origin.Service, base func(demo.Site) string) (map[fieldmark.Slug]string, error) {
	waiting := map[fieldmark.Slug]string{}
	past, err := auditPast(ctx, svc, base)
	if err != nil {
		return nil, err
	}
	for _, site := range demo.Sites() {
		_, changed, err := svc.PutBrand(ctx, fieldmark.Brand{
			Slug: site.Slug, Name: site.Name, URL: base(site) + "/", Niche: site.Niche,
			Language: site.Language, Description: site.Description, Public: true,
		})
		if err != nil {
			return nil, fmt.Errorf("register %s: %w", site.Slug, err)
		}
		for _, facts := range past[site.Slug] {
			if _, err := svc.RecordFacts(ctx, site.Slug, facts); err != nil {
				return nil, err
			}
		}
		state, _, err := svc.BrandState(ctx, site.Slug)
		if err != nil {
			return nil, err
		}
		if state.Facts != nil && !changed && len(past[site.Slug]) == 0 {
			continue
		}
		if err := svc.RequestAudit(ctx, site.Slug); err != nil {
			return nil, fmt.Errorf("queue the audit of %s: %w", site.Slug, err)
		}
		waiting[site.Slug] = site.Name
	}
	return waiting, nil
}

// reportAudits prints a line as each audit ends, with the score the edge then
// shows, until none is waited for.
func reportAudits(ctx context.Context, s *streams, svc *origin.Service, base string, waiting map[fieldmark.Slug]string) error {
	if len(waiting) == 0 {
		fmt.Fprintln(s.out, "Every brand was audited before; nothing to wait for.")
		return nil
	}
	edge, err := client.New(client.Config{BaseURL: base})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Auditing %d brands over HTTP; the pages fill while you look.\n", len(waiting))
	after, all := int64(0), len(waiting)
	for len(waiting) > 0 {
		page, err := svc.Events.After(ctx, fieldmark.EventCursor{Number: after}, time.Second, 0)
		if err != nil {
			return ctxDone(ctx, err)
		}
		for _, ev := range page.Events {
			after = ev.Number
			name, ok := waiting[ev.Brand]
			if ev.Type != fieldmark.EventBrandAudited || !ok {
				continue
			}
			asOf, err := auditedAt(ev)
			if err != nil {
				return err
			}
			if time.Since(asOf.Std()) > 24*time.Hour {
				continue // of an earlier edition
			}
			score, err := scoreAt(ctx, edge, ev.Brand, asOf)
			if err != nil {
				return ctxDone(ctx, err)
			}
			delete(waiting, ev.Brand)
			fmt.Fprintf(s.out, "  %2d of %d  %s  %s\n", all-len(waiting), all, inWords(score), name)
		}
	}
	fmt.Fprintln(s.out, "All audited. Stop with Ctrl-C; a second start keeps everything.")
	return nil
}

// ctxDone turns what a stopping process runs into to into a quiet end.
func ctxDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// scoreAt asks the edge until it shows the audit; the edge follows within a
// second.
func scoreAt(ctx context.Context, edge *client.Client, slug fieldmark.Slug, since fieldmark.Time) (fieldmark.Score, error) {
	for range 50 {
		score, err := edge.Score(ctx, slug)
		if err == nil && score.AsOf != nil && !score.AsOf.Std().Before(since.Std()) {
			return score, nil
		}
		select {
		case <-ctx.Done():
			return score, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fieldmark.Score{}, fmt.Errorf("the edge does not show the audit of %s", slug)
}

// inWords says a score in a line that begins with a column of numbers.
func inWords(s fieldmark.Score) string {
	if s.Score == nil {
		return fmt.Sprintf("%5s  %-22s", "-", s.Status)
	}
	words := "grade " + string(s.Grade)
	if s.GeoReady {
		words += ", GEO-ready"
	}
	for _, g := range s.Gates {
		words += fmt.Sprintf(", at most %d", g.Limit)
	}
	return fmt.Sprintf("%5s  %-22s", s.Score, words)
}
