package edge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/developer"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
	"github.com/fieldmark/fieldmark/internal/slots"
)

// The default rates of the APIs: requests per quotaWindow and the largest burst.
const (
	readQuota      = 600 // with a key
	writeQuota     = 300 // with a key
	anonymousQuota = 30  // without one, for each client network
	quotaBurst     = 60
	quotaWindow    = time.Minute
	// DefaultNetworkQuota is how many requests to the origin one client network may cause in
	// a minute, whatever for. What is in the cache is not counted: it costs us
	// less than counting.
	DefaultNetworkQuota = 6000
	networkBurst        = 1000
	// maxRetryAfter is what tools that retry will still wait for: several stop
	// after five tries of five seconds.
	maxRetryAfter = 5 * time.Second
	// maxKnownKeys bounds the verified keys that a node caches; beyond it keys are evicted
	// and verified again by the origin.
	maxKnownKeys = 100_000
)

// RateLimit is where requests are counted.
type RateLimit string

// The places.
const (
	RateLimitOff    RateLimit = ""       // nowhere
	RateLimitLocal  RateLimit = "local"  // on each node for itself
	RateLimitShared RateLimit = "shared" // in Redis, for all nodes together
)

// quotaLimits returns the rates for the page of limits. It is empty without limits.
func quotaLimits(where RateLimit, perNetwork int) []developer.Limit {
	if where == RateLimitOff {
		return nil
	}
	const group, unit = "Rates", "requests a minute"
	limit := func(name string, value int64, unit, note string) developer.Limit {
		return developer.Limit{Group: group, Name: name, Value: value, Unit: unit, Code: fieldmark.CodeRateLimited,
			Note: note}
	}
	all := []developer.Limit{
		limit("Reads with a key", readQuota, unit, "Unless the key or the offer of its account has another rate."),
		limit("Writes with a key", writeQuota, unit, "Unless the key or the offer of its account has another rate. A "+
			"batch counts as its missions."),
		limit("Requests without a valid key", anonymousQuota, unit, "For each client network."),
		limit("Burst", quotaBurst, "requests", "RateLimit fields of a response show what is left."),
	}
	if perNetwork > 0 {
		all = append(all, limit("Requests of a client network", int64(perNetwork), unit,
			"In total. What an edge has in its cache does not count."))
	}
	return all
}

// rateLimiter limits the request rates of clients. Only the origin can verify API keys: the
// limiter records valid keys from its responses, and until then counts a request by its
// client network.
type rateLimiter struct {
	limiter *cache.Limiter // nil: no limits
	network cache.Rate     // of what reaches the origin; zero: no limit

	mu sync.Mutex

	known map[keyHash]quota
}

// keyHash is the hash of a key's token; the token itself is not stored.
type keyHash [sha256.Size]byte

// quota has the buckets in which the requests of a key are counted: its own, and then that which
// it shares with the other keys of its account and of the sub-accounts. A key of a group has its
// own only if its rate was set. They are made when the origin reports the key, as a request from
// the cache costs less than making them.
type quota struct{ reads, writes []bucket }

// maxBuckets is the most buckets that a request is counted in.
const maxBuckets = 2

// newRateLimiter returns a limiter; the zero RateLimit counts nothing. Shared limits are kept in Redis, so that a
// fleet of n nodes does not allow n times the rate; while Redis fails each node counts for itself.
func newRateLimiter(where RateLimit, perNetwork int, redis *cache.Redis) *rateLimiter {
	l := &rateLimiter{known: map[keyHash]quota{}}
	switch where {
	case RateLimitLocal:
		l.limiter = cache.NewLimiter(nil)
	case RateLimitShared:
		l.limiter = cache.NewLimiter(redis)
	}
	if perNetwork > 0 {
		l.network = cache.Rate{Quota: perNetwork, Window: quotaWindow, Burst: min(networkBurst, perNetwork)}
	}
	return l
}

// bucket is what one request is counted in.
type bucket struct {
	name string // of the policy, for its client
	key  string
	rate cache.Rate
}

// write adds the policy of b and what it still allows to the lists of an answer.
func (b bucket) write(h *fasthttp.ResponseHeader, v cache.RateResult) {
	t := v.ResetAfter
	if !v.Allowed {
		t = v.RetryAfter
	}
	addItem(h, "RateLimit-Policy", b.name, ";q=", b.rate.Quota, ";w=", int(b.rate.Window/time.Second))
	addItem(h, "RateLimit", b.name, ";r=", v.Remaining, ";t=", seconds(t))
}

