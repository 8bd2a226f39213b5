package api_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
)

// receiver is a webhook receiver that accepts everything.
func receiver(t testing.TB) (url string) {
	t.Helper()
	return httptestServer(t, func(http.ResponseWriter, *http.Request) {})
}

func httptestServer(t testing.TB, serve http.HandlerFunc) (url string) {
	t.Helper()
	s := httptest.NewUnstartedServer(serve)
	s.Config.SetKeepAlivesEnabled(false) // connections are bound to one synctest bubble
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// hook registers a webhook endpoint with more members than its URL.
func (fx *fixture) hook(url, more string) string {
	fx.t.Helper()
	var e fieldmark.NewEndpoint
	body := fmt.Sprintf(`{"url":%q,"ordering":"mission"%s}`, url, more)
	fx.mustSend(201, request{method: "POST", path: hooksPath, key: fx.key(access.DefaultAccount,
		fieldmark.ScopeWebhookManage),
		body: body}, &e)
	return hooksPath + "/" + e.ID
}

// describe changes the description of a mission, which appends one event.
func (fx *fixture) describe(m fieldmark.Mission, text string) {
	fx.t.Helper()
	key := fx.key(access.DefaultAccount, fieldmark.ScopeMissionUpdate)
	fx.mustSend(200, request{method: "PATCH", path: fieldmark.PathMissions + "/" + m.ID, key: key,
		body: fmt.Sprintf(`{"description":%q}`, text)}, nil)
}

// deliveryStates lists the states of deliveries to an endpoint, oldest first.
func (fx *fixture) deliveryStates(hook string) (states []string) {
	fx.t.Helper()
	var list fieldmark.List[fieldmark.Delivery]
	fx.mustSend(200, request{method: "GET", path: hook + "/deliveries", key: fx.key(access.DefaultAccount,
		fieldmark.ScopeWebhookManage)}, &list)
	slices.SortFunc(list.Data, func(a, b fieldmark.Delivery) int { return cmp.Compare(a.EventNumber, b.EventNumber) })
	for _, d := range list.Data {
		states = append(states, string(d.State))
	}
	return states
}

// An ordered endpoint sends the next delivery of a topic after the first one has ended,
// regardless of how it ended.
func TestOrderedEndpoint(t *testing.T) {
	url := receiver(t)
	second := []byte(strings.Repeat("z", 32))
	for name, c := range map[string]struct {
		more    string                         // of the endpoint
		between func(fx *fixture, hook string) // created and first change, then this, then a second change
		restart func(*origin.Config)           // nil: the same origin goes on
		then    func(fx *fixture, hook string) // after the second change, while the workers run
		want    []string                       // states of the three deliveries at the end
	}{
		"held: deliver": {more: `,"paused":true`, then: enable("deliver"), want: []string{"done", "done", "done"}},
		"held: newest":  {more: `,"paused":true`, then: enable("newest"), want: []string{"failed", "failed", "done"}},
		"held: skip":    {more: `,"paused":true`, then: enable("skip"), want: []string{"failed", "failed", "failed"}},
		"retention deletes the first": {more: `,"paused":true`, between: func(*fixture,
			string) {
			time.Sleep(9 * time.Second)
		},
			restart: func(c *origin.Config) { c.KeepDeliveries = 7 * time.Second }, then: enable("deliver"),
			want: []string{"done"}},
		"the secret cannot be read": {more: `,"retry":{"steps":[1]}`,
			restart: func(c *origin.Config) { c.Secret = second },
			want:    []string{"failed", "failed", "failed"}},
		"an earlier defect": {more: `,"paused":true`, between: func(fx *fixture, hook string) {
			fx.exec(`UPDATE delivery SET state = 'failed', lease_until = NULL WHERE state = 'due'`)
		}, then: enable("deliver"), want: []string{"failed", "done", "done"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := storetest.New(t)
				fx := openFixture(t, at, nil)
				hook := fx.hook(url, c.more)
				m := fx.createMission(name)
				fx.describe(m, "one")
				if c.between != nil {
					c.between(fx, hook)
				}
				fx.describe(m, "two")
				if c.restart != nil {
					fx = openFixture(t, at, nil, c.restart)
				}
				stop := fx.run()
				defer stop()
				time.Sleep(time.Second) // virtual: ids of one instant have no order
				if c.then != nil {
					c.then(fx, hook)
				}
				time.Sleep(70 * time.Second) // virtual: the sweeper runs once a minute
				if got := fx.deliveryStates(hook); !slices.Equal(got, c.want) {
					t.Errorf("deliveries %v, want %v", got, c.want)
				}
				if c.then == nil {
					return
				}
				fx.describe(m, "three")
				time.Sleep(time.Second)
				if got, want := fx.deliveryStates(hook), append(slices.Clone(c.want), "done"); !slices.Equal(got,
					want) {
					t.Errorf("after one more event: deliveries %v, want %v", got, want)
				}
			})
		})
	}
}

// enable enables an endpoint; held is the action for the held messages.
func enable(held string) func(*fixture, string) {
	return func(fx *fixture, hook string) {
		fx.mustSend(200, request{method: "PATCH", path: hook, key: fx.key(access.DefaultAccount,
			fieldmark.ScopeWebhookManage),
			body: fmt.Sprintf(`{"state":"enabled","held":%q}`, held)}, nil)
	}
}
