package main

import (
	"io"
	"net"
	"sync"
	"testing"
)

// reachability is what a network does with connections.
type reachability int

const (
	connected reachability = iota
	gone                   // connections are closed at once
	deaf                   // requests arrive, their responses do not
)

// network is a proxy of TCP connections that fails on demand.
type network struct {
	address string
	to      string
	wg      sync.WaitGroup

	mu     sync.Mutex
	state  reachability
	conns  map[net.Conn]bool
	losses chan struct{} // a response was lost
}

// newNetwork returns a network in front of an address. It ends with the test. Its port stays open while it is gone:
// otherwise a server of another test could get the port, and the requests of the browser.
func newNetwork(t *testing.T, to string) *network {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	n := &network{to: to, address: listener.Addr().String(), conns: map[net.Conn]bool{},
		losses: make(chan struct{}, 1)}
	n.wg.Go(func() { n.accept(listener) })
	t.Cleanup(func() {
		listener.Close()
		n.set(gone)
		n.wg.Wait()
	})
	return n
}

// set changes what the network does, and closes all connections.
func (n *network) set(state reachability) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state = state
	for c := range n.conns {
		c.Close()
	}
	select {
	case <-n.losses:
	default:
	}
}

func (n *network) accept(listener net.Listener) {
	for {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		n.wg.Go(func() { n.serve(c) })
	}
}

// track registers a connection for set; the returned function closes it.
func (n *network) track(c net.Conn) (reachability, func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[c] = true
	if n.state == gone {
		c.Close()
	}
	return n.state, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.conns, c)
		c.Close()
	}
}

func (n *network) serve(c net.Conn) {
	state, done := n.track(c)
	defer done()
	if state == gone {
		return
	}
	server, err := net.Dial("tcp", n.to)
	if err != nil {
		return
	}
	_, closed := n.track(server)
	defer closed()
	n.wg.Go(func() {
		_, _ = io.Copy(server, c) // until either ends
		server.Close()
	})
	if state == deaf {
		if k, _ := server.Read(make([]byte, 1)); k > 0 {
			select {
			case n.losses <- struct{}{}:
			default:
			}
		}
		return
	}
	_, _ = io.Copy(c, server)
}

// lost waits until a response was lost since the state was set.
func (n *network) lost(t *testing.T) {
	t.Helper()
	select {
	case <-n.losses:
	case <-t.Context().Done():
		t.Fatal("no response was lost")
	}
}
