package main

import (
	"strings"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
)

// dispatch does the work of a dispatcher in a new tab: it creates a mission, plans it, moves it on
// the board, adds a note and cancels it. A form that was overtaken shows what changed.
func (d *console) dispatch(browser *browsertest.Browser, v browsertest.View) {
	t := d.t
	t.Helper()
	w := &console{t: t, base: d.base, tab: browser.Open(t, d.base+"/admin/missions?account=default", v)}
	w.follow("a[href^='/admin/missions/new']")
	w.submit("form[action='/admin/missions'][method=post]", "button", map[string]string{"title": " ", "city": "Bern"})
	w.says("Title: enter one.")
	focused := w.value(`document.activeElement.id + document.activeElement.ariaInvalid`)
	if focused != "new-titletrue" {
		t.Errorf("the focus is on %q, want the title, which is invalid", focused)
	}
	if city := w.value(`document.querySelector("#new-city").value`); city != "Bern" {
		t.Errorf("the rejected form has the city %q, want what was entered", city)
	}
	w.submit("form[action='/admin/missions'][method=post]", "button", map[string]string{"title": "Replace the mast",
		"priority": "HIGH"})
	w.says("Mission created.")
	page := strings.TrimPrefix(strings.SplitN(currentAddress(w), "?", 2)[0], d.base)
	now := time.Now().UTC()
	visit := func(hour int) (start, end string) {
		at := time.Date(now.Year(), now.Month(), now.Day(), hour, 0, 0, 0, time.UTC)
		return at.Format("2006-01-02T15:04"), at.Add(time.Hour).Format("2006-01-02T15:04")
	}
	start, end := visit(8)
	w.send(page+"/plan", "schedule", map[string]string{"start": start, "end": end, "assignee": "ann",
		"assignee-name": "Ann Ames"})
	w.says("Plan saved.")
	w.says("Ann Ames")

	d.tab.Go(t, d.base+page) // another dispatcher has the page open
	w.tab.Go(t, d.base+"/admin/board?account=default")
	start, end = visit(9)
	w.send(page+"/plan", "save", map[string]string{"start": start, "end": end, "assignee": "bob",
		"assignee-name": "Bob Byrd"})
	w.says("Plan saved.")
	row := w.value(`[...document.querySelectorAll(".board tbody tr")].find(r => ` +
		`r.textContent.includes("Bob Byrd"))?.textContent ?? ""`)
	if !strings.Contains(row, "Replace the mast") || !strings.Contains(row, "09:00–10:00") {
		t.Errorf("the row of Bob on the board is %q, want the mission at nine", row)
	}
	d.send(page+"/plan", "save", map[string]string{"assignee": "cid"})
	d.says("The mission was changed after this page was opened")
	d.says("ada: time of the visit, assignee")

	w.tab.Go(t, d.base+page)
	w.send(page+"/notes", "", map[string]string{"text": "The key is at the reception."})
	w.says("Note added.")
	w.says("The key is at the reception.")
	w.send(page+"/move", "CANCELED", map[string]string{"code": "CUSTOMER", "text": "not needed"})
	w.says("This mission is closed.")
	w.says("ada mission.canceled")
	for _, finding := range w.tab.Trouble() {
		t.Errorf("while dispatching at %d px: %s", v.Width, finding)
	}
}

// value returns the text that an expression has in the page.
func (d *console) value(expression string) (text string) {
	d.t.Helper()
	d.tab.Ask(d.t, "String("+expression+")", &text)
	return text
}
