package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

// manager is a real Alertmanager that sends notifications to the API.
type manager struct {
	t    *testing.T
	w    *fixture
	base string

	mu    sync.Mutex
	heard []heard // requests of Alertmanager and the responses
	log   bytes.Buffer
}

type heard struct {
	agent, body string
	status      int
	retryAfter  string
}

// config has short intervals. Each device is a group. Alerts with a team go to a receiver
// that creates one mission per alert and cancels the missions of resolved alerts.
const managerConfig = `
route:
  receiver: groups
  group_by: [device]
  group_wait: 1s
  group_interval: 300ms
  repeat_interval: 600ms
  routes:
    - match: {team: field}
      receiver: each
receivers:
  - name: groups
    webhook_configs:
      - url: %[1]s
        send_resolved: true
        http_config: {authorization: {credentials: %[3]s}}
  - name: each
    webhook_configs:
      - url: %[2]s
        send_resolved: true
        max_alerts: 100
        http_config: {authorization: {credentials: %[3]s}}
`

func startManager(t *testing.T, fx *fixture) *manager {
	t.Helper()
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("the package prometheus-alertmanager is not installed:", err)
	}
	m := &manager{t: t, w: fx}
	ours := httptest.NewServer(http.HandlerFunc(m.listen))
	t.Cleanup(ours.Close)
	dir := t.TempDir()
	config := fmt.Sprintf(managerConfig, ours.URL+alertmanager,
		ours.URL+alertmanager+"?mode=alert&source=each&onResolved=cancel", fx.creator)
	if err := os.WriteFile(filepath.Join(dir, "config.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := porttest.Address(t)
	m.base = "http://" + address + "/api/v2/alerts"
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, program, "--config.file=config.yml", "--storage.path="+dir,
		"--web.listen-address="+address, "--cluster.listen-address=")
	c.Dir, c.Stdout, c.Stderr = dir, &m.log, &m.log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = c.Wait() // the error reports the kill signal
		if t.Failed() {
			t.Logf("Alertmanager:\n%s", m.log.String())
		}
	})
	m.until("Alertmanager answers", func() bool {
		resp, err := http.Get("http://" + address + "/-/ready")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == 200
	})
	return m
}

// listen serves the API and stores each notification with its response.
func (m *manager) listen(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	m.w.handler.ServeHTTP(rec, r)
	for name, values := range rec.Header() {
		rw.Header()[name] = values
	}
	rw.WriteHeader(rec.Code)
	_, _ = rw.Write(rec.Body.Bytes())
	m.mu.Lock()
	m.heard = append(m.heard, heard{r.UserAgent(), string(body), rec.Code, rec.Header().Get("Retry-After")})
	m.mu.Unlock()
}

// until waits for a condition, and shows the last notifications if it does not become true.
func (m *manager) until(what string, true func() bool) {
	m.t.Helper()
	if !waittest.Poll(true) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.t.Fatalf("waited in vain: %s; heard %d: %+v", what, len(m.heard), m.heard[max(0, len(m.heard)-3):])
	}
}

// fire posts alerts in the form "name device severity [team]"; over resolves them.
func (m *manager) fire(over bool, alerts ...string) {
	m.t.Helper()
	var list []map[string]any
	for _, a := range alerts {
		part := append(strings.Fields(a), "")
		one := map[string]any{
			"labels": map[string]string{"alertname": part[0], "device": part[1], "severity": part[2], "team": part[3]},
			"annotations": map[string]string{"summary": part[0] + " of " + part[1],
				"site": "Linz"}, "generatorURL": "https://prometheus.example/",
			"endsAt": time.Now().Add(time.Hour).Format(time.RFC3339Nano),
		}
		if over {
			one["endsAt"] = time.Now().Format(time.RFC3339Nano)
		}
		list = append(list, one)
	}
	body, err := json.Marshal(list)
	if err != nil {
		m.t.Fatal(err)
	}
	resp, err := http.Post(m.base, "application/json", bytes.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
		m.t.Fatalf("Alertmanager takes no alerts: %d %s", resp.StatusCode, said)
	}
}

