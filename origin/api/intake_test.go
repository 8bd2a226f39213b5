package api_test

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/access"
)

// spooled is a request to create a mission as an edge sends it after it accepted it.
func (fx *fixture) spooled(id, key, externalID string) fieldmark.SpooledRequest {
	return fieldmark.SpooledRequest{ID: id, Key: key, Client: "198.51.100.1", Method: "POST",
		Target: fieldmark.PathMissions, ContentType: "application/json", IdempotencyKey: "spl_" + id,
		Source: "desk", ExternalID: externalID,
		Body: []byte(`{"source":"desk","externalId":"` + externalID + `","title":"Replace the router"}`)}
}

// drain sends a request as an edge does.
func (fx *fixture) drain(status int, r fieldmark.SpooledRequest) (done fieldmark.Intake) {
	fx.t.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		fx.t.Fatal(err)
	}
	rec := fx.mustSend(status, request{"POST", fieldmark.PathInternalIntake, nodeToken, string(body), nil}, nil)
	if status == 200 {
		if err := json.Unmarshal(rec.Body.Bytes(), &done); err != nil {
			fx.t.Fatal(err)
		}
	}
	return done
}

// newKey makes a key and returns it with its token.
func (fx *fixture) newKey(account string, scopes ...fieldmark.Scope) fieldmark.NewKey {
	fx.t.Helper()
	k, err := fx.service.Access.Keys.Create(fx.t.Context(), account, fieldmark.KeyRequest{Name: "test", Scopes: scopes,
		ExpiresInDays: 30})
	if err != nil {
		fx.t.Fatal(err)
	}
	return k
}

// TestIntake sends requests that an edge accepted, also twice, and reads their results.
func TestIntake(t *testing.T) {
	at := storetest.New(t)
	writes := 0 // nothing writes but the requests below
	at.Hooks.Commit = func(_ time.Duration, n int) { writes += n }
	fx := openFixture(t, at, nil)
	k := fx.newKey(access.DefaultAccount, fieldmark.ScopeMissionCreate)
	r := fx.spooled("node.1", k.ID, "a")
	r.AgeMillis = time.Hour.Milliseconds()
	before := time.Now()
	writes = 0
	done := fx.drain(200, r)
	if writes != 1 {
		t.Errorf("a mission and its decision are %d writes, want 1", writes)
	}
	if done.State != fieldmark.IntakeMission || len(done.Missions) != 1 || done.ID != "node.1" ||
		done.ExternalID != "a" || done.DecidedAt == nil {
		t.Fatalf("decision %+v, want a mission", done)
	}
	m, err := fx.service.Missions.Get(t.Context(), access.DefaultAccount, done.Missions[0])
	if err != nil {
		t.Fatal(err)
	}
	if age := before.Sub(m.CreatedAt.Std()); age < 59*time.Minute || age > time.Hour {
		t.Errorf("created %v before it was sent, want an hour", age)
	}
	// Filters by creation compare when the mission reached the origin.
	arrived := url.QueryEscape(fieldmark.At(before.Add(-time.Minute)).String())
	reader := fx.keyWithEveryScope()
	since, until := fx.listIDs(reader, "createdSince="+arrived, 5), fx.listIDs(reader, "createdUntil="+arrived, 5)
	if len(since) != 1 || len(until) != 0 {
		t.Errorf("since a minute ago %v, until then %v; want the mission since", since, until)
	}
	for _, timer := range m.SLA.Metrics {
		if timer.StartedAt != m.CreatedAt {
			t.Errorf("the timer %s began at %v, want %v: when the edge accepted it", timer.Name, timer.StartedAt,
				m.CreatedAt)
		}
	}
	if again := fx.drain(200, r); again.Missions[0] != m.ID || fx.missions() != 1 {
		t.Errorf("sent twice: %+v and %d missions, want the same one", again, fx.missions())
	}
	r.ID = "node.2" // another edge accepted it too
	if again := fx.drain(200, r); again.Missions[0] != m.ID || fx.missions() != 1 {
		t.Errorf("sent by two edges: %+v and %d missions, want the same one", again, fx.missions())
	}
	var asked fieldmark.Intake
	fx.mustSend(200, request{"GET", fieldmark.PathIntake + "node.1", k.Token, "", nil}, &asked)
	if asked.State != fieldmark.IntakeMission || asked.Missions[0] != m.ID {
		t.Errorf("asked: %+v, want the mission", asked)
	}
	for _, nobody := range []request{{"GET", fieldmark.PathIntake + "node.1", fx.otherKey, "", nil},
		{"GET", fieldmark.PathIntake + "node.3", k.Token, "", nil}} {
		fx.mustSend(404, nobody, nil)
	}
	fx.mustSend(401, request{"POST", fieldmark.PathInternalIntake, k.Token, "{}", nil}, nil)
}

