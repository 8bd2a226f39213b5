package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// TestAgentWrites: an agent writes in two steps, with a key that lets it, as often as that says.
func TestAgentWrites(t *testing.T) { synctest.Test(t, testAgentWrites) } // within one day

func testAgentWrites(t *testing.T) {
	fx := newFixture(t, nil)
	agentKey := func(may fieldmark.AgentAccess, writes int) string {
		t.Helper()
		k, err := fx.service.Access.Keys.Create(t.Context(), access.DefaultAccount, fieldmark.KeyRequest{Name: "agent",
			Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead},
			Agent:  may, AgentWritesPerDay: writes})
		if err != nil {
			t.Fatal(err)
		}
		return k.Token
	}
	send := func(key, path, body, confirm string, more map[string]string) (int, http.Header, []byte) {
		t.Helper()
		header := map[string]string{fieldmark.HeaderAgent: fieldmark.AgentMCP}
		if confirm != "" {
			header[fieldmark.HeaderConfirm] = confirm
		}
		maps.Copy(header, more)
		rec := fx.send(request{method: "POST", path: path, key: key, body: body, header: header})
		return rec.Code, rec.Header(), rec.Body.Bytes()
	}
	const path = fieldmark.PathMissions
	body := func(id string) string { return `{"source":"agent","externalId":"` + id + `","title":"Replace it"}` }
	try := func(key, id string) string {
		t.Helper()
		status, h, answer := send(key, path+"?dryRun=true", body(id), "", nil)
		if status != 200 || h.Get(fieldmark.HeaderDryRun) != "true" {
			t.Fatalf("dry run: %d %s", status, answer)
		}
		return h.Get(fieldmark.HeaderConfirm)
	}
	refused := func(what string, status int, answer []byte, code fieldmark.Code) {
		t.Helper()
		var p fieldmark.Problem
		if err := json.Unmarshal(answer, &p); err != nil || p.Code != code || status != code.Status() {
			t.Errorf("%s: %d %s, want %s", what, status, answer, code)
		}
	}

	off, dry, write := agentKey(fieldmark.AgentOff, 0), agentKey("", 0), agentKey(fieldmark.AgentWrite, 2)
	status, _, answer := send(off, path+"?dryRun=true", body("1"), "", nil)
	refused("a key that agents may not use", status, answer, fieldmark.CodeAgentNotAllowed)
	if token := try(dry, "1"); token != "" {
		t.Errorf("a key that may only try got the token %q", token)
	}
	token := try(write, "1")
	status, _, answer = send(dry, path, body("1"), token, nil)
	refused("a key that may only try", status, answer, fieldmark.CodeAgentNotAllowed)
	for what, call := range map[string][4]string{
		"no token":              {write, body("1"), ""},
		"another body":          {write, body("2"), token},
		"another key":           {agentKey(fieldmark.AgentWrite, 1), body("1"), token},
		"a changed token":       {write, body("1"), token[:len(token)-1] + "?"},
		"a later end":           {write, body("1"), "zzzzzzz" + token[strings.Index(token, "."):]},
		"a token without end":   {write, body("1"), strings.TrimLeft(token, "0123456789abcdefghijklmnopqrstuvwxyz")},
		"a token of no dry run": {write, body("1"), "1.x"},
	} {
		status, _, answer := send(call[0], path, call[1], call[2], nil)
		refused(what, status, answer, fieldmark.CodeConfirmationInvalid)
	}
	status, _, answer = send(write, path, body("1"), token, map[string]string{"If-Match": `"1"`})
	refused("another version", status, answer, fieldmark.CodeConfirmationInvalid)

	status, _, first := send(write, path, body("1"), token, nil)
	if status != 201 {
		t.Fatalf("the write: %d %s", status, first)
	}
	status, h, again := send(write, path, body("1"), token, nil)
	if status != 201 || string(again) != string(first) || h.Get(fieldmark.HeaderReplayed) != "true" {
		t.Errorf("the same write again: %d %s", status, again)
	}
	if status, _, answer = send(write, path, body("2"), try(write, "2"), nil); status != 201 {
		t.Errorf("the second write: %d %s", status, answer)
	}
	token = try(write, "3")
	status, h, answer = send(write, path, body("3"), token, nil)
	refused("the third write", status, answer, fieldmark.CodeAgentQuota)
	if h.Get("Retry-After") == "" {
		t.Error("the third write: no Retry-After")
	}
	// The key itself is not an agent's: without the mark it writes as before.
	fx.mustSend(201, request{method: "POST", path: path, key: dry, body: body("4")}, nil)

	entries := fx.mustSend(200, request{method: "GET", path: adminPath + "audit-log?limit=50", key: fx.admin}, nil)
	if n := strings.Count(entries.Body.String(), `"agent.acted"`); n != 2 || !strings.Contains(entries.Body.String(),
		`"agent":"mcp: `) {
		t.Errorf("%d entries of agents, want 2:\n%s", n, entries.Body)
	}
	if _, err := fx.service.Access.Keys.Create(t.Context(), "", fieldmark.KeyRequest{Name: "x",
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}, Agent: "all", AgentWritesPerDay: 10_001}); err == nil ||
		len(fieldmark.AsError(err).Fields) != 2 {
		t.Errorf("a key with wrong members: %v", err)
	}
}
