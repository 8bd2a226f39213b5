package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/claim"
)

// ownerAPI serves the changes that the owner of a brand may make.
// Each call names the account of the key, so an owner cannot reach other brands.
type ownerAPI struct {
	owners *brand.Owners
	claims *claim.Service
}

// routes are the operations of owners on the brands that their account manages.
// They have the scope brand:manage, which keys of claims have.
func (a *ownerAPI) routes() []*route {
	const one = fieldmark.PathBrands + "{slug}"
	return []*route{
		{"POST", one + "/audit", owner, handleParam(a.brandParam, noResult(a.audit)), operation{
			id: "auditOwnBrand", summary: "Queue an audit of your site; one an hour, six a day", status: []int{202}}},
		{"GET", one + "/profile", owner, handleCall[none](a.getProfile), operation{
			id: "getProfile", summary: "Get the profile of your brand"}},
		{"PATCH", one + "/profile", owner, handleRaw[fieldmark.ProfilePatch, fieldmark.BrandProfile](a.patchProfile),
			operation{id: "patchProfile", status: []int{200, 202}, versioned: true,
				summary: "Change the profile of your brand; three times a week, 202 if an administrator decides, " +
					"because another brand of the niche has the name"}},
		{"PUT", one + "/aliases", owner, handleParamBody(a.brandParam, a.requestAliases), operation{
			id: "requestAliases", summary: "Ask an administrator for other slugs of your brand", status: []int{202}}},
		{"POST", one + "/listing", owner, handleParamBody(a.brandParam, a.setListing), operation{
			id: "setListing", summary: "Unlist your brand, or list it again seven days later at the earliest"}},
		{"PUT", one + "/wishes", owner, handleParamBody(a.brandParam, a.setWishes), operation{
			id: "setWishes", summary: "Set whether anyone may check your site, and how slowly it is read"}},
		{"GET", fieldmark.PathAdminAPI + "brand-requests", key(fieldmark.ScopeAdmin), handleList(a.pending), operation{
			id: "listBrandRequests", summary: "List the pending requests of owners; newest first"}},
		{"POST", fieldmark.PathAdminAPI + "brand-requests/{id}/decision", key(fieldmark.ScopeAdmin),
			handleParamBody(idParam(fieldmark.PrefixChange), a.owners.DecideRequest), operation{
				id: "decideBrandRequest", summary: "Approve or reject a request of an owner"}},
	}
}

// ownBrand is a brand in the path and the account of the caller.
// Package brand checks in each transaction that the account manages the brand: a claim may end at any
// time.
type ownBrand struct {
	account string
	slug    fieldmark.Slug
}

// brandParam reads the brand in the path. It fails where the operator has switched owners off.
func (a *ownerAPI) brandParam(c *call) (ownBrand, error) {
	if err := a.claims.Enabled(); err != nil {
		return ownBrand{}, err
	}
	slug, err := slugParam(c)
	return ownBrand{c.key.Account, slug}, err
}

// audit queues an audit.
// Each sends requests to the site, so the number of them is limited: fieldmark.OwnerAuditsPerHour and
// OwnerAuditsPerDay.
func (a *ownerAPI) audit(ctx context.Context, b ownBrand) error {
	return a.owners.RequestAudit(ctx, b.account, b.slug)
}

// requestAliases stores a request that an administrator decides.
// An alias stays an address of the brand, so an owner cannot take one without that decision. A new
// request replaces a pending one.
func (a *ownerAPI) requestAliases(ctx context.Context, b ownBrand, r fieldmark.AliasRequest) (fieldmark.BrandRequest,
	error) {
	return a.owners.RequestAliases(ctx, b.account, b.slug, r)
}

// setListing lists or unlists the brand.
// The wait before it is listed again keeps an owner from hiding the brand for each bad audit.
func (a *ownerAPI) setListing(ctx context.Context, b ownBrand, r fieldmark.ListingRequest) (fieldmark.BrandListing,
	error) {
	return a.owners.SetListing(ctx, b.account, b.slug, r)
}

