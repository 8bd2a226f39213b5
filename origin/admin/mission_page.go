package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/mission"

	"github.com/fieldmark/fieldmark/origin/web"
)

// missionData is one mission with its available actions.
// What a viewer must not do is left out here, and refused by the handlers as well.
type missionData struct {
	mission.History
	Moves       []option
	HoldReasons []string // suggested reason codes
	Timeline    []timelineRow
	MaxEvents   int // on the page

	Deadline     string // the time left or the delay of the next SLA target
	Late         bool
	SLAState     string
	Attachments  attachmentsData
	Notes        []fieldmark.Note
	AllNotes     int
	Assignees    []fieldmark.Assignee // to choose from
	Once         string               // external id of the next note
	Changes      []overtakingRow      // that overtook the form
	Priorities   []option
	Labels       string // one KEY=VALUE a line
	CanEdit      bool
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
	Who    actor
	Detail string
	Note   string // id of the note, if it is about one
	// OccurredAt is when it happened, if a device reported it later. Time is then when it was received.
	OccurredAt *fieldmark.Time
	Sent       int // webhooks that received it
	Failed     []mission.EventDelivery
	Queued     int // webhooks that will receive it
}

// actor is who caused an event.
type actor struct {
	Name, Kind string
}

// actorKinds names the kinds of actors as people know them.
// Other kinds are named as they are.
var actorKinds = map[string]string{string(fieldmark.ActorPerson): "administrator",
	string(fieldmark.ActorKey): "API key", string(fieldmark.ActorCommand): "command line"}

// actors returns a function that names who caused an event.
// Keys are named by their names, because ids mean nothing to people.
func (h *missionHandler) actors(req *request) (func(text string) actor, error) {
	keys, err := h.keys.List(req.r.Context())
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	return func(text string) actor {
		kind, name, _ := strings.Cut(text, " ")
		if text == "" {
			return actor{"Fieldmark", "system"}
		}
		if kind == string(fieldmark.ActorKey) {
			name = cmp.Or(names[name], name)
		}
		return actor{name, cmp.Or(actorKinds[kind], kind)}
	}, nil
}

// newTimelineRow returns the row of an event.
// Data of an unknown form has no summary and is still shown as an event.
func newTimelineRow(e mission.HistoryEvent, who actor) timelineRow {
	row := timelineRow{HistoryEvent: e, Who: who, Detail: eventDetail(e.Event)}
	switch e.Type {
	// A note has its own time, which a technician's device may have reported hours later.
	case fieldmark.EventMissionNoted:
		var noted fieldmark.MissionNoted
		if json.Unmarshal(e.Data, &noted) == nil {
			row.Note, row.OccurredAt = noted.Note.ID, noted.Note.OccurredAt
		}
	case fieldmark.EventMissionUpdated, fieldmark.EventMissionSourceResolved: // the status is from before
	default:
		var m struct {
			OccurredAt *fieldmark.Time `json:"occurredAt"` // of a transition
		}
		if json.Unmarshal(e.Data, &m) == nil {
			row.OccurredAt = m.OccurredAt
		}
	}
	for _, d := range e.Deliveries {
		// Paused and waiting deliveries are sent later, so they count as queued.
		switch d.State {
		case fieldmark.DeliveryDone:
			row.Sent++
		case fieldmark.DeliveryFailed:
			row.Failed = append(row.Failed, d)
		default:
			row.Queued++
		}
	}
	return row
}

// paymentForm has the values of the form that sets an amount.
// It keeps what was entered after an error.
type paymentForm struct {
	Amount, Direction, Terms string
}

// get shows a mission.
func (h *missionHandler) get(req *request) error { return h.showMission(req, http.StatusOK, nil) }

