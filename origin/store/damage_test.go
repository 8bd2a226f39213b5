package store_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/store"
)

// read reads one value from a database directly, without the store.
func read(t testing.TB, cfg store.Config, text string) (v int64) {
	t.Helper()
	if err := raw(t, cfg).QueryRow(text).Scan(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// The check of a damaged file continues after the first rule that reads damaged data.
func TestDamageIsReportedByRule(t *testing.T) {
	cfg := fresh(t)
	s := open(t, cfg)
	if err := s.Write(t.Context(), func(ctx context.Context,
		tx *store.Tx) error {
		return appendEvent(ctx, tx, "e1")
	}); err != nil {
		t.Fatal(err)
	}
	whole, err := s.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw(t, cfg).Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		t.Fatal(err)
	}
	page, size := read(t, cfg, `SELECT rootpage FROM sqlite_master WHERE name = 'event'`), read(t, cfg,
		`PRAGMA page_size`)
	f, err := os.OpenFile(cfg.Path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xff}, int(size)), (page-1)*size); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := open(t, cfg)
	report, err := damaged.Inspect(t.Context())
	if err != nil || len(report) != len(whole) {
		t.Fatalf("a damaged file: %d of %d rules, %v", len(report), len(whole), err)
	}
	broken, told := 0, false
	for _, f := range report {
		if len(f.Broken) > 0 {
			broken++
			told = told || strings.Contains(strings.Join(f.Broken, " "), "restore a backup")
		}
	}
	if broken == 0 || broken == len(report) || !told {
		t.Errorf("%d of %d rules are broken, advice %v; want some, and what to do", broken, len(report), told)
	}
}

// A program lists the migrations in a database that only a newer program has.
func TestStepsOfANewerProgram(t *testing.T) {
	cfg := fresh(t)
	if _, err := store.Migrate(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	before, err := store.Steps(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := raw(t, cfg)
	if _, err := db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, $1)`, true); err != nil {
		t.Fatal(err)
	}
	after, err := store.Steps(t.Context(), cfg)
	if want := append(slices.Clone(before), store.Step{Version: 99999}); err != nil || !slices.Equal(after, want) {
		t.Errorf("steps %+v, %v; want %+v", after, err, want)
	}
}
