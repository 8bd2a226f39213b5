package edge

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
)

// newCertificates returns the store of the edge's certificates; without TLS it is empty, so
// that callers need not ask.
func newCertificates(cfg *Config) (*certs.Store, error) {
	if cfg.Certificates != nil {
		return cfg.Certificates, nil
	}
	return certs.New(certs.Config{})
}

// redirector serves the plain listener beside TLS: it redirects to https, and answers the
// challenges of CAs.
type redirector struct {
	edge *Edge
	port string // of the public https address, with a colon; empty: 443
}

// newRedirector returns the connection server of the plain listener.
func newRedirector(e *Edge, base *url.URL) *conn.Server {
	r := redirector{edge: e}
	if port := base.Port(); port != "" && port != "443" {
		r.port = ":" + port
	}
	cfg := e.connConfig()
	cfg.Handler, cfg.HeaderReceived, cfg.ExpectHandler, cfg.FastPath = r.serve, nil, nil, nil
	cfg.FastResponse, cfg.H2C = nil, false
	return conn.New(cfg)
}

// serve redirects a request to the same path over https if its host is one of this edge:
// anything else would make the edge an open redirector. Requests with a method that may
// have a body are refused, so that a client notices that it sends secrets unencrypted.
func (r redirector) serve(ctx *fasthttp.RequestCtx) {
	defer closeUnread(ctx)
	defer r.edge.recoverPanic(ctx)
	e := r.edge
	defer func() { e.meters.count(routeRedirect, ctx.Response.StatusCode()) }()
	if !ctx.IsGet() && !ctx.IsHead() {
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeHTTPSRequired, "repeat the request over https"))
		return
	}
	host := (&url.URL{Host: string(ctx.Request.Header.Host())}).Hostname()
	target := ctx.RequestURI()
	if !isOriginForm(target) || !e.certificates.Serves(host) && !strings.EqualFold(host, e.host) {
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeMisdirected, "this server has no certificate for that host"))
		return
	}
	if strings.Contains(host, ":") { // IPv6
		host = "[" + host + "]"
	}
	ctx.Response.Header.Set("Location", "https://"+host+r.port+string(target))
	ctx.Response.Header.Set("Cache-Control", "no-store") // challenges and hosts change
	ctx.SetStatusCode(http.StatusPermanentRedirect)
}
