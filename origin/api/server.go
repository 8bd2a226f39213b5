package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/llms/probe"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/testclock"
)

// Config holds the dependencies and settings of the API.
type Config struct {
	Service *origin.Service
	// authenticates edges under /internal/ and for client addresses: see fieldmark.ParseNodeTokens
	NodeToken string
	BaseURL   string        // public address of the edges, for the types of problems; "": relative references
	PublicAPI bool          // false: everything under /api/public/ is 404 module_disabled
	Log       *slog.Logger  // access log and errors; nil: discarded
	Version   string        // of the program, for the OpenAPI document and HeaderEdition
	Prober    *probe.Prober // fetches files for the linter; nil: the linter accepts content only
}

// server routes requests to the handlers, after it has checked the caller. It does not change after New.
// Requests share nothing but the services, which may be called from any goroutine.
type server struct {
	base      string // Config.BaseURL without a slash at the end
	publicAPI bool
	log       *slog.Logger
	nodes     fieldmark.NodeTokens
	keys      *access.Keys
	auditLog  *auditlog.Log
	responses *idempotency.Service
	clocks    *testclock.Service
	mux       *http.ServeMux
	openAPI   lazyDocument
	asyncAPI  lazyDocument
}

// New returns the handler of everything the origin serves except the admin console.
// It starts nothing and reads nothing.
func New(cfg Config) (http.Handler, error) {
	var bad []error
	if cfg.Service == nil {
		bad = append(bad, errors.New("api: a service is required"))
	}
	if cfg.NodeToken == "" {
		bad = append(bad, errors.New("api: a node token is required"))
	}
	if err := errors.Join(bad...); err != nil {
		return nil, err
	}
	s := &server{
		base:      strings.TrimSuffix(cfg.BaseURL, "/"),
		publicAPI: cfg.PublicAPI,
		log:       cfg.Log,
		nodes:     fieldmark.ParseNodeTokens(cfg.NodeToken),
		keys:      cfg.Service.Access.Keys,
		auditLog:  cfg.Service.AuditLog,
		responses: cfg.Service.Responses,
		clocks:    cfg.Service.TestClocks,
		mux:       http.NewServeMux(),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	routes := s.routes(cfg)
	var err error
	if s.openAPI, err = describe(routes, cfg.Version, limitsOf(cfg.Service)); err != nil {
		return nil, fmt.Errorf("api: describe: %w", err)
	}
	s.asyncAPI = sync.OnceValues(func() (document, error) { return describeMessages(s.openAPI) })
	s.mount(routes)
	return s, nil
}

// maxURI bounds the request target in bytes; common proxies have the same limit.
const maxURI = 8 << 10

// call is one request and its response.
// It belongs to one goroutine.
type call struct {
	w           *responseWriter
	r           *http.Request
	route       *route
	key         access.Authenticated // of the caller; zero where no key is needed
	params      query
	idempotency idempotency.Key // of the request; zero without an Idempotency-Key
	body        []byte          // nil until it is read
	bodyErr     error           // of reading it

	agent *access.AgentWrite // that the request makes; nil: it is not of an agent, or makes none

	buffered *idempotency.Response // receives the response until it is saved; nil: the response is sent at once
}

// responseWriter records what was sent, for the access log and for errors after the response has begun.
type responseWriter struct {
	http.ResponseWriter
	base      string // public address, for the types of problems
	requestID string
	status    int
	bytes     int64
	keyID     string         // of the API key
	calendar  string         // id of the calendar feed
	code      fieldmark.Code // of the problem
	cause     error
	canceled  bool // the client closed the connection before the response
}

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// ServeHTTP gives each request an id, rejects requests without a route, and writes the access log.
func (s *server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	start := time.Now()
	w := &responseWriter{ResponseWriter: rw, base: s.base, requestID: requestID(r)}
	defer s.accessLog(w, r, start)
	defer s.recoverPanic(w, r)

	h := w.Header()
	h.Set(fieldmark.HeaderRequestID, w.requestID)
	// The default is the safe one; routes that may be cached override it.
	h.Set("Cache-Control", "no-store")
	// Attachments and exports hold what strangers wrote: no browser may guess a type that runs scripts.
	h.Set("X-Content-Type-Options", "nosniff")

	switch {
	case len(r.RequestURI) > maxURI:
		s.refuse(w, r, fieldmark.Errorf(fieldmark.CodeURITooLong, "the address must have at most %d bytes", maxURI))
	case !s.publicAPI && strings.HasPrefix(r.URL.Path, fieldmark.PathPublic):
		s.refuse(w, r, fieldmark.Errorf(fieldmark.CodeModuleDisabled, "the public API is disabled"))
	case r.URL.Path != path.Clean(r.URL.Path):
		// The mux would redirect with an HTML page.
		s.refuse(w, r, fieldmark.Errorf(fieldmark.CodeNotFound, "no such address"))
	default:
		// The mux's own 404 and 405 are plain text without a code.
		if _, pattern := s.mux.Handler(r); pattern == "" {
			s.refuse(w, r, s.unrouted(w, r))
			return
		}
		s.mux.ServeHTTP(w, r)
	}
}

// requestID returns the id in the request if it is valid, and a new one otherwise.
// An edge sends the id that its client got, so one id is in the logs of both.
func requestID(r *http.Request) string {
	if id := r.Header.Get(fieldmark.HeaderRequestID); fieldmark.ValidRequestID(id) {
		return id
	}
	return fieldmark.NewID(fieldmark.PrefixRequest, time.Now())
}

// serve returns the handler of a route.
// Errors are sent in one place, so no handler writes a problem itself.
func (s *server) serve(rt *route) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := rw.(*responseWriter)
		if err := s.run(&call{w: w, r: r, route: rt}); err != nil {
			s.refuse(w, r, err)
		}
	})
}

