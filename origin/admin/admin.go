package admin

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
)

// Config holds the dependencies and settings of the admin console.
type Config struct {
	Service *origin.Service
	Log     *slog.Logger // actions of administrators and errors; nil: discarded
	// edges that send it may report the client's address and scheme: see fieldmark.ParseNodeTokens
	NodeToken string
	Facts     []Fact // the settings of this origin that the settings page shows
	Secure    bool   // browsers use HTTPS only; false: edges report the scheme of each request
}

// Fact is a setting on the settings page.
type Fact struct{ Name, Value string }

// handler routes requests to the handlers of the pages, after it has checked the session and the role of the
// user. It does not change after New.
type handler struct {
	*console
	forwarding
	sessions *access.Sessions
	signIn   *signInHandler
	mux      *http.ServeMux
}

// New returns the handler of /admin and everything below it.
func New(cfg Config) (http.Handler, error) {
	if cfg.Service == nil {
		return nil, errors.New("admin: a service is required")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	t, err := parseTemplates()
	if err != nil {
		return nil, fmt.Errorf("admin: templates: %w", err)
	}
	o := cfg.Service
	h := &handler{
		console:    &console{templates: t, log: cfg.Log, auditLog: o.AuditLog},
		forwarding: forwarding{nodeTokens: fieldmark.ParseNodeTokens(cfg.NodeToken), secure: cfg.Secure},
		sessions:   o.Access.Sessions,
		mux:        http.NewServeMux(),
	}
	h.signIn = &signInHandler{h.console, h.forwarding, h.sessions, o.Access.SignOn}
	h.routes(o, cfg.Facts)

	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.showMessage(&request{w: w, r: r}, http.StatusForbidden, "This request came from another site",
			"Open the page in the admin console and try again.")
	}))
	return h.middleware(guard.Handler(h.mux)), nil
}

// contentPolicy allows the stylesheet, the script, images and forms of this site, and nothing else.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action " +
	"'self'; frame-ancestors 'none'; base-uri 'none'"

// The timeouts are shorter than the time for which an edge waits, so that the origin does not work for a
// browser that has been answered already: 5.5 s for a page and 30 s for a form.
const (
	pageTimeout = 5 * time.Second
	formTimeout = 10 * time.Second // a sign-in may wait for other passwords to be hashed
	longTimeout = 25 * time.Second // modules are tested, files are imported
)

// middleware sets the headers of every response and responds with 500 to a panic.
func (h *handler) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			h.log.Error("panic", "path", fieldmark.LoggedPath(r.URL.Path), "panic", fmt.Sprint(v))
			h.showMessage(&request{w: w, r: r}, http.StatusInternalServerError, fieldmark.CodeInternal.Title(), "")
		}()
		header := w.Header()
		header.Set("Content-Security-Policy", contentPolicy)
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("X-Robots-Tag", "noindex")
		if h.overHTTPS(r) {
			header.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}
