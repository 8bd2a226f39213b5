package origin_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

var appSecret = bytes.Repeat([]byte("s"), 32)

func TestMain(m *testing.M) {
	os.Exit(storetest.Main(m,
		// Leases in a shared database belong to processes that may be running.
		storetest.Alone{Engine: storetest.SQLite, Tests: "TestLeasesAreFreedAtStart"},
		// A database file is used by one process at a time.
		storetest.Alone{Engine: storetest.Postgres, Tests: "TestTwoOrigins.*|TestLeasesOfOthers"},
	))
}

// fixture is a service with a separate database.
type fixture struct {
	*origin.Service
	Store *store.Store
	At    store.Config
	Log   *locked
}

var loopbackNet = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func loopback() *safehttp.Client {
	return safehttp.New(safehttp.Config{Allow: loopbackNet,
		ConnsPerHost: webhook.MaxSending})
}

// newFixture may be used in a synctest bubble: it shares no state from outside.
func newFixture(t testing.TB) *fixture {
	t.Helper()
	return openFixture(t, storetest.New(t))
}

// openFixture opens an existing database, as a second origin would.
func openFixture(t testing.TB, cfg store.Config, edits ...func(*origin.Config)) *fixture {
	t.Helper()
	st := storetest.Open(t, cfg)
	client := loopback()
	auditor, err := audit.New(audit.Config{HTTP: client, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := &fixture{Store: st, At: cfg, Log: &locked{}}
	config := origin.Config{
		Store: st, Secret: appSecret, HTTP: client, Auditor: auditor,
		BuiltIn: []module.BuiltIn{{Ref: moduleRef, Bytes: testModule}}, Log: slog.New(slog.NewTextHandler(w.Log, nil)),
	}
	for _, edit := range edits {
		edit(&config)
	}
	if w.Service, err = origin.New(config); err != nil {
		t.Fatal(err)
	}
	if err := w.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.CloseIdle()
		if t.Failed() {
			t.Logf("log:\n%s", w.logged())
		}
	})
	return w
}

// locked is a buffer that several goroutines may write to.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// logged returns the log so far.
func (w *fixture) logged() string {
	w.Log.mu.Lock()
	defer w.Log.mu.Unlock()
	return w.Log.b.String()
}

