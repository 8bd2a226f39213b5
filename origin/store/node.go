package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// PutNode notes what a node says of itself and returns what it said before; the
// error is not ErrNone for one that is new, whose former report is zero.
func (t *Tx) PutNode(ctx context.Context, r fieldmark.NodeReport) (before fieldmark.NodeReport, err error) {
	list, err := nodes(ctx, t, `SELECT report, seen_at FROM node WHERE id = $1`, r.Node)
	if err != nil {
		return before, err
	}
	if len(list) == 1 {
		before = list[0]
	}
	text, err := json.Marshal(r)
	if err == nil {
		_, err = t.exec(ctx, `INSERT INTO node (id, report, seen_at) VALUES ($1, $2, $3)
			ON CONFLICT (id) DO UPDATE SET report = excluded.report, seen_at = excluded.seen_at`, r.Node, string(text), r.SeenAt.Micros())
	}
	if err != nil {
		return before, fmt.Errorf("note node %s: %w", r.Node, err)
	}
	return before, nil
}

// Nodes lists the nodes heard of since, by their address.
func (s *Store) Nodes(ctx context.Context, since fieldmark.Time, limit int) ([]fieldmark.NodeReport, error) {
	return nodes(ctx, s, `SELECT report, seen_at FROM node WHERE seen_at >= $1 ORDER BY id LIMIT $2`, since.Micros(), limit)
}

func nodes(ctx context.Context, from asker, text string, args ...any) ([]fieldmark.NodeReport, error) {
	rows, err := from.query(ctx, text, args...)
	list, err := collect(rows, err, func(row scanner) (r fieldmark.NodeReport, err error) {
		var report string
		var at int64
		if err := row.Scan(&report, &at); err != nil {
			return r, err
		}
		err = json.Unmarshal([]byte(report), &r)
		r.SeenAt = fieldmark.AtMicros(at)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	return list, nil
}

// DropNodes forgets nodes not heard of since.
func (t *Tx) DropNodes(ctx context.Context, since fieldmark.Time) error {
	if _, err := t.exec(ctx, `DELETE FROM node WHERE seen_at < $1`, since.Micros()); err != nil {
		return fmt.Errorf("forget nodes: %w", err)
	}
	return nil
}