// showMission also shows the page again after a form was rejected, with its errors and values.
func (h *missionHandler) showMission(req *request, status int, complaints []web.FormError) error {
	story, err := h.missions.History(req.r.Context(), req.r.PathValue("id"))
	if err != nil {
		return err
	}
	// All names at once: a history has up to MaxHistory events.
	who, err := h.actors(req)
	if err != nil {
		return err
	}
	notes, err := h.missions.Notes(req.r.Context(), "", story.ID, "", "", fieldmark.MaxNotes)
	if err != nil {
		return err
	}
	d := missionData{History: story, AllNotes: len(notes.Data), Notes: notes.Data, MaxEvents: mission.MaxHistory,
		HoldReasons: []string{fieldmark.HoldWaitingCustomer, fieldmark.HoldSiteAccess,
			fieldmark.HoldWeather, fieldmark.HoldWaitingParts, fieldmark.HoldNoTechnician}}
	// Most missions have few notes; a long history would push the forms off the page.
	if d.AllNotes > shownNotes && req.r.URL.Query().Get("notes") != "all" {
		d.Notes = d.Notes[d.AllNotes-shownNotes:]
	}
	// Only then is the list of assignees read.
	if d.CanPlan = slices.Contains(fieldmark.OpenStatuses(), story.Status); d.CanPlan {
		if d.Assignees, err = h.missions.Assignees(req.r.Context(), story.Account); err != nil {
			return err
		}
	}
	for _, s := range story.Next {
		if s == fieldmark.MissionScheduled && story.Scheduled == nil {
			d.CanSchedule = true // the plan form does it, because calendars show only missions with a time
			continue
		}
		d.Moves = append(d.Moves, option{Value: string(s), Label: moveLabels[s]})
	}
	for _, e := range story.Events {
		d.Timeline = append(d.Timeline, newTimelineRow(e, who(e.Actor)))
	}
	// The form was overtaken: the page shows by what.
	if status == http.StatusConflict {
		if d.Changes, err = h.overtaking(req, story, time.UTC); err != nil {
			return err
		}
	}
	row := newMissionRow(story.Row(), time.Now(), req.canWrite())
	d.Deadline, d.Late, d.SLAState = row.Due, row.Late, row.SLAState
	files, err := h.attached.List(req.r.Context(), "", story.ID)
	if err != nil {
		return err
	}
	d.Attachments = newAttachmentsData(files)
	// It makes a note that is submitted twice one note.
	d.Once = fieldmark.NewID(fieldmark.PrefixNote, time.Now())
	d.CanEdit = story.Status != fieldmark.MissionClosed && story.Status != fieldmark.MissionCanceled
	d.Priorities, d.Labels = priorityOptions(string(story.Priority)), labelLines(story.Labels)
	d.addPayment(story)
	// A rejected form keeps what was entered, whatever the stored payment is.
	if form := req.r.PostForm; req.formPrefix == "pay-" {
		d.Form = paymentForm{Amount: form.Get("amount"), Direction: form.Get("direction"), Terms: form.Get("terms")}
	}
	for _, c := range []option{{Value: string(fieldmark.DirectionCharge), Label: "charge: the requester pays"},
		{Value: string(fieldmark.DirectionPayout), Label: "payout: the technician is paid"}} {
		c.Selected = c.Value == d.Form.Direction
		d.Directions = append(d.Directions, c)
	}
	// A viewer sees the same page without forms.
	if !req.canWrite() {
		d.Moves, d.PaymentMoves, d.CanPlan, d.CanSetAmount, d.CanRefund = nil, nil, false, false, false
		d.CanEdit = false
	}
	return h.show(req, status, "mission", web.Page{Title: story.Title, Errors: complaints, Data: d})
}

// shownNotes is the number of notes on the page of a mission, the latest; a link shows all.
const shownNotes = 50

// addPayment adds the actions that are possible on the payment.
// Package mission decides what is possible, so the page cannot offer more than the service
// accepts.
func (d *missionData) addPayment(story mission.History) {
	p := story.Money
	// A payment that was started at a provider cannot change its amount.
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
	// Refunds are limited to what earlier ones left.
	left := fieldmark.Money{Value: p.Amount.Value - p.RefundedTotal, Currency: p.Amount.Currency}
	d.CanRefund = left.Value > 0 && mission.ValidatePaymentTransition(p.Status, fieldmark.PaymentRefunded) == nil
	d.Refundable = left.String()
}

// Amount formats a refund in the currency of the payment.
// The template calls it for each refund.
func (d missionData) Amount(value int64) string {
	return fieldmark.Money{Value: value, Currency: d.Money.Amount.Currency}.String()
}

// eventDetail summarizes the data of an event for the timeline. The summary of unknown data is empty.
// It reads the members that are worth a line; the others are in the data of the event.
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

