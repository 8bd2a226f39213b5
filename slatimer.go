package fieldmark

import (
	"slices"
	"time"
)

// StartSLA sets the clocks of a mission that was opened just now.
func StartSLA(m *Mission, terms SLATerms) []SLATimer {
	timers := make([]SLATimer, 0, 3)
	for _, name := range []SLAMetric{SLAResponse, SLAOnsite, SLAResolution} {
		timers = append(timers, newTimer(name, 1, slaStart(name, m), terms))
	}
	return timers
}

func newTimer(name SLAMetric, cycle int, start Time, terms SLATerms) SLATimer {
	t := SLATimer{SLAClock: SLAClock{Name: name, State: SLARunning, Cycle: cycle, StartedAt: start, TargetMinutes: terms.Policy.minutes(name)}}
	t.setDue(terms)
	return t
}

// slaStart is when a metric of a mission's first cycle begins to count.
func slaStart(name SLAMetric, m *Mission) Time {
	if name != SLAResponse && m.Window != nil && m.Window.Earliest.Std().After(m.CreatedAt.Std()) {
		return m.Window.Earliest
	}
	return m.CreatedAt
}

// StepSLA takes clocks from before, where a mission stood under the terms in
// force for it, to after, where it stands now, and returns what is to be told.
// Before and after may be the same: then nothing but time has passed. Time is
// taken down first, so that a clock that ran out is not saved by what comes
// later. The timers given are not changed.
func StepSLA(timers []SLATimer, before, after *Mission, was, is SLATerms, now time.Time) ([]SLATimer, []SLAChange) {
	timers = slices.Clone(timers)
	var told []SLAChange
	for i := range timers {
		timers[i].Pauses = slices.Clone(timers[i].Pauses)
		s := slaStep{timer: &timers[i], mission: before, terms: was, now: At(now)}
		s.refresh("")
		s.breach()
		s.warn()
		s.mission, s.terms = after, is
		if before.Priority != after.Priority {
			s.refresh(SLACausePriority)
		} else {
			s.refresh("")
		}
		s.follow(before.Status)
		s.breach()
		s.warn()
		told = append(told, s.told...)
	}
	return timers, told
}

// slaStep is one clock on its way from one state of its mission to the next.
type slaStep struct {
	timer   *SLATimer
	mission *Mission
	terms   SLATerms
	now     Time
	moved   bool // the due time is another than it was
	told    []SLAChange
}

// open reports whether the clock can still change what it says of its target.
func (t *SLATimer) open() bool { return t.State == SLARunning || t.State == SLAPaused }

// refresh counts anew from the start where the priority, the window, the policy
// or the calendar changed. Without a cause it finds out which it was.
func (s *slaStep) refresh(cause string) {
	t := s.timer
	if !t.open() {
		return
	}
	due, target, start := t.DueAt, t.TargetMinutes, t.StartedAt
	if t.Cycle == 1 {
		t.StartedAt = slaStart(t.Name, s.mission)
	}
	t.TargetMinutes = s.terms.Policy.minutes(t.Name)
	t.setDue(s.terms)
	if sameTime(due, t.DueAt) && target == t.TargetMinutes {
		return
	}
	s.moved = true
	switch {
	case cause != "":
	case !start.Std().Equal(t.StartedAt.Std()):
		cause = SLACauseWindow
	case target != t.TargetMinutes:
		cause = SLACausePolicy
	default:
		cause = SLACauseCalendar
	}
	s.tellUpdate(due, cause)
}

func sameTime(a, b *Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Std().Equal(b.Std())
}

// setDue finds the due time: the target from the start, and what was paused of
// working time on top.
func (t *SLATimer) setDue(terms SLATerms) {
	paused := t.paused(terms.Clock)
	t.PausedMinutes = int(paused / time.Minute)
	t.DueAt = t.reaches(terms.Clock, time.Duration(t.TargetMinutes)*time.Minute+paused)
}

// reaches returns when so much working time has passed since the start.
func (t *SLATimer) reaches(clock WorkingTime, working time.Duration) *Time {
	at, ok := clock.After(t.StartedAt.Std(), working)
	if !ok {
		return nil
	}
	due := At(at)
	return &due
}

// paused sums the working time of the pauses that are over. What lies before
// the start never counted and is not taken off again.
func (t *SLATimer) paused(clock WorkingTime) time.Duration {
	var sum time.Duration
	for _, p := range t.Pauses {
		from := p.From.Std()
		if t.StartedAt.Std().After(from) {
			from = t.StartedAt.Std()
		}
		sum += clock.Between(from, p.To.Std())
	}
	return sum
}

// elapsed is the working time the clock counted until now.
func (s *slaStep) elapsed() time.Duration {
	t := s.timer
	return s.terms.Clock.Between(t.StartedAt.Std(), s.now.Std()) - t.paused(s.terms.Clock)
}

// follow does what the mission's new status asks for.
func (s *slaStep) follow(from MissionStatus) {
	t, to := s.timer, s.mission.Status
	if from == to {
		return
	}
	if t.Name == SLAResolution && from == MissionCompleted && to == MissionInProgress {
		*t = newTimer(t.Name, t.Cycle+1, s.now, s.terms)
		return
	}
	if t.State == SLAPaused {
		s.endPause()
	}
	switch {
	case t.ends(to):
		s.stop()
	case to == MissionCanceled || to == MissionClosed:
		s.cancel()
	case t.PausedAt != nil: // the pause is over and the clock goes on
		t.PausedAt = nil
		t.Turn++
		s.tell(EventSLAResumed, t.Turn, SLAResumption{s.subject(), s.now, t.PausedMinutes, t.DueAt})
	case to == MissionOnHold:
		s.hold()
	}
}

