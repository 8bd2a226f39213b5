package commit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Scanner is one row: *sql.Row, *sql.Rows or pgx.Rows.
type Scanner interface{ Scan(dest ...any) error }

// Query is a query and a function that is called for each row of its result.
type Query struct {
	Text string
	Args []any
	Scan func(Scanner) error
}

// Statement is a statement without a result.
type Statement struct {
	Text string
	Args []any

	insert bool // it inserts one row and may be merged with others of the same text
}

// conn is the one connection that writes. Only the leader uses it.
//
// Statements whose result is not needed immediately are queued in pending, so that they
// share a round trip to a server. Those before index own belong to members that ran
// earlier, the others to the running member. The savepoint of a member is set before its
// first statement is sent; a member without sent statements needs no savepoint.
type conn struct {
	engine   Engine
	db       *sql.Conn // nil until it is needed and after it broke
	prepared map[string]*sql.Stmt
	texts    multiInsert

	pending []Statement
	own     int
	single  bool  // the transaction has one member and needs no savepoint
	guarded bool  // the savepoint of the running member is set
	failed  error // a statement of the running member failed
	lost    error // a statement of an earlier member failed, and with it the transaction
}

// Tx runs the statements of one write. It is valid until Run returns.
type Tx struct{ conn *conn }

// Exec runs a statement and returns how many rows it changed.
func (t *Tx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	t.conn.setSavepoint()
	res, err := t.conn.exec(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Queue runs a statement whose result is not needed. To a server it is sent with
// the next statement, at the latest when Run returns or, for a repeatable write,
// at the end of the group. The write fails if the statement does.
func (t *Tx) Queue(ctx context.Context, text string, args ...any) error {
	return t.queue(ctx, Statement{Text: text, Args: args})
}

// QueueInsert is Queue of an INSERT of one row of VALUES. To a server the rows of
// such statements with the same text are sent as one statement, before rows of
// other texts that were queued since the first of them. So a row must not refer to
// a later one, and all writers must insert referring rows after the kind of row
// they refer to.
func (t *Tx) QueueInsert(ctx context.Context, text string, args ...any) error {
	return t.queue(ctx, Statement{Text: text, Args: args, insert: true})
}

func (t *Tx) queue(ctx context.Context, s Statement) error {
	if t.conn.engine.Prepare {
		_, err := t.conn.exec(ctx, s.Text, s.Args...)
		return err
	}
	s.Args = t.conn.engine.Args(s.Args)
	t.conn.pending = append(t.conn.pending, s)
	return nil
}

// Query runs a query.
func (t *Tx) Query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	c := t.conn
	if !c.engine.Prepare {
		c.setSavepoint()
		if err := c.flush(ctx); err != nil {
			return nil, err
		}
		return c.db.QueryContext(ctx, text, c.engine.Args(args)...)
	}
	st, err := c.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

// QueryRow runs a query for at most one row.
func (t *Tx) QueryRow(ctx context.Context, text string, args ...any) *sql.Row {
	c := t.conn
	if !c.engine.Prepare {
		c.setSavepoint()
		// If a queued statement fails, so does the transaction, and this query with it.
		_ = c.flush(ctx)
		return c.db.QueryRowContext(ctx, text, c.engine.Args(args)...)
	}
	st, err := c.stmt(ctx, text)
	if err != nil {
		return c.db.QueryRowContext(ctx, text, args...) // fails in the same way, inside a Row
	}
	return st.QueryRowContext(ctx, args...)
}

// Close closes the connection. No write may be running: Group.Close sees to that.
func (c *conn) Close() error {
	var errs []error
	// A connection of SQLite stays open, and its lock held, while it has statements
	// that were not closed.
	for _, st := range c.prepared {
		errs = append(errs, st.Close())
	}
	if c.db != nil {
		errs = append(errs, c.db.Close())
	}
	return errors.Join(errs...)
}

// reset clears the state of the last transaction.
func (c *conn) reset() { c.pending, c.own, c.lost = nil, 0, nil }

// setSavepoint queues the savepoint of the running member before its own
// statements, unless it is set or not needed.
func (c *conn) setSavepoint() {
	if c.single || c.guarded {
		return
	}
	c.pending = slices.Insert(c.pending, c.own, Statement{Text: "SAVEPOINT " + savepoint})
	c.own++
	c.guarded = true
}

// releaseUnused ends the last member. It removes a pending RELEASE of a savepoint,
// because the commit releases the savepoint.
func (c *conn) releaseUnused() {
	n := len(c.pending) - 1
	if n >= 0 && (c.engine.Prepare || n == 0 && c.pending[n].Text == "RELEASE "+savepoint) {
		c.pending = c.pending[:n]
	}
	c.own = len(c.pending)
}

// flush sends the pending statements.
func (c *conn) flush(ctx context.Context) error {
	if len(c.pending) == 0 {
		return nil
	}
	_, err := c.send(ctx)
	return err
}

func (c *conn) execText(ctx context.Context, text string) error {
	_, err := c.exec(ctx, text)
	return err
}

// exec sends the pending statements and one more statement.
func (c *conn) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	c.pending = append(c.pending, Statement{Text: text, Args: c.engine.Args(args)})
	return c.send(ctx)
}

// send sends the pending statements and returns the result of the last one.
func (c *conn) send(ctx context.Context) (res sql.Result, err error) {
	all := c.pending
	earlier := min(c.own, len(all)) // statements of members that ran before
	c.pending, c.own = nil, 0
	if c.engine.Prepare {
		for _, s := range all {
			if res, err = c.execPrepared(ctx, s); err != nil {
				return nil, err
			}
		}
		return res, nil
	}
	before := c.texts.merge(all[:earlier])
	all = append(before, c.texts.merge(all[earlier:])...)
	done := 0
	if len(all) == 1 {
		res, err = c.db.ExecContext(ctx, all[0].Text, all[0].Args...)
	} else {
		done, res, err = c.execBatch(ctx, all)
	}
	switch {
	case err != nil && done < len(before):
		c.lost = err
	case err != nil:
		c.failed = err
	}
	return res, err
}

func (c *conn) execPrepared(ctx context.Context, s Statement) (sql.Result, error) {
	st, err := c.stmt(ctx, s.Text)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, s.Args...)
}

