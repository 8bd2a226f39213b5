package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/cache/rfc9111"
)

// via is the Via of this hop (RFC 9110, 7.6.3).
const via = "1.1 fieldmark"

// RoundTrip implements http.RoundTripper. Scheme and host of the address are
// replaced by those of the chosen origin; Host is sent as it is. Fields of one
// connection are left out of the request and of the answer, and Via is added to
// the request. The request's body is closed when RoundTrip or, for an answer
// that came early, its body is done with it.
//
// 1xx answers go to the Got1xxResponse of the context's httptrace.ClientTrace.
func (u *Upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	return u.roundTrip(u.transport, r)
}

// Internal returns a RoundTripper to the same origins with separate connections, for the
// scores and the event log of a node: clients that use all other connections do not block
// it.
func (u *Upstream) Internal() http.RoundTripper { return internal{u} }

type internal struct{ *Upstream }

// RoundTrip implements http.RoundTripper.
func (u internal) RoundTrip(r *http.Request) (*http.Response, error) {
	return u.roundTrip(u.internal, r)
}

func (u *Upstream) roundTrip(transport http.RoundTripper, r *http.Request) (*http.Response, error) {
	head := r.Header.Clone()
	upgrade := removeHopByHop(head, true)
	if upgrade != "" {
		transport = u.tunnels
		head.Set("Connection", "Upgrade")
		head.Set("Upgrade", upgrade)
	}
	head.Add("Via", via)
	if _, named := head["User-Agent"]; !named {
		head["User-Agent"] = nil // keeps net/http from inventing one
	}
	body := newReplayBody(r)
	until := headDeadline(r.Context())
	var tried []*server
	for {
		o := u.leastConn(tried)
		tried = append(tried, o)
		last := len(tried) >= min(maxAttempts, len(u.origins))
		var limit time.Duration
		if !until.IsZero() && !last && body.canReplay() && isIdempotent(r) {
			limit = max(time.Until(until)/2, 1)
		}
		resp, began, err := u.attempt(transport, r, o, head, body, limit)
		if err == nil {
			body.release()
			return resp, nil
		}
		if r.Context().Err() != nil || last || !canRetry(r, err, began, body) {
			body.release()
			return nil, err
		}
	}
}

// attempt sends a request to one origin and waits up to limit for the head of the response,
// 0 for as long as the transport allows. began reports whether a byte of a response
// arrived.
func (u *Upstream) attempt(transport http.RoundTripper, r *http.Request, o *server, head http.Header, body *replayBody,
	limit time.Duration) (resp *http.Response, began bool, err error) {
	var first atomic.Bool
	var used *conn
	reused := false
	ctx, cancel := context.WithCancelCause(r.Context())
	keepAlive, _ := ctx.Value(keepAliveKey{}).(time.Duration)
	if keepAlive > 0 {
		defer time.AfterFunc(keepAlive, func() { cancel(errNoKeepAlive) }).Stop()
	} else if limit > 0 {
		defer time.AfterFunc(limit, func() { cancel(errHeadTimeout) }).Stop()
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			reused = info.Reused
			if used, _ = info.Conn.(*conn); used != nil {
				used.start(r.Method)
			}
		},
		GotFirstResponseByte: func() { first.Store(true) },
	})
	req := r.WithContext(ctx)
	req.Header = head
	req.URL = cloneURL(r.URL)
	req.URL.Scheme, req.URL.Host = o.scheme, o.host
	if req.Host == "" {
		req.Host = o.host
	}
	if req.Body, req.GetBody, err = body.rewind(); err != nil {
		cancel(nil)
		return nil, false, err
	}
	req.RequestURI = ""

	o.inFlight.Add(1)
	resp, err = transport.RoundTrip(req)
	if err != nil {
		o.inFlight.Add(-1)
		if cause := context.Cause(ctx); errors.Is(cause, errNoKeepAlive) || errors.Is(cause, errHeadTimeout) {
			err = cause
		}
		if r.Context().Err() == nil && isOriginFault(err, reused && !first.Load(), body) {
			u.record(o, err)
		}
		cancel(nil)
		return nil, first.Load(), err
	}
	if used != nil {
		used.deliver()
	}
	u.record(o, nil)
	done := sync.OnceFunc(func() { o.inFlight.Add(-1); cancel(nil) })
	if resp.StatusCode == http.StatusSwitchingProtocols {
		rw, ok := resp.Body.(io.ReadWriteCloser)
		if !ok || !strings.EqualFold(resp.Header.Get("Upgrade"), head.Get("Upgrade")) || head.Get("Upgrade") == "" {
			resp.Body.Close()
			done()
			return nil, true, errors.New("the origin switched to a protocol that was not requested")
		}
		resp.Body = &tunnel{rw, done}
		return resp, true, nil
	}
	removeHopByHop(resp.Header, false)
	if keepAlive > 0 {
		fail := func(error) { u.record(o, errNoKeepAlive); cancel(errNoKeepAlive) }
		resp.Body = newIdleTimeoutBody(resp.Body, keepAlive, fail, done)
	} else {
		resp.Body = newIdleTimeoutBody(resp.Body, u.cfg.IdleTimeout, cancel, done)
	}
	return resp, true, nil
}

