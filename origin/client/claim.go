package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/fieldmark/fieldmark"
)

// ClaimAPI contains the calls of those who claim a brand. A call that takes a secret uses the
// API key of the client if the secret is empty.
type ClaimAPI struct {
	*caller
	client string
}

// For returns the same calls on behalf of a client with an address, for edges: the origin
// counts claims by client network. It needs the node token.
func (c ClaimAPI) For(address string) ClaimAPI { return ClaimAPI{c.caller, address} }

// OpenClaim opens a claim. The secret is in no later response.
func (c ClaimAPI) OpenClaim(ctx context.Context, r fieldmark.ClaimRequest) (claim fieldmark.NewClaim, err error) {
	_, err = c.do(ctx, call{method: http.MethodPost, path: fieldmark.PathClaims, body: r, client: c.client}, &claim)
	return claim, err
}

// Claim returns a claim.
func (c ClaimAPI) Claim(ctx context.Context, id, secret string) (fieldmark.Claim, error) {
	return claimCall[fieldmark.Claim](ctx, c, http.MethodGet, id, "", secret)
}

// VerifyClaim looks for the proofs of a claim now.
func (c ClaimAPI) VerifyClaim(ctx context.Context, id, secret string) (fieldmark.Claim, error) {
	return claimCall[fieldmark.Claim](ctx, c, http.MethodPost, id, "/verify", secret)
}

// AccessClaim returns the account and the key of a verified claim. The secret ends.
func (c ClaimAPI) AccessClaim(ctx context.Context, id, secret string) (fieldmark.ClaimAccess, error) {
	return claimCall[fieldmark.ClaimAccess](ctx, c, http.MethodPost, id, "/access", secret)
}

// WithdrawClaim ends a claim and its keys.
func (c ClaimAPI) WithdrawClaim(ctx context.Context, id, secret string) error {
	_, err := claimCall[struct{}](ctx, c, http.MethodDelete, id, "", secret)
	return err
}

// TransferClaim returns a code with which another party can claim the brand.
func (c ClaimAPI) TransferClaim(ctx context.Context, id string) (fieldmark.ClaimTransfer, error) {
	return claimCall[fieldmark.ClaimTransfer](ctx, c, http.MethodPost, id, "/transfer", "")
}

// ObjectClaim objects to the claim of another party: the first call returns the proofs of a
// fresh token, the next ones look for it.
func (c ClaimAPI) ObjectClaim(ctx context.Context, id string) (fieldmark.Claim, error) {
	return claimCall[fieldmark.Claim](ctx, c, http.MethodPost, id, "/object", "")
}

func claimCall[T any](ctx context.Context, c ClaimAPI, method, id, act, secret string) (out T, err error) {
	r := call{method: method, path: fieldmark.PathClaims + "/" + url.PathEscape(id) + act, token: secret,
		client: c.client, timeout: pingTimeout}
	if secret == "" {
		r.token = c.key
	}
	_, err = c.do(ctx, r, &out)
	return out, err
}
