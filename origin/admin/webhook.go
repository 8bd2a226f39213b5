package admin

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
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
const deliveryPageSize = 100

// webhooksData is the webhooks page: the endpoints, the latest deliveries, and the form that creates an
// endpoint.
type webhooksData struct {
	Endpoints  []fieldmark.Endpoint
	Deliveries []deliveryRow
	Accounts   []option
	Form       fieldmark.EndpointRequest
	Newest     string // id of the newest endpoint (see keysData)
	Created    *fieldmark.NewEndpoint
}

// deliveryRow is a delivery with the address of its endpoint, if that still exists.
type deliveryRow struct {
	fieldmark.Delivery
	URL string
}

func (h *webhookHandler) list(req *request) error {
	return h.showWebhooks(req, http.StatusOK, fieldmark.EndpointRequest{Events: []string{fieldmark.AllMissionEvents}},
		nil, nil)
}

func newestEndpoint(endpoints []fieldmark.Endpoint) string {
	if len(endpoints) == 0 {
		return emptyList
	}
	return endpoints[0].ID
}

func (h *webhookHandler) showWebhooks(
	req *request, status int, form fieldmark.EndpointRequest, bad []web.FormError, made *fieldmark.NewEndpoint,
) error {
	endpoints, err := h.webhooks.Endpoints(req.r.Context(), "")
	if err != nil {
		return err
	}
	deliveries, err := h.webhooks.Deliveries(req.r.Context(), webhook.DeliveryPage{Limit: deliveryPageSize})
	if err != nil {
		return err
	}
	address := map[string]string{}
	for _, e := range endpoints {
		address[e.ID] = e.URL
	}
	d := webhooksData{Endpoints: endpoints, Form: form, Newest: newestEndpoint(endpoints), Created: made}
	for _, one := range deliveries.Data {
		d.Deliveries = append(d.Deliveries, deliveryRow{Delivery: one, URL: address[one.EndpointID]})
	}
	if d.Accounts, err = accountChoices(req, h.accounts, req.r.PostForm.Get("account")); err != nil {
		return err
	}
	return h.show(req, status, "webhooks", web.Page{Title: "Webhooks", Errors: bad, Data: d})
}

// create creates an endpoint and shows its secret.
func (h *webhookHandler) create(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	posted := req.r.PostForm
	form := fieldmark.EndpointRequest{URL: strings.TrimSpace(posted.Get("url")),
		Events:      strings.Fields(posted.Get("events")),
		Description: strings.TrimSpace(posted.Get("description"))}
	made, err := h.webhooks.CreateEndpointAfter(req.r.Context(), req.newestSeen(), posted.Get("account"), form)
	if fieldmark.IsCode(err, fieldmark.CodeVersionMismatch) {
		return h.showWebhooks(req, http.StatusConflict, form, staleForm("An endpoint"), nil)
	}
	if hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeNotFound) {
		return h.showWebhooks(req, http.StatusUnprocessableEntity, form, req.formErrors(err), nil)
	}
	if err != nil {
		return err
	}
	h.audit(req, "endpoint.create", made.ID)
	return h.showWebhooks(req, http.StatusOK, fieldmark.EndpointRequest{Events: []string{fieldmark.AllMissionEvents}},
		nil, &made)
}

// endpointData is one endpoint with its latest deliveries.
type endpointData struct {
	fieldmark.Endpoint
	Deliveries []fieldmark.Delivery
	Next       string // the address of the next page
	States     []option
	Rotated    *fieldmark.NewEndpoint // with the new secret
	Ping       *fieldmark.PingResult
}

func (h *webhookHandler) get(req *request) error {
	return h.showEndpoint(req, http.StatusOK, nil, nil, nil)
}

