package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
)

// dispatch does the work of a dispatcher in a new tab: it creates missions, finds one by search, plans it, moves
// it on the board, loses a race, assigns and cancels several, adds a note, completes and exports. With scripts
// it also drags, and uses the keyboard alone.
func (d *console) dispatch(browser *browsertest.Browser, v browsertest.View) {
	t := d.t
	t.Helper()
	w := &console{t: t, base: d.base, tab: browser.Open(t, d.base+"/admin/missions?account=default", v)}
	title := fmt.Sprintf("Replace mast %d %t", v.Width, v.NoScript)
	today := time.Now().UTC().Truncate(24 * time.Hour) // also after midnight
	w.follow("a[href^='/admin/missions/new']")
	page := w.correctByKeyboard(title)
	second, third := w.createMission(title+" again"), w.createMission(title+" in vain")

	w.tab.Go(t, d.base+"/admin/missions?account=default")
	w.submit("form[role=search]", "button", map[string]string{"q": strings.ToUpper(title)})
	w.follow("a[href='" + page + "']")
	start, end := visitOn(today, 8)
	w.send(page+"/plan", "schedule", map[string]string{"start": start, "end": end, "assignee": "ann",
		"assignee-name": "Ann Ames"})
	w.says("Plan saved.")
	w.says("Ann Ames")

	d.tab.Go(t, d.base+page) // another dispatcher has the page open
	year, week := today.ISOWeek()
	board := fmt.Sprintf("/admin/board?account=default&week=%04d-W%02d", year, week)
	w.tab.Go(t, d.base+board)
	w.follow(".card[data-mission='" + idOf(page) + "'] .move a")
	start, end = visitOn(today, 9)
	w.send(page+"/plan", "save", map[string]string{"start": start, "end": end, "assignee": "bob",
		"assignee-name": "Bob Byrd"})
	w.says("Plan saved.")
	w.onBoard("bob", title, "09:00–10:00")
	d.send(page+"/plan", "save", map[string]string{"start": "", "end": "", "assignee": "cid", "assignee-name": ""})
	d.says("The mission was changed after this page was opened")
	d.says("now Bob Byrd; your form: cid")
	if !v.NoScript {
		w.dragAndType(board, page, title, today)
	}
	w.several(second, third)

	w.tab.Go(t, d.base+page)
	w.send(page+"/notes", "", map[string]string{"text": "The key is at the reception."})
	w.says("Note added.")
	w.says("The key is at the reception.")
	w.tab.Go(t, d.base+"/admin/missions?account=default&q="+strings.ReplaceAll(title, " ", "+"))
	w.send(page+"/complete", "", nil)
	w.says("Mission completed.")
	w.tab.Go(t, d.base+page)
	w.says("ada administrator mission.completed")
	w.tab.Go(t, d.base+"/admin/missions?account=default")
	var csv string
	w.tab.Eval(t, `fetch(document.querySelector("a[download]").href).then(r => r.text())`, &csv)
	if !strings.Contains(csv, title+",MEDIUM,COMPLETED") || !strings.Contains(csv, title+" in vain,MEDIUM,CANCELED") {
		t.Errorf("the export lacks the missions:\n%s", csv)
	}
	for _, finding := range w.tab.Trouble() {
		t.Errorf("while dispatching at %d px: %s", v.Width, finding)
	}
}

// correctByKeyboard sends the form of a new mission without a title, corrects it, and returns the path of the
// mission's page. It uses the keyboard alone.
func (d *console) correctByKeyboard(title string) string {
	d.t.Helper()
	d.enter("#new-title", " ")
	d.enter("#new-city", "Bern")
	// A browser moves the focus after it has loaded the page.
	d.push("#new-city", "the title is rejected and has the focus", invalid("#new-title:focus"))
	d.rejects("#new-title", " ", "Enter a title.")
	if city := d.value(`document.querySelector("#new-city").value`); city != "Bern" {
		d.t.Errorf("the rejected form has the city %q, want what was entered", city)
	}
	d.enter("#new-title", title)
	d.push("#new-title", "the mission is created", `document.body.textContent.includes("Mission created.")`)
	return currentAddress(d)
}

