package origin

import (
	"maps"
	"slices"
	"sync"

	"github.com/fieldmark/fieldmark/origin/store"
)

// heldLeases are the leases of the work that this process is doing. Only these
// are renewed: a claim whose work ended without a record of it, or whose commit
// was not acknowledged, must expire so that the work is claimed again.
type heldLeases struct {
	mu   sync.Mutex
	jobs map[store.Lease]int // at work; two where a lease was lost and claimed again
}

func (h *heldLeases) add(l store.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.jobs == nil {
		h.jobs = map[store.Lease]int{}
	}
	h.jobs[l]++
}

func (h *heldLeases) remove(l store.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.jobs[l]--; h.jobs[l] <= 0 {
		delete(h.jobs, l)
	}
}

func (h *heldLeases) list() []store.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.jobs))
}
