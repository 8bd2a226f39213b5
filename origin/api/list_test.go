package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
)

// listIDs reads all pages of a list and returns the external ids.
func (fx *fixture) listIDs(key, query string, limit int) (ids []string) {
	fx.t.Helper()
	cursor := ""
	for range 100 {
		var page fieldmark.List[fieldmark.Mission]
		path := fmt.Sprintf("%s?limit=%d&%s", fieldmark.PathMissions, limit, query)
		if cursor != "" {
			path += "&cursor=" + url.QueryEscape(cursor)
		}
		fx.mustSend(200, request{method: "GET", path: path, key: key}, &page)
		for _, m := range page.Data {
			ids = append(ids, m.ExternalID)
		}
		if cursor = page.NextCursor; !page.HasMore {
			return ids
		}
	}
	fx.t.Fatalf("%s has no last page", query)
	return nil
}

// TestFilters compares the pages of every combination of filters with the missions that
// match when the filters are applied in Go.
func TestFilters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		key := fx.keyWithEveryScope()
		begin := time.Now().Add(time.Millisecond)
		var all []fieldmark.Mission
		for i := range 24 {
			time.Sleep(time.Millisecond)
			var m fieldmark.Mission
			fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: key,
				body: fmt.Sprintf(`{"externalId":"%02d","source":%q,"title":"t","priority":%q}`,
					i, []string{"CRM", "erp", "Mon"}[i%3], fieldmark.Priorities()[i%4])}, &m)
			all = append(all, m)
		}
		fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.otherKey, body: goodMission},
			nil)
		for i := range all {
			if path := [][]fieldmark.MissionStatus{nil, {"SCHEDULED"}, {"CANCELED"}, {"DISPATCHED", "IN_PROGRESS"},
				nil}[(i*7)%5]; path != nil {
				time.Sleep(time.Millisecond)
				fx.transitions(key, all[i].ID, path...)
				fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "/" + all[i].ID, key: key},
					&all[i])
			}
		}
		times := map[string]time.Time{"": {}, "10": begin.Add(10 * time.Millisecond),
			"30": begin.Add(30 * time.Millisecond)}
		combinations := 0
		for _, statuses := range [][]fieldmark.MissionStatus{nil, {"NEW"}, {"CANCELED", "IN_PROGRESS"}} {
			for _, priority := range []fieldmark.Priority{"", "HIGH"} {
				for _, source := range []string{"", "crm"} {
					for _, since := range []string{"", "10"} {
						for _, until := range []string{"", "10", "30"} {
							for _, updated := range []string{"", "30"} {
								q := url.Values{}
								for _, s := range statuses {
									q.Add("status", strings.ToLower(string(s)))
								}
								for name, value := range map[string]string{"priority": strings.ToLower(string(
									priority)), "source": source} {
									if value != "" {
										q.Set(name, value)
									}
								}
								for name, value := range map[string]string{"createdSince": since, "createdUntil": until,
									"updatedSince": updated} {
									if value != "" {
										q.Set(name, times[value].Format(time.RFC3339Nano))
									}
								}
								fits := func(m fieldmark.Mission) bool {
									return (statuses == nil || slices.Contains(statuses, m.Status)) &&
										(priority == "" ||
											m.Priority == priority) &&
										(source == "" || strings.EqualFold(m.Source, source)) &&
										(since == "" || !m.CreatedAt.Std().Before(times[since])) &&
										(until == "" || !m.CreatedAt.Std().After(times[until])) &&
										(updated == "" || !m.UpdatedAt.Std().Before(times[updated]))
								}
								var want []string
								order := slices.Clone(all)
								if updated != "" {
									slices.SortFunc(order,
										func(a, b fieldmark.Mission) int {
											return a.UpdatedAt.Std().Compare(b.UpdatedAt.Std())
										})
								} else {
									slices.Reverse(order)
								}
								for _, m := range order {
									if fits(m) {
										want = append(want, m.ExternalID)
									}
								}
								if diff := cmp.Diff(want, fx.listIDs(key, q.Encode(), 5)); diff != "" {
									t.Fatalf("?%s (-want +got):\n%s", q.Encode(), diff)
								}
								combinations++
							}
						}
					}
				}
			}
		}
		t.Logf("%d combinations", combinations)
	})
}

