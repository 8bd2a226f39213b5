package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/mission"
)

func TestCreateMission(t *testing.T) {
	fx := newFixture(t, nil)
	body := `{"externalId":"T-7","source":"CRM","title":"Check ⚡ mast","priority":"p1","category":null,"metadata":null,
		"labels":{"a.b/c":"x"},"location":{"geo":{"lat":52.5,"lng":13.4},"timeZone":"Europe/Berlin"}}`
	open := request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: body}

	var m fieldmark.Mission
	rec := fx.mustSend(201, open, &m)
	if m.Status != fieldmark.MissionNew || m.Priority != fieldmark.PriorityCritical || m.Title != "Check ⚡ mast" ||
		m.Version != 1 {
		t.Errorf("opened %+v, want it NEW, CRITICAL and in version 1", m)
	}
	place := fieldmark.PathMissions + "/" + m.ID
	for field, want := range map[string]string{"Location": place, "ETag": `"1"`, "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff", fieldmark.HeaderDeduplicated: ""} {
		if got := rec.Header().Get(field); got != want {
			t.Errorf("201: %s = %q, want %q", field, got, want)
		}
	}

	var again fieldmark.Mission
	open.body = strings.Replace(body, "CRM", "crm", 1)
	rec = fx.mustSend(200, open, &again)
	if again.ID != m.ID || rec.Header().Get(fieldmark.HeaderDeduplicated) != "true" ||
		rec.Header().Get("Location") != place {
		t.Errorf("the same again: id %s, headers %v, want %s and a mark", again.ID, rec.Header(), m.ID)
	}

	open.body = strings.Replace(body, "mast", "pole", 1)
	rec = fx.send(open)
	if p := fx.problem(rec); rec.Code != 409 || p.Code != fieldmark.CodeMissionExists || p.MissionID != m.ID ||
		rec.Header().Get("Location") != place {
		t.Errorf("other content: %d %+v at %q, want 409 mission_exists of %s", rec.Code, p,
			rec.Header().Get("Location"),
			m.ID)
	}
	open.key = fx.otherKey
	fx.mustSend(201, open, nil)
	if n := fx.missions(); n != 2 {
		t.Errorf("%d missions are stored, want 2", n)
	}
}

func TestGetMission(t *testing.T) {
	fx := newFixture(t, nil)
	var m fieldmark.Mission
	fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: goodMission}, &m)
	get := request{method: "GET", path: fieldmark.PathMissions + "/" + m.ID, key: fx.reader}

	var same fieldmark.Mission
	rec := fx.mustSend(200, get, &same)
	if same.ID != m.ID || rec.Header().Get("ETag") != `"1"` ||
		rec.Header().Get("Cache-Control") != "private, no-cache" || rec.Header().Get("Vary") != "Authorization" {
		t.Errorf("got %s with %v", same.ID, rec.Header())
	}
	for match, status := range map[string]int{`"1"`: 304, `W/"1"`: 304, `"7", "1"`: 304, "*": 304, `"2"`: 200,
		"1": 200} {
		get.header = map[string]string{"If-None-Match": match}
		if rec := fx.send(get); rec.Code != status || status == 304 && rec.Body.Len() > 0 {
			t.Errorf("If-None-Match: %s: status %d with %d bytes, want %d", match, rec.Code, rec.Body.Len(), status)
		}
	}
	get.header, get.key = nil, fx.otherKey
	rec = fx.send(get)
	if p := fx.problem(rec); rec.Code != 404 || p.Code != fieldmark.CodeNotFound {
		t.Errorf("another account's mission: %d %s, want 404 not_found", rec.Code, p.Code)
	}
	get.key, get.method = fx.reader, "HEAD"
	if rec := fx.mustSend(200, get, nil); rec.Body.Len() != 0 || rec.Header().Get("Content-Length") == "" {
		t.Errorf("HEAD: %d bytes, Content-Length %q, want none and a length", rec.Body.Len(),
			rec.Header().Get("Content-Length"))
	}
}

func TestListMissions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		for i := range 5 {
			fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
				body: fmt.Sprintf(`{"externalId":"%d","source":"crm","title":"t"}`, i)}, nil)
			time.Sleep(time.Millisecond) // so that their order is defined
		}
		fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.otherKey, body: goodMission},
			nil)

		var ids []string
		next := fieldmark.PathMissions + "?limit=2&status=new&status=SCHEDULED&source=CRM"
		for pages := 1; next != ""; pages++ {
			var page fieldmark.List[fieldmark.Mission]
			rec := fx.mustSend(200, request{method: "GET", path: next, key: fx.reader}, &page)
			for _, m := range page.Data {
				ids = append(ids, m.ExternalID)
			}
			link := rec.Header().Get("Link")
			if page.HasMore != (page.NextCursor != "") || page.HasMore != (link != "") || pages > 3 {
				t.Fatalf("page %d: hasMore %v, cursor %q, link %q", pages, page.HasMore, page.NextCursor, link)
			}
			next = ""
			if link != "" {
				if !strings.HasPrefix(link, "<"+fieldmark.PathMissions+"?") ||
					!strings.HasSuffix(link, `>; rel="next"`) ||
					!strings.Contains(link, url.QueryEscape(page.NextCursor)) {
					t.Fatalf("Link = %s, want the next page's address", link)
				}
				next = link[1:strings.Index(link, ">")]
			}
		}
		if got := strings.Join(ids, ""); got != "43210" {
			t.Errorf("all pages list %s, want 43210", got)
		}

		for query, want := range map[string]int{"externalId=3&source=crm": 1, "externalId=9&source=crm": 0,
			"status=COMPLETED": 0, "": 5} {
			var page fieldmark.List[json.RawMessage]
			rec := fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "?" + query, key: fx.reader},
				&page)
			if len(page.Data) != want || strings.Contains(rec.Body.String(), `"data":null`) {
				t.Errorf("list %q: %d missions, want %d: %s", query, len(page.Data), want, rec.Body)
			}
		}
	})
}

func FuzzMission(f *testing.F) {
	for _, seed := range []string{
		goodMission, `{`, `null`, `[]`, `{"title":"a","title":"b"}`, "{\"title\":\"\xff\"}", goodMission + "x",
		`{"externalId":"1","source":"crm","title":"t","labels":{"a":"b"},"metadata":{"x":[1,2.5e3]},` +
			`"window":{"earliest":"2026-01-01T00:00:00Z","latest":"2026-01-02T00:00:00Z"}}`,
		`{"externalId":"1","source":"crm","title":"t","skills":[null],"assets":[{"id":"1"}],"estimatedMinutes":1e2}`,
	} {
		f.Add(seed)
	}
	fx := newFixture(f, nil)
	f.Fuzz(func(t *testing.T, body string) {
		fx.t = t
		rec := fx.send(request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: body,
			header: map[string]string{"Content-Type": "application/json"}})
		switch rec.Code {
		case 200, 201:
			var m fieldmark.Mission
			if err := json.Unmarshal(rec.Body.Bytes(), &m); err != nil {
				t.Fatalf("input %q: answer %s: %v", body, rec.Body, err)
			}
			if bad := mission.ValidateRequest(&m.MissionRequest); len(bad) > 0 {
				t.Errorf("input %q was taken, but what was stored is wrong: %v", body, bad)
			}
		case 400, 409, 413, 422:
			fx.problem(rec)
		default:
			t.Errorf("input %q: status %d: %s", body, rec.Code, rec.Body)
		}
	})
}
