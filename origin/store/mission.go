package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// Mission is a mission and what only the record knows of it.
type Mission struct {
	fieldmark.Mission
	Account     string
	Fingerprint fieldmark.Digest        // of the request it was opened with
	Held        fieldmark.MissionStatus // what it left when it was put on hold; empty otherwise
}

// sourceKey is how sources are compared.
func sourceKey(source string) string { return strings.ToLower(source) }

const missionColumns = `id, account, fingerprint, request, status, held, reason, created_at, updated_at,
	scheduled_at, dispatched_at, started_at, completed_at, canceled_at, closed_at, version`

func scanMission(row scanner) (m Mission, err error) {
	err = row.Scan(&m.ID, &m.Account, &m.Fingerprint, document{&m.MissionRequest}, &m.Status, &m.Held, document{&m.StatusReason},
		instant{&m.CreatedAt}, instant{&m.UpdatedAt}, maybe{&m.ScheduledAt}, maybe{&m.DispatchedAt}, maybe{&m.StartedAt},
		maybe{&m.CompletedAt}, maybe{&m.CanceledAt}, maybe{&m.ClosedAt}, &m.Version)
	return m, none(err)
}

// AddMission adds a mission and reports whether its natural key was free.
func (t *Tx) AddMission(ctx context.Context, m *Mission) (bool, error) {
	request, err := text(m.MissionRequest)
	if err != nil {
		return false, fmt.Errorf("write mission %s: %w", m.ID, err)
	}
	n, err := t.exec(ctx, `INSERT INTO mission (id, account, source_key, external_id, fingerprint, request, status, held,
		created_at, updated_at, version) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (account, source_key, external_id) DO NOTHING`,
		m.ID, m.Account, sourceKey(m.Source), m.ExternalID, string(m.Fingerprint), request, string(m.Status), string(m.Held),
		m.CreatedAt.Micros(), m.UpdatedAt.Micros(), m.Version)
	if err != nil {
		return false, fmt.Errorf("add mission %s: %w", m.ID, err)
	}
	return n > 0, nil
}

// MissionBySource reads a mission by its natural key.
func (t *Tx) MissionBySource(ctx context.Context, account, source, externalID string) (Mission, error) {
	m, err := scanMission(t.queryRow(ctx, `SELECT `+missionColumns+` FROM mission
		WHERE account = $1 AND source_key = $2 AND external_id = $3`, account, sourceKey(source), externalID))
	if err != nil {
		return Mission{}, fmt.Errorf("read a mission by its source: %w", err)
	}
	return m, nil
}

func mission(ctx context.Context, from asker, id string) (Mission, error) {
	m, err := scanMission(from.queryRow(ctx, `SELECT `+missionColumns+` FROM mission WHERE id = $1`, id))
	if err != nil {
		return Mission{}, fmt.Errorf("read mission %s: %w", id, err)
	}
	return m, nil
}

// Mission reads a mission; the error is ErrNone where there is none.
func (s *Store) Mission(ctx context.Context, id string) (Mission, error) { return mission(ctx, s, id) }

// Mission reads a mission as the transaction sees it.
func (t *Tx) Mission(ctx context.Context, id string) (Mission, error) { return mission(ctx, t, id) }

// MoveMission writes where a mission stands now.
func (t *Tx) MoveMission(ctx context.Context, m *Mission) error {
	var reason any
	if m.StatusReason != nil {
		r, err := text(m.StatusReason)
		if err != nil {
			return fmt.Errorf("write the reason of mission %s: %w", m.ID, err)
		}
		reason = r
	}
	_, err := t.exec(ctx, `UPDATE mission SET status = $1, held = $2, reason = $3, updated_at = $4, scheduled_at = $5,
		dispatched_at = $6, started_at = $7, completed_at = $8, canceled_at = $9, closed_at = $10, version = $11 WHERE id = $12`,
		string(m.Status), string(m.Held), reason, m.UpdatedAt.Micros(), micros(m.ScheduledAt), micros(m.DispatchedAt),
		micros(m.StartedAt), micros(m.CompletedAt), micros(m.CanceledAt), micros(m.ClosedAt), m.Version, m.ID)
	if err != nil {
		return fmt.Errorf("move mission %s: %w", m.ID, err)
	}
	return nil
}

// Missions lists missions, the newest first. Account "" means any, before means
// older than the mission of that id.
func (s *Store) Missions(ctx context.Context, account string, f fieldmark.MissionFilter, before string) ([]Mission, error) {
	var where []string
	var args []any
	with := func(condition string, values ...any) {
		marks := make([]any, len(values))
		for i, v := range values {
			args = append(args, v)
			marks[i] = fmt.Sprintf("$%d", len(args))
		}
		where = append(where, fmt.Sprintf(condition, marks...))
	}
	if account != "" {
		with("account = %s", account)
	}
	if f.Source != "" {
		with("source_key = %s", sourceKey(f.Source))
	}
	if f.ExternalID != "" {
		with("external_id = %s", f.ExternalID)
	}
	if n := len(f.Status); n > 0 {
		values := make([]any, n)
		for i, st := range f.Status {
			values[i] = string(st)
		}
		with("status IN (%s"+strings.Repeat(", %s", n-1)+")", values...)
	}
	if before != "" {
		with("id < %s", before)
	}
	question := `SELECT ` + missionColumns + ` FROM mission`
	if len(where) > 0 {
		question += ` WHERE ` + strings.Join(where, " AND ")
	}
	args = append(args, f.Limit)
	question += fmt.Sprintf(` ORDER BY id DESC LIMIT $%d`, len(args))
	rows, err := s.query(ctx, question, args...)
	list, err := collect(rows, err, scanMission)
	if err != nil {
		return nil, fmt.Errorf("list missions: %w", err)
	}
	return list, nil
}
