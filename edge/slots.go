package edge

import (
	"net/netip"
	"sync"

	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
)

// Limits of what clients hold at the origins. Everything of one kind together is
// bounded by what a node and its origins can carry, and one client network may
// take a quarter of it: what is left serves all others, and an office behind one
// address still has more than browsers use.
const (
	networkFraction = 4
	// maxTunnels bounds the WebSocket connections that are passed through. Each
	// takes two goroutines with a buffer of 32 KiB, so all of them 64 MiB.
	maxTunnels = 1024
	// maxFetches bounds the requests for answers that only one client may want, like
	// the score of some day: half of a node's own connections to an origin, so that
	// the other half is for present scores and the event log.
	maxFetches = upstream.MaxConns / 2
)

// slots limits how many of something are in use at once, in total and for each
// client network.
type slots struct {
	total, perNetwork int

	mu        sync.Mutex
	inUse     int
	byNetwork map[netip.Addr]int
}

// newSlots returns slots of total, of which one network may use a quarter, and
// no more than a quarter of pool.
func newSlots(total, pool int) *slots {
	return &slots{total: total, perNetwork: max(1, min(total, pool)/networkFraction), byNetwork: map[netip.Addr]int{}}
}

// acquire takes one for a network, if there is one. Of an invalid network only the
// total is counted. The caller calls release once.
func (s *slots) acquire(network netip.Addr) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse >= s.total || network.IsValid() && s.byNetwork[network] >= s.perNetwork {
		return nil, false
	}
	s.inUse++
	if network.IsValid() {
		s.byNetwork[network]++
	}
	return sync.OnceFunc(func() { s.release(network) }), true
}

func (s *slots) release(network netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inUse--
	if network.IsValid() {
		if s.byNetwork[network]--; s.byNetwork[network] == 0 {
			delete(s.byNetwork, network)
		}
	}
}
