package owner

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/web"
)

// inputs maps pointers of validation errors to inputs.
// An error whose pointer is not in the list is shown at the top of the form.
var inputs = map[string]web.Input{
	"/name": {"name", "Name"}, "/niche": {"niche", "Niche"}, "/language": {"language", "Language"},
	"/description": {"description", "Description"}, "/names": {"names", "Aliases"}, "/reason": {"reason", "Reason"},
	"/pause": {"pause", "Pause"}, "/signal": {"signal", "Signal"}, "/kind": {"kind", "Kind"},
	"/text": {"text", "What is wrong"}, "/address": {"address", "E-mail address"},
	"/url": {"url", "Address"}, "/events": {"events", "Events"}, "/scoreThreshold": {"threshold", "Threshold"},
}

// formErrors turns the field errors of the service into errors beside the inputs.
func (req *request) formErrors(err error) []web.FormError {
	return web.FormErrors(err, inputs, req.prefix)
}

// profileData is the page of the profile, the listing and the wishes of a brand.
type profileData struct {
	Brand   brand.OwnedBrand
	Profile fieldmark.BrandProfile // of the form
	Aliases string                 // of the form
	Reason  string                 // of the form
	Pause   string                 // of the form
	Checks  bool                   // of the form
	Changed fieldmark.Time         // of the profile in the form, against lost updates
	Relist  bool                   // the brand can be listed again now
}

func (h *handler) profile(req *request) error { return h.showProfile(req, http.StatusOK, nil) }

// showProfile shows stored values, or those of the form that was refused. The page has three
// forms: the fields that were posted say which one it was.
func (h *handler) showProfile(req *request, status int, bad []web.FormError) error {
	b := req.owned
	d := profileData{Brand: b, Profile: b.Profile(), Changed: b.UpdatedAt,
		Pause: strconv.Itoa(b.Wishes.Pause), Checks: b.Wishes.Checks}
	posted := req.r.PostForm
	if posted.Has("name") {
		d.Profile = postedProfile(req)
	}
	if posted.Has("pause") {
		d.Pause, d.Checks = posted.Get("pause"), posted.Has("checks")
	}
	d.Aliases, d.Reason = posted.Get("names"), posted.Get("reason")
	return h.show(req, status, "profile", web.Page{Title: "Profile", Errors: bad, Data: &d})
}

// postedProfile returns the profile of the form. Browsers send line breaks as CR LF; stored
// texts have LF.
func postedProfile(req *request) fieldmark.BrandProfile {
	get := func(name string) string { return strings.TrimSpace(req.r.PostForm.Get(name)) }
	return fieldmark.BrandProfile{Name: get("name"), Niche: get("niche"), Language: get("language"),
		Description: strings.ReplaceAll(get("description"), "\r\n", "\n")}
}

// refuse shows the page of a form again with the reason for a refusal.
func refuse(req *request, err error, show func(*request, int, []web.FormError) error) error {
	if isRefusal(err) {
		return show(req, statusOf(err), req.formErrors(err))
	}
	return err
}

// setProfile stores the profile unless it changed after the page was opened: two people of one
// account would overwrite each other.
func (h *handler) setProfile(req *request) error {
	p := postedProfile(req)
	patch := fieldmark.ProfilePatch{Name: &p.Name, Niche: &p.Niche, Language: &p.Language, Description: &p.Description}
	seen := req.r.PostForm.Get("changed")
	_, _, review, err := h.origin.Brands.Owners.PatchProfile(req.r.Context(), req.key.Account, req.slug, patch,
		func(changed fieldmark.Time) error {
			if seen != changed.String() {
				return fieldmark.Errorf(fieldmark.CodeVersionMismatch,
					"the profile was changed after this page was opened; check it and save again")
			}
			return nil
		})
	if err != nil {
		return refuse(req, err, h.showProfile)
	}
	if review {
		return req.done("/profile", "review")
	}
	return req.done("/profile", "profile")
}

// requestAliases sends names that an administrator reviews. They may be separated by any white
// space.
func (h *handler) requestAliases(req *request) error {
	var r fieldmark.AliasRequest
	for _, name := range strings.Fields(req.r.PostForm.Get("names")) {
		r.Names = append(r.Names, fieldmark.Slug(name))
	}
	if _, err := h.origin.Brands.Owners.RequestAliases(req.r.Context(), req.key.Account, req.slug, r); err != nil {
		return refuse(req, err, h.showProfile)
	}
	return req.done("/profile", "aliases")
}

// setListing lists or unlists the brand. Unlisting needs a confirmation: it cannot be undone for a
// week.
func (h *handler) setListing(req *request) error {
	r := fieldmark.ListingRequest{Listed: req.r.PostForm.Get("do") == "list", Reason: req.r.PostForm.Get("reason")}
	if !r.Listed && !web.Confirmed(req.r) {
		return req.confirm(h, web.Confirmation{Title: "Unlist " + req.owned.Name + "?", Button: "Unlist brand",
			Back: "/profile",
			Text: "The brand leaves the ranking and the lists, its badge shows “not rated”, and audits stop. You " +
				"can list " +
				"it again after 7 days. The history shows the gap."})
	}
	if _, err := h.origin.Brands.Owners.SetListing(req.r.Context(), req.key.Account, req.slug, r); err != nil {
		return refuse(req, err, h.showProfile)
	}
	return req.done("/profile", map[bool]string{true: "listed", false: "unlisted"}[r.Listed])
}

// setWishes stores how the auditor may crawl the site. A number that cannot be read is 0, which
// the service refuses.
func (h *handler) setWishes(req *request) error {
	w := fieldmark.Wishes{Checks: req.r.PostForm.Get("checks") != "", Pause: number(req.r.PostForm.Get("pause"))}
	if _, err := h.origin.Brands.Owners.SetWishes(req.r.Context(), req.key.Account, req.slug, w); err != nil {
		return refuse(req, err, h.showProfile)
	}
	return req.done("/profile", "wishes")
}
