package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// withholdingProxy forwards to Redis and withholds the reply to the first lease: Redis
// grants the lease, and the process that requested it gets no reply. The same write
// makes the lease persistent, so only a release can end it.
func withholdingProxy(t *testing.T, to, leaseKey string) (url string, persistent *atomic.Bool) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	persist := fmt.Sprintf("*2\r\n$7\r\nPERSIST\r\n$%d\r\n%s\r\n", len(leaseKey), leaseKey)
	var seen atomic.Bool
	persistent = new(atomic.Bool)
	ctx, end := context.WithCancel(context.Background())
	var ways sync.WaitGroup
	serve := func(from net.Conn) {
		on, err := net.Dial("tcp", to)
		if err != nil {
			from.Close()
			return
		}
		context.AfterFunc(ctx, func() { from.Close(); on.Close() })
		var withhold atomic.Bool
		ways.Go(func() { // requests
			// The client gives up on a reply that is withheld; the proxy still reads it.
			defer func() {
				if !withhold.Load() {
					on.Close()
				}
			}()
			buf := make([]byte, 64<<10)
			for {
				n, err := from.Read(buf)
				request := buf[:n]
				if bytes.Contains(request, []byte(leaseKey)) && seen.CompareAndSwap(false, true) {
					withhold.Store(true)
					request = append(request, persist...)
				}
				if _, werr := on.Write(request); err != nil || werr != nil {
					return
				}
			}
		})
		ways.Go(func() { // replies
			defer from.Close()
			buf := make([]byte, 64<<10)
			for {
				n, err := on.Read(buf)
				for withhold.Load() && err == nil {
					if bytes.HasSuffix(buf[:n], []byte("+OK\r\n:1\r\n")) { // granted, and persistent
						persistent.Store(true)
					}
					var more int
					more, err = on.Read(buf[n:])
					n += more
				}
				if withhold.Load() {
					return
				}
				if _, werr := from.Write(buf[:n]); err != nil || werr != nil {
					return
				}
			}
		})
	}
	ways.Go(func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			serve(from)
		}
	})
	t.Cleanup(func() { end(); ln.Close(); ways.Wait() })
	return "redis://" + ln.Addr().String(), persistent
}

// A process releases a lease whose grant it never received as soon as Redis is
// available again. Otherwise other processes would wait for a fill that does not run.
func TestAbandonedLeaseIsReleased(t *testing.T) {
	const leaseKey = "fieldmark1:log:lease:k"
	server := cachetest.StartRedis(t)
	url, persistent := withholdingProxy(t, server.Addr, leaseKey)
	c, _ := defaultMember(t, url, cache.Config{})
	want(t, "a fill without a lease", sharedFetch(c, "k", &source{text: "one", asOf: 1}), "fill one")
	waittest.Until(t, "a lease was granted that does not expire", func() bool {
		return persistent.Load() || strings.HasPrefix(sharedFetch(c, "k", &source{text: "one", asOf: 1}), "error")
	})
	if !persistent.Load() {
		t.Fatal("no lease was granted")
	}
	n := 0
	waittest.Until(t, "it is released", func() bool {
		n++
		sharedFetch(c, fmt.Sprint("other", n), &source{text: "two", asOf: 1})
		return strings.HasPrefix(server.Do("EXISTS", leaseKey), ":0")
	})
}

// After a Reset, older entries of the shared tier are not used: they may depend on an
// event that was lost.
func TestResetIgnoresSharedEntries(t *testing.T) {
	server := cachetest.StartRedis(t)
	a, _ := member(t, server.URL, cache.Config{})
	b, _ := member(t, server.URL, cache.Config{})
	want(t, "filled", sharedFetch(a, "k", &source{text: "lost", asOf: 5}), "fill lost")
	waittest.Until(t, "it is shared", func() bool { return server.Do("EXISTS", "fieldmark1:log:k") == ":1\r\n" })
	b.Reset()
	b.Join("log", logHead)
	want(t, "after the reset", sharedFetch(b, "k", &source{text: "true", asOf: 6}), "fill true")
}

// TestGoneIsRefilledAfterPurge has a source that first reports ErrGone, and then, after
// an event, an entry.
func TestGoneIsRefilledAfterPurge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		gone := &source{err: fmt.Errorf("no brand: %w", cache.ErrGone)}
		away := &source{err: io.ErrUnexpectedEOF}
		want(t, "nothing", fetch(c, "k", gone), "error: "+gone.err.Error())
		want(t, "just after it", fetch(c, "k", &source{text: "there", asOf: 1}), "error: "+gone.err.Error())
		want(t, "trouble", fetch(c, "l", away), "error: "+away.err.Error())
		c.Purge(1, "brand")
		want(t, "after an event", fetch(c, "k", &source{text: "there", asOf: 1}), "fill there")
		want(t, "trouble after an event", fetch(c, "l", &source{text: "there", asOf: 1}), "error: "+away.err.Error())

		fetch(c, "m", gone)
		time.Sleep(51 * time.Millisecond)
		want(t, "a little later", fetch(c, "m", &source{text: "there", asOf: 1}), "fill there")

		slow, there := &source{err: gone.err, delay: 100 * time.Millisecond}, &source{text: "there", asOf: 2}
		var reader sync.WaitGroup
		reader.Go(func() {
			_, _, _ = c.Fetch(context.Background(), "n", func(ctx context.Context) (*cache.Entry, error) {
				if slow.fills.Load() > 0 {
					return there.fill(ctx)
				}
				return slow.fill(ctx)
			})
		})
		synctest.Wait()
		c.Purge(2, "brand")
		if got := fetch(c, "n", there); !strings.HasSuffix(got, " there") { // of either of the two fills that follow
			t.Errorf("a reader that joins a fill from before the event: got %q, want the new entry", got)
		}
		reader.Wait()
	})
}
