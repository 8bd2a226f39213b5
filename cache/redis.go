package cache

import (
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
)

// Limits of one process towards Redis. A call that is not answered at once is
// worth less than a fill.
const (
	// defaultCallTimeout bounds one call with everything in it: waiting for a
	// connection, dialling and the answer.
	defaultCallTimeout = 50 * time.Millisecond
	// probeTimeout bounds the call that finds out whether Redis is back. Nobody
	// waits for it, so it may follow a Sentinel or read a cluster's map.
	probeTimeout = time.Second
	// poolSize bounds the connections to one Redis node, and with them the
	// calls under way: a call takes a fifth of a millisecond.
	poolSize = 32
	// leaseTTL is how long one process may be trusted to be filling a key. A
	// filler that died holds nobody up for longer.
	leaseTTL = 2 * time.Second
	// leasePollMin and leaseLookMost are the pauses between two looks for it: a
	// usual fill takes a few milliseconds, and a slow one is not asked after
	// more than twenty times a second.
	leasePollMin = 5 * time.Millisecond
	leasePollMax = 50 * time.Millisecond
	// keyPrefix begins every key of ours in Redis and names their layout.
	keyPrefix = "fieldmark1:"
)

// RedisEvents are called when something worth counting happens to the shared
// tier. Each may be nil; they must be quick and safe for concurrent use.
type RedisEvents struct {
	// Hit: another process had filled a key, and the entry could be used.
	Hit func()
	// Miss: Redis had no entry, or none that could be used.
	Miss func()
	// Filled: this process filled a key for the whole fleet.
	Filled func()
	// Waited: this process waited for another's fill.
	Waited func()
	// Failed: a call failed or took too long.
	Failed func(err error)
	// Skipped: a call was not made because those before it had failed.
	Skipped func()
	// Called: a call was made and took so long, whatever came of it.
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

// RedisConfig says where the shared tier is.
type RedisConfig struct {
	// URL is redis://, rediss:// (TLS) or unix://, with user, password and
	// database as usual: redis://user:password@host:6379/0.
	//
	//   - Sentinel: ?master_name=NAME, further Sentinels as &addr=host:port,
	//     their own credentials as sentinel_username and sentinel_password.
	//   - Cluster: ?cluster=true, further nodes as &addr=host:port.
	URL string
	// Timeout bounds one call; what takes longer counts as failed, and what was
	// to be written is dropped. Default 50 ms.
	Timeout time.Duration
	// Secret authenticates entries, so that a writer to Redis cannot make up or
	// change any: an entry of a process with another secret counts as absent.
	// Empty: entries are protected from damage only.
	Secret []byte
	// Events are told what happens, for metrics.
	Events RedisEvents
}

// Redis is the tier that several processes share. All it holds may vanish at any
// moment, and whatever goes wrong with it is a miss. Make one with NewRedis, give
// it to a Cache by Config.Redis, and close it after that.
type Redis struct {
	client  redis.UniversalClient
	seal    sealKey
	timeout time.Duration
	events  RedisEvents
	breaker breaker
	probes  sync.WaitGroup

	abandoned abandonedLeases
}

// abandonedLeases are leases that Redis may have given although the call for them, or
// for their release, was not answered in time: a Redis that hung runs what was
// sent to it when it comes back, and everybody would wait for a fill that does not
// run.
type abandonedLeases struct {
	count atomic.Int32 // of leases, so that a call need not lock

	mu     sync.Mutex
	leases map[string]string // key in Redis to proof
}

// maxAbandoned bounds the leases remembered: the circuit breaker lets few calls
// through to a Redis that hangs, and those beyond run out by themselves.
const maxAbandoned = 1024

func (a *abandonedLeases) add(key, proof string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leases == nil {
		a.leases = map[string]string{}
	}
	if len(a.leases) < maxAbandoned {
		a.leases[key] = proof
	}
	a.count.Store(int32(len(a.leases)))
}

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

// NewRedis checks cfg; it connects to nothing.
func NewRedis(cfg RedisConfig) (*Redis, error) {
	timeout := orDefault(cfg.Timeout, defaultCallTimeout)
	if timeout < 0 {
		return nil, fmt.Errorf("configure redis: timeout: got %s, want a positive time", timeout)
	}
	client, err := newClient(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("configure redis: %w", err)
	}
	seal, err := newSealKey(cfg.Secret)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("configure redis: derive a key: %w", err), client.Close())
	}
	return &Redis{client: client, seal: seal, timeout: timeout, events: cfg.Events.withDefaults()}, nil
}

// newClient makes the client a URL asks for. Our limits win over its parameters.
// An error never tells the URL, which has the password in it.
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
		q.Del("sentinel_username") // go-redis does not take them from a URL
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

