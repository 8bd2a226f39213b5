package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
)

// maxGroup bounds how many writes share one transaction. Past a few hundred the
// cost of the sync is spread thin enough, and a longer group only delays its
// first member.
const maxGroup = 256

// Tx is the record inside a transaction. It is good until the function it was
// given to returns.
type Tx struct {
	group   *group
	touched [topics]bool
}

func (t *Tx) exec(ctx context.Context, text string, args ...any) (int64, error) {
	st, err := t.group.stmt(ctx, text)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (t *Tx) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	st, err := t.group.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

func (t *Tx) queryRow(ctx context.Context, text string, args ...any) *sql.Row {
	st, err := t.group.stmt(ctx, text)
	if err != nil {
		return t.group.conn.QueryRowContext(ctx, text, args...)
	}
	return st.QueryRowContext(ctx, args...)
}

// group gathers writes. There is no goroutine of its own: the first caller to
// find nobody at work leads, runs what is waiting in one transaction, and hands
// the lead to the first of those who came meanwhile.
type group struct {
	conn     *sql.Conn            // the one connection that writes; only the leader touches it
	prepared map[string]*sql.Stmt // its statements; only the leader touches them

	mu      sync.Mutex
	waiting []*write
	led     bool
}

// write is one caller's function on its way through the group.
type write struct {
	fn   func(context.Context, *Tx) error
	wake chan struct{} // holds one word: you lead, or you are done

	// lead and taken are guarded by group.mu; the rest belongs to the leader
	// until wake.
	lead  bool // the word is: you lead
	taken bool // too late to leave

	err     error
	crashed string // what fn panicked with
	touched [topics]bool
}

// Write runs fn in a transaction and returns when what it wrote is on disk.
// Functions of several callers share one transaction, each under its own
// savepoint: an error or panic of fn undoes fn alone, and comes back here. The
// caller may give up by ctx until fn was begun; then it is seen through, under
// a context that outlives the caller's, because interrupting one statement
// would roll back the others.
func (s *Store) Write(ctx context.Context, fn func(context.Context, *Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &write{fn: fn, wake: make(chan struct{}, 1)}
	if !s.group.join(w) {
		select {
		case <-w.wake:
		case <-ctx.Done():
			if s.group.leave(w) {
				return ctx.Err()
			}
			<-w.wake
		}
	}
	if s.group.leads(w) {
		s.lead(w)
	}
	if w.crashed != "" {
		panic("BUG: a write panicked: " + w.crashed)
	}
	return w.err
}

// join puts w in line and reports whether it leads.
func (g *group) join(w *write) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, w)
	if g.led {
		return false
	}
	g.led, w.lead = true, true
	return true
}

// leave takes w out of line and reports whether it was still there. A lead that
// was just handed to it goes to the next.
func (g *group) leave(w *write) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.taken {
		return false
	}
	g.waiting = slices.DeleteFunc(g.waiting, func(o *write) bool { return o == w })
	if w.lead {
		g.handOver()
	}
	return true
}

func (g *group) leads(w *write) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return w.lead && !w.taken
}

// handOver gives the lead to the first in line, or to nobody. Callers hold mu.
func (g *group) handOver() {
	if len(g.waiting) == 0 {
		g.led = false
		return
	}
	next := g.waiting[0]
	next.lead = true
	next.wake <- struct{}{}
}

// lead runs one group, of which me is the first member.
func (s *Store) lead(me *write) {
	g := &s.group
	g.mu.Lock()
	n := min(len(g.waiting), maxGroup)
	batch := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	for _, w := range batch {
		w.taken = true
	}
	g.mu.Unlock()

	g.commit(batch)

	g.mu.Lock()
	g.handOver()
	g.mu.Unlock()
	var touched [topics]bool
	for _, w := range batch {
		if w.err == nil && w.crashed == "" {
			for i := range touched {
				touched[i] = touched[i] || w.touched[i]
			}
		}
		if w != me {
			w.wake <- struct{}{}
		}
	}
	s.watch.tell(touched)
}

// commit runs a batch in one transaction and notes each member's result.
func (g *group) commit(batch []*write) {
	// No caller's context: the first to hang up would undo everybody's work.
	// What it may wait for is bounded by the busy time-out.
	ctx := context.Background()
	if err := g.run(ctx, "BEGIN IMMEDIATE"); err != nil {
		fail(batch, fmt.Errorf("begin: %w", err))
		return
	}
	wrote := false
	for _, w := range batch {
		if err := g.member(ctx, w); err != nil {
			fail(batch, errors.Join(err, g.run(ctx, "ROLLBACK")))
			return
		}
		wrote = wrote || w.err == nil && w.crashed == ""
	}
	if !wrote {
		if err := g.run(ctx, "ROLLBACK"); err != nil {
			fail(batch, fmt.Errorf("roll back: %w", err))
		}
		return
	}
	if err := g.run(ctx, "COMMIT"); err != nil {
		fail(batch, errors.Join(fmt.Errorf("commit: %w", err), g.run(ctx, "ROLLBACK")))
	}
}

// fail gives err to every member that had none of its own.
func fail(batch []*write, err error) {
	for _, w := range batch {
		if w.err == nil && w.crashed == "" {
			w.err = err
		}
	}
}

// member runs one function under its savepoint. An error returned here is one
// of the transaction, not of the function.
func (g *group) member(ctx context.Context, w *write) error {
	if err := g.run(ctx, "SAVEPOINT member"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	w.call(ctx, &Tx{group: g})
	if w.err != nil || w.crashed != "" {
		if err := g.run(ctx, "ROLLBACK TO member"); err != nil {
			return fmt.Errorf("roll back one write: %w", err)
		}
	}
	if err := g.run(ctx, "RELEASE member"); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}

// call runs the function and catches its panic, which belongs to its caller.
func (w *write) call(ctx context.Context, t *Tx) {
	defer func() {
		if v := recover(); v != nil {
			w.crashed = fmt.Sprintf("%v\n%s", v, debug.Stack())
		}
	}()
	w.err = w.fn(ctx, t)
	w.touched = t.touched
}

func (g *group) run(ctx context.Context, text string) error {
	st, err := g.stmt(ctx, text)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(ctx)
	return err
}

// stmt prepares a text once for the writing connection.
func (g *group) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st, ok := g.prepared[text]; ok {
		return st, nil
	}
	st, err := g.conn.PrepareContext(ctx, text)
	if err == nil {
		g.prepared[text] = st
	}
	return st, err
}
