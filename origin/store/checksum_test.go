package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// brokenSums returns the findings of Inspect about events and their checksums.
func brokenSums(t *testing.T, s *store.Store) []string {
	t.Helper()
	report, err := s.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report {
		if f.Rule == "every event matches its checksum" {
			return f.Broken
		}
	}
	t.Fatal("no rule is about checksums of events")
	return nil
}

// wantDamage checks that a report names one event and the command to run.
func wantDamage(t *testing.T, input string, report []string, number int) {
	t.Helper()
	if len(report) != 1 || !strings.HasPrefix(report[0], fmt.Sprintf("event %d (", number)) ||
		!strings.Contains(report[0], "restore a backup") {
		t.Errorf("%s: the check reports %q; want event %d, and to restore a backup", input, report, number)
	}
}

// damagedBackup checks that a backup of a damaged file reports the damage and keeps the
// copy with every event. It does not apply to PostgreSQL, which has its own backup tools.
func damagedBackup(t *testing.T, input string, cfg store.Config, number int) {
	t.Helper()
	if cfg.URL != "" {
		return
	}
	to := filepath.Join(t.TempDir(), "copy.db")
	err := store.Backup(t.Context(), cfg, to)
	damage, ok := errors.AsType[*store.DamagedError](err)
	if !ok {
		t.Errorf("%s: backup: %v; want a DamagedError", input, err)
		return
	}
	wantDamage(t, input+", by the backup", damage.Events, number)
	s := open(t, store.Config{Path: to})
	wantDamage(t, input+", in the copy", brokenSums(t, s), number)
}

// appendMany appends events 1 to n with a variety of JSON values and texts.
func appendMany(t *testing.T, s *store.Store, n int) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for i := 1; i <= n; i++ {
			e := store.Event{Subject: fmt.Sprint("subject ", i), Account: "acc_1", Trace: "00-aa-bb-01",
				Event: fieldmark.Event{
					ID: fmt.Sprint("evt_", i), Type: fieldmark.EventBrandChanged, Time: fieldmark.AtMicros(int64(i)),
					Brand: "größe",
					Tags:  []fieldmark.Tag{"a", "b"},
					Data:  []byte(`{"title":"the fan <&> \u0000 of unit ` + fmt.Sprint(i) + ` 😀"}`),
				}}
			if err := tx.AppendEvent(ctx, &e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Every column of an event is covered by its checksum.
func TestChecksumOfEvents(t *testing.T) {
	cfg := fresh(t)
	s := open(t, cfg)
	appendMany(t, s, 3)
	check(t, s)
	db := raw(t, cfg)
	for _, column := range []string{"id", "type", "subject", "brand", "tags", "data", "account", "trace", "at", "sum"} {
		changed := column + " || 'x'"
		if column == "at" || column == "sum" {
			changed = column + " + 1"
		}
		if _, err := db.Exec(`CREATE TABLE before AS SELECT ` + column + ` FROM event WHERE number = 2`); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(`UPDATE event SET ` + column + ` = ` + changed + ` WHERE number = 2`); err != nil {
			t.Fatal(err)
		}
		wantDamage(t, column, brokenSums(t, s), 2)
		damagedBackup(t, column, cfg, 2)
		if _, err := db.Exec(`UPDATE event SET ` + column + ` = (SELECT ` + column +
			` FROM before) WHERE number = 2`); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(`DROP TABLE before`); err != nil {
			t.Fatal(err)
		}
	}
	check(t, s)
	// Events from before the introduction of checksums have none and are not checked.
	if _, err := db.Exec(`UPDATE event SET sum = NULL, brand = 'other' WHERE number = 2`); err != nil {
		t.Fatal(err)
	}
	check(t, s)
}

// Inspect reads the log in pages and reports a limited number of events.
func TestChecksumsOfManyEvents(t *testing.T) {
	cfg := fresh(t)
	s := open(t, cfg)
	appendMany(t, s, 2001) // two pages and an event
	check(t, s)
	db := raw(t, cfg)
	if _, err := db.Exec(`UPDATE event SET data = '{}' WHERE number = 2001`); err != nil {
		t.Fatal(err)
	}
	wantDamage(t, "the last event", brokenSums(t, s), 2001)
	if _, err := db.Exec(`UPDATE event SET data = '{}'`); err != nil {
		t.Fatal(err)
	}
	if report := brokenSums(t, s); len(report) != 100 {
		t.Errorf("2001 damaged events: %d are reported, want the first 100", len(report))
	}
	if cfg.URL == "" {
		err := store.Backup(t.Context(), cfg, filepath.Join(t.TempDir(), "copy.db"))
		if n := strings.Count(fmt.Sprint(err), "restore a backup"); n != 10 {
			t.Errorf("a backup of 2001 damaged events names %d, want 10: %v", n, err)
		}
	}
}

// Inspect detects a single flipped bit in the file, as a failing disk causes it.
func TestFlippedBitIsFound(t *testing.T) {
	cfg := fresh(t)
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	appendMany(t, s, 3)
	if err := s.Close(); err != nil { // moves the write-ahead log into the file
		t.Fatal(err)
	}
	file, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(file, []byte("of unit 2"))
	if at < 0 {
		t.Fatal("the file has no event 2")
	}
	file[at] ^= 0x08
	if err := os.WriteFile(cfg.Path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	wantDamage(t, "a flipped bit", brokenSums(t, open(t, cfg)), 2)
	damagedBackup(t, "a flipped bit", cfg, 2)
}
