package api

import (
	"net/http"

	"github.com/fieldmark/fieldmark"
)

// The bounds of a page of brands.
const (
	defaultBrandLimit = 100
	maxBrandLimit     = 200 // one less than the service gives at once, by a wide margin
)

// brandPage is the parameters of the list of brands.
var brandPage = []param{
	{name: "limit", does: "Brands on a page", lowest: 1, highest: maxBrandLimit, preset: defaultBrandLimit},
	{name: "cursor", does: "nextCursor of the page before"},
}

// brandRecord is what may be said of a brand. Its tags say types only: bounds are
// the service's, which judges an import record by record. The times are taken and
// ignored, so that what was read can be sent back.
type brandRecord struct {
	Slug        string   `json:"slug,omitempty" doc:"Must be that of the address, where the address has one"`
	Name        string   `json:"name,omitempty"`
	URL         string   `json:"url,omitempty"`
	Niche       string   `json:"niche,omitempty"`
	Language    string   `json:"language,omitempty" doc:"BCP 47"`
	Description string   `json:"description,omitempty"`
	Public      bool     `json:"public,omitempty" doc:"Only public brands are ranked and shown"`
	Aliases     []string `json:"aliases,omitempty" nullable:"false" doc:"Ignored; they have an address of their own"`
	CreatedAt   string   `json:"createdAt,omitempty" doc:"Ignored"`
	UpdatedAt   string   `json:"updatedAt,omitempty" doc:"Ignored"`
}

func (r brandRecord) brand() fieldmark.Brand {
	return fieldmark.Brand{
		Slug: fieldmark.Slug(r.Slug), Name: r.Name, URL: r.URL, Niche: r.Niche,
		Language: r.Language, Description: r.Description, Public: r.Public,
	}
}

// listBrands lists brands by slug; the cursor is the last slug of the page before.
func (s *server) listBrands(c *call) error {
	after := fieldmark.Slug(c.asked.text("cursor"))
	if after != "" && !fieldmark.ValidSlug(string(after)) {
		return fieldmark.Errorf(fieldmark.CodeInvalidCursor, "take the cursor from nextCursor")
	}
	limit := c.asked.number("limit")
	brands, err := s.origin.Brands(c.r.Context(), after, limit+1) // one more tells whether there are more
	if err != nil {
		return err
	}
	page := list(brands)
	if len(brands) > limit {
		page.Data, page.HasMore = brands[:limit], true
		page.NextCursor = string(brands[limit-1].Slug)
	}
	c.linkNext(page.NextCursor)
	return c.send(http.StatusOK, page)
}

// putBrand makes a brand what the request says.
func (s *server) putBrand(c *call) error {
	slug, err := c.slug()
	if err != nil {
		return err
	}
	var req brandRecord
	err = c.decode(&req, func() []fieldmark.FieldError {
		if req.Slug != "" && req.Slug != string(slug) {
			return []fieldmark.FieldError{{Pointer: "/slug", Code: "conflict", Detail: "must be the slug of the address"}}
		}
		return nil
	})
	if err != nil {
		return err
	}
	req.Slug = string(slug)
	b, _, err := s.origin.PutBrand(c.r.Context(), req.brand())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, b)
}

// brandDocument is a brand and what leads to it.
type brandDocument struct {
	fieldmark.Brand
	Aliases []fieldmark.Slug `json:"aliases"`
}

// getBrand reads a brand; a slug that leads to one reads that one.
func (s *server) getBrand(c *call) error {
	slug, err := c.slug()
	if err != nil {
		return err
	}
	state, _, err := s.origin.BrandState(c.r.Context(), slug)
	if err != nil {
		return err
	}
	doc := brandDocument{Brand: state.Brand, Aliases: state.Aliases}
	if doc.Aliases == nil {
		doc.Aliases = []fieldmark.Slug{}
	}
	return c.send(http.StatusOK, doc)
}

// deleteBrand takes a brand down.
func (s *server) deleteBrand(c *call) error {
	slug, err := c.slug()
	if err != nil {
		return err
	}
	if err := s.origin.DeleteBrand(c.r.Context(), slug); err != nil {
		return err
	}
	return c.sendEmpty(http.StatusNoContent)
}

// renaming asks for another slug.
type renaming struct {
	Slug string `json:"slug" minLength:"1" maxLength:"63"`
}

// renameBrand gives a brand another slug.
func (s *server) renameBrand(c *call) error {
	slug, err := c.slug()
	if err != nil {
		return err
	}
	var req renaming
	err = c.decode(&req, func() []fieldmark.FieldError {
		if !fieldmark.ValidSlug(req.Slug) {
			return []fieldmark.FieldError{{Pointer: "/slug", Code: "pattern", Detail: "must be 1 to 63 of a-z, 0-9 and single hyphens"}}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b, err := s.origin.RenameBrand(c.r.Context(), slug, fieldmark.Slug(req.Slug))
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, b)
}

// aliasList is the slugs that lead to a brand beside its own.
type aliasList struct {
	Aliases []fieldmark.Slug `json:"aliases" nullable:"false"`
}

// setAliases replaces the slugs that lead to a brand.
func (s *server) setAliases(c *call) error {
	slug, err := c.slug()
	if err != nil {
		return err
	}
	var req aliasList
	if err := c.decode(&req, nil); err != nil {
		return err
	}
	aliases, err := s.origin.SetAliases(c.r.Context(), slug, req.Aliases)
	if err != nil {
		return err
	}
	if aliases == nil {
		aliases = []fieldmark.Slug{}
	}
	return c.send(http.StatusOK, aliasList{aliases})
}

// importBrands takes many brands; those that are refused are in the report.
func (s *server) importBrands(c *call) error {
	var records []brandRecord
	if err := c.decode(&records, nil); err != nil {
		return err
	}
	brands := make([]fieldmark.Brand, len(records))
	for i, r := range records {
		brands[i] = r.brand()
	}
	report, err := s.origin.ImportBrands(c.r.Context(), brands)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, report)
}

// auditBrand notes that an audit is wanted.
func (s *server) auditBrand(c *call) error {
	slug, err := c.slug()
	if err != nil {
		return err
	}
	if err := s.origin.RequestAudit(c.r.Context(), slug); err != nil {
		return err
	}
	return c.sendEmpty(http.StatusAccepted)
}

// listAudits tells what runs and what waits.
func (s *server) listAudits(c *call) error {
	runs, err := s.origin.Audits(c.r.Context())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, list(runs))
}

// slug reads the slug in the path; one that is none cannot be found.
func (c *call) slug() (fieldmark.Slug, error) {
	slug, err := fieldmark.ParseSlug(c.r.PathValue("slug"))
	if err != nil {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "no such brand")
	}
	return slug, nil
}
