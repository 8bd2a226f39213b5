package store_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
)

func shared(t testing.TB) (store.Config, *store.Store) {
	t.Helper()
	cfg := storetest.New(t)
	s := open(t, cfg)
	return cfg, s
}

// The event numbers of several processes are assigned in the order of their commits.
func TestNumbersOfTwoWriters(t *testing.T) {
	cfg, a := shared(t)
	b := open(t, cfg)
	const each = 200
	var all sync.WaitGroup
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() { // events become visible in the order of their numbers
		for seen := int64(0); ; {
			events, err := b.Events(context.Background(), seen, 1000, 1<<20)
			if err != nil {
				t.Errorf("read: %v", err)
				return
			}
			for _, e := range events {
				if e.Number != seen+1 {
					t.Errorf("event %d follows %d", e.Number, seen)
				}
				seen = e.Number
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for i := range each {
		for name, s := range map[string]*store.Store{"a": a, "b": b} {
			all.Go(func() {
				err := s.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
					if err := appendEvent(ctx, tx, fmt.Sprint(name, i)); err != nil || i%5 > 0 {
						return err
					}
					return fmt.Errorf("undone")
				})
				if err != nil && err.Error() != "undone" {
					t.Errorf("write: %v", err)
				}
			})
		}
	}
	all.Wait()
	close(stop)
	reader.Wait()
	if head, err := a.Head(t.Context()); head != 2*each*4/5 || err != nil {
		t.Errorf("head = %d, %v; want %d", head, err, 2*each*4/5)
	}
	check(t, a)
}

// The server may close connections between two writes and during a write.
func TestConnectionsBreak(t *testing.T) {
	cfg, s := shared(t)
	db := raw(t, cfg)
	const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid ` +
		`<> pg_backend_pid()`
	write := func(id string) error {
		return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			if strings.HasPrefix(id, "during") {
				if _, err := db.ExecContext(ctx, kill); err != nil {
					t.Error(err)
				}
			}
			return appendEvent(ctx, tx, id)
		})
	}
	for i := range 3 {
		if err := write(fmt.Sprint("before", i)); err != nil {
			t.Errorf("write: %v", err)
		}
		if _, err := db.ExecContext(t.Context(), kill); err != nil {
			t.Fatal(err)
		}
		if err := write(fmt.Sprint("after", i)); err != nil {
			t.Errorf("write after the connection broke: %v", err)
		}
		if err := write(fmt.Sprint("during", i)); err == nil {
			t.Error("a write whose connection broke before the commit succeeded")
		}
	}
	head, err := s.Head(t.Context())
	// The server ends connections when it gets to it, also while a read uses one. Each such read
	// is answered as one to repeat, and takes one connection out of the pool.
	for n := 0; fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) && n < 100; n++ {
		head, err = s.Head(t.Context())
	}
	if head != 6 || err != nil {
		t.Errorf("head = %d, %v; want 6", head, err)
	}
	check(t, s)
}

// A write without the writer lock is detected before any part of a group is committed,
// although the statements and the commit are sent in one batch.
func TestHeadMoved(t *testing.T) {
	cfg, s := shared(t)
	db := raw(t, cfg)
	write := func(ctx context.Context, tx *store.Tx) error {
		if err := appendEvent(ctx, tx, rand.Text()); err != nil {
			return err
		}
		_, err := db.ExecContext(ctx, `UPDATE log SET number = number + 1`)
		return err
	}
	if err := s.Write(t.Context(), write); err == nil {
		t.Error("a write was kept although the log grew beside it")
	}
	if err := s.WriteWithPrefetch(t.Context(), store.Prefetch{}, write); err == nil {
		t.Error("a foreseen write was kept although the log grew beside it")
	}
	events, err := s.Events(t.Context(), 0, 10, 1<<20)
	if err != nil || len(events) != 0 {
		t.Errorf("%d events, %v; want none", len(events), err)
	}
}

func TestServerAway(t *testing.T) {
	cfg := store.Config{URL: "postgres://user:hidden@127.0.0.1:1/none"}
	_, err := store.Open(t.Context(), cfg)
	if !fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) || strings.Contains(err.Error(), "hidden") {
		t.Errorf("open %s: %v; want %s, without the password", cfg.URL, err, fieldmark.CodeOriginUnavailable)
	}
	cfg.URL = "postgres://user:hidden@host:port/x"
	if _, err := store.Open(t.Context(), cfg); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("open %s: %v; want a complaint without the password", cfg.URL, err)
	}
}

// While the database is unreachable, calls return an error that says so. The store
// reconnects when the database is reachable again.
func TestDatabaseAwayForAWhile(t *testing.T) {
	cfg, s := shared(t)
	u, err := url.Parse(cfg.URL)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	server := raw(t, store.Config{URL: u.String()})
	allow := func(yes bool) {
		for _, command := range []string{fmt.Sprintf(`ALTER DATABASE %s ALLOW_CONNECTIONS %v`, name, yes),
			`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '` + name + `'`} {
			if _, err := server.ExecContext(t.Context(), command); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func() error {
		return s.Write(t.Context(), func(ctx context.Context,
			tx *store.Tx) error {
			return appendEvent(ctx, tx, rand.Text())
		})
	}
	allow(false)
	for range 3 {
		if err := write(); !fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) {
			t.Errorf("write: %v, want %s", err, fieldmark.CodeOriginUnavailable)
		}
		if _, err := s.Head(t.Context()); !fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) {
			t.Errorf("read: %v, want %s", err, fieldmark.CodeOriginUnavailable)
		}
	}
	allow(true)
	if err := write(); err != nil {
		t.Errorf("write afterwards: %v", err)
	}
	if head, err := s.Head(t.Context()); head != 1 || err != nil {
		t.Errorf("head afterwards = %d, %v; want 1", head, err)
	}
}

// A lookup by a text that PostgreSQL cannot store finds nothing, as in SQLite.
func TestUnstorableNames(t *testing.T) {
	s := scratch(t)
	for _, name := range []string{"a\x00b", "a\xffb"} {
		if _, err := s.Brand(t.Context(), fieldmark.Slug(name)); err == nil ||
			!strings.Contains(err.Error(), store.ErrNotFound.Error()) {
			t.Errorf("brand %q: %v, want %v", name, err, store.ErrNotFound)
		}
	}
}

// A connection string for failover lists several hosts. Readers and writers use the
// host that accepts writes.
func TestSeveralHosts(t *testing.T) {
	at := storetest.New(t)
	u, err := url.Parse(at.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, attrs := range []string{"read-write", "primary"} {
		q := u.Query()
		q.Set("host", t.TempDir()+","+u.Query().Get("host")) // nothing listens at the first
		q.Set("target_session_attrs", attrs)
		two := *u
		two.RawQuery = q.Encode()
		s := open(t, store.Config{URL: two.String()})
		if err := s.Write(t.Context(), func(ctx context.Context,
			tx *store.Tx) error {
			return appendEvent(ctx, tx, attrs)
		}); err != nil {
			t.Errorf("%s: write: %v", attrs, err)
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("%s: read: %v", attrs, err)
		}
	}
}
