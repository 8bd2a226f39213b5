package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Standings of brands, changes of scores, watches, and jobs that run once a day.

// StandingReader reads the standings of brands and who watches them.
type StandingReader struct{ querier }

// StandingTx writes standings and watches, in a transaction.
type StandingTx struct {
	StandingReader
	*tx
}

// Standing is the score of a brand by a module, as it is stored to measure changes.
type Standing struct {
	Brand  fieldmark.Slug
	Module fieldmark.Digest // empty before the brand is scored for the first time
	Facts  fieldmark.Digest // empty before the first audit
	DueAt  *time.Time       // when it must be computed again; nil: when its facts or the module change
	Range  *fieldmark.Range // nil: the brand is not ranked
	StandingBody
}

// StandingBody is the part of a standing that is stored as a document.
type StandingBody struct {
	// Values are what a ranking keeps of the score, in the form of rankingfile.Values. They come first in the
	// document, where EachRanked finds them without reading the rest. Empty: the standing was computed by a
	// release before them.
	Values []byte `json:"values,omitempty"`
	fieldmark.Standing
	Points map[string]fieldmark.Milli `json:"points,omitempty"` // of the signals
	// Spread and Confidence are those of the score; nil and empty unless scored or stale.
	Spread     *fieldmark.Range          `json:"spread,omitempty"`
	Confidence fieldmark.ConfidenceLevel `json:"confidence,omitempty"`
	Gates      []fieldmark.Gate          `json:"gates,omitempty"` // without evidence

	// What else the score was computed from, to name the cause of the next change.
	Name    string           `json:"name,omitempty"`
	URL     string           `json:"url,omitempty"`
	Samples fieldmark.Digest `json:"samples,omitempty"` // of the visibility samples; empty: no samples

	// Sent is the last standing that differed from the one before by the default threshold:
	// what an account that polls was sent.
	Sent *fieldmark.Standing `json:"sent,omitempty"`
}

const standingColumns = `brand, module, facts, body, due_at, low, high`

// Standings to compute: those whose time has come, and those of modules before and after the
// active one in the order of digests. One condition for both would be a scan over all
// standings of the active module in each batch.
const (
	dueStandings = `SELECT ` + standingColumns + ` FROM standing WHERE due_at <= $1 ORDER BY due_at LIMIT $2`
	staleBefore  = `SELECT ` + standingColumns + ` FROM standing WHERE module < $1 ORDER BY module LIMIT $2`
	staleAfter   = `SELECT ` + standingColumns + ` FROM standing WHERE module > $1 ORDER BY module LIMIT $2`
)

// DueStandings lists up to limit standings that are due.
func (db StandingReader) DueStandings(ctx context.Context, now time.Time, limit int) ([]Standing, error) {
	rows, err := db.query(ctx, dueStandings, now.UnixMicro(), limit)
	list, err := collect(rows, err, scanStanding)
	if err != nil {
		return nil, fmt.Errorf("list due standings: %w", err)
	}
	return list, nil
}

// StaleStandings lists up to limit standings that were computed by another module than active.
func (db StandingReader) StaleStandings(ctx context.Context, active fieldmark.Digest,
	limit int) (list []Standing, err error) {
	for _, stale := range []string{staleBefore, staleAfter} {
		rows, err := db.query(ctx, stale, string(active), limit)
		if list, err = collect(rows, err, scanStanding); err != nil {
			return nil, fmt.Errorf("list stale standings: %w", err)
		}
		if len(list) > 0 {
			break
		}
	}
	return list, nil
}

// Standing reads the standing of a brand; the error is ErrNotFound if the brand has none.
func (db StandingReader) Standing(ctx context.Context, slug fieldmark.Slug) (Standing, error) {
	s, err := scanStanding(db.queryRow(ctx, `SELECT `+standingColumns+` FROM standing WHERE brand = $1`,
		string(slug)))
	if err != nil {
		return Standing{}, fmt.Errorf("read the standing of %s: %w", slug, err)
	}
	return s, nil
}

func scanStanding(row scanner) (s Standing, err error) {
	var due, low, high *int64
	if err = row.Scan(&s.Brand, &s.Module, &s.Facts, jsonCol{&s.StandingBody}, &due, &low, &high); err != nil {
		return s, queryErr(err)
	}
	if low != nil && high != nil {
		s.Range = &fieldmark.Range{Low: fieldmark.Milli(*low), High: fieldmark.Milli(*high)}
	}
	if due != nil {
		s.DueAt = new(time.UnixMicro(*due))
	}
	return s, nil
}

