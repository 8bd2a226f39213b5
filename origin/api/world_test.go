package api_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// fillWorld makes missions, a note, an attachment and a failing endpoint with a failed delivery in a test
// world, SLA timers and payments that are overdue, and returns texts of which every object has one.
func (fx *fixture) fillWorld(key string) (marks []string) {
	fx.t.Helper()
	marks = []string{"worldmark", "default~test"}
	var hook fieldmark.NewEndpoint
	fx.mustSend(201, request{"POST", fieldmark.PathWebhooks, key,
		`{"url":"https://hooks.example/worldmark","events":["mission.*"],"description":"worldmark"}`, nil}, &hook)
	marks = append(marks, hook.ID)
	for i, status := range []string{"", "DISPATCHED", "IN_PROGRESS"} {
		var m fieldmark.Mission
		fx.mustSend(201, request{"POST", fieldmark.PathMissions, key, fmt.Sprintf(`{"source":"worldmark",`+
			`"externalId":"worldmark-%d","title":"worldmark","priority":"CRITICAL","labels":{"site":"worldmark"},`+
			`"payment":{"amount":{"value":100,"currency":"EUR"}}}`, i), nil}, &m)
		marks = append(marks, m.ID, m.Payment.ID)
		path := fieldmark.PathMissions + "/" + m.ID
		fx.mustSend(201, request{"POST", path + "/notes", key, `{"text":"worldmark"}`, nil}, nil)
		fx.mustSend(200, request{"PUT", path + "/plan", key, fmt.Sprintf(
			`{"assignee":{"id":"worldmark","name":"worldmark"},"scheduled":{"start":%q,"end":%q}}`,
			fieldmark.At(time.Now().Add(time.Hour)), fieldmark.At(time.Now().Add(2*time.Hour))), nil}, nil)
		if status != "" {
			fx.mustSend(200, request{"POST", path + "/transitions", key, `{"status":"DISPATCHED"}`, nil}, nil)
		}
		if status == "IN_PROGRESS" {
			fx.mustSend(200, request{"POST", path + "/transitions", key, `{"status":"IN_PROGRESS"}`, nil}, nil)
			fx.mustSend(200, request{"POST", path + "/transitions", key, `{"status":"COMPLETED"}`, nil}, nil)
		}
	}
	for _, text := range []string{
		`UPDATE sla SET due_at = 1, breached_at = 1, at_risk_due = 1 WHERE world <> '' AND rules IS NOT NULL`,
		`UPDATE payment SET check_at = 1 WHERE world <> ''`,
		`UPDATE endpoint SET failing_since = 1, open_until = 9000000000000000 WHERE world <> ''`,
		`UPDATE delivery SET state = 'failed' WHERE world <> '' AND id = (SELECT MIN(id) FROM delivery)`,
		fmt.Sprintf(`UPDATE api_key SET expires_at = %d WHERE account = 'default~test'`,
			time.Now().Add(24*time.Hour).UnixMicro()),
	} {
		fx.exec(text)
	}
	return marks
}