func TestInvalidFilters(t *testing.T) {
	fx := newFixture(t, nil)
	const admin = "/api/admin/v1/missions"
	fx.createMission("1")
	fx.createMission("2")
	var page fieldmark.List[fieldmark.Mission]
	fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "?limit=1", key: fx.reader}, &page)
	newest := page.NextCursor
	fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "?limit=1&updatedSince=1969-01-01T00:00:00Z",
		key: fx.reader}, &page)
	changes := page.NextCursor
	if newest == "" || changes == "" {
		t.Fatalf("cursors %q and %q, want both", newest, changes)
	}
	for _, tt := range []struct {
		path, key string
		code      fieldmark.Code
		fields    string
	}{
		{fieldmark.PathMissions + "?externalId=1", fx.reader, fieldmark.CodeInvalidParameter, "?externalId conflict"},
		{fieldmark.PathMissions + "?account=default", fx.reader, fieldmark.CodeInvalidParameter,
			"?account unknown_field"},
		{fieldmark.PathMissions + "?createdSince=yesterday&priority=SOON&updatedSince=2026-01-01", fx.reader,
			fieldmark.CodeInvalidParameter, "?createdSince format, ?priority enum, ?updatedSince format"},
		{fieldmark.PathMissions + "?updatedSince=2026-01-01T00:00:00Z&cursor=" + newest, fx.reader,
			fieldmark.CodeInvalidCursor, ""},
		{fieldmark.PathMissions + "?cursor=" + changes, fx.reader, fieldmark.CodeInvalidCursor, ""},
		{admin + "?source=crm&externalId=1&priority=LOW&updatedSince=2026-01-01T00:00:00Z", fx.admin,
			fieldmark.CodeInvalidParameter, "?priority conflict, ?source conflict, ?updatedSince conflict"},
	} {
		rec := fx.send(request{method: "GET", path: tt.path, key: tt.key})
		p := fx.problem(rec)
		var fields []string
		for _, f := range p.Errors {
			fields = append(fields, f.Pointer+" "+f.Code)
		}
		if rec.Code != 400 || p.Code != tt.code || strings.Join(fields, ", ") != tt.fields {
			t.Errorf("%s: %d %s %v, want 400 %s %s", tt.path, rec.Code, p.Code, fields, tt.code, tt.fields)
		}
	}
	for path, want := range map[string]int{admin + "?account=default&source=CRM&externalId=1": 1, admin +
		"?status=NEW": 2, admin: 2, admin + "?account=other": 0, admin + "?createdUntil=1960-01-01T00:00:00Z": 0,
		admin + "?status=new&status=closed&createdSince=1960-01-01T00:00:00%2B02:00": 2} {
		fx.mustSend(200, request{method: "GET", path: path, key: fx.admin}, &page)
		if len(page.Data) != want {
			t.Errorf("%s: %d missions, want %d", path, len(page.Data), want)
		}
	}
}

// TestFollowChanges follows the description of updatedSince with the default limit, while
// batches write many missions in the same millisecond: the first request has a start time,
// each later one the newest nextCursor, also after the last page.
func TestFollowChanges(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	const batches, changes = 4, 20
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range batches {
			var body strings.Builder
			for j := range fieldmark.MaxBatch {
				fmt.Fprintf(&body, `,{"source":"crm","externalId":"%d-%d","title":"t"}`, i, j)
			}
			rec := fx.send(request{method: "POST", path: fieldmark.PathMissions + "/batch", key: key,
				body: `{"missions":[` +
					body.String()[1:] + `]}`})
			var report fieldmark.BatchReport
			if err := json.Unmarshal(rec.Body.Bytes(), &report); err != nil ||
				len(report.Results) != fieldmark.MaxBatch {
				t.Errorf("batch: %d, %v", rec.Code, err)
				return
			}
			for _, r := range report.Results[:changes] {
				fx.send(request{method: "PATCH", path: fieldmark.PathMissions + "/" + r.Mission.ID, key: key,
					body: `{"priority":"HIGH"}`})
			}
		}
	}()
	known := map[string]int{}
	cursor := ""
	for last := false; ; {
		select {
		case <-written:
			last = true
		default:
		}
		path := fieldmark.PathMissions + "?updatedSince=1970-01-01T00:00:00Z"
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		var page fieldmark.List[fieldmark.Mission]
		rec := fx.mustSend(200, request{method: "GET", path: path, key: key}, &page)
		for _, m := range page.Data {
			if m.Version <= known[m.ID] {
				t.Errorf("%s went from version %d to %d", m.ID, known[m.ID], m.Version)
			}
			known[m.ID] = m.Version
		}
		if page.NextCursor != "" { // empty only without any mission
			cursor = page.NextCursor
		} else if len(known) > 0 {
			t.Fatal("a page without a cursor")
		}
		if linked := rec.Header().Get("Link") != ""; linked != page.HasMore {
			t.Errorf("a link to the next page: %v, more: %v", linked, page.HasMore)
		}
		if last && !page.HasMore {
			break
		}
	}
	moved := 0
	for _, version := range known {
		moved += version - 1
	}
	if len(known) != batches*fieldmark.MaxBatch || moved != batches*changes {
		t.Errorf("the follower knows %d missions and %d changes, want %d and %d", len(known), moved,
			batches*fieldmark.MaxBatch, batches*changes)
	}
}
