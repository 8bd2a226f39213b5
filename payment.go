package fieldmark

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PaymentStatus is where a payment stands.
type PaymentStatus string

// The states of a payment; paymentMoves says which may follow which.
const (
	PaymentNone              PaymentStatus = "NONE"    // no amount yet
	PaymentPending           PaymentStatus = "PENDING" // amount known, work not accepted
	PaymentDue               PaymentStatus = "DUE"
	PaymentProcessing        PaymentStatus = "PROCESSING"
	PaymentPaid              PaymentStatus = "PAID"
	PaymentFailed            PaymentStatus = "FAILED"
	PaymentOverdue           PaymentStatus = "OVERDUE"
	PaymentPartiallyRefunded PaymentStatus = "PARTIALLY_REFUNDED"
	PaymentRefunded          PaymentStatus = "REFUNDED"
	PaymentCanceled          PaymentStatus = "CANCELED"
)

// paymentMoves is the whole life of a payment.
var paymentMoves = map[PaymentStatus][]PaymentStatus{
	PaymentNone:              {PaymentPending},
	PaymentPending:           {PaymentDue, PaymentCanceled},
	PaymentDue:               {PaymentProcessing, PaymentPaid, PaymentOverdue, PaymentCanceled},
	PaymentProcessing:        {PaymentPaid, PaymentFailed},
	PaymentPaid:              {PaymentPartiallyRefunded, PaymentRefunded},
	PaymentFailed:            {PaymentProcessing, PaymentOverdue, PaymentCanceled},
	PaymentOverdue:           {PaymentProcessing, PaymentPaid},
	PaymentPartiallyRefunded: {PaymentPartiallyRefunded, PaymentRefunded},
	PaymentRefunded:          {},
	PaymentCanceled:          {},
}

// PaymentStatuses lists the states in the order a payment meets them.
func PaymentStatuses() []PaymentStatus {
	return []PaymentStatus{PaymentNone, PaymentPending, PaymentDue, PaymentProcessing, PaymentPaid, PaymentFailed,
		PaymentOverdue, PaymentPartiallyRefunded, PaymentRefunded, PaymentCanceled}
}

// ParsePaymentStatus accepts a status in any case.
func ParsePaymentStatus(s string) (PaymentStatus, error) {
	st := PaymentStatus(strings.ToUpper(s))
	if _, ok := paymentMoves[st]; !ok {
		return "", Errorf(CodeInvalidParameter, "unknown payment status")
	}
	return st, nil
}

// CheckPaymentMove says whether a payment may go from one status to another. The
// error is CodeInvalidTransition and lists what is allowed.
func CheckPaymentMove(from, to PaymentStatus) error {
	next := paymentMoves[from]
	if slices.Contains(next, to) {
		return nil
	}
	e := Errorf(CodeInvalidTransition, "a payment that is %s cannot become %s", from, to)
	e.Allowed = make([]string, len(next))
	for i, s := range next {
		e.Allowed[i] = string(s)
	}
	return e
}

// PaymentEvent names the event of reaching a status; knowing an amount is none.
func PaymentEvent(to PaymentStatus) (EventType, bool) {
	switch to {
	case PaymentDue:
		return EventPaymentDue, true
	case PaymentProcessing:
		return EventPaymentProcessing, true
	case PaymentPaid:
		return EventPaymentPaid, true
	case PaymentFailed:
		return EventPaymentFailed, true
	case PaymentOverdue:
		return EventPaymentOverdue, true
	case PaymentPartiallyRefunded, PaymentRefunded:
		return EventPaymentRefunded, true
	case PaymentCanceled:
		return EventPaymentCanceled, true
	}
	return "", false
}

// Direction says who pays.
type Direction string

// The requester is charged for the work, or whoever does it is paid for it.
const (
	DirectionCharge Direction = "CHARGE"
	DirectionPayout Direction = "PAYOUT"
)

// ParseDirection accepts a direction in any case; an empty text is CHARGE.
func ParseDirection(s string) (Direction, bool) {
	d := Direction(strings.ToUpper(s))
	if d == "" {
		d = DirectionCharge
	}
	return d, d == DirectionCharge || d == DirectionPayout
}

