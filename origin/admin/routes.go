package admin

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
)

// The addresses of the area.
const (
	home         = fieldmark.PathAdmin
	signInPath   = home + "/sign-in"
	provePath    = home + "/prove"
	onPath       = signInPath + "/provider"
	returnPath   = fieldmark.PathSignedOn
	keysPath     = home + "/api-keys"
	accountsPath = home + "/accounts"
	missions     = home + "/missions"
	brandsPath   = home + "/brands"
	hooksPath    = home + "/webhooks"
	modulesPath  = home + "/modules"
	feedsPath    = home + "/calendars"
	nodesPath    = home + "/nodes"
	auditPath    = home + "/audit-log"
	settingsPath = home + "/settings"
	stylePath    = home + "/assets/admin.css"
	scriptPath   = home + "/assets/admin.js"
	iconPath     = home + "/assets/icon.svg"
)

// routes is the whole area: what anyone may open, what whoever is signed in may
// see, and what an administrator may do.
func (a *area) routes() {
	a.mux.Handle("GET "+stylePath, a.open(a.style))
	a.mux.Handle("GET "+scriptPath, a.open(a.script))
	a.mux.Handle("GET "+iconPath, a.open(a.icon))
	a.mux.Handle("GET "+signInPath, a.open(a.signInPage))
	a.mux.Handle("POST "+signInPath, a.open(a.signIn))
	a.mux.Handle("GET "+onPath, a.open(a.signOn))
	a.mux.Handle("GET "+returnPath, a.open(a.signedOn))
	a.mux.Handle("POST "+home+"/sign-out", a.open(a.signOut))

	a.mux.Handle("GET "+home, a.closed(a.overview))
	a.mux.Handle("GET "+missions, a.closed(a.missions))
	a.mux.Handle("GET "+missions+"/{id}", a.closed(a.mission))
	a.mux.Handle("POST "+missions+"/{id}/move", a.acts(a.moveMission))
	a.mux.Handle("POST "+missions+"/{id}/plan", a.acts(a.planMission))
	a.mux.Handle("POST "+missions+"/{id}/payment", a.acts(a.setPayment))
	a.mux.Handle("POST "+missions+"/{id}/payment/mark", a.acts(a.markPayment))
	a.mux.Handle("POST "+missions+"/{id}/payment/refund", a.acts(a.refundPayment))
	a.mux.Handle("POST "+missions+"/{id}/complete", a.acts(a.completeMission))

	a.mux.Handle("GET "+brandsPath, a.closed(a.brands))
	a.mux.Handle("POST "+brandsPath, a.acts(a.addBrand))
	a.mux.Handle("POST "+brandsPath+"/import", a.slowly(a.importBrands))
	a.mux.Handle("POST "+brandsPath+"/visibility", a.slowly(a.importSamples))
	a.mux.Handle("GET "+brandsPath+"/{slug}", a.closed(a.brand))
	a.mux.Handle("POST "+brandsPath+"/{slug}", a.acts(a.changeBrand))
	a.mux.Handle("POST "+brandsPath+"/{slug}/audit", a.acts(a.auditBrand))
	a.mux.Handle("POST "+brandsPath+"/{slug}/delete", a.acts(a.deleteBrand))

	a.mux.Handle("GET "+keysPath, a.closed(a.keys))
	a.mux.Handle("POST "+keysPath, a.proved(a.createKey))
	a.mux.Handle("POST "+keysPath+"/{id}/rotate", a.proved(a.rotateKey))
	a.mux.Handle("POST "+keysPath+"/{id}/revoke", a.proved(a.revokeKey))
	a.mux.Handle("GET "+accountsPath, a.closed(a.accounts))
	a.mux.Handle("POST "+accountsPath, a.acts(a.putAccount))

	a.mux.Handle("GET "+hooksPath, a.closed(a.webhooks))
	a.mux.Handle("POST "+hooksPath, a.acts(a.createEndpoint))
	a.mux.Handle("GET "+hooksPath+"/{id}", a.closed(a.endpoint))
	a.mux.Handle("POST "+hooksPath+"/{id}", a.acts(a.changeEndpoint))
	a.mux.Handle("GET "+hooksPath+"/{id}/deliveries/{delivery}", a.closed(a.delivery))
	a.mux.Handle("POST "+hooksPath+"/{id}/deliveries/{delivery}/resend", a.acts(a.resend))

	a.mux.Handle("GET "+modulesPath, a.closed(a.modules))
	a.mux.Handle("POST "+modulesPath, a.slowly(a.pushModule))
	a.mux.Handle("POST "+modulesPath+"/rollback", a.acts(a.rollBack))
	a.mux.Handle("GET "+modulesPath+"/{digest}", a.closed(a.module))
	a.mux.Handle("POST "+modulesPath+"/{digest}", a.acts(a.actOnModule))

	a.mux.Handle("GET "+feedsPath, a.closed(a.calendars))
	a.mux.Handle("POST "+feedsPath, a.acts(a.createCalendar))
	a.mux.Handle("POST "+feedsPath+"/{id}", a.acts(a.changeCalendar))
	a.mux.Handle("GET "+nodesPath, a.closed(a.nodes))
	a.mux.Handle("GET "+auditPath, a.closed(a.auditLog))
	a.mux.Handle("POST "+auditPath+"/verify", a.closed(a.verifyLog))

	a.mux.Handle("GET "+settingsPath, a.closed(a.settings))
	a.mux.Handle("POST "+provePath, a.closed(a.prove))
	a.mux.Handle("GET "+provePath+"/provider", a.closed(a.proveOn))
	a.mux.Handle("POST "+settingsPath+"/second-factor", a.closed(a.setFactor))
	a.mux.Handle("POST "+settingsPath+"/sessions/{session}/end", a.closed(a.endSession))

	// A refused form stays at the address it was sent to; loading that again, or a
	// bookmark of it, leads to its page.
	for _, form := range []string{missions + "/{id}/{form}", missions + "/{id}/payment/{form}", brandsPath + "/{slug}/{form}"} {
		a.mux.Handle("GET "+form, a.closed(toPageOfForm))
	}
	for path, page := range map[string]string{keysPath + "/{id}/{form}": keysPath, feedsPath + "/{id}": feedsPath, modulesPath + "/rollback": modulesPath,
		brandsPath + "/import": brandsPath, brandsPath + "/visibility": brandsPath, provePath: settingsPath, auditPath + "/verify": auditPath,
		settingsPath + "/second-factor": settingsPath} {
		a.mux.Handle("GET "+path, a.closed(func(v *visit) error {
			http.Redirect(v.w, v.r, page, http.StatusSeeOther)
			return nil
		}))
	}

	a.mux.Handle("GET "+home+"/{$}", http.RedirectHandler(home, http.StatusSeeOther))
	a.mux.Handle("/", a.open(a.notFound))
}

