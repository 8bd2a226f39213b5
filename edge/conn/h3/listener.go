package h3

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/fieldmark/fieldmark/edge/conn/mux"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// handshakeTimeout bounds the silence within a handshake; the whole of it may take twice
	// that. Phones with bad reception need three seconds.
	handshakeTimeout = 5 * time.Second * timeout.Scale
	// idleTimeout bounds the silence of a client. One that returns later resumes its session
	// within a round trip, so there is little to keep 70 kB for.
	idleTimeout = 30 * time.Second
	// maxUniStreams bounds the unidirectional streams of a client at once: three are needed
	// (6.2), browsers add one of a reserved type.
	maxUniStreams = 8
	// Windows at first and at most, in bytes: what a client may send that was not read. Those
	// of connections grow from the shared budget.
	streamWindow, maxStreamWindow = 64 << 10, 512 << 10
	connWindow, maxConnWindow     = 128 << 10, 1 << 20
	// connectionIDLength is in bytes: collisions must not happen among millions.
	connectionIDLength = 8
	// ReceiveBuffer is the size that a socket's receive buffer should have, in bytes: what
	// arrives at 1 Gbit/s while the process does not run for 50 ms. The library requests the
	// system for it.
	ReceiveBuffer = 7 << 20
)

// Labels of keys that are derived from the secret of Listen.
const (
	tokenLabel = "quic-token/v1"
	resetLabel = "quic-reset/v1 " // the host and the listen address follow
)

// ListenConfig configures a Listener.
type ListenConfig struct {
	TLS *tls.Config
	// Secret is shared by all edges: each accepts the address validation tokens of the others
	// (RFC 9000, 8.1.3), and resets the connections of the process before it (10.3). Empty:
	// random keys of this process.
	Secret string
	// Host distinguishes nodes that share Secret and listen on the same address: no node can
	// be made to reset the connections of another (RFC 9000, 21.11).
	Host      string
	EarlyData bool              // accept 0-RTT
	Window    *mux.WindowBudget // of uploads; required
	// Retry reports whether a client must prove its address before its handshake (RFC 9000,
	// 8.1.2). It must not block.
	Retry func(net.Addr) bool
	// Begin is called for each handshake and returns a function that is called once at its
	// end, or nil to refuse the connection.
	Begin func(net.Addr) func(Handshake)
}

// Handshake is how a handshake ended.
type Handshake struct {
	Done    bool // it was completed
	Resumed bool
	Early   bool // 0-RTT data was accepted
}

// Listener accepts connections.
type Listener struct {
	transport *quic.Transport
	listener  *quic.EarlyListener
}

// Listen accepts connections on a UDP socket, which stays the caller's.
func Listen(pc net.PacketConn, cfg ListenConfig) (*Listener, error) {
	// The library would write a line about the size of the receive buffer to standard error.
	if err := os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true"); err != nil {
		return nil, err
	}
	t := &quic.Transport{Conn: pc, ConnectionIDLength: connectionIDLength, VerifySourceAddress: cfg.Retry}
	if cfg.Secret != "" {
		token, err := hkdf.Key(sha256.New, []byte(cfg.Secret), nil, tokenLabel, 32)
		if err != nil {
			return nil, fmt.Errorf("derive the key of tokens: %w", err)
		}
		reset, err := hkdf.Key(sha256.New, []byte(cfg.Secret), nil, resetLabel+cfg.Host+" "+pc.LocalAddr().String(), 32)
		if err != nil {
			return nil, fmt.Errorf("derive the key of resets: %w", err)
		}
		t.TokenGeneratorKey, t.StatelessResetKey = (*quic.TokenGeneratorKey)(token), (*quic.StatelessResetKey)(reset)
	}
	t.ConnContext = func(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
		end := cfg.Begin(info.RemoteAddr)
		if end == nil {
			return nil, errors.New("too many connections")
		}
		s := &connState{window: cfg.Window, end: end}
		context.AfterFunc(ctx, s.close)
		return context.WithValue(ctx, stateKey{}, s), nil
	}
	ln, err := t.ListenEarly(cfg.TLS, &quic.Config{
		HandshakeIdleTimeout: handshakeTimeout, MaxIdleTimeout: idleTimeout,
		MaxIncomingStreams: mux.MaxStreams, MaxIncomingUniStreams: maxUniStreams, RequireStreamCreditRelease: true,
		InitialStreamReceiveWindow: streamWindow, MaxStreamReceiveWindow: maxStreamWindow,
		InitialConnectionReceiveWindow: connWindow, MaxConnectionReceiveWindow: maxConnWindow,
		AllowConnectionWindowIncrease: func(qc *quic.Conn, delta uint64) bool { return stateOf(qc).grow(int(delta)) },
		Allow0RTT:                     cfg.EarlyData,
	})
	if err != nil {
		return nil, fmt.Errorf("listen for QUIC on %s: %w", pc.LocalAddr(), err)
	}
	return &Listener{transport: t, listener: ln}, nil
}

