package trace

import (
	"io"
	"maps"
	"net/http"
	"sync"
)

// Transport tells of requests and names their parents to whom they are sent. With
// a nil Tracer it only names the parent of the context, if there is one.
type Transport struct {
	Next   http.RoundTripper
	Tracer *Tracer
	Name   string // of its spans
	Roots  bool   // a request without a parent begins a trace
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
	begin := t.Tracer.Child
	if t.Roots {
		begin = t.Tracer.Start
	}
	self, span := begin(parent, t.Name, Client)
	if self.Valid() {
		r = r.WithContext(r.Context()) // a copy: a RoundTripper changes no request
		if r.Header = maps.Clone(r.Header); r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Set(Header, self.String())
	}
	span.Text("http.request.method", r.Method)
	resp, err := t.Next.RoundTrip(r)
	if err != nil {
		span.Fail(err.Error())
		span.End()
		return nil, err
	}
	span.Number("http.response.status_code", int64(resp.StatusCode))
	if span != nil {
		resp.Body = ending(resp.Body, sync.OnceFunc(span.End))
	}
	return resp, nil
}

// ending ends a span with a body, whatever else the body can do.
func ending(body io.ReadCloser, end func()) io.ReadCloser {
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

// CloseIdleConnections closes those of what is behind, if it has any.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.Next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
