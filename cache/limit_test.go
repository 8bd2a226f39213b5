package cache_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
)

var perMinute = cache.Rate{Quota: 300, Window: time.Minute, Burst: 60}

// TestLimiter checks a rate step by step, in simulated time.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := cache.NewLimiter(nil)
		for i := range 60 {
			v := l.Take(t.Context(), "a", perMinute)
			want := cache.RateResult{Allowed: true, Remaining: 59 - i,
				ResetAfter: time.Duration(i+1) * 200 * time.Millisecond}
			if v != want {
				t.Fatalf("request %d: %+v, want %+v", i, v, want)
			}
		}
		for range 3 { // rejected requests and peeks count nothing
			l.Peek(t.Context(), "b", perMinute)
			if v, want := l.Take(t.Context(), "a", perMinute), (cache.RateResult{ResetAfter: 12 * time.Second,
				RetryAfter: 200 * time.Millisecond}); v != want {
				t.Fatalf("the 61st: %+v, want %+v", v, want)
			}
		}
		if v := l.Take(t.Context(), "b", perMinute); !v.Allowed || v.Remaining != 59 {
			t.Errorf("another key: %+v", v)
		}
		allowed := 0
		for range 60 * 10 { // ten times the rate, for a minute
			time.Sleep(100 * time.Millisecond)
			if l.Take(t.Context(), "a", perMinute).Allowed {
				allowed++
			}
		}
		if allowed != 300 {
			t.Errorf("%d allowed in a minute, want 300", allowed)
		}
		time.Sleep(time.Minute)
		if v := l.Take(t.Context(), "a", perMinute); !v.Allowed || v.Remaining != 59 {
			t.Errorf("after a pause: %+v", v)
		}
	})
}

// A request may weigh more than the burst; later ones wait for all of it, with
// Redis and without.
func TestLimiterWeights(t *testing.T) {
	var failed atomic.Int64 // calls too slow for Redis
	r, err := cache.NewRedis(cache.RedisConfig{URL: cachetest.StartRedis(t).URL, Events: cache.RedisEvents{
		Failed: func(error) { failed.Add(1) }, Skipped: func() { failed.Add(1) }}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	weigh := func(l *cache.Limiter, key string) (wrong []string) {
		slow := cache.Rate{Quota: 6, Window: 60 * time.Hour, Burst: 6} // no allowance returns during the test
		for i, tt := range []struct {
			n, remaining int
			ok           bool
			hours        int // until one more is allowed
		}{{4, 2, true, 0}, {1, 1, true, 0}, {10, 0, true, 0}, {1, 0, false, 100}, {0, 0, false, 100}} {
			v := l.Peek(t.Context(), key, slow)
			if tt.n > 0 {
				v = l.TakeN(t.Context(), key, slow, tt.n)
			}
			if hours := int(v.RetryAfter.Round(time.Hour) / time.Hour); v.Allowed != tt.ok ||
				v.Remaining != tt.remaining || hours != tt.hours {
				wrong = append(wrong,
					fmt.Sprintf("request %d of weight %d: %+v, want ok %v, remaining %d, retry in %d h", i, tt.n, v,
						tt.ok, tt.remaining, tt.hours))
			}
		}
		return wrong
	}
	if wrong := weigh(cache.NewLimiter(nil), "a"); wrong != nil {
		t.Errorf("one process: %q", wrong)
	}
	shared := cache.NewLimiter(r)
	for i := 0; ; i++ {
		before := failed.Load()
		wrong := weigh(shared, fmt.Sprint("a", i))
		if failed.Load() == before && wrong != nil {
			t.Errorf("shared: %q", wrong)
		}
		if failed.Load() == before || t.Context().Err() != nil {
			break
		}
	}
}

// TestLimiterEvicts: an unlimited number of keys must not take unlimited memory.
func TestLimiterEvicts(t *testing.T) {
	l := cache.NewLimiter(nil)
	fast := cache.Rate{Quota: 1, Window: time.Nanosecond, Burst: 1}
	for i := range 1<<18 + 1<<16 {
		l.Take(t.Context(), fmt.Sprint(i), fast)
	}
	if n := l.Len(); n > 1<<18 {
		t.Errorf("%d keys are stored", n)
	}
}

// Two processes with one Redis share one rate; without Redis each process has a
// separate rate.
func TestLimiterShared(t *testing.T) {
	server := cachetest.StartRedis(t)
	var nodes [2]*cache.Limiter
	var failed atomic.Int64 // calls that were too slow, for example on a busy machine
	for i := range nodes {
		r, err := cache.NewRedis(cache.RedisConfig{URL: server.URL, Events: cache.RedisEvents{
			Failed: func(error) { failed.Add(1) }, Skipped: func() { failed.Add(1) }}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		answers(t, r)
		nodes[i] = cache.NewLimiter(r)
	}
	hour := cache.Rate{Quota: 100, Window: 100 * time.Hour, Burst: 20} // no allowance returns during the test
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for _, l := range nodes {
		for range 4 {
			wg.Go(func() {
				for range 10 {
					if v := l.Take(t.Context(), "a", hour); v.Allowed {
						allowed.Add(1)
					} else if v.RetryAfter <= 0 || v.RetryAfter > time.Hour || v.ResetAfter <= 0 {
						t.Errorf("refused with %+v", v)
					}
				}
			})
		}
	}
	wg.Wait()
	if n := allowed.Load(); n < 20 || n > 20+failed.Load() {
		t.Errorf("%d allowed by both together, %d of them by one alone; want 20", n, failed.Load())
	}
	if v := nodes[1].Peek(t.Context(), "a", hour); v.Allowed && failed.Load() == 0 {
		t.Errorf("a peek at a used-up allowance: %+v", v)
	}
	if nodes[1].Peek(t.Context(), "c", hour); !nodes[0].Take(t.Context(), "c", hour).Allowed {
		t.Error("a peek was counted")
	}
	server.Kill()
	// Calls that failed before have used some of it.
	if v := nodes[0].Take(t.Context(), "a", hour); !v.Allowed || v.Remaining > 19 ||
		v.Remaining < 19-int(failed.Load()) {
		t.Errorf("without Redis: %+v after %d failures, want an allowance of its own", v, failed.Load())
	}
}

func BenchmarkLimiter(b *testing.B) {
	l := cache.NewLimiter(nil)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l.Take(b.Context(), "192.0.2.1", perMinute)
		}
	})
}

// A quota of more than one request per nanosecond, which an origin may set for a
// key, is unlimited in practice.
func TestVeryLargeQuota(t *testing.T) {
	l := cache.NewLimiter(nil)
	r := cache.Rate{Quota: 1 << 62, Window: time.Minute, Burst: 60}
	if v := l.Take(t.Context(), "k", r); !v.Allowed {
		t.Errorf("the first of %d a minute: %+v", r.Quota, v)
	}
}
