package admin

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// Config says what the area shows and how it is reached.
type Config struct {
	Service   *origin.Service
	Log       *slog.Logger // one line for each act of an administrator; nil: none
	NodeToken string       // what edges show to be believed about a client's address and scheme, as a list of fieldmark.ParseNodeTokens; empty: none is
	Facts     []Fact       // what the settings page tells of this origin
	Secure    bool         // browsers reach the area by https only; otherwise an edge says of each request how it came
}

// Fact is a setting as the settings page shows it.
type Fact struct{ Name, Value string }

// area holds what handlers share; nothing in it changes after New.
type area struct {
	origin *origin.Service
	log    *slog.Logger
	secure bool
	tokens fieldmark.NodeTokens
	facts  []Fact
	views  *views
	mux    *http.ServeMux
}

// New builds the area, to be mounted at /admin and below.
func New(cfg Config) (http.Handler, error) {
	if cfg.Service == nil {
		return nil, errors.New("admin: a service is required")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	v, err := newViews()
	if err != nil {
		return nil, fmt.Errorf("admin: templates: %w", err)
	}
	a := &area{origin: cfg.Service, log: cfg.Log, secure: cfg.Secure, views: v, mux: http.NewServeMux(),
		tokens: fieldmark.ParseNodeTokens(cfg.NodeToken), facts: cfg.Facts}
	a.routes()

	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.fail(&visit{w: w, r: r}, http.StatusForbidden, "This request came from another site", "Open the page here and try again.")
	}))
	return a.hardened(guard.Handler(a.mux)), nil
}

// contentPolicy allows our stylesheet and script and forms to ourselves, and nothing else.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// handlerTimeout bounds a request; a sign-in may wait for its turn to hash. What
// judges a module or a whole file may take longer, but less than the patience of
// the edges in front.
const (
	handlerTimeout = 10 * time.Second
	slowTimeout    = 25 * time.Second
)

// hardened sets what every answer has in common, and survives our own bugs.
func (a *area) hardened(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			a.log.Error("panic", "path", fieldmark.LoggedPath(r.URL.Path), "panic", fmt.Sprint(v))
			a.fail(&visit{w: w, r: r}, http.StatusInternalServerError, fieldmark.CodeInternal.Title(), "")
		}()
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("X-Robots-Tag", "noindex")
		if a.overHTTPS(r) {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}