// setWishes stores how the site may be crawled.
// They apply to every audit and check of the site, also to those that others request.
func (a *ownerAPI) setWishes(ctx context.Context, b ownBrand, w fieldmark.Wishes) (fieldmark.Wishes, error) {
	return a.owners.SetWishes(ctx, b.account, b.slug, w)
}

// profileTag is the entity tag of a profile.
// It changes with every change of the brand.
// Its resolution is the microsecond of the database.
func profileTag(changed fieldmark.Time) string { return fmt.Sprintf(`"%d"`, changed.Micros()) }

// getProfile sends the profile with its ETag.
func (a *ownerAPI) getProfile(c *call) (p fieldmark.BrandProfile, err error) {
	b, err := a.brandParam(c)
	if err != nil {
		return p, err
	}
	p, changed, err := a.owners.Profile(c.r.Context(), b.account, b.slug)
	if err == nil {
		c.w.Header().Set("ETag", profileTag(changed))
	}
	return p, err
}

// patchProfile changes the profile at the version in If-Match; without one at any version.
func (a *ownerAPI) patchProfile(c *call) error {
	b, err := a.brandParam(c)
	if err != nil {
		return err
	}
	patch, err := decodeBody[fieldmark.ProfilePatch](c)
	if err != nil {
		return err
	}
	// Compared in the transaction of the change, by allowed: a check before it could be overtaken.
	wanted := strings.Join(c.r.Header.Values("If-Match"), ",")
	allowed := func(changed fieldmark.Time) error {
		if wanted == "" || strings.TrimSpace(wanted) == "*" || slices.ContainsFunc(strings.Split(wanted, ","),
			func(tag string) bool { return strings.TrimSpace(tag) == profileTag(changed) }) {
			return nil
		}
		return fieldmark.Errorf(fieldmark.CodeVersionMismatch, "the profile was changed on %s", changed)
	}
	p, changed, review, err := a.owners.PatchProfile(c.r.Context(), b.account, b.slug, patch, allowed)
	if err != nil {
		return err
	}
	// 202: an administrator decides, and the stored profile has not changed.
	if review {
		return c.send(http.StatusAccepted, p)
	}
	c.w.Header().Set("ETag", profileTag(changed))
	return c.send(http.StatusOK, p)
}

// maxBrandRequests limits the list of pending requests.
// More than these wait only if no administrator works on them.
const maxBrandRequests = 200

// pending lists the requests that wait for a decision, the newest first.
func (a *ownerAPI) pending(ctx context.Context) ([]fieldmark.BrandRequest, error) {
	return a.owners.Requests(ctx, fieldmark.RequestPending, "", maxBrandRequests)
}

// disputeAPI opens disputes for anyone, and serves them to administrators.
type disputeAPI struct {
	brands   *brand.Service
	disputes *brand.Disputes
	claims   *claim.Service
}

// asOwner reports whether a call is that of an owner: one with a key. It is an error if such calls are off.
// Calls without a key stay possible then: anyone may dispute a finding.
func (a *disputeAPI) asOwner(c *call) (bool, error) {
	if c.key.ID == "" {
		return false, nil
	}
	return true, a.claims.Enabled()
}

// open opens a dispute.
func (a *disputeAPI) open(c *call) error {
	slug, err := slugParam(c)
	if err != nil {
		return err
	}
	r, err := decodeBody[fieldmark.DisputeRequest](c)
	if err != nil {
		return err
	}
	d, err := a.openBy(c, slug, r)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", fieldmark.PathBrands+string(slug)+"/disputes/"+d.ID)
	return c.send(http.StatusCreated, d)
}

// openBy opens a dispute of the public, or of the account of the key.
func (a *disputeAPI) openBy(c *call, slug fieldmark.Slug, r fieldmark.DisputeRequest) (fieldmark.DisputeStatus, error) {
	owner, err := a.asOwner(c)
	if err != nil {
		return fieldmark.DisputeStatus{}, err
	}
	if !owner {
		return a.disputes.Open(c.r.Context(), slug, r)
	}
	d, err := a.disputes.OpenAsOwner(c.r.Context(), c.key.Account, slug, r)
	return d.DisputeStatus, err
}

