package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/sla"
	"github.com/fieldmark/fieldmark/origin/store"
)

// grouped queues writes while another write runs, so that they share a transaction.
// It returns when all of them are done.
func grouped(t testing.TB, s *store.Store, writes ...func()) {
	t.Helper()
	began, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_ = s.Write(context.Background(), func(context.Context, *store.Tx) error {
			close(began)
			<-release
			return nil
		})
	})
	<-began
	for _, write := range writes {
		all.Go(write)
	}
	for s.Waiting() < len(writes) {
		runtime.Gosched()
	}
	close(release)
	all.Wait()
}

// openOne creates a mission with its timers and its event.
func openOne(ctx context.Context, tx *store.Tx, name store.MissionKey, title string) (bool, error) {
	at, err := tx.Stamp(ctx, "")
	if err != nil {
		return false, err
	}
	m := store.Mission{Account: name.Account, ChangedAt: at, Fingerprint: "sha256:00", Mission: fieldmark.Mission{
		ID: "mis_" + title, Version: 1, Status: fieldmark.MissionNew, CreatedAt: fieldmark.AtMicros(at),
		MissionRequest: fieldmark.MissionRequest{Source: name.Source, ExternalID: name.ExternalID, Title: title,
			Priority: fieldmark.PriorityHigh},
	}}
	added, err := tx.AddMission(ctx, &m)
	if err != nil || !added {
		return false, err
	}
	if _, err := tx.SLARules(ctx); err != nil {
		return false, err
	}
	if err := tx.AddSLA(ctx, &m, &store.SLA{Policy: m.Priority, Timers: []sla.Timer{}}); err != nil {
		return false, err
	}
	return true, tx.AppendEvent(ctx, &store.Event{Subject: m.ID, Account: name.Account, Event: fieldmark.Event{
		ID: "evt_" + title, Type: fieldmark.EventMissionCreated, Time: m.CreatedAt,
		Data: []byte(fmt.Sprintf(`{"version":1,"title":%q}`, title)),
	}})
}

