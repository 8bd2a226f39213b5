package webhook

import (
	"time"

	"github.com/fieldmark/fieldmark"
)

// Schedule is how long after one attempt the next is due; the first step is the
// wait before the first attempt. There are as many attempts as steps.
type Schedule []time.Duration

// standard is what Standard Webhooks 1.0 recommends: 75.6 hours in all, so that
// a receiver that broke on a Friday evening gets its events on Monday.
var standard = Schedule{
	0,
	5 * time.Second,
	5 * time.Minute,
	30 * time.Minute,
	2 * time.Hour,
	5 * time.Hour,
	10 * time.Hour,
	14 * time.Hour,
	20 * time.Hour,
	24 * time.Hour,
}

// quick is for events that are worth nothing after an hour, patient for
// receivers that nobody looks after at once.
var (
	quick = Schedule{0, 2 * time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute,
		40 * time.Minute}
	patient = Schedule{0, 30 * time.Second, 10 * time.Minute, 2 * time.Hour, 8 * time.Hour, 16 * time.Hour,
		24 * time.Hour, 24 * time.Hour, 48 * time.Hour, 48 * time.Hour, 48 * time.Hour}
)

// Bounds of a schedule of an endpoint's own.
const (
	MinStep  = time.Second
	MaxStep  = 48 * time.Hour
	MaxSteps = 20
)

// ScheduleOf returns the schedule a policy names; nil means the standard one.
func ScheduleOf(p *fieldmark.RetryPolicy) Schedule {
	if p == nil {
		return standard
	}
	if len(p.Steps) > 0 {
		own := make(Schedule, 1, len(p.Steps)+1)
		for _, seconds := range p.Steps {
			own = append(own, time.Duration(seconds)*time.Second)
		}
		return own
	}
	switch p.Schedule {
	case fieldmark.RetryQuick:
		return quick
	case fieldmark.RetryPatient:
		return patient
	}
	return standard
}

// jitterShare is how far a step is moved at most, in either direction: events
// that failed together should not come back together.
const jitterShare = 0.2

// MaxRetryAfter bounds how long a receiver may put us off.
const MaxRetryAfter = 24 * time.Hour

// Next returns how long to wait before an attempt, counted from 1, and whether
// there is such an attempt at all. Jitter is a number from 0 to 1: 0.5 keeps
// the step as it is.
func (s Schedule) Next(attempt int, jitter float64) (time.Duration, bool) {
	if attempt < 1 || attempt > len(s) {
		return 0, false
	}
	step := s[attempt-1]
	jitter = min(max(jitter, 0), 1)
	return step + time.Duration(float64(step)*jitterShare*(2*jitter-1)), true
}

// After returns when to make the attempt that follows a failed one, counted
// from 1, and whether to make it: what the schedule says, or later if the
// receiver asked for that.
func (s Schedule) After(failed int, a Attempt, jitter float64) (time.Duration, bool) {
	wait, ok := s.Next(failed+1, jitter)
	if !ok || a.Abort {
		return 0, false
	}
	return max(wait, min(a.RetryAfter, MaxRetryAfter)), true
}
