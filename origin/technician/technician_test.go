package technician_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"image"
	"image/jpeg"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/technician"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// fixture is an origin with the pages of technicians.
type fixture struct {
	t       *testing.T
	service *origin.Service
	store   *store.Store
	handler http.Handler
	log     bytes.Buffer
	cookie  *http.Cookie
	n       int // missions
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, store: storetest.Open(t, storetest.New(t))}
	var err error
	f.service, err = origin.New(origin.Config{Store: f.store, Secret: []byte(strings.Repeat("s", 32)),
		Objects: objects.NewFolder(t.TempDir()), BaseURL: "https://example.com"})
	must(t, err)
	must(t, f.service.Prepare(t.Context()))
	f.handler, err = technician.New(technician.Config{Links: f.service.Links, Missions: f.service.Missions,
		Attachments: f.service.Attachments, Responses: f.service.Responses,
		Log: slog.New(slog.NewTextHandler(&f.log, nil))})
	must(t, err)
	t.Cleanup(func() {
		if f.log.Len() > 0 {
			t.Errorf("the log has %s", &f.log)
		}
	})
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// link creates the link of Ann.
func (f *fixture) link(pin string) fieldmark.NewTechnicianLink {
	f.t.Helper()
	l, err := f.service.Links.Create(f.t.Context(), fieldmark.TechnicianLinkRequest{PIN: pin,
		Assignee: fieldmark.Assignee{ID: "ann", Name: "Ann Ames"}})
	must(f.t, err)
	return l
}

// dispatch creates a mission of an assignee that begins some hours from now, and dispatches it.
func (f *fixture) dispatch(assignee string, hours int) fieldmark.Mission {
	f.t.Helper()
	f.n++
	m, _, err := f.service.Missions.Create(f.t.Context(), "default", fieldmark.MissionRequest{Source: "crm",
		ExternalID: fmt.Sprint(f.n), Title: fmt.Sprintf("Mast %d of %s", f.n, assignee),
		Location: &fieldmark.Location{Name: "Plant", AccessNotes: "Ring twice.",
			Geo: &fieldmark.Geo{Lat: 46.9, Lng: 7.4}, Address: &fieldmark.Address{Line1: "Main St 1", City: "Bern"}},
		Contact: &fieldmark.Contact{Name: "Cy", Phone: "+41 31 555 01 02"}})
	must(f.t, err)
	start := time.Now().Add(time.Duration(hours) * time.Hour)
	r, err := f.service.Missions.Apply(f.t.Context(), mission.Move("", m.ID, mission.Transition{
		To: fieldmark.MissionDispatched, Assignee: &fieldmark.Assignee{ID: assignee},
		Scheduled: &fieldmark.Span{Start: fieldmark.At(start), End: fieldmark.At(start.Add(time.Hour))}}))
	must(f.t, err)
	return r.Mission
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   string
}

func (f *fixture) send(r *http.Request) answer {
	f.t.Helper()
	if f.cookie != nil {
		r.AddCookie(f.cookie)
	}
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), html.UnescapeString(w.Body.String())}
}

func (f *fixture) get(path string) answer {
	f.t.Helper()
	return f.send(httptest.NewRequestWithContext(f.t.Context(), "GET", path, nil))
}

// post sends a form, as JSON clients do if script is set.
func (f *fixture) post(path string, script bool, values url.Values) answer {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), "POST", path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if script {
		r.Header.Set("Accept", "application/json")
	}
	return f.send(r)
}

// wants checks a response for its status and texts.
func (a answer) wants(t *testing.T, status int, texts ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d: %.300s", a.status, status, a.body)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("the response lacks %q: %.2000s", text, a.body[strings.Index(a.body, "<main")+1:])
		}
	}
}

