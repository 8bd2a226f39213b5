package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/trace"
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
	wrote   bool // it sent or posted a statement that is no question

	// What was known of these is not known any more if the function fails.
	opened []MissionName
	kept   []KeptName
}

func (t *Tx) exec(ctx context.Context, text string, args ...any) (int64, error) {
	t.wrote = true
	t.group.guard()
	res, err := t.group.exec(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// post runs a statement whose outcome nobody waits for: to a server it travels
// with the next one, at the latest when the function returns or, if that may be
// run again, at the end of its group. It fails the function all the same.
func (t *Tx) post(ctx context.Context, text string, args ...any) error {
	return t.leave(ctx, statement{text: text, args: args})
}

// add is post of an INSERT of one row of VALUES. To a server the rows of several
// such statements go as one, before whatever other rows were added since the
// first of them. So a row must not refer to a later one, and all writers add rows
// that refer to others after rows of that kind.
func (t *Tx) add(ctx context.Context, text string, args ...any) error {
	return t.leave(ctx, statement{text: text, args: args, row: true})
}

func (t *Tx) leave(ctx context.Context, s statement) error {
	t.wrote = true
	if t.group.dialect.prepares {
		_, err := t.group.exec(ctx, s.text, s.args...)
		return err
	}
	s.args = t.group.dialect.args(s.args)
	t.group.pending = append(t.group.pending, s)
	return nil
}

func (t *Tx) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if !t.group.dialect.prepares {
		t.group.guard()
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
		t.group.guard()
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
	rules     *Rules  // as members of this transaction read them; nil: not yet
	known     known   // what was foreseen
	several   several // texts of several rows

	// Statements wait here to travel together.
	pending []statement
	own     int   // those from here on are of the member at work
	alone   bool  // undoing it is undoing the transaction
	safe    bool  // its savepoint is set
	failed  error // one of its statements failed
	lost    error // one before its own failed, so the transaction did

	mu      sync.Mutex
	waiting []*write
	led     bool
}

// write is one caller's function on its way through the group.
type write struct {
	fn    func(context.Context, *Tx) error
	ahead *Foresight    // what fn will ask, and that it may be run again; nil: it may not
	wake  chan struct{} // holds one word: you lead, or you are done

	// lead and taken are guarded by group.mu; the rest belongs to the leader
	// until wake.
	lead  bool // the word is: you lead
	taken bool // too late to leave

	among   int // members of the transaction
	err     error
	crashed string // what fn panicked with
	wrote   bool   // fn changed something
	// uncertain: the connection ended before the server answered the COMMIT, so the
	// transaction may have been committed although err says otherwise.
	uncertain bool
	touched   [topics]bool
	told      []fieldmark.EventType
}

// Write runs fn in a transaction and returns when what it wrote is on disk. No
// other fn runs beside it, in whatever process: it may read and then write what
// follows from it. Functions of several callers share one transaction, each
// as if under its own savepoint: an error or panic of fn undoes fn alone, and
// comes back here. The caller may give up by ctx until fn was begun; then it is seen through, under
// a context that outlives the caller's, because interrupting one statement
// would roll back the others. What the caller's context carries, fn's carries too.
func (s *Store) Write(ctx context.Context, fn func(context.Context, *Tx) error) error {
	return s.write(ctx, nil, fn)
}

// WriteForeseen is Write of a function that says what it will ask, and that may
// be run a second time. To a server the statements of all such functions of a
// group travel together, without savepoints. If one is refused, nobody knows
// whose it was: everything is undone, and each function is run once more, by
// itself. So the only effects of fn must be those on the record and results that
// the second run overwrites.
func (s *Store) WriteForeseen(ctx context.Context, ahead Foresight, fn func(context.Context, *Tx) error) error {
	return s.write(ctx, &ahead, fn)
}

func (s *Store) write(ctx context.Context, ahead *Foresight, fn func(context.Context, *Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, span := s.tracer.Child(trace.From(ctx), "record.write", trace.Internal)
	defer span.End()
	w := &write{ahead: ahead, wake: make(chan struct{}, 1), fn: func(group context.Context, tx *Tx) error {
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
	recordOutcome(ctx, w)
	span.Number("fieldmark.group", int64(w.among))
	if w.err != nil && span != nil {
		span.Fail(string(fieldmark.AsError(w.err).Code))
	}
	if w.crashed != "" {
		panic("BUG: a write panicked: " + w.crashed)
	}
	err := unreachable(w.err)
	if told, ok := errors.AsType[*fieldmark.Error](err); ok && told.Detail == detailRefuses && s.events.Refused != nil {
		s.events.Refused()
	}
	return err
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
		if w.succeeded() {
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
		if !w.succeeded() {
			continue
		}
		for _, kind := range w.told {
			s.events.Told(kind)
		}
	}
}
