package portal_test

import (
	"bytes"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/formtest"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/portal"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// fixture is an origin with the pages of portal links, and a browser.
type fixture struct {
	t       *testing.T
	service *origin.Service
	handler http.Handler
	key     fieldmark.NewKey
	cookies map[string]*http.Cookie
	log     bytes.Buffer
	hook    string // a receiver
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := newQuietFixture(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	f.hook = receiver.URL + "/hook"
	return f
}

// newQuietFixture is newFixture without a receiver, for tests in a bubble of synctest.
func newQuietFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, cookies: map[string]*http.Cookie{}}
	client := safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		ConnectTo: map[string]string{"hooks.example:443": "127.0.0.1:9"}, Targets: true})
	var err error
	f.service, err = origin.New(origin.Config{Store: storetest.Open(t, storetest.New(t)), HTTP: client,
		Secret: []byte(strings.Repeat("s", 32))})
	must(t, err)
	must(t, f.service.Prepare(t.Context()))
	f.handler, err = portal.New(portal.Config{Links: f.service.Portal, Webhooks: f.service.Webhooks,
		AuditLog: f.service.AuditLog, Log: slog.New(slog.NewTextHandler(&f.log, nil))})
	must(t, err)
	t.Cleanup(func() {
		if f.log.Len() > 0 {
			t.Errorf("the log has %s", &f.log)
		}
	})
	f.key, err = f.service.Access.Keys.Create(t.Context(), access.DefaultAccount, fieldmark.KeyRequest{
		Name: "integrator", Scopes: []fieldmark.Scope{fieldmark.ScopeWebhookManage}})
	must(t, err)
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func of(customer string) *fieldmark.EndpointFilter {
	return &fieldmark.EndpointFilter{Labels: map[string]string{"customer": customer}}
}

// link creates a link and returns its path.
func (f *fixture) link(r fieldmark.PortalLinkRequest) string {
	f.t.Helper()
	l, err := f.service.Portal.Create(f.t.Context(), &f.key.Key, r)
	must(f.t, err)
	return l.URL
}

// opened returns a browser with the session of a new link.
func (f *fixture) opened(r fieldmark.PortalLinkRequest) *fixture {
	f.t.Helper()
	b := *f
	b.cookies = map[string]*http.Cookie{}
	f.want(b.post(f.link(r), url.Values{}), 303, "")
	return &b
}

func (f *fixture) do(r *http.Request) *httptest.ResponseRecorder {
	f.t.Helper()
	for _, c := range f.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		f.cookies[c.Name] = c
		if c.MaxAge < 0 {
			delete(f.cookies, c.Name)
		}
	}
	return w
}

func (f *fixture) get(path string) *httptest.ResponseRecorder {
	f.t.Helper()
	return f.do(httptest.NewRequestWithContext(f.t.Context(), "GET", path, nil))
}

func (f *fixture) post(path string, form url.Values) *httptest.ResponseRecorder {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), "POST", path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return f.do(r)
}

// want checks a status and that a page has a text.
func (f *fixture) want(w *httptest.ResponseRecorder, status int, text string) {
	f.t.Helper()
	if body := html.UnescapeString(w.Body.String()); w.Code != status || !strings.Contains(body, text) {
		f.t.Errorf("status %d, want %d with %q: %s", w.Code, status, text, body)
	}
}

func (f *fixture) endpoint(customer string) fieldmark.Endpoint {
	f.t.Helper()
	s := fieldmark.EndpointSettings{Customer: customer}
	if customer != "" {
		s.Filter = of(customer)
	}
	e, err := f.service.Webhooks.CreateEndpoint(f.t.Context(), f.key.Account, fieldmark.EndpointRequest{
		URL: f.hook + "/" + customer, EndpointSettings: s})
	must(f.t, err)
	return e.Endpoint
}

func (f *fixture) mission(id, customer string) {
	f.t.Helper()
	_, _, err := f.service.Missions.Create(f.t.Context(), f.key.Account, fieldmark.MissionRequest{Source: "crm",
		ExternalID: id, Title: "Mast of " + customer, Labels: map[string]string{"customer": customer}})
	must(f.t, err)
}

