package listen

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// InMemory is a net.Listener whose connections are pipes in memory. In a process that runs both
// roles, the edge connects to the origin through it: nothing else on the machine can.
type InMemory struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// NewInMemory returns an open listener.
func NewInMemory() *InMemory {
	return &InMemory{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept implements net.Listener.
func (p *InMemory) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *InMemory) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr implements net.Listener.
func (p *InMemory) Addr() net.Addr { return inmemAddr{} }

// Transport returns a transport that connects to the listener, whatever the address of a request. A
// dial waits for Accept until its context ends, and fails once the listener is closed.
func (p *InMemory) Transport() *http.Transport {
	return &http.Transport{
		MaxIdleConnsPerHost: 64,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			near, far := net.Pipe()
			select {
			case p.conns <- far:
				return near, nil
			case <-p.done:
				return nil, &net.OpError{Op: "dial", Net: "pipe", Err: net.ErrClosed}
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
}

type inmemAddr struct{}

// Network implements net.Addr.
func (inmemAddr) Network() string { return "pipe" }

// String implements net.Addr.
func (inmemAddr) String() string { return "in-process" }
