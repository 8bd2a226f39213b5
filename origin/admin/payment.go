package admin

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// setPayment says what a mission costs. The amount is written as people do.
func (a *area) setPayment(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	id, form := v.r.PathValue("id"), fields{posted: v.r.PostForm}
	terms := form.text("terms", "Terms", maxTerms)
	if form.bad != nil {
		return a.showMission(v, http.StatusUnprocessableEntity, form.bad)
	}
	amount, err := fieldmark.ParseMoney(strings.TrimSpace(form.posted.Get("amount")))
	if err != nil {
		return a.missionRefused(v, err)
	}
	p, err := a.origin.SetPayment(v.r.Context(), id, fieldmark.PaymentRequest{
		Amount: &amount, Direction: fieldmark.Direction(form.posted.Get("direction")), Terms: terms})
	if err != nil {
		return a.missionRefused(v, err)
	}
	a.did(v, "set payment", p.ID)
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
	form := fields{posted: v.r.PostForm}
	move := fieldmark.PaymentMove{Status: form.posted.Get("status")}
	if move.Status == string(fieldmark.PaymentFailed) {
		move.Failure = &fieldmark.PaymentFailure{Code: cmp.Or(form.code("code", "The code", failureCode), failureUnknown),
			Message: form.text("message", "What happened", maxReasonText)}
	}
	if form.bad != nil {
		return a.showMission(v, http.StatusUnprocessableEntity, form.bad)
	}
	if _, err := a.origin.MarkPayment(v.r.Context(), p.ID, move); err != nil {
		return a.missionRefused(v, err)
	}
	a.did(v, "mark payment "+move.Status, p.ID)
	return v.done(missions+"/"+p.MissionID, "marked")
}

// refundPayment notes money that went back; without an amount, all that is left.
func (a *area) refundPayment(v *visit) error {
	p, err := a.paymentOf(v)
	if err != nil {
		return err
	}
	form := fields{posted: v.r.PostForm}
	refund := fieldmark.RefundRequest{Reference: form.text("reference", "The reference", maxReference), Reason: form.text("reason", "The reason", maxReasonText)}
	if form.bad != nil {
		return a.showMission(v, http.StatusUnprocessableEntity, form.bad)
	}
	if text := strings.TrimSpace(form.posted.Get("amount")); text != "" && p.Amount != nil {
		amount, err := fieldmark.ParseMoney(text + " " + string(p.Amount.Currency))
		if err != nil {
			return a.missionRefused(v, err)
		}
		if amount.Value == 0 { // to the service it would be all that is left
			return a.missionRefused(v, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "a refund is more than nothing"))
		}
		refund.Amount = amount.Value
	}
	if _, err := a.origin.RefundPayment(v.r.Context(), p.ID, refund); err != nil {
		return a.missionRefused(v, err)
	}
	a.did(v, "refund payment", p.ID)
	return v.done(missions+"/"+p.MissionID, "refunded")
}
