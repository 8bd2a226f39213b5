package publiclog_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// BenchmarkAppend measures what a change costs the log, of 500 changes that one step appends, and what a leaf
// takes in the database: bytes of its entry bundles and tiles, and of the row of its brand.
func BenchmarkAppend(b *testing.B) {
	f := newFixture(b)
	f.until(0)
	f.stopLog()
	const brands = 500
	size := int64(0)
	var before int64
	for b.Loop() {
		b.StopTimer()
		if size == 0 {
			before = f.bytes()
		}
		for i := range brands {
			f.audit(fieldmark.Slug(fmt.Sprint("brand-", i)), int(size)+i+1)
		}
		size += brands
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		b.StartTimer()
		running.Go(func() { _ = f.PublicLog.Run(ctx) })
		f.until(size)
		b.StopTimer()
		cancel()
		running.Wait()
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(size), "µs/leaf")
	b.ReportMetric(float64(f.bytes()-before)/float64(size), "B/leaf")
}

// bytes returns what the tables of the log hold, without the pages around them.
func (f *fixture) bytes() (n int64) {
	f.t.Helper()
	db := f.database()
	defer db.Close()
	must(f.t, db.QueryRowContext(f.t.Context(), `SELECT CAST(
		COALESCE((SELECT SUM(LENGTH(body)) FROM public_log_tile), 0) +
		COALESCE((SELECT SUM(LENGTH(brand) + LENGTH(secret) + 32) FROM public_log_brand), 0) AS BIGINT)`).Scan(&n))
	return n
}
