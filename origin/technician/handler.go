package technician

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/internal/ui"
	"github.com/fieldmark/fieldmark/origin/attachment"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/web"
)

//go:embed templates/*.html assets/technician.css assets/technician.js assets/worker.js
var files embed.FS

// Config holds the dependencies and settings of the pages. All fields but Log, NodeToken and Secure
// are required.
type Config struct {
	Links       *Links
	Missions    *mission.Service
	Attachments *attachment.Service
	Responses   *idempotency.Service

	Log *slog.Logger // errors; nil: discarded
	// edges that send it may report the client's address and scheme: see fieldmark.ParseNodeTokens
	NodeToken string
	Secure    bool   // browsers use HTTPS only; false: edges report the scheme of each request
	BaseURL   string // of the pages about problems; may be empty
}

// handler serves the pages. It does not change after New.
type handler struct {
	web.Forwarding
	Config
	pages web.Templates
	mux   *http.ServeMux
}

// The timeouts are shorter than the time for which an edge waits.
const (
	pageTimeout = 5 * time.Second * timeout.Scale
	// actTimeout is for forms, which wait for other writers. The time in which a body arrives is
	// not part of it.
	actTimeout = 5 * time.Second * timeout.Scale
)

// New returns the handler of everything below fieldmark.PathTechnician.
func New(cfg Config) (http.Handler, error) {
	if cfg.Links == nil || cfg.Missions == nil || cfg.Attachments == nil || cfg.Responses == nil {
		return nil, errors.New("technician: links, missions, attachments and responses are required")
	}
	// Errors are logged without the path: it contains the token.
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	pages, err := web.ParseTemplates(files, templateFuncs, "list", "mission", "pin", "message")
	if err != nil {
		return nil, fmt.Errorf("technician: templates: %w", err)
	}
	h := &handler{Forwarding: web.Forwarding{NodeTokens: fieldmark.ParseNodeTokens(cfg.NodeToken), Secure: cfg.Secure},
		Config: cfg, pages: pages, mux: http.NewServeMux()}
	if err := h.routes(); err != nil {
		return nil, err
	}
	guard := &web.Guard{Forwarding: h.Forwarding, Log: h.Log,
		Message: func(w http.ResponseWriter, r *http.Request, status int, title, text string) {
			h.showMessage(&request{w: w, r: r}, status, title, text)
		}}
	return guard.Wrap(h.mux), nil
}

const (
	assetsPath = fieldmark.PathTechnician + "assets/"
	linkPath   = fieldmark.PathTechnician + "{token}/"
	onePath    = linkPath + "missions/{id}"
)

// routes registers every page, form and file.
// Every address below the token has the scope of one link, which is what the service worker and
// the cookie are bound to.
func (h *handler) routes() error {
	style, err := files.ReadFile("assets/technician.css")
	if err != nil {
		return err
	}
	h.mux.Handle("GET "+assetsPath+"technician.css", web.NewAsset([]byte(ui.Style+string(style)), "text/css"))
	script, err := web.ReadAsset(files, "assets/technician.js", "text/javascript")
	if err != nil {
		return err
	}
	worker, err := web.ReadAsset(files, "assets/worker.js", "text/javascript")
	if err != nil {
		return err
	}
	h.mux.Handle("GET "+assetsPath+"technician.js", script)
	h.mux.Handle("GET "+assetsPath+"icon.svg", web.Icon())
	// Its response is the same for every link and may be cached by the browser.
	// Below the token, because the scope of a service worker is its folder.
	h.mux.Handle("GET "+linkPath+"worker.js", worker)
	h.mux.Handle("GET "+fieldmark.PathTechnician+"{token}", http.HandlerFunc(addSlash))
	h.mux.Handle("GET "+linkPath+"{$}", h.admitted(h.list))
	h.mux.Handle("POST "+linkPath+"pin", h.linked(actTimeout, h.enterPIN))
	h.mux.Handle("GET "+linkPath+"pin", h.linked(pageTimeout, h.toList))
	h.mux.Handle("GET "+onePath, h.admitted(h.mission))
	h.mux.Handle("POST "+onePath+"/acts", h.admitted(h.act))
	// A browser may load the address of a form, such as after a refused act: it gets the page
	// instead of an error.
	h.mux.Handle("GET "+onePath+"/acts", h.admitted(func(req *request) error {
		http.Redirect(req.w, req.r, req.missionPath(req.r.PathValue("id")), http.StatusSeeOther)
		return nil
	}))
	h.mux.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.showError(&request{w: w, r: r}, fieldmark.Errorf(fieldmark.CodeNotFound, "There is no page at this address."))
	}))
	return nil
}

