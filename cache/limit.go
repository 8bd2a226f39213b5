package cache

import (
	"context"
	"hash/maphash"
	"strconv"
	"sync"
	"time"
)

// limiterKeys bounds how many keys a Limiter remembers; each costs about a
// hundred bytes. Who is forgotten starts with a full allowance, which is less
// harm than memory without end.
const limiterKeys = 1 << 18

// limiterShards keeps requests of different clients from waiting for each other.
const limiterShards = 64

// Rate is how much is allowed: Quota in each Window on the whole, of which Burst
// may come at once. All must be positive.
type Rate struct {
	Quota  int
	Window time.Duration
	Burst  int
}

// interval is the time in which one more is allowed, at least a nanosecond.
func (r Rate) interval() time.Duration { return max(r.Window/time.Duration(r.Quota), 1) }

// RateResult is what a Limiter says of one request.
type RateResult struct {
	// Allowed reports that the request is within its rate, and was counted. One that is
	// not was not counted: asking in vain does not make it longer.
	Allowed bool
	// Remaining is how many more may come at once.
	Remaining int
	// ResetAfter is how long it takes until all of Burst may come again.
	ResetAfter time.Duration
	// RetryAfter is how long it takes until one more may come; zero if OK.
	RetryAfter time.Duration
}

// Limiter allows requests at a rate for each key, by the generic cell rate
// algorithm: one time stamp for each key, no windows whose edges let double
// through. It is safe for concurrent use.
type Limiter struct {
	redis  *Redis // nil: this process alone
	seed   maphash.Seed
	start  time.Time
	shards [limiterShards]limiterShard
}

type limiterShard struct {
	mu sync.Mutex

	// tat is when each key's allowance is full again, since start.
	tat       map[string]time.Duration
	lastSweep time.Duration
}

// NewLimiter makes a Limiter. With a Redis, processes that share it share their
// counts too; while Redis is in trouble each counts for itself.
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

// TakeN counts a request under key that weighs as much as n, at least 1. It is
// allowed when a request of weight 1 is, so that one which weighs more than Burst
// can pass; those that follow wait until its whole weight is allowed.
func (l *Limiter) TakeN(ctx context.Context, key string, r Rate, n int) RateResult {
	return l.take(ctx, key, r, max(n, 1))
}

// Peek says what Take would, and counts nothing.
func (l *Limiter) Peek(ctx context.Context, key string, r Rate) RateResult {
	return l.take(ctx, key, r, 0)
}

// take counts n under key; with n = 0 it counts nothing and answers for 1.
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
	due, v := r.gcra(s.tat[key], now, max(n, 1))
	if v.Allowed && n > 0 {
		s.evict(now)
		s.tat[key] = due
	}
	return v
}

// gcra is the algorithm: due is when the allowance would be full again. It
// returns when it will be after a request of weight n.
func (r Rate) gcra(due, now time.Duration, n int) (time.Duration, RateResult) {
	step := r.interval()
	most := step * time.Duration(r.Burst)
	due = max(due, now)
	if over := due + step - now - most; over > 0 {
		return due, RateResult{ResetAfter: due - now, RetryAfter: over}
	}
	due += step * time.Duration(n)
	return due, RateResult{Allowed: true, Remaining: int(max(most-(due-now), 0) / step), ResetAfter: due - now}
}

// evict forgets keys whose allowance is full, and if that is not enough any.
func (s *limiterShard) evict(now time.Duration) {
	const most = limiterKeys / limiterShards
	if len(s.tat) < most {
		return
	}
	if now-s.lastSweep > time.Second {
		s.lastSweep = now
		for key, due := range s.tat {
			if due <= now {
				delete(s.tat, key)
			}
		}
	}
	for key := range s.tat {
		if len(s.tat) < most {
			return
		}
		delete(s.tat, key)
	}
}

// gcraScript is judge in Redis, by Redis's own clock, so that nodes need not
// agree on the time. It returns whether, and in microseconds until full and until
// one more.
const gcraScript = `local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
local due = math.max(tonumber(redis.call("GET", KEYS[1]) or "0"), now)
local over = due + ARGV[1] - now - ARGV[2]
if over > 0 then return {0, due - now, over} end
due = due + ARGV[1] * math.max(tonumber(ARGV[3]), 1)
if ARGV[3] ~= "0" then redis.call("SET", KEYS[1], string.format("%d", due), "PX", math.ceil((due - now) / 1000)) end
return {1, due - now, 0}`

// takeRate asks Redis; not ok means that it cannot tell.
func (r *Redis) takeRate(ctx context.Context, key string, rate Rate, n int) (RateResult, bool) {
	step := rate.interval().Microseconds()
	most := step * int64(rate.Burst)
	var said []int64
	err := r.call(ctx, func(ctx context.Context) (err error) {
		said, err = r.client.Eval(ctx, gcraScript, []string{joinKey("", "rate:", key)},
			strconv.FormatInt(step, 10), strconv.FormatInt(most, 10), strconv.Itoa(n)).Int64Slice()
		return err
	})
	if err != nil || len(said) != 3 || step <= 0 {
		return RateResult{}, false
	}
	v := RateResult{Allowed: said[0] == 1, ResetAfter: time.Duration(said[1]) * time.Microsecond, RetryAfter: time.Duration(said[2]) * time.Microsecond}
	if v.Allowed {
		v.Remaining = int(max(most-said[1], 0) / step)
	}
	return v, true
}

// Len is how many keys are remembered here.
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
