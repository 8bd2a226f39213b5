package admin

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/web"
)

// maxBoardRows limits the assignees on the board: a page with more is no longer an overview.
const maxBoardRows = 60

// boardData is a week of an account: assignees as rows and days as columns.
type boardData struct {
	Account        string
	Accounts       []option
	Week           string // such as 2026-W48
	Previous, Next string // addresses
	Today          string
	Days           []boardDay
	Unplanned      []missionRow // open missions without a time
	Rows           []boardRow   // the first has no assignee
	Hidden         int          // assignees beyond maxBoardRows
	Address        string
	MaxUnplanned   int
}

// boardDay is a column.
type boardDay struct {
	Date  time.Time
	Label string
	Today bool
}

// boardRow is an assignee and the missions of each day; nil: those without an assignee.
type boardRow struct {
	Assignee *fieldmark.Assignee
	Days     [][]missionRow
}

// board shows a week: the days are those of UTC, as all times of the console.
func (h *missionHandler) board(req *request) error {
	now := time.Now().UTC()
	monday, err := parseWeek(req.r.URL.Query().Get("week"), now)
	if err != nil {
		return err
	}
	d := boardData{Address: req.r.URL.RequestURI(), MaxUnplanned: mission.MaxBoardUnplanned}
	if d.Account, d.Accounts, err = h.chooseAccount(req); err != nil {
		return err
	}
	d.weeks(monday, now)
	if d.Account == "" {
		return h.show(req, http.StatusOK, "board", web.Page{Title: "Board", Data: d})
	}
	planned, unplanned, err := h.missions.Board(req.r.Context(), d.Account, monday, monday.AddDate(0, 0, 7))
	if err != nil {
		return err
	}
	for _, r := range unplanned {
		d.Unplanned = append(d.Unplanned, newMissionRow(r, now, req.canWrite()))
	}
	d.fill(planned, monday, now, req.canWrite())
	return h.show(req, http.StatusOK, "board", web.Page{Title: "Board, week " + d.Week, Data: d})
}

// parseWeek returns the Monday of an ISO 8601 week such as 2026-W48; of the current one if it is empty.
func parseWeek(text string, now time.Time) (time.Time, error) {
	day := now
	if text != "" {
		var year, week int
		if _, err := fmt.Sscanf(text, "%4d-W%2d", &year, &week); err != nil || week < 1 || week > 53 || year < 1971 ||
			year > 9000 {
			return time.Time{}, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Enter a week such as 2026-W48.")
		}
		// 4 January is always in week 1 (ISO 8601).
		day = time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*(week-1))
	}
	back := (int(day.Weekday()) + 6) % 7
	return time.Date(day.Year(), day.Month(), day.Day()-back, 0, 0, 0, 0, time.UTC), nil
}

// weeks fills the columns and the links to other weeks.
func (d *boardData) weeks(monday, now time.Time) {
	name := func(t time.Time) string {
		year, week := t.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	}
	link := func(t time.Time) string {
		q := url.Values{"week": {name(t)}}
		if d.Account != "" {
			q.Set("account", d.Account)
		}
		return boardPath + "?" + q.Encode()
	}
	d.Week, d.Previous, d.Next, d.Today = name(monday), link(monday.AddDate(0, 0, -7)), link(monday.AddDate(0, 0, 7)),
		link(now)
	for i := range 7 {
		day := monday.AddDate(0, 0, i)
		d.Days = append(d.Days, boardDay{Date: day, Label: day.Format("Mon 2 Jan"),
			Today: day.Format(time.DateOnly) == now.Format(time.DateOnly)})
	}
}

// fill puts the missions into the rows of their assignees, on each day of their visit.
func (d *boardData) fill(planned []mission.Row, monday, now time.Time, canWrite bool) {
	slices.SortStableFunc(planned, func(a, b mission.Row) int {
		return a.Scheduled.Start.Std().Compare(b.Scheduled.Start.Std())
	})
	rows := map[string]*boardRow{"": {Days: make([][]missionRow, 7)}}
	busy := map[string]*missionRow{} // the visit of an assignee that ends last so far
	var all []*missionRow
	for _, r := range planned {
		row := newMissionRow(r, now, canWrite)
		all = append(all, &row)
		if r.Assignee == nil || r.Status == fieldmark.MissionCanceled {
			continue
		}
		before := busy[r.Assignee.ID]
		if before != nil && r.Scheduled.Start.Std().Before(before.Scheduled.End.Std()) {
			row.Overlaps, before.Overlaps = true, true
		}
		if before == nil || before.Scheduled.End.Std().Before(r.Scheduled.End.Std()) {
			busy[r.Assignee.ID] = &row
		}
	}
	for _, row := range all {
		id := ""
		if row.Assignee != nil {
			id = row.Assignee.ID
		}
		if rows[id] == nil {
			rows[id] = &boardRow{Assignee: row.Assignee, Days: make([][]missionRow, 7)}
		}
		for i := range 7 {
			from := monday.AddDate(0, 0, i)
			if row.Scheduled.Start.Std().Before(from.AddDate(0, 0, 1)) && row.Scheduled.End.Std().After(from) {
				rows[id].Days[i] = append(rows[id].Days[i], *row)
			}
		}
	}
	for _, row := range rows {
		d.Rows = append(d.Rows, *row)
	}
	label := func(r boardRow) string {
		if r.Assignee == nil {
			return ""
		}
		return strings.ToLower(cmp.Or(r.Assignee.Name, r.Assignee.ID)) + "\x00" + r.Assignee.ID
	}
	slices.SortFunc(d.Rows, func(a, b boardRow) int { return cmp.Compare(label(a), label(b)) })
	if d.Hidden = max(0, len(d.Rows)-1-maxBoardRows); d.Hidden > 0 {
		d.Rows = d.Rows[:1+maxBoardRows]
	}
}

// cardData is a mission on the board and the page, whose form returns to it.
type cardData struct {
	Row  missionRow
	Page web.Page
}

func newCard(row missionRow, page web.Page) cardData { return cardData{row, page} }

// formatHours formats the time of a visit on the day of its card.
func formatHours(s *fieldmark.Span) string {
	start, end := s.Start.Std().UTC(), s.End.Std().UTC()
	if end.Sub(start) >= 24*time.Hour {
		return start.Format("2 Jan 15:04") + "–" + end.Format("2 Jan 15:04")
	}
	return start.Format("15:04") + "–" + end.Format("15:04")
}

// formatVisit formats the time of a visit, with the date of its end only if that is another day.
func formatVisit(s *fieldmark.Span) template.HTML {
	start, end := s.Start.Std().UTC(), s.End.Std().UTC()
	format := "15:04"
	if start.Format(time.DateOnly) != end.Format(time.DateOnly) {
		format = "2006-01-02 15:04"
	}
	// Formatted times need no escaping.
	return template.HTML(`<time datetime="` + s.Start.String() + `">` + start.Format("2006-01-02 15:04") +
		`</time>–<time datetime="` + s.End.String() + `">` + end.Format(format) + `</time>`)
}
