package conn

import (
	"bytes"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/edge/accesslog"
	"github.com/fieldmark/fieldmark/edge/conn/stream"
)

// exchange is what the access log gets of a request that fasthttp serves.
type exchange struct {
	accesslog.Entry
	headEnd int          // bytes of headEnd that were written; all of them: the body follows
	sent    atomic.Int64 // bytes of the body; of a tunnel, those after the response
}

// headEnd ends the header of a response.
const headEnd = "\r\n\r\n"

// count counts bytes that were written.
func (x *exchange) count(p []byte) {
	for i := 0; x.headEnd < len(headEnd); i++ {
		switch {
		case i == len(p):
			return
		case p[i] == headEnd[x.headEnd]:
			x.headEnd++
		case p[i] == '\r':
			x.headEnd = 1
		default:
			x.headEnd = 0
		}
		if x.headEnd == len(headEnd) {
			p = p[i+1:]
		}
	}
	x.sent.Add(int64(len(p)))
}

// LogRequest makes the access log have a line for the request of ctx once the response was
// sent, or the tunnel has ended. It must be called before the response is written. e lacks
// the data of the connection: protocol, bytes and duration.
func LogRequest(ctx *fasthttp.RequestCtx, e accesslog.Entry) {
	if c := connOf(ctx.Conn()); c != nil && c.server.cfg.AccessLog.Selects(e.Status) {
		c.exchange = &exchange{Entry: e}
	}
}

// logExchange adds the line of the present request to the access log.
func (c *conn) logExchange() {
	if x := c.exchange; x != nil {
		x.Protocol = protoNames[c.proto.Load()]
		x.Bytes, x.Duration = x.sent.Load(), time.Since(x.Time)
		c.server.cfg.AccessLog.Add(&x.Entry)
	}
}

// maxRequestLine bounds the part of a request line that is kept for the access log, in bytes.
const maxRequestLine = 2048

// keepRequestLine keeps the line that a request begins with, in case that it is refused.
func (h *handoff) keepRequestLine(p []byte) {
	line, _, _ := bytes.Cut(bytes.TrimLeft(p, "\r\n"), []byte("\r\n"))
	h.requestLine = append(h.requestLine[:0], line[:min(len(line), maxRequestLine)]...)
}

// RefusedRequest returns the method, the target and the host of a request that fasthttp did not
// get, because it was refused or did not arrive in time. They are what the client sent, and
// empty if unknown; the host is unknown over HTTP/1.1. There must be an access log.
func RefusedRequest(ctx *fasthttp.RequestCtx) (method, target, host string) {
	c := connOf(ctx.Conn())
	if c == nil {
		return "", "", ""
	}
	if m, ok := c.Conn.(*stream.Conn); ok {
		return m.Request.Method, m.Request.Target, m.Request.Authority
	}
	method, rest, _ := strings.Cut(string(c.handoff.requestLine), " ")
	for i := range len(method) {
		if !inName[method[i]] { // it is not HTTP
			return "", "", ""
		}
	}
	target, _, _ = strings.Cut(rest, " ")
	return method, target, ""
}
