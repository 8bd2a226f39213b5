package main

import (
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
)

// technicians is a running Fieldmark with missions, reached through a network that can fail.
type technicians struct {
	t       *testing.T
	base    string // of the edge
	key     string
	network *network
	browser *browsertest.Browser
	photo   string // path of a JPEG
	n       int    // missions
}

// TestTechnician uses pages of technicians in a browser: with scripts, without them and with the
// keyboard alone, and with a network that fails at every step.
func TestTechnician(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := &technicians{t: t, photo: filepath.Join(dir, "photo.jpg"),
		key: newKeyAt(t, dir, nil, "admin:*", "mission:create", "mission:read", "mission:operate")}
	p := start(t, dir, append([]string{"serve", "--public-api"}, freePorts("var")...)...)
	f.base = p.logged("serve", "listen")
	f.network = newNetwork(t, strings.TrimPrefix(f.base, "http://"))
	file, err := os.Create(f.photo)
	must(t, err)
	must(t, jpeg.Encode(file, image.NewGray(image.Rect(0, 0, 2000, 1000)), nil))
	must(t, file.Close())
	f.browser = browsertest.Start(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"walk", f.walk}, {"keyboard", func(t *testing.T) { f.walkByKeyboard(t, false) }},
		{"keyboard, no script", func(t *testing.T) { f.walkByKeyboard(t, true) }},
		{"no script", f.walkWithoutScript}, {"offline", f.offline},
		{"responses lost", f.responsesLost}, {"stale page", f.stalePage}, {"two devices", f.twoDevices},
		{"wrong clock", f.wrongClock}, {"queue", f.queue}, {"pictures", f.pictures},
	} {
		t.Run(test.name, func(t *testing.T) {
			f.t = t
			test.run(t)
		})
		f.network.set(connected)
	}
	p.stop()
}

// call sends a request to an API and decodes the response.
func (f *technicians) call(method, path, body string, into any) {
	f.t.Helper()
	status, _, answer := ask(f.t, method, f.base+path, body, "Authorization", "Bearer "+f.key)
	if status >= 300 {
		f.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	if into != nil {
		must(f.t, json.Unmarshal([]byte(answer), into))
	}
}

// link creates the link of an assignee and returns its path.
func (f *technicians) link(assignee, pin string) fieldmark.NewTechnicianLink {
	f.t.Helper()
	var l fieldmark.NewTechnicianLink
	body, err := json.Marshal(fieldmark.TechnicianLinkRequest{PIN: pin,
		Assignee: fieldmark.Assignee{ID: assignee, Name: "Ann Ames"}})
	must(f.t, err)
	f.call("POST", "/api/admin/v1/technician-links", string(body), &l)
	return l
}

// dispatch creates a mission and dispatches it to an assignee.
func (f *technicians) dispatch(assignee, title string) string {
	f.t.Helper()
	f.n++
	var m fieldmark.Mission
	f.call("POST", "/api/public/v1/missions", fmt.Sprintf(`{"source":"crm","externalId":"%d","title":%q,
		"priority":"HIGH","description":"Replace the lamp.","location":{"name":"Plant 4","accessNotes":"Ring twice.",
		"address":{"line1":"Main St 1","postalCode":"3011","city":"Bern","country":"CH"},"geo":{"lat":46.9,"lng":7.4}},
		"contact":{"name":"Cy Clay","phone":"+41 31 555 01 02"}}`, f.n, title), &m)
	start := time.Now().UTC().Truncate(time.Hour).Add(time.Minute)
	f.call("POST", "/api/public/v1/missions/"+m.ID+"/transitions", fmt.Sprintf(
		`{"status":"DISPATCHED","assignee":{"id":%q},"scheduled":{"start":%q,"end":%q}}`, assignee,
		start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339)), nil)
	return m.ID
}

// open opens a page of a link in a new tab of a device.
func (f *technicians) open(device *browsertest.Browser, path string, v browsertest.View) *console {
	f.t.Helper()
	base := "http://" + f.network.address
	return &console{t: f.t, base: base, tab: device.Open(f.t, base+path, v)}
}

