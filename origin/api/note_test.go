package api_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestNotes adds notes, repeats them, reaches the limit and redacts one.
func TestNotes(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	m := fx.createMission("noted")
	path := fieldmark.PathMissions + "/" + m.ID + "/notes"
	post := func(status int, body string, out any) string {
		t.Helper()
		return fx.mustSend(status, request{method: "POST", path: path, key: key, body: body}, out).
			Header().Get(fieldmark.HeaderDeduplicated)
	}
	var first, again fieldmark.Note
	post(201, `{"text":"Ring twice.\r\nBring a ladder.","visibility":"SHARED","author":{"id":"a-1","name":"Ann"},`+
		`"externalId":"c-1"}`, &first)
	if first.Text != "Ring twice.\nBring a ladder." || first.Visibility != fieldmark.NoteShared ||
		first.Author.Name != "Ann" || !fieldmark.CheckID(fieldmark.PrefixNote, first.ID) {
		t.Errorf("note %+v", first)
	}
	if dup := post(200, `{"text":"Ring twice.\nBring a ladder.","visibility":"shared","author":{"id":"a-1",`+
		`"name":"Ann"},"externalId":"c-1"}`, &again); dup != "true" || again != first {
		t.Errorf("repeated: %+v, deduplicated %q; want %+v", again, dup, first)
	}
	for body, want := range map[string]fieldmark.Code{
		`{"text":"Other.","externalId":"c-1"}`:                            fieldmark.CodeNoteExists,
		`{"text":" "}`:                                                    fieldmark.CodeValidationFailed,
		`{"text":"x","visibility":"secret"}`:                              fieldmark.CodeValidationFailed,
		`{"text":"x","externalId":"fieldmark-alert-0"}`:                   fieldmark.CodeValidationFailed,
		`{"text":"` + strings.Repeat("x", 4001) + `"}`:                    fieldmark.CodeValidationFailed,
		`{"text":"x","author":{"name":"without an id"}}`:                  fieldmark.CodeValidationFailed,
		`{"text":"x","author":{"id":"` + strings.Repeat("x", 129) + `"}}`: fieldmark.CodeValidationFailed,
	} {
		if p := fx.problem(fx.send(request{method: "POST", path: path, key: key, body: body})); p.Code != want {
			t.Errorf("%.60s: %s, want %s", body, p.Code, want)
		}
	}
	for who, status := range map[string]int{fx.creator: 403, fx.reader: 403, fx.otherKey: 403, "": 401} {
		rec := fx.send(request{method: "POST", path: path, key: who, body: `{"text":"x"}`})
		if rec.Code != status {
			t.Errorf("a key without mission:update: %d, want %d", rec.Code, status)
		}
	}
	if rec := fx.send(request{method: "GET", path: path, key: fx.otherKey}); rec.Code != 404 {
		t.Errorf("notes of another account: %d, want 404", rec.Code)
	}
	var byKey fieldmark.Note
	post(201, `{"text":"Second."}`, &byKey)
	if byKey.Visibility != fieldmark.NoteInternal || !strings.HasPrefix(byKey.Author.ID, "key_") ||
		byKey.Author.Name != "test" {
		t.Errorf("a note without an author: %+v, want the key as author", byKey)
	}
	err := fx.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for range fieldmark.MaxNotes - 2 {
			n := fieldmark.Note{ID: fieldmark.NewID(fieldmark.PrefixNote, time.Now()), Text: "x",
				Visibility: fieldmark.NoteInternal}
			if err := tx.AddNote(ctx, m.ID, n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if p := fx.problem(fx.send(request{method: "POST", path: path, key: key, body: `{"text":"x"}`})); p.Code !=
		fieldmark.CodeTooMany || p.Status != http.StatusConflict {
		t.Errorf("note 501: %+v, want 409 %s", p, fieldmark.CodeTooMany)
	}
	var page fieldmark.List[fieldmark.Note]
	var all []fieldmark.Note
	for query := "?limit=200"; ; query = "?limit=200&cursor=" + page.NextCursor {
		page = fieldmark.List[fieldmark.Note]{}
		fx.mustSend(200, request{method: "GET", path: path + query, key: key}, &page)
		if all = append(all, page.Data...); !page.HasMore {
			break
		}
	}
	if len(all) != fieldmark.MaxNotes || all[0] != first {
		t.Errorf("%d notes, the first %+v; want %d, the oldest first", len(all), all[0], fieldmark.MaxNotes)
	}
	fx.mustSend(200, request{method: "GET", path: path + "?visibility=shared", key: key}, &page)
	if len(page.Data) != 1 {
		t.Errorf("%d shared notes, want 1", len(page.Data))
	}
	fx.redact(m, first, key)
}

// redact redacts a note and looks for its text in the whole database.
func (fx *fixture) redact(m fieldmark.Mission, n fieldmark.Note, key string) {
	fx.t.Helper()
	redact := request{method: "POST", path: adminPath + "missions/" + m.ID + "/notes/" + n.ID + "/redact",
		key: fx.admin}
	if rec := fx.send(request{method: "POST", path: redact.path, key: key}); rec.Code != 403 {
		fx.t.Errorf("redact without admin:*: %d, want 403", rec.Code)
	}
	var after fieldmark.Note
	fx.mustSend(200, redact, &after)
	if after.Text != "" || after.RedactedAt == nil {
		fx.t.Errorf("redacted: %+v", after)
	}
	fx.mustSend(200, redact, nil)
	story, err := fx.service.Missions.History(fx.t.Context(), m.ID)
	if err != nil {
		fx.t.Fatal(err)
	}
	noted := slices.DeleteFunc(story.Events, func(e mission.HistoryEvent) bool {
		return e.Type != fieldmark.EventMissionNoted || strings.Contains(string(e.Data), "Bring a ladder")
	})
	if len(noted) != 3 || !strings.HasPrefix(noted[2].Actor, "key key_") {
		fx.t.Errorf("events of notes: %+v; want two notes and the redaction, with actors", noted)
	}
	fx.exec(`DELETE FROM mission_note WHERE text = 'x'`) // those without an event
	fx.inspect()
}

// inspect checks the rules of the database.
func (fx *fixture) inspect() {
	fx.t.Helper()
	findings, err := fx.store.Inspect(fx.t.Context())
	if err != nil {
		fx.t.Fatal(err)
	}
	for _, f := range findings {
		if len(f.Broken) > 0 {
			fx.t.Errorf("%s: %v", f.Rule, f.Broken)
		}
	}
}

// index runs the jobs of the service until the labels of all missions are indexed.
func (fx *fixture) index() {
	fx.t.Helper()
	defer fx.run()()
	for {
		account, err := fx.store.AccountToIndex(fx.t.Context())
		if err != nil {
			fx.t.Fatal(err)
		}
		if account == "" {
			return
		}
		runtime.Gosched()
	}
}

// stuckWriter is a client that reads nothing until it is released.
type stuckWriter struct {
	*httptest.ResponseRecorder
	stuck, release chan struct{}
}

// Write reports on stuck that the response has begun.
func (w *stuckWriter) Write(b []byte) (int, error) {
	w.stuck <- struct{}{}
	<-w.release
	return w.ResponseRecorder.Write(b)
}

// exportsAtOnce runs more exports of a key at the same time than it may.
func (fx *fixture) exportsAtOnce(path, key string) {
	fx.t.Helper()
	w := stuckWriter{stuck: make(chan struct{}), release: make(chan struct{})}
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			r := httptest.NewRequest("GET", path+"?status=NEW&source=crm&priority=LOW&fields=id", nil)
			r.Header.Set("Authorization", "Bearer "+key)
			fx.handler.ServeHTTP(&stuckWriter{httptest.NewRecorder(), w.stuck, w.release}, r)
		})
		<-w.stuck
	}
	rec := fx.send(request{method: "GET", path: path, key: key})
	if rec.Code != http.StatusTooManyRequests || rec.Header().Get("Retry-After") == "" {
		fx.t.Errorf("a third export at the same time: %d %s, want 429 with Retry-After", rec.Code, rec.Body)
	}
	close(w.release)
	running.Wait()
	fx.mustSend(200, request{method: "GET", path: path, key: key}, nil)
}

