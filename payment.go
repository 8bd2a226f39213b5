package fieldmark

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// PaymentStatus is the status of a payment.
type PaymentStatus string

// The statuses of a payment. Package origin/mission defines the transitions.
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

// PaymentStatuses returns every status in the usual order.
func PaymentStatuses() []PaymentStatus {
	return []PaymentStatus{PaymentNone, PaymentPending, PaymentDue, PaymentProcessing, PaymentPaid, PaymentFailed,
		PaymentOverdue, PaymentPartiallyRefunded, PaymentRefunded, PaymentCanceled}
}

// ParsePaymentStatus parses a status, ignoring case.
func ParsePaymentStatus(s string) (PaymentStatus, error) {
	st := PaymentStatus(strings.ToUpper(s))
	if !slices.Contains(PaymentStatuses(), st) {
		return "", Errorf(CodeInvalidParameter, "unknown payment status")
	}
	return st, nil
}

// Direction is the direction of a payment.
type Direction string

// CHARGE: the requester pays. PAYOUT: the technician is paid.
const (
	DirectionCharge Direction = "CHARGE"
	DirectionPayout Direction = "PAYOUT"
)

// ParseDirection parses a direction, ignoring case. An empty string is CHARGE.
func ParseDirection(s string) (Direction, bool) {
	d := Direction(strings.ToUpper(s))
	if d == "" {
		d = DirectionCharge
	}
	return d, d == DirectionCharge || d == DirectionPayout
}

// PaymentRequest is the payment of a new mission. It contains no card or bank data.
type PaymentRequest struct {
	Amount    *Money    `json:"amount,omitempty"`
	Direction Direction `json:"direction,omitempty" maxLength:"16" doc:"CHARGE (default): the requester pays; PAYOUT: the technician is paid"`
	Terms     string    `json:"terms,omitempty" maxLength:"64" doc:"Due time after the work is accepted: NET 14 is 14 days; DUE ON RECEIPT and NET 0 are immediate; default 30 days"`
}

// PaymentFailure explains a failed payment. It contains no card or bank data.
type PaymentFailure struct {
	Code          string `json:"code" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]+$" patternDescription:"letters, digits, underscores, points and hyphens"`
	Message       string `json:"message,omitempty" maxLength:"500"`
	WillRetry     bool   `json:"willRetry"`
	NextAttemptAt *Time  `json:"nextAttemptAt,omitempty" format:"date-time"`
}

// Payment is the payment of a mission.
type Payment struct {
	ID            string          `json:"id"` // pay_…
	Direction     Direction       `json:"direction"`
	Amount        *Money          `json:"amount"` // null in status NONE
	Terms         string          `json:"terms,omitempty"`
	Status        PaymentStatus   `json:"status"`
	DueAt         *Time           `json:"dueAt"`
	PaidAt        *Time           `json:"paidAt"`
	Failure       *PaymentFailure `json:"failure"` // of the last attempt, if it failed
	RefundedTotal int64           `json:"refundedTotal"`
	Version       int             `json:"version"` // from 1
}

// MissionPayment is a payment with its mission, as operators see it.
type MissionPayment struct {
	Payment
	MissionID  string   `json:"missionId"`
	ExternalID string   `json:"externalId"`
	Source     string   `json:"source"`
	Refunds    []Refund `json:"refunds"`
	CreatedAt  Time     `json:"createdAt"`
	UpdatedAt  Time     `json:"updatedAt"`
}

// Refund is a refunded amount in the currency of its payment.
type Refund struct {
	ID        string `json:"id"` // rfd_…
	Amount    int64  `json:"amount"`
	Reference string `json:"reference,omitempty"`
	Reason    string `json:"reason,omitempty"`
	CreatedAt Time   `json:"createdAt"`
}

// MaxRefunds limits the partial refunds of one payment.
const MaxRefunds = 100

// RefundRequest records a refund.
type RefundRequest struct {
	Amount    int64  `json:"amount" minimum:"1" doc:"In the minor unit of the currency, at most the refundable amount"`
	Reference string `json:"reference,omitempty" maxLength:"128" doc:"The id of the refund at the caller; a repeated reference changes nothing"`
	Reason    string `json:"reason,omitempty" maxLength:"500"`
}