// PaymentRequest is what is known of the money when a mission is opened. Card
// and bank data have no place in it.
type PaymentRequest struct {
	Amount    *Money    `json:"amount,omitempty"`
	Direction Direction `json:"direction,omitempty" maxLength:"16" doc:"CHARGE (default): the requester pays; PAYOUT: whoever does the work is paid"`
	Terms     string    `json:"terms,omitempty" maxLength:"64" doc:"When it is due after the work is accepted: NET 14 is 14 days after; DUE ON RECEIPT and NET 0 are at once; 30 days if left out"`
}

// Check returns every complaint about what is asked for at a pointer and puts it
// into its normal form.
func (r *PaymentRequest) Check(pointer string) []FieldError {
	var bad []FieldError
	if r.Amount != nil {
		bad = r.Amount.check(pointer + "/amount")
	}
	if d, ok := ParseDirection(string(r.Direction)); ok {
		r.Direction = d
	} else {
		bad = append(bad, FieldError{Pointer: pointer + "/direction", Code: "enum", Detail: "must be CHARGE or PAYOUT"})
	}
	if _, ok := ParsePaymentTerms(r.Terms); !ok {
		bad = append(bad, FieldError{Pointer: pointer + "/terms", Code: "pattern", Detail: "must be NET and a number of days from 0 to 366, such as NET 14, or DUE ON RECEIPT"})
	}
	return bad
}

// Bounds of terms.
const (
	DefaultPaymentDays = 30 // what EU directive 2011/7, article 3, gives if nothing was agreed
	MaxPaymentDays     = 366
)

// netTerms are days after acceptance, with or without a discount for paying
// early: NET 14, net-14, NET14 DAYS, 2/10 NET 30.
var netTerms = regexp.MustCompile(`^(?:\d{1,2}/\d{1,3}[ _-]?)?NET[ _-]?(\d{1,3})(?:[ _-]?DAYS?)?$`)

var receiptTerms = regexp.MustCompile(`^(?:(?:DUE[ _-])?(?:UP)?ON[ _-]RECEIPT|IMMEDIATE)$`)

// ParsePaymentTerms returns how long after acceptance a payment is due, and false
// for terms that it does not understand. Empty terms are DefaultPaymentDays.
func ParsePaymentTerms(terms string) (time.Duration, bool) {
	const day = 24 * time.Hour
	word := strings.ToUpper(strings.TrimSpace(terms))
	if word == "" {
		return DefaultPaymentDays * day, true
	}
	if receiptTerms.MatchString(word) {
		return 0, true
	}
	if found := netTerms.FindStringSubmatch(word); found != nil {
		if days, err := strconv.Atoi(found[1]); err == nil && days <= MaxPaymentDays {
			return time.Duration(days) * day, true
		}
	}
	return 0, false
}

// PaymentTerm returns how long after acceptance a payment with these terms is due.
// Terms that were stored before they were validated are DefaultPaymentDays.
func PaymentTerm(terms string) time.Duration {
	if term, ok := ParsePaymentTerms(terms); ok {
		return term
	}
	return DefaultPaymentDays * 24 * time.Hour
}

// PaymentFailure says why money did not move. It holds no card or bank data.
type PaymentFailure struct {
	Code          string `json:"code" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]+$" patternDescription:"letters, digits, underscores, points and hyphens"`
	Message       string `json:"message,omitempty" maxLength:"500"`
	WillRetry     bool   `json:"willRetry"`
	NextAttemptAt *Time  `json:"nextAttemptAt,omitempty" format:"date-time"`
}

// Payment is the money of a mission, as the mission shows it.
type Payment struct {
	ID            string          `json:"id"` // pay_…
	Direction     Direction       `json:"direction"`
	Amount        *Money          `json:"amount"` // null while the status is NONE
	Terms         string          `json:"terms,omitempty"`
	Status        PaymentStatus   `json:"status"`
	DueAt         *Time           `json:"dueAt"`
	PaidAt        *Time           `json:"paidAt"`
	Failure       *PaymentFailure `json:"failure"` // of the newest attempt, if it failed
	RefundedTotal int64           `json:"refundedTotal"`
	Version       int             `json:"version"` // 1 and up
}

// MissionPayment is a payment as operators see it.
type MissionPayment struct {
	Payment
	MissionID  string   `json:"missionId"`
	ExternalID string   `json:"externalId"`
	Source     string   `json:"source"`
	Refunds    []Refund `json:"refunds"`
	CreatedAt  Time     `json:"createdAt"`
	UpdatedAt  Time     `json:"updatedAt"`
}

