package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fieldmark/fieldmark"
)

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
