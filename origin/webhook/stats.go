package webhook

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Stats reports the health of endpoints to operators.
type Stats struct{ service *Service }

// maxUnhealthy limits the list of unhealthy endpoints: more of them have one cause that the first ones show.
const maxUnhealthy = 100

// MaxHeld limits the count of held messages: a larger number changes nothing for an operator, and counting
// must not cost more the worse things are.
const MaxHeld = 10_000

// Unhealthy is an endpoint that is not enabled or whose messages fail.
type Unhealthy struct {
	fieldmark.Endpoint
	Verdict string // why, in words, such as "answers 500"; empty if it is paused
	Held    int    // messages that wait; all lists together count at most MaxHeld
}

// Unhealthy lists the endpoints of all accounts that are not enabled or whose messages fail.
func (s *Stats) Unhealthy(ctx context.Context) ([]Unhealthy, error) {
	rows, err := s.service.store.UnhealthyEndpoints(ctx, time.Now(), maxUnhealthy)
	if err != nil {
		return nil, err
	}
	list := make([]Unhealthy, 0, len(rows))
	left := MaxHeld
	for i := range rows {
		one, err := s.unhealthy(&rows[i])
		if err != nil {
			return nil, err
		}
		if one.State == fieldmark.EndpointEnabled && one.FailingSince == nil && one.Circuit != fieldmark.CircuitOpen {
			continue // its circuit closes: messages are sent
		}
		if one.State != fieldmark.EndpointEnabled || one.Circuit == fieldmark.CircuitOpen {
			if one.Held, err = s.service.store.CountDue(ctx, one.ID, left); err != nil {
				return nil, err
			}
			left -= one.Held
		}
		list = append(list, one)
	}
	return list, nil
}

func (s *Stats) unhealthy(row *store.Endpoint) (one Unhealthy, err error) {
	if one.Endpoint, err = s.service.shown(row); err != nil {
		return one, err
	}
	h, err := health(row)
	if err != nil {
		return one, err
	}
	if one.Verdict = Verdict(h.LastError); one.Verdict == "" && one.State == fieldmark.EndpointDisabled {
		one.Verdict = one.StateReason
	}
	return one, nil
}

// verdicts are what errors of attempts mean, by their beginnings.
var verdicts = []struct{ prefix, text string }{
	{"the certificate has expired", "certificate expired or not valid yet"},
	{"the certificate is for another host", "certificate is for another host"},
	{"the certificate is of an ", "certificate is not trusted; the chain may be incomplete"},
	{"the certificate is not valid", "certificate is not valid"},
	{"the TLS handshake failed", "TLS handshake fails"},
	{"the host's name is not known", "host name does not exist"},
	{"the host's name could not", "host name cannot be resolved"},
	{"dial failed: connection refused", "refuses connections"},
	{"dial failed", "cannot be connected to"},
	{"no access token", "gets no access token"},
	{"address not allowed", "has an address that may not be reached"},
	{"the host name does not resolve", "host name does not exist"},
}

// Verdict returns what the error of the last attempt means for a receiver, as the predicate of
// a sentence: "answers 500".
func Verdict(lastError string) string {
	for _, v := range verdicts {
		if strings.HasPrefix(lastError, v.prefix) {
			return v.text
		}
	}
	if rest, ok := strings.CutPrefix(lastError, "answered "); ok {
		status, more, _ := strings.Cut(rest, ":")
		if strings.HasPrefix(more, " redirects") {
			status += ", a redirect, which is not followed"
		}
		return "answers " + status
	}
	if rest, ok := strings.CutPrefix(lastError, "no answer within "); ok {
		return "does not answer within " + rest
	}
	return lastError
}

// Attempts returns the results of the attempts of this process since its start.
func (s *Stats) Attempts() (sent, failed int64) {
	m := &s.service.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	for class, n := range m.byClass {
		if class == classOK {
			sent += n
		} else {
			failed += n
		}
	}
	return sent, failed
}

// Summary is how the newest deliveries to an endpoint ended.
type Summary = store.DeliverySummary

// summaryOf is how many of the newest deliveries Summarize counts for each endpoint.
const summaryOf = 200

// Summarize counts how the newest deliveries to endpoints ended, by the ids of the endpoints.
func (s *Stats) Summarize(ctx context.Context, endpoints []fieldmark.Endpoint) (map[string]Summary, error) {
	all := make(map[string]Summary, len(endpoints))
	for _, e := range endpoints {
		sum, err := s.service.store.SummarizeDeliveries(ctx, e.ID, summaryOf)
		if err != nil {
			return nil, fmt.Errorf("summarize endpoint %s: %w", e.ID, err)
		}
		all[e.ID] = sum
	}
	return all, nil
}

// EventBefore returns the number of the newest event before a time, or 0.
func (s *Stats) EventBefore(ctx context.Context, at time.Time) (int64, error) {
	return s.service.store.NumberBefore(ctx, at)
}