// addItem puts an item with two parameters in front of a list field (RFC 9651, 3.1). It does not
// allocate unless the field has several items.
func addItem(h *fasthttp.ResponseHeader, field, item, name1 string, value1 int, name2 string, value2 int) {
	var buffer [64]byte
	b := append(append(append(buffer[:0], '"'), item...), '"')
	b = strconv.AppendInt(append(b, name1...), int64(value1), 10)
	b = strconv.AppendInt(append(b, name2...), int64(value2), 10)
	if rest := h.Peek(field); len(rest) > 0 {
		b = append(append(b, ", "...), rest...)
	}
	h.SetBytesV(field, b)
}

// limitError is a refusal by a bucket, which the answer names.
type limitError struct {
	problem *fieldmark.Error
	bucket  bucket
	verdict cache.RateResult
}

// Error implements error.
func (e *limitError) Error() string { return e.problem.Error() }

// Unwrap returns the problem.
func (e *limitError) Unwrap() error { return e.problem }

func perMinute(n int) cache.Rate {
	return cache.Rate{Quota: n, Window: quotaWindow, Burst: min(n, quotaBurst)}
}

// anonBucket returns the bucket of a client without a key.
func anonBucket(client netip.Addr) bucket {
	const name = "anonymous"
	var buffer [64]byte // of the key, so that only the key itself is allocated
	key := clientNetwork(client).AppendTo(append(buffer[:0], name+":"...))
	return bucket{name: name, key: string(key), rate: perMinute(anonymousQuota)}
}

// unverifiedBucket is the bucket of a key that the node has not seen accepted. Each key
// has its own, as keys of other clients behind the same address must not be able
// to use it up. What all of them cause at the origin is bounded by the network's
// quota; a key has too many secret bits to be found by trying.
func unverifiedBucket(hash keyHash) bucket {
	return bucket{name: "unverified", key: "unverified:" + hex.EncodeToString(hash[:16]),
		rate: perMinute(anonymousQuota)}
}

// take takes n tokens from a bucket.
func (l *rateLimiter) take(b bucket, n int) cache.RateResult {
	return l.limiter.TakeN(context.Background(), b.key, b.rate, n)
}

// peek reports whether a request would be allowed, without counting it.
func (l *rateLimiter) peek(b bucket) cache.RateResult {
	return l.limiter.Peek(context.Background(), b.key, b.rate)
}

// newBuckets returns the buckets of a key for one kind of requests. A rate of 0 is not set.
func newBuckets(kind, id string, own int, group string, shared, preset int) (all []bucket) {
	if own == 0 && shared == 0 {
		own = preset
	}
	if own > 0 {
		all = append(all, bucket{name: kind, key: kind + ":" + id, rate: perMinute(own)})
	}
	if shared > 0 {
		all = append(all, bucket{name: "account-" + kind, key: "account-" + kind + ":" + group,
			rate: perMinute(shared)})
	}
	return all
}

// of returns the buckets of a request.
func (q quota) of(writes bool) []bucket {
	if writes {
		return q.writes
	}
	return q.reads
}

// verdicts are the results of the buckets that a request counts in.
type verdicts struct {
	all [maxBuckets]cache.RateResult
	n   int
}

// takeAll takes n tokens from each bucket until one refuses. The key's own bucket is the first,
// so that a key that exceeds its own rate does not use up the rate of its group.
func (l *rateLimiter) takeAll(buckets []bucket, n int) (v verdicts, allowed bool) {
	for i, b := range buckets {
		v.all[i] = l.take(b, n)
		v.n++
		if !v.all[i].Allowed {
			return v, false
		}
	}
	return v, true
}

// requestLimiter enforces the rate limits of clients.
type requestLimiter struct {
	*responder
	clients clients
	limits  *rateLimiter
}

// limit calls next if the client is within its rate, and otherwise refuses the
// request.
func (l *requestLimiter) limit(ctx *fasthttp.RequestCtx, by limitedBy, next func(*fasthttp.RequestCtx) route) route {
	if l.limits.limiter == nil {
		return next(ctx)
	}
	hash, keyed := parseKey(ctx.Request.Header.Peek("Authorization"))
	if keyed && by == byClient {
		_, keyed = l.limits.find(hash)
	}
	if !keyed {
		return l.enforce(ctx, anonBucket(l.clients.addr(ctx)), next)
	}
	if _, known := l.limits.find(hash); known && strings.HasPrefix(text(ctx.Path()), fieldmark.PathAdminAPI) {
		return next(ctx) // the operator's own; only guessing keys is counted
	}
	weight, err := l.weight(ctx)
	if err != nil {
		l.fail(ctx, err)
		return routeRefused
	}
	r := routeRefused
	l.limits.limitKey(hash, isWrite(ctx), weight, func() (unauthorized bool) {
		r = next(ctx)
		return ctx.Response.StatusCode() == http.StatusUnauthorized
	}, func(b bucket, v cache.RateResult, refused bool) {
		if refused {
			l.meters.limited.Inc()
			l.fail(ctx, errRateLimited(ctx.Path(), b, v))
		}
		b.write(&ctx.Response.Header, v)
	})
	return r
}

