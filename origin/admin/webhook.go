package admin

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// newestDeliveries is how many deliveries a page looks at.
const newestDeliveries = 100

// webhooksData is the endpoints, what was lately sent to them, and the form for
// another.
type webhooksData struct {
	Endpoints  []fieldmark.Endpoint
	Deliveries []deliveryLine
	Accounts   []choice
	Form       fieldmark.EndpointRequest
	Newest     string // id of the endpoint made last, as with keys
	Made       *fieldmark.NewEndpoint
}

// deliveryLine is a delivery with the address it goes to, if that is still known.
type deliveryLine struct {
	fieldmark.Delivery
	URL string
}

func (a *area) webhooks(v *visit) error {
	return a.showWebhooks(v, http.StatusOK, fieldmark.EndpointRequest{Events: []string{fieldmark.AllMissionEvents}}, nil, nil)
}

func newestEndpoint(endpoints []fieldmark.Endpoint) string {
	if len(endpoints) == 0 {
		return noneYet
	}
	return endpoints[0].ID
}

func (a *area) showWebhooks(v *visit, status int, form fieldmark.EndpointRequest, bad []complaint, made *fieldmark.NewEndpoint) error {
	endpoints, err := a.origin.Webhooks.Endpoints(v.r.Context(), "")
	if err != nil {
		return err
	}
	deliveries, err := a.origin.Webhooks.Deliveries(v.r.Context(), webhook.DeliveryPage{Limit: newestDeliveries})
	if err != nil {
		return err
	}
	address := map[string]string{}
	for _, e := range endpoints {
		address[e.ID] = e.URL
	}
	d := webhooksData{Endpoints: endpoints, Form: form, Newest: newestEndpoint(endpoints), Made: made}
	for _, one := range deliveries.Data {
		d.Deliveries = append(d.Deliveries, deliveryLine{Delivery: one, URL: address[one.EndpointID]})
	}
	if d.Accounts, err = a.accountChoices(v, v.r.PostForm.Get("account")); err != nil {
		return err
	}
	return a.show(v, status, "webhooks", page{Title: "Webhooks", Complaints: bad, Data: d})
}

// createEndpoint makes an endpoint and shows its secret, this once.
func (a *area) createEndpoint(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	posted := v.r.PostForm
	form := fieldmark.EndpointRequest{URL: strings.TrimSpace(posted.Get("url")), Events: strings.Fields(posted.Get("events")),
		Description: strings.TrimSpace(posted.Get("description"))}
	made, err := a.origin.Webhooks.CreateEndpointAfter(v.r.Context(), v.newest(), posted.Get("account"), form)
	if fieldmark.IsCode(err, fieldmark.CodeVersionMismatch) {
		return a.showWebhooks(v, http.StatusConflict, form, complain("An endpoint was created after this form was opened. Check the list, and submit again if you still want another."), nil)
	}
	if e := fieldmark.AsError(err); err != nil && (e.Code == fieldmark.CodeValidationFailed || e.Code == fieldmark.CodeNotFound) {
		return a.showWebhooks(v, http.StatusUnprocessableEntity, form, v.complaintsOf(e), nil)
	}
	if err != nil {
		return err
	}
	a.did(v, "endpoint.create", made.ID)
	return a.showWebhooks(v, http.StatusOK, fieldmark.EndpointRequest{Events: []string{fieldmark.AllMissionEvents}}, nil, &made)
}

// endpointData is one endpoint with what was lately sent to it.
type endpointData struct {
	fieldmark.Endpoint
	Deliveries []fieldmark.Delivery
	Next       string // the address of the next page
	States     []choice
	Made       *fieldmark.NewEndpoint // its secret was just rotated
	Ping       *fieldmark.PingResult
}

func (a *area) endpoint(v *visit) error { return a.showEndpoint(v, http.StatusOK, nil, nil, nil) }

func (a *area) showEndpoint(v *visit, status int, bad []complaint, made *fieldmark.NewEndpoint, ping *fieldmark.PingResult) error {
	id := v.r.PathValue("id")
	e, err := a.origin.Webhooks.Endpoint(v.r.Context(), "", id)
	if err != nil {
		return err
	}
	asked := v.r.URL.Query()
	state := fieldmark.DeliveryState(asked.Get("state"))
	list, err := a.origin.Webhooks.Deliveries(v.r.Context(), webhook.DeliveryPage{Endpoint: id, State: state, Cursor: asked.Get("cursor"), Limit: newestDeliveries})
	if err != nil {
		return err
	}
	d := endpointData{Endpoint: e, Deliveries: list.Data, Made: made, Ping: ping}
	d.EndpointSettings = d.EndpointSettings.Shown()
	for _, s := range fieldmark.DeliveryStates() {
		d.States = append(d.States, choice{Value: string(s), Label: string(s), Chosen: s == state})
	}
	if list.HasMore {
		d.Next = hooksPath + "/" + id + "?state=" + string(state) + "&cursor=" + list.NextCursor
	}
	return a.show(v, status, "endpoint", page{Title: "Webhook endpoint", Complaints: bad, Data: d})
}

