package admin_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/mission"
)

// TestTechnicians creates the link of a technician, gives it a new address and ends it. The last two are confirmed.
func TestTechnicians(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	const page = "/admin/technicians"
	b.page(page, "No links yet.", `<li><a href="/admin/technicians" aria-current="page"`)
	good := url.Values{"who": {"ann"}, "who-name": {hostile}, "account": {"default"}, "days": {"7"}, "pin": {"123456"}}
	for field, values := range map[string][2]string{"days": {"31", "Days: enter 1 to 30."},
		"pin": {"12345", "PIN: must be 6 digits"}, "who": {" ", "Assignee ID: must have 1 to 128 characters"}} {
		form := url.Values{}
		for name := range good {
			form.Set(name, good.Get(name))
		}
		form.Set(field, values[0])
		b.rejected(page, form, 422, values[1])
	}
	address := regexp.MustCompile(`<code data-copy>http://[^/]+(/t/[A-Za-z0-9_-]{43}/)</code>`)
	shown := func(path string, form url.Values) string {
		t.Helper()
		rec := b.do(path, form)
		found := address.FindStringSubmatch(rec.Body.String())
		if rec.Code != 200 || found == nil || !strings.Contains(rec.Body.String(), "<svg") {
			t.Fatalf("POST %s: %d without an address and its QR code: %s", path, rec.Code, rec.Body)
		}
		checkEscaped(t, rec.Body.String())
		return found[1]
	}
	first := shown(page, good)
	body := b.page(page, "active", "with PIN")
	if strings.Contains(body, first) {
		t.Error("the list shows the address again")
	}
	b.rejected(page, good, 422, "already has a link")
	action := regexp.MustCompile(`action="(/admin/technicians/[^"]+)"`).FindStringSubmatch(body)[1]
	b.has(b.do(action, url.Values{"do": {"rotate"}}), "Create a new address for", `name="confirm"`)
	second := shown(action, url.Values{"do": {"rotate"}, "confirm": {"yes"}})
	if second == first {
		t.Error("the new address is the old one")
	}
	b.has(b.do(action, url.Values{"do": {"end"}}), "End the link", `name="confirm"`)
	b.page(page, "active")
	b.post(action, url.Values{"do": {"end"}, "confirm": {"yes"}}, page)
	if body := b.page(page, "ended"); strings.Contains(body, action) {
		t.Error("a link that has ended can be changed")
	}
	for _, entry := range []string{"technician_link.created", "technician_link.rotated", "technician_link.revoked"} {
		b.page("/admin/audit-log", entry)
	}
	if log := b.log.String(); strings.Contains(log, first[3:46]) || strings.Contains(log, second[3:46]) {
		t.Error("the log has an address")
	}
}

// TestOccurredAt: the page of a mission shows when a technician did something beside when it was received, for the
// transition and the note alone.
func TestOccurredAt(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	m := b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "Mast"})
	ctx := auditlog.WithActor(t.Context(), auditlog.Actor{Kind: fieldmark.ActorTechnician, Name: "ann"})
	occurred := fieldmark.At(time.Now())
	for _, op := range []mission.Operation{
		mission.Move("", m.ID, mission.Transition{To: fieldmark.MissionDispatched, OccurredAt: &occurred}),
		mission.AddNote("", m.ID, fieldmark.NoteRequest{Text: "On the road.", OccurredAt: &occurred}),
	} {
		if _, err := b.service.Missions.Apply(ctx, op); err != nil {
			t.Fatal(err)
		}
	}
	b.planAs("ada", m.ID, fieldmark.MissionPlan{Assignee: &fieldmark.Assignee{ID: "ann"}})
	body := b.page("/admin/missions/"+m.ID, "<code>mission.updated</code>", "<bdi>ann</bdi> <small>technician</small>")
	_, timeline, _ := strings.Cut(body, `id="timeline"`)
	if n := strings.Count(timeline, "happened <time"); n != 2 {
		t.Errorf("the timeline has %d times of a device, want those of the transition and the note: %s", n, timeline)
	}
	if n := strings.Count(body, "written <time"); n != 1 {
		t.Errorf("the notes have %d times of a device, want 1", n)
	}
}