// errNoKeepAlive ends an exchange whose origin sent nothing for longer than
// WithKeepAliveTimeout allows.
var errNoKeepAlive = errors.New("the origin sent no keep-alive in time")

type keepAliveKey struct{}

// WithKeepAliveTimeout bounds the silences of the answers to requests of ctx: the wait for
// the head and each pause in the body, in place of Config's limits. An origin that
// exceeds it is unhealthy at once, and another one is tried if there was no head yet.
// It is for answers whose origin sends keep-alives.
func WithKeepAliveTimeout(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, keepAliveKey{}, limit)
}

// errHeadTimeout ends an attempt that has used its share of the time, so that another
// origin can be tried.
var errHeadTimeout = errors.New("the origin did not answer in its share of the time")

type headTimeoutKey struct{}

// WithHeadTimeout returns a context whose requests wait for the head of an answer at most this long,
// over all tries. A request that may be repeated then gives each origin but the last
// half of the time that is left. Without it the deadline of ctx, if it has one, is
// the end of that time.
func WithHeadTimeout(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, headTimeoutKey{}, limit)
}

// headDeadline returns when the caller of ctx stops waiting; zero: unknown.
func headDeadline(ctx context.Context) time.Time {
	if limit, ok := ctx.Value(headTimeoutKey{}).(time.Duration); ok {
		return time.Now().Add(limit)
	}
	until, _ := ctx.Deadline()
	return until
}

// isOriginFault reports whether a failed try counts against its origin. Two kinds do
// not, as clients or the passing of time can bring about any number of them:
//   - an idle connection that the origin closed while a request was sent on it;
//   - a body that its client failed to send, or had not sent to its end when the
//     origin closed the connection, as servers do with clients that are too slow.
func isOriginFault(err error, idleConn bool, body *replayBody) bool {
	if errors.Is(err, errBodyRead) {
		return false
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() || isDialError(err) ||
		errors.Is(err, errHeadTimeout) || errors.Is(err, errNoKeepAlive) {
		return true
	}
	return !idleConn && !body.unfinished()
}

func isDialError(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// canRetry reports whether a request that failed at one origin may go to
// another: nothing can have happened yet, or it may happen twice.
func canRetry(r *http.Request, err error, began bool, body *replayBody) bool {
	if began || !body.canReplay() {
		return false
	}
	return NotSent(err) || isIdempotent(r)
}

// NotSent reports whether a request failed before anything of it was sent: no origin took a connection.
func NotSent(err error) bool { return isDialError(err) || errors.Is(err, errUnsolicited) }

// isIdempotent reports whether a request may happen twice: by its method, or because
// its origin sees by a key that it is the same one.
func isIdempotent(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return r.Header.Get("Idempotency-Key") != ""
}

// removeHopByHop removes hop-by-hop fields and returns the protocol a request asks to
// switch to, if it is one that may be tunnelled.
func removeHopByHop(h http.Header, request bool) (upgrade string) {
	if request && rfc9111.IsWebSocketUpgrade(h) {
		upgrade = "websocket"
	}
	rfc9111.RemoveHopByHop(h)
	delete(h, "Xransfer-Encoding") // as normalizeFraming leaves them
	delete(h, "Xontent-Length")
	if request {
		delete(h, "Content-Length") // the transport writes it
		delete(h, "Expect")         // the edge has answered it
		delete(h, "Host")
	}
	return upgrade
}

// idleTimeoutBody is the body of a response that fails when no byte arrives for too long.
type idleTimeoutBody struct {
	io.ReadCloser
	idle     time.Duration
	timer    *time.Timer
	timedOut atomic.Bool
	done     func()
}

// errIdleBody ends a response whose origin stopped sending.
var errIdleBody = errors.New("the origin stopped in the middle of its answer")

func newIdleTimeoutBody(body io.ReadCloser, idle time.Duration, cancel func(error), done func()) *idleTimeoutBody {
	b := &idleTimeoutBody{ReadCloser: body, idle: idle, done: done}
	b.timer = time.AfterFunc(idle, func() {
		b.timedOut.Store(true)
		cancel(errIdleBody)
	})
	b.timer.Stop() // runs only while a read does: a slow client is not a slow origin
	return b
}

// Read implements io.Reader.
func (b *idleTimeoutBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.idle)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil && b.timedOut.Load() {
		err = errIdleBody
	}
	if err != nil {
		b.done()
	}
	return n, err
}

// Close implements io.Closer.
func (b *idleTimeoutBody) Close() error {
	b.timer.Stop()
	defer b.done()
	return b.ReadCloser.Close()
}

// tunnel is a connection that has switched to another protocol.
type tunnel struct {
	io.ReadWriteCloser
	done func()
}

// Close implements io.Closer.
func (t *tunnel) Close() error {
	defer t.done()
	return t.ReadWriteCloser.Close()
}
