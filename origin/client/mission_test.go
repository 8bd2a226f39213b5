package client_test

import (
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/client"
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
	if got, err := c.EditMission(ctx, m.ID, []byte(`{"description":"d"}`)); err != nil || got.Description != "d" {
		t.Errorf("edit: %+v, %v", got, err)
	}
	if got, err := c.CancelMission(ctx, m.ID, &fieldmark.Reason{Code: "CUSTOMER"}); err != nil ||
		got.Status != fieldmark.MissionCanceled {
		t.Errorf("cancel: %+v, %v", got, err)
	}
	if got, err := c.Mission(ctx, m.ID); err != nil || got.Version != 3 {
		t.Errorf("read: %+v, %v; want version 3", got, err)
	}
}
