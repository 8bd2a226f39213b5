package admin

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/web"
)

// signInHandler signs users in and out, with a password or with the sign-in provider, and confirms the
// identity of users who are signed in.
type signInHandler struct {
	*console
	web.Forwarding // cookies depend on the scheme, throttling on the client's address
	sessions       *access.Sessions
	signOn         *access.SignOn
}

// The names of the session cookie. Browsers reject a cookie with the prefix __Host- that is not Secure, that
// has a Domain, or that was set by a subdomain (RFC 6265bis). The prefix needs HTTPS.
const (
	secureCookie = "__Host-session"
	plainCookie  = "fieldmark_session"
)

// maxForm bounds a posted form without a file in bytes. The largest is that of a mission: a character of its
// description takes up to 12 bytes in a form, and there are 10,000.
const maxForm = 256 << 10

// sessionToken returns the token in the session cookie.
// It reads only the cookie that fits the scheme of the request.
func (h *signInHandler) sessionToken(r *http.Request) string {
	c, err := r.Cookie(h.sessionCookie(r, "").Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// sessionCookie returns a cookie that lasts until the browser is closed. The service limits how long its token
// is valid.
// SameSite=Lax keeps it out of forms of other sites and lets links to the console work.
func (h *signInHandler) sessionCookie(r *http.Request, token string) *http.Cookie {
	c := &http.Cookie{Name: plainCookie, Value: token, Path: homePath, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if h.OverHTTPS(r) {
		c.Name, c.Path, c.Secure = secureCookie, "/", true
	}
	return c
}

// redirectToSignIn redirects to the sign-in page, which returns to the requested page after sign-in. The
// address of a form is not kept, because it cannot be loaded.
func (h *signInHandler) redirectToSignIn(req *request) error {
	to := signInPath
	if req.r.Method == http.MethodGet && req.r.URL.Path != homePath {
		to += "?next=" + url.QueryEscape(req.r.URL.RequestURI())
	}
	http.Redirect(req.w, req.r, to, http.StatusSeeOther)
	return nil
}

// signInForm has the values of the sign-in form.
type signInForm struct {
	User      string
	Next      string
	Provider  string // name of the sign-in provider; empty without one
	Passwords bool
	Denied    bool // the account at the provider has no access, so the provider must ask for another
}

// form shows the sign-in form, unless the browser is signed in.
func (h *signInHandler) form(req *request) error {
	if _, err := h.sessions.Get(req.r.Context(), h.sessionToken(req.r)); err == nil {
		http.Redirect(req.w, req.r, homePath, http.StatusSeeOther)
		return nil
	}
	if h.showOutage(req, http.StatusServiceUnavailable) { // without it, no sign-in succeeds
		return nil
	}
	return h.showForm(req, http.StatusOK, nil, signInForm{Next: web.NextPage(homePath, req.r.URL.Query().Get("next"))})
}

// submit starts a new session and ends the one in the cookie, against session fixation.
// A wrong password leaves the old session as it is.
func (h *signInHandler) submit(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	form := signInForm{User: req.r.PostForm.Get("user"), Next: web.NextPage(homePath, req.r.PostForm.Get("next"))}
	token, err := h.sessions.SignIn(req.r.Context(), access.Credentials{
		User: form.User, Password: req.r.PostForm.Get("password"), Code: req.postedCode(), Caller: h.ClientOf(req.r),
	})
	if err != nil {
		e := fieldmark.AsError(err)
		// An unavailable database is an error and not a wrong password.
		if e.Code.Status() >= 500 {
			return err
		}
		h.log.Warn("sign-in refused", "code", string(e.Code))
		return h.showForm(req, e.Code.Status(), req.signInError(e, "password"), form)
	}
	// The old session ends after the new one began.
	if old := h.sessionToken(req.r); old != "" {
		if err := h.sessions.SignOut(req.r.Context(), old); err != nil {
			return err
		}
	}
	h.log.Info("admin action", "user", form.User, "action", "sign_in", "target", form.User)
	http.SetCookie(req.w, h.sessionCookie(req.r, token))
	http.Redirect(req.w, req.r, form.Next, http.StatusSeeOther)
	return nil
}

// signInError returns the error about a rejected sign-in, at the input with the id. It does not reveal which
// value was wrong.
// A message that names the wrong value would let anyone find out which users exist.
func (req *request) signInError(e *fieldmark.Error, id string) []web.FormError {
	if e.Code != fieldmark.CodeRateLimited {
		return []web.FormError{{Field: id, Text: "The user name, the password or the code is wrong."}}
	}
	seconds := max(1, int(e.RetryAfter/time.Second))
	req.w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return []web.FormError{{Field: id, Text: "Too many attempts. Try again in " + strconv.Itoa(seconds) + " s."}}
}

// reauth confirms the identity of the user for actions that need a recent password or code.
// It confirms the session and not a single form, for access.ReauthLifetime.
func (h *signInHandler) reauth(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	next := web.NextPage(homePath, req.r.PostForm.Get("next"))
	posted := req.r.PostForm
	if confirmed, err := h.confirm(req, reauthForm(req, h.signOn, next), posted.Get("password"),
		req.postedCode()); !confirmed {
		return err
	}
	http.Redirect(req.w, req.r, next, http.StatusSeeOther)
	return nil
}

// confirm checks the password or the code of the user. It shows the form again if they are wrong.
// confirmed is false if the form was shown again.
func (h *signInHandler) confirm(req *request, form reauthData, password, code string) (bool, error) {
	err := h.sessions.Reauthenticate(req.r.Context(), h.sessionToken(req.r), password, code, h.ClientOf(req.r))
	if err == nil {
		req.session, err = h.sessions.Get(req.r.Context(), h.sessionToken(req.r))
		return err == nil, err
	}
	e := fieldmark.AsError(err)
	if e.Code.Status() >= 500 {
		return false, err
	}
	id := "password"
	if form.Provider != "" { // the form has no password
		id = "proof-code"
	}
	form.Errors = req.signInError(e, id)
	return false, h.showReauth(req, e.Code.Status(), form)
}

// showReauth shows the form that confirms the identity.
func (h *signInHandler) showReauth(req *request, status int, form reauthData) error {
	return h.show(req, status, "reauth", web.Page{Title: "Confirm your identity", Errors: form.Errors, Data: form})
}

// confirmForm asks for the password or the code of the user on a page that repeats the posted form, which is
// sent again with them. So nothing that was entered is lost, and nothing is stored.
// Passwords are removed from the repeated form, so that they are in no page.
func (h *signInHandler) confirmForm(req *request) (confirmed bool, err error) {
	if err := req.parseForm(); err != nil {
		return false, err
	}
	posted := req.r.PostForm
	password, code := posted.Get("password"), req.postedCode()
	for _, name := range []string{"password", "code", "next"} {
		posted.Del(name) // the action must not repeat them in another form
	}
	form := reauthForm(req, h.signOn, homePath)
	form.Action, form.Inputs = req.r.URL.Path, web.Confirmation{Posted: posted}.Inputs()
	if password == "" && code == "" {
		return false, h.showReauth(req, http.StatusForbidden, form)
	}
	return h.confirm(req, form, password, code)
}

// signOut ends the session in the database before the cookie is deleted: a copied cookie is invalid then too.
func (h *signInHandler) signOut(req *request) error {
	if err := h.sessions.SignOut(req.r.Context(), h.sessionToken(req.r)); err != nil {
		return err
	}
	gone := h.sessionCookie(req.r, "")
	gone.MaxAge = -1
	http.SetCookie(req.w, gone)
	http.Redirect(req.w, req.r, signInPath, http.StatusSeeOther)
	return nil
}

// postedCode returns the code of an authenticator app, which shows it with a space.
func (req *request) postedCode() string {
	return strings.ReplaceAll(req.r.PostForm.Get("code"), " ", "")
}

// parseForm parses a posted form of at most maxForm bytes.
func (req *request) parseForm() error {
	req.r.Body = http.MaxBytesReader(req.w, req.r.Body, maxForm)
	if err := req.r.ParseForm(); err != nil {
		return fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "The form could not be read.")
	}
	return nil
}

// The names of the cookie that holds the state of a sign-in at the provider. It is SameSite=Lax: a browser
// would not send a strict cookie when the provider redirects back.
const (
	secureProviderCookie = "__Host-sign-on"
	plainProviderCookie  = "fieldmark_sign_on"
)

// providerCookie returns the cookie with the state of a sign-in; without a state it deletes the cookie. With the
// prefix __Host- no other host of the domain can set it, which would let an attacker sign a victim in as themselves.
func (h *signInHandler) providerCookie(r *http.Request, state string) *http.Cookie {
	c := &http.Cookie{Name: plainProviderCookie, Value: state, Path: homePath, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, MaxAge: int(access.FlowLifetime / time.Second)}
	if h.OverHTTPS(r) {
		c.Name, c.Path, c.Secure = secureProviderCookie, "/", true
	}
	if state == "" {
		c.MaxAge = -1
	}
	return c
}

// startProviderSignIn redirects to the provider. It is a link, because the Content-Security-Policy does not
// allow forms to lead to another site.
func (h *signInHandler) startProviderSignIn(req *request) error { return h.redirectToProvider(req, "") }

// reauthWithProvider redirects to the provider to confirm the identity of a signed-in user.
func (h *signInHandler) reauthWithProvider(req *request) error {
	return h.redirectToProvider(req, req.session.Name)
}

// redirectToProvider starts a sign-in at the provider. proves is the session to confirm, "" for a new one. If the
// provider is unavailable the form for passwords is shown, which works without it.
func (h *signInHandler) redirectToProvider(req *request, proves string) error {
	next := web.NextPage(homePath, req.r.URL.Query().Get("next"))
	address, kept, err := h.signOn.Begin(req.r.Context(), access.AuthRequest{Next: next, Session: proves,
		ForceLogin: req.r.URL.Query().Has("again")})
	if fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) {
		h.log.Warn("sign-in provider", "error", err)
		if proves != "" {
			h.showMessage(req, http.StatusBadGateway, "The sign-in provider is unavailable",
				fieldmark.AsError(err).Detail)
			return nil
		}
		return h.showForm(req, http.StatusBadGateway, web.ErrorOf(web.Sentence(fieldmark.AsError(err).Detail)),
			signInForm{Next: next})
	}
	if err != nil {
		return err
	}
	http.SetCookie(req.w, h.providerCookie(req.r, kept))
	http.Redirect(req.w, req.r, address, http.StatusSeeOther)
	return nil
}

// finishProviderSignIn handles the redirect back from the provider. The state in the cookie is valid once.
func (h *signInHandler) finishProviderSignIn(req *request) error {
	http.SetCookie(req.w, h.providerCookie(req.r, ""))
	back := access.Callback{Query: req.r.URL.Query(), Token: h.sessionToken(req.r), Caller: h.ClientOf(req.r)}
	if c, err := req.r.Cookie(h.providerCookie(req.r, "").Name); err == nil {
		back.Flow = c.Value
	}
	token, next, err := h.signOn.Finish(req.r.Context(), back)
	if refused, ok := errors.AsType[*access.AccessDenied](err); ok {
		h.log.Warn("sign-in refused", "error", err)
		if refused.Known {
			message := refused.Reason + " Contact your administrator, or sign in with another account."
			return h.showForm(req, http.StatusForbidden, web.ErrorOf(message), signInForm{Next: homePath, Denied: true})
		}
		return h.showForm(req, http.StatusUnauthorized, web.ErrorOf(refused.Reason), signInForm{Next: homePath})
	}
	if hasCode(err, fieldmark.CodeOriginUnavailable, fieldmark.CodeRateLimited) {
		h.log.Warn("sign-in provider", "error", err)
		e := fieldmark.AsError(err)
		bad, status := web.ErrorOf(web.Sentence(e.Detail)), http.StatusBadGateway
		if e.Code == fieldmark.CodeRateLimited {
			bad, status = req.signInError(e, ""), e.Code.Status()
		}
		return h.showForm(req, status, bad, signInForm{Next: homePath})
	}
	if err != nil {
		return err
	}
	if token != "" {
		if back.Token != "" {
			if err := h.sessions.SignOut(req.r.Context(), back.Token); err != nil {
				return err
			}
		}
		http.SetCookie(req.w, h.sessionCookie(req.r, token))
	}
	http.Redirect(req.w, req.r, web.NextPage(homePath, next), http.StatusSeeOther)
	return nil
}

// showForm shows the sign-in page with errors, if there are any.
func (h *signInHandler) showForm(req *request, status int, bad []web.FormError, form signInForm) error {
	form.Provider, form.Passwords = h.signOn.Label(), h.signOn.PasswordsAllowed()
	p := web.Page{Title: "Sign in", Data: form, Errors: bad}
	if form.Denied {
		p.Title = "Access denied"
	}
	return h.show(req, status, "sign-in", p)
}

// reauthData is the form that confirms the identity of the user.
type reauthData struct {
	web.Page // of the inputs: its errors only
	Next     string
	Provider string // name of the sign-in provider; empty for a user with a password
	Factor   bool   // the user can enter a code instead

	// Of a form that needs the confirmation: its address and its values, empty on other pages.
	Action string
	Inputs []struct{ Name, Value string }
}

func reauthForm(req *request, signOn *access.SignOn, next string) reauthData {
	p := reauthData{Next: next, Factor: req.session.HasTOTP}
	if req.session.External {
		p.Provider = signOn.Label()
	}
	return p
}
