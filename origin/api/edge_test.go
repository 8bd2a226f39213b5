package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
)

func (fx *fixture) putBrand(slug fieldmark.Slug) {
	fx.t.Helper()
	_, _, err := fx.service.Brands.Put(fx.t.Context(), fieldmark.Brand{
		Slug: slug, Name: "Brand " + string(slug), URL: "https://" + string(slug) + ".example/", Niche: "tools",
		Language: "en", Public: true,
	})
	if err != nil {
		fx.t.Fatalf("put brand %s: %v", slug, err)
	}
}

func TestFacts(t *testing.T) {
	fx := newFixture(t, nil)
	fx.putBrand("acme")
	fx.putBrand("best")
	head, err := fx.service.Events.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rec := fx.mustSend(200, request{method: "GET", path: fieldmark.PathInternalFacts, key: nodeToken}, nil)
	if got := rec.Header().Get("Content-Type"); got != "application/x-ndjson" {
		t.Errorf("Content-Type = %q, want application/x-ndjson", got)
	}
	if n := strings.Count(rec.Body.String(), "\n"); n != 2 {
		t.Errorf("%d lines, want 2: %s", n, rec.Body)
	}
	var state fieldmark.BrandState
	one := fx.mustSend(200, request{method: "GET", path: fieldmark.PathInternalFacts + "/best", key: nodeToken}, &state)
	if state.Brand.Slug != "best" {
		t.Errorf("asked for best, got %s", state.Brand.Slug)
	}
	for _, h := range []string{rec.Header().Get(fieldmark.HeaderAsOf), one.Header().Get(fieldmark.HeaderAsOf)} {
		if h != strconv.FormatInt(head, 10) {
			t.Errorf("as of %q, want %d", h, head)
		}
	}
	for _, path := range []string{"/nobody", "/UPPER"} {
		if rec := fx.send(request{method: "GET", path: fieldmark.PathInternalFacts + path,
			key: nodeToken}); rec.Code != 404 {
			t.Errorf("facts of %s: %d, want 404", path, rec.Code)
		}
	}
	named := fieldmark.PathInternalFacts + "?slug=best&slug=nobody"
	some := fx.mustSend(200, request{method: "GET", path: named, key: nodeToken}, &state)
	if state.Brand.Slug != "best" || strings.Count(some.Body.String(), "\n") != 1 ||
		some.Header().Get(fieldmark.HeaderAsOf) != strconv.FormatInt(head, 10) {
		t.Errorf("two slugs, one of a brand: %s as of %s; want best", some.Body,
			some.Header().Get(fieldmark.HeaderAsOf))
	}
	for _, query := range []string{"?slug=UPPER", "?slug=", "?" + strings.Repeat("slug=best&", 65)} {
		fx.mustSend(400, request{method: "GET", path: fieldmark.PathInternalFacts + query, key: nodeToken}, nil)
	}
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		fx.putBrand("acme")
		var page fieldmark.EventPage
		fx.mustSend(200, request{method: "GET", path: fieldmark.PathInternalEvents + "?after=0", key: nodeToken}, &page)
		if len(page.Events) != 1 || page.Head != 1 || page.Events[0].Type != fieldmark.EventBrandChanged {
			t.Fatalf("page %+v, want one brand.changed", page)
		}
		began := time.Now()
		rec := fx.mustSend(200, request{method: "GET", path: fieldmark.PathInternalEvents + "?after=1&wait=25s",
			key: nodeToken},
			&page)
		if took := time.Since(began); took != 25*time.Second || len(page.Events) != 0 ||
			!strings.Contains(rec.Body.String(), `"events":[]`) {
			t.Errorf("nothing new: %d events after %v, want none after 25 s: %s", len(page.Events), took, rec.Body)
		}
		for _, query := range []string{"after=-1", "after=x", "wait=26s", "wait=-1s", "wait=soon", "limit=0"} {
			rec := fx.send(request{method: "GET", path: fieldmark.PathInternalEvents + "?" + query, key: nodeToken})
			if p := fx.problem(rec); rec.Code != 400 || p.Code != fieldmark.CodeInvalidParameter {
				t.Errorf("%s: %d %s, want 400 invalid_parameter", query, rec.Code, p.Code)
			}
		}
	})
}

// TestEventsForEdges: an edge gets nothing about missions, and a number up to which it has everything.
func TestEventsForEdges(t *testing.T) {
	fx := newFixture(t, nil)
	fx.putBrand("acme")
	fx.mustSend(201, request{method: "POST", path: "/api/public/v1/missions", key: fx.creator,
		body: `{"source":"crm","externalId":"1","title":"Call Ada Ames"}`}, nil)
	var page fieldmark.EventPage
	rec := fx.mustSend(200, request{method: "GET", path: fieldmark.PathInternalEvents + "?after=0&for=edge",
		key: nodeToken}, &page)
	if len(page.Events) != 1 || page.Through != 2 || page.Head != 2 || page.ThroughID == "" ||
		strings.Contains(rec.Body.String(), "Ames") {
		t.Errorf("got %s, want the event of the brand, and through 2", rec.Body)
	}
	all := fx.mustSend(200, request{method: "GET", path: fieldmark.PathInternalEvents + "?after=0",
		key: nodeToken}, nil)
	if !strings.Contains(all.Body.String(), "Ames") {
		t.Errorf("a reader of everything got %s", all.Body)
	}
	if rec := fx.send(request{method: "GET", path: fieldmark.PathInternalEvents + "?for=me",
		key: nodeToken}); rec.Code != 400 {
		t.Errorf("for=me: %d, want 400", rec.Code)
	}
}

