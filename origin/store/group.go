package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
)

// commit runs a batch in one transaction and notes each member's result. Members
// that were foreseen come first: should that fail, nobody was run yet who may not
// be run again.
func (g *group) commit(batch []*write) {
	// No caller's context: the first to hang up would undo everybody's work.
	ctx, cancel := g.bounded()
	defer cancel()
	ahead := 0
	if !g.dialect.prepares { // otherwise nothing travels, and nothing is gained
		slices.SortStableFunc(batch, func(a, b *write) int { return cmp.Compare(bit(a.ahead == nil), bit(b.ahead == nil)) })
		for ahead < len(batch) && batch[ahead].ahead != nil {
			ahead++
		}
	}
	if g.transact(ctx, batch, ahead) {
		return
	}
	for _, w := range batch {
		w.err, w.crashed, w.touched, w.told = nil, "", [topics]bool{}, nil
	}
	g.transact(ctx, batch, 0)
}

// transact is commit, the first members of the batch as foreseen. It reports
// false if nothing is done, and may be done without foresight.
func (g *group) transact(ctx context.Context, batch []*write, ahead int) bool {
	begun := 0
	err := g.begin(ctx, batch[:ahead])
	if err != nil && (g.conn == nil || ahead == 0 || passes(err)) {
		fail(batch, fmt.Errorf("begin: %w", unreachable(err)))
		return true
	}
	if err == nil {
		begun, err = g.members(ctx, batch, ahead)
	}
	ended := err == nil && slices.ContainsFunc(batch, (*write).succeeded)
	if ended {
		if err = g.end(ctx); err == nil {
			return true
		}
	}
	undone := g.rollBack()
	if ended && (undone != nil || g.conn == nil) { // nobody said that it was not committed
		for _, w := range batch {
			w.uncertain = w.succeeded()
		}
	}
	if err != nil && undone == nil && ahead > 0 && begun <= ahead && g.conn != nil {
		return false // the server said that it did not commit
	}
	if err = errors.Join(unreachable(err), undone); err != nil {
		fail(batch, err)
	}
	return true
}

// members runs the functions of a batch, and says how many were begun. An error
// is one of the transaction, not of a function.
func (g *group) members(ctx context.Context, batch []*write, ahead int) (begun int, err error) {
	g.alone = len(batch) == 1 // undone by undoing the transaction
	for i, w := range batch {
		if i == ahead && i > 0 {
			if err := g.flush(ctx); err != nil {
				return i, err
			}
		}
		if err := g.member(ctx, w, i < ahead); err != nil {
			return i + 1, err
		}
	}
	return len(batch), nil
}

// bounded returns the context of one transaction.
func (g *group) bounded() (context.Context, context.CancelFunc) {
	if g.dialect.patience == 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), g.dialect.patience)
}

// begin opens the transaction and asks what was foreseen, on a new connection if
// the one there was broke since: nothing was run yet, so nothing can be done twice.
func (g *group) begin(ctx context.Context, ahead []*write) error {
	g.log, g.endpoints, g.rules, g.known = counter{}, make(map[string][]Subscriber), nil, known{}
	g.pending, g.own, g.lost = nil, 0, nil
	for {
		fresh := g.conn == nil
		if fresh {
			conn, err := g.db.Conn(ctx)
			if err != nil {
				return err
			}
			g.conn, g.prepared = conn, make(map[string]*sql.Stmt)
		}
		err := g.open(ctx, ahead)
		if err == nil {
			return nil
		}
		err = errors.Join(err, g.rollBack())
		if fresh || g.conn != nil {
			return err
		}
	}
}

