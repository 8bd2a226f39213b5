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

// truth is a log of changes to a few things, which members of a fleet follow
// each at its own pace.
type truth struct {
	mu      sync.Mutex
	changed []string         // changed[n-1] = what event n changed
	latest  map[string]int64 // thing -> last event that changed it
}

func (tr *truth) head() int64 {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return int64(len(tr.changed))
}

func (tr *truth) change(thing string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.changed = append(tr.changed, thing)
	tr.latest[thing] = int64(len(tr.changed))
}

// read gives the event number first and what was true some time later.
func (tr *truth) read(rng *rand.Rand, thing string) cache.Fill {
	seed := rng.Uint64()
	return func(context.Context) (*cache.Entry, error) {
		rng := rand.New(rand.NewPCG(seed, 0))
		asOf := tr.head()
		for range rng.IntN(3) { // the world goes on meanwhile
			tr.change(fmt.Sprint(rng.IntN(things)))
		}
		if rng.IntN(12) == 0 {
			return nil, errors.New("origin away")
		}
		tr.mu.Lock()
		defer tr.mu.Unlock()
		return &cache.Entry{Body: fmt.Append(nil, tr.latest[thing]), AsOf: asOf, Tags: []string{thing}, Fresh: minute, OnError: minute}, nil
	}
}

const (
	things  = 6
	members = 3
	steps   = 1500
)

// follower is one process: its cache and how far it was told.
type follower struct {
	tr   *truth
	c    *cache.Cache
	told int64
}

// restart is a process that begins anew: with an empty memory, told of some of
// the past only.
func (f *follower) restart(t *testing.T, rng *rand.Rand, r *cache.Redis) {
	f.c = open(t, cache.Config{Bytes: 1 << 20, Shards: 1, Redis: r})
	head := f.tr.head()
	f.told = head - rng.Int64N(min(head, 20)+1)
	f.c.InvalidateBefore(f.told)
	f.tell(head)
	f.c.Join("log", head)
}

// tell purges what happened up to an event.
func (f *follower) tell(to int64) {
	f.tr.mu.Lock()
	defer f.tr.mu.Unlock()
	for ; f.told < to; f.told++ {
		f.c.Purge(f.told+1, f.tr.changed[f.told])
	}
}

// TestFleetForgetsNoPurge drives three processes on one Redis through changes,
// late news, lost tails of the log and restarts, and holds every answer that does
// not say it is old against what its process had been told.
func TestFleetForgetsNoPurge(t *testing.T) {
	server := cachetest.StartRedis(t)
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			server.Do("FLUSHALL")
			fleetRun(t, server, rand.New(rand.NewPCG(seed, 7)))
		})
	}
}

func fleetRun(t *testing.T, server *cachetest.Redis, rng *rand.Rand) {
	tr := &truth{latest: map[string]int64{}}
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
			f.tell(f.told + rng.Int64N(tr.head()-f.told+1))
		case n == 12: // the tail is gone
			f.told = tr.head()
			f.c.InvalidateBefore(f.told)
		case n == 13:
			f.restart(t, rng, tier.Redis)
		default:
			counts[f.check(t, rng, thing)]++
		}
	}
	for _, from := range []cache.Source{cache.SourceHit, cache.SourceFill, cache.SourceOnError} {
		if counts[from] == 0 {
			t.Errorf("no answer of kind %s in %v: the test lost its teeth", from, counts)
		}
	}
	if tier.hits.Load() == 0 || tier.fills.Load() == 0 {
		t.Errorf("%d entries taken over, %d filled: the test lost its teeth", tier.hits.Load(), tier.fills.Load())
	}
}

// check reads a thing through one process.
func (f *follower) check(t *testing.T, rng *rand.Rand, thing string) cache.Source {
	var must int64 // the last change of the thing the process was told of
	f.tr.mu.Lock()
	for n := f.told; n > 0 && must == 0; n-- {
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
		t.Fatalf("%s: %q of event %d, but the process was told of event %d", from, thing, got, must)
	}
	return from
}
