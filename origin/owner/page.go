package owner

import (
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/web"
)

//go:embed templates/*.html assets/owner.css
var files embed.FS

// notices are shown once after a form was processed, by their keys: see web.SetNotice.
var notices = map[string]string{
	"opened":    "Dispute opened.",
	"withdrawn": "Dispute withdrawn.",
	"profile":   "Profile saved.",
	"review":    "Another brand of this niche has that name, so we review the change. Nothing has changed yet.",
	"aliases":   "Request sent.",
	"listed":    "Brand listed.",
	"unlisted":  "Brand unlisted. You can list it again in 7 days.",
	"wishes":    "Crawling saved.",
	"deleted":   "Endpoint deleted.",
	"resent":    "Message queued for resending.",
	"checked":   "Proofs checked.",
	"mail":      "Mail sent. Open its link within 24 hours to confirm the address.",
	"unmailed":  "Address removed.",
}

// parseTemplates parses the pages at start, so a broken template fails the start and not a
// request.
func parseTemplates() (web.Templates, error) {
	return web.ParseTemplates(files, template.FuncMap{"webLink": webLink, "host": hostOf, "signed": signed,
		"decimal": decimal,
		"patches": fieldmark.Patches, "tried": tried, "sentence": web.Sentence}, "sign-in", "home", "fix", "disputes",
		"profile", "notifications", "claim", "message", "mail")
}

// nav is what the navigation shows.
type nav struct {
	Brand fieldmark.Slug // empty on pages of the account
	Name  string         // of the brand
	Base  string         // path of the pages of the brand
}

// show renders a page and sends it.
// The notice is taken only by a page that is loaded: a form that fails shows its errors instead
// and leaves the notice for later.
func (h *handler) show(req *request, status int, name string, p web.Page) error {
	p.User, p.Path, p.CanWrite = req.key.Account, req.r.URL.Path, true
	p.Prefix, p.Posted = req.prefix, req.r.PostForm
	n := nav{Brand: req.slug}
	if req.slug != "" {
		n.Name, n.Base = req.owned.Name, brandsPath+string(req.slug)
	}
	p.Nav, p.Unverified = n, req.unverified
	// TakeNotice deletes the cookie of the notice, so that reloading the page does not repeat
	// it.
	if req.r.Method == http.MethodGet {
		p.Notice = notices[web.TakeNotice(req.w, req.r, homePath, req.secure)]
	}
	return h.pages.Show(req.w, status, name, p)
}

// confirm asks for confirmation of an action that cannot be undone. The page posts the form again:
// see web.Confirmed.
func (req *request) confirm(h *handler, q web.Confirmation) error {
	q.Posted = req.r.PostForm
	q.Back = brandsPath + string(req.slug) + q.Back
	return h.show(req, http.StatusOK, web.ConfirmationPage, web.Page{Title: q.Title, Data: q})
}

// done redirects to a page of the brand after a form was processed; the page shows the notice once.
func (req *request) done(page, notice string) error {
	web.SetNotice(req.w, homePath, notice, req.secure)
	http.Redirect(req.w, req.r, brandsPath+string(req.slug)+page, http.StatusSeeOther)
	return nil
}

// isRefusal reports whether err is about the request, so that the page of the form shows it.
func isRefusal(err error) bool {
	s := statusOf(err)
	return s == http.StatusUnprocessableEntity || s == http.StatusConflict || s == http.StatusTooManyRequests ||
		s == http.StatusPreconditionFailed
}

// statusOf returns the HTTP status of an error, 200 for none.
func statusOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	return fieldmark.AsError(err).Code.Status()
}

// showError shows an error as a page.
// The path is logged without its tokens, see fieldmark.LoggedPath.
func (h *handler) showError(req *request, err error) {
	status, title, text := web.ErrorText(err)
	if status >= http.StatusInternalServerError {
		h.log.Error("page", "path", fieldmark.LoggedPath(req.r.URL.Path), "key", req.key.ID, "error", err)
	}
	h.showMessage(req, status, title, text)
}

// showMessage shows a page with a message, or plain text if rendering fails.
func (h *handler) showMessage(req *request, status int, title, detail string) {
	if err := h.show(req, status, "message", web.Page{Title: title,
		Data: web.NewMessage(req.r, status, detail)}); err != nil {
		h.log.Error("page", "path", fieldmark.LoggedPath(req.r.URL.Path), "error", err)
		http.Error(req.w, title, status)
	}
}

// webLink returns an address that a page may link to, or "".
// Only http and https: an address of the brand's profile must not run a script when it is
// followed.
func webLink(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) {
		return ""
	}
	return u.String()
}

// hostOf returns the host and the path of an address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host + strings.TrimSuffix(u.EscapedPath(), "/")
}

// tried returns what the last check of a claim found; a contest has none.
func tried(claim any) []fieldmark.ClaimAttempt {
	if c, ok := claim.(fieldmark.Claim); ok {
		return c.Tried
	}
	return nil
}

// signed writes a change of a score with its sign.
// It uses a minus sign and not a hyphen, which screen readers leave out.
func signed(m fieldmark.Milli) string {
	if m >= 0 {
		return "+" + decimal(m)
	}
	return "−" + decimal(-m)
}

// decimal writes a score with the one decimal it has, as the public pages do.
func decimal(m fieldmark.Milli) string {
	s := m.Tenth().String()
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