func (g *group) open(ctx context.Context, ahead []*write) error {
	if !g.dialect.prepares {
		return g.ask(ctx, append(unread(g.dialect.begin), g.foresee(ahead)...))
	}
	for _, text := range g.dialect.begin {
		if err := g.run(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// end sends what is pending, writes the number of the newest event and the newest
// stamp to the log, and commits. A log that is not where it was read has no number (which the schema refuses): then
// somebody wrote who does not hold the lock.
func (g *group) end(ctx context.Context) error {
	g.settle()
	if g.log.taken > 0 || g.log.moved {
		g.pending = append(g.pending, statement{text: `UPDATE log SET number = CASE WHEN number = $4 THEN number + $1 END, at = $2 WHERE name = $3`,
			args: []any{g.log.taken, g.log.at, logName, g.log.from}})
	}
	if err := g.run(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// rollBack undoes the transaction. A connection that cannot even do that is
// dropped: the engine undoes the rest.
func (g *group) rollBack() error {
	ctx, cancel := g.bounded()
	defer cancel()
	g.pending, g.own = nil, 0
	err := g.run(ctx, "ROLLBACK")
	if err == nil || g.dialect.patience == 0 {
		return err
	}
	_ = g.conn.Raw(func(any) error { return driver.ErrBadConn }) // says what it was told
	_ = g.conn.Close()                                           // and has nothing to add
	g.conn = nil
	return nil
}

// counter numbers events inside a transaction. The row is read once and written
// once, however many events there are.
type counter struct {
	read  bool
	from  int64 // the newest before the transaction
	taken int64
	at    int64 // the newest stamp, in microseconds
	moved bool  // at is later than what was read
}

const askLog = `SELECT number, at FROM log WHERE name = $1`

// readLog reads how far the log has come, once for each transaction.
func (g *group) readLog(ctx context.Context, t *Tx) error {
	if g.log.read {
		return nil
	}
	if err := t.queryRow(ctx, askLog, logName).Scan(&g.log.from, &g.log.at); err != nil {
		return err
	}
	g.log.read = true
	return nil
}

// Stamp returns the time of what is being written, in microseconds since 1970:
// the clock's, but later than every stamp before it, so that a reader of all
// changes since a stamp misses none. The commit records it in the log.
func (t *Tx) Stamp(ctx context.Context) (int64, error) {
	g := t.group
	if err := g.readLog(ctx, t); err != nil {
		return 0, fmt.Errorf("take a stamp: %w", err)
	}
	g.log.at, g.log.moved = max(time.Now().UnixMicro(), g.log.at+1), true
	return g.log.at, nil
}

// number takes the next number of the log.
func (g *group) number(ctx context.Context, t *Tx) (int64, error) {
	if err := g.readLog(ctx, t); err != nil {
		return 0, err
	}
	g.log.taken++
	return g.log.from + g.log.taken, nil
}

// fail gives err to every member that had none of its own.
func fail(batch []*write, err error) {
	for _, w := range batch {
		if w.succeeded() {
			w.err = err
		}
	}
}

// member runs a function. What a foreseen one posted stays pending, and is taken
// back from there if it fails; otherwise a savepoint is set before anything of it
// is sent. An error returned here is one of the transaction, not of the function.
func (g *group) member(ctx context.Context, w *write, foreseen bool) error {
	g.own, g.safe, g.failed = len(g.pending), false, nil
	if g.dialect.prepares {
		g.guard()
		if err := g.flush(ctx); err != nil {
			return fmt.Errorf("set a savepoint: %w", err)
		}
	}
	taken := g.log.taken
	t := &Tx{group: g}
	w.call(ctx, t)
	if w.succeeded() {
		w.err = g.failed
	}
	if w.succeeded() && !foreseen && !g.alone && len(g.pending) > g.own {
		g.guard()
		w.err = g.flush(ctx)
	}
	if g.lost != nil {
		return g.lost
	}
	if !w.succeeded() {
		g.log.taken = taken
		g.forget(t)
		if err := g.undo(ctx); err != nil {
			return fmt.Errorf("roll back one write: %w", errors.Join(err, theirs(w.err)))
		}
	}
	if g.safe {
		g.pending = append(g.pending, statement{text: "RELEASE member"})
	}
	return nil
}

// undo undoes what the member at work did, unless the transaction is undone with
// it.
func (g *group) undo(ctx context.Context) error {
	g.pending = g.pending[:min(g.own, len(g.pending))]
	if !g.safe {
		return nil
	}
	return g.run(ctx, "ROLLBACK TO member")
}

// forget drops what was known by or for a member that failed.
func (g *group) forget(t *Tx) {
	if t.wrote { // what the others know may be its doing
		clear(g.endpoints)
		g.rules = nil
	}
	for _, name := range t.opened {
		delete(g.known.missions, name)
	}
	for _, name := range t.kept {
		delete(g.known.kept, name)
	}
}

// passes reports whether an error is one that would come again at once.
func passes(err error) bool {
	return fieldmark.IsCode(unreachable(err), fieldmark.CodeOriginUnavailable)
}

// theirs is what all members are to hear of a member's error: SQLite undoes the
// whole transaction when the disk is full. A member's own complaints are its own.
func theirs(err error) error {
	if !passes(err) {
		return nil
	}
	return unreachable(err)
}

func (w *write) succeeded() bool { return w.err == nil && w.crashed == "" }

// call runs the function and catches its panic, which belongs to its caller.
func (w *write) call(ctx context.Context, t *Tx) {
	defer func() {
		if v := recover(); v != nil {
			w.crashed = fmt.Sprintf("%v\n%s", v, debug.Stack())
		}
	}()
	w.err = w.fn(ctx, t)
	w.touched, w.told, w.wrote = t.touched, t.told, t.wrote
}
