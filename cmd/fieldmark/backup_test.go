package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/attachment"
	"github.com/fieldmark/fieldmark/origin/objects"
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

// A backup says that it does not contain the files of attachments, and db check names the attachments
// whose file is missing.
func TestFilesOfAttachments(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	st, err := store.Open(t.Context(), store.Config{Path: filepath.Join(data, "fieldmark.db")})
	must(t, err)
	svc, err := origin.New(origin.Config{Store: st, Secret: bytes.Repeat([]byte("s"), minSecret),
		Objects: objects.NewFolder(filepath.Join(data, "objects"))})
	must(t, err)
	must(t, svc.Prepare(t.Context()))
	m, _, err := svc.Missions.Create(t.Context(), access.DefaultAccount,
		fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "Meter"})
	must(t, err)
	a, err := svc.Attachments.Add(t.Context(), attachment.Upload{Mission: m.ID, ContentType: "text/plain",
		Body: strings.NewReader("230 V")})
	must(t, err)
	must(t, st.Close())

	place := "file:" + filepath.Join(data, "objects")
	copied := filepath.Join(t.TempDir(), "copy.db")
	if status, out, why := runInProcess(t, "backup", "--data", data, copied); status != 0 ||
		!strings.Contains(out, "not in the backup: the files of attachments in "+place+" (1)") {
		t.Errorf("backup: status %d, %q, %q; want a line about the file", status, out, why)
	}
	if status, out, why := runInProcess(t, "db", "check", "--data", data); status != 0 ||
		!strings.Contains(out, "ok      every attachment has its file in "+place) {
		t.Errorf("db check: status %d, %q, %q", status, out, why)
	}
	must(t, os.RemoveAll(filepath.Join(data, "objects")))
	if status, out, _ := runInProcess(t, "db", "check", "--data", data); status != 1 ||
		!strings.Contains(out, a.ID+" of mission "+m.ID+": its file is missing") {
		t.Errorf("db check without the files: status %d, %q; want 1 and the attachment", status, out)
	}
	if status, _, why := runInProcess(t, "db", "check", "--data", data, "--objects", "ftp://x"); status == 0 ||
		!strings.Contains(why, "--objects") {
		t.Errorf("a bad place: status %d, %q; want the flag named", status, why)
	}
}
