package mission

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/sla"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// SLA manages the rules of SLA timers: a policy for each priority, and the business
// hours that policies count. Its methods may be called from any goroutine.
type SLA struct {
	store *store.Store
	log   *slog.Logger
	zones sync.Map // name -> *time.Location
}

// zone returns a time zone by name, from a cache: loading one takes longer than
// computing in it. There are a few hundred, and they do not change, so the cache
// has no limit.
func (s *SLA) zone(name string) (*time.Location, error) {
	if known, ok := s.zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("read time zone %s: %w", name, err)
	}
	s.zones.Store(name, zone)
	return zone, nil
}

// policy returns the terms of a mission's SLA timers under the active rules: the targets of its
// priority, and the business hours that they count, in the time zone of the mission's location
// if the calendar follows it.
func (s *SLA) policy(r *store.SLARules, m *fieldmark.Mission) (sla.Terms, error) {
	policy := r.Policies[m.Priority]
	calendar, ok := r.BusinessHours[policy.Calendar]
	if !ok {
		return sla.Terms{}, fmt.Errorf("BUG: policy %s names calendar %q, which is not there", policy.Priority,
			policy.Calendar)
	}
	name := calendar.TimeZone
	if calendar.FollowsLocation && m.Location != nil && m.Location.TimeZone != "" {
		name = m.Location.TimeZone
	}
	zone, err := s.zone(name)
	if err != nil {
		return sla.Terms{}, fmt.Errorf("use calendar %s: %w", calendar.Name, err)
	}
	return sla.Terms{Policy: policy, Hours: sla.NewWorkingTime(&calendar, zone)}, nil
}

// startTimers starts the SLA timers of a new mission. The row stores when the first of them is
// due, which is what timers.claim looks for.
func (t *txn) startTimers(ctx context.Context, m *store.Mission) error {
	rules, err := t.tx.SLARules(ctx)
	if err != nil {
		return err
	}
	terms, err := t.s.SLA.policy(rules, &m.Mission)
	if err != nil {
		return err
	}
	timers := sla.Start(&m.Mission, terms)
	return t.tx.AddSLA(ctx, m, &store.SLA{Policy: m.Priority, Timers: timers, Rules: rules.Revision,
		DueAt: sla.NextDue(timers, terms)})
}

// advanceTimers applies the change of a mission from before to m to its SLA timers, and returns
// the changes to emit. before may be &m.Mission: then only the time has passed. A mission that
// was created before SLA timers existed has no timers.
//
// The time up to now is counted under the previous terms, and only then the change is applied,
// so that a change cannot hide a breach that happened earlier.
func (t *txn) advanceTimers(ctx context.Context, before *fieldmark.Mission, m *store.Mission,
	now time.Time) ([]sla.Change, error) {
	if m.StoredSLA == nil {
		return nil, nil
	}
	rules, err := t.tx.SLARules(ctx)
	if err != nil {
		return nil, err
	}
	was, err := t.s.SLA.policy(rules, before)
	if err != nil {
		return nil, err
	}
	// The terms depend on priority and location, and no call changes the location.
	is := was
	if before.Priority != m.Priority {
		if is, err = t.s.SLA.policy(rules, &m.Mission); err != nil {
			return nil, err
		}
	}
	timers, changed := sla.Advance(m.StoredSLA.Timers, before, &m.Mission, was, is, now)
	next := store.SLA{Policy: m.Priority, Timers: timers, Revision: m.StoredSLA.Revision, Rules: rules.Revision,
		DueAt: sla.NextDue(timers, is)}
	if before == &m.Mission && len(changed) > 0 {
		next.Revision++ // a change of a timer does not increase the mission's version
	}
	return changed, t.tx.PutSLA(ctx, m, &next)
}

