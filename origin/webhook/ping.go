package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/trace"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// pingLease is how long the process that writes a test message leases it. It is longer than an
// attempt, so that no other process sends the message too.
const pingLease = sendTimeout + 5*time.Second

// Ping sends a test message to an endpoint of an account and waits for the result.
// The message takes the same path as others and appears in the same log, but is not
// retried. A success closes an open circuit like a successful probe; a failure does
// not count against the endpoint's health. Paused and disabled endpoints get it
// too, because their owners test before they enable them.
func (s *Service) Ping(ctx context.Context, account, id string, r fieldmark.PingRequest) (fieldmark.PingResult, error) {
	var none fieldmark.PingResult
	if r.Type == "" {
		r.Type = fieldmark.EventPing
	}
	kind, ok := event.KindOf(r.Type)
	if !ok {
		return none, validation.Error("/type", "enum", "must be a type of event")
	}
	// The endpoint is read first, so a test of another account's endpoint is CodeNotFound.
	row, err := s.store.Endpoint(ctx, id, time.Now())
	if err := of(&row, account, err); err != nil {
		return none, err
	}
	if row.Filter != nil {
		if !r.Type.AboutMission() && r.Type != fieldmark.EventPing {
			return none, validation.Error("/type", "conflict", missionsOnly)
		}
		// The example has the labels of the filter, or the test would be filtered out.
		if m, ok := kind.Example.(fieldmark.Mission); ok {
			m.Labels = row.Filter.Labels
			kind.Example = m
		}
	}
	if r.Type == fieldmark.EventPing {
		kind.Subject, kind.Example = id, fieldmark.Ping{EndpointID: id}
	}
	sender, err := s.sender(&row)
	if err != nil {
		return none, err
	}
	ping, err := s.addPing(ctx, &row, kind)
	if err != nil {
		return none, fmt.Errorf("test endpoint %s: %w", id, err)
	}
	sent := result{job: ping, sender: sender, to: id, settings: &row.EndpointSettings,
		attempt: s.attempt(ctx, sender, &ping, id, time.Now())}
	sent.job.Account = "" // see result.next: it is tried once
	// The result is stored even if the client has left.
	done, cancel := job.ShutdownContext(ctx)
	defer cancel()
	recorded := s.record(&sent)
	// The schedule of the endpoint does not apply.
	if recorded.State == fieldmark.DeliveryDue {
		recorded.State = fieldmark.DeliveryFailed
	}
	a := sent.attempt
	err = s.store.Write(done, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.RecordAttempt(ctx, recorded); err != nil || !a.OK() {
			return err
		}
		return closeCircuit(ctx, tx, id, a)
	})
	if err != nil {
		return none, fmt.Errorf("test endpoint %s: %w", id, err)
	}
	return fieldmark.PingResult{DeliveryID: ping.ID, OK: a.OK(), Verdict: pingSummary(a),
		Attempt: fieldmark.DeliveryAttempt{
			Number: 1, At: fieldmark.At(a.At), Millis: a.Took.Milliseconds(), Status: a.Status, Error: a.Error,
			Body: a.Body, AttemptDetail: a.Detail,
		}}, nil
}

// closeCircuit records a successful test of an endpoint whose circuit is open, which starts to close
// it, and schedules its held messages now.
func closeCircuit(ctx context.Context, tx *store.Tx, id string, a Attempt) error {
	e, err := tx.Endpoint(ctx, id, time.Now())
	if errors.Is(err, store.ErrNotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	h, err := health(&e)
	if err != nil || h.Circuit != fieldmark.CircuitOpen {
		return err
	}
	h.Record(a, maxInFlightOf(&e.EndpointSettings))
	if err := putHealth(ctx, tx, id, h); err != nil {
		return err
	}
	return tx.ScheduleEndpoint(ctx, id, time.Now())
}

// addPing adds a test message to the log of deliveries, leased to this process.
// The event has no account, so it is delivered to this endpoint only.
func (s *Service) addPing(ctx context.Context, e *store.Endpoint, kind event.Kind) (store.Job, error) {
	now := time.Now()
	data, err := json.Marshal(kind.Example)
	if err != nil {
		return store.Job{}, err
	}
	event := store.Event{Event: fieldmark.Event{ID: fieldmark.NewID(fieldmark.PrefixEvent, now),
		Type: fieldmark.EventPing, Time: fieldmark.At(now), Data: data}, Subject: e.ID}
	ping := store.Job{ID: fieldmark.NewID(fieldmark.PrefixDelivery, now), DueAt: now, Subject: kind.Subject,
		Account: e.Account, Trace: trace.From(ctx).String(),
		Envelope: fieldmark.Envelope{ID: event.ID, Type: kind.Type, Timestamp: event.Time, Data: data}}
	return ping, s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := countDelivery(ctx, tx, e.Account); err != nil {
			return err
		}
		if err := tx.AppendEvent(ctx, &event); err != nil {
			return err
		}
		to, err := tx.Subscriber(ctx, e.ID)
		if err != nil { // it was deleted meanwhile
			return store.NotFound(err, "there is no such endpoint")
		}
		to.Ordered, to.Enabled = false, false // the message waits for no other one, and does not wake the endpoint
		if err := tx.AddDelivery(ctx, ping.ID, &to, event.Number, "", now); err != nil {
			return err
		}
		return tx.LeaseDelivery(ctx, ping.ID, s.jobs.Worker(), now.Add(pingLease))
	})
}

// countDelivery counts a delivery that a caller requests; CodeDailyLimit if the account has
// used its limit of a day.
func countDelivery(ctx context.Context, tx *store.Tx, account string) error {
	ok, err := event.TakeDelivery(ctx, tx, account)
	if err != nil || ok {
		return err
	}
	const day = 24 * time.Hour
	now := time.Now()
	return &fieldmark.Error{Code: fieldmark.CodeDailyLimit, RetryAfter: now.Truncate(day).Add(day).Sub(now),
		Detail: fmt.Sprintf("a test world has %d deliveries a day, and all are used; "+
			"the count starts again at 00:00 UTC", fieldmark.TestDeliveriesPerDay)}
}

// pingSummary returns a sentence about the result of a test and what to do about it: its reader is
// setting up a receiver. Statuses 401 and 403 usually mean a wrong secret.
func pingSummary(a Attempt) string {
	if a.OK() {
		return fmt.Sprintf("The receiver accepted the message: %d in %d ms.", a.Status, a.Took.Milliseconds())
	}
	advice := map[string]string{
		ClassDNS:      "The host name cannot be resolved; check its spelling, and that it is public.",
		ClassConnect:  "The connection was refused; check that the receiver runs and that its port is open.",
		ClassTLS:      "The TLS connection failed; check the certificate of the receiver.",
		ClassTimeout:  "The receiver is too slow; it should answer first and process the message afterwards.",
		ClassRedirect: "The address redirects; register the address that it redirects to.",
		ClassRefused:  "The address is not public, so no connection is made.",
		ClassAuth:     "The token server returned no token.",
	}[a.Detail.Class]
	switch {
	case a.Status == 401 || a.Status == 403:
		advice = "The receiver refused the credentials; compare its secret and credentials with those of the endpoint."
	case a.Status == 404 || a.Status == 405:
		advice = "The receiver does not accept POST at this address."
	case advice == "":
		advice = "The receiver failed; see its log."
	}
	return advice + " (" + a.Error + ")"
}
