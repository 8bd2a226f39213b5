package store

import (
	"context"
	"fmt"
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

// Heard writes that the alert of a mission was heard of, as its newest version.
// Unless more changed, that is no news to calendars.
func (t *Tx) Heard(ctx context.Context, m *Mission, more bool) error {
	seen, err := maybeText(m.Occurrences)
	if err != nil {
		return fmt.Errorf("write the occurrences of mission %s: %w", m.ID, err)
	}
	_, err = t.exec(ctx, `UPDATE mission SET occurrences = $1, version = $2,
		told_at = CASE WHEN heard_at = updated_at THEN told_at ELSE updated_at END,
		heard = heard + $3, heard_at = CASE WHEN $3 = 1 THEN CAST($4 AS BIGINT) ELSE heard_at END, updated_at = $4 WHERE id = $5`,
		seen, m.Version, bit(!more), m.Changed, m.ID)
	if err != nil {
		return fmt.Errorf("note that mission %s was heard of: %w", m.ID, err)
	}
	return nil
}
