package mission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/alert"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Limits of receiving alerts.
const (
	// DefaultCooldown is how long an alert that fires again is merged into its
	// mission after people ended that mission: a flapping alert is one outage. If
	// it still fires when the cooldown ends, another mission is created.
	DefaultCooldown = 15 * time.Minute
	// MaxCooldown limits the cooldown that a sender may set.
	MaxCooldown = 24 * time.Hour
	// alertsAtOnce limits the signals in one transaction: other writers wait until
	// it ends.
	alertsAtOnce = 100
	// maxNames limits the attempts to find an external id that is not in use.
	maxNames = 8
)

// reasonSourceResolved is the reason code of a mission that was canceled before it
// was planned, because its alert was resolved.
const reasonSourceResolved = "SOURCE_RESOLVED"

// AlertOptions configure how the alerts of a sender are processed. They come from the query of
// the webhook address, so that alerting tools need no other configuration.
type AlertOptions struct {
	alert.Options
	Cooldown       time.Duration // 0: none
	CancelResolved bool          // cancel an unplanned mission when its alert is resolved
}

// ReceiveAlerts applies a notification: a signal that fires creates a mission, or
// is merged into the open one. Receiving a notification twice is harmless, so a
// sender may retry after an error.
//
// The signals are applied in several transactions. After an error the first ones may have been
// applied; receiving them again merges them.
func (s *Service) ReceiveAlerts(ctx context.Context, account string, n alert.Notification,
	o AlertOptions) (fieldmark.AlertReport, error) {
	signals, ignored := n.Signals(o.Options)
	report := fieldmark.AlertReport{Received: n.Alerts(), Ignored: ignored, Missions: []fieldmark.AlertMission{}}
	for chunk := range slices.Chunk(signals, alertsAtOnce) {
		after := report
		err := s.write(ctx, func(ctx context.Context, t *txn) error {
			after = report // the transaction may run twice
			after.Missions = slices.Clone(report.Missions)
			for _, sig := range chunk {
				m, outcome, err := t.receiveAlert(ctx, account, sig, o)
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

// receiveAlert applies one signal to the newest mission of its alert: it merges, resolves,
// waits for the end of the cooldown, or creates another mission. The outcome is empty if the
// signal resolves an alert that has no mission.
func (t *txn) receiveAlert(ctx context.Context, account string, sig alert.Signal, o AlertOptions) (fieldmark.Mission,
	fieldmark.AlertOutcome, error) {
	row, err := t.tx.NewestAlertMission(ctx, account, o.Source, sig.Key)
	known := err == nil
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fieldmark.Mission{}, "", err
	}
	now, err := t.tx.Now(ctx, account)
	if err != nil {
		return fieldmark.Mission{}, "", err
	}
	ended, over := endOf(&row)
	switch {
	case !sig.Firing && !known:
		return fieldmark.Mission{}, "", nil
	case !sig.Firing:
		err := t.resolve(ctx, &row, o)
		return row.Mission, fieldmark.AlertResolved, err
	case known && !over:
		err := t.merge(ctx, &row, sig, false)
		return row.Mission, fieldmark.AlertMerged, err
	case known && !canceledBySource(&row) && now.Sub(ended) < o.Cooldown:
		err := t.mergeUntil(ctx, &row, sig, ended.Add(o.Cooldown), o.Cooldown)
		return row.Mission, fieldmark.AlertMerged, err
	case known:
		if err := t.tx.DeletePendingAlert(ctx, row.ID); err != nil {
			return fieldmark.Mission{}, "", err
		}
	}
	return t.alertMission(ctx, account, sig, fieldmark.At(now.Add(-ageOf(ctx))))
}

// canceledBySource reports whether the adapter itself canceled a mission, because
// its alert was resolved. The alert fires again: the cancellation was premature,
// so no cooldown applies.
func canceledBySource(m *store.Mission) bool {
	return m.Status == fieldmark.MissionCanceled && m.StatusReason != nil && m.StatusReason.Code == reasonSourceResolved
}

// pendingAlert is an alert that fires in the cooldown of its mission, with what the next
// mission needs. It is stored as JSON; fields may be added, but not renamed.
type pendingAlert struct {
	Key      string                   `json:"key"`
	Starts   time.Time                `json:"starts"`
	Request  fieldmark.MissionRequest `json:"request"`
	SeenAt   fieldmark.Time           `json:"seenAt"` // when it was last received
	Cooldown time.Duration            `json:"cooldown"`
}

// mergeUntil merges an alert into a mission that people ended, and opens another
// mission at the end of the cooldown unless the alert is resolved by then.
// Senders repeat an alert only after hours, so waiting for the repeat would delay
// the work.
func (t *txn) mergeUntil(ctx context.Context, m *store.Mission, sig alert.Signal, due time.Time,
	cooldown time.Duration) error {
	if err := t.merge(ctx, m, sig, true); err != nil {
		return err
	}
	p := pendingAlert{Key: sig.Key, Starts: sig.Starts, Request: sig.Request, SeenAt: m.UpdatedAt, Cooldown: cooldown}
	return t.tx.PutPendingAlert(ctx, m.Account, m.ID, p, due)
}

// openPending opens the mission of a pending alert whose cooldown is over. The claim may be
// stale: the alert was resolved, or a mission for it is open. Then it deletes the pending alert
// or moves its due time, so that it is not claimed again.
func (t *txn) openPending(ctx context.Context, mission string) error {
	var p pendingAlert
	if err := t.tx.PendingAlert(ctx, mission, &p); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	}
	m, err := t.tx.Mission(ctx, mission)
	if err != nil {
		return err
	}
	newest, err := t.tx.NewestAlertMission(ctx, m.Account, m.Source, p.Key)
	if err != nil {
		return err
	}
	now, err := t.tx.Now(ctx, m.Account)
	if err != nil {
		return err
	}
	ended, over := endOf(&newest)
	due := ended.Add(p.Cooldown)
	if over && newest.ID == mission && due.After(now) { // it was reopened and has ended again
		return t.tx.PutPendingAlert(ctx, m.Account, mission, p, due)
	}
	if err := t.tx.DeletePendingAlert(ctx, mission); err != nil || !over || newest.ID != mission {
		return err
	}
	opened, _, err := t.alertMission(ctx, m.Account, alert.Signal{Key: p.Key, Firing: true, Starts: p.Starts,
		Request: p.Request}, p.SeenAt)
	if err == nil {
		t.s.log.Info("alert still fires after the cooldown", slog.String("mission", opened.ID),
			slog.String("previous", mission))
	}
	return err
}

// endOf reports whether the work of a mission has ended, and when. A completed
// mission waits only for its paperwork: an alert that fires after that needs
// another visit.
func endOf(m *store.Mission) (at time.Time, over bool) {
	stamps := []*fieldmark.Time{m.CompletedAt, m.ClosedAt}
	switch m.Status {
	case fieldmark.MissionCompleted, fieldmark.MissionClosed:
	case fieldmark.MissionCanceled:
		stamps = []*fieldmark.Time{m.CanceledAt} // a mission that was reopened keeps the time it was first completed at
	default:
		return time.Time{}, false
	}
	for _, t := range stamps {
		if t != nil {
			return t.Std(), true
		}
	}
	return m.UpdatedAt.Std(), true
}

// alertMission creates the mission of a signal. If the alert had missions before, the external
// id gets a number. The number starts after those in use, and the next ones are tried if a
// mission that no alert created has the id.
func (t *txn) alertMission(ctx context.Context, account string, sig alert.Signal,
	seen fieldmark.Time) (fieldmark.Mission, fieldmark.AlertOutcome, error) {
	taken, err := t.tx.CountAlertMissions(ctx, account, sig.Request.Source, sig.ExternalID(1))
	if err != nil {
		return fieldmark.Mission{}, "", err
	}
	for attempt := taken + 1; ; attempt++ {
		r := sig.Request
		r.ExternalID = sig.ExternalID(attempt)
		in, err := NewRequest(account, r)
		if err != nil {
			return fieldmark.Mission{}, "", fmt.Errorf("an alert that is no good mission: %w", err)
		}
		in.row.Occurrences = &fieldmark.Occurrences{Count: 1, FirstSeenAt: seen, LastSeenAt: seen}
		m, created, err := t.create(ctx, in)
		if err == nil && created {
			return m, fieldmark.AlertCreated, nil
		}
		// Another mission has the external id, with the same content or with other
		// content.
		if err != nil && !fieldmark.IsCode(err, fieldmark.CodeMissionExists) || attempt == taken+maxNames {
			return fieldmark.Mission{}, "", errors.Join(err,
				fmt.Errorf("no name is left for the mission of alert %s", sig.Key))
		}
	}
}

// merge counts a repeat of the alert of a mission. That is a new version with an event only if
// something else changed with it: the alert is more urgent, it was resolved before, or the
// mission has ended. Otherwise repeats would fill the event log and the queues of webhooks.
func (t *txn) merge(ctx context.Context, m *store.Mission, sig alert.Signal, over bool) error {
	before := m.Mission
	seen := occurrencesOf(m)
	raised := !over && sig.Request.Priority.Above(m.Priority)
	seen.Count++
	if !raised && !over && seen.ResolvedAt == nil {
		now, err := t.tx.Now(ctx, m.Account)
		if err != nil {
			return err
		}
		seen.LastSeenAt = fieldmark.At(now)
		if err := t.tx.PutOccurrences(ctx, m); err != nil {
			return err
		}
		return t.noteRepeat(ctx, m, sig)
	}
	if err := t.stamp(ctx, m); err != nil {
		return err
	}
	m.Version++
	seen.LastSeenAt, seen.ResolvedAt = m.UpdatedAt, nil
	if raised {
		was := m.MissionRequest
		m.Priority = sig.Request.Priority
		if err := t.tx.UpdateMissionRequest(ctx, m, was); err != nil {
			return err
		}
	}
	if err := t.tx.PutOccurrences(ctx, m); err != nil {
		return err
	}
	if err := t.edited(ctx, &before, m); err != nil {
		return err
	}
	return t.noteRepeat(ctx, m, sig)
}

// occurrencesOf returns the occurrences of a mission, and adds them if it has none.
func occurrencesOf(m *store.Mission) *fieldmark.Occurrences {
	if m.Occurrences == nil {
		m.Occurrences = &fieldmark.Occurrences{Count: 1, FirstSeenAt: m.CreatedAt, LastSeenAt: m.CreatedAt}
	}
	return m.Occurrences
}

// resolve records that the alert of a mission is resolved, unless that is recorded already. The
// mission stays open unless the sender requested its cancellation and it is not planned yet: otherwise
// a person decides whether the work is still needed.
func (t *txn) resolve(ctx context.Context, m *store.Mission, o AlertOptions) error {
	seen := occurrencesOf(m)
	if seen.ResolvedAt != nil {
		return nil
	}
	if err := t.stamp(ctx, m); err != nil {
		return err
	}
	m.Version++
	at := m.UpdatedAt
	seen.ResolvedAt = &at
	if err := t.tx.PutOccurrences(ctx, m); err != nil {
		return err
	}
	if err := t.tx.DeletePendingAlert(ctx, m.ID); err != nil {
		return err
	}
	if _, err := event.Emit(ctx, t.tx, m.Account, missionEvent(ctx, fieldmark.EventMissionSourceResolved, m),
		m.Mission); err != nil {
		return err
	}
	if !o.CancelResolved || m.Status != fieldmark.MissionNew {
		return nil
	}
	reason := fieldmark.Reason{Code: reasonSourceResolved, Text: "What sent it says it is over."}
	return t.move(ctx, m, Transition{To: fieldmark.MissionCanceled, Reason: &reason})
}