// of returns the missions of a source, the oldest first.
func (m *manager) of(source string) []fieldmark.Mission {
	m.t.Helper()
	page, err := m.w.service.Missions.List(m.t.Context(), access.DefaultAccount,
		fieldmark.MissionFilter{Source: source})
	if err != nil {
		m.t.Fatal(err)
	}
	list := page.Data
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// only returns the mission of a source and fails unless exactly one exists.
func (m *manager) only(source string) fieldmark.Mission {
	m.t.Helper()
	list := m.of(source)
	if len(list) != 1 {
		m.t.Fatalf("%d missions of %s, want 1", len(list), source)
	}
	return list[0]
}

// TestRealAlertmanager: the alerts that a real Alertmanager fires, repeats, groups and
// resolves create exactly the expected missions, also when they flap. Alertmanager
// repeats a notification that an overloaded origin rejects.
func TestRealAlertmanager(t *testing.T) {
	fx := newFixture(t, nil)
	m := startManager(t, fx)

	m.fire(false, "LinkDown rtr-7 warning", "LinkSlow rtr-7 info")
	m.until("the group opened a mission", func() bool { return len(m.of("alertmanager")) == 1 })
	one := m.only("alertmanager")
	if one.Priority != fieldmark.PriorityMedium || one.Location.Name != "Linz" || one.Labels["device"] != "rtr-7" ||
		!strings.Contains(one.Title, "of rtr-7") || !strings.Contains(one.Description, "LinkDown") ||
		!strings.Contains(one.Description, "LinkSlow") {
		t.Errorf("opened %+v", one.MissionRequest)
	}
	m.until("it repeats", func() bool { return m.only("alertmanager").Occurrences.Count >= 3 })
	m.fire(false, "LinkDead rtr-7 critical")
	m.until("it is more urgent", func() bool { return m.only("alertmanager").Priority == fieldmark.PriorityCritical })
	all := []string{"LinkDown rtr-7 warning", "LinkSlow rtr-7 info", "LinkDead rtr-7 critical"}
	for range 3 { // flaps
		m.fire(true, all...)
		m.until("it is over", func() bool { return m.only("alertmanager").Occurrences.ResolvedAt != nil })
		m.fire(false, all[0])
		m.until("it is back", func() bool { return m.only("alertmanager").Occurrences.ResolvedAt == nil })
	}
	if n := fx.countEventsOf(one.ID, fieldmark.EventMissionSourceResolved); n != 3 {
		t.Errorf("%d events of resolved alerts, want 3", n)
	}

	m.fire(false, "Disk db-1 high field", "Fan db-1 low field")
	m.until("each alert has a mission", func() bool { return len(m.of("each")) == 2 })
	m.fire(true, "Fan db-1 low field")
	m.until("one is called off", func() bool {
		list := m.of("each")
		return list[0].Status == fieldmark.MissionCanceled || list[1].Status == fieldmark.MissionCanceled
	})
	m.fire(false, "Fan db-1 low field")
	m.until("it opens another within the cooldown", func() bool { return len(m.of("each")) == 3 })

	m.busy()
	m.fire(false, "LinkDown rtr-8 warning")
	m.until("the repeat was taken", func() bool { return len(m.of("alertmanager")) == 2 })
	if n := fx.missions(); n != 5 {
		t.Errorf("%d missions, want 5", n)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.heard {
		if !strings.HasPrefix(h.agent, "Alertmanager/") || h.status != 200 && (h.status != 503 || h.retryAfter == "") {
			t.Errorf("answered %d, Retry-After %q to %s: %.300s", h.status, h.retryAfter, h.agent, h.body)
		}
	}
	t.Logf("%d notifications", len(m.heard))
}

// busy blocks the database until a notification of Alertmanager was rejected with 503.
func (m *manager) busy() {
	m.t.Helper()
	fx, free := m.w, make(chan struct{})
	held := make(chan struct{})
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		err := fx.store.Write(context.Background(), func(context.Context, *store.Tx) error {
			close(held)
			<-free
			return nil
		})
		if err != nil {
			m.t.Error(err)
		}
	})
	<-held
	full := make(chan struct{}, 1)
	for i := range 40 {
		all.Go(func() {
			rec := fx.send(request{method: "POST", path: alertmanager, key: fx.creator,
				body: group(fmt.Sprint("end-", i),
					"A/high/resolved")})
			if rec.Code == http.StatusServiceUnavailable {
				select {
				case full <- struct{}{}:
				default:
				}
			} else if rec.Code != 200 {
				m.t.Errorf("while busy: %d %s", rec.Code, rec.Body)
			}
		})
	}
	<-full
	m.mu.Lock()
	before := len(m.heard)
	m.mu.Unlock()
	m.until("a notification was rejected", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, h := range m.heard[before:] {
			if h.status == http.StatusServiceUnavailable {
				return true
			}
		}
		return false
	})
	close(free)
}
