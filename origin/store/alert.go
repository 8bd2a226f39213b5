package store

import (
	"context"
	"fmt"
	"time"
)

// NewestAlerted reads the newest of the missions that alerts under a key were
// opened as: those whose external id is the key, a hyphen and more.
func (t *Tx) NewestAlerted(ctx context.Context, account, source, key string) (Mission, error) {
	// A dot is the character after the hyphen, so this is a stretch of the index
	// on names.
	m, err := scanMission(t.queryRow(ctx, `SELECT `+missionColumns+` FROM mission
		WHERE account = $1 AND source_key = $2 AND external_id >= $3 AND external_id < $4 ORDER BY id DESC LIMIT 1`,
		account, sourceKey(source), key+"-", key+"."))
	if err == nil {
		err = fill(ctx, t, []*Mission{&m})
	}
	if err != nil {
		return Mission{}, fmt.Errorf("read the newest mission of an alert: %w", err)
	}
	return m, nil
}

// CountAlerted counts the missions that alerts whose external id begins so were
// opened as: the id itself, and those with a hyphen and more after it.
func (t *Tx) CountAlerted(ctx context.Context, account, source, externalID string) (int, error) {
	var n int
	err := t.queryRow(ctx, `SELECT COUNT(*) FROM mission WHERE account = $1 AND source_key = $2
		AND (external_id = $3 OR external_id >= $4 AND external_id < $5)`,
		account, sourceKey(source), externalID, externalID+"-", externalID+".").Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the missions of an alert: %w", none(err))
	}
	return n, nil
}

// PutOccurrences writes how often the alert of a mission was received, with the
// version and the stamp of the mission as they are now. A repeat that is only
// counted leaves both unchanged.
func (t *Tx) PutOccurrences(ctx context.Context, m *Mission) error {
	seen, err := maybeText(m.Occurrences)
	if err != nil {
		return fmt.Errorf("write the occurrences of mission %s: %w", m.ID, err)
	}
	_, err = t.exec(ctx, `UPDATE mission SET occurrences = $1, version = $2, updated_at = $3 WHERE id = $4`,
		seen, m.Version, m.Changed, m.ID)
	if err != nil {
		return fmt.Errorf("write the occurrences of mission %s: %w", m.ID, err)
	}
	return nil
}

// PutPendingAlert sets when the alert of a mission that has ended opens another
// one, in place of what was set before. The alert is kept as JSON.
func (t *Tx) PutPendingAlert(ctx context.Context, mission string, alert any, due time.Time) error {
	body, err := text(alert)
	if err != nil {
		return fmt.Errorf("write the pending alert of mission %s: %w", mission, err)
	}
	_, err = t.exec(ctx, `INSERT INTO pending_alert (mission, alert, due_at) VALUES ($1, $2, $3)
		ON CONFLICT (mission) DO UPDATE SET alert = excluded.alert, due_at = excluded.due_at, lease_until = NULL, lease_owner = NULL`,
		mission, body, due.UnixMicro())
	if err != nil {
		return fmt.Errorf("put the pending alert of mission %s: %w", mission, err)
	}
	return nil
}

// PendingAlert decodes the pending alert of a mission into alert; the error is
// ErrNone if there is none.
func (t *Tx) PendingAlert(ctx context.Context, mission string, alert any) error {
	err := t.queryRow(ctx, `SELECT alert FROM pending_alert WHERE mission = $1`, mission).Scan(document{alert})
	if err != nil {
		return fmt.Errorf("read the pending alert of mission %s: %w", mission, none(err))
	}
	return nil
}

// DeletePendingAlert deletes the pending alert of a mission, if there is one.
func (t *Tx) DeletePendingAlert(ctx context.Context, mission string) error {
	if _, err := t.exec(ctx, `DELETE FROM pending_alert WHERE mission = $1`, mission); err != nil {
		return fmt.Errorf("delete the pending alert of mission %s: %w", mission, err)
	}
	return nil
}

// ClaimPendingAlerts leases up to limit pending alerts that are due to owner and
// returns their missions.
func (t *Tx) ClaimPendingAlerts(ctx context.Context, owner string, now, lease time.Time, limit int) ([]string, error) {
	return t.claim(ctx, `UPDATE pending_alert SET lease_until = $1, lease_owner = $2 WHERE mission IN (`+duePendingAlerts+`) RETURNING mission`,
		lease.UnixMicro(), owner, now.UnixMicro(), limit)
}