// TestNoWorldInLiveAnswers reads every list of the API that takes no id, for integrators and for
// administrators, before and after a test world is filled. Nothing of the world is in an answer unless the
// administrator asks for it.
func TestNoWorldInLiveAnswers(t *testing.T) {
	fx := openFixture(t, storetest.New(t), nil, func(c *origin.Config) {
		c.HTTP = safehttp.New(safehttp.Config{ConnectTo: map[string]string{"hooks.example:443": "127.0.0.1:9"},
			Targets: true})
	})
	live, key := fx.keyWithEveryScopeAndWebhooks(), fx.testKeyOf("default").Token
	reads := map[string]bool{} // paths, and whether they have the parameter world
	for path, methods := range describedOperations(t) {
		if op, ok := methods["get"]; ok && !strings.Contains(path, "{") {
			reads[path] = op.takes("world")
		}
	}
	fetch := func(path string) string {
		t.Helper()
		token := live
		if strings.HasPrefix(path, adminPath) {
			token = fx.admin
		}
		rec := fx.send(request{"GET", path, token, "", nil})
		if rec.Code >= 500 {
			t.Errorf("GET %s: %d %s", path, rec.Code, rec.Body)
		}
		return rec.Body.String()
	}
	issues := func() (codes []string) {
		t.Helper()
		var list fieldmark.List[fieldmark.Issue]
		fx.mustSend(200, request{"GET", adminPath + "issues", fx.admin, "", nil}, &list)
		for _, i := range list.Data {
			codes = append(codes, string(i.Code))
		}
		return codes
	}
	codes := issues()
	before, err := fx.store.Stats(t.Context(), time.Now(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	marks := fx.fillWorld(key)
	worlds := 0
	for path, takes := range reads {
		body := fetch(path)
		for _, mark := range marks {
			// Lists of keys, and the audit log that one was created, have test keys, which are marked as such.
			shows := mark == "default~test" && (strings.HasSuffix(path, "/keys") || path == adminPath+"audit-log" ||
				path == fieldmark.PathTestReset)
			if strings.Contains(body, mark) && !shows {
				t.Errorf("GET %s has %q of a test world: %s", path, mark, body)
			}
		}
		if takes {
			worlds++
			if body := fetch(path + "?world=test"); !strings.Contains(body, marks[2]) &&
				!strings.Contains(body, marks[3]) {
				t.Errorf("GET %s?world=test has nothing of the test world: %s", path, body)
			}
		}
	}
	if len(reads) < 20 || worlds != 4 {
		t.Errorf("read %d lists, %d of which list test worlds; want more than 20 and 4", len(reads), worlds)
	}
	if after := issues(); !reflect.DeepEqual(after, codes) {
		t.Errorf("issues %v, before the world %v", after, codes)
	}
	after, err := fx.store.Stats(t.Context(), time.Now(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	after.Event = before.Event
	if !maps.Equal(after.Missions, before.Missions) || !reflect.DeepEqual(after, before) {
		t.Errorf("statistics %+v, before the world %+v", after, before)
	}
	open, err := fx.store.OpenSLAs(t.Context())
	if err != nil || open.Breached+open.AtRisk > 0 {
		t.Errorf("open SLAs with a test world alone: %+v, %v", open, err)
	}
}

// TestAttachmentOfAWorld adds files to a mission of a test world: those beyond its limit are refused.
func TestAttachmentOfAWorld(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.testKeyOf("default").Token
	var m fieldmark.Mission
	fx.mustSend(201, request{"POST", fieldmark.PathMissions, key, `{"source":"crm","externalId":"1","title":"T"}`, nil},
		&m)
	path := fieldmark.PathMissions + "/" + m.ID + "/attachments"
	text := map[string]string{"Content-Type": "text/plain"}
	small := strings.Repeat("a", fieldmark.TestAttachmentSize)
	large := small + "a"
	fx.mustSend(http.StatusCreated, request{"POST", path, key, small, text}, nil)
	if p := fx.problem(fx.send(request{"POST", path, key, large, text})); p.Code != fieldmark.CodeTestKey {
		t.Errorf("an attachment of %d bytes: %s, want %s", len(large), p.Code, fieldmark.CodeTestKey)
	}
}

// TestResetOfAWorld resets a test world while live data with the same identifiers is there: the world is
// empty afterwards, its key works, and nothing else has changed.
func TestResetOfAWorld(t *testing.T) {
	fx := openFixture(t, storetest.New(t), nil, func(c *origin.Config) {
		c.HTTP = safehttp.New(safehttp.Config{ConnectTo: map[string]string{"hooks.example:443": "127.0.0.1:9"},
			Targets: true})
	})
	key := fx.testKeyOf("default").Token
	fx.fillWorld(key)
	var live fieldmark.Mission
	fx.mustSend(201, request{"POST", fieldmark.PathMissions, fx.creator,
		`{"source":"worldmark","externalId":"worldmark-0","title":"live"}`, nil}, &live)
	fx.mustSend(403, request{"POST", fieldmark.PathTestReset, fx.creator, "", nil}, nil)
	var w fieldmark.TestWorld
	fx.mustSend(202, request{"POST", fieldmark.PathTestReset, key, "", nil}, &w)
	if w.State != fieldmark.TestWorldResetting || w.Account != "default~test" {
		t.Errorf("a world whose reset begins: %+v", w)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- fx.service.TestWorlds.Run(ctx) }()
	for w.State != fieldmark.TestWorldReady {
		time.Sleep(10 * time.Millisecond)
		fx.mustSend(200, request{"GET", fieldmark.PathTestReset, key, "", nil}, &w)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	var page fieldmark.List[map[string]any]
	for _, path := range []string{fieldmark.PathMissions, fieldmark.PathWebhooks} {
		if fx.mustSend(200, request{"GET", path, key, "", nil}, &page); len(page.Data) > 0 {
			t.Errorf("GET %s after the reset: %v", path, page.Data)
		}
	}
	var events fieldmark.PolledEvents
	fx.mustSend(200, request{"GET", fieldmark.PathPublicEvents, key, "", nil}, &events)
	if len(events.Data) > 0 {
		t.Errorf("events after the reset: %v", events.Data)
	}
	fx.mustSend(200, request{"GET", fieldmark.PathMissions + "/" + live.ID, fx.reader, "", nil}, nil)
	var left int
	fx.read(`SELECT (SELECT COUNT(*) FROM mission WHERE world <> '') + (SELECT COUNT(*) FROM endpoint WHERE world <> '')
		+ (SELECT COUNT(*) FROM delivery WHERE world <> '') + (SELECT COUNT(*) FROM sla WHERE world <> '')
		+ (SELECT COUNT(*) FROM payment WHERE world <> '') + (SELECT COUNT(*) FROM event
			WHERE data LIKE '%worldmark%' AND data NOT LIKE '%"title":"live"%')`, &left)
	if left != 0 {
		t.Errorf("%d rows of the world are left", left)
	}
	fx.checkDatabase()
	fx.mustSend(201, request{"POST", fieldmark.PathMissions, key,
		`{"source":"worldmark","externalId":"worldmark-0","title":"again"}`, nil}, nil)
	fx.mustSend(404, request{"POST", fieldmark.PathTestReset, fx.key("other", fieldmark.ScopeKeyTest), "", nil}, nil)
}

// TestIdleWorld runs the maintenance of test worlds with one whose events are older than a week, and then
// with one whose key was not used for a month.
func TestIdleWorld(t *testing.T) {
	fx := openFixture(t, storetest.New(t), nil, func(c *origin.Config) {
		c.HTTP = safehttp.New(safehttp.Config{ConnectTo: map[string]string{"hooks.example:443": "127.0.0.1:9"},
			Targets: true})
	})
	key := fx.testKeyOf("default").Token
	fx.fillWorld(key)
	fx.mustSend(201, request{"POST", fieldmark.PathMissions, fx.creator,
		`{"source":"crm","externalId":"1","title":"live"}`, nil}, nil)
	count := func(text string) (n int) {
		t.Helper()
		fx.read(text, &n)
		return n
	}
	run := func(text string, want int) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- fx.service.TestWorlds.Run(ctx) }()
		for count(text) != want {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	const old = `UPDATE event SET id = 'evt_' || substr('00000000000000000000000000' || number, -26), sum = NULL
		WHERE account <> ''`
	if fx.at.URL == "" {
		fx.exec(old)
	} else {
		fx.exec(strings.Replace(old, "substr('00000000000000000000000000' || number, -26)",
			"right('00000000000000000000000000' || number, 26)", 1))
	}
	live := count(`SELECT COUNT(*) FROM event WHERE account = 'default'`)
	run(`SELECT COUNT(*) FROM event WHERE account = 'default~test'`, 0)
	if n := count(`SELECT COUNT(*) FROM delivery WHERE world <> ''`); n != 0 {
		t.Errorf("%d deliveries of old events are left", n)
	}
	if n := count(`SELECT COUNT(*) FROM event WHERE account = 'default'`); n != live || live == 0 {
		t.Errorf("%d live events, %d before", n, live)
	}
	if n := count(`SELECT COUNT(*) FROM mission WHERE world <> ''`); n != 3 {
		t.Errorf("%d missions of a world that is in use, want 3", n)
	}
	fx.exec(`UPDATE api_key SET created_at = 1, last_used_at = NULL WHERE account = 'default~test'`)
	fx.exec(`UPDATE account SET created_at = 1 WHERE id = 'default~test'`)
	run(`SELECT COUNT(*) FROM mission WHERE world <> ''`, 0)
	run(`SELECT COUNT(*) FROM account WHERE reset_at IS NOT NULL`, 0)
}
