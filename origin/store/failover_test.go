package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/store/replica"
)

// The name of the log changes with the timeline of the server: not when it crashes and starts
// again, but when a standby is promoted, even one that lacks nothing.
func TestLogNamesTheTimeline(t *testing.T) {
	primary := storetest.StartServer(t)
	s, err := store.Open(t.Context(), store.Config{URL: primary.URL})
	if err != nil {
		t.Fatal(err)
	}
	name := func(s *store.Store) string {
		t.Helper()
		l, err := s.LogStatus(t.Context(), 0)
		for n := 0; err != nil && n < 100; n++ { // connections that a crash ended
			l, err = s.LogStatus(t.Context(), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		return l.Name
	}
	first := name(s)
	if first != s.Log() {
		t.Errorf("on the first timeline the log %s is called %s", s.Log(), first)
	}
	primary.Outage(func() {})
	if again := name(s); again != first {
		t.Errorf("after a crash the log is called %s, want %s", again, first)
	}
	standby := primary.Standby()
	standby.CatchUp(primary)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	primary.Kill()
	standby.Promote()
	s = open(t, store.Config{URL: standby.URL})
	if now, want := name(s), first+".00000002"; now != want {
		t.Errorf("after the promotion the log is called %s, want %s", now, want)
	}
}

// standbyFixture is a store with a hot standby as its replica.
type standbyFixture struct {
	t                *testing.T
	primary, standby *storetest.Server
	store            *store.Store
}

func newStandbyFixture(t *testing.T) *standbyFixture {
	t.Helper()
	f := &standbyFixture{t: t, primary: storetest.StartServer(t)}
	if _, err := store.Migrate(t.Context(), store.Config{URL: f.primary.URL}); err != nil {
		t.Fatal(err)
	}
	f.standby = f.primary.Standby()
	f.store = open(t, store.Config{URL: f.primary.URL, ReadURL: f.standby.URL})
	return f
}

// write appends an event and returns the position of the primary.
func (f *standbyFixture) write(id string) replica.Position {
	f.t.Helper()
	err := f.store.Write(f.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return appendEvent(ctx, tx, id)
	})
	if err != nil {
		f.t.Fatal(err)
	}
	log, err := f.store.LogStatus(f.t.Context(), 0)
	if err != nil {
		f.t.Fatal(err)
	}
	return replica.Position{Log: log.Name, Event: log.Head}
}

// read reads the head of the log at a position, and checks who answered.
func (f *standbyFixture) read(what string, at replica.Position, want replica.Counts) {
	f.t.Helper()
	before, _, err := f.store.Replica(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	var head int64
	err = f.store.ReadAt(f.t.Context(), at, func(ctx context.Context) (err error) {
		head, err = f.store.Head(ctx)
		return err
	})
	if err != nil || head < at.Event {
		f.t.Errorf("%s: read at event %d, %v; want %d or later", what, head, err, at.Event)
	}
	after, _, err := f.store.Replica(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	got := replica.Counts{Reads: after.Reads - before.Reads, Behind: after.Behind - before.Behind,
		Failed: after.Failed - before.Failed}
	if got != want {
		f.t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// rested waits until the replica is queried again.
func (f *standbyFixture) rested(at replica.Position) {
	f.t.Helper()
	for {
		before, _, _ := f.store.Replica(f.t.Context())
		_ = f.store.ReadAt(f.t.Context(), at, func(context.Context) error { return nil })
		if after, _, _ := f.store.Replica(f.t.Context()); after.Reads > before.Reads {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A replica answers only if it shows what the reader knows of: not while its replay is paused, not
// for another log or timeline, and not while it is unreachable. Then the primary answers.
func TestReadAt(t *testing.T) {
	f := newStandbyFixture(t)
	f.write("before")
	at := f.write("known")
	f.standby.CatchUp(f.primary)
	f.read("a replica that has caught up", at, replica.Counts{Reads: 1})
	f.read("a reader that knows of nothing", replica.Position{}, replica.Counts{})

	f.standby.PauseReplay()
	newer := f.write("not on the replica")
	f.read("what is older is there", at, replica.Counts{Reads: 1})
	f.read("replay is paused", newer, replica.Counts{Behind: 1})
	f.read("it rests", at, replica.Counts{Behind: 1})
	if status, _, err := f.store.Replica(t.Context()); err != nil || !status.Up || status.Lag != 1 {
		t.Errorf("the replica is %+v, %v; want 1 event behind", status, err)
	}
	f.standby.ResumeReplay()
	f.standby.CatchUp(f.primary)
	f.rested(newer)
	f.read("replay goes on", newer, replica.Counts{Reads: 1})

	f.read("another timeline", replica.Position{Log: at.Log + ".00000002", Event: 1}, replica.Counts{Failed: 1})
	f.rested(newer)
	f.standby.Kill()
	f.read("the replica is unreachable", newer, replica.Counts{Failed: 1})
	if status, _, err := f.store.Replica(t.Context()); err != nil || status.Up {
		t.Errorf("the replica is %+v, %v; want it to be unreachable", status, err)
	}
}

// A replica cancels a snapshot that conflicts with a change of the primary. The read is repeated
// on the primary.
func TestReadAtIsRepeated(t *testing.T) {
	f := newStandbyFixture(t)
	f.standby.Run(`ALTER SYSTEM SET max_standby_streaming_delay = 0`, `SELECT pg_reload_conf()`)
	at := f.write("one")
	f.standby.CatchUp(f.primary)
	times := 0
	err := f.store.ReadAt(t.Context(), at, func(ctx context.Context) error {
		times++
		if _, err := f.store.Events(ctx, 0, 10, 1<<20); err != nil {
			return err
		}
		if times == 1 {
			f.primary.Run(`BEGIN; LOCK TABLE event; COMMIT`) // the lock is replayed on the standby
			f.standby.CatchUp(f.primary)
		}
		events, err := f.store.Events(ctx, 0, 10, 1<<20)
		if err == nil && len(events) != 1 {
			t.Errorf("%d events, want 1", len(events))
		}
		return err
	})
	if status, _, _ := f.store.Replica(t.Context()); err != nil || times != 2 || status.Failed != 1 {
		t.Errorf("read %d times, %v, %+v; want 2 times, the first of them failed", times, err, status)
	}
}
