package admin

import (
	"net/http"
	"net/url"
	"strings"

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

// brandsData is one page of brands and the form for another.
type brandsData struct {
	Brands []brandLine
	Next   string // the address of the next page
	Runs   []fieldmark.AuditRun
	Form   fieldmark.Brand
}

func (a *area) brands(v *visit) error {
	return a.showBrands(v, http.StatusOK, fieldmark.Brand{Language: "en", Public: true}, nil)
}

func (a *area) showBrands(v *visit, status int, form fieldmark.Brand, bad []complaint) error {
	after := fieldmark.Slug(v.r.URL.Query().Get("after"))
	if after != "" && !fieldmark.ValidSlug(string(after)) {
		return fieldmark.Errorf(fieldmark.CodeInvalidCursor, "Begin again with the first page.")
	}
	list, err := a.origin.Brands.ListBrands(v.r.Context(), after, brandsOnPage+1)
	if err != nil {
		return err
	}
	d := brandsData{Form: form}
	if len(list) > brandsOnPage {
		list = list[:brandsOnPage]
		d.Next = brandsPath + "?" + url.Values{"after": {string(list[brandsOnPage-1].Slug)}}.Encode()
	}
	for _, b := range list {
		state, _, err := a.origin.Brands.BrandState(v.r.Context(), b.Slug)
		if err != nil {
			return err
		}
		d.Brands = append(d.Brands, lineOf(state))
	}
	if d.Runs, err = a.origin.Brands.Audits.ListAudits(v.r.Context()); err != nil {
		return err
	}
	return a.show(v, status, "brands", page{Title: "Brands", Complaints: bad, Data: d})
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

// postedBrand reads what a form says of a brand.
func (v *visit) postedBrand() fieldmark.Brand {
	text := func(name string) string { return strings.TrimSpace(v.r.PostForm.Get(name)) }
	return fieldmark.Brand{Slug: fieldmark.Slug(text("slug")), Name: text("name"), URL: text("url"), Niche: text("niche"), Language: text("language"),
		Description: strings.ReplaceAll(text("description"), "\r\n", "\n"), Public: v.r.PostForm.Get("public") != ""}
}

// addBrand makes a brand and has it audited.
func (a *area) addBrand(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	b := v.postedBrand()
	_, err := a.origin.Brands.AddBrand(v.r.Context(), b)
	if e := fieldmark.AsError(err); err != nil && e.Code.Status() < 500 {
		return a.showBrands(v, e.Code.Status(), b, v.complaintsOf(e))
	}
	if err != nil {
		return err
	}
	if err := a.origin.Brands.Audits.RequestAudit(v.r.Context(), b.Slug); err != nil {
		return err
	}
	a.did(v, "brand.put", string(b.Slug))
	return v.done(brandsPath+"/"+string(b.Slug), "brand")
}

// brandData is one brand with what was found out about it.
type brandData struct {
	fieldmark.BrandState
	Form   fieldmark.Brand
	Status string
	Page   string // where the public sees it
}

func (a *area) brand(v *visit) error { return a.showBrand(v, http.StatusOK, nil, nil) }

func (v *visit) slug() (fieldmark.Slug, error) {
	slug, err := fieldmark.ParseSlug(v.r.PathValue("slug"))
	if err != nil {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "There is no such brand.")
	}
	return slug, nil
}

func (a *area) showBrand(v *visit, status int, form *fieldmark.Brand, bad []complaint) error {
	slug, err := v.slug()
	if err != nil {
		return err
	}
	state, _, err := a.origin.Brands.BrandState(v.r.Context(), slug)
	if err != nil {
		return err
	}
	d := brandData{BrandState: state, Form: state.Brand, Status: lineOf(state).Status, Page: fieldmark.PathBrandPage + string(state.Brand.Slug)}
	if form != nil {
		d.Form = *form
	}
	return a.show(v, status, "brand", page{Title: state.Brand.Name, Complaints: bad, Data: d})
}

// changeBrand makes a brand what its form says.
func (a *area) changeBrand(v *visit) error {
	slug, err := v.slug()
	if err != nil {
		return err
	}
	if err := v.parseForm(); err != nil {
		return err
	}
	b := v.postedBrand()
	b.Slug = slug
	_, err = a.origin.Brands.ChangeBrand(v.r.Context(), b)
	if fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
		return a.showBrand(v, http.StatusUnprocessableEntity, &b, v.complaintsOf(fieldmark.AsError(err)))
	}
	if err != nil {
		return err
	}
	a.did(v, "brand.put", string(slug))
	return v.done(brandsPath+"/"+string(slug), "brand")
}

// deleteBrand takes a brand down once its name was typed.
func (a *area) deleteBrand(v *visit) error {
	slug, err := v.slug()
	if err != nil {
		return err
	}
	if err := v.parseForm(); err != nil {
		return err
	}
	if v.r.PostForm.Get("slug") != string(slug) {
		return a.showBrand(v, http.StatusUnprocessableEntity, nil, complain("To delete the brand, type its slug into the field."))
	}
	if err := a.origin.Brands.DeleteBrand(v.r.Context(), slug); err != nil {
		return err
	}
	a.did(v, "brand.delete", string(slug))
	return v.done(brandsPath, "gone")
}

func (a *area) auditBrand(v *visit) error {
	slug, err := v.slug()
	if err != nil {
		return err
	}
	if err := a.origin.Brands.Audits.RequestAudit(v.r.Context(), slug); err != nil {
		return err
	}
	a.did(v, "brand.audit", string(slug))
	return v.done(brandsPath+"/"+string(slug), "audit")
}
