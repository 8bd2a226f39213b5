package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/trace"
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
	told    []fieldmark.EventType
}

func (t *Tx) exec(ctx context.Context, text string, args ...any) (int64, error) {
	res, err := t.group.exec(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// post runs a statement whose outcome nobody waits for: to a server it travels
// with the next one, at the latest when the function returns. It fails the
// function all the same.
func (t *Tx) post(ctx context.Context, text string, args ...any) error {
	if t.group.dialect.prepares {
		_, err := t.group.exec(ctx, text, args...)
		return err
	}
	t.group.pending = append(t.group.pending, statement{text, t.group.dialect.args(args)})
	return nil
}

func (t *Tx) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if !t.group.dialect.prepares {
		if err := t.group.flush(ctx); err != nil {
			return nil, err
		}
		return t.group.conn.QueryContext(ctx, text, t.group.dialect.args(args)...)
	}
	st, err := t.group.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

func (t *Tx) queryRow(ctx context.Context, text string, args ...any) *sql.Row {
	if !t.group.dialect.prepares {
		// What is pending fails only with the transaction; then the question
		// does as well.
		_ = t.group.flush(ctx)
		return t.group.conn.QueryRowContext(ctx, text, t.group.dialect.args(args)...)
	}
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
	dialect *dialect
	db      *sql.DB // where connections come from

	// Only the leader touches these.
	conn     *sql.Conn // the one connection that writes; nil until it is needed and after it broke
	prepared map[string]*sql.Stmt
	log      counter
	// endpoints are those of each account, as members of this transaction read them.
	endpoints map[string][]Subscriber
	rules     *Rules      // as members of this transaction read them; nil: not yet
	pending   []statement // statements that travel with the next one

	mu      sync.Mutex
	waiting []*write
	led     bool
}

// statement is a text and its arguments.
type statement struct {
	text string
	args []any
}

// write is one caller's function on its way through the group.
type write struct {
	fn   func(context.Context, *Tx) error
	wake chan struct{} // holds one word: you lead, or you are done

	// lead and taken are guarded by group.mu; the rest belongs to the leader
	// until wake.
	lead  bool // the word is: you lead
	taken bool // too late to leave

	among   int // members of the transaction
	err     error
	crashed string // what fn panicked with
	touched [topics]bool
	told    []fieldmark.EventType
}

// Write runs fn in a transaction and returns when what it wrote is on disk. No
// other fn runs beside it, in whatever process: it may read and then write what
// follows from it. Functions of several callers share one transaction, each
// under its own savepoint: an error or panic of fn undoes fn alone, and comes back here. The
// caller may give up by ctx until fn was begun; then it is seen through, under
// a context that outlives the caller's, because interrupting one statement
// would roll back the others. What the caller's context carries, fn's carries too.
func (s *Store) Write(ctx context.Context, fn func(context.Context, *Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, span := s.tracer.Child(trace.From(ctx), "record.write", trace.Internal)
	defer span.End()
	w := &write{wake: make(chan struct{}, 1), fn: func(group context.Context, tx *Tx) error {
		own := context.WithoutCancel(ctx)
		if ends, ok := group.Deadline(); ok {
			bounded, cancel := context.WithDeadline(own, ends)
			defer cancel()
			own = bounded
		}
		return fn(own, tx)
	}}
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
	span.Number("fieldmark.group", int64(w.among))
	if w.err != nil && span != nil {
		span.Fail(string(fieldmark.AsError(w.err).Code))
	}
	if w.crashed != "" {
		panic("BUG: a write panicked: " + w.crashed)
	}
	return unreachable(w.err)
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
		w.among = n
	}
	g.mu.Unlock()

	began := time.Now()
	g.commit(batch)
	s.count(batch, time.Since(began))

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

// count tells whoever watches of a transaction that is over.
func (s *Store) count(batch []*write, took time.Duration) {
	if s.events.Wrote != nil {
		s.events.Wrote(took, len(batch))
	}
	if s.events.Told == nil {
		return
	}
	for _, w := range batch {
		if w.err != nil || w.crashed != "" {
			continue
		}
		for _, kind := range w.told {
			s.events.Told(kind)
		}
	}
}

// commit runs a batch in one transaction and notes each member's result.
func (g *group) commit(batch []*write) {
	// No caller's context: the first to hang up would undo everybody's work.
	ctx, cancel := g.bounded()
	defer cancel()
	if err := g.begin(ctx); err != nil {
		fail(batch, fmt.Errorf("begin: %w", unreachable(err)))
		return
	}
	wrote := false
	for i, w := range batch {
		if err := g.member(ctx, w, i, len(batch)); err != nil {
			fail(batch, errors.Join(unreachable(err), g.rollBack()))
			return
		}
		wrote = wrote || w.err == nil && w.crashed == ""
	}
	if !wrote {
		if err := g.rollBack(); err != nil {
			fail(batch, err)
		}
		return
	}
	if err := g.end(ctx); err != nil {
		fail(batch, errors.Join(unreachable(err), g.rollBack()))
	}
}

// bounded returns the context of one transaction.
func (g *group) bounded() (context.Context, context.CancelFunc) {
	if g.dialect.patience == 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), g.dialect.patience)
}

// begin opens the transaction, on a new connection if the one there was broke
// since: nothing was run yet, so nothing can be done twice.
func (g *group) begin(ctx context.Context) error {
	g.log, g.endpoints, g.rules, g.pending = counter{}, make(map[string][]Subscriber), nil, nil
	for {
		fresh := g.conn == nil
		if fresh {
			conn, err := g.db.Conn(ctx)
			if err != nil {
				return err
			}
			g.conn, g.prepared = conn, make(map[string]*sql.Stmt)
		}
		err := g.run(ctx, g.dialect.begin)
		if err == nil {
			return nil
		}
		err = errors.Join(err, g.rollBack())
		if fresh || g.conn != nil {
			return err
		}
	}
}

// end writes down how far the log has come, and commits.
func (g *group) end(ctx context.Context) error {
	g.pending = nil // a savepoint nobody needs
	if g.log.taken > 0 {
		res, err := g.exec(ctx, `UPDATE log SET number = $1, at = $2 WHERE name = $3 AND number = $4`,
			g.log.from+g.log.taken, g.log.at, logName, g.log.from)
		if err != nil {
			return fmt.Errorf("write the head of the log: %w", err)
		}
		if n, err := res.RowsAffected(); n != 1 || err != nil {
			return fmt.Errorf("BUG: event %d was not the newest: %w", g.log.from, errors.Join(err, ErrNone))
		}
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
	g.pending = nil
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
}

// readLog reads how far the log has come, once for each transaction.
func (g *group) readLog(ctx context.Context, t *Tx) error {
	if g.log.read {
		return nil
	}
	if err := t.queryRow(ctx, `SELECT number, at FROM log WHERE name = $1`, logName).Scan(&g.log.from, &g.log.at); err != nil {
		return err
	}
	g.log.read = true
	return nil
}

// Stamp returns the time of what is being written, in microseconds since 1970:
// the clock's, but later than every stamp before it, so that whoever asks for
// what was written since a stamp misses nothing. A transaction that takes one
// must append an event.
func (t *Tx) Stamp(ctx context.Context) (int64, error) {
	g := t.group
	if err := g.readLog(ctx, t); err != nil {
		return 0, fmt.Errorf("take a stamp: %w", err)
	}
	g.log.at = max(time.Now().UnixMicro(), g.log.at+1)
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
		if w.err == nil && w.crashed == "" {
			w.err = err
		}
	}
}

// member runs the i-th of n functions under its savepoint. An error returned
// here is one of the transaction, not of the function.
func (g *group) member(ctx context.Context, w *write, i, n int) error {
	if n == 1 { // undone by undoing the transaction
		g.call(ctx, w)
		return nil
	}
	g.pending = g.dialect.next
	if i == 0 {
		g.pending = []statement{{text: "SAVEPOINT member"}}
	}
	if g.dialect.prepares { // and nothing travels
		if err := g.flush(ctx); err != nil {
			return fmt.Errorf("set a savepoint: %w", err)
		}
	}
	taken := g.log.taken
	g.call(ctx, w)
	if w.err != nil || w.crashed != "" {
		g.log.taken = taken
		clear(g.endpoints)
		g.rules = nil
		if err := g.flush(ctx); err != nil { // the savepoint to go back to, if fn did nothing
			return fmt.Errorf("set a savepoint: %w", err)
		}
		if err := g.run(ctx, "ROLLBACK TO member"); err != nil {
			return fmt.Errorf("roll back one write: %w", errors.Join(err, theirs(w.err)))
		}
	}
	return nil
}

// theirs is what all members are to hear of a member's error: SQLite undoes the
// whole transaction when the disk is full. A member's own complaints are its own.
func theirs(err error) error {
	if err = unreachable(err); !fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) {
		return nil
	}
	return err
}

// call runs a function and what it posted.
func (g *group) call(ctx context.Context, w *write) {
	w.call(ctx, &Tx{group: g})
	posted := slices.ContainsFunc(g.pending, func(s statement) bool { return len(s.args) > 0 })
	if posted && w.err == nil && w.crashed == "" {
		w.err = g.flush(ctx)
	}
}

// flush runs what is pending by itself.
func (g *group) flush(ctx context.Context) error {
	steps := g.pending
	if n := len(steps) - 1; n >= 0 && !g.dialect.prepares {
		g.pending = steps[:n]
		_, err := g.together(ctx, steps[n].text, steps[n].args)
		return err
	}
	g.pending = nil
	for _, step := range steps {
		if err := g.run(ctx, step.text); err != nil {
			return err
		}
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
	w.touched, w.told = t.touched, t.told
}

func (g *group) run(ctx context.Context, text string) error {
	_, err := g.exec(ctx, text)
	return err
}

func (g *group) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if len(g.pending) > 0 {
		return g.together(ctx, text, g.dialect.args(args))
	}
	if !g.dialect.prepares {
		return g.conn.ExecContext(ctx, text, g.dialect.args(args)...)
	}
	st, err := g.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, args...)
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
