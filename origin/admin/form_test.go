package admin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// TestNotice: the page after a form shows its notice once. A reload, a bookmark and a forged cookie do not.
func TestNotice(t *testing.T) {
	for _, secure := range []bool{false, true} {
		b := newBrowser(t, secure)
		b.signIn()
		const shown = `<p class="notice" role="status">Account saved.</p>`
		b.post("/admin/accounts", url.Values{"id": {"acme"}, "name": {"Acme"}}, "/admin/accounts")
		if c := b.notice; c == nil || c.Path != "/admin" || !c.HttpOnly || c.Secure != secure || c.MaxAge > 60 {
			t.Errorf("the cookie of the notice is %v", c)
		}
		b.page("/admin/accounts", shown)
		if b.notice != nil {
			t.Errorf("the notice stays after its page: %v", b.notice)
		}
		for _, value := range []string{"", "account ", hostile} {
			b.notice = &http.Cookie{Name: "fieldmark_notice", Value: value}
			if body := b.page("/admin/accounts?done=account"); strings.Contains(body, `class="notice"`) {
				t.Errorf("a page shows a notice without a form, for the cookie %q", value)
			}
		}
	}
}

// TestFirstErrorHasFocus: a page has one autofocus, at its first invalid input, even if the errors come in
// another order; text of the user that looks like the attribute is kept.
func TestFirstErrorHasFocus(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	const typed = `aria-invalid="true" autofocus`
	rec := b.do("/admin/brands", url.Values{"name": {""}, "slug": {"UPPER"}, "url": {"ftp://x"}, "niche": {"a b"},
		"language": {"?"}, "description": {typed}})
	body := rec.Body.String()
	if rec.Code != 422 || strings.Count(body, " autofocus") != 2 || // one of them is the text
		!strings.Contains(body, `id="name" aria-invalid="true" autofocus aria-describedby="name-fault"`) ||
		!strings.Contains(body, `id="url" aria-invalid="true" aria-describedby="url-fault"`) ||
		!strings.Contains(body, `aria-invalid=&#34;true&#34; autofocus</textarea>`) {
		t.Errorf("a form with five errors: %d: %s", rec.Code, body)
	}
	if !strings.Contains(body, "Please fix the following:") {
		t.Errorf("a form with five errors has no summary")
	}
}

// TestExistingAccountIsNotOverwritten: the form for a new account does not overwrite another one.
func TestExistingAccountIsNotOverwritten(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	form := url.Values{"id": {"acme"}, "name": {"Acme"}, "note": {"pays monthly"}}
	b.post("/admin/accounts", form, "/admin/accounts")
	b.post("/admin/accounts", form, "/admin/accounts") // submitted twice
	form.Set("name", "Other")
	b.rejected("/admin/accounts", form, 409, `<strong class="fault" id="id-fault">ID: another account has it.`)
	form.Set("version", b.version("/admin/accounts", `name="id" value="acme"`))
	form.Set("name", strings.Repeat("x", 101))
	b.rejected("/admin/accounts", form, 422, `id="acme-name" aria-invalid="true" autofocus`)
	list, err := b.service.Access.Accounts.List(t.Context())
	for _, a := range list {
		if a.ID == "acme" && a.Name != "Acme" {
			t.Errorf("the account is %+v, %v", a, err)
		}
	}
}

// TestBulkKeepsInput: the rejected form for several missions keeps their list and what was entered.
func TestBulkKeepsInput(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	m := b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "Read the meter"})
	ref := m.ID + ":1"
	for _, tt := range []struct {
		form url.Values
		want []string
	}{
		{url.Values{"do": {"assign"}, "assignee-name": {"Ann"}}, []string{`id="bulk-assignee" aria-invalid="true"`,
			`value="Ann"`}},
		{url.Values{"do": {"cancel"}, "confirm": {"yes"}, "code": {"no good"}, "text": {"by phone"}},
			[]string{`id="bulk-code" aria-invalid="true" autofocus`, `value="no good"`, `value="by phone"`}},
	} {
		tt.form.Set("mission", ref)
		rec := b.do("/admin/missions/bulk", tt.form)
		for _, want := range append(tt.want, `name="mission" value="`+ref+`"`, "Read the meter") {
			if rec.Code != 422 || !strings.Contains(rec.Body.String(), want) {
				t.Errorf("%v: %d, lacks %q: %s", tt.form, rec.Code, want, rec.Body)
			}
		}
	}
	b.rejected("/admin/missions/bulk", url.Values{"do": {"assign"}, "assignee": {"ann"}}, 422, "Select at least one")
}

// TestErrorPagesLeadBack: an error in a session keeps the navigation and says what to do; so does one for which
// the session could not be looked up.
func TestErrorPagesLeadBack(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	big := url.Values{"name": {strings.Repeat("x", 300<<10)}}
	const reload = "The page may have been deleted."
	for _, tt := range []struct {
		path   string
		form   url.Values
		header map[string]string
		cancel bool
		status int
		want   string
	}{
		{path: "/admin/nothing", status: 404, want: reload},
		{path: "/admin/missions/msn_06h0ag29jszsqdz6p95b50jw28", status: 404,
			want: `href="/admin/missions">Back to the list`},
		{path: "/admin/webhooks/ep_x", status: 404, want: `href="/admin/webhooks">Back to the list`},
		{path: "/admin/board", form: url.Values{}, status: 405, want: "The method is not allowed here"},
		{path: "/admin/missions?status=LOST", status: 400, want: "Unknown mission status"},
		{path: "/admin/brands", form: big, status: 413, want: "Nothing was stored."},
		{path: "/admin/brands", form: url.Values{}, header: map[string]string{"Sec-Fetch-Site": "cross-site"},
			status: 403, want: "Open the page of the form here"},
		{path: "/admin/brands", cancel: true, status: 500, want: "If it fails again"},
	} {
		r := httptest.NewRequest("GET", tt.path, nil)
		if tt.form != nil {
			r = httptest.NewRequest("POST", tt.path, strings.NewReader(tt.form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		for name, value := range tt.header {
			r.Header.Set(name, value)
		}
		if tt.cancel {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			r = r.WithContext(ctx)
		}
		r.AddCookie(b.cookie)
		rec := httptest.NewRecorder()
		b.handler.ServeHTTP(rec, r)
		for _, want := range []string{tt.want, `<nav aria-label="Main">`, `href="/admin">Back to the overview`} {
			if rec.Code != tt.status || !strings.Contains(rec.Body.String(), want) {
				t.Errorf("%s %s: %d, want %d with %q: %s", r.Method, tt.path, rec.Code, tt.status, want, rec.Body)
			}
		}
	}
	b.cookie = nil
	if rec := b.do("/admin/nothing", nil); rec.Code != 404 || strings.Contains(rec.Body.String(), "<nav") {
		t.Errorf("an unknown page without a session: %d: %s", rec.Code, rec.Body)
	}
}
