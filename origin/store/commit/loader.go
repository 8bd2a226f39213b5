package commit

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

const (
	// loaderDelay bounds how long a query waits for the one before it, so that one
	// slow answer does not delay all others.
	loaderDelay = 5 * time.Millisecond
	// loaderTimeout bounds a query for several callers, none of whom may cancel it.
	loaderTimeout = 5 * time.Second
)

// Loader reads rows by key, for concurrent callers in one query. Each query is a
// round trip to the server, and every request needs the same few. The first
// caller that comes while a query is running sends the next one, for all callers
// that came by then; so each answer is as of a time after its caller asked.
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

// send runs a query once the one before it is answered.
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
