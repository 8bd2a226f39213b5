package portal

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/web"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

//go:embed templates/*.html
var files embed.FS

// Config holds the dependencies and settings of the pages.
type Config struct {
	Links    *Links           // required
	Webhooks *webhook.Service // required
	AuditLog *auditlog.Log    // required
	Log      *slog.Logger     // errors; nil: discarded
	// edges that send it may report the client's address and scheme: see fieldmark.ParseNodeTokens
	NodeToken string
	Secure    bool // browsers use HTTPS only; false: edges report the scheme of each request
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
	formTimeout = 25 * time.Second * timeout.Scale // a test message waits for its receiver
)

// The paths of the pages. A token has another length than the words below PathPortal.
const (
	homePath      = fieldmark.PathPortal
	tokenPath     = homePath + "{token}"
	assetsPath    = homePath + "assets/"
	endpointsPath = homePath + "endpoints"
	endpointPath  = endpointsPath + "/{id}"
	deliveryPath  = endpointPath + "/deliveries/{delivery}"
	leavePath     = homePath + "leave"
)

// New returns the handler of fieldmark.PathPortal and everything below it.
func New(cfg Config) (http.Handler, error) {
	if cfg.Links == nil || cfg.Webhooks == nil || cfg.AuditLog == nil {
		return nil, errors.New("portal: links, webhooks and the audit log are required")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	pages, err := web.ParseTemplates(files, template.FuncMap{
		"join": func(list []string) string { return strings.Join(list, " ") }},
		"open", "home", "endpoint", "delivery", "message")
	if err != nil {
		return nil, fmt.Errorf("portal: templates: %w", err)
	}
	h := &handler{Forwarding: web.Forwarding{NodeTokens: fieldmark.ParseNodeTokens(cfg.NodeToken), Secure: cfg.Secure},
		Config: cfg, pages: pages, mux: http.NewServeMux()}
	h.routes()
	guard := &web.Guard{Forwarding: h.Forwarding, Log: h.Log,
		Message: func(w http.ResponseWriter, r *http.Request, status int, title, text string) {
			h.showMessage(&request{w: w, r: r, secure: h.OverHTTPS(r)}, status, title, text)
		}}
	return guard.Wrap(h.mux), nil
}

// routes registers every page and form.
func (h *handler) routes() {
	h.mux.Handle("GET "+assetsPath+"web.css", web.Style())
	h.mux.Handle("GET "+assetsPath+"web.js", web.Script())
	h.mux.Handle("GET "+assetsPath+"icon.svg", web.Icon())
	h.mux.Handle("GET "+tokenPath, h.public(h.showOpen))
	h.mux.Handle("POST "+tokenPath, h.public(h.open))
	h.mux.Handle("POST "+leavePath, h.public(h.signOut))
	h.mux.Handle("GET "+homePath+"{$}", h.inSession(h.home))
	h.mux.Handle("GET "+endpointsPath, http.RedirectHandler(homePath, http.StatusSeeOther))
	h.mux.Handle("POST "+endpointsPath, h.act(h.create))
	h.mux.Handle("GET "+endpointPath, h.inSession(h.endpoint))
	h.mux.Handle("POST "+endpointPath, h.act(h.change))
	h.mux.Handle("GET "+deliveryPath, h.inSession(h.delivery))
	h.mux.Handle("POST "+deliveryPath, h.act(h.resend))
	h.mux.Handle("/", h.public(func(*request) error { return errNoLink() }))
}

// request is one request and its response.
type request struct {
	w      http.ResponseWriter
	r      *http.Request
	link   store.PortalLink // of the session; zero without one
	secure bool             // the browser uses HTTPS
	prefix string           // of the input ids of the posted form
}

// action handles a request.
type action func(*request) error

// public returns the handler of an action that needs no session.
func (h *handler) public(do action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := formTimeout
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			limit = pageTimeout
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		req := &request{w: w, r: r.WithContext(ctx), secure: h.OverHTTPS(r)}
		if err := do(req); err != nil {
			h.showError(req, err)
		}
	})
}

// inSession returns the handler of an action in a session.
func (h *handler) inSession(do action) http.Handler {
	return h.public(func(req *request) (err error) {
		if req.link, err = h.Links.session(req.r.Context(), h.cookieOf(req)); err != nil {
			return err
		}
		req.r = req.r.WithContext(h.actor(req, req.r.Context(), &req.link))
		return do(req)
	})
}

// maxForm bounds a posted form in bytes.
const maxForm = 16 << 10

// act returns the handler of a form. A session that is read-only sends none.
func (h *handler) act(do action) http.Handler {
	return h.inSession(func(req *request) error {
		if req.link.ReadOnly {
			h.showMessage(req, http.StatusForbidden, "This link can only read", "")
			return nil
		}
		req.r.Body = http.MaxBytesReader(req.w, req.r.Body, maxForm)
		if err := req.r.ParseForm(); err != nil {
			return fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "The form could not be read.")
		}
		return do(req)
	})
}

// actor returns the context under which the audit log names the customer, or the link if it is of none.
func (h *handler) actor(req *request, ctx context.Context, l *store.PortalLink) context.Context {
	name := l.Customer
	if name == "" {
		name = l.ID
	}
	client := h.ClientOf(req.r)
	return auditlog.WithActor(ctx, auditlog.Actor{Kind: fieldmark.ActorPortal, Name: name,
		Address: client.Addr.String(), Agent: client.Agent, Request: web.RequestID(req.r)})
}

