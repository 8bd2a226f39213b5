package origin_test

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
)

// benchClients is the number of concurrent callers.
const benchClients = 64

var missionNumber atomic.Int64 // all rounds of a benchmark use one database

// wireSink responds to every message with 204 and does as little else as possible,
// because it shares two processors with what is measured. It reports the path and
// the body of each message.
type wireSink struct {
	net.Listener
	got  atomic.Int64
	each func(path string, body []byte)
}

func newWireSink(t testing.TB, each func(path string, body []byte)) *wireSink {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &wireSink{Listener: ln, each: each}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *wireSink) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 16<<10)
	body := make([]byte, 0, 4<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		_, rest, _ := bytes.Cut(line, []byte(" "))
		target, _, _ := bytes.Cut(rest, []byte(" "))
		path, length := string(target), 0
		for len(line) > 2 {
			if line, err = in.ReadSlice('\n'); err != nil {
				return
			}
			if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
			}
		}
		body = slices.Grow(body[:0], length)[:length]
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		s.got.Add(1)
		if s.each != nil {
			s.each(path, body)
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n"); err != nil {
			return
		}
	}
}

func (s *wireSink) url(i int) string { return fmt.Sprintf("http://%s/%d", s.Addr(), i) }

// BenchmarkDeliver delivers the webhooks that are due to twenty endpoints and
// records each attempt. For comparison, it runs only the claims and updates that
// this takes.
func BenchmarkDeliver(b *testing.B) {
	b.Run("sqlite/drain",
		func(b *testing.B) { benchDrain(b, store.Config{Path: filepath.Join(b.TempDir(), "record.db")}) })
	b.Run("sqlite/raw", func(b *testing.B) {
		benchClaims(b, "sqlite", "file:"+filepath.Join(b.TempDir(), "raw.db")+
			"?_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(5000)")
	})
	b.Run("sqlite/latency",
		func(b *testing.B) { benchLatency(b, store.Config{Path: filepath.Join(b.TempDir(), "record.db")}) })
	b.Run("postgres/drain", func(b *testing.B) { benchDrain(b, storetest.DurablePostgres(b)) })
	b.Run("postgres/raw", func(b *testing.B) { benchClaims(b, "pgx", storetest.DurablePostgres(b).URL) })
	b.Run("postgres/latency", func(b *testing.B) { benchLatency(b, storetest.DurablePostgres(b)) })
}

const benchEndpoints = 20

func benchDrain(b *testing.B, at store.Config) {
	w := openFixture(b, at)
	sink := newWireSink(b, nil)
	for i := range benchEndpoints {
		createEndpoint(b, w, sink.url(i), "mission.created")
	}
	missions := (b.N + benchEndpoints - 1) / benchEndpoints
	openAtOnce(b, w, missions)
	b.ResetTimer()
	stop := w.run(b)
	for sink.got.Load() < int64(missions*benchEndpoints) {
		time.Sleep(time.Millisecond)
	}
	stop() // everything is recorded when it returns
	b.StopTimer()
	b.ReportMetric(float64(missions*benchEndpoints)/b.Elapsed().Seconds(), "deliveries/s")
}

// openAtOnce creates missions from many callers.
func openAtOnce(b testing.TB, w *fixture, n int) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range benchClients {
		all.Go(func() {
			for next.Add(1) <= int64(n) {
				openMission(b, w, fmt.Sprint(missionNumber.Add(1)))
			}
		})
	}
	all.Wait()
}

// benchClaims does the least that every delivery costs the database: a claim, a row
// in the log of attempts and a new state, 256 per transaction.
func benchClaims(b *testing.B, driver, address string) {
	db, err := sql.Open(driver, address)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	for _, text := range []string{`DROP TABLE IF EXISTS raw_delivery`, `DROP TABLE IF EXISTS raw_attempt`,
		`CREATE TABLE raw_delivery (id TEXT PRIMARY KEY, state TEXT NOT NULL, owner TEXT)`,
		`CREATE TABLE raw_attempt (delivery TEXT, number BIGINT, at BIGINT, body TEXT, PRIMARY KEY (delivery, number))`,
		`CREATE INDEX raw_ready ON raw_delivery (id) WHERE state = 'due' AND owner IS NULL`} {
		_, err := db.Exec(text)
		must(err)
	}
	inTx := func(from, to int, do func(tx *sql.Tx, id string) error) {
		tx, err := db.Begin()
		must(err)
		for i := from; i < to; i++ {
			must(do(tx, fmt.Sprintf("dlv_%026d", i)))
		}
		must(tx.Commit())
	}
	inTx(0, b.N, func(tx *sql.Tx, id string) error {
		_, err := tx.Exec(`INSERT INTO raw_delivery (id, state) VALUES ($1, 'due')`, id)
		return err
	})
	b.ResetTimer()
	for from := 0; from < b.N; from += 256 {
		to := min(from+256, b.N)
		inTx(from, to, func(tx *sql.Tx, id string) error {
			_, err := tx.Exec(`UPDATE raw_delivery SET owner = 'me' WHERE id = $1 AND owner IS NULL`, id)
			return err
		})
		inTx(from, to, func(tx *sql.Tx, id string) error {
			if _, err := tx.Exec(`INSERT INTO raw_attempt (delivery, number, at, body) VALUES ($1, 1, 1, '')`,
				id); err != nil {
				return err
			}
			_, err := tx.Exec(`UPDATE raw_delivery SET state = 'done', owner = NULL WHERE id = $1`, id)
			return err
		})
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// benchLatency creates fifty missions a second, each delivered to one endpoint, and
// reports the time from before the request until the receiver has the message.
func benchLatency(b *testing.B, at store.Config) {
	w := openFixture(b, at)
	waits := &latencies{}
	sink := newWireSink(b, waits.arrive)
	createEndpoint(b, w, sink.url(0), "mission.created")
	stop := w.run(b)
	defer stop()
	b.ResetTimer()
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for range b.N {
		<-every.C
		waits.open(b, w)
	}
	for sink.got.Load() < int64(b.N) {
		time.Sleep(time.Millisecond)
	}
	b.ReportMetric(waits.percentile(50), "p50-ms")
	b.ReportMetric(waits.percentile(99), "p99-ms")
}

// latencies holds how long messages took: of missions, by the number in their name.
type latencies struct {
	mu    sync.Mutex
	began map[string]time.Time
	took  []time.Duration
}

func (l *latencies) open(b testing.TB, w *fixture) {
	n := fmt.Sprint(missionNumber.Add(1))
	l.begin(n)
	openMission(b, w, n)
}

func (l *latencies) arrive(_ string, body []byte) {
	_, rest, _ := bytes.Cut(body, []byte(`"externalId":"`))
	n, _, _ := bytes.Cut(rest, []byte(`"`))
	l.end(string(n))
}

func (l *latencies) begin(message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began == nil {
		l.began = map[string]time.Time{}
	}
	l.began[message] = time.Now()
}

func (l *latencies) end(message string) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if began, ok := l.began[message]; ok {
		l.took = append(l.took, now.Sub(began))
	}
}

func (l *latencies) percentile(p int) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.took) == 0 {
		return 0
	}
	slices.Sort(l.took)
	return float64(l.took[len(l.took)*p/100].Microseconds()) / 1000
}
