package api

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
)

// disputeAPI opens disputes for anyone, and serves them to administrators.
type disputeAPI struct {
	brands   *brand.Service
	disputes *brand.Disputes
}

// open opens a dispute. It needs no key.
func (a *disputeAPI) open(c *call) error {
	slug, err := slugParam(c)
	if err != nil {
		return err
	}
	r, err := decodeBody[fieldmark.DisputeRequest](c)
	if err != nil {
		return err
	}
	d, err := a.disputes.Open(c.r.Context(), slug, r)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", fieldmark.PathBrands+string(slug)+"/disputes/"+d.ID)
	return c.send(http.StatusCreated, d)
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

// disputeParams are the query parameters of the list of disputes.
var disputeParams = []param{
	{name: "state", description: "The state; the default is open", enum: []string{string(fieldmark.DisputeOpen),
		string(fieldmark.DisputeUpheld), string(fieldmark.DisputeRejected)}},
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