// Refund is money that went back, in the currency of its payment.
type Refund struct {
	ID        string `json:"id"` // rfd_…
	Amount    int64  `json:"amount"`
	Reference string `json:"reference,omitempty"`
	Reason    string `json:"reason,omitempty"`
	CreatedAt Time   `json:"createdAt"`
}

// MaxRefunds bounds how many times one payment is refunded in part.
const MaxRefunds = 100

// RefundRequest asks for a refund to be noted.
type RefundRequest struct {
	Amount    int64  `json:"amount" minimum:"1" doc:"In the smallest unit of the payment's currency, at most what is left of it"`
	Reference string `json:"reference,omitempty" maxLength:"128" doc:"The caller's own id of the refund: the same again changes nothing"`
	Reason    string `json:"reason,omitempty" maxLength:"500"`
}

// PaymentMove asks for a payment to be marked.
type PaymentMove struct {
	Status  string          `json:"status" minLength:"1" maxLength:"32" doc:"PROCESSING, PAID, FAILED or CANCELED"`
	PaidAt  *Time           `json:"paidAt,omitempty" format:"date-time" doc:"When it was paid, with PAID; now if unset"`
	Failure *PaymentFailure `json:"failure,omitempty" doc:"Why, with FAILED"`
}

// Move takes a payment to a status if it may go there, and marks what follows
// from that. It knows the time it is due, when it becomes due.
func (p *Payment) Move(to PaymentStatus, now Time) error {
	if err := CheckPaymentMove(p.Status, to); err != nil {
		return err
	}
	p.Status = to
	p.Version++
	if to != PaymentFailed && to != PaymentOverdue {
		p.Failure = nil
	}
	switch to {
	case PaymentDue:
		due := At(now.Std().Add(PaymentTerm(p.Terms)))
		p.DueAt = &due
	case PaymentPaid:
		p.PaidAt = &now
	}
	return nil
}

// FollowMission returns where a payment goes because its mission went to a
// status; dueOn is COMPLETED or CLOSED, whichever makes a payment due.
func (p *Payment) FollowMission(to, dueOn MissionStatus) (PaymentStatus, bool) {
	next := p.Status
	switch to {
	case MissionCanceled:
		next = PaymentCanceled
	case dueOn, MissionClosed:
		next = PaymentDue
	}
	return next, next != p.Status && CheckPaymentMove(p.Status, next) == nil
}

// Refund takes an amount off, which is at most what is left.
func (p *Payment) Refund(amount int64) (int64, error) {
	if err := CheckPaymentMove(p.Status, PaymentRefunded); err != nil {
		return 0, err
	}
	left := p.Refundable()
	if amount <= 0 || amount > left {
		return 0, &Error{Code: CodeValidationFailed, Fields: []FieldError{
			{Pointer: "/amount", Code: "range", Detail: "must be more than 0 and at most what is left of the payment"}}}
	}
	p.RefundedTotal += amount
	p.Status = PaymentPartiallyRefunded
	if p.RefundedTotal == p.Amount.Value {
		p.Status = PaymentRefunded
	}
	p.Version++
	return amount, nil
}

// Refundable returns what is left to be refunded, in the smallest unit.
func (p *Payment) Refundable() int64 {
	if p.Amount == nil {
		return 0
	}
	return p.Amount.Value - p.RefundedTotal
}

// PaymentChange is the data of every payment event.
type PaymentChange struct {
	PaymentID      string          `json:"paymentId"`
	MissionID      string          `json:"missionId"`
	ExternalID     string          `json:"externalId"`
	Source         string          `json:"source"`
	Direction      Direction       `json:"direction"`
	Status         PaymentStatus   `json:"status"`
	PreviousStatus PaymentStatus   `json:"previousStatus"`
	Amount         *Money          `json:"amount"`
	DueAt          *Time           `json:"dueAt"`
	PaidAt         *Time           `json:"paidAt"`
	Version        int             `json:"version"`
	Failure        *PaymentFailure `json:"failure,omitempty"`       // with payment.failed
	Refund         *Refund         `json:"refund,omitempty"`        // with payment.refunded
	RefundedTotal  int64           `json:"refundedTotal,omitempty"` // with payment.refunded
}
