package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/web"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// webhookHandler serves the pages of webhook endpoints and of their deliveries.
type webhookHandler struct {
	*console
	webhooks *webhook.Service
	accounts *access.Accounts // owners to choose from
}

// deliveryPageSize is the number of deliveries on a page.
// A page shows whether an endpoint works; the filter finds older messages.
const deliveryPageSize = 100

// webhooksData is the webhooks page: the endpoints, the latest deliveries, and the form that creates an
// endpoint.
type webhooksData struct {
	Endpoints  []endpointRow
	Deliveries []deliveryRow
	Filter     deliveryFilter
	Accounts   []option
	Form       fieldmark.EndpointRequest
	EventTypes []event.Kind
	Newest     string // id of the newest endpoint (see keysData)
	Created    *fieldmark.NewEndpoint
}

// endpointRow is an endpoint with its health by its newest messages.
// The numbers are of the newest messages, as the summary reads a bounded number.
type endpointRow struct {
	fieldmark.Endpoint
	webhook.Summary
	Verdict string // why its messages fail, in words; empty if they do not
}

// Rate is the share of attempts that succeeded.
// A dash means that nothing was sent.
func (r endpointRow) Rate() string {
	if r.Attempts == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*float64(r.Sent)/float64(r.Attempts), 'f', 1, 64) + " %"
}

// rows adds the health of endpoints by their newest messages.
// All endpoints are summarized by one query, whatever their number.
func (h *webhookHandler) rows(req *request, endpoints []fieldmark.Endpoint) ([]endpointRow, error) {
	sums, err := h.webhooks.Stats.Summarize(req.r.Context(), endpoints)
	if err != nil {
		return nil, err
	}
	unhealthy, err := h.webhooks.Stats.Unhealthy(req.r.Context())
	if err != nil {
		return nil, err
	}
	verdicts := map[string]string{}
	for _, u := range unhealthy {
		verdicts[u.ID] = u.Verdict
	}
	rows := make([]endpointRow, len(endpoints))
	for i, e := range endpoints {
		rows[i] = endpointRow{e, sums[e.ID], verdicts[e.ID]}
	}
	return rows, nil
}

// deliveryFilter is the form that filters messages.
// It is a form with GET, so its result can be bookmarked.
type deliveryFilter struct {
	Action string // the address of the page
	Type   string // of the event, or a prefix and .*
	States []option
	Next   string // the address of the next page
}

// deliveries lists the messages that the query of the page selects.
// endpoint is empty on the page of all endpoints. page is the address of the form.
func (h *webhookHandler) deliveries(req *request, endpoint, page string) ([]fieldmark.Delivery, deliveryFilter, error) {
	query := req.r.URL.Query()
	f := deliveryFilter{Action: page, Type: strings.TrimSpace(query.Get("type"))}
	state := fieldmark.DeliveryState(query.Get("state"))
	for _, s := range append(fieldmark.DeliveryStates(), fieldmark.DeliveryHeld) {
		f.States = append(f.States, option{Value: string(s), Label: string(s), Selected: s == state})
	}
	list, err := h.webhooks.Stats.Search(req.r.Context(), webhook.DeliveryPage{Endpoint: endpoint, State: state,
		Type: f.Type, Cursor: query.Get("cursor"), Limit: deliveryPageSize})
	if list.HasMore {
		f.Next = page + "?" + url.Values{"state": {string(state)}, "type": {f.Type},
			"cursor": {list.NextCursor}}.Encode()
	}
	return list.Data, f, err
}

// deliveryRow is a delivery with the address of its endpoint, if that still exists.
// Deliveries outlive their endpoints.
type deliveryRow struct {
	fieldmark.Delivery
	URL string
}

// list shows the endpoints, with the form for missions filled in.
func (h *webhookHandler) list(req *request) error {
	return h.showWebhooks(req, http.StatusOK, fieldmark.EndpointRequest{Events: []string{fieldmark.AllMissionEvents}},
		nil, nil)
}

func endpointID(e *fieldmark.Endpoint) string { return e.ID }

