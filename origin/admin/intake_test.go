package admin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/intake"
)

// TestRefusedPage lists what an origin refused after an edge had accepted it, without what test worlds have.
func TestRefusedPage(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	if page := b.page("/admin/refused"); !strings.Contains(page, "No requests were refused") {
		t.Error("the empty page does not say so")
	}
	for id, account := range map[string]string{"node.1": "default", "node.2": "default~test"} {
		_, err := b.service.Intake.Decide(t.Context(), intake.Refusal{Account: account, Intake: fieldmark.Intake{ID: id,
			State: fieldmark.IntakeRefused, Source: "desk", ExternalID: "<b>1</b>", Code: fieldmark.CodeMissionExists,
			Detail: "another mission", AcceptedAt: fieldmark.At(time.Now())}})
		if err != nil {
			t.Fatal(err)
		}
	}
	page := b.page("/admin/refused")
	for _, want := range []string{"node.1", "mission_exists", "another mission", "&lt;b&gt;1&lt;/b&gt;", "default"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "node.2") || strings.Contains(page, "<b>1") {
		t.Error("the page has a request of a test world, or unescaped text")
	}
}
