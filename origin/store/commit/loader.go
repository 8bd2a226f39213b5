package commit

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// loaderDelay limits the time that a query waits for the previous one, so that one
	// slow query does not delay all others.
	loaderDelay = 5 * time.Millisecond
	// loaderTimeout limits a query for several callers. No single caller can cancel it.
	loaderTimeout = 5 * time.Second * timeout.Scale
)

// Loader reads rows by key and combines concurrent calls into one query, because each
// query is a round trip to the server. The first caller that arrives while a query is
// running sends the next query, for all callers that have arrived by then. So every
// result is at least as new as its call.
type Loader[K comparable, V any] struct {
	// Load reads the rows of keys. A key without a row is not in the result.
	Load func(context.Context, []K) (map[K]V, error)

	mu   sync.Mutex
	next *load[K, V] // may still be joined; nil if it does not exist
	last *load[K, V] // the newest that was sent
}

// load is one query.
type load[K comparable, V any] struct {
	keys map[K]bool
	done chan struct{} // closed when the fields below are set
	rows map[K]V
	err  error
}

// Get returns the row of a key; the error is sql.ErrNoRows if it does not exist.
func (l *Loader[K, V]) Get(ctx context.Context, key K) (v V, err error) {
	l.mu.Lock()
	q, first, before := l.next, l.next == nil, l.last
	if first {
		q = &load[K, V]{keys: make(map[K]bool), done: make(chan struct{})}
		l.next = q
	}
	q.keys[key] = true
	l.mu.Unlock()
	if first {
		l.send(ctx, q, before)
	}
	select {
	case <-q.done:
	case <-ctx.Done():
		return v, ctx.Err()
	}
	if q.err != nil {
		return v, q.err
	}
	v, ok := q.rows[key]
	if !ok {
		return v, sql.ErrNoRows
	}
	return v, nil
}

// send runs a query after the previous one has completed, or after loaderDelay.
func (l *Loader[K, V]) send(ctx context.Context, q, before *load[K, V]) {
	if before != nil {
		timeout := time.NewTimer(loaderDelay)
		select {
		case <-before.done:
		case <-timeout.C:
		}
		timeout.Stop()
	}
	l.mu.Lock()
	l.next, l.last = nil, q
	l.mu.Unlock()
	defer close(q.done)
	keys := make([]K, 0, len(q.keys))
	for key := range q.keys {
		keys = append(keys, key)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loaderTimeout)
	defer cancel()
	q.rows, q.err = l.Load(ctx, keys)
}
