package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark/cache"
)

// model is a reference implementation: a log of events, each of which changed one
// tag, and how many of them the cache has received.
type model struct {
	rng *rand.Rand
	c   *cache.Cache

	mu sync.Mutex // fills read while the test runs

	head      int64            // number of the last event
	changed   []string         // changed[n-1] = the tag that event n changed
	latest    map[string]int64 // tag -> last event that changed it
	applied   int64            // the cache has received events up to here
	appliedAt []time.Time      // appliedAt[n-1] = when
	hard      map[int64]bool   // received as a hard purge
}

func (m *model) change(tag string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.head++
	m.changed = append(m.changed, tag)
	m.latest[tag] = m.head
}

// purge applies events up to a number, one by one or as a lost tail.
func (m *model) purge() {
	for m.applied < m.head {
		if m.head-m.applied > 5 && m.rng.IntN(4) == 0 {
			m.c.InvalidateBefore(m.head)
			for ; m.applied < m.head; m.applied++ {
				m.appliedAt = append(m.appliedAt, time.Now())
			}
			return
		}
		m.applied++
		tag := m.changed[m.applied-1]
		if m.rng.IntN(10) == 0 {
			m.hard[m.applied] = true
			m.c.PurgeHard(m.applied, tag)
		} else {
			m.c.Purge(m.applied, tag)
		}
		m.appliedAt = append(m.appliedAt, time.Now())
		if m.rng.IntN(3) == 0 {
			return
		}
	}
}

// fill reads AsOf first and the values some time later, like a real fill.
func (m *model) fill(tags []string, seed uint64) cache.Fill {
	return func(ctx context.Context) (*cache.Entry, error) {
		rng := rand.New(rand.NewPCG(seed, 0))
		m.mu.Lock()
		asOf := m.head
		m.mu.Unlock()
		e := &cache.Entry{AsOf: asOf, Tags: tags, Fresh: 20 * time.Second, Stale: 20 * time.Second,
			OnError: 10 * time.Minute}
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		read := map[string]int64{}
		m.mu.Lock()
		for _, tag := range tags {
			read[tag] = m.latest[tag]
		}
		m.mu.Unlock()
		e.Value = read
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		switch rng.IntN(20) {
		case 0:
			return nil, errors.New("origin away")
		case 1:
			panic("oops")
		}
		return e, ctx.Err()
	}
}

// check compares a result with the events that the cache had received when it was read.
func (m *model) check(t *testing.T, how string, e *cache.Entry, received int64, asked time.Time) {
	t.Helper()
	fresh := strings.HasPrefix(how, "get fresh") || strings.HasPrefix(how, "hit") || strings.HasPrefix(how, "fill") ||
		strings.HasPrefix(how, "shared")
	stale := strings.HasPrefix(how, "get stale") || strings.HasPrefix(how, "stale")
	read := e.Value.(map[string]int64)
	for n := int64(1); n <= received; n++ {
		tag := m.changed[n-1]
		seen, ours := read[tag]
		if !ours || seen >= n {
			continue // another tag, or it includes the change
		}
		since := asked.Sub(m.appliedAt[n-1])
		switch {
		case fresh:
			t.Fatalf("%s: tag %s read at event %d, but event %d was purged %s before", how, tag, seen, n, since)
		case m.hard[n]:
			t.Fatalf("%s: tag %s read at event %d, but event %d was purged hard %s before", how, tag, seen, n, since)
		case stale && since >= 800*time.Millisecond:
			t.Fatalf("%s: tag %s read at event %d, but event %d was purged %s before, want less than 800ms", how, tag,
				seen, n, since)
		}
	}
}

func TestNoPurgeIsLost(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { drive(t, seed) })
		})
	}
}

func drive(t *testing.T, seed uint64) {
	m := &model{
		rng: rand.New(rand.NewPCG(seed, 1)), latest: map[string]int64{}, hard: map[int64]bool{},
		c: open(t, cache.Config{Bytes: 1 << 20, Shards: 1}),
	}
	counts := map[string]int{}
	type answer struct {
		how      string
		e        *cache.Entry
		received int64
		asked    time.Time
	}
	answers := make(chan answer, 10_000)
	for range 3000 {
		brand := fmt.Sprint("brand:", m.rng.IntN(6))
		key, tags := brand, []string{brand, "module"}
		if m.rng.IntN(4) == 0 {
			key, tags = "page", []string{"module", "brand:0", "brand:1", "brand:2", "brand:3"}
		}
		switch m.rng.IntN(10) {
		case 0:
			m.change(brand)
		case 1:
			m.purge()
		case 2:
			if m.rng.IntN(20) == 0 {
				m.change("module")
			}
		case 3, 4:
			if e, st := m.c.Get(key); st == cache.Fresh || st == cache.Stale {
				answers <- answer{"get " + st.String() + " " + key, e, m.applied, time.Now()}
			}
		default:
			a := answer{received: m.applied, asked: time.Now()}
			fill := m.fill(tags, m.rng.Uint64())
			go func() {
				e, src, err := m.c.Fetch(context.Background(), key, fill)
				a.how, a.e = src.String()+" "+key, e
				if err != nil {
					a.how = "error"
				}
				answers <- a
			}()
		}
		time.Sleep(time.Duration(m.rng.IntN(120)) * time.Millisecond)
		if m.rng.IntN(200) == 0 {
			time.Sleep(15 * time.Second)
		}
		synctest.Wait()
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	close(answers)
	for a := range answers {
		counts[strings.Fields(a.how)[0]]++
		if a.e != nil {
			m.check(t, a.how, a.e, a.received, a.asked)
		}
	}
	for _, how := range []string{"hit", "stale", "fill", "shared", "on-error", "error"} {
		if counts[how] == 0 {
			t.Errorf("no answer of kind %s in %v: this case is no longer tested", how, counts)
		}
	}
}
