package store_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/store/partition"
)

// fillPartitions adds events with the numbers from one on up to another, a delivery of each and its attempt,
// as of a time.
func fillPartitions(t testing.TB, cfg store.Config, from, to int, at time.Time) {
	t.Helper()
	micros := at.UnixMicro()
	storetest.Exec(t, cfg,
		`INSERT INTO account (id, created_at) VALUES ('a', 1) ON CONFLICT DO NOTHING`,
		`INSERT INTO endpoint (id, account, url, events, description, secret, created_at)
			VALUES ('ep', 'a', '', '[]', '', '', 1) ON CONFLICT DO NOTHING`,
		fmt.Sprintf(`INSERT INTO event (number, id, type, at, subject, brand, tags, data, account)
			SELECT i, 'evt_' || i, 'mission.created', %d, '', '', '[]', '{}', 'a'
			FROM generate_series(%d::bigint, %d) i`, micros, from, to),
		fmt.Sprintf(`INSERT INTO delivery (id, endpoint, event, state, attempts, due_at, last_status, last_error,
				created_at, updated_at)
			SELECT '%s' || lpad(number::text, 16, '0'), 'ep', number, 'done', 1, at, 204, '', at, at FROM event
			WHERE number >= %d`, fieldmark.FirstID(fieldmark.PrefixDelivery, at)[:14], from),
		fmt.Sprintf(`INSERT INTO attempt (delivery, number, at, millis, status, error, body, event)
			SELECT id, 1, created_at, 1, 204, '', '', event FROM delivery WHERE event >= %d`, from),
		fmt.Sprintf(`UPDATE log SET number = %d`, to))
}

func quiet(string) {}

