package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// ErrNone says that there is no such row.
var ErrNone = errors.New("no such row")

// NotFound turns ErrNone into CodeNotFound with a detail for the caller. It returns
// other errors, and nil, unchanged.
func NotFound(err error, format string, args ...any) error {
	if errors.Is(err, ErrNone) {
		return fieldmark.Errorf(fieldmark.CodeNotFound, format, args...)
	}
	return err
}

// asker asks questions: the readers outside a transaction, a Tx inside one.
type asker interface {
	query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	queryRow(ctx context.Context, text string, args ...any) *sql.Row
}

// stmt prepares a text once for all readers. Texts are constants of this
// package or one of a few shapes, so the map stays small.
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
	defer s.answered(time.Now())
	if !s.dialect.prepares {
		rows, err := s.readers.QueryContext(ctx, text, s.dialect.args(args)...)
		return rows, unreachable(err)
	}
	st, err := s.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

func (s *Store) queryRow(ctx context.Context, text string, args ...any) *sql.Row {
	defer s.answered(time.Now())
	if !s.dialect.prepares {
		return s.readers.QueryRowContext(ctx, text, s.dialect.args(args)...)
	}
	st, err := s.stmt(ctx, text)
	if err != nil {
		return s.readers.QueryRowContext(ctx, text, args...) // fails in the same way, inside a Row
	}
	return st.QueryRowContext(ctx, args...)
}

// answered tells how long a question took that was asked at a time.
func (s *Store) answered(asked time.Time) {
	if s.events.Read != nil {
		s.events.Read(time.Since(asked))
	}
}

// scanner is one row: *sql.Row or *sql.Rows.
type scanner interface{ Scan(dest ...any) error }

// collect reads all rows of an answer.
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

// none turns the driver's word for a missing row into ours.
func none(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNone
	}
	return unreachable(err)
}

// instant reads microseconds into a time.
type instant struct{ to *fieldmark.Time }

// Scan implements sql.Scanner.
func (i instant) Scan(v any) error {
	us, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is %T, not microseconds", v)
	}
	*i.to = fieldmark.AtMicros(us)
	return nil
}

// maybe reads microseconds or NULL into a time that may be missing.
type maybe struct{ to **fieldmark.Time }

// Scan implements sql.Scanner.
func (m maybe) Scan(v any) error {
	if v == nil {
		*m.to = nil
		return nil
	}
	var t fieldmark.Time
	if err := (instant{&t}).Scan(v); err != nil {
		return err
	}
	*m.to = &t
	return nil
}

// micros writes a time that may be missing.
func micros(t *fieldmark.Time) any {
	if t == nil {
		return nil
	}
	return t.Micros()
}

// document reads and writes a value kept as JSON text.
type document struct{ v any }

// Scan implements sql.Scanner; NULL leaves the value as it is.
func (d document) Scan(v any) error {
	switch text := v.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(text), d.v)
	case []byte:
		return json.Unmarshal(text, d.v)
	}
	return fmt.Errorf("a document is %T, not text", v)
}

// text writes v as JSON text. A client's own JSON inside it stays as it came.
func text(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// maybeText writes v as JSON text, or NULL where there is none.
func maybeText[T any](v *T) (any, error) {
	if v == nil {
		return nil, nil
	}
	return text(v)
}

// bit writes a truth value as a number, which both engines compare alike.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// clock reads microseconds or NULL into a time that may be zero, to the
// microsecond.
type clock struct{ to *time.Time }

// Scan implements sql.Scanner.
func (c clock) Scan(v any) error {
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

// moment writes a time that may be zero.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}
