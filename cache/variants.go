package cache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// maxVariants limits the variants of one set: each use decodes all of them.
	maxVariants = 8
	// MaxVariantBytes limits what the variants of one set take together, in bytes: a larger value delays other
	// calls on the connection by more than a fetch costs.
	MaxVariantBytes = 256 << 10
	// variantLife limits how long variants stay in Redis. A stale one is useful for about a day.
	variantLife = 24 * time.Hour
	// InvalidationLife is how long Redis stores that a resource was invalidated: longer than any process
	// may hold a lease, so that no response from before is published afterwards.
	InvalidationLife = 2 * time.Minute
	// variantLeaseTTL is how long a lease lasts without a renewal. Other processes wait no longer for one
	// that was killed.
	variantLeaseTTL = 3 * time.Second * timeout.Scale
	// variantsVersion begins an encoded set of variants. A set with another version counts as absent.
	variantsVersion = 1
)

// SharedVariants is the part of the shared tier for resources with variants, such as the responses of a URL that
// depend on the language. It keeps nothing in memory: the cache only reports which variants were purged. All its
// methods return as if the tier were empty while Redis does not answer or before Join.
type SharedVariants struct{ c *Cache }

// SharedVariants returns access to the variants in the shared tier; nil without one.
func (c *Cache) SharedVariants() *SharedVariants {
	if c.redis == nil {
		return nil
	}
	return &SharedVariants{c}
}

// VariantSet names a set of variants. All sets of one resource can be invalidated together.
type VariantSet struct{ Resource, Part string }

// name returns the key of the set in Redis. The hash tag keeps the keys of a resource on one node of a Cluster, where
// a script may use all of them. Clients choose URLs, so the keys have digests of them.
func (k VariantSet) name(log string) string {
	return resourceName(log, k.Resource) + digest(k.Part)
}

func resourceName(log, resource string) string { return joinKey(log, ":p:", "{"+digest(resource)+"}") }

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// The suffixes of the other keys of a resource and of a set.
const (
	suffixInvalidated = ":invalidated" // of a resource: random text, new with each invalidation
	suffixDeclined    = ":declined"    // of a set: the process that fetched it last could not share it
	suffixLease       = ":lease:"      // of a set, before the digest of a variant
)

// Found is what the tier has of a set.
type Found struct {
	// Variants are the variants that no purge affects, newest first. The caller decides by their time.
	Variants []*Entry
	// Declined: another process has just fetched the resource and could not share it.
	Declined bool

	invalidation string // the text of the last invalidation; empty: none lately
}

// Load returns what the tier has of a set; ok is false if it cannot be used.
func (s *SharedVariants) Load(ctx context.Context, k VariantSet) (found Found, ok bool) {
	fleet := s.c.fleet.Load()
	if fleet == nil {
		return found, false
	}
	return s.load(ctx, fleet, k)
}

func (s *SharedVariants) load(ctx context.Context, fleet *fleetInfo, k VariantSet) (found Found, ok bool) {
	r, name := s.c.redis, k.name(fleet.log)
	var reply []any
	err := r.call(ctx, func(ctx context.Context) (err error) {
		reply, err = r.client.MGet(ctx, name, resourceName(fleet.log, k.Resource)+suffixInvalidated,
			name+suffixDeclined).Result()
		return err
	})
	if err != nil || len(reply) != 3 {
		return found, false
	}
	sealed, _ := reply[0].(string)
	found.invalidation, _ = reply[1].(string)
	_, found.Declined = reply[2].(string)
	variants, from := s.open(name, sealed)
	if found.invalidation != "" && from != found.invalidation {
		return found, true // fetched before it was invalidated
	}
	for _, e := range variants {
		if !fleet.fromFuture(s.c, e) && !s.purged(e) {
			found.Variants = append(found.Variants, e)
		}
	}
	if len(found.Variants) > 0 {
		r.events.Hit()
	} else {
		r.events.Miss()
	}
	return found, true
}

// purged compares every tag by itself: an entry of a site may have more than MaxTags.
func (s *SharedVariants) purged(e *Entry) bool {
	return s.c.Purged(e.AsOf) || slices.ContainsFunc(e.Tags, func(tag string) bool { return s.c.Purged(e.AsOf, tag) })
}

// open returns the variants in a sealed set, and the invalidation after which they were fetched. A set that is
// damaged, forged or of another version of the program counts as absent.
func (s *SharedVariants) open(name, sealed string) (variants []*Entry, invalidation string) {
	if sealed == "" || len(sealed) > 2*MaxVariantBytes {
		return nil, ""
	}
	encoded, err := s.c.redis.seal.open(name, []byte(sealed))
	if err != nil || len(encoded) == 0 || encoded[0] != variantsVersion {
		return nil, ""
	}
	d := decoder{rest: encoded[1:]}
	invalidation = string(d.text())
	for len(d.rest) > 0 && len(variants) < maxVariants {
		e := new(Entry)
		if e.UnmarshalBinary(d.text()) != nil {
			return nil, ""
		}
		variants = append(variants, e)
	}
	if d.bad || len(d.rest) > 0 {
		return nil, ""
	}
	return variants, invalidation
}

// VariantLease is the permission to fetch a variant for all processes. Exactly one of Publish, Decline and Release
// ends it.
type VariantLease struct {
	s           *SharedVariants
	fleet       *fleetInfo
	set         VariantSet
	name, token string
	found       Found
}

