package portal

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/web"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// pageSize is the number of messages on a page.
const pageSize = 50

// localMinute is the format of inputs of the type datetime-local, in UTC.
const localMinute = "2006-01-02T15:04"

// inputs maps pointers of errors to the inputs of the forms.
var inputs = map[string]web.Input{"/url": {"url", "Address"}, "/events": {"events", "Events"},
	"/description": {"description", "Description"}, "/reason": {"reason", "Reason"}, "/held": {"held", "Held messages"}}

// endpoints lists the endpoints of the session, the newest first.
func (h *handler) endpoints(req *request) ([]fieldmark.Endpoint, error) {
	list, err := h.Webhooks.Endpoints(req.r.Context(), req.link.Account)
	return slices.DeleteFunc(list, func(e fieldmark.Endpoint) bool { return !opens(&req.link, &e) }), err
}

// endpointOf returns the endpoint in the path. One outside the session does not exist for it.
// An id of another customer has the same response as one that does not exist, so that ids cannot be
// probed.
func (h *handler) endpointOf(req *request) (fieldmark.Endpoint, error) {
	e, err := h.Webhooks.Endpoint(req.r.Context(), req.link.Account, req.r.PathValue("id"))
	if err == nil && !opens(&req.link, &e) {
		err = fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such endpoint")
	}
	return e, err
}

// homeData is the list of endpoints and the form that creates one.
type homeData struct {
	Endpoints   []fieldmark.Endpoint
	CanCreate   bool
	Filter      *fieldmark.EndpointFilter // of a new endpoint
	EventTypes  []event.Kind
	Newest      string // id of the newest endpoint, so that a form that is submitted twice creates one
	Created     *fieldmark.NewEndpoint
	URL, Events string // of the form
	Description string // of the form
}

// home shows the list and an empty form.
func (h *handler) home(req *request) error {
	return h.showHome(req, http.StatusOK, nil, homeData{Events: fieldmark.AllMissionEvents})
}

// showHome also shows the page again after an error. A link that is read-only or names its endpoints has
// no form.
func (h *handler) showHome(req *request, status int, bad []web.FormError, d homeData) (err error) {
	if d.Endpoints, err = h.endpoints(req); err != nil {
		return err
	}
	d.CanCreate = !req.link.ReadOnly && len(req.link.Endpoints) == 0
	d.Filter, d.Newest = req.link.Filter, web.NewestID(d.Endpoints, endpointID)
	for _, k := range event.Kinds() {
		// The filter is by labels of missions, so other events never match it.
		if d.Filter == nil || k.Type.AboutMission() {
			d.EventTypes = append(d.EventTypes, k)
		}
	}
	return h.show(req, status, "home", web.Page{Title: "Webhook endpoints", Errors: bad, Data: &d})
}

func endpointID(e *fieldmark.Endpoint) string { return e.ID }

// create creates an endpoint of the customer with the filter of the link, and shows its secret.
// Customer and filter come from the link, never from the form: the customer could change a form.
func (h *handler) create(req *request) error {
	if len(req.link.Endpoints) > 0 {
		h.showMessage(req, http.StatusForbidden, "This link creates no endpoints", "")
		return nil
	}
	posted := req.r.PostForm
	d := homeData{URL: strings.TrimSpace(posted.Get("url")), Events: strings.TrimSpace(posted.Get("events")),
		Description: strings.TrimSpace(posted.Get("description"))}
	// Only the list of the session is compared: endpoints of other customers would reject the form.
	seen := webhook.Listed{Newest: web.SeenID(posted), Account: req.link.Account,
		Shows: func(e *fieldmark.Endpoint) bool { return opens(&req.link, e) }}
	made, err := h.Webhooks.CreateEndpointAfter(req.r.Context(), seen, req.link.Account,
		fieldmark.EndpointRequest{URL: d.URL, Events: strings.Fields(d.Events), Description: d.Description,
			EndpointSettings: fieldmark.EndpointSettings{Customer: req.link.Customer, Filter: req.link.Filter}})
	if fieldmark.IsCode(err, fieldmark.CodeVersionMismatch) { // the form was submitted twice
		return h.showHome(req, http.StatusConflict, web.ErrorOf("An endpoint was created after this form was "+
			"opened. Check the list, and submit again if you still want another."), d)
	}
	if bad := rejection(err, ""); bad != nil {
		return h.showHome(req, statusOf(err), bad, d)
	}
	if err != nil {
		return err
	}
	return h.showHome(req, http.StatusOK, nil, homeData{Created: &made, Events: fieldmark.AllMissionEvents})
}