// TestPartition divides the tables of a database in use, writes into the next partitions, and drops the oldest.
func TestPartition(t *testing.T) {
	cfg := storetest.OwnPostgres(t) // tests share databases, with tables that are not divided
	s := open(t, cfg)
	db := raw(t, cfg)
	old := time.Now().Add(-100 * 24 * time.Hour)
	fillPartitions(t, cfg, 1, 1500, old)
	if _, err := store.Partition(t.Context(), cfg, 10, quiet); !errors.Is(err, partition.ErrStep) {
		t.Errorf("a step of 10: %v; want %v", err, partition.ErrStep)
	}

	// An attempt of an older program: first it may still run, then its row is completed.
	storetest.Exec(t, cfg, fmt.Sprintf(`UPDATE attempt SET event = NULL, at = %d WHERE event = 7`,
		time.Now().UnixMicro()))
	if _, err := store.Partition(t.Context(), cfg, 1000, quiet); !errors.Is(err, partition.ErrOlder) {
		t.Errorf("beside an older program: %v; want %v", err, partition.ErrOlder)
	}
	storetest.Exec(t, cfg, `UPDATE attempt SET at = 1 WHERE event IS NULL`)

	before := lines(t, db, `SELECT indexname FROM pg_indexes WHERE schemaname = 'public'
		AND tablename IN ('event', 'delivery', 'attempt') AND indexdef NOT LIKE '% UNIQUE %' ORDER BY 1`)
	status, err := store.Partition(t.Context(), cfg, 1000, quiet)
	if err != nil || fmt.Sprint(status.Ranges) != "[{0 3000} {3000 4000} {4000 5000} {5000 6000}]" ||
		status.Ahead != 3 {
		t.Fatalf("Partition = %+v, %v", status, err)
	}
	after := lines(t, db, `SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indrelid IN ('event'::regclass, 'delivery'::regclass, 'attempt'::regclass)
		AND NOT i.indisunique ORDER BY c.relname`)
	if before != after {
		t.Errorf("indexes of the divided tables:\n%s\nbefore:\n%s", after, before)
	}
	if again, err := store.Partition(t.Context(), cfg, 1000, quiet); err != nil || len(again.Ranges) != 4 {
		t.Errorf("once more: %+v, %v", again, err)
	}
	check(t, s)

	// A store that was open goes on. Each partition keeps ids unique.
	if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return appendEvent(ctx, tx, "evt_new")
	}); err != nil {
		t.Fatalf("append an event: %v", err)
	}
	if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return appendEvent(ctx, tx, "evt_new")
	}); err == nil {
		t.Error("an id was stored twice")
	}
	fillPartitions(t, cfg, 1502, 4200, time.Now())
	for number, leaf := range map[int]string{1501: "event_from_0", 3000: "event_from_3000", 4200: "event_from_4000"} {
		got := lines(t, db, fmt.Sprintf(`SELECT tableoid::regclass::text FROM event WHERE number = %d`, number))
		if got != leaf {
			t.Errorf("event %d is in %s, want %s", number, got, leaf)
		}
	}
	if n := lines(t, db, `SELECT COUNT(*)::text FROM attempt_from_3000`); n != "1000" {
		t.Errorf("%s attempts from event 3000, want 1000", n)
	}

	// Nothing is dropped before all of a partition is old.
	month := time.Now().Add(-30 * 24 * time.Hour)
	status, err = s.MaintainPartitions(t.Context(), month, month)
	if err != nil || status.Emptied || status.Ranges[0].To != 3000 || status.Ahead != 3 || len(status.Ranges) != 6 {
		t.Errorf("Maintain = %+v, %v; want another partition, and none dropped", status, err)
	}
	if ahead, divided := s.PartitionsAhead(); ahead != 3 || !divided {
		t.Errorf("PartitionsAhead = %d, %t", ahead, divided)
	}
	check(t, s)

	// Deliveries are dropped before events, except those that wait or are sent.
	later := time.Now().Add(time.Minute)
	storetest.Exec(t, cfg, fmt.Sprintf(`UPDATE delivery SET state = 'due', updated_at = %d WHERE event = 3500`,
		later.Add(time.Second).UnixMicro()))
	status, err = s.MaintainPartitions(t.Context(), month, later)
	if err != nil || !status.Emptied || status.Ranges[0].From != 0 {
		t.Errorf("Maintain = %+v, %v; want deliveries dropped, and no events", status, err)
	}
	for table, want := range map[string]string{"delivery_from_0": "0", "attempt_from_0": "0",
		"delivery_from_3000": "1000", "event_from_0": "2999"} {
		if n := lines(t, db, `SELECT COUNT(*)::text FROM `+table); n != want {
			t.Errorf("%s has %s rows, want %s", table, n, want)
		}
	}
	storetest.Exec(t, cfg, `UPDATE delivery SET state = 'done' WHERE event = 3500`)

	// A reader that does not end is waited for shortly, and nothing is lost.
	reader, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.ExecContext(t.Context(), `SELECT MIN(number) FROM event`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.MaintainPartitions(t.Context(), later, later); err == nil || !strings.Contains(err.Error(), "lock") {
		t.Errorf("beside a reader: %v; want that a lock was not granted", err)
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	status, err = s.MaintainPartitions(t.Context(), later, later)
	if err != nil || fmt.Sprint(status.Ranges) != "[{4000 5000} {5000 6000} {6000 7000} {7000 8000}]" {
		t.Errorf("Maintain = %+v, %v; want two partitions dropped", status, err)
	}
	check(t, s)
}

// TestPartitionInterrupted: what a killed run leaves is reported by the check and removed by the next run, and
// the check reports that no partition is ahead.
func TestPartitionInterrupted(t *testing.T) {
	cfg := storetest.OwnPostgres(t) // tests share databases, with tables that are not divided
	s := open(t, cfg)
	broken := func() (names []string) {
		t.Helper()
		findings, err := s.Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			if strings.Contains(f.Rule, "partition") {
				names = append(names, f.Broken...)
			}
		}
		return names
	}
	storetest.Exec(t, cfg, `ALTER TABLE delivery ADD CONSTRAINT partition_bound CHECK (event < 5000) NOT VALID`)
	if got := broken(); fmt.Sprint(got) != "[partition_bound]" {
		t.Errorf("after a run that was killed, the check names %q", got)
	}
	if _, err := store.Partition(t.Context(), cfg, 1000, quiet); err != nil || len(broken()) > 0 {
		t.Errorf("Partition: %v, and %q broken", err, broken())
	}
	storetest.Exec(t, cfg, `UPDATE log SET number = 4100`)
	if got := broken(); fmt.Sprint(got) != "[event 4100]" {
		t.Errorf("in the last partition, the check names %q", got)
	}
	storetest.Exec(t, cfg, `UPDATE log SET number = 0`)
}

// oldEvents is the number of events of BenchmarkForget.
var oldEvents = flag.Int("events", 20_000, "events that are forgotten")

// BenchmarkForget drops a partition of events, deliveries and attempts that are all old.
func BenchmarkForget(b *testing.B) {
	cfg := storetest.DurablePostgres(b)
	s := open(b, cfg)
	step := int64(*oldEvents)
	if _, err := store.Partition(b.Context(), cfg, step, quiet); err != nil {
		b.Fatal(err)
	}
	maintain := func() partition.Status { // adds partitions
		all, err := s.MaintainPartitions(b.Context(), time.Time{}, time.Time{})
		if err != nil {
			b.Fatal(err)
		}
		return all
	}
	for b.Loop() {
		b.StopTimer()
		first := maintain().Ranges[0]
		fillPartitions(b, cfg, int(first.From)+1, int(first.To), time.Now().Add(-100*24*time.Hour))
		maintain()
		b.StartTimer()
		now := time.Now()
		left, err := s.MaintainPartitions(b.Context(), now, now)
		if err != nil || left.Ranges[0] == first {
			b.Fatalf("%+v, %v; want the partition dropped", left, err)
		}
	}
}
