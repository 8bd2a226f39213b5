package origin_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/store/storetest"
)

// BenchmarkOpenMission opens missions from 64 clients at once, beside single
// durable inserts of a row of the same size into the same engine: SQLite with
// synchronous=FULL, and a PostgreSQL that syncs every commit. Each ends with
// what one client had to wait.
func BenchmarkOpenMission(b *testing.B) {
	file := store.Config{Path: filepath.Join(b.TempDir(), "record.db")}
	b.Run("sqlite/service", func(b *testing.B) { benchService(b, file) })
	b.Run("sqlite/raw", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "raw.db")
		benchRaw(b, 1, "sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(5000)")
	})
	server := storetest.DurablePostgres(b)
	b.Run("postgres/service", func(b *testing.B) { benchService(b, server) })
	b.Run("postgres/raw", func(b *testing.B) { benchRaw(b, benchClients, "pgx", server.URL) })
}

// benchClients is how many callers wait at once.
const benchClients = 64

var missionNumber atomic.Int64 // one record serves all rounds of a benchmark

func benchService(b *testing.B, at store.Config) {
	w := openWorld(b, at)
	benchAtOnce(b, "missions/s", func() error {
		_, _, err := w.OpenMission(context.Background(), origin.DefaultAccount, request(fmt.Sprint(missionNumber.Add(1))))
		return err
	})
}

func benchRaw(b *testing.B, connections int, driver, address string) {
	db, err := sql.Open(driver, address)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	if _, err := db.Exec(`CREATE TABLE IF NOT EXISTS raw (id TEXT PRIMARY KEY, body TEXT NOT NULL)`); err != nil {
		b.Fatal(err)
	}
	insert, err := db.Prepare(`INSERT INTO raw (id, body) VALUES ($1, $2)`)
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	body := string(slices.Repeat([]byte("x"), 900))
	benchAtOnce(b, "rows/s", func() error {
		_, err := insert.Exec(fmt.Sprint(missionNumber.Add(1)), body)
		return err
	})
}

// benchAtOnce calls write b.N times from benchClients goroutines and reports
// the rate and the 99th percentile of the wait.
func benchAtOnce(b *testing.B, unit string, write func() error) {
	b.ReportAllocs()
	b.ResetTimer()
	waits := make([]time.Duration, b.N)
	var next atomic.Int64
	var all sync.WaitGroup
	for range benchClients {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				began := time.Now()
				if err := write(); err != nil {
					b.Error(err)
					return
				}
				waits[i] = time.Since(began)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(waits)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), unit)
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "p99-ms")
}
