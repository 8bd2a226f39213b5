package admin_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/admin"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	user     = "ada"
	password = "a-long-enough-one"
	hostile  = `"><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}'`
)

// browser is a client of the admin console that stores the cookie of a session or of a sign-in, and the one of
// a notice.
type browser struct {
	t       testing.TB
	service *origin.Service
	store   *store.Store
	handler http.Handler
	log     *bytes.Buffer
	cookie  *http.Cookie
	notice  *http.Cookie
	header  map[string]string
}

func newBrowser(t testing.TB, secure bool) *browser {
	t.Helper()
	return newBrowserOf(t, storetest.Open(t, storetest.New(t)), secure)
}

// newBrowserOf returns a browser at the console of a database.
func newBrowserOf(t testing.TB, db *store.Store, secure bool) *browser {
	t.Helper()
	service, err := origin.New(origin.Config{Store: db, Secret: []byte(strings.Repeat("s", 32)),
		Objects: objects.NewFolder(t.TempDir()),
		CDNHTTP: safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}),
		HTTP:    safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})})
	if err != nil {
		t.Fatalf("new service: %v", err)
	}
	if err := service.Prepare(t.Context()); err != nil {
		t.Fatalf("prepare: %v", err)
	}
	if err := service.Access.Admins.SetPassword(t.Context(), user, password); err != nil {
		t.Fatalf("set password: %v", err)
	}
	b := &browser{t: t, service: service, store: db, log: &bytes.Buffer{}}
	b.handler, err = admin.New(admin.Config{Service: service, Secure: secure, Log: slog.New(slog.NewTextHandler(b.log,
		nil))})
	if err != nil {
		t.Fatalf("new admin: %v", err)
	}
	return b
}

// do sends a request as a browser on the same site would; form nil means GET.
func (b *browser) do(path string, form url.Values) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	if form != nil {
		r = httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for name, value := range b.header {
		r.Header.Set(name, value)
	}
	for _, c := range []*http.Cookie{b.cookie, b.notice} {
		if c != nil {
			r.AddCookie(c)
		}
	}
	rec := httptest.NewRecorder()
	b.handler.ServeHTTP(rec, r)
	for _, c := range rec.Result().Cookies() {
		jar := &b.cookie
		if c.Name == "fieldmark_notice" {
			jar = &b.notice
		}
		if *jar = c; c.MaxAge < 0 {
			*jar = nil
		}
	}
	return rec
}

func (b *browser) signIn() {
	b.t.Helper()
	rec := b.do("/admin/sign-in", url.Values{"user": {user}, "password": {password}})
	if rec.Code != 303 || rec.Header().Get("Location") != "/admin" || b.cookie == nil {
		b.t.Fatalf("sign in: %d to %q with cookie %v, want 303 to /admin with one: %s", rec.Code,
			rec.Header().Get("Location"), b.cookie, rec.Body)
	}
}

// page gets a page and fails unless its status is 200 and it contains every want.
func (b *browser) page(path string, want ...string) string {
	b.t.Helper()
	rec := b.do(path, nil)
	if rec.Code != 200 {
		b.t.Fatalf("GET %s: %d, want 200: %s", path, rec.Code, rec.Body)
	}
	body := rec.Body.String()
	for _, w := range want {
		if !strings.Contains(body, w) {
			b.t.Errorf("GET %s: %q is not on the page:\n%s", path, w, body)
		}
	}
	return body
}

var pages = []string{"/admin", "/admin/api-keys", "/admin/accounts", "/admin/offers", "/admin/missions",
	"/admin/brands",
	"/admin/disputes", "/admin/claims", "/admin/requests",
	"/admin/webhooks", "/admin/modules",
	"/admin/calendars", "/admin/nodes", "/admin/cdns", "/admin/certificates", "/admin/audit-log", "/admin/settings"}

