package webhook

import (
	"time"

	"github.com/fieldmark/fieldmark"
)

// Schedule is the retry schedule of webhook deliveries, the backoff between attempts: it lists how long after one
// attempt the next is due; the first step is the wait before the first attempt. The number of steps is the number
// of attempts.
type Schedule []time.Duration

// standard is the schedule that Standard Webhooks 1.0 recommends: 75.6 hours in
// all, so that a receiver that fails on a Friday evening gets its events on Monday.
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

// quick is for events that are worthless after an hour, patient for receivers whose
// failures may go unnoticed for days.
var (
	quick = Schedule{0, 2 * time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute,
		40 * time.Minute}
	patient = Schedule{0, 30 * time.Second, 10 * time.Minute, 2 * time.Hour, 8 * time.Hour, 16 * time.Hour,
		24 * time.Hour, 24 * time.Hour, 48 * time.Hour, 48 * time.Hour, 48 * time.Hour}
)

// Limits of a custom schedule of an endpoint.
const (
	MinStep  = time.Second
	MaxStep  = 48 * time.Hour
	MaxSteps = 20
)

// ScheduleOf returns the schedule of a policy; nil means the standard one. The first attempt is
// always at once, also with steps of the endpoint.
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

// jitterShare limits how far a step is moved in either direction, so that events
// that failed together are not retried together.
const jitterShare = 0.2

// MaxRetryAfter limits the delay that a receiver may request.
const MaxRetryAfter = 24 * time.Hour

// Next returns how long to wait before an attempt, counted from 1, and whether the schedule has
// that attempt. Jitter is a number from 0 to 1: 0.5 leaves the step unchanged. It is a pure
// function; callers pass the random number.
func (s Schedule) Next(attempt int, jitter float64) (time.Duration, bool) {
	if attempt < 1 || attempt > len(s) {
		return 0, false
	}
	step := s[attempt-1]
	jitter = min(max(jitter, 0), 1)
	return step + time.Duration(float64(step)*jitterShare*(2*jitter-1)), true
}

// After returns how long to wait after a failed attempt, counted from 1, and whether to retry:
// the step of the schedule, or longer if the receiver requested that. It reports false after
// the last step, and if the receiver refused retries of this message.
func (s Schedule) After(failed int, a Attempt, jitter float64) (time.Duration, bool) {
	wait, ok := s.Next(failed+1, jitter)
	if !ok || a.Abort {
		return 0, false
	}
	return max(wait, min(a.RetryAfter, MaxRetryAfter)), true
}
