package admin

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/ui"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/web"
)

// maxBoardRows limits the assignees on the board: a page with more is no longer an overview.
// The page says how many are hidden.
const maxBoardRows = 60

// boardData is a week of an account: assignees as rows and days as columns.
type boardData struct {
	Account        string
	Accounts       []option
	Zone           string // IANA name of the time zone of the days and hours
	Week           string // such as 2026-W48
	Previous, Next string // addresses
	Today          string
	Address        string // of this week, without an open form
	List           string // the list of all open missions
	Days           []boardDay
	Unplanned      []boardCard // open missions without a time
	MaxUnplanned   int
	Rows           []boardRow // the first has no assignee
	Hidden         int        // assignees beyond maxBoardRows
	More           bool       // there are more visits than the board reads
	MaxVisits      int
	Sum            string // of the visits
	Overlapping    int
	AtRisk         int
	Assignees      []fieldmark.Assignee // to choose from
	Form           *planForm            // of the mission that is being moved; nil: none
}

// boardDay is a column.
// Today is highlighted in the zone of the board.
type boardDay struct {
	Date  string // 2026-11-23
	Label string
	Today bool
}

// boardRow is an assignee and the missions of each day; nil: those without an assignee.
type boardRow struct {
	Assignee *fieldmark.Assignee
	Days     [7]boardCell
	Load     string // the visits of the week and their hours
	visits   int
	time     time.Duration
}

// boardCell are the missions of an assignee on a day.
// A cell has the visits that touch the day, so a visit over midnight is in two.
type boardCell []*boardCard

// boardCard is a mission on the board.
type boardCard struct {
	missionRow
	Hours      string // of the visit on the board
	Start, End string // of the visit, as in an input; empty: not planned
	Move       string // the address of its form; empty: it cannot be moved
	Overlaps   string // title of a mission whose visit overlaps
}

// planForm is the form that sets the time and the assignee of a mission. It works without
// scripts.
type planForm struct {
	Mission    missionRow
	Start, End string // in the time zone of the form
	Who, Name  string
	Changes    []overtakingRow // that overtook the form
}

// board shows the week in the query.
func (h *missionHandler) board(req *request) error {
	return h.showBoard(req, req.r.URL.Query(), http.StatusOK, nil)
}

// showBoard shows a week. With the parameter move it shows the form of that mission as well, and with a
// status other than 200 the form that was rejected.
// The query is a parameter and not of the request, because a rejected form has it in its body.
func (h *missionHandler) showBoard(req *request, query url.Values, status int, bad []web.FormError) error {
	zone, err := parseZone(query.Get("zone"))
	if err != nil {
		return err
	}
	now := time.Now().In(zone)
	monday, err := parseWeek(query.Get("week"), now)
	if err != nil {
		return err
	}
	d := boardData{Zone: zone.String(), MaxUnplanned: mission.MaxBoardUnplanned, MaxVisits: mission.MaxBoardVisits}
	if d.Account, d.Accounts, err = h.chooseAccount(req, query); err != nil {
		return err
	}
	d.weeks(monday, now)
	// Several accounts and none chosen: the page asks for one.
	if d.Account == "" {
		return h.show(req, status, "board", web.Page{Title: "Board", Errors: bad, Data: d})
	}
	// A day before and after, to see overlaps with visits of the weeks beside it.
	week, err := h.missions.Board(req.r.Context(), d.Account, fieldmark.FirstInstant(monday.AddDate(0, 0, -1), zone),
		fieldmark.FirstInstant(monday.AddDate(0, 0, 8), zone))
	if err != nil {
		return err
	}
	d.Assignees, d.More = week.Assignees, week.More
	for _, r := range week.Unplanned {
		d.Unplanned = append(d.Unplanned, *d.card(r, now, req.canWrite()))
	}
	d.fill(week, monday, now, req.canWrite())
	if id := query.Get("move"); id != "" && req.canWrite() {
		if d.Form, err = h.planForm(req, id, query, zone, status); err != nil {
			return err
		}
	}
	return h.show(req, status, "board", web.Page{Title: "Board, week " + d.Week, Errors: bad, Data: d})
}

