package admin

import (
	"errors"
	"net/http"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/web"
)

// The names of the cookie that holds the state of a sign-in at the provider. It is SameSite=Lax: a browser
// would not send a strict cookie when the provider redirects back.
const (
	secureProviderCookie = "__Host-sign-on"
	plainProviderCookie  = "fieldmark_sign_on"
)

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
		return h.showForm(req, http.StatusBadGateway, fieldmark.AsError(err).Detail, signInForm{Next: next})
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
			return h.showForm(req, http.StatusForbidden, message, signInForm{Next: homePath, Denied: true})
		}
		return h.showForm(req, http.StatusUnauthorized, refused.Reason, signInForm{Next: homePath})
	}
	if hasCode(err, fieldmark.CodeOriginUnavailable, fieldmark.CodeRateLimited) {
		h.log.Warn("sign-in provider", "error", err)
		e := fieldmark.AsError(err)
		message, status := e.Detail, http.StatusBadGateway
		if e.Code == fieldmark.CodeRateLimited {
			message, status = req.signInError(e), e.Code.Status()
		}
		return h.showForm(req, status, message, signInForm{Next: homePath})
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

// showForm shows the sign-in page with an error, if there is one.
func (h *signInHandler) showForm(req *request, status int, message string, form signInForm) error {
	form.Provider, form.Passwords = h.signOn.Label(), h.signOn.PasswordsAllowed()
	p := web.Page{Title: "Sign in", Data: form}
	if form.Denied {
		p.Title = "Access denied"
	}
	if message != "" {
		p.Errors = web.ErrorOf(message)
	}
	return h.show(req, status, "sign-in", p)
}

// reauthData is the form that confirms the identity of the user.
type reauthData struct {
	Next     string
	Provider string // name of the sign-in provider; empty for a user with a password
	Factor   bool   // the user can enter a code instead
}

func reauthForm(req *request, signOn *access.SignOn, next string) reauthData {
	p := reauthData{Next: next, Factor: req.session.HasTOTP}
	if req.session.External {
		p.Provider = signOn.Label()
	}
	return p
}
