package logstream_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache/stream"
	"github.com/fieldmark/fieldmark/edge/eventlog"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/logstream"
	"github.com/fieldmark/fieldmark/origin/store"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// fixture is an origin that mirrors its log, and an edge that follows the mirror.
type fixture struct {
	t      testing.TB
	at     store.Config
	store  *store.Store
	log    *event.Log
	mirror *logstream.Mirror
	stop   func() // of the mirror, as a crash: its lease stays

	edge *follower
	want []int64 // numbers of the events for edges since the follower attached
}

// newFixture mirrors to one address, and follows another.
func newFixture(t testing.TB, write, read string) *fixture {
	t.Helper()
	f := &fixture{t: t, at: storetest.New(t)}
	f.store = storetest.Open(t, f.at)
	f.log = event.NewLog(f.store)
	f.emit(fieldmark.EventBrandAudited) // before the mirror and the edge
	f.want = nil
	f.mirror, f.stop = f.startMirror(write)
	waittest.Until(t, "the mirror writes", func() bool { return f.mirror.Status().Head > 0 })
	f.edge = newFollower(t, f.log, read)
	waittest.Until(t, "the edge follows the stream", f.edge.streaming.Load)
	return f
}

// startMirror starts the mirror of one origin.
func (f *fixture) startMirror(address string) (*logstream.Mirror, func()) {
	f.t.Helper()
	log := slog.New(slog.NewTextHandler(f.t.Output(), nil))
	jobs := job.NewRunner(f.store, log)
	m, err := logstream.New(logstream.Config{Store: f.store, Events: f.log, Jobs: jobs, Log: log, URL: address})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = jobs.Run(ctx) })
	running.Go(func() { _ = m.Run(ctx) })
	stop := func() { cancel(); running.Wait() }
	f.t.Cleanup(stop)
	return m, stop
}

// emit appends events in one transaction.
func (f *fixture) emit(kinds ...fieldmark.EventType) {
	f.t.Helper()
	err := f.store.Write(f.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for _, kind := range kinds {
			e := store.Event{Event: fieldmark.Event{Type: kind}, Subject: "subject"}
			if kind.AboutBrand() {
				e.Brand, e.Tags = "acme", []fieldmark.Tag{fieldmark.TagBrand("acme"), "site:x"}
			}
			number, err := event.Emit(ctx, tx, "", e, map[string]string{"requester": "Ada Ames"})
			if err != nil {
				return err
			}
			if kind.AboutBrand() {
				f.want = append(f.want, number)
			}
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// check emits an event, and waits until the edge has everything, each event once and in order.
func (f *fixture) check(when string) {
	f.t.Helper()
	f.emit(fieldmark.EventMissionCreated, fieldmark.EventBrandAudited, fieldmark.EventMissionCreated)
	head, err := f.log.Head(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	waittest.Until(f.t, when+": the edge is at the head of the log", func() bool { return f.edge.at.Load() >= head })
	f.edge.mu.Lock()
	defer f.edge.mu.Unlock()
	if !slices.Equal(f.edge.seen, f.want) {
		f.t.Errorf("%s: the edge has seen %v, want %v", when, f.edge.seen, f.want)
	}
}

// follower is an edge: it only collects what it sees.
type follower struct {
	at        atomic.Int64
	streaming atomic.Bool
	polls     atomic.Int64
	gaps      atomic.Int64

	mu        sync.Mutex
	seen      []int64
	fallbacks []string
	problems  []string
}

func newFollower(t testing.TB, log *event.Log, address string) *follower {
	t.Helper()
	head, err := log.Read(t.Context(), event.Query{After: fieldmark.EventCursor{Number: 1 << 53}, Edges: true})
	if err != nil {
		t.Fatal(err)
	}
	return followFrom(t, log, address, head.Log, fieldmark.EventCursor{Number: head.Head})
}

// followFrom is newFollower from a cursor.
func followFrom(t testing.TB, log *event.Log, address, name string, at fieldmark.EventCursor) *follower {
	t.Helper()
	f := &follower{}
	poll := func(ctx context.Context, after fieldmark.EventCursor, wait time.Duration) (fieldmark.EventPage, error) {
		f.polls.Add(1)
		return log.Read(ctx, event.Query{After: after, Edges: true, Wait: wait})
	}
	s, err := eventlog.New(eventlog.Config{URL: address, Poll: poll,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), OnGap: func() { f.gaps.Add(1) },
		OnFallback: func(reason string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.fallbacks = append(f.fallbacks, reason)
		}, OnSource: f.streaming.Store})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.run(ctx, s, name, at) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		_ = s.Close()
		for _, p := range f.problems {
			t.Error(p)
		}
	})
	return f
}

func (f *follower) run(ctx context.Context, s *eventlog.Source, log string, at fieldmark.EventCursor) {
	f.at.Store(at.Number)
	for ctx.Err() == nil {
		page, err := s.Next(ctx, log, at, 25*time.Second)
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		f.mu.Lock()
		if page.Log != log || page.Head < at.Number || page.Diverged(at) {
			f.problems = append(f.problems, fmt.Sprintf("the edge at %v would start over because of %+v", at, page))
		}
		for _, e := range page.Events {
			if e.Brand != "acme" || len(e.Tags) < 2 || e.Tags[0] != fieldmark.TagBrand("acme") ||
				e.Tags[1] != "site:x" || e.ID == "" || e.Time.IsZero() || e.Data != nil {
				f.problems = append(f.problems, fmt.Sprintf("event %+v", e))
			}
			f.seen = append(f.seen, e.Number)
		}
		f.mu.Unlock()
		at = page.Next(at)
		f.at.Store(at.Number)
	}
}

// fallen returns why the edge fell back to polling so far.
func (f *follower) fallen(reason string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.fallbacks, reason)
}