// emitTimers emits the changes of SLA timers, each once. A row for each mission and change
// records what was emitted: a timer that is recalculated, after a change of the rules or by a
// stale claim, does not repeat an event.
func (t *txn) emitTimers(ctx context.Context, m *store.Mission, changed []sla.Change) error {
	for _, c := range changed {
		now, err := t.tx.Now(ctx, m.Account)
		if err != nil {
			return err
		}
		id := fieldmark.NewID(fieldmark.PrefixEvent, time.Now()) // as event.Emit makes them
		// The unique key of the row decides between two processes that fire the same timer.
		fresh, err := t.tx.AddSLAEvent(ctx, m.ID, c, id, now)
		if err != nil {
			return err
		}
		if !fresh {
			continue
		}
		e := store.Event{Event: fieldmark.Event{ID: id, Type: c.Type}, Subject: m.ID, Labels: m.Labels}
		if _, err := event.Emit(ctx, t.tx, m.Account, e, c.Data); err != nil {
			return err
		}
	}
	return nil
}

// begin starts the SLA timers and the payment of a new mission. Their events, if there are any,
// come later: the mission must be known first.
func (t *txn) begin(ctx context.Context, m *store.Mission) error {
	if err := t.startTimers(ctx, m); err != nil {
		return err
	}
	return t.startPayment(ctx, m)
}

// follow applies the change of a mission at a time to its SLA timers and its payment. It returns a
// function that emits their events; the caller calls it after the mission's event. All rows are
// written before any event, so that every event of the transaction describes the same state.
func (t *txn) follow(ctx context.Context, before *fieldmark.Mission, m *store.Mission,
	at time.Time) (emit func(context.Context) error, err error) {
	changed, err := t.advanceTimers(ctx, before, m, at)
	if err != nil {
		return nil, err
	}
	paid, err := t.followPayment(ctx, before.Status, m)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if err := t.emitTimers(ctx, m, changed); err != nil || paid == nil {
			return err
		}
		return t.emitPayment(ctx, m, *paid)
	}, nil
}

// maxTimers limits the timers that fire concurrently. It is the number of writes
// that can share a transaction: firing a timer does no other work.
const maxTimers = 256

// maxTestTimers limits those of test worlds: live ones come first.
const maxTestTimers = 16

// timers are the jobs of live missions or, with worlds, of those in test worlds.
type timers struct {
	*Service
	worlds bool
}