// run runs the workers until the returned function is called.
func (w *fixture) run(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

var (
	testModule = []byte("\x00asm: any bytes will do here")
	moduleRef  = fieldmark.ModuleRef{Name: "geo-readiness", Version: "1.0.0",
		Digest: fieldmark.DigestOf(sha256.Sum256(testModule))}
)

func wantCode(t testing.TB, what string, err error, want fieldmark.Code) *fieldmark.Error {
	t.Helper()
	if !fieldmark.IsCode(err, want) {
		t.Fatalf("%s: %v, want code %s", what, err, want)
	}
	return fieldmark.AsError(err)
}

// wantFields checks that an error names exactly these pointers.
func wantFields(t testing.TB, what string, err error, want ...string) {
	t.Helper()
	e := wantCode(t, what, err, fieldmark.CodeValidationFailed)
	var got []string
	for _, f := range e.Fields {
		got = append(got, f.Pointer)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s: complaints about %v, want %v", what, got, want)
	}
}

// events returns the whole log.
func (w *fixture) events(t testing.TB) []fieldmark.Event {
	t.Helper()
	page, err := w.Events.After(context.Background(), fieldmark.EventCursor{Number: 0}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return page.Events
}

// types lists the types of the events after a number, except those of SLA timers.
func (w *fixture) types(t testing.TB, after int64) string {
	t.Helper()
	page, err := w.Events.After(context.Background(), fieldmark.EventCursor{Number: after}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range page.Events {
		if !strings.HasPrefix(string(e.Type), "sla.") {
			kinds = append(kinds, string(e.Type))
		}
	}
	return strings.Join(kinds, " ")
}

func (w *fixture) head(t testing.TB) int64 {
	t.Helper()
	n, err := w.Events.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNewComplainsAtOnce(t *testing.T) {
	_, err := origin.New(origin.Config{Secret: []byte("short")})
	for _, want := range []string{"a store is required", "5 bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, want a complaint about %q", err, want)
		}
	}
}

func TestPrepareTwice(t *testing.T) {
	w := newFixture(t)
	before := w.head(t)
	if err := w.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := w.head(t); before != 1 || after != 1 {
		t.Errorf("events after preparing once and twice: %d, %d; want 1, 1", before, after)
	}
	if err := w.Health(t.Context()); err != nil {
		t.Errorf("health: %v", err)
	}
}

func TestActivateModule(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	other := []byte("another module")
	ref := fieldmark.ModuleRef{Name: "other", Version: "2", Digest: fieldmark.DigestOf(sha256.Sum256(other))}
	wantFields(t, "wrong digest", w.Modules.ActivateBytes(ctx, moduleRef, other), "/digest")
	wantFields(t, "no name", w.Modules.ActivateBytes(ctx, fieldmark.ModuleRef{Digest: ref.Digest}, other), "/name",
		"/version")
	wantCode(t, "never seen", w.Modules.ActivateBytes(ctx, ref, nil), fieldmark.CodeNotFound)
	for _, step := range []struct {
		ref   fieldmark.ModuleRef
		bytes []byte
		head  int64
	}{
		{moduleRef, testModule, 1}, // already active
		{ref, other, 2},
		{moduleRef, nil, 3}, // back
	} {
		if err := w.Modules.ActivateBytes(ctx, step.ref, step.bytes); err != nil {
			t.Fatal(err)
		}
		active, err := w.Modules.Active(ctx)
		if active != step.ref || err != nil || w.head(t) != step.head {
			t.Errorf("after activating %s: %v at %d, %v; want it at %d", step.ref.Name, active, w.head(t), err,
				step.head)
		}
	}
	if got, err := w.Modules.Body(ctx, ref.Digest); !bytes.Equal(got, other) || err != nil {
		t.Errorf("Module = %q, %v; want %q", got, err, other)
	}
	last := w.events(t)[2]
	if last.Type != fieldmark.EventModuleActivated || len(last.Tags) != 1 || last.Tags[0] != fieldmark.TagModule {
		t.Errorf("event of the activation: %+v", last)
	}
	_, err := w.Modules.Body(ctx, "sha256:00")
	wantCode(t, "unknown digest", err, fieldmark.CodeNotFound)
}

func TestEventsWait(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	page, err := w.Events.After(ctx, fieldmark.EventCursor{Number: 0}, 0, 0)
	if err != nil || page.Head != 1 || page.Oldest != 1 || page.Log == "" || len(page.Events) != 1 {
		t.Fatalf("first page: %+v, %v", page, err)
	}
	if ahead, err := w.Events.After(ctx, fieldmark.EventCursor{Number: 99}, time.Hour, 0); err != nil ||
		ahead.Head != 1 || len(ahead.Events) != 0 {
		t.Errorf("a follower of another log: %+v, %v; want an empty page at once", ahead, err)
	}
	woken := make(chan fieldmark.EventPage)
	go func() {
		page, err := w.Events.After(ctx, fieldmark.EventCursor{Number: 1}, 25*time.Second, 0)
		if err != nil {
			t.Errorf("wait: %v", err)
		}
		woken <- page
	}()
	putBrand(t, w, acme)
	select {
	case page := <-woken:
		if len(page.Events) != 1 || page.Events[0].Type != fieldmark.EventBrandChanged || page.Events[0].Number != 2 {
			t.Errorf("woken with %+v", page)
		}
	case <-time.After(2 * time.Minute): // only a failure takes so long
		t.Error("the wait did not end")
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := w.Events.After(gone, fieldmark.EventCursor{Number: 2}, time.Second, 0); err == nil {
		t.Error("a wait nobody is interested in any more ended without error")
	}
}
