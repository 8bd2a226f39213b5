package proxy

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/edge/compress"
)

// maxVariants bounds the variants of one URL; requests beyond it go to the origin.
const maxVariants = 8

// variant is one stored response. It is immutable except for its compressed forms.
type variant struct {
	*rfc9111.Response
	varyBy        []string    // fields whose values it was stored for
	key           string      // variantKey of names and the request it answered
	requestHeader http.Header // those fields of the request it answered
	declaredVary  []string    // the names that it was declared to vary by
	body          []byte
	tags          []string
	block         []byte // its fields as they go out, but those fasthttp writes, Age and Cache-Status
	ctype         []byte
	server        string

	encodings atomic.Pointer[compress.Encodings]
}

// resource is everything stored under a key. It is immutable: storing another variant
// stores another resource.
type resource struct {
	variants []*variant // newest first
}

// newVariant prepares the response of x for storing.
func (p *Proxy) newVariant(q *request, x *exchange, r *rfc9111.Response, body []byte, tags []string) *variant {
	v := &variant{Response: r, requestHeader: http.Header{}, body: body, tags: tags}
	v.declaredVary = p.fields.variesBy(q, r.Header)
	v.varyBy = p.fields.variantNames(q, v.declaredVary, x.withheld)
	for _, name := range v.varyBy {
		if lines, there := q.upstreamHeader[name]; there && !slices.Contains(x.withheld, name) {
			v.requestHeader[name] = lines
		}
	}
	v.key = p.fields.variantKey(v.varyBy, v.requestHeader)
	for _, name := range p.strip {
		delete(r.Header, name)
	}
	delete(r.Header, "Content-Length") // written from the body
	v.prepare()
	return v
}

// prepare writes the fields of v as they go out.
func (v *variant) prepare() {
	v.ctype = []byte(oneLine.Replace(v.Header.Get("Content-Type")))
	v.server = oneLine.Replace(v.Header.Get("Server"))
	v.block = appendFields(nil, v.Header, "Content-Type", "Server")
}

// oneLine prevents a value from starting another header field.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ")

