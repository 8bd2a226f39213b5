package conn

import "github.com/fieldmark/fieldmark/edge/conn/framing"

// ParseSimpleFields is ParseSimpleGET for a request that came over HTTP/2 with TLS.
func ParseSimpleFields(s *Server, fields []framing.Field) (SimpleRequest, bool) {
	h := &streamHandler{conn: &conn{server: s}, scheme: "https"}
	return h.parseSimple(fields)
}

// ReadProxyHeader reads the header of the PROXY protocol.
var ReadProxyHeader = readProxyHeader

// SetMaxQUICConns bounds the connections of HTTP/3.
func SetMaxQUICConns(s *Server, n int) {
	s.conns.mu.Lock()
	defer s.conns.mu.Unlock()
	s.quic.maxConns = n
}
