package admin

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/web"
)

// moduleHandler serves the pages of scoring modules and the forms that upload, preview and activate one.
type moduleHandler struct {
	*console
	modules *module.Service
}

// modulesData is the modules page: the active modules, the state of each edge, and all stored modules.
type modulesData struct {
	Plan    *fieldmark.ModulePlan // nil: no module is active
	Nodes   []nodeRow
	Modules []fieldmark.ModuleRecord
}

// list shows the page without errors.
func (h *moduleHandler) list(req *request) error { return h.showModules(req, http.StatusOK, nil) }

// showModules shows the page. A plan that is not found is no error: before the first activation no
// module is active.
func (h *moduleHandler) showModules(req *request, status int, bad []web.FormError) error {
	list, err := h.modules.List(req.r.Context())
	if err != nil {
		return err
	}
	d := modulesData{Modules: list}
	now, err := h.modules.Status(req.r.Context())
	if err != nil && !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return err
	}
	if err == nil {
		d.Plan = &now.Plan
		// Head 0: this page shows modules, not how far an edge is behind in events.
		d.Nodes = newNodeRows(now.Nodes, now.Plan.Digest, 0)
	}
	return h.show(req, status, "modules", web.Page{Title: "Scoring modules", Errors: bad, Data: d})
}

// create validates and stores a module.
// Storing a module does not activate it. It is addressed by its digest, so the same file again is the
// same module.
func (h *moduleHandler) create(req *request) error {
	// The limit of all kinds of modules; Create checks that of the kind.
	file, err := req.upload(fieldmark.MaxAnyModule)
	if err == nil {
		var record fieldmark.ModuleRecord
		if record, err = h.modules.Create(req.r.Context(), fieldmark.ModulePush{Module: file}); err == nil {
			h.audit(req, "module.stored", string(record.Digest))
			http.Redirect(req.w, req.r, modulesPath+"/"+string(record.Digest), http.StatusSeeOther)
			return nil
		}
	}
	// A module that is refused is the user's to correct, so the page shows every reason; other errors are the
	// server's.
	if !isClientError(err) {
		return err
	}
	form := req.readForm("")
	// All errors are about the file, the only input of the form.
	for _, e := range req.formErrors(err) {
		form.addError(uploadName, e.Text)
	}
	return h.showModules(req, statusOf(err), form.errors)
}

// moduleData is one module with its validation report and the preview of its scores.
type moduleData struct {
	fieldmark.ModuleRecord
	Preview *fieldmark.ModulePreview
	Shares  []option
}

// digestParam reads the digest in the path. A malformed one has the page of an unknown module.
func (req *request) digestParam() (fieldmark.Digest, error) {
	d, err := fieldmark.ParseDigest(req.r.PathValue("digest"))
	if err != nil {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "This module does not exist.")
	}
	return d, nil
}

// get shows a module also if it is not active: its report is read before the activation.
func (h *moduleHandler) get(req *request) error { return h.showModule(req, http.StatusOK, nil) }

// showModule shows a module. A preview exists only after it was requested.
func (h *moduleHandler) showModule(req *request, status int, bad []web.FormError) error {
	digest, err := req.digestParam()
	if err != nil {
		return err
	}
	// From all brands to 1 %: the shares in which a canary is widened, the first is selected.
	d := moduleData{Shares: []option{{Value: "100", Label: "all brands"}, {Value: "50", Label: "canary: 50% of brands"},
		{Value: "10", Label: "canary: 10% of brands"}, {Value: "1", Label: "canary: 1% of brands"}}}
	if d.ModuleRecord, err = h.modules.Get(req.r.Context(), digest); err != nil {
		return err
	}
	preview, err := h.modules.Preview(req.r.Context(), digest)
	if err == nil {
		d.Preview = &preview
	} else if !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return err
	}
	return h.show(req, status, "module", web.Page{Title: d.Name + " " + d.Version, Errors: bad, Data: d})
}

// update previews or activates a module.
// A canary applies to a share of the brands, in percent; 100 is all of them.
func (h *moduleHandler) update(req *request) error {
	digest, err := req.digestParam()
	if err != nil {
		return err
	}
	if err := req.parseForm(); err != nil {
		return err
	}
	done, action := "activated", "module.activated"
	switch req.r.PostForm.Get("do") {
	case "preview":
		done, action = "preview", "module.preview_requested"
		_, err = h.modules.RequestPreview(req.r.Context(), digest)
	case "activate":
		// Only a forged or broken form has no number; Activate checks the range.
		percent, perr := strconv.Atoi(req.r.PostForm.Get("percent"))
		if perr != nil {
			return h.showModule(req, http.StatusUnprocessableEntity,
				[]web.FormError{{Field: "percent", Text: "Choose which brands it applies to."}})
		}
		_, err = h.modules.Activate(req.r.Context(), digest, percent)
	default:
		err = fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown action.")
	}
	if isClientError(err) {
		return h.showModule(req, statusOf(err), req.formErrors(err))
	}
	if err != nil {
		return err
	}
	h.audit(req, action, string(digest))
	// After a redirect (303) a reload does not activate the module again.
	return req.redirectWithNotice(modulesPath+"/"+string(digest), done)
}

// rollBack ends the canary, or if there is no canary activates the previous module. The question says
// which of the two.
func (h *moduleHandler) rollBack(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	if !web.Confirmed(req.r) {
		// Read for the confirmation only: RollBack decides again what is active.
		now, err := h.modules.Plan(req.r.Context())
		if err != nil {
			return err
		}
		q := web.Confirmation{Title: fmt.Sprintf("Roll back %s %s?", now.Name, now.Version), Button: "Roll back",
			Text: "All brands are scored by the previous module within seconds.", Back: modulesPath}
		if now.Canary != nil {
			q.Title, q.Button = fmt.Sprintf("End the canary of %s %s?", now.Canary.Name,
				now.Canary.Version), "End canary"
			q.Text = "All brands are scored by the active module again."
		}
		return h.confirm(req, q)
	}
	plan, err := h.modules.RollBack(req.r.Context())
	if isClientError(err) {
		return h.showModules(req, statusOf(err), req.formErrors(err))
	}
	if err != nil {
		return err
	}
	h.audit(req, "module.rolled_back", string(plan.Digest))
	return req.redirectWithNotice(modulesPath, "rolled")
}
