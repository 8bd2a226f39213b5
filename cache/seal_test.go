package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestForgedRedisEntryIsNotServed writes to Redis what an attacker could, and
// expects every reader to miss.
func TestForgedRedisEntryIsNotServed(t *testing.T) {
	server := cachetest.StartRedis(t)
	options, err := redis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	raw := redis.NewClient(options)
	defer raw.Close()
	ours, theirs := dialSecret(t, server.URL, "secret of the fleet"), dialSecret(t, server.URL, "another secret")
	// read returns what a node with an empty memory gets while the origin fails.
	read := func(r *redisCounters, log, key string) string {
		c := open(t, cache.Config{Redis: r.Redis, Shards: 1, Bytes: 1 << 20})
		c.Join(log, logHead)
		return sharedFetch(c, key, &source{err: errors.New("away")})
	}
	// write stores an entry the way a node of fleet r does, and returns it.
	write := func(r *redisCounters, key, text string) string {
		if err := raw.Del(t.Context(), "fieldmark1:log:"+key).Err(); err != nil {
			t.Fatal(err)
		}
		c, _ := join(t, r, cache.Config{})
		want(t, "filled", sharedFetch(c, key, &source{text: text, asOf: 5}), "fill "+text)
		var stored string
		waittest.Until(t, "it is stored", func() (ok bool) {
			stored, err = raw.Get(t.Context(), "fieldmark1:log:"+key).Result()
			return err == nil
		})
		return stored
	}
	foreign := write(theirs, "k", "forged")
	k, l := write(ours, "k", "of k"), write(ours, "l", "of l")
	want(t, "another node of the fleet", read(ours, "log", "k"), "fill of k")
	want(t, "a node with another secret", read(theirs, "log", "k"), "error: away")

	type forgery struct{ what, key, value string }
	forgeries := []forgery{
		{"written with another secret", "log:k", foreign},
		{"swapped", "log:k", l}, {"swapped", "log:l", k},
		{"moved to another log", "other:k", k},
		{"of the version before", "log:k", withCRC("\x01" + k[1:len(k)-16])},
		{"with a checksum", "log:k", withCRC(k[:len(k)-16])},
		{"without a seal", "log:k", k[:len(k)-16]},
		{"nothing but a seal", "log:k", k[len(k)-16:]},
		{"continued", "log:k", k + "x"},
	}
	for i := range len(k) {
		changed := []byte(k)
		changed[i] ^= 1
		forgeries = append(forgeries, forgery{fmt.Sprint("with another bit in byte ", i), "log:k", string(changed)},
			forgery{fmt.Sprint("cut after byte ", i), "log:k", k[:i]})
	}
	for _, f := range forgeries {
		if err := raw.Set(t.Context(), "fieldmark1:"+f.key, f.value, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		log, key, _ := strings.Cut(f.key, ":")
		want(t, "entry "+f.what, read(ours, log, key), "error: away")
	}
	if n := ours.failed.Load(); n != 0 {
		t.Errorf("failed calls: got %d, want 0: a forged entry is a miss", n)
	}
	if err := raw.Set(t.Context(), "fieldmark1:log:k", k, time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	want(t, "as it was written", read(ours, "log", "k"), "fill of k")
}

// withCRC appends the checksum of version 1 of the encoding.
func withCRC(entry string) string {
	sum := crc32.Checksum([]byte(entry), crc32.MakeTable(crc32.Castagnoli))
	return string(bytes.Join([][]byte{[]byte(entry), {byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}},
		nil))
}