// planForm returns the form of a mission: its plan, or what was entered into the rejected form. The query can
// suggest a day and an assignee.
// The rejected form keeps what was entered, and shows what changed meanwhile.
func (h *missionHandler) planForm(req *request, id string, query url.Values, zone *time.Location,
	status int) (*planForm, error) {
	story, err := h.missions.History(req.r.Context(), id)
	if err != nil {
		return nil, err
	}
	f := &planForm{Mission: newMissionRow(story.Row(), time.Now(), true)}
	if s := story.Scheduled; s != nil {
		f.Start, f.End = inputTimeIn(s.Start, zone), inputTimeIn(s.End, zone)
	}
	// A cell of the board leads to the form with its day and assignee.
	if day := query.Get("day"); f.Start == "" && dayFormat(day) {
		f.Start, f.End = day+"T"+firstHour, day+"T"+secondHour
	}
	if a := story.Assignee; a != nil {
		f.Who, f.Name = a.ID, a.Name
	} else if who := query.Get("who"); who != "" {
		f.Who = who
	}
	if status == http.StatusOK {
		return f, nil
	}
	form := req.r.PostForm
	f.Start, f.End, f.Who, f.Name = form.Get("start"), form.Get("end"), form.Get("assignee"), form.Get("assignee-name")
	if status == http.StatusConflict {
		f.Changes, err = h.overtaking(req, story, zone)
	}
	return f, err
}

// The time that the form suggests for a visit on a day.
// They are a suggestion only; business hours differ between accounts.
const (
	firstHour  = "08:00"
	secondHour = "09:00"
)

// dayFormat reports whether a text is a day.
func dayFormat(day string) bool {
	_, err := time.Parse(time.DateOnly, day)
	return err == nil
}

// parseZone returns the time zone of a board; "" is UTC, as on the other pages of the console.
func parseZone(name string) (*time.Location, error) {
	if name = strings.TrimSpace(name); name == "" {
		return time.UTC, nil
	}
	if fieldmark.ValidTimeZone(name) {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	return nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Enter a time zone such as Europe/Zurich.")
}

// parseWeek returns the Monday of an ISO 8601 week such as 2026-W48; of the current one if it is empty. It is a date,
// at 00:00 UTC, and no instant: some zones skip a midnight.
// The year is bounded, so arithmetic with weeks cannot overflow.
func parseWeek(text string, now time.Time) (time.Time, error) {
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	if text != "" {
		var year, week int
		if _, err := fmt.Sscanf(text, "%4d-W%2d", &year, &week); err != nil || week < 1 || week > 53 || year < 1971 ||
			year > 9000 {
			return time.Time{}, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Enter a week such as 2026-W48.")
		}
		// 4 January is always in week 1 (ISO 8601).
		day = time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*(week-1))
	}
	// Monday is the first day (ISO 8601).
	back := (int(day.Weekday()) + 6) % 7
	return day.AddDate(0, 0, -back), nil
}

// weeks fills the columns and the links to other weeks.
// Links keep the account and the zone.
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
		if d.Zone != time.UTC.String() {
			q.Set("zone", d.Zone)
		}
		return boardPath + "?" + q.Encode()
	}
	d.Week, d.Address, d.Today = name(monday), link(monday), link(now)
	d.Previous, d.Next = link(monday.AddDate(0, 0, -7)), link(monday.AddDate(0, 0, 7))
	open := url.Values{"account": {d.Account}, "status": {statusOpen}, "sort": {mission.ByDeadline}}
	d.List = missionsPath + "?" + open.Encode()
	for i := range 7 {
		day := monday.AddDate(0, 0, i)
		d.Days = append(d.Days, boardDay{Date: day.Format(time.DateOnly), Label: day.Format("Mon 2 Jan"),
			Today: day.Format(time.DateOnly) == now.Format(time.DateOnly)})
	}
}

// card returns the card of a mission.
// Viewers get cards without the form.
func (d *boardData) card(r mission.Row, now time.Time, canWrite bool) *boardCard {
	c := &boardCard{missionRow: newMissionRow(r, now, canWrite)}
	if c.CanSelect {
		// Without a fragment, which would keep the focus from the form (HTML, 6.6.7).
		c.Move = d.Address + "&move=" + r.ID
	}
	if r.Scheduled != nil {
		c.Hours = formatHours(r.Scheduled, now.Location())
		c.Start, c.End = inputTimeIn(r.Scheduled.Start, now.Location()), inputTimeIn(r.Scheduled.End, now.Location())
	}
	return c
}

