package admin_test

import (
	"encoding/csv"
	"fmt"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/mission"
)

// planAs sets the plan of a mission as another administrator.
func (b *browser) planAs(name, id string, plan fieldmark.MissionPlan) {
	b.t.Helper()
	ctx := auditlog.WithActor(b.t.Context(), auditlog.Actor{Kind: fieldmark.ActorPerson, Name: name})
	if _, err := b.service.Missions.Apply(ctx, mission.Plan("", id, plan, nil)); err != nil {
		b.t.Fatal(err)
	}
}

// ref is a mission as a form for several names it.
func ref(m fieldmark.Mission) string { return fmt.Sprintf("%s:%d", m.ID, m.Version) }

func (b *browser) get(id string) fieldmark.Mission {
	b.t.Helper()
	m, err := b.service.Missions.Get(b.t.Context(), "", id)
	if err != nil {
		b.t.Fatal(err)
	}
	return m
}

// TestBulk assigns and cancels several missions. Those changed or closed since the list was opened
// stay as they are, and the page says which and why.
func TestBulk(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	var all []fieldmark.Mission
	for i := range 4 {
		all = append(all, b.mission(fieldmark.MissionRequest{ExternalID: fmt.Sprint(i), Source: "crm",
			Title: fmt.Sprint("Mast ", i)}))
	}
	b.planAs("bea", all[1].ID, fieldmark.MissionPlan{Assignee: &fieldmark.Assignee{ID: "cid"}})
	if _, err := b.service.Missions.Apply(t.Context(), mission.Cancel("", all[2].ID, nil, nil)); err != nil {
		t.Fatal(err)
	}
	refs := []string{ref(all[0]), ref(all[1]), ref(all[2]), ref(all[3]), "msn_x:1"}
	back := "/admin/missions?account=default&status=OPEN"
	rec := b.do("/admin/missions/bulk", url.Values{"do": {"assign"}, "assignee": {"ann"}, "assignee-name": {"Ann"},
		"mission": refs, "back": {back}})
	b.has(rec, "2 of 5 done.", "bea changed it after the list was opened (assignee); nothing was done",
		"there is no such mission", `href="/admin/missions?account=default&amp;status=OPEN"`)
	for i, want := range []string{"ann", "cid", "", "ann"} {
		got := ""
		if a := b.get(all[i].ID).Assignee; a != nil {
			got = a.ID
		}
		if got != want {
			t.Errorf("mission %d is assigned to %q, want %q", i, got, want)
		}
	}
	// Canceling asks first, then leaves out what was changed since the question.
	cancel := url.Values{"do": {"cancel"}, "mission": {ref(b.get(all[0].ID)), ref(b.get(all[3].ID))}, "back": {back}}
	b.has(b.do("/admin/missions/bulk", cancel), "Cancel missions?", "cannot be opened again",
		`value="`+ref(b.get(all[0].ID)))
	if got := b.get(all[0].ID).Status; got != fieldmark.MissionNew {
		t.Fatalf("the question alone made the mission %s", got)
	}
	b.planAs("bea", all[3].ID, fieldmark.MissionPlan{})
	cancel.Set("confirm", "yes")
	cancel.Set("code", "CUSTOMER")
	b.has(b.do("/admin/missions/bulk", cancel), "1 of 2 done.", "bea changed it after the list was opened (assignee)")
	for i, want := range map[int]fieldmark.MissionStatus{0: fieldmark.MissionCanceled, 3: fieldmark.MissionNew} {
		if got := b.get(all[i].ID); got.Status != want {
			t.Errorf("mission %d is %s, want %s", i, got.Status, want)
		}
	}
	if r := b.get(all[0].ID).StatusReason; r == nil || r.Code != "CUSTOMER" {
		t.Errorf("the reason of the cancellation is %+v", r)
	}
}

