package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/gcra"
	"github.com/fieldmark/fieldmark/internal/trace"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Limits of delivery.
const (
	MaxSending        = 256 // messages in flight; each takes a socket and a goroutine
	maxTestSending    = 16  // of those, the ones of test worlds, which never take the place of live ones
	defaultInFlight   = 8   // of those to one endpoint that does not set a limit
	maxReadyEndpoints = 64  // endpoints read in one transaction; the others follow in the next one
	maxRecordBatch    = 256 // attempts recorded in one transaction; more would only delay the first
	maxClaimBatch     = 64  // messages of one endpoint in one transaction

	// between claims for an endpoint whose row cannot be decoded: only a repair of the row helps
	unreadableRetry = time.Minute

	batchThreshold = 32                   // messages in flight from which on collect waits
	batchDelay     = 2 * time.Millisecond // at most; a transaction for each result would cost more
)

// result is an attempt with its message and endpoint.
type result struct {
	job      store.Job
	sender   *Sender                     // nil: the endpoint's secret or credentials cannot be read
	to       string                      // the endpoint
	settings *fieldmark.EndpointSettings // as they were when the message was claimed
	attempt  Attempt
	broken   bool // this process canceled the attempt

	clockOffset time.Duration // the time of the endpoint's test world less the real time; 0: it is in none
}

func (r *result) lease() store.Lease { return store.Lease{Kind: store.LeaseDelivery, ID: r.job.ID} }

// dispatcher delivers messages that are due. One goroutine claims and records, and each attempt
// runs in a separate goroutine, so no lock is needed for the state of the dispatcher. An
// endpoint that hangs cannot occupy all slots (see claimDue).
type dispatcher struct {
	*Service
	limit  int  // of messages in flight
	worlds bool // it delivers the messages of test worlds, and no others

	account string // with worlds: only of this one, whose clock advances
}

// topic is published when messages of the dispatcher become due.
func (s *dispatcher) topic() store.Topic {
	if s.worlds {
		return store.TopicTestDeliveries
	}
	return store.TopicDeliveries
}

// dispatch sends messages that are due until ctx ends and all attempts that it
// started are recorded. One goroutine claims and records, so that the results of
// some messages and the claim of the next ones share a transaction.
//
// It looks for due messages when a commit of this process or the runner of jobs publishes them,
// when a result arrives, and when the next retry is due.
func (s *dispatcher) dispatch(ctx context.Context) error {
	results := make(chan result, s.limit)
	var kept []result // not recorded yet
	inFlight := 0
	alarm := time.NewTimer(time.Hour) // reset to when the next message is due
	defer alarm.Stop()
	for {
		due := s.store.Watch(s.topic())
		kept = collect(kept, results, inFlight)
		inFlight -= len(kept)
		jobs, next, err := s.dispatchOnce(ctx, kept, s.limit-inFlight)
		if err != nil { // the database may recover; the results are kept until then
			// their slots stay occupied: without the results, the next claim could exceed the
			// limits of endpoints
			inFlight += len(kept)
			select {
			case <-ctx.Done():
				return s.drain(ctx, kept, inFlight, results)
			case <-time.After(job.PollInterval):
				continue
			}
		}
		kept = nil
		inFlight += len(jobs)
		for _, j := range jobs {
			s.jobs.Hold(j.lease())
			go s.send(ctx, j, results)
		}
		if !next.IsZero() {
			wait := time.Until(next)
			if wait <= 0 {
				continue
			}
			alarm.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return s.drain(ctx, nil, inFlight, results)
		case r := <-results:
			kept = append(kept, r)
		case <-due:
		case <-alarm.C:
		}
	}
}

// collect receives results. If many messages are in flight, it waits up to batchDelay until
// half of them are back, so that they share a transaction with each other and with the next
// claim. With few in flight it takes what is there and does not wait: latency matters more than
// the number of transactions.
func collect(kept []result, results chan result, inFlight int) []result {
	var late <-chan time.Time
	if len(kept) > 0 && inFlight >= batchThreshold {
		timer := time.NewTimer(batchDelay)
		defer timer.Stop()
		late = timer.C
	}
	for len(kept) < maxRecordBatch {
		select {
		case r := <-results:
			kept = append(kept, r)
			continue
		default:
		}
		if late == nil || len(kept) >= inFlight/2 {
			break
		}
		select {
		case r := <-results:
			kept = append(kept, r)
		case <-late:
			late = nil
		}
	}
	return kept
}

