package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver named below

	"github.com/fieldmark/fieldmark/origin/store/check"
	"github.com/fieldmark/fieldmark/origin/store/commit"
)

// connectTimeout bounds connecting to a server that does not respond, while a caller
// waits.
const connectTimeout = 5 * time.Second

// txTimeout bounds a transaction on a server that may be far away: its lock blocks
// all other writers. A group of 256 writes at ten slow milliseconds each fits.
const txTimeout = 15 * time.Second

// lockKey is the advisory lock of writers, and lockKey+1 that of migrations. It is
// "fieldmar" in ASCII, to differ from the locks of other programs in the database.
const lockKey = "7379540980639031666"

func postgres() *dialect {
	return &dialect{
		goose: goose.DialectPostgres, migrations: "migrations/postgres", shared: true,
		Engine: commit.Engine{
			// A statement sees what was committed before it began; so once the lock is
			// held, it sees everything earlier writers did. The lock is not the row of
			// table log, because locking a row writes, and a claim that finds nothing
			// should not write.
			Begin:   []string{`BEGIN ISOLATION LEVEL READ COMMITTED`, `SELECT pg_advisory_xact_lock(` + lockKey + `)`},
			Timeout: txTimeout, Args: validText,
			Unavailable: unavailable, IsUnavailable: isUnavailable,
		},
		checks: []check.Rule{
			{Name: "every index is valid", Query: `SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c
				ON c.oid = i.indexrelid
				WHERE c.relnamespace = current_schema()::regnamespace AND NOT (i.indisvalid AND i.indisready)`},
			{Name: "every reference leads to a row", Query: `SELECT c.conname::text FROM pg_constraint c
				WHERE c.connamespace = current_schema()::regnamespace AND NOT c.convalidated`},
		},
	}
}

// validText replaces what PostgreSQL refuses in texts and SQLite stores: NUL and
// invalid UTF-8. A name to look up with such bytes has no row on either engine, and
// values to store were validated before.
func validText(args []any) []any {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			if !isValid(a) {
				args[i] = valid(a)
			}
		case []string:
			for j, s := range a {
				a[j] = valid(s)
			}
		}
	}
	return args
}

func isValid(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }

func valid(s string) string {
	if isValid(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, string(utf8.RuneError)), "\x00", string(utf8.RuneError))
}

// Settings of a session, unless the URL sets them.
var (
	writerSettings = map[string]string{
		"lock_timeout":                        "10000", // milliseconds to wait for other origins; then the write fails
		"idle_in_transaction_session_timeout": "10000", // milliseconds an origin that hangs may block the others
		"synchronous_commit":                  "on",    // an acknowledged mission survives a power cut
	}
	readerSettings = map[string]string{"default_transaction_read_only": "on"}
)

// connConfig parses the URL of a database.
func connConfig(from string, settings map[string]string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(from)
	if err != nil {
		return nil, errors.New("invalid database URL; the form is postgres://USER:PASSWORD@HOST:PORT/NAME")
	}
	own := cfg.RuntimeParams
	cfg.RuntimeParams = map[string]string{"application_name": "fieldmark", "timezone": "UTC", "client_encoding": "UTF8"}
	maps.Copy(cfg.RuntimeParams, settings)
	maps.Copy(cfg.RuntimeParams, own)
	if u, err := url.Parse(from); err != nil || u.Query().Get("connect_timeout") == "" {
		cfg.ConnectTimeout = connectTimeout
	}
	return cfg, nil
}

// readWriteSetting is target_session_attrs=read-write in either form of a URL.
var readWriteSetting = regexp.MustCompile(`\btarget_session_attrs\s*=\s*'?read-write\b`)

// readWrite reports whether a URL, or else the environment, requires a server that
// accepts writes.
func readWrite(from string) bool {
	if strings.Contains(from, "target_session_attrs") {
		return readWriteSetting.MatchString(from)
	}
	return os.Getenv("PGTARGETSESSIONATTRS") == "read-write"
}

// openPostgres opens the database at a URL.
func (s *Store) openPostgres(ctx context.Context, from string, cfg Config) error {
	writer, err := connConfig(from, writerSettings)
	if err != nil {
		return err
	}
	reader, err := connConfig(from, readerSettings)
	if err != nil {
		return err
	}
	if readWrite(from) {
		// The check for read-write would see the read-only setting of readers and
		// reject a primary. A server that is not in recovery is a primary.
		reader.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	s.writer = stdlib.OpenDB(*writer)
	s.writer.SetMaxOpenConns(1)
	var encoding string
	if err := s.writer.QueryRowContext(ctx, `SHOW server_encoding`).Scan(&encoding); err != nil {
		return unavailable(err)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database has encoding %s; create it with ENCODING 'UTF8'", encoding)
	}
	if err := s.schema(ctx, cfg); err != nil {
		return err
	}
	s.readers = stdlib.OpenDB(*reader)
	return nil
}

// redacted returns a URL without its password.
func redacted(from string) string {
	u, err := url.Parse(from)
	if err != nil {
		return "PostgreSQL"
	}
	q := u.Query()
	if q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

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
