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

// maxVariants bounds the variants of one address: who varies by more is asked.
const maxVariants = 8

// variant is one stored answer. It is not changed, but for its compressed forms.
type variant struct {
	*rfc9111.Response
	names  []string    // fields whose values it was stored for
	key    string      // variantKey of names and the request it answered
	asked  http.Header // those fields of the request it answered
	varies []string    // the names that it was declared to vary by
	body   []byte
	tags   []string
	block  []byte // its fields as they go out, but those fasthttp writes, Age and Cache-Status
	ctype  []byte
	server string

	encodings atomic.Pointer[compress.Encodings]
}

// resource is all that is stored under a key. It is not changed: who stores
// another variant stores another resource.
type resource struct {
	variants []*variant // newest first
}

// newVariant prepares the answer of x for storing.
func (p *Proxy) newVariant(q *query, x *exchange, r *rfc9111.Response, body []byte, tags []string) *variant {
	v := &variant{Response: r, asked: http.Header{}, body: body, tags: tags}
	v.varies = p.variesBy(q, r.Header)
	v.names = p.variantNames(q, v.varies, x.withheld)
	for _, name := range v.names {
		if lines, there := q.sent[name]; there && !slices.Contains(x.withheld, name) {
			v.asked[name] = lines
		}
	}
	v.key = p.variantKey(v.names, v.asked)
	for _, name := range p.strip {
		delete(r.Header, name)
	}
	delete(r.Header, "Content-Length") // written from the body
	v.ctype = []byte(oneLine.Replace(r.Header.Get("Content-Type")))
	v.server = oneLine.Replace(r.Header.Get("Server"))
	v.block = appendFields(nil, r.Header, "Content-Type", "Server")
	return v
}

// oneLine keeps a value from becoming another field.
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

// found is what a look-up came to.
type found struct {
	v       *variant // nil: nothing that matches
	res     *resource
	invalid bool   // purged since it was stored
	vary    string // the key among variants, as far as it is known
	seq     int64  // when it was looked up, for what is stored next
	state   cache.State
}

// forbidden reports whether nothing may be sent without the origin's word.
func (f *found) forbidden() bool { return f.invalid && f.state == cache.Miss }

// fwd is why the request goes on to the origin, in the words of RFC 9211, 2.2.
func (f *found) fwd() string {
	switch {
	case f.v != nil:
		return "fwd=stale"
	case f.res != nil:
		return "fwd=vary-miss"
	}
	return "fwd=uri-miss"
}

// find looks for the variant that answers q (RFC 9111, 4.1): the newest that
// matches.
func (p *Proxy) find(q *query) found {
	f := found{seq: p.seq.Load()}
	key, ok := p.storeKey(q)
	if !ok {
		return f
	}
	e, state := p.cache.Get(key)
	if e == nil {
		return f
	}
	res, ok := e.Value.(*resource)
	if !ok {
		return f // a mark that it was forgotten
	}
	f.res, f.state = res, state
	f.invalid = state != cache.Fresh
	for _, v := range f.res.variants {
		if p.variantKey(v.names, q.sent) == v.key {
			f.v, f.vary = v, v.key
			return f
		}
	}
	if p.cfg.Profile == rfc9111.RFC {
		for _, v := range f.res.variants {
			if v.inPreferredLanguage(q.Header) {
				f.v, f.vary = v, v.key
				return f
			}
		}
	}
	f.vary = p.variantKey(f.res.variants[0].varies, q.sent)
	return f
}

// inPreferredLanguage reports whether v differs from what the request asks for in
// the languages alone, and is in the one it likes best.
func (v *variant) inPreferredLanguage(h http.Header) bool {
	if len(v.names) != 1 || v.names[0] != "Accept-Language" {
		return false
	}
	return rfc9111.PrefersOnly(h, v.Header.Get("Content-Language"))
}

// put stores v beside the other variants of its key, in place of the one it
// renews. seq is when the asking for it began.
func (p *Proxy) put(q *query, v *variant, seq int64, url *asked) {
	p.asks.mu.Lock()
	defer p.asks.mu.Unlock()
	if url.invalid.Load() > seq {
		return // changed since: it was true for who asked, and is no longer
	}
	old := p.find(q)
	next := &resource{variants: []*variant{v}}
	if old.res != nil && !old.invalid { // what was purged is not worth another round
		for _, other := range old.res.variants {
			if !p.hides(v, other) && len(next.variants) < maxVariants {
				next.variants = append(next.variants, other)
			}
		}
	}
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
	key, ok := p.storeKey(q)
	if !ok {
		key = q.generationOf(p.newGeneration(generationKey(q.address)))
	}
	p.cache.Put(key, entry)
	p.offer(v)
}

// hides reports whether every request that other answers finds v first.
func (p *Proxy) hides(v, other *variant) bool {
	for _, name := range v.names {
		if !slices.Contains(other.names, name) {
			return false
		}
	}
	return p.variantKey(v.names, other.asked) == v.key
}

// weight is what a variant takes in memory, its head and compressed forms to come
// included.
func (v *variant) weight() int64 {
	n := int64(len(v.body) + 2*len(v.block) + 512)
	if c := v.encodings.Load(); c != nil {
		n += c.Size()
	} else if v.pays() {
		n += int64(len(v.body)) / 2 // three forms of a sixth each
	}
	return n
}

// renew stores the answer as a 304, or the answer to a HEAD, has renewed it.
func (p *Proxy) renew(q *query, f *found, x *exchange) *variant {
	h := x.resp.Header
	tags := f.v.tags
	if len(h["Surrogate-Key"]) > 0 || len(h["Cache-Tag"]) > 0 || len(h["Cache-Groups"]) > 0 {
		tags = tagsOf(q, h)
	}
	r := f.v.Update(h, x.requested, x.received)
	v := p.newVariant(q, x, r, f.v.body, tags)
	if c := f.v.encodings.Load(); c != nil && r.Header.Get("Etag") == f.v.Header.Get("Etag") {
		v.encodings.Store(c)
	}
	if p.cfg.Profile.Storable(&rfc9111.Request{Method: http.MethodGet, Header: q.Header, Directives: q.Directives}, r.Status, r.Header, &r.Policy) == "" {
		p.put(q, v, x.seq, x.url)
	} else {
		p.forget(q.host, q.target)
	}
	return v
}