// numFallbacks returns how often the edge fell back to polling.
func (f *follower) numFallbacks() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.fallbacks)
}

// keys returns a key of the stream of the fixture.
func (f *fixture) key(name string) string {
	f.t.Helper()
	at, err := f.store.LogStatus(f.t.Context(), 0)
	if err != nil {
		f.t.Fatal(err)
	}
	return "{fm1:" + at.Name + "}:" + name
}

// TestStream follows the log through a chain of two replicas, without requests to the origin, and without
// a word about missions in Redis.
func TestStream(t *testing.T) {
	primary := cachetest.StartRedis(t)
	replica := startReplica(t, startReplica(t, primary))
	f := newFixture(t, primary.URL, replica.URL)
	// A machine that stalls for some seconds makes an edge poll: one round without a stall is enough.
	for round := 1; ; round++ {
		waittest.Until(t, "the edge follows the stream", f.edge.streaming.Load)
		polls, fallbacks := f.edge.polls.Load(), f.edge.numFallbacks()
		for range 20 {
			f.check("through two replicas")
		}
		n := f.edge.polls.Load() - polls
		if n <= 4 && f.edge.numFallbacks() == fallbacks { // four to compare
			break
		}
		if round == 10 {
			t.Fatalf("the edge has polled the origin %d times in the last round, and fell back %d times", n,
				f.edge.numFallbacks())
		}
	}
	if n := f.edge.gaps.Load(); n > 0 {
		t.Errorf("the stream had %d gaps", n)
	}
	if all := primary.Do("XRANGE", f.key("log"), "-", "+"); strings.Contains(all, "Ames") ||
		strings.Contains(all, "mission") || !strings.Contains(all, "brand.audited") {
		t.Errorf("the stream has %q, want events of brands only", all)
	}
	if s := f.mirror.Status(); !s.Enabled || s.Fence < 1 || s.LagSeconds > 60 {
		t.Errorf("status %+v", s)
	}
	// missions alone move the cursor with the beat
	f.emit(fieldmark.EventMissionCreated)
	head, _ := f.log.Head(t.Context())
	waittest.Until(t, "the beat moves the edge", func() bool { return f.edge.at.Load() >= head })
}

