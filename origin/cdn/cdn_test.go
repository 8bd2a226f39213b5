package cdn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixture is an origin that purges CDNs on the loopback network.
type fixture struct {
	*origin.Service
	t     testing.TB
	store *store.Store
	stop  func()
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t: t, store: storetest.Open(t, storetest.New(t))}
	f.Service = f.service(netip.MustParsePrefix("127.0.0.0/8"))
	f.start()
	return f
}

func (f *fixture) service(allow ...netip.Prefix) *origin.Service {
	f.t.Helper()
	client := safehttp.New(safehttp.Config{Allow: allow})
	f.t.Cleanup(client.CloseIdle)
	s, err := origin.New(origin.Config{Store: f.store, Secret: []byte(strings.Repeat("s", 32)), CDNHTTP: client})
	must(f.t, err)
	return s
}

// start runs the background jobs until stop.
func (f *fixture) start() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.t.Context()))
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) { // it had not begun
			must(f.t, err)
		}
	})
	f.stop = stop
	f.t.Cleanup(stop)
}

func (f *fixture) put(name string, r fieldmark.CDNRequest) {
	f.t.Helper()
	_, err := f.CDNs.Put(f.t.Context(), name, r)
	must(f.t, err)
}

func (f *fixture) cdn(name string) fieldmark.CDN {
	f.t.Helper()
	all, err := f.CDNs.List(f.t.Context())
	must(f.t, err)
	i := slices.IndexFunc(all, func(c fieldmark.CDN) bool { return c.Name == name })
	if i < 0 {
		f.t.Fatalf("there is no CDN %s", name)
	}
	return all[i]
}

// change appends an event that purges tags.
func (f *fixture) change(tags ...fieldmark.Tag) int64 {
	f.t.Helper()
	p, err := f.Service.Purge(f.t.Context(), "", fieldmark.PurgeRequest{Tags: tags})
	must(f.t, err)
	return p.Event
}

func (f *fixture) until(what string, ok func() bool) {
	f.t.Helper()
	if !waittest.Poll(ok) {
		f.t.Fatalf("waited %v until %s: %+v", waittest.Limit, what, f.list())
	}
}

func (f *fixture) list() []fieldmark.CDN {
	all, err := f.CDNs.List(f.t.Context())
	must(f.t, err)
	return all
}

// call is a purge that an API received.
type call struct {
	keys []string
	soft bool
	all  bool
}

// api is the API of Fastly and of Cloudflare, with their limits. It records every purge.
type api struct {
	*httptest.Server
	mu    sync.Mutex
	calls []call
	// fail answers a request in place of the API and reports whether it did; nil: never
	fail func(w http.ResponseWriter, n int) bool
	seen int // requests, also those that failed
}

const token = "purge-only"

func newAPI(t testing.TB) *api {
	a := &api{}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen++
	if a.fail != nil && a.fail(w, a.seen) {
		return
	}
	var asked struct {
		Keys       []string `json:"surrogate_keys"`
		Tags       []string `json:"tags"`
		Everything bool     `json:"purge_everything"`
	}
	if err == nil {
		err = json.Unmarshal(body, &asked)
	}
	most, accepted := 256, r.Header.Get("Fastly-Key") == token && r.URL.Path == "/service/SU1Z0isx/purge"
	if asked.Tags != nil || asked.Everything {
		most, accepted = 100, r.Header.Get("Authorization") == "Bearer "+token &&
			r.URL.Path == "/zones/0a1b/purge_cache"
	}
	keys := append(asked.Keys, asked.Tags...)
	switch {
	case err != nil || r.Method != http.MethodPost || len(keys) > most || len(keys) == 0 && !asked.Everything:
		w.WriteHeader(http.StatusBadRequest)
		return
	case !accepted:
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	a.calls = append(a.calls, call{keys, r.Header.Get("Fastly-Soft-Purge") == "1", asked.Everything})
	fmt.Fprint(w, `{"success":true,"errors":[]}`)
}

func (a *api) setFail(fail func(w http.ResponseWriter, n int) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail, a.seen = fail, 0
}

func (a *api) requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen
}

// purged returns how often a key was purged, and the order in which brands were first.
func (a *api) purged() (times map[string]int, order []string, everything int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	times = map[string]int{}
	for _, c := range a.calls {
		if c.all || slices.Equal(c.keys, []string{fieldmark.KeyAll}) {
			everything++
		}
		for _, key := range c.keys {
			if times[key]++; times[key] == 1 && strings.HasPrefix(key, "brand-") {
				order = append(order, key)
			}
		}
	}
	return times, order, everything
}

