package proxy

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// sharedWait is how long a request waits for another edge. It is shorter than maxWait, so that requests which
	// wait for this one still get its response.
	sharedWait = 4 * time.Second * timeout.Scale
	// sharedPollMin and sharedPollMax bound the pause between two lookups meanwhile.
	sharedPollMin = 5 * time.Millisecond
	sharedPollMax = 50 * time.Millisecond
	// minSharedLife is the lifetime below which a response is not shared: it would be stale when others read it.
	minSharedLife = 5 * time.Second
	// renewEvery is the pause between two renewals of a lease, and leaseMax how long one is renewed at most.
	renewEvery = time.Second
	leaseMax   = 30 * time.Second
	// failedFor is how long other edges do not wait for a response whose fetch failed here: the origin may be
	// reachable for them, and one after the other would take too long.
	failedFor = time.Second
	// maxUnwritten bounds the addresses whose invalidation has not reached the tier.
	maxUnwritten = 1 << 16
)

// sharedTier is what edges share of proxied responses. A nil tier is off.
type sharedTier struct {
	proxy    *Proxy
	variants *cache.SharedVariants
	asOf     func() int64

	// unwritten are the addresses that an unsafe request has changed and whose shared responses are not known to
	// be gone, with the number of the last change. This edge must not use those (RFC 9111, 4.4).
	mu        sync.Mutex
	unwritten map[string]int64
	changes   int64
	offUntil  time.Time // more addresses changed than unwritten may have
}

// sharedLease ends with the first call of publish, decline or release. The methods of a nil lease do nothing.
type sharedLease struct {
	*cache.VariantLease
	proxy *Proxy
	ended atomic.Bool
	over  chan struct{} // closed when it ended
	read  atomic.Bool   // bytes came from the origin since the last renewal
}

// end runs do behind the request, unless the lease has ended.
func (l *sharedLease) end(do func(context.Context)) {
	if l != nil && !l.ended.Swap(true) {
		close(l.over)
		l.proxy.background.Go(func() { do(context.Background()) })
	}
}

// decline publishes that other edges need not wait for this response.
func (l *sharedLease) decline(life time.Duration) {
	l.end(func(ctx context.Context) { l.Decline(ctx, life) })
}

// renew prolongs the lease while bytes come from the origin.
func (l *sharedLease) renew() {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	last := time.After(leaseMax)
	for {
		select {
		case <-tick.C:
			if l.read.Swap(false) {
				l.Renew(context.Background())
			}
		case <-last:
			return
		case <-l.over:
			return
		}
	}
}

// watch returns a body whose reads keep the lease.
func (l *sharedLease) watch(body io.ReadCloser) io.ReadCloser {
	if l == nil {
		return body
	}
	l.read.Store(true) // its head has come
	return &watchedBody{ReadCloser: body, lease: l}
}

type watchedBody struct {
	io.ReadCloser
	lease *sharedLease
	bytes int
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.lease.read.Store(true)
	}
	if b.bytes += n; b.bytes > cache.MaxVariantBytes {
		b.lease.decline(soloFor)
	}
	return n, err
}

// The sets of responses of an address without keyed fields.
const (
	partHTTP  = "http"
	partHTTPS = "https"
)

// sharedSet returns the name of the responses to q in the tier.
func (q *request) sharedSet() cache.VariantSet {
	part := partHTTP
	if q.key == keyOf(true, q.address)+q.fields {
		part = partHTTPS
	}
	return cache.VariantSet{Resource: q.address, Part: part + q.fields}
}

// sharedLife returns how long a response to q may stay in the tier. The sets of keyed fields cannot be enumerated, so
// an invalidation does not delete them: it outlasts them.
func (q *request) sharedLife(v *variant) time.Duration {
	if q.fields != "" {
		return min(v.RetainFor(keepValidated), cache.InvalidationLife)
	}
	return v.RetainFor(keepValidated)
}

