package mission

import (
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// ReopenWithin is how long after its completion a mission may be reopened. After that a new
// mission is needed, which has new SLA timers.
const ReopenWithin = 7 * 24 * time.Hour

// transitions is the state machine of a mission: for each status those that may follow it. It
// is a function of the status alone, apart from the hold (see AllowedTransitions) and the time
// to reopen (see ValidateReopen). CLOSED and CANCELED are final.
var transitions = func() map[fieldmark.MissionStatus][]fieldmark.MissionStatus {
	const (
		created    = fieldmark.MissionNew
		scheduled  = fieldmark.MissionScheduled
		dispatched = fieldmark.MissionDispatched
		enRoute    = fieldmark.MissionEnRoute
		inProgress = fieldmark.MissionInProgress
		onHold     = fieldmark.MissionOnHold
		completed  = fieldmark.MissionCompleted
		unable     = fieldmark.MissionUnableToComplete
		closed     = fieldmark.MissionClosed
		canceled   = fieldmark.MissionCanceled
	)
	return map[fieldmark.MissionStatus][]fieldmark.MissionStatus{
		created:    {scheduled, dispatched, onHold, canceled},
		scheduled:  {created, dispatched, onHold, canceled},
		dispatched: {scheduled, enRoute, inProgress, onHold, canceled},
		enRoute:    {dispatched, inProgress, onHold, canceled},
		inProgress: {onHold, completed, unable, canceled},
		onHold:     {scheduled, completed, unable, canceled},
		completed:  {inProgress, closed},
		unable:     {scheduled, closed, canceled},
		closed:     {},
		canceled:   {},
	}
}()

// AllowedTransitions returns the statuses that may follow a status. A mission on
// hold may also return to held, the status it had before the hold.
func AllowedTransitions(from, held fieldmark.MissionStatus) []fieldmark.MissionStatus {
	next := slices.Clone(transitions[from])
	if from == fieldmark.MissionOnHold && held != "" && !slices.Contains(next, held) {
		next = append(next, held)
	}
	return next
}

// ValidateTransition returns CodeInvalidTransition, with the allowed statuses, if a
// mission cannot change from one status to the other.
func ValidateTransition(from, to, held fieldmark.MissionStatus) error {
	next := AllowedTransitions(from, held)
	if slices.Contains(next, to) {
		return nil
	}
	return invalidTransition(from, to, next, "a mission that is %s cannot become %s", from, to)
}

func invalidTransition(from, to fieldmark.MissionStatus, allowed []fieldmark.MissionStatus,
	format string, args ...any) *fieldmark.Error {
	e := fieldmark.Errorf(fieldmark.CodeInvalidTransition, format, args...)
	e.From, e.To, e.Allowed = from, to, make([]string, len(allowed))
	for i, s := range allowed {
		e.Allowed[i] = string(s)
	}
	return e
}

// ValidateReopen returns CodeInvalidTransition if a completed mission was completed
// too long ago to be reopened. No other transition depends on the time.
func ValidateReopen(completed *fieldmark.Time, now time.Time) error {
	if completed == nil || now.Sub(completed.Std()) <= ReopenWithin {
		return nil
	}
	return invalidTransition(fieldmark.MissionCompleted, fieldmark.MissionInProgress,
		[]fieldmark.MissionStatus{fieldmark.MissionClosed},
		"a mission can be reopened for 7 days after it was completed")
}

// validateOccurredAt returns CodeInvalidOccurredAt unless a device may report that something happened
// to a mission at a time: not before its latest transition, which would make its history
// contradict itself, not more than fieldmark.MaxOccurredAhead after now, and not more than
// fieldmark.MaxOccurredAge before it.
func validateOccurredAt(at *fieldmark.Time, m *store.Mission, now time.Time) error {
	if at == nil {
		return nil
	}
	refuse := func(code, detail string) error {
		return &fieldmark.Error{Code: fieldmark.CodeInvalidOccurredAt, Detail: "occurredAt " + detail, MissionID: m.ID,
			Fields: []fieldmark.FieldError{{Pointer: "/occurredAt", Code: code, Detail: detail}}}
	}
	switch last := lastMoved(m); {
	case at.Std().Sub(now) > fieldmark.MaxOccurredAhead:
		return refuse("ahead", "is more than 5 minutes ahead of the server: check the clock of the device")
	case now.Sub(at.Std()) > fieldmark.MaxOccurredAge:
		return refuse("too_old", "is more than 72 hours ago")
	case at.Std().Before(last.Std()):
		return refuse("before_transition", "is before the latest transition of the mission, at "+last.String())
	}
	return nil
}

// lastMoved returns when a mission entered its status. Missions that were not moved since that is
// stored have the latest time that is known of them.
func lastMoved(m *store.Mission) fieldmark.Time {
	if m.MovedAt != nil {
		return *m.MovedAt
	}
	last := m.CreatedAt
	for _, at := range []*fieldmark.Time{m.ScheduledAt, m.DispatchedAt, m.StartedAt, m.CompletedAt, m.CanceledAt,
		m.ClosedAt} {
		if at != nil && at.Std().After(last.Std()) {
			last = *at
		}
	}
	return last
}

// TransitionEvent returns the event type of a valid transition. Returning to the status before
// a hold is mission.resumed, whatever that status is. The result for a transition that is not
// valid has no meaning.
func TransitionEvent(from, to, held fieldmark.MissionStatus) fieldmark.EventType {
	if from == fieldmark.MissionOnHold && to == held {
		return fieldmark.EventMissionResumed
	}
	switch to {
	case fieldmark.MissionNew:
		return fieldmark.EventMissionUnscheduled
	case fieldmark.MissionScheduled:
		return fieldmark.EventMissionScheduled
	case fieldmark.MissionDispatched:
		return fieldmark.EventMissionDispatched
	case fieldmark.MissionEnRoute:
		return fieldmark.EventMissionEnRoute
	case fieldmark.MissionOnHold:
		return fieldmark.EventMissionOnHold
	case fieldmark.MissionCompleted:
		return fieldmark.EventMissionCompleted
	case fieldmark.MissionUnableToComplete:
		return fieldmark.EventMissionUnableToComplete
	case fieldmark.MissionClosed:
		return fieldmark.EventMissionClosed
	case fieldmark.MissionCanceled:
		return fieldmark.EventMissionCanceled
	}
	if from == fieldmark.MissionCompleted {
		return fieldmark.EventMissionReopened
	}
	return fieldmark.EventMissionStarted
}

// PathToCompleted returns the transitions from a status to COMPLETED that complete a mission in
// one request. It returns nil if COMPLETED cannot be reached. It takes the shortest way:
// EN_ROUTE is left out, because no report says that the assignee set out.
func PathToCompleted(from fieldmark.MissionStatus) []fieldmark.MissionStatus {
	switch from {
	case fieldmark.MissionNew, fieldmark.MissionScheduled:
		return []fieldmark.MissionStatus{fieldmark.MissionDispatched, fieldmark.MissionInProgress,
			fieldmark.MissionCompleted}
	case fieldmark.MissionDispatched, fieldmark.MissionEnRoute:
		return []fieldmark.MissionStatus{fieldmark.MissionInProgress, fieldmark.MissionCompleted}
	case fieldmark.MissionInProgress, fieldmark.MissionOnHold:
		return []fieldmark.MissionStatus{fieldmark.MissionCompleted}
	}
	return nil
}