// limitKey counts a request with a key and calls next unless its rate is used up; next
// reports whether the origin did not accept the key. Each bucket that counted it and what is
// left of it are reported after next.
func (l *rateLimiter) limitKey(hash keyHash, writes bool, weight int, next func() (unauthorized bool),
	report func(b bucket, v cache.RateResult, refused bool)) {
	q, known := l.find(hash)
	if known {
		buckets := q.of(writes)
		taken, allowed := l.takeAll(buckets, weight)
		if !allowed {
			last := taken.n - 1
			report(buckets[last], taken.all[last], true)
			return
		}
		next()
		for i, v := range taken.all[:taken.n] {
			report(buckets[i], v, false)
		}
		return
	}
	b := unverifiedBucket(hash) // counts only if the origin rejects the key too
	v := l.peek(b)
	if !v.Allowed {
		report(b, v, true)
		return
	}
	unauthorized := next()
	if q, known = l.find(hash); known {
		buckets := q.of(writes)
		taken, _ := l.takeAll(buckets, weight)
		for i, v := range taken.all[:taken.n] {
			report(buckets[i], v, false)
		}
		return
	}
	if unauthorized {
		v = l.take(b, 1)
	}
	report(b, v, false)
}

// enforce counts a request in a bucket, and calls next or refuses it.
func (l *requestLimiter) enforce(ctx *fasthttp.RequestCtx, b bucket,
	next func(*fasthttp.RequestCtx) route) route {
	v := l.limits.take(b, 1)
	r := routeRefused
	if v.Allowed {
		r = next(ctx)
	} else {
		l.meters.limited.Inc()
		l.fail(ctx, errRateLimited(ctx.Path(), b, v))
	}
	b.write(&ctx.Response.Header, v)
	return r
}

// admitRead counts a read that the node answers itself as n requests, and refuses it if that is
// more than the client's rate. A key that the node has seen has its own rate; any other could be
// made up by the client and counts as none.
func (l *requestLimiter) admitRead(ctx *fasthttp.RequestCtx, n int) error {
	if l.limits.limiter == nil {
		return nil
	}
	var anonymous [1]bucket
	var buckets []bucket
	if hash, keyed := parseKey(ctx.Request.Header.Peek("Authorization")); keyed {
		q, _ := l.limits.find(hash)
		buckets = q.of(false)
	}
	if buckets == nil {
		anonymous[0] = anonBucket(l.clients.addr(ctx))
		buckets = anonymous[:]
	}
	taken, _ := l.limits.takeAll(buckets, n)
	var err error
	for i, v := range taken.all[:taken.n] {
		err = l.count(ctx, buckets[i], v, !v.Allowed)
	}
	return err
}

// count adds what a bucket still allows to the answer, and returns the error of a refusal.
func (l *requestLimiter) count(ctx *fasthttp.RequestCtx, b bucket, v cache.RateResult, refused bool) error {
	b.write(&ctx.Response.Header, v)
	if !refused {
		return nil
	}
	l.meters.limited.Inc()
	return errRateLimited(ctx.Path(), b, v)
}

// weight returns how many requests one counts for: a batch as its missions. A
// batch that cannot be read is refused by the origin and counts as one.
func (l *requestLimiter) weight(ctx *fasthttp.RequestCtx) (int, error) {
	if !ctx.IsPost() || text(ctx.Path()) != fieldmark.PathMissionBatch {
		return 1, nil
	}
	if err := readBody(ctx, fieldmark.MaxBatchBody); err != nil {
		return 0, err
	}
	var batch struct {
		Missions []json.RawMessage `json:"missions"`
	}
	if json.Unmarshal(ctx.Request.Body(), &batch) != nil {
		return 1, nil
	}
	return min(max(len(batch.Missions), 1), fieldmark.MaxBatch), nil
}

