package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/edge/compress"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// DefaultBytes bounds the memory of stored responses, in bytes.
	DefaultBytes = 256 << 20
	// shards is few, as what one answer may weigh is a part of a shard.
	shards = 2
	// maxStored bounds the body of one stored response, in bytes. A larger one is streamed
	// and not stored, because it would displace hundreds of pages.
	maxStored = 2 << 20
	// keepValidated is how long an answer stays as something a 304 can confirm.
	keepValidated = 24 * time.Hour
	// headTimeout bounds the wait for the head of an answer, also where the transport
	// does not. It is longer than the silence that package conn allows within a body.
	headTimeout = upstream.DefaultHeadTimeout * timeout.Scale
)

// Config holds the settings of a Proxy.
type Config struct {
	// Transport sends requests to the origin. Required.
	Transport http.RoundTripper
	// Scheme and Host are what the address of a request to the origin is made
	// with; a transport that chooses among origins replaces them.
	Scheme, Host string
	// Profile is how RFC 9111 is read where it leaves a choice.
	Profile rfc9111.Profile
	// Bytes bounds the memory of stored responses. Zero: DefaultBytes.
	Bytes int64
	// Fields are names of request fields that may reach the origin on cached
	// routes beside those that always may. They become part of the key.
	Fields []string
	// IgnoreCookies are names of cookies that responses do not depend on; a trailing *
	// matches any suffix. A request with no other cookies is treated as one without
	// cookies, but if the response is not stored the origin receives the cookies.
	// CookielessPaths are prefixes of paths where cookies do not matter. The rfc profile
	// ignores both.
	IgnoreCookies, CookielessPaths []string
	// Prepare adds the edge's own fields to a request to the origin (the client's address,
	// the request's id); fields that clients may not set are removed before. The response
	// must not depend on what it adds. It may be nil.
	Prepare func(*fasthttp.RequestCtx, http.Header)
	// Fail responds to a request whose origin could not be reached, whose body could not be
	// read (ErrBody) or is too large, or that may only be answered from the cache and is
	// not cached (ErrNotCached). Required.
	Fail func(*fasthttp.RequestCtx, error)
	// BodyLimit returns the limit of a request's body in bytes; zero, or a nil function,
	// means no limit. A longer one is passed to Fail as a *TooLargeError.
	BodyLimit func(*fasthttp.RequestCtx) int64
	// Shared is a tier in which edges share responses, nil for none; AsOf then returns the number of the
	// newest event whose purges were applied here. They need the strict profile, in which a response
	// depends on nothing but its key.
	Shared *cache.SharedVariants
	AsOf   func() int64
	// Strip names answer fields that are between the origin and the edge.
	Strip []string
	// Events are called for metrics.
	Events Events
}

// Events are callbacks for metrics. Each may be nil; they run on the request's path and
// must be fast.
type Events struct {
	Hit, Stale, Miss, Passed, Collapsed, OnError, Shared func()
	// Evicted reports that n stored responses were evicted.
	Evicted func(n int)
}

// ErrNotCached is passed to Fail when a request has only-if-cached and the response is not
// cached: a 504 (RFC 9111, 5.2.1.7).
var ErrNotCached = errors.New("proxy: not in the cache, and the request has only-if-cached")

// ErrRefused is wrapped by the error of a transport that did not send a request because of
// a limit of its client. The origin may be healthy, so other requests that wait for the
// same response are sent separately.
var ErrRefused = errors.New("proxy: the request is not sent")

// Proxy is the pass-through. It is safe for concurrent use.
type Proxy struct {
	cfg     Config
	store   *variantStore
	fields  *fieldPolicy
	flights flights
	strip   []string
	limit   int64       // of a stored body
	shared  *sharedTier // nil: none
	noDate  *fasthttp.ResponseHeader

	compressor *compress.Worker
	ending     chan struct{}
	background sync.WaitGroup // what runs after its request was answered
}

// Memory returns how many bytes the stored answers take and how many they are.
func (p *Proxy) Memory() (bytes, entries int64) { return p.store.cache.Used(), p.store.cache.Entries() }

