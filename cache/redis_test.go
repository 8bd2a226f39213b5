package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// logHead is the newest event when a process of a test joins.
const logHead = 1000

// redisCounters is a shared tier with its event counts.
type redisCounters struct {
	*cache.Redis
	hits, misses, fills, waits, failed, skipped atomic.Int64
}

// dial connects with long deadlines, so that nothing is dropped because the machine
// is busy.
func dial(t testing.TB, url string) *redisCounters { return dialSecret(t, url, "") }

func dialSecret(t testing.TB, url, secret string) *redisCounters {
	t.Helper()
	return dialConfig(t, cache.RedisConfig{URL: url, Timeout: 10 * time.Second, Secret: []byte(secret)})
}

func dialConfig(t testing.TB, cfg cache.RedisConfig) *redisCounters {
	t.Helper()
	n := new(redisCounters)
	add := func(to *atomic.Int64) func() { return func() { to.Add(1) } }
	var err error
	cfg.Events = cache.RedisEvents{
		Hit: add(&n.hits), Miss: add(&n.misses), Filled: add(&n.fills), Waited: add(&n.waits), Skipped: add(&n.skipped),
		Failed: func(error) { n.failed.Add(1) },
	}
	n.Redis, err = cache.NewRedis(cfg)
	if err != nil {
		t.Fatalf("NewRedis(%q): %v", cfg.URL, err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// member is a process of a fleet: its own memory, and the shared tier.
func member(t testing.TB, url string, cfg cache.Config) (*cache.Cache, *redisCounters) {
	t.Helper()
	return join(t, dial(t, url), cfg)
}

// defaultMember is a member with the default deadlines.
func defaultMember(t testing.TB, url string, cfg cache.Config) (*cache.Cache, *redisCounters) {
	t.Helper()
	return join(t, dialConfig(t, cache.RedisConfig{URL: url}), cfg)
}

func join(t testing.TB, r *redisCounters, cfg cache.Config) (*cache.Cache, *redisCounters) {
	t.Helper()
	cfg.Redis = r.Redis
	c := open(t, cfg)
	answers(t, r.Redis)
	c.Join("log", logHead)
	return c, r
}

// answers waits until Redis answers: the first connection may take longer than a ping.
func answers(t testing.TB, r *cache.Redis) {
	t.Helper()
	waittest.Until(t, "Redis answers", func() bool { return r.Ping(t.Context()) == nil })
}

func sharedFetch(c *cache.Cache, key string, s *source) string {
	e, src, err := c.Fetch(context.Background(), key, c.SharedFill(key, time.Second, nil, s.fill))
	return outcome(e, src, err)
}

// TestTiers runs the suite on every combination of tiers.
func TestTiers(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		cachetest.Run(t, func(t testing.TB) *cache.Cache { return open(t, cache.Config{}) }, 100, false)
	})
	server := cachetest.StartRedis(t)
	for _, tt := range []struct {
		name  string
		bytes int64
		size  int
	}{
		{"memory over redis", 8 << 20, 100},
		{"redis alone", 1 << 20, 10 << 10}, // these entries are too large for this memory
	} {
		t.Run(tt.name, func(t *testing.T) {
			cachetest.Run(t, func(t testing.TB) *cache.Cache {
				c, _ := member(t, server.URL, cache.Config{Bytes: tt.bytes})
				return c
			}, tt.size, true)
		})
	}
}

// TestRedisArrangements connects to Redis in every way that a URL supports.
func TestRedisArrangements(t *testing.T) {
	locked := cachetest.StartRedis(t, "user", "fieldmark on >secret ~fieldmark1:* +@all", "unixsocket",
		t.TempDir()+"/s")
	socket := strings.TrimSuffix(strings.Split(locked.Do("CONFIG", "GET", "unixsocket"), "\r\n")[4], "\r\n")
	cluster := cachetest.StartCluster(t)
	for name, url := range map[string]string{
		"acl user": strings.Replace(locked.URL, "redis://", "redis://fieldmark:secret@", 1),
		"unix":     "unix://" + socket + "?db=3",
		"cluster":  cluster.URL,
	} {
		t.Run(name, func(t *testing.T) {
			a, ra := member(t, url, cache.Config{})
			b, _ := member(t, url, cache.Config{})
			for i := range 20 { // enough to reach every node of a cluster
				key := fmt.Sprint(name, i)
				want(t, "filled", sharedFetch(a, key, &source{text: "one", asOf: 1}), "fill one")
				waittest.Until(t, "the other has it", func() bool {
					return strings.HasSuffix(sharedFetch(b, key, &source{text: "two", asOf: 1}), "one")
				})
			}
			if n := ra.failed.Load(); n != 0 {
				t.Errorf("failed calls: got %d, want none", n)
			}
		})
	}
}

func TestRedisURL(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"redis://u:p@h:6379/0", ""},
		{"rediss://u:p@h:6379/0", ""},
		{"unix:///run/redis.sock", ""},
		{"redis://h:1?cluster=true&addr=i:2", ""},
		{"redis://h:1?master_name=m&addr=i:2&sentinel_username=s&sentinel_password=t", ""},
		{"", "invalid URL scheme"},
		{"http://secret@h", "invalid URL scheme"},
		{"redis://u:secret@h:port", "invalid port"},
		{"redis://h:1?addr=i:2", "several addresses need cluster=true or master_name"},
		{"redis://h:1?cluster=true&master_name=m", "exclude each other"},
		{"redis://h:1?cluster=maybe", "cluster must be true or false"},
		{"redis://h:1?colour=red", "unexpected option"},
	} {
		r, err := cache.NewRedis(cache.RedisConfig{URL: tt.url})
		if err == nil {
			_ = r.Close()
		}
		if got := fmt.Sprint(err); (err == nil) != (tt.want == "") || !strings.Contains(got, tt.want) && tt.want != "" {
			t.Errorf("NewRedis(%q): got %v, want %q", tt.url, err, tt.want)
		} else if strings.Contains(got, "secret") {
			t.Errorf("NewRedis(%q) contains the password: %v", tt.url, err)
		}
	}
}

