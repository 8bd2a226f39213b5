package admin_test

import (
	"bytes"
	"crypto/sha256"
	"html"
	"maps"
	"mime/multipart"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/studytest"
	"github.com/fieldmark/fieldmark/origin/auditlog"
)

// TestViewer: a viewer can read every page and cannot change anything.
func TestViewer(t *testing.T) {
	b := newBrowser(t, false)
	if err := b.service.Access.Admins.Put(t.Context(), user, password, fieldmark.RoleViewer); err != nil {
		t.Fatal(err)
	}
	b.signIn()
	m := b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "t"})
	for _, path := range append(pages, "/admin/missions/"+m.ID) {
		body := b.page(path)
		for _, form := range []string{`action="/admin/missions/`, `action="/admin/brands`, `action="/admin/accounts`,
			`action="/admin/api-keys`, `method="post" action="/admin/webhooks`, `action="/admin/calendars`,
			`action="/admin/modules`, `action="/admin/cdns`} {
			if strings.Contains(body, form) && !strings.Contains(body, `method="get" `+form) {
				t.Errorf("%s offers a viewer a form: %s", path, form)
			}
		}
	}
	for path, form := range map[string]url.Values{
		"/admin/accounts":                       {"id": {"acme"}, "name": {"Acme"}},
		"/admin/api-keys":                       {"name": {"x"}, "scope": {"admin:*"}},
		"/admin/webhooks":                       {"url": {"https://192.0.2.1/"}},
		"/admin/missions/" + m.ID + "/move":     {"to": {"CANCELED"}},
		"/admin/brands":                         {"slug": {"x"}},
		"/admin/calendars":                      {"name": {"x"}, "scope": {"ALL"}},
		"/admin/modules/rollback":               {},
		"/admin/cdns":                           {"name": {"x"}, "kind": {"fastly"}},
		"/admin/cdns/x/purge":                   {"confirm": {"yes"}},
		"/admin/webhooks/whk_x":                 {"do": {"delete"}},
		"/admin/claims/clm_x":                   {"reason": {"x"}},
		"/admin/requests/brq_x":                 {"do": {"approved"}},
		"/admin/disputes/dsp_x":                 {"do": {"upheld"}},
		"/admin/webhooks/w/deliveries/x/resend": {},
	} {
		if rec := b.do(path, form); rec.Code != 403 || !strings.Contains(rec.Body.String(), "Read-only access") {
			t.Errorf("POST %s as a viewer: %d, want 403", path, rec.Code)
		}
	}
	if log, err := b.service.AuditLog.List(t.Context(), 0, auditlog.Filter{Actor: user}, 10); err != nil ||
		len(log) != 1 ||
		log[0].Act != "session.started" {
		t.Errorf("the audit log has %+v, %v; want the sign-in alone", log, err)
	}
}

// TestReauthentication: keys change only after the password was entered recently.
func TestReauthentication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBrowser(t, false)
		b.signIn()
		b.page("/admin/api-keys", "Create a key")
		time.Sleep(11 * time.Minute)
		if body := b.page("/admin/api-keys", "Confirm your identity"); strings.Contains(body, `name="scope"`) {
			t.Errorf("keys can be made long after the password was given: %s", body)
		}
		// A form that was opened before is not lost.
		form := url.Values{"name": {hostile}, "scope": {"mission:read", "mission:create"}, "networks": {"192.0.2.7"}}
		kept := []string{`action="/admin/api-keys"`, `name="name" value="` + html.EscapeString(hostile) + `"`,
			`name="scope" value="mission:create"`, `name="networks" value="192.0.2.7"`}
		for pass, status := range map[string]int{"": 403, "wrong": 401} {
			form.Set("password", pass)
			rec := b.do("/admin/api-keys", form)
			for _, want := range kept {
				if rec.Code != status || !strings.Contains(rec.Body.String(), want) {
					t.Errorf("with the password %q: %d, want %d with %s:\n%s", pass, rec.Code, status, want, rec.Body)
				}
			}
			if strings.Contains(rec.Body.String(), `value="wrong"`) {
				t.Errorf("the page repeats the password")
			}
		}
		time.Sleep(time.Minute)
		form.Set("password", password)
		rec := b.do("/admin/api-keys", form)
		if rec.Code != 200 || tokenText.FindString(rec.Body.String()) == "" ||
			strings.Contains(rec.Body.String(), password) {
			t.Errorf("with the password: %d, want a new key: %s", rec.Code, rec.Body)
		}
		b.page("/admin/api-keys", "Create a key")
		time.Sleep(11 * time.Minute)
		b.rejected("/admin/prove", url.Values{"password": {"wrong"}, "next": {"/admin/api-keys"}}, 401, "is wrong")
		time.Sleep(time.Minute)
		b.post("/admin/prove", url.Values{"password": {password}, "next": {"/admin/api-keys"}}, "/admin/api-keys")
		b.page("/admin/api-keys", "Create a key")
	})
}