// dispatchOnce records results and claims messages that are due. It returns when to claim again
// if nothing wakes it before. After an error of one row it records the results one by one, so
// that a row that cannot be written does not hold up all others. An error that means that the
// database is unavailable is returned, and the results are kept.
func (s *dispatcher) dispatchOnce(ctx context.Context, tried []result, free int) (jobs []result, next time.Time,
	err error) {
	jobs, next, err = s.recordAndClaim(ctx, tried, free)
	switch {
	case err == nil:
		for _, r := range tried {
			s.report(r)
		}
	case ctx.Err() != nil || fieldmark.AsError(err).Code == fieldmark.CodeOriginUnavailable:
		return nil, next, err
	default:
		s.log.Error("deliver webhooks", slog.Any("error", err))
		if len(tried) == 0 {
			return nil, next, err
		}
		jobs, next = nil, time.Time{} // they are not leased
		s.recordEach(ctx, tried)      // one of them cannot be written; the others can
	}
	for _, r := range tried {
		s.jobs.Release(r.lease())
	}
	return jobs, next, nil
}

// drain waits for the messages in flight and records their results. Attempts end early, because
// their context has ended; these are not recorded as failures.
func (s *dispatcher) drain(ctx context.Context, kept []result, inFlight int, results chan result) error {
	for inFlight -= len(kept); inFlight > 0; inFlight-- {
		kept = append(kept, <-results)
	}
	last, cancel := job.ShutdownContext(ctx)
	defer cancel()
	s.recordEach(last, kept)
	for _, r := range kept {
		s.jobs.Release(r.lease())
	}
	return nil
}

// send makes one attempt. A bug in it counts as a failure of the message. It always sends
// exactly one result: the dispatcher counts on it.
func (s *dispatcher) send(ctx context.Context, r result, results chan<- result) {
	began := time.Now()
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("BUG: sending panicked", slog.Any("panic", v), slog.String("delivery", r.job.ID))
			r.attempt = Attempt{At: began, Took: time.Since(began), Error: "sending failed on our side"}
		}
		results <- r
	}()
	if r.sender == nil {
		r.attempt = Attempt{At: began, Error: "the endpoint's secret cannot be read"}
		return
	}
	r.attempt = s.attempt(ctx, r.sender, &r.job, r.to, began)
	r.broken = !r.attempt.OK() && ctx.Err() != nil
}

// attempt sends a message once, in a span of the trace that caused its event. The receiver gets
// the trace in its traceparent field.
func (s *Service) attempt(ctx context.Context, to *Sender, j *store.Job, endpoint string, now time.Time) Attempt {
	m := message(j)
	self, span := s.tracer.Child(trace.Parse(j.Trace), "webhook.attempt", trace.Client)
	defer span.End()
	m.Trace = self.String()
	a := to.Send(ctx, m, now)
	span.SetString("fieldmark.delivery", j.ID)
	span.SetString("fieldmark.endpoint", endpoint)
	span.SetString("fieldmark.event", string(j.Envelope.Type))
	span.SetInt("fieldmark.attempt", int64(j.Attempts+1))
	span.SetInt("http.response.status_code", int64(a.Status))
	if !a.OK() {
		span.SetError(a.Error)
	}
	return a
}

func message(j *store.Job) Message {
	m := Message{Envelope: j.Envelope, Subject: j.Subject, Account: j.Account}
	m.Test = fieldmark.IsTestAccount(j.Account)
	return m
}

// recordAndClaim records results and claims the next messages in one transaction. With both in
// one, an endpoint that has just finished a message gets the next one without another commit,
// which is the most expensive part of a delivery.
func (s *dispatcher) recordAndClaim(ctx context.Context, tried []result, free int) (jobs []result, next time.Time,
	err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		jobs, next = nil, time.Time{} // the transaction may run twice
		if err := s.recordAll(ctx, tx, tried); err != nil {
			return err
		}
		var err error
		jobs, next, err = s.claimDue(ctx, tx, time.Now(), free)
		return err
	})
	return jobs, next, err
}

