package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
)

// eventLog is a log of changes to a few resources. Each process of a fleet reads it at
// a different speed.
type eventLog struct {
	mu      sync.Mutex
	changed []string         // changed[n-1] = what event n changed
	latest  map[string]int64 // resource -> last event that changed it
}

func (tr *eventLog) head() int64 {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return int64(len(tr.changed))
}

func (tr *eventLog) change(thing string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.changed = append(tr.changed, thing)
	tr.latest[thing] = int64(len(tr.changed))
}

// read returns the event number first and the value some time later.
func (tr *eventLog) read(rng *rand.Rand, thing string) cache.Fill {
	seed := rng.Uint64()
	return func(context.Context) (*cache.Entry, error) {
		rng := rand.New(rand.NewPCG(seed, 0))
		asOf := tr.head()
		for range rng.IntN(3) { // other changes happen in between
			tr.change(fmt.Sprint(rng.IntN(things)))
		}
		if rng.IntN(12) == 0 {
			return nil, errors.New("origin away")
		}
		tr.mu.Lock()
		defer tr.mu.Unlock()
		return &cache.Entry{Body: fmt.Append(nil, tr.latest[thing]), AsOf: asOf, Tags: []string{thing}, Fresh: minute,
			OnError: minute}, nil
	}
}

const (
	things  = 6
	members = 3
	steps   = 1500
)

// follower is one process: its cache, and the last event it has received.
type follower struct {
	tr       *eventLog
	c        *cache.Cache
	received int64
}

// restart replaces the process by a new one with an empty memory, which has received
// only the events up to some number.
func (f *follower) restart(t *testing.T, rng *rand.Rand, r *cache.Redis) {
	f.c = open(t, cache.Config{Bytes: 1 << 20, Shards: 1, Redis: r})
	head := f.tr.head()
	f.received = head - rng.Int64N(min(head, 20)+1)
	f.c.InvalidateBefore(f.received)
	f.purge(head)
	f.c.Join("log", head)
}

// purge applies the events up to a number.
func (f *follower) purge(to int64) {
	f.tr.mu.Lock()
	defer f.tr.mu.Unlock()
	for ; f.received < to; f.received++ {
		f.c.Purge(f.received+1, f.tr.changed[f.received])
	}
}

// TestFleetLosesNoPurge runs three processes with one Redis through changes, late
// events, lost log tails and restarts. Every response that is not marked stale must be
// as new as the last event that its process had received.
func TestFleetLosesNoPurge(t *testing.T) {
	server := cachetest.StartRedis(t)
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			server.Do("FLUSHALL")
			fleetRun(t, server, rand.New(rand.NewPCG(seed, 7)))
		})
	}
}

func fleetRun(t *testing.T, server *cachetest.Redis, rng *rand.Rand) {
	tr := &eventLog{latest: map[string]int64{}}
	tr.change("0")
	tier := dial(t, server.URL)
	var fleet []*follower
	for range members {
		f := &follower{tr: tr}
		f.restart(t, rng, tier.Redis)
		fleet = append(fleet, f)
	}
	counts := map[cache.Source]int{}
	for range steps {
		f, thing := fleet[rng.IntN(members)], fmt.Sprint(rng.IntN(things))
		switch n := rng.IntN(40); {
		case n < 6:
			tr.change(thing)
		case n < 12:
			f.purge(f.received + rng.Int64N(tr.head()-f.received+1))
		case n == 12: // the tail of the log is lost
			f.received = tr.head()
			f.c.InvalidateBefore(f.received)
		case n == 13:
			f.restart(t, rng, tier.Redis)
		default:
			counts[f.check(t, rng, thing)]++
		}
	}
	for _, from := range []cache.Source{cache.SourceHit, cache.SourceFill, cache.SourceOnError} {
		if counts[from] == 0 {
			t.Errorf("no answer of kind %s in %v: this case is no longer tested", from, counts)
		}
	}
	if tier.hits.Load() == 0 || tier.fills.Load() == 0 {
		t.Errorf("%d entries read from Redis, %d filled: these cases are no longer tested", tier.hits.Load(),
			tier.fills.Load())
	}
}

// check reads a resource through one process.
func (f *follower) check(t *testing.T, rng *rand.Rand, thing string) cache.Source {
	var must int64 // the last change of the resource that the process has received
	f.tr.mu.Lock()
	for n := f.received; n > 0 && must == 0; n-- {
		if f.tr.changed[n-1] == thing {
			must = n
		}
	}
	f.tr.mu.Unlock()
	e, from, err := f.c.Fetch(t.Context(), thing, f.c.SharedFill(thing, time.Second, nil, f.tr.read(rng, thing)))
	if err != nil || from == cache.SourceStale || from == cache.SourceOnError {
		return from
	}
	var got int64
	if _, err := fmt.Sscan(string(e.Body), &got); err != nil {
		t.Fatal(err)
	}
	if got < must {
		t.Fatalf("%s: %q of event %d, but the process had received event %d", from, thing, got, must)
	}
	return from
}
