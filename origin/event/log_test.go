package event_test

import (
	"context"
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
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// fixture is a log and a way to write it.
type fixture struct {
	t     testing.TB
	at    store.Config
	store *store.Store
	log   *event.Log
	reads atomic.Int64 // of the database
}

func newFixture(t testing.TB) *fixture { return openFixture(t, storetest.New(t)) }

func openFixture(t testing.TB, at store.Config) *fixture {
	f := &fixture{t: t, at: at}
	at.Hooks.Query = func(time.Duration) { f.reads.Add(1) }
	f.store = storetest.Open(t, at)
	f.log = event.NewLog(f.store)
	return f
}

// emit appends events of a type in one transaction; those of brands name the brand.
func (f *fixture) emit(kind fieldmark.EventType, count int) (last int64) {
	f.t.Helper()
	e := store.Event{Event: fieldmark.Event{Type: kind}, Subject: "subject"}
	if kind.AboutBrand() {
		e.Brand, e.Tags = "acme", []fieldmark.Tag{fieldmark.TagBrand("acme")}
	}
	err := f.store.Write(f.t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
		for range count {
			if last, err = event.Emit(ctx, tx, "", e, map[string]string{"requester": "Ada Ames"}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return last
}

// read reads a page for an edge.
func (f *fixture) read(after fieldmark.EventCursor, wait time.Duration) fieldmark.EventPage {
	f.t.Helper()
	page, err := f.log.Read(f.t.Context(), event.Query{After: after, Edges: true, Wait: wait})
	if err != nil {
		f.t.Fatalf("read after %d: %v", after.Number, err)
	}
	return page
}

// numbers returns the numbers of the events of a page.
func numbers(page *fieldmark.EventPage) string {
	var list []string
	for _, e := range page.Events {
		list = append(list, fmt.Sprint(e.Number))
	}
	return strings.Join(list, " ")
}

// TestPageForEdges: edges get what they act on, without the data they do not need, and a cursor
// that goes on to the newest event.
func TestPageForEdges(t *testing.T) {
	f := newFixture(t)
	f.emit(fieldmark.EventMissionCreated, 2)
	f.emit(fieldmark.EventBrandAudited, 1)
	f.emit(fieldmark.EventPaymentDue, 1)
	f.emit(fieldmark.EventCachePurged, 1)
	f.emit(fieldmark.EventMissionUpdated, 2)
	page := f.read(fieldmark.EventCursor{}, 0)
	if got := numbers(&page); got != "3 5" || page.Head != 7 || page.Through != 7 {
		t.Fatalf("events %s of %d through %d, want 3 5 of 7 through 7", got, page.Head, page.Through)
	}
	if page.Events[0].Data != nil || !strings.Contains(string(page.Events[1].Data), "Ada Ames") {
		t.Errorf("data of an audit %q and of a purge %q, want none and all", page.Events[0].Data, page.Events[1].Data)
	}
	all, err := f.log.After(t.Context(), fieldmark.EventCursor{}, 0, 0)
	if err != nil || len(all.Events) != 7 || all.Through != 0 {
		t.Fatalf("a reader of everything gets %d events through %d, %v; want 7 and 0", len(all.Events), all.Through,
			err)
	}
	at := page.Next(fieldmark.EventCursor{})
	if want := (fieldmark.EventCursor{Number: 7, ID: all.Events[6].ID}); at != want {
		t.Fatalf("the cursor moves to %v, want %v", at, want)
	}
	// in parts, each with the cursor after it
	first, err := f.log.Read(t.Context(), event.Query{Edges: true, Limit: 1})
	if err != nil || numbers(&first) != "3" || first.Next(fieldmark.EventCursor{}).Number != 3 {
		t.Errorf("first event: %+v, %v; want number 3 with the cursor there", first, err)
	}
	rest := f.read(first.Next(fieldmark.EventCursor{}), 0)
	if numbers(&rest) != "5" || rest.AfterID != all.Events[2].ID {
		t.Errorf("the rest: %s after %s, want 5 after %s", numbers(&rest), rest.AfterID, all.Events[2].ID)
	}
	if end := f.read(at, 0); len(end.Events) != 0 || end.Next(at) != at || end.Diverged(at) {
		t.Errorf("at the end: %+v, want nothing", end)
	}
	if lost := f.read(fieldmark.EventCursor{Number: 7, ID: "evt_x"}, time.Minute); lost.AfterID != all.Events[6].ID {
		t.Errorf("a reader of lost events gets %+v, want to see that at once", lost)
	}
	if ahead := f.read(fieldmark.EventCursor{Number: 1 << 53}, time.Minute); ahead.Head != 7 || ahead.Through != 0 {
		t.Errorf("a reader beyond the log gets %+v, want head 7 at once", ahead)
	}
}

// TestForEdges: no event about a mission is for edges, and every one that names a brand or tags is.
func TestForEdges(t *testing.T) {
	for _, k := range event.Kinds() {
		if e := (fieldmark.Event{Type: k.Type}); k.Type.AboutMission() && event.ForEdges(&e) {
			t.Errorf("%s is for edges", k.Type)
		}
	}
	for e, want := range map[*fieldmark.Event]bool{
		{Type: fieldmark.EventModuleActivated}:                          true,
		{Type: fieldmark.EventCertificateChanged}:                       true,
		{Type: "brand.of_a_newer_release", Brand: "acme"}:               true,
		{Type: "site.of_a_newer_release", Tags: []fieldmark.Tag{"all"}}: true,
		{Type: fieldmark.EventKeyRevoked}:                               false,
		{Type: fieldmark.EventScoresChanged}:                            false,
	} {
		if got := event.ForEdges(e); got != want {
			t.Errorf("%s: %t, want %t", e.Type, got, want)
		}
	}
}

// TestReadsOfManyEdges: however many edges wait and missions are written, the database is read at
// most ten times a second, and missions do not end the wait of an edge.
func TestReadsOfManyEdges(t *testing.T) {
	reads := func(edges int, during func(*fixture)) (n int64, answers int64) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			f.emit(fieldmark.EventBrandAudited, 1)
			var answered atomic.Int64
			ctx, leave := context.WithCancel(t.Context())
			var polls sync.WaitGroup
			for range edges {
				polls.Go(func() {
					at := fieldmark.EventCursor{Number: 1}
					for {
						page, err := f.log.Read(ctx, event.Query{After: at, Edges: true, Wait: 25 * time.Second})
						if err != nil {
							return
						}
						answered.Add(1)
						at = page.Next(at)
					}
				})
			}
			time.Sleep(time.Second)
			f.reads.Store(0)
			answered.Store(0)
			during(f)
			n, answers = f.reads.Load(), answered.Load()
			leave()
			polls.Wait()
		})
		return n, answers
	}
	const seconds = 10
	idle := func(*fixture) { time.Sleep(seconds * time.Second) }
	missions := func(f *fixture) {
		for range seconds * 10 {
			f.emit(fieldmark.EventMissionCreated, 5)
			time.Sleep(100 * time.Millisecond)
		}
	}
	changes := func(f *fixture) {
		for range seconds * 20 {
			f.emit(fieldmark.EventBrandAudited, 1)
			time.Sleep(50 * time.Millisecond)
		}
	}
	const edges = 1000
	for _, test := range []struct {
		name           string
		during         func(*fixture)
		reads, answers int64 // at most
	}{
		{"idle", idle, 2 * seconds, 0},
		// Emit itself reads: it is measured with one edge, and must not grow with their number.
		{"missions", missions, 2 * seconds, 3},
		{"changes", changes, 10 * seconds, 10*seconds + 1},
	} {
		none, _ := reads(0, test.during)
		many, answers := reads(edges, test.during)
		if many-none > test.reads+1 || answers > test.answers*edges {
			t.Errorf("%s: %d reads for %d edges in %d s, and %d answers each; want at most %d and %d", test.name,
				many-none, edges, seconds, answers/edges, test.reads, test.answers)
		}
	}
}

// TestWaitForEdges: an event that edges act on ends a wait at once, one of a mission moves the
// cursor later, and a reader that has stopped before an event gets it with the next request.
func TestWaitForEdges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		at := fieldmark.EventCursor{Number: f.emit(fieldmark.EventBrandAudited, 1)}
		after := func(d time.Duration, kind fieldmark.EventType) (fieldmark.EventPage, time.Duration) {
			began := time.Now()
			var writer sync.WaitGroup
			writer.Go(func() { time.Sleep(d); f.emit(kind, 1) })
			page := f.read(at, 25*time.Second)
			writer.Wait()
			at = page.Next(at)
			return page, time.Since(began)
		}
		if page, took := after(250*time.Millisecond, fieldmark.EventBrandAudited); numbers(&page) != "2" ||
			took != 250*time.Millisecond {
			t.Errorf("events %s after %v, want 2 after 250ms", numbers(&page), took)
		}
		page, took := after(250*time.Millisecond, fieldmark.EventMissionCreated)
		if len(page.Events) != 0 || at.Number != 3 || took < time.Second || took > 6*time.Second {
			t.Errorf("a mission: %d events, cursor %d after %v; want none, 3, within 6s", len(page.Events), at.Number,
				took)
		}
		time.Sleep(time.Hour)
		f.emit(fieldmark.EventBrandAudited, 1)
		if page := f.read(at, 25*time.Second); numbers(&page) != "4" {
			t.Errorf("events %s after an hour without a reader, want 4", numbers(&page))
		}
	})
}