// recordEach records each result in a separate transaction. A message whose result
// cannot be recorded is sent again when its lease expires.
func (s *dispatcher) recordEach(ctx context.Context, tried []result) {
	for _, r := range tried {
		err := s.store.Write(ctx,
			func(ctx context.Context, tx *store.Tx) error { return s.recordAll(ctx, tx, []result{r}) })
		if err != nil {
			s.log.Error("record an attempt", slog.String("delivery", r.job.ID), slog.Any("error", err))
			continue
		}
		s.report(r)
	}
}

// recordAll records attempts and updates the health of their endpoints, once for each endpoint.
// With ordering by mission, the end of a message releases the next one of the same mission. An
// attempt that this process canceled is not recorded: the message becomes due when its lease
// ends.
func (s *dispatcher) recordAll(ctx context.Context, tx *store.Tx, tried []result) error {
	byEndpoint := map[string][]result{}
	for _, r := range tried {
		if r.broken {
			continue // Run frees the lease
		}
		if err := tx.RecordAttempt(ctx, s.record(&r)); err != nil {
			return err
		}
		if r.settings.Ordering == fieldmark.OrderingMission && r.over() {
			if err := tx.PromoteNext(ctx, r.to, r.job.Subject, time.Now().Add(r.clockOffset)); err != nil {
				return err
			}
		}
		byEndpoint[r.to] = append(byEndpoint[r.to], r)
	}
	for id, of := range byEndpoint {
		if err := s.updateHealth(ctx, tx, id, of); err != nil {
			return err
		}
	}
	return nil
}

// over reports whether the message has no further attempt.
func (r *result) over() bool {
	return r.attempt.OK() || r.next(0.5).IsZero()
}

// next returns when to try a failed message again; zero means never. Attempts before a replay
// or a resend (BaseAttempts) do not count, so that the schedule starts again. A ping, whose
// event belongs to no account, is tried once.
func (r *result) next(jitter float64) time.Time {
	wait, ok := ScheduleOf(r.settings.Retry).After(r.job.Attempts+1-r.job.BaseAttempts, r.attempt, jitter)
	if !ok || r.job.Envelope.Type == fieldmark.EventPing && r.job.Account == "" {
		return time.Time{}
	}
	return r.end().Add(wait)
}

// end returns when the attempt ended, in the time of the endpoint's account.
func (r *result) end() time.Time { return r.attempt.At.Add(r.attempt.Took + r.clockOffset) }

// record returns the row of an attempt. The time of the next attempt counts from the end of
// this one: a slow receiver gets no second request at once.
func (s *Service) record(r *result) store.Attempt {
	a := r.attempt
	row := store.Attempt{
		Delivery: r.job.ID, Owner: s.jobs.Worker(), Number: r.job.Attempts + 1, At: a.At.Add(r.clockOffset),
		Took:   a.Took,
		Status: a.Status, Error: a.Error, Body: a.Body,
		Detail: a.Detail, State: fieldmark.DeliveryDone, DueAt: r.end(),
	}
	if !a.OK() {
		row.State = fieldmark.DeliveryFailed
		if next := r.next(rand.Float64()); !next.IsZero() {
			row.State, row.DueAt = fieldmark.DeliveryDue, next
		}
	}
	return row
}

