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

// The engines, as EngineVar names them.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// EngineVar is the environment variable that keeps Main to one engine.
const EngineVar = "FIELDMARK_TEST_ENGINE"

// What Main tells New, through the environment because started programs must
// hear it too.
const (
	serverVar   = "FIELDMARK_TEST_POSTGRES" // address of the server; empty while the engine is SQLite
	templateVar = "FIELDMARK_TEST_TEMPLATE" // a migrated record: a file, or the name of a database
)

// Alone names tests that are about one engine; Main leaves them out of the
// other's turn.
type Alone struct {
	Engine string
	Tests  string // a pattern of test names, as go test -skip takes it
}

// Main runs the tests of m over each engine in turn and returns the exit status.
// Benchmarks, fuzzing and lists of tests run over SQLite alone unless EngineVar
// says otherwise. A machine without PostgreSQL leaves its turn out with a word,
// but not where CI is set: there it is a failure.
func Main(m *testing.M, alone ...Alone) int {
	flag.Parse()
	asked := flag.Lookup("test.skip").Value.String()
	engines := []string{SQLite, Postgres}
	if only := os.Getenv(EngineVar); only != "" {
		engines = strings.Split(only, ",")
	} else if once() {
		engines = engines[:1]
	}
	for _, engine := range engines {
		err := flag.Set("test.skip", leftOut(asked, engine, alone))
		if err != nil {
			fmt.Fprintln(os.Stderr, "leave tests out:", err)
			return 1
		}
		status := 0
		switch engine {
		case SQLite:
			status, err = overSQLite(m)
		case Postgres:
			status, err = overPostgres(m)
		default:
			err = fmt.Errorf("%s=%q; it may be %s or %s", EngineVar, engine, SQLite, Postgres)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "tests over %s: %v\n", engine, err)
			return 1
		}
		if status != 0 {
			fmt.Fprintf(os.Stderr, "these tests failed over %s; %s=%s runs them alone\n", engine, EngineVar, engine)
			return status
		}
	}
	return 0
}

// leftOut is the pattern of the tests an engine's turn does without.
func leftOut(asked, engine string, alone []Alone) string {
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

// once reports whether the binary was called for something that is not to be
// done twice.
func once() bool {
	return slices.ContainsFunc([]string{"test.bench", "test.fuzz", "test.list"}, func(name string) bool {
		f := flag.Lookup(name)
		return f != nil && f.Value.String() != ""
	})
}

func overSQLite(m *testing.M) (int, error) {
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

func overPostgres(m *testing.M) (int, error) {
	s, err := startServer(false)
	if errors.Is(err, errNoServer) && os.Getenv("CI") == "" {
		fmt.Fprintln(os.Stderr, "tests over postgres are left out:", err)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer s.stop()
	const template = "template_fieldmark"
	if err := ask(s.address, `CREATE DATABASE `+template); err != nil {
		return 0, err
	}
	if err := migrated(store.Config{URL: within(s.address, template)}); err != nil {
		return 0, err
	}
	if err := setting(serverVar, s.address, templateVar, template); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

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

// New makes an empty record for one test, which it is gone with. It may be used
// inside a bubble: nothing of it is older than the bubble.
func New(t testing.TB) store.Config {
	t.Helper()
	_ = os.Getenv(EngineVar) // the go command notes what tests read, and Main read it too early to be noted
	template := os.Getenv(templateVar)
	if server := os.Getenv(serverVar); server != "" {
		return store.Config{URL: database(t, server, template)}
	}
	path := filepath.Join(t.TempDir(), "record 100%?.db")
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

// Open opens a record for one test. At the end of the test every rule of
// store.Store.Inspect must hold, and the record is closed. A test may close it
// earlier, and does without the check then.
func Open(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), cfg)
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	t.Cleanup(func() {
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

// blank is a migrated record for packages whose tests are not run by Main: to
// migrate one for each test would take most of their time.
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

// OwnPostgres starts a PostgreSQL for one test alone and returns an empty
// database of it, for packages whose tests are not run by Main.
func OwnPostgres(t testing.TB) store.Config { return own(t, false) }

// DurablePostgres is OwnPostgres with every commit on disk, as in production:
// for measurements.
func DurablePostgres(t testing.TB) store.Config { return own(t, true) }

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

// Server is a PostgreSQL of one test alone that may be away for a while.
type Server struct {
	// URL is its address.
	URL string

	t testing.TB
	s *server
}

// StartServer starts one; it ends with the test.
func StartServer(t testing.TB) *Server {
	t.Helper()
	s := begin(t, false)
	return &Server{URL: s.address, t: t, s: s}
}

// Away ends the server at once, as a crash would, calls meanwhile, and starts it
// again over what it had.
func (s *Server) Away(meanwhile func()) {
	s.t.Helper()
	s.s.halt()
	meanwhile()
	if err := s.s.run(); err != nil {
		s.t.Fatal(err)
	}
}

// idle holds the addresses of databases that ended tests left behind, emptied:
// making one anew costs a hundred times as much.
var idle = make(chan string, 16)

// database returns the address of an empty database.
func database(t testing.TB, server, template string) string {
	t.Helper()
	var address string
	select {
	case address = <-idle:
	default:
		name := "t_" + strings.ToLower(rand.Text())
		if err := ask(server, `CREATE DATABASE `+name+` TEMPLATE `+template); err != nil {
			t.Fatalf("make a database: %v", err)
		}
		address = within(server, name)
	}
	t.Cleanup(func() {
		if err := ask(address, empty); err != nil {
			t.Errorf("empty a database: %v", err)
			return
		}
		select {
		case idle <- address:
		default: // enough of them; the server takes this one with it when it ends
		}
	})
	return address
}

// empty ends whoever is still connected and removes every row. Few rows are
// deleted faster than tables are truncated.
const empty = `SET session_replication_role = replica;
	SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
	DO $$ DECLARE r record; BEGIN
		FOR r IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version' LOOP
			EXECUTE format('DELETE FROM %I', r.tablename);
		END LOOP;
	END $$`

// Kept returns everything a record keeps, in the form somebody who got hold of
// it would read.
func Kept(t testing.TB, cfg store.Config) []byte {
	t.Helper()
	var all []byte
	if cfg.URL == "" {
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
	const everything = `SELECT COALESCE(string_agg(query_to_xml('SELECT * FROM ' || quote_ident(tablename), true, true, '')::text, ''), '')
		FROM pg_tables WHERE schemaname = 'public'`
	if err := db.QueryRow(everything).Scan(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Engine names the engine whose turn it is.
func Engine() string {
	if os.Getenv(serverVar) != "" {
		return Postgres
	}
	return SQLite
}

// within returns the address of a database on a server.
func within(server, database string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic("BUG: the server's address is " + server)
	}
	u.Path = "/" + database
	return u.String()
}

// ask runs one command on the server, over a connection that is gone afterwards.
func ask(server, command string) error {
	db, err := sql.Open("pgx", server)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(context.Background(), command)
	return err
}
