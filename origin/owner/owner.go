package owner

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

// Config holds the dependencies and settings of the pages.
type Config struct {
	Service *origin.Service
	// what to improve, the most worthwhile first, by the module runtime that scores
	Advise func(*fieldmark.Assessment) []fieldmark.Gain
	Log    *slog.Logger // actions of owners and errors; nil: discarded
	// edges that send it may report the client's address and scheme: see fieldmark.ParseNodeTokens
	NodeToken string
	Secure    bool   // browsers use HTTPS only; false: edges report the scheme of each request
	BaseURL   string // of the public pages, without a slash at the end; empty: as the browser has it
}

// handler serves the pages. It does not change after New.
type handler struct {
	web.Forwarding
	cfg      Config
	log      *slog.Logger
	origin   *origin.Service
	sessions *access.OwnerSessions
	pages    web.Templates
	mux      *http.ServeMux
}

// New returns the handler of fieldmark.PathOwner and everything below it.
func New(cfg Config) (http.Handler, error) {
	if cfg.Service == nil || cfg.Advise == nil {
		return nil, errors.New("owner: a service and advice are required")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	pages, err := parseTemplates()
	if err != nil {
		return nil, fmt.Errorf("owner: templates: %w", err)
	}
	h := &handler{
		Forwarding: web.Forwarding{NodeTokens: fieldmark.ParseNodeTokens(cfg.NodeToken), Secure: cfg.Secure},
		cfg:        cfg, log: cfg.Log, origin: cfg.Service, sessions: cfg.Service.Access.Owners, pages: pages,
		mux: http.NewServeMux(),
	}
	if err := h.routes(); err != nil {
		return nil, err
	}
	guard := &web.Guard{Forwarding: h.Forwarding, Log: h.log,
		Message: func(w http.ResponseWriter, r *http.Request, status int, title, text string) {
			req := &request{w: w, r: r, secure: h.OverHTTPS(r)}
			req.identify(h)
			h.showMessage(req, status, title, text)
		}}
	return guard.Wrap(h.mux), nil
}

// The timeouts are shorter than the time for which an edge waits: 5.5 s for a page and 30 s for
// a form.
const (
	pageTimeout = 5 * time.Second * timeout.Scale
	formTimeout = 25 * time.Second * timeout.Scale // a test message waits for its receiver
)
