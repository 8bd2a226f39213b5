package edge_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// TestMissions tests the whole mission contract through the edge: keys, conditions and
// refusals pass unchanged in both directions.
func TestMissions(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	key, err := h.service.Access.Keys.Create(t.Context(), access.DefaultAccount,
		fieldmark.KeyRequest{Name: "itsm", Scopes: []fieldmark.Scope{
			fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead, fieldmark.ScopeMissionUpdate,
			fieldmark.ScopeMissionCancel, fieldmark.ScopeMissionOperate}})
	must(t, err)
	send := func(method, path, body string, header ...string) answer {
		t.Helper()
		if body != "" {
			header = append(header, "Content-Type", "application/json")
		}
		return h.do(method, path, body, append(header, "Authorization", "Bearer "+key.Token)...)
	}
	mission := func(a answer, status int) (m fieldmark.Mission) {
		t.Helper()
		if err := json.Unmarshal([]byte(a.body), &m); err != nil || a.status != status {
			t.Fatalf("%d %s, want %d", a.status, a.body, status)
		}
		return m
	}
	const body = `{"externalId":"INC-1","source":"itsm","title":"Replace the router"}`

	opened := send("POST", fieldmark.PathMissions, body, fieldmark.HeaderIdempotencyKey, `"k 1"`)
	m := mission(opened, 201)
	place := fieldmark.PathMissions + "/" + m.ID
	if opened.header.Get("Location") != place || opened.header.Get("ETag") != `"1"` {
		t.Errorf("201: %v, want Location %s and an ETag", opened.header, place)
	}
	again := send("POST", fieldmark.PathMissions, body, fieldmark.HeaderIdempotencyKey, `"k 1"`)
	if again.status != 201 || again.body != opened.body || again.header.Get(fieldmark.HeaderReplayed) != "true" ||
		again.header.Get("Location") != place {
		t.Errorf("the same under its key: %d %v %s", again.status, again.header, again.body)
	}
	h.wantProblem(send("POST", fieldmark.PathMissions, strings.Replace(body, "INC-1", "INC-2", 1),
		fieldmark.HeaderIdempotencyKey, `"k 1"`), 422, fieldmark.CodeIdempotencyReused)
	if found := send("POST", fieldmark.PathMissions, body); mission(found, 200).ID != m.ID ||
		found.header.Get(fieldmark.HeaderDeduplicated) != "true" {
		t.Errorf("the same without a key: %v", found.header)
	}
	conflict := send("POST", fieldmark.PathMissions, strings.Replace(body, "router", "modem", 1))
	h.wantProblem(conflict, 409, fieldmark.CodeMissionExists)
	var p fieldmark.Problem
	must(t, json.Unmarshal([]byte(conflict.body), &p))
	if p.MissionID != m.ID || len(p.Errors) != 1 || p.Errors[0].Pointer != "/title" ||
		conflict.header.Get("Location") != place {
		t.Errorf("409: %s, want the mission and what differs", conflict.body)
	}

	h.wantProblem(send("PATCH", place, `{"priority":"HIGH"}`, "If-Match", `"9"`), 412, fieldmark.CodeVersionMismatch)
	edited := send("PATCH", place, `{"priority":"HIGH"}`, "If-Match", `"1"`)
	if m := mission(edited, 200); m.Priority != fieldmark.PriorityHigh || edited.header.Get("ETag") != `"2"` {
		t.Errorf("edited: %s", edited.body)
	}
	mission(send("PUT", place+"/plan", `{"assignee":{"id":"7"}}`), 200)
	refused := send("POST", place+"/transitions", `{"status":"COMPLETED"}`)
	h.wantProblem(refused, 409, fieldmark.CodeInvalidTransition)
	must(t, json.Unmarshal([]byte(refused.body), &p))
	if p.From != fieldmark.MissionNew || p.To != fieldmark.MissionCompleted || len(p.Allowed) != 4 {
		t.Errorf("409: %s, want from, to and what is allowed", refused.body)
	}
	mission(send("POST", place+"/transitions", `{"status":"SCHEDULED"}`), 200)
	mission(send("POST", place+"/cancel", ""), 200)
	current := send("GET", place, "")
	if unchanged := send("GET", place, "", "If-None-Match", current.header.Get("ETag")); unchanged.status != 304 ||
		unchanged.body != "" {
		t.Errorf("unchanged since %s: %d %v %s", current.header.Get("ETag"), unchanged.status, unchanged.header,
			unchanged.body)
	}

	uploadThrough(t, h, place+fieldmark.PathAttachments, key.Token)

	var batch []string
	for i := range 20 { // more than one mission alone may weigh
		batch = append(batch, fmt.Sprintf(`{"externalId":"b%d","source":"itsm","title":"t","description":%q}`, i,
			strings.Repeat("x", 9000)))
	}
	var report fieldmark.BatchReport
	a := send("POST", fieldmark.PathMissionBatch, `{"missions":[`+strings.Join(batch, ",")+`]}`)
	must(t, json.Unmarshal([]byte(a.body), &report))
	if a.status != 200 || len(report.Results) != 20 || report.Results[19].Status != 201 {
		t.Errorf("batch: %d with %d results", a.status, len(report.Results))
	}
	h.wantProblem(h.sendLong("POST", fieldmark.PathMissionBatch, key.Token, "application/json",
		strings.NewReader(strings.Repeat(" ", fieldmark.MaxBatchBody+1))), 413, fieldmark.CodeBodyTooLarge)
	next := send("GET", fieldmark.PathMissions+"?limit=5&source=ITSM&updatedSince=1970-01-01T00:00:00Z", "")
	var page fieldmark.List[fieldmark.Mission]
	must(t, json.Unmarshal([]byte(next.body), &page))
	if len(page.Data) != 5 || !page.HasMore || !strings.Contains(next.header.Get("Link"), `rel="next"`) {
		t.Errorf("list: %d of a page, Link %q", len(page.Data), next.header.Get("Link"))
	}
}

