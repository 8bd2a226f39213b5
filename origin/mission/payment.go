package mission

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// startPayment creates the payment of a request, if it has one. Without an amount its status is
// NONE until SetPayment sets one.
func (t *txn) startPayment(ctx context.Context, m *store.Mission) error {
	asked := m.MissionRequest.Payment
	if asked == nil {
		return nil
	}
	p := newPayment(ctx, asked.Direction, m.UpdatedAt)
	p.Amount, p.Terms = asked.Amount, asked.Terms
	if p.Amount != nil {
		p.Status = fieldmark.PaymentPending
	}
	return t.tx.AddPayment(ctx, m, p)
}

func newPayment(ctx context.Context, d fieldmark.Direction, at fieldmark.Time) *store.Payment {
	return &store.Payment{CreatedAt: at, UpdatedAt: at, Payment: fieldmark.Payment{
		ID: newID(ctx, fieldmark.PrefixPayment, at.Std()), Direction: d, Status: fieldmark.PaymentNone, Version: 1,
	}}
}

// paymentChange is a change of a payment whose event is not emitted yet: events of the payment
// follow that of the mission. A nil *paymentChange means that nothing changed.
type paymentChange struct {
	previous fieldmark.PaymentStatus
	refund   *fieldmark.Refund
}

// followPayment changes the status of a payment if the mission's new status requires it. It
// returns nil if it does not.
func (t *txn) followPayment(ctx context.Context, from fieldmark.MissionStatus, m *store.Mission) (*paymentChange,
	error) {
	// The change concerned other fields, or there is nothing to pay.
	if m.StoredPayment == nil || from == m.Status {
		return nil, nil
	}
	to, moves := PaymentStatusFor(&m.StoredPayment.Payment, m.Status, t.s.paymentDueOn)
	if !moves {
		return nil, nil
	}
	return t.movePayment(ctx, m, to, m.UpdatedAt)
}

// movePayment changes the status of a mission's payment and writes it, which also ends a lease
// on the payment. The event is left to the caller (see emitPayment).
func (t *txn) movePayment(ctx context.Context, m *store.Mission, to fieldmark.PaymentStatus,
	now fieldmark.Time) (*paymentChange, error) {
	changed := &paymentChange{previous: m.StoredPayment.Status}
	if err := TransitionPayment(&m.StoredPayment.Payment, to, now); err != nil {
		return nil, err
	}
	m.StoredPayment.UpdatedAt = now
	if to == fieldmark.PaymentOverdue {
		m.StoredPayment.OverdueAt = &now
	}
	return changed, t.tx.PutPayment(ctx, m.StoredPayment)
}

// emitPayment emits the event of a changed payment. Statuses without an event, NONE and
// PENDING, emit none. The data name the failure and the refund only in the events about them.
func (t *txn) emitPayment(ctx context.Context, m *store.Mission, changed paymentChange) error {
	p := m.StoredPayment
	kind, ok := PaymentEvent(p.Status)
	if !ok {
		return nil
	}
	change := fieldmark.PaymentChange{
		PaymentID: p.ID, MissionID: m.ID, ExternalID: m.ExternalID, Source: m.Source, Direction: p.Direction,
		Status: p.Status, PreviousStatus: changed.previous, Amount: p.Amount, DueAt: p.DueAt, PaidAt: p.PaidAt,
		Version: p.Version,
	}
	switch kind {
	case fieldmark.EventPaymentFailed:
		change.Failure = p.Failure
	case fieldmark.EventPaymentRefunded:
		change.Refund, change.RefundedTotal = changed.refund, p.RefundedTotal
	}
	e := store.Event{Event: fieldmark.Event{Type: kind}, Subject: p.ID, Labels: m.Labels}
	_, err := event.Emit(ctx, t.tx, m.Account, e, change)
	return err
}

// fireDue marks a payment as overdue if it is. The claim may be stale: the payment may have
// been paid or its due time moved since. Then the write of the unchanged payment ends the
// lease.
func (t *txn) fireDue(ctx context.Context, id string) error {
	m, err := t.paymentMission(ctx, id)
	if err != nil {
		return err
	}
	at, err := t.tx.Now(ctx, m.Account)
	if err != nil {
		return err
	}
	now := fieldmark.At(at)
	if m.StoredPayment.DueAt == nil || !now.Std().After(m.StoredPayment.DueAt.Std()) ||
		ValidatePaymentTransition(m.StoredPayment.Status, fieldmark.PaymentOverdue) != nil {
		return t.tx.PutPayment(ctx, m.StoredPayment) // not overdue now; this write ends the lease
	}
	changed, err := t.movePayment(ctx, &m, fieldmark.PaymentOverdue, now)
	if err != nil {
		return err
	}
	return t.emitPayment(ctx, &m, *changed)
}

