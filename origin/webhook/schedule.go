package webhook

import "time"

// schedule is how long after one attempt the next is due, as Standard Webhooks
// 1.0 recommends: 75.6 hours in all, so that a receiver that broke on a Friday
// evening gets its events on Monday.
var schedule = [...]time.Duration{
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

// MaxAttempts is how often a delivery is tried before it is given up.
const MaxAttempts = len(schedule)

// jitterShare is how far a step is moved at most, in either direction: events
// that failed together should not come back together.
const jitterShare = 0.2

// MaxRetryAfter bounds how long a receiver may put us off; it is the longest step.
const MaxRetryAfter = 24 * time.Hour

// Next returns how long to wait before an attempt, counted from 1, and whether
// there is such an attempt at all. Jitter is a number from 0 to 1: 0.5 keeps
// the step as it is.
func Next(attempt int, jitter float64) (time.Duration, bool) {
	if attempt < 1 || attempt > MaxAttempts {
		return 0, false
	}
	step := schedule[attempt-1]
	jitter = min(max(jitter, 0), 1)
	return step + time.Duration(float64(step)*jitterShare*(2*jitter-1)), true
}

// After returns when to make the attempt that follows a failed one, counted
// from 1, and whether to make it: what the schedule says, or later if the
// receiver asked for that.
func After(failed int, a Attempt, jitter float64) (time.Duration, bool) {
	wait, ok := Next(failed+1, jitter)
	if !ok || a.Gone {
		return 0, false
	}
	return max(wait, min(a.RetryAfter, MaxRetryAfter)), true
}
