package cache_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestSharedVariants checks the lease of a variant, and what is stored under it.
func TestSharedVariants(t *testing.T) {
	server := cachetest.StartRedis(t)
	open := func() *cache.SharedVariants {
		c, _ := member(t, server.URL, cache.Config{})
		return c.SharedVariants()
	}
	ctx, a, b := t.Context(), open(), open()
	set := cache.VariantSet{Resource: "example.com/a", Part: "http"}
	body := func(i, size int) *cache.Entry {
		return &cache.Entry{Body: append([]byte(fmt.Sprint(i, ":")), make([]byte, size)...), AsOf: logHead,
			Born: time.Now(), Status: 200, Tags: []string{"x"}}
	}
	load := func() (bodies []string) {
		found, ok := b.Load(ctx, set)
		if !ok {
			t.Fatal("the tier does not answer")
		}
		for _, e := range found.Variants {
			text, _, _ := bytes.Cut(e.Body, []byte(":"))
			bodies = append(bodies, string(text))
		}
		return bodies
	}
	acquire := func(s *cache.SharedVariants) (lease *cache.VariantLease) {
		waittest.Until(t, "the lease is free", func() bool {
			lease, _, _ = s.Acquire(ctx, set, "v")
			return lease != nil
		})
		return lease
	}
	none := func(*cache.Entry) bool { return false }
	first := acquire(a)
	if lease, _, known := b.Acquire(ctx, set, "v"); lease != nil || !known {
		t.Error("two processes have the lease")
	}
	if lease, _, _ := b.Acquire(ctx, set, "w"); lease == nil {
		t.Error("the lease of one variant is that of another")
	}
	first.Renew(ctx)
	first.Publish(ctx, body(0, 100), time.Hour, none)
	want(t, "published", fmt.Sprint(load()), "[0]")
	for i := 1; i < 10; i++ { // eight fit
		acquire(b).Publish(ctx, body(i, 100), time.Hour, none)
	}
	want(t, "many", fmt.Sprint(load()), "[9 8 7 6 5 4 3 2]")
	acquire(a).Publish(ctx, body(10, 100), time.Hour, func(e *cache.Entry) bool { return e.Body[0] != '5' })
	want(t, "replaced", fmt.Sprint(load()), "[10 5]")
	acquire(a).Publish(ctx, body(11, cache.MaxVariantBytes-120), time.Hour, none)
	want(t, "large", fmt.Sprint(load()), "[11]")
	acquire(a).Publish(ctx, body(12, cache.MaxVariantBytes), time.Hour, none)
	want(t, "too large", fmt.Sprint(load()), "[11]")
	acquire(a).Decline(ctx, time.Minute)
	if found, _ := b.Load(ctx, set); !found.Declined {
		t.Error("a declined set does not say so")
	}
	lost := acquire(a)
	for name := range strings.FieldsSeq(server.Do("KEYS", "*:lease:*")) { // the process died: the lease expires
		if strings.HasPrefix(name, "fieldmark1:") {
			server.Do("DEL", name)
		}
	}
	next := acquire(b)
	lost.Publish(ctx, body(13, 1), time.Hour, none)
	want(t, "published without the lease", fmt.Sprint(load()), "[11]")
	if !a.Invalidate(ctx, set.Resource, "http", "https") {
		t.Error("not invalidated")
	}
	next.Publish(ctx, body(14, 1), time.Hour, none)
	want(t, "fetched before it was invalidated", fmt.Sprint(load()), "[]")
	acquire(b).Publish(ctx, body(15, 1), time.Hour, none)
	want(t, "fetched afterwards", fmt.Sprint(load()), "[15]")
	server.Kill()
	if _, ok := a.Load(ctx, set); ok || a.Invalidate(ctx, set.Resource) {
		t.Error("a dead Redis answers")
	}
}

// TestSharedVariantsBeforeJoin: a process that follows no log uses no variants of others.
func TestSharedVariantsBeforeJoin(t *testing.T) {
	c := open(t, cache.Config{Redis: dial(t, "redis://127.0.0.1:1").Redis})
	s, set := c.SharedVariants(), cache.VariantSet{Resource: "a", Part: "http"}
	if _, ok := s.Load(t.Context(), set); ok {
		t.Error("loads")
	}
	if _, _, known := s.Acquire(t.Context(), set, ""); known || s.Invalidate(t.Context(), "a") {
		t.Error("writes")
	}
	if open(t, cache.Config{}).SharedVariants() != nil {
		t.Error("variants are shared without a tier")
	}
}
