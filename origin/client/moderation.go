package client

import (
	"context"
	"net/url"

	"github.com/fieldmark/fieldmark"
)

// ModerationAPI contains the calls with which administrators decide disputes and requests of owners, and revoke
// claims.
type ModerationAPI struct{ *caller }

// Claims returns a page of claims, the newest first. Empty arguments do not restrict it.
func (c ModerationAPI) Claims(ctx context.Context, state fieldmark.ClaimState, slug fieldmark.Slug,
	cursor string) (fieldmark.List[fieldmark.Claim], error) {
	query := url.Values{}
	setParam(query, "state", string(state))
	setParam(query, "brand", string(slug))
	setParam(query, "cursor", cursor)
	return get[fieldmark.List[fieldmark.Claim]](ctx, c.caller, "claims", query)
}

// AnyClaim returns a claim of any account, with its proofs, its last check and its history.
func (c ModerationAPI) AnyClaim(ctx context.Context, id string) (fieldmark.Claim, error) {
	return get[fieldmark.Claim](ctx, c.caller, "claims/"+url.PathEscape(id), nil)
}

// RevokeClaim ends a claim and its keys.
func (c ModerationAPI) RevokeClaim(ctx context.Context, id string, r fieldmark.ClaimRevocation) (fieldmark.Claim,
	error) {
	return post[fieldmark.Claim](ctx, c.caller, "claims/"+url.PathEscape(id)+"/revoke", r)
}

// BrandRequests returns the newest pending requests of owners, at most 200.
func (c ModerationAPI) BrandRequests(ctx context.Context) ([]fieldmark.BrandRequest, error) {
	list, err := get[fieldmark.List[fieldmark.BrandRequest]](ctx, c.caller, "brand-requests", nil)
	return list.Data, err
}

// DecideBrandRequest approves or rejects a request of an owner. An approved one changes the brand.
func (c ModerationAPI) DecideBrandRequest(ctx context.Context, id string,
	d fieldmark.RequestDecision) (fieldmark.BrandRequest, error) {
	return post[fieldmark.BrandRequest](ctx, c.caller, "brand-requests/"+url.PathEscape(id)+"/decision", d)
}

// Disputes returns a page of disputes in a state, the newest first; an empty slug is all brands.
func (c ModerationAPI) Disputes(
	ctx context.Context, slug fieldmark.Slug, state fieldmark.DisputeState, cursor string,
) (fieldmark.List[fieldmark.Dispute], error) {
	query := url.Values{}
	setParam(query, "brand", string(slug))
	setParam(query, "state", string(state))
	setParam(query, "cursor", cursor)
	return get[fieldmark.List[fieldmark.Dispute]](ctx, c.caller, "disputes", query)
}

// Dispute returns a dispute.
func (c ModerationAPI) Dispute(ctx context.Context, id string) (fieldmark.Dispute, error) {
	return get[fieldmark.Dispute](ctx, c.caller, "disputes/"+url.PathEscape(id), nil)
}

// DecideDispute upholds or rejects a dispute.
func (c ModerationAPI) DecideDispute(
	ctx context.Context, id string, r fieldmark.DisputeDecision,
) (fieldmark.Dispute, error) {
	return post[fieldmark.Dispute](ctx, c.caller, "disputes/"+url.PathEscape(id)+"/decision", r)
}
