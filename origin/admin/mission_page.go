package admin

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/web"
)

// missionData is one mission with its available actions.
type missionData struct {
	mission.History
	Moves       []option
	HoldReasons []string // suggested reason codes
	Timeline    []timelineRow
	MaxEvents   int // on the page

	Form         paymentForm // the values of the form
	CanPlan      bool        // the time and the assignee can still be set
	CanSchedule  bool        // the plan form can also schedule it
	CanSetAmount bool        // the amount can still be set
	CanRefund    bool
	PaymentMoves []option // statuses an administrator can set
	Directions   []option
	Refundable   string // the amount that can be refunded
}

// timelineRow is an event with a summary of its data.
type timelineRow struct {
	mission.HistoryEvent
	Detail string
}

// paymentForm has the values of the form that sets an amount.
type paymentForm struct {
	Amount, Direction, Terms string
}

func (h *missionHandler) get(req *request) error { return h.showMission(req, http.StatusOK, nil) }

func (h *missionHandler) showMission(req *request, status int, complaints []web.FormError) error {
	story, err := h.missions.History(req.r.Context(), req.r.PathValue("id"))
	if err != nil {
		return err
	}
	d := missionData{History: story, MaxEvents: mission.MaxHistory,
		HoldReasons: []string{fieldmark.HoldWaitingCustomer, fieldmark.HoldSiteAccess,
			fieldmark.HoldWeather, fieldmark.HoldWaitingParts, fieldmark.HoldNoTechnician}}
	for _, s := range story.Next {
		if s == fieldmark.MissionScheduled && story.Scheduled == nil {
			d.CanSchedule = true // the plan form does it, because calendars show only missions with a time
			continue
		}
		d.Moves = append(d.Moves, option{Value: string(s), Label: moveLabels[s]})
	}
	d.CanPlan = slices.Contains(fieldmark.OpenStatuses(), story.Status)
	for _, e := range story.Events {
		d.Timeline = append(d.Timeline, timelineRow{HistoryEvent: e, Detail: eventDetail(e.Event)})
	}
	d.addPayment(story)
	if form := req.r.PostForm; req.formPrefix == "pay-" {
		d.Form = paymentForm{Amount: form.Get("amount"), Direction: form.Get("direction"), Terms: form.Get("terms")}
	}
	for _, c := range []option{{Value: string(fieldmark.DirectionCharge), Label: "charge: the requester pays"},
		{Value: string(fieldmark.DirectionPayout), Label: "payout: the technician is paid"}} {
		c.Selected = c.Value == d.Form.Direction
		d.Directions = append(d.Directions, c)
	}
	if !req.canWrite() {
		d.Moves, d.PaymentMoves, d.CanPlan, d.CanSetAmount, d.CanRefund = nil, nil, false, false, false
	}
	return h.show(req, status, "mission", web.Page{Title: story.Title, Errors: complaints, Data: d})
}

// addPayment adds the actions that are possible on the payment.
func (d *missionData) addPayment(story mission.History) {
	p := story.Money
	d.CanSetAmount = story.Status != fieldmark.MissionCanceled &&
		(p == nil || p.Status == fieldmark.PaymentNone || p.Status == fieldmark.PaymentPending)
	if p == nil {
		return
	}
	d.Form = paymentForm{Direction: string(p.Direction), Terms: p.Terms}
	for _, to := range []fieldmark.PaymentStatus{fieldmark.PaymentProcessing, fieldmark.PaymentPaid,
		fieldmark.PaymentFailed, fieldmark.PaymentCanceled} {
		if mission.ValidatePaymentTransition(p.Status, to) == nil {
			d.PaymentMoves = append(d.PaymentMoves, option{Value: string(to), Label: web.StateWords(to)})
		}
	}
	if p.Amount == nil {
		return
	}
	d.Form.Amount = p.Amount.String()
	left := fieldmark.Money{Value: p.Amount.Value - p.RefundedTotal, Currency: p.Amount.Currency}
	d.CanRefund = left.Value > 0 && mission.ValidatePaymentTransition(p.Status, fieldmark.PaymentRefunded) == nil
	d.Refundable = left.String()
}

// Amount formats a refund in the currency of the payment.
func (d missionData) Amount(value int64) string {
	return fieldmark.Money{Value: value, Currency: d.Money.Amount.Currency}.String()
}

