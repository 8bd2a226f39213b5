package proxy

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
)

// setKey sets the cache key of a proxied response: the URL of the request and, in the strict profile, the fields
// that the response may depend on. Fields of Vary select a variant under the key instead. NUL
// separates the parts, because no host, target or field value can contain it.
func (p *fieldPolicy) setKey(q *request, tls bool) {
	q.address = addressOf(q.host, q.target)
	if p.profile == rfc9111.Strict {
		q.fields = rfc9111.ExactKey(presentFields(p.keyed, q.upstreamHeader), q.upstreamHeader)
	}
	q.key = keyOf(tls, q.address) + q.fields
}

// presentFields returns the names that h has.
func presentFields(names []string, h http.Header) (there []string) {
	for _, name := range names {
		if len(h[name]) > 0 {
			there = append(there, name)
		}
	}
	return there
}

// addressOf returns the key of a URL for any scheme.
func addressOf(host, target string) string { return host + "\x00" + target + "\x00" }

// keyOf returns the key of a URL that is requested without keyed fields.
func keyOf(tls bool, address string) string {
	if tls {
		return "https\x00" + address
	}
	return "http\x00" + address
}

// generation is part of the keys under which the responses of one URL with keyed fields, or
// to a range, are stored. A new generation makes all of them unreachable at once, however
// many there are; so does the loss of the entry that holds it.
type generation int64

// keepGeneration is far above the life of the answers stored under a generation.
const keepGeneration = 365 * 24 * time.Hour

func generationKey(address string) string { return "generation\x00" + address }

// newGeneration replaces the generation under a key. The caller holds inFlight.mu.
func (s *variantStore) newGeneration(key string) generation {
	g := generation(s.generations.Add(1))
	s.cache.Put(key, &cache.Entry{Value: g, AsOf: s.seq.Load(), Fresh: keepGeneration, OnError: keepGeneration})
	return g
}

// storeKey returns the key under which the response to q is stored; ok is false if no
// response with keyed fields is stored for the URL.
func (s *variantStore) storeKey(q *request) (key string, ok bool) {
	if q.fields == "" {
		return q.key, true
	}
	e, _ := s.cache.Get(generationKey(q.address))
	if e == nil {
		return "", false
	}
	return q.keyInGeneration(e.Value.(generation)), true
}

// keyInGeneration returns the key of q in a generation. The suffix after the NUL cannot be a
// header field, because field names are not empty.
func (q *request) keyInGeneration(g generation) string {
	return q.key + "\x00" + strconv.FormatInt(int64(g), 10)
}

// variantNames returns the fields whose values are part of the variant of the response to
// q: those that it varies by, and the negotiated ones that were sent to the origin.
func (p *fieldPolicy) variantNames(q *request, varies, withheld []string) []string {
	if p.profile != rfc9111.Strict {
		return varies
	}
	names := slices.Clone(varies)
	for name := range q.upstreamHeader {
		if p.rule(name) == negotiated && !slices.Contains(withheld, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// variantKey returns a key that differs between requests with different variants by names.
// The strict profile compares values byte by byte: an origin may distinguish two values
// that RFC 9110 treats as equal.
func (p *fieldPolicy) variantKey(names []string, h http.Header) string {
	if p.profile == rfc9111.Strict {
		return rfc9111.ExactKey(names, h)
	}
	return rfc9111.VaryKey(names, h)
}
