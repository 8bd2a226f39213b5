package api_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/api"
	"github.com/fieldmark/fieldmark/origin/store"
)

// BenchmarkOpenMission opens missions through the whole handler from 64 concurrent
// clients: authentication, strict decoding, validation, mission, timers, event and
// response. For each engine it first inserts plain rows of the same size, one durable
// commit per row, and reports the handler's result as a ratio of that baseline: SQLite
// runs with synchronous=FULL, PostgreSQL syncs every commit. p99-ms is the 99th
// percentile of the latency in milliseconds.
func BenchmarkOpenMission(b *testing.B) {
	raw := map[string]float64{}
	file := store.Config{Path: filepath.Join(b.TempDir(), "record.db")}
	b.Run("sqlite/raw", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "raw.db")
		raw["sqlite"] = benchRaw(b, 1, "sqlite",
			"file:"+path+"?_txlock=immediate&_pragma=journal_mode(wal)"+
				"&_pragma=synchronous(full)&_pragma=busy_timeout(5000)")
	})
	b.Run("sqlite/handler", func(b *testing.B) { benchHandler(b, file, raw["sqlite"], false) })
	b.Run("sqlite/labels", func(b *testing.B) { benchHandler(b, file, raw["sqlite"], false, "team") })
	b.Run("sqlite/keyed", func(b *testing.B) { benchHandler(b, file, raw["sqlite"], true) })
	server := storetest.DurablePostgres(b)
	b.Run("postgres/raw", func(b *testing.B) { raw["postgres"] = benchRaw(b, benchClients, "pgx", server.URL) })
	b.Run("postgres/handler", func(b *testing.B) { benchHandler(b, server, raw["postgres"], false) })
	b.Run("postgres/labels", func(b *testing.B) { benchHandler(b, server, raw["postgres"], false, "team") })
	b.Run("postgres/keyed", func(b *testing.B) { benchHandler(b, server, raw["postgres"], true) })
	divided := storetest.DurablePostgres(b)
	b.Run("postgres/divided", func(b *testing.B) { // the event log has partitions
		s, err := store.Open(b.Context(), divided)
		if err == nil {
			err = s.Close()
		}
		if err == nil {
			_, err = store.Partition(b.Context(), divided, 20_000_000, func(string) {})
		}
		if err != nil {
			b.Fatal(err)
		}
		benchHandler(b, divided, raw["postgres"], false)
	})
}

// BenchmarkRequestCheck requests checks of different sites from different networks until the
// 202: the goal of p99-ms is 50.
func BenchmarkRequestCheck(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { benchCheck(b, store.Config{Path: filepath.Join(b.TempDir(), "record.db")}) })
	b.Run("postgres", func(b *testing.B) { benchCheck(b, storetest.DurablePostgres(b)) })
}

// checkClients is the number of concurrent clients that request checks: the queue would be
// full within seconds at the rate of more.
const checkClients = 4

func benchCheck(b *testing.B, at store.Config) {
	fx := openFixture(b, at, func(cfg *api.Config) { cfg.Log = nil })
	benchAtOnce(b, checkClients, "checks/s", func() error {
		n := missionNumber.Add(1)
		if n%500 == 0 { // before the queue is full; workers claim checks as well
			if err := fx.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ClaimSiteChecks(ctx, "bench", time.Now(), time.Now().Add(time.Hour), 1000)
				return err
			}); err != nil {
				return err
			}
		}
		rec := fx.send(request{method: "POST", path: fieldmark.PathChecks,
			body: fmt.Sprintf(`{"url":"https://site-%d.example/"}`, n),
			header: map[string]string{fieldmark.HeaderNode: nodeToken,
				fieldmark.HeaderClient: fmt.Sprintf("%d.%d.%d.1", 11+n>>16, n>>8&255, n&255)}})
		if rec.Code != http.StatusAccepted {
			return fmt.Errorf("%d %s", rec.Code, rec.Body)
		}
		return nil
	})
}

// benchClients is the number of concurrent clients.
const benchClients = 64

var missionNumber atomic.Int64 // all rounds of a benchmark use one database

// benchHandler creates missions; keyed sends each with its own Idempotency-Key. Lists filter by labels: one that
// the missions have costs at most 5 % of the rate.
func benchHandler(b *testing.B, at store.Config, raw float64, keyed bool, labels ...string) {
	fx := openFixture(b, at, func(cfg *api.Config) { cfg.Log = nil })
	if _, _, err := fx.service.Access.Accounts.Put(b.Context(), access.DefaultAccount, fieldmark.AccountRequest{
		Name: "Default", FilterLabels: append([]string{}, labels...)}); err != nil {
		b.Fatal(err)
	}
	rate := benchAtOnce(b, benchClients, "missions/s", func() error {
		n := missionNumber.Add(1)
		a := request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
			body: fmt.Sprintf(`{"externalId":"%d",
			"source":"crm","title":"Replace the fan of the unit on the roof",
			"priority":"HIGH","description":%q,"location":{"name":"Site 4","address":{"city":"Vienna","country":"AT"}},
			"labels":{"team":"field"},"metadata":{"sys_id":"9d3"}}`, n, benchText)}
		if keyed {
			a = a.keyed(fmt.Sprint("key-", n))
		}
		if rec := fx.send(a); rec.Code != http.StatusCreated {
			return fmt.Errorf("%d %s", rec.Code, rec.Body)
		}
		return nil
	})
	if raw > 0 {
		b.ReportMetric(rate/raw, "of-raw")
	}
}

var benchText = strings.Repeat("What was seen, and what is to be done. ", 12)

func benchRaw(b *testing.B, connections int, driver, address string) float64 {
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
	return benchAtOnce(b, benchClients, "rows/s", func() error {
		_, err := insert.Exec(fmt.Sprint(missionNumber.Add(1)), body)
		return err
	})
}

// benchAtOnce calls write b.N times from so many goroutines, reports the rate and the
// 99th percentile of the latency, and returns the rate.
func benchAtOnce(b *testing.B, clients int, unit string, write func() error) float64 {
	b.ReportAllocs()
	b.ResetTimer()
	waits := make([]time.Duration, b.N)
	var next atomic.Int64
	var all sync.WaitGroup
	for range clients {
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
	rate := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, unit)
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "p99-ms")
	return rate
}