func withAccount(t testing.TB, s *store.Store) *store.Store {
	t.Helper()
	if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.PutAccount(ctx, "a", fieldmark.At(time.Now()))
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

func prefetch(name store.MissionKey) store.Prefetch {
	return store.Prefetch{Missions: []store.MissionKey{name}}
}

// The rows of many members are inserted with few statements. Every value is in the right
// column and every number is used once.
func TestPrefetchRowsStayWhole(t *testing.T) {
	s := withAccount(t, scratch(t))
	const n = 107 // 64 + 32 + 8 + 2 + 1
	var writes []func()
	for i := range n {
		writes = append(writes, func() {
			name := store.MissionKey{Account: "a", Source: fmt.Sprint("Source ", i%7), ExternalID: fmt.Sprint(i)}
			err := s.WriteWithPrefetch(context.Background(), prefetch(name),
				func(ctx context.Context, tx *store.Tx) error {
					added, err := openOne(ctx, tx, name, fmt.Sprint("title ", i))
					if err == nil && !added {
						err = errors.New("the name was taken")
					}
					return err
				})
			if err != nil {
				t.Errorf("open %+v: %v", name, err)
			}
		})
	}
	grouped(t, s, writes...)
	for i := range n {
		id := fmt.Sprint("mis_title ", i)
		m, err := s.Mission(t.Context(), id)
		if err != nil {
			t.Errorf("read %s: %v", id, err)
			continue
		}
		got := []string{m.Account, m.Source, m.ExternalID, m.Title, string(m.Priority), string(m.Status),
			string(m.StoredSLA.Policy)}
		want := []string{"a", fmt.Sprint("Source ", i%7), fmt.Sprint(i), fmt.Sprint("title ", i), "HIGH", "NEW", "HIGH"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	events, err := s.Events(t.Context(), 0, 1000, 1<<20)
	if err != nil || len(events) != n {
		t.Fatalf("%d events, %v; want %d", len(events), err, n)
	}
	for i, e := range events {
		title := strings.TrimPrefix(e.ID, "evt_")
		if e.Number != int64(i+1) || string(e.Data) != fmt.Sprintf(`{"version":1,"title":%q}`, title) {
			t.Errorf("event %d has number %d, id %s and data %s", i+1, e.Number, e.ID, e.Data)
		}
	}
	check(t, s)
}

// Of concurrent writes that create the same mission, in one group or in several, exactly
// one succeeds.
func TestPrefetchRacers(t *testing.T) {
	s := withAccount(t, scratch(t))
	var opened, found atomic.Int64
	const racers, names = 60, 3
	var writes []func()
	for i := range racers * names {
		writes = append(writes, func() {
			source := []string{"crm", "CRM"}[i%2] // compared without regard to case
			name := store.MissionKey{Account: "a", Source: source, ExternalID: fmt.Sprint(i % names)}
			var added bool
			err := s.WriteWithPrefetch(context.Background(), prefetch(name),
				func(ctx context.Context, tx *store.Tx) (err error) {
					if added, err = openOne(ctx, tx, name, fmt.Sprint(i)); err != nil || added {
						return err
					}
					m, err := tx.MissionBySource(ctx, "a", name.Source, name.ExternalID)
					if err == nil && m.ExternalID != name.ExternalID {
						err = fmt.Errorf("found %q", m.ExternalID)
					}
					return err
				})
			switch {
			case err != nil:
				t.Errorf("open %+v: %v", name, err)
			case added:
				opened.Add(1)
			default:
				found.Add(1)
			}
		})
	}
	grouped(t, s, writes[:len(writes)/2]...)
	grouped(t, s, writes[len(writes)/2:]...)
	if opened.Load() != names || found.Load() != (racers-1)*names {
		t.Errorf("%d opened and %d found a mission; want %d and %d", opened.Load(), found.Load(), names,
			(racers-1)*names)
	}
	if head, err := s.Head(t.Context()); head != names || err != nil {
		t.Errorf("head = %d, %v; want %d", head, err, names)
	}
	check(t, s)
}

// A member that fails, panics or violates a constraint is rolled back alone, at any
// position in the group. Only members that allow it are run again.
func TestPrefetchMembersFailAlone(t *testing.T) {
	wrong := errors.New("wrong")
	for _, refused := range []int{0, 3} { // statements that the engine refuses only when they are sent
		t.Run(fmt.Sprint(refused, " refused"), func(t *testing.T) {
			s := withAccount(t, scratch(t))
			var good, failed, panicked, clashed, plain, again atomic.Int64
			const each = 8
			var writes []func()
			open := func(kind string, i int, told *atomic.Int64, then func(context.Context, *store.Tx) error,
				ok func(error) bool) {
				writes = append(writes, func() {
					name := store.MissionKey{Account: "a", Source: kind, ExternalID: fmt.Sprint(i)}
					runs := 0
					defer func() {
						if recover() != nil {
							panicked.Add(1)
						}
						if runs > 1 {
							again.Add(1)
						}
						if runs > 2 {
							t.Errorf("%s %d was run %d times", kind, i, runs)
						}
					}()
					err := s.WriteWithPrefetch(context.Background(), prefetch(name),
						func(ctx context.Context, tx *store.Tx) error {
							runs++
							if added, err := openOne(ctx, tx, name, fmt.Sprint(kind, i)); err != nil || !added {
								return fmt.Errorf("added %v: %w", added, err)
							}
							return then(ctx, tx)
						})
					if ok(err) {
						told.Add(1)
					} else {
						t.Errorf("%s %d: %v", kind, i, err)
					}
				})
			}
			for i := range each {
				open("good", i, &good, func(context.Context, *store.Tx) error { return nil },
					func(err error) bool { return err == nil })
				open("failed", i, &failed, func(context.Context, *store.Tx) error { return wrong },
					func(err error) bool { return errors.Is(err, wrong) })
				open("asks", i, &failed, func(ctx context.Context, tx *store.Tx) error { // sent before it fails
					if _, err := tx.Mission(ctx, fmt.Sprint("mis_asks", i)); err != nil {
						return err
					}
					return wrong
				}, func(err error) bool { return errors.Is(err, wrong) })
				open("panics", i, &failed, func(context.Context, *store.Tx) error { panic("oops") },
					func(error) bool { return false })
				writes = append(writes, func() {
					runs := 0
					err := s.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
						runs++
						return appendEvent(ctx, tx, fmt.Sprint("plain", i))
					})
					if err == nil && runs == 1 {
						plain.Add(1)
					} else {
						t.Errorf("plain %d was run %d times: %v", i, runs, err)
					}
				})
			}
			for i := range refused {
				open("clash", i, &clashed, func(ctx context.Context, tx *store.Tx) error {
					return appendEvent(ctx, tx, fmt.Sprint("evt_clash", i)) // a duplicate id
				}, func(err error) bool {
					return err != nil &&
						strings.Contains(strings.ToLower(err.Error()), "unique")
				})
			}
			grouped(t, s, writes...)
			got := []int64{good.Load(), failed.Load(), panicked.Load(), clashed.Load(), plain.Load()}
			if diff := cmp.Diff([]int64{each, 2 * each, each, int64(refused), each}, got); diff != "" {
				t.Errorf("good, failed, panicked, clashed, plain (-want +got):\n%s", diff)
			}
			if server := s.Shared(); again.Load() > 0 != (server && refused > 0) {
				t.Errorf("%d were run again; %d statements were refused, by a server: %v", again.Load(), refused,
					server)
			}
			if head, err := s.Head(t.Context()); head != 2*each || err != nil {
				t.Errorf("head = %d, %v; want %d", head, err, 2*each)
			}
			check(t, s)
		})
	}
}

// The prefetched state of a name is discarded when the member that changed it fails.
func TestPrefetchNameIsFreeAgain(t *testing.T) {
	s := withAccount(t, scratch(t))
	name := store.MissionKey{Account: "a", Source: "crm", ExternalID: "1"}
	key := store.ResponseKey{Account: "a", Key: "k"}
	ahead := store.Prefetch{Missions: []store.MissionKey{name}, Responses: []store.ResponseKey{key}}
	var tries, opened atomic.Int64
	wrong := errors.New("wrong")
	try := func() {
		err := s.WriteWithPrefetch(context.Background(), ahead, func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.SavedResponse(ctx, "a", "k", time.UnixMicro(0)); err == nil ||
				!errors.Is(err, store.ErrNotFound) {
				return err
			}
			n := tries.Add(1)
			added, err := openOne(ctx, tx, name, fmt.Sprint("one", n))
			if err == nil && !added {
				err = errors.New("the name was taken")
			}
			if err == nil {
				err = tx.SaveResponse(ctx, store.SavedResponse{Account: "a", Key: "k", Request: "sha256:00",
					Status: 201, Body: []byte("{}"), At: time.Now()})
			}
			if err == nil && n < 3 {
				err = wrong
			}
			if err == nil {
				opened.Add(1)
			}
			return err
		})
		if err != nil && !errors.Is(err, wrong) {
			t.Errorf("open: %v", err)
		}
	}
	grouped(t, s, try, try, try, try, try)
	if tries.Load() != 3 || opened.Load() != 1 {
		t.Errorf("%d tries opened %d; want 3, of which the last one did", tries.Load(), opened.Load())
	}
	if k, err := s.SavedResponse(t.Context(), "a", "k", time.UnixMicro(0)); err != nil || k.Status != 201 ||
		string(k.Body) != "{}" {
		t.Errorf("kept %+v, %v", k, err)
	}
	check(t, s)
}

