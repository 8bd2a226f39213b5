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
	"github.com/fieldmark/fieldmark/origin/mission"
)

// missionData is one mission and the actions available on it.
type missionData struct {
	origin.MissionStory
	Moves    []choice
	Holds    []string // reasons for a hold that are known
	Timeline []eventLine
	Most     int // of events on the page

	Form       paymentForm // as it was filled in
	CanPlan    bool        // its time and assignee can still be set
	Schedules  bool        // planning can make it SCHEDULED
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

func (a *area) showMission(v *visit, status int, complaints []complaint) error {
	story, err := a.origin.MissionStory(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	d := missionData{MissionStory: story, Most: origin.MaxStory, Holds: []string{fieldmark.HoldWaitingCustomer, fieldmark.HoldSiteAccess,
		fieldmark.HoldWeather, fieldmark.HoldWaitingParts, fieldmark.HoldNoTechnician}}
	for _, s := range story.Next {
		if s == fieldmark.MissionScheduled && story.Scheduled == nil {
			d.Schedules = true // by the plan form: a visit without a time is in no calendar
			continue
		}
		d.Moves = append(d.Moves, choice{Value: string(s), Label: moveLabels[s]})
	}
	d.CanPlan = slices.Contains(fieldmark.OpenStatuses(), story.Status)
	for _, e := range story.Events {
		d.Timeline = append(d.Timeline, eventLine{Event: e, Detail: detailOf(e)})
	}
	d.price(story)
	if form := v.r.PostForm; v.form == "pay-" {
		d.Form = paymentForm{Amount: form.Get("amount"), Direction: form.Get("direction"), Terms: form.Get("terms")}
	}
	for _, c := range []choice{{Value: string(fieldmark.DirectionCharge), Label: "charge: the requester pays"}, {Value: string(fieldmark.DirectionPayout), Label: "payout: the technician is paid"}} {
		c.Chosen = c.Value == d.Form.Direction
		d.Directions = append(d.Directions, c)
	}
	if !v.may() {
		d.Moves, d.Marks, d.CanPlan, d.CanPrice, d.CanRefund = nil, nil, false, false, false
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
		if mission.ValidatePaymentTransition(p.Status, to) == nil {
			d.Marks = append(d.Marks, choice{Value: string(to), Label: lower(to)})
		}
	}
	if p.Amount == nil {
		return
	}
	d.Form.Amount = p.Amount.String()
	left := fieldmark.Money{Value: p.Amount.Value - p.RefundedTotal, Currency: p.Amount.Currency}
	d.CanRefund = left.Value > 0 && mission.ValidatePaymentTransition(p.Status, fieldmark.PaymentRefunded) == nil
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
		add(strconv.Itoa(data.ThresholdPercent) + "% of the target time used")
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

// reasonOther is the code of a reason that was given as text alone.
const reasonOther = "OTHER"

// moveLabels are the buttons that change a status.
var moveLabels = map[fieldmark.MissionStatus]string{
	fieldmark.MissionNew: "Unschedule", fieldmark.MissionScheduled: "Schedule", fieldmark.MissionDispatched: "Dispatch",
	fieldmark.MissionEnRoute: "Mark en route", fieldmark.MissionInProgress: "Start work", fieldmark.MissionOnHold: "Put on hold",
	fieldmark.MissionCompleted: "Complete", fieldmark.MissionUnableToComplete: "Mark unable to complete", fieldmark.MissionClosed: "Close",
	fieldmark.MissionCanceled: "Cancel",
}

// planMission sets when a mission is visited and by whom, at the version that the
// form was made from, and schedules it where the button says so.
func (a *area) planMission(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	id, form := v.r.PathValue("id"), v.fields("plan-")
	plan := fieldmark.MissionPlan{}
	start, end := form.time("start", "Start"), form.time("end", "End")
	schedule := form.posted.Get("do") == "schedule"
	switch {
	case form.bad != nil:
	case start.IsZero() && end.IsZero() && schedule:
		form.complain("start", "Start: a scheduled mission needs a time.")
	case start.IsZero() != end.IsZero():
		form.complain("end", "End: enter both a start and an end, or neither.")
	case !start.IsZero():
		plan.Scheduled = &fieldmark.Span{Start: fieldmark.At(start), End: fieldmark.At(end)}
		for _, e := range mission.ValidateSpan(*plan.Scheduled, "/scheduled") {
			form.complain("end", sentence("End: "+e.Detail))
		}
	}
	who, name := form.text("assignee", "Assignee ID", maxAssignee), form.text("assignee-name", "Assignee name", maxAssigneeName)
	switch {
	case who != "":
		plan.Assignee = &fieldmark.Assignee{ID: who, Name: name}
	case name != "":
		form.complain("assignee", "Assignee ID: needed to assign somebody.")
	}
	version, err := strconv.Atoi(form.posted.Get("version"))
	if err != nil && form.bad == nil {
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Open the mission again.")
	}
	if form.bad != nil {
		return a.showMission(v, http.StatusUnprocessableEntity, form.bad)
	}
	if _, err := a.origin.PlanMission(v.r.Context(), id, plan, origin.Versions{{Number: version}}, schedule); err != nil {
		return a.missionRefused(v, err)
	}
	a.did(v, "mission.plan", id)
	return v.done(missions+"/"+id, "planned")
}

// moveMission changes the status of a mission.
func (a *area) moveMission(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	id, form := v.r.PathValue("id"), v.fields("")
	if form.posted.Get("to") == string(fieldmark.MissionCanceled) {
		form = v.fields("cancel-")
	}
	to, err := fieldmark.ParseMissionStatus(form.posted.Get("to"))
	if err != nil {
		return err
	}
	var reason *fieldmark.Reason
	if code, text := form.code("code", "Reason", reasonCode), form.text("text", "Note", maxReasonText); code != "" || text != "" {
		reason = &fieldmark.Reason{Code: cmp.Or(code, reasonOther), Text: text}
	}
	if form.bad != nil {
		return a.showMission(v, http.StatusUnprocessableEntity, form.bad)
	}
	if _, err := a.origin.MoveMission(v.r.Context(), id, to, reason); err != nil {
		return a.missionRefused(v, err)
	}
	a.did(v, "mission."+strings.ToLower(string(to)), id)
	return v.done(missions+"/"+id, "moved")
}

// missionRefused shows the page again with what was wrong: the request is not
// valid, or no longer allowed.
func (a *area) missionRefused(v *visit, err error) error {
	e := fieldmark.AsError(err)
	if e.Code == fieldmark.CodeVersionMismatch {
		return a.showMission(v, http.StatusConflict, complain("The mission was changed after this page was opened. Check the current values and submit again."))
	}
	if !slices.Contains([]fieldmark.Code{fieldmark.CodeValidationFailed, fieldmark.CodeInvalidTransition, fieldmark.CodeInvalidParameter}, e.Code) {
		return err
	}
	return a.showMission(v, e.Code.Status(), v.complaintsOf(e))
}
