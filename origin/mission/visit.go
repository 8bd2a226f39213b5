package mission

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// maxVisits limits each part of a list of visits: a person has a few a day, and one page shows all.
const maxVisits = 100

// Visit is a mission as its assignee sees it.
type Visit struct {
	Row
	HeldFrom fieldmark.MissionStatus   // the status before a hold; empty in other statuses
	Next     []fieldmark.MissionStatus // the statuses that may follow now
	MovedAt  fieldmark.Time            // when it entered its status, as OccurredAt of a Transition is compared with
}

func newVisit(m *store.Mission) Visit {
	return Visit{Row: newRow(m), HeldFrom: m.HeldFrom, Next: AllowedTransitions(m.Status, m.HeldFrom),
		MovedAt: lastMoved(m)}
}

// underwayStatuses are those of a mission that its assignee has to act on, whenever it is planned.
var underwayStatuses = []fieldmark.MissionStatus{fieldmark.MissionDispatched, fieldmark.MissionEnRoute,
	fieldmark.MissionInProgress, fieldmark.MissionOnHold}

// Visits reads missions for their assignees. Its methods may be called from any goroutine.
type Visits struct{ store *store.Store }

// List returns the missions of an assignee that are planned in a period, also those that ended in it,
// and the dispatched ones that are planned earlier or at no time. They are in the order of their
// start, those without a time first.
func (s *Visits) List(ctx context.Context, account, assignee string, from, until time.Time) ([]Visit, error) {
	rows, err := s.store.PlannedMissions(ctx, store.PlanQuery{Account: account, Assignees: []string{assignee},
		From: from, Today: from, Until: until, Ended: from, Limit: maxVisits})
	if err != nil {
		return nil, err
	}
	if err := s.store.AddDetails(ctx, rows); err != nil {
		return nil, err
	}
	open, err := s.store.Missions(ctx, store.MissionQuery{Account: account, Assignee: assignee,
		Status: slices.Sorted(slices.Values(underwayStatuses)), Limit: maxVisits})
	if err != nil {
		return nil, err
	}
	for _, m := range open {
		later := m.Scheduled != nil && !m.Scheduled.Start.Std().Before(until)
		if !later && !slices.ContainsFunc(rows, func(r store.Mission) bool { return r.ID == m.ID }) {
			rows = append(rows, m)
		}
	}
	start := func(m *store.Mission) time.Time {
		if m.Scheduled == nil {
			return time.Time{}
		}
		return m.Scheduled.Start.Std()
	}
	slices.SortStableFunc(rows, func(a, b store.Mission) int { return start(&a).Compare(start(&b)) })
	visits := make([]Visit, len(rows))
	for i := range rows {
		visits[i] = newVisit(&rows[i])
	}
	return visits, nil
}

// Get returns a mission of an account. Whether it has the assignee who asks is for the caller to
// decide: it may have been theirs a moment ago.
func (s *Visits) Get(ctx context.Context, account, id string) (Visit, error) {
	if !fieldmark.CheckID(fieldmark.PrefixMission, id) {
		return Visit{}, errNoMission()
	}
	m, err := s.store.Mission(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && m.Account != account {
		return Visit{}, errNoMission()
	}
	return newVisit(&m), err
}