// TestEventsShared: when many edges wait for the next event, the origin reads as much
// from the database for all of them as for one.
func TestEventsShared(t *testing.T) {
	reads := func(edges int, query string) (n int64) {
		synctest.Test(t, func(t *testing.T) {
			var read atomic.Int64
			at := storetest.New(t)
			at.Hooks.Query = func(time.Duration) { read.Add(1) }
			fx := openFixture(t, at, nil)
			fx.putBrand("acme")
			pages := make([]string, edges)
			var polls sync.WaitGroup
			for i := range pages {
				polls.Go(func() {
					rec := fx.send(request{method: "GET", key: nodeToken,
						path: fieldmark.PathInternalEvents + "?after=1&wait=25s" + query})
					pages[i] = rec.Body.String()
				})
			}
			synctest.Wait()
			read.Store(0)
			fx.putBrand("best")
			polls.Wait()
			n = read.Load()
			for i, page := range pages {
				if !strings.Contains(page, `"brand":"best"`) || page != pages[0] {
					t.Errorf("edge %d of %d got %q, want the event of best, and what the others got: %q", i, edges,
						page, pages[0])
				}
			}
		})
		return n
	}
	for _, query := range []string{"", "&for=edge"} {
		if one, fifty := reads(1, query), reads(50, query); fifty != one {
			t.Errorf("an event for 50 waiting edges takes %d reads of the database, want %d as for one", fifty, one)
		}
	}
}

// TestEventsSharedTimeouts: edges with different timeouts wait at one position. Each gets
// its response in time, also after earlier requests have ended.
func TestEventsSharedTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		fx.putBrand("acme")
		began := time.Now()
		poll := func(ctx context.Context, wait string) (time.Duration, fieldmark.EventPage, int) {
			r := httptest.NewRequest("GET", fieldmark.PathInternalEvents+"?after=1&wait="+wait, nil).WithContext(ctx)
			r.Header.Set("Authorization", "Bearer "+nodeToken)
			rec := httptest.NewRecorder()
			fx.handler.ServeHTTP(rec, r)
			var page fieldmark.EventPage
			_ = json.Unmarshal(rec.Body.Bytes(), &page) // empty for a request that was canceled
			return time.Since(began), page, len(page.Events)
		}
		gone, leave := context.WithCancel(t.Context())
		var polls sync.WaitGroup
		polls.Go(func() {
			defer func() {
				// the response has started: the origin can only close the connection
				if v := recover(); v != http.ErrAbortHandler {
					t.Errorf("the edge that left: panic %v, want %v", v, http.ErrAbortHandler)
				}
				if took := time.Since(began); took != time.Second {
					t.Errorf("the edge that left: over after %v, want 1s", took)
				}
			}()
			poll(gone, "20s")
		})
		polls.Go(func() {
			if took, page, n := poll(t.Context(), "2s"); took != 2*time.Second || n != 0 || page.Head != 1 {
				t.Errorf("the edge that waits 2s: %d events and head %d after %v, want 0 and 1 after 2s", n, page.Head,
					took)
			}
		})
		polls.Go(func() {
			if took, _, n := poll(t.Context(), "20s"); took != 3250*time.Millisecond || n != 1 {
				t.Errorf("the edge that waits 20s: %d events after %v, want 1 after 3.25s", n, took)
			}
		})
		time.Sleep(time.Second)
		leave()
		time.Sleep(2250 * time.Millisecond) // between two polls of the log, whose distance is bounded
		fx.putBrand("best")
		polls.Wait()
	})
}

func TestModules(t *testing.T) {
	fx := newFixture(t, nil)
	if rec := fx.send(request{method: "GET", path: fieldmark.PathInternalModules, key: nodeToken}); rec.Code != 404 {
		t.Errorf("no module is active: %d, want 404", rec.Code)
	}
	module := []byte("\x00asm\x01\x00\x00\x00")
	ref := fieldmark.ModuleRef{Name: "m", Version: "1.0.0", Digest: fieldmark.DigestOf(sha256.Sum256(module))}
	if err := fx.service.Modules.ActivateBytes(t.Context(), ref, module); err != nil {
		t.Fatal(err)
	}
	var got fieldmark.ModuleRef
	fx.mustSend(200, request{method: "GET", path: fieldmark.PathInternalModules, key: nodeToken}, &got)
	if got != ref {
		t.Errorf("active module %+v, want %+v", got, ref)
	}
	rec := fx.mustSend(200, request{method: "GET", path: fieldmark.PathInternalModules + "/" + string(ref.Digest),
		key: nodeToken}, nil)
	if rec.Body.String() != string(module) || rec.Header().Get("Content-Type") != "application/wasm" {
		t.Errorf("module: %q as %s", rec.Body, rec.Header().Get("Content-Type"))
	}
	for _, digest := range []string{"sha256:00", "x", "sha256:" + strings.Repeat("0", 64)} {
		if rec := fx.send(request{method: "GET", path: fieldmark.PathInternalModules + "/" + digest,
			key: nodeToken}); rec.Code != 404 {
			t.Errorf("module %s: %d, want 404", digest, rec.Code)
		}
	}
}
