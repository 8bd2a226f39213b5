package web

import "net/http"

// noticeCookie holds the key of a notice, not its text, so that another site cannot make a page show a text.
const noticeCookie = "fieldmark_notice"

// noticeSeconds is how long a notice waits for its page, which the browser loads at once.
const noticeSeconds = 60

// SetNotice makes the next page below home show the notice with a key, once: the key is not in the address,
// which could be loaded again or stored as a bookmark.
func SetNotice(w http.ResponseWriter, home, key string, secure bool) {
	http.SetCookie(w, &http.Cookie{Name: noticeCookie, Value: key, Path: home, MaxAge: noticeSeconds,
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode})
}

// TakeNotice returns the key of the notice that the page shows and removes it; "" without one.
func TakeNotice(w http.ResponseWriter, r *http.Request, home string, secure bool) string {
	c, err := r.Cookie(noticeCookie)
	if err != nil {
		return ""
	}
	http.SetCookie(w, &http.Cookie{Name: noticeCookie, Path: home, MaxAge: -1, HttpOnly: true, Secure: secure,
		SameSite: http.SameSiteLaxMode})
	return c.Value
}
