package admin

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// setPayment sets the amount of a mission from a text such as 12.50 EUR.
func (h *missionHandler) setPayment(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, form := req.r.PathValue("id"), req.readForm("pay-")
	terms := form.text("terms", "Terms", maxTerms)
	if form.errors != nil {
		return h.showMission(req, http.StatusUnprocessableEntity, form.errors)
	}
	amount, err := fieldmark.ParseMoney(strings.TrimSpace(form.posted.Get("amount")))
	if err != nil {
		form.addError("amount", "Amount: "+fieldmark.AsError(err).Detail+".")
		return h.showMission(req, http.StatusUnprocessableEntity, form.errors)
	}
	p, err := h.missions.SetPayment(req.r.Context(), id, fieldmark.PaymentRequest{
		Amount: &amount, Direction: fieldmark.Direction(form.posted.Get("direction")), Terms: terms})
	if err != nil {
		return h.showMissionError(req, err)
	}
	h.audit(req, "payment.set", p.ID)
	return req.redirectWithNotice(missionsPath+"/"+id, "priced")
}

// paymentOf returns the payment of the mission in the path.
func (h *missionHandler) paymentOf(req *request) (fieldmark.MissionPayment, error) {
	if err := req.parseForm(); err != nil {
		return fieldmark.MissionPayment{}, err
	}
	story, err := h.missions.History(req.r.Context(), req.r.PathValue("id"))
	if err != nil {
		return fieldmark.MissionPayment{}, err
	}
	if story.Money == nil {
		return fieldmark.MissionPayment{}, fieldmark.Errorf(fieldmark.CodeNotFound, "The mission has no payment.")
	}
	return *story.Money, nil
}

// unknownFailure is the failure code if the form has none.
const unknownFailure = "unknown"

// markPayment sets the status of a payment.
func (h *missionHandler) markPayment(req *request) error {
	p, err := h.paymentOf(req)
	if err != nil {
		return err
	}
	form := req.readForm("fail-")
	move := fieldmark.PaymentMove{Status: form.posted.Get("status")}
	if move.Status == string(fieldmark.PaymentFailed) {
		move.Failure = &fieldmark.PaymentFailure{Code: cmp.Or(form.code("code", "Code", failureCode), unknownFailure),
			Message: form.text("message", "What happened", maxReasonText)}
	}
	if form.errors != nil {
		return h.showMission(req, http.StatusUnprocessableEntity, form.errors)
	}
	if _, err := h.missions.SetPaymentStatus(req.r.Context(), p.ID, move); err != nil {
		return h.showMissionError(req, err)
	}
	h.audit(req, "payment."+strings.ToLower(move.Status), p.ID)
	return req.redirectWithNotice(missionsPath+"/"+p.MissionID, "marked")
}

// refundPayment records a refund; without an amount, of everything that was not refunded yet.
func (h *missionHandler) refundPayment(req *request) error {
	p, err := h.paymentOf(req)
	if err != nil {
		return err
	}
	form := req.readForm("refund-")
	refund := fieldmark.RefundRequest{Reference: form.text("reference", "Reference", maxReference),
		Reason: form.text("reason", "Reason", maxReasonText)}
	if form.errors != nil {
		return h.showMission(req, http.StatusUnprocessableEntity, form.errors)
	}
	refund.Amount = p.Refundable()
	if text := strings.TrimSpace(form.posted.Get("amount")); text != "" && p.Amount != nil {
		amount, err := fieldmark.ParseMoney(text + " " + string(p.Amount.Currency))
		if err != nil || amount.Value == 0 {
			form.addError("amount", "Amount: enter an amount above zero, such as 12.50.")
			return h.showMission(req, http.StatusUnprocessableEntity, form.errors)
		}
		refund.Amount = amount.Value
	}
	version, err := strconv.Atoi(form.posted.Get("version"))
	if err != nil {
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter,
			"The form is incomplete. Reload the mission and try again.")
	}
	if _, err := h.missions.RefundPaymentAt(req.r.Context(), p.ID, version, refund); err != nil {
		return h.showMissionError(req, err)
	}
	h.audit(req, "payment.refund", p.ID)
	return req.redirectWithNotice(missionsPath+"/"+p.MissionID, "refunded")
}