// Acquire tries to become the one process that fetches a variant of a set. With a lease it returns what the tier has
// now, as another process may have published the variant meanwhile. known is false if the tier cannot be used.
func (s *SharedVariants) Acquire(ctx context.Context, k VariantSet, variant string) (lease *VariantLease, found Found,
	known bool) {
	r, fleet := s.c.redis, s.c.fleet.Load()
	if fleet == nil {
		return nil, found, false
	}
	l := &VariantLease{s: s, fleet: fleet, set: k, token: rand.Text(),
		name: k.name(fleet.log) + suffixLease + digest(variant)}
	var got bool
	err := r.call(ctx, func(ctx context.Context) (err error) {
		got, err = r.client.SetNX(ctx, l.name, l.token, variantLeaseTTL).Result()
		return err
	})
	if err != nil && !errors.Is(err, errUnavailable) {
		r.abandoned.add(l.name, l.token)
	}
	if err != nil {
		return nil, found, false
	}
	if !got {
		r.events.Waited()
		return nil, found, true
	}
	if l.found, known = s.load(ctx, fleet, k); !known {
		l.Release(ctx)
		return nil, found, false
	}
	r.events.Filled()
	return l, l.found, true
}

// renewScript prolongs a lease that this process still holds.
const renewScript = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end
return 0`

// Renew prolongs the lease by variantLeaseTTL.
func (l *VariantLease) Renew(ctx context.Context) {
	_ = l.s.c.redis.call(ctx, func(ctx context.Context) error { // call counts the error; the lease then expires
		return l.s.c.redis.client.Eval(ctx, renewScript, []string{l.name}, l.token,
			variantLeaseTTL.Milliseconds()).Err()
	})
}

// publishScript stores a set and ends the lease for it. It stores nothing if the lease was lost, or if the resource
// was invalidated since the lease was acquired: the response is from before.
const publishScript = `if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("DEL", KEYS[1])
if (redis.call("GET", KEYS[2]) or "") ~= ARGV[2] then return 0 end
redis.call("SET", KEYS[3], ARGV[3], "PX", ARGV[4])
return 1`

// Publish stores e beside the other variants of the set for at most life, and ends the lease. The oldest variants that
// do not fit are dropped; replaces reports which ones e makes obsolete.
func (l *VariantLease) Publish(ctx context.Context, e *Entry, life time.Duration, replaces func(*Entry) bool) {
	encoded := appendText([]byte{variantsVersion}, l.found.invalidation)
	encoded, ok := appendVariant(encoded, e)
	life = min(life, variantLife)
	if !ok || life < time.Millisecond {
		l.Release(ctx)
		return
	}
	stored := 1
	for _, other := range l.found.Variants {
		if stored < maxVariants && !replaces(other) {
			if encoded, ok = appendVariant(encoded, other); ok {
				stored++
			}
		}
	}
	r, name := l.s.c.redis, l.set.name(l.fleet.log)
	sealed := r.seal.seal(name, encoded)
	err := r.call(ctx, func(ctx context.Context) error {
		return r.client.Eval(ctx, publishScript, []string{l.name,
			resourceName(l.fleet.log, l.set.Resource) + suffixInvalidated, name}, l.token, l.found.invalidation, sealed,
			life.Milliseconds()).Err()
	})
	if err != nil {
		r.abandoned.add(l.name, l.token)
	}
}

// appendVariant appends e with its length, unless the set becomes too large.
func appendVariant(dst []byte, e *Entry) ([]byte, bool) {
	encoded, err := e.AppendBinary(nil)
	if err != nil || len(dst)+binary.MaxVarintLen64+len(encoded) > MaxVariantBytes {
		return dst, false
	}
	return appendText(dst, encoded), true
}

// Decline ends the lease and keeps processes from waiting for the set until life has passed: its response cannot be
// shared.
func (l *VariantLease) Decline(ctx context.Context, life time.Duration) {
	r := l.s.c.redis
	_ = r.call(ctx, func(ctx context.Context) error { // call counts the error; processes then wait for the lease
		return r.client.Set(ctx, l.set.name(l.fleet.log)+suffixDeclined, "1", life).Err()
	})
	l.Release(ctx)
}

// Release ends the lease without a response.
func (l *VariantLease) Release(ctx context.Context) {
	r := l.s.c.redis
	err := r.call(ctx, func(ctx context.Context) error {
		return r.client.Eval(ctx, releaseScript, []string{l.name}, l.token).Err()
	})
	if err != nil {
		r.abandoned.add(l.name, l.token)
	}
}

// Invalidate makes all variants of a resource absent, those that are being fetched too, and reports whether Redis
// has done so. It deletes the sets of parts; any other must have been published for at most InvalidationLife.
func (s *SharedVariants) Invalidate(ctx context.Context, resource string, parts ...string) bool {
	r, fleet := s.c.redis, s.c.fleet.Load()
	if fleet == nil {
		return false
	}
	names := make([]string, len(parts))
	for i, part := range parts {
		names[i] = VariantSet{resource, part}.name(fleet.log)
	}
	return r.call(ctx, func(ctx context.Context) error {
		_, err := r.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, resourceName(fleet.log, resource)+suffixInvalidated, rand.Text(), InvalidationLife)
			p.Del(ctx, names...)
			return nil
		})
		return err
	}) == nil
}
