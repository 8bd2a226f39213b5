package store_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
)

// BenchmarkWrite creates missions from many goroutines, whose writes share transactions,
// with and without prefetching.
func BenchmarkWrite(b *testing.B) {
	for _, engine := range []struct {
		name string
		at   func() store.Config
	}{
		{"sqlite", func() store.Config { return store.Config{Path: b.TempDir() + "/fieldmark.db"} }},
		{"postgres", func() store.Config { return storetest.DurablePostgres(b) }},
	} {
		s, err := store.Open(b.Context(), engine.at())
		if err != nil {
			b.Fatal(err)
		}
		withAccount(b, s)
		var n atomic.Int64
		for _, prefetched := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/prefetch=%t", engine.name, prefetched), func(b *testing.B) {
				b.SetParallelism(64)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						title := fmt.Sprint(n.Add(1))
						name := store.MissionKey{Account: "a", Source: "s", ExternalID: title}
						write := func(ctx context.Context, tx *store.Tx) error {
							_, err := openOne(ctx, tx, name, title)
							return err
						}
						var err error
						if prefetched {
							err = s.WriteWithPrefetch(context.Background(), prefetch(name), write)
						} else {
							err = s.Write(context.Background(), write)
						}
						if err != nil {
							b.Fatal(err)
						}
					}
				})
			})
		}
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}
}