// A starting process checks entries in Redis against the events it has received.
func TestRedisEntryIsCheckedByTheReader(t *testing.T) {
	server := cachetest.StartRedis(t)
	tags := []string{"b"}
	a, _ := member(t, server.URL, cache.Config{})
	want(t, "filled", sharedFetch(a, "k", &source{text: "old", tags: tags, asOf: 5}), "fill old")
	has := func(join func(*cache.Cache)) string {
		r := dial(t, server.URL)
		c := open(t, cache.Config{Redis: r.Redis})
		join(c)
		return sharedFetch(c, "k", &source{err: errors.New("away")})
	}
	waittest.Until(t, "it is there", func() bool {
		return strings.HasSuffix(has(func(c *cache.Cache) {
			c.Join("log",
				logHead)
		}), "old")
	})
	for _, tt := range []struct {
		what string
		join func(*cache.Cache)
		want string
	}{
		{"a follower from an older event", func(c *cache.Cache) {
			c.InvalidateBefore(4)
			c.Purge(5, "b")
			c.Join("log",
				logHead)
		}, "fill old"},
		{"a follower from a newer event", func(c *cache.Cache) { c.InvalidateBefore(6); c.Join("log", logHead) },
			"error: away"},
		{"with a later purge", func(c *cache.Cache) { c.Purge(6, "b"); c.Join("log", logHead) }, "error: away"},
		{"of another log", func(c *cache.Cache) { c.Join("other", logHead) }, "error: away"},
		{"of a log set back before that", func(c *cache.Cache) { c.Join("log", 4) }, "error: away"},
		{"not joined", func(*cache.Cache) {}, "error: away"},
	} {
		want(t, tt.what, has(tt.join), tt.want)
	}
}

