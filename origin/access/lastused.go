package access

import (
	"sync"
	"time"
)

// LastUsedPrecision is how exact the recorded time of the last use of a key or a
// calendar is: a write per request would cost more than the request.
const LastUsedPrecision = time.Minute

// Use is when something was used, from which network and by which program.
type Use struct {
	At             time.Time
	Network, Agent string
}

// LastUsed collects the last uses of keys or calendars by id until they are
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

// Take returns the uses recorded since the last call. A caller that cannot write them drops
// them: they are not worth a retry.
func (l *LastUsed) Take() map[string]Use {
	l.mu.Lock()
	defer l.mu.Unlock()
	uses := l.uses
	l.uses = nil
	return uses
}
