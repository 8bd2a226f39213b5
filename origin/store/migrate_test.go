package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
)

// raw opens a database directly, without the store.
func raw(t testing.TB, cfg store.Config) *sql.DB {
	t.Helper()
	driver, name := "sqlite", cfg.Path
	if cfg.URL != "" {
		driver, name = "pgx", cfg.URL
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func lines(t testing.TB, db *sql.DB, question string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), question)
	if err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// Both schemas are written by hand. They must create the same tables.
func TestEnginesHaveOneSchema(t *testing.T) {
	file := store.Config{Path: filepath.Join(t.TempDir(), "record.db")}
	if _, err := store.Migrate(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	lite, pg := raw(t, file), raw(t, storetest.New(t))
	for what, questions := range map[string][2]string{
		"columns": {
			`SELECT m.name || '.' || p.name || CASE WHEN p.type IN ('INTEGER', 'BIGINT') THEN ' number' WHEN p.type ` +
				`= 'BLOB' THEN ' bytes'
				ELSE ' ' || lower(p.type) END || CASE WHEN p."notnull" + p.pk > 0 THEN ' required' ELSE '' END
				FROM sqlite_master m JOIN pragma_table_xinfo(m.name) p
				WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name <> 'goose_db_version' ORDER BY 1`,
			`SELECT table_name || '.' || column_name || CASE data_type WHEN 'bigint' THEN ' number' WHEN 'bytea' ` +
				`THEN ' bytes'
				ELSE ' ' || data_type END || CASE is_nullable WHEN 'NO' THEN ' required' ELSE '' END COLLATE "C"
				FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> 'goose_db_version' ` +
				`ORDER BY 1`,
		},
		"indexes": {
			`SELECT i.tbl_name || ' ' || i.name || ' (' || (SELECT group_concat(c.name, ', ') FROM ` +
				`pragma_index_info(i.name) c) || ')'
				FROM sqlite_master i WHERE i.type = 'index' AND i.sql IS NOT NULL ORDER BY 1`,
			`SELECT tablename || ' ' || indexname || ' ' || substring(indexdef from '\([^)]*\)') COLLATE "C" FROM ` +
				`pg_indexes
				WHERE schemaname = 'public' AND indexname NOT LIKE '%\_pkey' AND indexname NOT LIKE '%\_key' ORDER ` +
				`BY 1`,
		},
		"references": {
			`SELECT m.name || '.' || f."from" || ' ' || f."table" FROM sqlite_master m JOIN ` +
				`pragma_foreign_key_list(m.name) f ORDER BY 1`,
			`SELECT (conrelid::regclass::text || '.' || a.attname || ' ' || confrelid::regclass::text) COLLATE "C" ` +
				`FROM pg_constraint c
				JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1] WHERE contype = 'f' ORDER ` +
				`BY 1`,
		},
	} {
		if diff := cmp.Diff(lines(t, lite, questions[0]), lines(t, pg, questions[1])); diff != "" {
			t.Errorf("%s of SQLite (-) and PostgreSQL (+):\n%s", what, diff)
		}
	}
	// With any other collation, the order of lists and cursors would differ from Go's.
	if other := lines(t, pg, `SELECT table_name || '.' || column_name FROM information_schema.columns WHERE `+
		`table_schema = 'public'
		AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C' AND table_name <> `+
		`'goose_db_version'`); other != "" {
		t.Errorf("columns that are not compared byte by byte:\n%s", other)
	}
}

// fresh returns the configuration of a database without tables.
func fresh(t testing.TB) store.Config {
	t.Helper()
	if storetest.Engine() == storetest.SQLite {
		return store.Config{Path: filepath.Join(t.TempDir(), "record.db")}
	}
	cfg := storetest.New(t)
	if _, err := raw(t, cfg).ExecContext(t.Context(), `CREATE SCHEMA fresh`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := raw(t, cfg).Exec(`DROP SCHEMA fresh CASCADE`); err != nil {
			t.Error(err)
		}
	})
	cfg.URL += "&search_path=fresh"
	return cfg
}

// TestMigrateRepeatedAlerts: version 12 incremented a mission's version for a repeated
// alert without appending an event. After the migration its databases pass the check,
// new stamps are larger than all existing ones, and calendars continue their SEQUENCE.
func TestMigrateRepeatedAlerts(t *testing.T) {
	cfg := fresh(t)
	if err := store.MigrateTo(t.Context(), cfg, 12); err != nil {
		t.Fatal(err)
	}
	const newest = 4_102_444_800_000_000 // in 2100
	db := raw(t, cfg)
	for _, text := range []string{
		`INSERT INTO log (name, id, number, at) VALUES ('main', 'log_1', 1, 1000)`,
		`INSERT INTO account (id, created_at) VALUES ('a', 1)`,
		`INSERT INTO mission (id, account, source_key, external_id, fingerprint, request, status, held, created_at, ` +
			`updated_at, version, priority, heard)
			VALUES ('msn_1', 'a', 'am', 'k-1', 'sha256:0', '{}', 'NEW', '', 1, 4102444800000000, 5, 'MEDIUM', 3)`,
		`INSERT INTO event (number, id, type, at, subject, brand, tags, data) VALUES (1, 'evt_1', 'mission.created',` +
			` 1, 'msn_1', '', '[]', '{}'),
			(2, 'evt_2', 'mission.updated', 1, 'msn_1', '', '[]', '{}')`,
		`UPDATE log SET number = 2`,
	} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	s := open(t, cfg)
	check(t, s)
	err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		m, err := tx.Mission(ctx, "msn_1")
		if err != nil {
			return err
		}
		stamp, err := tx.Stamp(ctx, "")
		if m.Sequence != 1 || stamp <= newest {
			t.Errorf("SEQUENCE %d, stamp %d; want 1 and later than %d", m.Sequence, stamp, newest)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `UPDATE mission SET heard = 2`); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "one event per version: not msn_1") {
		t.Errorf("check with more versions than alerts and events account for: %v", err)
	}
}

