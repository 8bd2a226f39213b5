package commit

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
)

// savepoint isolates one member of a transaction from the others.
const savepoint = "member"

// commit runs a batch in one transaction and sets the result of each member. With a
// server, the statements of repeatable members are sent first, in one batch without
// savepoints. If a statement fails, the server does not report which member it belongs
// to: the transaction is rolled back and every member runs again under its own savepoint.
// Repeatable members run first so that no other member has run before such a rollback.
func (g *Group[W]) commit(batch []*member[W]) {
	// Not a caller's context: the first cancellation would roll back all writes.
	ctx, cancel := g.withTimeout()
	defer cancel()
	together := 0
	if !g.engine.Prepare {
		slices.SortStableFunc(batch, func(a, b *member[W]) int {
			return cmp.Compare(order(a.write), order(b.write))
		})
		for together < len(batch) && batch[together].write.Repeatable() {
			together++
		}
	}
	if g.try(ctx, batch, together) {
		return
	}
	for _, m := range batch {
		m.err, m.panicked = nil, ""
	}
	g.try(ctx, batch, 0)
}

// order sorts repeatable writes before others.
func order(w Write) int {
	if w.Repeatable() {
		return 0
	}
	return 1
}

// try runs a batch, the first members without savepoints. It reports false if the
// transaction was rolled back and may run again with a savepoint for each member.
func (g *Group[W]) try(ctx context.Context, batch []*member[W], together int) (done bool) {
	started := 0
	err := g.begin(ctx, batch[:together])
	if err != nil && (g.db == nil || together == 0 || g.unavailable(err)) {
		failAll(batch, fmt.Errorf("begin: %w", g.engine.Unavailable(err)))
		return true
	}
	if err == nil {
		started, err = g.runAll(ctx, batch, together)
	}
	ended := err == nil && slices.ContainsFunc(batch, (*member[W]).succeeded)
	if ended {
		if err = g.end(ctx); err == nil {
			return true
		}
	}
	undone := g.rollBack()
	if ended && (undone != nil || g.db == nil) { // the COMMIT got no response
		for _, m := range batch {
			m.uncertain = m.succeeded()
		}
	}
	if err != nil && undone == nil && together > 0 && started <= together && g.db != nil {
		return false // the server reported that it did not commit
	}
	if err = errors.Join(g.engine.Unavailable(err), undone); err != nil {
		failAll(batch, err)
	}
	return true
}

// runAll runs the members of a batch and returns how many were started. The error
// is one of the transaction, not of a member.
func (g *Group[W]) runAll(ctx context.Context, batch []*member[W], together int) (started int, err error) {
	g.single = len(batch) == 1 // the transaction is its savepoint
	for i, m := range batch {
		if i == together && i > 0 {
			if err := g.flush(ctx); err != nil {
				return i, err
			}
		}
		if err := g.run(ctx, m, i < together); err != nil {
			return i + 1, err
		}
	}
	return len(batch), nil
}

// withTimeout returns the context of one transaction.
func (g *Group[W]) withTimeout() (context.Context, context.CancelFunc) {
	if g.engine.Timeout == 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), g.engine.Timeout)
}

// begin opens the transaction and runs the prefetch queries. If the connection was lost
// since the last transaction, it uses a new one. That is safe because no statement of
// this transaction has run yet.
func (g *Group[W]) begin(ctx context.Context, together []*member[W]) error {
	g.cfg.Begin()
	g.reset()
	for {
		fresh := g.db == nil
		if fresh {
			db, err := g.cfg.DB.Conn(ctx)
			if err != nil {
				return err
			}
			g.db, g.prepared = db, make(map[string]*sql.Stmt)
		}
		err := g.open(ctx, together)
		if err == nil {
			return nil
		}
		err = errors.Join(err, g.rollBack())
		if fresh || g.db != nil {
			return err
		}
	}
}