func TestSessionRequired(t *testing.T) {
	b := newBrowser(t, false)
	for _, path := range pages {
		for _, b.cookie = range []*http.Cookie{nil, {Name: "fieldmark_session", Value: "made-up"}} {
			rec := b.do(path, nil)
			if rec.Code != 303 || !strings.HasPrefix(rec.Header().Get("Location"), "/admin/sign-in") {
				t.Errorf("GET %s: %d to %q, want 303 to the sign-in page", path, rec.Code, rec.Header().Get("Location"))
			}
		}
	}
	b.cookie = nil
	for _, path := range []string{"/admin/api-keys", "/admin/api-keys/key_x/revoke", "/admin/missions/msn_x/complete",
		"/admin/brands/a/audit", "/admin/disputes/dsp_x", "/admin/claims/clm_x",
		"/admin/requests/brq_x"} {
		rec := b.do(path, url.Values{"name": {"x"}, "scope": {"admin:*"}})
		if rec.Code != 303 || rec.Header().Get("Location") != "/admin/sign-in" {
			t.Errorf("POST %s: %d to %q, want 303 to the sign-in page", path, rec.Code, rec.Header().Get("Location"))
		}
	}
	if keys, err := b.service.Access.Keys.List(t.Context()); len(keys) != 0 || err != nil {
		t.Errorf("%d keys, %v; want none", len(keys), err)
	}
}

// TestCookieFollowsScheme: with an edge that reports HTTPS, cookies are Secure and the response has
// Strict-Transport-Security. A report without the node token is ignored.
func TestCookieFollowsScheme(t *testing.T) {
	const token, before = "node-token-of-the-tests-0123456789", "node-token-that-is-replaced-0123456"
	for _, tt := range []struct {
		node, proto string
		secure      bool
	}{{token, "https", true}, {token, "http", false}, {before, "https", true}, {before + "," + token, "https",
		false}, {"guess", "https", false}, {"", "https", false}} {
		b := newBrowser(t, false)
		var err error
		if b.handler, err = admin.New(admin.Config{Service: b.service, NodeToken: token + ", " + before,
			Log: slog.New(slog.DiscardHandler)}); err != nil {
			t.Fatal(err)
		}
		b.header = map[string]string{"Fieldmark-Node": tt.node, "X-Forwarded-Proto": tt.proto}
		b.signIn()
		hsts := b.do("/admin", nil).Header().Get("Strict-Transport-Security")
		if b.cookie.Secure != tt.secure || strings.HasPrefix(b.cookie.Name, "__Host-") != tt.secure ||
			(hsts != "") != tt.secure {
			t.Errorf("token %q, over %s: cookie %v and Strict-Transport-Security %q, want secure %v", tt.node, tt.proto,
				b.cookie, hsts, tt.secure)
		}
	}
}

func TestSignInAndOut(t *testing.T) {
	for _, secure := range []bool{false, true} {
		b := newBrowser(t, secure)
		b.signIn()
		c := b.cookie
		name, path := "fieldmark_session", "/admin"
		if secure {
			name, path = "__Host-session", "/"
		}
		if c.Name != name || c.Path != path || c.Secure != secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
			t.Errorf("secure %v: cookie %v, want %s for %s, HttpOnly and SameSite=Lax", secure, c, name, path)
		}
		b.page("/admin", "Overview", user)
		if rec := b.do("/admin/sign-in", nil); rec.Code != 303 {
			t.Errorf("sign-in page in a session: %d, want 303", rec.Code)
		}
		if rec := b.do("/admin/sign-out", url.Values{}); rec.Code != 303 || b.cookie != nil {
			t.Errorf("sign out: %d with cookie %v, want 303 and none", rec.Code, b.cookie)
		}
		b.cookie = c
		if rec := b.do("/admin", nil); rec.Code != 303 {
			t.Errorf("the cookie after sign-out: %d, want 303", rec.Code)
		}
	}
}

func TestWrongPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBrowser(t, false)
		wrong := url.Values{"user": {hostile}, "password": {"not-the-right-one"}}
		rec := b.do("/admin/sign-in", wrong)
		if rec.Code != 401 || b.cookie != nil || !strings.Contains(rec.Body.String(),
			"The user name, the password or the code is wrong.") {
			t.Errorf("wrong password: %d with cookie %v: %s", rec.Code, b.cookie, rec.Body)
		}
		checkEscaped(t, rec.Body.String())
		rec = b.do("/admin/sign-in", wrong)
		if rec.Code != 429 || rec.Header().Get("Retry-After") == "" ||
			!strings.Contains(rec.Body.String(), "Try again in") {
			t.Errorf("at once again: %d after %q, want 429 with a time: %s", rec.Code, rec.Header().Get("Retry-After"),
				rec.Body)
		}
		time.Sleep(time.Minute)
		b.signIn()
		if log := b.log.String(); strings.Contains(log, password) || strings.Contains(log, "not-the-right-one") ||
			strings.Contains(log, b.cookie.Value) {
			t.Errorf("the log holds secrets: %s", log)
		}
		time.Sleep(31 * time.Minute)
		if rec := b.do("/admin", nil); rec.Code != 303 {
			t.Errorf("after half an hour of nothing: %d, want 303", rec.Code)
		}
	})
}

func TestNextPage(t *testing.T) {
	b := newBrowser(t, false)
	for next, want := range map[string]string{
		"/admin/missions?status=NEW": "/admin/missions?status=NEW",
		"/admin":                     "/admin",
		"":                           "/admin",
		"https://evil.example/admin": "/admin",
		"//evil.example/admin/x":     "/admin",
		`/\evil.example`:             "/admin",
		"/admin/../../evil":          "/admin",
		"/administrator":             "/admin",
		"javascript:alert(1)":        "/admin",
		"/admin/x\r\nSet-Cookie: a":  "/admin",
	} {
		b.cookie = nil
		rec := b.do("/admin/sign-in", url.Values{"user": {user}, "password": {password}, "next": {next}})
		if got := rec.Header().Get("Location"); got != want {
			t.Errorf("next %q: led to %q, want %q", next, got, want)
		}
	}
	b.cookie = nil
	rec := b.do("/admin/missions?status=NEW", nil)
	if got := rec.Header().Get("Location"); got != "/admin/sign-in?next=%2Fadmin%2Fmissions%3Fstatus%3DNEW" {
		t.Errorf("a closed page leads to %q, want the way back in it", got)
	}
}

func TestHeaders(t *testing.T) {
	b := newBrowser(t, true)
	b.signIn()
	for _, path := range append(pages, "/admin/sign-in", "/admin/nothing", "/admin/assets/admin.css") {
		h := b.do(path, nil).Header()
		for field, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; " +
				"connect-src 'self'; img-src 'self' data:; " +
				"form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"X-Content-Type-Options": "nosniff",
			"Referrer-Policy":        "no-referrer",
		} {
			if got := h.Get(field); got != want {
				t.Errorf("%s: %s = %q, want %q", path, field, got, want)
			}
		}
		if got := h.Get("Cache-Control"); got != "private, no-store" && path != "/admin/assets/admin.css" {
			t.Errorf("%s: Cache-Control = %q, want private, no-store", path, got)
		}
	}
	rec := b.do("/admin/assets/admin.css", nil)
	if rec.Code != 200 || rec.Header().Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("stylesheet: %d %s", rec.Code, rec.Header().Get("Content-Type"))
	}
	b.header = map[string]string{"If-None-Match": rec.Header().Get("ETag")}
	if rec := b.do("/admin/assets/admin.css", nil); rec.Code != 304 {
		t.Errorf("the same stylesheet again: %d, want 304", rec.Code)
	}
}

