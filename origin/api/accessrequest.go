package api

import (
	"context"
	"net/http"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/accessrequest"
	"github.com/fieldmark/fieldmark/origin/auditlog"
)

// accessRequestAPI serves requests for API keys to their applicants and to administrators.
// The applicant has no account yet: the secret of the request is the credential.
type accessRequestAPI struct {
	*server
	requests *accessrequest.Service
}

// routes are the operations of applicants, who need no key, and of administrators.
func (a *accessRequestAPI) routes() []*route {
	const one, admin = fieldmark.PathAccessRequest, fieldmark.PathAdminAPI + "access-requests"
	id, admins := idParam(fieldmark.PrefixAccess), key(fieldmark.ScopeAdmin)
	return []*route{
		{"POST", fieldmark.PathAccessRequests, anyone,
			handleRaw[fieldmark.AccessRequestForm, fieldmark.NewAccessRequest](a.open), operation{
				id: "openAccessRequest", status: []int{201}, bodyLimit: fieldmark.MaxAccessBody,
				summary: "Request an API key; the secret is shown only once, and later requests have it in place of " +
					"a key"}},
		{"GET", one, applicant, handleParam(bearerParam, a.requests.Status), operation{
			id: "getOwnAccessRequest", summary: "Get the request for an API key that a secret belongs to"}},
		{"POST", one + "/key", applicant, handleCall[none](a.issue), operation{
			id: "issueKey", status: []int{201},
			summary: "Create the key of an approved request; its token is shown only once"}},
		{"GET", admin, admins, handleCall[none](a.list), operation{
			id: "listAccessRequests", summary: "List requests for API keys; newest first", query: accessRequestParams}},
		{"GET", admin + "/{id}", admins, handleParam(id, a.requests.Get), operation{
			id: "getAccessRequest", summary: "Get a request for an API key"}},
		{"POST", admin + "/{id}/approve", admins, handleParamBody(id, a.requests.Approve), operation{
			id:      "approveAccessRequest",
			summary: "Approve a request for an API key; the applicant has the key shown once"}},
		{"POST", admin + "/{id}/decline", admins, handleParamBody(id, a.requests.Decline), operation{
			id: "declineAccessRequest", summary: "Decline a request for an API key; the applicant sees the reason"}},
	}
}

// open stores a request. It needs no key.
// fieldmark.AccessPerDay limits the requests of a network a day. What they contain comes from strangers,
// so the body has a limit below that of other routes.
func (a *accessRequestAPI) open(c *call) error {
	form, err := decodeBody[fieldmark.AccessRequestForm](c)
	if err != nil {
		return err
	}
	opened, err := a.requests.Open(a.acting(c, "anonymous"), a.caller(c.r), form)
	if err != nil {
		return err
	}
	// The page shows the state to anyone who has the address, so the secret in it is the only
	// protection.
	opened.Page = c.w.base + fieldmark.PathAccessPage + "/" + opened.Secret
	c.w.Header().Set("Location", fieldmark.PathAccessRequest)
	return c.send(http.StatusCreated, opened)
}

// issue creates the key of an approved request. Of two calls at once one gets the key, and the token is
// in its response only; an error leaves the request approved, so the applicant can try again.
func (a *accessRequestAPI) issue(c *call) (fieldmark.NewKey, error) {
	secret, err := bearerParam(c)
	if err != nil {
		return fieldmark.NewKey{}, err
	}
	return a.requests.Issue(a.acting(c, "applicant"), secret)
}

// acting returns the context of a call whose caller acts in the audit log.
// There is no key id to name, so the entry has the address and the user agent.
func (a *accessRequestAPI) acting(c *call, name string) context.Context {
	return auditlog.WithActor(c.r.Context(), a.actor(c, name))
}

// accessRequestParams are the query parameters of the list of requests.
// The limit is one below that of the service, because list reads one more to decide whether a page
// follows.
var accessRequestParams = []param{
	{name: "state", description: "Only requests in this state", enum: names(fieldmark.AccessStates())},
	{name: "limit", description: "Requests per page", lowest: 1, highest: accessrequest.MaxPage - 1, preset: 50},
	{name: "cursor", description: "nextCursor of the previous page"},
}

// list lists requests, the newest first. The cursor is the last id of the previous page.
func (a *accessRequestAPI) list(c *call) (page fieldmark.List[fieldmark.AccessRequest], err error) {
	before, limit := c.params.text("cursor"), c.params.number("limit")
	if before != "" && !fieldmark.CheckID(fieldmark.PrefixAccess, before) {
		return page, errInvalidCursor()
	}
	// An id as cursor: requests that arrive meanwhile do not move the next page.
	all, err := a.requests.List(c.r.Context(), fieldmark.AccessState(c.params.text("state")), before, limit+1)
	page = list(all)
	if len(all) > limit {
		page.Data, page.HasMore, page.NextCursor = all[:limit], true, all[limit-1].ID
	}
	c.linkNext(page.NextCursor)
	return page, err
}
