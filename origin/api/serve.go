package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path"
	"runtime/debug"
	"strings"
	"time"
	"unicode"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/auditlog"
)

// maxURI bounds a request's address, as widely deployed proxies do.
const maxURI = 8 << 10

// call is one request on its way through a handler.
type call struct {
	w     *writer
	r     *http.Request
	route *route
	key   fieldmark.Key // of the caller; zero where anyone may ask
	asked query
	once  origin.Once // names the request; zero: it has no name
	body  []byte      // what was read of the request; nil: not yet

	held *origin.Answer // takes the answer until it was saved; nil: it is sent at once
}

// writer remembers what was sent, for the log and for late failures.
type writer struct {
	http.ResponseWriter
	base     string // public address, for the types of problems
	id       string // of the request
	status   int
	bytes    int64
	key      string         // id of the key that was used
	calendar string         // id of the calendar that was read
	code     fieldmark.Code // of the problem that was answered
	cause    error
	left     bool // the client went away before the answer
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// ServeHTTP gives each request an id, refuses what has no route, and writes one
// line about it when it is over.
func (s *server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	began := time.Now()
	w := &writer{ResponseWriter: rw, base: s.base, id: requestID(r)}
	defer s.account(w, r, began)
	defer s.survive(w, r)

	h := w.Header()
	h.Set(fieldmark.HeaderRequestID, w.id)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")

	switch {
	case len(r.RequestURI) > maxURI:
		s.refuse(w, r, fieldmark.Errorf(fieldmark.CodeURITooLong, "at most %d bytes", maxURI))
	case !s.publicAPI && strings.HasPrefix(r.URL.Path, fieldmark.PathPublic):
		s.refuse(w, r, fieldmark.Errorf(fieldmark.CodeModuleDisabled, "the public API is not switched on here"))
	case r.URL.Path != path.Clean(r.URL.Path):
		// The mux would redirect, with a page; no address of ours needs it.
		s.refuse(w, r, fieldmark.Errorf(fieldmark.CodeNotFound, "no such address"))
	default:
		if _, pattern := s.mux.Handler(r); pattern == "" {
			s.refuse(w, r, s.unrouted(w, r))
			return
		}
		s.mux.ServeHTTP(w, r)
	}
}

// requestID keeps the id a request came with, if it is plain.
func requestID(r *http.Request) string {
	if id := r.Header.Get(fieldmark.HeaderRequestID); fieldmark.ValidRequestID(id) {
		return id
	}
	return fieldmark.NewID(fieldmark.PrefixRequest, time.Now())
}

// serve runs a route: who asks, what is asked, the handler, and its failure.
func (s *server) serve(rt *route) http.Handler {
	within := rt.timeout()
	run := func(w *writer, r *http.Request) error {
		c := &call{w: w, r: r, route: rt}
		if err := s.admit(c); err != nil {
			return err
		}
		var err error
		query := r.URL.RawQuery
		if rt.op.loose {
			query = ""
		}
		if c.asked, err = parseQuery(query, rt.op.query); err != nil {
			return err
		}
		if rt.op.once {
			return s.handleOnce(c)
		}
		handle := rt.handle
		if rt.access.scope == fieldmark.ScopeAdmin && rt.method != http.MethodGet {
			handle = s.administer
		}
		if rt.reservable() {
			return s.handleReserved(c, handle)
		}
		return handle(c)
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), within)
		defer cancel()
		w := rw.(*writer)
		if err := run(w, r.WithContext(ctx)); err != nil {
			s.refuse(w, r, err)
		}
	})
}

// administer runs a route that changes something as an administrator. What it
// did is in the audit log: by the transaction that did it, or now.
func (s *server) administer(c *call) error {
	ctx := auditlog.WithActor(c.r.Context(), auditlog.Actor{Kind: fieldmark.ActorKey, Name: c.key.ID,
		Address: s.clientAddr(c.r), Agent: c.r.UserAgent(), Request: c.w.id})
	c.r = c.r.WithContext(ctx)
	if err := c.route.handle(c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handlerTimeout) // it is done, whoever left
	defer cancel()
	if err := s.origin.AuditLog.AppendIfNone(ctx, auditAction(c.route.op.id), strings.TrimPrefix(c.r.URL.Path, fieldmark.PathAdminAPI)); err != nil {
		s.log.Error("audit log", "requestId", c.w.id, "act", c.route.op.id, "error", err)
	}
	return nil
}