// TestCrossOrigin sends POST requests with the headers of a cross-site form.
func TestCrossOrigin(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	for _, header := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site"},
		{"Sec-Fetch-Site": "same-site"},
		{"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
		{"Sec-Fetch-Site": "", "Origin": "null"},
	} {
		b.header = header
		rec := b.do("/admin/api-keys", url.Values{"name": {"x"}, "scope": {"admin:*"}})
		if rec.Code != 403 || !strings.Contains(rec.Body.String(), "another site") {
			t.Errorf("%v: %d, want 403 and a page that says why", header, rec.Code)
		}
	}
	if keys, err := b.service.Access.Keys.List(t.Context()); len(keys) != 0 || err != nil {
		t.Errorf("%d keys, %v; want none", len(keys), err)
	}
}

var tokenText = regexp.MustCompile(`fm_live_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}`)

func TestKeys(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	rec := b.do("/admin/api-keys", url.Values{"name": {""}, "days": {"30"}})
	if rec.Code != 422 || !strings.Contains(rec.Body.String(), `<a href="#name">Name: must`) ||
		!strings.Contains(rec.Body.String(), `<a href="#scope">Permissions: `) {
		t.Errorf("empty form: %d, want 422 with both complaints: %s", rec.Code, rec.Body)
	}
	rec = b.do("/admin/api-keys", url.Values{"name": {hostile}, "scope": {"mission:create", "mission:read"},
		"days": {"30"}})
	token := tokenText.FindString(rec.Body.String())
	if rec.Code != 200 || token == "" {
		t.Fatalf("make a key: %d: %s", rec.Code, rec.Body)
	}
	checkEscaped(t, rec.Body.String())
	key, err := b.service.Access.Keys.Authenticate(t.Context(), token, access.Caller{})
	if err != nil || len(key.Scopes) != 2 || key.ExpiresAt.Std().Sub(key.CreatedAt.Std()) != 30*24*time.Hour {
		t.Errorf("the key that was shown: %+v, %v; want two scopes and 30 days", key, err)
	}
	if body := b.page("/admin/api-keys", key.Prefix, "live"); strings.Contains(body, token) {
		t.Errorf("the token is shown a second time")
	}
	b.post("/admin/api-keys/"+key.ID+"/revoke", url.Values{"reason": {"not needed"}}, "/admin/api-keys#"+key.ID)
	b.page("/admin/api-keys", "Key revoked.", `<span class="state off">revoked</span>`)
	if _, err := b.service.Access.Keys.Authenticate(t.Context(), token, access.Caller{}); !fieldmark.IsCode(err,
		fieldmark.CodeInvalidAPIKey) {
		t.Errorf("the revoked key: %v, want invalid_api_key", err)
	}
	if rec := b.do("/admin/api-keys/key_x/revoke", url.Values{"reason": {"x"}}); rec.Code != 404 {
		t.Errorf("revoking an unknown key: %d, want 404", rec.Code)
	}
	if log := b.log.String(); strings.Contains(log, token) || !strings.Contains(log, `action=api_key.created`) {
		t.Errorf("the log holds the token or no act: %s", log)
	}
}

func TestMissions(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	m, _, err := b.service.Missions.Create(t.Context(), access.DefaultAccount,
		fieldmark.MissionRequest{ExternalID: hostile,
			Source: "crm", Title: hostile})
	if err != nil {
		t.Fatal(err)
	}
	checkEscaped(t, b.page("/admin/missions", m.ID, "/admin/missions/"+m.ID+"/complete"))
	if rec := b.submit("/admin/missions/"+m.ID+"/complete", url.Values{"version": {"1"}}); rec.Code != 303 {
		t.Errorf("complete: %d, want 303: %s", rec.Code, rec.Body)
	}
	if m, err = b.service.Missions.Get(t.Context(), "", m.ID); m.Status != fieldmark.MissionCompleted || err != nil {
		t.Errorf("the mission is %s, %v; want COMPLETED", m.Status, err)
	}
	if body := b.page("/admin/missions?status=COMPLETED", "Mission completed.",
		m.ID); strings.Contains(body, m.ID+"/complete") {
		t.Errorf("a completed mission can be completed again")
	}
	b.page("/admin/missions?status=NEW", "No missions match the filter.")
	if rec := b.do("/admin/missions?status=LOST", nil); rec.Code != 400 {
		t.Errorf("unknown status: %d, want 400", rec.Code)
	}
}