// TestFormSubmittedTwice sends the same form twice, as a reload of the response does.
func TestFormSubmittedTwice(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	b.post("/admin/accounts", url.Values{"id": {"acme"}, "name": {hostile}}, "/admin/accounts")
	checkEscaped(t, b.page("/admin/accounts"))
	form := url.Values{"name": {hostile}, "scope": {"mission:read"}, "account": {"acme"},
		"networks": {"192.0.2.0/24, 2001:db8::/32"}, "newest": {"none"}}
	if rec := b.do("/admin/api-keys", form); rec.Code != 200 || tokenText.FindString(rec.Body.String()) == "" {
		t.Fatalf("make a key: %d: %s", rec.Code, rec.Body)
	}
	b.rejected("/admin/api-keys", form, 409, "A key was created after")
	keys, err := b.service.Access.Keys.List(t.Context())
	if err != nil || len(keys) != 1 || keys[0].Account != "acme" || len(keys[0].Networks) != 2 {
		t.Fatalf("keys %+v, %v; want one of acme", keys, err)
	}
	checkEscaped(t, b.page("/admin/api-keys", "192.0.2.0/24"))
	b.rejected("/admin/api-keys/"+keys[0].ID+"/revoke", url.Values{"reason": {" "}}, 422, "Enter a reason.")
	rec := b.submit("/admin/api-keys/"+keys[0].ID+"/rotate", url.Values{"grace": {"24"}})
	if rec.Code != 200 || tokenText.FindString(rec.Body.String()) == "" {
		t.Errorf("rotate: %d: %s", rec.Code, rec.Body)
	}
	b.rejected("/admin/api-keys/"+keys[0].ID+"/rotate", url.Values{"grace": {"24"}}, 409, "only one that is live")
	if body := b.page("/admin/audit-log", "api_key.rotated", "api_key.created",
		"account.created"); strings.Contains(body,
		"<script>") {
		t.Errorf("a hostile name is live in the audit log: %s", body)
	}
	if rec := b.do("/admin/audit-log/verify", url.Values{}); !strings.Contains(rec.Body.String(), "entries verified") {
		t.Errorf("verify: %d %s", rec.Code, rec.Body)
	}
}

// uploads sends a file as a browser does.
func (b *browser) uploads(path, file string) *httptest.ResponseRecorder {
	b.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "brands.csv")
	if err == nil {
		_, err = part.Write([]byte(file))
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	r := httptest.NewRequest("POST", path, &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.AddCookie(b.cookie)
	rec := httptest.NewRecorder()
	b.handler.ServeHTTP(rec, r)
	return rec
}

func TestImportBrands(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	for _, test := range []struct {
		file   string
		status int
		want   []string
	}{
		{"slug,name,url,niche,language\nacme,Acme,https://acme.example/,tools,en\nBad Slug," + hostile2 +
			",https://x.example/,tools,en\n\nother,Other,nowhere,tools,en\n",
			200, []string{"<dd>1</dd>", `<th scope="row">3</th><td data-label="Field"><code>slug</code>`,
				`<th scope="row">5</th><td data-label="Field"><code>url</code>`}},
		{"\uFEFFslug;name;url;niche;language;public\nacme;Acme;https://acme.example/;tools;en;no\n", 200,
			[]string{"<dt>Changed</dt><dd>1</dd>", "<h1><bdi>Brands imported</bdi></h1>"}},
		{"slug;name;url;niche;language;public\nacme;Acme;https://acme.example/;tools;en;no\n", 200,
			[]string{"<dt>Unchanged</dt><dd>1</dd>", "<h1><bdi>Brands unchanged</bdi></h1>"}},
		{"slug,name\nBad Slug,x\n", 200, []string{"<h1><bdi>No brands imported</bdi></h1>",
			"<p>Correct these and import"}},
		{` [{"slug":"more","name":"More","url":"https://more.example/","niche":"tools","language":"en","public":true,` +
			`"createdAt":""},{"slug":"?"}]`, 200, []string{"<dt>Added</dt><dd>1</dd>", `<th scope="row">2</th>`}},
		{`[{"slug":"x","colour":"red"}]`, 400,
			[]string{"Record 1 of the file has the unknown member &#34;colour&#34;."}},
		{`[{"slug":"x"},{"slug":"y","public":"yes"}]`, 400,
			[]string{"Record 2 of the file has a string in public. Nothing was imported."}},
		{`[{"slug":"x"},7]`, 400, []string{"Record 2 of the file is not an object."}},
		{`[{"slug":"x"},{"slug":`, 400,
			[]string{"Record 2 of the file is not valid JSON, or the file ends within it."}},
		{"[{}" + strings.Repeat(",{}", 2_000_000) + "]", 413, []string{"at most 20000 brands"}},
		{"slug\n" + strings.Repeat("a\n", 3_000_000), 413, []string{"at most 20000 brands"}},
		{"slug,colour\nx,red\n", 400, []string{"Column 2 is unknown"}},
		{"slug,name\n\"x,y\n", 400, []string{"Nothing was imported"}},
		{"", 400, []string{"Choose a file"}},
	} {
		rec := b.uploads("/admin/brands/import", test.file)
		for _, want := range test.want {
			if rec.Code != test.status || !strings.Contains(rec.Body.String(), want) {
				t.Errorf("%.60q: %d, want %d with %q:\n%s", test.file, rec.Code, test.status, want, rec.Body)
			}
		}
	}
	if brand, err := b.service.Brands.Get(t.Context(), "acme"); err != nil || brand.Public {
		t.Errorf("acme is %+v, %v; want it not public after the second file", brand, err)
	}
	rec := b.uploads("/admin/brands/visibility", "brand,engine\nacme,chatgpt\n")
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), "<h1><bdi>No answer samples imported</bdi></h1>") {
		t.Errorf("samples: %d: %s", rec.Code, rec.Body)
	}
	rec = b.uploads("/admin/brands/visibility", studytest.CSV(studytest.New("ropes", "one", time.Now().UTC(), "acme",
		"nobody")))
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), "no brand has the slug &#34;nobody&#34;") {
		t.Errorf("a study: %d: %s", rec.Code, rec.Body)
	}
	if rec := b.uploads("/admin/brands/import", strings.Repeat("x", fieldmark.MaxBulkBody)); rec.Code != 413 {
		t.Errorf("a file that is too large: %d, want 413", rec.Code)
	}
}

