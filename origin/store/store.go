package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver named below
)

//go:embed migrations/*.sql
var migrations embed.FS

// Config says where the record is.
type Config struct {
	Path    string // of the SQLite file; made, readable by its owner only, when it does not exist
	Readers int    // connections that read; 0 means twice the processors, at least 4
}

// Store is an open record. Its methods may be called from any goroutine.
type Store struct {
	writer  *sql.DB
	readers *sql.DB
	log     string
	watch   watch
	group   group

	prepared sync.Map // SQL text -> *sql.Stmt of readers
}

// Open opens the record at cfg.Path, making and migrating it as needed.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", cfg.Path, err)
	}
	if cfg.Readers <= 0 {
		cfg.Readers = max(4, 2*runtime.GOMAXPROCS(0))
	}
	s := &Store{}
	if err := s.open(ctx, path, cfg.Readers); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, path string, readers int) error {
	// The record holds password hashes and personal data: SQLite would make it
	// readable to everyone, and gives its side files the mode of the main one.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if s.writer, err = sql.Open("sqlite", dsn(path, writerPragmas)); err != nil {
		return err
	}
	s.writer.SetMaxOpenConns(1)
	if err := migrate(ctx, s.writer); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return err
	}
	s.group.conn, s.group.prepared = conn, make(map[string]*sql.Stmt)
	if s.readers, err = sql.Open("sqlite", dsn(path, readerPragmas)); err != nil {
		return err
	}
	s.readers.SetMaxOpenConns(readers)
	s.readers.SetMaxIdleConns(readers)
	s.watch.make()
	return s.nameLog(ctx)
}

// Pragmas are per connection, so they travel in the data source name.
var (
	writerPragmas = []string{
		"auto_vacuum(incremental)", // must be set before the first table is made
		"busy_timeout(5000)",       // ms another process may hold the file
		"foreign_keys(1)",
		"journal_mode(wal)",
		"journal_size_limit(67108864)", // bytes; a log grown by a long reader is cut back
		"synchronous(full)",            // an acknowledged mission survives a power cut
	}
	readerPragmas = []string{"busy_timeout(5000)", "query_only(1)"}
)

// dsn writes path and pragmas the way the driver reads them.
func dsn(path string, pragmas []string) string {
	// A deferred transaction that reads and then writes fails at once when
	// another one wrote in between, whatever the busy time-out is.
	q := url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return u.String()
}

// migrate brings the schema up to what this program was built with.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// logName is the one row of table log.
const logName = "main"

// nameLog gives a new log its name and reads the name of an old one.
func (s *Store) nameLog(ctx context.Context) error {
	err := s.Write(ctx, func(ctx context.Context, t *Tx) error {
		_, err := t.exec(ctx, `INSERT INTO log (name, id, number) VALUES ($1, $2, 0) ON CONFLICT (name) DO NOTHING`,
			logName, rand.Text())
		return err
	})
	if err != nil {
		return err
	}
	return s.queryRow(ctx, `SELECT id FROM log WHERE name = $1`, logName).Scan(&s.log)
}

// Log returns the name of this record's event log. Numbers of events mean
// something under one name only.
func (s *Store) Log() string { return s.log }

// Ping reports whether the record can be read.
func (s *Store) Ping(ctx context.Context) error {
	var n int64
	if err := s.queryRow(ctx, `SELECT number FROM log WHERE name = $1`, logName).Scan(&n); err != nil {
		return fmt.Errorf("ping store: %w", err)
	}
	return nil
}

// Close ends all connections. No other method may be running.
func (s *Store) Close() error {
	var errs []error
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
