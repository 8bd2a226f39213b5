package proxy_test

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/edge/proxy"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// fleet is some edges in front of one origin that share a Redis and follow one event log.
type fleet struct {
	t     testing.TB
	redis *cachetest.Redis
	edges []*member
	asked atomic.Int64
	event atomic.Int64

	mu     sync.Mutex
	answer func(n int64, r *http.Request) *step // what the origin answers to the request with this number
}

// member is one edge.
type member struct {
	*fixture
	cache  *cache.Cache
	seen   atomic.Int64 // the newest event whose purges were applied
	shared atomic.Int64 // responses from the tier
	stop   func()       // returns once everything that it shares is in Redis
}

const fleetSecret = "the node token"

// newFleet starts n edges. timeout bounds a call to Redis: long where a busy machine must not make a difference.
func newFleet(t testing.TB, n int, timeout time.Duration) *fleet {
	return newFleetOver(t, cachetest.StartRedis(t), n, timeout)
}

// newFleetOver is newFleet with a Redis that was started outside of a synctest bubble.
func newFleetOver(t testing.TB, redis *cachetest.Redis, n int, timeout time.Duration) *fleet {
	f := &fleet{t: t, redis: redis}
	f.event.Store(1000)
	for range n {
		f.add(fleetSecret, timeout)
	}
	return f
}

// add starts another edge, which looked through the log from event 900 on.
func (f *fleet) add(secret string, timeout time.Duration) *member {
	f.t.Helper()
	r, err := cache.NewRedis(cache.RedisConfig{URL: f.redis.URL, Timeout: timeout, Secret: []byte(secret)})
	if err != nil {
		f.t.Fatal(err)
	}
	m := &member{}
	if m.cache, err = cache.New(cache.Config{Redis: r}); err != nil {
		f.t.Fatal(err)
	}
	waittest.Until(f.t, "Redis answers", func() bool { return r.Ping(f.t.Context()) == nil })
	m.cache.InvalidateBefore(900)
	m.cache.Join("log", 1000)
	m.seen.Store(f.event.Load())
	m.fixture = newFixture(f.t, proxy.Config{Shared: m.cache.SharedVariants(), AsOf: m.seen.Load, Bytes: 64 << 20,
		Fields: []string{"X-Tenant"}, Events: proxy.Events{Shared: func() { m.shared.Add(1) }}})
	m.respond = func(conn net.Conn, r *http.Request) error {
		n := f.asked.Add(1)
		f.mu.Lock()
		answer := f.answer
		f.mu.Unlock()
		return writeOrigin(conn, r.Method, answer(n, r), time.Now())
	}
	f.edges = append(f.edges, m)
	m.stop = sync.OnceFunc(func() {
		m.close()
		m.cache.Close()
		_ = r.Close() // what fails with a dead Redis is not of interest here
	})
	f.t.Cleanup(m.stop)
	return m
}

// origin sets the answer of the origin: a head, and a body that is different each time.
func (f *fleet) origin(head ...string) {
	f.respond(func(n int64, _ *http.Request) *step {
		return &step{origin: head, content: []string{fmt.Sprint("body ", n)}}
	})
}

func (f *fleet) respond(answer func(n int64, r *http.Request) *step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// get asks an edge for a path.
func (m *member) get(t testing.TB, path string, fields ...string) (*http.Response, string) {
	t.Helper()
	return m.ask(t, "GET", path, fields...)
}

func (m *member) ask(t testing.TB, method, path string, fields ...string) (*http.Response, string) {
	t.Helper()
	resp, body, _, err := m.do(method, method+" "+path+" HTTP/1.1\r\nHost: site.example\r\n"+
		strings.Join(append(fields, ""), "\r\n")+"\r\n")
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
		return &http.Response{Header: http.Header{}}, ""
	}
	return resp, body
}

// purge appends an event that changes tags, which the given edges have applied.
func (f *fleet) purge(edges []*member, tags ...string) {
	n := f.event.Add(1)
	for _, m := range edges {
		m.seen.Store(n)
		m.cache.Purge(n, tags...)
		m.proxy.Purge(false, tags...)
	}
}

// settled waits until the tier has, or has no longer, responses of so many sets.
func (f *fleet) settled(n int) {
	f.t.Helper()
	waittest.Until(f.t, fmt.Sprint("the tier has ", n), func() bool { return len(f.stored()) == n })
}

