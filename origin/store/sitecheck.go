package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// SiteCheckReader reads checks of sites. They are audits that anyone may request; checks of
// the database itself are in package check.
type SiteCheckReader struct{ querier }

// SiteCheckTx writes checks of sites and what limits them, in a transaction.
type SiteCheckTx struct {
	SiteCheckReader
	*tx
}

// SiteCheckJob is a check that a worker has claimed.
type SiteCheckJob struct {
	ID, URL, Host string
	Attempts      int    // including the current one
	Owner         string // of the lease
}

// siteCheckColumns are those of a check without its report.
const siteCheckColumns = `id, url, host, state, created_at, started_at, finished_at, expires_at, step, steps, requests,
	reason, refused_by, code`

func scanSiteCheck(row scanner) (c fieldmark.SiteCheck, err error) {
	err = row.Scan(&c.ID, &c.URL, &c.Host, &c.State, timeCol{&c.CreatedAt}, nullTime{&c.StartedAt},
		nullTime{&c.FinishedAt}, timeCol{&c.ExpiresAt}, &c.Step, &c.Steps, &c.Requests, &c.Reason, &c.By, &c.Code)
	return c, queryErr(err)
}

// SiteCheck reads a check without its report; the error is ErrNotFound if it is no longer
// kept. A queued check has its position.
func (db SiteCheckReader) SiteCheck(ctx context.Context, id string) (fieldmark.SiteCheck, error) {
	c, err := scanSiteCheck(db.queryRow(ctx, `SELECT `+siteCheckColumns+` FROM site_check WHERE id = $1`, id))
	if err == nil {
		err = db.locate(ctx, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read a check: %w", err)
	}
	return c, nil
}

// locate sets the position of a queued check.
func (db SiteCheckReader) locate(ctx context.Context, c *fieldmark.SiteCheck) error {
	if c.State != fieldmark.SiteCheckQueued {
		return nil
	}
	return queryErr(db.queryRow(ctx, `SELECT COUNT(*) FROM site_check o, site_check c WHERE c.id = $1
		AND o.due_at IS NOT NULL AND o.state = 'queued' AND (o.due_at < c.due_at OR o.due_at = c.due_at AND o.id <= c.id)`,
		c.ID).Scan(&c.Position))
}

// SiteCheckReport reads the report of a check that is done.
func (db SiteCheckReader) SiteCheckReport(ctx context.Context, id string) (*fieldmark.SiteCheckReport, error) {
	var r *fieldmark.SiteCheckReport
	err := db.queryRow(ctx, `SELECT report FROM site_check WHERE id = $1`, id).Scan(jsonCol{&r})
	if err != nil {
		return nil, fmt.Errorf("read the report of a check: %w", queryErr(err))
	}
	return r, nil
}

// RecentSiteCheck reads the newest check of a URL that has not failed and either has not
// ended, was refused, or was done after a time.
func (db SiteCheckReader) RecentSiteCheck(ctx context.Context, url string, after time.Time) (fieldmark.SiteCheck,
	error) {
	c, err := scanSiteCheck(db.queryRow(ctx, `SELECT `+siteCheckColumns+` FROM site_check WHERE url = $1
		AND (state IN ('queued', 'running', 'refused') OR state = 'done' AND finished_at > $2)
		ORDER BY created_at DESC LIMIT 1`, url, after.UnixMicro()))
	if err == nil {
		err = db.locate(ctx, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read a recent check: %w", err)
	}
	return c, nil
}

// CountSiteChecks counts queued and running checks.
func (db SiteCheckReader) CountSiteChecks(ctx context.Context) (waiting, running int, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(CASE WHEN state = 'queued' THEN 1 END), COUNT(CASE WHEN state = 'running'
		THEN 1 END) FROM site_check WHERE due_at IS NOT NULL`).Scan(&waiting, &running)
	if err != nil {
		return 0, 0, fmt.Errorf("count checks: %w", err)
	}
	return waiting, running, nil
}

// BrandAt returns the slug of a public brand whose home page has one of the URLs, "" if
// there is none.
func (db SiteCheckReader) BrandAt(ctx context.Context, urls []string) (slug fieldmark.Slug, err error) {
	args := make([]any, len(urls))
	list := make([]string, len(urls))
	for i, u := range urls {
		args[i], list[i] = u, fmt.Sprintf("$%d", i+1)
	}
	err = queryErr(db.queryRow(ctx, `SELECT slug FROM brand WHERE public = 1 AND url IN (`+strings.Join(list, ", ")+`)
		ORDER BY slug LIMIT 1`, args...).Scan(&slug))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("find the brand of a site: %w", err)
	}
	return slug, nil
}

// AddSiteCheck adds a check. It is due unless it has ended.
func (t SiteCheckTx) AddSiteCheck(ctx context.Context, c fieldmark.SiteCheck) error {
	var due, finished any
	if !c.State.Ended() {
		due = c.CreatedAt.Micros()
	}
	if c.FinishedAt != nil {
		finished = c.FinishedAt.Micros()
	}
	_, err := t.exec(ctx, `INSERT INTO site_check (id, url, host, state, created_at, finished_at, expires_at, due_at,
		reason, refused_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, c.ID, c.URL, c.Host, string(c.State),
		c.CreatedAt.Micros(), finished, c.ExpiresAt.Micros(), due, c.Reason, string(c.By))
	if err != nil {
		return fmt.Errorf("add a check: %w", err)
	}
	t.touched[TopicSiteChecks] = true
	return nil
}

// ClaimSiteChecks leases up to limit due checks to owner. A claim counts as an attempt even
// if the process dies.
func (t SiteCheckTx) ClaimSiteChecks(ctx context.Context, owner string, now, lease time.Time,
	limit int) ([]SiteCheckJob, error) {
	rows, err := t.query(ctx, `UPDATE site_check SET lease_until = $1, lease_owner = $4, attempts = attempts + 1,
			state = 'running', started_at = COALESCE(started_at, $2), step = '', steps = 0, requests = 0
		WHERE id IN (SELECT c.id FROM site_check c WHERE c.due_at <= $2 AND (c.lease_until IS NULL OR c.lease_until <= $2)
			ORDER BY c.due_at, c.id LIMIT $3)
		AND (lease_until IS NULL OR lease_until <= $2)
		RETURNING id, url, host, attempts`, lease.UnixMicro(), now.UnixMicro(), limit, owner)
	list, err := collect(rows, err, func(row scanner) (j SiteCheckJob, err error) {
		j.Owner = owner
		return j, row.Scan(&j.ID, &j.URL, &j.Host, &j.Attempts)
	})
	if err != nil {
		return nil, fmt.Errorf("claim checks: %w", err)
	}
	if len(list) > 0 {
		t.touched[TopicSiteChecks] = true
	}
	return list, nil
}

// UpdateSiteCheckProgress stores how far a check is, if the owner still has its lease.
func (t SiteCheckTx) UpdateSiteCheckProgress(ctx context.Context, id, owner, step string, steps, requests int) error {
	_, err := t.exec(ctx, `UPDATE site_check SET step = $1, steps = $2, requests = $3 WHERE id = $4 AND lease_owner = $5`,
		step, steps, requests, id, owner)
	if err != nil {
		return fmt.Errorf("update the progress of a check: %w", err)
	}
	return nil
}

// EndSiteCheck stores the outcome of a check, unless its lease was lost: state, times,
// counts, and the reason or the report.
func (t SiteCheckTx) EndSiteCheck(ctx context.Context, j SiteCheckJob, c *fieldmark.SiteCheck) error {
	var report any
	if c.Report != nil {
		text, err := jsonText(c.Report)
		if err != nil {
			return fmt.Errorf("encode the report of a check: %w", err)
		}
		report = text
	}
	_, err := t.exec(ctx, `UPDATE site_check SET state = $1, finished_at = $2, due_at = NULL, step = '', steps = $3,
			requests = $4, reason = $5, refused_by = $6, code = $7, report = $8, lease_until = NULL, lease_owner = NULL
		WHERE id = $9 AND lease_owner = $10`, string(c.State), c.FinishedAt.Micros(), c.Steps, c.Requests, c.Reason,
		string(c.By), string(c.Code), report, j.ID, j.Owner)
	if err != nil {
		return fmt.Errorf("end a check: %w", err)
	}
	t.touched[TopicSiteChecks] = true
	return nil
}

// RetrySiteCheck queues a check again whose attempt failed, unless its lease was lost.
func (t SiteCheckTx) RetrySiteCheck(ctx context.Context, j SiteCheckJob, due time.Time) error {
	_, err := t.exec(ctx, `UPDATE site_check SET state = 'queued', lease_until = NULL, lease_owner = NULL, due_at = $1
		WHERE id = $2 AND lease_owner = $3`, due.UnixMicro(), j.ID, j.Owner)
	if err != nil {
		return fmt.Errorf("retry a check: %w", err)
	}
	t.touched[TopicSiteChecks] = true
	return nil
}

// PruneSiteChecks deletes the checks that have expired, and the budgets and pauses that no
// longer limit anything. A check that still runs is deleted after it ends.
func (t SiteCheckTx) PruneSiteChecks(ctx context.Context, now time.Time) error {
	for _, text := range []string{
		`DELETE FROM site_check WHERE expires_at <= $1 AND (lease_until IS NULL OR lease_until <= $1)`,
		`DELETE FROM budget WHERE full_at <= $1`, `DELETE FROM host_pause WHERE next_at <= $1`,
	} {
		if _, err := t.exec(ctx, text, now.UnixMicro()); err != nil {
			return fmt.Errorf("prune checks: %w", err)
		}
	}
	return nil
}
