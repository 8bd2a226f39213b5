package fieldmark

import (
	"slices"
	"strings"
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

// PaymentStatuses lists the states in the order a payment meets them.
func PaymentStatuses() []PaymentStatus {
	return []PaymentStatus{PaymentNone, PaymentPending, PaymentDue, PaymentProcessing, PaymentPaid, PaymentFailed,
		PaymentOverdue, PaymentPartiallyRefunded, PaymentRefunded, PaymentCanceled}
}

// ParsePaymentStatus accepts a status in any case.
func ParsePaymentStatus(s string) (PaymentStatus, error) {
	st := PaymentStatus(strings.ToUpper(s))
	if !slices.Contains(PaymentStatuses(), st) {
		return "", Errorf(CodeInvalidParameter, "unknown payment status")
	}
	return st, nil
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
	Direction Direction `json:"direction,omitempty" maxLength:"16" doc:"CHARGE (default): the requester pays; PAYOUT: the technician is paid"`
	Terms     string    `json:"terms,omitempty" maxLength:"64" doc:"When the payment is due after the work is accepted: NET 14 is 14 days later, DUE ON RECEIPT and NET 0 are at once; the default is 30 days"`
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
	Amount    int64  `json:"amount" minimum:"1" doc:"In the smallest unit of the payment's currency, at most the amount that was not refunded yet"`
	Reference string `json:"reference,omitempty" maxLength:"128" doc:"The caller's id of the refund; repeating it has no further effect"`
	Reason    string `json:"reason,omitempty" maxLength:"500"`
}

// PaymentMove asks for a payment to be marked.
type PaymentMove struct {
	Status  string          `json:"status" minLength:"1" maxLength:"32" doc:"PROCESSING, PAID, FAILED or CANCELED"`
	PaidAt  *Time           `json:"paidAt,omitempty" format:"date-time" doc:"With PAID: when it was paid; the default is now"`
	Failure *PaymentFailure `json:"failure,omitempty" doc:"With FAILED: the reason"`
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
