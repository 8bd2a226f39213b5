package store_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
)

func TestMain(m *testing.M) {
	os.Exit(storetest.Main(m,
		storetest.Alone{Engine: storetest.SQLite,
			Tests: "TestRestoreReplaces|TestDiskFull|TestDamageIsReportedByRule|TestFlippedBitIsFound"},
		// These tests need processes that share a database, or both engines.
		storetest.Alone{Engine: storetest.Postgres,
			Tests: "TestSeveralHosts|TestNumbersOfTwoWriters|TestConnectionsBreak|TestDatabaseAwayForAWhile|" +
				"TestHeadMoved|TestEnginesHaveOneSchema|" +
				"TestLogNamesTheTimeline|TestReadAt|TestReadAtIsRepeated|TestPooler|" +
				"TestPartition|TestPartitionInterrupted"},
	))
}

func open(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open %+v: %v", cfg, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func scratch(t testing.TB) *store.Store {
	t.Helper()
	return open(t, storetest.New(t))
}

func appendEvent(ctx context.Context, tx *store.Tx, id string) error {
	return tx.AppendEvent(ctx, &store.Event{Subject: "subject", Event: fieldmark.Event{
		ID: id, Type: fieldmark.EventBrandChanged, Time: fieldmark.At(time.Now()), Data: []byte(`{}`),
	}})
}

func check(t testing.TB, s *store.Store) {
	t.Helper()
	if err := s.Check(context.Background()); err != nil {
		t.Errorf("check: %v", err)
	}
}

func TestOpenAgainKeepsTheLog(t *testing.T) {
	cfg := storetest.New(t)
	first := open(t, cfg)
	if err := first.Write(t.Context(), func(ctx context.Context,
		tx *store.Tx) error {
		return appendEvent(ctx, tx, "one")
	}); err != nil {
		t.Fatal(err)
	}
	second := open(t, cfg)
	if first.Log() == "" || first.Log() != second.Log() {
		t.Errorf("names of the log: first %q, second %q; want the same", first.Log(), second.Log())
	}
	if head, err := second.Head(t.Context()); head != 1 || err != nil {
		t.Errorf("head = %d, %v; want 1", head, err)
	}
	if other := scratch(t); other.Log() == first.Log() {
		t.Errorf("two records have the log %q", first.Log())
	}
	check(t, second)
}

func TestWriteUndoesOneMember(t *testing.T) {
	s := scratch(t)
	wrong := errors.New("wrong")
	release := make(chan struct{})
	var began sync.WaitGroup
	began.Add(1)
	var all sync.WaitGroup
	all.Go(func() { // becomes the leader, and blocks the group until the others have queued
		_ = s.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
			began.Done()
			<-release
			return appendEvent(ctx, tx, "leader")
		})
	})
	began.Wait()
	var good, bad, clashed, crashed atomic.Int64
	const each = 50
	for i := range each {
		all.Go(func() {
			if err := s.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
				return appendEvent(ctx, tx, fmt.Sprint("good", i))
			}); err == nil {
				good.Add(1)
			}
		})
		all.Go(func() {
			err := s.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
				if err := appendEvent(ctx, tx, fmt.Sprint("bad", i)); err != nil {
					return err
				}
				return wrong
			})
			if errors.Is(err, wrong) {
				bad.Add(1)
			}
		})
		all.Go(func() { // the engine rejects the second statement
			err := s.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
				if err := appendEvent(ctx, tx, fmt.Sprint("clash", i)); err != nil {
					return err
				}
				return appendEvent(ctx, tx, fmt.Sprint("clash", i))
			})
			if err != nil && strings.Contains(strings.ToLower(err.Error()), "unique") {
				clashed.Add(1)
			}
		})
		all.Go(func() {
			defer func() {
				if v := recover(); v != nil && strings.Contains(fmt.Sprint(v), "oops") {
					crashed.Add(1)
				}
			}()
			_ = s.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
				if err := appendEvent(ctx, tx, fmt.Sprint("crash", i)); err != nil {
					return err
				}
				panic("oops")
			})
		})
	}
	close(release)
	all.Wait()
	if good.Load() != each || bad.Load() != each || clashed.Load() != each || crashed.Load() != each {
		t.Errorf("good %d, bad %d, clashed %d, crashed %d; want %d each", good.Load(), bad.Load(), clashed.Load(),
			crashed.Load(), each)
	}
	if head, err := s.Head(t.Context()); head != each+1 || err != nil {
		t.Errorf("head = %d, %v; want %d", head, err, each+1)
	}
	check(t, s)
}

func TestCanceledWriteReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), storetest.New(t))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		release := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			_ = s.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
				<-release
				return nil
			})
		})
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ran := false
		all.Go(func() {
			err := s.Write(impatient, func(context.Context, *store.Tx) error { ran = true; return nil })
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the impatient got %v, want %v", err, context.DeadlineExceeded)
			}
		})
		all.Go(func() {
			if err := s.Write(t.Context(), func(ctx context.Context,
				tx *store.Tx) error {
				return appendEvent(ctx, tx, "patient")
			}); err != nil {
				t.Errorf("the patient got %v", err)
			}
		})
		time.Sleep(2 * time.Second) // virtual
		close(release)
		all.Wait()
		if ran {
			t.Error("the write of one who left was made")
		}
		if head, _ := s.Head(t.Context()); head != 1 {
			t.Errorf("head = %d, want 1", head)
		}
	})
}

// TestCloseDuringWrites closes a database while a write runs and another waits, as a server does whose requests
// take longer than it drains.
func TestCloseDuringWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storetest.New(t)
		s, err := store.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		if _, err := s.Head(t.Context()); err != nil { // prepares the statement for the writes
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for _, id := range []string{"first", "second"} {
			all.Go(func() {
				if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
					<-release
					if _, err := s.Head(ctx); err != nil {
						return fmt.Errorf("read: %w", err)
					}
					return appendEvent(ctx, tx, id)
				}); err != nil {
					t.Errorf("the %s write: %v", id, err)
				}
			})
		}
		synctest.Wait()
		all.Go(func() {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		synctest.Wait()
		close(release)
		all.Wait()
		err = s.Write(t.Context(), func(context.Context, *store.Tx) error { return nil })
		if !fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) {
			t.Errorf("a write after the close: %v, want %s", err, fieldmark.CodeOriginUnavailable)
		}
		if s, err = store.Open(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if head, err := s.Head(t.Context()); head != 2 || err != nil {
			t.Errorf("head = %d, %v; want 2", head, err)
		}
	})
}

// When a leader is canceled, a waiting writer becomes the leader.
func TestWriteUnderCancellation(t *testing.T) {
	s := scratch(t)
	var all sync.WaitGroup
	var done atomic.Int64
	for i := range 16 {
		all.Go(func() {
			for j := range 100 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(j%7)*50*time.Microsecond)
				err := s.Write(ctx, func(ctx context.Context,
					tx *store.Tx) error {
					return appendEvent(ctx, tx, fmt.Sprint(i, "-", j))
				})
				cancel()
				if err == nil {
					done.Add(1)
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("write: %v", err)
				}
			}
		})
	}
	all.Wait()
	if head, err := s.Head(t.Context()); head != done.Load() || err != nil {
		t.Errorf("head = %d, %v; want the %d that were acknowledged", head, err, done.Load())
	}
	check(t, s)
}

func TestWatchWakesAfterCommit(t *testing.T) {
	s := scratch(t)
	events, audits := s.Watch(store.TopicEvents), s.Watch(store.TopicAudits)
	undone := errors.New("undone")
	if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		if err := appendEvent(ctx, tx, "no"); err != nil {
			return err
		}
		return undone
	}); !errors.Is(err, undone) {
		t.Fatalf("write = %v, want %v", err, undone)
	}
	select {
	case <-events:
		t.Error("an undone write woke readers")
	default:
	}
	if err := s.Write(t.Context(), func(ctx context.Context,
		tx *store.Tx) error {
		return appendEvent(ctx, tx, "yes")
	}); err != nil {
		t.Fatal(err)
	}
	<-events
	select {
	case <-audits:
		t.Error("an event woke those who wait for audits")
	default:
	}
}