// updateHealth applies results to the health of an endpoint, disables it or notifies its
// account if a limit is reached, and wakes it: it has capacity for the next message. An
// endpoint that is paused, disabled or deleted is not woken. tried may be empty: then only the
// time has passed.
func (s *Service) updateHealth(ctx context.Context, tx *store.Tx, id string, tried []result) error {
	now := time.Now()
	e, err := tx.Endpoint(ctx, id, now)
	if errors.Is(err, store.ErrNotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	if now, err = tx.Now(ctx, e.Account); err != nil {
		return err
	}
	h, err := health(&e)
	if err != nil {
		return err
	}
	changed, wanted := false, ""
	for _, r := range tried {
		attempt := r.attempt
		attempt.At = attempt.At.Add(r.clockOffset)
		changed = h.Record(attempt, maxInFlightOf(&e.EndpointSettings)) || changed
		if r.attempt.Disable {
			wanted = "the receiver asked for it (" + r.attempt.Error + ")"
			if r.attempt.OK() {
				wanted = "the receiver asked for it"
			}
		}
	}
	action := h.NextAction(now)
	if changed || action != NoAction {
		if err := putHealth(ctx, tx, id, h); err != nil {
			return err
		}
	}
	if wanted == "" && action == Disable {
		wanted = reasonFailing
	}
	switch {
	case wanted != "" && e.State == fieldmark.EndpointEnabled:
		return s.disable(ctx, tx, &e, h, wanted, now)
	case action == Warn:
		if err := emitNotice(ctx, tx, &e, h, fieldmark.EventWebhookFailing); err != nil {
			return err
		}
	}
	if e.State != fieldmark.EndpointEnabled {
		return nil
	}
	if until := h.ProbeAt.Std(); h.Circuit == fieldmark.CircuitOpen && until.After(now) {
		return tx.ScheduleEndpoint(ctx, id, until)
	}
	return tx.ScheduleEndpoint(ctx, id, now)
}

// claimDue claims up to free due messages, round robin over the endpoints, and returns when the
// next is due. A row that cannot be decoded does not stop the others; it is tried again after
// unreadableRetry.
func (s *dispatcher) claimDue(ctx context.Context, tx *store.Tx, now time.Time, free int) (jobs []result,
	next time.Time, err error) {
	if free <= 0 {
		return nil, time.Time{}, nil
	}
	ready, err := s.ready(ctx, tx, now)
	if err != nil {
		return nil, time.Time{}, err
	}
	for i := range ready {
		if free <= 0 {
			break // the other endpoints stay due; a result makes room and causes the next claim
		}
		e := &ready[i]
		h, err := readReady(e)
		if err != nil {
			s.metrics.countDecodeError(e.ID, err, s.log)
			if err := tx.PutEndpointSchedule(ctx, e.ID, now.Add(e.ClockOffset+unreadableRetry), e.RateAt); err != nil {
				return nil, time.Time{}, err
			}
			continue
		}
		// Each endpoint's share shrinks with the remaining capacity, so that
		// endpoints that hang cannot use all of it at once.
		taken, wake, err := s.claimEndpoint(ctx, tx, e, h, now.Add(e.ClockOffset), min(free, 1+free/4))
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("claim for endpoint %s: %w", e.ID, err)
		}
		free -= len(taken)
		jobs = append(jobs, taken...)
		if wake.IsZero() {
			continue
		}
		if wake = wake.Add(-e.ClockOffset); next.IsZero() || wake.Before(next) {
			next = wake
		}
	}
	return jobs, next, nil
}

// ready lists the endpoints to claim messages of.
func (s *dispatcher) ready(ctx context.Context, tx *store.Tx, now time.Time) ([]store.DueEndpoint, error) {
	if s.account != "" {
		return tx.DueEndpointsOf(ctx, s.account, now, maxReadyEndpoints)
	}
	return tx.DueEndpoints(ctx, now, maxReadyEndpoints, s.worlds, s.jobs.Shares(store.WorkDeliveries))
}

// readReady returns the health of a ready endpoint. The error is about its row alone, not about
// the database. So the dispatcher can go on with the other endpoints.
func readReady(e *store.DueEndpoint) (*Health, error) {
	if e.Err != nil {
		return nil, e.Err
	}
	return health(&e.Endpoint)
}

// claimEndpoint claims messages that are due to one endpoint, at most most and within its rate,
// its limit of messages in flight and its circuit. now is the time of its account. It returns when
// to claim again; zero means when a message in flight ends. The schedule of the endpoint is written in the same
// transaction, so the processes of a fleet share one rate and one limit.
func (s *dispatcher) claimEndpoint(ctx context.Context, tx *store.Tx, e *store.DueEndpoint, h *Health, now time.Time,
	most int) (jobs []result, wake time.Time, err error) {

	rate := e.RateAt
	if e.State != fieldmark.EndpointEnabled {
		return nil, wake, tx.PutEndpointSchedule(ctx, e.ID, wake, rate)
	}
	room := h.Concurrency(now, maxInFlightOf(&e.EndpointSettings)) - e.InFlight
	if room <= 0 {
		if h.Circuit == fieldmark.CircuitOpen && now.Before(h.ProbeAt.Std()) {
			wake = h.ProbeAt.Std()
		}
		return nil, wake, tx.PutEndpointSchedule(ctx, e.ID, wake, rate)
	}
	gate := newRateGate(&e.EndpointSettings, rate, now)
	waiting, err := s.dueDeliveries(ctx, tx, e.ID, min(room, maxClaimBatch)+1, now)
	if err != nil {
		return nil, wake, err
	}
	sender, err := s.sender(&e.Endpoint)
	if err != nil {
		s.log.Error("BUG: an endpoint cannot be used", slog.String("endpoint", e.ID), slog.Any("error", err))
	}
	for _, j := range waiting {
		switch {
		case j.DueAt.After(now):
			wake = j.DueAt
		case len(jobs) == room: // a message in flight wakes the endpoint when it ends
		case len(jobs) == most:
			wake = now
		case !gate.allow():
			wake = gate.at
		default:
			until := now.Add(job.LeaseDuration - e.ClockOffset) // leases are in real time
			if err := tx.LeaseDelivery(ctx, j.ID, s.jobs.Worker(), until); err != nil {
				return nil, wake, err
			}
			jobs = append(jobs, result{job: j, sender: sender, to: e.ID, settings: &e.EndpointSettings,
				clockOffset: e.ClockOffset})
			continue
		}
		break
	}
	return jobs, wake, tx.PutEndpointSchedule(ctx, e.ID, wake, gate.used)
}

