package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/claim"
)

// claimAPI serves claims to their owners and to administrators.
// The server gives the address of the client, which limits how many claims it opens.
type claimAPI struct {
	claims *claim.Service
	server *server
}

// secret returns the secret of a claim that a request presents, "" if it presents an API key.
// The prefix tells the secret of a claim from an API key.
func (c *call) secret() string {
	if token, ok := bearer(c.r.Header.Get("Authorization")); ok && strings.HasPrefix(token, claim.SecretPrefix) {
		return token
	}
	return ""
}

// routes are the operations of those who claim a brand, and of administrators.
// A secret is accepted in place of a key until the claim has an account.
func (a *claimAPI) routes() []*route {
	const one, admin = fieldmark.PathClaims + "/{id}", fieldmark.PathAdminAPI + "claims"
	owner, claimID := key(fieldmark.ScopeBrandManage), idParam(fieldmark.PrefixClaim)
	admins := key(fieldmark.ScopeAdmin)
	return []*route{
		{"POST", fieldmark.PathClaims, anyone, handleRaw[fieldmark.ClaimRequest, fieldmark.NewClaim](a.open), operation{
			id: "openClaim", status: []int{201}, bodyLimit: fieldmark.MaxClaimBody,
			summary: "Claim a brand or a site; the secret is shown only once"}},
		{"GET", one, claimant, handleCall[none](withClaim(a, a.claims.Get)), operation{
			id: "getClaim", summary: "Get a claim; with its state, its proofs and its history"}},
		{"POST", one + "/verify", claimant, handleCall[none](withClaim(a, a.claims.Verify)), operation{
			id: "verifyClaim", timeout: remoteTimeout,
			summary: "Look for the proofs of a claim now; once a minute, 30 times a day"}},
		{"POST", one + "/access", claimant, handleCall[none](withClaim(a, a.claims.Access)), operation{
			id: "accessClaim", status: []int{201},
			summary: "Get an account and its API key for a verified claim; the secret of the claim ends"}},
		{"DELETE", one, claimant, handleCall[none](withClaim(a, func(ctx context.Context, id string,
			by claim.Caller) (none, error) {
			return none{}, a.claims.Withdraw(ctx, id, by)
		})), operation{id: "withdrawClaim", summary: "Withdraw a claim; its keys end"}},
		{"POST", one + "/transfer", owner, handleCall[none](withClaim(a, a.claims.Transfer)), operation{
			id: "transferClaim", status: []int{201},
			summary: "Get a code to transfer a brand; for a week another party can claim the brand with it"}},
		{"POST", one + "/object", owner, handleCall[none](withClaim(a, a.claims.Object)), operation{
			id: "objectClaim", timeout: remoteTimeout,
			summary: "Object to the claim of another party; get a fresh token, then prove it"}},
		{"GET", admin, admins, handleCall[none](a.list), operation{
			id: "listClaims", summary: "List claims; newest first", query: claimParams}},
		{"GET", admin + "/{id}", admins, handleParam(claimID,
			func(ctx context.Context, id string) (fieldmark.Claim, error) {
				return a.claims.Get(ctx, id, claim.Caller{Admin: true})
			}), operation{id: "getAnyClaim", summary: "Get a claim of any account"}},
		{"POST", admin + "/{id}/revoke", admins, handleParamBody(claimID, a.claims.Revoke), operation{
			id: "revokeClaim", summary: "Revoke a claim; its keys end"}},
	}
}

// open opens a claim. It needs no key.
// The response is the only one with the secret.
// A network can open fieldmark.ClaimsPerDay claims a day.
func (a *claimAPI) open(c *call) error {
	r, err := decodeBody[fieldmark.ClaimRequest](c)
	if err != nil {
		return err
	}
	by := access.ParseCaller(a.server.clientAddr(c.r), c.r.UserAgent())
	opened, err := a.claims.Open(a.acting(c, "anonymous"), by, r)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", fieldmark.PathClaims+"/"+opened.ID)
	return c.send(http.StatusCreated, opened)
}

// acting returns the context of a call whose caller acts in the audit log.
// name is the actor of a request without a key: the id of the claim, or anonymous.
func (a *claimAPI) acting(c *call, name string) context.Context {
	if c.key.ID != "" {
		name = c.key.ID
	}
	return auditlog.WithActor(c.r.Context(), auditlog.Actor{Kind: fieldmark.ActorKey, Name: name,
		Address: a.server.clientAddr(c.r), Agent: c.r.UserAgent(), Request: c.w.requestID})
}

// withClaim adapts a function of a claim and its caller.
// The service compares the secret or the account with those of the claim.
func withClaim[R any](a *claimAPI, fn func(context.Context, string, claim.Caller) (R, error)) func(*call) (R, error) {
	return func(c *call) (result R, err error) {
		if err := a.claims.Enabled(); err != nil {
			return result, err
		}
		id, err := idParam(fieldmark.PrefixClaim)(c)
		if err != nil {
			return result, err
		}
		return fn(a.acting(c, id), id, claim.Caller{Secret: c.secret(), Account: c.key.Account})
	}
}

// claimParams are the query parameters of the list of claims.
var claimParams = []param{
	{name: "state", description: "Only claims in this state", enum: names(fieldmark.ClaimStates())},
	{name: "brand", description: "Only claims of this brand, by its slug"},
	{name: "limit", description: "Claims per page", lowest: 1, highest: claim.MaxPage - 1, preset: 50},
	{name: "cursor", description: "nextCursor of the previous page"},
}

// list lists claims, the newest first. The cursor is the last id of the previous page.
// One claim more is read, to know whether there is a next page.
func (a *claimAPI) list(c *call) (page fieldmark.List[fieldmark.Claim], err error) {
	before, slug := c.params.text("cursor"), fieldmark.Slug(c.params.text("brand"))
	if before != "" && !fieldmark.CheckID(fieldmark.PrefixClaim, before) {
		return page, errInvalidCursor()
	}
	limit := c.params.number("limit")
	claims, err := a.claims.List(c.r.Context(), fieldmark.ClaimState(c.params.text("state")), slug, before, limit+1)
	page = list(claims)
	if len(claims) > limit {
		page.Data, page.HasMore, page.NextCursor = claims[:limit], true, claims[limit-1].ID
	}
	c.linkNext(page.NextCursor)
	return page, err
}