// HTML returns the cards. They are written here because html/template takes longer for the
// cards of a full week than the rest of the page together. Every text of a client is escaped.
func (cell boardCell) HTML() template.HTML {
	var b strings.Builder
	b.Grow(cardBytes * len(cell))
	for _, c := range cell {
		c.write(&b)
	}
	return template.HTML(b.String())
}

// cardBytes is the size of most cards.
const cardBytes = 1000

// HTML returns the card.
func (c *boardCard) HTML() template.HTML { return boardCell{c}.HTML() }

// write appends one card. The words for screen readers are in elements that are not shown.
func (c *boardCard) write(b *strings.Builder) {
	put := func(parts ...string) {
		for _, p := range parts {
			b.WriteString(p)
		}
	}
	title := template.HTMLEscapeString(c.Title)
	put(`<article class="card`)
	if c.Overlaps != "" {
		put(` overlap`)
	}
	if c.Risk() {
		put(` risk`)
	}
	put(`"`)
	if c.Move != "" {
		put(` data-mission="`, c.ID, `" data-version="`, strconv.Itoa(c.Version), `" data-start="`, c.Start,
			`" data-end="`, c.End, `"`)
	}
	put(`><p class="when">`)
	if c.Hours != "" {
		put(`<b>`, c.Hours, `</b> `)
	}
	words := web.StateWords(c.Priority)
	put(`<span class="prio `, string(c.Priority), `" title="`, words, `">`, priorityIcons[c.Priority],
		`<span class="word"> `, words, `</span></span></p>`,
		`<h3><a href="`, missionsPath, `/`, c.ID, `"><bdi>`, title, `</bdi></a></h3><p class="marks">`,
		`<span class="state `, web.StatusClass(c.Status), `">`, web.StateWords(c.Status), `</span>`)
	if c.Risk() && c.SLAState != "" {
		put(` <span class="state bad">`, c.SLAState, `</span>`)
	}
	switch {
	case c.Late:
		put(` <span class="late">`, c.Due, `</span>`)
	case c.Due != "" && (c.Hours == "" || c.Risk()): // the others are planned and on track
		put(` <span class="soft">`, c.Due, `</span>`)
	}
	if c.Overlaps != "" {
		other := template.HTMLEscapeString(c.Overlaps)
		put(` <strong class="state bad" title="`, other, `">overlaps<span class="sr"> `, other, `</span></strong>`)
	}
	put(`</p>`)
	if c.Move != "" {
		word := "Plan"
		if c.Hours != "" {
			word = "Move"
		}
		put(`<p class="move"><a href="`, template.HTMLEscapeString(c.Move), `">`, word, `<span class="sr"> `, title,
			`</span></a></p>`)
	}
	put(`</article>`)
}

// priorityIcons are the icons of the template "priority".
var priorityIcons = func() map[fieldmark.Priority]string {
	icons := map[fieldmark.Priority]string{}
	for p, path := range map[fieldmark.Priority]string{fieldmark.PriorityCritical: "M6 0l6 11H0z",
		fieldmark.PriorityHigh: "M6 1l5 6H1z", fieldmark.PriorityMedium: "M1 5h10v3H1z",
		fieldmark.PriorityLow: "M6 11L1 5h10z"} {
		icons[p] = `<svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" focusable="false"><path d="` +
			path + `"/></svg>`
	}
	return icons
}()

// Risk reports whether an SLA target of the mission is missed or at risk.
func (c *boardCard) Risk() bool { return c.Late || c.SLAState == "at risk" || c.SLAState == "breached" }

