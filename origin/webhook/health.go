package webhook

import (
	"time"

	"github.com/fieldmark/fieldmark"
)

// The rules of the circuit. It opens when a receiver is unavailable, so that its
// messages wait without using up their attempts. It closes gradually, so that the
// backlog does not overload a receiver that has just recovered.
const (
	openAfter    = 5               // failures in a row
	windowLength = 5 * time.Minute // in which the share of failures is counted
	windowLeast  = 10              // attempts in it before the share is evaluated
	windowShare  = 70              // per cent of failures that opens the circuit
)

// probeAfter is how long an open circuit waits for its next probe, by the number of
// probes that failed; the last value repeats.
var probeAfter = [...]time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute,
	10 * time.Minute}

// The rules of disabling an endpoint. The documentation lists them next to the
// setting.
const (
	DisableAfter  = 5 * 24 * time.Hour // without one success
	disableLeast  = 10                 // failures in that time
	disableSpread = 24 * time.Hour     // between the first and the last of them
	successNoted  = time.Minute        // precision of the last success, to save writes
)

// FirstWarning is how long an endpoint may fail until its account is warned.
const FirstWarning = 24 * time.Hour

// warnAfter lists when the account is warned.
var warnAfter = [...]time.Duration{FirstWarning, 72 * time.Hour}

// Health is the recent history of an endpoint, as far as the rules above need it. The zero
// value is an endpoint without attempts. It is stored as JSON with the endpoint: fields may be
// added, but not renamed.
type Health struct {
	Circuit  fieldmark.Circuit `json:"circuit,omitempty"` // empty: closed
	Row      int               `json:"row,omitempty"`     // consecutive failures of the receiver
	Probes   int               `json:"probes,omitempty"`  // failed since the circuit opened
	ProbeAt  fieldmark.Time    `json:"probeAt,omitzero"`
	Allowed  int               `json:"allowed,omitempty"` // in flight while the circuit closes
	WindowAt fieldmark.Time    `json:"windowAt,omitzero"`
	Good     int               `json:"good,omitempty"` // in the window
	Bad      int               `json:"bad,omitempty"`

	FailingSince fieldmark.Time `json:"failingSince,omitzero"` // the first failure after the last success
	LastFailure  fieldmark.Time `json:"lastFailure,omitzero"`
	LastError    string         `json:"lastError,omitempty"`
	Failed       int            `json:"failed,omitempty"` // since then
	Warned       int            `json:"warned,omitempty"` // number of warnings sent
	LastSuccess  fieldmark.Time `json:"lastSuccess,omitzero"`
}

// Record records an attempt and reports whether the change is worth writing. Limit is the
// maximum number of messages in flight to the endpoint. The time of an attempt is its end.
func (h *Health) Record(a Attempt, limit int) (changed bool) {
	now := a.At.Add(a.Took)
	if a.OK() {
		return h.succeed(now, limit)
	}
	h.fail(a, now)
	return true
}

// succeed ends all failures. One success of a probe lets two messages pass, and each further
// one doubles the number until the limit of the endpoint is reached; then the circuit is
// closed. Without any failure to forget, the success is written once a minute only.
func (h *Health) succeed(now time.Time, limit int) (changed bool) {
	changed = h.Failed > 0 || h.Circuit != "" || now.Sub(h.LastSuccess.Std()) >= successNoted
	h.FailingSince, h.LastFailure, h.LastError = fieldmark.Time{}, fieldmark.Time{}, ""
	h.Failed, h.Warned, h.Row = 0, 0, 0
	if changed {
		h.LastSuccess = fieldmark.At(now)
	}
	if h.Bad > 0 {
		changed = true
		h.count(now, true)
	}
	switch h.Circuit {
	case fieldmark.CircuitOpen:
		h.Circuit, h.Allowed, h.ProbeAt = fieldmark.CircuitRamp, 2, fieldmark.Time{}
	case fieldmark.CircuitRamp:
		h.Allowed *= 2
	}
	if h.Circuit == fieldmark.CircuitRamp && h.Allowed >= limit {
		h.Circuit, h.Allowed, h.Probes, h.Good, h.Bad = "", 0, 0, 0, 0
	}
	return changed
}

// fail counts a failure. Only failures that are of the receiver (Attempt.ReceiverFailed) open
// the circuit: a receiver that refuses one message may accept the next. The wait for the next
// probe grows with each failed probe, or is what the receiver requested if that is longer.
func (h *Health) fail(a Attempt, now time.Time) {
	if h.Failed++; h.FailingSince.IsZero() {
		h.FailingSince = fieldmark.At(now)
	}
	h.LastFailure, h.LastError = fieldmark.At(now), a.Error
	if !a.ReceiverFailed() {
		h.Row = 0
		return
	}
	h.Row++
	h.count(now, false)
	switch {
	case h.Circuit == fieldmark.CircuitOpen && now.Before(h.ProbeAt.Std()):
		return // it was in flight when the circuit opened
	case h.Circuit == "" && h.Row < openAfter && (h.Good+h.Bad < windowLeast || h.Bad*100 < windowShare*(h.Good+h.Bad)):
		return
	case h.Circuit != "":
		h.Probes++
	}
	wait := max(probeAfter[min(h.Probes, len(probeAfter)-1)], min(a.RetryAfter, MaxRetryAfter))
	h.Circuit, h.Allowed, h.ProbeAt = fieldmark.CircuitOpen, 0, fieldmark.At(now.Add(wait))
}

// count counts an attempt in the window. The window starts again when it is over, instead of
// sliding: two counters are enough.
func (h *Health) count(now time.Time, good bool) {
	if now.Sub(h.WindowAt.Std()) >= windowLength {
		h.WindowAt, h.Good, h.Bad = fieldmark.At(now), 0, 0
	}
	if good {
		h.Good++
	} else {
		h.Bad++
	}
}

// Concurrency returns how many messages may be in flight at a time. 0 means none: the circuit
// is open. When its wait is over, one message is the probe.
func (h *Health) Concurrency(now time.Time, limit int) int {
	switch h.Circuit {
	case fieldmark.CircuitOpen:
		if now.Before(h.ProbeAt.Std()) {
			return 0
		}
		return 1
	case fieldmark.CircuitRamp:
		return min(h.Allowed, limit)
	}
	return limit
}

// Action is what to do about an endpoint that fails.
type Action int

// No action, a warning to the account, or disabling the endpoint.
const (
	NoAction Action = iota
	Warn
	Disable
)

// NextAction returns what to do now, and records a warning as sent. Several warnings that are
// due at once, as after an outage of the origin, are one.
func (h *Health) NextAction(now time.Time) Action {
	if h.FailingSince.IsZero() {
		return NoAction
	}
	failing := now.Sub(h.FailingSince.Std())
	if failing >= DisableAfter && h.Failed >= disableLeast &&
		h.LastFailure.Std().Sub(h.FailingSince.Std()) >= disableSpread {
		return Disable
	}
	due := 0
	for _, after := range warnAfter {
		if failing >= after {
			due++
		}
	}
	if h.Warned >= due {
		return NoAction
	}
	h.Warned = due
	return Warn
}