func (f *fixture) deliveries(endpoint string) []fieldmark.Delivery {
	f.t.Helper()
	list, err := f.service.Webhooks.Deliveries(f.t.Context(), webhook.DeliveryPage{Endpoint: endpoint})
	must(f.t, err)
	return list.Data
}

// TestLinkWorksOnce: the address shows a button, the button begins a session, and neither works again.
func TestLinkWorksOnce(t *testing.T) {
	f := newFixture(t)
	path := f.link(fieldmark.PortalLinkRequest{Customer: "acme", Filter: of("acme"),
		ReturnURL: "https://acme.example/"})
	for range 2 { // a program that previews links spends nothing
		w := f.get(path)
		f.want(w, 200, "Open the page")
		for name, want := range map[string]string{"Cache-Control": "private, no-store",
			"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("policy %q", policy)
		}
	}
	f.want(f.get("/portal/"), 410, "Open the page again from where you got the link")
	w := f.post(path, url.Values{})
	f.want(w, 303, "")
	if to := w.Header().Get("Location"); to != "/portal/" {
		t.Errorf("redirected to %q", to)
	}
	f.want(f.get("/portal/"), 200, "https://acme.example/")
	other := *f
	other.cookies = map[string]*http.Cookie{}
	for range 2 {
		other.want(other.post(path, url.Values{}), 410, "It works once")
		other.want(other.get(path), 410, "It works once")
	}
	other.want(other.get("/portal/"+strings.Repeat("x", 43)), 404, "no page")
	f.want(f.post("/portal/leave", url.Values{}), 200, "https://acme.example/")
	f.want(f.get("/portal/"), 410, "")

	entries, err := f.service.AuditLog.List(t.Context(), 0, auditlog.Filter{}, 50)
	must(t, err)
	var acts []string
	for _, e := range entries {
		acts = append(acts, string(e.Kind)+":"+e.Actor+" "+e.Act)
	}
	if !slices.Contains(acts, "portal:acme portal_link.opened") {
		t.Errorf("audit log %v", acts)
	}
}

// TestCookie: over HTTPS the cookie has the prefix __Host-, which browsers accept with Secure alone.
func TestCookie(t *testing.T) {
	f := newFixture(t)
	secure, err := portal.New(portal.Config{Links: f.service.Portal, Webhooks: f.service.Webhooks,
		AuditLog: f.service.AuditLog, Secure: true})
	must(t, err)
	for _, c := range []struct {
		handler http.Handler
		name    string
		path    string
		secure  bool
	}{{f.handler, "fieldmark_portal", "/portal/", false}, {secure, "__Host-portal", "/", true}} {
		f.handler = c.handler
		cookie := f.post(f.link(fieldmark.PortalLinkRequest{}), url.Values{}).Result().Cookies()[0]
		if cookie.Name != c.name || cookie.Path != c.path || cookie.Secure != c.secure || !cookie.HttpOnly ||
			cookie.MaxAge != 3600 {
			t.Errorf("cookie %+v, want %s for %s", cookie, c.name, c.path)
		}
	}
}

// TestEndings: links and sessions end with their time, and both with the key.
func TestEndings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newQuietFixture(t)
		path := f.link(fieldmark.PortalLinkRequest{Minutes: 5})
		time.Sleep(5 * time.Minute)
		f.want(f.get(path), 410, "It works once")
		f.want(f.post(path, url.Values{}), 410, "It works once")
		b := f.opened(fieldmark.PortalLinkRequest{})
		time.Sleep(59 * time.Minute)
		b.want(b.get("/portal/"), 200, "Endpoints")
		time.Sleep(time.Minute)
		b.want(b.get("/portal/"), 410, "It works once")
	})
}