// run authenticates a call, reads its body and calls its handler. A separate timeout
// applies to reading the body, because its duration depends on the client.
func (s *server) run(c *call) error {
	r := c.r
	withTimeout := func(fn func(*call) error) error {
		ctx, cancel := context.WithTimeout(r.Context(), c.route.timeout())
		defer cancel()
		c.r = r.WithContext(ctx)
		return fn(c)
	}
	// A body is read only for a caller with valid credentials.
	if err := withTimeout(s.authenticate); err != nil {
		return err
	}
	if !c.route.handler.in.empty() {
		c.body, c.bodyErr = c.receiveBody()
	}
	return withTimeout(s.dispatch)
}

// dispatch parses the query and calls the handler, under an idempotency key if the request has one.
func (s *server) dispatch(c *call) (err error) {
	rt, query := c.route, c.r.URL.RawQuery
	// Calendar applications and alerting tools append parameters of their own.
	if rt.op.anyQuery {
		query = ""
	}
	if c.params, err = parseQuery(query, rt.params()); err != nil {
		return err
	}
	// Only callers with a key have limits for agents; others can write nothing.
	if c.r.Header.Get(fieldmark.HeaderAgent) != "" && c.key.ID != "" {
		if err := s.admitAgent(c); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				// A token confirms a dry run that succeeded; after an error there is nothing to confirm.
				c.w.Header().Del(fieldmark.HeaderConfirm)
			}
		}()
	}
	if c.dryRun() {
		c.w.Header().Set(fieldmark.HeaderDryRun, "true")
		c.r = c.r.WithContext(mission.WithDryRun(c.r.Context()))
		return rt.handler.serve(c) // nothing happens, so nothing is saved for repetitions or in the audit log
	}
	if rt.op.idempotent && !rt.op.streamed {
		return s.serveIdempotent(c)
	}
	serve := rt.handler.serve
	if (rt.access.scope == fieldmark.ScopeAdmin || rt.access == owner || rt.access == manager) &&
		rt.method != http.MethodGet {
		serve = s.serveAdmin
	}
	// The effects are not in one transaction with the response, so the key is reserved before them.
	if rt.reservable() {
		return s.serveReserved(c, serve)
	}
	return serve(c)
}

// serveAdmin runs a route that changes something as an administrator. The audit log has an entry for it: the
// transaction of the change adds one, or serveAdmin does.
// The entry is written after the response is made; if that fails the change is kept, and the
// error is logged.
func (s *server) serveAdmin(c *call) error {
	ctx := auditlog.WithActor(c.r.Context(), s.actor(c, c.key.ID))
	c.r = c.r.WithContext(ctx)
	if err := c.route.handler.serve(c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handlerTimeout) // also if the client has left
	defer cancel()
	if err := s.auditLog.AppendIfNone(ctx, auditAction(c.route.op.id), auditTarget(c.r)); err != nil {
		s.log.Error("write audit log entry", "requestId", c.w.requestID, "operation", c.route.op.id, "error", err)
	}
	return nil
}

// auditTarget returns the object of a request: the last one that its path names, or the path.
// The order is from the most specific name to the least.
func auditTarget(r *http.Request) string {
	for _, name := range []string{"attachment", "note", "delivery", "id", "slug", "account", "digest", "name",
		"priority"} {
		if id := r.PathValue(name); id != "" {
			return id
		}
	}
	return strings.TrimPrefix(r.URL.Path, fieldmark.PathAdminAPI)
}

