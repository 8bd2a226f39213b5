package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrPaused means that the engine paused its answer: send the same conversation again to continue it.
var ErrPaused = errors.New("the answer is paused")

// Action is what follows from a failure.
type Action int

// Actions.
const (
	FailCell   Action = iota // this question gets no answer
	Retry                    // ask again later
	StopEngine               // every further call would fail: no valid key, or no money
)

// Failure is a call without an answer that counts.
// Its reason is in the words of this package wherever a vendor's text could repeat a key or a question.
type Failure struct {
	Action  Action
	Status  int           // of the response; 0 without one
	Reason  string        // without secrets
	Wait    time.Duration // at least, before a retry
	Charged bool          // the vendor may bill the call
}

// Error implements error.
func (f *Failure) Error() string {
	if f.Status != 0 && f.Status != http.StatusOK {
		return fmt.Sprintf("%s (status %d)", f.Reason, f.Status)
	}
	return f.Reason
}

// unreadable is the failure of a body in another shape. What it cost is not known.
func unreadable(what string) error {
	return &Failure{Action: FailCell, Charged: true, Reason: "cannot read the answer: " + what}
}

// incomplete is the failure of an answer that ended for another reason than its end. Its usage is known.
func incomplete(why string) error {
	return &Failure{Action: FailCell, Reason: "the answer is incomplete: " + shorten(why)}
}

// noMoney are the codes of errors that no waiting repairs, as vendors write them.
var noMoney = []string{"insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached",
	"enforced_spend_limit_reached", "credit balance is too low", "PerDay"}

// refusal classifies a response without an answer.
func refusal(status int, header http.Header, body []byte, now time.Time) error {
	f := &Failure{Status: status, Reason: reasonOf(status), Charged: status >= 500}
	// Looked for before the status: vendors send these with 400 and 429, which would be asked again for days.
	for _, code := range noMoney {
		if status >= 400 && strings.Contains(string(body), code) {
			f.Action, f.Reason, f.Charged = StopEngine, "no money or quota left: "+code, false
			return f
		}
	}
	switch status {
	// A wrong key, no money or no permission: no further question of this engine can succeed.
	case 401, 402, 403:
		f.Action = StopEngine
	// Passing states. 529 is what Anthropic sends when it is overloaded.
	case 408, 409, 429, 500, 502, 503, 504, 529:
		f.Action = Retry
		f.Wait = max(retryAfter(header.Get("Retry-After"), now), exhausted(header, now), retryInfo(body))
	}
	// A redirect would send the key to another host.
	if 300 <= status && status < 400 {
		f.Action, f.Reason = StopEngine, "the address of the engine redirects; redirects are not followed"
	}
	return f
}

// reasonOf describes a status in our words: bodies of errors may repeat the request.
func reasonOf(status int) string {
	switch {
	case status == 401 || status == 403:
		return "the engine refuses the key"
	case status == 402:
		return "the engine requires a payment"
	case status == 429:
		return "too many requests"
	case status >= 500:
		return "the engine has an error"
	}
	return "the engine refuses the request"
}

// retryAfter parses Retry-After: seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	// Some vendors send fractions, which RFC 9110 does not have.
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// limits are the header fields that say how many calls or tokens are left, and when there are more.
var limits = [...]struct{ remaining, reset string }{
	{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	{"Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
}

// exhausted returns how long nothing is left, by the fields of limits: as a duration (6m0s) or a time (RFC 3339).
func exhausted(header http.Header, now time.Time) (wait time.Duration) {
	for _, l := range limits {
		// An absent field does not mean that nothing is left.
		if left, err := strconv.Atoi(header.Get(l.remaining)); err != nil || left > 0 {
			continue
		}
		reset := header.Get(l.reset)
		if d, err := time.ParseDuration(reset); err == nil {
			wait = max(wait, d)
		} else if at, err := time.Parse(time.RFC3339, reset); err == nil {
			wait = max(wait, at.Sub(now))
		}
	}
	return wait
}

// retryInfo reads google.rpc.RetryInfo from the details of an error.
func retryInfo(body []byte) time.Duration {
	var e struct {
		Error struct {
			Details []struct {
				Delay string `json:"retryDelay"`
			} `json:"details"`
		} `json:"error"`
	}
	if json.NewDecoder(bytes.NewReader(body)).Decode(&e) != nil {
		return 0
	}
	for _, d := range e.Error.Details {
		if wait, err := time.ParseDuration(d.Delay); err == nil {
			return wait
		}
	}
	return 0
}

// maxReason limits what is repeated of an engine.
const maxReason = 120 // bytes

// shorten cuts a text of an engine for the journal and for messages to the operator. It may be of any length.
func shorten(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= maxReason {
		return text
	}
	text = text[:maxReason]
	// The cut may be within a character.
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}
