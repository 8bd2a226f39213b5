package owner

import (
	"context"
	"net/http"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/web"
)

// The paths of the pages.
const (
	homePath    = fieldmark.PathOwner
	signInPath  = homePath + "/sign-in"
	signOutPath = homePath + "/sign-out"
	brandsPath  = homePath + "/brands/" // followed by a slug
	assetsPath  = homePath + "/assets/"
)

// routes registers every page and form.
func (h *handler) routes() error {
	own, err := web.ReadAsset(files, "assets/owner.css", "text/css")
	if err != nil {
		return err
	}
	h.mux.Handle("GET "+assetsPath+"web.css", web.Style())
	h.mux.Handle("GET "+assetsPath+"owner.css", own)
	h.mux.Handle("GET "+assetsPath+"web.js", web.Script())
	h.mux.Handle("GET "+assetsPath+"icon.svg", web.Icon())
	h.mux.Handle("GET "+signInPath, h.public(h.signInForm))
	h.mux.Handle("POST "+signInPath, h.public(h.signIn))
	h.mux.Handle("POST "+signOutPath, h.public(h.signOut))
	h.mux.Handle("GET "+homePath, h.signedIn(h.home))
	h.mux.Handle("GET "+homePath+"/{$}", http.RedirectHandler(homePath, http.StatusSeeOther))

	// Each brand has its own folder, so the pages can check the access to the brand in one
	// place.
	const one = brandsPath + "{slug}"
	h.mux.Handle("GET "+one, h.brand(h.fix))
	h.form(one, "audit", h.requestAudit)
	h.mux.Handle("GET "+one+"/disputes", h.brand(h.disputes))
	h.mux.Handle("POST "+one+"/disputes", h.brand(h.openDispute))
	h.form(one+"/disputes/{id}", "withdraw", h.withdrawDispute)
	h.mux.Handle("GET "+one+"/disputes/{id}", h.brand(h.disputes))
	h.mux.Handle("GET "+one+"/profile", h.brand(h.profile))
	h.mux.Handle("POST "+one+"/profile", h.brand(h.setProfile))
	h.form(one+"/profile", "aliases", h.requestAliases)
	h.form(one+"/profile", "listing", h.setListing)
	h.form(one+"/profile", "wishes", h.setWishes)
	h.mux.Handle("GET "+one+"/notifications", h.brand(h.notifications))
	h.mux.Handle("POST "+one+"/notifications", h.brand(h.createEndpoint))
	h.form(one+"/notifications", "mail", h.changeMail)
	h.mux.Handle("GET "+one+"/notifications/{id}", h.brand(h.notifications))
	h.mux.Handle("POST "+one+"/notifications/{id}", h.brand(h.changeEndpoint))
	h.mux.Handle("GET "+one+"/claim", h.brand(h.claim))
	h.mux.Handle("POST "+one+"/claim", h.brand(h.changeClaim))
	// The two links of mail are public: their token is the credential.
	for path, l := range mailLinks {
		h.mux.Handle("GET "+path, h.public(func(req *request) error { return h.showMailLink(req, l) }))
		h.mux.Handle("POST "+path, h.public(func(req *request) error { return h.followMailLink(req, l) }))
	}
	h.mux.Handle("/", h.public(h.notFound))
	return nil
}

// form registers a form of a brand. A rejected form is shown at the address that it was sent to;
// loading that address redirects to the page above it.
func (h *handler) form(page, name string, do action) {
	h.mux.Handle("POST "+page+"/"+name, h.brand(do))
	h.mux.Handle("GET "+page+"/"+name, h.brand(func(req *request) error {
		http.Redirect(req.w, req.r, req.r.URL.Path[:len(req.r.URL.Path)-len(name)-1], http.StatusSeeOther)
		return nil
	}))
}

// request is one request and its response.
type request struct {
	w http.ResponseWriter
	r *http.Request
	// secure is whether the browser uses HTTPS
	secure bool
	// unverified is whether the browser has a session that could not be looked up
	unverified bool
	key        fieldmark.Key  // of the session; zero without one
	slug       fieldmark.Slug // in the path, of a brand that the account manages
	// owned is that brand, as before the request
	owned brand.OwnedBrand
	// prefix of the input ids of the posted form; empty if its page has one form
	prefix string
}

// action handles a request.
type action func(*request) error

// public returns the handler of an action that needs no session.
func (h *handler) public(do action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := formTimeout
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			limit = pageTimeout
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		req := &request{w: w, r: r.WithContext(ctx), secure: h.OverHTTPS(r)}
		if err := h.origin.Claims.Enabled(); err != nil {
			h.showError(req, err)
			return
		}
		if err := do(req); err != nil {
			h.showError(req, err)
		}
	})
}

// signedIn returns the handler of an action of an owner. Others are redirected to the sign-in
// page.
func (h *handler) signedIn(do action) http.Handler {
	return h.public(func(req *request) (err error) {
		client := h.ClientOf(req.r)
		req.key, err = h.sessions.Get(req.r.Context(), h.sessionToken(req.r), client)
		if fieldmark.IsCode(err, fieldmark.CodeInvalidCredentials) {
			return h.redirectToSignIn(req)
		}
		if err != nil {
			req.unverified = true
			return err
		}
		req.r = req.r.WithContext(auditlog.WithActor(req.r.Context(), auditlog.Actor{
			Kind: fieldmark.ActorKey, Name: req.key.ID, Address: client.Addr.String(), Agent: client.Agent,
			Request: web.RequestID(req.r),
		}))
		return do(req)
	})
}

// brand returns the handler of an action for a brand that the account manages.
func (h *handler) brand(do action) http.Handler {
	return h.signedIn(func(req *request) error {
		slug := req.r.PathValue("slug")
		if !fieldmark.ValidSlug(slug) {
			return h.notFound(req)
		}
		owned, err := h.origin.Brands.Owners.Get(req.r.Context(), req.key.Account, fieldmark.Slug(slug))
		if err != nil {
			return err
		}
		req.slug, req.owned = owned.Slug, owned
		if req.r.Method == http.MethodPost {
			if err := req.parseForm(); err != nil {
				return err
			}
		}
		return do(req)
	})
}

// maxForm bounds a posted form in bytes. The largest is that of a dispute.
const maxForm = 64 << 10

func (req *request) parseForm() error {
	req.r.Body = http.MaxBytesReader(req.w, req.r.Body, maxForm)
	if err := req.r.ParseForm(); err != nil {
		return fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "The form could not be read.")
	}
	return nil
}

// identify sets the key of a request outside of signedIn, so that its page has the navigation.
func (req *request) identify(h *handler) {
	if key, err := h.sessions.Get(req.r.Context(), h.sessionToken(req.r), h.ClientOf(req.r)); err == nil {
		req.key = key
	}
}

func (h *handler) notFound(req *request) error {
	req.identify(h)
	return fieldmark.Errorf(fieldmark.CodeNotFound, "There is no page at this address.")
}

// minutes returns how many minutes a wait is, rounded up.
func minutes(d time.Duration) int { return int((d + time.Minute - 1) / time.Minute) }
