package main

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// lossyLink is a network between a process and a server: it forwards TCP connections and can delay what they carry,
// lose packets, hang, and close connections. It needs neither root nor a kernel with netem.
type lossyLink struct {
	ln     net.Listener
	target string

	delay atomic.Int64 // nanoseconds in each direction
	loss  atomic.Int64 // per mille of segments that are sent again
	hangs atomic.Bool  // nothing is forwarded

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// newLossyLink starts a link to host:port.
func newLossyLink(t testing.TB, target string) *lossyLink {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l := &lossyLink{ln: ln, target: target, conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() { l.forward(near) })
		}
	})
	t.Cleanup(func() { ln.Close(); l.hangs.Store(false); l.cut(); running.Wait() })
	return l
}

// addr returns host:port for clients.
func (l *lossyLink) addr() string { return l.ln.Addr().String() }

// forward copies between a client and the server until one of them ends.
func (l *lossyLink) forward(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer far.Close()
	l.mu.Lock()
	l.conns[near] = true
	l.mu.Unlock()
	defer func() { l.mu.Lock(); delete(l.conns, near); l.mu.Unlock() }()
	var both sync.WaitGroup
	both.Go(func() { l.carry(far, near); far.Close(); near.Close() })
	both.Go(func() { l.carry(near, far); far.Close(); near.Close() })
	both.Wait()
}

// segment is what one packet carries, and when it arrives.
type segment struct {
	b   []byte
	due time.Time
}

// carry copies from one side to the other. What is lost arrives after TCP has sent it again, and what follows waits
// for it.
func (l *lossyLink) carry(to io.Writer, from io.Reader) {
	segments := make(chan segment, 1024)
	var writing sync.WaitGroup
	writing.Go(func() {
		for s := range segments {
			time.Sleep(time.Until(s.due))
			for l.hangs.Load() {
				time.Sleep(linkStep)
			}
			if _, err := to.Write(s.b); err != nil {
				break
			}
		}
		for range segments { // the reader ends when both connections are closed
		}
	})
	for due := time.Now(); ; {
		b := make([]byte, 1460)
		n, err := from.Read(b)
		if err != nil {
			break
		}
		wait := time.Duration(l.delay.Load())
		for again := minRetransmit + wait; rand.Int64N(1000) < l.loss.Load(); again *= 2 {
			wait += again
		}
		if at := time.Now().Add(wait); at.After(due) {
			due = at
		}
		segments <- segment{b[:n], due}
	}
	close(segments)
	writing.Wait()
}

const (
	// minRetransmit is the least time after which Linux sends a segment again.
	minRetransmit = 200 * time.Millisecond
	linkStep      = 10 * time.Millisecond
)

// cut closes all connections.
func (l *lossyLink) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		conn.Close()
	}
}