const hostile2 = `"""><script>alert(1)</script>"`

func TestBrandPage(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	form := url.Values{"slug": {"acme"}, "name": {hostile}, "url": {"https://acme.example/"}, "niche": {"tools"},
		"language": {"en"}, "description": {hostile}, "public": {"yes"}}
	b.post("/admin/brands", form, "/admin/brands/acme")
	b.post("/admin/brands", form, "/admin/brands/acme") // submitted twice
	other := maps.Clone(form)
	other.Set("niche", "food")
	b.rejected("/admin/brands", other, 409, "A brand with this slug exists")
	facts := fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://acme.example/", Pages: 3,
		AsOf: fieldmark.At(time.Now()),
		Facts: []fieldmark.Fact{{ID: "home.reachable", State: fieldmark.Measured, Unit: "bool", Value: 1000,
			Evidence: []fieldmark.Evidence{{URL: "https://acme.example/", Fact: hostile}}}}}
	if _, err := b.service.Brands.PutFacts(t.Context(), "acme", facts); err != nil {
		t.Fatal(err)
	}
	checkEscaped(t, b.page("/admin/brands/acme", "home.reachable", "3 pages", "audited"))
	form.Del("public")
	brand, err := b.service.Brands.Get(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	form.Set("changed", brand.UpdatedAt.String())
	b.post("/admin/brands/acme", form, "/admin/brands/acme")
	form.Set("niche", "food") // from a page that was opened before
	form.Set("changed", "2026-01-01T00:00:00.000Z")
	b.rejected("/admin/brands/acme", form, 409, `Niche: “tools” is stored now.</strong>`)
	b.rejected("/admin/brands/acme", form, 409, `name="niche" value="food"`)
	b.page("/admin/brands/acme", "not public")
	form.Set("url", "ftp://x")
	b.rejected("/admin/brands/acme", form, 422, "Address")
	b.rejected("/admin/brands/acme/delete", url.Values{"slug": {"acme2"}}, 422, "enter its slug")
	b.post("/admin/brands/acme/delete", url.Values{"slug": {"acme"}}, "/admin/brands")
	if rec := b.do("/admin/brands/acme", nil); rec.Code != 404 {
		t.Errorf("a brand that was taken down: %d, want 404", rec.Code)
	}
}

// TestHostileEndpoints registers URLs that resolve to internal addresses.
func TestHostileEndpoints(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	for _, address := range []string{"http://169.254.169.254/latest/meta-data/", "https://127.0.0.1/",
		"https://localhost/", "https://[::1]/", "https://10.0.0.1/", "file:///etc/passwd",
		"https://user:secret@192.0.2.1/", hostile} {
		if rec := b.do("/admin/webhooks", url.Values{"url": {address}, "account": {"default"}}); rec.Code != 422 ||
			!strings.Contains(rec.Body.String(), `<a href="#url">Address: `) {
			t.Errorf("endpoint %s: %d, want 422", address, rec.Code)
		}
	}
	if list, err := b.service.Webhooks.Endpoints(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("%d endpoints, %v; want none", len(list), err)
	}
}

