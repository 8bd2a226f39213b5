package commit

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"
)

// maxGroup limits the number of writes in one transaction. Above a few hundred the cost of
// the sync per write is small, and a larger group only delays its first member.
const maxGroup = 256

// Engine describes a database engine.
type Engine struct {
	// Begin opens a transaction and excludes all other writers, of every process,
	// until it ends.
	Begin []string
	// Prepare selects how statements run: prepared once per connection and executed
	// one by one, which is best for an embedded engine. Otherwise the engine is a
	// server, and statements are sent in batches to save round trips.
	Prepare bool
	// Timeout limits the duration of a transaction; 0 means the engine's limit.
	Timeout time.Duration
	// Args changes arguments in place to what the engine accepts.
	Args func([]any) []any
	// Unavailable wraps errors of an engine that cannot be reached or does not
	// write, and returns other errors as they are. IsUnavailable recognizes them.
	Unavailable   func(error) error
	IsUnavailable func(error) bool
}

// Write is one caller's work. A Group calls its methods one at a time.
type Write interface {
	// Run runs statements. Its error or panic undoes this write alone.
	Run(ctx context.Context, tx *Tx) error
	// Repeatable reports whether Run may be called again after its statements were
	// undone, and so whether they may be sent without a savepoint.
	Repeatable() bool
	// Priority returns whether the write is to wait while others write. It is constant.
	Priority() Priority
	// RolledBack is called when the statements of Run were undone and the
	// transaction goes on.
	RolledBack()
	// Committed is called when the write is on disk.
	Committed()
}

// Config configures a Group. A Group calls the functions from one goroutine at a time.
// All functions are required.
type Config[W Write] struct {
	Engine
	DB *sql.DB // where connections come from

	// Begin is called before each attempt at a transaction.
	Begin func()
	// Prefetch returns the queries that read rows that repeatable writes will need. They
	// are sent together with the begin of the transaction, to servers only.
	Prefetch func([]W) []Query
	// End returns statements to run before the commit.
	End func() []Statement
	// Done is called after each transaction and the Committed of its writes.
	Done func(took time.Duration, writes int)
}

// Group runs writes of concurrent callers in shared transactions. It starts no
// goroutine: the first caller becomes the leader, runs all waiting writes in one
// transaction, and makes the first caller that arrived in the meantime the next
// leader.
type Group[W Write] struct {
	cfg Config[W]
	conn
	pace pacer

	mu      sync.Mutex
	waiting []*member[W]
	led     bool
	drained chan struct{} // closed when the last write has ended; nil until Close is called
}

// NewGroup returns a Group. It connects at the first write.
func NewGroup[W Write](cfg Config[W]) *Group[W] {
	return &Group[W]{cfg: cfg, conn: conn{engine: cfg.Engine, texts: multiInsert{}}}
}

// member is one write in the queue or in a running group.
type member[W Write] struct {
	write W
	ready chan struct{} // receives one value when the write is done or is the leader

	// lead and taken are guarded by Group.mu; the rest belongs to the leader until
	// ready receives.
	lead  bool // it is the leader of the next group
	taken bool // it is part of a running group and can no longer be canceled

	group     int // members of its transaction
	err       error
	panicked  string
	uncertain bool
}

func (m *member[W]) succeeded() bool { return m.err == nil && m.panicked == "" }

// Result describes the transaction of a write.
type Result struct {
	Writes    int    // in the transaction, including this one; 0 if the write did not start
	Panicked  string // panic value of Run, and the stack
	Uncertain bool   // the COMMIT got no response: a failed write may be on disk
}

// Do runs a write and returns when it is on disk or has failed. The caller may cancel
// until the write starts. After that it runs to completion, because interrupting one
// statement would roll back the other writes.
//
// While others write, a write below Normal waits for a multiple of what the last one of its priority took, at most
// maxPause, before it is queued. Only writes of this Group count, not those of other processes.
func (g *Group[W]) Do(ctx context.Context, w W) (Result, error) {
	if of := w.Priority(); of != Normal {
		if err := g.pace.wait(ctx, of); err != nil {
			return Result{}, err
		}
	} else {
		g.pace.begin()
		defer g.pace.end()
	}
	m := &member[W]{write: w, ready: make(chan struct{}, 1)}
	leads, err := g.join(m)
	if err != nil {
		return Result{}, err
	}
	if !leads {
		select {
		case <-m.ready:
		case <-ctx.Done():
			if g.cancel(m) {
				return Result{}, ctx.Err()
			}
			<-m.ready
		}
	}
	if g.leads(m) {
		g.lead(m)
	}
	return Result{m.group, m.panicked, m.uncertain}, m.err
}

// Waiting returns how many writes wait for the running transaction to end.
func (g *Group[W]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// Close closes the connection once the writes that were queued have ended. Later ones fail with sql.ErrConnDone.
func (g *Group[W]) Close() error {
	g.mu.Lock()
	if g.drained = make(chan struct{}); !g.led {
		close(g.drained)
	}
	g.mu.Unlock()
	<-g.drained
	return g.conn.Close()
}

// join queues m and reports whether it leads.
func (g *Group[W]) join(m *member[W]) (leads bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.drained != nil {
		return false, sql.ErrConnDone
	}
	g.waiting = append(g.waiting, m)
	if g.led {
		return false, nil
	}
	g.led, m.lead = true, true
	return true, nil
}

// cancel removes m from the queue and reports whether it was still there. A lead
// that m has just received passes to the next.
func (g *Group[W]) cancel(m *member[W]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if m.taken {
		return false
	}
	g.waiting = slices.DeleteFunc(g.waiting, func(o *member[W]) bool { return o == m })
	if m.lead {
		g.passLead()
	}
	return true
}

func (g *Group[W]) leads(m *member[W]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return m.lead && !m.taken
}

// passLead makes the first in the queue the leader. Callers hold mu.
func (g *Group[W]) passLead() {
	if len(g.waiting) == 0 {
		if g.led = false; g.drained != nil {
			close(g.drained)
		}
		return
	}
	next := g.waiting[0]
	next.lead = true
	next.ready <- struct{}{}
}

// lead runs one group, of which first is the first member.
func (g *Group[W]) lead(first *member[W]) {
	g.mu.Lock()
	n := min(len(g.waiting), maxGroup)
	batch := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	for _, m := range batch {
		m.taken = true
		m.group = n
	}
	g.mu.Unlock()

	began := time.Now()
	g.commit(batch)
	took := time.Since(began)
	for _, m := range batch {
		if of := m.write.Priority(); of != Normal {
			g.pace.ran(of, took)
		}
		if m.succeeded() {
			m.write.Committed()
		}
	}
	g.cfg.Done(took, n)

	g.mu.Lock()
	g.passLead()
	g.mu.Unlock()
	for _, m := range batch {
		if m != first {
			m.ready <- struct{}{}
		}
	}
}