// auditAction returns the action of an operation in the audit log: that of completeMission is mission.completed.
func auditAction(operation string) string {
	// Operation ids are a verb and an object, as in createMission.
	end := strings.IndexFunc(operation, unicode.IsUpper)
	if end < 0 {
		return auditlog.ActionName(operation)
	}
	return auditlog.ActionName(strings.ToLower(operation[end:]) + "." + operation[:end])
}

// refuse sends err as a problem document. After the response has started it aborts the
// connection instead, so that a client does not treat a partial response as complete.
func (s *server) refuse(w *responseWriter, r *http.Request, err error) {
	e := fieldmark.AsError(err)
	if e.Code == fieldmark.CodeInternal && errors.Is(err, context.DeadlineExceeded) {
		e = &fieldmark.Error{Code: fieldmark.CodeTimeout, RetryAfter: time.Second, Err: err}
	}
	if e.Code == fieldmark.CodeInternal && errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		// The client left, or the server is stopping: not an internal error.
		e = &fieldmark.Error{Code: fieldmark.CodeOverloaded, Detail: "the server is shutting down",
			RetryAfter: time.Second, Err: err}
	}
	w.code, w.cause = e.Code, err
	w.canceled = r.Context().Err() != nil
	// HTTP/1.1 cannot change a status that was sent; a closed connection is the only sign that is left.
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	writeProblem(w, r, e)
}

// recoverPanic responds with 500 to a panic, which is always a bug.
func (s *server) recoverPanic(w *responseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	// It is not a bug but how refuse closes the connection, and net/http expects to see it.
	if v == http.ErrAbortHandler {
		panic(v)
	}
	s.log.Error("panic", "requestId", w.requestID, "path", fieldmark.LoggedPath(r.URL.Path),
		"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	s.refuse(w, r, fmt.Errorf("panic: %v", v))
}

// accessLog logs a request. Queries and headers are left out: both may contain personal data and secrets.
func (s *server) accessLog(w *responseWriter, r *http.Request, start time.Time) {
	level := slog.LevelInfo
	if strings.HasPrefix(r.URL.Path, fieldmark.PathInternal) {
		level = slog.LevelDebug // edges poll continuously
	}
	// LoggedPath replaces secrets in paths, such as the token of a calendar feed.
	attrs := []slog.Attr{
		slog.String("requestId", w.requestID),
		slog.String("method", r.Method),
		slog.String("path", fieldmark.LoggedPath(r.URL.Path)),
		slog.Int("status", w.status),
		slog.Int64("bytes", w.bytes),
		slog.Duration("took", time.Since(start)),
		slog.String("client", s.caller(r).Address()),
	}
	if w.keyID != "" {
		attrs = append(attrs, slog.String("key", w.keyID))
	}
	if w.calendar != "" {
		attrs = append(attrs, slog.String("calendar", w.calendar))
	}
	// Invalid ones are dropped: the field is the client's, and whatever it holds would be in the log.
	if trace := traceID(r.Header.Get("Traceparent")); trace != "" {
		attrs = append(attrs, slog.String("trace", trace))
	}
	if w.code != "" {
		attrs = append(attrs, slog.String("code", string(w.code)))
	}
	if w.canceled {
		attrs = append(attrs, slog.Bool("canceled", true))
	}
	if w.code.Status() >= 500 && w.cause != nil {
		if !w.canceled {
			level = slog.LevelError
		}
		attrs = append(attrs, slog.String("error", w.cause.Error()))
	}
	s.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// caller returns the client of a request, which an edge may report.
func (s *server) caller(r *http.Request) access.Caller { return access.CallerOf(r, s.nodes) }

// actor returns who calls, for entries of the audit log. name is the id of the key, or the word for a caller without.
func (s *server) actor(c *call, name string) auditlog.Actor {
	return auditlog.Actor{Kind: fieldmark.ActorKey, Name: name, Address: s.caller(c.r).Address(),
		Agent: c.r.UserAgent(), Request: c.w.requestID}
}

// traceID returns the trace id of a W3C traceparent, or "" if it is invalid.
func traceID(parent string) string {
	// W3C Trace Context, section 3.2.2; only version 00 has a fixed length.
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if len(parent) != length || parent[:3] != "00-" || parent[35] != '-' || parent[52] != '-' {
		return ""
	}
	if id := parent[3:35]; strings.Trim(id, "0123456789abcdef") == "" {
		return id
	}
	return ""
}