// PaymentMove records a new status of a payment.
type PaymentMove struct {
	Status  string          `json:"status" minLength:"1" maxLength:"32" doc:"PROCESSING, PAID, FAILED or CANCELED"`
	PaidAt  *Time           `json:"paidAt,omitempty" format:"date-time" doc:"Time of payment, with PAID; default now"`
	Failure *PaymentFailure `json:"failure,omitempty" doc:"Reason, with FAILED"`
}

// Refundable returns the amount that can still be refunded, in the minor unit.
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

// Money is an amount in the minor unit of its currency: cents of EUR, whole JPY,
// thousandths of KWD.
type Money struct {
	Value    int64    `json:"value" minimum:"0" doc:"In the minor unit of the currency: 1250 is 12.50 EUR, 1250 JPY, 1.250 KWD"`
	Currency Currency `json:"currency" minLength:"3" maxLength:"3" pattern:"^[A-Z]{3}$" patternDescription:"an ISO 4217 code in upper case"`
}

// MaxMoney limits an amount: above it, JSON numbers are not exact in many clients.
const MaxMoney = 1 << 53

// Currency is an ISO 4217 alphabetic code in upper case.
type Currency string

// currencies maps the exponent to the currencies whose smallest unit is 10 to
// minus that power. Source: ISO 4217:2015, list one (current currency and funds
// codes), column "minor unit", as SIX publishes it for ISO. Codes without a minor
// unit there (metals, test codes, units of account) cannot be used for payments.
var currencies = map[int]string{
	0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
	2: "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF " +
		"CHW CNY " +
		"COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF " +
		"IDR ILS INR " +
		"IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV " +
		"MYR MZN NAD " +
		"NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP " +
		"STN SVC SYP " +
		"SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG",
	3: "BHD IQD JOD KWD LYD OMR TND",
	4: "CLF UYW",
}

// Exponent returns how many decimals the currency has; false if there is no such
// currency.
func (c Currency) Exponent() (int, bool) {
	if len(c) != 3 {
		return 0, false
	}
	for exponent, codes := range currencies {
		for code := range strings.FieldsSeq(codes) {
			if code == string(c) {
				return exponent, true
			}
		}
	}
	return 0, false
}

// Check returns every error of the amount at the given JSON Pointer.
func (m Money) Check(pointer string) []FieldError {
	var bad []FieldError
	if _, ok := m.Currency.Exponent(); !ok {
		bad = append(bad, FieldError{Pointer: pointer + "/currency", Code: "enum",
			Detail: "must be an ISO 4217 code, in upper case"})
	}
	if m.Value < 0 || m.Value > MaxMoney {
		bad = append(bad, FieldError{Pointer: pointer + "/value", Code: "range",
			Detail: "must be from 0 to 9007199254740992"})
	}
	return bad
}

// String returns the amount in the form 12.50 EUR.
func (m Money) String() string {
	exponent, _ := m.Currency.Exponent()
	unit := int64(math.Pow10(exponent))
	if exponent == 0 {
		return fmt.Sprintf("%d %s", m.Value, m.Currency)
	}
	sign, whole, rest := "", m.Value/unit, m.Value%unit
	if m.Value < 0 {
		sign, whole, rest = "-", -whole, -rest
	}
	return fmt.Sprintf("%s%d.%0*d %s", sign, whole, exponent, rest, m.Currency)
}

// ParseMoney parses an amount in the form of String, with or without decimals. More
// decimals than the currency has are an error.
func ParseMoney(s string) (Money, error) {
	amount, code, _ := strings.Cut(s, " ")
	m := Money{Currency: Currency(code)}
	exponent, ok := m.Currency.Exponent()
	if !ok {
		return Money{}, Errorf(CodeInvalidParameter,
			"an amount is written as in 12.50 EUR, with an ISO 4217 code in upper case")
	}
	whole, decimals, dot := strings.Cut(amount, ".")
	digits := whole + decimals + strings.Repeat("0", max(0, exponent-len(decimals)))
	value, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || whole == "" || dot && decimals == "" || len(decimals) > exponent ||
		strings.Trim(whole+decimals, "0123456789") != "" || value > MaxMoney {
		return Money{}, Errorf(CodeInvalidParameter,
			"an amount of %s is written in digits, with at most %d after a point", m.Currency, exponent)
	}
	m.Value = value
	return m, nil
}
