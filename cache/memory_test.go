package cache_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/cache"
)

// TestSmallObjectCost limits the overhead for a small object to 200 bytes plus 0.3
// times the bytes that are sent.
func TestSmallObjectCost(t *testing.T) {
	const entries, body, head = 40_000, 1300, 550 // a badge
	c := open(t, cache.Config{Bytes: 1 << 30})
	before := heap()
	for i := range entries {
		key := fmt.Sprintf("/api/badge/brand-%d", i)
		_, _, err := c.Fetch(context.Background(), key, func(context.Context) (*cache.Entry, error) {
			return &cache.Entry{Body: make([]byte, body), Head: make([]byte, head), Tags: []string{"module",
				key[len("/api/badge/"):]}, AsOf: 1, Fresh: time.Hour}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	each := (heap() - before) / entries
	bytes := int64(body + head + len("/api/badge/brand-12345") + len("module") + len("brand-12345"))
	t.Logf("%d bytes each, of which %d are the object's", each, bytes)
	if limit := bytes*13/10 + 200; each > limit {
		t.Errorf("a small object takes %d bytes, at most %d are allowed", each, limit)
	}
	runtime.KeepAlive(c)
}

func heap() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