// appendFields writes fields as they go out, sorted, without those named; the last
// line is not ended.
func appendFields(dst []byte, h http.Header, without ...string) []byte {
	names := make([]string, 0, len(h))
	for name := range h {
		if !slices.Contains(without, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range h[name] {
			if len(dst) > 0 {
				dst = append(dst, "\r\n"...)
			}
			dst = append(append(append(dst, name...), ": "...), oneLine.Replace(value)...)
		}
	}
	return dst
}

// lookup is the result of a lookup in the store.
type lookup struct {
	variant  *variant // nil: nothing that matches
	resource *resource
	invalid  bool   // purged since it was stored
	vary     string // the key among variants, as far as it is known
	seq      int64  // when it was looked up, for what is stored next
	state    cache.State
}

// hardPurged reports whether the stored response must not be used without revalidation.
func (f *lookup) hardPurged() bool { return f.invalid && f.state == cache.Miss }

// fwd returns why the request goes on to the origin, as a token of RFC 9211, 2.2.
func (f *lookup) fwd() string {
	switch {
	case f.variant != nil:
		return "fwd=stale"
	case f.resource != nil:
		return "fwd=vary-miss"
	}
	return "fwd=uri-miss"
}

// variantStore contains the stored responses. It is safe for concurrent use.
type variantStore struct {
	cache       *cache.Cache
	fields      *fieldPolicy
	seq         atomic.Int64 // counts purges; an entry contains the number at the start of its request
	inFlight    inFlight
	generations atomic.Int64 // the newest generation
}

// lookup returns the newest stored variant that matches q (RFC 9111, 4.1).
func (s *variantStore) lookup(q *request) lookup {
	f := lookup{seq: s.seq.Load()}
	key, ok := s.storeKey(q)
	if !ok {
		return f
	}
	e, state := s.cache.Get(key)
	if e == nil {
		return f
	}
	res, ok := e.Value.(*resource)
	if !ok {
		return f // a mark that it was deleted
	}
	f.resource, f.state = res, state
	f.invalid = state != cache.Fresh
	if v := s.match(res.variants, q); v != nil {
		f.variant, f.vary = v, v.key
		return f
	}
	// A stored translation also answers requests that prefer its language, whatever else their
	// Accept-Language lists: the lists of browsers have too many variants to store each.
	if s.fields.profile == rfc9111.RFC {
		for _, v := range f.resource.variants {
			if v.inPreferredLanguage(q.Header) {
				f.variant, f.vary = v, v.key
				return f
			}
		}
	}
	f.vary = s.fields.variantKey(f.resource.variants[0].declaredVary, q.upstreamHeader)
	return f
}

// match returns the first variant whose fields are those of q; nil without one.
func (s *variantStore) match(variants []*variant, q *request) *variant {
	for _, v := range variants {
		if s.fields.variantKey(v.varyBy, q.upstreamHeader) == v.key {
			return v
		}
	}
	return nil
}

// inPreferredLanguage reports whether v differs from the request only in the languages, and
// is in the language with the highest preference.
func (v *variant) inPreferredLanguage(h http.Header) bool {
	if len(v.varyBy) != 1 || v.varyBy[0] != "Accept-Language" {
		return false
	}
	return rfc9111.PrefersOnly(h, v.Header.Get("Content-Language"))
}

// put stores v beside the other variants of its key, in place of the one it renews. seq is
// the purge sequence number at the start of its request. It returns false if the URL
// changed since then: the response was valid for its request, but is outdated.
func (s *variantStore) put(q *request, v *variant, seq int64, url *pendingURL) bool {
	s.inFlight.mu.Lock()
	defer s.inFlight.mu.Unlock()
	// A purge or an unsafe request changed the URL after this response was requested (RFC
	// 9111, 4.4); storing it would bring the old state back.
	if url.changedAt.Load() > seq {
		return false
	}
	old := s.lookup(q)
	// A resource is replaced as a whole, so that readers need no lock.
	next := &resource{variants: []*variant{v}}
	if old.resource != nil && !old.invalid { // what was purged is not worth another round
		for _, other := range old.resource.variants {
			if !s.shadows(v, other) && len(next.variants) < maxVariants {
				next.variants = append(next.variants, other)
			}
		}
	}
	// The entry lives as long as its longest variant, and is purged by the tags of all.
	entry := &cache.Entry{Value: next, AsOf: seq, OnError: keepValidated}
	for _, x := range next.variants {
		entry.Weight += x.weight()
		entry.Fresh = max(entry.Fresh, x.RetainFor(keepValidated)+x.Received.Sub(v.Received))
		for _, tag := range x.tags {
			if !slices.Contains(entry.Tags, tag) {
				entry.Tags = append(entry.Tags, tag)
			}
		}
	}
	entry.Fresh += entry.Fresh / 4 // the cache takes up to a tenth off; what is fresh, we decide
	key, ok := s.storeKey(q)
	if !ok {
		key = q.keyInGeneration(s.newGeneration(generationKey(q.address)))
	}
	s.cache.Put(key, entry)
	return true
}

// shadows reports whether v matches every request that other matches.
func (s *variantStore) shadows(v, other *variant) bool {
	for _, name := range v.varyBy {
		if !slices.Contains(other.varyBy, name) {
			return false
		}
	}
	return s.fields.variantKey(v.varyBy, other.requestHeader) == v.key
}

// weight returns the memory that a variant uses, including its head and future compressed
// forms.
func (v *variant) weight() int64 {
	n := int64(len(v.body) + 2*len(v.block) + 512)
	if c := v.encodings.Load(); c != nil {
		n += c.Size()
	} else if v.isCompressible() {
		n += int64(len(v.body)) / 2 // three forms of a sixth each
	}
	return n
}

// renew updates the response by a 304 or by the response to a HEAD, and stores it if the update allows
// that, as stored reports.
func (p *Proxy) renew(q *request, f *lookup, fl *flight, x *exchange) (v *variant, stored bool) {
	h := x.resp.Header
	// A 304 that names tags replaces them all; one that names none leaves them (RFC 9111, 3.2).
	tags := f.variant.tags
	if len(h["Surrogate-Key"]) > 0 || len(h["Cache-Tag"]) > 0 || len(h["Cache-Groups"]) > 0 {
		tags = tagsOf(q, h)
	}
	r := f.variant.Update(h, x.requested, x.received)
	v = p.newVariant(q, x, r, f.variant.body, tags)
	// The compressed forms are of the same bytes: keep them.
	if c := f.variant.encodings.Load(); c != nil && r.Header.Get("Etag") == f.variant.Header.Get("Etag") {
		v.encodings.Store(c)
	}
	if p.cfg.Profile.Storable(&rfc9111.Request{Method: http.MethodGet, Header: q.Header, Directives: q.Directives},
		r.Status, r.Header, &r.Policy) != "" {
		p.invalidateURL(q.host, q.target)
		return v, false
	}
	if p.store.put(q, v, x.seq, x.pending) {
		p.compressLater(v)
		p.shared.publish(q, fl, v, x.asOf)
	}
	return v, true
}