// dueDeliveries lists the first deliveries to an endpoint that are not leased. Those whose
// process stopped during every attempt fail instead. A message that crashes its process would
// otherwise crash every process, one after the other.
func (s *dispatcher) dueDeliveries(ctx context.Context, tx *store.Tx, endpoint string, limit int,
	now time.Time) ([]store.Job, error) {
	for {
		list, err := tx.UnleasedDeliveries(ctx, endpoint, limit)
		lost := slices.IndexFunc(list, func(j store.Job) bool { return j.Claims >= job.MaxClaims })
		if err != nil || lost < 0 {
			return list, err
		}
		if err := tx.FailDelivery(ctx, endpoint, list[lost].ID, fmt.Sprintf(job.ReasonLost, job.MaxClaims),
			now); err != nil {
			return nil, err
		}
		s.log.Error("delivery failed: its process ended during each attempt", slog.String("delivery", list[lost].ID),
			slog.Int("attempts", job.MaxClaims))
	}
}

// rateGate limits the rate of messages, with bursts of up to one second's worth (the generic
// cell rate algorithm). Its only state is one time, which is stored with the endpoint.
type rateGate struct {
	every time.Duration // zero: no limit
	burst int           // messages of one second
	now   time.Time
	used  time.Time // up to when the rate is used
	at    time.Time // when the next may pass, after one was refused
}

func newRateGate(s *fieldmark.EndpointSettings, used, now time.Time) rateGate {
	p := rateGate{now: now, used: used}
	if s.RateLimit > 0 {
		p.every, p.burst = time.Second/time.Duration(s.RateLimit), s.RateLimit
	}
	return p
}

// allow reports whether a message may be sent now, and uses up its share of the rate. Up to one
// second's worth may pass at once; beyond that it sets at.
func (p *rateGate) allow() bool {
	if p.every == 0 {
		return true
	}
	if wait := gcra.Wait(p.used.Sub(p.now), p.every, p.burst); wait > 0 {
		p.at = p.now.Add(wait)
		return false
	}
	if p.used.Before(p.now) {
		p.used = p.now
	}
	p.used = p.used.Add(p.every)
	return true
}

// report logs and counts an attempt after it was recorded, so that an attempt that is recorded
// twice because of an error is counted once.
func (s *dispatcher) report(r result) {
	if r.broken {
		return
	}
	state := fieldmark.DeliveryDone
	if !r.attempt.OK() {
		state = fieldmark.DeliveryDue
		if r.over() {
			state = fieldmark.DeliveryFailed
		}
	}
	if !s.worlds {
		s.metrics.count(r.attempt)
	}
	if !s.worlds && r.job.Attempts == 0 && r.job.Envelope.Type != fieldmark.EventPing {
		s.metrics.observeLatency(r.attempt.At.Add(r.attempt.Took).Sub(r.job.DueAt))
	}
	s.log.Info("webhook", slog.String("delivery", r.job.ID), slog.String("event", r.job.Envelope.ID),
		slog.Int("attempt", r.job.Attempts+1),
		slog.Int("status", r.attempt.Status), slog.String("state", string(state)),
		slog.String("problem", r.attempt.Error), slog.Duration("took", r.attempt.Took))
}
