package admin_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// post sends a form that must lead back to a page with a word of what was done.
func (b *browser) post(path string, form url.Values, want string) {
	b.t.Helper()
	rec := b.do(path, form)
	if got := rec.Header().Get("Location"); rec.Code != 303 || got != want {
		b.t.Fatalf("POST %s %v: %d to %q, want 303 to %q: %s", path, form, rec.Code, got, want, rec.Body)
	}
}

// refused sends a form that must be answered with a status and a page that says why.
func (b *browser) refused(path string, form url.Values, status int, want string) {
	b.t.Helper()
	rec := b.do(path, form)
	if rec.Code != status || !strings.Contains(rec.Body.String(), want) {
		b.t.Errorf("POST %s %v: %d, want %d with %q: %s", path, form, rec.Code, status, want, rec.Body)
	}
}

func (b *browser) mission(r fieldmark.MissionRequest) fieldmark.Mission {
	b.t.Helper()
	m, _, err := b.service.OpenMission(b.t.Context(), origin.DefaultAccount, r)
	if err != nil {
		b.t.Fatal(err)
	}
	return m
}

// TestMissionLife takes one mission from its opening to a hold, to its end and
// back, by the buttons alone.
func TestMissionLife(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	m := b.mission(fieldmark.MissionRequest{ExternalID: hostile, Source: "crm", Title: hostile, Description: hostile, Priority: fieldmark.PriorityHigh,
		Contact: &fieldmark.Contact{Name: hostile}, Location: &fieldmark.Location{Name: hostile, AccessNotes: hostile}})
	page := "/admin/missions/" + m.ID
	checkEscaped(t, b.page(page, "mission.created", `value="DISPATCHED"`, "response", "resolution", "running", "None was spoken of.", `aria-current="true"`))
	moved := page + "?done=moved"
	b.post(page+"/move", url.Values{"to": {"DISPATCHED"}}, moved)
	b.post(page+"/move", url.Values{"to": {"EN_ROUTE"}}, moved)
	b.post(page+"/move", url.Values{"to": {"ON_HOLD"}, "code": {"site_access"}, "text": {hostile}}, moved)
	checkEscaped(t, b.page(moved, "The mission was moved.", "SITE_ACCESS", `value="EN_ROUTE"`, "sla.paused", "sla.met", "mission.on_hold"))
	b.refused(page+"/move", url.Values{"to": {"CLOSED"}}, 409, "A mission that is ON_HOLD cannot become CLOSED.")
	b.refused(page+"/move", url.Values{"to": {"EN_ROUTE"}, "code": {"not a code"}}, 422, "The reason is written in letters")
	b.refused(page+"/move", url.Values{"to": {"EN_ROUTE"}, "text": {strings.Repeat("x", 501)}}, 422, "at most 500 characters")
	b.refused(page+"/move", url.Values{"to": {"LOST"}}, 400, "unknown mission status")
	b.post(page+"/move", url.Values{"to": {"EN_ROUTE"}}, moved)
	b.post(page+"/move", url.Values{"to": {"IN_PROGRESS"}}, moved)
	b.post(page+"/move", url.Values{"to": {"COMPLETED"}, "text": {"swapped"}}, moved)
	b.page(page, `value="IN_PROGRESS"`, `value="CLOSED"`, "mission.resumed", "swapped", "OTHER")
	b.post(page+"/move", url.Values{"to": {"CLOSED"}}, moved)
	b.page(page, "This mission has come to its end.")
	for _, path := range []string{"/admin/missions/msn_x", "/admin/missions/" + strings.Repeat("a", 30)} {
		if rec := b.do(path, nil); rec.Code != 404 {
			t.Errorf("GET %s: %d, want 404", path, rec.Code)
		}
	}
	if log := b.log.String(); !strings.Contains(log, `did="move mission to CLOSED"`) || strings.Contains(log, "swapped") {
		t.Errorf("the log lacks the act or has what was written: %s", log)
	}
}

