package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// connectTimeout bounds the wait for a server that does not answer; a caller
// waits for it.
const connectTimeout = 5 * time.Second

// comeBack is when a caller may try again: a server that restarts takes seconds.
const comeBack = 2 * time.Second

// Settings of a session, unless the address has its own.
var (
	writerSettings = map[string]string{
		"lock_timeout":                        "10000", // ms in line behind other origins, then the caller hears of it
		"idle_in_transaction_session_timeout": "10000", // ms an origin that stands still may hold up the others
		"synchronous_commit":                  "on",    // an acknowledged mission survives a power cut
	}
	readerSettings = map[string]string{"default_transaction_read_only": "on"}
)

// address reads where a PostgreSQL is.
func address(from string, settings map[string]string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(from)
	if err != nil {
		return nil, errors.New("the address of the database cannot be read; it is written postgres://USER:PASSWORD@HOST:PORT/NAME")
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

// readWriteSetting is target_session_attrs=read-write in either form of an address.
var readWriteSetting = regexp.MustCompile(`\btarget_session_attrs\s*=\s*'?read-write\b`)

// readWrite reports whether an address, or the environment in its place, asks for
// a server that accepts writes.
func readWrite(from string) bool {
	if strings.Contains(from, "target_session_attrs") {
		return readWriteSetting.MatchString(from)
	}
	return os.Getenv("PGTARGETSESSIONATTRS") == "read-write"
}

// openPostgres opens the database at an address.
func (s *Store) openPostgres(ctx context.Context, from string, cfg Config) error {
	writer, err := address(from, writerSettings)
	if err != nil {
		return err
	}
	reader, err := address(from, readerSettings)
	if err != nil {
		return err
	}
	if readWrite(from) {
		// The check of read-write would find the readers' own setting and refuse a
		// primary; a server is read-write if it is not in recovery.
		reader.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	s.writer = stdlib.OpenDB(*writer)
	s.writer.SetMaxOpenConns(1)
	var encoding string
	if err := s.writer.QueryRowContext(ctx, `SHOW server_encoding`).Scan(&encoding); err != nil {
		return unreachable(err)
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

// together sends statements in one go: a group spends most of its time waiting
// for the server. It says how many were done and returns the result of the last.
func (g *group) together(ctx context.Context, steps []statement) (done int, res sql.Result, err error) {
	b := &pgx.Batch{}
	for _, step := range steps {
		b.Queue(step.text, step.args...)
	}
	err = g.conn.Raw(func(c any) error {
		results := c.(*stdlib.Conn).Conn().SendBatch(ctx, b)
		for range steps {
			tag, err := results.Exec()
			if err != nil {
				_ = results.Close() // says the same
				return err
			}
			done, res = done+1, driver.RowsAffected(tag.RowsAffected())
		}
		return results.Close()
	})
	return done, res, err
}

// question is a query and what becomes of each row of its answer.
type question struct {
	text string
	args []any
	take func(scanner) error
}

// unread are statements whose answers nobody reads.
func unread(texts []string) (all []question) {
	for _, text := range texts {
		all = append(all, question{text: text, take: func(scanner) error { return nil }})
	}
	return all
}

// ask sends questions in one go.
func (g *group) ask(ctx context.Context, all []question) error {
	b := &pgx.Batch{}
	for _, q := range all {
		b.Queue(q.text, g.dialect.args(q.args)...).Query(func(rows pgx.Rows) error {
			defer rows.Close()
			for rows.Next() {
				if err := q.take(rows); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	return g.conn.Raw(func(c any) error { return c.(*stdlib.Conn).Conn().SendBatch(ctx, b).Close() })
}

// redacted returns an address without its password.
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
