package cache_test

import (
	"context"
	"errors"
	"flag"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/cache"
)

// simulate selects the workload of a large deployment: make simulate.
var simulate = flag.Bool("simulate", false, "draw from ten million keys in place of twenty thousand")

// TestSimulate runs a Zipf workload and prints the hit ratio for several sizes of
// memory next to the optimum, Bélády's algorithm, which uses all future requests. It
// counts only the second half of the requests, when memory is full.
//
// Entries have the cost of a badge, but most of it is only accounted for, so that
// the memory of this machine is not the limit.
func TestSimulate(t *testing.T) {
	keys, requests, sizes := 20_000, 40_000, []int64{2 << 20}
	if *simulate {
		keys, requests, sizes = 10_000_000, 12_000_000, []int64{64 << 20, 256 << 20, 1 << 30, 4 << 30}
	}
	asked := make([]int32, requests)
	zipf := rand.NewZipf(rand.New(rand.NewPCG(5, 6)), 1.01, 1, uint64(keys-1))
	for i := range asked {
		asked[i] = int32(zipf.Uint64())
	}
	next := nextUses(asked, keys)
	t.Logf("%d requests for %d keys, Zipf 1.01, %d bytes an entry", requests, keys, policyCost)
	t.Logf("%10s %10s %8s %9s %11s", "memory MiB", "entries", "hits %", "optimum %", "of optimum")
	for _, bytes := range sizes {
		fit := int(bytes / policyCost)
		got, best := hitRatioOf(t, bytes, asked), optimum(next, fit)
		t.Logf("%10d %10d %8.1f %9.1f %11.2f", bytes>>20, fit, 100*got, 100*best, got/best)
		// the best may be exceeded, because results stay available for 50 ms outside of memory
		if got > best+0.02 || got < 0.6*best {
			t.Errorf("%d MiB: hit ratio %.3f beside an optimum of %.3f", bytes>>20, got, best)
		}
	}
}

// hitRatioOf runs the requests in order and returns the hit ratio of the second
// half.
func hitRatioOf(t *testing.T, bytes int64, asked []int32) float64 {
	t.Helper()
	c, err := cache.New(cache.Config{Bytes: bytes})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hits, half := 0, len(asked)/2
	key := make([]byte, 0, 32)
	for i, k := range asked {
		key = strconv.AppendInt(append(key[:0], "badge/"...), int64(k), 10)
		if _, state := c.Get(string(key)); state == cache.Fresh {
			if i >= half {
				hits++
			}
			continue
		}
		_, _, err := c.Fetch(context.Background(), string(key), func(context.Context) (*cache.Entry, error) {
			return &cache.Entry{Weight: policyBody, Fresh: 24 * time.Hour}, nil
		})
		if err != nil && !errors.Is(err, cache.ErrBusy) { // no client reads this fast
			t.Fatal(err)
		}
	}
	return float64(hits) / float64(len(asked)-half)
}

// nextUses returns for every request when its key is requested again; 0 means
// never.
func nextUses(asked []int32, keys int) []int32 {
	next, last := make([]int32, len(asked)), make([]int32, keys)
	for i := len(asked) - 1; i >= 0; i-- {
		next[i], last[asked[i]] = last[asked[i]], int32(i)
	}
	return next
}

// optimum is the highest possible hit ratio in the second half with so many
// entries: it always evicts the entry that is needed last.
func optimum(next []int32, fit int) float64 {
	kept := newTimeSet(len(next)) // next use of each stored entry
	hits, half, n := 0, len(next)/2, 0
	for i := range next {
		if kept.has(i) {
			kept.drop(i)
			n--
			if i >= half {
				hits++
			}
		}
		if next[i] == 0 {
			continue
		}
		kept.add(int(next[i]))
		if n++; n > fit {
			kept.drop(kept.latest())
			n--
		}
	}
	return float64(hits) / float64(len(next)-half)
}

// timeSet is a set of times that finds its maximum: a bitmap, with a bitmap of its
// non-empty words above each level.
type timeSet [][]uint64

func newTimeSet(n int) timeSet {
	var m timeSet
	for {
		n = (n + 63) / 64
		m = append(m, make([]uint64, n))
		if n == 1 {
			return m
		}
	}
}

func (m timeSet) has(i int) bool { return m[0][i/64]&(1<<(i%64)) != 0 }

func (m timeSet) add(i int) {
	for _, level := range m {
		level[i/64] |= 1 << (i % 64)
		i /= 64
	}
}

func (m timeSet) drop(i int) {
	for _, level := range m {
		if level[i/64] &^= 1 << (i % 64); level[i/64] != 0 {
			return
		}
		i /= 64
	}
}

func (m timeSet) latest() int {
	i := 0
	for l := len(m) - 1; l >= 0; l-- {
		i = i*64 + bits.Len64(m[l][i]) - 1
	}
	return i
}