// eventDetail summarizes the data of an event for the timeline. The summary of unknown data is empty.
func eventDetail(e fieldmark.Event) string {
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

// otherReason is the code of a reason that has only a text.
const otherReason = "OTHER"

// moveLabels are the labels of the buttons that change the status.
var moveLabels = map[fieldmark.MissionStatus]string{
	fieldmark.MissionNew: "Unschedule", fieldmark.MissionScheduled: "Schedule", fieldmark.MissionDispatched: "Dispatch",
	fieldmark.MissionEnRoute: "Mark en route", fieldmark.MissionInProgress: "Start work",
	fieldmark.MissionOnHold:    "Put on hold",
	fieldmark.MissionCompleted: "Complete", fieldmark.MissionClosed: "Close",
	fieldmark.MissionUnableToComplete: "Mark unable to complete",
	fieldmark.MissionCanceled:         "Cancel",
}

// plan sets the time and the assignee of a mission, if it still has the version of the form. One of the
// buttons also schedules the mission.
func (h *missionHandler) plan(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, form := req.r.PathValue("id"), req.readForm("plan-")
	plan := fieldmark.MissionPlan{}
	start, end := form.time("start", "Start"), form.time("end", "End")
	schedule := form.posted.Get("do") == "schedule"
	switch {
	case form.errors != nil:
	case start.IsZero() && end.IsZero() && schedule:
		form.addError("start", "Start: a scheduled mission needs a time.")
	case start.IsZero() != end.IsZero():
		form.addError("end", "End: enter both a start and an end, or neither.")
	case !start.IsZero():
		plan.Scheduled = &fieldmark.Span{Start: fieldmark.At(start), End: fieldmark.At(end)}
		for _, e := range mission.ValidateSpan(*plan.Scheduled, "/scheduled") {
			form.addError("end", web.Sentence("End: "+e.Detail))
		}
	}
	who := form.text("assignee", "Assignee ID", maxAssignee)
	name := form.text("assignee-name", "Assignee name", maxAssigneeName)
	switch {
	case who != "":
		plan.Assignee = &fieldmark.Assignee{ID: who, Name: name}
	case name != "":
		form.addError("assignee", "Assignee ID: enter the ID of the assignee.")
	}
	version, err := strconv.Atoi(form.posted.Get("version"))
	if err != nil && form.errors == nil {
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter,
			"The form is incomplete. Reload the mission and try again.")
	}
	if form.errors != nil {
		return h.showMission(req, http.StatusUnprocessableEntity, form.errors)
	}
	versions := mission.Versions{{Number: version}}
	if _, err := h.missions.Plan(req.r.Context(), id, plan, versions, schedule); err != nil {
		return h.showMissionError(req, err)
	}
	h.audit(req, "mission.plan", id)
	return req.redirectWithNotice(missionsPath+"/"+id, "planned")
}

// move changes the status of a mission.
func (h *missionHandler) move(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, form := req.r.PathValue("id"), req.readForm("")
	if form.posted.Get("to") == string(fieldmark.MissionCanceled) {
		form = req.readForm("cancel-")
	}
	to, err := fieldmark.ParseMissionStatus(form.posted.Get("to"))
	if err != nil {
		return err
	}
	var reason *fieldmark.Reason
	code, text := form.code("code", "Reason", reasonCode), form.text("text", "Note", maxReasonText)
	if code != "" || text != "" {
		reason = &fieldmark.Reason{Code: cmp.Or(code, otherReason), Text: text}
	}
	if form.errors != nil {
		return h.showMission(req, http.StatusUnprocessableEntity, form.errors)
	}
	if _, err := h.missions.Transition(req.r.Context(), id, to, reason); err != nil {
		return h.showMissionError(req, err)
	}
	h.audit(req, "mission."+strings.ToLower(string(to)), id)
	return req.redirectWithNotice(missionsPath+"/"+id, "moved")
}

// showMissionError shows the mission with an error: the form is invalid, or the action is not possible any
// more.
func (h *missionHandler) showMissionError(req *request, err error) error {
	if hasCode(err, fieldmark.CodeVersionMismatch) {
		return h.showMission(req, http.StatusConflict,
			web.ErrorOf("The mission was changed after this page was opened. Check the current values and submit "+
				"again."))
	}
	if !hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeInvalidTransition, fieldmark.CodeInvalidParameter) {
		return err
	}
	return h.showMission(req, statusOf(err), req.formErrors(err))
}
