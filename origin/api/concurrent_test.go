package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// concurrentRounds is the number of times that each pair of changes is sent. If read and
// write are not one transaction, about every second round loses one of the changes.
const concurrentRounds = 25

// Two concurrent changes of different members both take effect, in either order.
func TestConcurrentChanges(t *testing.T) {
	fx := newFixture(t, nil)
	url := receiver(t)
	manager, mission := fx.key(access.DefaultAccount, fieldmark.ScopeWebhookManage), fx.keyWithEveryScope()
	patch := func(path, key, body string) request {
		return request{method: "PATCH", path: path, key: key, body: body}
	}
	hook := fx.hook(url, `,"headers":{"X-A":"b"}`)
	m := fieldmark.PathMissions + "/" + fx.createMission("concurrent").ID
	policy := fieldmark.PathAdminAPI + "sla/policies/LOW"
	for name, c := range map[string]struct {
		path, key   string // of the resource; the key can read it
		first, last func(i int) request
		want        func(i int) []string // in the response to a later read
	}{
		"endpoint: description, events": {hook, manager,
			func(i int) request { return patch(hook, manager, fmt.Sprintf(`{"description":"d%d"}`, i)) },
			func(i int) request { return patch(hook, manager, fmt.Sprintf(`{"events":[%q]}`, eventOf(i))) },
			func(i int) []string { return []string{fmt.Sprintf(`"description":"d%d"`, i), eventOf(i)} }},
		"endpoint: url, headers": {hook, manager,
			func(i int) request { return patch(hook, manager, fmt.Sprintf(`{"url":"%s/%d"}`, url, i)) },
			func(i int) request { return patch(hook, manager, fmt.Sprintf(`{"headers":{"X-%d":"x"}}`, i)) },
			func(i int) []string { return []string{fmt.Sprintf(`%s/%d"`, url, i), fmt.Sprintf(`"X-%d"`, i)} }},
		"endpoint: state, rate limit": {hook, manager,
			func(i int) request { return patch(hook, manager, fmt.Sprintf(`{"state":"paused","reason":"r%d"}`, i)) },
			func(i int) request { return patch(hook, manager, fmt.Sprintf(`{"rateLimit":%d}`, i+1)) },
			func(i int) []string {
				return []string{fmt.Sprintf(`"stateReason":"r%d"`, i), fmt.Sprintf(`"rateLimit":%d`, i+1)}
			}},
		"endpoint: signing scheme, settings": {hook, manager,
			func(i int) request {
				return request{method: "POST", path: hook + "/rotate-secret", key: manager,
					body: fmt.Sprintf(`{"signing":"v1%s","overlapHours":0}`, []string{"", "a"}[i%2])}
			},
			func(i int) request { return patch(hook, manager, fmt.Sprintf(`{"maxInFlight":%d}`, i+1)) },
			func(i int) []string {
				return []string{fmt.Sprintf(`"signing":"v1%s"`, []string{"", "a"}[i%2]),
					fmt.Sprintf(`"maxInFlight":%d`, i+1)}
			}},
		"mission: description, priority": {m, mission,
			func(i int) request { return patch(m, mission, fmt.Sprintf(`{"description":"d%d"}`, i)) },
			func(i int) request {
				return patch(m, mission, fmt.Sprintf(`{"priority":%q}`, []string{"LOW", "HIGH"}[i%2]))
			},
			func(i int) []string {
				return []string{fmt.Sprintf(`"description":"d%d"`, i), []string{"LOW", "HIGH"}[i%2]}
			}},
		"mission: labels, plan": {m, mission,
			func(i int) request { return patch(m, mission, fmt.Sprintf(`{"labels":{"round":"l%d"}}`, i)) },
			func(i int) request {
				return request{method: "PUT", path: m + "/plan", key: mission,
					body: fmt.Sprintf(`{"assignee":{"id":"p%d","name":"Ann"}}`, i)}
			},
			func(i int) []string { return []string{fmt.Sprintf(`"round":"l%d"`, i), fmt.Sprintf(`"id":"p%d"`, i)} }},
		"SLA policy: response, resolution": {fieldmark.PathAdminAPI + "sla/policies", fx.admin,
			func(i int) request { return patch(policy, fx.admin, fmt.Sprintf(`{"responseMinutes":%d}`, 100+i)) },
			func(i int) request { return patch(policy, fx.admin, fmt.Sprintf(`{"resolutionMinutes":%d}`, 9000+i)) },
			func(i int) []string {
				return []string{fmt.Sprintf(`"responseMinutes":%d`, 100+i),
					fmt.Sprintf(`"resolutionMinutes":%d`, 9000+i)}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range concurrentRounds {
				fx.sendBoth(c.first(i), c.last(i))
				got := fx.mustSend(200, request{method: "GET", path: c.path, key: c.key}, nil).Body.String()
				for _, want := range c.want(i) {
					if !strings.Contains(got, want) {
						t.Fatalf("round %d: %s and %s at the same time: %s is lost in %s", i, c.first(i).body,
							c.last(i).body, want, got)
					}
				}
			}
		})
	}
}

