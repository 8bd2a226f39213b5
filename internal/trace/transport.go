package trace

import (
	"io"
	"maps"
	"net/http"
	"sync"
)

// Transport records a span for each request and sends its context in the field
// Traceparent. With a nil Tracer it only forwards the context.
type Transport struct {
	Next   http.RoundTripper
	Tracer *Tracer
	Name   string // of its spans
	Roots  bool   // requests without a parent start a trace
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	parent := From(r.Context())
	if !parent.Valid() && t.Tracer == nil {
		return t.Next.RoundTrip(r)
	}
	if !parent.Valid() {
		parent = Parse(r.Header.Get(Header))
	}
	start := t.Tracer.Child
	if t.Roots {
		start = t.Tracer.Start
	}
	self, span := start(parent, t.Name, Client)
	if self.Valid() {
		r = r.WithContext(r.Context()) // a copy: a RoundTripper must not change the request
		if r.Header = maps.Clone(r.Header); r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Set(Header, self.String())
	}
	span.SetString("http.request.method", r.Method)
	resp, err := t.Next.RoundTrip(r)
	if err != nil {
		span.SetError(err.Error())
		span.End()
		return nil, err
	}
	span.SetInt("http.response.status_code", int64(resp.StatusCode))
	if span != nil {
		resp.Body = endWith(resp.Body, sync.OnceFunc(span.End))
	}
	return resp, nil
}

// endWith calls end when body is closed. A body that can also be written to stays so.
func endWith(body io.ReadCloser, end func()) io.ReadCloser {
	if tunnel, ok := body.(io.ReadWriteCloser); ok { // of 101 Switching Protocols
		return &endingTunnel{tunnel, end}
	}
	return &endingBody{body, end}
}

type endingBody struct {
	io.ReadCloser
	end func()
}

// Close implements io.Closer.
func (b *endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

type endingTunnel struct {
	io.ReadWriteCloser
	end func()
}

// Close implements io.Closer.
func (t *endingTunnel) Close() error {
	defer t.end()
	return t.ReadWriteCloser.Close()
}

// CloseIdleConnections closes the idle connections of Next.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.Next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
