package proxy

import (
	"sync"
	"sync/atomic"

	"github.com/fieldmark/fieldmark/cache"
)

// inFlight are the URLs that are being fetched, so that a response is not stored if an
// unsafe request changed its URL in the meantime. Storing and invalidating take its lock,
// so that the later of the two finds the earlier.
type inFlight struct {
	mu    sync.Mutex
	byURL map[string]*pendingURL
	open  map[*exchange]func() // ends each that is under way
}

// pendingURL is one URL that is being fetched.
type pendingURL struct {
	count     int          // exchanges under way; under inFlight.mu
	changedAt atomic.Int64 // variantStore.seq of the last change since the first of them began
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

// release ends what acquire began.
func (a *inFlight) release(url string, x *pendingURL) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x.count--; x.count == 0 {
		delete(a.byURL, url)
	}
}

// trackStore records, until the exchange ends, that its response may be stored.
func (s *variantStore) trackStore(q *request, x *exchange) {
	at, cancel := q.address, x.cancel
	url := s.inFlight.acquire(at)
	s.inFlight.mu.Lock()
	s.inFlight.open[x] = cancel
	s.inFlight.mu.Unlock()
	x.pending = url
	x.cancel = sync.OnceFunc(func() {
		s.inFlight.mu.Lock()
		delete(s.inFlight.open, x)
		s.inFlight.mu.Unlock()
		s.inFlight.release(at, url)
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
// It is exact where a purge by tag is not: unsafe requests are frequent, and thousands of
// purged tags would reach unrelated entries.
func (s *variantStore) invalidateURL(host, target string) {
	at := s.seq.Add(1)
	s.inFlight.mu.Lock()
	defer s.inFlight.mu.Unlock()
	address := addressOf(host, target)
	if x := s.inFlight.byURL[address]; x != nil {
		x.changedAt.Store(at)
	}
	for _, tls := range []bool{false, true} {
		if key := keyOf(tls, address); s.stored(key) {
			s.cache.Put(key, &cache.Entry{AsOf: at})
		}
	}
	if key := generationKey(address); s.stored(key) {
		s.newGeneration(key)
	}
}

// stored reports whether there is an entry under a key, in whatever state.
func (s *variantStore) stored(key string) bool {
	e, _ := s.cache.Get(key)
	return e != nil
}