// Concurrent reads share a batch. Each returns a state that is no older than its call, and
// a canceled read does not abort the others.
func TestConcurrentReadsShareABatch(t *testing.T) {
	s := withAccount(t, scratch(t))
	add := func(id string) {
		t.Helper()
		if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return tx.AddKey(ctx,
				&store.Key{Hash: id, Key: fieldmark.Key{ID: id, Prefix: "p" + id, Account: "a",
					CreatedAt: fieldmark.At(time.Now())}})
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		add(fmt.Sprint(i))
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				if j%10 == i {
					cancel()
				}
				id := fmt.Sprint((i + j) % 4) // the last one does not exist
				k, err := s.KeyByPublic(ctx, "p"+id)
				switch {
				case ctx.Err() != nil:
				case id == "3" && !errors.Is(err, store.ErrNotFound):
					t.Errorf("key 3 = %+v, %v; want %v", k, err, store.ErrNotFound)
				case id != "3" && (err != nil || k.ID != id || k.Hash != id):
					t.Errorf("key %s = %+v, %v", id, k, err)
				}
				cancel()
			}
		})
	}
	for i := range 20 { // a writer reads its own write immediately
		id := fmt.Sprint("new", i)
		add(id)
		if k, err := s.KeyByPublic(t.Context(), "p"+id); err != nil || k.ID != id {
			t.Errorf("key %s = %+v, %v", id, k, err)
		}
	}
	all.Wait()
}