// RequestStanding makes the standing of a brand due. Each request has another time, by
// which PutStanding recognises that one came while it computed.
func (t StandingTx) RequestStanding(ctx context.Context, slug fieldmark.Slug, at time.Time) error {
	_, err := t.exec(ctx, `INSERT INTO standing (brand, module, facts, body, due_at) VALUES ($1, '', '', '{}', $2)
		ON CONFLICT (brand) DO UPDATE SET due_at = CASE WHEN standing.due_at = excluded.due_at THEN excluded.due_at - 1
			ELSE excluded.due_at END`, string(slug), at.UnixMicro())
	if err != nil {
		return fmt.Errorf("request the standing of %s: %w", slug, err)
	}
	t.touched[TopicStandings] = true
	return nil
}

// PutStanding replaces a standing by the next one, unless another process did or the
// standing was requested again since it was read. It reports whether it did.
func (t StandingTx) PutStanding(ctx context.Context, was, next *Standing) (bool, error) {
	body, err := jsonText(next.StandingBody)
	if err != nil {
		return false, fmt.Errorf("encode the standing of %s: %w", next.Brand, err)
	}
	micros := func(at *time.Time) *int64 {
		if at == nil {
			return nil
		}
		return new(at.UnixMicro())
	}
	var low, high *int64
	if r := next.Range; r != nil {
		low, high = new(int64(r.Low)), new(int64(r.High))
	}
	n, err := t.exec(ctx, `UPDATE standing SET module = $1, facts = $2, body = $3, due_at = $4, low = $5, high = $6
		WHERE brand = $7 AND module = $8 AND facts = $9 AND COALESCE(due_at, -1) = COALESCE(CAST($10 AS BIGINT), -1)`,
		string(next.Module), string(next.Facts), body, micros(next.DueAt), low, high, string(was.Brand),
		string(was.Module), string(was.Facts), micros(was.DueAt))
	if err != nil {
		return false, fmt.Errorf("put the standing of %s: %w", next.Brand, err)
	}
	return n > 0, nil
}

// StandingsLate reports whether the standing of a brand should have been computed before a
// time, or was computed by another module than active.
func (db StandingReader) StandingsLate(ctx context.Context, active fieldmark.Digest, before time.Time) (bool, error) {
	late, err := db.DueStandings(ctx, before, 1)
	if err == nil && len(late) == 0 {
		late, err = db.StaleStandings(ctx, active, 1)
	}
	return len(late) > 0, err
}