// paymentMission reads the mission of a payment.
func (t *txn) paymentMission(ctx context.Context, id string) (store.Mission, error) {
	none := fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such payment")
	if !fieldmark.CheckID(fieldmark.PrefixPayment, id) {
		return store.Mission{}, none
	}
	mission, err := t.tx.PaymentMission(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return store.Mission{}, none
	}
	if err != nil {
		return store.Mission{}, err
	}
	return t.tx.Mission(ctx, mission)
}

// SetPaymentStatus marks a payment as processing, paid, failed or canceled. A payment that has
// the status already does not change, so that the call may be repeated. DUE, OVERDUE and the
// refunds are not accepted: they follow from the mission, from the time and from RefundPayment.
func (s *Service) SetPaymentStatus(ctx context.Context, id string,
	move fieldmark.PaymentMove) (fieldmark.MissionPayment, error) {
	return s.setPaymentStatus(ctx, id, nil, move)
}

// SetPaymentStatusAt is SetPaymentStatus for an HTML form. It returns CodeVersionMismatch unless the
// payment has the version that the form shows, or the status already.
func (s *Service) SetPaymentStatusAt(ctx context.Context, id string, version int,
	move fieldmark.PaymentMove) (fieldmark.MissionPayment, error) {
	return s.setPaymentStatus(ctx, id, &version, move)
}

func (s *Service) setPaymentStatus(ctx context.Context, id string, version *int,
	move fieldmark.PaymentMove) (fieldmark.MissionPayment, error) {
	to, bad := checkPaymentMove(&move)
	if err := validation.Errors(bad).Err(); err != nil {
		return fieldmark.MissionPayment{}, err
	}
	return s.changePayment(ctx, id, func(ctx context.Context, t *txn, m *store.Mission,
		now fieldmark.Time) (*paymentChange, error) {
		// Test worlds have their own time, so this is known only with the account of the payment.
		if move.PaidAt != nil && move.PaidAt.Std().After(now.Std().Add(maxClockAhead)) {
			return nil, validation.Error("/paidAt", "range", "must not be in the future")
		}
		if m.StoredPayment.Status == to {
			return nil, nil
		}
		if err := checkPaymentVersion(m, version); err != nil {
			return nil, err
		}
		previous := m.StoredPayment.Status
		if err := TransitionPayment(&m.StoredPayment.Payment, to, now); err != nil {
			return nil, err
		}
		switch to {
		case fieldmark.PaymentFailed:
			m.StoredPayment.Failure = move.Failure
		// Bookkeeping often records a payment days later and names the day of the transfer.
		case fieldmark.PaymentPaid:
			if move.PaidAt != nil {
				m.StoredPayment.PaidAt = move.PaidAt
			}
		}
		m.StoredPayment.UpdatedAt = now
		return &paymentChange{previous: previous}, t.tx.PutPayment(ctx, m.StoredPayment)
	})
}

// maxClockAhead limits how far a caller's clock may be ahead of the origin's. Clocks that are
// synchronized differ by less; a date in the future is a mistake.
const maxClockAhead = 5 * time.Minute

// checkPaymentMove validates the status that an operator may set: DUE and OVERDUE
// follow from the mission and the time.
func checkPaymentMove(move *fieldmark.PaymentMove) (fieldmark.PaymentStatus, []fieldmark.FieldError) {
	var bad validation.Errors
	to, err := fieldmark.ParsePaymentStatus(move.Status)
	switch to {
	case fieldmark.PaymentProcessing, fieldmark.PaymentPaid, fieldmark.PaymentFailed, fieldmark.PaymentCanceled:
	default:
		err = errors.New("not an operator's")
	}
	if err != nil {
		bad.Add("/status", "enum", "must be PROCESSING, PAID, FAILED or CANCELED")
	} else if to == fieldmark.PaymentFailed && move.Failure == nil {
		bad.Add("/failure", "required", "is required with FAILED")
	}
	if to != fieldmark.PaymentFailed && move.Failure != nil {
		bad.Add("/failure", "conflict", "goes with FAILED only")
	}
	if to != fieldmark.PaymentPaid && move.PaidAt != nil {
		bad.Add("/paidAt", "conflict", "goes with PAID only")
	}
	return to, bad
}

// RefundPayment records a refund of a payment. The same reference with the same amount again
// changes nothing. Another amount with the same reference is a conflict. The sum of all refunds
// never exceeds the amount of the payment.
func (s *Service) RefundPayment(ctx context.Context, id string, r fieldmark.RefundRequest) (fieldmark.MissionPayment,
	error) {
	return s.refundPayment(ctx, id, nil, r)
}