// errRateLimited returns the error for a request beyond its rate. Monitoring systems get an
// overload error instead, because 429 makes them drop an alert.
func errRateLimited(path []byte, b bucket, v cache.RateResult) *fieldmark.Error {
	fe := &fieldmark.Error{Code: fieldmark.CodeRateLimited, RetryAfter: jitteredRetry(v.RetryAfter),
		Detail: fmt.Sprintf("more was asked than the policy %q allows: %d requests a minute; Retry-After says when "+
			"to go on", b.name, b.rate.Quota)}
	if bytes.HasPrefix(path, integrationsPath) {
		fe.Code, fe.Detail = fieldmark.CodeOverloaded, "more was sent than is taken just now; Retry-After says when "+
			"to send again"
	}
	return fe
}

var integrationsPath = []byte(fieldmark.PathPublic + "v1/integrations/")

// jitteredRetry is a time to wait, in whole seconds, different for each client.
func jitteredRetry(least time.Duration) time.Duration {
	return time.Duration(max(seconds(least), min(seconds(least)+rand.IntN(3),
		int(maxRetryAfter/time.Second)))) * time.Second
}

// seconds rounds up.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// jittered returns a duration of one to three times least.
func jittered(least time.Duration) time.Duration {
	return least + time.Duration(rand.IntN(3))*least
}

// parseKey parses an API key from an Authorization field and returns its hash; ok is false
// if the text cannot be a key.
func parseKey(field []byte) (hash keyHash, ok bool) {
	scheme, token, _ := bytes.Cut(field, []byte(" "))
	token = bytes.TrimSpace(token)
	if !strings.EqualFold(text(scheme), "Bearer") {
		return hash, false
	}
	if _, err := fieldmark.ParseKeyToken(text(token)); err != nil {
		return hash, false
	}
	return sha256.Sum256(token), true
}

func (l *rateLimiter) find(hash keyHash) (quota, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q, ok := l.known[hash]
	return q, ok
}

// observeKey records what a response of the origin reports about the API key of its
// request.
func (l *rateLimiter) observeKey(authorization string, resp *http.Response) {
	said := resp.Header.Get(fieldmark.HeaderQuota)
	resp.Header.Del(fieldmark.HeaderQuota)
	hash, ok := parseKey([]byte(authorization))
	if !ok {
		return
	}
	q, good := parseQuota(said)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case good:
		for h := range l.known {
			if len(l.known) < maxKnownKeys {
				break
			}
			delete(l.known, h)
		}
		l.known[hash] = q
	case resp.StatusCode == http.StatusUnauthorized:
		delete(l.known, hash)
	}
}

// parseQuota parses the quota of a key from a header field of the origin.
func parseQuota(s string) (quota, bool) {
	id, rest, _ := strings.Cut(s, ";")
	var group string
	var reads, writes, groupReads, groupWrites int
	for rest != "" {
		var item string
		item, rest, _ = strings.Cut(rest, ";")
		name, value, _ := strings.Cut(item, "=")
		var rate *int
		switch name {
		case "g":
			group = value
		case "r":
			rate = &reads
		case "w":
			rate = &writes
		case "gr":
			rate = &groupReads
		case "gw":
			rate = &groupWrites
		}
		if rate == nil {
			continue // of the spool, or of a newer origin
		}
		var err error
		if *rate, err = strconv.Atoi(value); err != nil || *rate < 1 {
			return quota{}, false
		}
	}
	return quota{newBuckets("reads", id, reads, group, groupReads, readQuota),
		newBuckets("writes", id, writes, group, groupWrites, writeQuota)}, id != ""
}

// Limits of what clients hold at the origins. Everything of one kind together is
// bounded by what a node and its origins can carry, and one client network may
// take the share conn.NetworkFraction of it.
const (
	// maxTunnels bounds the WebSocket connections that are passed through. Each uses two
	// goroutines with a buffer of 32 KiB, so all of them use 64 MiB.
	maxTunnels = 1024
	// maxFetches bounds the requests for answers that only one client may want, like
	// the score of some day: half of a node's own connections to an origin, so that
	// the other half is for present scores and the event log.
	maxFetches = upstream.MaxConns / 2
)

// newSlots returns slots of total, of which one network may use a quarter, and no more than a quarter of pool. An
// invalid network, that of a trusted proxy, has no share.
func newSlots(total, pool int) *slots.Slots[netip.Addr] {
	return slots.New[netip.Addr](total, max(1, min(total, pool)/conn.NetworkFraction))
}

// isWrite reports whether a request may change something: GET, HEAD and OPTIONS are safe (RFC
// 9110, 9.2.1).
func isWrite(ctx *fasthttp.RequestCtx) bool { return !ctx.IsGet() && !ctx.IsHead() && !ctx.IsOptions() }