// auditAction names an operation as the audit log does, by noun and verb:
// completeMission is mission.complete.
func auditAction(operation string) string {
	end := strings.IndexFunc(operation, unicode.IsUpper)
	if end < 0 {
		return operation
	}
	return strings.ToLower(operation[end:]) + "." + operation[:end]
}

// refuse answers a failure. One that comes after the answer began can only break
// the connection off, so that nobody takes half an answer for a whole one.
func (s *server) refuse(w *writer, r *http.Request, err error) {
	e := fieldmark.AsError(err)
	if e.Code == fieldmark.CodeInternal && errors.Is(err, context.DeadlineExceeded) {
		e = &fieldmark.Error{Code: fieldmark.CodeTimeout, RetryAfter: time.Second, Err: err}
	}
	if e.Code == fieldmark.CodeInternal && errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		// The client left, or we are stopping: neither is a fault.
		e = &fieldmark.Error{Code: fieldmark.CodeOverloaded, Detail: "the server is stopping", RetryAfter: time.Second, Err: err}
	}
	w.code, w.cause = e.Code, err
	w.left = r.Context().Err() != nil
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	writeProblem(w, r, e)
}

// survive turns a panic, which is always a bug of ours, into a plain 500.
func (s *server) survive(w *writer, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	s.log.Error("panic", "requestId", w.id, "path", fieldmark.LoggedPath(r.URL.Path), "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	s.refuse(w, r, fmt.Errorf("panic: %v", v))
}

// account writes the access log. It holds neither query nor header: both may
// carry what is not ours to keep.
func (s *server) account(w *writer, r *http.Request, began time.Time) {
	level := slog.LevelInfo
	if strings.HasPrefix(r.URL.Path, fieldmark.PathInternal) {
		level = slog.LevelDebug // edges ask all day; what they ask is no news
	}
	attrs := []slog.Attr{
		slog.String("requestId", w.id),
		slog.String("method", r.Method),
		slog.String("path", fieldmark.LoggedPath(r.URL.Path)),
		slog.Int("status", w.status),
		slog.Int64("bytes", w.bytes),
		slog.Duration("took", time.Since(began)),
		slog.String("client", s.clientAddr(r)),
	}
	if w.key != "" {
		attrs = append(attrs, slog.String("key", w.key))
	}
	if w.calendar != "" {
		attrs = append(attrs, slog.String("calendar", w.calendar))
	}
	if trace := traceID(r.Header.Get("Traceparent")); trace != "" {
		attrs = append(attrs, slog.String("trace", trace))
	}
	if w.code != "" {
		attrs = append(attrs, slog.String("code", string(w.code)))
	}
	if w.left {
		attrs = append(attrs, slog.Bool("left", true))
	}
	if w.code.Status() >= 500 && w.cause != nil {
		if !w.left {
			level = slog.LevelError
		}
		attrs = append(attrs, slog.String("error", w.cause.Error()))
	}
	s.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// clientAddr returns who asks: the peer, or whom an edge says it speaks for.
// An edge proves itself by the node token in a header field of its own, because
// Authorization is its client's; without that proof the claim is not read at all.
func (s *server) clientAddr(r *http.Request) string {
	if claim := r.Header.Get(fieldmark.HeaderClient); claim != "" && s.isNode(r.Header.Get(fieldmark.HeaderNode)) {
		if addr, err := netip.ParseAddr(claim); err == nil {
			return addr.String()
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// traceID takes the trace id out of a W3C traceparent; anything else is no trace.
func traceID(parent string) string {
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if len(parent) != length || parent[:3] != "00-" || parent[35] != '-' || parent[52] != '-' {
		return ""
	}
	if id := parent[3:35]; strings.Trim(id, "0123456789abcdef") == "" {
		return id
	}
	return ""
}
