package sla

import (
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
)

// maxPauses limits the pauses of a timer; further holds do not pause it. It bounds
// the size of the stored row far above the number of interruptions of a real mission.
const maxPauses = 1000

// Timer is the stored state of an SLA clock. The wire format shows only the clock.
type Timer struct {
	fieldmark.SLAClock
	Pauses []Pause `json:"pauses,omitempty"`
	Warned int     `json:"warned,omitempty"` // highest threshold that was reported, in percent
	Turn   int     `json:"turn,omitempty"`   // number of pauses, resumptions and changes of the target
}

// Pause is a completed period that does not count because the mission was on hold.
type Pause struct {
	From fieldmark.Time `json:"from"`
	To   fieldmark.Time `json:"to"`
}

// Terms are the policy of a mission and the working hours for its timers.
type Terms struct {
	Policy fieldmark.SLAPolicy
	Hours  WorkingTime
}

// Change is an event of a timer. Type, metric, cycle and turn identify it: it must
// be emitted once.
// The store has a unique index over them, so origins that advance the same timer at once emit one
// event.
type Change struct {
	Type   fieldmark.EventType
	Metric fieldmark.SLAMetric
	Cycle  int
	Turn   int // percent for sla.at_risk, 0 for events that occur once per cycle, else Timer.Turn
	Data   any
}

// Start returns the timers of a new mission.
func Start(m *fieldmark.Mission, terms Terms) []Timer {
	timers := make([]Timer, 0, 3)
	for _, name := range []fieldmark.SLAMetric{fieldmark.SLAResponse, fieldmark.SLAOnsite, fieldmark.SLAResolution} {
		timers = append(timers, newTimer(name, 1, startOf(name, m), terms))
	}
	return timers
}

func newTimer(name fieldmark.SLAMetric, cycle int, start fieldmark.Time, terms Terms) Timer {
	t := Timer{SLAClock: fieldmark.SLAClock{
		Name: name, State: fieldmark.SLARunning, Cycle: cycle, StartedAt: start,
		TargetMinutes: Target(&terms.Policy, name),
	}}
	t.setDue(terms)
	return t
}

// startOf returns the time from which a metric counts in the first cycle: an onsite
// or resolution target does not start before the window that the customer chose.
func startOf(name fieldmark.SLAMetric, m *fieldmark.Mission) fieldmark.Time {
	if name != fieldmark.SLAResponse && m.Window != nil && m.Window.Earliest.Std().After(m.CreatedAt.Std()) {
		return m.Window.Earliest
	}
	return m.CreatedAt
}

// Advance moves timers from the state of a mission under its previous terms to its
// present state and terms, and returns the events to emit. If before and after are
// the same mission, only time has passed. Elapsed time is applied before the change,
// so a change cannot hide a breach that happened earlier. The given timers are not
// modified.
// It is pure: the same mission, terms and time give the same events, whichever process runs it and
// however late it does.
func Advance(timers []Timer, before, after *fieldmark.Mission, previous, present Terms, now time.Time) ([]Timer,
	[]Change) {
	timers = slices.Clone(timers)
	var changes []Change
	for i := range timers {
		timers[i].Pauses = slices.Clone(timers[i].Pauses)
		t := transition{timer: &timers[i], mission: before, terms: previous, now: fieldmark.At(now)}
		t.refresh("")
		t.breach()
		t.warn()
		t.mission, t.terms = after, present
		if before.Priority != after.Priority {
			t.refresh(fieldmark.SLACausePriority)
		} else {
			t.refresh("")
		}
		t.follow(before.Status)
		t.breach()
		t.warn()
		changes = append(changes, t.changes...)
	}
	return timers, changes
}

