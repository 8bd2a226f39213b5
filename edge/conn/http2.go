package conn

import (
	"crypto/tls"
	"net/http"
	"strings"
	"unsafe"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/h2"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
	"github.com/fieldmark/fieldmark/edge/conn/stream"
)

// serveHTTP2 serves HTTP/2 until the connection ends.
func (c *conn) serveHTTP2(w *waitConn) {
	scheme := "http"
	nc := c.Conn
	if c.tls != nil {
		scheme = "https"
	} else {
		nc = w
	}
	h := &streamHandler{conn: c, wait: w, scheme: scheme}
	if w != nil {
		w.nonblocking = true
	}
	c.setProto(protoHTTP2)
	cfg := &c.server.h2
	if c.tls != nil && c.server.altSvc.Load() { // until the end of the connection
		cfg = &c.server.h2AltSvc
	}
	h2c := h2.New(nc, h, cfg, scheme)
	c.setSession(h2c)
	h2c.Serve()
}

// setSession makes Drain end the connection by its own means.
func (c *conn) setSession(s session) {
	c.session.Store(&s)
	if c.server.Draining() { // Drain may not have seen it
		s.Shutdown()
	}
}

// streamHandler serves the requests of a connection of HTTP/2 or HTTP/3. It implements
// h2.Handler and h3.Handler.
type streamHandler struct {
	conn      *conn
	wait      *waitConn // nil: the connection waits in its Read
	scheme    string
	authority string // the last one for which requests are accepted
}

// Wait implements h2.Handler.
func (h *streamHandler) Wait() error {
	if h.wait == nil {
		return nil
	}
	return h.wait.wait()
}

// Begin implements h2.Handler and h3.Handler.
func (h *streamHandler) Begin() bool { return h.conn.server.tryBegin(h.conn.counts) }

// End implements h2.Handler and h3.Handler.
func (h *streamHandler) End() { h.conn.server.endRequest(h.conn.counts) }

// Respond implements h2.Handler and h3.Handler.
func (h *streamHandler) Respond(fields []framing.Field) (resp mux.Response, tried, ok bool) {
	s := h.conn.server
	if s.cfg.FastResponse == nil || s.Draining() {
		return resp, false, false
	}
	r, ok := h.parseSimple(fields)
	if !ok {
		return resp, false, false
	}
	resp, ok = s.cfg.FastResponse(r, s.clock.now.Load())
	return resp, true, ok
}

// parseSimple is ParseSimpleGET for a request in fields.
func (h *streamHandler) parseSimple(fields []framing.Field) (r SimpleRequest, ok bool) {
	var state headerState
	get, scheme := false, false
	for i, f := range fields {
		if len(f.Name) == 0 {
			return r, false
		}
		if f.Name[0] == ':' {
			if i > 3 { // there are four pseudo-fields, before all others
				return r, false
			}
			switch f.Name {
			case ":method":
				if get || f.Value != http.MethodGet {
					return r, false
				}
				get = true
			case ":scheme":
				if scheme || !framing.AcceptsScheme(h.scheme, f.Value) {
					return r, false
				}
				scheme = true
			case ":authority":
				if state.host != nil || f.Value == "" || f.Value != h.authority && !h.accepts(f.Value) {
					return r, false
				}
				state.host = bytesOf(f.Value)
			case ":path":
				if r.Target != nil || !isSimpleTarget(f.Value, h.conn.server.cfg.FastPathPrefix) {
					return r, false
				}
				r.Target = bytesOf(f.Value)
			default:
				return r, false
			}
			continue
		}
		if !state.parseLower(bytesOf(f.Name), bytesOf(f.Value)) {
			return r, false
		}
	}
	if !get || !scheme || state.host == nil || r.Target == nil || state.modifiedSince && state.ifNoneMatch == nil {
		return r, false
	}
	state.apply(&r)
	r.Peer = &h.conn.peer
	return r, true
}

// bytesOf returns the bytes of s, which must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// accepts reports whether requests for an authority are accepted, and caches the last result.
func (h *streamHandler) accepts(authority string) bool {
	for i := range len(authority) {
		if !inHost[authority[i]] {
			return false
		}
	}
	if h.Check(authority) != nil {
		return false
	}
	h.authority = authority
	return true
}

// Check implements h2.Handler and h3.Handler. A client may use one connection for every name that its
// certificate covers (RFC 9113, 9.1.1); for any other the response is 421. Without
// SNI, and from a trusted proxy, any name is accepted.
func (h *streamHandler) Check(authority string) *framing.Error {
	c := h.conn
	if c.tls == nil || !c.network.IsValid() {
		return nil
	}
	name := c.tls.ConnectionState().ServerName
	host := authority
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	if name == "" || strings.EqualFold(strings.TrimSuffix(host, "."), name) || c.covers(name, host) {
		return nil
	}
	return &framing.Error{Status: http.StatusMisdirectedRequest,
		Reason: "the connection was opened for another host, whose certificate does not cover this one"}
}

// covers reports whether the certificate for name covers host too.
func (c *conn) covers(name, host string) bool {
	if c.tlsConfig == nil || c.tlsConfig.GetCertificate == nil {
		return false
	}
	cert, err := c.tlsConfig.GetCertificate(&tls.ClientHelloInfo{ServerName: name, Conn: c.Conn,
		SupportedVersions: []uint16{tls.VersionTLS13}})
	return err == nil && cert != nil && cert.Leaf != nil && cert.Leaf.VerifyHostname(host) == nil
}

// Serve implements h2.Handler and h3.Handler: the exchange is served as if it had come over a separate
// connection.
func (h *streamHandler) Serve(m *stream.Conn) {
	parent := h.conn
	c := &conn{Conn: m, server: parent.server, network: parent.network, tls: parent.tls, parent: parent,
		fastPathTried: m.FastPathTried}
	c.proto.Store(parent.proto.Load())
	c.handoff.refuse = m.Refused
	_ = c.server.http.ServeConn(c.requestConn()) // the response has the reason
	c.logExchange()
}
