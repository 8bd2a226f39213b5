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

// Rows that no worker would ever find, and changes without their event, break the rule about them and no other.
func TestRulesOfQueues(t *testing.T) {
	cfg := fresh(t)
	s := open(t, cfg)
	broken := func() (names []string) {
		t.Helper()
		report, err := s.Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report {
			if len(f.Broken) > 0 {
				names = append(names, f.Rule)
			}
		}
		return names
	}
	if names := broken(); len(names) > 0 {
		t.Fatalf("a new database breaks %q", names)
	}
	db := raw(t, cfg)
	if _, err := db.Exec(`INSERT INTO brand (slug, name, url, niche, language, description, public, created_at,
		updated_at) VALUES ('acme', 'Acme', 'https://acme.example/', 'tools', 'en', '', 1, 1, 1)`); err != nil {
		t.Fatal(err)
	}
	const claim = `INSERT INTO claim (id, brand, state, secret, network, body, created_at, due_at)
		VALUES ('c', 'acme', 'verified', '', '', '{}', 1, NULL)`
	for _, tt := range []struct{ text, table, want string }{
		{`INSERT INTO dispute (id, brand, signal, kind, state, body, email, passages, opened_at, decided_by, answer)
			VALUES ('d', 'acme', 's', 'wrong', 'rechecking', '', '', '[]', 1, '', '')`, "dispute",
			"a dispute is rechecked by an audit that is queued or runs"},
		{claim, "claim", "an open claim is checked again"},
		{`INSERT INTO site_check (id, url, host, state, created_at, expires_at) VALUES ('k', '', '', 'queued', 1, 1)`,
			"site_check", "a check of a site is due until it has ended"},
		{`INSERT INTO mail_address (id, brand, account, address, state, error, created_at, after_event, attempts)
			VALUES ('m', 'acme', '', '', 'confirmed', '', 1, 0, 0)`, "mail_address",
			"mail to an address is due until it has ended"},
		{`INSERT INTO brand_request (id, brand, account, kind, state, body, requested_at, decided_by, answer)
			VALUES ('r', 'acme', '', 'profile', 'replaced', '{}', 1, '', '')`, "brand_request",
			"a request of an owner is pending or decided"},
		{`INSERT INTO access_request (id, hash, network, contact, state, body, created_at, ends_at)
			VALUES ('a', '', '', '', 'pending', '{}', 1, 2)`, "access_request",
			"every request for an API key has its event"},
		{`INSERT INTO intake (id, account, key_id, state, source, external_id, missions, code, detail, accepted_at,
			decided_at) VALUES ('i', '', '', 'refused', '', '', '[]', '', '', 1, 1)`, "intake",
			"every refused request that an edge accepted has its event"},
		{`INSERT INTO score_change (slug, event) VALUES ('acme', 7)`, "score_change",
			"a changed score is of an event in the log"},
	} {
		if _, err := db.Exec(tt.text); err != nil {
			t.Fatalf("%s: %v", tt.text, err)
		}
		if names := broken(); !slices.Equal(names, []string{tt.want}) {
			t.Errorf("%s breaks %q, want %q", tt.table, names, tt.want)
		}
		if _, err := db.Exec(`DELETE FROM ` + tt.table); err != nil {
			t.Fatal(err)
		}
	}
}
