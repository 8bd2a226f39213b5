package cache

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/fieldmark/fieldmark/internal/timeout"
)

// Limits of one process towards Redis. A slow answer from Redis costs more than a
// fill.
const (
	// defaultCallTimeout limits one call with everything in it: waiting for a
	// connection, dialling and the answer. A hung Redis can delay a fill three
	// times by this before the breaker opens.
	defaultCallTimeout = 50 * time.Millisecond * timeout.Scale
	// probeTimeout limits a probe. No request waits for it, so it may follow a
	// Sentinel or read a cluster's slot map.
	probeTimeout = time.Second * timeout.Scale
	// poolSize limits the connections to one Redis node, and so the concurrent
	// calls. A call takes about 0.2 ms.
	poolSize = 32
	// leaseTTL is how long one process may hold the lease for a key. If it crashes,
	// the others wait no longer than this. A lease is not renewed while a fill
	// hangs, because that would make the others hang too.
	leaseTTL = 2 * time.Second * timeout.Scale
	// leasePollMin and leasePollMax limit the pause between two lookups while
	// another process holds the lease. A typical fill takes a few milliseconds; a
	// slow one is polled at most twenty times a second.
	leasePollMin = 5 * time.Millisecond
	leasePollMax = 50 * time.Millisecond
	// keyPrefix starts every key in Redis and contains the version of the key
	// layout.
	keyPrefix = "fieldmark1:"
)

// RedisEvents are callbacks that count what happens with Redis. Each may be nil;
// they must be fast and safe for concurrent use.
type RedisEvents struct {
	// Hit: an entry filled by another process was used.
	Hit func()
	// Miss: Redis had no usable entry.
	Miss func()
	// Filled: this process ran a fill for the fleet.
	Filled func()
	// Waited: this process waited for another process's fill.
	Waited func()
	// Failed: a call failed or timed out.
	Failed func(err error)
	// Skipped: a call was not made because the breaker is open.
	Skipped func()
	// Called: a call ended after this time, with or without success.
	Called func(took time.Duration)
}

func (ev RedisEvents) withDefaults() RedisEvents {
	for _, f := range []*func(){&ev.Hit, &ev.Miss, &ev.Filled, &ev.Waited, &ev.Skipped} {
		if *f == nil {
			*f = func() {}
		}
	}
	if ev.Failed == nil {
		ev.Failed = func(error) {}
	}
	if ev.Called == nil {
		ev.Called = func(time.Duration) {}
	}
	return ev
}

// RedisConfig configures the shared tier.
type RedisConfig struct {
	// URL is redis://, rediss:// (TLS) or unix://, with user, password and
	// database: redis://user:password@host:6379/0.
	//
	//  - Sentinel: ?master_name=NAME, further Sentinels as &addr=host:port,
	//     their own credentials as sentinel_username and sentinel_password.
	//  - Cluster: ?cluster=true, further nodes as &addr=host:port.
	URL string
	// Timeout limits one call. A slower call counts as failed, and what it was to
	// write is dropped. Default 50 ms.
	Timeout time.Duration
	// Secret authenticates entries, so that a writer to Redis cannot forge or
	// change them: an entry sealed with another secret counts as absent. If empty,
	// entries are protected against damage only.
	Secret []byte
	// Events are callbacks for metrics.
	Events RedisEvents
}

// Redis is the tier that several processes share. Its contents may vanish at any
// time, and every failure of it is a miss. Create one with NewRedis, pass it as
// Config.Redis, and close it after the Cache.
type Redis struct {
	client  redis.UniversalClient
	seal    sealKey
	timeout time.Duration
	events  RedisEvents
	breaker breaker
	probes  sync.WaitGroup

	abandoned abandonedLeases
}

// abandonedLeases are leases that Redis may have granted although the call to
// acquire or release them timed out: a Redis that hung executes pending commands
// when it resumes. Without releasing them, every process would wait for a fill that
// does not run.
type abandonedLeases struct {
	count atomic.Int32 // number of leases, so that a call without any takes no lock

	mu     sync.Mutex
	leases map[string]string // key in Redis to lease token
}

// maxAbandoned limits the leases remembered. The circuit breaker lets few calls
// through to a hung Redis, and leases beyond the limit expire by themselves.
const maxAbandoned = 1024

// add records a lease that must be released when Redis answers again.
func (a *abandonedLeases) add(key, token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leases == nil {
		a.leases = map[string]string{}
	}
	if len(a.leases) < maxAbandoned {
		a.leases[key] = token
	}
	a.count.Store(int32(len(a.leases)))
}