// form returns the values of the form for an act in a page.
func form(t *testing.T, page, act string) url.Values {
	t.Helper()
	_, rest, ok := strings.Cut(page, `data-act="`+act+`"`)
	if !ok {
		t.Fatalf("the page has no form to %s:\n%s", act, page)
	}
	rest, _, _ = strings.Cut(rest, "</form>")
	values := url.Values{}
	for _, m := range regexp.MustCompile(`type="hidden" name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(rest, -1) {
		values.Set(m[1], m[2])
	}
	if strings.Contains(rest, `name="confirm"`) {
		values.Set("confirm", "yes")
	}
	return values
}

// TestLinks: the address of a link is shown once, ends with the link, and is not in the database.
func TestLinks(t *testing.T) {
	f := newFixture(t)
	l := f.link("")
	if !regexp.MustCompile(`^/t/[\w-]{43}/$`).MatchString(l.Path) {
		t.Fatalf("path %q", l.Path)
	}
	token := strings.Trim(strings.TrimPrefix(l.Path, "/t/"), "/")
	row, err := f.store.TechnicianLink(t.Context(), l.ID)
	must(t, err)
	if strings.Contains(fmt.Sprintf("%+v", row), token) {
		t.Error("the row has the token")
	}
	if a := f.get(strings.TrimSuffix(l.Path, "/")); a.status != 303 || a.header.Get("Location") != l.Path {
		t.Errorf("without a slash: %d to %q", a.status, a.header.Get("Location"))
	}
	a := f.get(l.Path)
	a.wants(t, 200, "Ann Ames", "No missions.")
	for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "Cache-Control": "private, no-store",
		"X-Robots-Tag": "noindex"} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if strings.Contains(a.header.Get("Content-Security-Policy"), "unsafe") {
		t.Error("the policy allows inline scripts or styles")
	}

	_, err = f.service.Links.Create(t.Context(),
		fieldmark.TechnicianLinkRequest{Assignee: fieldmark.Assignee{ID: "ann"}})
	if !fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
		t.Errorf("a second link: %v, want a refusal", err)
	}
	rotated, err := f.service.Links.Rotate(t.Context(), l.ID, fieldmark.TechnicianLinkRotation{})
	must(t, err)
	f.get(l.Path).wants(t, 404, "This link does not work", "This phone keeps entries")
	f.get(rotated.Path).wants(t, 200)
	var ending fieldmark.NewTechnicianLink
	for life := 50 * time.Millisecond; life < time.Minute; life *= 2 { // the end must be ahead when it is written
		soon := fieldmark.At(time.Now().Add(life))
		ending, err = f.service.Links.Rotate(t.Context(), l.ID, fieldmark.TechnicianLinkRotation{Until: &soon})
		if !fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
			break
		}
	}
	must(t, err)
	for a = f.get(ending.Path); a.status == 200; a = f.get(ending.Path) {
	}
	a.wants(t, 410, "The link has ended", "Ask your dispatcher for a new one.")
	again := f.link("") // takes the place of the one that has ended
	f.get(again.Path).wants(t, 200)
	_, err = f.service.Links.Revoke(t.Context(), again.ID)
	must(t, err)
	f.get(again.Path).wants(t, 404)
	for _, path := range []string{"/t/", "/t/x/", "/t/" + token + "/else", "/t/" + strings.Repeat("A", 43) + "/"} {
		f.get(path).wants(t, 404)
	}
	tooLong := fieldmark.At(time.Now().Add(31 * 24 * time.Hour))
	for _, r := range []fieldmark.TechnicianLinkRequest{{}, {Assignee: fieldmark.Assignee{ID: "b"}, PIN: "12345"},
		{Assignee: fieldmark.Assignee{ID: "b"}, PIN: "abcdef"},
		{Assignee: fieldmark.Assignee{ID: "b"}, Until: &tooLong},
		{Assignee: fieldmark.Assignee{ID: "b\nc"}}} {
		if _, err := f.service.Links.Create(t.Context(), r); !fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
			t.Errorf("%+v: %v, want validation_failed", r, err)
		}
	}
}

// TestPIN: a device enters the PIN once; five wrong ones an hour are counted for all devices.
func TestPIN(t *testing.T) {
	f := newFixture(t)
	l := f.link("123456")
	m := f.dispatch("ann", 0)
	enter := func(pin string) answer { return f.post(l.Path+"pin", false, url.Values{"pin": {pin}}) }
	for _, path := range []string{"", "missions/" + m.ID} {
		a := f.get(l.Path + path)
		a.wants(t, 401, "6-digit PIN")
		if strings.Contains(a.body, "Mast") {
			t.Error("the form for the PIN shows a mission")
		}
	}
	f.post(l.Path+"missions/"+m.ID+"/acts", true, url.Values{"act": {"note"}}).wants(t, 401, "invalid_credentials")
	a := enter("123456")
	if a.status != 303 || len(a.header.Values("Set-Cookie")) != 1 {
		t.Fatalf("the right PIN: %d %v", a.status, a.header)
	}
	device, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
	must(t, err)
	if device.Path != l.Path || !device.HttpOnly {
		t.Errorf("cookie %+v", device)
	}
	for range 5 {
		enter("000000").wants(t, 401, "This is not the PIN")
	}
	a = enter("123456")
	a.wants(t, 429, "There were 5 wrong PINs")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	f.cookie = device // where the PIN was entered before
	f.get(l.Path).wants(t, 200, "Mast 1 of ann")
	f.cookie = &http.Cookie{Name: device.Name, Value: "9" + device.Value}
	f.get(l.Path).wants(t, 401)
	f.cookie = device
	rotated, err := f.service.Links.Rotate(t.Context(), l.ID, fieldmark.TechnicianLinkRotation{})
	must(t, err)
	f.get(rotated.Path).wants(t, 401)
}

// TestList: the list has the missions of the technician of today and tomorrow, by the days of the
// account, and open ones from before.
func TestList(t *testing.T) {
	f := newFixture(t)
	l := f.link("")
	f.dispatch("ann", 0)
	f.dispatch("bob", 0)
	f.dispatch("ann", -24*9)
	f.dispatch("ann", 24*5)
	closed := f.dispatch("ann", -24*8)
	for _, to := range []fieldmark.MissionStatus{fieldmark.MissionInProgress, fieldmark.MissionCompleted} {
		_, err := f.service.Missions.Transition(t.Context(), closed.ID, to, nil)
		must(t, err)
	}
	zone := "Pacific/Kiritimati" // 14 hours ahead of UTC: another day for most of the day
	_, _, err := f.service.Access.Accounts.Put(t.Context(), "default", fieldmark.AccountRequest{Name: "Default",
		TimeZone: &zone})
	must(t, err)
	place, err := time.LoadLocation(zone)
	must(t, err)
	today := func() string { return time.Now().In(place).Format("Monday, 2 January") }
	day := today()
	a := f.get(l.Path)
	if !strings.Contains(a.body, day) {
		day = today() // the next one, if it has begun meanwhile
	}
	a.wants(t, 200, "Mast 1 of ann", "Mast 3 of ann", day, zone)
	for _, absent := range []string{"bob", "Mast 4", "Mast 5"} {
		if strings.Contains(a.body, absent) {
			t.Errorf("the list has %s", absent)
		}
	}
}

// TestListMissingMidnight: today is the day that the clocks show, also where they skip its midnight.
func TestListMissingMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zone, err := time.LoadLocation("America/Santiago")
		must(t, err)
		time.Sleep(time.Until(time.Date(2000, 10, 15, 12, 0, 0, 0, zone)))
		f := newFixture(t)
		name := zone.String()
		_, _, err = f.service.Access.Accounts.Put(t.Context(), "default", fieldmark.AccountRequest{Name: "Default",
			TimeZone: &name})
		must(t, err)
		l := f.link("")
		f.dispatch("ann", 11)         // 23:00 today
		next := f.dispatch("ann", 35) // 23:00 tomorrow
		a := f.get(l.Path)
		a.wants(t, 200, "Sunday, 15 October", "Monday, 16 October", "Mast 1 of ann", "Mast 2 of ann")
		today, _, _ := strings.Cut(a.body, "Monday, 16 October")
		if !strings.Contains(today, "Mast 1 of ann") || strings.Contains(today, "Mast 2 of ann") {
			t.Errorf("the mission of this evening is not below today, or that of tomorrow is: %s", a.body)
		}
		for _, path := range []string{l.Path, l.Path + "missions/" + next.ID} {
			if a := f.get(path); !strings.Contains(a.body, "23:00–00:00") || strings.Contains(a.body, "16 Oct 23:00") {
				t.Errorf("%s shows the time of tomorrow with its date: %s", path, a.body)
			}
		}
	})
}

// TestActs walks a mission with forms as browsers without scripts send them.
func TestActs(t *testing.T) {
	f := newFixture(t)
	l := f.link("")
	m := f.dispatch("ann", 0)
	path := l.Path + "missions/" + m.ID
	a := f.get(path)
	a.wants(t, 200, "Ring twice.", `href="tel:+41315550102"`, `href="geo:46.900000,7.400000`, "Main St 1", "On site by")
	step := func(act string, more ...string) answer {
		t.Helper()
		values := form(t, f.get(path).body, act)
		for i := 0; i < len(more); i += 2 {
			values.Set(more[i], more[i+1])
		}
		return f.post(path+"/acts", false, values)
	}
	for _, s := range []struct {
		act  string
		more []string
		want fieldmark.MissionStatus
	}{
		{"accept", nil, fieldmark.MissionDispatched},
		{"enroute", nil, fieldmark.MissionEnRoute},
		{"start", nil, fieldmark.MissionInProgress},
		{"hold", []string{"code", "WAITING_PARTS", "text", "The bearing."}, fieldmark.MissionOnHold},
		{"resume", nil, fieldmark.MissionInProgress},
		{"note", []string{"text", "Replaced the bearing."}, fieldmark.MissionInProgress},
		{"complete", nil, fieldmark.MissionCompleted},
	} {
		if a := step(s.act, s.more...); a.status != 303 || a.header.Get("Location") != path {
			t.Fatalf("%s: %d to %q %s", s.act, a.status, a.header.Get("Location"), a.body)
		}
		now, err := f.service.Missions.Get(t.Context(), "default", m.ID)
		must(t, err)
		if now.Status != s.want {
			t.Fatalf("after %s the mission is %s, want %s", s.act, now.Status, s.want)
		}
	}
	a = f.get(path)
	a.wants(t, 200, "Replaced the bearing.", "Accepted.")
	if strings.Contains(a.body, "tel:") || strings.Contains(a.body, "Ring twice.") {
		t.Error("the page of a completed mission has the contact or the access notes")
	}
	events, err := f.store.EventsAbout(t.Context(), m.ID, "", 20)
	must(t, err)
	for _, e := range events {
		if e.Type == fieldmark.EventMissionCompleted && e.Actor != "technician ann" {
			t.Errorf("actor %q, want technician ann", e.Actor)
		}
	}
	other := f.dispatch("bob", 0)
	f.get(l.Path+"missions/"+other.ID).wants(t, 404, "Not one of your missions")
	f.post(l.Path+"missions/"+other.ID+"/acts", false, url.Values{"act": {"enroute"}, "key": {"0123456789"},
		"version": {"2"}}).wants(t, 409, "No longer your mission")
}

// TestRefusedActs: forms that are sent twice act once; those that are overtaken or incomplete are
// shown again with what was entered and with what has changed.
func TestRefusedActs(t *testing.T) {
	f := newFixture(t)
	l := f.link("")
	m := f.dispatch("ann", 0)
	path := l.Path + "missions/" + m.ID
	page := f.get(path).body
	twice := form(t, page, "note")
	twice.Set("text", "Only once.")
	for range 2 {
		f.post(path+"/acts", false, twice).wants(t, 303)
	}
	if n := strings.Count(f.get(path).body, "Only once."); n != 1 {
		t.Errorf("the note is there %d times, want once", n)
	}
	hold := form(t, page, "hold")
	hold.Set("code", "OTHER")
	f.post(path+"/acts", false, hold).wants(t, 422, `href="#hold-text"`, "Details: say what it is.", "selected>Other",
		"<details class=\"act\" open>")
	hold.Set("code", "")
	f.post(path+"/acts", false, hold).wants(t, 422, "Reason: choose one.")
	start := form(t, page, "start")
	start.Set("version", "x")
	f.post(path+"/acts", false, start).wants(t, 422)

	hold.Set("code", "OTHER")
	hold.Set("text", "The gate is locked.")
	note := form(t, f.get(path).body, "note")
	note.Set("text", "A long text.")
	_, err := f.service.Missions.Transition(t.Context(), m.ID, fieldmark.MissionEnRoute, nil)
	must(t, err)
	a := f.post(path+"/acts", false, hold)
	a.wants(t, 412, "The mission changed while you worked", "<p>en route</p>", "status",
		"Put on hold: The gate is locked.", "Send my entry")
	f.post(path+"/acts", false, note).wants(t, 412, "Note: A long text.", ">A long text.</textarea>")
	f.post(path+"/acts", false, form(t, a.body, "hold")).wants(t, 303)
	now, err := f.service.Missions.Get(t.Context(), "default", m.ID)
	must(t, err)
	if now.Status != fieldmark.MissionOnHold || now.StatusReason.Text != "The gate is locked." {
		t.Errorf("after sending it anyway: %s %+v", now.Status, now.StatusReason)
	}

	// The script gets the same as JSON.
	resume := form(t, f.get(path).body, "resume")
	_, err = f.service.Missions.Transition(t.Context(), m.ID, fieldmark.MissionCanceled, nil)
	must(t, err)
	var p struct {
		Code string
		Now  struct {
			Status   string
			Version  int
			Possible bool
			Changes  []string
		}
	}
	a = f.post(path+"/acts", true, resume)
	a.wants(t, 412)
	must(t, json.Unmarshal([]byte(a.body), &p))
	if p.Code != "version_mismatch" || p.Now.Status != "CANCELED" || p.Now.Possible || len(p.Now.Changes) != 1 {
		t.Errorf("problem %+v", p)
	}
	old := form(t, page, "note")
	old.Set("version", fmt.Sprint(p.Now.Version))
	old.Set("text", "Late.")
	old.Set("key", "another-key")
	for at, code := range map[string]string{time.Now().Add(24 * time.Hour).Format(time.RFC3339): "invalid_occurred_at",
		"yesterday": "validation_failed"} {
		old.Set("occurredAt", at)
		f.post(path+"/acts", true, old).wants(t, 422, code)
	}
}

// TestPhoto uploads a photo twice and files that are refused.
func TestPhoto(t *testing.T) {
	f := newFixture(t)
	l := f.link("")
	m := f.dispatch("ann", 0)
	path := l.Path + "missions/" + m.ID
	var photo bytes.Buffer
	must(t, jpeg.Encode(&photo, image.NewGray(image.Rect(0, 0, 64, 48)), nil))
	values := form(t, f.get(path).body, "photo")
	upload := func(act, kind string, content []byte) answer {
		t.Helper()
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		values.Set("act", act)
		for name := range values {
			must(t, w.WriteField(name, values.Get(name)))
		}
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {kind},
			"Content-Disposition": {`form-data; name="file"; filename="x"`}})
		must(t, err)
		_, err = part.Write(content)
		must(t, err)
		must(t, w.Close())
		r := httptest.NewRequestWithContext(t.Context(), "POST", path+"/acts", &body)
		r.Header.Set("Content-Type", w.FormDataContentType())
		r.Header.Set("Accept", "application/json")
		return f.send(r)
	}
	for range 2 {
		upload("photo", "image/jpeg", photo.Bytes()).wants(t, 200, `"status":"DISPATCHED"`)
	}
	files, err := f.service.Attachments.List(t.Context(), "default", m.ID)
	must(t, err)
	if len(files) != 1 || files[0].Author.ID != "ann" || files[0].ContentType != "image/jpeg" {
		t.Errorf("attachments %+v, want the photo once", files)
	}
	values.Set("key", "another-key")
	upload("photo", "image/jpeg", []byte("no photo")).wants(t, 415)
	upload("photo", "text/html", []byte("<p>")).wants(t, 415)
	upload("signature", "image/png", bytes.Repeat([]byte("x"), 64<<10+1)).wants(t, 422, "64 KiB")
	values.Set("version", "1")
	upload("photo", "image/jpeg", photo.Bytes()).wants(t, 412)
}