// New validates cfg and returns a Proxy. The caller must call Close.
func New(cfg Config) (*Proxy, error) {
	var missing []error
	if cfg.Transport == nil {
		missing = append(missing, errors.New("a transport is required"))
	}
	if cfg.Fail == nil {
		missing = append(missing, errors.New("a way to answer failures is required"))
	}
	if cfg.Shared != nil && (cfg.AsOf == nil || cfg.Profile != rfc9111.Strict) {
		missing = append(missing, errors.New("shared responses need the strict profile and the log"))
	}
	if err := errors.Join(missing...); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if cfg.Bytes == 0 {
		cfg.Bytes = DefaultBytes
	}
	nothing := func() {}
	for _, f := range []*func(){&cfg.Events.Hit, &cfg.Events.Stale, &cfg.Events.Miss, &cfg.Events.Passed,
		&cfg.Events.Collapsed, &cfg.Events.OnError, &cfg.Events.Shared} {
		if *f == nil {
			*f = nothing
		}
	}
	blank, err := noDateHeader()
	if err != nil {
		return nil, fmt.Errorf("proxy: make a header: %w", err)
	}
	responses, err := cache.New(cache.Config{Bytes: cfg.Bytes, Shards: shards,
		Events: cache.Events{Evicted: cfg.Events.Evicted}})
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{
		noDate: blank,
		cfg:    cfg, fields: newFieldPolicy(&cfg), compressor: compress.NewWorker(), ending: make(chan struct{}),
		limit: min(maxStored, responses.MaxEntryBytes()*3/4), // the rest is for its head and one compressed form
		strip: []string{"Surrogate-Key", "Cache-Tag"},
	}
	p.store = &variantStore{cache: responses, fields: p.fields}
	if cfg.Shared != nil {
		p.shared = &sharedTier{proxy: p, variants: cfg.Shared, asOf: cfg.AsOf, unwritten: map[string]int64{}}
	}
	for _, name := range cfg.Strip {
		p.strip = append(p.strip, textproto.CanonicalMIMEHeaderKey(name))
	}
	p.flights.byKey = map[variantMarker]*flight{}
	p.store.inFlight.byURL, p.store.inFlight.open = map[string]*pendingURL{}, map[*exchange]func(){}
	p.background.Go(func() { p.compressor.Run(p.ending) })
	return p, nil
}

// Close ends what runs behind and frees the memory. It must come after the last
// request.
func (p *Proxy) Close() {
	close(p.ending)
	p.store.inFlight.cancelAll()
	p.background.Wait()
	p.store.cache.Close()
}

// Purge makes every stored answer that carries one of the tags stale at once: it
// is validated before it is sent again. hard: it is not even sent while the origin
// is unreachable. The tag of an address is "url:" and its host, path and query, or its
// path and query alone for any host.
func (p *Proxy) Purge(hard bool, tags ...string) {
	at := p.store.seq.Add(1)
	if hard {
		p.store.cache.PurgeHard(at, tags...)
	} else {
		p.store.cache.Purge(at, tags...)
	}
}

// PurgeAll does to everything stored what Purge does to a tag.
func (p *Proxy) PurgeAll(hard bool) {
	at := p.store.seq.Add(1)
	if hard {
		p.store.cache.InvalidateBeforeHard(at)
	} else {
		p.store.cache.InvalidateBefore(at)
	}
}

// Serve serves one request. If the server streams bodies, Serve streams long ones to the
// origin.
func (p *Proxy) Serve(ctx *fasthttp.RequestCtx) {
	defer closeUnread(ctx)
	q, err := p.read(ctx)
	if err != nil {
		p.cfg.Fail(ctx, err)
		return
	}
	if q.mode == bypass {
		p.cfg.Events.Passed()
		p.pass(ctx, q, "fwd="+q.bypassReason)
		return
	}
	p.answer(ctx, q)
}

// maxRounds is how often one request waits for the response to another before it is sent
// itself: a response that varies in an unknown way costs a second round.
const maxRounds = 3

// answer serves a request whose response may be cached.
func (p *Proxy) answer(ctx *fasthttp.RequestCtx, q *request) {
	for round := 1; ; round++ {
		f := p.store.lookup(q)
		now := time.Now()
		if f.variant != nil && p.useStored(ctx, q, &f, now) {
			return
		}
		if f.variant == nil && p.useStoredRange(ctx, q, now) {
			return
		}
		if q.Directives.OnlyIfCached { // RFC 9111, 5.2.1.7
			p.cfg.Fail(ctx, ErrNotCached)
			return
		}
		if q.mode != coalesce || round > maxRounds {
			p.serveSolo(ctx, q, &f)
			return
		}
		fl, leads := p.join(q, &f)
		switch {
		case fl == nil:
			p.serveSolo(ctx, q, &f)
			return
		case leads:
			p.lead(ctx, q, &f, fl)
			return
		}
		if !fl.wait() {
			p.serveSolo(ctx, q, &f)
			return
		}
		if errors.Is(fl.err, ErrRefused) {
			continue
		}
		if fl.err != nil {
			p.serveFailed(ctx, q, &f, fl.err)
			return
		}
		if v := fl.shared; v != nil && v.key == p.fields.variantKey(v.varyBy, q.upstreamHeader) &&
			!p.purgedBefore(&f, fl, v.tags) {
			p.cfg.Events.Collapsed()
			p.send(ctx, q, v, status{fwd: f.fwd(), collapsed: true, stale: fl.onError})
			return
		}
	}
}

