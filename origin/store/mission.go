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
	Changed     int64                   // the stamp of its newest change, which UpdatedAt is cut from
	Sequence    int                     // changes of start, end, place and status (RFC 5545, section 3.8.7.4)

	Clocks *SLA     // nil if it was opened before there were any
	Paid   *Payment // nil if none was spoken of

	opened  *fieldmark.MissionRequest // what it was opened with, if that is not what it says now
	request string                    // what a mission to be added says, as it is kept
}

// Prepare readies a mission to be added as far as that takes no transaction, for
// which others would wait. What it says must not change after it.
func (m *Mission) Prepare() (err error) {
	if m.request, err = text(m.MissionRequest); err != nil {
		return fmt.Errorf("write mission %s: %w", m.ID, err)
	}
	return nil
}

// Intake is the request the mission was opened with.
func (m *Mission) Intake() fieldmark.MissionRequest {
	if m.opened != nil {
		return *m.opened
	}
	return m.MissionRequest
}

// sourceKey is how sources are compared.
func sourceKey(source string) string { return strings.ToLower(source) }

const missionColumns = `id, account, fingerprint, request, intake, status, held, reason, created_at, updated_at, updated_at,
	scheduled_at, dispatched_at, started_at, completed_at, canceled_at, closed_at, version,
	scheduled_start, scheduled_end, assignee, occurrences, sequence`

func scanMission(row scanner) (m Mission, err error) {
	var start, end *fieldmark.Time
	err = row.Scan(&m.ID, &m.Account, &m.Fingerprint, document{&m.MissionRequest}, document{&m.opened}, &m.Status, &m.Held,
		document{&m.StatusReason}, instant{&m.CreatedAt}, instant{&m.UpdatedAt}, &m.Changed, maybe{&m.ScheduledAt}, maybe{&m.DispatchedAt},
		maybe{&m.StartedAt}, maybe{&m.CompletedAt}, maybe{&m.CanceledAt}, maybe{&m.ClosedAt}, &m.Version,
		maybe{&start}, maybe{&end}, document{&m.Assignee}, document{&m.Occurrences}, &m.Sequence)
	if start != nil && end != nil {
		m.Scheduled = &fieldmark.Span{Start: *start, End: *end}
	}
	return m, none(err)
}

const insertMission = `INSERT INTO mission (id, account, source_key, external_id, fingerprint, request, status, held,
	created_at, updated_at, version, priority, occurrences) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`

// AddMission adds a mission and reports whether its natural key was free. Where
// that is known nobody waits for the record.
func (t *Tx) AddMission(ctx context.Context, m *Mission) (bool, error) {
	if m.request == "" {
		if err := m.Prepare(); err != nil {
			return false, err
		}
	}
	seen, err := maybeText(m.Occurrences)
	if err != nil {
		return false, fmt.Errorf("write the occurrences of mission %s: %w", m.ID, err)
	}
	name := MissionName{m.Account, m.Source, m.ExternalID}.compared()
	args := []any{m.ID, m.Account, name.Source, m.ExternalID, string(m.Fingerprint), m.request, string(m.Status), string(m.Held),
		m.CreatedAt.Micros(), m.Changed, m.Version, string(m.Priority), seen}
	taken, known := t.group.known.missions[name]
	if known && taken {
		return false, nil
	}
	n := int64(1)
	if known {
		t.group.known.missions[name], t.opened = true, append(t.opened, name)
		err = t.add(ctx, insertMission, args...)
	} else {
		n, err = t.exec(ctx, insertMission+` ON CONFLICT (account, source_key, external_id) DO NOTHING`, args...)
	}
	if err != nil {
		return false, fmt.Errorf("add mission %s: %w", m.ID, err)
	}
	return n > 0, nil
}

// MissionBySource reads a mission by its natural key.
func (t *Tx) MissionBySource(ctx context.Context, account, source, externalID string) (Mission, error) {
	m, err := scanMission(t.queryRow(ctx, `SELECT `+missionColumns+` FROM mission
		WHERE account = $1 AND source_key = $2 AND external_id = $3`, account, sourceKey(source), externalID))
	if err == nil {
		err = fill(ctx, t, []*Mission{&m})
	}
	if err != nil {
		return Mission{}, fmt.Errorf("read a mission by its source: %w", err)
	}
	return m, nil
}

func mission(ctx context.Context, from asker, id string) (Mission, error) {
	m, err := scanMission(from.queryRow(ctx, `SELECT `+missionColumns+` FROM mission WHERE id = $1`, id))
	if err == nil {
		err = fill(ctx, from, []*Mission{&m})
	}
	if err != nil {
		return Mission{}, fmt.Errorf("read mission %s: %w", id, err)
	}
	return m, nil
}

// Mission reads a mission; the error is ErrNone where there is none.
func (s *Store) Mission(ctx context.Context, id string) (Mission, error) { return mission(ctx, s, id) }

// Mission reads a mission as the transaction sees it.
func (t *Tx) Mission(ctx context.Context, id string) (Mission, error) { return mission(ctx, t, id) }

// MoveMission writes where a mission stands now, who is to go and when.
func (t *Tx) MoveMission(ctx context.Context, m *Mission) error {
	reason, err := maybeText(m.StatusReason)
	if err != nil {
		return fmt.Errorf("write the reason of mission %s: %w", m.ID, err)
	}
	assignee, err := maybeText(m.Assignee)
	if err != nil {
		return fmt.Errorf("write the assignee of mission %s: %w", m.ID, err)
	}
	var start, end any
	if m.Scheduled != nil {
		start, end = m.Scheduled.Start.Micros(), m.Scheduled.End.Micros()
	}
	_, err = t.exec(ctx, `UPDATE mission SET status = $1, held = $2, reason = $3, updated_at = $4, scheduled_at = $5,
		dispatched_at = $6, started_at = $7, completed_at = $8, canceled_at = $9, closed_at = $10, version = $11,
		scheduled_start = $12, scheduled_end = $13, assignee = $14, sequence = $15 WHERE id = $16`,
		string(m.Status), string(m.Held), reason, m.Changed, micros(m.ScheduledAt), micros(m.DispatchedAt),
		micros(m.StartedAt), micros(m.CompletedAt), micros(m.CanceledAt), micros(m.ClosedAt), m.Version,
		start, end, assignee, m.Sequence, m.ID)
	if err != nil {
		return fmt.Errorf("move mission %s: %w", m.ID, err)
	}
	return nil
}

// EditMission writes what a mission says now; was is what it said before.
func (t *Tx) EditMission(ctx context.Context, m *Mission, was fieldmark.MissionRequest) error {
	if m.opened == nil {
		m.opened = &was
	}
	opened, err := text(m.opened)
	if err != nil {
		return fmt.Errorf("write the intake of mission %s: %w", m.ID, err)
	}
	request, err := text(m.MissionRequest)
	if err != nil {
		return fmt.Errorf("write mission %s: %w", m.ID, err)
	}
	_, err = t.exec(ctx, `UPDATE mission SET request = $1, intake = $2, priority = $3, updated_at = $4, version = $5 WHERE id = $6`,
		request, opened, string(m.Priority), m.Changed, m.Version, m.ID)
	if err != nil {
		return fmt.Errorf("edit mission %s: %w", m.ID, err)
	}
	return nil
}
