package access

import (
	"context"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark/origin/store"
)

// LastUsedPrecision is how exact the recorded time of the last use of a key, a session, a calendar or a
// technician's link is: a write per request would cost more than the request.
const LastUsedPrecision = time.Minute

// Use is when something was used, from which network and by which program.
type Use struct {
	At             time.Time
	Network, Agent string
}

// LastUsed collects the last uses of keys, sessions, calendars or links by id until they are
// written to the database. The zero value is empty. Its methods may be called from
// any goroutine.
type LastUsed struct {
	mu   sync.Mutex
	uses map[string]Use
}

// Record replaces the last use of id.
func (l *LastUsed) Record(id string, u Use) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uses == nil {
		l.uses = map[string]Use{}
	}
	l.uses[id] = u
}

// Write writes the uses recorded since the last call, each by touch, in one transaction. After an error they are
// lost, and the next request records a newer one: losing some is better than a request that waits for a write, or
// fails because the database refuses writes.
func (l *LastUsed) Write(ctx context.Context, db *store.Store,
	touch func(ctx context.Context, tx *store.Tx, id string, u Use) error) error {
	l.mu.Lock()
	uses := l.uses
	l.uses = nil
	l.mu.Unlock()
	if len(uses) == 0 {
		return nil
	}
	return db.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		for id, u := range uses {
			if err := touch(ctx, tx, id, u); err != nil {
				return err
			}
		}
		return nil
	})
}