// stored returns the keys of the responses in Redis.
func (f *fleet) stored() (names []string) {
	for name := range strings.FieldsSeq(f.redis.Do("KEYS", "fieldmark1:log:p:*")) {
		if strings.HasPrefix(name, "fieldmark1:") && !strings.HasSuffix(name, ":invalidated") &&
			!strings.HasSuffix(name, ":declined") && !strings.Contains(name, ":lease:") {
			names = append(names, name)
		}
	}
	return names
}

// TestSharedCrowd: a thousand clients on ten edges cost one request to the origin if the response may be shared. If
// it may not, or if Redis fails, it is as without the tier.
func TestSharedCrowd(t *testing.T) {
	const edges, clients = 10, 1000
	for _, tt := range []struct {
		name   string
		head   string
		body   string
		fail   func(*fleet)
		asked  int64
		bodies int
	}{
		{name: "public", head: "200\nCache-Control: max-age=60", asked: 1, bodies: 1},
		{name: "private", head: "200\nCache-Control: private", asked: clients, bodies: clients},
		{name: "larger than the tier takes", head: "200\nCache-Control: max-age=60",
			body: strings.Repeat("x", cache.MaxVariantBytes), asked: edges, bodies: edges},
		{name: "Redis is dead", head: "200\nCache-Control: max-age=60", asked: edges, bodies: edges,
			fail: func(f *fleet) { f.redis.Kill() }},
		{name: "Redis hangs", head: "200\nCache-Control: max-age=60", asked: edges, bodies: edges,
			fail: func(f *fleet) { f.redis.Freeze() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limit := time.Minute
			if tt.fail != nil {
				limit = 0 // the default
			}
			redis := cachetest.StartRedis(t)
			// In a bubble the origin answers when all clients wait, however busy the machine is.
			synctest.Test(t, func(t *testing.T) {
				f := newFleetOver(t, redis, edges, limit)
				f.respond(func(n int64, _ *http.Request) *step {
					if n == 1 && tt.fail == nil { // the lease ends by the clock of Redis, not by that of the bubble
						for name := range strings.FieldsSeq(f.redis.Do("KEYS", "*:lease:*")) {
							if strings.HasPrefix(name, "fieldmark1:") {
								f.redis.Do("EXPIRE", name, "600")
							}
						}
					}
					time.Sleep(originDelay)
					return &step{origin: strings.Split(tt.head, "\n"),
						content: []string{fmt.Sprint("body ", n, tt.body)}}
				})
				if tt.fail != nil {
					tt.fail(f)
				}
				var mu sync.Mutex
				bodies := map[string]bool{}
				var all sync.WaitGroup
				for i := range clients {
					all.Go(func() {
						resp, body := f.edges[i%edges].get(t, "/page")
						mu.Lock()
						defer mu.Unlock()
						bodies[body] = true
						if resp.StatusCode != 200 {
							t.Errorf("status %d", resp.StatusCode)
						}
					})
				}
				all.Wait()
				if f.asked.Load() != tt.asked || len(bodies) != tt.bodies {
					t.Errorf("%d clients on %d edges: %d requests to the origin and %d bodies, want %d and %d", clients,
						edges, f.asked.Load(), len(bodies), tt.asked, tt.bodies)
				}
			})
		})
	}
}

// TestSharedResponse compares what an edge serves from the tier with what the edge serves that fetched it.
func TestSharedResponse(t *testing.T) {
	f := newFleet(t, 2, time.Minute)
	f.respond(func(_ int64, r *http.Request) *step {
		language := r.Header.Get("Accept-Language")
		return &step{origin: []string{"200", "Cache-Control: max-age=600", "Vary: Accept-Language", "Age: 7",
			"Etag: \"" + language + "\"", "Content-Type: text/html", "Surrogate-Key: page", "X-A: 1", "X-A: \xe9"},
			content: []string{strings.Repeat("hallo "+language, 200)}}
	})
	for i, language := range []string{"de", "en"} {
		field := "Accept-Language: " + language
		own, body := f.edges[0].get(t, "/page", field)
		waittest.Until(t, "the tier has the variant", func() bool {
			other, _ := f.add(fleetSecret, time.Minute).get(t, "/page", field)
			return strings.Contains(other.Header.Get("Cache-Status"), "detail=shared")
		})
		asked := f.asked.Load()
		other, otherBody := f.edges[1].get(t, "/page", field)
		if otherBody != body || f.asked.Load() != asked {
			t.Errorf("%s: another edge serves %.40q after %d requests, want %.40q after %d", language, otherBody,
				f.asked.Load(), body, asked)
		}
		if got := other.Header.Get("Cache-Status"); got != "fieldmark; hit; ttl=592; detail=shared" &&
			!strings.HasSuffix(got, "detail=shared") {
			t.Errorf("Cache-Status %q", got)
		}
		for _, name := range []string{"Etag", "Content-Type", "Vary", "X-A", "Date", "Cache-Control", "Surrogate-Key"} {
			if a, b := fmt.Sprint(own.Header[name]), fmt.Sprint(other.Header[name]); a != b {
				t.Errorf("%s: %s is %q from the tier, want %q", language, name, b, a)
			}
		}
		if age, err := strconv.Atoi(other.Header.Get("Age")); err != nil || age < 7 {
			t.Errorf("Age %q, want at least 7", other.Header.Get("Age"))
		}
		if again, _ := f.edges[1].get(t, "/page", field, "If-None-Match: \""+language+"\""); again.StatusCode != 304 ||
			!strings.Contains(again.Header.Get("Cache-Status"), "; hit") {
			t.Errorf("%s, %d: asked again: %d %v", language, i, again.StatusCode, again.Header)
		}
	}
}