// noRetries turns go-redis's own retries off: the deadline leaves no time for them,
// and a retry belongs to those who know what a miss costs.
const noRetries = -1

func limitClient(o *redis.Options) {
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, noRetries, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = probeTimeout, probeTimeout, probeTimeout // each call's context is shorter
	o.PoolSize, o.MaxActiveConns, o.PoolTimeout = poolSize, poolSize, probeTimeout
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func limitFailover(o *redis.FailoverOptions) {
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, noRetries, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = probeTimeout, probeTimeout, probeTimeout
	o.PoolSize, o.MaxActiveConns, o.PoolTimeout = poolSize, poolSize, probeTimeout
}

func limitCluster(o *redis.ClusterOptions) {
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, noRetries, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = probeTimeout, probeTimeout, probeTimeout
	o.PoolSize, o.MaxActiveConns, o.PoolTimeout = poolSize, poolSize, probeTimeout
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// silenceLogger stops go-redis from writing lines of its own to standard error: what
// goes wrong is counted, and a log of JSON stays one. Once, because the setting
// is the library's and not a client's.
var silenceLogger = sync.OnceFunc(func() { redis.SetLogger(discardLogger{}) })

type discardLogger struct{}

// Printf implements go-redis's logger.
func (discardLogger) Printf(context.Context, string, ...any) {}

// Close ends the connections. It comes after the Cache's Close.
func (r *Redis) Close() error {
	r.probes.Wait()
	return r.client.Close()
}

// Ping reports whether Redis answers, within a second. Called before the first
// use it also saves that the time of connecting, which a call may not have.
func (r *Redis) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := r.client.Ping(ctx).Err()
	r.breaker.record(err)
	return err
}

// errUnavailable: the call was not made.
var errUnavailable = errors.New("redis is away")

// call makes one call under the deadline, unless Redis is known to be away.
func (r *Redis) call(ctx context.Context, do func(context.Context) error) error {
	may, probe := r.breaker.allow()
	if !may {
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
	within, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	began := time.Now()
	err := do(within)
	r.events.Called(time.Since(began))
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	if err != nil && ctx.Err() != nil {
		return err // the caller gave up; Redis is not to blame
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

// releaseAbandoned releases abandoned leases of a Redis that answers: what was
// sent to it before has run by now. What fails runs out by itself.
func (r *Redis) releaseAbandoned(ctx context.Context) {
	leases := r.abandoned.drain()
	if len(leases) == 0 {
		return
	}
	_, _ = r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for key, proof := range leases {
			p.Eval(ctx, releaseScript, []string{key}, proof)
		}
		return nil
	})
}

// load returns the entry under key, nil if there is none or Redis is in trouble.
// An entry that is damaged, forged, of another secret or of another version of the
// program is no failed call: in a rollout there are many.
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

// save keeps e for as long as anybody could serve it.
func (r *Redis) save(ctx context.Context, log, key string, e *Entry) {
	life := min(e.Fresh, maxLifetime) + min(max(e.Stale, e.OnError, 0), maxLifetime)
	raw, err := e.AppendBinary(nil)
	if err != nil || life < time.Millisecond {
		return // too large, or not worth the way
	}
	name := entryKey(log, key)
	raw = r.seal.seal(name, raw)
	_ = r.call(ctx, func(ctx context.Context) error { // counted by call
		return r.client.Set(ctx, name, raw, life).Err()
	})
}

// acquireLease asks to be the one process that fills key. It returns the proof to
// release it with, or "" if another process has it. known is false if Redis
// cannot tell.
func (r *Redis) acquireLease(ctx context.Context, log, key string) (proof string, known bool) {
	token := rand.Text()
	var got bool
	err := r.call(ctx, func(ctx context.Context) (err error) {
		got, err = r.client.SetNX(ctx, leaseKey(log, key), token, leaseTTL).Result()
		return err
	})
	if err != nil && !errors.Is(err, errUnavailable) {
		r.abandoned.add(leaseKey(log, key), token)
	}
	if err != nil || !got {
		return "", err == nil
	}
	return token, true
}

// releaseScript deletes a lease only if it is still ours: it may have run out
// and be another's by now.
const releaseScript = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

func (r *Redis) releaseLease(ctx context.Context, log, key, proof string) {
	err := r.call(ctx, func(ctx context.Context) error {
		return r.client.Eval(ctx, releaseScript, []string{leaseKey(log, key)}, proof).Err()
	})
	if err != nil {
		r.abandoned.add(leaseKey(log, key), proof)
	}
}

// Keys of different logs never meet: their event numbers cannot be compared.
func entryKey(log, key string) string { return joinKey(log, ":", key) }
func leaseKey(log, key string) string { return joinKey(log, ":lease:", key) }

func joinKey(log, kind, key string) string {
	return strings.Join([]string{keyPrefix, log, kind, key}, "")
}
