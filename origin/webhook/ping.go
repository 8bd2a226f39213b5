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

// pingLease is longer than an attempt, so that no other process sends the test.
const pingLease = Timeout + 5*time.Second

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
	row, err := s.store.Endpoint(ctx, id, time.Now())
	if err := of(&row, account, err); err != nil {
		return none, err
	}
	if row.Filter != nil {
		if !r.Type.AboutMission() && r.Type != fieldmark.EventPing {
			return none, validation.Error("/type", "conflict", missionsOnly)
		}
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
	sent.job.Account = "" // a test is neither retried nor sent to other endpoints
	done, cancel := job.ShutdownContext(ctx)
	defer cancel()
	recorded := s.record(&sent)
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

// closeCircuit starts to close the circuit of an endpoint after a successful test,
// so that its held messages are sent.
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

// addPing writes a test into the log of deliveries, leased to this process.
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
		if err := tx.AppendEvent(ctx, &event); err != nil {
			return err
		}
		to := store.Subscriber{ID: e.ID} // without ordering, and without waking the endpoint
		if err := tx.AddDelivery(ctx, ping.ID, &to, event.Number, "", now); err != nil {
			return err
		}
		return tx.LeaseDelivery(ctx, ping.ID, s.jobs.Worker(), now.Add(pingLease))
	})
}

// pingSummary returns a sentence about the result of a test.
func pingSummary(a Attempt) string {
	if a.OK() {
		return fmt.Sprintf("The receiver took it: %d in %d ms.", a.Status, a.Took.Milliseconds())
	}
	says := map[string]string{
		ClassDNS:      "The name of the host leads nowhere; is it spelled right and public?",
		ClassConnect:  "Nothing takes connections there; is the receiver up and its port open to us?",
		ClassTLS:      "The connection is not trusted; look at the receiver's certificate.",
		ClassTimeout:  "The receiver is too slow; it should take the message, answer, and work afterwards.",
		ClassRedirect: "The address leads elsewhere; register the one it leads to.",
		ClassRefused:  "The address is not one that we connect to.",
		ClassAuth:     "The token server gave no token.",
	}[a.Detail.Class]
	switch {
	case a.Status == 401 || a.Status == 403:
		says = "The receiver does not know us; compare its secret and its credentials with the endpoint's."
	case a.Status == 404 || a.Status == 405:
		says = "The receiver has nothing at this address that takes a POST."
	case says == "":
		says = "The receiver failed; its log should say why."
	}
	return says + " (" + a.Error + ")"
}