// TestRedisFailures interrupts Redis in every way while readers read. None may
// fail, hang, or see a purged value. Each failure lasts until both nodes have
// noticed it, and each recovery until both use Redis again, however busy the
// machine is.
func TestRedisFailures(t *testing.T) {
	server := cachetest.StartRedis(t)
	var nodes []*cache.Cache
	var tiers []*redisCounters
	for range 2 {
		c, r := defaultMember(t, server.URL, cache.Config{})
		nodes, tiers = append(nodes, c), append(tiers, r)
	}
	l := &load{nodes: nodes, version: make([]atomic.Int64, 50)}
	l.event.Store(logHead)
	stop := sync.OnceFunc(l.start(t))
	t.Cleanup(stop)
	skipped := func(c *redisCounters) int64 { return c.skipped.Load() } // calls are skipped after several failures
	used := func(c *redisCounters) int64 { return c.hits.Load() }       // an entry stored by the other node
	for _, phase := range []struct {
		what  string
		act   func()
		grows func(*redisCounters) int64 // the counter that then grows on both nodes
	}{
		{"Redis is used", func() {}, used},
		{"killed", server.Kill, skipped},
		{"started", server.Start, used},
		{"frozen", server.Freeze, skipped},
		{"thawed", server.Thaw, used},
		{"restarted", func() { server.Kill(); server.Start() }, used},
	} {
		answers := l.answers.Load()
		before := []int64{phase.grows(tiers[0]), phase.grows(tiers[1])}
		phase.act()
		waittest.Until(t, phase.what+": both nodes noticed", func() bool {
			return phase.grows(tiers[0]) > before[0] && phase.grows(tiers[1]) > before[1]
		})
		waittest.Until(t, phase.what+": readers went on", func() bool { return l.answers.Load() > answers+100 })
	}
	stop()
	t.Logf("%d answers", l.answers.Load())
}

// hung is the duration from which a read counts as hanging. It is far above any
// deadline of the cache, even on a slow machine.
const hung = time.Minute

// load reads and changes 50 resources through several processes.
type load struct {
	nodes    []*cache.Cache
	version  []atomic.Int64 // current version of each resource, as an event number
	event    atomic.Int64
	answers  atomic.Int64
	changing sync.Mutex
}

func (l *load) start(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for tick := time.NewTicker(2 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			l.change(int(l.event.Load()) % len(l.version))
		}
	})
	for n, c := range l.nodes {
		for g := range 4 {
			wg.Go(func() {
				for i := n + g; ctx.Err() == nil; i++ {
					l.read(t, c, i%len(l.version))
				}
			})
		}
	}
	return func() { cancel(); wg.Wait() }
}

// change makes a new version and purges the old one in every process.
func (l *load) change(i int) {
	l.changing.Lock()
	defer l.changing.Unlock()
	// The event counts only once the version is there: a fill between the two would claim to be
	// as new as the event, and its purge would spare the old version.
	event := l.event.Load() + 1
	l.version[i].Store(event)
	l.event.Store(event)
	for _, c := range l.nodes {
		c.Purge(event, fmt.Sprint("thing:", i))
	}
}

func (l *load) read(t *testing.T, c *cache.Cache, i int) {
	key := fmt.Sprint("thing/", i)
	// Every process has received all events before the newest: change delivers each one
	// before it starts the next.
	newest := l.event.Load()
	received := l.version[i].Load()
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	e, from, err := c.Fetch(ctx, key, c.SharedFill(key, time.Second, nil, func(context.Context) (*cache.Entry, error) {
		asOf := l.event.Load()
		return &cache.Entry{Body: fmt.Append(nil, l.version[i].Load()), AsOf: asOf, Tags: []string{fmt.Sprint("thing:",
			i)}, Fresh: minute, OnError: minute}, nil
	}))
	l.answers.Add(1)
	if err != nil {
		t.Errorf("%s: got %v, want an entry", key, err)
		return
	}
	if from == cache.SourceStale || from == cache.SourceOnError {
		return // it may be old, because it is marked as stale
	}
	var got int64
	if _, err := fmt.Sscan(string(e.Body), &got); err != nil {
		t.Errorf("%s: %q: %v", key, e.Body, err)
	}
	if got < received && received < newest {
		t.Errorf("%s (%s): version %d, but %d was purged before", key, from, got, received)
	}
}

func TestSentinelFailover(t *testing.T) {
	s := cachetest.StartSentinels(t)
	a, ra := defaultMember(t, s.URL, cache.Config{})
	b, _ := defaultMember(t, s.URL, cache.Config{})
	handed := func(key string) func() bool {
		n := 0
		return func() bool {
			n++
			k := fmt.Sprint(key, n)
			if got := sharedFetch(a, k, &source{text: "one", asOf: 1}); got != "fill one" {
				t.Fatalf("fetch %s: got %q, want %q", k, got, "fill one")
			}
			return sharedFetch(b, k, &source{text: "two", asOf: 1}) == "fill one"
		}
	}
	waittest.Until(t, "the primary is used", handed("before"))
	s.KillPrimary()
	waittest.Until(t, "the replica is used", handed("after"))
	if ra.failed.Load() == 0 {
		t.Error("no call failed: the primary was not used")
	}
}