func eventOf(i int) string { return []string{"sla.breached", "sla.met", "mission.*"}[i%3] }

// sendBoth sends two requests at the same time; both must succeed.
func (fx *fixture) sendBoth(one, other request) {
	fx.t.Helper()
	start := make(chan struct{})
	var all sync.WaitGroup
	for _, a := range []request{one, other} {
		all.Go(func() {
			<-start
			if rec := fx.send(a); rec.Code != http.StatusOK {
				fx.t.Errorf("%s %s %s: %d %s", a.method, a.path, a.body, rec.Code, rec.Body)
			}
		})
	}
	close(start)
	all.Wait()
}

// Write-only credentials are for the host they were given for.
func TestCredentialsDoNotFollowTheURL(t *testing.T) {
	fx := newFixture(t, nil)
	var sent http.Header
	catch := func(rw http.ResponseWriter, r *http.Request) { sent = r.Header.Clone() }
	here, elsewhere := httptestServer(t, catch), httptestServer(t, catch)
	manager := fx.key(access.DefaultAccount, fieldmark.ScopeWebhookManage)
	for _, c := range []struct {
		name, body string // of the patch; %s is the other host
		complaints string
		secret     bool // the new host gets the credentials
	}{
		{"another host", `{"url":"%s/"}`, "/headers /auth", false},
		{"another host and description", `{"url":"%s/","description":"x"}`, "/headers /auth", false},
		{"header fields again", `{"url":"%s/","headers":{"X-Api-Key":"hush-header"}}`, "/auth", false},
		{"none", `{"url":"%s/","headers":{},"auth":{"kind":"none"}}`, "", false},
		{"all again", `{"url":"%s/","headers":{"X-Api-Key":"hush-header"},"auth":{"kind":"bearer",` +
			`"token":"hush-token"}}`,
			"", true},
	} {
		hook := fx.hook(here, `,"headers":{"X-Api-Key":"hush-header"},"auth":{"kind":"bearer","token":"hush-token"}`)
		fx.mustSend(200, request{method: "PATCH", path: hook, key: manager,
			body: `{"url":"` + here + `/another/path"}`}, nil)
		rec := fx.send(request{method: "PATCH", path: hook, key: manager,
			body: strings.ReplaceAll(c.body, "%s", elsewhere)})
		if c.complaints != "" {
			var pointers []string
			for _, f := range fx.problem(rec).Errors {
				if pointers = append(pointers, f.Pointer); f.Code != "required" {
					t.Errorf("%s: %+v, want code required", c.name, f)
				}
			}
			if got := strings.Join(pointers, " "); rec.Code != 422 || got != c.complaints {
				t.Errorf("%s: %d about %q, want 422 about %q", c.name, rec.Code, got, c.complaints)
			}
		} else if rec.Code != 200 {
			t.Errorf("%s: %d %s", c.name, rec.Code, rec.Body)
		}
		var ping fieldmark.PingResult
		fx.mustSend(200, request{method: "POST", path: hook + "/test", key: manager}, &ping)
		var e fieldmark.Endpoint
		fx.mustSend(200, request{method: "GET", path: hook, key: manager}, &e)
		moved := strings.HasPrefix(e.URL, elsewhere)
		got, err := json.Marshal(sent)
		if hush := strings.Count(string(got), "hush"); err != nil || moved != (c.complaints == "") || moved &&
			(hush == 2) != c.secret || !moved && hush != 2 {
			t.Errorf("%s: %s got %s", c.name, e.URL, got)
		}
	}
}