// has fails unless a response has texts.
func (b *browser) has(rec *httptest.ResponseRecorder, want ...string) {
	b.t.Helper()
	for _, text := range want {
		if !strings.Contains(rec.Body.String(), text) {
			b.t.Errorf("%d: %q is not on the page:\n%s", rec.Code, text, rec.Body)
		}
	}
}

// TestOvertakenForms: a form from before another user's change overwrites nothing. The page says who changed
// what, shows both values, and the same form submitted again is accepted.
func TestOvertakenForms(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	m := b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "Mast", Labels: map[string]string{
		"site": "4"}})
	page := "/admin/missions/" + m.ID
	ctx := auditlog.WithActor(t.Context(), auditlog.Actor{Kind: fieldmark.ActorPerson, Name: "bea"})
	patch := `{"priority":"CRITICAL","description":"It leans <b>","labels":{"site":"5"},"contact":{"name":"Eve"}}`
	if _, err := b.service.Missions.Apply(ctx, mission.Patch("", m.ID, []byte(patch), nil)); err != nil {
		t.Fatal(err)
	}
	form := url.Values{"version": {"1"}, "priority": {"LOW"}, "description": {"It stands"}, "labels": {"site=6"}}
	rec := b.do(page+"/edit", form)
	b.has(rec, "was changed after this page was opened", "<bdi>bea</bdi> <small>administrator</small>",
		"now <bdi>critical</bdi>; your form: <bdi>low</bdi>",
		"now <bdi>It leans &lt;b&gt;</bdi>; your form: <bdi>It stands</bdi>",
		"now <bdi>site=5</bdi>; your form: <bdi>site=6</bdi>", "now <bdi>Eve</bdi>; your form: <bdi>none</bdi>",
		`name="version" value="2"`, ">It stands</textarea>")
	if got := b.get(m.ID); rec.Code != 409 || got.Priority != fieldmark.PriorityCritical {
		t.Errorf("%d, the mission is %+v", rec.Code, got)
	}
	form.Set("version", "2")
	b.post(page+"/edit", form, page)

	visit := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	b.planAs("bea", m.ID, fieldmark.MissionPlan{Assignee: &fieldmark.Assignee{ID: "bob", Name: "Bob"},
		Scheduled: &fieldmark.Span{Start: fieldmark.At(visit), End: fieldmark.At(visit.Add(time.Hour))}})
	plan := url.Values{"version": {"3"}, "do": {"save"}, "start": {"2026-12-01T13:00"}, "end": {"2026-12-01T14:00"},
		"assignee": {"ann"}, "back": {"/admin/board?account=default&week=2026-W49"}}
	rec = b.do(page+"/plan", plan)
	b.has(rec, "Board, week 2026-W49", "<bdi>bea</bdi>", "time of the visit",
		"now <bdi>2026-12-01 09:00 to 2026-12-01 10:00</bdi>; "+
			"your form: <bdi>2026-12-01 13:00 to 2026-12-01 14:00</bdi>",
		"now <bdi>Bob</bdi>; your form: <bdi>ann</bdi>", `value="2026-12-01T13:00"`, `name="version" value="4"`)
	if rec.Code != 409 {
		t.Errorf("an overtaken plan: %d, want 409", rec.Code)
	}
	plan.Set("version", "4")
	b.post(page+"/plan", plan, "/admin/board?account=default&week=2026-W49")
	b.rejected(page+"/complete", url.Values{"version": {"4"}}, 409, "was changed after this page was opened")
	if got := b.get(m.ID); got.Status != fieldmark.MissionNew || got.Assignee.ID != "ann" {
		t.Errorf("the mission is %+v", got)
	}
	// A known assignee has a name.
	b.planAs("bea", m.ID, fieldmark.MissionPlan{Assignee: &fieldmark.Assignee{ID: "ann", Name: "Ann"},
		Scheduled: &fieldmark.Span{Start: fieldmark.At(time.Now()), End: fieldmark.At(time.Now().Add(time.Hour))}})
	other := b.mission(fieldmark.MissionRequest{ExternalID: "2", Source: "crm", Title: "Fence"})
	b.post("/admin/missions/"+other.ID+"/plan", url.Values{"version": {"1"}, "do": {"save"}, "assignee": {"ann"}},
		"/admin/missions/"+other.ID)
	if got := b.get(other.ID); got.Assignee.Name != "Ann" {
		t.Errorf("the assignee is %+v, want the known name", got.Assignee)
	}
}