// TestSharedOnly lists what does not enter the tier.
func TestSharedOnly(t *testing.T) {
	f := newFleet(t, 2, time.Minute)
	entered := 0
	for i, tt := range []struct {
		name    string
		head    string
		request []string
		enters  bool
	}{
		{"public", "200\nCache-Control: max-age=60", nil, true},
		{"404", "404\nCache-Control: max-age=60", nil, true},
		{"301", "301\nCache-Control: max-age=60\nLocation: /b", nil, true},
		{"a setting's field", "200\nCache-Control: max-age=60\nVary: X-Tenant", []string{"X-Tenant: a"}, true},
		{"an Origin", "200\nCache-Control: max-age=60\nVary: Origin", []string{"Origin: https://a.example"}, true},
		{"private", "200\nCache-Control: private", nil, false},
		{"private field", "200\nCache-Control: max-age=60, private=\"x-a\"", nil, false},
		{"no-store", "200\nCache-Control: no-store", nil, false},
		{"no-cache", "200\nCache-Control: no-cache\nEtag: \"a\"", nil, false},
		{"a cookie", "200\nCache-Control: public, max-age=60\nSet-Cookie: a=b", nil, false},
		{"302", "302\nCache-Control: max-age=60\nLocation: /b", nil, false},
		{"503", "503\nCache-Control: max-age=60", nil, false},
		{"Vary: *", "200\nCache-Control: max-age=60\nVary: *", nil, false},
		{"Vary: Cookie", "200\nCache-Control: max-age=60\nVary: Cookie", nil, false},
		{"Vary: User-Agent", "200\nCache-Control: max-age=60\nVary: User-Agent", nil, false},
		{"short-lived", "200\nCache-Control: max-age=4", nil, false},
		{"old", "200\nCache-Control: max-age=60\nAge: 56", nil, false},
		{"a group", "200\nCache-Control: max-age=60\nCache-Groups: \"g\"", nil, false},
		{"Authorization", "200\nCache-Control: public, max-age=60", []string{"Authorization: Bearer a"}, false},
		{"Cookie", "200\nCache-Control: public, max-age=60", []string{"Cookie: a=b"}, false},
		{"Range", "200\nCache-Control: max-age=60", []string{"Range: bytes=0-1"}, false},
		{"no-store in the request", "200\nCache-Control: max-age=60", []string{"Cache-Control: no-store"}, false},
		{"unknown field", "200\nCache-Control: max-age=60", []string{"X-Any: a"}, false},
	} {
		f.origin(strings.Split(tt.head, "\n")...)
		path := fmt.Sprint("/", i)
		f.edges[0].get(t, path, tt.request...)
		got, _ := f.edges[1].get(t, path, tt.request...) // waits for the lease of the first
		status := got.Header.Get("Cache-Status")
		if strings.Contains(status, "detail=shared") != tt.enters {
			t.Errorf("%s: another edge answers with %q, want the response of the first: %v", tt.name, status, tt.enters)
		}
		if tt.enters {
			entered++
		}
	}
	if n := len(f.stored()); n != entered {
		t.Errorf("%d sets in the tier, want %d", n, entered)
	}
}

