package admin_test

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
)

var (
	boardRows  = regexp.MustCompile(`(?s)<tr[^>]* data-who="([^"]*)".*?</tr>`)
	boardCells = regexp.MustCompile(`(?s)<td data-day="([^"]*)".*?</td>`)
	boardCards = regexp.MustCompile(`(?s)<article class="card([^"]*)".*?<bdi>(.*?)</bdi>`)
)

// cells returns what a board shows, a line for each card: assignee, day, title and marks.
func cells(body string) (lines []string) {
	for _, row := range boardRows.FindAllStringSubmatch(body, -1) {
		for _, cell := range boardCells.FindAllStringSubmatch(row[0], -1) {
			for _, card := range boardCards.FindAllStringSubmatch(cell[0], -1) {
				lines = append(lines, strings.TrimSpace(row[1]+" "+cell[1][5:]+" "+card[2]+card[1]))
			}
		}
	}
	return lines
}

// visit creates a mission with a visit; with an empty assignee it is not assigned.
func (b *browser) visit(title, who, start, end string) fieldmark.Mission {
	b.t.Helper()
	m := b.mission(fieldmark.MissionRequest{ExternalID: title, Source: "crm", Title: title,
		Priority: fieldmark.PriorityLow})
	span := fieldmark.Span{}
	for text, at := range map[string]*fieldmark.Time{start: &span.Start, end: &span.End} {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			b.t.Fatal(err)
		}
		*at = fieldmark.At(t)
	}
	plan := fieldmark.MissionPlan{Scheduled: &span}
	if who != "" {
		plan.Assignee = &fieldmark.Assignee{ID: who}
	}
	b.planAs("bea", m.ID, plan)
	return b.get(m.ID)
}

// TestBoard shows visits on the days and in the weeks of a time zone, marks those that overlap, also across
// midnight and the borders of a week, and those that are late.
func TestBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at 2000-01-01 00:00 UTC, the Saturday of 1999-W52
		b := newBrowser(t, false)
		b.signIn()
		for _, v := range [][4]string{
			{"long", "ann", "2000-01-03T08:00:00Z", "2000-01-03T12:00:00Z"},
			{"inside", "ann", "2000-01-03T09:00:00Z", "2000-01-03T10:00:00Z"},
			{"touches", "ann", "2000-01-03T12:00:00Z", "2000-01-03T13:00:00Z"},
			{"other", "bob", "2000-01-03T09:00:00Z", "2000-01-03T10:00:00Z"},
			{"nobody", "", "2000-01-03T09:00:00Z", "2000-01-03T10:00:00Z"},
			{"too", "", "2000-01-03T09:30:00Z", "2000-01-03T10:00:00Z"},
			{"night", "bob", "2000-01-05T22:00:00Z", "2000-01-06T02:00:00Z"},
			{"early", "bob", "2000-01-06T01:00:00Z", "2000-01-06T03:00:00Z"},
			{"sunday", "cid", "2000-01-09T23:00:00Z", "2000-01-09T23:30:00Z"},
			{"border", "cid", "2000-01-09T22:00:00Z", "2000-01-10T03:00:00Z"},
			{"midnight", "cid", "2000-01-11T00:00:00Z", "2000-01-12T00:00:00Z"},
		} {
			b.visit(v[0], v[1], v[2], v[3])
		}
		gone := b.visit("gone", "ann", "2000-01-03T09:00:00Z", "2000-01-03T10:00:00Z")
		b.post("/admin/missions/"+gone.ID+"/move", url.Values{"to": {"CANCELED"}}, "/admin/missions/"+gone.ID)
		// A visit that is over overlaps with nothing.
		over := b.visit("over", "bob", "2000-01-03T09:30:00Z", "2000-01-03T09:45:00Z")
		if _, err := b.service.Missions.Complete(t.Context(), over.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // a mission that is canceled now leaves the board then
		free := b.mission(fieldmark.MissionRequest{ExternalID: "free", Source: "crm", Title: "free"})
		const board = "/admin/board?account=default"
		want := map[string][]string{
			"1999-W52": nil,
			"2000-W01": {"01-03 nobody", "01-03 too", "ann 01-03 long overlap", "ann 01-03 inside overlap",
				"ann 01-03 touches", "bob 01-03 other", "bob 01-03 over", "bob 01-05 night overlap",
				"bob 01-06 night overlap",
				"bob 01-06 early overlap", "cid 01-09 border overlap", "cid 01-09 sunday overlap"},
			"2000-W02": {"cid 01-10 border overlap", "cid 01-11 midnight"},
		}
		for week, lines := range want {
			body := b.page(board+"&week="+week, "Board, week "+week, `<bdi>free</bdi>`)
			if got := cells(body); !slices.Equal(got, lines) {
				t.Errorf("%s shows %q, want %q", week, got, lines)
			}
		}
		b.page(board, "Board, week 1999-W52", `<th scope="col" aria-current="date">Sat 1 Jan`, "week=2000-W01",
			"week=1999-W51")
		b.page(board+"&week=2000-W01", "6 overlap", "11 visits", `<small>3 visits, 6 h</small>`)
		// Eleven hours to the west the Thursday begins later.
		west := cells(b.page(board + "&week=2000-W01&zone=Pacific/Midway"))
		for _, line := range []string{"01-02 night", "bob 01-05 night overlap", "bob 01-05 early overlap"} {
			if slices.Contains(west, line) != (line != "01-02 night") {
				t.Errorf("in Pacific/Midway the board shows %q", west)
			}
		}
		time.Sleep(3 * 24 * time.Hour) // no timer runs here, but due times pass
		b.signIn()
		body := b.page(board+"&week=2000-W02", `<td data-day="2000-01-10"`)
		if got := cells(body); len(got) == 0 || !slices.Contains(got, "cid 01-11 midnight risk") ||
			!slices.Contains(got, "cid 01-10 border overlap risk") {
			t.Errorf("after three days the board shows %q, want late missions at risk", got)
		}
		b.page(board+"&move="+free.ID+"&day=2000-01-11&who=ann", `id="plan-start" name="start" type="datetime-local" `+
			`value="2000-01-11T08:00" autofocus`, `value="ann" list="assignees"`, `<option value="bob">`)
	})
}

