package edge_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
	"github.com/fieldmark/fieldmark/edge/spool"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/client"
)

// unplugged is a transport whose origin refuses connections while it is set.
type unplugged struct {
	down atomic.Bool
	next http.RoundTripper
}

func (u *unplugged) RoundTrip(r *http.Request) (*http.Response, error) {
	if u.down.Load() {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return u.next.RoundTrip(r)
}

// spoolFixture is a fixture whose edge has a spool, and the switch of its connection to the origin.
func spoolFixture(t *testing.T) (*fixture, *unplugged, string) {
	t.Helper()
	line := &unplugged{}
	dir := t.TempDir()
	h := newFixture(t, func(cfg *edge.Config) {
		s, err := spool.Open(t.Context(), spool.Config{Dir: dir, Tokens: []string{nodeToken}})
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		up, err := upstream.New(upstream.Config{Origins: []*url.URL{cfg.OriginURL}})
		must(t, err)
		line.next = up
		cfg.Transport, cfg.Spool, cfg.RateLimit = line, s, edge.RateLimitLocal
		cfg.Origin, err = client.New(client.Config{BaseURL: cfg.OriginURL.String(), NodeToken: nodeToken,
			Transport: line})
		must(t, err)
	})
	key := h.key(0, 0)
	if a := h.get(fieldmark.PathMissions, "Authorization", key); a.status != 200 { // the edge records the key
		t.Fatalf("the first request: %d %s", a.status, a.body)
	}
	return h, line, key
}

const aMission = `{"source":"desk","externalId":"1","title":"Replace the router"}`

func (h *fixture) sendMission(key, body string, header ...string) answer {
	h.t.Helper()
	return h.do("POST", fieldmark.PathMissions, body, append([]string{"Authorization", key, "Content-Type",
		"application/json", "Prefer", "respond-async"}, header...)...)
}

func (h *fixture) intake(a answer, state fieldmark.IntakeState) (in fieldmark.Intake) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(a.body), &in); err != nil || in.State != state {
		h.t.Fatalf("%d %s, want the state %s", a.status, a.body, state)
	}
	return in
}

// TestSpool sends requests while the origin is unreachable, asks for them, and asks again when it is back.
func TestSpool(t *testing.T) {
	h, line, key := spoolFixture(t)
	if a := h.sendMission(key, strings.Replace(aMission, `"1"`, `"0"`, 1)); a.status != 201 {
		t.Errorf("with an origin: %d %s, want 201", a.status, a.body)
	}
	line.down.Store(true)
	a := h.sendMission(key, aMission)
	in := h.intake(a, fieldmark.IntakeAccepted)
	if a.status != 202 || a.header.Get("Preference-Applied") != "respond-async" ||
		a.header.Get("Location") != fieldmark.PathIntake+in.ID || in.Source != "desk" || in.ExternalID != "1" ||
		a.header.Get("Cache-Control") != "no-store" || !strings.Contains(a.header.Get("RateLimit"), "writes") {
		t.Errorf("accepted: %d %v %s", a.status, a.header, a.body)
	}
	spaced := strings.ReplaceAll(aMission, ",", " , ")
	if again := h.intake(h.sendMission(key, spaced), fieldmark.IntakeAccepted); again.ID != in.ID {
		t.Errorf("sent again: %s, want %s", again.ID, in.ID)
	}
	if got := h.intake(h.get(fieldmark.PathIntake+in.ID, "Authorization", key),
		fieldmark.IntakeAccepted); got.ID != in.ID {
		t.Errorf("asked: %+v", got)
	}
	h.wantProblem(h.sendMission(key, strings.Replace(aMission, "router", "switch", 1)), 409,
		fieldmark.CodeMissionExists)
	h.wantProblem(h.sendMission(key, `{"source":"desk","externalId":"2","titel":"x"}`), 422,
		fieldmark.CodeValidationFailed)
	h.wantProblem(h.sendMission(key, `{"source":"desk"}`), 422, fieldmark.CodeValidationFailed)
	h.wantProblem(h.sendMission(key, `{"source":`), 400, fieldmark.CodeMalformedJSON)
	alert := `{"version":"4","groupKey":"g","status":"firing","alerts":[{"status":"firing",` +
		`"labels":{"alertname":"Down"},"startsAt":"2026-11-21T08:00:00Z","fingerprint":"0123456789abcdef"}]}`
	fired := h.intake(h.do("POST", fieldmark.PathAlerts+"alertmanager", alert, "Authorization", key, "Content-Type",
		"application/json"), fieldmark.IntakeAccepted)
	unavailable := func(what string, a answer) {
		t.Helper()
		if a.status != 503 || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s, want 503 as without a spool", what, a.status, a.body)
		}
	}
	unavailable("no preference", h.sendMission(key, aMission, "Prefer", "return=minimal"))
	unavailable("another key", h.sendMission("Bearer "+unknownKey(h), aMission))
	unavailable("no key", h.sendMission("", aMission))
	unavailable("of an agent", h.do("POST", fieldmark.PathMissions+"/batch", `{"missions":[`+aMission+`]}`,
		"Authorization", key, "Content-Type", "application/json", "Prefer", "respond-async"))
	unavailable("a dry run", h.do("POST", fieldmark.PathMissions+"?dryRun=true", aMission,
		"Authorization", key, "Content-Type", "application/json", "Prefer", "respond-async"))

	line.down.Store(false)
	h.until("both are sent", func() bool {
		_, err := h.service.Intake.Get(t.Context(), "", fired.ID)
		_, err2 := h.service.Intake.Get(t.Context(), "", in.ID)
		return err == nil && err2 == nil
	})
	h.intake(h.get(fieldmark.PathIntake+fired.ID, "Authorization", key), fieldmark.IntakeMission)
	done := h.intake(h.get(fieldmark.PathIntake+in.ID, "Authorization", key), fieldmark.IntakeMission)
	m, err := h.service.Missions.Get(t.Context(), access.DefaultAccount, done.Missions[0])
	must(t, err)
	if m.ExternalID != "1" || m.CreatedAt.Micros()/1e6 > done.AcceptedAt.Micros()/1e6+1 {
		t.Errorf("mission %+v of %+v", m, done)
	}
	if a := h.sendMission(key, aMission); a.status != 200 || a.header.Get(fieldmark.HeaderDeduplicated) != "true" {
		t.Errorf("sent again when the origin is back: %d %s, want 200 and the mission", a.status, a.body)
	}
	list, err := h.service.Missions.List(t.Context(), "", fieldmark.MissionFilter{Limit: 100})
	must(t, err)
	if len(list.Data) != 3 {
		t.Errorf("%d missions, want 3", len(list.Data))
	}
}