// TestSharedPurge: an edge does not serve from the tier what it knows to be purged, from any edge and any time.
func TestSharedPurge(t *testing.T) {
	f := newFleet(t, 3, time.Minute)
	f.origin("200", "Cache-Control: max-age=600", "Surrogate-Key: "+strings.Repeat("many ", 3)+"a b c d e f g h i page")
	shared := func(m *member, want string) {
		t.Helper()
		if _, body := m.get(t, "/page"); body != want {
			t.Errorf("got %q, want %q", body, want)
		}
	}
	shared(f.edges[0], "body 1")
	shared(f.edges[1], "body 1")
	f.purge(f.edges, "something else")
	shared(f.edges[2], "body 1")
	for i, tag := range []string{"page", "url:/page", "url:site.example/page", "i"} {
		f.purge(f.edges, tag)
		want := fmt.Sprint("body ", i+2)
		for _, m := range f.edges {
			shared(m, want)
		}
	}
	// An edge that has not applied a purge yet publishes an old response: the others do not use it.
	late, rest := f.edges[0], f.edges[1:]
	f.redis.Do("FLUSHALL")
	f.purge(rest, "page")
	late.proxy.PurgeAll(false)
	shared(late, "body 6")
	f.settled(1)
	shared(rest[0], "body 7")
	shared(rest[1], "body 7")
	// What is older than the purges that an edge has looked through is stale.
	ahead := f.add(fleetSecret, time.Minute)
	ahead.cache.InvalidateBefore(f.event.Add(1))
	shared(ahead, "body 8")
}

// TestSharedInvalidation: after an unsafe request the edge that it passed serves no response from before, also if
// Redis failed meanwhile; and none enters the tier, though one was under way.
func TestSharedInvalidation(t *testing.T) {
	f := newFleet(t, 2, time.Minute)
	a, b := f.edges[0], f.edges[1]
	var version atomic.Int64
	hold, held := make(chan struct{}), make(chan struct{})
	f.respond(func(_ int64, r *http.Request) *step {
		if r.Method == "POST" {
			version.Add(1)
			return &step{origin: []string{"204"}}
		}
		body := fmt.Sprint(r.URL.Path, " ", version.Load())
		if r.URL.Path == "/slow" && version.Load() == 1 {
			close(held)
			<-hold
		}
		return &step{origin: []string{"200", "Cache-Control: max-age=600"}, content: []string{body}}
	})
	want := func(m *member, path, want string, fields ...string) {
		t.Helper()
		if _, body := m.get(t, path, fields...); body != want {
			t.Errorf("got %q, want %q", body, want)
		}
	}
	want(b, "/page", "/page 0")
	f.settled(1)
	origin := "Origin: https://a.example"
	want(b, "/page", "/page 0", origin)
	f.settled(2)
	a.ask(t, "POST", "/page")
	want(a, "/page", "/page 1", origin)
	want(a, "/page", "/page 1")
	f.settled(2)
	for _, fields := range [][]string{nil, {origin}} {
		third := f.add(fleetSecret, time.Minute)
		want(third, "/page", "/page 1", fields...)
		if third.shared.Load() != 1 {
			t.Errorf("%v: what was stored after the request does not come from the tier", fields)
		}
	}
	// A response under way on another edge.
	var slow sync.WaitGroup
	slow.Go(func() { want(b, "/slow", "/slow 1") })
	<-held
	a.ask(t, "POST", "/slow")
	waittest.Until(t, "Redis knows of it", func() bool {
		return strings.Count(f.redis.Do("KEYS", "*:invalidated"), "$") >= 2
	})
	close(hold)
	slow.Wait()
	want(a, "/slow", "/slow 2")
	want(f.add(fleetSecret, time.Minute), "/slow", "/slow 2")
	// Redis hangs while the request passes.
	want(b, "/other", "/other 2")
	f.settled(4)
	impatient := f.add(fleetSecret, 0)
	f.redis.Freeze()
	impatient.ask(t, "POST", "/other")
	f.redis.Thaw()
	want(impatient, "/other", "/other 3")
}