func TestRevokedKey(t *testing.T) {
	f := newFixture(t)
	b := f.opened(fieldmark.PortalLinkRequest{})
	b.want(b.get("/portal/"), 200, "Endpoints")
	path := f.link(fieldmark.PortalLinkRequest{})
	_, err := f.service.Access.Keys.Revoke(t.Context(), f.key.ID, "")
	must(t, err)
	b.want(b.get("/portal/"), 410, "It works once")
	b.want(b.post("/portal/endpoints", url.Values{"url": {f.hook}}), 410, "It works once")
	f.want(f.post(path, url.Values{}), 410, "It works once")
}

// since is an act with the values of a replay.
func since(do string) url.Values {
	return url.Values{"do": {do}, "since": {"2026-01-01T00:00"}, "confirm": {"yes"}}
}

// visits are the addresses of every page and form about an endpoint.
func visits(e fieldmark.Endpoint, d fieldmark.Delivery) (pages []string) {
	one := "/portal/endpoints/" + e.ID
	return []string{one, one + "/deliveries/" + d.ID}
}

// TestCustomersAreApart: a session sees and changes endpoints of its customer alone, also under the
// addresses of those of another customer or of the account.
func TestCustomersAreApart(t *testing.T) {
	f := newFixture(t)
	endpoints := map[string]fieldmark.Endpoint{}
	for _, customer := range []string{"acme", "bolt", ""} {
		endpoints[customer] = f.endpoint(customer)
	}
	f.mission("1", "acme")
	f.mission("2", "bolt")
	own := f.deliveries(endpoints["acme"].ID)[0]
	for _, link := range []fieldmark.PortalLinkRequest{{Customer: "acme", Filter: of("acme")},
		{Endpoints: []string{endpoints["acme"].ID}}} {
		b := f.opened(link)
		home := b.get("/portal/")
		b.want(home, 200, "/hook/acme")
		b.want(b.get("/portal/endpoints/"+endpoints["acme"].ID), 200, "mission.created")
		b.want(b.get("/portal/endpoints/"+endpoints["acme"].ID+"/deliveries/"+own.ID), 200, "No attempts yet")
		for _, customer := range []string{"bolt", ""} {
			e := endpoints[customer]
			if strings.Contains(home.Body.String(), e.ID) {
				t.Errorf("the list has the endpoint of %q", customer)
			}
			before := f.deliveries(e.ID)
			foreign := before[0]
			pages := visits(e, foreign)
			// a delivery of another customer under an endpoint of the session does not exist either
			pages = append(pages, "/portal/endpoints/"+endpoints["acme"].ID+"/deliveries/"+foreign.ID)
			for _, page := range pages {
				b.want(b.get(page), 404, "")
			}
			for _, form := range pages {
				for _, do := range []string{"ping", "pause", "enable", "recover", "replay"} {
					b.want(b.post(form, since(do)), 404, "")
				}
			}
			if now, err := f.service.Webhooks.Endpoint(t.Context(), "", e.ID); err != nil || now.State != e.State ||
				len(f.deliveries(e.ID)) != len(before) {
				t.Errorf("endpoint of %q: %+v, %v", customer, now, err)
			}
		}
	}
	b := f.opened(fieldmark.PortalLinkRequest{Customer: "acme", Filter: of("acme")})
	b.want(b.post("/portal/endpoints", url.Values{"url": {f.hook}, "events": {"mission.*"}}), 200, "Signing secret")
	list, err := f.service.Webhooks.Endpoints(t.Context(), f.key.Account)
	must(t, err)
	if e := list[0]; e.Customer != "acme" || e.Filter.String() != "customer=acme" {
		t.Errorf("created %+v, want one of acme with the filter of the link", e)
	}
	for range fieldmark.MaxCustomerEndpoints - 2 {
		f.endpoint("acme")
	}
	b.want(b.post("/portal/endpoints", url.Values{"url": {f.hook}, "events": {"mission.*"}}), 409,
		"A customer has at most 20 endpoints")
}