// unknownKey is a valid token that the edge has not seen.
func unknownKey(h *fixture) string {
	h.t.Helper()
	k, err := h.service.Access.Keys.Create(h.t.Context(), access.DefaultAccount, fieldmark.KeyRequest{Name: "unseen",
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate}})
	must(h.t, err)
	return k.Token
}

// TestSpoolRefusals: a key is revoked and a mission is created by another edge while the origin is unreachable. The
// console lists both requests, and nothing else is created.
func TestSpoolRefusals(t *testing.T) {
	h, line, key := spoolFixture(t)
	revoked := h.key(0, 0)
	if a := h.get(fieldmark.PathMissions, "Authorization", revoked); a.status != 200 {
		t.Fatal(a.status)
	}
	line.down.Store(true)
	first := h.intake(h.sendMission(key, aMission), fieldmark.IntakeAccepted)
	second := h.intake(h.sendMission(revoked, strings.Replace(aMission, `"1"`, `"2"`, 1)), fieldmark.IntakeAccepted)
	keys, err := h.service.Access.Keys.List(t.Context())
	must(t, err)
	for _, k := range keys {
		if strings.HasPrefix(strings.TrimPrefix(revoked, "Bearer "), k.Prefix) {
			_, err := h.service.Access.Keys.Revoke(t.Context(), k.ID, "lost")
			must(t, err)
		}
	}
	_, _, err = h.service.Missions.Create(t.Context(), access.DefaultAccount, fieldmark.MissionRequest{Source: "desk",
		ExternalID: "1", Title: "Of another edge", Priority: fieldmark.PriorityMedium})
	must(t, err)
	line.down.Store(false)
	h.until("both are refused", func() bool {
		list, err := h.service.Intake.Refused(t.Context())
		must(t, err)
		return len(list) == 2
	})
	if got := h.intake(h.get(fieldmark.PathIntake+first.ID, "Authorization", key),
		fieldmark.IntakeRefused); got.Code != fieldmark.CodeMissionExists {
		t.Errorf("%+v, want mission_exists", got)
	}
	if got := h.intake(h.get(fieldmark.PathIntake+second.ID, "Authorization", key),
		fieldmark.IntakeRefused); got.Code != fieldmark.CodeInvalidAPIKey {
		t.Errorf("%+v, want invalid_api_key", got)
	}
	h.wantProblem(h.get(fieldmark.PathIntake+second.ID, "Authorization", revoked), 401, fieldmark.CodeInvalidAPIKey)
}

// TestSpoolOverloaded accepts requests while the origin answers that it is overloaded, and keeps the order of the
// notifications of a source when it takes requests again.
func TestSpoolOverloaded(t *testing.T) {
	h, _, key := spoolFixture(t)
	var overloaded atomic.Bool
	overloaded.Store(true)
	intercept := interceptor(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !overloaded.Load() {
			return false
		}
		w.Header().Set("Content-Type", fieldmark.ProblemType)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"code":"overloaded","status":503}`))
		return true
	})
	h.intercept.Store(&intercept)
	notification := func(status string) answer {
		return h.do("POST", fieldmark.PathAlerts+"alertmanager?source=prom", `{"version":"4","groupKey":"g","status":"`+
			status+`","alerts":[{"status":"`+status+`","labels":{"alertname":"Down"},`+
			`"startsAt":"2026-11-21T08:00:00Z","fingerprint":"0123456789abcdef"}]}`,
			"Authorization", key, "Content-Type", "application/json")
	}
	h.intake(notification("firing"), fieldmark.IntakeAccepted)
	overloaded.Store(false)
	// It must not overtake the one that waits; if that was sent by now, it is answered by the origin.
	if a := notification("resolved"); a.status != 202 && a.status != 200 {
		t.Errorf("resolved: %d %s", a.status, a.body)
	}
	h.until("the alert is resolved", func() bool {
		list, err := h.service.Missions.List(t.Context(), "", fieldmark.MissionFilter{Limit: 10})
		must(t, err)
		return len(list.Data) == 1 && list.Data[0].Occurrences != nil && list.Data[0].Occurrences.ResolvedAt != nil
	})
}
