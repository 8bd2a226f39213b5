package cache

import (
	"context"
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark/internal/gcra"
)

// limiterKeys limits how many keys a Limiter keeps, each about 100 bytes. A key
// that is evicted starts again with its full allowance, which does less harm than
// unbounded memory.
const limiterKeys = 1 << 18

// limiterShards reduces lock contention between different clients.
const limiterShards = 64

// Rate allows Quota requests per Window on average, of which Burst may come at
// once. All fields must be positive.
type Rate struct {
	Quota  int
	Window time.Duration
	Burst  int
}

// interval is the time after which one more request is allowed, at least a
// nanosecond.
func (r Rate) interval() time.Duration { return max(r.Window/time.Duration(r.Quota), 1) }

// RateResult is the result of a Limiter for one request.
type RateResult struct {
	// Allowed reports that the request is within its rate and was counted. A
	// rejected request is not counted: retrying does not extend the wait.
	Allowed bool
	// Remaining is how many more requests are allowed at once.
	Remaining int
	// ResetAfter is the time until all of Burst is allowed again.
	ResetAfter time.Duration
	// RetryAfter is the time until one more request is allowed; zero if Allowed.
	RetryAfter time.Duration
}

// Limiter limits the rate of requests per key with the generic cell rate algorithm
// (GCRA): one time stamp per key, and no fixed windows, which would allow twice the
// rate around their edges. It is safe for concurrent use.
type Limiter struct {
	redis  *Redis // nil: counts are local to this process
	seed   maphash.Seed
	start  time.Time
	shards [limiterShards]limiterShard
}

type limiterShard struct {
	mu sync.Mutex

	// tat is the theoretical arrival time of each key, since start: when its
	// allowance is full again.
	tat       map[string]time.Duration
	lastSweep time.Duration
}

// NewLimiter creates a Limiter. With a Redis, the processes that share it share
// their counts; while Redis is unavailable each counts for itself.
func NewLimiter(redis *Redis) *Limiter {
	l := &Limiter{redis: redis, seed: maphash.MakeSeed(), start: time.Now()}
	for i := range l.shards {
		l.shards[i].tat = map[string]time.Duration{}
	}
	return l
}

// Take counts one request under key.
func (l *Limiter) Take(ctx context.Context, key string, r Rate) RateResult {
	return l.take(ctx, key, r, 1)
}

// TakeN counts a request of weight n, at least 1, under key. It is allowed whenever
// a request of weight 1 is, so that a weight above Burst can pass at all; later
// requests wait until the whole weight has been paid off.
func (l *Limiter) TakeN(ctx context.Context, key string, r Rate, n int) RateResult {
	return l.take(ctx, key, r, max(n, 1))
}

// Peek returns what Take would return, without counting.
func (l *Limiter) Peek(ctx context.Context, key string, r Rate) RateResult {
	return l.take(ctx, key, r, 0)
}

// take counts n requests under key. With n = 0 it counts nothing and returns the
// result for one request.
func (l *Limiter) take(ctx context.Context, key string, r Rate, n int) RateResult {
	if l.redis != nil {
		if v, ok := l.redis.takeRate(ctx, key, r, n); ok {
			return v
		}
	}
	now := time.Since(l.start)
	s := &l.shards[maphash.String(l.seed, key)%limiterShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	tat, result := r.gcra(s.tat[key], now, max(n, 1))
	if result.Allowed && n > 0 {
		s.evict(now)
		s.tat[key] = tat
	}
	return result
}

// gcra returns the theoretical arrival time after a request of weight n, and
// whether the request is allowed.
func (r Rate) gcra(tat, now time.Duration, n int) (time.Duration, RateResult) {
	step := r.interval()
	burst := step * time.Duration(r.Burst)
	tat = max(tat, now)
	if wait := gcra.Wait(tat-now, step, r.Burst); wait > 0 {
		return tat, RateResult{ResetAfter: tat - now, RetryAfter: wait}
	}
	tat += step * time.Duration(n)
	return tat, RateResult{Allowed: true, Remaining: int(max(burst-(tat-now), 0) / step), ResetAfter: tat - now}
}

// evict removes keys whose allowance is full and, if that is not enough, arbitrary
// ones.
func (s *limiterShard) evict(now time.Duration) {
	const maxKeys = limiterKeys / limiterShards
	if len(s.tat) < maxKeys {
		return
	}
	if now-s.lastSweep > time.Second {
		s.lastSweep = now
		for key, tat := range s.tat {
			if tat <= now {
				delete(s.tat, key)
			}
		}
	}
	for key := range s.tat {
		if len(s.tat) < maxKeys {
			return
		}
		delete(s.tat, key)
	}
}

// gcraScript is gcra in Redis, with the clock of Redis, so that nodes need not
// agree on the time. It returns 1 if the request is allowed, and the microseconds
// until the allowance is full and until the next request is allowed.
const gcraScript = `local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
local tat = math.max(tonumber(redis.call("GET", KEYS[1]) or "0"), now)
local wait = tat + ARGV[1] - now - ARGV[2]
if wait > 0 then return {0, tat - now, wait} end
tat = tat + ARGV[1] * math.max(tonumber(ARGV[3]), 1)
if ARGV[3] ~= "0" then redis.call("SET", KEYS[1], string.format("%d", tat), "PX", math.ceil((tat - now) / 1000)) end
return {1, tat - now, 0}`

// takeRate is take in Redis. It returns false if Redis did not answer.
func (r *Redis) takeRate(ctx context.Context, key string, rate Rate, n int) (RateResult, bool) {
	step := rate.interval().Microseconds()
	burst := step * int64(rate.Burst)
	var reply []int64
	err := r.call(ctx, func(ctx context.Context) (err error) {
		reply, err = r.client.Eval(ctx, gcraScript, []string{joinKey("", "rate:", key)},
			strconv.FormatInt(step, 10), strconv.FormatInt(burst, 10), strconv.Itoa(n)).Int64Slice()
		return err
	})
	if err != nil || len(reply) != 3 || step <= 0 {
		return RateResult{}, false
	}
	v := RateResult{
		Allowed:    reply[0] == 1,
		ResetAfter: time.Duration(reply[1]) * time.Microsecond,
		RetryAfter: time.Duration(reply[2]) * time.Microsecond,
	}
	if v.Allowed {
		v.Remaining = int(max(burst-reply[1], 0) / step)
	}
	return v, true
}

// Len returns the number of keys in this process.
func (l *Limiter) Len() int {
	n := 0
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		n += len(s.tat)
		s.mu.Unlock()
	}
	return n
}