// answer answers q from the tier. If it returns false the request must go to the origin; fl then has the lease, unless
// another edge has it or the tier does not answer.
func (t *sharedTier) answer(ctx *fasthttp.RequestCtx, q *request, f *lookup, fl *flight) bool {
	if t == nil || q.mode != coalesce || len(q.Header["Authorization"]) > 0 {
		return false
	}
	background := context.Background() // others wait for the response too
	set, until := q.sharedSet(), time.Now().Add(sharedWait)
	for pause := sharedPollMin; t.usable(background, q.address); pause = min(2*pause, sharedPollMax) {
		seq := t.proxy.store.seq.Load() // before the purges that the tier compares with
		found, ok := t.variants.Load(background, set)
		if !ok || t.serveShared(ctx, q, fl, seq, t.decodeVariants(q, found.Variants)) {
			return ok
		}
		if found.Declined {
			return false
		}
		lease, found, ok := t.variants.Acquire(background, set, f.vary)
		if lease != nil {
			t.setLease(fl, lease)
			variants := t.decodeVariants(q, found.Variants)
			if t.serveShared(ctx, q, fl, seq, variants) {
				fl.lease.end(lease.Release)
				return true
			}
			if len(variants) > 0 && f.variant == nil {
				// Stale, but the origin may confirm it, and it may be sent if the origin fails.
				f.resource, f.variant = &resource{variants}, t.proxy.store.match(variants, q)
			}
			return false
		}
		if !ok || time.Now().After(until) || !t.pause(pause/2+rand.N(pause)) {
			return false
		}
	}
	return false
}

// pause waits, and reports whether the proxy is still open then.
func (t *sharedTier) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.proxy.ending:
		return false
	}
}

// setLease gives the lease to a flight.
func (t *sharedTier) setLease(fl *flight, lease *cache.VariantLease) {
	fl.lease = &sharedLease{VariantLease: lease, proxy: t.proxy, over: make(chan struct{})}
	t.proxy.background.Go(fl.lease.renew)
}

// serveShared stores variants and sends the one that matches q, if it may be used.
func (t *sharedTier) serveShared(ctx *fasthttp.RequestCtx, q *request, fl *flight, seq int64,
	variants []*variant) bool {
	p := t.proxy
	v := p.store.match(variants, q)
	if v == nil {
		return false
	}
	s := status{hit: true, detail: "shared"}
	switch p.cfg.Profile.Reuse(&q.Directives, v.Response, time.Now(), false) {
	case rfc9111.Use:
	case rfc9111.UseAndRefresh:
		if ctx == nil {
			return false // this is the refresh
		}
		s.detail = "stale-while-revalidate"
	default:
		return false
	}
	for _, other := range slices.Backward(variants) { // each goes before those that are stored
		if p.store.put(q, other, seq, fl.pending) {
			p.compressLater(other)
		}
	}
	p.cfg.Events.Shared()
	p.resolve(fl, v, false)
	if s.detail != "shared" {
		if f := p.store.lookup(q); f.variant != nil {
			p.refresh(q, &f)
		}
	}
	p.sendTo(ctx, q, v, s)
	return true
}

// publish gives a stored response to the other edges, or records that it cannot be shared.
func (t *sharedTier) publish(q *request, fl *flight, v *variant, asOf int64) {
	if fl == nil || fl.lease == nil {
		return
	}
	e := encodeVariant(v, asOf)
	if !t.proxy.fields.shareable(v) || len(e.Head)+len(e.Body) > cache.MaxVariantBytes {
		fl.lease.decline(soloFor)
		return
	}
	fl.lease.end(func(ctx context.Context) {
		fl.lease.Publish(ctx, e, q.sharedLife(v), func(other *cache.Entry) bool {
			old, err := t.decodeVariant(other)
			return err != nil || t.proxy.store.shadows(v, old)
		})
	})
}

// shareable reports whether a response that may be stored may also leave this edge. It is stricter, because the
// tier is read by every edge, and because what is of little use to others costs two calls.
func (p *fieldPolicy) shareable(v *variant) bool {
	switch v.Status {
	case http.StatusOK, http.StatusNonAuthoritativeInfo, http.StatusMovedPermanently, http.StatusPermanentRedirect,
		http.StatusNotFound, http.StatusGone:
	default:
		return false
	}
	h, policy := v.Header, &v.Policy
	varies, _ := rfc9111.VaryNames(h)
	if slices.ContainsFunc(varies, func(name string) bool {
		rule := p.rule(name)
		return rule != negotiated && rule != keyed && name != "Accept-Encoding"
	}) {
		return false
	}
	return len(h["Set-Cookie"]) == 0 && len(policy.Omit) == 0 &&
		!policy.Private && !policy.NoStore && !policy.NoCache &&
		// A request that invalidates a group does so on the edge that it passes.
		len(h["Cache-Groups"]) == 0 && v.Fresh(v.Received) >= minSharedLife
}