// sendLong sends a request whose body the edge may refuse to read. A client of net/http may then
// return that the connection was closed, instead of the response that says why.
func (h *fixture) sendLong(method, path, token, mediaType string, body io.Reader) answer {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.base+path, body)
	must(h.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", mediaType)
	c := (&recordingOrigin{fixture: h}).dial()
	var sent sync.WaitGroup
	defer sent.Wait()
	defer c.Close()
	sent.Go(func() { _ = r.Write(c) })
	resp, err := http.ReadResponse(bufio.NewReader(c), r)
	must(h.t, err)
	raw, err := io.ReadAll(resp.Body)
	must(h.t, err)
	return answer{resp.StatusCode, resp.Header, string(raw)}
}

// uploadThrough sends a file of the largest size through the edge and back, and one that has a byte
// more, whose length is known before it is sent or not.
func uploadThrough(t *testing.T, h *fixture, path, token string) {
	t.Helper()
	send := func(method, path string, body io.Reader) answer {
		t.Helper()
		return h.sendLong(method, path, token, "image/jpeg", body)
	}
	file := "\xff\xd8\xff\xe0" + strings.Repeat("0123456789abcdef", fieldmark.MaxAttachment/16)[4:]
	added := send("POST", path, strings.NewReader(file))
	var a fieldmark.Attachment
	must(t, json.Unmarshal([]byte(added.body), &a))
	if added.status != 201 || a.Size != fieldmark.MaxAttachment {
		t.Fatalf("%d bytes: %d %.300s", len(file), added.status, added.body)
	}
	content := send("GET", path+"/"+a.ID+"/content", nil)
	if content.body != file || content.header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" ||
		content.header.Get("Cache-Control") != "private, no-store" ||
		!strings.HasPrefix(content.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("content: %d, %d bytes, %v", content.status, len(content.body), content.header)
	}
	for about, body := range map[string]io.Reader{"known length": strings.NewReader(file + "x"),
		"unknown length": io.MultiReader(strings.NewReader(file), strings.NewReader("x"))} {
		refused := send("POST", path, body)
		var p fieldmark.Problem
		must(t, json.Unmarshal([]byte(refused.body), &p))
		h.wantProblem(refused, 413, fieldmark.CodeAttachmentTooLarge)
		if p.Limit != fieldmark.MaxAttachment || !strings.Contains(p.Detail, "10 MiB") {
			t.Errorf("%s: %s, want the limit", about, refused.body)
		}
	}
	// The form of a technician's page has fields beside the photo. The origin does not know this token.
	for more, want := range map[int]int{64 << 10: 404, 2 << 20: 413} {
		got := send("POST", fieldmark.PathTechnician+strings.Repeat("x", 43)+"/", strings.NewReader(file+
			strings.Repeat("x", more)))
		if got.status != want {
			t.Errorf("a technician's form of 10 MiB and %d bytes: %d, want %d", more, got.status, want)
		}
	}
}