func TestMigrateAtOnce(t *testing.T) {
	cfg := fresh(t)
	if steps, err := store.Steps(t.Context(), cfg); err != nil || len(steps) < 2 || !steps[0].AppliedAt.IsZero() ||
		steps[0].Name != "record" {
		t.Fatalf("steps of a new record: %+v, %v; want record and others, pending", steps, err)
	}
	cfg.NoMigrate = true
	if s, err := store.Open(t.Context(), cfg); !errors.Is(err, store.ErrOldSchema) {
		t.Fatalf("open without migrating: %v, %v; want %v", s, err, store.ErrOldSchema)
	}
	cfg.NoMigrate = false
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			s, err := store.Open(t.Context(), cfg)
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	all.Wait()
	steps, err := store.Steps(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if step.AppliedAt.IsZero() {
			t.Errorf("%+v is pending", step)
		}
	}
	if done, err := store.Migrate(t.Context(), cfg); len(done) != 0 || err != nil {
		t.Errorf("migrate again: %+v, %v; want nothing done", done, err)
	}
	check(t, open(t, cfg))
}

// TestOpenDuringMigration opens a file while another process holds its lock for longer than writes wait: a
// migration of a large database does.
func TestOpenDuringMigration(t *testing.T) {
	if storetest.Engine() == storetest.Postgres {
		return // its migrations have a lock of their own
	}
	const migration = 6 * time.Second
	for _, version := range []int64{0, 1} {
		t.Run(fmt.Sprint("from version ", version), func(t *testing.T) {
			t.Parallel()
			cfg := store.Config{Path: filepath.Join(t.TempDir(), "record.db")}
			if version > 0 {
				if err := store.MigrateTo(t.Context(), cfg, version); err != nil {
					t.Fatal(err)
				}
			}
			tx, err := raw(t, store.Config{Path: "file:" + cfg.Path + "?_txlock=immediate"}).BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(migration, func() {
				if err := tx.Rollback(); err != nil {
					t.Error(err)
				}
			})
			check(t, open(t, cfg))
			if err := tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
				t.Errorf("the store was opened before the migration ended: %v", err)
			}
		})
	}
}

// During a deployment an older program opens a database with the schema of a newer one.
func TestOpenNewerSchema(t *testing.T) {
	cfg := fresh(t)
	check(t, open(t, cfg))
	db := raw(t, cfg)
	for _, change := range []string{`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9001, %s)`,
		`ALTER TABLE mission ADD COLUMN later TEXT`,
		`CREATE TABLE later (id TEXT PRIMARY KEY)`} {
		yes := "1"
		if cfg.URL != "" {
			yes = "true"
		}
		if strings.Contains(change, "%s") {
			change = fmt.Sprintf(change, yes)
		}
		if _, err := db.ExecContext(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	check(t, open(t, cfg))
}