// The names of the session cookie. Browsers reject the prefix __Host- over plain HTTP (RFC 6265bis).
const (
	secureCookie = "__Host-portal"
	plainCookie  = "fieldmark_portal"
)

// sessionCookie returns the cookie of a session. SameSite is Lax and not Strict: a session begins with a link on the
// site of the customer, and a strict cookie would be missing from it. Without TLS, which only happens in development,
// browsers reject the prefix, and the path keeps the cookie away from other pages of the host.
func (h *handler) sessionCookie(req *request, value string) *http.Cookie {
	c := &http.Cookie{Name: plainCookie, Value: value, Path: homePath, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, MaxAge: int(sessionLifetime.Seconds())}
	if req.secure {
		c.Name, c.Path, c.Secure = secureCookie, "/", true
	}
	return c
}

// cookieOf returns the value of the session cookie, or "". Only the name that fits the connection counts: a plain
// cookie, which another host of the domain could set, is ignored over TLS.
func (h *handler) cookieOf(req *request) string {
	c, err := req.r.Cookie(h.sessionCookie(req, "").Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// showOpen shows the button that spends the token: programs that preview links load every address.
func (h *handler) showOpen(req *request) error {
	if err := h.Links.check(req.r.Context(), req.r.PathValue("token")); err != nil {
		return err
	}
	return h.show(req, http.StatusOK, "open", web.Page{Title: "Webhooks", Data: homePath + req.r.PathValue("token")})
}

// open spends the token and begins the session. It ends the session in the cookie, against session
// fixation.
func (h *handler) open(req *request) error {
	cookie, err := h.Links.spend(req.r.Context(), req.r.PathValue("token"),
		func(ctx context.Context, l *store.PortalLink) context.Context { return h.actor(req, ctx, l) })
	if err != nil {
		return err
	}
	if old := h.cookieOf(req); old != "" {
		if err := h.Links.endSession(req.r.Context(), old); err != nil {
			return err
		}
	}
	http.SetCookie(req.w, h.sessionCookie(req, cookie))
	http.Redirect(req.w, req.r, homePath, http.StatusSeeOther)
	return nil
}

// signOut ends the session.
func (h *handler) signOut(req *request) error {
	cookie := h.cookieOf(req)
	l, err := h.Links.session(req.r.Context(), cookie)
	if err == nil {
		err = h.Links.endSession(req.r.Context(), cookie)
	}
	if err != nil {
		return err
	}
	gone := h.sessionCookie(req, "")
	gone.MaxAge = -1
	http.SetCookie(req.w, gone)
	// A link and no redirect: the policy of the page lets forms go to this site only.
	return h.pages.Show(req.w, http.StatusOK, "message", web.Page{Title: "You have left",
		Data: web.Message{}, Nav: nav{ReturnURL: l.ReturnURL}})
}

// notices are shown once after a form was processed, by their keys: see web.SetNotice.
var notices = map[string]string{
	"paused":  "Endpoint paused. Its messages are held.",
	"enabled": "Endpoint enabled.",
	"replay":  "Replay started.",
	"resent":  "Message queued for resending.",
}

// nav is the part of a link that every page of a session shows.
type nav struct {
	Customer, ReturnURL string
	Until               fieldmark.Time
}

// show renders a page and sends it.
func (h *handler) show(req *request, status int, name string, p web.Page) error {
	p.Path, p.CanWrite, p.Prefix, p.Posted = req.r.URL.Path, !req.link.ReadOnly, req.prefix, req.r.PostForm
	if req.link.SpentAt != nil {
		p.User = "session"
		p.Nav = nav{req.link.Customer, req.link.ReturnURL, fieldmark.At(req.link.SpentAt.Std().Add(sessionLifetime))}
	}
	if req.r.Method == http.MethodGet {
		p.Notice = notices[web.TakeNotice(req.w, req.r, homePath, req.secure)]
	}
	return h.pages.Show(req.w, status, name, p)
}

// done redirects to a page after a form was processed; the page shows the notice once.
func (req *request) done(page, notice string) error {
	web.SetNotice(req.w, homePath, notice, req.secure)
	http.Redirect(req.w, req.r, page, http.StatusSeeOther)
	return nil
}

// showError shows an error as a page.
func (h *handler) showError(req *request, err error) {
	status, title, text := web.ErrorText(err)
	if status >= http.StatusInternalServerError {
		h.Log.Error("page of a portal", "path", fieldmark.LoggedPath(req.r.URL.Path), "link", req.link.ID, "error", err)
	}
	h.showMessage(req, status, title, text)
}

// showMessage shows a page with a message, or plain text if rendering fails.
func (h *handler) showMessage(req *request, status int, title, detail string) {
	p := web.Page{Title: title, Data: web.NewMessage(req.r, status, detail)}
	if err := h.show(req, status, "message", p); err != nil {
		h.Log.Error("page of a portal", "path", fieldmark.LoggedPath(req.r.URL.Path), "error", err)
		http.Error(req.w, title, status)
	}
}