// TestPaymentRace: a payment that was changed since the page was opened is not changed again.
func TestPaymentRace(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	m := b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "Mast"})
	page := "/admin/missions/" + m.ID
	price := url.Values{"amount": {"12.50 EUR"}, "direction": {"CHARGE"}, "payment-version": {"0"}}
	b.post(page+"/payment", price, page)
	price.Set("amount", "1.00 EUR")
	b.rejected(page+"/payment", price, 409, "The payment was changed after this page was opened.")
	if rec := b.do(page+"/payment", url.Values{"amount": {"1 EUR"}, "direction": {"CHARGE"}}); rec.Code != 400 {
		t.Errorf("a form without a version: %d, want 400", rec.Code)
	}
	b.rejected(page+"/payment/mark", url.Values{"status": {"CANCELED"}, "payment-version": {"0"}}, 409,
		"The payment was changed")
	b.page(page, "12.50 EUR")
}

// TestFindMissions searches by title, external id, assignee and label, and lists in every order.
func TestFindMissions(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	if _, _, err := b.service.Access.Accounts.Put(t.Context(), "acme", fieldmark.AccountRequest{Name: "Acme",
		FilterLabels: []string{"site"}}); err != nil {
		t.Fatal(err)
	}
	made := map[string]fieldmark.Mission{}
	for i, name := range []string{"alpha", "beta", "gamma"} {
		m, _, err := b.service.Missions.Create(t.Context(), "acme", fieldmark.MissionRequest{ExternalID: "INC-" + name,
			Source: "crm", Title: "Replace " + name + " 100%_",
			Priority: []fieldmark.Priority{"LOW", "CRITICAL", "HIGH"}[i],
			Labels:   map[string]string{"site": "s" + name}})
		if err != nil {
			t.Fatal(err)
		}
		made[name] = m
	}
	visit := func(name string, hours int) {
		at := time.Now().Add(time.Duration(hours) * time.Hour)
		b.planAs("bea", made[name].ID, fieldmark.MissionPlan{Assignee: &fieldmark.Assignee{ID: "t-" + name,
			Name: "Tom " + name},
			Scheduled: &fieldmark.Span{Start: fieldmark.At(at), End: fieldmark.At(at.Add(time.Hour))}})
	}
	visit("gamma", 1)
	visit("alpha", 2)
	for query, want := range map[string]string{
		"q=REPLACE+beta": "beta", "q=inc-gamma": "gamma", "q=tom+alpha": "alpha", "q=T-GAMMA": "gamma",
		"q=site:sbeta": "beta", "q=100%25_": "gamma beta alpha", "q=100_": "", "q=nobody": "", "": "gamma beta alpha",
		"assignee=t-alpha": "alpha", "priority=HIGH": "gamma", "sort=priority": "beta gamma alpha",
		"sort=updated": "alpha gamma beta", "sort=planned": "gamma alpha", "sort=due": "beta gamma alpha",
		"q=replace&sort=priority": "beta gamma alpha", "q=replace&sort=planned": "gamma alpha",
		"q=site:sgamma&sort=due": "gamma", "status=OPEN&sort=due&assignee=t-gamma": "gamma",
	} {
		body := b.page("/admin/missions?account=acme&" + query)
		var got []string
		for _, found := range regexp.MustCompile(`<bdi>Replace (\w+) 100%_</bdi></a>`).FindAllStringSubmatch(body, -1) {
			got = append(got, found[1])
		}
		if list := strings.Join(got, " "); list != want {
			t.Errorf("?%s lists %q, want %q", query, list, want)
		}
		if strings.Contains(body, `<option value="default" selected>`) {
			t.Errorf("?%s changed the account", query)
		}
	}
	b.page("/admin/missions?account=acme&sort=due", `aria-sort="ascending"><a`)
	b.rejected("/admin/missions?q=beta", nil, 422, "Account: choose one")
}

