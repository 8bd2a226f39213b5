package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// MissionQuery asks for a page of missions. Every combination of its fields is
// answered from an index; without Account only Status and the ids narrow.
type MissionQuery struct {
	Account    string
	Status     []fieldmark.MissionStatus // without doubles
	Priority   fieldmark.Priority
	Source     string
	ExternalID string // with Source

	From, Until string // ids: not before the first, and before the second; empty means any
	Limit       int

	// Changes asks for the order of changes instead of the newest first: those
	// after the stamp Since and, at that stamp, after the id SinceID.
	Changes bool
	Since   int64
	SinceID string
}

// lastID sorts after every id.
const lastID = "~"

// Missions lists missions, the newest first or in the order of their changes.
func (s *Store) Missions(ctx context.Context, q MissionQuery) ([]Mission, error) {
	question, args := q.sql()
	rows, err := s.query(ctx, question, args...)
	list, err := collect(rows, err, scanMission)
	if err == nil {
		all := make([]*Mission, len(list))
		for i := range list {
			all[i] = &list[i]
		}
		err = fill(ctx, s, all)
	}
	if err != nil {
		return nil, fmt.Errorf("list missions: %w", err)
	}
	return list, nil
}

// sql writes the question.
func (q *MissionQuery) sql() (string, []any) {
	if q.Until == "" {
		q.Until = lastID
	}
	var w where
	switch {
	case q.Changes:
		w.with("account = %s", q.Account)
		w.with("(updated_at, id) > (%s, %s)", q.Since, q.SinceID)
		q.filters(&w)
		return `SELECT ` + missionColumns + ` FROM mission WHERE ` + w.text() + ` ORDER BY updated_at, id LIMIT ` + w.arg(q.Limit), w.args
	case q.ExternalID != "":
		w.with("account = %s", q.Account)
		w.with("external_id = %s", q.ExternalID)
		q.filters(&w)
		return `SELECT ` + missionColumns + ` FROM mission WHERE ` + w.text() + ` ORDER BY id DESC LIMIT ` + w.arg(q.Limit), w.args
	}
	return q.newest(&w), w.args
}

// filters are the conditions besides the order's own.
func (q *MissionQuery) filters(w *where) {
	if q.Source != "" {
		w.with("source_key = %s", sourceKey(q.Source))
	}
	if len(q.Status) > 0 {
		values := make([]any, len(q.Status))
		for i, st := range q.Status {
			values[i] = string(st)
		}
		w.with("status IN (%s"+strings.Repeat(", %s", len(values)-1)+")", values...)
	}
	if q.Priority != "" {
		w.with("priority = %s", string(q.Priority))
	}
	w.with("id >= %s", q.From)
	w.with("id < %s", q.Until)
}

// newest asks for one stretch of an index for each pair of a status and a
// priority, and takes the newest of them all: neither engine would sort out by
// itself that this reads no more than a page of each.
func (q *MissionQuery) newest(w *where) string {
	var equal []string
	if q.Account != "" {
		equal = append(equal, "account = "+w.arg(q.Account))
	}
	if q.Source != "" {
		equal = append(equal, "source_key = "+w.arg(sourceKey(q.Source)))
	}
	from, until, limit := w.arg(q.From), w.arg(q.Until), w.arg(q.Limit)
	stretch := func(conditions ...string) string {
		conditions = append(conditions, "id >= "+from, "id < "+until)
		return `SELECT id FROM mission WHERE ` + strings.Join(append(equal[:len(equal):len(equal)], conditions...), " AND ") + ` ORDER BY id DESC LIMIT ` + limit
	}
	var stretches []string
	switch {
	case len(q.Status) == 0 && q.Priority == "" && q.Source == "":
		stretches = []string{stretch()}
	case q.Account == "":
		for _, st := range q.Status {
			stretches = append(stretches, stretch("status = "+w.arg(string(st))))
		}
	default:
		priorities := fieldmark.Priorities()
		if q.Priority != "" {
			priorities = []fieldmark.Priority{q.Priority}
		}
		statuses := q.Status
		if len(statuses) == 0 {
			statuses = fieldmark.MissionStatuses()
		}
		for _, p := range priorities {
			priority := w.arg(string(p))
			for _, st := range statuses {
				stretches = append(stretches, stretch("status = "+w.arg(string(st)), "priority = "+priority))
			}
		}
	}
	return `SELECT ` + missionColumns + ` FROM mission WHERE id IN (SELECT id FROM (SELECT id FROM (` +
		strings.Join(stretches, `) AS s UNION ALL SELECT id FROM (`) + `) AS s) AS page ORDER BY id DESC LIMIT ` + limit + `) ORDER BY id DESC`
}

// where gathers conditions and their arguments.
type where struct {
	conditions []string
	args       []any
}

// arg returns the placeholder of a value.
func (w *where) arg(value any) string {
	w.args = append(w.args, value)
	return fmt.Sprintf("$%d", len(w.args))
}

// with adds a condition, in which %s stands for each value.
func (w *where) with(condition string, values ...any) {
	marks := make([]any, len(values))
	for i, v := range values {
		marks[i] = w.arg(v)
	}
	w.conditions = append(w.conditions, fmt.Sprintf(condition, marks...))
}

func (w *where) text() string { return strings.Join(w.conditions, " AND ") }