// listOfBrand lists the open disputes of a brand for anyone, and all that it opened for an account.
func (a *disputeAPI) listOfBrand(c *call) (page fieldmark.List[fieldmark.DisputeStatus], err error) {
	slug, err := slugParam(c)
	if err != nil {
		return page, err
	}
	owner, err := a.asOwner(c)
	if err != nil {
		return page, err
	}
	if !owner {
		open, err := a.disputes.ListOpen(c.r.Context(), slug)
		return list(open), err
	}
	own, err := a.disputes.ListOwn(c.r.Context(), c.key.Account, slug)
	all := make([]fieldmark.DisputeStatus, len(own))
	for i := range own {
		all[i] = own[i].DisputeStatus
	}
	return list(all), err
}

// withdraw ends a dispute of the caller's account. A dispute that was decided meanwhile stays decided.
func (a *disputeAPI) withdraw(c *call) (d fieldmark.DisputeStatus, err error) {
	slug, err := slugParam(c)
	if err != nil {
		return d, err
	}
	id, err := idParam(fieldmark.PrefixDispute)(c)
	if err != nil {
		return d, err
	}
	if _, err := a.asOwner(c); err != nil {
		return d, err
	}
	whole, err := a.disputes.Withdraw(c.r.Context(), c.key.Account, slug, id)
	return whole.DisputeStatus, err
}

// getStatus reads the public part of a dispute.
// The brand must be the one in the path. No key is needed, because the sender may have none.
func (a *disputeAPI) getStatus(c *call) (d fieldmark.DisputeStatus, err error) {
	slug, err := slugParam(c)
	if err != nil {
		return d, err
	}
	id, err := idParam(fieldmark.PrefixDispute)(c)
	if err != nil {
		return d, err
	}
	return a.disputes.Status(c.r.Context(), slug, id)
}

// names returns values as they are written.
func names[S ~string](values []S) (all []string) {
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

// disputeParams are the query parameters of the list of disputes.
var disputeParams = []param{
	{name: "state", description: "The state; the default is open", enum: names(fieldmark.DisputeStates())},
	{name: "brand", description: "Only disputes of this brand, by its slug"},
	{name: "limit", description: "Disputes per page", lowest: 1, highest: maxBrandLimit, preset: defaultBrandLimit},
	{name: "cursor", description: "nextCursor of the previous page"},
}

// list lists disputes, the newest first. The cursor is the last id of the previous page.
func (a *disputeAPI) list(c *call) (page fieldmark.List[fieldmark.Dispute], err error) {
	before, slug := c.params.text("cursor"), fieldmark.Slug(c.params.text("brand"))
	if before != "" && !fieldmark.CheckID(fieldmark.PrefixDispute, before) {
		return page, errInvalidCursor()
	}
	if slug != "" && !fieldmark.ValidSlug(string(slug)) {
		return page, paramError("brand", "pattern", "must be the slug of a brand")
	}
	state := fieldmark.DisputeState(strings.ToLower(cmp.Or(c.params.text("state"), string(fieldmark.DisputeOpen))))
	limit := c.params.number("limit")
	disputes, err := a.disputes.List(c.r.Context(), slug, state, before, limit+1)
	if err != nil {
		return page, err
	}
	page = list(disputes)
	if len(disputes) > limit {
		page.Data, page.HasMore = disputes[:limit], true
		page.NextCursor = disputes[limit-1].ID
	}
	c.linkNext(page.NextCursor)
	return page, nil
}

// claimAPI serves claims to their owners and to administrators.
// The server gives the address of the client, which limits how many claims it opens.
type claimAPI struct {
	claims *claim.Service
	server *server
}

// secret returns the secret of a claim that a request presents, "" if it presents an API key.
// The prefix distinguishes the secret of a claim from an API key.
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
	opened, err := a.claims.Open(a.acting(c, "anonymous"), a.server.caller(c.r), r)
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
	return auditlog.WithActor(c.r.Context(), a.server.actor(c, name))
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
// One claim more is read, to decide whether there is a next page.
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