// TestSavedFilters: a filter has a link above the list of the administrator who saved it.
func TestSavedFilters(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	const list = "/admin/missions?account=default&sort=due&status=OPEN"
	b.post("/admin/missions/filters", url.Values{"name": {hostile[:40]}, "back": {list}}, list)
	b.post("/admin/missions/filters", url.Values{"name": {"mine"}, "back": {list + "&cursor=x&other=y"}},
		list+"&cursor=x&other=y")
	checkEscaped(t, b.page("/admin/missions", "Filter saved.",
		`href="/admin/missions?account=default&amp;sort=due&amp;status=OPEN"><bdi>mine</bdi>`))
	b.page(list, `aria-current="page"><bdi>mine</bdi>`)
	b.rejected("/admin/missions/filters", url.Values{"name": {" "}, "back": {list}}, 422, `<a href="#save-name">Name: `)
	b.rejected("/admin/missions/filters", url.Values{"name": {"long"},
		"back": {list + "&q=" + strings.Repeat("x", 1000)}}, 422, "at most 1000 bytes")
	for i := range mission.MaxSavedFilters - 2 {
		b.post("/admin/missions/filters", url.Values{"name": {fmt.Sprint(i)}, "back": {list}}, list)
	}
	b.rejected("/admin/missions/filters", url.Values{"name": {"more"}, "back": {list}}, 409, "At most 20 filters")
	b.post("/admin/missions/filters", url.Values{"name": {"mine"}, "back": {"/admin/missions?q=x"}},
		"/admin/missions?q=x")
	b.post("/admin/missions/filters", url.Values{"delete": {"mine"}, "back": {list}}, list)
	if body := b.page(list); strings.Contains(body, "<bdi>mine</bdi>") {
		t.Error("a deleted filter is on the page")
	}
	if err := b.service.Access.Admins.Put(t.Context(), "bea", password, fieldmark.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	b.cookie = nil
	b.header = nil
	rec := b.do("/admin/sign-in", url.Values{"user": {"bea"}, "password": {password}})
	if body := b.page(list); rec.Code != 303 || strings.Contains(body, "<bdi>1</bdi>") {
		t.Errorf("%d: another administrator sees the filters of this one", rec.Code)
	}
}

// TestFilterLabelsForm: the form of an account sets the labels to filter by. A form without them keeps them.
func TestFilterLabelsForm(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	labels := func() string {
		all, err := b.service.Access.Accounts.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(a fieldmark.Account) bool { return a.ID == "acme" })
		return strings.Join(all[i].FilterLabels, " ")
	}
	form := url.Values{"id": {"acme"}, "name": {"Acme"}, "labels": {"team, site"}}
	b.post("/admin/accounts", form, "/admin/accounts")
	b.page("/admin/accounts", `name="labels" value="site team"`, "<code>site</code>, <code>team</code>")
	version := func() []string { return []string{b.version("/admin/accounts", `name="id" value="acme"`)} }
	opened := version()
	b.post("/admin/accounts", url.Values{"id": {"acme"}, "name": {"Acme 2"}, "version": opened}, "/admin/accounts")
	if got := labels(); got != "site team" {
		t.Errorf("a form without labels leaves %q", got)
	}
	// A form that was opened before does not take the name back, and says so.
	b.rejected("/admin/accounts", url.Values{"id": {"acme"}, "name": {"Acme"}, "note": {"new"}, "version": opened}, 409,
		"The account was changed after this form was opened.")
	b.rejected("/admin/accounts", url.Values{"id": {"acme"}, "name": {"Acme"}, "version": version(),
		"labels": {"a b c d e f"}}, 422, `<a href="#acme-labels">Labels to filter by: must have at most 5 keys.`)
	b.post("/admin/accounts", url.Values{"id": {"acme"}, "name": {"Acme"}, "version": version(), "labels": {""}},
		"/admin/accounts")
	if got := labels(); got != "" {
		t.Errorf("an empty input leaves %q", got)
	}
}

