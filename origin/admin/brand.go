package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/web"
)

// brandHandler serves the brands page, the pages of brands, and imports.
type brandHandler struct {
	*console
}

// brandPageSize is small because each row reads the brand's latest facts.
const brandPageSize = 50

// brandRow is a brand on the brands page.
type brandRow struct {
	fieldmark.Brand
	Status  string // pending, audited, refused or unreachable
	Audited *fieldmark.Time
	Pages   int
}

// brandsData is one page of brands, the audit queue and the form that adds a brand.
type brandsData struct {
	Brands []brandRow
	Next   string // the address of the next page
	// Address is that of this page, to return to
	Address string
	Runs    []fieldmark.AuditRun
	Form    fieldmark.Brand
}

func (h *brandHandler) list(req *request) error {
	return h.showBrands(req, http.StatusOK, fieldmark.Brand{Language: "en", Public: true}, nil)
}

func (h *brandHandler) showBrands(req *request, status int, form fieldmark.Brand, bad []web.FormError) error {
	after := fieldmark.Slug(req.r.URL.Query().Get("after"))
	if after != "" && !fieldmark.ValidSlug(string(after)) {
		return fieldmark.Errorf(fieldmark.CodeInvalidCursor, "Start again from the first page.")
	}
	list, err := h.brands.List(req.r.Context(), after, brandPageSize+1)
	if err != nil {
		return err
	}
	d := brandsData{Form: form, Address: req.r.URL.RequestURI()}
	if len(list) > brandPageSize {
		list = list[:brandPageSize]
		d.Next = brandsPath + "?" + url.Values{"after": {string(list[brandPageSize-1].Slug)}}.Encode()
	}
	for _, b := range list {
		state, _, err := h.brands.State(req.r.Context(), b.Slug)
		if err != nil {
			return err
		}
		d.Brands = append(d.Brands, newBrandRow(state))
	}
	if d.Runs, err = h.brands.Audits.List(req.r.Context()); err != nil {
		return err
	}
	return h.show(req, status, "brands", web.Page{Title: "Brands", Errors: bad, Data: d})
}

// newBrandRow summarizes the facts of a brand. It has no score, because edges calculate scores.
func newBrandRow(state fieldmark.BrandState) brandRow {
	line := brandRow{Brand: state.Brand, Status: string(fieldmark.StatusPending)}
	if f := state.Facts; f != nil {
		line.Status, line.Audited, line.Pages = "audited", &f.AsOf, f.Pages
		if f.Refused {
			line.Status = string(fieldmark.StatusRefused)
		}
		if home, ok := f.Find("home.reachable"); ok && home.State == fieldmark.Measured && home.Value == 0 {
			line.Status = string(fieldmark.StatusUnreachable)
		}
	}
	return line
}

// postedBrand returns the brand in a posted form.
func (req *request) postedBrand() fieldmark.Brand {
	text := func(name string) string { return strings.TrimSpace(req.r.PostForm.Get(name)) }
	return fieldmark.Brand{Slug: fieldmark.Slug(text("slug")), Name: text("name"), URL: text("url"),
		Niche: text("niche"), Language: text("language"),
		Description: strings.ReplaceAll(text("description"), "\r\n", "\n"), Public: req.r.PostForm.Get("public") != ""}
}

// create creates a brand and queues its audit.
func (h *brandHandler) create(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	b := req.postedBrand()
	_, err := h.brands.Create(req.r.Context(), b)
	if hasCode(err, fieldmark.CodeBrandExists) && h.stored(req, b) { // the form was submitted twice
		return req.redirectWithNotice(brandsPath+"/"+string(b.Slug), "brand")
	}
	if isClientError(err) {
		return h.showBrands(req, statusOf(err), b, req.formErrors(err))
	}
	if err != nil {
		return err
	}
	if err := h.brands.Audits.Request(req.r.Context(), b.Slug); err != nil {
		return err
	}
	h.audit(req, "brand.created", string(b.Slug))
	return req.redirectWithNotice(brandsPath+"/"+string(b.Slug), "brand")
}

// stored reports whether a brand is stored as in the form.
func (h *brandHandler) stored(req *request, b fieldmark.Brand) bool {
	old, err := h.brands.Get(req.r.Context(), b.Slug)
	b.CreatedAt, b.UpdatedAt = old.CreatedAt, old.UpdatedAt
	return err == nil && old == b
}