// TestAccountsAreApart: a link of a test key and of a sub-account opens the endpoints of that account alone.
func TestAccountsAreApart(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	offer := "groups"
	_, err := f.service.Offers.Put(ctx, offer, fieldmark.OfferRequest{Name: "Groups", Kind: fieldmark.OfferGroup}, nil)
	must(t, err)
	_, _, err = f.service.Access.Accounts.Put(ctx, f.key.Account, fieldmark.AccountRequest{Name: "Default",
		Offer: &offer})
	must(t, err)
	shop, err := f.service.Offers.Groups.Create(ctx, f.key.Account,
		fieldmark.SubAccountRequest{ID: "shop", Name: "Shop"})
	must(t, err)
	keys := map[string]fieldmark.NewKey{"live": f.key}
	keys["test"], err = f.service.Access.Keys.CreateTest(ctx, f.key.Account, fieldmark.TestKeyRequest{Name: "test"})
	must(t, err)
	keys["shop"], err = f.service.Access.Keys.Create(ctx, shop.ID, fieldmark.KeyRequest{Name: "shop",
		Scopes: []fieldmark.Scope{fieldmark.ScopeWebhookManage}})
	must(t, err)
	endpoints := map[string]fieldmark.Endpoint{}
	for name, key := range keys {
		e, err := f.service.Webhooks.CreateEndpoint(ctx, key.Account, fieldmark.EndpointRequest{
			URL: "https://hooks.example/" + name})
		must(t, err)
		endpoints[name] = e.Endpoint
	}
	for name, key := range keys {
		f.key = key
		b := f.opened(fieldmark.PortalLinkRequest{})
		home := b.get("/portal/").Body.String()
		for other, e := range endpoints {
			if got := strings.Contains(home, e.ID); got != (name == other) {
				t.Errorf("the page of %s lists the endpoint of %s: %t", name, other, got)
			}
			page, want := "/portal/endpoints/"+e.ID, http.StatusNotFound
			if name == other {
				want = http.StatusOK
			}
			b.want(b.get(page), want, "")
			if name != other {
				b.want(b.post(page, url.Values{"do": {"pause"}}), want, "")
				_, err := f.service.Portal.Create(ctx, &key.Key, fieldmark.PortalLinkRequest{Endpoints: []string{e.ID}})
				if !fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
					t.Errorf("a link of %s for the endpoint of %s: %v", name, other, err)
				}
			}
		}
		b.want(b.post("/portal/endpoints", url.Values{"url": {"https://hooks.example/new"}, "events": {"*"}}), 200,
			"Signing secret")
		list, err := f.service.Webhooks.Endpoints(ctx, key.Account)
		must(t, err)
		if len(list) != 2 {
			t.Errorf("%s has %d endpoints, want the first and the new one", name, len(list))
		}
	}
}

// TestActs: test, pause, enable, replay and resend act, and the audit log names the customer.
func TestActs(t *testing.T) {
	f := newFixture(t)
	e := f.endpoint("acme")
	f.mission("1", "acme")
	page := "/portal/endpoints/" + e.ID
	delivery := page + "/deliveries/" + f.deliveries(e.ID)[0].ID
	b := f.opened(fieldmark.PortalLinkRequest{Customer: "acme", Filter: of("acme")})
	b.want(b.post(page, url.Values{"do": {"ping"}}), 200, "The receiver accepted the message")
	b.want(b.post(page, url.Values{"do": {"pause"}, "reason": {"migration"}}), 303, "")
	b.want(b.get(page), 200, "migration")
	b.want(b.post(delivery, nil), 303, "")
	b.want(b.get(delivery), 200, "queued for resending")
	b.want(b.post(page, url.Values{"do": {"enable"}}), 303, "")
	for _, do := range []string{"recover", "replay"} {
		b.want(b.post(page, url.Values{"do": {do}, "since": {""}}), 422, "Since: enter a date and a time.")
		b.want(b.post(page, since(do)), 303, "")
	}
	b.want(b.get(page), 200, "Replays")
	entries, err := f.service.AuditLog.List(t.Context(), 0, auditlog.Filter{}, 50)
	must(t, err)
	acts := map[string]int{}
	for _, entry := range entries {
		if entry.Kind == fieldmark.ActorPortal && entry.Actor == "acme" {
			acts[entry.Act]++
		}
	}
	want := map[string]int{"portal_link.opened": 1, "webhook.tested": 1, "webhook.updated": 2, "delivery.resent": 1,
		"webhook.replayed": 2}
	if fmt.Sprint(acts) != fmt.Sprint(want) {
		t.Errorf("audit log %v, want %v", acts, want)
	}
}