// TestAlertRepeatsAddNotes: a repeat of an alert that says something else is a note, once; one
// that says the same is only counted.
func TestAlertRepeatsAddNotes(t *testing.T) {
	fx := newFixture(t, nil)
	notify := func(text string) string {
		var report fieldmark.AlertReport
		fx.mustSend(200, request{method: "POST", path: fieldmark.PathAlerts + "alertmanager", key: fx.creator,
			body: fmt.Sprintf(`{"version":"4","groupKey":"g","status":"firing","receiver":"r","alerts":[{`+
				`"status":"firing","labels":{"alertname":"A"},"annotations":{"description":%q},`+
				`"startsAt":"2026-11-21T10:00:00Z","fingerprint":"f1"}]}`, text)}, &report)
		return report.Missions[0].ID
	}
	id := notify("one mast down")
	for _, text := range []string{"one mast down", "two masts down", "two masts down", "one mast down"} {
		notify(text)
	}
	for i := range 60 {
		notify(fmt.Sprint("load ", i))
	}
	var page fieldmark.List[fieldmark.Note]
	fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "/" + id + "/notes?limit=200",
		key: fx.reader}, &page)
	if len(page.Data) != 50 || !strings.Contains(page.Data[0].Text, "two masts down") ||
		strings.Contains(page.Data[1].Text, "masts") {
		t.Errorf("%d notes, want 50 that differ: %+v", len(page.Data), page.Data[:min(2, len(page.Data))])
	}
}