// drain returns the remembered leases and clears them.
func (a *abandonedLeases) drain() map[string]string {
	if a.count.Load() == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	leases := a.leases
	a.leases = nil
	a.count.Store(0)
	return leases
}

// NewRedis validates cfg. It does not connect.
func NewRedis(cfg RedisConfig) (*Redis, error) {
	limit := cmp.Or(cfg.Timeout, defaultCallTimeout)
	if limit < 0 {
		return nil, fmt.Errorf("configure redis: timeout: got %s, want a positive time", limit)
	}
	client, err := newClient(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("configure redis: %w", err)
	}
	seal, err := newSealKey(cfg.Secret)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("configure redis: derive a key: %w", err), client.Close())
	}
	return &Redis{client: client, seal: seal, timeout: limit, events: cfg.Events.withDefaults()}, nil
}

// NewRedisClient returns a client for a RedisConfig.URL with separate connections, for other uses of
// Redis than the shared tier. It does not connect. Every call needs a deadline.
func NewRedisClient(address string) (redis.UniversalClient, error) { return newClient(address) }

// newClient creates the client for a URL. The limits of this package override its
// parameters. Errors never contain the URL, which may contain a password.
func newClient(address string) (redis.UniversalClient, error) {
	silenceLogger()
	u, err := url.Parse(address)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		return nil, fmt.Errorf("not a URL: %w", err)
	}
	q := u.Query()
	cluster := q.Get("cluster") == "true"
	switch {
	case cluster && q.Has("master_name"):
		return nil, errors.New("cluster and master_name exclude each other")
	case q.Has("cluster") && q.Get("cluster") != "true" && q.Get("cluster") != "false":
		return nil, errors.New("cluster must be true or false")
	case q.Has("addr") && !cluster && !q.Has("master_name"):
		return nil, errors.New("several addresses need cluster=true or master_name")
	}
	q.Del("cluster")
	u.RawQuery = q.Encode()
	switch {
	case cluster:
		o, err := redis.ParseClusterURL(u.String())
		if err != nil {
			return nil, err
		}
		limitCluster(o)
		return redis.NewClusterClient(o), nil
	case q.Has("master_name"):
		user, password := q.Get("sentinel_username"), q.Get("sentinel_password")
		q.Del("sentinel_username") // go-redis does not accept them in a URL
		q.Del("sentinel_password")
		u.RawQuery = q.Encode()
		o, err := redis.ParseFailoverURL(u.String())
		if err != nil {
			return nil, err
		}
		o.SentinelUsername, o.SentinelPassword = user, password
		limitFailover(o)
		return redis.NewFailoverClient(o), nil
	}
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, err
	}
	limitClient(o)
	return redis.NewClient(o), nil
}

// noRetries disables the retries of go-redis: the deadline leaves no time for them, and
// only the caller can weigh the cost of a miss.
const noRetries = -1

// limitClient, limitFailover and limitCluster set the same limits on the three kinds
// of client, whose option types have no common part.
func limitClient(o *redis.Options) {
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, noRetries, 1
	o.DisableIdentity = true // CLIENT SETINFO needs a permission that Redis 7.0 cannot grant
	// Not the limit of a call, whose context is shorter.
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = probeTimeout, probeTimeout, probeTimeout
	o.PoolSize, o.MaxActiveConns, o.PoolTimeout = poolSize, poolSize, probeTimeout
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func limitFailover(o *redis.FailoverOptions) {
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, noRetries, 1
	o.DisableIdentity = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = probeTimeout, probeTimeout, probeTimeout
	o.PoolSize, o.MaxActiveConns, o.PoolTimeout = poolSize, poolSize, probeTimeout
}

func limitCluster(o *redis.ClusterOptions) {
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, noRetries, 1
	o.DisableIdentity = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = probeTimeout, probeTimeout, probeTimeout
	o.PoolSize, o.MaxActiveConns, o.PoolTimeout = poolSize, poolSize, probeTimeout
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// silenceLogger stops go-redis from writing text lines to standard error, where
// Fieldmark writes a JSON log; errors are counted instead. It runs once, because
// the setting is global in the library.
var silenceLogger = sync.OnceFunc(func() { redis.SetLogger(discardLogger{}) })

type discardLogger struct{}

// Printf implements the logger of go-redis.
func (discardLogger) Printf(context.Context, string, ...any) {}

// Close closes the connections. Call it after Close of the Cache.
func (r *Redis) Close() error {
	r.probes.Wait()
	return r.client.Close()
}

// Ping reports whether Redis answers within a second. A call before the first use
// also opens a connection, which may take longer than the deadline of a call
// allows.
func (r *Redis) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := r.client.Ping(ctx).Err()
	r.breaker.record(err)
	return err
}

// errUnavailable is returned for a call that was not made because the breaker is
// open.
var errUnavailable = errors.New("redis is unavailable")

// call runs do under the deadline, unless the breaker is open.
func (r *Redis) call(ctx context.Context, do func(context.Context) error) error {
	allowed, probe := r.breaker.allow()
	if !allowed {
		if probe {
			r.probes.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
				defer cancel()
				err := r.client.Ping(ctx).Err()
				r.breaker.probeDone(err)
				if err == nil {
					r.releaseAbandoned(ctx)
				}
			})
		}
		r.events.Skipped()
		return errUnavailable
	}
	callCtx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	began := time.Now()
	err := do(callCtx)
	r.events.Called(time.Since(began))
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	if err != nil && ctx.Err() != nil {
		return err // the caller canceled; Redis did not fail
	}
	r.breaker.record(err)
	if err != nil {
		r.events.Failed(err)
	} else if r.abandoned.count.Load() > 0 {
		r.probes.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
			defer cancel()
			r.releaseAbandoned(ctx)
		})
	}
	return err
}

