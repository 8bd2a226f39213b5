package store

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

const (
	// gatherFor bounds how long a question waits for the one before it, so that
	// one answer that is slow to come does not hold up all others.
	gatherFor = 5 * time.Millisecond
	// gatherPatience bounds a question that is asked for several callers, of whom
	// none may break it off.
	gatherPatience = 5 * time.Second
)

// gather asks for all callers who wait in one question. To a server each question
// is a journey, and the same few are asked with every request. The first caller
// to come while a question is under way asks the next, for all who came by then;
// so what anyone is told was so after he asked.
type gather[K comparable, V any] struct {
	ask func(context.Context, []K) (map[K]V, error) // what is not in the answer is not there

	mu   sync.Mutex
	next *round[K, V] // may still be joined; nil: there is none
	last *round[K, V] // the newest that is or was under way
}

// round is one question.
type round[K comparable, V any] struct {
	keys    map[K]bool
	done    chan struct{} // closed when there is an answer
	answers map[K]V
	err     error
}

// get returns the answer about a key; the error is sql.ErrNoRows where there is
// none.
func (g *gather[K, V]) get(ctx context.Context, key K) (v V, err error) {
	g.mu.Lock()
	r, leads, before := g.next, g.next == nil, g.last
	if leads {
		r = &round[K, V]{keys: make(map[K]bool), done: make(chan struct{})}
		g.next = r
	}
	r.keys[key] = true
	g.mu.Unlock()
	if leads {
		g.lead(ctx, r, before)
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return v, ctx.Err()
	}
	if r.err != nil {
		return v, r.err
	}
	v, ok := r.answers[key]
	if !ok {
		return v, sql.ErrNoRows
	}
	return v, nil
}

// lead asks a question once the one before is answered.
func (g *gather[K, V]) lead(ctx context.Context, r, before *round[K, V]) {
	if before != nil {
		patience := time.NewTimer(gatherFor)
		select {
		case <-before.done:
		case <-patience.C:
		}
		patience.Stop()
	}
	g.mu.Lock()
	g.next, g.last = nil, r
	g.mu.Unlock()
	defer close(r.done)
	keys := make([]K, 0, len(r.keys))
	for key := range r.keys {
		keys = append(keys, key)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), gatherPatience)
	defer cancel()
	r.answers, r.err = g.ask(ctx, keys)
}

// answers reads what there is about keys: rows that begin with the number of the
// key they are about, from 1.
func answers[K comparable, V any](ctx context.Context, from asker, keys []K, question string, args []any,
	scan func(row scanner, before ...any) (V, error)) (map[K]V, error) {

	all := make(map[K]V, len(keys))
	rows, err := from.query(ctx, question, args...)
	_, err = collect(rows, err, func(row scanner) (none struct{}, err error) {
		var i int
		v, err := scan(row, &i)
		if err == nil {
			all[keys[i-1]] = v
		}
		return none, err
	})
	return all, err
}

// columns turns rows of texts into arguments, an array for each column.
func columns[T any](rows []T, texts func(T) []string) []any {
	var all []any
	for _, row := range rows {
		for i, s := range texts(row) {
			if i == len(all) {
				all = append(all, make([]string, 0, len(rows)))
			}
			all[i] = append(all[i].([]string), s)
		}
	}
	return all
}
