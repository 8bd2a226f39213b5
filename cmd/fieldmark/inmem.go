package main

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// inmemListener is a listener in memory. In a process that runs both roles, the edge
// connects to the origin through it.
type inmemListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newInmemListener() *inmemListener {
	return &inmemListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept implements net.Listener.
func (p *inmemListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *inmemListener) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr implements net.Listener.
func (p *inmemListener) Addr() net.Addr { return inmemAddr{} }

// transport returns a transport that connects to the listener for every address.
func (p *inmemListener) transport() *http.Transport {
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
