package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

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
	StandingBody
}

// StandingBody is the part of a standing that is stored as a document.
type StandingBody struct {
	fieldmark.Standing
	Points map[string]fieldmark.Milli `json:"points,omitempty"` // of the signals
	Gates  []fieldmark.Gate           `json:"gates,omitempty"`  // without evidence
}

// dueStandings selects standings whose time has come; staleStandings those of modules
// other than the active one, in two ranges of the index.
const (
	dueStandings   = `SELECT brand, module, facts, body, due_at FROM standing WHERE due_at <= $1 ORDER BY due_at LIMIT $2`
	staleStandings = `SELECT brand, module, facts, body, due_at FROM standing WHERE module < $1 OR module > $1
		ORDER BY module LIMIT $2`
)

// DueStandings lists up to limit standings that must be computed: first those that are due,
// then those that were computed by another module than active.
func (db StandingReader) DueStandings(ctx context.Context, active fieldmark.Digest, now time.Time,
	limit int) ([]Standing, error) {
	rows, err := db.query(ctx, dueStandings, now.UnixMicro(), limit)
	list, err := collect(rows, err, scanStanding)
	if err == nil && len(list) == 0 {
		rows, err = db.query(ctx, staleStandings, string(active), limit)
		list, err = collect(rows, err, scanStanding)
	}
	if err != nil {
		return nil, fmt.Errorf("list due standings: %w", err)
	}
	return list, nil
}

// Standing reads the standing of a brand; the error is ErrNotFound if the brand has none.
func (db StandingReader) Standing(ctx context.Context, slug fieldmark.Slug) (Standing, error) {
	s, err := scanStanding(db.queryRow(ctx, `SELECT brand, module, facts, body, due_at FROM standing WHERE brand = $1`,
		string(slug)))
	if err != nil {
		return Standing{}, fmt.Errorf("read the standing of %s: %w", slug, err)
	}
	return s, nil
}

func scanStanding(row scanner) (s Standing, err error) {
	var due *int64
	if err = row.Scan(&s.Brand, &s.Module, &s.Facts, jsonCol{&s.StandingBody}, &due); err != nil {
		return s, queryErr(err)
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
	n, err := t.exec(ctx, `UPDATE standing SET module = $1, facts = $2, body = $3, due_at = $4
		WHERE brand = $5 AND module = $6 AND facts = $7 AND COALESCE(due_at, -1) = COALESCE(CAST($8 AS BIGINT), -1)`,
		string(next.Module), string(next.Facts), body, micros(next.DueAt), string(was.Brand), string(was.Module),
		string(was.Facts), micros(was.DueAt))
	if err != nil {
		return false, fmt.Errorf("put the standing of %s: %w", next.Brand, err)
	}
	return n > 0, nil
}

// Watch is an endpoint that watches a brand.
type Watch struct {
	Endpoint  string
	Account   string
	Events    []string         // patterns
	Threshold *fieldmark.Milli // nil: fieldmark.DefaultScoreThreshold
	Sent      fieldmark.Standing
}

// Watches lists the endpoints that watch a brand, by account.
func (db StandingReader) Watches(ctx context.Context, slug fieldmark.Slug) ([]Watch, error) {
	rows, err := db.query(ctx, `SELECT w.endpoint, e.account, e.events, e.settings, w.sent FROM watch w
		JOIN endpoint e ON e.id = w.endpoint
		WHERE w.brand = $1 AND e.deleted_at IS NULL ORDER BY e.account, w.endpoint`, string(slug))
	list, err := collect(rows, err, func(row scanner) (w Watch, err error) {
		var settings struct {
			ScoreThreshold *fieldmark.Milli `json:"scoreThreshold"`
		}
		err = row.Scan(&w.Endpoint, &w.Account, jsonCol{&w.Events}, jsonCol{&settings}, jsonCol{&w.Sent})
		w.Threshold = settings.ScoreThreshold
		return w, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the watches of %s: %w", slug, err)
	}
	return list, nil
}

// SetSent stores the standing of a brand that was last sent to an endpoint.
func (t StandingTx) SetSent(ctx context.Context, endpoint string, slug fieldmark.Slug, s fieldmark.Standing) error {
	sent, err := jsonText(s)
	if err == nil {
		_, err = t.exec(ctx, `UPDATE watch SET sent = $1 WHERE endpoint = $2 AND brand = $3`, sent, endpoint,
			string(slug))
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
		brands := slices.DeleteFunc(list[i].settings.Brands, func(s fieldmark.Slug) bool { return s == from })
		if to != "" {
			brands = append(brands, to)
		}
		list[i].settings.Brands = brands
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