// stmt prepares a text once.
func (c *conn) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st, ok := c.prepared[text]; ok {
		return st, nil
	}
	st, err := c.db.PrepareContext(ctx, text)
	if err == nil {
		c.prepared[text] = st
	}
	return st, err
}

// execBatch sends statements in one round trip: a group spends most of its time
// waiting for the server. It returns how many succeeded and the result of the last.
func (c *conn) execBatch(ctx context.Context, all []Statement) (done int, res sql.Result, err error) {
	b := &pgx.Batch{}
	for _, s := range all {
		b.Queue(s.Text, s.Args...)
	}
	err = c.db.Raw(func(db any) error {
		results := db.(*stdlib.Conn).Conn().SendBatch(ctx, b)
		for range all {
			tag, err := results.Exec()
			if err != nil {
				_ = results.Close() // returns the same error
				return err
			}
			done, res = done+1, driver.RowsAffected(tag.RowsAffected())
		}
		return results.Close()
	})
	return done, res, err
}

// queryBatch sends queries in one round trip.
func (c *conn) queryBatch(ctx context.Context, all []Query) error {
	b := &pgx.Batch{}
	for _, q := range all {
		b.Queue(q.Text, c.engine.Args(q.Args)...).Query(func(rows pgx.Rows) error {
			defer rows.Close()
			for rows.Next() {
				if err := q.Scan(rows); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	return c.db.Raw(func(db any) error { return db.(*stdlib.Conn).Conn().SendBatch(ctx, b).Close() })
}