// RefundPaymentAt is RefundPayment for an HTML form. It returns CodeVersionMismatch
// unless the payment has the version that the form shows, so a form that is
// submitted twice makes one refund.
func (s *Service) RefundPaymentAt(ctx context.Context, id string, version int,
	r fieldmark.RefundRequest) (fieldmark.MissionPayment, error) {
	return s.refundPayment(ctx, id, &version, r)
}

// refundPayment looks for the reference before it checks the version and the limits: a repeated
// request must succeed, although the first one has changed both.
func (s *Service) refundPayment(ctx context.Context, id string, version *int,
	r fieldmark.RefundRequest) (fieldmark.MissionPayment, error) {
	return s.changePayment(ctx, id, func(ctx context.Context, t *txn, m *store.Mission,
		now fieldmark.Time) (*paymentChange, error) {
		list, err := t.tx.Refunds(ctx, m.StoredPayment.ID)
		if err != nil {
			return nil, err
		}
		for _, old := range list {
			if r.Reference != "" && old.Reference == r.Reference {
				if r.Amount == old.Amount {
					return nil, nil
				}
				return nil, validation.Error("/reference", "conflict", "names a refund of another amount")
			}
		}
		// After the search for the reference, so that a repeated form of a finished refund succeeds.
		if err := checkPaymentVersion(m, version); err != nil {
			return nil, err
		}
		if len(list) >= fieldmark.MaxRefunds {
			return nil, validation.Error("", "too_long", fmt.Sprintf("a payment has at most %d refunds",
				fieldmark.MaxRefunds))
		}
		changed := &paymentChange{previous: m.StoredPayment.Status}
		amount, err := RefundPayment(&m.StoredPayment.Payment, r.Amount)
		if err != nil {
			return nil, err
		}
		changed.refund = &fieldmark.Refund{ID: newID(ctx, fieldmark.PrefixRefund, now.Std()), Amount: amount,
			Reference: r.Reference, Reason: r.Reason, CreatedAt: now}
		if err := t.tx.AddRefund(ctx, m.StoredPayment.ID, changed.refund); err != nil {
			return nil, err
		}
		m.StoredPayment.UpdatedAt = now
		return changed, t.tx.PutPayment(ctx, m.StoredPayment)
	})
}

// checkPaymentVersion rejects a write that applies to another version of the payment of a mission; nil means
// any, and a mission without a payment has version 0.
func checkPaymentVersion(m *store.Mission, version *int) error {
	now := 0
	if m.StoredPayment != nil {
		now = m.StoredPayment.Version
	}
	if version == nil || *version == now {
		return nil
	}
	return fieldmark.Errorf(fieldmark.CodeVersionMismatch, "the payment is at version %d now", now)
}

// changePayment changes a payment in a transaction, emits its event, and returns the payment
// with its refunds. A change that returns nil emits nothing.
func (s *Service) changePayment(ctx context.Context, id string,
	change func(context.Context, *txn, *store.Mission, fieldmark.Time) (*paymentChange,
		error)) (p fieldmark.MissionPayment, err error) {

	err = s.write(ctx, func(ctx context.Context, t *txn) error {
		m, err := t.paymentMission(ctx, id)
		if err != nil {
			return err
		}
		now, err := t.tx.Now(ctx, m.Account)
		if err != nil {
			return err
		}
		changed, err := change(ctx, t, &m, fieldmark.At(now))
		if err == nil && changed != nil {
			err = t.emitPayment(ctx, &m, *changed)
		}
		if err == nil {
			p, err = t.tx.Payment(ctx, id)
		}
		return err
	})
	if err != nil {
		return fieldmark.MissionPayment{}, fmt.Errorf("change payment %s: %w", id, err)
	}
	return p, nil
}

// SetPayment sets or changes the price of a mission until it is due. If the mission
// is already accepted, the payment is due at once.
func (s *Service) SetPayment(ctx context.Context, missionID string,
	r fieldmark.PaymentRequest) (fieldmark.MissionPayment, error) {
	return s.priceMission(ctx, missionID, nil, r)
}

// SetPaymentAt is SetPayment for an HTML form. It returns CodeVersionMismatch unless the payment has the
// version that the form shows; 0 means that the mission has none.
func (s *Service) SetPaymentAt(ctx context.Context, missionID string, version int,
	r fieldmark.PaymentRequest) (fieldmark.MissionPayment, error) {
	return s.priceMission(ctx, missionID, &version, r)
}

