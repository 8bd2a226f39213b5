package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/trace"
)

// Config says where the record is: in a file of SQLite, or in a PostgreSQL.
type Config struct {
	Path       string // of the SQLite file; made, readable by its owner only, when it does not exist
	URL        string // postgres://… of a PostgreSQL database; Path is not looked at then
	Readers    int    // connections that read; 0 means twice the processors, at least 4
	KeepSchema bool   // a record older than this program is ErrOldSchema instead of being migrated

	Tracer *trace.Tracer // tells of writes; nil: nobody
	Events Events        // what is counted
}

// Events are what whoever watches a record hears of; any may be nil. They are
// called by those who wait for the record, and must be quick.
type Events struct {
	Wrote func(took time.Duration, writes int) // a transaction was over, with so many callers' writes in it
	Read  func(took time.Duration)             // a question was answered, up to its first row
	Told  func(fieldmark.EventType)            // an event was committed
	// Refused: the database answered and did not write, as when its disk is full.
	Refused func()
}

// Pool is the use of a pool of connections.
type Pool struct {
	Name        string // writer or readers
	InUse, Idle int    // connections
	Waits       int64  // requests for a connection that had to wait, since the start
}

// Pools returns how much the connections to the database are used.
func (s *Store) Pools() []Pool {
	pools := make([]Pool, 0, 2)
	for name, db := range map[string]*sql.DB{"writer": s.writer, "readers": s.readers} {
		use := db.Stats()
		pools = append(pools, Pool{Name: name, InUse: use.InUse, Idle: use.Idle, Waits: use.WaitCount})
	}
	return pools
}

// Store is an open record. Its methods may be called from any goroutine.
type Store struct {
	dialect *dialect
	writer  *sql.DB
	readers *sql.DB
	log     string
	watch   watch
	group   group
	tracer  *trace.Tracer
	events  Events

	// Questions that come with every request.
	keys gather[string, Key]
	kept gather[KeptName, Kept]

	prepared sync.Map // SQL text -> *sql.Stmt of readers
}

// Open opens the record cfg names, making and migrating it as needed.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s := &Store{dialect: sqlite(), tracer: cfg.Tracer, events: cfg.Events}
	name := redacted(cfg.URL)
	if cfg.URL != "" {
		s.dialect = postgres()
	} else {
		path, err := absolute(cfg.Path)
		if err != nil {
			return nil, err
		}
		cfg.Path, name = path, path
	}
	if err := s.open(ctx, cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", name, err), s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, cfg Config) (err error) {
	if cfg.URL != "" {
		err = s.openPostgres(ctx, cfg.URL, cfg)
	} else {
		err = s.openSQLite(ctx, cfg.Path, cfg)
	}
	if err != nil {
		return err
	}
	if cfg.Readers <= 0 {
		cfg.Readers = max(4, 2*runtime.GOMAXPROCS(0))
	}
	s.readers.SetMaxOpenConns(cfg.Readers)
	s.readers.SetMaxIdleConns(cfg.Readers)
	s.group.dialect, s.group.db, s.group.several = s.dialect, s.writer, several{}
	s.keys.ask, s.kept.ask = s.keysByPublic, s.keptBy
	s.watch.make()
	return s.nameLog(ctx)
}

// logName is the one row of table log.
const logName = "main"

// nameLog reads the name of the log, giving a new one its name.
func (s *Store) nameLog(ctx context.Context) error {
	read := func() error {
		return none(s.queryRow(ctx, `SELECT id FROM log WHERE name = $1`, logName).Scan(&s.log))
	}
	err := read()
	if !errors.Is(err, ErrNone) {
		return err
	}
	err = s.Write(ctx, func(ctx context.Context, t *Tx) error {
		_, err := t.exec(ctx, `INSERT INTO log (name, id, number) VALUES ($1, $2, 0) ON CONFLICT (name) DO NOTHING`,
			logName, rand.Text())
		return err
	})
	if err != nil {
		return err
	}
	return read()
}

// Log returns the name of this record's event log. Numbers of events mean
// something under one name only.
func (s *Store) Log() string { return s.log }

// Shared reports whether other processes may be working on the record: then
// their leases are theirs until they run out.
func (s *Store) Shared() bool { return s.dialect.shared }

// Ping reports whether the record can be read.
func (s *Store) Ping(ctx context.Context) error {
	var n int64
	if err := s.queryRow(ctx, `SELECT number FROM log WHERE name = $1`, logName).Scan(&n); err != nil {
		return fmt.Errorf("ping store: %w", unreachable(err))
	}
	return nil
}

// Close ends all connections. No other method may be running.
func (s *Store) Close() error {
	var errs []error
	// A connection of SQLite stays open, and its lock held, while it has
	// statements that were not closed.
	for _, st := range s.group.prepared {
		errs = append(errs, st.Close())
	}
	s.prepared.Range(func(_, st any) bool {
		errs = append(errs, st.(*sql.Stmt).Close())
		return true
	})
	if s.group.conn != nil {
		errs = append(errs, s.group.conn.Close())
	}
	for _, db := range []*sql.DB{s.readers, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