// fill puts the missions into the rows of their assignees, on each day of their visit.
// A visit counts once for its assignee, also if it is on two days.
func (d *boardData) fill(week mission.Week, monday, now time.Time, canWrite bool) {
	rows := map[string]*boardRow{"": {}}
	for i := range week.Assignees {
		rows[week.Assignees[i].ID] = &boardRow{Assignee: &week.Assignees[i]}
	}
	// Cards are shared between cells: a visit over midnight is one card.
	cards := d.overlaps(week.Planned, now, canWrite)
	var days [8]time.Time // when each begins: a day has 23 to 25 hours where the clocks change
	for i := range days {
		days[i] = fieldmark.FirstInstant(monday.AddDate(0, 0, i), now.Location())
	}
	for _, card := range cards {
		start, end := card.Scheduled.Start.Std(), card.Scheduled.End.Std()
		if !start.Before(days[7]) || !end.After(days[0]) {
			continue // read for its overlaps
		}
		// Visits without an assignee are in the first row.
		id := ""
		if card.Assignee != nil {
			id = card.Assignee.ID
		}
		row := rows[id]
		if row == nil {
			row = &boardRow{Assignee: card.Assignee}
			rows[id] = row
		}
		for i := range row.Days {
			if start.Before(days[i+1]) && end.After(days[i]) {
				row.Days[i] = append(row.Days[i], card)
			}
		}
		row.visits++
		row.time += end.Sub(start)
		d.count(card)
	}
	visits := 0
	for _, row := range rows {
		visits += row.visits
		if row.visits > 0 {
			row.Load = visitCount(row.visits) + ", " + formatMinutes(int(row.time/time.Minute))
		}
		d.Rows = append(d.Rows, *row)
	}
	d.Sum = visitCount(visits)
	// Rows are sorted by name, and by id for equal names.
	label := func(r *boardRow) string {
		if r.Assignee == nil {
			return ""
		}
		return strings.ToLower(cmp.Or(r.Assignee.Name, r.Assignee.ID)) + "\x00" + r.Assignee.ID
	}
	slices.SortFunc(d.Rows, func(a, b boardRow) int { return cmp.Compare(label(&a), label(&b)) })
	// The first row is never hidden: it is what needs planning.
	if d.Hidden = max(0, len(d.Rows)-1-maxBoardRows); d.Hidden > 0 {
		d.Rows = d.Rows[:1+maxBoardRows]
	}
}

// visitCount writes a number of visits.
func visitCount(n int) string {
	if n == 1 {
		return "1 visit"
	}
	return strconv.Itoa(n) + " visits"
}

// count adds a card to the sums above the board.
func (d *boardData) count(card *boardCard) {
	if card.Overlaps != "" {
		d.Overlapping++
	}
	if card.Risk() {
		d.AtRisk++
	}
}

// overlaps returns the cards of planned missions by their start. The card of an open mission names an open one of
// the same assignee whose visit overlaps: of those that are over, none can be moved.
// An overlap is a conflict only while both missions are open.
func (d *boardData) overlaps(planned []mission.Row, now time.Time, canWrite bool) []*boardCard {
	slices.SortStableFunc(planned, func(a, b mission.Row) int {
		return a.Scheduled.Start.Std().Compare(b.Scheduled.Start.Std())
	})
	busy := map[string]*boardCard{} // the visit of an assignee that ends last so far
	cards, open := make([]*boardCard, len(planned)), fieldmark.OpenStatuses()
	for i, r := range planned {
		card := d.card(r, now, canWrite)
		cards[i] = card
		if r.Assignee == nil || !slices.Contains(open, r.Status) {
			continue
		}
		before := busy[r.Assignee.ID]
		if before != nil && r.Scheduled.Start.Std().Before(before.Scheduled.End.Std()) {
			card.Overlaps = before.Title
			before.Overlaps = cmp.Or(before.Overlaps, card.Title)
		}
		if before == nil || before.Scheduled.End.Std().Before(r.Scheduled.End.Std()) {
			busy[r.Assignee.ID] = card
		}
	}
	return cards
}

// formatHours formats the time of a visit on the day of its card.
func formatHours(s *fieldmark.Span, zone *time.Location) string {
	start, end := s.Start.Std().In(zone), s.End.Std().In(zone)
	if start.Format(time.DateOnly) != end.Format(time.DateOnly) {
		return start.Format("2 Jan 15:04") + "–" + end.Format("2 Jan 15:04")
	}
	return start.Format("15:04") + "–" + end.Format("15:04")
}

// inputTimeIn formats a time in a zone for an input of type datetime-local.
func inputTimeIn(t fieldmark.Time, zone *time.Location) string {
	return t.Std().In(zone).Format(localMinute)
}

// formatVisit formats the time of a visit.
func formatVisit(s *fieldmark.Span) template.HTML {
	return ui.Span(s.Start.Std(), s.End.Std(), time.Now())
}
