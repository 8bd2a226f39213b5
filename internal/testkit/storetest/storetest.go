package storetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver named below

	"github.com/fieldmark/fieldmark/origin/store"
)

// The engines, as in EngineVar.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// EngineVar is the environment variable that restricts Main to one engine.
const EngineVar = "FIELDMARK_TEST_ENGINE"

// What Main passes to New, through the environment because programs that tests
// start need it as well.
const (
	serverVar   = "FIELDMARK_TEST_POSTGRES" // address of the server; empty while the engine is SQLite
	templateVar = "FIELDMARK_TEST_TEMPLATE" // a migrated database: a file, or a name on the server
)

// Alone names tests for one engine; Main skips them for the other.
type Alone struct {
	Engine string
	Tests  string // a pattern of test names, as go test -skip takes it
}

// Main runs the tests of m with each engine in turn and returns the exit status.
// Benchmarks, fuzzing and lists of tests use SQLite only, unless EngineVar says
// otherwise. Without PostgreSQL, Main prints a note and skips its turn; if CI is
// set, that is a failure.
func Main(m *testing.M, alone ...Alone) int {
	flag.Parse()
	// A pattern of the command line stays in effect beside those of alone.
	asked := flag.Lookup("test.skip").Value.String()
	engines := []string{SQLite, Postgres}
	if only := os.Getenv(EngineVar); only != "" {
		engines = strings.Split(only, ",")
	} else if once() { // a benchmark run twice prints two results under one name
		engines = engines[:1]
	}
	for _, engine := range engines {
		err := flag.Set("test.skip", skipPattern(asked, engine, alone))
		if err != nil {
			fmt.Fprintln(os.Stderr, "skip tests:", err)
			return 1
		}
		status := 0
		switch engine {
		case SQLite:
			status, err = withSQLite(m)
		case Postgres, Pooled, Partitioned:
			status, err = withPostgres(m, engine)
		default:
			err = fmt.Errorf("%s=%q; it may be %s, %s or %s", EngineVar, engine, SQLite, Postgres, Pooled)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "tests with %s: %v\n", engine, err)
			return 1
		}
		if status != 0 {
			fmt.Fprintf(os.Stderr, "these tests failed with %s; %s=%s runs only them\n", engine, EngineVar, engine)
			return status
		}
	}
	return 0
}

// skipPattern returns the pattern of the tests to skip for an engine.
func skipPattern(asked, engine string, alone []Alone) string {
	var patterns []string
	if asked != "" {
		patterns = append(patterns, asked)
	}
	for _, a := range alone {
		if a.Engine != engine {
			patterns = append(patterns, "^("+a.Tests+")$")
		}
	}
	return strings.Join(patterns, "|")
}

// once reports whether the binary runs something that must not run twice.
func once() bool {
	return slices.ContainsFunc([]string{"test.bench", "test.fuzz", "test.list"}, func(name string) bool {
		f := flag.Lookup(name)
		return f != nil && f.Value.String() != ""
	})
}

// withSQLite runs the tests of m with SQLite. The migrations run once, on a template that New copies: they
// take longer than most tests.
func withSQLite(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "fieldmark-sqlite")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "template.db")
	if err := migrated(store.Config{Path: path}); err != nil {
		return 0, err
	}
	if err := setting(serverVar, "", templateVar, path); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// Partitioned is the engine of EngineVar that runs all tests on divided tables. Main runs it only if asked.
const Partitioned = "partitioned"

// partitionStep is the size of their partitions: the events of any test fit into those that exist.
const partitionStep = 100_000

