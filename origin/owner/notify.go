package owner

import (
	"context"
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/claim"
	"github.com/fieldmark/fieldmark/origin/mail"
	"github.com/fieldmark/fieldmark/origin/web"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// deliveryPageSize is the number of deliveries that a page shows.
// The page has no further ones: it shows whether an endpoint works, and the API lists all.
const deliveryPageSize = 50

// notifyData is the page of how an owner is notified.
type notifyData struct {
	Feed      string // address of the Atom feed
	Mail      bool   // mail is sent
	Addresses []mail.Address
	Address   string // of the form
	Endpoints []fieldmark.Endpoint
	Newest    string              // id of the newest endpoint, so that a form that is submitted twice creates one
	Open      *fieldmark.Endpoint // whose deliveries are shown
	Sent      []fieldmark.Delivery
	Created   *fieldmark.NewEndpoint
	Ping      *fieldmark.PingResult
	URL       string // of the form
	Threshold string // of the form
}

func (h *handler) notifications(req *request) error { return h.showNotify(req, http.StatusOK, nil) }

// showNotify shows the page with the values of a form that was refused.
func (h *handler) showNotify(req *request, status int, bad []web.FormError) error {
	return h.showEndpoints(req, status, bad, notifyData{URL: req.r.PostForm.Get("url"),
		Threshold: req.r.PostForm.Get("threshold"), Address: req.r.PostForm.Get("address")})
}

// showEndpoints reads the addresses and endpoints of the page. d has what the caller already
// has, such as a new secret.
func (h *handler) showEndpoints(req *request, status int, bad []web.FormError, d notifyData) error {
	d.Feed = h.BaseURL(req.r) + fieldmark.PathBrandPage + string(req.slug) + "/feed.atom"
	var err error
	if d.Mail = h.origin.Mail.Enabled(); d.Mail {
		if d.Addresses, err = h.origin.Mail.List(req.r.Context(), req.key.Account, req.slug); err != nil {
			return err
		}
	}
	if d.Endpoints, err = h.origin.Webhooks.Endpoints(req.r.Context(), req.key.Account); err != nil {
		return err
	}
	d.Newest = web.NewestID(d.Endpoints, endpointID)
	// The endpoint must be of the account: Endpoint is CodeNotFound for one of another.
	if id := req.r.PathValue("id"); id != "" {
		e, err := h.origin.Webhooks.Endpoint(req.r.Context(), req.key.Account, id)
		if err != nil {
			return err
		}
		sent, err := h.origin.Webhooks.Deliveries(req.r.Context(), webhook.DeliveryPage{Endpoint: id,
			Limit: deliveryPageSize})
		if err != nil {
			return err
		}
		d.Open, d.Sent = &e, sent.Data
	}
	return h.show(req, status, "notifications", web.Page{Title: "Notifications", Errors: bad, Data: &d})
}

func endpointID(e *fieldmark.Endpoint) string { return e.ID }

// brandEvents are the events that an owner expects of a new endpoint.
var brandEvents = []string{string(fieldmark.EventScoreChanged), string(fieldmark.EventRankChanged),
	string(fieldmark.EventBrandAudited), "dispute.*", "claim.*"}

// createEndpoint creates an endpoint and shows its secret.
// The secret is in this response only; the page says so.
func (h *handler) createEndpoint(req *request) error {
	posted := req.r.PostForm
	// The endpoint receives events of this brand only, also if the account has several.
	r := fieldmark.EndpointRequest{URL: strings.TrimSpace(posted.Get("url")), Events: brandEvents,
		Description: "Brand " + string(req.slug)}
	r.Brands = []fieldmark.Slug{req.slug}
	if text := strings.TrimSpace(posted.Get("threshold")); text != "" {
		var m fieldmark.Milli
		if err := m.UnmarshalJSON([]byte(text)); err != nil {
			return h.showNotify(req, http.StatusUnprocessableEntity, []web.FormError{{Field: "threshold",
				Text: "Threshold: must be a number of points, such as 1 or 2.5."}})
		}
		r.ScoreThreshold = &m
	}
	// The service cannot distinguish a second click from a second request: endpoints have no natural
	// key. The form therefore names the newest one that its page showed.
	seen := webhook.Listed{Newest: web.SeenID(posted), Account: req.key.Account}
	made, err := h.origin.Webhooks.CreateEndpointAfter(req.r.Context(), seen, req.key.Account, r)
	if fieldmark.IsCode(err, fieldmark.CodeVersionMismatch) { // the form was submitted twice
		return h.showNotify(req, http.StatusConflict, web.ErrorOf("An endpoint was created after this form was "+
			"opened. Check the list, and submit again if you still want another."))
	}
	if err != nil {
		return refuse(req, err, h.showNotify)
	}
	return h.showEndpoints(req, http.StatusOK, nil, notifyData{Created: &made})
}

// changeEndpoint sends a test message, resends a delivery, or deletes an endpoint.
func (h *handler) changeEndpoint(req *request) error {
	ctx, id := req.r.Context(), req.r.PathValue("id")
	e, err := h.origin.Webhooks.Endpoint(ctx, req.key.Account, id)
	if err != nil {
		return err
	}
	switch do := req.r.PostForm.Get("do"); do {
	case "delete":
		if !web.Confirmed(req.r) {
			return req.confirm(h, web.Confirmation{
				Title: "Delete the endpoint " + e.URL + "?", Button: "Delete endpoint",
				Text: "Its pending messages are discarded.", Back: "/notifications/" + id})
		}
		if err := h.origin.Webhooks.DeleteEndpoint(ctx, req.key.Account, id); err != nil {
			return err
		}
		return req.done("/notifications", "deleted")
	case "ping":
		result, err := h.origin.Webhooks.Ping(ctx, req.key.Account, id, fieldmark.PingRequest{})
		if err != nil {
			return refuse(req, err, h.showNotify)
		}
		return h.showEndpoints(req, http.StatusOK, nil, notifyData{Ping: &result})
	default:
		// do is the id of a delivery. The service refuses one of another endpoint.
		if _, err := h.origin.Webhooks.Resend(ctx, id, do); err != nil {
			return refuse(req, err, h.showNotify)
		}
		return req.done("/notifications/"+id, "resent")
	}
}

// changeMail adds an address that receives a digest, or removes one.
// An address must be confirmed by a link in a mail: an owner cannot subscribe someone else.
func (h *handler) changeMail(req *request) (err error) {
	notice := "mail"
	if id := req.r.PostForm.Get("remove"); id != "" {
		notice, err = "unmailed", h.origin.Mail.Remove(req.r.Context(), req.key.Account, req.slug, id)
	} else {
		err = h.origin.Mail.Add(req.r.Context(), req.key.Account, req.slug, req.r.PostForm.Get("address"))
	}
	if err != nil {
		return refuse(req, err, h.showNotify)
	}
	return req.done("/notifications", notice)
}

// mailLink is a page that mail links to. Its button acts: programs that scan mail load every
// link.
// The token in its address is the credential, so neither needs a session.
type mailLink struct {
	title, text, button, done string
	act                       func(*mail.Service, context.Context, string) error
}

var mailLinks = map[string]mailLink{
	mail.ConfirmPath: {"Confirm this address", "It then receives a digest of changes of the brand, at most one a day.",
		"Confirm", "The address is confirmed. Every mail has a link to unsubscribe.", (*mail.Service).Confirm},
	mail.UnsubscribePath: {"Unsubscribe", "This address then receives no more mail about the brand.", "Unsubscribe",
		"The address is unsubscribed.", (*mail.Service).Unsubscribe},
}

func (h *handler) showMailLink(req *request, l mailLink) error {
	return h.show(req, http.StatusOK, "mail", web.Page{Title: l.title, Data: map[string]string{
		"Text": l.text, "Button": l.button, "Action": req.r.URL.RequestURI()}})
}

// followMailLink acts for the token in the address. Mail programs unsubscribe without a session
// and without opening the page (RFC 8058).
func (h *handler) followMailLink(req *request, l mailLink) error {
	if err := l.act(h.origin.Mail, req.r.Context(), req.r.URL.Query().Get("token")); err != nil {
		return err
	}
	h.showMessage(req, http.StatusOK, l.title, l.done)
	return nil
}

// claimData is the page of the claim of a brand.
type claimData struct {
	Claim    fieldmark.Claim
	Transfer *fieldmark.ClaimTransfer // the code, shown only once
}

func (h *handler) claim(req *request) error { return h.showClaim(req, http.StatusOK, nil, nil) }

func (h *handler) showClaim(req *request, status int, bad []web.FormError, t *fieldmark.ClaimTransfer) error {
	c, err := h.origin.Claims.OfBrand(req.r.Context(), req.key.Account, req.slug)
	if err != nil {
		return err
	}
	return h.show(req, status, "claim", web.Page{Title: "Claim", Errors: bad, Data: claimData{c, t}})
}

// changeClaim checks the proofs, answers a contest, offers a transfer or withdraws the claim.
// The service checks the state of the claim again: the page may be old.
func (h *handler) changeClaim(req *request) error {
	ctx, by := req.r.Context(), claim.Caller{Account: req.key.Account}
	c, err := h.origin.Claims.OfBrand(ctx, req.key.Account, req.slug)
	if err != nil {
		return err
	}
	switch req.r.PostForm.Get("do") {
	case "verify":
		_, err = h.origin.Claims.Verify(ctx, c.ID, by)
	case "object":
		_, err = h.origin.Claims.Object(ctx, c.ID, by)
	case "transfer":
		var t fieldmark.ClaimTransfer
		if t, err = h.origin.Claims.Transfer(ctx, c.ID, by); err == nil {
			return h.showClaim(req, http.StatusOK, nil, &t)
		}
	case "withdraw":
		// The slug is typed as confirmation: with the claim the owner loses access, and another
		// claim takes a new proof.
		if req.r.PostForm.Get("confirm") != string(req.slug) {
			return h.showClaim(req, http.StatusUnprocessableEntity, []web.FormError{{Field: "confirm",
				Text: "Type " + string(req.slug) + " to confirm."}}, nil)
		}
		if err = h.origin.Claims.Withdraw(ctx, c.ID, by); err == nil {
			// The session has no brand any more.
			http.Redirect(req.w, req.r, signInPath, http.StatusSeeOther)
			return nil
		}
	default:
		err = fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown action.")
	}
	if err != nil {
		return refuse(req, err, func(req *request, status int, bad []web.FormError) error {
			return h.showClaim(req, status, bad, nil)
		})
	}
	return req.done("/claim", "checked")
}
