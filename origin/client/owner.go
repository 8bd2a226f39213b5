package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/fieldmark/fieldmark"
)

// OwnerAPI contains the calls of the owner of a brand. They need a key of the account that holds the claim of
// the brand; for every other brand the error is CodeNotFound.
type OwnerAPI struct{ *caller }

// AuditOwnBrand queues an audit: one an hour, six a day. The error beyond that is CodeHostBudget.
func (c OwnerAPI) AuditOwnBrand(ctx context.Context, slug fieldmark.Slug) error {
	_, err := c.do(ctx, c.owner(http.MethodPost, slug, "/audit", nil), nil)
	return err
}

// Profile returns the profile of a brand and its version, for PatchProfile.
func (c OwnerAPI) Profile(ctx context.Context, slug fieldmark.Slug) (p fieldmark.BrandProfile, version string,
	err error) {
	header, err := c.do(ctx, c.owner(http.MethodGet, slug, "/profile", nil), &p)
	return p, header.Get("ETag"), err
}

// PatchProfile changes the profile of a brand. With a version, the error is CodeVersionMismatch if the
// profile was changed since. Review is true if nothing was changed, because another brand of the niche has the
// name and an administrator decides.
func (c OwnerAPI) PatchProfile(ctx context.Context, slug fieldmark.Slug, p fieldmark.ProfilePatch,
	version string) (profile fieldmark.BrandProfile, review bool, err error) {
	r := c.owner(http.MethodPatch, slug, "/profile", p)
	r.ifMatch = version
	header, err := c.do(ctx, r, &profile)
	return profile, err == nil && header.Get("ETag") == "", err // only a stored profile has a version
}

// RequestAliases requests other slugs of a brand, which an administrator decides. It replaces a pending request.
func (c OwnerAPI) RequestAliases(ctx context.Context, slug fieldmark.Slug,
	names ...fieldmark.Slug) (r fieldmark.BrandRequest, err error) {
	_, err = c.do(ctx, c.owner(http.MethodPut, slug, "/aliases", fieldmark.AliasRequest{Names: names}), &r)
	return r, err
}

// SetListing unlists a brand, or lists it again fieldmark.RelistAfterDays later at the earliest.
func (c OwnerAPI) SetListing(ctx context.Context, slug fieldmark.Slug,
	r fieldmark.ListingRequest) (listing fieldmark.BrandListing, err error) {
	_, err = c.do(ctx, c.owner(http.MethodPost, slug, "/listing", r), &listing)
	return listing, err
}

// SetWishes stores how the site of a brand is crawled.
func (c OwnerAPI) SetWishes(ctx context.Context, slug fieldmark.Slug,
	w fieldmark.Wishes) (stored fieldmark.Wishes, err error) {
	_, err = c.do(ctx, c.owner(http.MethodPut, slug, "/wishes", w), &stored)
	return stored, err
}

// DisputeAsOwner opens a dispute of a finding; the site is audited again within the hour.
func (c OwnerAPI) DisputeAsOwner(ctx context.Context, slug fieldmark.Slug,
	r fieldmark.DisputeRequest) (d fieldmark.DisputeStatus, err error) {
	_, err = c.do(ctx, c.owner(http.MethodPost, slug, "/disputes", r), &d)
	return d, err
}

// OwnDisputes lists the disputes that the account opened, in every state, the newest first.
func (c OwnerAPI) OwnDisputes(ctx context.Context, slug fieldmark.Slug) ([]fieldmark.DisputeStatus, error) {
	var list fieldmark.List[fieldmark.DisputeStatus]
	_, err := c.do(ctx, c.owner(http.MethodGet, slug, "/disputes", nil), &list)
	return list.Data, err
}

// WithdrawDispute ends a dispute that is not decided.
func (c OwnerAPI) WithdrawDispute(ctx context.Context, slug fieldmark.Slug,
	id string) (d fieldmark.DisputeStatus, err error) {
	_, err = c.do(ctx, c.owner(http.MethodPost, slug, "/disputes/"+url.PathEscape(id)+"/withdraw", nil), &d)
	return d, err
}

func (c *caller) owner(method string, slug fieldmark.Slug, path string, body any) call {
	return call{method: method, path: fieldmark.PathBrands + url.PathEscape(string(slug)) + path, token: c.key,
		body: body}
}
