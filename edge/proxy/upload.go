package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// MaxBufferedBody bounds the body that is read before its request is passed on, in
// bytes: it can be sent again to another origin, and a slow client holds no
// connection to one. What is longer is passed on as it comes.
const MaxBufferedBody = 64 << 10

// ErrBody is wrapped by every error that reports that a request's body could not be read;
// it does not count against the origin.
var ErrBody = errors.New("proxy: read the request's body")

// TooLargeError reports that a body has more bytes than the limit.
type TooLargeError struct{ Limit int64 }

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the body is larger than %d bytes", e.Limit)
}

// BufferBody reads the body of a request if it has no more than MaxBufferedBody bytes. A
// longer one stays a stream, as ctx.Request.IsBodyStream reports. The connection of a
// stream must be closed after the response: fasthttp would parse the unread rest of the
// body as a request. An error wraps ErrBody.
func BufferBody(ctx *fasthttp.RequestCtx) error {
	r := &ctx.Request
	if !r.IsBodyStream() || uploadOf(ctx) != nil {
		return nil
	}
	length := int64(r.Header.ContentLength())
	switch {
	case length > MaxBufferedBody:
		ctx.SetUserValue(uploadKey{}, newUpload(ctx, nil, length))
		return nil
	case length >= 0:
		body := make([]byte, length) // not fasthttp's buffer, which holds the part already read
		if _, err := io.ReadFull(r.BodyStream(), body); err != nil {
			return bodyError(ctx.Conn(), err)
		}
		r.SetBodyRaw(body)
		return nil
	}
	// fasthttp makes fields of the head out of the trailer's, which must not be
	// (RFC 9110, 6.5.1).
	var head fasthttp.RequestHeader
	r.Header.CopyTo(&head)
	body, err := io.ReadAll(io.LimitReader(r.BodyStream(), MaxBufferedBody+1))
	if err != nil {
		return bodyError(ctx.Conn(), err)
	}
	if len(body) <= MaxBufferedBody {
		if err := bodyError(ctx.Conn(), nil); err != nil {
			return err
		}
		r.SetBodyRaw(body)
		head.CopyTo(&r.Header)
		return nil
	}
	ctx.SetUserValue(uploadKey{}, newUpload(ctx, body, -1))
	return nil
}

// ReadBody reads a body that BufferBody left as a stream, for handlers that need all of it.
// A body of more bytes than limit is a *TooLargeError; any other error wraps ErrBody.
func ReadBody(ctx *fasthttp.RequestCtx, limit int64) error {
	u := uploadOf(ctx)
	if u == nil {
		if int64(len(ctx.Request.Body())) > limit {
			return &TooLargeError{limit}
		}
		return nil
	}
	if u.length > limit {
		return &TooLargeError{limit}
	}
	u.limit = limit
	body, err := io.ReadAll(u)
	if err != nil {
		return err
	}
	ctx.RemoveUserValue(uploadKey{})
	ctx.Request.SetBodyRaw(body)
	return nil
}

// upload is a streamed body. fasthttp's stream is valid until the response is sent, but the
// transport may go on reading after that; upload lies between the two and stops such reads.
type upload struct {
	src       io.Reader
	conn      net.Conn
	prefix    []byte // was read before
	length    int64  // -1: unknown
	limit     int64  // 0: any number
	bytesRead int64  // bytes handed out; of the one who reads

	mu      sync.Mutex
	stopped bool        // reads fail from now on
	eof     bool        // it was read to its end
	timer   *time.Timer // put off by every read; nil: none

	reads sync.WaitGroup
}

type uploadKey struct{}

func newUpload(ctx *fasthttp.RequestCtx, begun []byte, length int64) *upload {
	return &upload{src: ctx.RequestBodyStream(), conn: ctx.Conn(), prefix: begun, length: length}
}

func uploadOf(ctx *fasthttp.RequestCtx) *upload {
	u, _ := ctx.UserValue(uploadKey{}).(*upload)
	return u
}

// errAnswered ends the sending of a body whose request has got its response.
var errAnswered = errors.New("proxy: the request was answered")

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	u.mu.Lock()
	if u.stopped || u.eof {
		ended := u.eof
		u.mu.Unlock()
		if ended {
			return 0, io.EOF
		}
		return 0, errAnswered
	}
	u.reads.Add(1)
	u.mu.Unlock()
	defer u.reads.Done()
	n, err := u.read(p)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.timer != nil {
		u.timer.Reset(headTimeout)
	}
	u.eof = err == io.EOF
	if u.stopped && !u.eof {
		return n, errAnswered
	}
	return n, err
}