// TestLabelAndAssigneeFilters compares filters by label and assignee, in combination with others,
// with the missions that match when they are applied in Go.
func TestLabelAndAssigneeFilters(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	put := func(status int, keys string) {
		t.Helper()
		fx.mustSend(status, request{method: "PUT", path: adminPath + "accounts/" + access.DefaultAccount, key: fx.admin,
			body: `{"name":"Default","filterLabels":` + keys + `}`}, nil)
	}
	create := func(i int) fieldmark.Mission {
		var m fieldmark.Mission
		fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: key, body: fmt.Sprintf(
			`{"externalId":"%02d","source":"crm","title":"t","priority":%q,`+
				`"labels":{"site":"s%d","a:b":"c:%d","free":"x"}}`,
			i, fieldmark.Priorities()[i%4], i%3, i%2)}, &m)
		if i%4 == 0 {
			fx.mustSend(200, request{method: "PUT", path: fieldmark.PathMissions + "/" + m.ID + "/plan", key: key,
				body: `{"assignee":{"id":"ann"}}`}, &m)
		}
		return m
	}
	var all []fieldmark.Mission
	for i := range 12 { // before the keys are listed
		all = append(all, create(i))
	}
	put(422, `["1","2","3","4","5","6"]`)
	put(422, `[""]`)
	put(200, `["site","a:b"]`)
	put(200, `["a:b","site"]`)
	query := func(q string) *url.URL { return &url.URL{Path: fieldmark.PathMissions, RawQuery: q} }
	if rec := fx.send(request{method: "GET", path: query("label=site:s1").String(), key: key}); rec.Code != 503 ||
		rec.Header().Get("Retry-After") == "" {
		t.Errorf("while labels are indexed: %d, want 503 with Retry-After", rec.Code)
	}
	fx.index()
	for i := 12; i < 30; i++ {
		all = append(all, create(i))
	}
	fx.mustSend(200, request{method: "PATCH", path: fieldmark.PathMissions + "/" + all[1].ID, key: key,
		body: `{"labels":{"site":"s2"}}`}, &all[1])
	for _, labels := range [][]string{nil, {"site:s1"}, {"site:s2"}, {"a:b:c:1"}, {"site:s0", "a:b:c:0"}} {
		for _, rest := range []string{"", "assignee=ann", "priority=HIGH", "status=NEW&source=CRM&assignee=ann",
			"updatedSince=2020-01-01T00:00:00Z", "assignee=bob"} {
			q, _ := url.ParseQuery(rest)
			for _, l := range labels {
				q.Add("label", l)
			}
			var want []string
			for _, m := range all {
				fits := rest != "assignee=bob" && (!strings.Contains(rest, "ann") || m.Assignee != nil) &&
					(!q.Has("priority") || m.Priority == "HIGH")
				for _, l := range labels {
					fits = fits && (l == "site:"+m.Labels["site"] || l == "a:b:"+m.Labels["a:b"])
				}
				if fits {
					want = append(want, m.ExternalID)
				}
			}
			got := fx.listIDs(key, q.Encode(), 5)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("?%s: %v, want %v", q.Encode(), got, want)
			}
		}
	}
	for _, q := range []string{"label=free:x", "label=site", "label=site:a&label=site:b&label=site:c", "label="} {
		if rec := fx.send(request{method: "GET", path: query(q).String(), key: key}); rec.Code != 400 {
			t.Errorf("?%s: %d, want 400: %s", q, rec.Code, rec.Body)
		}
	}
	anyAccount := request{method: "GET", path: adminPath + "missions?assignee=ann", key: fx.admin}
	if rec := fx.send(anyAccount); rec.Code != 400 {
		t.Errorf("an assignee of any account: %d, want 400", rec.Code)
	}
	fx.inspect()
}