// showWebhooks also shows the form again with its errors, or the secret of a new endpoint.
func (h *webhookHandler) showWebhooks(
	req *request, status int, form fieldmark.EndpointRequest, bad []web.FormError, made *fieldmark.NewEndpoint,
) error {
	endpoints, err := h.webhooks.Endpoints(req.r.Context(), "")
	if err != nil {
		return err
	}
	deliveries, filter, err := h.deliveries(req, "", webhooksPath)
	if err != nil {
		return err
	}
	rows, err := h.rows(req, endpoints)
	if err != nil {
		return err
	}
	address := map[string]string{}
	for _, e := range endpoints {
		address[e.ID] = e.URL
	}
	d := webhooksData{Endpoints: rows, Filter: filter, Form: form, EventTypes: event.Kinds(),
		Newest: web.NewestID(endpoints, endpointID), Created: made}
	for _, one := range deliveries {
		d.Deliveries = append(d.Deliveries, deliveryRow{Delivery: one, URL: address[one.EndpointID]})
	}
	if d.Accounts, err = accountChoices(req, h.accounts, req.r.PostForm.Get("account")); err != nil {
		return err
	}
	return h.show(req, status, "webhooks", web.Page{Title: "Webhooks", Errors: bad, Data: d})
}

// create creates an endpoint and shows its secret.
// The page is the response to the form and not a redirect, because the secret is shown only
// once.
func (h *webhookHandler) create(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	posted := req.r.PostForm
	form := fieldmark.EndpointRequest{URL: strings.TrimSpace(posted.Get("url")),
		Events:      strings.Fields(posted.Get("events")),
		Description: strings.TrimSpace(posted.Get("description"))}
	read := req.readForm("")
	form.Customer, form.Filter = strings.TrimSpace(posted.Get("customer")), read.filter()
	if len(read.errors) > 0 {
		return h.showWebhooks(req, http.StatusUnprocessableEntity, form, read.errors, nil)
	}
	made, err := h.webhooks.CreateEndpointAfter(req.r.Context(), webhook.Listed{Newest: web.SeenID(posted)},
		posted.Get("account"), form)
	if fieldmark.IsCode(err, fieldmark.CodeVersionMismatch) {
		return h.showWebhooks(req, http.StatusConflict, form, staleForm("An endpoint"), nil)
	}
	if hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeNotFound) {
		return h.showWebhooks(req, http.StatusUnprocessableEntity, form, req.formErrors(err), nil)
	}
	if err != nil {
		return err
	}
	h.audit(req, "webhook.created", made.ID)
	return h.showWebhooks(req, http.StatusOK, fieldmark.EndpointRequest{Events: []string{fieldmark.AllMissionEvents}},
		nil, &made)
}

// endpointData is one endpoint with its latest deliveries.
type endpointData struct {
	endpointRow
	Page       string // path
	Deliveries []fieldmark.Delivery
	Filter     deliveryFilter
	Replays    []fieldmark.Replay
	Replaying  bool                   // the page reloads itself
	DayAgo     string                 // for the form that sends failed messages again
	Rotated    *fieldmark.NewEndpoint // with the new secret
	Ping       *fieldmark.PingResult
}

// get shows an endpoint.
func (h *webhookHandler) get(req *request) error {
	return h.showEndpoint(req, http.StatusOK, nil, nil, nil)
}

// showEndpoint shows an endpoint with the result of a form: errors, a new secret or a test.
func (h *webhookHandler) showEndpoint(
	req *request, status int, bad []web.FormError, made *fieldmark.NewEndpoint, ping *fieldmark.PingResult,
) error {
	id := req.r.PathValue("id")
	e, err := h.webhooks.Endpoint(req.r.Context(), "", id)
	if err != nil {
		return err
	}
	d := endpointData{Page: webhooksPath + "/" + id, Rotated: made, Ping: ping,
		DayAgo: time.Now().UTC().Add(-24 * time.Hour).Format(localMinute)}
	if d.Deliveries, d.Filter, err = h.deliveries(req, id, d.Page); err != nil {
		return err
	}
	rows, err := h.rows(req, []fieldmark.Endpoint{e})
	if err != nil {
		return err
	}
	d.endpointRow = rows[0]
	// Shown leaves out what must not be shown, such as credentials.
	d.EndpointSettings = d.EndpointSettings.Shown()
	if d.Replays, err = h.webhooks.Replays(req.r.Context(), "", id); err != nil {
		return err
	}
	// The page reloads itself while a replay runs.
	for _, r := range d.Replays {
		d.Replaying = d.Replaying || r.State == fieldmark.ReplayRunning
	}
	return h.show(req, status, "endpoint", web.Page{Title: "Webhook endpoint", Errors: bad, Data: d})
}

