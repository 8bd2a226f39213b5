package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
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
	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/store/check"
	"github.com/fieldmark/fieldmark/origin/store/commit"
	"github.com/fieldmark/fieldmark/origin/store/partition"
	"github.com/fieldmark/fieldmark/origin/store/pooler"
	"github.com/fieldmark/fieldmark/origin/store/replica"
)

// connectTimeout bounds connecting to a server that does not respond, while a caller
// waits.
const connectTimeout = 5 * time.Second * timeout.Scale

// txTimeout bounds a transaction on a server that may be far away: its lock blocks
// all other writers. A group of 256 writes at ten slow milliseconds each fits.
const txTimeout = 15 * time.Second * timeout.Scale

// lockKey is the advisory lock of writers, and lockKey+1 that of migrations. It is
// "fieldmar" in ASCII, to differ from the locks of other programs in the database.
const lockKey = "7379540980639031666"

// timelineSuffix is "." and the timeline of the server, and empty on the first one. A standby
// that is promoted begins a timeline. If it lacked the newest events, it gives their numbers to
// others, so numbers of two timelines must not be compared. On the first timeline the name stays
// as earlier releases report it: origins of both versions run during an update, and edges would
// drop their caches each time they poll the other one. A standby has no position to name a file
// by.
const timelineSuffix = `CASE WHEN pg_is_in_recovery() THEN ''
	ELSE COALESCE('.' || NULLIF(substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), '00000001'), '') END`

// numberEvents is the beginning of dialect.updateLog; see Store.updateLog.
const numberEvents = `UPDATE log SET number = CASE WHEN number = $4 THEN number + $1 END, at = $2`

// pagesByIndex are settings of a snapshot, whose readers read pages by index. For a page of 2,000 rows of 100,000
// PostgreSQL would read and hash all, and for the next page again.
const pagesByIndex = `; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off`

func postgres() *dialect {
	return &dialect{
		goose: goose.DialectPostgres, migrations: "migrations/postgres", shared: true, timeline: timelineSuffix,
		updateLog: numberEvents + `, timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) WHERE name = $3`,
		snapshot:  replica.BeginStatement + pagesByIndex,
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
			{Name: "the next events have a partition, and no change to partitions is incomplete",
				Query: partition.Broken},
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
	pooled, err := pooler.Configure(cfg)
	if err != nil {
		return nil, err
	}
	if pooled { // it refuses settings of a session, or applies them to the sessions of others
		settings = nil
	}
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
	if pooler.Transaction(from) {
		s.dialect.Begin = pooler.Begin(s.dialect.Begin, writerSettings)
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

// openReplica opens the pool of the replica. It does not connect: an origin starts without it.
func (s *Store) openReplica(cfg Config) error {
	if cfg.ReadURL == "" {
		return nil
	}
	if cfg.URL == "" {
		return errors.New("SQLite has no replica: a URL of one needs the URL of the database")
	}
	from, err := connConfig(cfg.ReadURL, readerSettings)
	if err != nil {
		return fmt.Errorf("replica: %w", err)
	}
	db := stdlib.OpenDB(*from)
	db.SetMaxOpenConns(cfg.Readers)
	db.SetMaxIdleConns(cfg.Readers)
	s.replica = replica.New(replica.Config{DB: db, Position: readPosition})
	return nil
}

func sqlite() *dialect {
	return &dialect{
		goose: goose.DialectSQLite3, migrations: "migrations/sqlite", timeline: `''`,
		updateLog: numberEvents + ` WHERE name = $3`,
		snapshot:  `BEGIN`,
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
	readerPragmas = []string{
		"busy_timeout(5000)",
		// KiB of pages that a connection keeps, where 2 MB is the default: the visits of a week are on pages of all
		// of the table. A pool keeps two idle connections, and each has only the pages that it has read.
		"cache_size(-16384)",
		"query_only(1)",
	}
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

// ErrNotFound reports that a row does not exist.
var ErrNotFound = errors.New("no such row")

// NotFound turns ErrNotFound into CodeNotFound with a detail for the caller. It returns
// other errors, and nil, unchanged.
func NotFound(err error, format string, args ...any) error {
	if errors.Is(err, ErrNotFound) {
		return fieldmark.Errorf(fieldmark.CodeNotFound, format, args...)
	}
	return err
}

// retryAfter is the delay before a caller should retry: a server restart takes seconds.
const retryAfter = 2 * time.Second

// The details of errors of a database that does not work.
const (
	detailUnreachable = "the database cannot be reached"
	detailRefuses     = "the database accepts no writes at the moment"
)

// unavailable turns errors of a database that cannot be reached or does not write
// into CodeOriginUnavailable with the time after which to retry.
func unavailable(err error) error {
	if err == nil || isUnavailable(err) || errors.Is(err, context.Canceled) || errors.Is(err,
		context.DeadlineExceeded) {
		return err // a context's deadline is a net.Error as well
	}
	detail := ""
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	// A server that stops closes its connections, some of them in the middle of a response.
	closed := errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
	if connecting || network || closed || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		detail = detailUnreachable
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		// Shut down, crashed, starting; too many connections; lock_timeout expired.
		case "57P01", "57P02", "57P03", "53300", "55P03":
			detail = detailUnreachable
		// Out of disk or memory, a failing disk; a standby that is not promoted yet.
		case "53100", "53200", "58030", "25006":
			detail = detailRefuses
		}
	}
	if e, ok := errors.AsType[*modernc.Error](err); ok {
		switch e.Code() & 0xff { // the primary result code
		// A full or failing disk, or another process that keeps the file locked.
		case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_BUSY:
			detail = detailRefuses
		}
	}
	if detail == "" {
		return err
	}
	return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable, Detail: detail, RetryAfter: retryAfter, Err: err}
}

func isUnavailable(err error) bool { return fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) }

// queryErr turns sql.ErrNoRows into ErrNotFound.
func queryErr(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return unavailable(err)
}

// querier runs queries: a Store outside a transaction, a Tx inside one.
type querier interface {
	query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	queryRow(ctx context.Context, text string, args ...any) *sql.Row
}

// stmt prepares a text once for all readers. Texts are constants of this package
// or one of a few shapes, so the map stays small.
func (s *Store) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st, ok := s.prepared.Load(text); ok {
		return st.(*sql.Stmt), nil
	}
	st, err := s.readers.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if old, ok := s.prepared.LoadOrStore(text, st); ok {
		return old.(*sql.Stmt), st.Close()
	}
	return st, nil
}

