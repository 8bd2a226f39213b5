package technician

import (
	"encoding/json"
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

var templateFuncs = template.FuncMap{"newKey": newKey, "priorityMark": priorityMark}

// newKey returns a key for a form, so that a form that is sent twice acts once.
func newKey() string { return fieldmark.NewID("frm", time.Now())[4:] }

// priorityMark marks what is more urgent than usual: colour alone would not be seen in sunlight.
func priorityMark(p fieldmark.Priority) string {
	return map[fieldmark.Priority]string{fieldmark.PriorityCritical: "▲▲", fieldmark.PriorityHigh: "▲"}[p]
}

// pageData is what every page of a link has.
type pageData struct {
	Base, Outbox string
	Name         string // of the technician
	Until        string // end of the link
	Made         string // when the page was made, for copies that are shown offline
}

func (h *handler) pageOf(req *request) pageData {
	return pageData{Base: req.base(), Outbox: h.Links.outbox(&req.link),
		Name:  cmpName(req.link.Assignee),
		Until: req.link.Until.Std().In(req.zone).Format("2 January"), Made: req.now.In(req.zone).Format("15:04")}
}

func cmpName(a fieldmark.Assignee) string {
	if a.Name != "" {
		return a.Name
	}
	return a.ID
}

// listData is the list of missions.
type listData struct {
	pageData
	Days []day
	Zone string
}

// day has the missions of a day.
type day struct {
	Title, Date string
	Cards       []card
}

// card is a mission in the list.
type card struct {
	mission.Visit
	Path, When, Place string
	Due               *clock // the earliest; nil: none
	Open              bool
}

// list shows the missions of today and tomorrow, and open ones from before.
func (h *handler) list(req *request) error {
	today, tomorrow, end := req.day(0), req.day(1), req.day(2)
	visits, err := h.Missions.Visits.List(req.r.Context(), req.link.Account, req.link.Assignee.ID, today, end)
	if err != nil {
		return err
	}
	d := listData{pageData: h.pageOf(req), Zone: req.zone.String(), Days: []day{
		{Title: "Today", Date: today.Format("Monday, 2 January")},
		{Title: "Tomorrow", Date: tomorrow.Format("Monday, 2 January")}}}
	for _, v := range visits {
		c := card{Visit: v, Path: req.missionPath(v.ID), When: req.span(v.Scheduled),
			Place: strings.Join(place(v.Location), ", "), Open: isOpen(v.Status)}
		if clocks := clocksOf(&v, req); len(clocks) > 0 && c.Open {
			c.Due = &clocks[0]
		}
		at := 0
		if v.Scheduled != nil && !v.Scheduled.Start.Std().Before(tomorrow) {
			at = 1
		}
		d.Days[at].Cards = append(d.Days[at].Cards, c)
	}
	return h.pages.Show(req.w, http.StatusOK, "list", web.Page{Title: "Your missions", Data: d})
}

// isOpen reports whether a technician still needs the contact of a mission.
func isOpen(s fieldmark.MissionStatus) bool {
	return slices.Contains(fieldmark.OpenStatuses(), s) && s != fieldmark.MissionUnableToComplete
}

// day returns the first instant of today, or of the day that many days later. It counts in calendar days of the
// account: one has 23 or 25 hours where clocks change, and some zones skip its midnight.
func (req *request) day(later int) time.Time {
	now := req.now.In(req.zone)
	return fieldmark.FirstInstant(time.Date(now.Year(), now.Month(), now.Day()+later, 0, 0, 0, 0, time.UTC), req.zone)
}

// span writes the time of a visit, with its day unless that is shown.
// The days shown are today and tomorrow, so a visit of another day gets its date.
func (req *request) span(s *fieldmark.Span) string {
	if s == nil {
		return "No time set"
	}
	start, end := s.Start.Std().In(req.zone), s.End.Std().In(req.zone)
	text := start.Format("15:04") + "–" + end.Format("15:04")
	if start.Before(req.day(0)) || !start.Before(req.day(2)) {
		text = start.Format("Mon 2 Jan ") + text
	}
	return text
}

// place returns the lines of an address.
// Empty lines are left out, because each line is a row of the page and part of a map search.
func place(l *fieldmark.Location) (lines []string) {
	if l == nil {
		return nil
	}
	all := []string{l.Name}
	if a := l.Address; a != nil {
		all = append(all, a.Line1, a.Line2, strings.TrimSpace(a.PostalCode+" "+a.City), a.Region)
	}
	for _, line := range all {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// clock is an SLA timer that has not stopped.
type clock struct {
	Name, Due, Left string
	Late, Paused    bool
}

// clocksOf returns the SLA timers that have not stopped, the earliest first.
// A timer that was met or canceled needs no act of the technician any more.
func clocksOf(v *mission.Visit, req *request) (clocks []clock) {
	if v.SLA == nil {
		return nil
	}
	running := slices.DeleteFunc(slices.Clone(v.SLA.Metrics), func(c fieldmark.SLAClock) bool {
		return c.StoppedAt != nil || c.DueAt == nil || c.State == fieldmark.SLACanceled || c.State == fieldmark.SLAMet
	})
	slices.SortFunc(running, func(a, b fieldmark.SLAClock) int { return a.DueAt.Std().Compare(b.DueAt.Std()) })
	names := map[fieldmark.SLAMetric]string{fieldmark.SLAResponse: "Response", fieldmark.SLAOnsite: "On site",
		fieldmark.SLAResolution: "Done"}
	for _, c := range running {
		due := c.DueAt.Std().In(req.zone)
		format := "15:04"
		if due.YearDay() != req.now.In(req.zone).YearDay() {
			format = "Mon 2 Jan, 15:04"
		}
		clocks = append(clocks, clock{Name: names[c.Name], Due: due.Format(format), Left: left(due.Sub(req.now)),
			Late: c.State == fieldmark.SLABreached || due.Before(req.now), Paused: c.State == fieldmark.SLAPaused})
	}
	return clocks
}

// left writes how long it is until a time: "25 min left", "3 h late". It has hours and minutes
// up to two days, then days.
func left(d time.Duration) string {
	suffix := " left"
	if d < 0 {
		d, suffix = -d, " late"
	}
	switch {
	case d < time.Hour:
		return fmt.Sprintf("%d min%s", d/time.Minute, suffix)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min%s", d/time.Hour, d%time.Hour/time.Minute, suffix)
	}
	return fmt.Sprintf("%d days%s", d/(24*time.Hour), suffix)
}

// mapLinks returns the addresses of a place for the map application of a phone and for a browser.
// Coordinates are preferred: addresses in the country are often wrong. A geo: address opens the
// map application of the phone (RFC 5870), the other one works in any browser.
func mapLinks(l *fieldmark.Location) (geo, site template.URL) {
	where := strings.Join(place(l), ", ")
	switch {
	case l == nil || l.Geo == nil && where == "":
		return "", ""
	case l.Geo == nil:
		return template.URL("geo:0,0?q=" + url.QueryEscape(where)),
			template.URL("https://www.openstreetmap.org/search?query=" + url.QueryEscape(where))
	}
	at := fmt.Sprintf("%.6f,%.6f", l.Geo.Lat, l.Geo.Lng)
	return template.URL("geo:" + at + "?q=" + at), template.URL(fmt.Sprintf(
		"https://www.openstreetmap.org/?mlat=%.6f&mlon=%.6f#map=17/%.6f/%.6f", l.Geo.Lat, l.Geo.Lng, l.Geo.Lat,
		l.Geo.Lng))
}

// telLink returns the address of a phone number, or "" (RFC 3966).
// Spaces and punctuation are dropped, because the text may come from a ticket; # must be
// escaped in an address.
func telLink(number string) template.URL {
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '+' || r == '*' || r == '#' {
			return r
		}
		return -1
	}, number)
	if digits == "" {
		return ""
	}
	return template.URL("tel:" + strings.ReplaceAll(digits, "#", "%23"))
}

// showError shows an error as a page, or as a problem document to the script.
// The detail of an internal error is only in the log: it may contain parts of queries.
func (h *handler) showError(req *request, err error) {
	status, title, text := web.ErrorText(err)
	if status >= http.StatusInternalServerError {
		h.Log.Error("page of a technician", "link", req.link.ID, "error", err)
	}
	if req.wantsJSON() {
		h.showProblem(req, fieldmark.AsError(err), nil)
		return
	}
	h.showMessage(req, status, title, text)
}

// problem is a problem document with the state of the mission, if that is why an act was refused.
// The script shows both states without loading the page again.
type problem struct {
	fieldmark.Problem
	Now *conflict `json:"now,omitempty"`
}

func (h *handler) showProblem(req *request, e *fieldmark.Error, now *conflict) {
	p := problem{e.Problem(h.Config.BaseURL, web.RequestID(req.r)), now}
	body, err := json.Marshal(p)
	if err != nil {
		h.Log.Error("page of a technician", "link", req.link.ID, "error", err)
		body = []byte(`{"code":"internal","status":500}`)
	}
	req.w.Header().Set("Content-Type", fieldmark.ProblemType)
	req.w.WriteHeader(p.Status)
	_, _ = req.w.Write(body)
}

// A template that fails is a bug; a short text is better than an empty page. showMessage shows
// a page with a message, or plain text if rendering fails.
func (h *handler) showMessage(req *request, status int, title, detail string) {
	if status == http.StatusNotFound {
		title = "This link does not work"
	}
	p := web.Page{Title: title, Data: detail}
	if err := h.pages.Show(req.w, status, "message", p); err != nil {
		h.Log.Error("page of a technician", "error", err)
		http.Error(req.w, title, status)
	}
}