func (g *Group[W]) open(ctx context.Context, together []*member[W]) error {
	if g.engine.Prepare {
		for _, text := range g.engine.Begin {
			if err := g.execText(ctx, text); err != nil {
				return err
			}
		}
		return nil
	}
	var queries []Query
	for _, text := range g.engine.Begin {
		queries = append(queries, Query{Text: text, Scan: func(Scanner) error { return nil }})
	}
	if len(together) > 0 {
		writes := make([]W, len(together))
		for i, m := range together {
			writes[i] = m.write
		}
		queries = append(queries, g.cfg.Prefetch(writes)...)
	}
	return g.queryBatch(ctx, queries)
}

// end sends what is pending and commits.
func (g *Group[W]) end(ctx context.Context) error {
	g.releaseUnused()
	g.pending = append(g.pending, g.cfg.End()...)
	if err := g.execText(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// rollBack rolls the transaction back. If the ROLLBACK fails, it closes the connection,
// and the engine rolls the transaction back.
func (g *Group[W]) rollBack() error {
	ctx, cancel := g.withTimeout()
	defer cancel()
	g.pending, g.own = nil, 0
	err := g.execText(ctx, "ROLLBACK")
	if err == nil || g.engine.Timeout == 0 {
		return err
	}
	_ = g.db.Raw(func(any) error { return driver.ErrBadConn }) // returns the error it is given
	_ = g.db.Close()                                           // the connection is broken already
	g.db = nil
	return nil
}

// run runs one member. The statements it queued stay pending if it runs together
// with others; otherwise they are sent under its savepoint. The error is one of
// the transaction, not of the member.
func (g *Group[W]) run(ctx context.Context, m *member[W], together bool) error {
	g.own, g.guarded, g.failed = len(g.pending), false, nil
	if g.engine.Prepare {
		g.setSavepoint()
		if err := g.flush(ctx); err != nil {
			return fmt.Errorf("set a savepoint: %w", err)
		}
	}
	m.call(ctx, &Tx{conn: &g.conn})
	if m.succeeded() {
		m.err = g.failed
	}
	if m.succeeded() && !together && !g.single && len(g.pending) > g.own {
		g.setSavepoint()
		m.err = g.flush(ctx)
	}
	if g.lost != nil {
		return g.lost
	}
	if !m.succeeded() {
		m.write.RolledBack()
		if err := g.undo(ctx); err != nil {
			return fmt.Errorf("roll back one write: %w", errors.Join(err, g.shared(m.err)))
		}
	}
	if g.guarded {
		g.pending = append(g.pending, Statement{Text: "RELEASE " + savepoint})
	}
	return nil
}

// call runs the write and recovers its panic, which belongs to its caller.
func (m *member[W]) call(ctx context.Context, tx *Tx) {
	defer func() {
		if v := recover(); v != nil {
			m.panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
		}
	}()
	m.err = m.write.Run(ctx, tx)
}

// undo undoes the statements of the running member, unless they are undone with
// the transaction.
func (g *Group[W]) undo(ctx context.Context) error {
	g.pending = g.pending[:min(g.own, len(g.pending))]
	if !g.guarded {
		return nil
	}
	return g.execText(ctx, "ROLLBACK TO "+savepoint)
}

// failAll sets err on every member whose error is nil.
func failAll[W Write](batch []*member[W], err error) {
	for _, m := range batch {
		if m.succeeded() {
			m.err = err
		}
	}
}

// unavailable reports whether an immediate retry would fail with the same error.
func (g *Group[W]) unavailable(err error) bool {
	return g.engine.IsUnavailable(g.engine.Unavailable(err))
}

// shared returns the part of a member's error that applies to all members: SQLite rolls
// the whole transaction back when the disk is full. Other errors apply to the member only.
func (g *Group[W]) shared(err error) error {
	if !g.unavailable(err) {
		return nil
	}
	return g.engine.Unavailable(err)
}