func TestCheckFindsDamage(t *testing.T) {
	s := scratch(t)
	err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		at := fieldmark.At(time.Now())
		if err := tx.PutAccount(ctx, "a", at); err != nil {
			return err
		}
		if err := tx.PutBrand(ctx, fieldmark.Brand{Slug: "acme", CreatedAt: at, UpdatedAt: at}); err != nil {
			return err
		}
		if err := tx.PutFacts(ctx, "acme", "sha256:00", []byte("{}"), []byte("{}"), at); err != nil {
			return err
		}
		_, err := tx.AddMission(ctx, &store.Mission{Account: "a",
			Mission: fieldmark.Mission{ID: "m", Version: 1, CreatedAt: at, UpdatedAt: at}})
		if err != nil {
			return err
		}
		values := map[fieldmark.Slug]int64{"acme": 1, "gone": 2}
		if err := tx.PutProxyVariable(ctx, "links", values); err != nil {
			return err
		}
		r := &fieldmark.StudyResult{StudyRef: fieldmark.StudyRef{ID: "ropes", Digest: "sha256:01"}}
		parts := map[fieldmark.Slug]fieldmark.StudyResult{"acme": *r, "gone": *r}
		return tx.PutStudyResult(ctx, r, []byte("{}"), parts, at)
	})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Check(t.Context())
	for _, want := range []string{"every mission was created by an event: not m", "sha256:00",
		"one event per version: not m", "values of brands: not links gone", "active result: not ropes gone"} {
		if got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("check = %v; want it to say %q", got, want)
		}
	}
	if got != nil && strings.Contains(got.Error(), " acme") {
		t.Errorf("check = %v; values and parts of acme are sound", got)
	}
}

// TestStampIsRecorded: two transactions never get the same stamp, whether or not
// they append an event. Time does not pass inside the bubble.
func TestStampIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scratch(t)
		var last int64
		for i := range 3 {
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				stamp, err := tx.Stamp(ctx, "")
				if stamp <= last {
					t.Errorf("stamp %d is %d, not later than %d", i, stamp, last)
				}
				last = stamp
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A full disk causes a temporary error for every write in the group. No acknowledged write
// is lost, and writes succeed again when space is available.
func TestDiskFull(t *testing.T) {
	var told atomic.Int64
	cfg := storetest.New(t)
	cfg.Hooks.Refused = func() { told.Add(1) }
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Bound(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	var written, refused atomic.Int64
	storm := func() {
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for range 50 {
					err := s.Write(t.Context(), func(ctx context.Context,
						tx *store.Tx) error {
						return appendEvent(ctx, tx, rand.Text())
					})
					switch {
					case err == nil:
						written.Add(1)
					case fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) &&
						fieldmark.AsError(err).RetryAfter > 0:
						refused.Add(1)
					default:
						t.Errorf("write: %v, want %s and when to come back", err, fieldmark.CodeOriginUnavailable)
					}
				}
			})
		}
		all.Wait()
	}
	storm()
	if written.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d written, %d refused; want some of both", written.Load(), refused.Load())
	}
	if told.Load() != refused.Load() {
		t.Errorf("%d refusals counted, want %d", told.Load(), refused.Load())
	}
	if err := s.Bound(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	before := refused.Load()
	storm()
	if refused.Load() != before {
		t.Errorf("%d refused with room", refused.Load()-before)
	}
	if head, err := s.Head(t.Context()); head != written.Load() || err != nil {
		t.Errorf("%d events, %v; %d were acknowledged", head, err, written.Load())
	}
	check(t, s)
}