func TestPayment(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	m := b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "Replace the router"})
	page := "/admin/missions/" + m.ID
	b.page(page, "None was spoken of.", "Set the amount")
	for amount, says := range map[string]string{"12.505 EUR": "at most 2 after a point", "12.50": "as in 12.50 EUR", "": "as in 12.50 EUR", "-1 EUR": "in digits"} {
		b.refused(page+"/payment", url.Values{"amount": {amount}, "direction": {"CHARGE"}}, 400, says)
	}
	b.refused(page+"/payment", url.Values{"amount": {"12.50 EUR"}, "direction": {"UP"}}, 422, "must be CHARGE or PAYOUT")
	b.refused(page+"/payment", url.Values{"amount": {"12.50 EUR"}, "direction": {"CHARGE"}, "terms": {strings.Repeat("x", 65)}}, 422, "at most 64")
	b.refused(page+"/payment/mark", url.Values{"status": {"PAID"}}, 404, "no payment")
	b.post(page+"/payment", url.Values{"amount": {"12.50 EUR"}, "direction": {"PAYOUT"}, "terms": {"NET 14"}}, page+"?done=priced")
	b.page(page, "12.50 EUR", "payout", "NET 14", "pending")
	b.refused(page+"/payment/mark", url.Values{"status": {"PAID"}}, 409, "A payment that is PENDING cannot become PAID.")
	if _, err := b.service.CompleteMission(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	b.post(page+"/move", url.Values{"to": {"CLOSED"}}, page+"?done=moved")
	b.page(page, "payment.due", `value="PROCESSING"`, `value="PAID"`)
	b.post(page+"/payment/mark", url.Values{"status": {"PROCESSING"}}, page+"?done=marked")
	b.refused(page+"/payment/mark", url.Values{"status": {"FAILED"}, "code": {"no good"}}, 422, "The code is written")
	b.post(page+"/payment/mark", url.Values{"status": {"FAILED"}, "message": {hostile}}, page+"?done=marked")
	checkEscaped(t, b.page(page, "unknown", "payment.failed"))
	b.post(page+"/payment/mark", url.Values{"status": {"PROCESSING"}}, page+"?done=marked")
	b.post(page+"/payment/mark", url.Values{"status": {"PAID"}}, page+"?done=marked")
	b.refused(page+"/payment/refund", url.Values{"amount": {"13"}}, 422, "at most what is left")
	b.refused(page+"/payment/refund", url.Values{"amount": {"0"}}, 400, "A refund is more than nothing.")
	b.refused(page+"/payment/refund", url.Values{"amount": {"2,50"}}, 400, "in digits")
	b.post(page+"/payment/refund", url.Values{"amount": {"2.50"}, "reference": {"R-1"}, "reason": {"half the work"}}, page+"?done=refunded")
	b.page(page+"?done=refunded", "The refund is noted.", "partially refunded", "At most 10.00 EUR", "2.50 EUR · half the work", "R-1")
	b.post(page+"/payment/refund", url.Values{}, page+"?done=refunded")
	if body := b.page(page, "10.00 EUR", `>refunded<`); strings.Contains(body, "Note the refund") || strings.Contains(body, "Set the amount") {
		t.Errorf("what is refunded can be refunded or priced again: %s", body)
	}
}

func TestMissionFilters(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	low := b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "t", Priority: fieldmark.PriorityLow})
	high := b.mission(fieldmark.MissionRequest{ExternalID: "2", Source: "erp", Title: "t", Priority: fieldmark.PriorityHigh})
	for query, want := range map[string][2]bool{
		"": {true, true}, "priority=LOW": {true, false}, "source=ERP": {false, true}, "source=erp&priority=LOW": {false, false},
		"priority=&source=&status=NEW": {true, true}, "account=default": {true, true}, "account=nobody": {false, false},
		"source=crm&account=nobody": {false, false}, "status=CLOSED": {false, false},
	} {
		body := b.page("/admin/missions?" + query)
		if got := [2]bool{strings.Contains(body, low.ID), strings.Contains(body, high.ID)}; got != want {
			t.Errorf("?%s shows the low and the high one: %v, want %v", query, got, want)
		}
	}
	b.page("/admin/missions?source=crm", `value="crm"`, `value="default"`, `href="/admin/missions/`+low.ID+`"`)
	if rec := b.do("/admin/missions?priority=SOON", nil); rec.Code != 400 {
		t.Errorf("an unknown priority: %d, want 400", rec.Code)
	}
}
