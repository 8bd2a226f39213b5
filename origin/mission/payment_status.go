package mission

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// paymentTransitions is the state machine of a payment. A payment that is being processed
// cannot be canceled: the money may have left already. REFUNDED and CANCELED are final.
var paymentTransitions = func() map[fieldmark.PaymentStatus][]fieldmark.PaymentStatus {
	const (
		none       = fieldmark.PaymentNone
		pending    = fieldmark.PaymentPending
		due        = fieldmark.PaymentDue
		processing = fieldmark.PaymentProcessing
		paid       = fieldmark.PaymentPaid
		failed     = fieldmark.PaymentFailed
		overdue    = fieldmark.PaymentOverdue
		partial    = fieldmark.PaymentPartiallyRefunded
		refunded   = fieldmark.PaymentRefunded
		canceled   = fieldmark.PaymentCanceled
	)
	return map[fieldmark.PaymentStatus][]fieldmark.PaymentStatus{
		none:       {pending},
		pending:    {due, canceled},
		due:        {processing, paid, overdue, canceled},
		processing: {paid, failed},
		paid:       {partial, refunded},
		failed:     {processing, overdue, canceled},
		overdue:    {processing, paid},
		partial:    {partial, refunded},
		refunded:   {},
		canceled:   {},
	}
}()

// ValidatePaymentTransition returns CodeInvalidTransition, with the allowed statuses,
// if a payment cannot change from one status to the other.
func ValidatePaymentTransition(from, to fieldmark.PaymentStatus) error {
	next := paymentTransitions[from]
	if slices.Contains(next, to) {
		return nil
	}
	e := fieldmark.Errorf(fieldmark.CodeInvalidTransition, "a payment that is %s cannot become %s", from, to)
	e.Allowed = make([]string, len(next))
	for i, s := range next {
		e.Allowed[i] = string(s)
	}
	return e
}

// PaymentEvent returns the event type of reaching a status. It reports false for
// NONE and PENDING, which emit no event.
func PaymentEvent(to fieldmark.PaymentStatus) (fieldmark.EventType, bool) {
	switch to {
	case fieldmark.PaymentDue:
		return fieldmark.EventPaymentDue, true
	case fieldmark.PaymentProcessing:
		return fieldmark.EventPaymentProcessing, true
	case fieldmark.PaymentPaid:
		return fieldmark.EventPaymentPaid, true
	case fieldmark.PaymentFailed:
		return fieldmark.EventPaymentFailed, true
	case fieldmark.PaymentOverdue:
		return fieldmark.EventPaymentOverdue, true
	case fieldmark.PaymentPartiallyRefunded, fieldmark.PaymentRefunded:
		return fieldmark.EventPaymentRefunded, true
	case fieldmark.PaymentCanceled:
		return fieldmark.EventPaymentCanceled, true
	}
	return "", false
}

// Payment terms, in days after acceptance.
const (
	defaultPaymentDays = 30 // EU directive 2011/7, article 3, if nothing was agreed
	// longer terms are refused as a likely typing error
	maxPaymentDays = 366
)

// netTerms matches days after acceptance, with or without an early payment discount:
// NET 14, net-14, NET14 DAYS, 2/10 NET 30.
var netTerms = regexp.MustCompile(`^(?:\d{1,2}/\d{1,3}[ _-]?)?NET[ _-]?(\d{1,3})(?:[ _-]?DAYS?)?$`)

// receiptTerms matches terms without a delay: DUE ON RECEIPT, UPON RECEIPT, IMMEDIATE.
var receiptTerms = regexp.MustCompile(`^(?:(?:DUE[ _-])?(?:UP)?ON[ _-]RECEIPT|IMMEDIATE)$`)

// ParsePaymentTerms returns how long after acceptance a payment is due. It reports
// false for unknown terms. Empty terms are 30 days.
func ParsePaymentTerms(terms string) (time.Duration, bool) {
	const day = 24 * time.Hour
	word := strings.ToUpper(strings.TrimSpace(terms))
	if word == "" {
		return defaultPaymentDays * day, true
	}
	if receiptTerms.MatchString(word) {
		return 0, true
	}
	if found := netTerms.FindStringSubmatch(word); found != nil {
		if days, err := strconv.Atoi(found[1]); err == nil && days <= maxPaymentDays {
			return time.Duration(days) * day, true
		}
	}
	return 0, false
}

// PaymentTerm is ParsePaymentTerms for stored terms: terms that were stored before
// they were validated count as 30 days.
func PaymentTerm(terms string) time.Duration {
	if term, ok := ParsePaymentTerms(terms); ok {
		return term
	}
	return defaultPaymentDays * 24 * time.Hour
}

// TransitionPayment changes the status of a payment and what depends on it: the due time when
// it becomes due, the time it was paid, and the failure. It increases the version. It changes p
// only if it returns nil.
func TransitionPayment(p *fieldmark.Payment, to fieldmark.PaymentStatus, now fieldmark.Time) error {
	if err := ValidatePaymentTransition(p.Status, to); err != nil {
		return err
	}
	p.Status = to
	p.Version++
	if to != fieldmark.PaymentFailed && to != fieldmark.PaymentOverdue {
		p.Failure = nil
	}
	switch to {
	case fieldmark.PaymentDue:
		due := fieldmark.At(now.Std().Add(PaymentTerm(p.Terms)))
		p.DueAt = &due
	case fieldmark.PaymentPaid:
		p.PaidAt = &now
	}
	return nil
}

// PaymentStatusFor returns the payment status that follows from a new status of the mission,
// and reports whether the payment must change. A payment becomes due when its mission reaches
// dueOn, which is COMPLETED or CLOSED. CLOSED always makes a payment due, also where dueOn is
// COMPLETED: a mission may be closed without being completed.
func PaymentStatusFor(p *fieldmark.Payment, to, dueOn fieldmark.MissionStatus) (fieldmark.PaymentStatus, bool) {
	next := p.Status
	switch to {
	case fieldmark.MissionCanceled:
		next = fieldmark.PaymentCanceled
	case dueOn, fieldmark.MissionClosed:
		next = fieldmark.PaymentDue
	}
	return next, next != p.Status && ValidatePaymentTransition(p.Status, next) == nil
}

// RefundPayment refunds an amount, at most the refundable rest, and returns it. A refund of
// everything makes the payment REFUNDED, any other PARTIALLY_REFUNDED.
func RefundPayment(p *fieldmark.Payment, amount int64) (int64, error) {
	if err := ValidatePaymentTransition(p.Status, fieldmark.PaymentRefunded); err != nil {
		return 0, err
	}
	left := p.Refundable()
	if amount <= 0 || amount > left {
		return 0, validation.Error("/amount", "range", "must be more than 0 and at most what is left of the payment")
	}
	p.RefundedTotal += amount
	p.Status = fieldmark.PaymentPartiallyRefunded
	if p.RefundedTotal == p.Amount.Value {
		p.Status = fieldmark.PaymentRefunded
	}
	p.Version++
	return amount, nil
}
