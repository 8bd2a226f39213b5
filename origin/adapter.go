package origin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/alert"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Bounds of taking alerts.
const (
	// DefaultCooldown is how long an alert that comes back belongs to the mission
	// that ended: what flaps is one outage.
	DefaultCooldown = 15 * time.Minute
	// MaxCooldown bounds what a sender may ask for.
	MaxCooldown = 24 * time.Hour
	// alertsAtOnce is how many signals share a transaction, which others wait for.
	alertsAtOnce = 100
	// maxNames bounds the search for a name that nobody else took.
	maxNames = 8
)

// reasonSourceResolved is why a mission nobody had begun was called off.
const reasonSourceResolved = "SOURCE_RESOLVED"

// AlertOptions say how a sender wants its alerts taken.
type AlertOptions struct {
	alert.Options
	Cooldown       time.Duration // 0: none
	CancelResolved bool          // call a mission off that is over before anybody planned it
}

// TakeAlerts makes missions of a notification: a signal that fires opens one, or
// is heard of again by the one that is open. Taking a notification twice does no
// harm, so a sender may repeat one that was answered with an error.
func (s *Service) TakeAlerts(ctx context.Context, account string, n alert.Notification, o AlertOptions) (fieldmark.AlertReport, error) {
	signals, ignored := n.Signals(o.Options)
	report := fieldmark.AlertReport{Received: n.Alerts(), Ignored: ignored, Missions: []fieldmark.AlertMission{}}
	for chunk := range slices.Chunk(signals, alertsAtOnce) {
		after := report
		err := s.act(ctx, func(ctx context.Context, a *Act) error {
			after = report // a transaction may be begun again
			after.Missions = slices.Clone(report.Missions)
			for _, sig := range chunk {
				m, outcome, err := a.takeAlert(ctx, account, sig, o)
				if err != nil {
					return err
				}
				if outcome == "" {
					after.Ignored++
					continue
				}
				after.Add(m, outcome)
			}
			return nil
		})
		if err != nil {
			return fieldmark.AlertReport{}, fmt.Errorf("take alerts: %w", err)
		}
		report = after
	}
	return report, nil
}

// takeAlert makes of one signal what it comes to; no outcome is an end of
// something that nobody knows.
func (a *Act) takeAlert(ctx context.Context, account string, sig alert.Signal, o AlertOptions) (fieldmark.Mission, fieldmark.AlertOutcome, error) {
	row, err := a.tx.NewestAlerted(ctx, account, o.Source, sig.Key)
	known := err == nil
	if err != nil && !errors.Is(err, store.ErrNone) {
		return fieldmark.Mission{}, "", err
	}
	now := time.Now()
	ended, over := endOf(&row)
	switch {
	case !sig.Firing && !known:
		return fieldmark.Mission{}, "", nil
	case !sig.Firing:
		err := a.resolve(ctx, &row, o)
		return row.Mission, fieldmark.AlertResolved, err
	case known && (!over || now.Sub(ended) < o.Cooldown):
		err := a.merge(ctx, &row, sig, over)
		return row.Mission, fieldmark.AlertMerged, err
	}
	return a.alertMission(ctx, account, sig, o, now)
}

// endOf says when the work of a mission ended, if it did. A completed mission
// waits for its papers only: what fires after that wants somebody to go again.
func endOf(m *store.Mission) (at time.Time, over bool) {
	switch m.Status {
	case fieldmark.MissionCompleted, fieldmark.MissionClosed, fieldmark.MissionCanceled:
	default:
		return time.Time{}, false
	}
	for _, t := range []*fieldmark.Time{m.CompletedAt, m.CanceledAt, m.ClosedAt} {
		if t != nil {
			return t.Std(), true
		}
	}
	return m.UpdatedAt.Std(), true
}

// alertMission opens the mission of a signal. An alert that goes on firing after
// its mission ended opens another, under a name with a number.
func (a *Act) alertMission(ctx context.Context, account string, sig alert.Signal, o AlertOptions, now time.Time) (fieldmark.Mission, fieldmark.AlertOutcome, error) {
	taken, err := a.tx.CountAlerted(ctx, account, o.Source, sig.ExternalID(1))
	if err != nil {
		return fieldmark.Mission{}, "", err
	}
	for attempt := taken + 1; ; attempt++ {
		r := sig.Request
		r.ExternalID = sig.ExternalID(attempt)
		in, err := NewIntake(account, r)
		if err != nil {
			return fieldmark.Mission{}, "", fmt.Errorf("an alert that is no good mission: %w", err)
		}
		at := fieldmark.At(now)
		in.row.Occurrences = &fieldmark.Occurrences{Count: 1, FirstSeenAt: at, LastSeenAt: at}
		m, created, err := a.OpenMission(ctx, in)
		if err == nil && created {
			return m, fieldmark.AlertCreated, nil
		}
		// Somebody else took the name, with the same words or with others.
		if err != nil && !fieldmark.IsCode(err, fieldmark.CodeMissionExists) || attempt == taken+maxNames {
			return fieldmark.Mission{}, "", errors.Join(err, fmt.Errorf("no name is left for the mission of alert %s", sig.Key))
		}
	}
}

// merge notes that the alert of a mission was heard of again. It is told of only
// if it says something new: that it is more urgent, that it is back, or that it
// is back after the work ended.
func (a *Act) merge(ctx context.Context, m *store.Mission, sig alert.Signal, over bool) error {
	before := m.Mission
	if err := a.stamp(ctx, m); err != nil {
		return err
	}
	m.Version++
	seen := heard(m)
	back := seen.ResolvedAt != nil
	seen.Count, seen.LastSeenAt, seen.ResolvedAt = seen.Count+1, m.UpdatedAt, nil
	raised := !over && sig.Request.Priority.Above(m.Priority)
	if raised {
		was := m.MissionRequest
		m.Priority = sig.Request.Priority
		if err := a.tx.EditMission(ctx, m, was); err != nil {
			return err
		}
	}
	if err := a.tx.Heard(ctx, m, raised); err != nil {
		return err
	}
	if raised || back || over {
		return a.edited(ctx, &before, m)
	}
	return nil
}

// heard returns the occurrences of a mission, which it may not have had.
func heard(m *store.Mission) *fieldmark.Occurrences {
	if m.Occurrences == nil {
		m.Occurrences = &fieldmark.Occurrences{Count: 1, FirstSeenAt: m.CreatedAt, LastSeenAt: m.CreatedAt}
	}
	return m.Occurrences
}

// resolve notes once that the alert of a mission is over.
func (a *Act) resolve(ctx context.Context, m *store.Mission, o AlertOptions) error {
	seen := heard(m)
	if seen.ResolvedAt != nil {
		return nil
	}
	if err := a.stamp(ctx, m); err != nil {
		return err
	}
	m.Version++
	at := m.UpdatedAt
	seen.ResolvedAt = &at
	if err := a.tx.Heard(ctx, m, false); err != nil {
		return err
	}
	if _, err := a.s.tell(ctx, a.tx, m.Account, missionEvent(fieldmark.EventMissionSourceResolved, m.ID), m.Mission); err != nil {
		return err
	}
	if !o.CancelResolved || m.Status != fieldmark.MissionNew {
		return nil
	}
	reason := fieldmark.Reason{Code: reasonSourceResolved, Text: "What sent it says it is over."}
	return a.move(ctx, m, Move{To: fieldmark.MissionCanceled, Reason: &reason})
}