func (u *upload) read(p []byte) (int, error) {
	if len(u.prefix) > 0 {
		n := copy(p, u.prefix)
		u.prefix = u.prefix[n:]
		u.bytesRead += int64(n)
		return n, nil
	}
	n, err := u.src.Read(p)
	u.bytesRead += int64(n)
	switch {
	// A body of unknown length is measured while it is read.
	case u.limit > 0 && u.bytesRead > u.limit:
		return 0, fmt.Errorf("%w: %w", ErrBody, &TooLargeError{u.limit})
	// The client left before the end that it declared: the origin must not take the rest for
	// the whole.
	case err == io.EOF && u.length >= 0 && u.bytesRead < u.length:
		err = bodyError(u.conn, io.ErrUnexpectedEOF)
	case err == io.EOF:
		if broken := bodyError(u.conn, nil); broken != nil {
			err = broken
		}
	case err != nil:
		err = bodyError(u.conn, err)
	}
	return n, err
}

// bodyConn is a connection that frames its bodies, as those of the edge are.
type bodyConn interface {
	// BodyError returns why the body ended early, which fasthttp does not report.
	BodyError() error
	// StopReading ends every reading of the body, also one that waits.
	StopReading()
}

// bodyError returns why a body could not be read: err, which is nil at its end, or the
// error that the connection reports.
func bodyError(conn net.Conn, err error) error {
	if c, ok := conn.(bodyConn); ok {
		if known := c.BodyError(); known != nil {
			err = known
		}
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrBody, err)
}

// Close implements io.Closer. It does nothing, because the transport calls it when it gets
// fit; stop ends the reading.
func (u *upload) Close() error { return nil }

// resetOnRead has a timer put off by every read from now on.
func (u *upload) resetOnRead(timer *time.Timer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.timer = timer
}

// stop ends the reading of a body and returns when no read is left.
func (u *upload) stop() {
	u.mu.Lock()
	u.stopped = true
	ended := u.eof
	u.mu.Unlock()
	if !ended {
		if c, ok := u.conn.(bodyConn); ok {
			c.StopReading()
		} else {
			_ = u.conn.SetReadDeadline(time.Unix(1, 0)) // ends a pending read with an error
		}
	}
	u.reads.Wait()
}

// closeUnread runs at the end of a request's handler. A streamed response may still depend
// on the rest of the body; any other response ends the reading. If part of the body is
// left, the connection is closed.
func closeUnread(ctx *fasthttp.RequestCtx) {
	if !ctx.Request.IsBodyStream() {
		return
	}
	u := uploadOf(ctx)
	if u == nil {
		ctx.SetConnectionClose()
		return
	}
	u.mu.Lock()
	ended := u.eof
	u.mu.Unlock()
	if ended || !ctx.Response.IsBodyStream() {
		u.stop()
	}
	ctx.RemoveUserValue(uploadKey{}) // fasthttp keeps them for the connection's next request
	if ended {
		ctx.Request.ResetBody()
	} else {
		ctx.SetConnectionClose()
	}
}

// readBody reads the body up to the limit of what may be passed on.
func (p *Proxy) readBody(ctx *fasthttp.RequestCtx, q *request) error {
	if err := BufferBody(ctx); err != nil {
		return err
	}
	var most int64
	if p.cfg.BodyLimit != nil {
		most = p.cfg.BodyLimit(ctx)
	}
	if u := uploadOf(ctx); u != nil {
		q.upload = u
		if u.limit = most; most > 0 && max(u.length, int64(len(u.prefix))) > most {
			return &TooLargeError{most}
		}
		q.body, q.length = u, u.length
		return nil
	}
	body := ctx.Request.Body()
	if most > 0 && int64(len(body)) > most {
		return &TooLargeError{most}
	}
	if len(body) > 0 {
		q.length, q.buffered = int64(len(body)), bytes.Clone(body) // an answer may come before all of it is sent
		q.body = io.NopCloser(bytes.NewReader(q.buffered))
	}
	return nil
}
