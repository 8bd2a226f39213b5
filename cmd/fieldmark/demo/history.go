package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// maxHistoryAudits is the number of concurrent audits of earlier editions. The audited
// sites run in this process, so more audits would only compete for the same cores.
const maxHistoryAudits = 8

// Networks returns the loopback networks, which contain the demo's websites and the
// receivers of its webhooks.
func Networks() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// auditHistory audits the earlier editions of the websites of brands that are not
// registered yet, so that their history consists of real audits. It returns the facts of
// each brand, oldest first.
func (s *Seeder) auditHistory(ctx context.Context) (map[fieldmark.Slug][]fieldmark.Facts, error) {
	var added []Site
	for _, site := range sites {
		switch _, _, err := s.Service.Brands.State(ctx, site.Slug); {
		case fieldmark.IsCode(err, fieldmark.CodeNotFound):
			added = append(added, site)
		case err != nil:
			return nil, err
		}
	}
	history := map[fieldmark.Slug][]fieldmark.Facts{}
	if len(added) == 0 {
		return history, nil
	}
	for _, ago := range Past() {
		facts, err := auditEdition(ctx, added, s.SiteURL, ago)
		if err != nil {
			return nil, fmt.Errorf("audit the demo websites of %d days ago: %w", ago, err)
		}
		for i, site := range added {
			if facts[i].Pages > 0 { // an unreachable site has no history
				history[site.Slug] = append(history[site.Slug], facts[i])
			}
		}
	}
	return history, nil
}

// auditEdition serves an edition on a free port while it audits the edition's sites
// under their current URLs.
func auditEdition(ctx context.Context, sites []Site, siteURL func(Site) string, ago int) (facts []fieldmark.Facts,
	err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	connect := map[string]string{}
	for _, site := range sites {
		u, err := url.Parse(siteURL(site))
		if err != nil {
			return nil, errors.Join(err, ln.Close())
		}
		connect[u.Host] = ln.Addr().String()
	}
	srv := &http.Server{Handler: Edition(siteURL, ago), ReadHeaderTimeout: time.Minute}
	var serving errgroup.Group
	serving.Go(func() error { return srv.Serve(ln) })
	defer func() {
		_ = srv.Close() // every audit has ended
		if serr := serving.Wait(); !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
	}()
	outbound := safehttp.New(safehttp.Config{Allow: Networks(), ConnectTo: connect})
	defer outbound.CloseIdle()
	auditor, err := audit.New(audit.Config{HTTP: outbound, Delay: -1})
	if err != nil {
		return nil, err
	}
	day := time.Now().AddDate(0, 0, -ago)
	facts = make([]fieldmark.Facts, len(sites))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxHistoryAudits)
	for i, site := range sites {
		g.Go(func() error {
			report, err := auditor.Audit(ctx, audit.Subject{
				URL: siteURL(site) + "/", Name: site.Name, Language: site.Language, AsOf: day}, nil)
			facts[i] = report.Facts
			return err
		})
	}
	return facts, g.Wait()
}

// auditTime returns the date of the audit that a brand.audited event reports.
func auditTime(ev fieldmark.Event) (fieldmark.Time, error) {
	var data struct {
		AsOf fieldmark.Time `json:"asOf"`
	}
	if err := json.Unmarshal(ev.Data, &data); err != nil {
		return data.AsOf, fmt.Errorf("event %s: %w", ev.ID, err)
	}
	return data.AsOf, nil
}
