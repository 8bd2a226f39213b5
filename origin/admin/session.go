package admin

import (
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// The names of the cookie. The prefix makes browsers refuse one that is not
// Secure, not for the whole host, or set from a subdomain (RFC 6265bis); without
// https it cannot be had.
const (
	secureCookie = "__Host-session"
	plainCookie  = "fieldmark_session"
)

// maxForm bounds a posted form without a file, in bytes: the largest describes a brand.
const maxForm = 16 << 10

// cookie reads the session's token.
func (a *area) cookie(r *http.Request) string {
	c, err := r.Cookie(a.newCookie(r, "").Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// newCookie holds a token for as long as the browser is open; how long it is
// good for is the service's to say.
func (a *area) newCookie(r *http.Request, token string) *http.Cookie {
	c := &http.Cookie{Name: plainCookie, Value: token, Path: home, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if a.overHTTPS(r) {
		c.Name, c.Path, c.Secure = secureCookie, "/", true
	}
	return c
}

// toSignIn leads to the sign-in page, and from there back to a page that can be
// opened again.
func (a *area) toSignIn(v *visit) error {
	to := signInPath
	if v.r.Method == http.MethodGet && v.r.URL.Path != home {
		to += "?next=" + url.QueryEscape(v.r.URL.RequestURI())
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// signInForm is what the sign-in page shows again after a failure.
type signInForm struct {
	User      string
	Next      string
	Provider  string // what to call the sign-in provider; empty without one
	Passwords bool
	Again     bool // who the provider knows may not enter, so it must ask anew
}

func (a *area) signInPage(v *visit) error {
	if _, err := a.origin.Access.Sessions.Get(v.r.Context(), a.cookie(v.r)); err == nil {
		http.Redirect(v.w, v.r, home, http.StatusSeeOther)
		return nil
	}
	return a.showSignIn(v, http.StatusOK, "", signInForm{Next: nextPage(v.r.URL.Query().Get("next"))})
}

// signIn begins a session of its own; one that the browser already had is ended,
// so that nobody goes on in a session that was planted.
func (a *area) signIn(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	form := signInForm{User: v.r.PostForm.Get("user"), Next: nextPage(v.r.PostForm.Get("next"))}
	token, err := a.origin.Access.Sessions.SignIn(v.r.Context(), access.Credentials{User: form.User, Password: v.r.PostForm.Get("password"),
		Code: strings.ReplaceAll(v.r.PostForm.Get("code"), " ", ""), Caller: a.caller(v.r)})
	if err != nil {
		e := fieldmark.AsError(err)
		if e.Code.Status() >= 500 {
			return err
		}
		a.log.Warn("sign-in refused", "code", string(e.Code))
		return a.showSignIn(v, e.Code.Status(), v.refusal(e), form)
	}
	if old := a.cookie(v.r); old != "" {
		if err := a.origin.Access.Sessions.SignOut(v.r.Context(), old); err != nil {
			return err
		}
	}
	a.log.Info("administrator", "user", form.User, "did", "sign in", "subject", form.User)
	http.SetCookie(v.w, a.newCookie(v.r, token))
	http.Redirect(v.w, v.r, form.Next, http.StatusSeeOther)
	return nil
}

// refusal says why a password was not taken, in words that tell nothing else.
func (v *visit) refusal(e *fieldmark.Error) string {
	if e.Code != fieldmark.CodeRateLimited {
		return "The user name, the password or the code is wrong."
	}
	seconds := max(1, int(e.RetryAfter/time.Second))
	v.w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return "Too many attempts. Try again in " + strconv.Itoa(seconds) + " s."
}

// prove takes the password again, for what needs it to have been given just now.
func (a *area) prove(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	next := nextPage(v.r.PostForm.Get("next"))
	err := a.origin.Access.Sessions.Reauthenticate(v.r.Context(), a.cookie(v.r), v.r.PostForm.Get("password"), strings.ReplaceAll(v.r.PostForm.Get("code"), " ", ""), a.caller(v.r))
	if err != nil {
		e := fieldmark.AsError(err)
		if e.Code.Status() >= 500 {
			return err
		}
		return a.show(v, e.Code.Status(), "prove", page{Title: "Confirm it is you", Complaints: complain(v.refusal(e)), Data: a.proofFor(v, next)})
	}
	http.Redirect(v.w, v.r, next, http.StatusSeeOther)
	return nil
}

func (a *area) signOut(v *visit) error {
	if err := a.origin.Access.Sessions.SignOut(v.r.Context(), a.cookie(v.r)); err != nil {
		return err
	}
	gone := a.newCookie(v.r, "")
	gone.MaxAge = -1
	http.SetCookie(v.w, gone)
	http.Redirect(v.w, v.r, signInPath, http.StatusSeeOther)
	return nil
}

// nextPage accepts an address within the area and nothing else, so that a link
// to the sign-in page cannot lead on to a stranger.
func nextPage(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsAny(next, "\\\r\n") ||
		path.Clean(u.Path) != u.Path || (u.Path != home && !strings.HasPrefix(u.Path, home+"/")) {
		return home
	}
	return u.RequestURI()
}

// parseForm reads a posted form of bounded size.
func (v *visit) parseForm() error {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		return fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "The form could not be read.")
	}
	return nil
}
