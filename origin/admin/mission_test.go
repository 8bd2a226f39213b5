package admin_test

import (
	"maps"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// submit sends a form and confirms the question that precedes an action that cannot be taken back.
func (b *browser) submit(path string, form url.Values) *httptest.ResponseRecorder {
	b.t.Helper()
	rec := b.do(path, form)
	if strings.Contains(rec.Body.String(), ` id="question" method="post"`) {
		form = maps.Clone(form)
		form.Set("confirm", "yes")
		rec = b.do(path, form)
	}
	return rec
}

// post sends a form and fails unless it redirects to a page. If the address names a row of the page, there is one.
func (b *browser) post(path string, form url.Values, want string) {
	b.t.Helper()
	rec := b.submit(path, form)
	got := rec.Header().Get("Location")
	page, row, _ := strings.Cut(got, "#")
	if rec.Code != 303 || got != want && page != want {
		b.t.Fatalf("POST %s %v: %d to %q, want 303 to %q: %s", path, form, rec.Code, got, want, rec.Body)
	}
	if row == "" {
		return
	}
	notice := b.notice // the page shows it once
	if !strings.Contains(b.page(page), ` id="`+row+`"`) {
		b.t.Errorf("POST %s leads to %s, which is not there", path, got)
	}
	b.notice = notice
}

// rejected submits a form that must be rejected with a status and a page with the reason.
func (b *browser) rejected(path string, form url.Values, status int, want string) {
	b.t.Helper()
	rec := b.submit(path, form)
	if rec.Code != status || !strings.Contains(rec.Body.String(), want) {
		b.t.Errorf("POST %s %v: %d, want %d with %q: %s", path, form, rec.Code, status, want, rec.Body)
	}
}

// version returns the version in the form on a page that begins with a hidden input.
func (b *browser) version(path, input string) string {
	b.t.Helper()
	_, rest, found := strings.Cut(b.page(path), input+`><input type="hidden" name="version" value="`)
	version, _, _ := strings.Cut(rest, `"`)
	if !found || version == "" {
		b.t.Fatalf("GET %s: no form with %s and a version", path, input)
	}
	return version
}

func (b *browser) mission(r fieldmark.MissionRequest) fieldmark.Mission {
	b.t.Helper()
	m, _, err := b.service.Missions.Create(b.t.Context(), access.DefaultAccount, r)
	if err != nil {
		b.t.Fatal(err)
	}
	return m
}

// TestMissionLifecycle creates a mission, puts it on hold, completes it and reopens it
// with the buttons of the console.
func TestMissionLifecycle(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	m := b.mission(fieldmark.MissionRequest{ExternalID: hostile, Source: "crm", Title: hostile, Description: hostile,
		Priority: fieldmark.PriorityHigh,
		Contact:  &fieldmark.Contact{Name: hostile}, Location: &fieldmark.Location{Name: hostile,
			AccessNotes: hostile}})
	page := "/admin/missions/" + m.ID
	checkEscaped(t, b.page(page, "mission.created", `value="DISPATCHED"`, "response", "resolution", "running",
		"This mission has no payment.", `aria-current="true"`))
	moved := page + ""
	b.post(page+"/move", url.Values{"to": {"DISPATCHED"}}, moved)
	b.post(page+"/move", url.Values{"to": {"EN_ROUTE"}}, moved)
	b.post(page+"/move", url.Values{"to": {"ON_HOLD"}, "code": {"site_access"}, "text": {hostile}}, moved)
	checkEscaped(t, b.page(moved, "Mission updated.", "SITE_ACCESS", `value="EN_ROUTE"`, "sla.paused", "sla.met",
		"mission.on_hold"))
	b.rejected(page+"/move", url.Values{"to": {"CLOSED"}}, 409, "A mission that is ON_HOLD cannot become CLOSED.")
	b.rejected(page+"/move", url.Values{"to": {"EN_ROUTE"}, "code": {"not a code"}}, 422,
		`<a href="#code">Reason: use letters`)
	b.rejected(page+"/move", url.Values{"to": {"EN_ROUTE"}, "text": {strings.Repeat("x", 501)}}, 422,
		"at most 500 characters")
	b.rejected(page+"/move", url.Values{"to": {"LOST"}}, 400, "Unknown mission status")
	b.post(page+"/move", url.Values{"to": {"EN_ROUTE"}}, moved)
	b.post(page+"/move", url.Values{"to": {"IN_PROGRESS"}}, moved)
	b.post(page+"/move", url.Values{"to": {"COMPLETED"}, "text": {"swapped"}}, moved)
	b.page(page, `value="IN_PROGRESS"`, `value="CLOSED"`, "mission.resumed", "swapped", "OTHER")
	b.post(page+"/move", url.Values{"to": {"CLOSED"}}, moved)
	b.page(page, "This mission is closed.")
	for _, path := range []string{"/admin/missions/msn_x", "/admin/missions/" + strings.Repeat("a", 30)} {
		if rec := b.do(path, nil); rec.Code != 404 {
			t.Errorf("GET %s: %d, want 404", path, rec.Code)
		}
	}
	if log := b.log.String(); !strings.Contains(log, `action=mission.closed`) || strings.Contains(log, "swapped") {
		t.Errorf("the log lacks the act or has what was written: %s", log)
	}
}

func TestPayment(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	m := b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "Replace the router"})
	page := "/admin/missions/" + m.ID
	version := func() string {
		return regexp.MustCompile(`name="payment-version" value="(\d+)"`).FindStringSubmatch(b.page(page))[1]
	}
	now := func(form url.Values) url.Values { // as the page shows it now
		form.Set("payment-version", version())
		return form
	}
	b.page(page, "This mission has no payment.", "Set amount")
	for amount, says := range map[string]string{"12.505 EUR": "at most 2 after a point", "12.50": "as in 12.50 EUR",
		"": "as in 12.50 EUR", "-1 EUR": "in digits"} {
		b.rejected(page+"/payment", now(url.Values{"amount": {amount}, "direction": {"CHARGE"}}), 422, says)
	}
	b.rejected(page+"/payment", now(url.Values{"amount": {"12.50 EUR"}, "direction": {"UP"}}), 422,
		"must be CHARGE or PAYOUT")
	b.rejected(page+"/payment", now(url.Values{"amount": {"12.50 EUR"}, "direction": {"CHARGE"},
		"terms": {strings.Repeat("x", 65)}}), 422, "at most 64")
	b.rejected(page+"/payment/mark", now(url.Values{"status": {"PAID"}}), 404, "no payment")
	b.post(page+"/payment", now(url.Values{"amount": {"12.50 EUR"}, "direction": {"PAYOUT"}, "terms": {"NET 14"}}),
		page)
	b.page(page, "12.50 EUR", "payout", "NET 14", "pending")
	b.rejected(page+"/payment/mark", now(url.Values{"status": {"PAID"}}), 409,
		"A payment that is PENDING cannot become PAID.")
	if _, err := b.service.Missions.Complete(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	b.post(page+"/move", url.Values{"to": {"CLOSED"}}, page)
	b.page(page, "payment.due", `value="PROCESSING"`, `value="PAID"`)
	b.post(page+"/payment/mark", now(url.Values{"status": {"PROCESSING"}}), page)
	b.rejected(page+"/payment/mark", now(url.Values{"status": {"FAILED"}, "code": {"no good"}}), 422,
		`<a href="#fail-code">Code: use letters`)
	b.post(page+"/payment/mark", now(url.Values{"status": {"FAILED"}, "message": {hostile}}), page)
	checkEscaped(t, b.page(page, "unknown", "payment.failed"))
	b.post(page+"/payment/mark", now(url.Values{"status": {"PROCESSING"}}), page)
	b.post(page+"/payment/mark", now(url.Values{"status": {"PAID"}}), page)
	b.rejected(page+"/payment/refund", url.Values{"amount": {"13"}, "payment-version": {version()}}, 422,
		"at most what is left")
	b.rejected(page+"/payment/refund", url.Values{"amount": {"0"}}, 422, "above zero")
	b.rejected(page+"/payment/refund", url.Values{"amount": {"2,50"}}, 422, "above zero")
	once := url.Values{"amount": {"2.00"}, "payment-version": {version()}}
	b.post(page+"/payment/refund", once, page)
	b.rejected(page+"/payment/refund", once, 409, "was changed after this page was opened")
	again := now(url.Values{"amount": {"0.50"}, "reference": {"R-1"}, "reason": {"half the work"}})
	b.post(page+"/payment/refund", again, page)
	b.post(page+"/payment/refund", again, page) // same reference, same refund
	b.page(page, "Refund recorded.", "partially refunded", "At most 10.00 EUR",
		"0.50 EUR · half the work", "R-1")
	b.post(page+"/payment/refund", url.Values{"payment-version": {version()}}, page)
	if body := b.page(page, "10.00 EUR", `>refunded<`); strings.Contains(body, "Record refund") ||
		strings.Contains(body,
			"Set amount") {
		t.Errorf("what is refunded can be refunded or priced again: %s", body)
	}
}

