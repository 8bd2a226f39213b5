package proxy

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/cache"
)

// inFlight are the URLs that are being fetched, so that a response is not stored if an
// unsafe request changed its URL in the meantime. Storing and invalidating take its lock,
// so that the later of the two sees the earlier.
type inFlight struct {
	mu    sync.Mutex
	byURL map[string]*pendingURL
	open  map[*exchange]func() // ends each that is under way
}

// pendingURL is one URL that is being fetched.
type pendingURL struct {
	count     int          // exchanges under way; under inFlight.mu
	changedAt atomic.Int64 // Proxy.seq of the last change since the first of them began
}

// acquire records that a URL is being fetched.
func (a *inFlight) acquire(url string) *pendingURL {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.byURL[url]
	if x == nil {
		x = new(pendingURL)
		a.byURL[url] = x
	}
	x.count++
	return x
}

// release ends what enter began.
func (a *inFlight) release(url string, x *pendingURL) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x.count--; x.count == 0 {
		delete(a.byURL, url)
	}
}

// trackStore records, until the exchange ends, that its response may be stored.
func (p *Proxy) trackStore(q *request, x *exchange) {
	at, cancel := q.address, x.cancel
	url := p.inFlight.acquire(at)
	p.inFlight.mu.Lock()
	p.inFlight.open[x] = cancel
	p.inFlight.mu.Unlock()
	x.pending = url
	x.cancel = sync.OnceFunc(func() {
		p.inFlight.mu.Lock()
		delete(p.inFlight.open, x)
		p.inFlight.mu.Unlock()
		p.inFlight.release(at, url)
		cancel()
	})
}

// cancelAll ends every exchange under way: no origin may keep a node from stopping.
func (a *inFlight) cancelAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, cancel := range a.open {
		cancel()
	}
}

// invalidateURL invalidates the stored responses of a URL and those being fetched for it.
// It is exact where a purge by tag is not: unsafe requests are frequent, and each purge
// would hit one unrelated entry in 16,384.
func (p *Proxy) invalidateURL(host, target string) {
	at := p.seq.Add(1)
	p.inFlight.mu.Lock()
	defer p.inFlight.mu.Unlock()
	address := addressOf(host, target)
	if x := p.inFlight.byURL[address]; x != nil {
		x.changedAt.Store(at)
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

// generation is part of the keys under which the responses of one URL with keyed fields, or
// to a range, are stored. A new generation makes all of them unreachable at once, however
// many there are; so does the loss of the entry that holds it.
type generation int64

// keepGeneration is far above the life of the answers stored under a generation.
const keepGeneration = 365 * 24 * time.Hour

func generationKey(address string) string { return "generation\x00" + address }

// newGeneration replaces the generation under a key. The caller holds inFlight.mu.
func (p *Proxy) newGeneration(key string) generation {
	g := generation(p.generations.Add(1))
	p.cache.Put(key, &cache.Entry{Value: g, AsOf: p.seq.Load(), Fresh: keepGeneration, OnError: keepGeneration})
	return g
}

// storeKey returns the key under which the response to q is stored; ok is false if no
// response with keyed fields is stored for the URL.
func (p *Proxy) storeKey(q *request) (key string, ok bool) {
	if q.fields == "" {
		return q.key, true
	}
	e, _ := p.cache.Get(generationKey(q.address))
	if e == nil {
		return "", false
	}
	return q.keyInGeneration(e.Value.(generation)), true
}

// keyInGeneration returns the key of q in a generation. The suffix after the NUL cannot be a
// header field, because field names are not empty.
func (q *request) keyInGeneration(g generation) string {
	return q.key + "\x00" + strconv.FormatInt(int64(g), 10)
}