// NextDue returns the time at which Advance will have an effect if the mission does
// not change, or nil if it never will.
func NextDue(timers []Timer, terms Terms) *fieldmark.Time {
	var next *fieldmark.Time
	earliest := func(at *fieldmark.Time) {
		if at != nil && (next == nil || at.Std().Before(next.Std())) {
			next = at
		}
	}
	for _, t := range timers {
		if t.State != fieldmark.SLARunning || t.DueAt == nil {
			continue
		}
		// Times have milliseconds, so this is the first one that is late.
		late := fieldmark.At(t.DueAt.Std().Add(time.Millisecond)) // the due time itself is still in time
		earliest(&late)
		for _, percent := range terms.Policy.AtRiskPercent {
			if percent > t.Warned {
				earliest(t.threshold(terms, percent))
			}
		}
	}
	return next
}

// Deadline returns the earliest due time of the timers that have not stopped, or nil.
func Deadline(timers []Timer) *fieldmark.Time {
	return earliest(timers, func(t *Timer) (*fieldmark.Time, bool) {
		return t.DueAt, t.StoppedAt == nil && t.State != fieldmark.SLAMet && t.State != fieldmark.SLACanceled
	})
}

// Breached returns since when the timers that have not stopped are breached, or nil.
func Breached(timers []Timer) *fieldmark.Time {
	return earliest(timers, func(t *Timer) (*fieldmark.Time, bool) {
		return t.BreachedAt, t.State == fieldmark.SLABreached && t.StoppedAt == nil
	})
}

// AtRisk returns when the running timers that were reported to be at risk are due, or nil.
func AtRisk(timers []Timer) *fieldmark.Time {
	return earliest(timers, func(t *Timer) (*fieldmark.Time, bool) {
		return t.DueAt, t.State == fieldmark.SLARunning && t.Warned > 0
	})
}

// earliest returns the earliest of the times that of selects, or nil.
func earliest(timers []Timer, of func(*Timer) (*fieldmark.Time, bool)) (first *fieldmark.Time) {
	for i := range timers {
		if at, ok := of(&timers[i]); ok && at != nil && (first == nil || at.Std().Before(first.Std())) {
			first = at
		}
	}
	return first
}

// Active reports whether any timer is running or paused, that is, whether a change
// of the terms can change a target.
func Active(timers []Timer) bool {
	return slices.ContainsFunc(timers, func(t Timer) bool { return t.active() })
}

// Clocks returns the timers in their wire format.
func Clocks(timers []Timer) []fieldmark.SLAClock {
	clocks := make([]fieldmark.SLAClock, len(timers))
	for i, t := range timers {
		clocks[i] = t.SLAClock
	}
	return clocks
}

func (t *Timer) active() bool {
	return t.State == fieldmark.SLARunning || t.State == fieldmark.SLAPaused
}

// setDue computes the due time: the target plus the working time of all pauses.
// Pauses are kept as periods and not as a sum: when the calendar changes, their working time does
// as well.
func (t *Timer) setDue(terms Terms) {
	paused := t.paused(terms.Hours)
	t.PausedMinutes = int(paused / time.Minute)
	t.DueAt = t.at(terms.Hours, time.Duration(t.TargetMinutes)*time.Minute+paused)
}

// at returns the time at which the given working time has passed since the start, or nil
// if that time is beyond the search limit.
func (t *Timer) at(hours WorkingTime, working time.Duration) *fieldmark.Time {
	at, ok := hours.After(t.StartedAt.Std(), working)
	if !ok {
		return nil
	}
	due := fieldmark.At(at)
	return &due
}

// paused returns the working time of all completed pauses. Time before the start
// never counted, so it is not subtracted.
func (t *Timer) paused(hours WorkingTime) time.Duration {
	var sum time.Duration
	for _, p := range t.Pauses {
		from := p.From.Std()
		if t.StartedAt.Std().After(from) {
			from = t.StartedAt.Std()
		}
		sum += hours.Between(from, p.To.Std())
	}
	return sum
}

// threshold returns the time at which a percentage of the target has passed.
// It is in working time, like the target: 75 % of eight hours may be tomorrow morning.
func (t *Timer) threshold(terms Terms, percent int) *fieldmark.Time {
	share := time.Duration(t.TargetMinutes) * time.Minute / 100 * time.Duration(percent)
	return t.at(terms.Hours, share+t.paused(terms.Hours))
}