// useStoredRange serves a stored 206 response to an identical range request.
func (p *Proxy) useStoredRange(ctx *fasthttp.RequestCtx, q *request, now time.Time) bool {
	if !p.storesRanges(q) {
		return false
	}
	f := p.store.lookup(q.rangeRequest())
	if f.variant == nil || p.cfg.Profile.Reuse(&q.Directives, f.variant.Response, now, f.invalid) != rfc9111.Use {
		return false
	}
	p.cfg.Events.Hit()
	p.send(ctx, q, f.variant, status{hit: true})
	return true
}

// storesRanges reports whether a 206 may be stored for identical requests (RFC 9111, 3.3).
// Ranges are never joined or cut. A strict cache stores none: video players request a
// different range each time.
func (p *Proxy) storesRanges(q *request) bool {
	return p.cfg.Profile == rfc9111.RFC && q.Method == http.MethodGet && len(q.Header["Range"]) == 1 &&
		len(q.Header["If-Range"]) == 0
}

// rangeRequest returns a copy of q whose key includes its range.
func (q *request) rangeRequest() *request {
	part := *q
	part.fields += "\x00range=" + q.Header["Range"][0]
	part.key += "\x00range=" + q.Header["Range"][0]
	return &part
}

// flightKey names the variant that q requests, as far as it is known: what is under
// way for it, and whether the origin has just failed for it. Another variant of the
// same address may be in order.
func (q *request) flightKey(f *lookup) string { return q.key + "\x00\x00" + f.vary }

// join finds or starts the flight for q. The leader must end it with finish.
func (p *Proxy) join(q *request, f *lookup) (fl *flight, leads bool) {
	url := p.store.inFlight.acquire(q.address)
	tags := []string{urlTag(q.host, q.target), urlTag("", q.target)}
	if f.variant != nil {
		tags = f.variant.tags
	}
	fl, leads = p.flights.join(q.flightKey(f), f.seq, url, func(fl *flight) bool {
		return fl.pending.changedAt.Load() > fl.seq || p.purgedBefore(f, fl, tags)
	})
	if !leads {
		p.store.inFlight.release(q.address, url)
	}
	return fl, leads
}

// purgedBefore reports whether a tag of the response of a flight was purged after the
// flight began and before the request looked f up. A request that came earlier may share
// the response.
func (p *Proxy) purgedBefore(f *lookup, fl *flight, tags []string) bool {
	return fl.seq != f.seq && p.store.cache.Purged(fl.seq, tags...)
}

// finish ends a flight; requests that still wait get no response from it.
func (p *Proxy) finish(q *request, fl *flight) {
	p.flights.end(fl, nil, false, nil)
	fl.lease.decline(failedFor) // unless it was published
	p.store.inFlight.release(q.address, fl.pending)
}

// useStored serves the stored response if it may be used now.
func (p *Proxy) useStored(ctx *fasthttp.RequestCtx, q *request, f *lookup, now time.Time) bool {
	switch p.cfg.Profile.Reuse(&q.Directives, f.variant.Response, now, f.invalid) {
	case rfc9111.Use:
		p.cfg.Events.Hit()
		p.send(ctx, q, f.variant, status{hit: true})
	case rfc9111.UseStale:
		p.cfg.Events.Stale()
		p.send(ctx, q, f.variant, status{hit: true, detail: "max-stale"})
	case rfc9111.UseAndRefresh:
		p.cfg.Events.Stale()
		p.refresh(q, f)
		p.send(ctx, q, f.variant, status{hit: true, detail: "stale-while-revalidate"})
	default:
		if f.hardPurged() || !p.flights.isBackingOff(q.flightKey(f)) ||
			!p.cfg.Profile.UseOnError(&q.Directives, f.variant.Response, now, rfc9111.Unreachable) {
			return false
		}
		p.cfg.Events.OnError()
		p.send(ctx, q, f.variant, status{hit: true, detail: "stale-if-error"})
	}
	return true
}

// invalidate removes what an unsafe request has changed (RFC 9111, 4.4; RFC 9875).
func (p *Proxy) invalidate(q *request, status int, h http.Header) {
	for _, target := range rfc9111.Invalidates(q.Method, status, q.url, q.host, h) {
		p.invalidateURL(q.host, target)
	}
	var tags []string
	for _, group := range rfc9111.InvalidatedGroups(q.Method, status, h) {
		tags = append(tags, groupTag(q.host, group))
	}
	if len(tags) > 0 {
		p.Purge(true, tags...)
	}
}

func urlTag(host, target string) string { return "url:" + host + target }

func groupTag(host, group string) string { return "group:" + host + " " + group }

// tagsOf returns the tags by which a response can be purged.
func tagsOf(q *request, h http.Header) []string {
	tags := []string{urlTag(q.host, q.target), urlTag("", q.target)}
	for _, line := range h["Surrogate-Key"] {
		tags = append(tags, strings.Fields(line)...)
	}
	for _, line := range h["Cache-Tag"] {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				tags = append(tags, tag)
			}
		}
	}
	for _, group := range rfc9111.Groups(h) {
		tags = append(tags, groupTag(q.host, group))
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}
