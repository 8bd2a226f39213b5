package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// contentPolicy allows the stylesheet, the script and what it loads, images and forms of this site, and nothing
// else.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// Guard protects the handlers of pages. Message shows a page with a title and a text.
type Guard struct {
	Forwarding
	Log     *slog.Logger
	Message func(w http.ResponseWriter, r *http.Request, status int, title, text string)
}

// Wrap sets the headers of every response, refuses forms that another site sent, and responds with 500 to a
// panic.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.Message(w, r, http.StatusForbidden, "This request came from another site",
			"Open the page of the form here and try again.")
	}))
	next = crossOrigin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			g.Log.Error("panic", "path", fieldmark.LoggedPath(r.URL.Path), "panic", fmt.Sprint(v))
			g.Message(w, r, http.StatusInternalServerError, fieldmark.CodeInternal.Title(), "")
		}()
		header := w.Header()
		header.Set("Content-Security-Policy", contentPolicy)
		header.Set("Cache-Control", "private, no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("X-Robots-Tag", "noindex")
		if g.OverHTTPS(r) {
			header.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// NextPage returns next if it is the path home or one below it, and home otherwise, so that a
// link to a sign-in page cannot redirect to another site.
func NextPage(home, next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsAny(next, "\\\r\n") ||
		path.Clean(u.Path) != u.Path || (u.Path != home && !strings.HasPrefix(u.Path, home+"/")) {
		return home
	}
	if u.Fragment != "" {
		return u.RequestURI() + "#" + u.EscapedFragment()
	}
	return u.RequestURI()
}