// reached reports whether a mission in the given status has reached the metric.
// Completion reaches every metric: completed work was also responded to.
// Response means that a person is assigned, onsite that work has begun.
func (t *Timer) reached(in fieldmark.MissionStatus) bool {
	if in == fieldmark.MissionCompleted {
		return true
	}
	switch t.Name {
	case fieldmark.SLAResponse:
		return in == fieldmark.MissionDispatched || in == fieldmark.MissionEnRoute ||
			in == fieldmark.MissionInProgress || in == fieldmark.MissionUnableToComplete
	case fieldmark.SLAOnsite:
		return in == fieldmark.MissionInProgress
	}
	return false
}

// transition is the step of one timer from one state of its mission to the next.
type transition struct {
	timer   *Timer
	mission *fieldmark.Mission
	terms   Terms
	now     fieldmark.Time
	moved   bool // the due time has changed in this step
	changes []Change
}

// refresh recomputes target and due time, which change with the priority, the
// window, the policy or the calendar. An empty cause is derived from what changed.
func (s *transition) refresh(cause string) {
	t := s.timer
	if !t.active() {
		return
	}
	due, target, start := t.DueAt, t.TargetMinutes, t.StartedAt
	// A mission that was opened again starts at that time, whatever its window was.
	if t.Cycle == 1 {
		t.StartedAt = startOf(t.Name, s.mission)
	}
	t.TargetMinutes = Target(&s.terms.Policy, t.Name)
	t.setDue(s.terms)
	if sameTime(due, t.DueAt) && target == t.TargetMinutes {
		return
	}
	s.moved = true
	switch {
	case cause != "":
	case !start.Std().Equal(t.StartedAt.Std()):
		cause = fieldmark.SLACauseWindow
	case target != t.TargetMinutes:
		cause = fieldmark.SLACausePolicy
	default:
		cause = fieldmark.SLACauseCalendar
	}
	t.Turn++
	s.emit(fieldmark.EventSLAUpdated, t.Turn, fieldmark.SLAUpdatedEvent{
		SLASubject: s.subject(), PreviousDueAt: due, DueAt: t.DueAt, TargetMinutes: t.TargetMinutes, Cause: cause,
	})
}

func sameTime(a, b *fieldmark.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Std().Equal(b.Std())
}

// follow applies the new status of the mission.
func (s *transition) follow(from fieldmark.MissionStatus) {
	t, to := s.timer, s.mission.Status
	if from == to {
		return
	}
	if t.Name == fieldmark.SLAResolution && from == fieldmark.MissionCompleted && to == fieldmark.MissionInProgress {
		*t = newTimer(t.Name, t.Cycle+1, s.now, s.terms) // reopened
		return
	}
	if t.State == fieldmark.SLAPaused {
		s.endPause()
	}
	switch {
	case t.reached(to):
		s.stop()
	case to == fieldmark.MissionCanceled || to == fieldmark.MissionClosed:
		s.cancel()
	case t.PausedAt != nil: // endPause ended a pause just now
		t.PausedAt = nil
		t.Turn++
		s.emit(fieldmark.EventSLAResumed, t.Turn, fieldmark.SLAResumedEvent{
			SLASubject: s.subject(), ResumedAt: s.now, PausedMinutes: t.PausedMinutes, DueAt: t.DueAt,
		})
	case to == fieldmark.MissionOnHold:
		s.pause()
	}
}

// endPause stores the pause and resumes the timer. It keeps PausedAt, from which follow
// decides whether to emit a resumption.
func (s *transition) endPause() {
	t := s.timer
	t.State = fieldmark.SLARunning
	t.Pauses = append(t.Pauses, Pause{From: *t.PausedAt, To: s.now})
	t.setDue(s.terms)
	s.moved = true
}