func TestMissionFilters(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	low := b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "t",
		Priority: fieldmark.PriorityLow})
	high := b.mission(fieldmark.MissionRequest{ExternalID: "2", Source: "erp", Title: "t",
		Priority: fieldmark.PriorityHigh})
	for query, want := range map[string][2]bool{
		"": {true, true}, "priority=LOW": {true, false}, "source=ERP": {false, true}, "source=erp&priority=LOW": {false,
			false},
		"priority=&source=&status=NEW": {true, true}, "account=default": {true, true}, "account=nobody": {false, false},
		"source=crm&account=nobody": {false, false}, "status=CLOSED": {false, false},
	} {
		body := b.page("/admin/missions?" + query)
		if got := [2]bool{strings.Contains(body, low.ID), strings.Contains(body, high.ID)}; got != want {
			t.Errorf("?%s shows the low and the high one: %v, want %v", query, got, want)
		}
	}
	b.page("/admin/missions?source=crm", `value="crm"`, `href="/admin/missions/`+low.ID+`"`,
		`name="back" value="/admin/missions?source=crm"`)
	if _, _, err := b.service.Access.Accounts.Put(t.Context(), "acme",
		fieldmark.AccountRequest{Name: "Acme"}); err != nil {
		t.Fatal(err)
	}
	// People know the ids of other systems, not those that the console generates.
	rec := b.do("/admin/missions", url.Values{"external-id": {"generated"}, "title": {"own"}, "priority": {"LOW"}})
	own := rec.Header().Get("Location")
	for page, want := range map[string]bool{own: false, "/admin/missions?account=default&source=console": false,
		"/admin/missions?account=default&source=crm": true, "/admin/missions/" + high.ID: true} {
		body := b.page(page)
		if strings.Contains(body, "generated") || want != (strings.Contains(body, "<bdi>1</bdi>") ||
			strings.Contains(body, "<bdi>2</bdi>")) {
			t.Errorf("%s shows the wrong external ids", page)
		}
	}
	// With two accounts, these filters must not choose one by themselves.
	b.rejected("/admin/missions?priority=HIGH", nil, 422, "Account: choose one")
	b.page("/admin/missions?priority=HIGH&account=default", high.ID)
	b.post("/admin/missions/"+high.ID+"/complete", url.Values{"version": {"1"},
		"back": {"/admin/missions?source=erp&account=default"}}, "/admin/missions?source=erp&account=default")
	b.post("/admin/missions/"+low.ID+"/complete", url.Values{"version": {"1"}, "back": {"https://evil.example/"}},
		"/admin/missions")
	if rec := b.do("/admin/missions?priority=SOON", nil); rec.Code != 400 {
		t.Errorf("an unknown priority: %d, want 400", rec.Code)
	}
}