// claim leases up to limit SLA timers, payments and pending alerts that are due, in this
// order: deadlines of SLAs are the most urgent. A process that stops lets its leases expire,
// and another one claims the rows. An installation without test worlds, or without anything due
// in them, begins no transaction for them.
func (s *timers) claim(ctx context.Context, limit int) (todo []job.Job, err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		todo = nil // the transaction may run twice
		now := time.Now()
		for _, kind := range []struct {
			what  string
			lease store.LeaseKind
			claim func(ctx context.Context, owner string, now, lease time.Time, limit int,
				worlds bool) ([]string, error)
			pass func(*txn, context.Context, string) error
		}{
			{"SLA timers", store.LeaseSLA, tx.ClaimSLAs, (*txn).fireTimers},
			{"payment", store.LeasePayment, tx.ClaimPayments, (*txn).fireDue},
			{"pending alert", store.LeaseAlert, tx.ClaimPendingAlerts, (*txn).openPending},
		} {
			ids, err := kind.claim(ctx, s.jobs.Worker(), now, now.Add(job.LeaseDuration), limit-len(todo), s.worlds)
			if err != nil {
				return err
			}
			for _, id := range ids {
				todo = append(todo, job.Job{Lease: store.Lease{Kind: kind.lease, ID: id},
					Do: func(ctx context.Context) { s.run(ctx, kind.what, id, kind.pass) }})
			}
			if len(todo) == limit {
				break
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return todo, nil
}

// run fires one timer. It does not verify that the process still owns the lease: each of
// the functions decides from the current row, so if another process fired the timer first,
// firing it again changes nothing. After an error the lease expires, and the timer is claimed
// again. Timers of test worlds are in no metric.
func (s *timers) run(ctx context.Context, what, id string, pass func(*txn, context.Context, string) error) {
	began := time.Now()
	err := s.write(ctx, func(ctx context.Context, t *txn) error { return pass(t, ctx, id) })
	if s.timerFired != nil && !s.worlds {
		s.timerFired(time.Since(began))
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("fire "+what, slog.String("id", id), slog.Any("error", err)) // the lease ends
	}
}

// FireWorld fires the timers that are due in the world of a test account at a time of the world: SLA timers,
// payments and pending alerts, in this order. The clock of the account must be advancing: other workers then leave
// the world out. It returns how many timers of SLAs and payments it fired, and in all.
func (s *Service) FireWorld(ctx context.Context, account string, now time.Time) (slas, payments, all int, err error) {
	due, unpaid, alerts, err := s.store.WorldTimers(ctx, account, now, maxTestTimers)
	if err != nil {
		return 0, 0, 0, err
	}
	for _, kind := range []struct {
		ids  []string
		pass func(*txn, context.Context, string) error
	}{{due, (*txn).fireTimers}, {unpaid, (*txn).fireDue}, {alerts, (*txn).openPending}} {
		for _, id := range kind.ids {
			err := s.write(ctx, func(ctx context.Context, t *txn) error { return kind.pass(t, ctx, id) })
			if err != nil {
				return 0, 0, 0, fmt.Errorf("fire a timer of %s: %w", id, err)
			}
		}
	}
	return len(due), len(unpaid), len(due) + len(unpaid) + len(alerts), nil
}

// fireTimers applies the current time to the SLA timers of a mission.
func (t *txn) fireTimers(ctx context.Context, id string) error {
	m, err := t.tx.Mission(ctx, id)
	if err != nil {
		return err
	}
	now, err := t.tx.Now(ctx, m.Account)
	if err != nil {
		return err
	}
	changed, err := t.advanceTimers(ctx, &m.Mission, &m, now)
	if err != nil {
		return err
	}
	for _, c := range changed {
		t.s.log.Info("deadline", slog.String("mission", id), slog.String("event", string(c.Type)),
			slog.String("metric", string(c.Metric)))
	}
	return t.emitTimers(ctx, &m, changed)
}

// Policies lists the active policies, the most urgent priority first.
func (s *SLA) Policies(ctx context.Context) ([]fieldmark.SLAPolicy, error) {
	rules, err := s.store.SLARules(ctx)
	if err != nil {
		return nil, err
	}
	var list []fieldmark.SLAPolicy
	for _, p := range slices.Backward(fieldmark.Priorities()) {
		list = append(list, rules.Policies[p])
	}
	return list, nil
}

// PutPolicy sets the policy of a priority. Running timers are recalculated from
// their start.
func (s *SLA) PutPolicy(ctx context.Context, p fieldmark.SLAPolicy) (fieldmark.SLAPolicy, error) {
	return s.changePolicy(ctx, p.Priority, func(fieldmark.SLAPolicy) fieldmark.SLAPolicy { return p })
}

// PatchPolicy changes the fields of a policy that the patch sets, as the transaction reads it.
// Concurrent patches of different fields do not overwrite each other.
func (s *SLA) PatchPolicy(ctx context.Context, priority fieldmark.Priority,
	patch fieldmark.SLAPolicyPatch) (fieldmark.SLAPolicy, error) {
	return s.changePolicy(ctx, priority,
		func(p fieldmark.SLAPolicy) fieldmark.SLAPolicy { return sla.ApplyPatch(p, patch) })
}

// changePolicy changes a policy as the transaction reads it. The calendar must exist, and the
// targets must be reachable in it: both can only be decided with all rules at hand.
func (s *SLA) changePolicy(ctx context.Context, priority fieldmark.Priority,
	change func(fieldmark.SLAPolicy) fieldmark.SLAPolicy) (p fieldmark.SLAPolicy, err error) {
	err = s.putRule(ctx, "policy", string(priority), func(ctx context.Context, tx *store.Tx, r *store.SLARules,
		now time.Time) error {
		p = change(r.Policies[priority])
		if err := validation.Errors(sla.ValidatePolicy(&p)).Err(); err != nil {
			return err
		}
		calendar, ok := r.BusinessHours[p.Calendar]
		if !ok {
			return validation.Error("/calendar", "enum", "there is no calendar of this name")
		}
		if err := reachable(calendar, p, "/calendar", now); err != nil {
			return err
		}
		return tx.PutSLAPolicy(ctx, priority, &p, now)
	})
	return p, err
}

// ResetPolicy restores the built-in policy of a priority.
func (s *SLA) ResetPolicy(ctx context.Context, priority fieldmark.Priority) error {
	return s.putRule(ctx, "policy", string(priority), func(ctx context.Context, tx *store.Tx, _ *store.SLARules,
		now time.Time) error {
		return tx.PutSLAPolicy(ctx, priority, nil, now)
	})
}

// Calendars lists the active calendars by name.
func (s *SLA) Calendars(ctx context.Context) ([]fieldmark.SLACalendar, error) {
	rules, err := s.store.SLARules(ctx)
	if err != nil {
		return nil, err
	}
	var list []fieldmark.SLACalendar
	for _, c := range rules.BusinessHours {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b fieldmark.SLACalendar) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// PutCalendar sets a calendar. Running timers are recalculated from their start. Every policy
// that uses it must stay reachable.
func (s *SLA) PutCalendar(ctx context.Context, c fieldmark.SLACalendar) (fieldmark.SLACalendar, error) {
	if _, err := sla.ParseCalendarName(c.Name); err != nil {
		return c, err
	}
	bad := sla.ValidateCalendar(&c)
	if _, err := time.LoadLocation(c.TimeZone); err != nil && !hasError(bad, "/timeZone") {
		bad = append(bad, fieldmark.FieldError{Pointer: "/timeZone", Code: "enum", Detail: "is not a known time zone"})
	}
	if err := validation.Errors(bad).Err(); err != nil {
		return c, err
	}
	err := s.putRule(ctx, "calendar", c.Name, func(ctx context.Context, tx *store.Tx, r *store.SLARules,
		now time.Time) error {
		for _, p := range r.Policies {
			if p.Calendar == c.Name {
				if err := reachable(c, p, "/hours", now); err != nil {
					return err
				}
			}
		}
		return tx.PutBusinessHours(ctx, c.Name, &c, now)
	})
	return c, err
}

// reachable returns an error if a calendar, with its holidays, never contains enough working
// time for the longest target of a policy. Timers would otherwise never be due. The check uses
// UTC: another time zone moves the hours, but a week has as many of them.
func reachable(c fieldmark.SLACalendar, p fieldmark.SLAPolicy, pointer string, now time.Time) error {
	longest := sla.LongestTarget(&p)
	if _, ok := sla.NewWorkingTime(&c, time.UTC).After(now, longest); ok {
		return nil
	}
	return validation.Error(pointer, "range", "the calendar does not reach the longest target of policy "+
		string(p.Priority)+" within ten years")
}

// DeleteCalendar deletes a calendar; a built-in one is restored to its original. A
// calendar that a policy uses cannot be deleted.
func (s *SLA) DeleteCalendar(ctx context.Context, name string) error {
	return s.putRule(ctx, "calendar", name, func(ctx context.Context, tx *store.Tx, r *store.SLARules,
		now time.Time) error {
		if _, ok := r.BusinessHours[name]; !ok {
			return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such calendar")
		}
		own := slices.ContainsFunc(sla.DefaultCalendars(), func(c fieldmark.SLACalendar) bool { return c.Name == name })
		for _, p := range fieldmark.Priorities() {
			if !own && r.Policies[p].Calendar == name {
				return validation.Error("", "conflict", "policy "+string(p)+" uses this calendar")
			}
		}
		return tx.PutBusinessHours(ctx, name, nil, now)
	})
}

// putRule changes a rule in a transaction and logs the change.
func (s *SLA) putRule(ctx context.Context, kind, name string,
	put func(context.Context, *store.Tx, *store.SLARules, time.Time) error) error {
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		rules, err := tx.SLARules(ctx)
		if err != nil {
			return err
		}
		return put(ctx, tx, rules, time.Now())
	})
	if err != nil {
		return fmt.Errorf("put %s %s: %w", kind, name, err)
	}
	s.log.Info("SLA rules changed", slog.String("kind", kind), slog.String("name", name))
	return nil
}
