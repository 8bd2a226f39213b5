package mission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // time zones must be the same on a machine without zone files

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Request is a validated mission request, ready to be created. It holds the row to insert,
// encoded before the transaction. Only NewRequest makes one.
type Request struct{ row store.Mission }

// Validate normalizes a request and returns all its errors, including those that
// need the time zone database.
func Validate(r *fieldmark.MissionRequest) []fieldmark.FieldError {
	bad := ValidateRequest(r)
	if r.Location != nil && r.Location.TimeZone != "" {
		if _, err := time.LoadLocation(r.Location.TimeZone); err != nil && !hasError(bad, "/location/timeZone") {
			bad = append(bad, fieldmark.FieldError{Pointer: "/location/timeZone", Code: "enum",
				Detail: "is not a known time zone"})
		}
	}
	return bad
}

// NewRequest validates a request of an account. Call it before the transaction begins, because
// transactions wait for each other. It returns CodeValidationFailed with all invalid fields at
// once.
func NewRequest(account string, r fieldmark.MissionRequest) (Request, error) {
	if err := validation.Errors(Validate(&r)).Err(); err != nil {
		return Request{}, err
	}
	fingerprint, err := Fingerprint(&r)
	if err != nil {
		return Request{}, fmt.Errorf("fingerprint a mission request: %w", err)
	}
	row := store.Mission{Account: account, Fingerprint: fingerprint, Mission: fieldmark.Mission{
		MissionRequest: r, Status: fieldmark.MissionNew, Version: 1,
	}}
	if err := row.EncodeRequest(); err != nil {
		return Request{}, err
	}
	return Request{row}, nil
}

// Create creates the mission that account, source and externalId identify permanently. The same
// request again returns the existing mission (created is false), whatever happened to it since;
// a different request with the same identifiers is CodeMissionExists with the members that
// differ, but not their values. Sources that differ in case only are the same.
//
// The mission, its SLA timers, its payment, its event and the deliveries of that event are
// committed together.
func (s *Service) Create(ctx context.Context, account string, r fieldmark.MissionRequest) (m fieldmark.Mission,
	created bool, err error) {
	in, err := NewRequest(account, r)
	if err != nil {
		return fieldmark.Mission{}, false, err
	}
	err = s.writeAhead(ctx, idempotency.Key{}, []Request{in}, func(ctx context.Context, t *txn) (err error) {
		m, created, err = t.create(ctx, in)
		return err
	})
	if err != nil {
		return fieldmark.Mission{}, false, fmt.Errorf("open a mission: %w", err)
	}
	return m, created, nil
}

// create is Service.Create inside a transaction.
func (t *txn) create(ctx context.Context, in Request) (m fieldmark.Mission, created bool, err error) {
	row := in.row
	if err := t.stamp(ctx, &row); err != nil {
		return fieldmark.Mission{}, false, err
	}
	row.ID = newID(ctx, fieldmark.PrefixMission, time.UnixMicro(row.ChangedAt))
	row.CreatedAt = fieldmark.At(row.UpdatedAt.Std().Add(-ageOf(ctx)))
	limit, err := t.dailyLimit(ctx, &row)
	if err != nil {
		return fieldmark.Mission{}, false, err
	}
	if fieldmark.IsTestAccount(row.Account) {
		if err := t.requireRoom(ctx, &row); err != nil {
			return fieldmark.Mission{}, false, err
		}
	}
	// The unique index on the identifiers decides between concurrent requests: one inserts the
	// row, and all others read it.
	added, err := t.tx.AddMission(ctx, &row)
	if err != nil {
		return fieldmark.Mission{}, false, err
	}
	if added {
		if limit.Limit > 0 {
			if err := t.tx.CountMission(ctx, limit.Group, dayOf(&row)); err != nil {
				return fieldmark.Mission{}, true, err
			}
		}
		if err := t.begin(ctx, &row); err != nil {
			return fieldmark.Mission{}, true, err
		}
		_, err := event.Emit(ctx, t.tx, row.Account, missionEvent(ctx, fieldmark.EventMissionCreated, &row),
			row.Mission)
		return row.Mission, true, err
	}
	old, err := t.tx.MissionBySource(ctx, row.Account, row.Source, row.ExternalID)
	if err != nil {
		return fieldmark.Mission{}, false, err
	}
	if old.Fingerprint != row.Fingerprint {
		return fieldmark.Mission{}, false, missionExists(&old, &row)
	}
	return old.Mission, false, nil
}

// day is the length of a day in UTC, in microseconds.
const day = int64(24 * time.Hour / time.Microsecond)

