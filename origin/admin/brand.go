package admin

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/visibility"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
	"github.com/fieldmark/fieldmark/origin/web"
)

// brandHandler serves the brands page, the pages of brands, and imports.
type brandHandler struct {
	*console
}

// brandPageSize is small because each row reads the brand's latest facts.
const brandPageSize = 50

// brandRow is a brand on the brands page.
// It is made from the facts, without a score.
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
	Columns string // of an import
}

// list shows a page of brands.
func (h *brandHandler) list(req *request) error {
	return h.showBrands(req, http.StatusOK, fieldmark.Brand{Language: "en", Public: true}, nil)
}

// showBrands also shows the form again after it was rejected.
func (h *brandHandler) showBrands(req *request, status int, form fieldmark.Brand, bad []web.FormError) error {
	after := fieldmark.Slug(req.r.URL.Query().Get("after"))
	if after != "" && !fieldmark.ValidSlug(string(after)) {
		return fieldmark.Errorf(fieldmark.CodeInvalidCursor, "Start again from the first page.")
	}
	list, err := h.brands.List(req.r.Context(), after, brandPageSize+1)
	if err != nil {
		return err
	}
	// The address is kept in the forms of the page, so that they lead back to it.
	d := brandsData{Form: form, Address: req.r.URL.RequestURI(), Columns: brand.ImportColumns}
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
// Line breaks are stored as LF, as the API has them.
func (req *request) postedBrand() fieldmark.Brand {
	text := func(name string) string { return strings.TrimSpace(req.r.PostForm.Get(name)) }
	return fieldmark.Brand{Slug: fieldmark.Slug(text("slug")), Name: text("name"), URL: text("url"),
		Niche: text("niche"), Language: text("language"),
		Description: strings.ReplaceAll(text("description"), "\r\n", "\n"), Public: req.r.PostForm.Get("public") != ""}
}

// create creates a brand and queues its audit.
// A form that is sent twice finds the brand that the first one stored.
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
	// The audit is not in the transaction: a brand without one is queued on schedule.
	if err := h.brands.Audits.Request(req.r.Context(), b.Slug); err != nil {
		return err
	}
	h.audit(req, "brand.created", string(b.Slug))
	return req.redirectWithNotice(brandsPath+"/"+string(b.Slug), "brand")
}

// stored reports whether a brand is stored as in the form.
// Times are set by the service and differ always.
func (h *brandHandler) stored(req *request, b fieldmark.Brand) bool {
	old, err := h.brands.Get(req.r.Context(), b.Slug)
	b.CreatedAt, b.UpdatedAt = old.CreatedAt, old.UpdatedAt
	return err == nil && old == b
}

// changedSince returns the errors of a form that another change has overtaken: what is stored now, where that
// differs from the form.
// The form keeps what was entered, with the stored value beside each field that differs.
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

// get shows a brand.
func (h *brandHandler) get(req *request) error { return h.showBrand(req, http.StatusOK, nil, nil) }

// slugParam reads the slug in the path.
func (req *request) slugParam() (fieldmark.Slug, error) {
	slug, err := fieldmark.ParseSlug(req.r.PathValue("slug"))
	if err != nil {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "This brand does not exist.")
	}
	return slug, nil
}

// form is the rejected form, nil for the stored values.
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
// It compares the time of the last change, which the form has.
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
// The slug is typed, because the facts and the history of the brand are deleted too.
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

// requestAudit queues an audit and returns to the page of the button.
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

// uploadName is the form field of a file.
// The name is the same in all forms, so that one function reads them.
const uploadName = "file"

// upload reads a posted file of at most limit bytes into memory. Further files are ignored.
// The fields before the file are skipped. The limit is checked while reading, because a request
// may not say its length.
func (req *request) upload(limit int64) ([]byte, error) {
	tooLarge := fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "The file may have at most %d MiB.", limit>>20)
	req.r.Body = http.MaxBytesReader(req.w, req.r.Body, limit+maxForm)
	parts, err := req.r.MultipartReader()
	if err != nil {
		return nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Choose a file.")
	}
	for {
		part, err := parts.NextPart()
		if err != nil {
			return nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Choose a file.")
		}
		if part.FormName() != uploadName {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(part, limit+1))
		if err != nil || int64(len(b)) > limit {
			return nil, tooLarge
		}
		if len(b) == 0 {
			return nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Choose a file that is not empty.")
		}
		return b, nil
	}
}

// importData is the report on an imported file.
// Unit describes what the numbers count: lines or records.
type importData struct {
	Unit                      string
	Added, Updated, Unchanged int
	Rejected                  []rejectedLine
	Problems                  int // those of Rejected and the ones omitted
	Warnings                  []string
	Back                      string
}