// createMission creates a mission with the form and returns the path of its page.
func (d *console) createMission(title string) string {
	d.t.Helper()
	d.tab.Go(d.t, d.base+"/admin/missions/new?account=default")
	d.submit("form[action='/admin/missions'][method=post]", "button", map[string]string{"title": title})
	d.says("Mission created.")
	return currentAddress(d)
}

func idOf(page string) string { return strings.TrimPrefix(page, "/admin/missions/") }

// visitOn returns the values of inputs for a visit of an hour.
func visitOn(day time.Time, hour int) (start, end string) {
	at := day.Add(time.Duration(hour) * time.Hour)
	return at.Format("2006-01-02T15:04"), at.Add(time.Hour).Format("2006-01-02T15:04")
}

// onBoard checks the row of an assignee.
func (d *console) onBoard(who string, want ...string) {
	d.t.Helper()
	row := d.value(`document.querySelector(".board tr[data-who='` + who + `']")?.textContent ?? ""`)
	for _, text := range want {
		if !strings.Contains(row, text) {
			d.t.Errorf("the row of %s on the board is %q, want %q", who, row, text)
		}
	}
}

// dragAndType drags the card of a mission to the row of another assignee, then gives it back with the form and
// the keyboard alone.
func (d *console) dragAndType(board, page, title string, day time.Time) {
	d.t.Helper()
	card := ".card[data-mission='" + idOf(page) + "']"
	start, end := visitOn(day, 12)
	d.tab.Go(d.t, d.base+board)
	d.tab.Leave(d.t, "drag the card", `(() => {
		const card = document.querySelector("`+card+`"), data = new DataTransfer();
		const cell = document.querySelector(".board tr[data-who=''] td[data-day='`+day.Format(time.DateOnly)+`']");
		const options = {bubbles: true, cancelable: true, dataTransfer: data};
		const fire = (on, type) => on.dispatchEvent(new DragEvent(type, options));
		fire(card, "dragstart"); fire(cell, "dragover"); fire(cell, "drop");
	})()`)
	d.says("Plan saved.")
	d.onBoard("", title, "09:00–10:00")
	d.push(card+" .move a", "the form is open", `document.activeElement.id == "plan-start"`)
	d.enter("#plan-assignee", "bob")
	d.push("#move button[value=save]", "the plan is saved", `document.body.textContent.includes("Plan saved.")`)
	d.onBoard("bob", title, "09:00–10:00")
	d.tab.Go(d.t, d.base+board)
	d.follow(card + " .move a")
	d.send(page+"/plan", "save", map[string]string{"start": end, "end": start})
	d.says("Move " + title) // the board again, with the form and its error
	d.tab.Until(d.t, "the end, which is before the start, has the focus", `document.activeElement.id == "plan-end"`)
}

// several assigns two missions at once, and cancels one of them after the question.
func (d *console) several(second, third string) {
	d.t.Helper()
	pick := func(pages ...string) string {
		var boxes []string
		for _, page := range pages {
			boxes = append(boxes, "[value^='"+idOf(page)+":']")
		}
		d.tab.Go(d.t, d.base+"/admin/missions?account=default")
		return `document.querySelectorAll("` + strings.Join(boxes, ", ") + `").forEach(box => box.checked = true);
			document.querySelector("#bulk-assignee").value = "dot";`
	}
	press := func(do string) string {
		return `document.querySelector("#bulk").requestSubmit(document.querySelector("[form=bulk][value=` + do + `]"))`
	}
	d.tab.Leave(d.t, "assign two", pick(second, third)+press("assign"))
	d.says("2 of 2 done.")
	d.tab.Leave(d.t, "cancel one", pick(third)+press("cancel"))
	d.says("Cancel missions?")
	d.send("/admin/missions/bulk", "", map[string]string{"code": "CUSTOMER"})
	d.says("1 of 1 done.")
	d.tab.Go(d.t, d.base+second)
	d.says("dot")
}

// value returns the text that an expression has in the page.
func (d *console) value(expression string) (text string) {
	d.t.Helper()
	d.tab.Eval(d.t, "String("+expression+")", &text)
	return text
}