func TestMissionPages(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	for i := range fieldmark.DefaultMissionLimit + 1 {
		_, _, err := b.service.Missions.Create(t.Context(), access.DefaultAccount,
			fieldmark.MissionRequest{ExternalID: string(rune('A' + i)), Source: "crm", Title: "t"})
		if err != nil {
			t.Fatal(err)
		}
	}
	body := b.page("/admin/missions?status=NEW", "More missions")
	next := regexp.MustCompile(`href="(/admin/missions\?[^"]+)" rel="next">`).FindStringSubmatch(body)
	if next == nil {
		t.Fatalf("no way to the next page: %s", body)
	}
	second := b.page(strings.ReplaceAll(next[1], "&amp;", "&"))
	if n := strings.Count(second, `scope="row"`); n != 1 {
		t.Errorf("the second page has %d missions, want 1", n)
	}
}

func TestBrands(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	b.page("/admin/brands", "No brands yet.")
	_, _, err := b.service.Brands.Put(t.Context(), fieldmark.Brand{
		Slug: "acme", Name: hostile, URL: "https://acme.example/?a=%22%3E&b=<script>", Niche: "tools", Language: "en",
		Description: hostile, Public: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	checkEscaped(t, b.page("/admin/brands", "pending", "/admin/brands/acme/audit"))
	if rec := b.do("/admin/brands/acme/audit", url.Values{}); rec.Code != 303 {
		t.Errorf("audit now: %d, want 303: %s", rec.Code, rec.Body)
	}
	if waiting, _, err := b.service.Brands.Audits.Status(t.Context()); waiting != 1 || err != nil {
		t.Errorf("%d audits wait, %v; want 1", waiting, err)
	}
	facts := fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://acme.example/", Pages: 1,
		AsOf:  fieldmark.At(time.Now()),
		Facts: []fieldmark.Fact{{ID: "home.reachable", State: fieldmark.Measured, Unit: "bool"}}}
	if _, err := b.service.Brands.PutFacts(t.Context(), "acme", facts); err != nil {
		t.Fatal(err)
	}
	b.page("/admin/brands", "unreachable")
	if rec := b.do("/admin/brands/nobody/audit", url.Values{}); rec.Code != 404 {
		t.Errorf("audit of an unknown brand: %d, want 404", rec.Code)
	}
}

func TestOverviewAndWebhooks(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	b.page("/admin", "No scoring module is active",
		"0 <small>pending</small> 0 <small>held</small>")
	page := b.page("/admin/webhooks", "No endpoints yet.", "No delivery matches.")
	for _, k := range event.Kinds() {
		if !strings.Contains(page, "<code>"+string(k.Type)+"</code>") {
			t.Errorf("the page with the form does not list %s", k.Type)
		}
	}
	b.notice = &http.Cookie{Name: "fieldmark_notice", Value: "made-up"}
	if body := b.page("/admin"); strings.Contains(body, `class="notice"`) {
		t.Errorf("an unknown notice is shown: %s", body)
	}
}

// TestOverviewShowsIssues: a paused endpoint with a held message is on the
// overview, in its tile and on the settings page.
func TestOverviewShowsIssues(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	made, err := b.service.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
		fieldmark.EndpointRequest{URL: "https://192.0.2.1/hook", Events: []string{fieldmark.AllMissionEvents}})
	if err != nil {
		t.Fatal(err)
	}
	if body := b.page("/admin/webhooks/"+made.ID, `<span class="state good">enabled</span>`,
		"<dt>Success</dt><dd>no attempts yet</dd>"); strings.Contains(body, "failing") {
		t.Error("a new endpoint is called failing")
	}
	if _, _, err := b.service.Missions.Create(t.Context(), access.DefaultAccount,
		fieldmark.MissionRequest{ExternalID: "1",
			Source: "crm", Title: "x"}); err != nil {
		t.Fatal(err)
	}
	page := "/admin/webhooks/" + made.ID
	b.post(page, url.Values{"do": {"pause"}, "reason": {"moving"}}, page)
	// A form sends every value, and changes only those that differ from what it showed: the address was
	// replaced after it was opened.
	opened := url.Values{"do": {"change"}, "url": {made.URL}, "url-was": {made.URL}, "events": {"mission.*"},
		"events-was": {"mission.*"}, "description": {"field desk"}, "description-was": {""}, "labels": {"a=1\r\nb=2"},
		"labels-was": {""}}
	b.post(page, url.Values{"do": {"change"}, "url": {"https://192.0.2.2/new"}, "events": {"mission.*"}}, page)
	b.post(page, opened, page)
	now, err := b.service.Webhooks.Endpoint(t.Context(), "", made.ID)
	if err != nil || now.URL != "https://192.0.2.2/new" || now.Description != "field desk" ||
		len(now.Filter.Labels) != 2 {
		t.Errorf("after a form that was opened before: %+v, %v; want the new address and description", now, err)
	}
	b.page(page, `name="url-was" value="https://192.0.2.2/new"`, `name="labels-was" value="a=1`)
	b.page("/admin", "1 message is held for 1 endpoint", "Repair or enable the endpoints", "1 <small>held</small>")
	b.page("/admin/settings", "<dt>Held messages</dt><dd>1</dd>")
	b.page("/admin/webhooks", `<span class="state bad">paused</span>`)
	const failing = `<span class="state bad">failing</span>`
	b.page("/admin/webhooks/"+b.endpoints(2)[1], failing)
	b.page("/admin/webhooks", failing)
}