// TestIntakeOfAlerts sends a notification that an edge accepted.
func TestIntakeOfAlerts(t *testing.T) {
	fx := newFixture(t, nil)
	k := fx.newKey(access.DefaultAccount, fieldmark.ScopeMissionCreate)
	notification := `{"version":"4","groupKey":"g","status":"firing","alerts":[{"status":"firing",` +
		`"labels":{"alertname":"Down"},"startsAt":"2026-11-21T08:00:00Z","fingerprint":"0123456789abcdef"}]}`
	r := fieldmark.SpooledRequest{ID: "node.1", Key: k.ID, Method: "POST", ContentType: "text/plain",
		Target: fieldmark.PathAlerts + "alertmanager?source=prometheus", Source: "prometheus",
		Body: []byte(notification)}
	done := fx.drain(200, r)
	if done.State != fieldmark.IntakeMission || len(done.Missions) != 1 {
		t.Fatalf("decision %+v, want a mission", done)
	}
	r.ID = "node.2"
	if again := fx.drain(200, r); again.Missions[0] != done.Missions[0] || fx.missions() != 1 {
		t.Errorf("sent twice: %+v, %d missions, want it merged", again, fx.missions())
	}
	for what, change := range map[string]func(*fieldmark.SpooledRequest){
		"a bad parameter":  func(r *fieldmark.SpooledRequest) { r.Target = fieldmark.PathAlerts + "grafana?mode=x" },
		"another format":   func(r *fieldmark.SpooledRequest) { r.Body = []byte(`{"version":"3"}`) },
		"an unknown route": func(r *fieldmark.SpooledRequest) { r.Target = fieldmark.PathAdminAPI + "purge" },
		"no address":       func(r *fieldmark.SpooledRequest) { r.Target = "%zz" },
	} {
		r := r
		r.ID = strings.ReplaceAll(what, " ", "-")
		change(&r)
		if done := fx.drain(200, r); done.State != fieldmark.IntakeRefused || done.Code == "" {
			t.Errorf("%s: %+v, want it refused", what, done)
		}
	}
}

// TestIntakeRefused checks that what is refused after it was accepted has an event and a line in
// the list of refusals, whatever the reason is.
func TestIntakeRefused(t *testing.T) {
	fx := newFixture(t, nil)
	ctx := t.Context()
	good := fx.newKey("other", fieldmark.ScopeMissionCreate)
	fx.drain(200, fx.spooled("node.0", good.ID, "taken"))
	revoked := fx.newKey("other", fieldmark.ScopeMissionCreate)
	if _, err := fx.service.Access.Keys.Revoke(ctx, revoked.ID, "over"); err != nil {
		t.Fatal(err)
	}
	reader := fx.newKey("other", fieldmark.ScopeMissionRead)
	bound := fx.newKey("other", fieldmark.ScopeMissionCreate)
	fx.exec(`UPDATE api_key SET networks = '["192.0.2.0/24"]' WHERE id = '` + bound.ID + `'`)

	conflict := fx.spooled("node.1", good.ID, "taken")
	conflict.Body = []byte(strings.Replace(string(conflict.Body), "router", "switch", 1))
	invalid := fx.spooled("node.5", good.ID, "e")
	invalid.Body = []byte(`{"source":"desk"}`)
	lost := fx.spooled("node.7", good.ID, "g")
	lost.Failures = 12 // the edge has given it up: it is not tried again
	unknown := fx.spooled("node.6", "key_06m7xv8e0w3v3ac3zvc1h0gmw4", "f")
	for _, c := range []struct {
		request fieldmark.SpooledRequest
		account string
		code    fieldmark.Code
	}{
		{conflict, "other", fieldmark.CodeMissionExists},
		{fx.spooled("node.2", revoked.ID, "b"), "other", fieldmark.CodeInvalidAPIKey},
		{fx.spooled("node.3", reader.ID, "c"), "other", fieldmark.CodeInsufficientScope},
		{fx.spooled("node.4", bound.ID, "d"), "other", fieldmark.CodeIPNotAllowed},
		{invalid, "other", fieldmark.CodeValidationFailed},
		{unknown, "", fieldmark.CodeInvalidAPIKey},
		{lost, "other", fieldmark.CodeInternal},
	} {
		for range 2 { // the second time it has been decided
			done := fx.drain(200, c.request)
			if done.State != fieldmark.IntakeRefused || done.Code != c.code || done.Detail == "" {
				t.Errorf("%s: %+v, want refused with %s", c.request.ID, done, c.code)
			}
		}
		var events int
		fx.read(`SELECT COUNT(*) FROM event WHERE type = 'intake.refused' AND subject = '`+c.request.ID+
			`' AND account = '`+c.account+`'`, &events)
		if events != 1 {
			t.Errorf("%s has %d events, want 1", c.request.ID, events)
		}
	}
	list, err := fx.service.Intake.Refused(ctx)
	if err != nil || len(list) != 7 || fx.missions() != 1 {
		t.Errorf("%d refusals (%v) and %d missions, want 7 and 1", len(list), err, fx.missions())
	}
	for _, secret := range []string{good.Token, revoked.Token} {
		if strings.Contains(fx.log.String(), secret) {
			t.Error("the log holds a token")
		}
	}
}