func (a *api) fastly() fieldmark.CDNRequest {
	return fieldmark.CDNRequest{Token: token, CDNSettings: fieldmark.CDNSettings{Kind: fieldmark.CDNFastly,
		URLs: []string{a.URL}, Zone: "SU1Z0isx"}}
}

func (a *api) cloudflare() fieldmark.CDNRequest {
	return fieldmark.CDNRequest{Token: token, CDNSettings: fieldmark.CDNSettings{Kind: fieldmark.CDNCloudflare,
		URLs: []string{a.URL}, Zone: "0a1b", Plan: "enterprise"}}
}

func brandTag(n int) fieldmark.Tag {
	return fieldmark.TagBrand(fieldmark.Slug(fmt.Sprintf("b-%04d", n)))
}

// TestPurgesInOrder: each change is purged in the order of events, at once and again, in requests that
// the API accepts, whatever fails in between.
func TestPurgesInOrder(t *testing.T) {
	t.Parallel()
	const changes = 300
	answer := func(status int, body string) func(http.ResponseWriter, int) bool {
		return func(w http.ResponseWriter, n int) bool {
			if n > 3 {
				return false
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return true
		}
	}
	failures := map[string]func(http.ResponseWriter, int) bool{
		"nothing":                 nil,
		"500":                     answer(500, ""),
		"429 without Retry-After": answer(429, ""),
		"429": func(w http.ResponseWriter, n int) bool {
			w.Header().Set("Retry-After", "1")
			return answer(429, "")(w, n+2)
		},
		"cut connections": func(_ http.ResponseWriter, n int) bool {
			if n <= 3 {
				panic(http.ErrAbortHandler)
			}
			return false
		},
	}
	for name, fail := range failures {
		for kind, request := range map[string]func(*api) fieldmark.CDNRequest{"fastly": (*api).fastly,
			"cloudflare": (*api).cloudflare} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				f, a := newFixture(t), newAPI(t)
				f.put("cdn", request(a))
				a.setFail(fail)
				var last int64
				for i := 0; i < changes; i += fieldmark.MaxPurgeTags {
					var tags []fieldmark.Tag
					for j := range fieldmark.MaxPurgeTags {
						tags = append(tags, brandTag(i+j))
					}
					last = f.change(tags...)
				}
				f.until("all is purged twice", func() bool { return f.cdn("cdn").Event == last })
				times, order, everything := a.purged()
				for i := range changes {
					if key, _ := brandTag(i).SurrogateKey(); times[key] < 2 || order[i] != key {
						t.Fatalf("%s: purged %d times, and %s at its place", key, times[key], order[i])
					}
				}
				if everything != 0 || times["board"] < 2 {
					t.Errorf("everything was purged %d times, want 0; board %d times, want 2", everything,
						times["board"])
				}
				if c := f.cdn("cdn"); c.State != fieldmark.CDNActive || c.LastError != "" || c.FailingSince != nil {
					t.Errorf("%+v, want it active", c)
				}
			})
		}
	}
}

// TestSuccessFalse: Cloudflare reports failures with status 200. A request is divided, and a failure of
// everything does not become a storm of requests.
func TestSuccessFalse(t *testing.T) {
	t.Parallel()
	f, a := newFixture(t), newAPI(t)
	f.put("cdn", a.cloudflare())
	a.setFail(func(w http.ResponseWriter, _ int) bool {
		fmt.Fprint(w, `{"success":false,"errors":[{"code":1100,"message":"Failed to purge"}]}`)
		return true
	})
	last := f.change(brandTag(1), brandTag(2), brandTag(3))
	f.until("it fails", func() bool { return f.cdn("cdn").State == fieldmark.CDNFailing })
	if c := f.cdn("cdn"); c.LastError != "purge: Cloudflare reports: 1100 Failed to purge" || c.Event >= last {
		t.Errorf("%+v, want the error of Cloudflare and an earlier event", c)
	}
	a.setFail(nil)
	f.until("it is purged", func() bool { return f.cdn("cdn").Event == last })
	if times, _, _ := a.purged(); times["brand-b-0003"] < 2 {
		t.Errorf("purged %v, want each twice", times)
	}
}

