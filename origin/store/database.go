package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fieldmark/fieldmark/internal/atomicfile"
	"github.com/fieldmark/fieldmark/origin/store/check"
	"github.com/fieldmark/fieldmark/origin/store/partition"
	"github.com/fieldmark/fieldmark/origin/store/pooler"
	"github.com/fieldmark/fieldmark/origin/store/replica"
)

//go:embed migrations/sqlite/*.sql migrations/postgres/*.sql
var migrations embed.FS

// ErrOldSchema reports that the database must be migrated before this program can use it.
var ErrOldSchema = errors.New("the database is older than this program; run fieldmark migrate up")

// Step is one migration.
type Step struct {
	Version   int64
	Name      string    // empty if only the database has it, from a newer program
	AppliedAt time.Time // zero while it is pending
}

// migratorPragmas are those of a writer that waits longer: a migration of a large database holds the lock for longer
// than any other write, and what starts in the meantime has to wait for it. The last of two equal pragmas counts.
var migratorPragmas = append(slices.Clone(writerPragmas), "busy_timeout(60000)")

// Migrate brings the schema of a database up to the version of this program and
// returns the migrations it applied. Several processes may call it at once.
func Migrate(ctx context.Context, cfg Config) (done []Step, err error) {
	if cfg.URL == "" {
		if err := createFile(cfg.Path); err != nil {
			return nil, fmt.Errorf("migrate: %w", err)
		}
	}
	if pooler.Transaction(cfg.URL) {
		return nil, fmt.Errorf("migrate: %w", pooler.ErrSession)
	}
	d, db, err := openRaw(cfg, migratorPragmas)
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
	results, err := up(ctx, p, d.shared)
	if err = errors.Join(err, free()); err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	for _, r := range results {
		done = append(done, step(r.Source))
	}
	return done, nil
}

// up applies the pending migrations. SQLite has no lock that outlives a transaction, so
// several processes apply them at once, and each step fails in all but one of them. As long
// as the version has grown since the last failure, another process is making progress and
// the rest is tried again; a migration that cannot be applied fails twice at one version.
func up(ctx context.Context, p *goose.Provider, locked bool) (done []*goose.MigrationResult, err error) {
	for last := int64(-1); ; {
		results, err := p.Up(ctx)
		done = append(done, results...)
		if err == nil || locked || ctx.Err() != nil {
			return done, err
		}
		if partial, ok := errors.AsType[*goose.PartialError](err); ok {
			done = append(done, partial.Applied...)
		}
		version, versionErr := p.GetDBVersion(ctx)
		if versionErr != nil || version <= last {
			return done, errors.Join(err, versionErr)
		}
		last = version
	}
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
	versions, err := database.NewStore(database.Dialect(d.goose), goose.DefaultTablename)
	if err != nil {
		return nil, err
	}
	// The dialect is that of the store of versions.
	return goose.NewProvider("", db, files, goose.WithStore(onceStore{versions}), goose.WithDisableGlobalRegistry(true))
}

// errMigrated reports that another process applied a migration first.
var errMigrated = errors.New("another process has applied it")

// onceStore records each version once. A version is inserted in the transaction of its
// migration, so that one which another process has applied since the list of the pending ones
// was read is rolled back, even if its statements can be run twice.
type onceStore struct{ database.Store }

// Insert implements database.Store.
func (s onceStore) Insert(ctx context.Context, db database.DBTxConn, req database.InsertRequest) error {
	_, err := s.GetMigration(ctx, db, req.Version)
	if errors.Is(err, database.ErrVersionNotFound) {
		return s.Store.Insert(ctx, db, req)
	}
	return cmp.Or(err, errMigrated)
}

// schema makes sure that the database has the tables this program needs.
func (s *Store) schema(ctx context.Context, cfg Config) error {
	p, err := newProvider(s.dialect, s.writer)
	if err != nil {
		return err
	}
	pending, err := p.HasPending(ctx)
	e, isSQLite := errors.AsType[*modernc.Error](err)
	migrating := isSQLite && e.Code()&0xff == sqlite3.SQLITE_BUSY // another process: Migrate waits longer
	switch {
	case err != nil && (!migrating || cfg.NoMigrate):
		return unavailable(err)
	case err == nil && !pending:
		return nil
	case cfg.NoMigrate:
		return ErrOldSchema
	}
	_, err = Migrate(ctx, cfg)
	return err
}

// ErrOneFile reports that SQLite has no partitions.
var ErrOneFile = errors.New("SQLite has no partitions; use PostgreSQL")

// Partition divides events, deliveries and attempts into partitions of step event numbers each; see
// partition.Database.Divide. Of tables that are divided it adds the partitions that are missing.
func Partition(ctx context.Context, cfg Config, step int64, report func(string)) (s partition.Status, err error) {
	if cfg.URL == "" {
		return s, ErrOneFile
	}
	cfg.NoMigrate = true
	db, err := Open(ctx, cfg)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, own, err := openRaw(cfg, nil)
	if err != nil {
		return s, err
	}
	if err := errors.Join(partitions(own).Divide(ctx, step, report), own.Close()); err != nil {
		return s, unavailable(err)
	}
	return db.MaintainPartitions(ctx, time.Time{}, time.Time{})
}