// visit is one request of one administrator.
type visit struct {
	w    http.ResponseWriter
	r    *http.Request
	user string // empty where anyone may come
	in   access.Session
	form string // prefix of the ids of the form that was posted; empty unless a page has several
}

// may reports whether the visitor may change things.
func (v *visit) may() bool { return v.in.Role == fieldmark.RoleAdmin }

// open lets anyone in.
func (a *area) open(handle func(*visit) error) http.Handler { return a.within(handlerTimeout, handle) }

func (a *area) within(limit time.Duration, handle func(*visit) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		v := &visit{w: w, r: r.WithContext(ctx)}
		if err := handle(v); err != nil {
			a.refuse(v, err)
		}
	})
}

// closed lets administrators and viewers in and shows others where to sign in. A
// form that was sent after the session ended is lost; to keep it would be to keep
// secrets.
func (a *area) closed(handle func(*visit) error) http.Handler { return a.open(a.inside(handle)) }

func (a *area) inside(handle func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		in, err := a.origin.Access.Sessions.Get(v.r.Context(), a.cookie(v.r))
		if fieldmark.IsCode(err, fieldmark.CodeInvalidCredentials) {
			return a.toSignIn(v)
		}
		if err != nil {
			return err
		}
		v.user, v.in = in.User, in
		by := a.caller(v.r)
		v.r = v.r.WithContext(auditlog.WithActor(v.r.Context(), auditlog.Actor{Kind: fieldmark.ActorPerson, Name: in.User,
			Address: by.Addr.String(), Agent: by.Agent, Request: requestID(v.r)}))
		return handle(v)
	}
}