// changeEndpoint does what a button says: pause, enable, rotate, ping, delete.
func (a *area) changeEndpoint(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	ctx, id, form := v.r.Context(), v.r.PathValue("id"), v.fields("")
	var err error
	switch do := form.posted.Get("do"); do {
	case "pause", "enable":
		patch := fieldmark.EndpointPatch{Reason: form.text("reason", "The reason", maxPauseNote)}
		state := fieldmark.EndpointPaused
		if do == "enable" {
			state = fieldmark.EndpointEnabled
			patch.Held = fieldmark.HeldChoice(form.posted.Get("held"))
		}
		patch.State = &state
		_, err = a.origin.Webhooks.PatchEndpoint(ctx, "", id, patch)
	case "rotate":
		overlap, aerr := strconv.Atoi(form.posted.Get("overlap"))
		if aerr != nil {
			return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Choose how long the old secret stays valid.")
		}
		made, rerr := a.origin.Webhooks.RotateSecret(ctx, "", id, fieldmark.SecretRequest{OverlapHours: &overlap})
		if rerr == nil {
			a.did(v, "endpoint.rotate_secret", id)
			return a.showEndpoint(v, http.StatusOK, nil, &made, nil)
		}
		err = rerr
	case "ping":
		result, perr := a.origin.Webhooks.Ping(ctx, "", id, fieldmark.PingRequest{})
		if perr == nil {
			a.did(v, "endpoint.test", id)
			return a.showEndpoint(v, http.StatusOK, nil, nil, &result)
		}
		err = perr
	case "delete":
		if err = a.origin.Webhooks.DeleteEndpoint(ctx, "", id); err == nil {
			a.did(v, "endpoint.delete", id)
			return v.done(hooksPath, "deleted")
		}
	default:
		err = fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown action.")
	}
	if e := fieldmark.AsError(err); err != nil && e.Code == fieldmark.CodeValidationFailed {
		return a.showEndpoint(v, http.StatusUnprocessableEntity, v.complaintsOf(e), nil, nil)
	}
	if err != nil {
		return err
	}
	a.did(v, "endpoint.update", id)
	return v.done(hooksPath+"/"+id, "endpoint")
}

// deliveryData is one message with every attempt.
type deliveryData struct {
	fieldmark.Delivery
	URL      string
	Attempts []attemptLine
	Request  webhook.SentRequest // as it is now, where nothing was tried yet
	Live     bool                // something may still happen: the page looks again by itself
}

// attemptLine is an attempt with the request that was sent.
type attemptLine struct {
	fieldmark.DeliveryAttempt
	Request webhook.SentRequest
}

func (a *area) delivery(v *visit) error {
	ctx, id, delivery := v.r.Context(), v.r.PathValue("id"), v.r.PathValue("delivery")
	record, err := a.origin.Webhooks.Delivery(ctx, id, delivery)
	if err != nil {
		return err
	}
	d := deliveryData{Delivery: record.Delivery, Live: record.State == fieldmark.DeliveryDue || record.State == fieldmark.DeliveryWaiting}
	if e, err := a.origin.Webhooks.Endpoint(ctx, "", id); err == nil {
		d.URL = e.URL
	}
	for _, one := range record.Log {
		line := attemptLine{DeliveryAttempt: one}
		if line.Request, err = a.origin.Webhooks.RequestOf(ctx, id, delivery, one.At.Std()); err != nil && !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
			return err
		}
		d.Attempts = append(d.Attempts, line)
	}
	return a.show(v, http.StatusOK, "delivery", page{Title: "Webhook message", Data: d})
}

func (a *area) resend(v *visit) error {
	id, delivery := v.r.PathValue("id"), v.r.PathValue("delivery")
	if _, err := a.origin.Webhooks.Resend(v.r.Context(), id, delivery); err != nil {
		return err
	}
	a.did(v, "delivery.resend", delivery)
	return v.done(hooksPath+"/"+id+"/deliveries/"+delivery, "resent")
}
