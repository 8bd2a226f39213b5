package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/fieldmark/fieldmark/cache"
)

const hitKeys = 10_000

// filled returns a cache of hitKeys entries with two tags each, and its keys.
func filled(tb testing.TB) (*cache.Cache, []string) {
	tb.Helper()
	c := open(tb, cache.Config{Bytes: 64 << 20})
	keys := make([]string, hitKeys)
	for i := range keys {
		keys[i] = fmt.Sprintf("badge/brand-%d/flat/light", i)
		_, _, err := c.Fetch(context.Background(), keys[i], func(context.Context) (*cache.Entry, error) {
			return &cache.Entry{Body: make([]byte, 1300), Tags: []string{"module", keys[i]}, AsOf: 1, Fresh: time.Hour},
				nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	for i := range keys { // wait until the last ones are stored
		for st := cache.Miss; st != cache.Fresh; _, st = c.Get(keys[i]) {
		}
	}
	return c, keys
}

func TestHitAllocatesNothing(t *testing.T) {
	c, keys := filled(t)
	fill := cache.Fill(nothing)
	ctx := context.Background()
	for name, hit := range map[string]func(){
		"Get":   func() { c.Get(keys[7]) },
		"Fetch": func() { _, _, _ = c.Fetch(ctx, keys[7], fill) },
	} {
		if n := testing.AllocsPerRun(10_000, hit); n != 0 {
			t.Errorf("%s of a fresh entry: got %v allocations, want 0", name, n)
		}
	}
}

// cpu reports the processor time of an operation, because wall time means little on
// a shared machine.
func cpu(b *testing.B) func() {
	used := func() int64 {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			b.Fatal(err)
		}
		return r.Utime.Nano() + r.Stime.Nano()
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

func BenchmarkHit(b *testing.B) {
	c, keys := filled(b)
	plain := map[string]*cache.Entry{}
	var synced sync.Map
	raw, err := ristretto.NewCache(&ristretto.Config[string, *cache.Entry]{NumCounters: 10 * hitKeys, MaxCost: 64 << 20,
		BufferItems: 64, IgnoreInternalCost: true})
	if err != nil {
		b.Fatal(err)
	}
	defer raw.Close()
	for _, k := range keys {
		plain[k] = &cache.Entry{}
		synced.Store(k, &cache.Entry{})
		raw.Set(k, &cache.Entry{}, 2048)
		raw.Wait()
	}
	order := make([]string, 1<<14)
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, hitKeys-1)
	for i := range order {
		order[i] = keys[zipf.Uint64()]
	}
	fill := cache.Fill(nothing)
	for _, bb := range []struct {
		name string
		look func(string)
	}{
		{"cache.Get", func(k string) { c.Get(k) }},
		{"cache.Fetch", func(k string) { _, _, _ = c.Fetch(context.Background(), k, fill) }},
		{"ristretto alone", func(k string) { raw.Get(k) }},
		{"plain map", func(k string) { _ = plain[k] }},
		{"sync.Map", func(k string) { synced.Load(k) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			defer cpu(b)()
			i := 0
			for b.Loop() {
				bb.look(order[i&(1<<14-1)])
				i++
			}
		})
		b.Run(bb.name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			defer cpu(b)()
			b.RunParallel(func(pb *testing.PB) {
				for i := rand.IntN(1 << 14); pb.Next(); i++ {
					bb.look(order[i&(1<<14-1)])
				}
			})
		})
	}
}

func BenchmarkFill(b *testing.B) {
	c := open(b, cache.Config{})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		_, _, _ = c.Fetch(context.Background(), fmt.Sprint(i), func(context.Context) (*cache.Entry, error) {
			return &cache.Entry{Body: make([]byte, 1300), Tags: []string{"module"}, Fresh: time.Hour}, nil
		})
	}
}