// ends reports whether a mission in a status has reached what the clock waits
// for. Completing stops every clock: what is done was also answered.
func (t *SLATimer) ends(in MissionStatus) bool {
	switch t.Name {
	case SLAResponse:
		return in == MissionDispatched || in == MissionEnRoute || in == MissionInProgress || in == MissionCompleted || in == MissionUnableToComplete
	case SLAOnsite:
		return in == MissionInProgress || in == MissionCompleted
	}
	return in == MissionCompleted
}

// endPause takes a pause down; the clock runs again, PausedAt tells that it was
// paused until a moment ago.
func (s *slaStep) endPause() {
	t := s.timer
	t.State = SLARunning
	t.Pauses = append(t.Pauses, SLAPause{*t.PausedAt, s.now})
	t.setDue(s.terms)
	s.moved = true
}

// hold pauses the clock, if the reason of the hold is one that does.
func (s *slaStep) hold() {
	t, reason := s.timer, s.mission.StatusReason
	if t.Name == SLAResponse || t.State != SLARunning || len(t.Pauses) >= MaxSLAPauses ||
		reason == nil || !slices.Contains(s.terms.Policy.PausesSLA, reason.Code) {
		return
	}
	t.State, t.PausedAt = SLAPaused, &s.now
	t.Turn++
	s.tell(EventSLAPaused, t.Turn, SLAHold{s.subject(), reason.Code, t.PausedAt})
}

// stop ends a clock that reached what it waited for. It may be late all the same:
// a target that shrank during a pause can be over when the pause is.
func (s *slaStep) stop() {
	t := s.timer
	if t.StoppedAt != nil {
		return
	}
	s.breach()
	t.StoppedAt, t.PausedAt = &s.now, nil
	if t.State == SLARunning {
		t.State = SLAMet
		s.tell(EventSLAMet, 0, SLAMeet{s.subject(), t.DueAt, t.StoppedAt, int(s.elapsed() / time.Minute)})
	}
}

// cancel ends a clock whose mission is over without having got there.
func (s *slaStep) cancel() {
	t := s.timer
	if t.StoppedAt != nil {
		return
	}
	t.StoppedAt, t.PausedAt = &s.now, nil
	if t.State == SLARunning {
		t.State = SLACanceled
	}
}

// breach takes down that the due time has passed. What became late by a change
// was breached by it, and not before.
func (s *slaStep) breach() {
	t := s.timer
	if t.State != SLARunning || t.DueAt == nil || !s.now.Std().After(t.DueAt.Std()) {
		return
	}
	at := *t.DueAt
	if s.moved {
		at = s.now
	}
	t.State, t.BreachedAt = SLABreached, &at
	s.tell(EventSLABreached, 0, SLABreach{s.subject(), t.TargetMinutes, t.DueAt, t.BreachedAt})
}

// warn takes down that thresholds have passed.
func (s *slaStep) warn() {
	t := s.timer
	if t.State != SLARunning {
		return
	}
	for _, percent := range s.terms.Policy.AtRiskPercent {
		if at := t.risk(s.terms, percent); percent > t.Warned && at != nil && !s.now.Std().Before(at.Std()) {
			t.Warned = percent
			elapsed := int(s.elapsed() / time.Minute)
			s.tell(EventSLAAtRisk, percent, SLAAtRisk{s.subject(), percent, t.TargetMinutes, elapsed, t.TargetMinutes - elapsed, t.DueAt})
		}
	}
}

// risk is when a share of the target has passed.
func (t *SLATimer) risk(terms SLATerms, percent int) *Time {
	share := time.Duration(t.TargetMinutes) * time.Minute / 100 * time.Duration(percent)
	return t.reaches(terms.Clock, share+t.paused(terms.Clock))
}

// NextSLA returns when there will be something to take down if nothing but time
// passes; it is nil if there will be nothing.
func NextSLA(timers []SLATimer, terms SLATerms) *Time {
	var next *Time
	sooner := func(at *Time) {
		if at != nil && (next == nil || at.Std().Before(next.Std())) {
			next = at
		}
	}
	for _, t := range timers {
		if t.State != SLARunning || t.DueAt == nil {
			continue
		}
		late := At(t.DueAt.Std().Add(time.Millisecond)) // at the due time itself it is still in time
		sooner(&late)
		for _, percent := range terms.Policy.AtRiskPercent {
			if percent > t.Warned {
				sooner(t.risk(terms, percent))
			}
		}
	}
	return next
}

// CountsSLA reports whether any clock runs or is paused, so that a change of its
// terms is a change of its target.
func CountsSLA(timers []SLATimer) bool {
	return slices.ContainsFunc(timers, func(t SLATimer) bool { return t.open() })
}

// SLAClocks returns the clocks as the wire shows them.
func SLAClocks(timers []SLATimer) []SLAClock {
	clocks := make([]SLAClock, len(timers))
	for i, t := range timers {
		clocks[i] = t.SLAClock
	}
	return clocks
}

func (s *slaStep) subject() SLASubject {
	m := s.mission
	return SLASubject{m.ID, m.ExternalID, m.Source, m.Priority, m.Status, s.timer.Name, string(s.terms.Policy.Priority), s.timer.Cycle}
}

func (s *slaStep) tell(kind EventType, turn int, data any) {
	s.told = append(s.told, SLAChange{kind, s.timer.Name, s.timer.Cycle, turn, data})
}

func (s *slaStep) tellUpdate(previous *Time, cause string) {
	t := s.timer
	t.Turn++
	s.tell(EventSLAUpdated, t.Turn, SLAUpdate{s.subject(), previous, t.DueAt, t.TargetMinutes, cause})
}
