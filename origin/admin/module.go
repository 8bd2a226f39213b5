package admin

import (
	"net/http"
	"strconv"

	"github.com/fieldmark/fieldmark"
)

// modulesData is the modules there are and what each edge makes of the plan.
type modulesData struct {
	Plan    *fieldmark.ModulePlan // nil: none is in force
	Nodes   []nodeLine
	Modules []fieldmark.ModuleRecord
}

func (a *area) modules(v *visit) error { return a.showModules(v, http.StatusOK, nil) }

func (a *area) showModules(v *visit, status int, bad []complaint) error {
	list, err := a.origin.Modules.ListModules(v.r.Context())
	if err != nil {
		return err
	}
	d := modulesData{Modules: list}
	now, err := a.origin.Modules.ModuleStatus(v.r.Context())
	if err != nil && !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return err
	}
	if err == nil {
		d.Plan = &now.Plan
		d.Nodes = nodeLines(now, 0)
	}
	return a.show(v, status, "modules", page{Title: "Scoring modules", Complaints: bad, Data: d})
}

// pushModule has a module checked and kept.
func (a *area) pushModule(v *visit) error {
	file, err := v.upload(fieldmark.MaxAnyModule)
	if err == nil {
		var record fieldmark.ModuleRecord
		if record, err = a.origin.Modules.PushModule(v.r.Context(), fieldmark.ModulePush{Module: file}); err == nil {
			a.did(v, "module.push", string(record.Digest))
			http.Redirect(v.w, v.r, modulesPath+"/"+string(record.Digest), http.StatusSeeOther)
			return nil
		}
	}
	e := fieldmark.AsError(err)
	if e.Code.Status() >= 500 {
		return err
	}
	return a.showModules(v, e.Code.Status(), v.complaintsOf(e))
}

// moduleData is one module: the report of its check, and what it would change.
type moduleData struct {
	fieldmark.ModuleRecord
	Preview *fieldmark.ModulePreview
	Percent []choice
}

func (v *visit) digest() (fieldmark.Digest, error) {
	d, err := fieldmark.ParseDigest(v.r.PathValue("digest"))
	if err != nil {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "There is no such module.")
	}
	return d, nil
}

func (a *area) module(v *visit) error { return a.showModule(v, http.StatusOK, nil) }

func (a *area) showModule(v *visit, status int, bad []complaint) error {
	digest, err := v.digest()
	if err != nil {
		return err
	}
	d := moduleData{Percent: []choice{{Value: "100", Label: "all brands"}, {Value: "50", Label: "a trial on half of them"},
		{Value: "10", Label: "a trial on a tenth"}, {Value: "1", Label: "a trial on a hundredth"}}}
	if d.ModuleRecord, err = a.origin.Modules.ModuleRecord(v.r.Context(), digest); err != nil {
		return err
	}
	preview, err := a.origin.Modules.Preview(v.r.Context(), digest)
	if err == nil {
		d.Preview = &preview
	} else if !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return err
	}
	return a.show(v, status, "module", page{Title: d.Name + " " + d.Version, Complaints: bad, Data: d})
}

// actOnModule previews or activates a module, as a button says.
func (a *area) actOnModule(v *visit) error {
	digest, err := v.digest()
	if err != nil {
		return err
	}
	if err := v.parseForm(); err != nil {
		return err
	}
	done := "activated"
	switch v.r.PostForm.Get("do") {
	case "preview":
		done = "preview"
		_, err = a.origin.Modules.RequestPreview(v.r.Context(), digest)
	case "activate":
		percent, perr := strconv.Atoi(v.r.PostForm.Get("percent"))
		if perr != nil {
			return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Choose which brands it applies to.")
		}
		_, err = a.origin.Modules.PutInForce(v.r.Context(), digest, percent)
	default:
		err = fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown action.")
	}
	if e := fieldmark.AsError(err); err != nil && e.Code.Status() < 500 {
		return a.showModule(v, e.Code.Status(), v.complaintsOf(e))
	}
	if err != nil {
		return err
	}
	a.did(v, "module."+done, string(digest))
	return v.done(modulesPath+"/"+string(digest), done)
}

func (a *area) rollBack(v *visit) error {
	plan, err := a.origin.Modules.RollBackModule(v.r.Context())
	if e := fieldmark.AsError(err); err != nil && e.Code.Status() < 500 {
		return a.showModules(v, e.Code.Status(), v.complaintsOf(e))
	}
	if err != nil {
		return err
	}
	a.did(v, "module.roll_back", string(plan.Digest))
	return v.done(modulesPath, "rolled")
}
