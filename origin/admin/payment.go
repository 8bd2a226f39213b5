package admin

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// setPayment sets the price of a mission, written as people do: 12.50 EUR.
func (a *area) setPayment(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	id, form := v.r.PathValue("id"), v.fields("pay-")
	terms := form.text("terms", "Terms", maxTerms)
	if form.bad != nil {
		return a.showMission(v, http.StatusUnprocessableEntity, form.bad)
	}
	amount, err := fieldmark.ParseMoney(strings.TrimSpace(form.posted.Get("amount")))
	if err != nil {
		form.complain("amount", "Amount: "+fieldmark.AsError(err).Detail+".")
		return a.showMission(v, http.StatusUnprocessableEntity, form.bad)
	}
	p, err := a.origin.SetPayment(v.r.Context(), id, fieldmark.PaymentRequest{
		Amount: &amount, Direction: fieldmark.Direction(form.posted.Get("direction")), Terms: terms})
	if err != nil {
		return a.missionRefused(v, err)
	}
	a.did(v, "payment.set", p.ID)
	return v.done(missions+"/"+id, "priced")
}

// paymentOf finds the payment of the mission that a form is about.
func (a *area) paymentOf(v *visit) (fieldmark.MissionPayment, error) {
	if err := v.parseForm(); err != nil {
		return fieldmark.MissionPayment{}, err
	}
	story, err := a.origin.MissionStory(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return fieldmark.MissionPayment{}, err
	}
	if story.Money == nil {
		return fieldmark.MissionPayment{}, fieldmark.Errorf(fieldmark.CodeNotFound, "The mission has no payment.")
	}
	return *story.Money, nil
}

// failureUnknown stands for why money did not move where nobody says.
const failureUnknown = "unknown"

// markPayment takes a payment where a button says.
func (a *area) markPayment(v *visit) error {
	p, err := a.paymentOf(v)
	if err != nil {
		return err
	}
	form := v.fields("fail-")
	move := fieldmark.PaymentMove{Status: form.posted.Get("status")}
	if move.Status == string(fieldmark.PaymentFailed) {
		move.Failure = &fieldmark.PaymentFailure{Code: cmp.Or(form.code("code", "Code", failureCode), failureUnknown),
			Message: form.text("message", "What happened", maxReasonText)}
	}
	if form.bad != nil {
		return a.showMission(v, http.StatusUnprocessableEntity, form.bad)
	}
	if _, err := a.origin.MarkPayment(v.r.Context(), p.ID, move); err != nil {
		return a.missionRefused(v, err)
	}
	a.did(v, "payment."+strings.ToLower(move.Status), p.ID)
	return v.done(missions+"/"+p.MissionID, "marked")
}

// refundPayment notes money that went back; without an amount, all that is left.
func (a *area) refundPayment(v *visit) error {
	p, err := a.paymentOf(v)
	if err != nil {
		return err
	}
	form := v.fields("refund-")
	refund := fieldmark.RefundRequest{Reference: form.text("reference", "Reference", maxReference), Reason: form.text("reason", "Reason", maxReasonText)}
	if form.bad != nil {
		return a.showMission(v, http.StatusUnprocessableEntity, form.bad)
	}
	refund.Amount = p.Refundable()
	if text := strings.TrimSpace(form.posted.Get("amount")); text != "" && p.Amount != nil {
		amount, err := fieldmark.ParseMoney(text + " " + string(p.Amount.Currency))
		if err != nil || amount.Value == 0 {
			form.complain("amount", "Amount: enter an amount above zero, such as 12.50.")
			return a.showMission(v, http.StatusUnprocessableEntity, form.bad)
		}
		refund.Amount = amount.Value
	}
	version, err := strconv.Atoi(form.posted.Get("version"))
	if err != nil {
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Open the mission again.")
	}
	if _, err := a.origin.RefundPaymentAt(v.r.Context(), p.ID, version, refund); err != nil {
		return a.missionRefused(v, err)
	}
	a.did(v, "payment.refund", p.ID)
	return v.done(missions+"/"+p.MissionID, "refunded")
}