func TestErrorPages(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	rec := b.do("/admin/nothing", nil)
	if rec.Code != 404 || !strings.Contains(rec.Body.String(), "<h1>") {
		t.Errorf("unknown page: %d: %s", rec.Code, rec.Body)
	}
	if rec := b.do("/admin/", nil); rec.Code != 303 || rec.Header().Get("Location") != "/admin" {
		t.Errorf("/admin/: %d to %q, want 303 to /admin", rec.Code, rec.Header().Get("Location"))
	}
	big := url.Values{"name": {strings.Repeat("x", 300<<10)}, "scope": {"mission:read"}}
	if rec := b.do("/admin/api-keys", big); rec.Code != 413 {
		t.Errorf("a huge form: %d, want 413", rec.Code)
	}
	r := httptest.NewRequest("GET", "/admin/brands", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.AddCookie(b.cookie)
	gone := httptest.NewRecorder()
	b.handler.ServeHTTP(gone, r.WithContext(ctx))
	if gone.Code < 500 || strings.Contains(gone.Body.String(), "context canceled") {
		t.Errorf("a failure inside: %d: %s", gone.Code, gone.Body)
	}
	if _, err := admin.New(admin.Config{}); err == nil {
		t.Errorf("an area without a service was made")
	}
}

// checkEscaped fails if a page contains markup from a hostile name without escaping.
func checkEscaped(t *testing.T, body string) {
	t.Helper()
	for _, live := range []string{"<script>", "<img", "onerror=alert(1)>"} {
		if i := strings.Index(body, live); i >= 0 {
			t.Errorf("%q stands in the page unescaped: …%.120s", live, body[max(0, i-40):])
		}
	}
	if !strings.Contains(body, "&lt;script&gt;") {
		t.Errorf("the hostile name is not on the page at all: %s", body)
	}
}