// changedSince returns the errors of a form that another change has overtaken: what is stored now, where that
// differs from the form.
func (h *brandHandler) changedSince(req *request, b fieldmark.Brand) ([]web.FormError, error) {
	old, err := h.brands.Get(req.r.Context(), b.Slug)
	bad := web.ErrorOf("The brand was changed after this page was opened. Check what is stored now, then save again.")
	for _, f := range []struct{ id, label, posted, stored string }{{"name", "Name", b.Name, old.Name},
		{"url", "Website", b.URL, old.URL}, {"niche", "Niche", b.Niche, old.Niche},
		{"language", "Language", b.Language, old.Language},
		{"description", "Description", b.Description, old.Description}} {
		if f.posted != f.stored {
			bad = append(bad, web.FormError{Field: f.id,
				Text: fmt.Sprintf("%s: “%s” is stored now.", f.label, f.stored)})
		}
	}
	return bad, err
}

// brandData is one brand with its facts and the form that changes it.
type brandData struct {
	fieldmark.BrandState
	Form       fieldmark.Brand
	Status     string
	PublicPath string // where the public sees it
	Suspected  fieldmark.BrandSuspicions
	Disputes   []fieldmark.Dispute // that wait for a decision
}

func (h *brandHandler) get(req *request) error { return h.showBrand(req, http.StatusOK, nil, nil) }

func (req *request) slugParam() (fieldmark.Slug, error) {
	slug, err := fieldmark.ParseSlug(req.r.PathValue("slug"))
	if err != nil {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "This brand does not exist.")
	}
	return slug, nil
}

func (h *brandHandler) showBrand(req *request, status int, form *fieldmark.Brand, bad []web.FormError) error {
	slug, err := req.slugParam()
	if err != nil {
		return err
	}
	state, _, err := h.brands.State(req.r.Context(), slug)
	if err != nil {
		return err
	}
	d := brandData{BrandState: state, Form: state.Brand, Status: newBrandRow(state).Status,
		PublicPath: fieldmark.PathBrandPage + string(state.Brand.Slug)}
	if form != nil {
		d.Form = *form
	}
	if d.Suspected, err = h.brands.Suspicions(req.r.Context(), state.Brand.Slug); err != nil {
		return err
	}
	if d.Disputes, err = h.brands.Disputes.ListWaiting(req.r.Context(), state.Brand.Slug, "",
		listPageSize); err != nil {
		return err
	}
	return h.show(req, status, "brand", web.Page{Title: state.Brand.Name, Errors: bad, Data: d})
}

// update updates a brand.
func (h *brandHandler) update(req *request) error {
	slug, err := req.slugParam()
	if err != nil {
		return err
	}
	if err := req.parseForm(); err != nil {
		return err
	}
	b := req.postedBrand()
	b.Slug = slug
	_, err = h.brands.Update(req.r.Context(), b, req.r.PostForm.Get("changed"))
	if fieldmark.IsCode(err, fieldmark.CodeVersionMismatch) {
		bad, err := h.changedSince(req, b)
		if err != nil {
			return err
		}
		return h.showBrand(req, http.StatusConflict, &b, bad)
	}
	if fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
		return h.showBrand(req, http.StatusUnprocessableEntity, &b, req.formErrors(err))
	}
	if err != nil {
		return err
	}
	h.audit(req, "brand.changed", string(slug))
	return req.redirectWithNotice(brandsPath+"/"+string(slug), "brand")
}

// delete deletes a brand after its slug was typed as confirmation.
func (h *brandHandler) delete(req *request) error {
	slug, err := req.slugParam()
	if err != nil {
		return err
	}
	if err := req.parseForm(); err != nil {
		return err
	}
	form := req.readForm("delete-")
	if strings.TrimSpace(form.posted.Get("slug")) != string(slug) {
		form.addError("slug", "To delete the brand, enter its slug: "+string(slug)+".")
		return h.showBrand(req, http.StatusUnprocessableEntity, nil, form.errors)
	}
	if err := h.brands.Delete(req.r.Context(), slug); err != nil {
		return err
	}
	h.audit(req, "brand.removed", string(slug))
	return req.redirectWithNotice(brandsPath, "gone")
}

func (h *brandHandler) requestAudit(req *request) error {
	slug, err := req.slugParam()
	if err != nil {
		return err
	}
	if err := req.parseForm(); err != nil {
		return err
	}
	if err := h.brands.Audits.Request(req.r.Context(), slug); err != nil {
		return err
	}
	h.audit(req, "brand.audit_requested", string(slug))
	page := brandsPath + "/" + string(slug)
	if req.r.PostForm.Has("back") { // from the list
		page = req.back()
	}
	return req.redirectWithNotice(page, "audit")
}
