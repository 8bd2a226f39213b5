package admin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestCDNPage adds a CDN, tests and changes it, purges it and removes it. Its token is sent to it and is on no page.
func TestCDNPage(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	page := b.page("/admin/cdns", "No CDNs yet.")
	for _, k := range fieldmark.CDNKinds() {
		if !strings.Contains(page, fmt.Sprintf(`name="kind" value="%s"`, k)) {
			t.Errorf("there is no form for the kind %s", k)
		}
	}
	const token = "s3cret"
	var status atomic.Int32
	status.Store(200)
	purges := make(chan string, 10)
	cache := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		purges <- r.Header.Get("Token") + " " + string(body)
		w.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(cache.Close)
	form := url.Values{"kind": {"template"}, "name": {"front"}, "urls": {cache.URL}, "method": {"POST"},
		"headers": {"Token: {token}\r\n\r\nAccept: " + hostile}, "body": {"{keys}\r\n"}, "token": {token}}
	b.post("/admin/cdns", form, "/admin/cdns")
	b.rejected("/admin/cdns", form, 409, `<a href="#add-template-name">Name: another CDN has it.`)
	host := strings.TrimPrefix(cache.URL, "http://")
	page = b.page("/admin/cdns", `<th scope="row">front</th>`, "Another CDN", host,
		`<span class="state good">active</span>`)
	checkEscaped(t, page)

	b.post("/admin/cdns/front/test", url.Values{}, "/admin/cdns")
	if got := <-purges; got != token+" fieldmark-test\n" {
		t.Errorf("the test sent %q", got)
	}
	form.Set("version", b.version("/admin/cdns", `name="name" value="front"`))
	form.Del("token") // the stored one is kept
	form.Set("body", "purge {keys}")
	b.post("/admin/cdns", form, "/admin/cdns")
	// A form that was opened before does not take that back, and says so.
	form.Set("body", "{keys}")
	b.rejected("/admin/cdns", form, 409, "The CDN was changed after this form was opened.")
	b.post("/admin/cdns/front/purge", url.Values{"confirm": {"yes"}}, "/admin/cdns")
	if got := <-purges; got != token+" purge all" {
		t.Errorf("the purge sent %q", got)
	}
	status.Store(403)
	for _, form := range []url.Values{{}, {"confirm": {"yes"}}} {
		path := map[bool]string{true: "/admin/cdns/front/test", false: "/admin/cdns/front/purge"}[len(form) == 0]
		const want = "The CDN front did not accept the purge: the CDN refuses the token (status 403)."
		if rec := b.do(path, form); rec.Code != 200 || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("POST %s: %d, want %q: %s", path, rec.Code, want, rec.Body)
		}
	}
	b.rejected("/admin/cdns/none/test", url.Values{}, 404, "no such CDN")
	b.post("/admin/cdns/front/remove", url.Values{"confirm": {"yes"}}, "/admin/cdns")
	b.page("/admin/cdns", "No CDNs yet.")
	log := b.page("/admin/audit-log", "cdn.created", "cdn.updated", "cdn.tested", "cdn.purged", "cdn.deleted")
	if strings.Contains(page+log+b.log.String(), token) {
		t.Error("the token is on a page or in the log")
	}
}

// TestCDNStates shows a CDN that refused its token and one that missed events.
func TestCDNStates(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	at := fieldmark.At(time.Now())
	b.write(func(ctx context.Context, tx *store.Tx) error {
		refused := store.CDN{Name: "front", State: fieldmark.CDNRefused, CreatedAt: at, UpdatedAt: at,
			Status: store.CDNStatus{LastError: hostile, FailingSince: &at}}
		missed := store.CDN{Name: "back", State: fieldmark.CDNActive, CreatedAt: at, UpdatedAt: at,
			Status: store.CDNStatus{PurgedAt: &at, EmptiedAt: &at, EmptiedFor: "the database has lost events"}}
		return errors.Join(tx.PutCDN(ctx, &refused), tx.PutCDN(ctx, &missed))
	})
	checkEscaped(t, b.page("/admin/cdns", `<span class="state bad">refused</span>`, "Nothing is sent until the token",
		"Missed events: <bdi>the database has lost events</bdi>"))
	b.page("/admin", `<a class="button" href="/admin/cdns">Replace the token, or test the CDN again</a>`)
}

// TestCDNForms: what is wrong is beside its input, which keeps its value unless it is the token.
func TestCDNForms(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	const token = "s3cret"
	for _, tt := range []struct {
		form  url.Values
		field string
		kept  string
	}{
		{url.Values{"kind": {"fastly"}, "name": {"front"}, "zone": {"a b"}}, "add-fastly-zone", `value="a b"`},
		{url.Values{"kind": {"cloudflare"}, "name": {"front"}, "zone": {"z"}, "plan": {"gold"}}, "add-cloudflare-plan",
			`value="z"`},
		{url.Values{"kind": {"varnish"}, "name": {"UP"}, "urls": {"http://127.0.0.1/"}}, "add-varnish-name",
			`value="UP"`},
		{url.Values{"kind": {"varnish"}, "name": {"front"}, "urls": {"http://127.0.0.1/ http://10.0.0.1/"}},
			"add-varnish-urls", "http://127.0.0.1/ http://10.0.0.1/</textarea>"},
		{url.Values{"kind": {"template"}, "name": {"front"}, "urls": {"http://127.0.0.1/"}, "body": {"none"}},
			"add-template-body", ">none</textarea>"},
		{url.Values{"kind": {"template"}, "name": {"front"}, "urls": {"http://127.0.0.1/"}, "body": {"{keys}"},
			"headers": {"no colon"}}, "add-template-headers", ">no colon</textarea>"},
	} {
		tt.form.Set("token", token)
		rec := b.do("/admin/cdns", tt.form)
		body := rec.Body.String()
		for _, want := range []string{`<a href="#` + tt.field + `">`, `id="` + tt.field + `-fault"`, tt.kept} {
			if rec.Code != 422 || !strings.Contains(body, want) {
				t.Errorf("%v: %d, lacks %s: %s", tt.form, rec.Code, want, body)
			}
		}
		if strings.Contains(body, token) {
			t.Errorf("%v: the page repeats the token", tt.form)
		}
	}
	b.rejected("/admin/cdns", url.Values{"kind": {"varnish"}, "name": {"gone"}, "urls": {"http://127.0.0.1:1/"},
		"version": {"2026-11-24T00:00:00.000Z"}}, 404, "no such CDN")
	form := url.Values{"kind": {"varnish"}, "name": {"front"}, "urls": {"http://127.0.0.1:1/"}, "token": {token}}
	b.post("/admin/cdns", form, "/admin/cdns")
	form.Set("version", b.version("/admin/cdns", `name="name" value="front"`))
	form.Set("urls", "http://127.0.0.1:2/")
	form.Del("token")
	b.rejected("/admin/cdns", form, 422, `id="cdn-front-token-fault"`)
	if list, err := b.service.CDNs.List(t.Context()); err != nil || len(list) != 1 ||
		list[0].URLs[0] != "http://127.0.0.1:1/" {
		t.Errorf("CDNs %+v, %v; want front as it was added", list, err)
	}
}
