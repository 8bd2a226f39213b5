package api

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/claim"
)

// disputeAPI opens disputes for anyone, and serves them to administrators.
type disputeAPI struct {
	brands   *brand.Service
	disputes *brand.Disputes
	claims   *claim.Service
}

// asOwner reports whether a call is that of an owner: one with a key. It is an error if such calls are off.
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