// dayOf returns the day in UTC on which a mission was created, since 1970.
func dayOf(m *store.Mission) int64 { return m.ChangedAt / day }

// dailyLimit returns the limit of missions a day of an account. If it is used, only a mission that
// exists already passes: its request gets the response of a repetition.
func (t *txn) dailyLimit(ctx context.Context, m *store.Mission) (store.DailyLimit, error) {
	limit, err := t.tx.DailyLimit(ctx, m.Account, dayOf(m))
	if err != nil || limit.Limit == 0 || limit.Used < limit.Limit {
		return limit, err
	}
	_, err = t.tx.MissionBySource(ctx, m.Account, m.Source, m.ExternalID)
	if errors.Is(err, store.ErrNotFound) {
		left := time.Duration(day-m.ChangedAt%day) * time.Microsecond
		err = &fieldmark.Error{Code: fieldmark.CodeDailyLimit, RetryAfter: left, Detail: fmt.Sprintf(
			"the offer allows %d missions a day, and all are used; the count starts again at 00:00 UTC", limit.Limit)}
	}
	return limit, err
}

// requireRoom returns an error if a test world has all the missions that it may have, and m is not one
// of them.
func (t *txn) requireRoom(ctx context.Context, m *store.Mission) error {
	n, err := t.tx.CountMissions(ctx, m.Account, fieldmark.TestMissions)
	if err != nil || n < fieldmark.TestMissions {
		return err
	}
	_, err = t.tx.MissionBySource(ctx, m.Account, m.Source, m.ExternalID)
	if errors.Is(err, store.ErrNotFound) {
		err = fieldmark.Errorf(fieldmark.CodeTooMany, "a test world has at most %d missions", fieldmark.TestMissions)
	}
	return err
}

// stamp sets the time of change of a mission to a time that is later than every stamp before it
// in the database, even if the clock went back: lists by change use it as their order, and a
// client that follows them must not miss a change.
func (t *txn) stamp(ctx context.Context, m *store.Mission) (err error) {
	m.ChangedAt, err = t.tx.Stamp(ctx, m.Account)
	m.UpdatedAt = fieldmark.AtMicros(m.ChangedAt)
	return err
}

// missionExists returns the error that lists in which fields a request differs from the one
// that created the mission. It compares with the request as it was sent, because patches may
// have changed the mission since.
func missionExists(old, asked *store.Mission) error {
	opened := old.OriginalRequest()
	differences, err := Differences(&opened, &asked.MissionRequest)
	if err != nil {
		return fmt.Errorf("compare a request with mission %s: %w", old.ID, err)
	}
	e := fieldmark.Errorf(fieldmark.CodeMissionExists,
		"source and externalId already name a mission with other content")
	e.MissionID, e.Fields = old.ID, differences
	return e
}

func hasError(bad []fieldmark.FieldError, pointer string) bool {
	return slices.ContainsFunc(bad, func(f fieldmark.FieldError) bool { return f.Pointer == pointer })
}

// missionEvent returns an event about a mission that the actor of ctx caused.
func missionEvent(ctx context.Context, t fieldmark.EventType, m *store.Mission) store.Event {
	return store.Event{Event: fieldmark.Event{Type: t}, Subject: m.ID, Actor: auditlog.ActorText(ctx), Labels: m.Labels}
}

// errNoMission is the same for an unknown id and for an id of another account.
func errNoMission() error {
	return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such mission")
}

// Get returns a mission of an account; account "" means any. A mission of another account is
// CodeNotFound, as if it did not exist: the ids of others cannot be probed.
func (s *Service) Get(ctx context.Context, account, id string) (fieldmark.Mission, error) {
	if !fieldmark.CheckID(fieldmark.PrefixMission, id) {
		return fieldmark.Mission{}, errNoMission()
	}
	m, err := s.store.Mission(ctx, id)
	if errors.Is(err, store.ErrNotFound) || (err == nil && account != "" && m.Account != account) {
		return fieldmark.Mission{}, errNoMission()
	}
	return m.Mission, err
}

// Transition changes the status of a mission of any account, if the state machine allows it
// (see transitions). Reason may be nil. An invalid transition is CodeInvalidTransition with the
// allowed statuses.
func (s *Service) Transition(ctx context.Context, id string, to fieldmark.MissionStatus,
	reason *fieldmark.Reason) (fieldmark.Mission, error) {
	return s.transitionAll(ctx, id, func(*store.Mission) ([]fieldmark.MissionStatus, error) {
		return []fieldmark.MissionStatus{to}, nil
	}, reason)
}

