package origin_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/store"
)

func ada(ctx context.Context) context.Context {
	return auditlog.WithActor(ctx, auditlog.Actor{Kind: fieldmark.ActorPerson, Name: "ada", Address: "192.0.2.1",
		Agent: "a\x00\xffb", Request: "req_1"})
}

// tamper executes statements as an attacker with access to the database would.
func tamper(t *testing.T, at store.Config, statements ...string) {
	t.Helper()
	driver, source := "pgx", at.URL
	if at.Path != "" {
		driver, source = "sqlite", "file:"+(&url.URL{Path: at.Path}).EscapedPath()
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func verify(t *testing.T, w *fixture, kept fieldmark.AuditVerdict) fieldmark.AuditVerdict {
	t.Helper()
	v, err := w.AuditLog.Verify(t.Context(), kept)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAuditLog(t *testing.T) {
	w := newFixture(t)
	createKey(t, w, intake) // without an actor: by the program itself
	ctx := ada(t.Context())
	if v := verify(t, w, fieldmark.AuditVerdict{}); v.Entries != 0 || v.Broken != 0 {
		t.Fatalf("the log of nobody: %+v", v)
	}
	if _, _, err := w.Access.Accounts.Put(ctx, "acme", fieldmark.AccountRequest{Name: "Acme"}); err != nil {
		t.Fatal(err)
	}
	k, err := w.Access.Keys.Create(ctx, "acme", intake)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Access.Keys.Revoke(ctx, k.ID, "leaked"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Access.Keys.Revoke(ctx, k.ID, "again"); err != nil {
		t.Fatal(err)
	}
	_, err = w.Access.Keys.Create(ctx, "nobody", intake)
	wantCode(t, "a key for nobody", err, fieldmark.CodeNotFound)
	e, err := w.Webhooks.CreateEndpoint(ctx, "acme", fieldmark.EndpointRequest{URL: "https://127.0.0.1:9/x",
		EndpointSettings: fieldmark.EndpointSettings{Headers: map[string]string{"X-Secret": "hunter2-in-a-header"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AuditLog.AppendIfNone(ctx, "something", "else"); err != nil { // has an entry
		t.Fatal(err)
	}
	if err := w.AuditLog.AppendIfNone(ada(t.Context()), "something", "else"); err != nil {
		t.Fatal(err)
	}
	log, err := w.AuditLog.List(t.Context(), 0, auditlog.Filter{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var acts []string
	for _, entry := range log {
		acts = append(acts, entry.Act)
		if text := string(entry.Before) + string(entry.After); strings.Contains(text, k.Token) ||
			strings.Contains(text, e.Secret) || strings.Contains(text, "hunter2") {
			t.Errorf("entry %d holds a secret: %s", entry.Number, text)
		}
		if entry.Actor != "ada" || entry.Address != "192.0.2.1" || entry.Agent != "ab" || entry.Request != "req_1" {
			t.Errorf("entry %d is by %+v", entry.Number, entry)
		}
	}
	if got, want := strings.Join(acts,
		" "), "something webhook.created api_key.revoked api_key.created account.created"; got != want {
		t.Fatalf("acts %q, want %q", got, want)
	}
	if before, after := string(log[2].Before), string(log[2].After); strings.Contains(before, "leaked") ||
		!strings.Contains(after, `"revokedReason":"leaked"`) {
		t.Errorf("revoked from %s to %s", before, after)
	}
	if mine, err := w.AuditLog.List(t.Context(), 0, auditlog.Filter{Actor: "ada", Target: k.ID}, 100); len(mine) != 2 ||
		err != nil {
		t.Errorf("%d entries about the key, %v; want 2", len(mine), err)
	}
	whole := verify(t, w, fieldmark.AuditVerdict{})
	if whole.Entries != 5 || whole.Broken != 0 || whole.Sum != log[0].Sum {
		t.Errorf("verdict %+v, want 5 entries that hold", whole)
	}
}

// TestAuditLogFilters: entries of earlier versions are found and shown under today's names, and the chain still
// holds: their rows do not change.
func TestAuditLogFilters(t *testing.T) { synctest.Test(t, testAuditLogFilters) } // within one day

func testAuditLogFilters(t *testing.T) {
	w := newFixture(t)
	for _, e := range []struct{ actor, action, target string }{
		{"ada", "key.create", "key_1"}, {"ada", "api_key.created", "key_2"}, {"bob", "endpoint.rotate_secret", "whk_1"},
		{"ada", "api_key.revoked", "key_1"}, {"ada", "unheard.of", "=1+1"},
	} {
		ctx := auditlog.WithActor(t.Context(), auditlog.Actor{Kind: fieldmark.ActorPerson, Name: e.actor})
		for range 2 { // one of several acts of a request is not lost
			if err := w.AuditLog.AppendAlone(ctx, e.action, e.target); err != nil {
				t.Fatal(err)
			}
		}
	}
	day := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
	for _, tt := range []struct {
		query string
		want  string
	}{
		{"", "10 9 8 7 6 5 4 3 2 1"},
		{"action=api_key.created", "4 3 2 1"},
		{"action=api_key.*", "8 7 4 3 2 1"},
		{"action=webhook.secret_rotated&actor=bob", "6 5"},
		{"action=key.create", "4 3 2 1"},
		{"action=%25", ""},
		{"target=key_1", "8 7 2 1"},
		{"actor=ada&action=api_key.*&target=key_1", "8 7 2 1"},
		{"from=" + day(-1) + "&to=" + day(1), "10 9 8 7 6 5 4 3 2 1"},
		{"to=" + day(-1), ""},
		{"from=" + day(1), ""},
	} {
		query, err := url.ParseQuery(tt.query)
		if err != nil {
			t.Fatal(err)
		}
		f, err := auditlog.ParseFilter(query.Get)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := w.AuditLog.List(t.Context(), 0, f, 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, fmt.Sprint(e.Number))
			if e.Act == "key.create" || e.Act == "endpoint.rotate_secret" {
				t.Errorf("%s: entry %d is shown as %s", tt.query, e.Number, e.Act)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got entries %v, want %s", tt.query, got, tt.want)
		}
	}
	for query, pointer := range map[string]string{"from=yesterday": "?from", "to=2026-13-01": "?to",
		"from=2026-02-02&to=2026-02-01": "?to"} {
		values, _ := url.ParseQuery(query)
		_, err := auditlog.ParseFilter(values.Get)
		if e := fieldmark.AsError(err); err == nil || len(e.Fields) != 1 || e.Fields[0].Pointer != pointer {
			t.Errorf("%s: %v, want an error about %s", query, err, pointer)
		}
	}
	if v := verify(t, w, fieldmark.AuditVerdict{}); v.Entries != 10 || v.Broken != 0 {
		t.Errorf("verdict %+v, want 10 entries that hold", v)
	}
	var out bytes.Buffer
	export := func(lines []byte) error { _, err := out.Write(lines); return err }
	if err := w.AuditLog.ExportCSV(t.Context(), auditlog.Filter{Actor: "ada"}, export); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasPrefix(text, "number,at,kind,actor,action,target,") ||
		strings.Count(text, "\r\n") != 9 {
		t.Errorf("not nine lines of RFC 4180:\n%s", text)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if first, last := rows[1], rows[8]; first[5] != "'=1+1" || first[4] != "unheard.of" ||
		last[4] != "api_key.created" ||
		last[5] != "key_1" {
		t.Errorf("the first line is %q and the last %q", first, last)
	}
}

func TestAuditLogShowsTampering(t *testing.T) {
	for _, test := range []struct {
		does   string
		broken int64
	}{
		{`UPDATE audit_log SET actor = 'eve' WHERE number = 2`, 2},
		{`UPDATE audit_log SET becomes = '' WHERE number = 1`, 1},
		{`UPDATE audit_log SET at = at + 1000 WHERE number = 3`, 3},
		{`DELETE FROM audit_log WHERE number = 2`, 2},
		{`DELETE FROM audit_log WHERE number = 1`, 1},
		{`DELETE FROM audit_log WHERE number = 4`, 4}, // detected by a verdict that was kept
		{`INSERT INTO audit_log SELECT 5, at, kind, actor, act, target, was, becomes, address, agent, request, sum ` +
			`FROM audit_log WHERE number = 4`, 5},
	} {
		w := newFixture(t)
		for i := range 4 {
			if _, _, err := w.Access.Accounts.Put(ada(t.Context()), fmt.Sprint("a", i),
				fieldmark.AccountRequest{Name: "A"}); err != nil {
				t.Fatal(err)
			}
		}
		kept := verify(t, w, fieldmark.AuditVerdict{})
		if kept.Broken != 0 || verify(t, w, kept).Broken != 0 {
			t.Fatalf("before anything: %+v", kept)
		}
		tamper(t, w.At, test.does)
		if v := verify(t, w, kept); v.Broken != test.broken {
			t.Errorf("%s: %+v, want entry %d to be broken", test.does, v, test.broken)
		}
	}
}

// TestAuditLogOfMany writes from two sides concurrently: the result is one chain.
func TestAuditLogOfMany(t *testing.T) {
	w := newFixture(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := w.Access.Keys.Create(ada(t.Context()), "", intake); err != nil {
				t.Error(err)
			}
			_, err := w.Access.Keys.Create(ada(t.Context()), fmt.Sprint("nobody", i), intake)
			wantCode(t, "a key for nobody", err, fieldmark.CodeNotFound)
		})
	}
	all.Wait()
	if v := verify(t, w, fieldmark.AuditVerdict{}); v.Entries != 20 || v.Broken != 0 {
		t.Errorf("verdict %+v, want 20 entries that hold", v)
	}
}
