package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/fieldmark/fieldmark/cache"
)

// The size of the hit-ratio comparison: the number of keys, and how many fit.
const (
	policyKeys = 100_000
	policyFit  = 1000
	policyBody = 1300
	// policyCost is the cost of one entry with its key and bookkeeping.
	policyCost = 1856
)

// workloads are sequences of requests: constant popularity; every fifth request
// from a crawler, in order; and popularity that changes ten times.
func workloads(n int) map[string][]int {
	rng := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(rng, 1.01, 1, policyKeys-1)
	rounds := map[string][]int{}
	for i := range n {
		k := int(zipf.Uint64())
		rounds["zipf"] = append(rounds["zipf"], k)
		if i%5 == 0 {
			rounds["scan"] = append(rounds["scan"], policyKeys+i)
		} else {
			rounds["scan"] = append(rounds["scan"], k)
		}
		rounds["shift"] = append(rounds["shift"], k+i*10/n*7919%policyKeys)
	}
	return rounds
}

// BenchmarkHitRatio compares the cache on ristretto with otter, with the same
// memory, filled on misses.
func BenchmarkHitRatio(b *testing.B) {
	const requests = 300_000
	rounds := workloads(requests)
	for _, name := range []string{"zipf", "scan", "shift"} {
		keys := make([]string, requests)
		for i, k := range rounds[name] {
			keys[i] = fmt.Sprint("badge/", k)
		}
		b.Run(name+"/cache", func(b *testing.B) {
			for b.Loop() {
				c, err := cache.New(cache.Config{Bytes: policyFit * policyCost, Shards: 1})
				if err != nil {
					b.Fatal(err)
				}
				hits := 0
				for _, k := range keys {
					if _, state := c.Get(k); state == cache.Fresh {
						hits++
						continue
					}
					_, _, err := c.Fetch(context.Background(), k, func(context.Context) (*cache.Entry, error) {
						return &cache.Entry{Body: make([]byte, policyBody), Fresh: time.Hour}, nil
					})
					if err != nil && !errors.Is(err, cache.ErrBusy) { // no client reads this fast
						b.Fatal(err)
					}
				}
				c.Close()
				b.ReportMetric(100*float64(hits)/requests, "hit-%")
			}
		})
		b.Run(name+"/otter", func(b *testing.B) {
			for b.Loop() {
				o := otter.Must(&otter.Options[string, *cache.Entry]{MaximumWeight: policyFit * policyCost,
					Weigher: func(string, *cache.Entry) uint32 { return policyCost }})
				hits := 0
				for _, k := range keys {
					if _, ok := o.GetIfPresent(k); ok {
						hits++
						continue
					}
					o.Set(k, &cache.Entry{Body: make([]byte, policyBody)})
				}
				o.StopAllGoroutines()
				b.ReportMetric(100*float64(hits)/requests, "hit-%")
			}
		})
	}
}
