package admin

import (
	"errors"
	"net/http"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// The names of the cookie that a browser keeps while it is at the sign-in provider.
// It is Lax, as that of the session: a strict one would not be sent on the way back.
const (
	secureFlow = "__Host-sign-on"
	plainFlow  = "fieldmark_sign_on"
)

func (a *area) flowCookie(r *http.Request, kept string) *http.Cookie {
	c := &http.Cookie{Name: plainFlow, Value: kept, Path: home, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: int(access.FlowLifetime / time.Second)}
	if a.overHTTPS(r) {
		c.Name, c.Path, c.Secure = secureFlow, "/", true
	}
	if kept == "" {
		c.MaxAge = -1
	}
	return c
}

// signOn sends a browser to the provider. It is a link and no form: our own policy
// lets no form lead to another site.
func (a *area) signOn(v *visit) error { return a.toProvider(v, "") }

// proveOn sends an administrator there to prove anew who it is.
func (a *area) proveOn(v *visit) error { return a.toProvider(v, v.in.Name) }

func (a *area) toProvider(v *visit, proves string) error {
	next := nextPage(v.r.URL.Query().Get("next"))
	address, kept, err := a.origin.Access.SignOn.Begin(v.r.Context(), access.AuthRequest{Next: next, Session: proves, ForceLogin: v.r.URL.Query().Has("again")})
	if fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) {
		a.log.Warn("sign-in provider", "error", err)
		if proves != "" {
			a.fail(v, http.StatusBadGateway, "The sign-in provider does not answer", fieldmark.AsError(err).Detail)
			return nil
		}
		return a.showSignIn(v, http.StatusBadGateway, fieldmark.AsError(err).Detail, signInForm{Next: next})
	}
	if err != nil {
		return err
	}
	http.SetCookie(v.w, a.flowCookie(v.r, kept))
	http.Redirect(v.w, v.r, address, http.StatusSeeOther)
	return nil
}

// signedOn takes back a browser that was at the provider. What it kept meanwhile
// is good for once.
func (a *area) signedOn(v *visit) error {
	http.SetCookie(v.w, a.flowCookie(v.r, ""))
	back := access.Callback{Query: v.r.URL.Query(), Token: a.cookie(v.r), Caller: a.caller(v.r)}
	if c, err := v.r.Cookie(a.flowCookie(v.r, "").Name); err == nil {
		back.Flow = c.Value
	}
	token, next, err := a.origin.Access.SignOn.Finish(v.r.Context(), back)
	if refused, ok := errors.AsType[*access.AccessDenied](err); ok {
		a.log.Warn("sign-in refused", "error", err)
		if refused.Known {
			return a.showSignIn(v, http.StatusForbidden, refused.Reason+" Contact your administrator, or sign in with another account.", signInForm{Next: home, Again: true})
		}
		return a.showSignIn(v, http.StatusUnauthorized, refused.Reason, signInForm{Next: home})
	}
	if e := fieldmark.AsError(err); err != nil && (e.Code == fieldmark.CodeOriginUnavailable || e.Code == fieldmark.CodeRateLimited) {
		a.log.Warn("sign-in provider", "error", err)
		why, status := e.Detail, http.StatusBadGateway
		if e.Code == fieldmark.CodeRateLimited {
			why, status = v.refusal(e), e.Code.Status()
		}
		return a.showSignIn(v, status, why, signInForm{Next: home})
	}
	if err != nil {
		return err
	}
	if token != "" {
		if back.Token != "" {
			if err := a.origin.Access.Sessions.SignOut(v.r.Context(), back.Token); err != nil {
				return err
			}
		}
		http.SetCookie(v.w, a.newCookie(v.r, token))
	}
	http.Redirect(v.w, v.r, nextPage(next), http.StatusSeeOther)
	return nil
}

// showSignIn shows the page to sign in, with what went wrong, if anything did.
func (a *area) showSignIn(v *visit, status int, fault string, form signInForm) error {
	form.Provider, form.Passwords = a.origin.Access.SignOn.Label(), a.origin.Access.SignOn.PasswordsAllowed()
	p := page{Title: "Sign in", Data: form}
	if form.Again {
		p.Title = "Access denied"
	}
	if fault != "" {
		p.Complaints = complain(fault)
	}
	return a.show(v, status, "sign-in", p)
}

// proof is what a page needs to ask somebody to prove who it is.
type proof struct {
	Next     string
	Provider string // what to call the sign-in provider; empty for who has a password
	Factor   bool   // a code is enough for who has none
}

func (a *area) proofFor(v *visit, next string) proof {
	p := proof{Next: next, Factor: v.in.HasTOTP}
	if v.in.External {
		p.Provider = a.origin.Access.SignOn.Label()
	}
	return p
}