func (s *Service) priceMission(ctx context.Context, missionID string, version *int,
	r fieldmark.PaymentRequest) (fieldmark.MissionPayment, error) {
	bad := ValidatePayment(&r, "")
	if r.Amount == nil {
		bad = append(bad, fieldmark.FieldError{Pointer: "/amount", Code: "required", Detail: "is required"})
	}
	if err := validation.Errors(bad).Err(); err != nil {
		return fieldmark.MissionPayment{}, err
	}
	var p fieldmark.MissionPayment
	err := s.write(ctx, func(ctx context.Context, t *txn) error {
		m, err := t.mission(ctx, "", missionID)
		if err == nil {
			err = checkPaymentVersion(&m, version)
		}
		if err != nil {
			return err
		}
		id, err := t.setPayment(ctx, &m, r)
		if err == nil {
			p, err = t.tx.Payment(ctx, id)
		}
		return err
	})
	if err != nil {
		return fieldmark.MissionPayment{}, fmt.Errorf("set the payment of mission %s: %w", missionID, err)
	}
	return p, nil
}

// setPayment sets the amount of a payment that is not due yet, and creates the payment if the
// mission has none. After that its amount is what the parties agreed on, and only refunds
// change it.
func (t *txn) setPayment(ctx context.Context, m *store.Mission, r fieldmark.PaymentRequest) (string, error) {
	at, err := t.tx.Now(ctx, m.Account)
	if err != nil {
		return "", err
	}
	now := fieldmark.At(at)
	if m.Status == fieldmark.MissionCanceled {
		return "", fieldmark.Errorf(fieldmark.CodeInvalidTransition,
			"the mission is canceled, so nothing is due for it")
	}
	if m.StoredPayment == nil {
		if err := t.tx.AddPayment(ctx, m, newPayment(ctx, r.Direction, now)); err != nil {
			return "", err
		}
	}
	p := m.StoredPayment
	// Before it is due, a payment may be repriced as often as the parties like.
	switch p.Status {
	case fieldmark.PaymentNone:
		if err := TransitionPayment(&p.Payment, fieldmark.PaymentPending, now); err != nil {
			return "", err
		}
	case fieldmark.PaymentPending:
		p.Version++
	default:
		return "", fieldmark.Errorf(fieldmark.CodeInvalidTransition,
			"an amount can be set until it is due; this payment is %s", p.Status)
	}
	p.Amount, p.Direction, p.Terms, p.UpdatedAt = r.Amount, r.Direction, r.Terms, now
	if err := t.tx.PutPayment(ctx, p); err != nil {
		return "", err
	}
	to, moves := PaymentStatusFor(&p.Payment, m.Status, t.s.paymentDueOn)
	if !moves {
		return p.ID, nil
	}
	changed, err := t.movePayment(ctx, m, to, now)
	if err != nil {
		return "", err
	}
	return p.ID, t.emitPayment(ctx, m, *changed)
}

// Payment returns a payment with its refunds. An unknown or malformed id is CodeNotFound.
func (s *Service) Payment(ctx context.Context, id string) (fieldmark.MissionPayment, error) {
	if !fieldmark.CheckID(fieldmark.PrefixPayment, id) {
		return fieldmark.MissionPayment{}, fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such payment")
	}
	p, err := s.store.Payment(ctx, id)
	return p, store.NotFound(err, "there is no such payment")
}

// Limits of a page of payments.
const (
	// of a request without a limit
	DefaultPaymentLimit = 50
	MaxPaymentLimit     = 200
)

// Payments lists payments of all live accounts or, with worlds, of test worlds, without their
// refunds, newest first; status "" means any. The cursor is nextCursor of the page before; a limit
// of 0 is DefaultPaymentLimit.
func (s *Service) Payments(ctx context.Context, status fieldmark.PaymentStatus, worlds bool, cursor string,
	limit int) (fieldmark.List[fieldmark.MissionPayment], error) {
	list := fieldmark.List[fieldmark.MissionPayment]{Data: []fieldmark.MissionPayment{}}
	before := ""
	if cursor != "" {
		place, err := base64.RawURLEncoding.DecodeString(cursor)
		if before = string(place); err != nil || !fieldmark.CheckID(fieldmark.PrefixPayment, before) {
			return list, fieldmark.Errorf(fieldmark.CodeInvalidCursor,
				"take the cursor from nextCursor of the page before")
		}
	}
	if limit <= 0 {
		limit = DefaultPaymentLimit
	}
	limit = min(limit, MaxPaymentLimit)
	rows, err := s.store.Payments(ctx, store.PaymentQuery{Status: status, Worlds: worlds, Before: before,
		Limit: limit + 1})
	if err != nil {
		return list, err
	}
	if len(rows) > limit {
		rows, list.HasMore = rows[:limit], true
		list.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(rows[limit-1].ID))
	}
	list.Data = append(list.Data, rows...)
	return list, nil
}
