package origin_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/fieldmark/fieldmark/origin"
)

// BenchmarkOpenMission opens missions from 64 clients at once, beside single
// durable inserts of a row of the same size into the same engine.
func BenchmarkOpenMission(b *testing.B) {
	const clients = 64
	b.Run("service", func(b *testing.B) {
		w := newWorld(b)
		var n atomic.Int64
		b.SetParallelism(clients)
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, _, err := w.OpenMission(context.Background(), origin.DefaultAccount, request(fmt.Sprint(n.Add(1)))); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "missions/s")
	})
	b.Run("raw", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "raw.db")
		db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(5000)")
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		if _, err := db.Exec(`CREATE TABLE raw (id TEXT PRIMARY KEY, body TEXT NOT NULL)`); err != nil {
			b.Fatal(err)
		}
		insert, err := db.Prepare(`INSERT INTO raw (id, body) VALUES ($1, $2)`)
		if err != nil {
			b.Fatal(err)
		}
		body := string(make([]byte, 900))
		var n atomic.Int64
		b.SetParallelism(clients)
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := insert.Exec(fmt.Sprint(n.Add(1)), body); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}
