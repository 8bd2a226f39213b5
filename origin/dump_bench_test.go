package origin_test

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
)

// dumpedBrands is the number of brands of BenchmarkDump.
var dumpedBrands = flag.Int("brands", 100_000, "brands of the dump that is measured")

// BenchmarkDump makes the dump of scored brands. It reports the bytes of both files, and how much the heap
// grew at most, sampled every 5 ms.
func BenchmarkDump(b *testing.B) {
	brands := *dumpedBrands
	record := storetest.New(b)
	d := openDumps(b, record, b.TempDir())
	d.brand("acme", "Acme", true, 50_000)
	numbers := fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		`, brands)
	storetest.Exec(b, record,
		`INSERT INTO brand (slug, name, url, niche, language, description, public, created_at, updated_at) `+numbers+
			`SELECT 'brand-' || i, 'Brand number ' || i, 'https://b.example/', 'niche-' || (i % 50), 'en', '',
				1, 1, 1 FROM n`,
		`INSERT INTO score_change (slug, event) `+numbers+`SELECT 'brand-' || i, 1 FROM n`,
		`DELETE FROM standing`,
		`INSERT INTO standing (brand, module, facts, body) `+numbers+`SELECT 'brand-' || i, '`+string(moduleRef.Digest)+
			`', '', '{"status":"scored","score":' || (i * 31 % 100) || '.' || (i % 7) || ',"grade":"B","geoReady":true,'
			|| '"asOf":"2026-11-23T01:02:03.' || (100 + i * 17 % 900) || 'Z","spread":{"low":' || (i * 13 % 90)
			|| ',"high":99},"confidence":"high","full":null}' FROM n`, `ANALYZE`)
	for b.Loop() {
		b.StopTimer()
		storetest.Exec(b, record, `DELETE FROM dump`, `DELETE FROM daily_job`)
		runtime.GC()
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		most := before.HeapInuse
		b.StartTimer()
		stop := d.start()
		for len(d.list()) == 0 {
			time.Sleep(5 * time.Millisecond)
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
		}
		b.StopTimer()
		stop()
		made := d.list()[0]
		if made.Brands != brands+1 {
			b.Fatalf("the dump has %d brands", made.Brands)
		}
		b.Logf("digest %s of %d brands", made.SHA256, made.Brands) // the same in every process, on both engines
		b.ReportMetric(float64(made.Bytes), "bytes")
		b.ReportMetric(float64(made.CSV.Bytes), "csv-bytes")
		b.ReportMetric(float64(most-before.HeapInuse)/(1<<20), "heap-MiB")
		b.StartTimer()
	}
}