// Plan sets the time and the assignee of a visit, unless the mission has a
// version other than those in at. If schedule is set, it changes the status to
// SCHEDULED.
func (s *Service) Plan(ctx context.Context, id string, plan fieldmark.MissionPlan, at Versions,
	schedule bool) (m fieldmark.Mission, err error) {
	err = s.write(ctx, func(ctx context.Context, t *txn) (err error) {
		if schedule {
			m, err = t.moveTo(ctx, "", id, Transition{To: fieldmark.MissionScheduled, Scheduled: plan.Scheduled,
				Assignee: plan.Assignee, If: at})
		} else {
			m, err = t.plan(ctx, "", id, plan, at)
		}
		return err
	})
	if err != nil {
		return fieldmark.Mission{}, fmt.Errorf("plan mission %s: %w", id, err)
	}
	return m, nil
}

// Complete makes all transitions that lead to COMPLETED. It does not change
// a completed mission, so that the call may be repeated.
func (s *Service) Complete(ctx context.Context, id string) (fieldmark.Mission, error) {
	return s.CompleteAt(ctx, id, nil)
}

// CompleteAt is Complete for an HTML form. It returns CodeVersionMismatch unless the mission has one of
// the versions or is completed already.
func (s *Service) CompleteAt(ctx context.Context, id string, at Versions) (fieldmark.Mission, error) {
	return s.transitionAll(ctx, id, func(m *store.Mission) ([]fieldmark.MissionStatus, error) {
		if m.Status == fieldmark.MissionCompleted {
			return nil, nil
		}
		if err := at.check(m); err != nil {
			return nil, err
		}
		path := PathToCompleted(m.Status)
		if path == nil {
			return nil, ValidateTransition(m.Status, fieldmark.MissionCompleted, m.HeldFrom)
		}
		return path, nil
	}, nil)
}

// transitionAll makes several transitions of a mission in one transaction, each with its event.
// path decides from the mission as the transaction reads it. If one transition is invalid, none
// is made.
func (s *Service) transitionAll(ctx context.Context, id string,
	path func(*store.Mission) ([]fieldmark.MissionStatus, error),
	reason *fieldmark.Reason) (m fieldmark.Mission, err error) {

	err = s.write(ctx, func(ctx context.Context, t *txn) error {
		row, err := t.mission(ctx, "", id)
		if err != nil {
			return err
		}
		steps, err := path(&row)
		if err != nil {
			return err
		}
		for _, to := range steps {
			if err := t.move(ctx, &row, Transition{To: to, Reason: reason}); err != nil {
				return err
			}
		}
		m = row.Mission
		return nil
	})
	if err != nil {
		return fieldmark.Mission{}, fmt.Errorf("move mission %s: %w", id, err)
	}
	return m, nil
}