// requestID is the one an edge gave the request, if it is plain.
func requestID(r *http.Request) string {
	if id := r.Header.Get(fieldmark.HeaderRequestID); fieldmark.ValidRequestID(id) {
		return id
	}
	return ""
}

// acts lets in who may change things.
func (a *area) acts(handle func(*visit) error) http.Handler {
	return a.open(a.inside(a.changing(handle)))
}

// slowly is acts for what may take its time.
func (a *area) slowly(handle func(*visit) error) http.Handler {
	return a.within(slowTimeout, a.inside(a.changing(handle)))
}

func (a *area) changing(handle func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		if !v.may() {
			a.fail(v, http.StatusForbidden, "Read-only access", "Ask an administrator to make this change or to give you the administrator role.")
			return nil
		}
		return handle(v)
	}
}

// proved is acts for what needs the password to have been given just now; the
// page that has the form asks for it.
func (a *area) proved(handle func(*visit) error) http.Handler {
	return a.acts(func(v *visit) error {
		if !v.in.Reauthenticated(time.Now()) {
			return v.done(keysPath, "unproved")
		}
		return handle(v)
	})
}

// caller is who asks: the peer, or whom an edge says it speaks for.
func (a *area) caller(r *http.Request) access.Caller {
	if claim := r.Header.Get(fieldmark.HeaderClient); claim != "" && a.fromEdge(r) {
		return access.ParseCaller(claim, r.UserAgent())
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return access.ParseCaller(host, r.UserAgent())
}

func (a *area) fromEdge(r *http.Request) bool {
	return a.tokens.Contains(r.Header.Get(fieldmark.HeaderNode))
}

// overHTTPS reports whether a browser sent r over https, as the settings or an edge
// say. Cookies are Secure then, and the answer asks for https from now on.
func (a *area) overHTTPS(r *http.Request) bool {
	return a.secure || a.fromEdge(r) && r.Header.Get("X-Forwarded-Proto") == "https"
}

// address is the one a browser has for this site.
func (a *area) address(r *http.Request) string {
	scheme := "http"
	if a.overHTTPS(r) {
		scheme = "https"
	}
	return (&url.URL{Scheme: scheme, Host: r.Host}).String()
}

// notFound answers an unknown address, with the navigation for who is signed in.
func (a *area) notFound(v *visit) error {
	if in, err := a.origin.Access.Sessions.Get(v.r.Context(), a.cookie(v.r)); err == nil {
		v.user, v.in = in.User, in
	}
	return fieldmark.Errorf(fieldmark.CodeNotFound, "There is no page at this address.")
}

// toPageOfForm leads from the address of a form to the page that it is on, which
// is the one above: /missions/{id}, /brands/{slug}.
func toPageOfForm(v *visit) error {
	parts := strings.SplitN(v.r.URL.Path, "/", 5) // "", admin, missions, id, rest
	http.Redirect(v.w, v.r, strings.Join(parts[:4], "/"), http.StatusSeeOther)
	return nil
}

// done answers a post by leading back to a page, which then says what was done.
func (v *visit) done(page, what string) error {
	mark := "?"
	if strings.Contains(page, "?") {
		mark = "&"
	}
	http.Redirect(v.w, v.r, page+mark+"done="+what, http.StatusSeeOther)
	return nil
}

// did notes an act of an administrator: in the log, and in the audit log unless
// the act itself is there already.
func (a *area) did(v *visit, what, subject string) {
	a.log.Info("administrator", "user", v.user, "did", what, "subject", subject)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.r.Context()), handlerTimeout) // it is done, whoever left
	defer cancel()
	if err := a.origin.AuditLog.AppendIfNone(ctx, what, subject); err != nil {
		a.log.Error("audit log", "user", v.user, "did", what, "subject", subject, "error", err)
	}
}