// endpointConfirmations are the confirmations before changes of an endpoint; their titles lack its address. An
// endpoint is enabled without a confirmation unless the held messages are discarded. Each change cannot be undone,
// or interrupts the receiver.
var endpointConfirmations = map[string]web.Confirmation{
	"rotate": {Title: "Rotate the secret of %s?", Button: "Rotate secret",
		Text: "The new secret is shown once. The receiver must know it before the old one ends."},
	"delete": {Title: "Delete the endpoint %s?", Button: "Delete endpoint",
		Text: "Its pending messages are discarded."},
	"enable": {Title: "Discard the held messages of %s?", Button: "Discard and enable",
		Text: "The endpoint gets new messages only."},
}

// endpointConfirmation returns the confirmation of the posted change, and reports whether the change needs one and
// is not confirmed yet.
func endpointConfirmation(req *request) (web.Confirmation, bool) {
	do := req.r.PostForm.Get("do")
	q, ok := endpointConfirmations[do]
	keeps := do == "enable" && req.r.PostForm.Get("held") != string(fieldmark.HeldSkip)
	return q, ok && !keeps && !web.Confirmed(req.r)
}

// update pauses, enables or deletes an endpoint, rotates its secret, or sends a test message.
// One handler serves the forms of the page, which share errors and the page they lead back to.
func (h *webhookHandler) update(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	prefix := ""
	if do := req.r.PostForm.Get("do"); do == "recover" || do == "replay" {
		prefix = do + "-" // both forms have the same inputs
	}
	ctx, id, form := req.r.Context(), req.r.PathValue("id"), req.readForm(prefix)
	if q, ok := endpointConfirmation(req); ok {
		e, err := h.webhooks.Endpoint(ctx, "", id)
		if err != nil {
			return err
		}
		q.Title, q.Back = fmt.Sprintf(q.Title, e.URL), webhooksPath+"/"+id
		return h.confirm(req, q)
	}
	var err error
	switch do := form.posted.Get("do"); do {
	case "pause", "enable":
		patch := fieldmark.EndpointPatch{Reason: form.text("reason", "Reason", maxPauseNote)}
		state := fieldmark.EndpointPaused
		if do == "enable" {
			state = fieldmark.EndpointEnabled
			patch.Held = fieldmark.HeldChoice(form.posted.Get("held"))
		}
		patch.State = &state
		_, err = h.webhooks.PatchEndpoint(ctx, "", id, patch)
	case "change":
		err = h.change(ctx, id, form)
	case "rotate":
		overlap, aerr := strconv.Atoi(form.posted.Get("overlap"))
		if aerr != nil {
			form.addError("overlap", "Choose how long the old secret stays valid.")
			break
		}
		made, rerr := h.webhooks.RotateSecret(ctx, "", id, fieldmark.SecretRequest{OverlapHours: &overlap})
		if rerr == nil {
			h.audit(req, "webhook.secret_rotated", id)
			return h.showEndpoint(req, http.StatusOK, nil, &made, nil)
		}
		err = rerr
	case "ping":
		result, perr := h.webhooks.Ping(ctx, "", id, fieldmark.PingRequest{})
		if perr == nil {
			h.audit(req, "webhook.tested", id)
			return h.showEndpoint(req, http.StatusOK, nil, nil, &result)
		}
		err = perr
	case "recover", "replay":
		bad, rerr := h.startReplay(req, id, form)
		if len(bad) > 0 {
			return h.showEndpoint(req, http.StatusUnprocessableEntity, bad, nil, nil)
		}
		if err = rerr; err == nil {
			h.audit(req, "webhook.replayed", id)
			return req.redirectWithNotice(webhooksPath+"/"+id, "replay")
		}
	case "delete":
		if err = h.webhooks.DeleteEndpoint(ctx, "", id); err == nil {
			h.audit(req, "webhook.deleted", id)
			return req.redirectWithNotice(webhooksPath, "deleted")
		}
	default:
		err = fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown action.")
	}
	if hasCode(err, fieldmark.CodeValidationFailed) {
		form.errors = req.formErrors(err)
	}
	if form.errors != nil {
		return h.showEndpoint(req, http.StatusUnprocessableEntity, form.errors, nil, nil)
	}
	if err != nil {
		return err
	}
	h.audit(req, "webhook.updated", id)
	return req.redirectWithNotice(webhooksPath+"/"+id, "endpoint")
}