// pause is the pause rule: it pauses the timer if the policy lists the reason of the hold.
// Response is never paused: before the first reaction nothing can be waiting for the customer.
func (s *transition) pause() {
	t, reason := s.timer, s.mission.StatusReason
	if t.Name == fieldmark.SLAResponse || t.State != fieldmark.SLARunning || len(t.Pauses) >= maxPauses ||
		reason == nil || !slices.Contains(s.terms.Policy.PausesSLA, reason.Code) {
		return
	}
	t.State, t.PausedAt = fieldmark.SLAPaused, &s.now
	t.Turn++
	s.emit(fieldmark.EventSLAPaused, t.Turn, fieldmark.SLAPausedEvent{
		SLASubject: s.subject(), Reason: reason.Code, PausedAt: t.PausedAt,
	})
}

// stop ends a timer whose metric was reached. It can still be late: a target that
// shrank during a pause may have passed when the pause ends.
func (s *transition) stop() {
	t := s.timer
	if t.StoppedAt != nil {
		return
	}
	s.breach()
	t.StoppedAt, t.PausedAt = &s.now, nil
	if t.State == fieldmark.SLARunning {
		t.State = fieldmark.SLAMet
		s.emit(fieldmark.EventSLAMet, 0, fieldmark.SLAMetEvent{
			SLASubject: s.subject(), DueAt: t.DueAt, StoppedAt: t.StoppedAt, ElapsedMinutes: s.elapsedMinutes(),
		})
	}
}

// cancel ends a timer whose mission ended without reaching the metric.
func (s *transition) cancel() {
	t := s.timer
	if t.StoppedAt != nil {
		return
	}
	t.StoppedAt, t.PausedAt = &s.now, nil
	if t.State == fieldmark.SLARunning {
		t.State = fieldmark.SLACanceled
	}
}

// breach marks the timer as breached if its due time has passed. A timer that a
// change of the target made late was breached by the change, not before it.
// A breach is final. A later change of the target does not undo it: the event was sent.
func (s *transition) breach() {
	t := s.timer
	if t.State != fieldmark.SLARunning || t.DueAt == nil || !s.now.Std().After(t.DueAt.Std()) {
		return
	}
	at := *t.DueAt
	if s.moved {
		at = s.now
	}
	t.State, t.BreachedAt = fieldmark.SLABreached, &at
	s.emit(fieldmark.EventSLABreached, 0, fieldmark.SLABreachedEvent{
		SLASubject: s.subject(), TargetMinutes: t.TargetMinutes, DueAt: t.DueAt, BreachedAt: t.BreachedAt,
	})
}

// warn reports every threshold that has passed.
// After a standstill of the service several may have passed; each is reported, in their order.
func (s *transition) warn() {
	t := s.timer
	if t.State != fieldmark.SLARunning {
		return
	}
	for _, percent := range s.terms.Policy.AtRiskPercent {
		at := t.threshold(s.terms, percent)
		if percent <= t.Warned || at == nil || s.now.Std().Before(at.Std()) {
			continue
		}
		t.Warned = percent
		elapsed := s.elapsedMinutes()
		s.emit(fieldmark.EventSLAAtRisk, percent, fieldmark.SLAAtRiskEvent{
			SLASubject: s.subject(), ThresholdPercent: percent, TargetMinutes: t.TargetMinutes,
			ElapsedMinutes: elapsed, RemainingMinutes: t.TargetMinutes - elapsed, DueAt: t.DueAt,
		})
	}
}

// elapsedMinutes returns the working minutes counted so far, without pauses.
func (s *transition) elapsedMinutes() int {
	t := s.timer
	elapsed := s.terms.Hours.Between(t.StartedAt.Std(), s.now.Std()) - t.paused(s.terms.Hours)
	return int(elapsed / time.Minute)
}

func (s *transition) subject() fieldmark.SLASubject {
	m := s.mission
	return fieldmark.SLASubject{
		ID: m.ID, ExternalID: m.ExternalID, Source: m.Source, Priority: m.Priority, Status: m.Status,
		Metric: s.timer.Name, Policy: string(s.terms.Policy.Priority), Cycle: s.timer.Cycle,
	}
}

func (s *transition) emit(kind fieldmark.EventType, turn int, data any) {
	s.changes = append(s.changes, Change{Type: kind, Metric: s.timer.Name, Cycle: s.timer.Cycle, Turn: turn,
		Data: data})
}
