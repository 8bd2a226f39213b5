package admin

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/web"
)

// Config holds the dependencies and settings of the admin console.
type Config struct {
	Service *origin.Service
	Log     *slog.Logger // actions of administrators and errors; nil: discarded
	// edges that send it may report the client's address and scheme: see fieldmark.ParseNodeTokens
	NodeToken string
	Settings  []Setting // the settings of this origin that the settings page shows
	Secure    bool      // browsers use HTTPS only; false: edges report the scheme of each request
}

// Setting is a setting of the process on the settings page.
type Setting struct{ Name, Value string }

// handler routes requests to the handlers of the pages, after it has checked the session and the role of the
// user. It does not change after New.
type handler struct {
	*console
	web.Forwarding
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
		console: &console{templates: t, log: cfg.Log, auditLog: o.AuditLog, brands: o.Brands, studies: o.Visibility,
			monitor: o.Monitor},
		Forwarding: web.Forwarding{NodeTokens: fieldmark.ParseNodeTokens(cfg.NodeToken), Secure: cfg.Secure},
		sessions:   o.Access.Sessions,
		mux:        http.NewServeMux(),
	}
	h.signIn = &signInHandler{h.console, h.Forwarding, h.sessions, o.Access.SignOn}
	h.routes(o, cfg.Settings)

	guard := &web.Guard{Forwarding: h.Forwarding, Log: h.log,
		Message: func(w http.ResponseWriter, r *http.Request, status int, title, text string) {
			req := &request{w: w, r: r, secure: h.OverHTTPS(r)}
			h.identify(req)
			h.showMessage(req, status, title, text)
		}}
	return guard.Wrap(h.mux), nil
}

// The timeouts are shorter than the time for which an edge waits, so that the origin does not work for a
// browser that has been answered already: 5.5 s for a page and 30 s for a form.
const (
	pageTimeout = 5 * time.Second * timeout.Scale
	formTimeout = 10 * time.Second * timeout.Scale // a sign-in may wait for other passwords to be hashed
	longTimeout = 25 * time.Second * timeout.Scale // modules are tested, files are imported
)
