package conn

import (
	"net/netip"
	"time"

	"github.com/fieldmark/fieldmark/edge/conn/certs"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// firstByteTimeout bounds the silence before a TLS handshake. A silent connection holds no
	// more than an idle one.
	firstByteTimeout = 15 * time.Second * timeout.Scale
	// handshakeTimeout bounds a TLS handshake from its first byte. Phones with bad reception need
	// three seconds. A client can hold a slot for so long at the price of one packet.
	handshakeTimeout = 5 * time.Second * timeout.Scale
	// maxHandshakes bounds the unfinished handshakes of a server, and maxNetworkHandshakes
	// those of one client network: a handshake costs a server ten times what it costs a
	// client that sends garbage. 1,024 are three times what a core completes in 100 ms.
	// A slot is taken with the first byte: otherwise a network could hold its whole share, and
	// sixteen networks all slots, with connections that send nothing.
	maxHandshakes        = 1024
	maxNetworkHandshakes = 64
)

// HandshakeResult is how a TLS handshake ended.
type HandshakeResult string

// Results of handshakes.
const (
	HandshakeFull     HandshakeResult = "full"
	HandshakeResumed  HandshakeResult = "resumed"
	HandshakeEarly    HandshakeResult = "early"    // resumed over QUIC, with requests in its first packet (0-RTT)
	HandshakeFailed   HandshakeResult = "failed"   // or never begun
	HandshakeRejected HandshakeResult = "rejected" // above a limit, and closed without an answer
)

// handshakes counts unfinished handshakes.
type handshakes struct {
	total      int
	perNetwork map[netip.Addr]int
}

// tryAcquire reserves a slot and reports whether one was free.
func (h *handshakes) tryAcquire(network netip.Addr) bool {
	if h.total >= maxHandshakes || network.IsValid() && h.perNetwork[network] >= maxNetworkHandshakes {
		return false
	}
	h.total++
	if network.IsValid() {
		h.perNetwork[network]++
	}
	return true
}

func (h *handshakes) release(network netip.Addr) {
	h.total--
	if !network.IsValid() {
		return
	}
	if h.perNetwork[network]--; h.perNetwork[network] <= 0 {
		delete(h.perNetwork, network)
	}
}

// handshake waits for the first byte of a TLS handshake and completes it. It returns the
// negotiated protocol, and whether requests may follow.
func (c *conn) handshake() (protocol string, ok bool) {
	t, cfg, began := &c.server.conns, &c.server.cfg, time.Now()
	if c.waitHandshake(began) != nil {
		cfg.OnHandshake(HandshakeFailed, time.Since(began))
		return "", false
	}
	t.mu.Lock()
	ok = t.handshakes.tryAcquire(c.network)
	t.mu.Unlock()
	if !ok {
		cfg.OnHandshake(HandshakeRejected, 0)
		return "", false
	}
	began = time.Now()
	err := c.setHandshakeDeadline(began.Add(handshakeTimeout))
	if err == nil {
		err = c.tls.Handshake()
	}
	t.mu.Lock()
	t.handshakes.release(c.network)
	t.mu.Unlock()
	if err != nil || c.Conn.SetWriteDeadline(time.Time{}) != nil {
		cfg.OnHandshake(HandshakeFailed, time.Since(began))
		return "", false
	}
	result, state := HandshakeFull, c.tls.ConnectionState()
	if state.DidResume {
		result = HandshakeResumed
	}
	cfg.OnHandshake(result, time.Since(began))
	return state.NegotiatedProtocol, state.NegotiatedProtocol != certs.ProtocolACME
}

// waitHandshake waits for the first byte of a handshake.
func (c *conn) waitHandshake(now time.Time) error {
	if c.waiter == nil {
		return nil
	}
	if err := c.setHandshakeDeadline(now.Add(firstByteTimeout)); err != nil {
		return err
	}
	return c.waiter.wait()
}

// setHandshakeDeadline sets the deadline of a step of the handshake.
func (c *conn) setHandshakeDeadline(d time.Time) error {
	err := c.Conn.SetDeadline(d)
	if c.server.Draining() { // Drain may have set its deadline before
		c.expireIdle()
	}
	return err
}