// TestPlanMission schedules and assigns missions with the form. A time is enough to
// schedule a mission, and a form from before another user's change overwrites nothing.
func TestPlanMission(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	m := b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "Read the meter"})
	page := "/admin/missions/" + m.ID
	if body := b.page(page, "Plan and assign", `name="do" value="schedule"`); strings.Contains(body,
		`name="to" value="SCHEDULED"`) {
		t.Error("one click schedules a mission that has no time")
	}
	plan := func(version string, values ...string) url.Values {
		form := url.Values{"version": {version}, "do": {"schedule"}}
		for i := 0; i < len(values); i += 2 {
			form.Set(values[i], values[i+1])
		}
		return form
	}
	b.rejected(page+"/plan", plan("1"), 422, `<a href="#plan-start">Start: a scheduled mission needs a time.`)
	b.rejected(page+"/plan", plan("1", "start", "2026-12-01T09:00"), 422, `<a href="#plan-end">End: enter both`)
	b.rejected(page+"/plan", plan("1", "start", "soon", "end", "2026-12-01T09:00", "assignee", "ann"), 422,
		`name="assignee" maxlength="128" value="ann"`)
	b.rejected(page+"/plan", plan("1", "start", "2026-12-01T09:00", "end", "2026-12-01T08:00"), 422,
		`value="2026-12-01T08:00"`)
	b.post(page+"/plan", plan("1", "start", "2026-12-01T09:00", "end", "2026-12-01T10:30", "assignee", "ann",
		"assignee-name", hostile), page)
	checkEscaped(t, b.page(page, "scheduled", `datetime="2026-12-01T09:00:00.000Z"`, "<code>ann</code>",
		`value="2026-12-01T10:30"`))
	b.rejected(page+"/plan", plan("1", "do", "save", "assignee", "bob"), 409, "was changed after this page was opened")
	b.post(page+"/plan", plan("2", "do", "save", "start", "2026-12-02T09:00", "end", "2026-12-02T10:30", "assignee",
		"bob"), page)
	if got, err := b.service.Missions.Get(t.Context(), "", m.ID); err != nil || got.Assignee == nil ||
		got.Assignee.ID != "bob" || got.Status != fieldmark.MissionScheduled {
		t.Errorf("the mission is %+v, %v; want it SCHEDULED for bob", got, err)
	}
	b.post(page+"/move", url.Values{"to": {"CANCELED"}}, page)
	if body := b.page(page); strings.Contains(body, "Plan and assign") {
		t.Error("a canceled mission can be planned")
	}
}