// TestBoardClockChange: days where the clocks change have 23 and 25 hours. A time that does not exist is rejected,
// and one that the clocks show twice stays the same instant if it was not changed.
func TestBoardClockChange(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	b.visit("last", "ann", "2026-03-29T21:30:00Z", "2026-03-29T21:45:00Z")   // 23:30 in summer time
	b.visit("next", "ann", "2026-03-29T22:30:00Z", "2026-03-29T22:45:00Z")   // 00:30 on Monday
	b.visit("first", "ann", "2026-03-28T23:15:00Z", "2026-03-28T23:45:00Z")  // 00:15 on Sunday
	b.visit("autumn", "ann", "2026-10-24T22:30:00Z", "2026-10-24T22:45:00Z") // 00:30 on Sunday
	twice := b.visit("twice", "ann", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z")
	b.visit("late", "ann", "2026-10-25T22:30:00Z", "2026-10-25T22:45:00Z") // 23:30 on Sunday
	const board = "/admin/board?account=default&zone=Europe/Zurich&week="
	for week, want := range map[string][]string{
		"2026-W13": {"ann 03-29 first", "ann 03-29 last"}, "2026-W14": {"ann 03-30 next"},
		"2026-W43": {"ann 10-25 autumn", "ann 10-25 twice", "ann 10-25 late"}, "2026-W44": nil,
	} {
		if got := cells(b.page(board + week)); !slices.Equal(got, want) {
			t.Errorf("%s shows %q, want %q", week, got, want)
		}
	}
	b.page(board+"2026-W53", "Mon 28 Dec", "Sun 3 Jan", "week=2027-W01", "week=2026-W52", "zone=Europe%2FZurich")
	quoted := b.mission(fieldmark.MissionRequest{ExternalID: `,"title":"no"`, Source: "crm",
		Title:    `7" mast, \ & <new>`,
		Priority: fieldmark.PriorityLow})
	b.planAs("bea", quoted.ID, fieldmark.MissionPlan{Scheduled: twice.Scheduled})
	b.page(board+"2026-W43", `<bdi>7&#34; mast, \ &amp; &lt;new&gt;</bdi>`)
	page := "/admin/missions/" + twice.ID + "/plan"
	body := b.page(board+"2026-W43&move="+twice.ID, `value="2026-10-25T02:30"`, `Start (Europe/Zurich)`)
	form := url.Values{"do": {"save"}, "assignee": {"bob"}}
	for _, input := range regexp.MustCompile(`<input [^>]*name="([^"]+)"[^>]*value="([^"]*)"`).FindAllStringSubmatch(
		body[strings.Index(body, page):], -1) {
		if !form.Has(input[1]) && input[1] != "assignee-name" {
			form.Set(input[1], strings.ReplaceAll(input[2], "&amp;", "&"))
		}
	}
	b.post(page, form, form.Get("back"))
	if got := b.get(twice.ID); *got.Scheduled != *twice.Scheduled || got.Assignee.ID != "bob" {
		t.Errorf("only the assignee was changed, the visit is %v, want %v", got.Scheduled, twice.Scheduled)
	}
	form = url.Values{"do": {"save"}, "version": {fmt.Sprint(b.get(twice.ID).Version)}, "zone": {"Europe/Zurich"},
		"start": {"2026-03-29T02:30"}, "end": {"2026-03-29T04:00"}, "back": {board + "2026-W13"}}
	rec := b.do(page, form)
	b.has(rec, "Board, week 2026-W13", `<a href="#plan-start">Start: this time does not exist in Europe/Zurich`,
		`value="2026-03-29T02:30"`)
	form.Set("start", "2026-03-29T01:30")
	b.post(page, form, form.Get("back"))
	span := b.get(twice.ID).Scheduled
	if span.Start.String() != "2026-03-29T00:30:00.000Z" || span.End.String() != "2026-03-29T02:00:00.000Z" {
		t.Errorf("from 01:30 to 04:00 in Zurich is %v", span)
	}
	for query, want := range map[string]int{"zone=Mars/Base": 400, "zone=../etc/passwd": 400, "week=2026-W54": 400,
		"week=now": 400, "zone=Local": 400, "": 200} {
		if rec := b.do("/admin/board?account=default&"+query, nil); rec.Code != want {
			t.Errorf("?%s: %d, want %d", query, rec.Code, want)
		}
	}
}

// TestBoardMissingMidnight: a day whose midnight the clocks skip has a column, from the first instant of that day.
func TestBoardMissingMidnight(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	b.visit("saturday", "ann", "2026-09-06T03:15:00Z", "2026-09-06T03:45:00Z") // 23:15
	b.visit("sunday", "ann", "2026-09-06T04:15:00Z", "2026-09-06T04:45:00Z")   // 01:15, when there is no 00:15
	b.visit("evening", "ann", "2026-09-07T02:15:00Z", "2026-09-07T02:45:00Z")  // 23:15 on Sunday
	b.visit("monday", "ann", "2026-09-07T03:15:00Z", "2026-09-07T03:45:00Z")   // 00:15
	const board = "/admin/board?account=default&zone=America/Santiago&week="
	for week, want := range map[string][]string{
		"2026-W36": {"ann 09-05 saturday", "ann 09-06 sunday", "ann 09-06 evening"}, "2026-W37": {"ann 09-07 monday"},
	} {
		if got := cells(b.page(board + week)); !slices.Equal(got, want) {
			t.Errorf("%s shows %q, want %q", week, got, want)
		}
	}
	b.page(board+"2026-W36", "Sat 5 Sep", "Sun 6 Sep", "week=2026-W35", "week=2026-W37")
}

// TestBoardRowLimit: a board shows at most 60 assignees and says how many more there are; everybody who had a
// visit lately has a row.
func TestBoardRowLimit(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	at := time.Now().UTC().Truncate(time.Hour).Add(-7 * 24 * time.Hour)
	for i := range 62 {
		b.visit(fmt.Sprint("m", i), fmt.Sprintf("t%02d", i), at.Format(time.RFC3339),
			at.Add(time.Hour).Format(time.RFC3339))
	}
	body := b.page("/admin/board?account=default", "2 more assignees are not shown.", `data-who="t00"`,
		"<small>free</small>")
	who := map[string]bool{}
	for _, row := range boardRows.FindAllStringSubmatch(body, -1) {
		who[row[1]] = true
	}
	if len(who) != 61 || !who[""] || who["t60"] {
		t.Errorf("the board has the rows %q", slices.Sorted(maps.Keys(who)))
	}
}
