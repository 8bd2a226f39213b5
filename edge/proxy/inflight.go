package proxy

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/cache"
)

// asks are the addresses the origin is being asked for, so that what an unsafe
// request has changed meanwhile is not stored. Storing and forgetting take its
// lock: whichever comes second sees the other.
type asks struct {
	mu    sync.Mutex
	byURL map[string]*asked
	open  map[*exchange]func() // ends each that is under way
}

// asked is one address that is being asked for.
type asked struct {
	n       int          // exchanges under way; under asks.mu
	invalid atomic.Int64 // Proxy.seq of the last change since the first of them began
}

// enter notes that an address is being asked for.
func (a *asks) enter(url string) *asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.byURL[url]
	if x == nil {
		x = new(asked)
		a.byURL[url] = x
	}
	x.n++
	return x
}

// leave ends what enter began.
func (a *asks) leave(url string, x *asked) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x.n--; x.n == 0 {
		delete(a.byURL, url)
	}
}

// keeps notes that the answer of an exchange may be stored, until it is ended.
func (p *Proxy) keeps(q *query, x *exchange) {
	at, cancel := q.address, x.cancel
	url := p.asks.enter(at)
	p.asks.mu.Lock()
	p.asks.open[x] = cancel
	p.asks.mu.Unlock()
	x.url = url
	x.cancel = sync.OnceFunc(func() {
		p.asks.mu.Lock()
		delete(p.asks.open, x)
		p.asks.mu.Unlock()
		p.asks.leave(at, url)
		cancel()
	})
}

// endAll ends every exchange under way: no origin may keep a node from stopping.
func (a *asks) endAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, cancel := range a.open {
		cancel()
	}
}

// forget makes what is stored under an address absent, and what is being asked for
// there with it. It is exact where a purge by tag is not: unsafe requests are
// frequent, and each of those would hit one entry in 16,384 that it is not for.
func (p *Proxy) forget(host, target string) {
	at := p.seq.Add(1)
	p.asks.mu.Lock()
	defer p.asks.mu.Unlock()
	address := addressOf(host, target)
	if x := p.asks.byURL[address]; x != nil {
		x.invalid.Store(at)
	}
	for _, tls := range []bool{false, true} {
		if key := keyOf(tls, address); p.stored(key) {
			p.cache.Put(key, &cache.Entry{AsOf: at})
		}
	}
	if key := generationKey(address); p.stored(key) {
		p.newGeneration(key)
	}
}

// stored reports whether there is an entry under a key, in whatever state.
func (p *Proxy) stored(key string) bool {
	e, _ := p.cache.Get(key)
	return e != nil
}

// generation is part of the keys that the answers of one address with keyed fields,
// or to a range, are stored under. A new one makes all of them unreachable at once,
// however many there are; so does the loss of the entry that holds it.
type generation int64

// keepGeneration is far above the life of the answers stored under a generation.
const keepGeneration = 365 * 24 * time.Hour

func generationKey(address string) string { return "generation\x00" + address }

// newGeneration replaces the generation under a key. The caller holds asks.mu.
func (p *Proxy) newGeneration(key string) generation {
	g := generation(p.generations.Add(1))
	p.cache.Put(key, &cache.Entry{Value: g, AsOf: p.seq.Load(), Fresh: keepGeneration, OnError: keepGeneration})
	return g
}

// storeKey returns the key that the answer to q is stored under. There is none if
// nothing with keyed fields is stored for the address.
func (p *Proxy) storeKey(q *query) (key string, ok bool) {
	if q.fields == "" {
		return q.key, true
	}
	e, _ := p.cache.Get(generationKey(q.address))
	if e == nil {
		return "", false
	}
	return q.generationOf(e.Value.(generation)), true
}

// generationOf returns the key of q in a generation. What follows the NUL tells it
// from a field: no name is empty.
func (q *query) generationOf(g generation) string {
	return q.key + "\x00" + strconv.FormatInt(int64(g), 10)
}