// TestRefusedToken: a refused token stops all requests until a test succeeds or the token is replaced.
// Nothing is lost meanwhile.
func TestRefusedToken(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 403} {
		f, a := newFixture(t), newAPI(t)
		f.put("cdn", a.fastly())
		a.setFail(func(w http.ResponseWriter, _ int) bool { w.WriteHeader(status); return true })
		f.change(brandTag(1))
		f.until("the token is refused", func() bool { return f.cdn("cdn").State == fieldmark.CDNRefused })
		f.change(brandTag(2))
		r, err := f.CDNs.Test(t.Context(), "cdn")
		if err != nil || r.OK || !strings.Contains(r.Error, "refuses the token") {
			t.Errorf("test: %+v %v, want a refusal", r, err)
		}
		if n := a.requests(); n != 2 { // the purge and the test
			t.Errorf("%d: %d requests, want 2", status, n)
		}
		issues, err := f.Monitor.Issues(t.Context())
		must(t, err)
		refused := 0
		for _, i := range issues.Data {
			if i.Code == fieldmark.IssueCDNRefused && i.Subject == "cdn" {
				refused++
			}
		}
		if refused != 1 {
			t.Errorf("%d issues say that the token was refused, want 1: %+v", refused, issues.Data)
		}
		a.setFail(nil)
		if r, err := f.CDNs.Test(t.Context(), "cdn"); err != nil || !r.OK {
			t.Errorf("test: %+v %v, want success", r, err)
		}
		f.until("both changes are purged", func() bool {
			times, _, _ := a.purged()
			return times["brand-b-0001"] >= 2 && times["brand-b-0002"] >= 2
		})
		f.stop()
	}
}

// TestHang: an API that does not answer delays a purge and loses none.
func TestHang(t *testing.T) {
	t.Parallel()
	f, a := newFixture(t), newAPI(t)
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
			a.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(hanging.Close)
	r := a.fastly()
	r.URLs = []string{hanging.URL}
	f.put("cdn", r)
	last := f.change(brandTag(1))
	f.until("it fails", func() bool { return f.cdn("cdn").State == fieldmark.CDNFailing })
	close(release)
	f.until("it is purged", func() bool { return f.cdn("cdn").Event == last })
}

// TestRestart: another process continues after the last purge that was sent twice.
func TestRestart(t *testing.T) {
	t.Parallel()
	f, a := newFixture(t), newAPI(t)
	f.put("cdn", a.fastly())
	f.stop()
	last := f.change(brandTag(1))
	f.start()
	f.until("it is purged", func() bool { return f.cdn("cdn").Event == last })
	if times, _, everything := a.purged(); times["brand-b-0001"] != 2 || everything != 0 {
		t.Errorf("purged %v, and everything %d times; want the brand twice", times, everything)
	}
}

// TestLostLog: with another log, and behind its tail, everything is purged once, and the list of issues
// says so.
func TestLostLog(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(context.Context, *store.Tx, *store.CDN) error{
		"another log": func(_ context.Context, _ *store.Tx, c *store.CDN) error {
			c.Log = "another"
			return nil
		},
		"ahead of the log": func(_ context.Context, _ *store.Tx, c *store.CDN) error {
			c.At.Number += 1000
			return nil
		},
		"no longer kept": func(ctx context.Context, tx *store.Tx, c *store.CDN) error {
			c.At = fieldmark.EventCursor{}
			_, err := tx.PruneEvents(ctx, time.Now().Add(time.Hour), 100)
			return err
		},
		"another event": func(_ context.Context, _ *store.Tx, c *store.CDN) error {
			c.At.ID = "evt_00000000000000000000000000"
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, a := newFixture(t), newAPI(t)
			f.change(brandTag(1))
			f.change(brandTag(1))
			f.put("cdn", a.fastly())
			f.stop()
			must(t, f.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				c, err := tx.CDN(ctx, "cdn")
				if err != nil {
					return err
				}
				if err := lose(ctx, tx, &c); err != nil {
					return err
				}
				if err := tx.DeleteCDN(ctx, "cdn"); err != nil { // the position of a row that exists is kept
					return err
				}
				return tx.PutCDN(ctx, &c)
			}))
			// Another process: this one may still have events in memory that the database no longer has.
			f.Service = f.service(netip.MustParsePrefix("127.0.0.0/8"))
			f.start()
			f.until("everything is purged", func() bool { return f.cdn("cdn").EmptiedAt != nil })
			last := f.change(brandTag(2))
			f.until("it goes on", func() bool { return f.cdn("cdn").Event == last })
			if times, _, everything := a.purged(); everything != 1 || times["brand-b-0001"] != 0 ||
				times["brand-b-0002"] != 2 {
				t.Errorf("purged %v, and everything %d times; want once", times, everything)
			}
			issues, err := f.Monitor.Issues(t.Context())
			must(t, err)
			if !slices.ContainsFunc(issues.Data, func(i fieldmark.Issue) bool {
				return i.Code == fieldmark.IssueCDNEmptied && strings.Contains(i.Title, f.cdn("cdn").EmptiedFor)
			}) {
				t.Errorf("no issue says it: %+v", issues.Data)
			}
		})
	}
}

