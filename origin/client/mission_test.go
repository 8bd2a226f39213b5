package client_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/origin/objects"
)

func TestMissionCalls(t *testing.T) {
	ctx := t.Context()
	service, _, server := start(t)
	key, err := service.Access.Keys.Create(ctx, access.DefaultAccount, fieldmark.KeyRequest{Name: "itsm",
		Scopes: []fieldmark.Scope{
			fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead, fieldmark.ScopeMissionUpdate,
			fieldmark.ScopeMissionCancel}})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, client.Config{BaseURL: server.URL, Key: key.Token})
	request := fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "t"}
	m, created, err := c.CreateMission(ctx, request)
	if err != nil || !created {
		t.Fatalf("open: created %v, %v", created, err)
	}
	if again, created, err := c.CreateMission(ctx, request); err != nil || created || again.ID != m.ID {
		t.Errorf("open again: %s created %v, %v; want %s", again.ID, created, err, m.ID)
	}
	request.Title = "u"
	_, _, err = c.CreateMission(ctx, request)
	if e := fieldmark.AsError(err); e.Code != fieldmark.CodeMissionExists || e.MissionID != m.ID || len(e.Fields) != 1 {
		t.Errorf("open another under its name: %+v, want %s of %s", e, fieldmark.CodeMissionExists, m.ID)
	}
	got, err := c.Edit(ctx, m.ID, json.RawMessage(`{"description":"d"}`), nil)
	if err != nil || got.Description != "d" {
		t.Errorf("edit: %+v, %v", got, err)
	}
	if got, err := c.Cancel(ctx, m.ID, &fieldmark.Reason{Code: "CUSTOMER"}, nil); err != nil ||
		got.Status != fieldmark.MissionCanceled {
		t.Errorf("cancel: %+v, %v", got, err)
	}
	if got, err := c.Get(ctx, m.ID); err != nil || got.Version != 3 {
		t.Errorf("read: %+v, %v; want version 3", got, err)
	}
}

// TestAttachmentCalls uploads, reads and removes a file, and fails with a truncated one.
func TestAttachmentCalls(t *testing.T) {
	ctx := t.Context()
	place := objects.NewFolder(t.TempDir())
	service, admin, server := start(t, func(c *origin.Config) { c.Objects = place })
	key, err := service.Access.Keys.Create(ctx, access.DefaultAccount, fieldmark.KeyRequest{Name: "itsm",
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead,
			fieldmark.ScopeMissionUpdate}})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, client.Config{BaseURL: server.URL, Key: key.Token})
	m, _, err := c.CreateMission(ctx, fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "t"})
	if err != nil {
		t.Fatal(err)
	}
	report := client.AttachmentUpload{ContentType: "text/csv", Name: "prüf,1.csv", IdempotencyKey: "k",
		Content: bytes.Repeat([]byte("a,b\r\n"), 50_000)}
	a, err := c.AddAttachment(ctx, m.ID, report)
	if err != nil || a.Name != report.Name || a.Size != int64(len(report.Content)) {
		t.Fatalf("add: %+v, %v", a, err)
	}
	if again, err := c.AddAttachment(ctx, m.ID, report); err != nil || again != a {
		t.Errorf("add again: %+v, %v; want %+v", again, err, a)
	}
	if list, err := c.Attachments(ctx, m.ID); err != nil || len(list.Data) != 1 || list.Data[0] != a {
		t.Errorf("list: %+v, %v", list, err)
	}
	if one, err := c.Attachment(ctx, m.ID, a.ID); err != nil || one != a {
		t.Errorf("get: %+v, %v", one, err)
	}
	var got bytes.Buffer
	if err := c.DownloadAttachment(ctx, &got, m.ID, a.ID); err != nil || !bytes.Equal(got.Bytes(), report.Content) {
		t.Errorf("download: %d bytes, %v", got.Len(), err)
	}
	// The last chunk of the stored file is lost: the bytes before it are sent, and then the connection ends.
	var stored string
	if err := place.List(ctx, "attachments/", func(o objects.Object) error { stored = o.Key; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(place.Path(), stored), 3*(64<<10+16)); err != nil {
		t.Fatal(err)
	}
	if err := c.DownloadAttachment(ctx, io.Discard, m.ID, a.ID); err == nil {
		t.Error("a truncated file was downloaded without an error")
	}
	if gone, err := admin.RemoveAttachment(ctx, m.ID, a.ID); err != nil || gone.RemovedAt == nil {
		t.Errorf("remove: %+v, %v", gone, err)
	}
	if err := c.DownloadAttachment(ctx, io.Discard, m.ID, a.ID); !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		t.Errorf("download of a removed file: %v, want not_found", err)
	}
}