// TestIntakeOfTestKeys checks that a request of a test key stays in its test world, whose clock may
// differ from the real one.
func TestIntakeOfTestKeys(t *testing.T) {
	fx := newFixture(t, nil)
	k := fx.testKeyOf("other")
	fx.exec(`UPDATE account SET clock_offset = ` + strconv.FormatInt((48*time.Hour).Microseconds(), 10) +
		` WHERE id = 'other~test'`)
	r := fx.spooled("node.1", k.ID, "a")
	r.AgeMillis = time.Hour.Milliseconds()
	done := fx.drain(200, r)
	if done.State != fieldmark.IntakeMission || fx.missions() != 0 {
		t.Fatalf("decision %+v, %d live missions; want a mission in the test world", done, fx.missions())
	}
	m, err := fx.service.Missions.Get(t.Context(), "other~test", done.Missions[0])
	if err != nil {
		t.Fatal(err)
	}
	if ahead := time.Until(m.CreatedAt.Std()); ahead < 46*time.Hour || ahead > 48*time.Hour {
		t.Errorf("created in %v, want 47h: an hour before the time of the world", ahead)
	}
	fx.mustSend(404, request{"GET", fieldmark.PathIntake + "node.1", fx.otherKey, "", nil}, nil)
}

// TestIntakeLater checks that a request that cannot be carried out now is not decided.
func TestIntakeLater(t *testing.T) { synctest.Test(t, testIntakeLater) } // within one day

func testIntakeLater(t *testing.T) {
	fx := newFixture(t, nil)
	k := fx.newKey("other", fieldmark.ScopeMissionCreate)
	fx.mustSend(200, request{"PUT", adminPath + "offers/small", fx.admin,
		`{"name":"Small","kind":"standard","limits":{"missionsPerDay":1}}`, nil}, nil)
	fx.mustSend(200, request{"PUT", adminPath + "accounts/other", fx.admin, `{"name":"Other","offer":"small"}`, nil},
		nil)
	fx.drain(200, fx.spooled("node.1", k.ID, "a"))
	full := fx.spooled("node.2", k.ID, "b")
	fx.drain(503, full)
	fx.mustSend(200, request{"PUT", adminPath + "accounts/other", fx.admin, `{"name":"Other","offer":""}`, nil}, nil)
	if done := fx.drain(200, full); done.State != fieldmark.IntakeMission {
		t.Errorf("when the account may create missions again: %+v, want a mission", done)
	}
}

// TestQuotaForSpools checks what an edge learns of a key if it asks for it, and that it learns nothing
// without the node token.
func TestQuotaForSpools(t *testing.T) {
	fx := newFixture(t, nil)
	var k fieldmark.NewKey
	fx.mustSend(201, request{"POST", adminPath + "keys", fx.admin, `{"name":"console","account":"other",` +
		`"scopes":["mission:create"],"expiresInDays":20,"networks":["198.51.100.0/24","2001:db8::/32"]}`, nil}, &k)
	ask := func(header map[string]string) string {
		header[fieldmark.HeaderClient] = "198.51.100.1"
		rec := fx.send(request{"GET", fieldmark.PathIntake + "node.1", k.Token, "", header})
		return rec.Header().Get(fieldmark.HeaderQuota)
	}
	if got := ask(map[string]string{fieldmark.HeaderNode: nodeToken}); got != k.ID {
		t.Errorf("an edge without a spool learns %q, want %q", got, k.ID)
	}
	if got := ask(map[string]string{fieldmark.HeaderSpool: "1"}); got != "" {
		t.Errorf("without the node token: %q, want nothing", got)
	}
	got := ask(map[string]string{fieldmark.HeaderNode: nodeToken, fieldmark.HeaderSpool: "1"})
	want := k.ID + ";a=other;m=1;x=" + strconv.FormatInt(k.ExpiresAt.Std().Unix(), 10) +
		";n=198.51.100.0/24+2001:db8::/32"
	if got != want {
		t.Errorf("an edge with a spool learns %q, want %q", got, want)
	}
}