// TestSharedForgery: nothing that is written into Redis without the node token is served.
func TestSharedForgery(t *testing.T) {
	f := newFleet(t, 1, time.Minute)
	f.origin("200", "Cache-Control: max-age=600")
	stored := func(path string) string {
		t.Helper()
		before := f.stored()
		f.edges[0].get(t, path)
		f.settled(len(before) + 1)
		for _, name := range f.stored() {
			if !strings.Contains(strings.Join(before, " "), name) {
				return name
			}
		}
		return ""
	}
	name, other := stored("/page"), stored("/other")
	for _, forgery := range [][]string{
		{"SET", name, "x"},
		{"SET", name, strings.Repeat("x", 4096)},
		{"SETRANGE", name, "40", "x"},
		{"APPEND", name, "x"},
		{"COPY", other, name, "REPLACE"},
		{"DEL", name},
		{"SET", name[:strings.Index(name, "}")+1] + ":invalidated", "x"},
		{"RENAME", name, name + ":declined"},
	} {
		f.redis.Do(forgery...)
		asked := f.asked.Load()
		m := f.add(fleetSecret, time.Minute)
		if _, body := m.get(t, "/page"); body != fmt.Sprint("body ", asked+1) {
			t.Errorf("%v: got %q, want a new response", forgery, body)
		}
		m.stop() // otherwise it could share its response after the next forgery, and so repair it
	}
	f.redis.Do("FLUSHALL")
	stranger := f.add("another token", time.Minute)
	stranger.get(t, "/page")
	f.settled(1)
	asked := f.asked.Load()
	if _, body := f.add(fleetSecret, time.Minute).get(t, "/page"); body != fmt.Sprint("body ", asked+1) {
		t.Errorf("got %q of an edge with another token", body)
	}
}

// TestSharedStale: a stale response in the tier is revalidated by one edge, sent while that happens if it may be, and
// sent if the origin fails.
func TestSharedStale(t *testing.T) {
	redis := cachetest.StartRedis(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFleetOver(t, redis, 4, time.Minute)
		const lifetime = "max-age=60, stale-while-revalidate=60"
		f.respond(func(_ int64, r *http.Request) *step {
			if r.Header.Get("If-None-Match") == `"a"` {
				return &step{origin: []string{"304", "Cache-Control: " + lifetime, `Etag: "a"`}}
			}
			return &step{origin: []string{"200", "Cache-Control: " + lifetime, `Etag: "a"`}, content: []string{"page"}}
		})
		want := func(m *member, status string, asked int64) {
			t.Helper()
			resp, body := m.get(t, "/page")
			synctest.Wait() // what runs behind
			if got := resp.Header.Get("Cache-Status"); body != "page" || !strings.Contains(got, status) {
				t.Errorf("%d %q with %q, want %q", resp.StatusCode, body, got, status)
			}
			if f.asked.Load() != asked {
				t.Errorf("%s: %d requests to the origin, want %d", status, f.asked.Load(), asked)
			}
		}
		want(f.edges[0], "fwd=uri-miss", 1)
		f.settled(1)
		time.Sleep(90 * time.Second)
		want(f.edges[1], "detail=stale-while-revalidate", 2)
		want(f.edges[2], "detail=shared", 2)
		time.Sleep(10 * time.Minute)
		want(f.edges[3], "fwd=stale; fwd-status=304", 3)
		want(f.edges[0], "detail=shared", 3)
		time.Sleep(10 * time.Minute)
		f.origin("503")
		late := f.add(fleetSecret, time.Minute)
		late.respond = func(net.Conn, *http.Request) error { return net.ErrClosed }
		want(late, "detail=stale-if-error", 3)
	})
}

// BenchmarkShared measures a page that an edge takes from the tier, and one from its memory, with the client's
// connection.
func BenchmarkShared(b *testing.B) {
	for _, from := range []string{"redis", "memory"} {
		b.Run(from, func(b *testing.B) {
			f := newFleet(b, 1, time.Minute)
			f.respond(func(int64, *http.Request) *step {
				return &step{origin: []string{"200", "Cache-Control: max-age=3600", "Content-Type: image/png"},
					content: []string{strings.Repeat("x", 40<<10)}}
			})
			m := f.edges[0]
			m.get(b, "/page")
			f.settled(1)
			for b.Loop() {
				if from == "redis" {
					m.proxy.PurgeAll(false) // an event that the tier's number is not compared with
				}
				m.get(b, "/page")
			}
			if n := f.asked.Load(); n != 1 {
				b.Errorf("%d requests to the origin", n)
			}
		})
	}
}

// TestSharedProfile: the tier needs the strict profile.
func TestSharedProfile(t *testing.T) {
	_, err := proxy.New(proxy.Config{Profile: rfc9111.RFC, Shared: new(cache.SharedVariants),
		AsOf: func() int64 { return 0 }})
	if err == nil || !strings.Contains(err.Error(), "strict") {
		t.Errorf("the rfc profile with a tier: %v", err)
	}
}