// TestExportMissions downloads the missions of a filter as CSV.
func TestExportMissions(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "=1+1", Priority: fieldmark.PriorityHigh})
	b.mission(fieldmark.MissionRequest{ExternalID: "2", Source: "crm", Title: "Fence", Priority: fieldmark.PriorityLow})
	b.page("/admin/missions?priority=HIGH", `href="/admin/missions/export?account=default&amp;priority=HIGH"`)
	rec := b.do("/admin/missions/export?account=default&priority=HIGH", nil)
	lines, err := csv.NewReader(rec.Body).ReadAll()
	if err != nil || len(lines) != 2 || !slices.Contains(lines[1], "'=1+1") ||
		rec.Header().Get("Content-Disposition") != `attachment; filename="missions.csv"` {
		t.Errorf("export: %q, %v, %v", lines, err, rec.Header())
	}
	if log := b.log.String(); !strings.Contains(log, "action=mission.exported target=default") {
		t.Errorf("the export is not in the log: %s", log)
	}
	_, _, err = b.service.Access.Accounts.Put(t.Context(), "acme", fieldmark.AccountRequest{Name: "Acme"})
	if err != nil {
		t.Fatal(err)
	}
	if body := b.page("/admin/missions"); strings.Contains(body, "/export") {
		t.Error("missions of all accounts can be exported")
	}
	b.rejected("/admin/missions/export", nil, 400, "Choose an account to export.")
}

// TestTimeline shows who caused each event, its note and its webhooks; a redacted note is gone from the page.
func TestTimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBrowser(t, false)
		b.signIn()
		b.endpoints(1)
		m := b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "Mast"})
		page := "/admin/missions/" + m.ID
		key := func(kind fieldmark.ActorKind, name string, text string) {
			time.Sleep(time.Millisecond) // ids of one instant have no order
			ctx := auditlog.WithActor(t.Context(), auditlog.Actor{Kind: kind, Name: name})
			_, err := b.service.Missions.Apply(ctx, mission.AddNote("", m.ID, fieldmark.NoteRequest{Text: text}))
			if err != nil {
				t.Fatal(err)
			}
		}
		key(fieldmark.ActorKey, "key_x", "by a key")
		key(fieldmark.ActorCommand, "root", "by a command")
		time.Sleep(time.Millisecond)
		b.post(page+"/notes", url.Values{"text": {"The code is 4711 " + hostile}, "once": {"a"}}, page)
		body := b.page(page, "<bdi>key_x</bdi> <small>API key</small> <code>mission.noted</code>",
			"<bdi>root</bdi> <small>command line</small>", "<bdi>ada</bdi> <small>administrator</small>",
			"<bdi>Fieldmark</bdi> <small>system</small> <code>mission.created</code>", "Webhooks: 1 queued", "4711")
		checkEscaped(t, body)
		note := regexp.MustCompile(`action="(/admin/missions/[^"]+/redact)"`).FindAllStringSubmatch(body, -1)
		b.post(note[len(note)-1][1], url.Values{}, page)
		if body := b.page(page, "Note redacted.", "Redacted "); strings.Contains(body, "4711") {
			t.Error("the page shows a redacted text")
		}
		for i := range 60 {
			key(fieldmark.ActorKey, "key_x", fmt.Sprint("note ", i, "."))
		}
		body = b.page(page, "The latest 50.", "All 63 notes", "note 59.")
		if strings.Contains(body, "note 9.") {
			t.Error("the page shows more than the latest notes")
		}
		b.page(page+"?notes=all", "by a key", "note 9.", "note 59.")
	})
}
