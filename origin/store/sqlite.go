package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver named below
)

// openSQLite opens the file at path, making it as needed.
func (s *Store) openSQLite(ctx context.Context, path string, cfg Config) (err error) {
	if err := touch(path); err != nil {
		return err
	}
	if s.writer, err = sql.Open("sqlite", dsn(path, writerPragmas)); err != nil {
		return err
	}
	s.writer.SetMaxOpenConns(1)
	if err := s.schema(ctx, cfg); err != nil {
		return err
	}
	if s.readers, err = sql.Open("sqlite", dsn(path, readerPragmas)); err != nil {
		return err
	}
	return nil
}

// touch makes the file if there is none. The record holds password hashes and
// personal data: SQLite would make it readable to everyone, and gives its side
// files the mode of the main one.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// absolute returns where the file of a record is.
func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the record %s: %w", path, err)
	}
	return abs, nil
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
	// A copy is made beside an origin that may be writing all the time. Setting
	// auto_vacuum takes the writers' lock, which such an origin never leaves for long.
	copierPragmas = []string{"busy_timeout(5000)"}
)

// dsn writes path and pragmas the way the driver reads them.
func dsn(path string, pragmas []string) string {
	// A deferred transaction that reads and then writes fails at once when
	// another one wrote in between, whatever the busy time-out is.
	q := url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return u.String()
}