// withPostgres runs the tests of m with PostgreSQL, on one server for the package. The server copies the template
// database file by file, so no test waits for migrations. Without a server they are skipped, except in CI.
func withPostgres(m *testing.M, engine string) (int, error) {
	s, err := startServer(false)
	if errors.Is(err, errNoServer) && os.Getenv("CI") == "" {
		fmt.Fprintln(os.Stderr, "tests with postgres are skipped:", err)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer s.stop()
	const template = "template_fieldmark"
	if err := runCommand(s.address, `CREATE DATABASE `+template); err != nil {
		return 0, err
	}
	if err := migrated(store.Config{URL: within(s.address, template)}); err != nil {
		return 0, err
	}
	if engine == Partitioned {
		_, err := store.Partition(context.Background(), store.Config{URL: within(s.address, template)}, partitionStep,
			func(string) {})
		if err != nil {
			return 0, err
		}
	}
	if engine == Pooled {
		p, err := startPooler(s)
		if err != nil {
			return 0, err
		}
		defer p.stop()
		if err := setting(poolerVar, p.address); err != nil {
			return 0, err
		}
	}
	if err := setting(serverVar, s.address, templateVar, template); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// setting sets the environment variables from which New, and the child processes of a test, take the engine.
func setting(namesAndValues ...string) error {
	for pair := range slices.Chunk(namesAndValues, 2) {
		if err := os.Setenv(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

func migrated(cfg store.Config) error {
	_, err := store.Migrate(context.Background(), cfg)
	return err
}

// New creates an empty database for one test and removes it afterwards. It may
// be used in a synctest bubble: it starts nothing outside of it.
func New(t testing.TB) store.Config {
	t.Helper()
	_ = os.Getenv(EngineVar) // makes the go command include it in the key of cached test results
	template := os.Getenv(templateVar)
	if server := os.Getenv(serverVar); server != "" {
		address := database(t, server, template)
		if pooler := os.Getenv(poolerVar); pooler != "" {
			// The name of the database stays the same; only the host differs.
			address = pooled(pooler, address)
		}
		return store.Config{URL: address}
	}
	// The name has what must be escaped in a URL, as the path of an operator may.
	path := filepath.Join(t.TempDir(), "fieldmark 100%?.db")
	read := blank
	if template != "" {
		read = func() ([]byte, error) { return os.ReadFile(template) }
	}
	db, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, db, 0o600); err != nil {
		t.Fatal(err)
	}
	return store.Config{Path: path}
}

// Open opens a database for one test. At the end of the test it checks every
// rule of store.Store.Inspect and closes the database. If the test has closed
// it, there is no check.
func Open(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), cfg)
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	t.Cleanup(func() {
		// The driver has no error value for a closed database.
		if err := s.Ping(context.Background()); err != nil && strings.Contains(err.Error(), "database is closed") {
			return
		}
		if err := s.Check(context.Background()); err != nil {
			t.Errorf("the database is inconsistent at the end of the test: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return s
}

// blank is a migrated database for packages whose tests do not use Main:
// migrating one for each test would take most of their time.
var blank = sync.OnceValues(func() (db []byte, err error) {
	dir, err := os.MkdirTemp("", "fieldmark-sqlite")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "template.db")
	if err := migrated(store.Config{Path: path}); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// OwnPostgres starts a PostgreSQL server for one test and returns an empty
// database, for packages whose tests do not use Main.
func OwnPostgres(t testing.TB) store.Config { return own(t, false) }

// DurablePostgres is OwnPostgres with every commit on disk, as in production:
// for benchmarks.
func DurablePostgres(t testing.TB) store.Config { return own(t, true) }

// own starts a server for one test, which may stop it or break its connections without harm to other tests.
func own(t testing.TB, durable bool) store.Config {
	t.Helper()
	return store.Config{URL: begin(t, durable).address}
}

func begin(t testing.TB, durable bool) *server {
	t.Helper()
	s, err := startServer(durable)
	if errors.Is(err, errNoServer) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// Server is a PostgreSQL server of one test that can be stopped and started
// again.
type Server struct {
	// URL is its address.
	URL string

	t testing.TB
	s *server
}

// StartServer starts a server that is stopped when the test ends.
func StartServer(t testing.TB) *Server {
	t.Helper()
	s := begin(t, false)
	return &Server{URL: s.address, t: t, s: s}
}

// Outage stops the server at once, as a crash would, calls meanwhile, and starts
// it again with its data.
func (s *Server) Outage(meanwhile func()) {
	s.t.Helper()
	s.s.kill()
	meanwhile()
	if err := s.s.run(); err != nil {
		s.t.Fatal(err)
	}
}

// idle holds the URLs of emptied databases of ended tests: creating a new one
// takes a hundred times as long.
var idle = make(chan string, 16)

// database returns the URL of an empty database.
func database(t testing.TB, server, template string) string {
	t.Helper()
	var address string
	select {
	case address = <-idle:
	default:
		// PostgreSQL folds unquoted names to lower case.
		name := "t_" + strings.ToLower(rand.Text())
		if err := runCommand(server, `CREATE DATABASE `+name+` TEMPLATE `+template); err != nil {
			t.Fatalf("create a database: %v", err)
		}
		address = within(server, name)
	}
	t.Cleanup(func() {
		if err := runCommand(address, empty); err != nil {
			t.Errorf("empty a database: %v", err)
			return
		}
		select {
		case idle <- address:
		default: // there are enough; the server removes this one when it ends
		}
	})
	return address
}

// empty ends all other connections and deletes every row. A few rows are deleted
// faster than tables are truncated.
const empty = `SET session_replication_role = replica;
	SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> ` +
	`pg_backend_pid();
	DO $$ DECLARE r record; BEGIN
		FOR r IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version' LOOP
			EXECUTE format('DELETE FROM %I', r.tablename);
		END LOOP;
	END $$`

// Exec runs statements over a separate connection, which checks nothing that
// the store does.
func Exec(t testing.TB, cfg store.Config, statements ...string) {
	t.Helper()
	db := connect(t, cfg)
	defer db.Close()
	// The program under test may be writing.
	settings := []string{"PRAGMA busy_timeout = 30000", "PRAGMA synchronous = OFF"}
	if cfg.URL != "" {
		settings = []string{"SET synchronous_commit = off"}
	}
	run(t, db, append(settings, statements...)...)
}

// connect opens a single connection to a database.
func connect(t testing.TB, cfg store.Config) *sql.DB {
	t.Helper()
	driver, name := "sqlite", (&url.URL{Scheme: "file", Path: cfg.Path}).String()
	if cfg.URL != "" {
		driver, name = "pgx", cfg.URL
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	// A transaction that refuses writes lasts as long as its connection.
	db.SetMaxOpenConns(1) // statements share its settings and its transaction
	return db
}

func run(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%.300s: %v", statement, err)
		}
	}
}

// RefuseWrites makes a database refuse writes until allow is called: another process locks the
// file, or the server is read-only as a standby is.
func RefuseWrites(t testing.TB, cfg store.Config) (allow func()) {
	t.Helper()
	db := connect(t, cfg)
	refuse, end := []string{`PRAGMA busy_timeout = 30000`, `BEGIN IMMEDIATE`}, []string{`ROLLBACK`}
	if cfg.URL != "" {
		const others = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`
		set := `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = VALUE',
			current_database()); END $$`
		refuse = []string{strings.Replace(set, "VALUE", "on", 1), others}
		end = []string{strings.Replace(set, "VALUE", "off", 1), others}
	}
	run(t, db, refuse...)
	return func() {
		t.Helper()
		run(t, db, end...)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// RefuseClaims makes each transaction that leases a row of a table fail at its commit, when its statements have
// succeeded, until allow is called or the test ends: the row would refer to one that does not exist.
func RefuseClaims(t testing.TB, cfg store.Config, table string) (allow func()) {
	t.Helper()
	trigger := `CREATE TRIGGER refuse_claims AFTER UPDATE ON ` + table + ` FOR EACH ROW
		WHEN (NEW.lease_owner IS NOT NULL) `
	refuse := []string{`CREATE TABLE refused_claim (id BIGINT PRIMARY KEY, other BIGINT NOT NULL
		REFERENCES refused_claim (id) DEFERRABLE INITIALLY DEFERRED)`}
	end := []string{`PRAGMA busy_timeout = 30000`, `DROP TRIGGER refuse_claims`, `DROP TABLE refused_claim`}
	const insert = `INSERT INTO refused_claim (id, other) SELECT COUNT(*) + 1, 0 FROM refused_claim`
	if cfg.URL == "" {
		refuse = append(refuse, trigger+`BEGIN `+insert+`; END`)
	} else {
		refuse = append(refuse, `CREATE FUNCTION refuse_claim() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN `+insert+`; RETURN NULL; END $$`, trigger+`EXECUTE FUNCTION refuse_claim()`)
		end = []string{`DROP TRIGGER refuse_claims ON ` + table, `DROP FUNCTION refuse_claim`,
			`DROP TABLE refused_claim`}
	}
	Exec(t, cfg, refuse...)
	allow = sync.OnceFunc(func() {
		t.Helper()
		db := connect(t, cfg)
		defer db.Close()
		for _, statement := range end {
			// The context of a test that failed has ended.
			if _, err := db.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
		}
	})
	t.Cleanup(allow) // databases of a server are used again
	return allow
}

// Dump returns everything a database stores, as someone with access to its files
// would read it: for tests that secrets are not stored in the clear.
func Dump(t testing.TB, cfg store.Config) []byte {
	t.Helper()
	var all []byte
	if cfg.URL == "" {
		// What was committed last is in the write-ahead log only.
		for _, path := range []string{cfg.Path, cfg.Path + "-wal"} {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
		return all
	}
	db, err := sql.Open("pgx", cfg.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const everything = `SELECT COALESCE(string_agg(query_to_xml('SELECT * FROM ' || quote_ident(tablename), true, ` +
		`true, '')::text, ''), '')
		FROM pg_tables WHERE schemaname = 'public'`
	if err := db.QueryRow(everything).Scan(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Engine returns the name of the current engine.
func Engine() string {
	if os.Getenv(serverVar) != "" {
		return Postgres
	}
	return SQLite
}

// within returns the URL of a database on a server.
func within(server, database string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic("BUG: the server's address is " + server)
	}
	u.Path = "/" + database
	return u.String()
}

// runCommand runs one command on the server over a new connection.
func runCommand(server, command string) error {
	db, err := sql.Open("pgx", server)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(context.Background(), command)
	return err
}