// RankedRanges calls add with the niche and the range of the score of each public brand that
// is ranked.
func (db StandingReader) RankedRanges(ctx context.Context, add func(niche string, r fieldmark.Range)) error {
	rows, err := db.query(ctx, `SELECT b.niche, s.low, s.high FROM standing s JOIN brand b ON b.slug = s.brand
		WHERE s.low IS NOT NULL AND b.public = 1`)
	if err != nil {
		return fmt.Errorf("read the ranges of scores: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var niche string
		var r fieldmark.Range
		if err := rows.Scan(&niche, &r.Low, &r.High); err != nil {
			return fmt.Errorf("read the ranges of scores: %w", err)
		}
		add(niche, r)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the ranges of scores: %w", err)
	}
	return nil
}

// SentRank is a brand whose events accounts receive, with the rank that was sent last.
type SentRank struct {
	Brand fieldmark.Brand  // slug, name, URL and niche
	Range *fieldmark.Range // nil: it is not ranked
	Sent  *fieldmark.Rank
	text  *string // Sent as it is stored
}

// First reports whether no rank was sent or stored before.
func (r *SentRank) First() bool { return r.text == nil }

// SentRanks lists up to limit brands after a slug whose events accounts receive, in the order of slugs.
func (db StandingReader) SentRanks(ctx context.Context, after fieldmark.Slug, limit int) ([]SentRank, error) {
	rows, err := db.query(ctx, `SELECT b.slug, b.name, b.url, b.niche, b.public = 1, s.low, s.high, s.rank
		FROM standing s JOIN brand b ON b.slug = s.brand
		WHERE s.brand > $1 AND s.brand IN `+subscribed+` ORDER BY s.brand LIMIT $2`, string(after), limit)
	list, err := collect(rows, err, func(row scanner) (r SentRank, err error) {
		var low, high *int64
		b := &r.Brand
		err = row.Scan(&b.Slug, &b.Name, &b.URL, &b.Niche, &b.Public, &low, &high, &r.text)
		if low != nil && high != nil && b.Public {
			r.Range = &fieldmark.Range{Low: fieldmark.Milli(*low), High: fieldmark.Milli(*high)}
		}
		if err == nil && r.text != nil {
			err = jsonCol{&r.Sent}.Scan(*r.text)
		}
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the ranks of brands after %q: %w", after, err)
	}
	return list, nil
}

// PutSentRank stores the rank that is sent now, and reports whether no other process
// changed it since it was read.
func (t StandingTx) PutSentRank(ctx context.Context, was *SentRank, next *fieldmark.Rank) (bool, error) {
	text, err := jsonText(next)
	if err != nil {
		return false, fmt.Errorf("encode the rank of %s: %w", was.Brand.Slug, err)
	}
	n, err := t.exec(ctx, `UPDATE standing SET rank = $1 WHERE brand = $2
		AND COALESCE(rank, '') = COALESCE(CAST($3 AS TEXT), '')`, text, string(was.Brand.Slug), was.text)
	if err != nil {
		return false, fmt.Errorf("put the rank of %s: %w", was.Brand.Slug, err)
	}
	return n > 0, nil
}

// DropSentRanks deletes the ranks of brands whose events no account receives any longer: a later
// account is not sent changes since then.
func (t StandingTx) DropSentRanks(ctx context.Context) error {
	_, err := t.exec(ctx, `UPDATE standing SET rank = NULL WHERE rank IS NOT NULL
		AND brand NOT IN `+subscribed)
	if err != nil {
		return fmt.Errorf("drop the ranks of brands that are not watched: %w", err)
	}
	return nil
}

// DailyJob is a job that one process runs once a day.
type DailyJob string

// The daily jobs: JobRanking ranks the brands, JobDump writes their scores to files. JobRankingFile writes the
// files that edges start from; it is due more often.
const (
	JobRanking     DailyJob = "ranking"
	JobDump        DailyJob = "dump"
	JobRankingFile DailyJob = "ranking_file"
)

// DailyJobDue reports whether a job is due and no process runs it. A job that never ran is due.
func (db StandingReader) DailyJobDue(ctx context.Context, job DailyJob, now time.Time) (bool, error) {
	var busy int
	err := db.queryRow(ctx, `SELECT COUNT(*) FROM daily_job WHERE name = $1 AND (due_at > $2 OR lease_until > $2)`,
		string(job), now.UnixMicro()).Scan(&busy)
	if err != nil {
		return false, fmt.Errorf("read when the job %s is due: %w", job, queryErr(err))
	}
	return busy == 0, nil
}

// ClaimDailyJob leases a due job to owner, and reports whether it was still free. One that was claimed most
// times without an end is lost, and due again a day later.
func (t StandingTx) ClaimDailyJob(ctx context.Context, job DailyJob, owner string,
	now, until time.Time, most int) (claimed, lost bool, err error) {
	fail := func(err error) (bool, bool, error) { return false, false, fmt.Errorf("claim the job %s: %w", job, err) }
	n, err := t.exec(ctx, `UPDATE daily_job SET due_at = $1, claims = 0, lease_until = NULL, lease_owner = NULL
		WHERE name = $2 AND claims >= $3 AND due_at <= $4 AND (lease_until IS NULL OR lease_until <= $4)`,
		now.Add(24*time.Hour).UnixMicro(), string(job), most, now.UnixMicro())
	if err != nil {
		return fail(err)
	}
	if n > 0 {
		return false, true, nil
	}
	n, err = t.exec(ctx, `INSERT INTO daily_job (name, due_at, lease_owner, lease_until, claims)
		VALUES ($1, $2, $3, $4, 1) ON CONFLICT (name) DO UPDATE SET lease_owner = excluded.lease_owner,
			lease_until = excluded.lease_until, claims = daily_job.claims + 1
		WHERE daily_job.due_at <= excluded.due_at
			AND (daily_job.lease_until IS NULL OR daily_job.lease_until <= excluded.due_at)`,
		string(job), now.UnixMicro(), owner, until.UnixMicro())
	if err != nil {
		return fail(err)
	}
	return n > 0, false, nil
}

// UncountDailyJob undoes the count of a claim of owner whose work failed without ending the process. The lease
// stays, and is the pause before the next claim.
func (t StandingTx) UncountDailyJob(ctx context.Context, job DailyJob, owner string) error {
	_, err := t.exec(ctx, `UPDATE daily_job SET claims = claims - 1 WHERE name = $1 AND lease_owner = $2
		AND claims > 0`, string(job), owner)
	if err != nil {
		return fmt.Errorf("record the failure of the job %s: %w", job, err)
	}
	return nil
}

// EndDailyJob ends the lease of owner and makes the job due at a time.
func (t StandingTx) EndDailyJob(ctx context.Context, job DailyJob, owner string, due time.Time) error {
	_, err := t.exec(ctx, `UPDATE daily_job SET due_at = $1, claims = 0, lease_until = NULL,
		lease_owner = NULL WHERE name = $2 AND lease_owner = $3`, due.UnixMicro(), string(job), owner)
	if err != nil {
		return fmt.Errorf("end the job %s: %w", job, err)
	}
	return nil
}

// subscribed selects the brands whose events an account receives.
const subscribed = `(SELECT brand FROM watch UNION SELECT brand FROM claim WHERE account <> '' AND ` + holds + `)`

// Watch is an endpoint that watches a brand, or one of the account that manages it.
type Watch struct {
	Endpoint  string // empty: the account that manages the brand has no endpoint
	Account   string
	Manages   bool
	Events    []string            // patterns
	Threshold *fieldmark.Milli    // nil: fieldmark.DefaultScoreThreshold
	Sent      *fieldmark.Standing // nil: none
}

// Watches lists the endpoints that watch a brand, and those of the account that manages it.
func (db StandingReader) Watches(ctx context.Context, slug fieldmark.Slug) ([]Watch, error) {
	rows, err := db.query(ctx, `SELECT e.account, e.id, 0 AS manages, e.events, e.settings, w.sent
		FROM watch w JOIN endpoint e ON e.id = w.endpoint WHERE w.brand = $1 AND e.deleted_at IS NULL
		UNION ALL
		SELECT c.account, COALESCE(e.id, ''), 1, COALESCE(e.events, '[]'), COALESCE(e.settings, '{}'), w.sent
		FROM claim c LEFT JOIN endpoint e ON e.account = c.account AND e.deleted_at IS NULL
			LEFT JOIN watch w ON w.endpoint = e.id AND w.brand = c.brand
		WHERE c.brand = $1 AND c.account <> '' AND c.`+holds+` ORDER BY 1, 2, 3 DESC`, string(slug))
	var list []Watch
	all, err := collect(rows, err, func(row scanner) (w Watch, err error) {
		var settings struct {
			Brands         []fieldmark.Slug `json:"brands"`
			ScoreThreshold *fieldmark.Milli `json:"scoreThreshold"`
		}
		err = row.Scan(&w.Account, &w.Endpoint, &w.Manages, jsonCol{&w.Events}, jsonCol{&settings}, jsonCol{&w.Sent})
		w.Threshold = settings.ScoreThreshold
		// The row of an endpoint of an account that no longer manages the brand is left.
		if !w.Manages && !slices.Contains(settings.Brands, slug) {
			w.Account = ""
		}
		return w, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the watches of %s: %w", slug, err)
	}
	for _, w := range all { // an endpoint that also watches the brand is there twice
		if last := len(list) - 1; w.Account != "" && (last < 0 || list[last].Endpoint != w.Endpoint) {
			list = append(list, w)
		}
	}
	return list, nil
}

// CountWatches counts the brands that the endpoints of an account other than one watch.
func (db StandingReader) CountWatches(ctx context.Context, account, except string) (n int, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(*) FROM watch w JOIN endpoint e ON e.id = w.endpoint
		WHERE e.account = $1 AND e.id <> $2 AND e.deleted_at IS NULL`, account, except).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the watches of %s: %w", account, err)
	}
	return n, nil
}

// SetSent stores the standing of a brand that was last sent to an endpoint.
func (t StandingTx) SetSent(ctx context.Context, endpoint string, slug fieldmark.Slug, s fieldmark.Standing) error {
	sent, err := jsonText(s)
	if err == nil {
		_, err = t.exec(ctx, `INSERT INTO watch (endpoint, brand, sent) VALUES ($1, $2, $3)
			ON CONFLICT (endpoint, brand) DO UPDATE SET sent = excluded.sent`, endpoint, string(slug), sent)
	}
	if err != nil {
		return fmt.Errorf("store what endpoint %s was sent of %s: %w", endpoint, slug, err)
	}
	return nil
}

// SetWatches replaces the brands that an endpoint watches. Those that it watches already
// keep what was last sent; the others start from their present standing.
func (t StandingTx) SetWatches(ctx context.Context, endpoint string, brands []fieldmark.Slug) error {
	fail := func(err error) error { return fmt.Errorf("set the watches of endpoint %s: %w", endpoint, err) }
	keep := []any{endpoint}
	var list strings.Builder
	for i, slug := range brands {
		fmt.Fprintf(&list, ", $%d", i+2)
		keep = append(keep, string(slug))
	}
	if _, err := t.exec(ctx, `DELETE FROM watch WHERE endpoint = $1 AND brand NOT IN (''`+list.String()+`)`,
		keep...); err != nil {
		return fail(err)
	}
	for _, slug := range brands {
		now, err := t.Standing(ctx, slug)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if now.Module == "" { // not scored yet
			now.StandingBody.Standing = fieldmark.Standing{Status: fieldmark.StatusPending}
		}
		sent, err := jsonText(now.StandingBody.Standing)
		if err != nil {
			return fail(err)
		}
		if _, err := t.exec(ctx, `INSERT INTO watch (endpoint, brand, sent) VALUES ($1, $2, $3)
			ON CONFLICT (endpoint, brand) DO NOTHING`, endpoint, string(slug), sent); err != nil {
			return fail(err)
		}
	}
	return nil
}

// renameWatched replaces a brand in the settings of the endpoints that watch it; to is
// empty if the brand is deleted. It must run before the watches themselves change.
func (t BrandTx) renameWatched(ctx context.Context, from, to fieldmark.Slug) error {
	type endpoint struct {
		id       string
		settings fieldmark.EndpointSettings
	}
	rows, err := t.query(ctx, `SELECT e.id, e.settings FROM watch w JOIN endpoint e ON e.id = w.endpoint
		WHERE w.brand = $1`, string(from))
	list, err := collect(rows, err, func(row scanner) (e endpoint, err error) {
		err = row.Scan(&e.id, jsonCol{&e.settings})
		return e, err
	})
	for i := 0; i < len(list) && err == nil; i++ {
		at := slices.Index(list[i].settings.Brands, from)
		switch {
		case at < 0: // its account manages the brand
			continue
		case to == "":
			list[i].settings.Brands = slices.Delete(list[i].settings.Brands, at, at+1)
		default:
			list[i].settings.Brands[at] = to
		}
		var text string
		if text, err = jsonText(list[i].settings); err == nil {
			_, err = t.exec(ctx, `UPDATE endpoint SET settings = $1 WHERE id = $2`, text, list[i].id)
		}
	}
	if err != nil {
		return fmt.Errorf("update the endpoints that watch %s: %w", from, err)
	}
	clear(t.state.endpoints)
	return nil
}

// visible selects a brand that lists may show.
const visible = `slug = $1 AND public = 1 AND unlisted_at IS NULL`

// recordScoreChanges records an event as the last change of the brands that it names. A brand
// that is not public any longer is recorded as gone, if it was public before.
func (t *tx) recordScoreChanges(ctx context.Context, e *Event) error {
	slugs := []fieldmark.Slug{e.Brand}
	for _, tag := range e.Tags {
		if slug, ok := tag.Brand(); ok && slug != e.Brand {
			slugs = append(slugs, slug)
		}
	}
	for _, slug := range slugs {
		err := t.queueExec(ctx, `INSERT INTO score_change (slug, event, listed)
			SELECT slug, CAST($2 AS BIGINT), CAST($2 AS BIGINT) FROM brand WHERE `+visible+`
			ON CONFLICT (slug) DO UPDATE SET event = excluded.event, gone_at = NULL, listed =
				CASE WHEN score_change.gone_at IS NULL THEN score_change.listed ELSE excluded.listed END`,
			string(slug), e.Number)
		if err == nil {
			err = t.queueExec(ctx, `UPDATE score_change SET event = $2, gone_at = $3 WHERE slug = $1
				AND gone_at IS NULL AND NOT EXISTS (SELECT 1 FROM brand WHERE `+visible+`)`,
				string(slug), e.Number, e.Time.Micros())
		}
		if err != nil {
			return fmt.Errorf("record the change of %s by event %d: %w", slug, e.Number, err)
		}
	}
	return nil
}

// SetScoreEvent records an event as the last change of a public brand.
func (t StandingTx) SetScoreEvent(ctx context.Context, slug fieldmark.Slug, event int64) error {
	_, err := t.exec(ctx, `UPDATE score_change SET event = $2 WHERE slug = $1 AND gone_at IS NULL`, string(slug), event)
	if err != nil {
		return fmt.Errorf("record the change of %s by event %d: %w", slug, event, err)
	}
	return nil
}

// ScorePosition is a place in the changes of scores: after a slug within an event.
type ScorePosition struct {
	Event int64
	After fieldmark.Slug // EndOfEvent: after all of them
}

// EndOfEvent sorts after every slug.
const EndOfEvent fieldmark.Slug = "~"

// ScoreChange is the last change of the public score of a brand.
type ScoreChange struct {
	fieldmark.ScoreItem
	Gone bool
}

// scoreItem selects what an item of bulk reads has of a brand b and its standing s.
const scoreItem = `b.name, b.niche, b.language, COALESCE(s.body, '{}')`

// scanItem scans scoreItem after the columns in before. A brand that was not scored yet is pending.
func scanItem(row scanner, item *fieldmark.ScoreItem, before ...any) error {
	var name, niche, language *string
	var body StandingBody
	if err := row.Scan(append(before, &name, &niche, &language, jsonCol{&body})...); err != nil {
		return err
	}
	if name == nil { // the brand is gone
		return nil
	}
	item.Name, item.Niche, item.Language = *name, *niche, *language
	item.Status = cmp.Or(body.Status, fieldmark.StatusPending)
	item.Score, item.Grade, item.GeoReady, item.Full, item.AsOf = body.Score, body.Grade, body.GeoReady, body.Full,
		body.AsOf
	item.Range, item.Confidence = body.Spread, body.Confidence
	return nil
}

// ScoreChanges lists up to limit changes after a position, in the order of events.
func (db StandingReader) ScoreChanges(ctx context.Context, after ScorePosition, limit int) ([]ScoreChange, error) {
	rows, err := db.query(ctx, `SELECT c.slug, c.event, c.gone_at IS NOT NULL, `+scoreItem+`
		FROM score_change c LEFT JOIN brand b ON b.slug = c.slug AND c.gone_at IS NULL
			LEFT JOIN standing s ON s.brand = b.slug
		WHERE (c.event, c.slug) > ($1, $2) ORDER BY c.event, c.slug LIMIT $3`, after.Event, string(after.After), limit)
	list, err := collect(rows, err, func(row scanner) (c ScoreChange, err error) {
		return c, scanItem(row, &c.ScoreItem, &c.Slug, &c.Event, &c.Gone)
	})
	if err != nil {
		return nil, fmt.Errorf("list the changes of scores after %d: %w", after.Event, err)
	}
	return list, nil
}

// ForgottenScores returns the newest event of the brands that went before a time; 0: none did.
// Brands that went by then may not be listed any more.
// The sum keeps an engine from searching the newest event among all brands, backwards.
func (db StandingReader) ForgottenScores(ctx context.Context, before time.Time) (event int64, err error) {
	err = db.queryRow(ctx, `SELECT COALESCE(MAX(event + 0), 0) FROM score_change WHERE gone_at < $1`,
		before.UnixMicro()).Scan(&event)
	if err != nil {
		return 0, fmt.Errorf("read the newest brand that went before %s: %w", before, queryErr(err))
	}
	return event, nil
}

// PruneScoreChanges deletes the brands that went before a time but the last of them, which
// ForgottenScores returns.
func (t StandingTx) PruneScoreChanges(ctx context.Context, before time.Time) error {
	_, err := t.exec(ctx, `DELETE FROM score_change WHERE gone_at < $1
		AND event < (SELECT MAX(event + 0) FROM score_change WHERE gone_at < $1)`, before.UnixMicro())
	if err != nil {
		return fmt.Errorf("prune the changes of scores: %w", err)
	}
	return nil
}