func TestCalendarFeeds(t *testing.T) {
	b := newBrowser(t, true)
	b.signIn()
	form := url.Values{"name": {hostile}, "scope": {"ALL"}, "account": {"default"}, "newest": {"none"}}
	rec := b.do("/admin/calendars", form)
	body := rec.Body.String()
	if rec.Code != 200 || !strings.Contains(body, `href="webcal://example.com/calendar/`) || !strings.Contains(body,
		"https://example.com/calendar/") || !strings.Contains(body, `<svg class="qr"`) {
		t.Fatalf("make a feed: %d, want its address in three forms: %s", rec.Code, body)
	}
	checkEscaped(t, body)
	b.rejected("/admin/calendars", form, 409, "A feed was created after")
	list, err := b.service.Missions.Calendars.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%d feeds, %v; want 1", len(list), err)
	}
	if rec := b.submit("/admin/calendars/"+list[0].ID, url.Values{"do": {"rotate"}}); rec.Code != 200 ||
		!strings.Contains(rec.Body.String(), "webcal://") {
		t.Errorf("another address: %d: %s", rec.Code, rec.Body)
	}
	b.post("/admin/calendars/"+list[0].ID, url.Values{"do": {"end"}}, "/admin/calendars")
	b.page("/admin/calendars", "ended")
	b.rejected("/admin/calendars", url.Values{"name": {"x"}, "scope": {"TEAM"}, "account": {"default"}}, 422,
		`<a href="#who">Assignees: `)
}

func TestNodes(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	module := []byte("\x00asm\x01\x00\x00\x00")
	ref := fieldmark.ModuleRef{Name: "m", Version: "1.0.0", Digest: fieldmark.DigestOf(sha256.Sum256(module))}
	if err := b.service.Modules.ActivateBytes(t.Context(), ref, module); err != nil {
		t.Fatal(err)
	}
	for _, node := range []fieldmark.NodeReport{
		{Node: "nod_06m7xv8e0w3v3ac3zvc1h0gmw4", Address: hostile, Hits: 981, Misses: 19, Cursor: 1, Version: "1.2.3",
			Error: "no memory"},
		{Node: "nod_06m7xv8e0w3v3ac3zvc1h0gmw5", Address: "https://b.example", Module: ref},
	} {
		if err := b.service.Modules.ReportNode(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	checkEscaped(t, b.page("/admin/nodes", "98.1 %", "1.2.3", "no memory", "out of sync", "in sync"))
	b.page("/admin/modules", "https://b.example", "m 1.0.0", "Active")
	b.page("/admin/modules/"+string(ref.Digest), "not signed", "active")
	b.rejected("/admin/modules/rollback", url.Values{}, 422, "no previous module")
}

func TestSettings(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	body := b.page("/admin/settings", "up</span>", "this session", "Set up")
	rec := b.do("/admin/settings/second-factor", url.Values{"do": {"offer"}})
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), `<svg class="qr"`) {
		t.Errorf("offer a second factor: %d: %s", rec.Code, rec.Body)
	}
	b.rejected("/admin/settings/second-factor", url.Values{"do": {"on"}, "secret": {"JBSWY3DPEHPK3PXP"},
		"code": {"000000"}}, 422, "Code: is not")
	sessions, err := b.service.Access.Sessions.List(t.Context())
	if err != nil || len(sessions) != 1 || !strings.Contains(body, sessions[0].Name) {
		t.Fatalf("sessions %+v, %v; want the one on the page", sessions, err)
	}
	rec = b.submit("/admin/settings/sessions/"+sessions[0].Name+"/end", url.Values{})
	if to := rec.Header().Get("Location"); rec.Code != 303 || to != "/admin/settings#sessions" ||
		!strings.Contains(body, ` id="sessions"`) {
		t.Errorf("end the session: %d to %q", rec.Code, to)
	}
	if rec := b.do("/admin/settings", nil); rec.Code != 303 {
		t.Errorf("after the session was ended: %d, want 303 to the sign-in page", rec.Code)
	}
}

// TestForgedClientAddress: the origin accepts a client address only from an edge.
func TestForgedClientAddress(t *testing.T) {
	b := newBrowser(t, false)
	b.header = map[string]string{fieldmark.HeaderClient: "203.0.113.9"}
	b.signIn()
	sessions, err := b.service.Access.Sessions.List(t.Context())
	want := netip.MustParsePrefix("192.0.2.0/24").String() // httptest's client
	if err != nil || len(sessions) != 1 || sessions[0].Address != want {
		t.Errorf("sessions %+v, %v; want one from %s", sessions, err, want)
	}
}