// TestReadOnly: a session that is read-only has no forms, and is refused every act.
func TestReadOnly(t *testing.T) {
	f := newFixture(t)
	e := f.endpoint("acme")
	f.mission("1", "acme")
	page := "/portal/endpoints/" + e.ID
	delivery := page + "/deliveries/" + f.deliveries(e.ID)[0].ID
	b := f.opened(fieldmark.PortalLinkRequest{Customer: "acme", Filter: of("acme"), ReadOnly: true})
	for _, path := range []string{"/portal/", page, delivery} {
		w := b.get(path)
		b.want(w, 200, "")
		for _, form := range formtest.Parse(t, w.Body.String()) {
			if form.Action != "/portal/leave" {
				t.Errorf("%s has a form for %s", path, form.Action)
			}
		}
	}
	b.want(b.post("/portal/endpoints", url.Values{"url": {f.hook}}), 403, "can only read")
	b.want(b.post(delivery, nil), 403, "can only read")
	for _, do := range []string{"ping", "pause", "enable", "recover", "replay"} {
		b.want(b.post(page, since(do)), 403, "can only read")
	}
	named := f.opened(fieldmark.PortalLinkRequest{Endpoints: []string{e.ID}})
	named.want(named.post("/portal/endpoints", url.Values{"url": {f.hook}}), 403, "creates no endpoints")
}

// TestCrossSite: a form of another site is refused.
func TestCrossSite(t *testing.T) {
	f := newFixture(t)
	b := f.opened(fieldmark.PortalLinkRequest{})
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/portal/endpoints", strings.NewReader("url="+f.hook))
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	b.want(b.do(r), 403, "came from another site")
}

// TestLinkErrors: what a link may not have.
func TestLinkErrors(t *testing.T) {
	f := newFixture(t)
	bolt := f.endpoint("bolt")
	eleven := slices.Repeat([]string{bolt.ID}, 11)
	for want, r := range map[string]fieldmark.PortalLinkRequest{
		"/filter":      {Customer: "acme"},
		"/endpoints":   {Endpoints: eleven},
		"/endpoints/0": {Customer: "acme", Filter: of("acme"), Endpoints: []string{bolt.ID}},
		"/minutes":     {Minutes: 61},
		"/returnUrl":   {ReturnURL: "http://acme.example/"},
	} {
		_, err := f.service.Portal.Create(t.Context(), &f.key.Key, r)
		if e := fieldmark.AsError(err); e.Code != fieldmark.CodeValidationFailed || e.Fields[0].Pointer != want {
			t.Errorf("%+v: %v, want an error of %s", r, err, want)
		}
	}
}

// TestWalkForms sends every form of the pages with bad values: see formtest.Walker.
func TestWalkForms(t *testing.T) {
	f := newFixture(t)
	e := f.endpoint("acme")
	f.mission("1", "acme")
	b := f.opened(fieldmark.PortalLinkRequest{Customer: "acme", Filter: of("acme")})
	w := formtest.Walker{Sent: map[string]bool{},
		Get: func(path string) string { return b.get(path).Body.String() },
		Post: func(action string, form url.Values) (int, string) {
			rec := b.post(action, form)
			return rec.Code, rec.Body.String()
		},
		Skip: func(f formtest.Form) bool { return f.Action == "/portal/leave" }}
	page := "/portal/endpoints/" + e.ID
	for range 2 { // enabled, then paused
		for _, path := range []string{"/portal/", page, page + "/deliveries/" + f.deliveries(e.ID)[0].ID} {
			w.Walk(t, path)
		}
		b.post(page, url.Values{"do": {"pause"}})
	}
	if len(w.Sent) < 7 {
		t.Errorf("found only %d forms", len(w.Sent))
	}
}
