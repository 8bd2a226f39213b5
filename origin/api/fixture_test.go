package api_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/api"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
)

const nodeToken = "node-token-of-the-tests"

// world is a real origin on a database of its own, and the API in front of it.
type world struct {
	t       testing.TB
	store   *store.Store
	at      store.Config
	service *origin.Service
	handler http.Handler
	base    string // of the types of problems
	log     lockedBuffer

	creator, reader, admin string // API keys with one scope each
	stranger               string // a key of another account with both mission scopes
	operates               string // a key that plans and moves, made when it is needed
}

// lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}

func TestMain(m *testing.M) {
	// which no engine has a part in
	os.Exit(storetest.Main(m, storetest.Alone{Engine: storetest.SQLite, Tests: "TestOpenAPILint"}))
}

// newWorld starts an origin; change may alter the API's configuration.
func newWorld(t testing.TB, change func(*api.Config)) *world {
	t.Helper()
	return openWorld(t, storetest.New(t), change)
}

// openWorld starts an origin on a record that may have another one already;
// configure may alter the origin's configuration.
func openWorld(t testing.TB, at store.Config, change func(*api.Config), configure ...func(*origin.Config)) *world {
	t.Helper()
	ctx := t.Context()
	db := storetest.Open(t, at)
	w := &world{t: t, store: db, at: at}
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	client := safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(client.CloseIdle)
	config := origin.Config{Store: db, Secret: []byte(strings.Repeat("s", 32)), Log: log, HTTP: client}
	for _, f := range configure {
		f(&config)
	}
	service, err := origin.New(config)
	if err != nil {
		t.Fatalf("new service: %v", err)
	}
	if err := service.Prepare(ctx); err != nil {
		t.Fatalf("prepare: %v", err)
	}
	w.service = service
	cfg := api.Config{
		Service: service, NodeToken: nodeToken, PublicAPI: true, Version: "test",
		Log: log,
	}
	if change != nil {
		change(&cfg)
	}
	w.base = strings.TrimSuffix(cfg.BaseURL, "/")
	if w.handler, err = api.New(cfg); err != nil {
		t.Fatalf("new API: %v", err)
	}
	w.creator = w.key(access.DefaultAccount, fieldmark.ScopeMissionCreate)
	w.reader = w.key(access.DefaultAccount, fieldmark.ScopeMissionRead)
	w.admin = w.key(access.DefaultAccount, fieldmark.ScopeAdmin)
	const other = "other"
	err = db.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.PutAccount(ctx, other, fieldmark.At(time.Now()))
	})
	if err != nil {
		t.Fatalf("put account: %v", err)
	}
	w.stranger = w.key(other, fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead)
	return w
}

func (w *world) key(account string, scopes ...fieldmark.Scope) string {
	w.t.Helper()
	k, err := w.service.Access.Keys.Create(w.t.Context(), account, fieldmark.KeyRequest{Name: "test", Scopes: scopes,
		ExpiresInDays: 30})
	if err != nil {
		w.t.Fatalf("create key: %v", err)
	}
	return k.Token
}

// ask is a request in the making.
type ask struct {
	method, path, key, body string
	header                  map[string]string
}

// send serves a request and returns the answer.
func (w *world) send(a ask) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(a.method, a.path, strings.NewReader(a.body))
	if a.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if a.key != "" {
		r.Header.Set("Authorization", "Bearer "+a.key)
	}
	for name, value := range a.header {
		r.Header.Set(name, value)
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return rec
}

// get, post and so on are the requests that must succeed.
func (w *world) must(status int, a ask, out any) *httptest.ResponseRecorder {
	w.t.Helper()
	rec := w.send(a)
	if rec.Code != status {
		w.t.Fatalf("%s %s %s: status %d, want %d: %s", a.method, a.path, a.body, rec.Code, status, rec.Body)
	}
	if out != nil {
		if err := json.Unmarshal(rec.Body.Bytes(), out); err != nil {
			w.t.Fatalf("%s %s: %v in %s", a.method, a.path, err, rec.Body)
		}
	}
	return rec
}

// problem reads the problem document of an answer and holds it to its form.
func (w *world) problem(rec *httptest.ResponseRecorder) fieldmark.Problem {
	w.t.Helper()
	var p fieldmark.Problem
	if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil {
		w.t.Fatalf("not a problem document: %s (%v)", rec.Body, err)
	}
	if got := rec.Header().Get("Content-Type"); got != fieldmark.ProblemType {
		w.t.Errorf("Content-Type of a problem = %q, want %q", got, fieldmark.ProblemType)
	}
	id := rec.Header().Get(fieldmark.HeaderRequestID)
	if p.Status != rec.Code || p.RequestID != id || id == "" || p.Type != w.base+"/problems/"+string(p.Code) ||
		p.Title != p.Code.Title() {
		w.t.Errorf("problem %+v does not agree with status %d and request id %q", p, rec.Code, id)
	}
	if got := rec.Header().Get("Cache-Control"); got != "no-store" {
		w.t.Errorf("Cache-Control of a problem = %q, want no-store", got)
	}
	return p
}

// exec runs SQL on the database behind the origin's back, as a program with a
// defect would.
func (w *world) exec(text string) {
	w.t.Helper()
	driver, source := "sqlite", "file:"+url.PathEscape(w.at.Path)+"?_pragma=busy_timeout(5000)"
	if w.at.URL != "" {
		driver, source = "pgx", w.at.URL
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(w.t.Context(), text); err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
}

// missions counts what is stored.
func (w *world) missions() int {
	w.t.Helper()
	page, err := w.service.Missions.List(w.t.Context(), "", fieldmark.MissionFilter{Limit: fieldmark.MaxMissionLimit})
	if err != nil {
		w.t.Fatalf("list missions: %v", err)
	}
	return len(page.Data)
}