var phone = browsertest.View{Width: 390, Height: 844}

// ready waits until the page works without a network.
func (d *console) ready() {
	d.t.Helper()
	d.tab.Until(d.t, "the page works offline", `document.body.dataset.offline == "ready"`)
}

// give fills in the form of an act and sends it.
func (d *console) give(act string, values map[string]string) {
	d.t.Helper()
	d.tab.Do(d.t, "send "+act, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => {
		const form = document.querySelector("form[data-act=%s]");
		for (const [name, value] of Object.entries(%s)) form.elements[name].value = value;
		form.requestSubmit(form.querySelector("button"));
	})()`, act, mustJSON(d.t, values))))
}

// addPhoto chooses a photo and sends it.
func (d *console) addPhoto(path string) {
	d.t.Helper()
	d.tab.Do(d.t, "choose a photo", chromedp.SetUploadFiles("#photo-file", []string{path}))
	d.give("photo", nil)
}

// sign draws a line into the field for the signature and saves it.
func (d *console) sign() {
	d.t.Helper()
	var at struct{ X, Y float64 }
	d.tab.Eval(d.t, `(() => {
		const canvas = document.querySelector("canvas");
		canvas.scrollIntoView({block: "center"});
		const box = canvas.getBoundingClientRect();
		return {x: box.x + 40, y: box.y + 40};
	})()`, &at)
	d.tab.Do(d.t, "sign", chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at.X, at.Y,
		chromedp.Button("left")),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+120, at.Y+20, chromedp.Button("left")),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at.X+120, at.Y+20, chromedp.Button("left")))
	d.tab.Do(d.t, "save the signature",
		chromedp.Evaluate[chromedp.Void](`document.querySelector("[data-do=save]").click()`))
}

// reaches waits until the page shows a mission as the server has it.
func (d *console) reaches(status fieldmark.MissionStatus) {
	d.t.Helper()
	d.tab.Until(d.t, "the mission is "+string(status), fmt.Sprintf(`document.readyState == "complete" &&
		document.querySelector("[data-mission]")?.dataset.status == %q && !document.querySelector("#waiting")`, status))
}

// waits waits until a number of entries are not sent yet, and none is being sent.
func (d *console) waits(n int) {
	d.t.Helper()
	d.tab.Until(d.t, fmt.Sprint(n, " entries wait"), fmt.Sprintf(
		`document.readyState == "complete" && document.querySelector("#outbox[aria-busy=false]")?.dataset.count == `+
			`"%d"`, n))
}

// enterPIN enters a PIN with the keyboard.
func (d *console) enterPIN(pin string) {
	d.t.Helper()
	d.enter("#pin", pin)
	d.push("button", "the missions are shown", `document.querySelector(".card") !== null`)
}

// sound fails the test if the browser reported errors or axe-core finds some.
func (d *console) sound(allowed ...string) {
	d.t.Helper()
	for _, finding := range slices.Concat(d.tab.Trouble(), d.tab.Overflow(d.t), d.tab.Axe(d.t), d.small()) {
		if !slices.ContainsFunc(allowed, func(s string) bool { return strings.Contains(finding, s) }) {
			d.t.Errorf("%s: %s", d.text("h1"), finding)
		}
	}
}

// small lists controls that a finger in a glove misses, and primary actions beside the first one.
func (d *console) small() (found []string) {
	d.t.Helper()
	d.tab.Eval(d.t, `[...document.querySelectorAll("a, button, summary, input:not([type=hidden]), select, textarea")]
		.filter(e => e.checkVisibility() && !e.closest(".card")).map(e => [e, e.getBoundingClientRect()])
		.filter(([e, box]) => box.height < 44 || box.width < 44).map(([e, box]) =>
			"smaller than 44 px: " + e.outerHTML.slice(0, 80) + " " + box.width + " x " + box.height)
		.concat([...document.querySelectorAll("#acts .primary")].filter(e => e.checkVisibility()).slice(1)
			.map(e => "a second primary action: " + e.outerHTML.slice(0, 80)))`, &found)
	return found
}

// check compares a mission at the server with what was done: a hold, a resumption, a note, a photo and perhaps a
// signature.
func (f *technicians) check(id string, notes, files int) {
	f.t.Helper()
	var m fieldmark.Mission
	f.call("GET", "/api/public/v1/missions/"+id, "", &m)
	var list struct{ Data []fieldmark.Note }
	f.call("GET", "/api/public/v1/missions/"+id+"/notes", "", &list)
	var attachments struct{ Data []fieldmark.Attachment }
	f.call("GET", "/api/public/v1/missions/"+id+"/attachments", "", &attachments)
	if m.Status != fieldmark.MissionCompleted || len(list.Data) != notes || len(attachments.Data) != files {
		f.t.Errorf("the mission is %s, with %d notes and %d files; want COMPLETED, %d and %d", m.Status, len(list.Data),
			len(attachments.Data), notes, files)
	}
	for _, a := range attachments.Data {
		if a.ContentType == "image/png" && a.Size > 64<<10 {
			f.t.Errorf("the signature has %d bytes", a.Size)
		}
	}
}

// walk does all there is to do on a phone with scripts, and measures the first page.
func (f *technicians) walk(t *testing.T) {
	l, id := f.link("walk", "123456"), f.dispatch("walk", "Replace mast 7")
	d := f.open(f.browser.Device(t), l.Path, phone)
	d.sound("a status of 401")
	d.enterPIN("123456")
	var size int
	d.tab.Eval(t, `performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource")
		.filter(e => e.initiatorType != "fetch")).reduce((n, e) => n + e.transferSize, 0)`, &size)
	if size > 30<<10 || size < 1<<10 {
		t.Errorf("the first page has %d bytes, want at most 30 kB", size)
	}
	d.ready()
	d.sound("a status of 401")
	d.follow(".card a")
	d.sound("a status of 401")
	f.acts(d, func() {}, func() {})
	d.sound("a status of 401")
	f.check(id, 1, 2)
}

// acts does everything on site, with a step before and one after each act.
func (f *technicians) acts(d *console, before, after func()) {
	do := func(act func(), done string) {
		d.t.Helper()
		before()
		act()
		after()
		d.tab.Until(d.t, done, `document.readyState == "complete" && !document.querySelector("#waiting") && `+done)
	}
	for _, act := range []struct {
		name, status string
		values       map[string]string
	}{
		{"enroute", "EN_ROUTE", nil}, {"start", "IN_PROGRESS", nil},
		{"hold", "ON_HOLD", map[string]string{"code": "SITE_ACCESS", "text": "The gate is locked."}},
		{"resume", "IN_PROGRESS", nil},
	} {
		do(func() { d.give(act.name, act.values) },
			`document.querySelector("[data-mission]").dataset.status == "`+act.status+`"`)
	}
	do(func() { d.give("note", map[string]string{"text": "The key is at the reception."}) },
		`document.querySelectorAll(".notes li").length == 1`)
	do(func() { d.addPhoto(f.photo) }, `document.querySelectorAll("#files li").length == 1`)
	do(d.sign, `document.querySelectorAll("#files li").length == 2`)
	do(func() { d.give("complete", nil) }, `document.querySelector("[data-mission]").dataset.status == "COMPLETED"`)
}

// walkByKeyboard does the same on a wide screen with the keyboard alone, and corrects an error on the way. Drawing and
// choosing a file need a pointer.
func (f *technicians) walkByKeyboard(t *testing.T, noScript bool) {
	who := fmt.Sprint("keys-", noScript)
	l, id := f.link(who, ""), f.dispatch(who, "Replace mast 8")
	d := f.open(f.browser.Device(t), l.Path, browsertest.View{Width: 1440, Height: 900, NoScript: noScript})
	d.push(".card a", "the mission is open", `document.querySelector("[data-mission]") !== null`)
	is := func(s fieldmark.MissionStatus) string {
		return fmt.Sprintf(`document.querySelector("[data-mission]")?.dataset.status == %q`, s)
	}
	press := func(act string, status fieldmark.MissionStatus) {
		t.Helper()
		d.push("form[data-act="+act+"] button", act, is(status))
	}
	press("enroute", fieldmark.MissionEnRoute)
	press("start", fieldmark.MissionInProgress)
	d.unfold("#hold-code")
	d.tabTo("#hold-code")
	d.tab.Do(t, "choose “Other”", chromedp.KeyEvent("O"))
	d.push("form[data-act=hold] button", "the reason is rejected", invalid("#hold-text:focus"))
	d.rejects("#hold-text", "", "what it is")
	d.enter("#hold-text", "A wasp nest.")
	press("hold", fieldmark.MissionOnHold)
	press("resume", fieldmark.MissionInProgress)
	d.enter("#note-text", "The key is at the reception.")
	d.push("form[data-act=note] button", "the note is there", `document.querySelectorAll(".notes li").length == 1`)
	d.unfold("#complete-confirm")
	press("complete", fieldmark.MissionCompleted)
	if !noScript {
		d.sound()
	}
	f.check(id, 1, 0)
}

// walkWithoutScript does all there is to do but the signature on a phone without scripts.
func (f *technicians) walkWithoutScript(t *testing.T) {
	l, id := f.link("plain", "123456"), f.dispatch("plain", "Replace mast 9")
	v := phone
	v.NoScript = true
	d := f.open(f.browser.Device(t), l.Path, v)
	submit := func(selector string, values map[string]string) { d.submit(selector, "button", values) }
	submit("form", map[string]string{"pin": "123456"})
	d.follow(".card a")
	for _, act := range []string{"enroute", "start", "hold", "resume", "note", "photo", "complete"} {
		values := map[string]string{}
		switch act {
		case "hold":
			values = map[string]string{"code": "SITE_ACCESS"}
		case "note":
			values = map[string]string{"text": "The key is at the reception."}
		case "photo":
			d.tab.Do(t, "choose a photo", chromedp.SetUploadFiles("#photo-file", []string{f.photo}))
		}
		submit("form[data-act="+act+"]", values)
	}
	for _, finding := range d.tab.Overflow(t) {
		t.Error(finding)
	}
	f.check(id, 1, 1)
}

// offline does everything without a network, in a tab that is killed before it returns.
func (f *technicians) offline(t *testing.T) {
	l, id := f.link("offline", ""), f.dispatch("offline", "Replace mast 10")
	device := f.browser.Device(t)
	d := f.open(device, l.Path, phone)
	d.ready()
	f.network.set(gone)
	d.tab.SetOnline(t, false)
	d.follow(".card a")
	n := 0
	predicts := func(status string) {
		t.Helper()
		n++
		d.waits(n)
		if got := d.text("#status"); got != status {
			t.Errorf("after %d entries the page shows %q, want %q", n, got, status)
		}
	}
	d.give("enroute", nil)
	predicts("en route")
	d.give("start", nil)
	predicts("in progress")
	d.give("hold", map[string]string{"code": "SITE_ACCESS"})
	predicts("on hold")
	d.give("resume", nil)
	predicts("in progress")
	d.give("note", map[string]string{"text": "The key is at the reception."})
	predicts("in progress")
	d.addPhoto(f.photo)
	predicts("in progress")
	d.sign()
	predicts("in progress")
	d.give("complete", nil)
	predicts("completed")
	d.says("8 entries are not sent yet. This phone is offline.")
	d.sound("ERR_CONNECTION", "ERR_SOCKET", "ERR_EMPTY", "ERR_FAILED")
	d.tab.Close(t)

	d = f.open(device, l.Path, phone)
	d.waits(8)
	d.says("8 not sent yet")
	f.network.set(connected)
	d.tab.SetOnline(t, false)
	d.tab.SetOnline(t, true)
	d.waits(0)
	d = f.open(device, l.Path+"missions/"+id, phone) // the list has no link to a completed mission
	d.reaches(fieldmark.MissionCompleted)
	f.check(id, 1, 2)
}

// responsesLost loses the response to each act: the phone sends it again, and it acts once.
func (f *technicians) responsesLost(t *testing.T) {
	l, id := f.link("lost", ""), f.dispatch("lost", "Replace mast 11")
	d := f.open(f.browser.Device(t), l.Path, phone)
	d.ready()
	d.follow(".card a")
	f.acts(d, func() { f.network.set(deaf) }, func() {
		t.Helper()
		f.network.lost(t)
		d.waits(1)
		f.network.set(connected)
		d.tab.SetOnline(t, false)
		d.tab.SetOnline(t, true)
	})
	f.check(id, 1, 2)
}

// stalePage opens a page without a network that was stored before the last act was sent: the next act is about the
// mission as it is now.
func (f *technicians) stalePage(t *testing.T) {
	l, id := f.link("stale", ""), f.dispatch("stale", "Replace mast 12")
	page := l.Path + "missions/" + id
	d := f.open(f.browser.Device(t), page, phone)
	d.ready()
	var stored bool
	d.tab.Eval(t, `caches.match(location.href).then(async r => { sessionStorage.old = await r.text(); return true; })`,
		&stored)
	d.give("enroute", nil)
	d.reaches(fieldmark.MissionEnRoute)
	d.ready()
	f.network.set(gone)
	d.tab.Eval(t, `caches.keys().then(async ([name]) => (await caches.open(name)).put(location.href,
		new Response(sessionStorage.old, {headers: {"Content-Type": "text/html"}}))).then(() => true)`, &stored)
	d.tab.Go(t, d.base+page)
	d.tab.Until(t, "the page shows the last response", `document.querySelector("#status").textContent == "en route"`)
	d.give("start", nil)
	d.waits(1)
	f.network.set(connected)
	d.tab.SetOnline(t, false)
	d.tab.SetOnline(t, true)
	d.reaches(fieldmark.MissionInProgress)
}

// twoDevices: a phone without a network continues a mission that another one puts on hold. The page shows both states
// and stops what it has for that mission, but no other.
func (f *technicians) twoDevices(t *testing.T) {
	l := f.link("two", "")
	id, other := f.dispatch("two", "Replace mast 12"), f.dispatch("two", "Replace mast 13")
	d := f.open(f.browser.Device(t), l.Path, phone)
	d.ready()
	second := f.open(f.browser.Device(t), l.Path+"missions/"+id, phone)
	f.network.set(gone)
	d.tab.SetOnline(t, false)
	d.tab.Go(t, d.base+l.Path+"missions/"+id)
	d.give("enroute", nil)
	d.waits(1)
	d.give("note", map[string]string{"text": "On the road."})
	d.waits(2)
	d.tab.Go(t, d.base+l.Path+"missions/"+other)
	d.give("enroute", nil)
	d.waits(3)
	f.network.set(connected)
	second.give("hold", map[string]string{"code": "SITE_ACCESS"})
	second.reaches(fieldmark.MissionOnHold)
	d.tab.SetOnline(t, true)
	d.reaches(fieldmark.MissionEnRoute) // the other mission
	d.waits(2)
	d.says("The mission changed: Replace mast 12")
	d.tab.Go(t, d.base+l.Path+"missions/"+id)
	d.tab.Until(t, "both states are shown", `document.querySelectorAll(".conflict .truths > div").length == 2`)
	shown := d.text(".conflict")
	for _, text := range []string{"On the serveron hold", "You, on another device: status on hold",
		"On this phone, not sent", "On my way", "Note: On the road.", "“On my way” is no longer possible."} {
		if !strings.Contains(shown, text) {
			t.Errorf("the conflict is shown as %q, want %q", shown, text)
		}
	}
	if status, acts := d.text("#status"), d.value(visibleActs); status != "on hold" || acts != "0" {
		t.Errorf("the page shows the status %q and %s acts, want that of the server and none", status, acts)
	}
	f.picture(d, "conflict")
	d.sound("a status of 412", "ERR_")
	var m fieldmark.Mission
	f.call("GET", "/api/public/v1/missions/"+id, "", &m)
	if m.Status != fieldmark.MissionOnHold {
		t.Errorf("the mission is %s, want ON_HOLD", m.Status)
	}
	d.decide("Discard “On my way”, send the rest")
	d.tab.Until(t, "the note is sent, and the mission can be resumed", `document.readyState == "complete" &&
		document.querySelectorAll(".notes li").length == 1 && document.querySelector("form[data-act=resume]") !== null`)

	for _, choice := range []string{"Send my entry", "Discard: confirm"} {
		f.network.set(gone)
		d.tab.SetOnline(t, false)
		d.give("note", map[string]string{"text": "After the hold."})
		d.waits(1)
		f.network.set(connected)
		moved := fieldmark.MissionDispatched
		if choice == "Send my entry" {
			second.give("resume", nil)
		} else {
			moved = fieldmark.MissionOnHold
			second.give("hold", map[string]string{"code": "SITE_ACCESS"})
		}
		second.reaches(moved)
		d.tab.SetOnline(t, true)
		d.tab.Until(t, "the page shows the conflict, and the mission as it is", fmt.Sprintf(
			`document.querySelector(".conflict") !== null &&
				document.querySelector("[data-mission].stopped").dataset.status == %q`, moved))
		d.decide(choice)
		d.waits(0)
	}
	var notes struct{ Data []fieldmark.Note }
	f.call("GET", "/api/public/v1/missions/"+id+"/notes", "", &notes)
	if len(notes.Data) != 2 {
		t.Errorf("%d notes, want the one after the skipped act and the one sent again", len(notes.Data))
	}
}

// visibleActs is the number of forms of acts that the page of a mission offers.
const visibleActs = `[...document.querySelectorAll("form[data-act], canvas")].filter(e => e.checkVisibility()).length`

// decide presses a button of the conflict that the page shows.
func (d *console) decide(button string) {
	d.t.Helper()
	d.tab.Do(d.t, button, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
		`[...document.querySelectorAll(".conflict button")].find(b => b.textContent == %q).click()`, button)))
}

// wrongClock: what a phone reports whose clock is a day ahead is refused, and sent with the current time instead.
func (f *technicians) wrongClock(t *testing.T) {
	l, id := f.link("clock", ""), f.dispatch("clock", "Replace mast 14")
	for _, by := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		d := f.open(f.browser.Device(t), l.Path, phone)
		d.tab.SetClock(t, by)
		d.ready()
		d.tab.Go(t, d.base+l.Path+"missions/"+id)
		f.network.set(gone)
		d.give("note", map[string]string{"text": "By a clock that is " + by.String() + " wrong."})
		d.waits(1)
		f.network.set(connected)
		d.tab.SetOnline(t, false)
		d.tab.SetOnline(t, true)
		d.tab.Until(t, "the refusal is shown", `document.querySelector(".conflict") !== null`)
		d.says("The clock of this phone is wrong: Replace mast 14")
		d.decide("Send with the current time")
		d.waits(0)
	}
	var list struct{ Data []fieldmark.Note }
	f.call("GET", "/api/public/v1/missions/"+id+"/notes", "", &list)
	if len(list.Data) != 2 || list.Data[0].OccurredAt != nil || list.Data[1].OccurredAt != nil {
		t.Errorf("notes %+v, want two without the time of the phone", list.Data)
	}
}

// queue enters 500 acts without a network: each is done once, and in its order.
func (f *technicians) queue(t *testing.T) {
	acts := 60
	if *chaos {
		acts = 500 // a page with the race detector beside it takes minutes
	}
	l, id := f.link("queue", ""), f.dispatch("queue", "Replace mast 15")
	d := f.open(f.browser.Device(t), l.Path+"missions/"+id, phone)
	d.ready()
	f.network.set(gone)
	d.tab.SetOnline(t, false)
	var done int
	began := time.Now()
	d.tab.Eval(t, fmt.Sprintf(`(async () => {
		const press = (act, values) => {
			const form = document.querySelector("form[data-act=" + act + "]");
			for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
			form.requestSubmit(form.querySelector("button"));
		};
		const cycle = [["resume", {}], ["note", {}], ["hold", {code: "OTHER", text: "x"}], ["note", {}]];
		press("start", {});
		for (let n = 1; n <= %d; n++) {
			while (document.querySelector("#outbox").dataset.count != n) await new Promise(ok => setTimeout(ok));
			const [act, values] = cycle[n %% 4];
			if (n < %[1]d) press(act, act == "note" ? {text: "entry " + n} : values);
		}
		return +document.querySelector("#outbox").dataset.count;
	})()`, acts), &done)
	entered := time.Now()
	f.network.set(connected)
	d.tab.SetOnline(t, true)
	d.waits(0)
	t.Logf("%d entries in %v, sent in %v", acts, entered.Sub(began), time.Since(entered))
	var notes []string
	for after := ""; ; {
		var list struct {
			Data       []fieldmark.Note
			NextCursor string
		}
		f.call("GET", "/api/public/v1/missions/"+id+"/notes?limit=200"+after, "", &list)
		for _, n := range list.Data {
			notes = append(notes, n.Text)
		}
		if list.NextCursor == "" {
			break
		}
		after = "&cursor=" + list.NextCursor
	}
	want := 0
	for n := 1; n < acts; n++ {
		if n%2 == 1 {
			if want < len(notes) && notes[want] != fmt.Sprint("entry ", n) {
				t.Fatalf("note %d is %q, want entry %d", want, notes[want], n)
			}
			want++
		}
	}
	if len(notes) != want {
		t.Errorf("%d notes, want %d", len(notes), want)
	}
	var m fieldmark.Mission
	f.call("GET", "/api/public/v1/missions/"+id, "", &m)
	if moves := acts - want; done != acts || m.Version != 2+moves {
		t.Errorf("%d entries were made, the mission has version %d after %d transitions, want %d", done, m.Version,
			moves,
			2+moves)
	}
}

// pictures looks at the pages in the dark theme, and takes pictures in both. The walks look at the light one.
func (f *technicians) pictures(t *testing.T) {
	l, id := f.link("looks", "123456"), f.dispatch("looks", "Replace the aviation light of mast 16")
	f.dispatch("looks", "Measure the grounding")
	views := []browsertest.View{{Width: 390, Height: 844, Dark: true}}
	if os.Getenv("FIELDMARK_PICTURES") != "" {
		views = append(views, phone, browsertest.View{Width: 1440, Height: 900})
	}
	for _, v := range views {
		d := f.open(f.browser.Device(t), l.Path, v)
		name := fmt.Sprintf("-%d-%v", v.Width, v.Dark)
		f.picture(d, "pin"+name)
		d.enterPIN("123456")
		d.ready()
		f.picture(d, "list"+name)
		d.tab.Go(t, d.base+l.Path+"missions/"+id)
		f.picture(d, "mission"+name)
		d.sound("a status of 401")
		f.network.set(gone)
		d.tab.SetOnline(t, false)
		d.give("note", map[string]string{"text": "x"})
		d.waits(1)
		f.picture(d, "offline"+name)
		d.tab.Do(t, "unfold",
			chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach(e => e.open = true)`))
		f.picture(d, "unfolded"+name)
		d.sound("a status of 401", "ERR_")
		f.network.set(connected)
		e := f.open(f.browser.Device(t), "/t/"+strings.Repeat("A", 43)+"/", v)
		f.picture(e, "ended"+name)
		e.sound("a status of 404", "a status of 410")
	}
}

// picture writes a picture of the page if FIELDMARK_PICTURES names a folder.
func (f *technicians) picture(d *console, name string) {
	if folder := os.Getenv("FIELDMARK_PICTURES"); folder != "" {
		must(f.t, os.WriteFile(filepath.Join(folder, "technician-"+name+".png"), d.tab.Picture(f.t), 0o600))
	}
}
