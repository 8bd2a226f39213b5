package admin

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/web"
)

// request is one request and its response.
// It belongs to one goroutine and ends with the response.
type request struct {
	w          http.ResponseWriter
	r          *http.Request
	user       string // empty without a session
	session    access.Session
	secure     bool   // the browser uses HTTPS
	unverified bool   // the browser has a session that could not be looked up
	formPrefix string // prefix of the input ids of the posted form; empty if its page has one form
}

// action handles a request.
type action func(*request) error

// canWrite reports whether the user has the administrator role.
// Viewers see everything and change nothing; the check of a form is checkRole.
func (req *request) canWrite() bool { return req.session.Role == fieldmark.RoleAdmin }

// public returns the handler of an action that needs no session.
// The sign-in page and the styles need no session.
func (h *handler) public(do action) http.Handler { return h.withTimeout(0, do) }

// withTimeout returns the handler of an action with a time limit; 0 is the usual one of a page or a form.
// The limit is shorter than that of the edge, so the console answers before the edge times out.
func (h *handler) withTimeout(limit time.Duration, do action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := limit
		if limit == 0 {
			limit = formTimeout
			if r.Method == http.MethodGet || r.Method == http.MethodHead {
				limit = pageTimeout
			}
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		req := &request{w: w, r: r.WithContext(ctx), secure: h.OverHTTPS(r)}
		if err := do(req); err != nil {
			h.showError(req, err)
		}
	})
}

// requireLogin returns the handler of an action for administrators and viewers. Others are redirected to the
// sign-in page. A form that is submitted after the session has ended is lost: storing it would mean storing
// passwords and secrets.
func (h *handler) requireLogin(do action) http.Handler { return h.public(h.withSession(do)) }

// requireAdmin returns the handler of an action that changes something.
// Every route is wrapped by one of these functions, so none is open by mistake.
func (h *handler) requireAdmin(do action) http.Handler {
	return h.public(h.withSession(h.checkRole(do)))
}

// longRunning is requireAdmin for an action that may take long.
// Imports and exports take longer than a page.
func (h *handler) longRunning(do action) http.Handler {
	return h.withTimeout(longTimeout, h.withSession(h.checkRole(do)))
}

// requireReauth is requireAdmin for an action that also needs a recent password or code. The page of the form
// requests it, and so does the action if the confirmation has expired meanwhile.
// A stolen cookie alone must not be enough to make keys or to change the password.
func (h *handler) requireReauth(do action) http.Handler {
	return h.requireAdmin(func(req *request) error {
		if !req.session.Reauthenticated(time.Now()) {
			if confirmed, err := h.signIn.confirmForm(req); !confirmed {
				return err
			}
		}
		return do(req)
	})
}

// withSession looks the session up and enters the person into the context, so that audit
// entries and events name them.
func (h *handler) withSession(do action) action {
	return func(req *request) error {
		in, err := h.sessions.Get(req.r.Context(), h.signIn.sessionToken(req.r))
		if fieldmark.IsCode(err, fieldmark.CodeInvalidCredentials) {
			return h.signIn.redirectToSignIn(req)
		}
		if err != nil {
			// The database is unavailable: the page keeps its navigation and shows that, instead of
			// asking for a password.
			req.unverified = true
			return err
		}
		req.user, req.session = in.User, in
		client := h.ClientOf(req.r)
		req.r = req.r.WithContext(auditlog.WithActor(req.r.Context(), auditlog.Actor{
			Kind: fieldmark.ActorPerson, Name: in.User,
			Address: client.Addr.String(), Agent: client.Agent, Request: web.RequestID(req.r),
		}))
		return do(req)
	}
}

// checkRole refuses viewers with a page and not with a redirect: signing in again would not
// help.
func (h *handler) checkRole(do action) action {
	return func(req *request) error {
		if !req.canWrite() {
			h.showMessage(req, http.StatusForbidden, "Read-only access",
				"Ask an administrator to make this change or to give you the administrator role.")
			return nil
		}
		return do(req)
	}
}

// identify sets the user of a request outside of withSession, so that its page has the navigation.
// It is for error pages: an unknown address is the same with and without a session.
func (h *handler) identify(req *request) {
	if in, err := h.sessions.Get(req.r.Context(), h.signIn.sessionToken(req.r)); err == nil {
		req.user, req.session = in.User, in
	}
}

// notFound shows the error for an unknown address, or for a form's address without the form.
// An address that exists with another method is 405 with Allow (RFC 9110, 15.5.6).
func (h *handler) notFound(req *request) error {
	h.identify(req)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		probe := &http.Request{Method: method, URL: req.r.URL, Host: req.r.Host}
		if _, pattern := h.mux.Handler(probe); pattern != "/" && pattern != "" {
			req.w.Header().Set("Allow", method)
			return fieldmark.Errorf(fieldmark.CodeMethodNotAllowed, "This address does not take %s", req.r.Method)
		}
	}
	return fieldmark.Errorf(fieldmark.CodeNotFound, "There is no page at this address.")
}

// redirectToPage redirects from the address of a form to the page above it that contains the form:
// /missions/{id}, /brands/{slug}.
// Browsers load it when a page is reloaded after an error in its form.
func redirectToPage(req *request) error {
	parts := strings.SplitN(req.r.URL.Path, "/", 5) // "", admin, missions, id, rest
	http.Redirect(req.w, req.r, strings.Join(parts[:4], "/"), http.StatusSeeOther)
	return nil
}

// confirm asks for confirmation of an action that cannot be undone. The page posts the form again:
// see web.Confirmed.
func (c *console) confirm(req *request, q web.Confirmation) error {
	q.Posted = req.r.PostForm
	return c.show(req, http.StatusOK, web.ConfirmationPage, web.Page{Title: q.Title, Data: q})
}

// redirectWithNotice redirects to a page after a form was processed; the page shows one of the notices once.
// Redirecting after a form keeps a reload from sending it again (RFC 9110, 15.4.4).
func (req *request) redirectWithNotice(page, notice string) error {
	web.SetNotice(req.w, homePath, notice, req.secure)
	http.Redirect(req.w, req.r, page, http.StatusSeeOther)
	return nil
}

// audit records an action of an administrator in the log, and in the audit log unless the action has added
// its own entry.
// The log names the person and the target, never the values of a form.
func (c *console) audit(req *request, action, target string) {
	c.auditWith(req, c.auditLog.AppendIfNone, action, target)
}

// auditEach records one of several actions of a request.
func (c *console) auditEach(req *request, action, target string) {
	c.auditWith(req, c.auditLog.AppendAlone, action, target)
}

func (c *console) auditWith(req *request, appendTo func(ctx context.Context, action, target string) error,
	action, target string) {
	c.log.Info("admin action", "user", req.user, "action", action, "target", target)
	// The action is done, even if the client has left.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.r.Context()), formTimeout)
	defer cancel()
	if err := appendTo(ctx, action, target); err != nil {
		c.log.Error("write audit log entry", "user", req.user, "action", action, "target", target, "error", err)
	}
}
