package replica

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// maxWait is how long a reader waits for the copy, connecting included: beyond it the primary
	// answers sooner. A copy that streams is behind by a few milliseconds.
	maxWait = 200 * time.Millisecond * timeout.Scale
	// pollInterval is the delay between two reads of the position.
	pollInterval = 10 * time.Millisecond
	// rest is how long a copy that failed or was too far behind is not queried. Without it each
	// reader would wait for a copy that is unreachable or paused.
	rest = 2 * time.Second * timeout.Scale
)

// Position is a state of the event log. Numbers of different logs must not be compared.
type Position struct {
	Log   string // name of the log, as LogStatus has it
	Event int64  // number of an event
}

// Config configures a Replica. All fields are required.
type Config struct {
	DB *sql.DB // a pool for this package alone
	// Position reads the position of a snapshot.
	Position func(context.Context, *sql.Conn) (Position, error)
}

// Replica is a copy of the database. Its methods may be called from any goroutine.
type Replica struct {
	cfg     Config
	resting atomic.Int64 // until this Unix time in nanoseconds

	reads, behind, failed atomic.Int64
}

// New returns the copy at a database. It connects at the first read.
func New(cfg Config) *Replica { return &Replica{cfg: cfg} }

// Close closes all connections. No snapshot may be open.
func (r *Replica) Close() error { return r.cfg.DB.Close() }

// Counts are the results of the reads that a replica could have answered.
type Counts struct {
	Reads  int64 // answered
	Behind int64 // not answered: the copy had not reached the position, or was not queried because of that
	Failed int64 // not answered: the copy was unreachable or of another log, or ended the snapshot
}

// Counts returns the counts since the start.
func (r *Replica) Counts() Counts {
	return Counts{Reads: r.reads.Load(), Behind: r.behind.Load(), Failed: r.failed.Load()}
}

// Fail counts a snapshot that the server ended, and keeps readers from it for a while.
func (r *Replica) Fail() {
	r.reads.Add(-1)
	r.failed.Add(1)
	r.pause()
}

func (r *Replica) pause() { r.resting.Store(time.Now().Add(rest).UnixNano()) }

// Snapshot is a read-only transaction that sees one state of the database.
type Snapshot struct{ conn *sql.Conn }

// BeginStatement begins a snapshot of PostgreSQL.
const BeginStatement = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`

// Begin begins a snapshot of a database, which need not be a copy, by a statement. The caller must close it.
func Begin(ctx context.Context, db *sql.DB, statement string) (*Snapshot, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{conn}
	if _, err := conn.ExecContext(ctx, statement); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Query runs a query. The rows must be closed before the next one.
func (s *Snapshot) Query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return s.conn.QueryContext(ctx, text, args...)
}

// QueryRow runs a query for at most one row.
func (s *Snapshot) QueryRow(ctx context.Context, text string, args ...any) *sql.Row {
	return s.conn.QueryRowContext(ctx, text, args...)
}

// Close ends the transaction, and the connection with it if the server does not answer.
func (s *Snapshot) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	if _, err := s.conn.ExecContext(ctx, `ROLLBACK`); err != nil {
		_ = s.conn.Raw(func(any) error { return driver.ErrBadConn }) // returns the error it is given
	}
	_ = s.conn.Close() // a connection that is gone needs no closing
}

// Snapshot returns a snapshot with every change up to a position, and nil if the copy does not
// get there in time. The caller must close it.
func (r *Replica) Snapshot(ctx context.Context, at Position) *Snapshot {
	if time.Now().UnixNano() < r.resting.Load() {
		r.behind.Add(1)
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	s, err := r.await(waiting, at)
	switch {
	case err == nil:
		r.reads.Add(1)
		return s
	case ctx.Err() != nil: // of the caller
		return nil
	case errors.Is(err, errBehind):
		r.behind.Add(1)
	default:
		r.failed.Add(1)
	}
	r.pause()
	return nil
}

// Errors of a copy that cannot answer.
var (
	errBehind   = errors.New("the replica is behind")
	errOtherLog = errors.New("the replica has another log")
)

// await polls until the copy has reached a position.
func (r *Replica) await(ctx context.Context, at Position) (*Snapshot, error) {
	again := time.NewTicker(pollInterval)
	defer again.Stop()
	for behind := false; ; {
		s, err := r.snapshot(ctx, at)
		if err != nil && behind && ctx.Err() != nil {
			return nil, errBehind // the time ended during a read
		}
		if behind = errors.Is(err, errBehind); !behind {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-again.C:
		}
	}
}

// snapshot begins a snapshot and compares its position. The context bounds this alone; the queries
// of the caller have one of their own.
func (r *Replica) snapshot(ctx context.Context, at Position) (*Snapshot, error) {
	s, err := Begin(ctx, r.cfg.DB, BeginStatement)
	if err != nil {
		return nil, err
	}
	reached, err := r.cfg.Position(ctx, s.conn)
	switch {
	case err != nil:
	case reached.Log != at.Log:
		err = errOtherLog
	case reached.Event < at.Event:
		err = errBehind
	default:
		return s, nil
	}
	s.Close()
	return nil, err
}

// Lag returns how many events the copy is behind a position; the error is of a copy that is
// unreachable or has another log.
func (r *Replica) Lag(ctx context.Context, at Position) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	conn, err := r.cfg.DB.Conn(ctx)
	if err != nil {
		return 0, err
	}
	reached, err := r.cfg.Position(ctx, conn)
	if err = errors.Join(err, conn.Close()); err == nil && reached.Log != at.Log {
		err = errOtherLog
	}
	return max(at.Event-reached.Event, 0), err
}
