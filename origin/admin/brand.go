package admin

import (
	"net/http"
	"net/url"

	"github.com/fieldmark/fieldmark"
)

// brandsOnPage is small because each line reads the brand's newest facts.
const brandsOnPage = 50

// brandLine is a brand with what is known of it.
type brandLine struct {
	fieldmark.Brand
	Status  string // pending, audited or unreachable
	Audited *fieldmark.Time
	Pages   int
}

// brandsData is one page of brands.
type brandsData struct {
	Brands []brandLine
	Next   string // the address of the next page
}

func (a *area) brands(v *visit) error {
	after := fieldmark.Slug(v.r.URL.Query().Get("after"))
	if after != "" && !fieldmark.ValidSlug(string(after)) {
		return fieldmark.Errorf(fieldmark.CodeInvalidCursor, "Begin again with the first page.")
	}
	list, err := a.origin.Brands(v.r.Context(), after, brandsOnPage+1)
	if err != nil {
		return err
	}
	var d brandsData
	if len(list) > brandsOnPage {
		list = list[:brandsOnPage]
		d.Next = brandsPath + "?" + url.Values{"after": {string(list[brandsOnPage-1].Slug)}}.Encode()
	}
	for _, b := range list {
		state, _, err := a.origin.BrandState(v.r.Context(), b.Slug)
		if err != nil {
			return err
		}
		d.Brands = append(d.Brands, lineOf(state))
	}
	return a.show(v, http.StatusOK, "brands", page{Title: "Brands", Data: d})
}

// lineOf says of facts only whether there are any and whether the site answered:
// scores are made at the edges.
func lineOf(state fieldmark.BrandState) brandLine {
	line := brandLine{Brand: state.Brand, Status: string(fieldmark.StatusPending)}
	if f := state.Facts; f != nil {
		line.Status, line.Audited, line.Pages = "audited", &f.AsOf, f.Pages
		if home, ok := f.Find("home.reachable"); ok && home.State == fieldmark.Measured && home.Value == 0 {
			line.Status = string(fieldmark.StatusUnreachable)
		}
	}
	return line
}

func (a *area) auditBrand(v *visit) error {
	slug, err := fieldmark.ParseSlug(v.r.PathValue("slug"))
	if err != nil {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "There is no such brand.")
	}
	if err := a.origin.RequestAudit(v.r.Context(), slug); err != nil {
		return err
	}
	a.did(v, "request audit", string(slug))
	return v.done(brandsPath, "audit")
}
