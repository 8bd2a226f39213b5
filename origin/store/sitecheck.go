package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/gcra"
)

// Checks of sites with their budgets, and studies of answers.

// SiteCheckReader reads checks of sites. They are audits that need no key; checks of
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
		AND o.due_at IS NOT NULL AND o.state = 'queued'
		AND (o.due_at < c.due_at OR o.due_at = c.due_at AND o.id <= c.id)`,
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
// no brand has one.
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
// if the process crashes or stops.
func (t SiteCheckTx) ClaimSiteChecks(ctx context.Context, owner string, now, lease time.Time,
	limit int) ([]SiteCheckJob, error) {
	rows, err := t.query(ctx, `UPDATE site_check SET lease_until = $1, lease_owner = $4, attempts = attempts + 1,
			state = 'running', started_at = COALESCE(started_at, $2), step = '', steps = 0, requests = 0
		WHERE id IN (SELECT c.id FROM site_check c WHERE c.due_at <= $2
			AND (c.lease_until IS NULL OR c.lease_until <= $2)
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
	_, err := t.exec(ctx,
		`UPDATE site_check SET step = $1, steps = $2, requests = $3 WHERE id = $4 AND lease_owner = $5`,
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

// RequeueSiteCheck queues a check again that its worker has not begun, unless its lease was
// lost.
func (t SiteCheckTx) RequeueSiteCheck(ctx context.Context, j SiteCheckJob) error {
	_, err := t.exec(ctx, `UPDATE site_check SET state = 'queued', attempts = 0, lease_until = NULL, lease_owner = NULL
		WHERE id = $1 AND lease_owner = $2`, j.ID, j.Owner)
	if err != nil {
		return fmt.Errorf("queue a check again: %w", err)
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

// Budget limits how often something may happen on all origins together: at most Quota times
// in any Window, and at most Burst times at once, from 1 to Quota. It is a generic cell rate
// algorithm, so a budget needs one row, and no refusal writes. Limits that must hold without
// Redis are budgets.
type Budget struct {
	Name   string // unique among all budgets; stored
	Quota  int
	Window time.Duration
	Burst  int
}

// interval is the time in which one use is regained. Burst uses at once and then one per
// interval are Quota in a Window: one interval more would be Quota + 1.
func (b Budget) interval() time.Duration {
	n := time.Duration(b.Quota - b.Burst + 1)
	return (b.Window + n - 1) / n
}

// wait returns how long until a use is allowed, 0 if it is now. fullAt is the time at which
// nothing of the budget is used.
func (b Budget) wait(fullAt, now time.Time) time.Duration {
	return gcra.Wait(fullAt.Sub(now), b.interval(), b.Burst)
}

// BudgetError is the error of a use that a budget does not allow.
type BudgetError struct {
	Budget     Budget
	RetryAfter time.Duration // until all budgets of the use allow it
}

// Error implements error.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("budget %s allows no use for %s", e.Budget.Name, e.RetryAfter)
}

// Spend uses every budget once, or none of them: the error is a *BudgetError of the first
// that does not allow it.
func (t SiteCheckTx) Spend(ctx context.Context, now time.Time, budgets ...Budget) error {
	args := make([]any, len(budgets))
	list := make([]string, len(budgets))
	for i := range budgets {
		args[i], list[i] = budgets[i].Name, fmt.Sprintf("$%d", i+1)
	}
	rows, err := t.query(ctx, `SELECT name, full_at FROM budget WHERE name IN (`+strings.Join(list, ", ")+`)`, args...)
	full := map[string]time.Time{}
	if _, err := collect(rows, err, func(row scanner) (none struct{}, err error) {
		var name string
		var at int64
		err = row.Scan(&name, &at)
		full[name] = time.UnixMicro(at)
		return none, err
	}); err != nil {
		return fmt.Errorf("read budgets: %w", err)
	}
	var refused *BudgetError
	for _, b := range budgets {
		// More than all of it was used only by a process whose clock was ahead. One use is left then: it is
		// written, and the others are regained from now on.
		if most := now.Add(time.Duration(b.Burst) * b.interval()); full[b.Name].After(most) {
			full[b.Name] = most.Add(-b.interval())
		}
		wait := b.wait(full[b.Name], now)
		switch {
		case wait == 0:
		case refused == nil:
			refused = &BudgetError{b, wait}
		default:
			refused.RetryAfter = max(refused.RetryAfter, wait)
		}
	}
	if refused != nil {
		return refused
	}
	for _, b := range budgets {
		at := full[b.Name]
		if at.Before(now) {
			at = now
		}
		if err := t.queueExec(ctx, `INSERT INTO budget (name, full_at) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET full_at = excluded.full_at`, b.Name,
			at.Add(b.interval()).UnixMicro()); err != nil {
			return fmt.Errorf("spend budget %s: %w", b.Name, err)
		}
	}
	return nil
}

// maxHostPause is more than any pause between two requests: a later time was written by a process whose clock was
// ahead.
const maxHostPause = time.Hour

// AcquireHost reserves a host for one request until a time, unless another request is
// being made to it or its pause is not over: then it returns false and when that ends, at
// the latest. The request must call ReleaseHost; a process that crashes blocks the host until
// that time.
func (t SiteCheckTx) AcquireHost(ctx context.Context, host string, now, until time.Time) (next time.Time, ok bool,
	err error) {
	n, err := t.exec(ctx, `INSERT INTO host_pause (host, next_at) VALUES ($1, $2)
		ON CONFLICT (host) DO UPDATE SET next_at = excluded.next_at
			WHERE host_pause.next_at <= $3 OR host_pause.next_at > $4`, host,
		until.UnixMicro(), now.UnixMicro(), now.Add(maxHostPause).UnixMicro())
	var at int64
	if err == nil && n == 0 {
		err = t.queryRow(ctx, `SELECT next_at FROM host_pause WHERE host = $1`, host).Scan(&at)
	}
	if err != nil {
		return next, false, fmt.Errorf("acquire host %s: %w", host, err)
	}
	return time.UnixMicro(at), n > 0, nil
}

// ReleaseHost ends a reservation until a time: the next request may be made at next.
func (t SiteCheckTx) ReleaseHost(ctx context.Context, host string, until, next time.Time) error {
	err := t.queueExec(ctx, `UPDATE host_pause SET next_at = $1 WHERE host = $2 AND next_at = $3`, next.UnixMicro(),
		host, until.UnixMicro())
	if err != nil {
		return fmt.Errorf("release host %s: %w", host, err)
	}
	return nil
}

// StudyReader reads studies of answers.
type StudyReader struct{ querier }

// StudyTx stores studies in a transaction.
type StudyTx struct {
	StudyReader
	*tx
}

// Studies lists the active documents of a study, by engine.
func (db StudyReader) Studies(ctx context.Context, id string) ([]Study, error) {
	rows, err := db.query(ctx, `SELECT `+studyColumns+` FROM study WHERE id = $1 AND superseded = 0
		ORDER BY engine`, id)
	list, err := collect(rows, err, scanStudy)
	if err != nil {
		return nil, fmt.Errorf("list the documents of study %s: %w", id, err)
	}
	return list, nil
}

// StudyBefore reads the newest document of another study of an engine in a niche and locale that ended before a
// time; the error is ErrNotFound if it does not exist.
func (db StudyReader) StudyBefore(ctx context.Context, s *Study) (Study, error) {
	before, err := scanStudy(db.queryRow(ctx, `SELECT `+studyColumns+` FROM study WHERE niche = $1 AND locale = $2
		AND engine = $3 AND to_at < $4 AND superseded = 0 AND id <> $5 ORDER BY to_at DESC, digest LIMIT 1`,
		s.Niche, s.Locale, s.Engine, s.To.Micros(), s.ID))
	if err != nil {
		return before, fmt.Errorf("read the study before %s: %w", s.ID, queryErr(err))
	}
	return before, nil
}

// StudyByDigest reads a document, superseded or not; the error is ErrNotFound if it does not exist.
func (db StudyReader) StudyByDigest(ctx context.Context, digest fieldmark.Digest) (Study, error) {
	s, err := scanStudy(db.queryRow(ctx, `SELECT `+studyColumns+` FROM study WHERE digest = $1`, string(digest)))
	if err != nil {
		return s, fmt.Errorf("read study %s: %w", digest, queryErr(err))
	}
	return s, nil
}

// StudyResultByDigest reads a compressed result, superseded or not; the error is ErrNotFound if there is
// none.
func (db StudyReader) StudyResultByDigest(ctx context.Context, digest fieldmark.Digest) (body []byte, err error) {
	err = db.queryRow(ctx, `SELECT body FROM study_result WHERE digest = $1`, string(digest)).Scan(&body)
	if err != nil {
		return nil, fmt.Errorf("read the result of study %s: %w", digest, queryErr(err))
	}
	return body, nil
}

// StudyResults reads the compressed newest active results of a niche; locale "" is any.
func (db StudyReader) StudyResults(ctx context.Context, niche, locale string, limit int) ([][]byte, error) {
	rows, err := db.query(ctx, `SELECT body FROM study_result WHERE niche = $1 AND ($2 = '' OR locale = $2)
		AND superseded = 0 ORDER BY to_at DESC, digest LIMIT $3`, niche, locale, limit)
	list, err := collect(rows, err, func(row scanner) (body []byte, err error) { return body, row.Scan(&body) })
	if err != nil {
		return nil, fmt.Errorf("list studies of niche %s: %w", niche, err)
	}
	return list, nil
}

// ActiveResults reads the compressed active results of all studies, by niche, locale and age, the newest
// first.
func (db StudyReader) ActiveResults(ctx context.Context, limit int) ([][]byte, error) {
	rows, err := db.query(ctx, `SELECT body FROM study_result WHERE superseded = 0
		ORDER BY niche, locale, to_at DESC, digest LIMIT $1`, limit)
	list, err := collect(rows, err, func(row scanner) (body []byte, err error) { return body, row.Scan(&body) })
	if err != nil {
		return nil, fmt.Errorf("list the results of studies: %w", err)
	}
	return list, nil
}

// BrandResults reads the parts of active results that are about a brand, of studies that ended before a time: the
// newest of each niche and locale, at most limit of them, the oldest first.
func (db StudyReader) BrandResults(ctx context.Context, slug fieldmark.Slug, before time.Time,
	limit int) ([]fieldmark.StudyResult, error) {
	rows, err := db.query(ctx, `SELECT body FROM (
			SELECT body, to_at, study,
				ROW_NUMBER() OVER (PARTITION BY niche, locale ORDER BY to_at DESC, study DESC) AS n
			FROM study_brand WHERE brand = $1 AND to_at < $2) AS newest
		WHERE n <= $3 ORDER BY to_at, study`, string(slug), before.UnixMicro(), limit)
	list, err := collect(rows, err, func(row scanner) (r fieldmark.StudyResult, err error) {
		return r, row.Scan(jsonCol{&r})
	})
	if err != nil {
		return nil, fmt.Errorf("list studies of brand %s: %w", slug, err)
	}
	return list, nil
}

// NewestValidity reads the newest document of validity; the error is ErrNotFound if no document exists.
func (db StudyReader) NewestValidity(ctx context.Context) (v fieldmark.Validity, err error) {
	err = db.queryRow(ctx, `SELECT body FROM validity ORDER BY as_of DESC, digest LIMIT 1`).Scan(jsonCol{&v})
	if err != nil {
		return v, fmt.Errorf("read the newest validity: %w", queryErr(err))
	}
	return v, nil
}

// ProxyVariables reads all proxy variables: the values of brands by the name of the variable.
func (db StudyReader) ProxyVariables(ctx context.Context) (map[string]map[fieldmark.Slug]int64, error) {
	fail := func(err error) error { return fmt.Errorf("read proxy variables: %w", err) }
	rows, err := db.query(ctx, `SELECT name, brand, value FROM proxy_variable`)
	if err != nil {
		return nil, fail(err)
	}
	defer rows.Close()
	all := map[string]map[fieldmark.Slug]int64{}
	for rows.Next() {
		var name string
		var brand fieldmark.Slug
		var value int64
		if err := rows.Scan(&name, &brand, &value); err != nil {
			return nil, fail(err)
		}
		if all[name] == nil {
			all[name] = map[fieldmark.Slug]int64{}
		}
		all[name][brand] = value
	}
	if err := rows.Err(); err != nil {
		return nil, fail(err)
	}
	return all, nil
}

// OutdatedStudies lists the ids of studies whose result another version of the method computed.
func (db StudyReader) OutdatedStudies(ctx context.Context, method string) ([]string, error) {
	rows, err := db.query(ctx, `SELECT id FROM study_result WHERE superseded = 0 AND method <> $1 ORDER BY id`, method)
	list, err := collect(rows, err, func(row scanner) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return nil, fmt.Errorf("list outdated results of studies: %w", err)
	}
	return list, nil
}

// PutStudy stores a document in place of the active one of the same study and engine.
func (t StudyTx) PutStudy(ctx context.Context, s *Study, at fieldmark.Time) error {
	_, err := t.exec(ctx, `UPDATE study SET superseded = 1 WHERE id = $1 AND engine = $2`, s.ID, s.Engine)
	if err == nil {
		_, err = t.exec(ctx, `INSERT INTO study (`+studyColumns+`, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (digest) DO UPDATE SET superseded = 0`,
			string(s.Digest), s.ID, s.Engine, s.Niche, s.Locale, s.To.Micros(), s.Body, string(s.FileHash),
			s.Signer, at.Micros())
	}
	if err != nil {
		return fmt.Errorf("put the document of %s in study %s: %w", s.Engine, s.ID, err)
	}
	return nil
}

// PutStudyResult stores the result of a study in place of the active one, and its parts by brand.
func (t StudyTx) PutStudyResult(ctx context.Context, r *fieldmark.StudyResult, body []byte,
	brands map[fieldmark.Slug]fieldmark.StudyResult, at fieldmark.Time) error {
	fail := func(err error) error { return fmt.Errorf("put the result of study %s: %w", r.ID, err) }
	for _, statement := range []string{`UPDATE study_result SET superseded = 1 WHERE id = $1`,
		`DELETE FROM study_brand WHERE study = $1`} {
		if _, err := t.exec(ctx, statement, r.ID); err != nil {
			return fail(err)
		}
	}
	_, err := t.exec(ctx, `INSERT INTO study_result (digest, id, niche, locale, to_at, method, body, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (digest) DO UPDATE SET superseded = 0,
		method = excluded.method, body = excluded.body`, string(r.Digest), r.ID, r.Niche, r.Locale, r.To.Micros(),
		r.Methodology.Version, body, at.Micros())
	if err != nil {
		return fail(err)
	}
	for slug, part := range brands {
		text, err := jsonText(part)
		if err != nil {
			return fail(err)
		}
		if _, err := t.exec(ctx, `INSERT INTO study_brand (brand, study, niche, locale, to_at, body)
			VALUES ($1, $2, $3, $4, $5, $6)`, string(slug), r.ID, r.Niche, r.Locale, r.To.Micros(), text); err != nil {
			return fail(err)
		}
	}
	return nil
}

// PutProxyVariable replaces the values of a proxy variable; without values it is deleted.
func (t StudyTx) PutProxyVariable(ctx context.Context, name string, values map[fieldmark.Slug]int64) error {
	_, err := t.exec(ctx, `DELETE FROM proxy_variable WHERE name = $1`, name)
	for brand, value := range values {
		if err == nil {
			err = t.queueExec(ctx, `INSERT INTO proxy_variable (name, brand, value) VALUES ($1, $2, $3)`, name,
				string(brand), value)
		}
	}
	if err != nil {
		return fmt.Errorf("put proxy variable %s: %w", name, err)
	}
	return nil
}

// CountUnknownProxied counts the values of a proxy variable whose brand does not exist.
func (t StudyTx) CountUnknownProxied(ctx context.Context, name string) (n int, err error) {
	err = t.queryRow(ctx, `SELECT COUNT(*) FROM proxy_variable p WHERE p.name = $1
		AND NOT EXISTS (SELECT 1 FROM brand b WHERE b.slug = p.brand)`, name).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count unknown brands of proxy variable %s: %w", name, err)
	}
	return n, nil
}

// CountProxyVariables counts the proxy variables with another name.
func (t StudyTx) CountProxyVariables(ctx context.Context, except string) (n int, err error) {
	err = t.queryRow(ctx, `SELECT COUNT(DISTINCT name) FROM proxy_variable WHERE name <> $1`, except).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count proxy variables: %w", err)
	}
	return n, nil
}

// PutValidity stores a document of validity under its digest; again, it becomes the newest.
func (t StudyTx) PutValidity(ctx context.Context, v *fieldmark.Validity) error {
	text, err := jsonText(v)
	if err == nil {
		_, err = t.exec(ctx, `INSERT INTO validity (digest, as_of, body) VALUES ($1, $2, $3)
			ON CONFLICT (digest) DO UPDATE SET as_of = excluded.as_of, body = excluded.body`, string(v.Digest),
			v.AsOf.Micros(), text)
	}
	if err != nil {
		return fmt.Errorf("put validity %s: %w", v.Digest, err)
	}
	return nil
}