func (s *Store) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	defer s.observeRead(time.Now())
	if snap := snapshot(ctx); snap != nil {
		return snap.Query(ctx, text, s.dialect.Args(args)...)
	}
	if !s.dialect.Prepare {
		rows, err := s.readers.QueryContext(ctx, text, s.dialect.Args(args)...)
		return rows, unavailable(err)
	}
	st, err := s.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

func (s *Store) queryRow(ctx context.Context, text string, args ...any) *sql.Row {
	defer s.observeRead(time.Now())
	if snap := snapshot(ctx); snap != nil {
		return snap.QueryRow(ctx, text, s.dialect.Args(args)...)
	}
	if !s.dialect.Prepare {
		return s.readers.QueryRowContext(ctx, text, s.dialect.Args(args)...)
	}
	st, err := s.stmt(ctx, text)
	if err != nil {
		return s.readers.QueryRowContext(ctx, text, args...) // fails in the same way, inside a Row
	}
	return st.QueryRowContext(ctx, args...)
}

// observeRead reports how long a query took that began at a time.
func (s *Store) observeRead(began time.Time) {
	if s.events.Query != nil {
		s.events.Query(time.Since(began))
	}
}

// scanner is one row: *sql.Row or *sql.Rows.
type scanner interface{ Scan(dest ...any) error }

// collect reads all rows of a result.
func collect[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

func scanText(row scanner) (s string, err error) { return s, row.Scan(&s) }

// load reads the rows of keys with a query whose rows begin with the number of
// their key, from 1.
func load[K comparable, V any](ctx context.Context, db querier, keys []K, query string, args []any,
	scan func(row scanner, before ...any) (V, error)) (map[K]V, error) {

	all := make(map[K]V, len(keys))
	rows, err := db.query(ctx, query, args...)
	_, err = collect(rows, err, func(row scanner) (none struct{}, err error) {
		var i int
		v, err := scan(row, &i)
		if err == nil {
			all[keys[i-1]] = v
		}
		return none, err
	})
	return all, err
}

// columns turns rows of texts into arguments, an array for each column.
func columns[T any](rows []T, texts func(T) []string) []any {
	var all []any
	for _, row := range rows {
		for i, s := range texts(row) {
			if i == len(all) {
				all = append(all, make([]string, 0, len(rows)))
			}
			all[i] = append(all[i].([]string), s)
		}
	}
	return all
}

// timeCol reads microseconds into a time.
type timeCol struct{ to *fieldmark.Time }

// Scan implements sql.Scanner.
func (c timeCol) Scan(v any) error {
	us, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is %T, not microseconds", v)
	}
	*c.to = fieldmark.AtMicros(us)
	return nil
}

// nullTime reads microseconds or NULL into a time that may be missing.
type nullTime struct{ to **fieldmark.Time }

// Scan implements sql.Scanner.
func (c nullTime) Scan(v any) error {
	if v == nil {
		*c.to = nil
		return nil
	}
	var t fieldmark.Time
	if err := (timeCol{&t}).Scan(v); err != nil {
		return err
	}
	*c.to = &t
	return nil
}

// nullMicros is the argument for a time that may be missing.
func nullMicros(t *fieldmark.Time) any {
	if t == nil {
		return nil
	}
	return t.Micros()
}

// exactTime reads microseconds, or NULL for the zero time. A fieldmark.Time is
// rounded to milliseconds; this is not.
type exactTime struct{ to *time.Time }

// Scan implements sql.Scanner.
func (c exactTime) Scan(v any) error {
	switch us := v.(type) {
	case nil:
		*c.to = time.Time{}
		return nil
	case int64:
		*c.to = time.UnixMicro(us)
		return nil
	}
	return fmt.Errorf("a time is %T, not microseconds", v)
}

// exactMicros is the argument for a time; NULL for the zero time.
func exactMicros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// jsonCol reads JSON text into a value.
type jsonCol struct{ v any }

// Scan implements sql.Scanner; NULL leaves the value unchanged.
func (c jsonCol) Scan(v any) error {
	switch text := v.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(text), c.v)
	case []byte:
		return json.Unmarshal(text, c.v)
	}
	return fmt.Errorf("a document is %T, not text", v)
}

// jsonText encodes v. The bytes of a client's JSON inside it stay unchanged.
func jsonText(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// nullJSON encodes *v, or returns NULL for nil.
func nullJSON[T any](v *T) (any, error) {
	if v == nil {
		return nil, nil
	}
	return jsonText(v)
}

// boolInt is the argument for a truth value: both engines store 0 and 1.
func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// newest reads an id.
func (t *tx) newest(ctx context.Context, text string, args ...any) (id string, err error) {
	if err := t.queryRow(ctx, text, args...).Scan(&id); err != nil {
		return "", fmt.Errorf("read the newest id: %w", queryErr(err))
	}
	return id, nil
}
