package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// A backup of a database with a damaged event is made, lists the event and ends with
// status 3. It can be restored.
func TestBackupOfDamagedDatabase(t *testing.T) {
	t.Parallel()
	data, restored := t.TempDir(), t.TempDir()
	file := filepath.Join(data, "fieldmark.db")
	st, err := store.Open(t.Context(), store.Config{Path: file})
	must(t, err)
	must(t, st.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.AppendEvent(ctx, &store.Event{Subject: "acme", Event: fieldmark.Event{
			ID: "evt_1", Type: fieldmark.EventBrandChanged, Time: fieldmark.AtMicros(1), Brand: "acme",
			Data: []byte(`{"name":"original"}`)}})
	}))
	must(t, st.Close())
	raw, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, bytes.Replace(raw, []byte("original"), []byte("modified"), 1), 0o600))

	copied := filepath.Join(t.TempDir(), "copy.db")
	if status, out, why := runInProcess(t, "backup", "--data", data, copied); status != 3 ||
		!strings.Contains(why, "event 1 (") || !strings.Contains(out, "copy.db: ") {
		t.Errorf("backup: status %d, %q, %q; want 3, the size of the copy and the damaged event", status, out, why)
	}
	if status, _, why := runInProcess(t, "restore", "--data", restored, copied); status != 0 {
		t.Errorf("restore: status %d, %q", status, why)
	}
	if status, out, _ := runInProcess(t, "db", "check", "--data", restored); status != 1 ||
		!strings.Contains(out, "        event 1 (") {
		t.Errorf("check of the restored database: status %d, %q; want 1 and the damaged event", status, out)
	}
}
