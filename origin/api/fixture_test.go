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
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
)

const nodeToken = "node-token-of-the-tests"

// fixture is an origin with a separate database, and its API.
type fixture struct {
	t       testing.TB
	store   *store.Store
	at      store.Config
	service *origin.Service
	handler http.Handler
	base    string // of the types of problems
	log     lockedBuffer

	creator, reader, admin string // API keys with one scope each
	otherKey               string // of another account, with both mission scopes
	operates               string // a key with the scope mission:operate, created when it is needed
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
	// which uses no database
	os.Exit(storetest.Main(m, storetest.Alone{Engine: storetest.SQLite, Tests: "TestOpenAPILint"}))
}

// newFixture starts an origin; change may change the configuration of the API.
func newFixture(t testing.TB, change func(*api.Config)) *fixture {
	t.Helper()
	return openFixture(t, storetest.New(t), change)
}

// openFixture starts an origin with a database that other origins may use too; configure may change the
// configuration of the origin.
func openFixture(t testing.TB, at store.Config, change func(*api.Config), configure ...func(*origin.Config)) *fixture {
	t.Helper()
	ctx := t.Context()
	db := storetest.Open(t, at)
	fx := &fixture{t: t, store: db, at: at}
	log := slog.New(slog.NewTextHandler(&fx.log, nil))
	client := safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(client.CloseIdle)
	config := origin.Config{Store: db, Secret: []byte(strings.Repeat("s", 32)), Log: log, HTTP: client,
		Objects: objects.NewFolder(t.TempDir())}
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
	fx.service = service
	cfg := api.Config{
		Service: service, NodeToken: nodeToken, PublicAPI: true, Version: "test",
		Log: log,
	}
	if change != nil {
		change(&cfg)
	}
	fx.base = strings.TrimSuffix(cfg.BaseURL, "/")
	if fx.handler, err = api.New(cfg); err != nil {
		t.Fatalf("new API: %v", err)
	}
	fx.creator = fx.key(access.DefaultAccount, fieldmark.ScopeMissionCreate)
	fx.reader = fx.key(access.DefaultAccount, fieldmark.ScopeMissionRead)
	fx.admin = fx.key(access.DefaultAccount, fieldmark.ScopeAdmin)
	const other = "other"
	err = db.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.PutAccount(ctx, other, fieldmark.At(time.Now()))
	})
	if err != nil {
		t.Fatalf("put account: %v", err)
	}
	fx.otherKey = fx.key(other, fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead)
	return fx
}

func (fx *fixture) key(account string, scopes ...fieldmark.Scope) string {
	fx.t.Helper()
	k, err := fx.service.Access.Keys.Create(fx.t.Context(), account, fieldmark.KeyRequest{Name: "test", Scopes: scopes,
		ExpiresInDays: 30})
	if err != nil {
		fx.t.Fatalf("create key: %v", err)
	}
	return k.Token
}

// request is a request to the API.
type request struct {
	method, path, key, body string
	header                  map[string]string
}

// send serves a request and returns the response.
func (fx *fixture) send(a request) *httptest.ResponseRecorder {
	fx.t.Helper()
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
	fx.handler.ServeHTTP(rec, r)
	return rec
}

// get, post and so on are the requests that mustSend succeed.
func (fx *fixture) mustSend(status int, a request, out any) *httptest.ResponseRecorder {
	fx.t.Helper()
	rec := fx.send(a)
	if rec.Code != status {
		fx.t.Fatalf("%s %s %s: status %d, want %d: %s", a.method, a.path, a.body, rec.Code, status, rec.Body)
	}
	if out != nil {
		if err := json.Unmarshal(rec.Body.Bytes(), out); err != nil {
			fx.t.Fatalf("%s %s: %v in %s", a.method, a.path, err, rec.Body)
		}
	}
	return rec
}

// problem decodes and validates the problem document of a response.
func (fx *fixture) problem(rec *httptest.ResponseRecorder) fieldmark.Problem {
	fx.t.Helper()
	var p fieldmark.Problem
	if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil {
		fx.t.Fatalf("not a problem document: %s (%v)", rec.Body, err)
	}
	if got := rec.Header().Get("Content-Type"); got != fieldmark.ProblemType {
		fx.t.Errorf("Content-Type of a problem = %q, want %q", got, fieldmark.ProblemType)
	}
	id := rec.Header().Get(fieldmark.HeaderRequestID)
	if p.Status != rec.Code || p.RequestID != id || id == "" || p.Type != fx.base+"/problems/"+string(p.Code) ||
		p.Title != p.Code.Title() {
		fx.t.Errorf("problem %+v does not agree with status %d and request id %q", p, rec.Code, id)
	}
	if got := rec.Header().Get("Cache-Control"); got != "no-store" {
		fx.t.Errorf("Cache-Control of a problem = %q, want no-store", got)
	}
	return p
}

// database opens the database directly.
func (fx *fixture) database() *sql.DB {
	fx.t.Helper()
	driver, source := "sqlite", "file:"+url.PathEscape(fx.at.Path)+"?_pragma=busy_timeout(5000)"
	if fx.at.URL != "" {
		driver, source = "pgx", fx.at.URL
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		fx.t.Fatal(err)
	}
	return db
}

// read reads one row of the database directly.
func (fx *fixture) read(text string, into ...any) {
	fx.t.Helper()
	db := fx.database()
	defer db.Close()
	if err := db.QueryRowContext(fx.t.Context(), text).Scan(into...); err != nil {
		fx.t.Fatalf("%s: %v", text, err)
	}
}

// exec runs SQL on the database directly, as a defective program would.
func (fx *fixture) exec(text string) {
	fx.t.Helper()
	db := fx.database()
	defer db.Close()
	if _, err := db.ExecContext(fx.t.Context(), text); err != nil {
		fx.t.Fatalf("%s: %v", text, err)
	}
}

// missions counts the stored missions.
func (fx *fixture) missions() int {
	fx.t.Helper()
	page, err := fx.service.Missions.List(fx.t.Context(), "", fieldmark.MissionFilter{Limit: fieldmark.MaxMissionLimit})
	if err != nil {
		fx.t.Fatalf("list missions: %v", err)
	}
	return len(page.Data)
}