func partitions(db *sql.DB) partition.Database {
	return partition.Database{DB: db, Lock: `SELECT pg_advisory_xact_lock(` + lockKey + `)`}
}

// maxReported bounds the damaged events that the error of a backup lists.
const maxReported = 10

// ErrNotFile reports that a PostgreSQL database has no file to copy.
var ErrNotFile = errors.New("the database is PostgreSQL: use pg_dump and pg_restore")

// DamagedError reports that events of a database do not match their checksums.
type DamagedError struct {
	Events []string // what is wrong with each, at most maxReported
}

// Error implements error.
func (e *DamagedError) Error() string {
	return "the database is damaged: " + strings.Join(e.Events, "\n")
}

// Backup copies a SQLite database to a new file, as of one moment, while other
// processes keep reading and writing. The file appears under its name only when it
// is complete. If events are damaged, the copy is made all the same and the error is
// a *DamagedError: an operator needs a backup most when the disk begins to fail.
func Backup(ctx context.Context, cfg Config, to string) error {
	fail := func(err error) error { return fmt.Errorf("back up to %s: %w", to, err) }
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return fail(errors.Join(err, fs.ErrExist))
	}
	if cfg.URL != "" {
		return fail(ErrNotFile)
	}
	_, db, err := openRaw(cfg, copierPragmas)
	if err != nil {
		return fail(err)
	}
	if db == nil {
		return fail(fmt.Errorf("there is no database at %s", cfg.Path))
	}
	partial := to + ".partial"
	if err := ignoreMissing(os.Remove(partial)); err != nil { // of an interrupted backup
		return fail(err)
	}
	err = vacuumInto(ctx, db, partial)
	damage, damaged := errors.AsType[*DamagedError](err)
	if err != nil && !damaged {
		return fail(errors.Join(err, db.Close(), os.Remove(partial)))
	}
	if err := db.Close(); err != nil {
		return fail(err)
	}
	if err := atomicfile.Rename(partial, to); err != nil {
		return fail(err)
	}
	if damaged {
		return fail(damage)
	}
	return nil
}

// vacuumInto writes a compact copy and verifies it.
func vacuumInto(ctx context.Context, db *sql.DB, to string) error {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // SQLite would make it readable to everyone
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `VACUUM INTO $1`, to); err != nil {
		return err
	}
	copied, err := sql.Open("sqlite", dsn(to, []string{"query_only(1)"}))
	if err != nil {
		return err
	}
	err = verifyCopy(ctx, copied)
	if err == nil {
		err = verifyEvents(ctx, copied)
	}
	return errors.Join(err, copied.Close())
}

