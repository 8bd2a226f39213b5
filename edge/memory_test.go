package edge_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// TestMemoryBound compares what the cache counts for scores with the heap they
// take: an operator sizes nodes by the one and runs out of the other.
func TestMemoryBound(t *testing.T) {
	h := newFixture(t)
	h.brand("acme", "Acme", 100)
	h.until("acme has a score", func() bool { return h.get("/api/v1/score/acme").status == 200 })
	const (
		fill  = 6 << 20
		share = 1.4     // of the counted bytes: sizes are rounded up by the allocator
		fixed = 1 << 20 // whatever else happens in the process meanwhile
	)
	before := heapInUse()
	var used int64
	for i := 0; used < fill; i++ {
		score := h.score("acme") // decoded once for each, as a module returns them
		score.Slug = fieldmark.Slug(fmt.Sprint("brand-", i))
		var err error
		used, err = h.edge.KeepScore(score)
		must(t, err)
	}
	got, most := heapInUse()-before, int64(share*float64(used)+fixed)
	t.Logf("%d bytes counted, %d in the heap", used, got)
	if got > most {
		t.Errorf("%d bytes of scores take %d bytes of heap, want at most %d", used, got, most)
	}
	runtime.KeepAlive(h.edge)
}

// heapInUse is the size of all reachable objects in bytes.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // frees what finalizers and pools kept over the first
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
