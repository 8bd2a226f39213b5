package admin

import (
	"context"
	"net/http"

	"github.com/fieldmark/fieldmark"
)

// The addresses of the area.
const (
	home       = fieldmark.PathAdmin
	signInPath = home + "/sign-in"
	keysPath   = home + "/api-keys"
	missions   = home + "/missions"
	brandsPath = home + "/brands"
	hooksPath  = home + "/webhooks"
	stylePath  = home + "/assets/admin.css"
)

// routes is the whole area.
func (a *area) routes() {
	a.mux.Handle("GET "+stylePath, a.open(a.style))
	a.mux.Handle("GET "+signInPath, a.open(a.signInPage))
	a.mux.Handle("POST "+signInPath, a.open(a.signIn))
	a.mux.Handle("POST "+home+"/sign-out", a.open(a.signOut))

	a.mux.Handle("GET "+home, a.closed(a.overview))
	a.mux.Handle("GET "+keysPath, a.closed(a.keys))
	a.mux.Handle("POST "+keysPath, a.closed(a.createKey))
	a.mux.Handle("POST "+keysPath+"/{id}/revoke", a.closed(a.revokeKey))
	a.mux.Handle("GET "+missions, a.closed(a.missions))
	a.mux.Handle("GET "+missions+"/{id}", a.closed(a.mission))
	a.mux.Handle("POST "+missions+"/{id}/move", a.closed(a.moveMission))
	a.mux.Handle("POST "+missions+"/{id}/payment", a.closed(a.setPayment))
	a.mux.Handle("POST "+missions+"/{id}/payment/mark", a.closed(a.markPayment))
	a.mux.Handle("POST "+missions+"/{id}/payment/refund", a.closed(a.refundPayment))
	a.mux.Handle("POST "+missions+"/{id}/complete", a.closed(a.completeMission))
	a.mux.Handle("GET "+brandsPath, a.closed(a.brands))
	a.mux.Handle("POST "+brandsPath+"/{slug}/audit", a.closed(a.auditBrand))
	a.mux.Handle("GET "+hooksPath, a.closed(a.webhooks))

	a.mux.Handle("GET "+home+"/{$}", http.RedirectHandler(home, http.StatusSeeOther))
	a.mux.Handle("/", a.open(a.nothingHere))
}

// visit is one request of one administrator.
type visit struct {
	w    http.ResponseWriter
	r    *http.Request
	user string // empty where anyone may come
}

// open lets anyone in.
func (a *area) open(handle func(*visit) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), handlerTimeout)
		defer cancel()
		v := &visit{w: w, r: r.WithContext(ctx)}
		if err := handle(v); err != nil {
			a.refuse(v, err)
		}
	})
}

// closed lets administrators in and shows others where to sign in. A form that
// was sent after the session ended is lost; to keep it would be to keep secrets.
func (a *area) closed(handle func(*visit) error) http.Handler {
	return a.open(func(v *visit) error {
		user, err := a.origin.Session(v.r.Context(), a.cookie(v.r))
		if fieldmark.IsCode(err, fieldmark.CodeInvalidCredentials) {
			return a.toSignIn(v)
		}
		if err != nil {
			return err
		}
		v.user = user
		return handle(v)
	})
}

func (a *area) nothingHere(*visit) error {
	return fieldmark.Errorf(fieldmark.CodeNotFound, "There is no page at this address.")
}

// done answers a post by leading back to a page, which then tells what happened.
func (v *visit) done(page, what string) error {
	http.Redirect(v.w, v.r, page+"?done="+what, http.StatusSeeOther)
	return nil
}

// did notes an act of an administrator.
func (a *area) did(v *visit, what, subject string) {
	a.log.Info("administrator", "user", v.user, "did", what, "subject", subject)
}