// releaseAbandoned releases the abandoned leases of a Redis that answers again: it
// has executed all earlier commands by now. Leases that cannot be released expire.
func (r *Redis) releaseAbandoned(ctx context.Context) {
	leases := r.abandoned.drain()
	if len(leases) == 0 {
		return
	}
	_, _ = r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for key, token := range leases {
			p.Eval(ctx, releaseScript, []string{key}, token)
		}
		return nil
	})
}

// load returns the entry under key, or nil if it does not exist or Redis is
// unavailable. An entry that is damaged, forged, sealed with another secret or
// written by another version of the program counts as absent, not as a failed call:
// there are many during a rollout or a change of the node token.
func (r *Redis) load(ctx context.Context, log, key string) *Entry {
	name := entryKey(log, key)
	var raw []byte
	err := r.call(ctx, func(ctx context.Context) (err error) {
		raw, err = r.client.Get(ctx, name).Bytes()
		return err
	})
	if err != nil || len(raw) == 0 {
		return nil
	}
	encoded, err := r.seal.open(name, raw)
	if err != nil {
		return nil
	}
	e := new(Entry)
	if e.UnmarshalBinary(encoded) != nil {
		return nil
	}
	return e
}

// save stores e for as long as any process could serve it.
func (r *Redis) save(ctx context.Context, log, key string, e *Entry) {
	life := min(e.Fresh, maxLifetime) + min(max(e.Stale, e.OnError, 0), maxLifetime)
	raw, err := e.AppendBinary(nil)
	if err != nil || life < time.Millisecond {
		return // too large, or already expired
	}
	name := entryKey(log, key)
	raw = r.seal.seal(name, raw)
	_ = r.call(ctx, func(ctx context.Context) error { // call counts the error
		return r.client.Set(ctx, name, raw, life).Err()
	})
}

// acquireLease tries to become the only process that fills key. It returns the
// token to release the lease with, or "" if another process holds it. known is
// false if Redis did not answer.
func (r *Redis) acquireLease(ctx context.Context, log, key string) (token string, known bool) {
	newToken := rand.Text()
	var got bool
	err := r.call(ctx, func(ctx context.Context) (err error) {
		got, err = r.client.SetNX(ctx, leaseKey(log, key), newToken, leaseTTL).Result()
		return err
	})
	if err != nil && !errors.Is(err, errUnavailable) {
		r.abandoned.add(leaseKey(log, key), newToken)
	}
	if err != nil || !got {
		return "", err == nil
	}
	return newToken, true
}

// releaseScript deletes a lease only if this process still holds it: it may have
// expired and been granted to another.
const releaseScript = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

// releaseLease releases a lease, or records it for a later release if Redis does not answer.
func (r *Redis) releaseLease(ctx context.Context, log, key, token string) {
	err := r.call(ctx, func(ctx context.Context) error {
		return r.client.Eval(ctx, releaseScript, []string{leaseKey(log, key)}, token).Err()
	})
	if err != nil {
		r.abandoned.add(leaseKey(log, key), token)
	}
}

// Different logs use different keys, because their event numbers cannot be
// compared.
func entryKey(log, key string) string { return joinKey(log, ":", key) }
func leaseKey(log, key string) string { return joinKey(log, ":lease:", key) }

func joinKey(log, kind, key string) string {
	return strings.Join([]string{keyPrefix, log, kind, key}, "")
}