// change changes the address, the events, the description or the filter of an endpoint: only those that differ from
// what the form showed, because others may have been changed since. The service validates; here only what a
// form cannot express is checked.
func (h *webhookHandler) change(ctx context.Context, id string, form *form) error {
	url, description := strings.TrimSpace(form.posted.Get("url")), strings.TrimSpace(form.posted.Get("description"))
	events := strings.Fields(form.posted.Get("events"))
	if len(events) == 0 { // the service would keep the previous ones
		form.addError("events", "Events: enter at least one type.")
		return nil
	}
	filter := form.filter()
	if len(form.errors) > 0 {
		return nil
	}
	var p fieldmark.EndpointPatch
	if form.differs("url") {
		p.URL = &url
	}
	if form.differs("events") {
		p.Events = events
	}
	if form.differs("description") {
		p.Description = &description
	}
	if form.differs("labels") {
		if p.Filter = filter; filter == nil {
			p.Filter = &fieldmark.EndpointFilter{} // removes it
		}
	}
	_, err := h.webhooks.PatchEndpoint(ctx, "", id, p)
	return err
}

// differs reports whether a value is another than the form showed, or the form does not say what it showed.
func (f *form) differs(name string) bool {
	// Browsers send line ends as CRLF (HTML, section 4.10.22.6).
	value := func(name string) string { return strings.ReplaceAll(f.posted.Get(name), "\r\n", "\n") }
	return !f.posted.Has(name+"-was") || strings.TrimSpace(value(name)) != strings.TrimSpace(value(name+"-was"))
}

// filter returns the filter of a form; nil without labels.
// The labels are lines of KEY=VALUE.
func (f *form) filter() *fieldmark.EndpointFilter {
	if labels := f.labels(); len(labels) > 0 {
		return &fieldmark.EndpointFilter{Labels: labels}
	}
	return nil
}

// filterLines formats a filter as such a form has it.
// It is the inverse of filter.
func filterLines(f *fieldmark.EndpointFilter) string {
	if f == nil {
		return ""
	}
	return labelLines(f.Labels)
}

// startReplay sends failed messages again, or every event since a time.
// It asks for a confirmation: receivers that do not drop repeated ids act twice.
func (h *webhookHandler) startReplay(req *request, id string, form *form) ([]web.FormError, error) {
	since := form.time("since", "Since")
	if form.posted.Get("confirm") == "" {
		form.addError("confirm", "Confirm that receivers may get messages a second time.")
	}
	if since.IsZero() && len(form.errors) == 0 {
		form.addError("since", "Since: enter a date and a time.")
	}
	if len(form.errors) > 0 {
		return form.errors, nil
	}
	at := fieldmark.At(since)
	r := fieldmark.ReplayRequest{FailedSince: &at}
	if form.posted.Get("do") == "replay" {
		after, err := h.webhooks.Stats.EventBefore(req.r.Context(), since)
		if err != nil {
			return nil, err
		}
		r = fieldmark.ReplayRequest{AfterEvent: &after, MissingOnly: form.posted.Get("missing") != ""}
	}
	_, err := h.webhooks.StartReplay(req.r.Context(), "", id, r)
	return nil, err
}

// deliveryData is one delivery with all its attempts.
type deliveryData struct {
	fieldmark.Delivery
	URL      string
	Attempts []webhook.SentAttempt
	Request  webhook.SentRequest // the next request, before the first attempt
	Pending  bool                // the page reloads itself
}

// getDelivery shows a message with its attempts.
func (h *webhookHandler) getDelivery(req *request) error {
	ctx, id, delivery := req.r.Context(), req.r.PathValue("id"), req.r.PathValue("delivery")
	record, err := h.webhooks.Delivery(ctx, id, delivery)
	if err != nil {
		return err
	}
	pending := record.State == fieldmark.DeliveryDue || record.State == fieldmark.DeliveryWaiting
	d := deliveryData{Delivery: record.Delivery, Pending: pending}
	if e, err := h.webhooks.Endpoint(ctx, "", id); err == nil {
		d.URL = e.URL
	}
	if d.Attempts, err = webhook.SentAttempts(ctx, h.webhooks, id, &record); err != nil {
		return err
	}
	return h.show(req, http.StatusOK, "delivery", web.Page{Title: "Webhook message", Data: d})
}

// resend queues a message again.
func (h *webhookHandler) resend(req *request) error {
	id, delivery := req.r.PathValue("id"), req.r.PathValue("delivery")
	if _, err := h.webhooks.Resend(req.r.Context(), id, delivery); err != nil {
		return err
	}
	h.audit(req, "delivery.resent", delivery)
	return req.redirectWithNotice(webhooksPath+"/"+id+"/deliveries/"+delivery, "resent")
}