// Accept returns the next connection, whose handshake need not have ended.
func (l *Listener) Accept(ctx context.Context) (*Conn, error) {
	qc, err := l.listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	state := stateOf(qc)
	state.mu.Lock()
	state.qc = qc
	state.mu.Unlock()
	uni, stop := context.WithCancel(context.Background())
	return &Conn{qc: qc, state: state, stopUni: stop,
		nextUni: func() (*quic.ReceiveStream, error) { return qc.AcceptUniStream(uni) }}, nil
}

// Stop refuses new connections. Those that are open stay open.
func (l *Listener) Stop() error { return l.listener.Close() }

// Close ends all connections. The socket stays open.
func (l *Listener) Close() error { return l.transport.Close() }

type stateKey struct{}

// connState is the state of a connection for the callbacks of the library.
type connState struct {
	window *mux.WindowBudget
	end    func(Handshake)

	mu     sync.Mutex // guards the following fields
	qc     *quic.Conn // nil until Accept returns it
	ended  bool       // end was called
	closed bool
	grown  int // bytes of window
}

func stateOf(qc *quic.Conn) *connState { return qc.Context().Value(stateKey{}).(*connState) }

// grow reserves bytes for a larger window.
func (s *connState) grow(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.window.TryAcquire(n) {
		return false
	}
	s.grown += n
	return true
}

// waitHandshake waits for the end of the handshake.
func (s *connState) waitHandshake(qc *quic.Conn) {
	select {
	case <-qc.HandshakeComplete():
	case <-qc.Context().Done():
	}
	s.endHandshake()
}

// endHandshake reports the result of the handshake, once. A client may close its connection as soon as
// its handshake is complete, before any goroutine has seen that: whether it is complete decides, not
// what ended first.
func (s *connState) endHandshake() {
	s.mu.Lock()
	first, qc := !s.ended, s.qc
	s.ended = true
	s.mu.Unlock()
	if !first {
		return
	}
	var h Handshake
	if qc != nil {
		select {
		case <-qc.HandshakeComplete():
			state := qc.ConnectionState()
			h = Handshake{Done: true, Resumed: state.TLS.DidResume, Early: state.Used0RTT}
		default:
		}
	}
	s.end(h)
}

// close is called when the connection has ended, also before Accept has returned it.
func (s *connState) close() {
	s.endHandshake()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.window.Release(s.grown)
}

// LocalAddr returns the address of the socket as one of TCP.
func (c *Conn) LocalAddr() net.Addr { return tcpAddr(c.qc.LocalAddr()) }

// RemoteAddr returns the address of the client as one of TCP, the only kind that fasthttp
// supports.
func (c *Conn) RemoteAddr() net.Addr { return tcpAddr(c.qc.RemoteAddr()) }

func tcpAddr(a net.Addr) net.Addr {
	if udp, ok := a.(*net.UDPAddr); ok {
		return &net.TCPAddr{IP: udp.IP, Port: udp.Port, Zone: udp.Zone}
	}
	return a
}

// ConnectionState returns the state of TLS.
func (c *Conn) ConnectionState() tls.ConnectionState { return c.qc.ConnectionState().TLS }

// Handshake does nothing: requests wait for the handshake by themselves.
func (c *Conn) Handshake() error { return nil }