func startReplica(t testing.TB, of *cachetest.Redis) *cachetest.Redis {
	t.Helper()
	r := cachetest.StartRedis(t)
	host, port, _ := strings.Cut(of.Addr, ":")
	r.Do("REPLICAOF", host, port)
	waittest.Until(t, "the replica is connected", func() bool {
		return strings.Contains(r.Do("INFO", "replication"), "master_link_status:up")
	})
	return r
}

// TestRedisFlushed: events that followers have not read are gone, and they read them from the origin.
func TestRedisFlushed(t *testing.T) {
	server := cachetest.StartRedis(t)
	f := newFixture(t, server.URL, server.URL)
	for range 3 {
		f.check("before")
		server.Do("FLUSHALL")
		f.check("after a flush")
	}
	waittest.Until(t, "the edge follows the stream again", f.edge.streaming.Load)
	f.check("in the end")
}

// TestRedisPaused: a Redis that does not answer delays no edge by more than the fallback, and a
// pause of the origin's calls is no loss.
func TestRedisPaused(t *testing.T) {
	server := cachetest.StartRedis(t)
	f := newFixture(t, server.URL, server.URL)
	server.Do("CLIENT", "PAUSE", "4000", "ALL")
	f.check("while Redis is paused")
	waittest.Until(t, "the edge polls", func() bool { return f.edge.fallen(eventlog.Failed) })
	waittest.Until(t, "the edge follows the stream again", f.edge.streaming.Load)
	f.check("after the pause")
	server.Kill()
	f.check("while Redis is dead")
	server.Start()
	waittest.Until(t, "the edge follows the stream again", f.edge.streaming.Load)
	f.check("after a restart")
}

// TestFailover: a replica that lacks the newest entries becomes the primary.
func TestFailover(t *testing.T) {
	primary := cachetest.StartRedis(t)
	standby := startReplica(t, primary)
	proxy := newForwarder(t, primary.Addr)
	f := newFixture(t, "redis://"+proxy.address(), "redis://"+proxy.address())
	f.check("before")
	waittest.Until(t, "the standby has the stream", func() bool {
		return standby.Do("XLEN", f.key("log")) == primary.Do("XLEN", f.key("log"))
	})
	standby.Do("REPLICAOF", "NO", "ONE")
	for range 3 {
		f.check("what the standby lacks")
	}
	length := primary.Do("XLEN", f.key("log"))
	proxy.forward(standby.Addr)
	f.check("after the failover")
	waittest.Until(t, "the edge follows the stream again", f.edge.streaming.Load)
	f.check("in the end")
	if got := standby.Do("XLEN", f.key("log")); got < length {
		t.Errorf("the new primary has %q entries, want at least the %q of the old one", got, length)
	}
}

// forwarder forwards connections to one of two servers.
type forwarder struct {
	ln net.Listener

	mu     sync.Mutex
	target string
	conns  []net.Conn
}

func newForwarder(t testing.TB, target string) *forwarder {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &forwarder{ln: ln, target: target}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			up, err := net.Dial("tcp", f.target)
			if err != nil {
				up = conn
			}
			f.conns = append(f.conns, conn, up)
			f.mu.Unlock()
			if err != nil {
				_ = conn.Close()
				continue
			}
			running.Go(func() { _, _ = io.Copy(up, conn); _ = up.Close() })
			running.Go(func() { _, _ = io.Copy(conn, up); _ = conn.Close() })
		}
	})
	t.Cleanup(func() { _ = ln.Close(); f.forward(target); running.Wait() })
	return f
}

func (f *forwarder) address() string { return f.ln.Addr().String() }