// newReason returns a reason, or nil without a code and a text.
// A text without a code gets the code OTHER, so that a policy can count it.
func newReason(code, text string) *fieldmark.Reason {
	if code == "" && text == "" {
		return nil
	}
	return &fieldmark.Reason{Code: cmp.Or(code, otherReason), Text: text}
}

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
// buttons also schedules the mission. A form of the board is shown there again if it is rejected.
func (h *missionHandler) plan(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, form := req.r.PathValue("id"), req.readForm("plan-")
	schedule := form.posted.Get("do") == "schedule"
	plan, err := form.plan(schedule)
	if err != nil {
		return err
	}
	versions, err := form.versions()
	if form.errors != nil {
		return h.showPlan(req, id, http.StatusUnprocessableEntity, form.errors)
	}
	if err != nil {
		return err
	}
	// The board's form has the id only; webhooks send the name as well.
	if a := plan.Assignee; a != nil && a.Name == "" {
		if a.Name, err = h.nameOf(req, id, a.ID); err != nil {
			return err
		}
	}
	_, err = h.missions.Plan(req.r.Context(), id, plan, versions, schedule)
	switch {
	case hasCode(err, fieldmark.CodeVersionMismatch):
		return h.showPlan(req, id, http.StatusConflict, web.ErrorOf(errOvertaken))
	case hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeInvalidTransition, fieldmark.CodeInvalidParameter):
		return h.showPlan(req, id, statusOf(err), req.formErrors(err))
	case err != nil:
		return err
	}
	h.audit(req, "mission.planned", id)
	page := missionsPath + "/" + id
	if form.posted.Has("back") { // from the board
		page = req.back()
	}
	return req.redirectWithNotice(page, "planned")
}

// showPlan shows the page of a rejected plan: the board, if that had the form, or the mission.
func (h *missionHandler) showPlan(req *request, id string, status int, bad []web.FormError) error {
	// Only the path of the board is accepted: the value comes from a form.
	if board, err := url.Parse(req.r.PostForm.Get("back")); err == nil && board.Path == boardPath {
		query := board.Query()
		query.Set("move", id)
		return h.showBoard(req, query, status, bad)
	}
	return h.showMission(req, status, bad)
}

// nameOf returns the name of an assignee in the list of the account of a mission, or "".
func (h *missionHandler) nameOf(req *request, id, assignee string) (string, error) {
	story, err := h.missions.History(req.r.Context(), id)
	if err != nil {
		return "", err
	}
	known, err := h.missions.Assignees(req.r.Context(), story.Account)
	for _, a := range known {
		if a.ID == assignee {
			return a.Name, err
		}
	}
	return "", err
}

// finalMoves are the changes of the status that ask for confirmation, and their consequences.
var finalMoves = map[fieldmark.MissionStatus]string{
	fieldmark.MissionCompleted: fmt.Sprintf("The work is done. The mission can be reopened for %d days.",
		mission.ReopenWithin/(24*time.Hour)),
	fieldmark.MissionClosed:   "A closed mission cannot be changed any more.",
	fieldmark.MissionCanceled: "A canceled mission cannot be opened again. Its source is notified.",
}

// confirmMove shows a confirmation before the mission in the path gets a status of finalMoves.
func (h *missionHandler) confirmMove(req *request, to fieldmark.MissionStatus) error {
	m, err := h.missions.Get(req.r.Context(), "", req.r.PathValue("id"))
	if err != nil {
		return err
	}
	q := web.Confirmation{Title: fmt.Sprintf("%s “%s”?", moveLabels[to], m.Title), Text: finalMoves[to],
		Button: moveLabels[to] + " mission", Back: missionsPath + "/" + m.ID,
		Safe: to == fieldmark.MissionCompleted}
	// The skipped steps are recorded as events, which receivers get.
	if path := mission.PathToCompleted(m.Status); to == fieldmark.MissionCompleted && len(path) > 1 {
		q.Text += " The steps between " + web.StateWords(m.Status) + " and completed are skipped."
	}
	if req.r.PostForm.Has("back") {
		q.Back = req.back()
	}
	return h.confirm(req, q)
}