// mission reads a mission of an account; account "" means any.
func (t *txn) mission(ctx context.Context, account, id string) (store.Mission, error) {
	if !fieldmark.CheckID(fieldmark.PrefixMission, id) {
		return store.Mission{}, errNoMission()
	}
	m, err := t.tx.Mission(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && account != "" && m.Account != account {
		return store.Mission{}, errNoMission()
	}
	return m, err
}

// reasonLateCancel marks a mission that was canceled after its assignee set out,
// because payment terms depend on it.
const reasonLateCancel = "LATE_CANCEL"

// Move is one transition of a mission.
type Transition struct {
	To        fieldmark.MissionStatus
	Reason    *fieldmark.Reason   // why; may be nil
	Scheduled *fieldmark.Span     // planned time of the visit; nil: unchanged
	Assignee  *fieldmark.Assignee // nil: unchanged
	If        Versions            // refuse unless the mission has one of them
	// OccurredAt is when it happened, by the clock of a device that reports it later; nil: now. See
	// validateOccurredAt.
	OccurredAt *fieldmark.Time
}

// Versions are the versions of a mission that a write applies to; nil means any.
type Versions []Version

// Version is a version of a mission and the revision of it that the caller has
// read.
type Version struct{ Number, Revision int }

// check rejects a write that applies to another version. A later revision of the
// same version is no conflict: SLA timers, payments and repeated alerts increase it
// at any time, and a write does not overwrite their fields.
func (v Versions) check(m *store.Mission) error {
	if v == nil || slices.ContainsFunc(v, func(one Version) bool {
		return one.Number == m.Version &&
			one.Revision <= m.Revision()
	}) {
		return nil
	}
	e := fieldmark.Errorf(fieldmark.CodeVersionMismatch, "the mission is at version %d now", m.Version)
	e.MissionID = m.ID
	return e
}

// moveTo makes one transition of a mission of an account.
func (t *txn) moveTo(ctx context.Context, account, id string, to Transition) (fieldmark.Mission, error) {
	m, err := t.mission(ctx, account, id)
	if err == nil {
		err = t.move(ctx, &m, to)
	}
	return m.Mission, err
}

// cancel cancels a mission of an account. It does not change a canceled
// mission, so that the call may be repeated.
func (t *txn) cancel(ctx context.Context, account, id string, reason *fieldmark.Reason, at Versions) (fieldmark.Mission,
	error) {
	m, err := t.mission(ctx, account, id)
	if err == nil && m.Status != fieldmark.MissionCanceled {
		err = t.move(ctx, &m, Transition{To: fieldmark.MissionCanceled, Reason: reason, If: at})
	}
	return m.Mission, err
}

// patch applies a merge patch to the request of a mission of an account. A
// patch that changes nothing creates no version and no event.
func (t *txn) patch(ctx context.Context, account, id string, patch []byte, at Versions) (fieldmark.Mission, error) {
	m, err := t.mission(ctx, account, id)
	if err == nil {
		err = at.check(&m)
	}
	if err != nil {
		return fieldmark.Mission{}, err
	}
	// m is changed below. The store needs the request, and the timers and the payment need the
	// mission, as they were before.
	was, before := m.MissionRequest, m.Mission
	now, bad, err := ApplyPatch(&was, patch)
	if err != nil {
		return fieldmark.Mission{}, &fieldmark.Error{Code: fieldmark.CodeValidationFailed,
			Detail: "the patch does not fit the mission", Err: err}
	}
	if err := validation.Errors(bad).Err(); err != nil {
		return fieldmark.Mission{}, err
	}
	changed, err := Differences(&was, &now)
	if err != nil || len(changed) == 0 {
		return m.Mission, err
	}
	if err := checkOpen(&m); err != nil {
		return fieldmark.Mission{}, err
	}
	m.MissionRequest = now
	if err := t.stamp(ctx, &m); err != nil {
		return fieldmark.Mission{}, err
	}
	m.Version++
	if err := t.tx.UpdateMissionRequest(ctx, &m, was); err != nil {
		return fieldmark.Mission{}, err
	}
	err = t.edited(ctx, &before, &m)
	return m.Mission, err
}

// checkOpen rejects a change of a mission that is closed or canceled.
func checkOpen(m *store.Mission) error {
	if m.Status != fieldmark.MissionClosed && m.Status != fieldmark.MissionCanceled {
		return nil
	}
	e := fieldmark.Errorf(fieldmark.CodeInvalidTransition, "a mission that is %s can no longer be changed", m.Status)
	e.MissionID, e.From, e.Allowed = m.ID, m.Status, []string{}
	return e
}

// plan sets the assignee and the time of the visit. Sequence increases only with the time,
// because calendars announce the change of an event whose SEQUENCE is higher (RFC 5545,
// 3.8.7.4).
func (t *txn) plan(ctx context.Context, account, id string, plan fieldmark.MissionPlan, at Versions) (fieldmark.Mission,
	error) {
	m, err := t.mission(ctx, account, id)
	if err == nil {
		err = at.check(&m)
	}
	if err != nil || samePlan(plan, m.Mission) {
		return m.Mission, err
	}
	if err := checkOpen(&m); err != nil {
		return fieldmark.Mission{}, err
	}
	if !sameValue(plan.Scheduled, m.Scheduled) {
		m.Sequence++
	}
	m.Scheduled, m.Assignee = plan.Scheduled, plan.Assignee
	if err := t.stamp(ctx, &m); err != nil {
		return fieldmark.Mission{}, err
	}
	m.Version++
	if err := t.tx.UpdateMissionStatus(ctx, &m); err != nil {
		return fieldmark.Mission{}, err
	}
	err = t.updated(ctx, &m)
	return m.Mission, err
}

func samePlan(p fieldmark.MissionPlan, m fieldmark.Mission) bool {
	return sameValue(p.Scheduled, m.Scheduled) && sameValue(p.Assignee, m.Assignee)
}

func sameValue[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// edited applies a change of the request to the SLA timers and the payment of a mission, and
// emits the events: first the one of the mission, then those of its timers and its payment.
// Receivers of webhooks then know the mission before they receive its deadlines.
func (t *txn) edited(ctx context.Context, before *fieldmark.Mission, m *store.Mission) error {
	emit, err := t.follow(ctx, before, m, m.UpdatedAt.Std())
	if err != nil {
		return err
	}
	if err := t.updated(ctx, m); err != nil {
		return err
	}
	return emit(ctx)
}

// updated emits the event of a change that is no transition.
func (t *txn) updated(ctx context.Context, m *store.Mission) error {
	_, err := event.Emit(ctx, t.tx, m.Account, missionEvent(ctx, fieldmark.EventMissionUpdated, m), m.Mission)
	return err
}

// move makes one transition, writes it and emits its event, and after it the events of timers
// and of the payment that follow from it. m is the mission afterwards.
func (t *txn) move(ctx context.Context, m *store.Mission, to Transition) error {
	if err := t.stamp(ctx, m); err != nil {
		return err
	}
	before := m.Mission
	kind, err := moved(m, to)
	if err != nil {
		return err
	}
	if err := t.tx.UpdateMissionStatus(ctx, m); err != nil {
		return err
	}
	at, err := t.clockOf(ctx, m)
	if err != nil {
		return err
	}
	emit, err := t.follow(ctx, &before, m, at)
	if err != nil {
		return err
	}
	if _, err = event.Emit(ctx, t.tx, m.Account, missionEvent(ctx, kind, m), m.Mission); err != nil {
		return err
	}
	return emit(ctx)
}

// clockOf returns when a transition happened for the SLA timers: when it was received, or when the
// device states if the account allows that.
func (t *txn) clockOf(ctx context.Context, m *store.Mission) (time.Time, error) {
	if m.OccurredAt == nil {
		return m.UpdatedAt.Std(), nil
	}
	a, err := t.tx.Account(ctx, m.Account)
	if err != nil || !a.DeviceTime {
		return m.UpdatedAt.Std(), err
	}
	return m.OccurredAt.Std(), nil
}

// moved applies a transition to a mission, if it is valid, and returns its event type. It
// changes m in memory only. It is checked before anything is written, so that a refusal leaves
// no trace.
func moved(m *store.Mission, move Transition) (fieldmark.EventType, error) {
	from, held := m.Status, m.HeldFrom
	if err := move.If.check(m); err != nil {
		return "", err
	}
	if err := ValidateTransition(from, move.To, held); err != nil {
		return "", err
	}
	if from == fieldmark.MissionCompleted && move.To == fieldmark.MissionInProgress {
		if err := ValidateReopen(m.CompletedAt, m.UpdatedAt.Std()); err != nil {
			return "", err
		}
	}
	if err := validateOccurredAt(move.OccurredAt, m, m.UpdatedAt.Std()); err != nil {
		return "", err
	}
	reason := normalReason(move.Reason)
	// held was read before HeldFrom is cleared below: a mission on hold may have been underway.
	if move.To == fieldmark.MissionCanceled && underway(from, held) {
		reason = lateCancel(reason)
	}
	m.HeldFrom = ""
	if move.To == fieldmark.MissionOnHold {
		m.HeldFrom = from
	}
	if move.Scheduled != nil {
		m.Scheduled = move.Scheduled
	}
	if move.To == fieldmark.MissionNew {
		m.Scheduled = nil // unscheduled
	}
	if move.Assignee != nil {
		m.Assignee = move.Assignee
	}
	m.Status, m.StatusReason = move.To, reason
	m.Version++
	m.Sequence++
	m.Mark(m.UpdatedAt)
	m.OccurredAt, m.Offline, m.MovedAt = move.OccurredAt, move.OccurredAt != nil, move.OccurredAt
	if m.MovedAt == nil {
		m.MovedAt = &m.UpdatedAt
	}
	return TransitionEvent(from, move.To, held), nil
}

// normalReason returns a reason with its code in upper case, as enumerations are
// accepted in any case.
func normalReason(reason *fieldmark.Reason) *fieldmark.Reason {
	if reason == nil {
		return nil
	}
	return &fieldmark.Reason{Code: strings.ToUpper(reason.Code), Text: reason.Text}
}

// lateCancel returns a reason with the code LATE_CANCEL, because payment terms
// depend on it. The code of the caller is kept at the start of the text.
func lateCancel(reason *fieldmark.Reason) *fieldmark.Reason {
	late := &fieldmark.Reason{Code: reasonLateCancel}
	if reason != nil {
		late.Text = shorten(joined(": ", strings.TrimPrefix(reason.Code, reasonLateCancel), reason.Text),
			fieldmark.MaxReasonText)
	}
	return late
}

// underway reports whether the assignee had set out in a status; held is the status
// before a hold. UNABLE_TO_COMPLETE counts, because the assignee was on site.
func underway(status, held fieldmark.MissionStatus) bool {
	if status == fieldmark.MissionOnHold {
		status = held
	}
	return status == fieldmark.MissionEnRoute || status == fieldmark.MissionInProgress ||
		status == fieldmark.MissionUnableToComplete
}
