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

// model is the truth: a log of events, each of which changed one tag, and how
// far a follower has told the cache of them.
type model struct {
	rng *rand.Rand
	c   *cache.Cache

	mu sync.Mutex // fills read while the test goes on

	head    int64            // number of the last event
	changed []string         // changed[n-1] = the tag event n changed
	latest  map[string]int64 // tag -> last event that changed it
	told    int64            // the cache knows of events up to here
	toldAt  []time.Time      // toldAt[n-1] = when
	hard    map[int64]bool   // told as a hard purge
}

func (m *model) change(tag string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.head++
	m.changed = append(m.changed, tag)
	m.latest[tag] = m.head
}

// tell purges what happened up to some event, one by one or as a lost tail.
func (m *model) tell() {
	for m.told < m.head {
		if m.head-m.told > 5 && m.rng.IntN(4) == 0 {
			m.c.InvalidateBefore(m.head)
			for ; m.told < m.head; m.told++ {
				m.toldAt = append(m.toldAt, time.Now())
			}
			return
		}
		m.told++
		tag := m.changed[m.told-1]
		if m.rng.IntN(10) == 0 {
			m.hard[m.told] = true
			m.c.PurgeHard(m.told, tag)
		} else {
			m.c.Purge(m.told, tag)
		}
		m.toldAt = append(m.toldAt, time.Now())
		if m.rng.IntN(3) == 0 {
			return
		}
	}
}

// fill reads as-of first and the truth some time later, as a real one does.
func (m *model) fill(tags []string, seed uint64) cache.Fill {
	return func(ctx context.Context) (*cache.Entry, error) {
		rng := rand.New(rand.NewPCG(seed, 0))
		m.mu.Lock()
		asOf := m.head
		m.mu.Unlock()
		e := &cache.Entry{AsOf: asOf, Tags: tags, Fresh: 20 * time.Second, Stale: 20 * time.Second, OnError: 10 * time.Minute}
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

// check holds an answer against what the cache had been told when asked.
func (m *model) check(t *testing.T, how string, e *cache.Entry, told int64, asked time.Time) {
	t.Helper()
	fresh := strings.HasPrefix(how, "get fresh") || strings.HasPrefix(how, "hit") || strings.HasPrefix(how, "fill") || strings.HasPrefix(how, "shared")
	stale := strings.HasPrefix(how, "get stale") || strings.HasPrefix(how, "stale")
	read := e.Value.(map[string]int64)
	for n := int64(1); n <= told; n++ {
		tag := m.changed[n-1]
		seen, ours := read[tag]
		if !ours || seen >= n {
			continue // not its tag, or it has seen the change
		}
		since := asked.Sub(m.toldAt[n-1])
		switch {
		case fresh:
			t.Fatalf("%s: tag %s read at event %d, but event %d was purged %s before", how, tag, seen, n, since)
		case m.hard[n]:
			t.Fatalf("%s: tag %s read at event %d, but event %d was purged hard %s before", how, tag, seen, n, since)
		case stale && since >= 800*time.Millisecond:
			t.Fatalf("%s: tag %s read at event %d, but event %d was purged %s before, want less than 800ms", how, tag, seen, n, since)
		}
	}
}

func TestNoPurgeIsForgotten(t *testing.T) {
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
		how   string
		e     *cache.Entry
		told  int64
		asked time.Time
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
			m.tell()
		case 2:
			if m.rng.IntN(20) == 0 {
				m.change("module")
			}
		case 3, 4:
			if e, st := m.c.Get(key); st == cache.Fresh || st == cache.Stale {
				answers <- answer{"get " + st.String() + " " + key, e, m.told, time.Now()}
			}
		default:
			a := answer{told: m.told, asked: time.Now()}
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
			m.check(t, a.how, a.e, a.told, a.asked)
		}
	}
	for _, how := range []string{"hit", "stale", "fill", "shared", "on-error", "error"} {
		if counts[how] == 0 {
			t.Errorf("no answer of kind %s in %v: the test lost its teeth", how, counts)
		}
	}
}
