package technician

import (
	"fmt"
	"net/http"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/web"
)

// The prefix __Secure- lets a browser accept the cookie over HTTPS only (RFC 6265bis); __Host-
// cannot be used, because it forbids a path.
// The names of the cookie of a device on which the PIN was entered. It is sent below the path of its link
// only, so several links work on one device. Browsers reject the prefix over plain HTTP.
const (
	secureCookie = "__Secure-technician"
	plainCookie  = "fieldmark_technician"
)

// cookie returns the value of the cookie, or "".
// Both names are read, because an installation may have moved to HTTPS after the cookie was
// set.
func (req *request) cookie() string {
	for _, name := range []string{secureCookie, plainCookie} {
		if c, err := req.r.Cookie(name); err == nil {
			return c.Value
		}
	}
	return ""
}

// maxPINForm bounds the form of the PIN, in bytes.
const maxPINForm = 1 << 10

// showPINForm shows the form for the PIN, or answers the script that it is needed.
// A script gets the error instead of a page, and shows the form itself.
func (h *handler) showPINForm(req *request, status int, problem string) error {
	if req.wantsJSON() {
		return fieldmark.Errorf(fieldmark.CodeInvalidCredentials, "enter the PIN of this link")
	}
	p := web.Page{Title: "Enter your PIN", Data: h.pageOf(req)}
	if problem != "" {
		p.Errors = []web.FormError{{Field: "pin", Text: problem}}
	}
	return h.pages.Show(req.w, status, "pin", p)
}

// enterPIN checks the PIN and starts the session of the device.
func (h *handler) enterPIN(req *request) error {
	req.r.Body = http.MaxBytesReader(req.w, req.r.Body, maxPINForm)
	if err := req.r.ParseForm(); err != nil {
		return fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "The form could not be read.")
	}
	// Count and comparison share a transaction, so parallel requests do not get more tries.
	l, err := h.Links.checkPIN(req.r.Context(), req.link.ID, req.r.PostForm.Get("pin"))
	if e := fieldmark.AsError(err); fieldmark.IsCode(err, fieldmark.CodeRateLimited) {
		minutes := int((e.RetryAfter + time.Minute - 1) / time.Minute)
		req.w.Header().Set("Retry-After", fmt.Sprint(int(e.RetryAfter/time.Second)+1))
		return h.showPINForm(req, http.StatusTooManyRequests, fmt.Sprintf("There were %d wrong PINs. Try again in %d "+
			"minutes, or ask your dispatcher for a new link.", maxPINTries, minutes))
	}
	if fieldmark.IsCode(err, fieldmark.CodeInvalidCredentials) {
		return h.showPINForm(req, http.StatusUnauthorized, fmt.Sprintf("This is not the PIN of this link. "+
			"You can try %d times an hour.", maxPINTries))
	}
	if err != nil {
		return err
	}
	// The cookie is bound to the link, its generation and its PIN: after a rotation it is
	// worthless.
	c := &http.Cookie{Name: plainCookie, Path: req.base(), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		MaxAge: int(sessionLifetime.Seconds()), Value: h.Links.session(&l, req.now.Add(sessionLifetime))}
	if h.OverHTTPS(req.r) {
		c.Name, c.Secure = secureCookie, true
	}
	http.SetCookie(req.w, c)
	return h.toList(req)
}
