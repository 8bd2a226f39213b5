package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver named below

	"github.com/fieldmark/fieldmark/origin/store/check"
	"github.com/fieldmark/fieldmark/origin/store/commit"
)

func sqlite() *dialect {
	return &dialect{
		goose: goose.DialectSQLite3, migrations: "migrations/sqlite",
		Engine: commit.Engine{
			Begin: []string{`BEGIN IMMEDIATE`}, Prepare: true, Args: func(args []any) []any { return args },
			Unavailable: unavailable, IsUnavailable: isUnavailable,
		},
		checks: []check.Rule{
			{Name: "the file is intact", Query: `SELECT quick_check FROM pragma_quick_check WHERE quick_check <> 'ok'`},
			{Name: "every reference leads to a row",
				Query: `SELECT "table" || ' names none of ' || parent FROM pragma_foreign_key_check`},
		},
	}
}

// openSQLite opens the file at path and creates it as needed.
func (s *Store) openSQLite(ctx context.Context, path string, cfg Config) (err error) {
	if err := createFile(path); err != nil {
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

// createFile creates the file if it does not exist. The database holds password hashes
// and personal data: SQLite would make it readable to everyone. Its side files get
// the mode of the main one.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// absolute returns the absolute path of a database file.
func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the database %s: %w", path, err)
	}
	return abs, nil
}

// Pragmas are per connection, so they are part of the data source name.
var (
	writerPragmas = []string{
		"auto_vacuum(incremental)", // must be set before the first table is created
		"busy_timeout(5000)",       // milliseconds to wait while another process locks the file
		"foreign_keys(1)",
		"journal_mode(wal)",
		"journal_size_limit(67108864)", // bytes; a log that grew during a long read is truncated
		"synchronous(full)",            // an acknowledged mission survives a power cut
	}
	readerPragmas = []string{"busy_timeout(5000)", "query_only(1)"}
	// A backup runs beside an origin that may be writing all the time. Setting
	// auto_vacuum takes the lock of writers, which is then rarely free.
	copierPragmas = []string{"busy_timeout(5000)"}
)

// dsn returns the data source name for a path and pragmas.
func dsn(path string, pragmas []string) string {
	// A deferred transaction that reads and then writes fails at once, whatever the
	// busy timeout, if another one wrote in between.
	q := url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return u.String()
}