// statusOf is the status of an error; 500 for one without a code.
func statusOf(err error) int { return fieldmark.AsError(err).Code.Status() }

// rejection returns what is wrong with a form; nil if err is no error of a form.
func rejection(err error, prefix string) []web.FormError {
	if err == nil || statusOf(err) != http.StatusUnprocessableEntity && !fieldmark.IsCode(err, fieldmark.CodeTooMany) {
		return nil
	}
	return web.FormErrors(err, inputs, prefix)
}

// endpointData is one endpoint with its messages.
type endpointData struct {
	fieldmark.Endpoint
	Page       string // path
	Deliveries []fieldmark.Delivery
	Filter     messageFilter
	Replays    []fieldmark.Replay
	Replaying  bool   // the page reloads itself
	DayAgo     string // for the forms of replays
	Ping       *fieldmark.PingResult
}

// messageFilter is the form that filters messages.
type messageFilter struct {
	Action string // address of the page
	Type   string // of the event, or a prefix and .*
	States []option
	Next   string // address of the next page
}

// option is a choice of an input.
type option struct {
	Value, Label string
	Selected     bool
}

// endpoint shows an endpoint with its messages.
func (h *handler) endpoint(req *request) error { return h.showEndpoint(req, http.StatusOK, nil, nil) }

// showEndpoint also shows the page again after an error, and with the result of a test message.
func (h *handler) showEndpoint(req *request, status int, bad []web.FormError, ping *fieldmark.PingResult) error {
	e, err := h.endpointOf(req)
	if err != nil {
		return err
	}
	ctx, query := req.r.Context(), req.r.URL.Query()
	d := endpointData{Endpoint: e, Page: endpointsPath + "/" + e.ID, Ping: ping,
		DayAgo: time.Now().UTC().Add(-24 * time.Hour).Format(localMinute)}
	d.Filter = messageFilter{Action: d.Page, Type: strings.TrimSpace(query.Get("type"))}
	state := fieldmark.DeliveryState(query.Get("state"))
	for _, s := range append(fieldmark.DeliveryStates(), fieldmark.DeliveryHeld) {
		d.Filter.States = append(d.Filter.States, option{string(s), string(s), s == state})
	}
	list, err := h.Webhooks.Stats.Search(ctx, webhook.DeliveryPage{Endpoint: e.ID, State: state,
		Type: d.Filter.Type, Cursor: query.Get("cursor"), Limit: pageSize})
	if err != nil {
		return err
	}
	d.Deliveries = list.Data
	if list.HasMore {
		d.Filter.Next = d.Page + "?" + url.Values{"state": {string(state)}, "type": {d.Filter.Type},
			"cursor": {list.NextCursor}}.Encode()
	}
	if d.Replays, err = h.Webhooks.Replays(ctx, req.link.Account, e.ID); err != nil {
		return err
	}
	d.Replaying = slices.ContainsFunc(d.Replays, func(r fieldmark.Replay) bool {
		return r.State == fieldmark.ReplayRunning
	})
	return h.show(req, status, "endpoint", web.Page{Title: "Webhook endpoint", Errors: bad, Data: &d})
}