// TestExportBehind: an export is complete although the clock of this origin is behind that of the one that wrote.
func TestExportBehind(t *testing.T) {
	fx := newFixture(t, nil)
	fx.exec(fmt.Sprintf(`UPDATE log SET at = %d`, time.Now().Add(24*time.Hour).UnixMicro()))
	key := fx.keyWithEveryScope()
	var m fieldmark.Mission
	fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: key, body: goodMission}, &m)
	path := fieldmark.PathMissions + "/export?fields=id"
	rec := fx.mustSend(200, request{method: "GET", path: path, key: key}, nil)
	if want := fmt.Sprintf("{\"id\":%q}\n", m.ID); rec.Body.String() != want {
		t.Errorf("the export is %q, want %q", rec.Body, want)
	}
}

// TestExport compares exports with the list, resumes one, and reaches the limits.
func TestExport(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	const path = fieldmark.PathMissions + "/export"
	var all []fieldmark.Mission
	for i := range 230 { // more than a page
		m, _, err := fx.service.Missions.Create(t.Context(), access.DefaultAccount, fieldmark.MissionRequest{
			Source: "crm", ExternalID: fmt.Sprintf("%03d", i), Title: `=cmd|' /C calc'!A0`})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	lines := func(q string) []string {
		t.Helper()
		rec := fx.mustSend(200, request{method: "GET", path: path + q, key: key}, nil)
		return strings.Split(strings.TrimSuffix(rec.Body.String(), "\n"), "\n")
	}
	export := lines("")
	for i, line := range export {
		want, _ := json.Marshal(all[i])
		var got fieldmark.Mission
		if json.Unmarshal([]byte(line), &got) != nil || got.ID != all[i].ID || len(line) < len(want)/2 {
			t.Fatalf("line %d is %s, want %s", i, line, want)
		}
	}
	if len(export) != len(all) {
		t.Errorf("%d lines, want %d", len(export), len(all))
	}
	last := all[200]
	resumed := lines("?fields=id,updatedAt,contact&updatedSince=" + url.QueryEscape(last.UpdatedAt.String()))
	if want := fmt.Sprintf(`{"id":%q,"updatedAt":%q}`, last.ID, last.UpdatedAt); !slices.Contains(resumed, want) ||
		len(resumed) > 60 {
		t.Errorf("resumed at %s: %d lines, the first %s; want %s and what follows", last.UpdatedAt, len(resumed),
			resumed[0], want)
	}
	table, err := csv.NewReader(strings.NewReader(strings.Join(lines("?format=csv&fields=externalId,title"), "\n"))).
		ReadAll()
	if err != nil || len(table) != 231 || table[0][0] != "externalId" || table[1][1] != `'=cmd|' /C calc'!A0` {
		t.Errorf("CSV of %d lines, %v: %v", len(table), err, table[:min(2, len(table))])
	}
	for q, status := range map[string]int{"?format=xml": 400, "?fields=secret": 400, "?format=csv&fields=labels": 400,
		"?cursor=x": 400, "?limit=1": 400, "?status=NEW&assignee=nobody": 200} {
		if rec := fx.send(request{method: "GET", path: path + q, key: key}); rec.Code != status {
			t.Errorf("%s: %d, want %d: %.200s", q, rec.Code, status, rec.Body)
		}
	}
	if rec := fx.send(request{method: "GET", path: path, key: fx.creator}); rec.Code != 403 {
		t.Errorf("without mission:read: %d, want 403", rec.Code)
	}
	if got := lines("?status=NEW&assignee=nobody"); got[0] != "" {
		t.Errorf("nothing matches: %q", got)
	}
	fx.exportsAtOnce(path, key)
}