// TestTemplate: any API that takes keys is purged by a template.
func TestTemplate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	type request struct{ method, path, token, body string }
	got := make(chan request, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- request{r.Method, r.URL.Path + "?" + r.URL.RawQuery, r.Header.Get("Access-Key"), string(body)}
	}))
	t.Cleanup(server.Close)
	f.put("bunny", fieldmark.CDNRequest{Token: "secret", CDNSettings: fieldmark.CDNSettings{Kind: fieldmark.CDNTemplate,
		URLs: []string{server.URL + "/purge?tag={keys}"}, Method: "PUT",
		Headers: map[string]string{"Access-Key": "{token}"}, Body: `{"objects":{keys_json}}`}})
	f.change(brandTag(1))
	want := request{"PUT", "/purge?tag=brand-b-0001,board", "secret", `{"objects":["brand-b-0001","board"]}`}
	for range 2 {
		if r := <-got; r != want {
			t.Errorf("got %+v, want %+v", r, want)
		}
	}
}

// TestSettings: what cannot work is refused, with all complaints at once; a token is never returned, and
// never sent elsewhere.
func TestSettings(t *testing.T) {
	t.Parallel()
	f, a := newFixture(t), newAPI(t)
	f.stop()
	ctx := t.Context()
	fields := func(err error) (pointers []string) {
		for _, field := range fieldmark.AsError(err).Fields {
			pointers = append(pointers, field.Pointer)
		}
		return pointers
	}
	for _, tt := range []struct {
		name string
		edit func(*fieldmark.CDNRequest)
		want []string
	}{
		{"cdn", func(r *fieldmark.CDNRequest) { r.Kind = "squid" }, []string{"/kind"}},
		{"A b", func(r *fieldmark.CDNRequest) { r.Zone, r.Token = "a/b", "a\nb" },
			[]string{"/name", "/zone", "/token"}},
		{"cdn", func(r *fieldmark.CDNRequest) { r.Token = "" }, []string{"/token"}},
		{"cdn", func(r *fieldmark.CDNRequest) { r.Plan, r.Body = "pro", "x" }, []string{"/plan", "/kind"}},
		{"cdn", func(r *fieldmark.CDNRequest) { r.URLs = []string{"ftp://a"} }, []string{"/urls/0"}},
		{"cdn", func(r *fieldmark.CDNRequest) { r.URLs = []string{"http://10.0.0.1/"} }, []string{"/urls/0"}},
		{"cdn", func(r *fieldmark.CDNRequest) { r.Kind, r.URLs, r.Zone = fieldmark.CDNVarnish, nil, "" },
			[]string{"/urls"}},
		{"cdn", func(r *fieldmark.CDNRequest) {
			r.Kind, r.Zone, r.Method, r.Headers = fieldmark.CDNTemplate, "", "GET", map[string]string{"Host": "a"}
		}, []string{"/method", "/headers", "/body"}},
		{"cdn", func(r *fieldmark.CDNRequest) { r.Kind, r.Plan = fieldmark.CDNCloudflare, "none" }, []string{"/plan"}},
	} {
		r := a.fastly()
		tt.edit(&r)
		if _, err := f.CDNs.Put(ctx, tt.name, r); !slices.Equal(fields(err), tt.want) {
			t.Errorf("%+v: %v, want complaints about %v", r.CDNSettings, err, tt.want)
		}
	}
	f.put("cdn", a.fastly())
	text, err := json.Marshal(f.list())
	must(t, err)
	if strings.Contains(string(text), token) || !strings.Contains(string(text), `"hasToken":true`) {
		t.Errorf("the list shows the token: %s", text)
	}
	again := a.fastly()
	again.Token, again.Zone = "", "other"
	f.put("cdn", again) // goes to the same address
	again.URLs = []string{strings.Replace(a.URL, "127.0.0.1", "127.0.0.2", 1)}
	if _, err := f.CDNs.Put(ctx, "cdn", again); !slices.Equal(fields(err), []string{"/token"}) {
		t.Errorf("another address without a token: %v", err)
	}
	outside := f.service()
	if _, err := outside.CDNs.Put(ctx, "cdn", a.fastly()); !slices.Equal(fields(err), []string{"/urls/0"}) {
		t.Errorf("a private address without the setting: %v", err)
	}
	must(t, f.CDNs.Delete(ctx, "cdn"))
	for name, err := range map[string]error{"delete": f.CDNs.Delete(ctx, "cdn"),
		"test": second(f.CDNs.Test(ctx, "cdn")), "purge": second(f.CDNs.Purge(ctx, "cdn"))} {
		if !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
			t.Errorf("%s without a CDN: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
