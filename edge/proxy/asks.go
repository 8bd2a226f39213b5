package proxy

import (
	"sync"
	"sync/atomic"

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
	at, cancel := q.host+q.target, x.cancel
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
	if x := p.asks.byURL[host+target]; x != nil {
		x.invalid.Store(at)
	}
	for _, key := range []string{host + target, "s" + host + target} {
		if e, _ := p.cache.Get(key); e != nil {
			p.cache.Put(key, &cache.Entry{AsOf: at})
		}
	}
	if e, _ := p.cache.Get(markOf(host, target)); e != nil { // there are more, under keys with fields in them
		p.cache.PurgeHard(at, urlTag(host, target))
	}
}

// markOf is the key of a mark that says: more is stored for this address.
func markOf(host, target string) string { return "\x00" + host + target }