// TestRejectedForms: the page of a rejected form has a URL that can be reloaded, keeps the
// entered values, and marks the invalid input.
func TestRejectedForms(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	m := b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "Read the meter"})
	page := "/admin/missions/" + m.ID
	rec := b.do(page+"/move", url.Values{"to": {"CANCELED"}, "code": {"not a code"}, "text": {"by phone"}})
	for _, want := range []string{`<details class="more" open><summary>Cancel mission`,
		`id="canceled-code" name="code" maxlength="64" value="not a code"`,
		`aria-invalid="true" autofocus`, `name="text" maxlength="500" value="by phone"`,
		`<strong class="fault" id="canceled-code-fault">Reason: use letters`} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("a refused form lacks %s: %s", want, rec.Body)
		}
	}
	for from, to := range map[string]string{
		page + "/move": page, page + "/plan": page, page + "/payment": page, page + "/payment/refund": page,
		"/admin/brands/acme/delete": "/admin/brands/acme", "/admin/api-keys/key_x/rotate": "/admin/api-keys",
		"/admin/calendars/cal_x":        "/admin/calendars",
		"/admin/settings/second-factor": "/admin/settings", "/admin/modules/rollback": "/admin/modules",
		"/admin/brands/import": "/admin/brands",
	} {
		if rec := b.do(from, nil); rec.Code != 303 || rec.Header().Get("Location") != to {
			t.Errorf("GET %s: %d %s, want 303 to %s", from, rec.Code, rec.Header().Get("Location"), to)
		}
	}
	// Errors name inputs and never members of the API.
	hook := b.do("/admin/webhooks", url.Values{"account": {"default"}, "url": {"https://192.0.2.1/"},
		"events": {"nonsense mission.*"}})
	if text := hook.Body.String(); hook.Code != 422 || strings.Contains(text, "events/0") ||
		!strings.Contains(text, `id="events-fault">Events, entry 1: `) {
		t.Errorf("an endpoint with an unknown event type: %d: %s", hook.Code, text)
	}
	if rec := b.do("/admin/nope", nil); rec.Code != 404 || !strings.Contains(rec.Body.String(),
		`<nav aria-label="Main">`) {
		t.Errorf("an unknown page: %d, want 404 with the navigation", rec.Code)
	}
}