// change tests, pauses or enables an endpoint, or starts a replay.
func (h *handler) change(req *request) error {
	e, err := h.endpointOf(req)
	if err != nil {
		return err
	}
	ctx, posted, page := req.r.Context(), req.r.PostForm, endpointsPath+"/"+e.ID
	switch do := posted.Get("do"); do {
	case "ping":
		result, err := h.Webhooks.Ping(ctx, req.link.Account, e.ID, fieldmark.PingRequest{})
		if err == nil {
			err = h.AuditLog.AppendIfNone(ctx, "webhook.tested", e.ID)
		}
		if err != nil {
			return err
		}
		return h.showEndpoint(req, http.StatusOK, nil, &result)
	// An endpoint that was disabled after failures is enabled in the same way.
	case "pause", "enable":
		state, notice := fieldmark.EndpointPaused, "paused"
		p := fieldmark.EndpointPatch{State: &state, Reason: strings.TrimSpace(posted.Get("reason"))}
		if do == "enable" {
			state, notice, p.Reason = fieldmark.EndpointEnabled, "enabled", ""
		}
		_, err := h.Webhooks.PatchEndpoint(ctx, req.link.Account, e.ID, p)
		if bad := rejection(err, ""); bad != nil {
			return h.showEndpoint(req, statusOf(err), bad, nil)
		}
		if err != nil {
			return err
		}
		return req.done(page, notice)
	case "recover", "replay":
		return h.replay(req, &e, do)
	}
	return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown action.")
}

// replay sends failed messages again, or every event since a time.
// A receiver may get messages twice, so the form needs a confirmation.
func (h *handler) replay(req *request, e *fieldmark.Endpoint, do string) error {
	ctx, posted := req.r.Context(), req.r.PostForm
	req.prefix = do + "-" // both forms have the same inputs
	var bad []web.FormError
	since, err := time.Parse(localMinute, strings.TrimSpace(posted.Get("since")))
	if err != nil {
		bad = append(bad, web.FormError{Field: req.prefix + "since", Text: "Since: enter a date and a time."})
	}
	if posted.Get("confirm") == "" {
		bad = append(bad, web.FormError{Field: req.prefix + "confirm",
			Text: "Confirm that the receiver may get messages a second time."})
	}
	if bad != nil {
		return h.showEndpoint(req, http.StatusUnprocessableEntity, bad, nil)
	}
	at := fieldmark.At(since)
	r := fieldmark.ReplayRequest{FailedSince: &at}
	if do == "replay" {
		// A replay begins after an event, but people know times.
		after, err := h.Webhooks.Stats.EventBefore(ctx, since)
		if err != nil {
			return err
		}
		r = fieldmark.ReplayRequest{AfterEvent: &after, MissingOnly: posted.Get("missing") != ""}
	}
	_, err = h.Webhooks.StartReplay(ctx, req.link.Account, e.ID, r)
	if bad := rejection(err, req.prefix); bad != nil {
		return h.showEndpoint(req, statusOf(err), bad, nil)
	}
	if err == nil {
		err = h.AuditLog.AppendIfNone(ctx, "webhook.replayed", e.ID)
	}
	if err != nil {
		return err
	}
	return req.done(endpointsPath+"/"+e.ID, "replay")
}

// deliveryData is one message with all its attempts.
type deliveryData struct {
	fieldmark.Delivery
	URL      string // of the endpoint
	Page     string // path of the endpoint
	Attempts []webhook.SentAttempt
	Pending  bool // the page reloads itself
}

// delivery shows a message.
func (h *handler) delivery(req *request) error {
	e, err := h.endpointOf(req)
	if err != nil {
		return err
	}
	ctx, id := req.r.Context(), req.r.PathValue("delivery")
	record, err := h.Webhooks.Delivery(ctx, e.ID, id)
	if err != nil {
		return err
	}
	d := deliveryData{Delivery: record.Delivery, URL: e.URL, Page: endpointsPath + "/" + e.ID,
		Pending: record.State == fieldmark.DeliveryDue || record.State == fieldmark.DeliveryWaiting}
	if d.Attempts, err = webhook.SentAttempts(ctx, h.Webhooks, e.ID, &record); err != nil {
		return err
	}
	return h.show(req, http.StatusOK, "delivery", web.Page{Title: "Webhook message", Data: &d})
}

// resend sends a message again.
// The message keeps its id, by which a receiver recognizes a repetition.
func (h *handler) resend(req *request) error {
	e, err := h.endpointOf(req)
	if err != nil {
		return err
	}
	id := req.r.PathValue("delivery")
	if _, err = h.Webhooks.Resend(req.r.Context(), e.ID, id); err == nil {
		err = h.AuditLog.AppendIfNone(req.r.Context(), "delivery.resent", id)
	}
	if err != nil {
		return err
	}
	return req.done(endpointsPath+"/"+e.ID+"/deliveries/"+id, "resent")
}
