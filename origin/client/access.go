package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/fieldmark/fieldmark"
)

// AccessRequestAPI contains the calls of those who request an API key, which take the secret of the
// request, and of administrators, which use the key of the client.
type AccessRequestAPI struct {
	*caller
	client string // HeaderClient, for edges
}

// For returns the calls on behalf of the client with an address, as an edge makes them: the origin
// counts requests by client network. It needs the node token.
func (c AccessRequestAPI) For(address string) AccessRequestAPI {
	return AccessRequestAPI{c.caller, address}
}

// OpenAccessRequest requests an API key. The secret is in no later response.
func (c AccessRequestAPI) OpenAccessRequest(ctx context.Context,
	r fieldmark.AccessRequestForm) (opened fieldmark.NewAccessRequest, err error) {
	_, err = c.do(ctx, call{method: http.MethodPost, path: fieldmark.PathAccessRequests, body: r, client: c.client},
		&opened)
	return opened, err
}

// AccessStatus returns the request that a secret belongs to.
func (c AccessRequestAPI) AccessStatus(ctx context.Context, secret string) (s fieldmark.AccessStatus, err error) {
	_, err = c.do(ctx, call{method: http.MethodGet, path: fieldmark.PathAccessRequest, token: secret, client: c.client},
		&s)
	return s, err
}

// IssueKey creates the key of an approved request. Its token is in no later response.
func (c AccessRequestAPI) IssueKey(ctx context.Context, secret string) (k fieldmark.NewKey, err error) {
	_, err = c.do(ctx, call{method: http.MethodPost, path: fieldmark.PathAccessRequest + "/key", token: secret,
		client: c.client}, &k)
	return k, err
}

// AccessRequests returns a page of requests, the newest first. Empty arguments do not restrict it.
func (c AccessRequestAPI) AccessRequests(ctx context.Context, state fieldmark.AccessState,
	cursor string) (fieldmark.List[fieldmark.AccessRequest], error) {
	query := url.Values{}
	setParam(query, "state", string(state))
	setParam(query, "cursor", cursor)
	return get[fieldmark.List[fieldmark.AccessRequest]](ctx, c.caller, "access-requests", query)
}

// AccessRequest returns a request.
func (c AccessRequestAPI) AccessRequest(ctx context.Context, id string) (fieldmark.AccessRequest, error) {
	return get[fieldmark.AccessRequest](ctx, c.caller, "access-requests/"+url.PathEscape(id), nil)
}

// ApproveAccess approves a pending request.
func (c AccessRequestAPI) ApproveAccess(ctx context.Context, id string,
	a fieldmark.AccessApproval) (fieldmark.AccessRequest, error) {
	return post[fieldmark.AccessRequest](ctx, c.caller, "access-requests/"+url.PathEscape(id)+"/approve", a)
}

// DeclineAccess declines a pending request.
func (c AccessRequestAPI) DeclineAccess(ctx context.Context, id string,
	d fieldmark.AccessRefusal) (fieldmark.AccessRequest, error) {
	return post[fieldmark.AccessRequest](ctx, c.caller, "access-requests/"+url.PathEscape(id)+"/decline", d)
}
