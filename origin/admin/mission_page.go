package admin

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// missionData is one mission with what may be done with it.
type missionData struct {
	origin.MissionStory
	Moves    []choice
	Holds    []string // reasons for a hold that are known
	Timeline []eventLine
	Most     int // of events on the page

	Form       paymentForm // as it was filled in
	CanPrice   bool        // an amount can still be set
	CanRefund  bool
	Marks      []choice // where an operator may take the payment
	Directions []choice
	Left       string // of the payment, not refunded
}

// eventLine is an event with what its data adds, in words.
type eventLine struct {
	fieldmark.Event
	Detail string
}

// paymentForm is a price as a person writes it.
type paymentForm struct {
	Amount, Direction, Terms string
}

func (a *area) mission(v *visit) error { return a.showMission(v, http.StatusOK, nil) }

func (a *area) showMission(v *visit, status int, complaints []string) error {
	story, err := a.origin.MissionStory(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	d := missionData{MissionStory: story, Most: origin.MaxStory, Holds: []string{fieldmark.HoldWaitingCustomer, fieldmark.HoldSiteAccess,
		fieldmark.HoldWeather, fieldmark.HoldWaitingParts, fieldmark.HoldNoTechnician}}
	for _, s := range story.Next {
		d.Moves = append(d.Moves, choice{Value: string(s), Label: lower(s)})
	}
	for _, e := range story.Events {
		d.Timeline = append(d.Timeline, eventLine{Event: e, Detail: detailOf(e)})
	}
	d.price(story)
	if form := v.r.PostForm; form.Has("amount") && form.Has("direction") {
		d.Form = paymentForm{Amount: form.Get("amount"), Direction: form.Get("direction"), Terms: form.Get("terms")}
	}
	for _, c := range []choice{{Value: string(fieldmark.DirectionCharge), Label: "charge: the requester pays"}, {Value: string(fieldmark.DirectionPayout), Label: "payout: whoever does the work is paid"}} {
		c.Chosen = c.Value == d.Form.Direction
		d.Directions = append(d.Directions, c)
	}
	if !v.may() {
		d.Moves, d.Marks, d.CanPrice, d.CanRefund = nil, nil, false, false
	}
	return a.show(v, status, "mission", page{Title: story.Title, Complaints: complaints, Data: d})
}

// price says what an operator may do about the money.
func (d *missionData) price(story origin.MissionStory) {
	p := story.Money
	d.CanPrice = story.Status != fieldmark.MissionCanceled && (p == nil || p.Status == fieldmark.PaymentNone || p.Status == fieldmark.PaymentPending)
	if p == nil {
		return
	}
	d.Form = paymentForm{Direction: string(p.Direction), Terms: p.Terms}
	for _, to := range []fieldmark.PaymentStatus{fieldmark.PaymentProcessing, fieldmark.PaymentPaid, fieldmark.PaymentFailed, fieldmark.PaymentCanceled} {
		if fieldmark.CheckPaymentMove(p.Status, to) == nil {
			d.Marks = append(d.Marks, choice{Value: string(to), Label: lower(to)})
		}
	}
	if p.Amount == nil {
		return
	}
	d.Form.Amount = p.Amount.String()
	left := fieldmark.Money{Value: p.Amount.Value - p.RefundedTotal, Currency: p.Amount.Currency}
	d.CanRefund = left.Value > 0 && fieldmark.CheckPaymentMove(p.Status, fieldmark.PaymentRefunded) == nil
	d.Left = left.String()
}

// Amount writes a refund in the currency of its payment.
func (d missionData) Amount(value int64) string {
	return fieldmark.Money{Value: value, Currency: d.Money.Amount.Currency}.String()
}

// detailOf picks from an event's data what a reader of a timeline wants to know
// beside its name. Data of a shape it does not know has no words here.
func detailOf(e fieldmark.Event) string {
	var data struct {
		StatusReason     *fieldmark.Reason         `json:"statusReason"`
		Metric           fieldmark.SLAMetric       `json:"metric"`
		ThresholdPercent int                       `json:"thresholdPercent"`
		Reason           string                    `json:"reason"`
		Cause            string                    `json:"cause"`
		Amount           *fieldmark.Money          `json:"amount"`
		Refund           *fieldmark.Refund         `json:"refund"`
		Failure          *fieldmark.PaymentFailure `json:"failure"`
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	var words []string
	add := func(text string) {
		if text != "" {
			words = append(words, text)
		}
	}
	add(string(data.Metric))
	if data.ThresholdPercent > 0 {
		add(strconv.Itoa(data.ThresholdPercent) + " % of its time is gone")
	}
	add(data.Reason)
	add(data.Cause)
	if r := data.StatusReason; r != nil {
		add(r.Code)
		add(r.Text)
	}
	switch {
	case data.Refund != nil && data.Amount != nil:
		add(fieldmark.Money{Value: data.Refund.Amount, Currency: data.Amount.Currency}.String())
		add(data.Refund.Reason)
	case data.Amount != nil:
		add(data.Amount.String())
	}
	if f := data.Failure; f != nil {
		add(f.Code)
		add(f.Message)
	}
	return strings.Join(words, " · ")
}

// reasonOther stands for a reason that was given in words alone.
const reasonOther = "OTHER"

// moveMission takes a mission where a button says.
func (a *area) moveMission(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	id, form := v.r.PathValue("id"), fields{posted: v.r.PostForm}
	to, err := fieldmark.ParseMissionStatus(form.posted.Get("to"))
	if err != nil {
		return err
	}
	var reason *fieldmark.Reason
	if code, text := form.code("code", "The reason", reasonCode), form.text("text", "What to add", maxReasonText); code != "" || text != "" {
		reason = &fieldmark.Reason{Code: cmp.Or(code, reasonOther), Text: text}
	}
	if form.bad != nil {
		return a.showMission(v, http.StatusUnprocessableEntity, form.bad)
	}
	if _, err := a.origin.MoveMission(v.r.Context(), id, to, reason); err != nil {
		return a.missionRefused(v, err)
	}
	a.did(v, "move mission to "+string(to), id)
	return v.done(missions+"/"+id, "moved")
}

// missionRefused shows the page again with what was wrong: what was asked for is
// not allowed, or not any more.
func (a *area) missionRefused(v *visit, err error) error {
	e := fieldmark.AsError(err)
	if !slices.Contains([]fieldmark.Code{fieldmark.CodeValidationFailed, fieldmark.CodeInvalidTransition, fieldmark.CodeInvalidParameter}, e.Code) {
		return err
	}
	return a.showMission(v, e.Code.Status(), complaintsOf(e))
}