// addSlash redirects to the folder of a link. Its address is written in full, because a relative one
// depends on whether the browser's has the slash.
func addSlash(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, fieldmark.PathTechnician+r.PathValue("token")+"/", http.StatusSeeOther)
}

// request is one request and its response.
type request struct {
	w    http.ResponseWriter
	r    *http.Request
	link store.TechnicianLink
	zone *time.Location // of the account
	now  time.Time
}

// base returns the path of the link.
func (req *request) base() string { return fieldmark.PathTechnician + req.r.PathValue("token") + "/" }

func (req *request) missionPath(id string) string { return req.base() + "missions/" + id }

// wantsJSON reports whether the script sent the request.
func (req *request) wantsJSON() bool {
	return strings.HasPrefix(req.r.Header.Get("Accept"), "application/json")
}

// action handles a request.
type action func(*request) error

// linked returns the handler of an action that needs a link but not its PIN.
// It serves the PIN form itself, which must work before the PIN was entered.
func (h *handler) linked(limit time.Duration, do action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		req := &request{w: w, r: r.WithContext(ctx), now: time.Now(), zone: time.UTC}
		err := h.open(req)
		if err == nil {
			err = do(req)
		}
		if err != nil {
			h.showError(req, err)
		}
	})
}

// admitted returns the handler of an action of a technician. Without the PIN it shows the form for it.
// The order matters: an unknown link is 404 before any form, so a PIN form never
// confirms that a link exists.
func (h *handler) admitted(do action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := &request{w: w, r: r, now: time.Now(), zone: time.UTC}
		err := h.withTimeout(req, h.open)
		switch {
		case err == nil && !h.Links.admits(&req.link, req.cookie()):
			err = h.showPINForm(req, http.StatusUnauthorized, "")
		case err == nil && r.Method == http.MethodPost:
			err = do(req) // the action limits its own time, after it has read the body
		case err == nil:
			err = h.withTimeout(req, do)
		}
		if err != nil {
			h.showError(req, err)
		}
	})
}

// withTimeout runs a part of a request that does not wait for the client.
// It restores the request afterwards: the next part of the same request gets its own deadline.
func (h *handler) withTimeout(req *request, do action) error {
	r := req.r
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	req.r = r.WithContext(ctx)
	defer func() { req.r = r }()
	return do(req)
}

// open reads the link in the path and the time zone of its account.
// The zone decides which missions are today's. An account without one, or with one that this
// system does not know, is shown in UTC.
func (h *handler) open(req *request) (err error) {
	if req.link, err = h.Links.open(req.r.Context(), req.r.PathValue("token")); err != nil {
		return err
	}
	account, err := h.Links.Store.Account(req.r.Context(), req.link.Account)
	if err != nil {
		return err
	}
	if account.TimeZone != "" {
		if zone, err := time.LoadLocation(account.TimeZone); err == nil {
			req.zone = zone
		}
	}
	return nil
}

// asTechnician returns the context under which events name the technician.
// Events and the audit log name the technician and not the link, which may be rotated.
func (h *handler) asTechnician(req *request, ctx context.Context) context.Context {
	client := h.ClientOf(req.r)
	return auditlog.WithActor(ctx, auditlog.Actor{Kind: fieldmark.ActorTechnician, Name: req.link.Assignee.ID,
		Address: client.Addr.String(), Agent: client.Agent, Request: web.RequestID(req.r)})
}

func (h *handler) toList(req *request) error {
	http.Redirect(req.w, req.r, req.base(), http.StatusSeeOther)
	return nil
}
