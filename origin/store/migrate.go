package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/sqlite/*.sql migrations/postgres/*.sql
var migrations embed.FS

// maxMigrateAttempts is how often SQLite is migrated again when another process
// migrated at the same time and won. By then the work is done.
const maxMigrateAttempts = 3

// ErrOldSchema reports that the database must be migrated before this program can use it.
var ErrOldSchema = errors.New("the database is older than this program; run fieldmark migrate up")

// Step is one migration.
type Step struct {
	Version   int64
	Name      string    // empty if only the database has it, from a newer program
	AppliedAt time.Time // zero while it is pending
}

// Migrate brings the schema of a database up to the version of this program and
// returns the migrations it applied. Several processes may call it at once.
func Migrate(ctx context.Context, cfg Config) (done []Step, err error) {
	if cfg.URL == "" {
		if err := createFile(cfg.Path); err != nil {
			return nil, fmt.Errorf("migrate: %w", err)
		}
	}
	d, db, err := openRaw(cfg, writerPragmas)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	free := func() error { return nil }
	if d.shared {
		if free, err = lockSchema(ctx, db); err != nil {
			return nil, fmt.Errorf("migrate: %w", unavailable(err))
		}
	}
	p, err := newProvider(d, db)
	if err != nil {
		return nil, errors.Join(err, free())
	}
	var results []*goose.MigrationResult
	for range maxMigrateAttempts {
		if results, err = p.Up(ctx); err == nil || d.shared || ctx.Err() != nil {
			break
		}
	}
	if err = errors.Join(err, free()); err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	for _, r := range results {
		done = append(done, step(r.Source))
	}
	return done, nil
}

// lockSchema waits until no other process migrates. Of several origins that
// start at once, one migrates and the others find it done.
func lockSchema(ctx context.Context, db *sql.DB) (free func() error, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock(`+lockKey+` + 1)`); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func() error {
		// Even if ctx is canceled by now: the connection goes back to a pool.
		_, err := conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(`+lockKey+` + 1)`)
		return errors.Join(err, conn.Close())
	}, nil
}

func step(from *goose.Source) Step {
	_, name, _ := strings.Cut(strings.TrimSuffix(path.Base(from.Path), ".sql"), "_")
	return Step{Version: from.Version, Name: name}
}

// Steps lists every migration of this program, oldest first, with the time at which it was
// applied, and then the applied migrations of newer programs.
func Steps(ctx context.Context, cfg Config) (steps []Step, err error) {
	d, db, err := openRaw(cfg, writerPragmas)
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	if db == nil { // there is no database yet
		if db, err = sql.Open("sqlite", ":memory:"); err != nil {
			return nil, fmt.Errorf("list migrations: %w", err)
		}
		db.SetMaxOpenConns(1)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := newProvider(d, db)
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	all, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", unavailable(err))
	}
	known := map[int64]bool{}
	for _, m := range all {
		one := step(m.Source)
		one.AppliedAt = m.AppliedAt
		steps, known[one.Version] = append(steps, one), true
	}
	rows, err := db.QueryContext(ctx, `SELECT DISTINCT version_id FROM `+goose.DefaultTablename+` WHERE version_id > 0
		ORDER BY version_id`)
	applied, err := collect(rows, err, func(row scanner) (v int64, err error) { return v, row.Scan(&v) })
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", unavailable(err))
	}
	for _, v := range applied {
		if !known[v] {
			steps = append(steps, Step{Version: v})
		}
	}
	return steps, nil
}

// openRaw opens a database without checking its schema; the result is nil if the
// file does not exist. The pragmas are for a file.
func openRaw(cfg Config, pragmas []string) (*dialect, *sql.DB, error) {
	if cfg.URL != "" {
		from, err := connConfig(cfg.URL, nil)
		if err != nil {
			return nil, nil, err
		}
		return postgres(), stdlib.OpenDB(*from), nil
	}
	abs, err := absolute(cfg.Path)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(abs); errors.Is(err, fs.ErrNotExist) {
		return sqlite(), nil, nil
	}
	db, err := sql.Open("sqlite", dsn(abs, pragmas))
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	return sqlite(), db, nil
}

func newProvider(d *dialect, db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, d.migrations)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(d.goose, db, files, goose.WithDisableGlobalRegistry(true))
}

// schema makes sure that the database has the tables this program needs.
func (s *Store) schema(ctx context.Context, cfg Config) error {
	p, err := newProvider(s.dialect, s.writer)
	if err != nil {
		return err
	}
	pending, err := p.HasPending(ctx)
	switch {
	case err != nil:
		return unavailable(err)
	case !pending:
		return nil
	case cfg.NoMigrate:
		return ErrOldSchema
	}
	_, err = Migrate(ctx, cfg)
	return err
}