// move changes the status of a mission.
func (h *missionHandler) move(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, form := req.r.PathValue("id"), req.readForm("")
	to, err := fieldmark.ParseMissionStatus(form.posted.Get("to"))
	if err != nil {
		return err
	}
	// A final move has a separate form with a reason, hence inputs with a prefix.
	final := finalMoves[to] != ""
	if final {
		form = req.readForm(web.StateWords(to) + "-")
	}
	reason := newReason(form.code("code", "Reason", reasonCode), form.text("text", "Note", maxReasonText))
	var versions mission.Versions
	if form.posted.Has("version") {
		if versions, err = form.versions(); err != nil {
			return err
		}
	}
	if form.errors != nil {
		return h.showMission(req, http.StatusUnprocessableEntity, form.errors)
	}
	if final && !web.Confirmed(req.r) {
		return h.confirmMove(req, to)
	}
	move := mission.Move("", id, mission.Transition{To: to, Reason: reason, If: versions})
	if _, err := h.missions.Apply(req.r.Context(), move); err != nil {
		return h.showMissionError(req, err)
	}
	h.audit(req, auditlog.ActionName("mission."+strings.ToLower(string(to))), id)
	return req.redirectWithNotice(missionsPath+"/"+id, "moved")
}

// errOvertaken is the error of a form whose mission was changed since.
const errOvertaken = "The mission was changed after this page was opened. See what changed, then submit again."

// showMissionError shows the mission with an error: the form is invalid, or the action is not possible any
// more.
func (h *missionHandler) showMissionError(req *request, err error) error {
	if hasCode(err, fieldmark.CodeVersionMismatch) {
		text := errOvertaken
		if req.r.PostForm.Has("payment-version") {
			text = "The payment was changed after this page was opened. Check it, then submit again."
		}
		return h.showMission(req, http.StatusConflict, web.ErrorOf(text))
	}
	if !hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeInvalidTransition, fieldmark.CodeInvalidParameter) {
		return err
	}
	return h.showMission(req, statusOf(err), req.formErrors(err))
}

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
	version, err := form.paymentVersion()
	if err != nil {
		return err
	}
	p, err := h.missions.SetPaymentAt(req.r.Context(), id, version, fieldmark.PaymentRequest{
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

// paymentWords names a payment in a confirmation.
func paymentWords(p fieldmark.MissionPayment) string {
	if p.Amount == nil {
		return "the payment"
	}
	return "the payment of " + p.Amount.String()
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
	version, err := form.paymentVersion()
	if err != nil {
		return err
	}
	if to := fieldmark.PaymentStatus(move.Status); (to == fieldmark.PaymentPaid ||
		to == fieldmark.PaymentCanceled) && !web.Confirmed(req.r) {
		return h.confirm(req, web.Confirmation{
			Title: fmt.Sprintf("Mark %s as %s?", paymentWords(p), web.StateWords(to)),
			Text: map[fieldmark.PaymentStatus]string{
				fieldmark.PaymentPaid:     "After that, the payment can only be refunded.",
				fieldmark.PaymentCanceled: "A canceled payment cannot be changed any more.",
			}[to], Button: "Mark as " + web.StateWords(to), Back: missionsPath + "/" + p.MissionID})
	}
	if _, err := h.missions.SetPaymentStatusAt(req.r.Context(), p.ID, version, move); err != nil {
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
	version, err := form.paymentVersion()
	if err != nil {
		return err
	}
	if !web.Confirmed(req.r) {
		amount := fieldmark.Money{Value: refund.Amount}
		if p.Amount != nil {
			amount.Currency = p.Amount.Currency
		}
		return h.confirm(req, web.Confirmation{
			Title:  fmt.Sprintf("Record a refund of %s of %s?", amount, paymentWords(p)),
			Text:   "A refund cannot be removed. No money is moved: refund it where it was paid.",
			Button: "Record refund", Back: missionsPath + "/" + p.MissionID})
	}
	if _, err := h.missions.RefundPaymentAt(req.r.Context(), p.ID, version, refund); err != nil {
		return h.showMissionError(req, err)
	}
	h.audit(req, "payment.refunded", p.ID)
	return req.redirectWithNotice(missionsPath+"/"+p.MissionID, "refunded")
}
