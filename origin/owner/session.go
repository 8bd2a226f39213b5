package owner

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/web"
)

// The two names keep a session that was started over HTTP from being used over HTTPS, where the
// prefix protects it.
// The names of the session cookie. Browsers reject a cookie with the prefix __Host- that is not
// Secure, that has a Domain, or that was set by a subdomain (RFC 6265bis). The prefix needs
// HTTPS.
const (
	secureCookie = "__Host-owner"
	plainCookie  = "fieldmark_owner"
)

// sessionToken returns the token in the session cookie.
// It reads only the cookie that fits the scheme of the request, so a cookie that was planted
// over plain HTTP is not read over HTTPS.
func (h *handler) sessionToken(r *http.Request) string {
	c, err := r.Cookie(h.sessionCookie(r, "").Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// sessionCookie returns the cookie of a token. It is not readable by scripts and not sent with
// forms of other sites; links from mail to a page of the owner still carry it (SameSite=Lax).
func (h *handler) sessionCookie(r *http.Request, token string) *http.Cookie {
	c := &http.Cookie{Name: plainCookie, Value: token, Path: homePath, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, MaxAge: int(access.OwnerSessionLifetime.Seconds())}
	if h.OverHTTPS(r) {
		// The prefix __Host- requires Secure, the path / and no Domain.
		c.Name, c.Path, c.Secure = secureCookie, "/", true
	}
	return c
}

// redirectToSignIn redirects to the sign-in page, which returns to the requested page. The
// address of a form is not kept, because it cannot be loaded.
func (h *handler) redirectToSignIn(req *request) error {
	// Only a page can be returned to: its address leads to the same page again.
	to := signInPath
	if req.r.Method == http.MethodGet && req.r.URL.Path != homePath {
		to += "?next=" + url.QueryEscape(req.r.URL.RequestURI())
	}
	http.Redirect(req.w, req.r, to, http.StatusSeeOther)
	return nil
}

// The target after the sign-in is checked: NextPage accepts paths of the console only, so a
// link to the sign-in page cannot lead to another site.
func (h *handler) signInForm(req *request) error {
	next := web.NextPage(homePath, req.r.URL.Query().Get("next"))
	if _, err := h.sessions.Get(req.r.Context(), h.sessionToken(req.r), h.ClientOf(req.r)); err == nil {
		http.Redirect(req.w, req.r, next, http.StatusSeeOther)
		return nil
	}
	return h.show(req, http.StatusOK, "sign-in", web.Page{Title: "Sign in as the owner of a brand", Data: next})
}

// signIn starts a new session and ends the one in the cookie, against session fixation. The key
// is not shown again if it is refused: it is a secret.
func (h *handler) signIn(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	next := web.NextPage(homePath, req.r.PostForm.Get("next"))
	token, err := h.sessions.SignIn(req.r.Context(), strings.TrimSpace(req.r.PostForm.Get("key")), h.ClientOf(req.r))
	if err != nil {
		// An unavailable database is not the fault of the key: it is shown as an error and not
		// beside the field.
		e := fieldmark.AsError(err)
		if e.Code.Status() >= http.StatusInternalServerError {
			return err
		}
		h.log.Warn("sign-in of an owner refused", "code", string(e.Code))
		return h.show(req, e.Code.Status(), "sign-in", web.Page{Title: "Sign in as the owner of a brand", Data: next,
			Errors: []web.FormError{{Field: "key", Text: signInError(e)}}})
	}
	// The old session ends after the new one began: a wrong key does not sign the owner out.
	if old := h.sessionToken(req.r); old != "" {
		if err := h.sessions.SignOut(req.r.Context(), old); err != nil {
			return err
		}
	}
	http.SetCookie(req.w, h.sessionCookie(req.r, token))
	http.Redirect(req.w, req.r, next, http.StatusSeeOther)
	return nil
}

// signInError returns what to do about a refused key. It does not distinguish an unknown key from a
// revoked one, so a found key cannot be probed.
func signInError(e *fieldmark.Error) string {
	switch e.Code {
	case fieldmark.CodeInsufficientScope:
		return "This key has no access to brands. Use the key that you got when you claimed the brand, or one with " +
			"the scope brand:manage."
	case fieldmark.CodeExpiredAPIKey:
		return "This key has expired."
	case fieldmark.CodeIPNotAllowed:
		return "This key may not be used from your network."
	}
	return "This key is unknown, mistyped or revoked. A key starts with fm_live_."
}

func (h *handler) signOut(req *request) error {
	if err := h.sessions.SignOut(req.r.Context(), h.sessionToken(req.r)); err != nil {
		return err
	}
	gone := h.sessionCookie(req.r, "")
	gone.MaxAge = -1
	http.SetCookie(req.w, gone)
	http.Redirect(req.w, req.r, signInPath, http.StatusSeeOther)
	return nil
}
