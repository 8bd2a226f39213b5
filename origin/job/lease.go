package job

import (
	"maps"
	"slices"
	"sync"

	"github.com/fieldmark/fieldmark/origin/store"
)

// leases are the leases of the jobs that this process is running. Only these are
// renewed: a claim whose job ended without writing a result, or whose commit was
// not acknowledged, must expire so that the job is claimed again.
type leases struct {
	mu   sync.Mutex
	jobs map[store.Lease]int // number of running jobs; two if a lease expired and was claimed again
}

// Hold renews a lease from now on, until Release. Work does both for its jobs.
func (r *Runner) Hold(l store.Lease) {
	r.held.mu.Lock()
	defer r.held.mu.Unlock()
	if r.held.jobs == nil {
		r.held.jobs = map[store.Lease]int{}
	}
	r.held.jobs[l]++
}

// Release ends the renewal of a lease. The lease itself stays until it expires.
func (r *Runner) Release(l store.Lease) {
	r.held.mu.Lock()
	defer r.held.mu.Unlock()
	if r.held.jobs[l]--; r.held.jobs[l] <= 0 {
		delete(r.held.jobs, l)
	}
}

func (h *leases) list() []store.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.jobs))
}