func (h *webhookHandler) showEndpoint(
	req *request, status int, bad []web.FormError, made *fieldmark.NewEndpoint, ping *fieldmark.PingResult,
) error {
	id := req.r.PathValue("id")
	e, err := h.webhooks.Endpoint(req.r.Context(), "", id)
	if err != nil {
		return err
	}
	query := req.r.URL.Query()
	state := fieldmark.DeliveryState(query.Get("state"))
	list, err := h.webhooks.Deliveries(req.r.Context(), webhook.DeliveryPage{
		Endpoint: id, State: state, Cursor: query.Get("cursor"), Limit: deliveryPageSize,
	})
	if err != nil {
		return err
	}
	d := endpointData{Endpoint: e, Deliveries: list.Data, Rotated: made, Ping: ping}
	d.EndpointSettings = d.EndpointSettings.Shown()
	for _, s := range fieldmark.DeliveryStates() {
		d.States = append(d.States, option{Value: string(s), Label: string(s), Selected: s == state})
	}
	if list.HasMore {
		d.Next = webhooksPath + "/" + id + "?state=" + string(state) + "&cursor=" + list.NextCursor
	}
	return h.show(req, status, "endpoint", web.Page{Title: "Webhook endpoint", Errors: bad, Data: d})
}

// update pauses, enables or deletes an endpoint, rotates its secret, or sends a test message.
func (h *webhookHandler) update(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	ctx, id, form := req.r.Context(), req.r.PathValue("id"), req.readForm("")
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
	case "rotate":
		overlap, aerr := strconv.Atoi(form.posted.Get("overlap"))
		if aerr != nil {
			return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Choose how long the old secret stays valid.")
		}
		made, rerr := h.webhooks.RotateSecret(ctx, "", id, fieldmark.SecretRequest{OverlapHours: &overlap})
		if rerr == nil {
			h.audit(req, "endpoint.rotate_secret", id)
			return h.showEndpoint(req, http.StatusOK, nil, &made, nil)
		}
		err = rerr
	case "ping":
		result, perr := h.webhooks.Ping(ctx, "", id, fieldmark.PingRequest{})
		if perr == nil {
			h.audit(req, "endpoint.test", id)
			return h.showEndpoint(req, http.StatusOK, nil, nil, &result)
		}
		err = perr
	case "delete":
		if err = h.webhooks.DeleteEndpoint(ctx, "", id); err == nil {
			h.audit(req, "endpoint.delete", id)
			return req.redirectWithNotice(webhooksPath, "deleted")
		}
	default:
		err = fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown action.")
	}
	if hasCode(err, fieldmark.CodeValidationFailed) {
		return h.showEndpoint(req, http.StatusUnprocessableEntity, req.formErrors(err), nil, nil)
	}
	if err != nil {
		return err
	}
	h.audit(req, "endpoint.update", id)
	return req.redirectWithNotice(webhooksPath+"/"+id, "endpoint")
}

// deliveryData is one delivery with all its attempts.
type deliveryData struct {
	fieldmark.Delivery
	URL      string
	Attempts []attemptRow
	Request  webhook.SentRequest // the next request, before the first attempt
	Pending  bool                // the page reloads itself
}

// attemptRow is an attempt with its request.
type attemptRow struct {
	fieldmark.DeliveryAttempt
	Request webhook.SentRequest
}

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
	for _, one := range record.Log {
		line := attemptRow{DeliveryAttempt: one}
		if line.Request, err = h.webhooks.RequestOf(ctx, id, delivery, one.At.Std()); err != nil &&
			!fieldmark.IsCode(err, fieldmark.CodeNotFound) {
			return err
		}
		d.Attempts = append(d.Attempts, line)
	}
	return h.show(req, http.StatusOK, "delivery", web.Page{Title: "Webhook message", Data: d})
}

func (h *webhookHandler) resend(req *request) error {
	id, delivery := req.r.PathValue("id"), req.r.PathValue("delivery")
	if _, err := h.webhooks.Resend(req.r.Context(), id, delivery); err != nil {
		return err
	}
	h.audit(req, "delivery.resend", delivery)
	return req.redirectWithNotice(webhooksPath+"/"+id+"/deliveries/"+delivery, "resent")
}