// rejectedLine is an error in a line of an imported file.
type rejectedLine struct {
	Line   string
	Field  string
	Detail string
}

// rejectedLines returns the errors of a report, whose pointers are like /12/url.
// lineOf translates an index of the import into a line of the file.
func rejectedLines(list []fieldmark.FieldError, lineOf func(record int) int) (all []rejectedLine) {
	for _, f := range list {
		record, field, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
		if n, err := strconv.Atoi(record); err == nil {
			record = strconv.Itoa(lineOf(n))
		}
		all = append(all, rejectedLine{Line: record, Field: field, Detail: f.Detail})
	}
	return all
}

// importBrands imports brands from a CSV or JSON file, whose columns are in package brand.
func (h *brandHandler) importBrands(req *request) error {
	file, err := req.upload(fieldmark.MaxBulkBody - maxForm)
	if err != nil {
		return h.showImportError(req, "brands-", err)
	}
	brands, unit, lineOf, err := brand.ParseFile(file)
	if err != nil {
		return h.showImportError(req, "brands-", err)
	}
	report, err := h.brands.Import(req.r.Context(), brands)
	if err != nil {
		return h.showImportError(req, "brands-", err)
	}
	h.audit(req, "brand.imported", fmt.Sprintf("%d %s", len(brands), unit))
	return h.showImport(req, "Brands", importData{Unit: unit, Added: report.Added, Updated: report.Updated,
		Unchanged: report.Unchanged, Problems: len(report.Rejected) + report.Omitted,
		Rejected: rejectedLines(report.Rejected, lineOf), Back: brandsPath})
}

// showImport shows the results of the rows of a file. Its title does not claim more than was imported.
// A file that changed nothing is no error.
func (h *brandHandler) showImport(req *request, what string, d importData) error {
	title := what + " imported"
	switch {
	case d.Added+d.Updated > 0:
	case d.Problems > 0:
		title = "No " + strings.ToLower(what) + " imported"
	default:
		title = what + " unchanged"
	}
	return h.show(req, http.StatusOK, "import", web.Page{Title: title, Data: d})
}

// showImportError shows the brands page with an error about the file of the form whose inputs have the prefix.
// The error is shown beside the input of the file.
func (h *brandHandler) showImportError(req *request, prefix string, err error) error {
	if !isClientError(err) {
		return err
	}
	form := req.readForm(prefix)
	for _, e := range req.formErrors(err) {
		form.addError(uploadName, e.Text)
	}
	return h.showBrands(req, statusOf(err), fieldmark.Brand{Language: "en", Public: true}, form.errors)
}

// importStudies imports studies from a CSV file, whole or not at all.
func (h *brandHandler) importStudies(req *request, file []byte) error {
	report, err := h.studies.ImportFile(req.r.Context(), req.user, file, true)
	if err != nil {
		return h.showImportError(req, "samples-", err)
	}
	h.audit(req, "visibility.imported", string(report.FileHash))
	d := importData{Unit: "engines", Added: report.Added, Unchanged: report.Unchanged, Back: brandsPath}
	for _, w := range report.Warnings {
		d.Warnings = append(d.Warnings, w.Detail)
	}
	slices.Sort(d.Warnings)
	d.Warnings = slices.Compact(d.Warnings) // each engine of a study has the same panel
	return h.showImport(req, "Studies of answers", d)
}

// importSamples imports a study, or answer samples, from a CSV file.
// Errors name lines of the file, as an editor counts them.
func (h *brandHandler) importSamples(req *request) error {
	file, err := req.upload(fieldmark.MaxBulkBody - maxForm)
	if err != nil {
		return h.showImportError(req, "samples-", err)
	}
	if file, err = visibility.Unpack(file); err != nil {
		return h.showImportError(req, "samples-", err)
	}
	if study.IsForm2(file, true) {
		return h.importStudies(req, file)
	}
	lines, err := brand.ParseSamplesCSV(file)
	if err != nil {
		return h.showImportError(req, "samples-", err)
	}
	report, err := h.brands.Samples.Import(req.r.Context(), req.user, fieldmark.DigestOf(sha256.Sum256(file)),
		lines)
	if err != nil {
		return h.showImportError(req, "samples-", err)
	}
	h.audit(req, "visibility.imported", string(report.FileHash))
	return h.showImport(req, "Answer samples", importData{Unit: "lines", Added: report.Added,
		Unchanged: report.Unchanged, Problems: len(report.Rejected) + report.Omitted,
		Rejected: rejectedLines(report.Rejected, func(line int) int { return line }), Back: brandsPath})
}