// TestOriginsReadApart: an edge that polls an origin which has not read the newest events yet must not
// conclude that they are lost.
func TestOriginsReadApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storetest.New(t)
		a, b := openFixture(t, cfg), openFixture(t, cfg)
		a.emit(fieldmark.EventBrandAudited, 1)
		var other sync.WaitGroup
		ctx, leave := context.WithCancel(t.Context())
		other.Go(func() { // keeps the reader of b running
			_, _ = b.log.Read(ctx, event.Query{After: fieldmark.EventCursor{Number: 1}, Edges: true,
				Wait: 25 * time.Second})
		})
		synctest.Wait()
		for range 20 {
			time.Sleep(170 * time.Millisecond)
			a.emit(fieldmark.EventMissionCreated, 1)
			page := a.read(fieldmark.EventCursor{Number: 1}, 0)
			at := page.Next(fieldmark.EventCursor{})
			if page = b.read(at, time.Millisecond); page.Head < at.Number || page.AfterID != at.ID {
				t.Fatalf("the other origin says head %d with %q at %v", page.Head, page.AfterID, at)
			}
		}
		leave()
		other.Wait()
	})
}

// TestFarBehind: an edge further behind than the events in memory reads the database.
func TestFarBehind(t *testing.T) {
	f := newFixture(t)
	f.emit(fieldmark.EventBrandAudited, 1)
	f.emit(fieldmark.EventMissionCreated, 10_500)
	f.emit(fieldmark.EventBrandAudited, 1)
	var seen []string
	at := fieldmark.EventCursor{}
	for range 20 {
		page := f.read(at, 0)
		if page.Diverged(at) {
			t.Fatalf("diverged after %d", at.Number)
		}
		if len(page.Events) > 0 {
			seen = append(seen, numbers(&page))
		}
		at = page.Next(at)
		if at.Number == page.Head {
			break
		}
	}
	if got := strings.Join(seen, " "); got != "1 10502" || at.Number != 10_502 {
		t.Errorf("events %s up to %d, want 1 10502 up to 10502", got, at.Number)
	}
	if page := f.read(fieldmark.EventCursor{Number: 600}, 0); page.AfterID == "" || page.Through <= 600 {
		t.Errorf("after 600: %+v, want the id of that event", page)
	}
}

// TestLogReplaced: events that were lost are not served from memory.
func TestLogReplaced(t *testing.T) {
	f := newFixture(t)
	f.emit(fieldmark.EventBrandAudited, 3)
	before := f.read(fieldmark.EventCursor{}, 0)
	at := before.Next(fieldmark.EventCursor{})
	// as a failover to a replica that lacks the newest event
	storetest.Exec(t, f.at, `DELETE FROM event WHERE number = 3`, `UPDATE log SET number = 2 WHERE number = 3`)
	page := f.read(at, 25*time.Second)
	if page.Head != 2 {
		t.Errorf("head %d after event 3 was lost, want 2", page.Head)
	}
	f.emit(fieldmark.EventBrandAudited, 1)
	if page = f.read(at, 25*time.Second); !page.Diverged(at) {
		t.Errorf("another event has number 3: %+v, want it to differ from %v", page, at)
	}
	if page = f.read(fieldmark.EventCursor{Number: 2}, 0); numbers(&page) != "3" || page.Events[0].ID == at.ID {
		t.Errorf("after 2: %+v, want the new event 3", page)
	}
}