// verifyEvents returns a *DamagedError if events do not match their checksum. A
// database that was not migrated yet has no checksums.
func verifyEvents(ctx context.Context, db *sql.DB) error {
	var summed bool
	err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pragma_table_info('event')
		WHERE name = 'sum')`).Scan(&summed)
	if err != nil || !summed {
		return err
	}
	broken, err := check.Events(ctx, db.QueryContext)
	if len(broken) > maxReported {
		broken = append(broken[:maxReported], "and more; fieldmark db check lists them")
	}
	if err == nil && len(broken) > 0 {
		err = &DamagedError{broken}
	}
	return err
}

// verifyCopy checks that a file is intact and a Fieldmark database.
func verifyCopy(ctx context.Context, db *sql.DB) error {
	var word, log string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&word); err != nil {
		return fmt.Errorf("check the copy: %w", err)
	}
	if word != "ok" {
		return fmt.Errorf("check the copy: %s", word)
	}
	if err := db.QueryRowContext(ctx, `SELECT id FROM log WHERE name = $1`, logName).Scan(&log); err != nil {
		return fmt.Errorf("it is not a Fieldmark database: %w", err)
	}
	return nil
}

// Restore makes a backup the database. An existing database is replaced only
// with force and only if no process uses it; it is kept under the name Restore
// returns. The restored event log gets a new id: events after the backup are
// lost, and their numbers are used again.
func Restore(ctx context.Context, from string, cfg Config, force bool) (replaced string, err error) {
	fail := func(err error) (string, error) { return "", fmt.Errorf("restore %s: %w", from, err) }
	if cfg.URL != "" {
		return fail(ErrNotFile)
	}
	path, err := absolute(cfg.Path)
	if err != nil {
		return fail(err)
	}
	_, err = os.Lstat(path)
	there := !errors.Is(err, fs.ErrNotExist)
	if there && !force {
		return fail(fmt.Errorf("%s: %w", path, fs.ErrExist))
	}
	partial := path + ".partial"
	if err := prepareRestore(ctx, from, partial); err != nil {
		return fail(errors.Join(err, ignoreMissing(os.Remove(partial))))
	}
	if there {
		replaced = path + ".replaced"
		if err := moveAside(ctx, path, replaced); err != nil {
			return fail(errors.Join(err, os.Remove(partial)))
		}
	}
	if err := atomicfile.Rename(partial, path); err != nil {
		return fail(err)
	}
	return replaced, nil
}

// prepareRestore copies a backup, verifies and migrates the copy, and gives its
// log a new id. The backup itself is only read.
func prepareRestore(ctx context.Context, from, partial string) error {
	if info, err := os.Stat(from + "-wal"); err == nil && info.Size() > 0 {
		return errors.New("it is a database in use, not a backup: its latest changes are in another file; " +
			"run fieldmark backup")
	}
	for _, side := range []string{"", "-wal", "-shm"} { // of an interrupted restore
		if err := ignoreMissing(os.Remove(partial + side)); err != nil {
			return err
		}
	}
	if err := copyFile(from, partial); err != nil {
		return err
	}
	copied, err := sql.Open("sqlite", dsn(partial, nil))
	if err != nil {
		return err
	}
	if err := errors.Join(verifyCopy(ctx, copied), copied.Close()); err != nil {
		return err
	}
	s, err := Open(ctx, Config{Path: partial})
	if err != nil {
		return err
	}
	return errors.Join(s.RenameLog(ctx),
		s.Close()) // closing the last connection moves the write-ahead log into the file
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// moveAside renames a database that no process uses. SQLite leaves write-ahead
// logging only when there is no other connection, and removes its side files
// then.
func moveAside(ctx context.Context, path, to string) error {
	db, err := sql.Open("sqlite", dsn(path, []string{"busy_timeout(500)"}))
	if err != nil {
		return err
	}
	var mode string
	err = db.QueryRowContext(ctx, `PRAGMA journal_mode=DELETE`).Scan(&mode)
	if err = errors.Join(err, db.Close()); err != nil || mode != "delete" {
		return fmt.Errorf("%s is in use; stop the origin first: %w", path, errors.Join(err, fs.ErrExist))
	}
	for _, side := range []string{"-wal", "-shm"} {
		if err := ignoreMissing(os.Remove(path + side)); err != nil {
			return err
		}
	}
	return os.Rename(path, to)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// RenameLog gives the event log a new id, after which every edge starts over. A
// database that was restored from an earlier time needs it. Other processes that
// have the database open report the new id from then on.
func (s *Store) RenameLog(ctx context.Context) error {
	name := rand.Text()
	err := s.Write(ctx, func(ctx context.Context, t *Tx) error {
		_, err := t.exec(ctx, `UPDATE log SET id = $1 WHERE name = $2`, name, logName)
		return err
	})
	if err != nil {
		return fmt.Errorf("rename the event log: %w", err)
	}
	s.logID = name
	return nil
}

// replicaQuery reads the position of a replica. The timeline is that of the row: a standby does not
// know by which server its changes were committed.
const replicaQuery = `SELECT id || COALESCE('.' || NULLIF(NULLIF(timeline, ''), '00000001'), ''), number
	FROM log WHERE name = $1`

// readPosition is replica.Config.Position.
func readPosition(ctx context.Context, db *sql.Conn) (p replica.Position, err error) {
	return p, db.QueryRowContext(ctx, replicaQuery, logName).Scan(&p.Log, &p.Event)
}

type snapshotKey struct{}

// snapshot returns the snapshot that reads under a context see; nil: they see the primary.
func snapshot(ctx context.Context) *replica.Snapshot {
	s, _ := ctx.Value(snapshotKey{}).(*replica.Snapshot)
	return s
}

// ReadAt calls read, under whose context all reads see one snapshot of a replica that has every
// change up to a position of the log. Without a replica, or if it does not get there soon, read
// sees the primary. If the replica ends the snapshot, read is called once more, so what it does
// before it returns an error must be repeatable. A position without a name of the log is one that
// the position is unknown: only the primary is queried.
func (s *Store) ReadAt(ctx context.Context, at replica.Position, read func(context.Context) error) error {
	if s.replica == nil || at.Log == "" {
		return read(ctx)
	}
	snap := s.replica.Snapshot(ctx, at)
	if snap == nil {
		return read(ctx)
	}
	err := read(context.WithValue(ctx, snapshotKey{}, snap))
	snap.Close()
	// Whatever the server says, such as that the snapshot conflicts with the changes of the
	// primary, that a table is not there yet, or that it stops: the primary may do better.
	_, server := errors.AsType[*pgconn.PgError](err)
	failed := server || isUnavailable(unavailable(err))
	if failed || errors.Is(ctx.Err(), context.DeadlineExceeded) { // or a server that hangs
		s.replica.Fail()
	}
	if !failed || ctx.Err() != nil {
		return err
	}
	return read(ctx)
}

// Snapshot calls read, under whose context all reads see one state of the database.
func (s *Store) Snapshot(ctx context.Context, read func(context.Context) error) error {
	if snapshot(ctx) != nil {
		return read(ctx)
	}
	snap, err := replica.Begin(ctx, s.readers, s.dialect.snapshot)
	if err != nil {
		return fmt.Errorf("begin a snapshot: %w", unavailable(err))
	}
	defer snap.Close()
	return read(context.WithValue(ctx, snapshotKey{}, snap))
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
