package api_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// TestDeliveryOfAWorld sends an event of a live account and one of its test world to a receiver with a public
// address. Addresses on the loopback network, which live endpoints may have here, are refused in a world: when
// an endpoint is created or changed, and when a message is sent.
func TestDeliveryOfAWorld(t *testing.T) {
	type message struct {
		head http.Header
		body []byte
	}
	received := make(chan message, 10)
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- message{r.Header, body}
	}))
	defer receiver.Close()
	internal := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a message of a test world reached the loopback network")
	}))
	defer internal.Close()
	roots := x509.NewCertPool()
	roots.AddCert(receiver.Certificate())
	fx := openFixture(t, storetest.New(t), nil, func(c *origin.Config) {
		c.HTTP = safehttp.New(safehttp.Config{Roots: roots, Targets: true,
			Allow:     []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
			ConnectTo: map[string]string{"example.com:443": receiver.Listener.Addr().String()}})
	})
	live, key := fx.keyWithEveryScopeAndWebhooks(), fx.testKeyOf("default").Token
	endpoint := func(key, url string) (e fieldmark.NewEndpoint) {
		t.Helper()
		fx.mustSend(201, request{"POST", hooksPath, key, fmt.Sprintf(`{"url":%q,"events":["mission.created"]}`, url),
			nil}, &e)
		return e
	}
	unsent := endpoint(live, internal.URL) // which a live account may have
	fx.mustSend(204, request{"DELETE", hooksPath + "/" + unsent.ID, live, "", nil}, nil)
	ofLive, ofWorld := endpoint(live, "https://example.com/live"), endpoint(key, "https://example.com/world")
	moved := endpoint(key, "https://example.com/moved")
	for _, refused := range []request{
		{"POST", hooksPath, key, fmt.Sprintf(`{"url":%q,"events":["mission.created"]}`, internal.URL), nil},
		{"PATCH", hooksPath + "/" + ofWorld.ID, key, fmt.Sprintf(`{"url":%q}`, internal.URL), nil},
		{"PATCH", hooksPath + "/" + ofWorld.ID, key, fmt.Sprintf(`{"auth":{"kind":"oauth2","clientId":"a",`+
			`"clientSecret":"b","tokenUrl":%q}}`, internal.URL), nil},
	} {
		p := fx.problem(fx.send(refused))
		if p.Status != 422 || len(p.Errors) != 1 || !strings.HasSuffix(strings.ToLower(p.Errors[0].Pointer), "url") {
			t.Errorf("%s %s: %+v, want 422 about the URL", refused.method, refused.body, p)
		}
	}
	// as if the name had another address now
	fx.exec(fmt.Sprintf(`UPDATE endpoint SET url = '%s' WHERE id = '%s'`, internal.URL, moved.ID))
	for _, k := range []string{live, key} {
		fx.mustSend(201, request{"POST", fieldmark.PathMissions, k,
			`{"source":"crm","externalId":"1","title":"Mend the door"}`, nil}, nil)
	}
	fx.run()
	for range 2 {
		m := <-received
		secret, test := ofLive.Secret, strings.Contains(string(m.body), `"test":true`)
		if test {
			secret = ofWorld.Secret
		}
		if err := webhook.Verify(secret, m.head, m.body, time.Now()); err != nil {
			t.Errorf("a message with test %v: %v", test, err)
		}
		if got := m.head.Get("fieldmark-test") == "1"; got != test {
			t.Errorf("fieldmark-test = %q in a message with the envelope %s", m.head.Get("fieldmark-test"), m.body)
		}
	}
	deliveries := fx.deliveries(key, ofWorld.ID)
	if len(deliveries) != 1 || len(fx.deliveries(live, ofLive.ID)) != 1 {
		t.Errorf("deliveries of the world: %+v", deliveries)
	}
	for {
		d := fx.deliveries(key, moved.ID)[0]
		if d.Attempts > 0 {
			if !strings.Contains(d.LastError, "address not allowed") {
				t.Errorf("a delivery to the loopback network: %+v", d)
			}
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// deliveries lists the deliveries of an endpoint.
func (fx *fixture) deliveries(key, endpoint string) []fieldmark.Delivery {
	fx.t.Helper()
	var page fieldmark.List[fieldmark.Delivery]
	fx.mustSend(200, request{"GET", hooksPath + "/" + endpoint + "/deliveries", key, "", nil}, &page)
	return page.Data
}

// replayed replays what failed, and returns the replay when it has ended.
func (fx *fixture) replayed(key, endpoint string) (r fieldmark.Replay) {
	fx.t.Helper()
	path := hooksPath + "/" + endpoint + "/replays"
	fx.mustSend(202, request{"POST", path, key, `{"failedSince":"2000-01-01T00:00:00Z"}`, nil}, nil)
	ctx, cancel := context.WithCancel(fx.t.Context())
	done := make(chan error, 1)
	go func() { done <- fx.service.Webhooks.Run(ctx) }()
	for r.State != fieldmark.ReplayDone {
		var list fieldmark.List[fieldmark.Replay]
		fx.mustSend(200, request{"GET", path, key, "", nil}, &list)
		r = list.Data[0]
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		fx.t.Error(err)
	}
	return r
}

// TestLimitsOfAWorld fills a test world up to each of its limits.
func TestLimitsOfAWorld(t *testing.T) { synctest.Test(t, testLimitsOfAWorld) } // within one day

func testLimitsOfAWorld(t *testing.T) {
	fx := openFixture(t, storetest.New(t), nil, func(c *origin.Config) {
		c.HTTP = safehttp.New(safehttp.Config{ConnectTo: map[string]string{"hooks.example:443": "127.0.0.1:9"},
			Targets: true})
	})
	key := fx.testKeyOf("default").Token
	post := func(key string, i int) request {
		return request{"POST", fieldmark.PathMissions, key,
			fmt.Sprintf(`{"source":"crm","externalId":"%d","title":"Mend the door"}`, i), nil}
	}
	refuse := func(a request, status int, code fieldmark.Code, text string) {
		t.Helper()
		if p := fx.problem(fx.send(a)); p.Status != status || p.Code != code ||
			!strings.Contains(p.Detail+fmt.Sprint(p.Errors), text) {
			t.Errorf("%s %s: %+v, want %d %s about %s", a.method, a.path, p, status, code, text)
		}
	}

	hook := request{"POST", hooksPath, key, `{"url":"https://hooks.example/","events":["mission.created"]}`, nil}
	var first fieldmark.NewEndpoint
	fx.mustSend(201, hook, &first)
	fx.mustSend(201, post(key, 1), nil)
	count := func(day string, deliveries int) {
		t.Helper()
		fx.exec(fmt.Sprintf(`UPDATE account_use SET day = %s, deliveries = %d WHERE account = 'default~test'`, day,
			deliveries))
	}
	wantDeliveries := func(want int) {
		t.Helper()
		if n := len(fx.deliveries(key, first.ID)); n != want {
			t.Errorf("%d deliveries, want %d", n, want)
		}
	}
	count("day", fieldmark.TestDeliveriesPerDay-1)
	fx.mustSend(201, post(key, 2), nil)
	wantDeliveries(2)
	fx.mustSend(201, post(key, 3), nil)
	wantDeliveries(2)
	var events fieldmark.PolledEvents
	if fx.mustSend(200, request{"GET", fieldmark.PathPublicEvents, key, "", nil}, &events); len(events.Data) < 3 {
		t.Errorf("%d events can be polled beyond the limit of deliveries, want three at least", len(events.Data))
	}
	// A test message, a resend and a replay of both are deliveries, too.
	fx.exec(`UPDATE delivery SET state = 'failed'`)
	one := hooksPath + "/" + first.ID
	refuse(request{"POST", one + "/test", key, "", nil}, 429, fieldmark.CodeDailyLimit, "100000 deliveries")
	refuse(request{"POST", one + "/deliveries/" + fx.deliveries(key, first.ID)[0].ID + "/resend", key, "", nil}, 429,
		fieldmark.CodeDailyLimit, "100000 deliveries")
	count("day", fieldmark.TestDeliveriesPerDay-1)
	if r := fx.replayed(key, first.ID); r.Looked != 2 || r.Queued != 1 {
		t.Errorf("the replay queued %d of %d messages, want 1 of 2", r.Queued, r.Looked)
	}
	count("day - 1", fieldmark.TestDeliveriesPerDay) // the next day
	fx.mustSend(201, post(key, 4), nil)
	wantDeliveries(3)

	for range fieldmark.TestEndpoints - 1 {
		fx.mustSend(201, hook, nil)
	}
	refuse(hook, 422, fieldmark.CodeValidationFailed, "at most 10 endpoints")
	fx.mustSend(204, request{"DELETE", hooksPath + "/" + first.ID, key, "", nil}, nil)
	fx.mustSend(201, hook, nil)

	const more = fieldmark.TestMissions - 5
	fx.exec(fmt.Sprintf(`INSERT INTO mission (id, account, source_key, external_id, fingerprint, request, status, held,
		created_at, updated_at, version, priority, world)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT 'msn_' || i, 'default~test', 'bulk', 'x' || i, 'f', '{}', 'NEW', '', i, i, 1, 'MEDIUM', 'default~test'
		FROM n`, more))
	fx.mustSend(201, post(key, 5), nil)
	refuse(post(key, 6), 409, fieldmark.CodeTooMany, "10000 missions")
	fx.mustSend(200, post(key, 5), nil)
	fx.mustSend(201, post(fx.creator, 6), nil)
}