// usable reports whether the tier has no response for an address that this edge has invalidated. It writes what
// is not written yet.
func (t *sharedTier) usable(ctx context.Context, address string) bool {
	t.mu.Lock()
	change, open := t.unwritten[address]
	off := time.Now().Before(t.offUntil)
	t.mu.Unlock()
	if off || open && !t.variants.Invalidate(ctx, address, partHTTP, partHTTPS) {
		return false
	}
	if open {
		t.written(address, change)
	}
	return true
}

// changed records that an address was changed.
func (t *sharedTier) changed(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes++
	if len(t.unwritten) >= maxUnwritten {
		clear(t.unwritten)
		t.offUntil = time.Now().Add(keepValidated) // by then no response from before is in the tier
	}
	t.unwritten[address] = t.changes
}

// written records that the tier has dropped what it had of an address before a change.
func (t *sharedTier) written(address string, change int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unwritten[address] == change {
		delete(t.unwritten, address)
	}
}

// invalidateURL invalidates the stored responses of a URL, here and in the tier.
func (p *Proxy) invalidateURL(host, target string) {
	p.store.invalidateURL(host, target)
	if p.shared == nil {
		return
	}
	address := addressOf(host, target)
	p.shared.changed(address)
	p.shared.usable(context.Background(), address)
}

// encodeVariant returns v as an entry of the tier.
func encodeVariant(v *variant, asOf int64) *cache.Entry {
	h := v.Header.Clone()
	h.Set("Age", strconv.FormatInt(int64((v.Age(v.Received)+time.Second-1)/time.Second), 10)) // on arrival, rounded up
	head := binary.AppendVarint(nil, v.Received.UnixMicro())
	head = appendList(head, v.varyBy)
	head = appendList(head, v.declaredVary)
	head = appendHeader(head, v.requestHeader)
	head = appendHeader(head, h)
	return &cache.Entry{Status: v.Status, Head: head, Body: v.body, Tags: v.tags, AsOf: asOf,
		Born: v.Requested.Round(0)} // without the monotonic reading, which other processes cannot compare with
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendList(dst []byte, list []string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, s := range list {
		dst = appendString(dst, s)
	}
	return dst
}

func appendHeader(dst []byte, h http.Header) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(h)))
	for name, lines := range h {
		dst = appendList(appendString(dst, name), lines)
	}
	return dst
}

// decodeVariants returns the variants among entries of the tier that may be used for q, in their order. The entries
// were made with the settings of another edge, so each is checked again.
func (t *sharedTier) decodeVariants(q *request, entries []*cache.Entry) (variants []*variant) {
	p := t.proxy
	for _, e := range entries {
		v, err := t.decodeVariant(e)
		if err == nil && p.fields.shareable(v) && int64(len(v.body)) <= p.limit &&
			p.cfg.Profile.Storable(&q.Request, v.Status, v.Header, &v.Policy) == "" {
			variants = append(variants, v)
		}
	}
	return variants
}

var errVariant = errors.New("proxy: not an encoded response")

// decodeVariant decodes what encodeVariant encoded.
func (t *sharedTier) decodeVariant(e *cache.Entry) (*variant, error) {
	d := variantDecoder{rest: e.Head}
	received := time.UnixMicro(d.number())
	v := &variant{body: e.Body, tags: e.Tags, varyBy: d.list(), declaredVary: d.list(), requestHeader: d.header()}
	h := d.header()
	if d.bad || len(d.rest) > 0 {
		return nil, errVariant
	}
	if now := time.Now(); received.After(now) { // a clock that is ahead must not extend a lifetime
		received = now
	}
	v.Response = rfc9111.NewResponse(e.Status, h, received, received) // its Age includes the time of the request
	v.key = t.proxy.fields.variantKey(v.varyBy, v.requestHeader)
	v.prepare()
	return v, nil
}

// variantDecoder reads from the front. After an error it returns zeros and bad is set.
type variantDecoder struct {
	rest []byte
	bad  bool
}

func (d *variantDecoder) number() int64 {
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.rest, d.bad = nil, true
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// length decodes a length, which is at most that of the rest: each member has a byte.
func (d *variantDecoder) length() int {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || n > uint64(len(d.rest)) {
		d.rest, d.bad = nil, true
		return 0
	}
	d.rest = d.rest[size:]
	return int(n)
}

func (d *variantDecoder) text() string {
	n := d.length()
	if n > len(d.rest) {
		d.rest, d.bad = nil, true
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}

func (d *variantDecoder) list() (list []string) {
	for range d.length() {
		list = append(list, d.text())
	}
	return list
}

func (d *variantDecoder) header() http.Header {
	h := http.Header{}
	for range d.length() {
		name := d.text()
		h[name] = d.list()
	}
	return h
}