// TestCalendar: entries of the calendar of one person link to the page, as long as there is a link.
func TestCalendar(t *testing.T) {
	f := newFixture(t)
	m := f.dispatch("ann", 0)
	feed := func(scope fieldmark.CalendarScope, details bool, assignees ...string) func() string {
		c, err := f.service.Missions.Calendars.Create(t.Context(), fieldmark.CalendarRequest{Name: "c", Scope: scope,
			Assignees: assignees, Details: details})
		must(t, err)
		return func() string {
			t.Helper()
			token := strings.TrimSuffix(strings.TrimPrefix(c.Path, fieldmark.PathCalendar), ".ics")
			got, err := f.service.Missions.Calendars.Feed(t.Context(), token)
			must(t, err)
			return strings.ReplaceAll(string(got.Bytes), "\r\n ", "")
		}
	}
	person, team := feed(fieldmark.CalendarOfPerson, true, "ann"), feed(fieldmark.CalendarOfTeam, true, "ann", "bob")
	bare := feed(fieldmark.CalendarOfPerson, false, "ann")
	check := func(name string, text, want string) {
		t.Helper()
		if got := strings.Contains(text, "URL:"+want); got != (want != "") {
			t.Errorf("the calendar of %s has another address than %q:\n%s", name, want, text)
		}
	}
	check("a person without a link", person(), "")
	l := f.link("")
	page := "https://example.com" + l.Path + "missions/" + m.ID
	check("a person", person(), page)
	check("a team", team(), "")
	check("a person without contacts", bare(), "")
	rotated, err := f.service.Links.Rotate(t.Context(), l.ID, fieldmark.TechnicianLinkRotation{})
	must(t, err)
	check("a person after the rotation", person(), "https://example.com"+rotated.Path+"missions/"+m.ID)
	_, err = f.service.Links.Revoke(t.Context(), l.ID)
	must(t, err)
	check("a person after the revocation", person(), "")
	l = f.link("123456")
	check("a person without contacts, with a PIN", bare(), "https://example.com"+l.Path)
}