// forward closes all connections; new ones go to target.
func (f *forwarder) forward(target string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.target = target
	for _, c := range f.conns {
		_ = c.Close()
	}
	f.conns = nil
}

// The permissions that the operations guide names.
const (
	edgeACL = "%R~{fm1:* %R~fm1:epoch +xread +get +ping +hello +auth +readonly"
	// TestACLs in this package compares both with the guide.
	originACL = "~{fm1:* ~fm1:epoch +xadd +xrevrange +evalsha +script|load +set +get +expire +hello +auth +readonly"
)

// TestACLs: the users of the guide can do what they need and no more, and a permission that is withdrawn
// makes edges poll.
func TestACLs(t *testing.T) {
	guide, err := os.ReadFile("../../deploy/README.md")
	if err != nil {
		t.Fatal(err)
	}
	server := cachetest.StartRedis(t)
	for name, rules := range map[string]string{"edge": edgeACL, "origin": originACL} {
		if !strings.Contains(string(guide), rules) {
			t.Errorf("the guide lacks the permissions of %s: %s", name, rules)
		}
		if answer := server.Do(append([]string{"ACL", "SETUSER", name, "reset", "on", ">secret"},
			strings.Fields(rules)...)...); !strings.HasPrefix(answer, "+OK") {
			t.Fatalf("make the user %s: %s", name, answer)
		}
	}
	user := func(name string) string { return "redis://" + name + ":secret@" + server.Addr }
	f := newFixture(t, user("origin"), user("edge"))
	f.check("with users")
	w, err := stream.NewWriter(user("edge"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Append(t.Context(), "other", 99, 0, nil, stream.Beat{}); err == nil ||
		!strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("an edge that writes: %v, want NOPERM", err)
	}
	server.Do("ACL", "SETUSER", "edge", "-xread")
	waittest.Until(t, "the edge polls", func() bool { return f.edge.fallen(eventlog.Failed) })
	f.check("without permission")
	server.Do("ACL", "SETUSER", "edge", "+xread")
	waittest.Until(t, "the edge follows the stream again", f.edge.streaming.Load)
	server.Do("ACL", "SETUSER", "origin", "-evalsha")
	f.check("while the origin has no permission")
	waittest.Until(t, "the edge misses the beat", func() bool { return f.edge.fallen(eventlog.Silent) })
	server.Do("ACL", "SETUSER", "origin", "+evalsha")
	f.check("in the end")
}

// TestHolderStops: while no origin writes, edges poll; then another origin goes on with a later token, and
// what the first one still sends is refused.
func TestHolderStops(t *testing.T) {
	server := cachetest.StartRedis(t)
	f := newFixture(t, server.URL, server.URL)
	f.check("with the first origin")
	second, _ := f.startMirror(server.URL)
	f.stop()
	f.check("without an origin that writes")
	waittest.Until(t, "the edge misses the beat", func() bool { return f.edge.fallen(eventlog.Silent) })
	waittest.Until(t, "the second origin writes", func() bool { return second.Status().Fence >= 2 })
	waittest.Until(t, "the edge follows the stream again", f.edge.streaming.Load)
	f.check("with the second origin")
	w, err := stream.NewWriter(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	at, err := f.store.LogStatus(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(t.Context(), at.Name, 1, at.Head, nil, stream.Beat{Head: at.Head}); err != stream.ErrFenced {
		t.Errorf("the first origin writes again: %v, want %v", err, stream.ErrFenced)
	}
}

// TestNewEpoch: after a restore a stream with another name begins, and a follower of the old
// one notices.
func TestNewEpoch(t *testing.T) {
	server := cachetest.StartRedis(t)
	f := newFixture(t, server.URL, server.URL)
	f.check("before")
	old := f.key("log")
	f.edge.mu.Lock()
	f.edge.problems = nil
	f.edge.mu.Unlock()
	if err := f.store.RenameLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the edge sees another log", func() bool {
		f.edge.mu.Lock()
		defer f.edge.mu.Unlock()
		return len(f.edge.problems) > 0
	})
	f.edge.mu.Lock()
	f.edge.problems = nil
	f.edge.mu.Unlock()
	second := newFollower(t, f.log, server.URL)
	waittest.Until(t, "an edge follows the new epoch", second.streaming.Load)
	if ttl := server.Do("TTL", old); strings.HasPrefix(ttl, ":-") {
		t.Errorf("the stream of the old epoch stays forever: TTL %q", ttl)
	}
	t.Cleanup(func() { f.edge.problems = nil }) // it goes on with the old name
}

// TestMissingEntry: an edge stops using a stream that lacks an event of the origin, though its beat goes on: who can
// write to Redis could hide purges.
func TestMissingEntry(t *testing.T) {
	server := cachetest.StartRedis(t)
	f := newFixture(t, server.URL, server.URL)
	f.check("before")
	w, err := stream.NewWriter(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	at, err := f.store.LogStatus(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var lying sync.WaitGroup
	defer func() { stop(); lying.Wait(); _ = w.Close() }()
	lying.Go(func() { // with a later token than the mirror has, and no entries
		last := int64(-1)
		for timeout.Sleep(ctx, 100*time.Millisecond) == nil {
			if top, err := w.Append(ctx, at.Name, 99, last, nil, stream.Beat{Head: at.Head}); err == nil {
				last = top
			}
		}
	})
	waittest.Until(t, "the mirror is fenced", func() bool { return f.mirror.Status().Fence == 0 })
	f.want = nil
	f.emit(fieldmark.EventBrandAudited)
	edge := followFrom(t, f.log, server.URL, at.Name, fieldmark.EventCursor{Number: at.Head})
	emitted := time.Now()
	waittest.Until(t, "the edge distrusts the stream", func() bool {
		// On a machine that stalls for seconds the edge may have polled, and so have the event.
		if time.Since(emitted) > 20*time.Second && edge.at.Load() > at.Head {
			f.emit(fieldmark.EventBrandAudited)
			emitted = time.Now()
		}
		return edge.fallen(eventlog.Mismatch)
	})
	waittest.Until(t, "the edge has the events", func() bool { return edge.at.Load() >= f.want[len(f.want)-1] })
	edge.mu.Lock()
	defer edge.mu.Unlock()
	if !slices.Equal(edge.seen, f.want) {
		t.Errorf("the edge has seen %v, want %v", edge.seen, f.want)
	}
}

// TestLargeEvent: an event that is too large for an entry is left out of the stream, and edges read it from the origin.
func TestLargeEvent(t *testing.T) {
	server := cachetest.StartRedis(t)
	f := newFixture(t, server.URL, server.URL)
	f.check("before")
	gaps := f.edge.gaps.Load()
	tags := []fieldmark.Tag{fieldmark.TagBrand("acme"), "site:x"}
	// An edge that polls just then, as on a machine that stalls for seconds, sees no gap.
	for try := 0; f.edge.gaps.Load() == gaps; try++ {
		if try == 10 {
			t.Fatal("the edge has seen no gap in the stream")
		}
		waittest.Until(t, "the edge follows the stream", f.edge.streaming.Load)
		err := f.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			e := store.Event{Event: fieldmark.Event{Type: fieldmark.EventBrandAudited, Brand: "acme", Tags: tags},
				Subject: "subject"}
			for i := range stream.MaxEntry / 8 {
				e.Tags = append(e.Tags, fieldmark.Tag(fmt.Sprint("large:", i)))
			}
			number, err := event.Emit(ctx, tx, "", e, map[string]string{})
			f.want = append(f.want, number)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		f.check("after a large event")
	}
	if all := server.Do("XRANGE", f.key("log"), "-", "+"); strings.Contains(all, "large:") {
		t.Error("the stream has the large event")
	}
	waittest.Until(t, "the edge follows the stream", f.edge.streaming.Load)
	f.check("in the end")
}
