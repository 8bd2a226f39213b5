package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// integrations is the folder of templates.
var integrations = filepath.Join("..", "..", "deploy", "integrations")

// liquid pins the template engine of Uptime Kuma.
const liquid = `{"private": true, "dependencies": {"liquidjs": "10.30.1"}}`

func template(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(integrations, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// missionTexts lists the missions of a source, newest first, one line each.
func (fx *fixture) missionTexts(source string) []string {
	fx.t.Helper()
	page, err := fx.service.Missions.List(fx.t.Context(), access.DefaultAccount,
		fieldmark.MissionFilter{Source: source})
	if err != nil {
		fx.t.Fatal(err)
	}
	lines := []string{}
	for _, m := range page.Data {
		lines = append(lines, fmt.Sprintf("%s %s %s", m.Status, m.Priority, m.Title))
	}
	return lines
}

func (fx *fixture) wantMissions(source string, want ...string) {
	fx.t.Helper()
	if diff := cmp.Diff(want, fx.missionTexts(source)); diff != "" {
		fx.t.Errorf("missions of %s (-want +got):\n%s", source, diff)
	}
}

// TestTemplates renders the templates with the engine of their tool and recorded values,
// and sends the results to the API.
func TestTemplates(t *testing.T) {
	fx := newFixture(t, nil)
	fill := func(text string, oldAndNew ...string) string { return strings.NewReplacer(oldAndNew...).Replace(text) }
	escaped := `Disk \"db-1\" is full\nsee the graph`
	datadog := func(transition, title string) string {
		return fill(template(t, "datadog/payload.json"), "$ORG_ID", "12", "$ALERT_CYCLE_KEY", "7261",
			"$ALERT_TRANSITION",
			transition, "$LINK", "https://app.datadoghq.com/event/1",
			"$ALERT_ID", "99", "$ALERT_PRIORITY", "P2", "$ALERT_SCOPE", "host:db-1", "$HOSTNAME", "db-1",
			"$EVENT_TITLE",
			title, "$TEXT_ONLY_MSG", escaped)
	}
	const toDatadog = alertmanager + "?source=datadog"
	fx.wantReport("triggered", toDatadog, datadog("Triggered", escaped), "1: 1c 0m 0r 0i")
	fx.wantReport("renotified", toDatadog, datadog("Renotify", "[Renotify] "+escaped), "1: 0c 1m 0r 0i")
	fx.wantReport("recovered", toDatadog, datadog("Recovered", "[Recovered] "+escaped), "1: 0c 0m 1r 0i")
	fx.wantMissions("datadog", `NEW HIGH Disk "db-1" is full see the graph`)
	if h := template(t, "datadog/headers.json"); !json.Valid([]byte(h)) {
		t.Errorf("headers of Datadog: %s", h)
	}

	var blueprint struct {
		Flow []struct {
			Mapper struct{ URL, Data, ContentType string }
		}
	}
	if err := json.Unmarshal([]byte(template(t, "make/blueprint.json")), &blueprint); err != nil {
		t.Fatal(err)
	}
	module := blueprint.Flow[1].Mapper
	body := fill(module.Data, "{{1.id}}", "m-1", "{{1.title}}", "Swap the disk", "{{1.priority}}", "urgent",
		"{{1.description}}", "In rack 4")
	for _, status := range []int{201, 200} {
		fx.mustSend(status, request{method: "POST", path: strings.TrimPrefix(module.URL, "https://fieldmark.example"),
			key: fx.creator, body: body, header: map[string]string{"Content-Type": module.ContentType}}, nil)
	}
	fx.wantMissions("make", "NEW CRITICAL Swap the disk")

	// The README links the page of every tool, and the templates contain the URL of a route.
	for _, tool := range []string{"alertmanager", "grafana", "datadog", "uptime-kuma", "zabbix", "servicenow", "n8n",
		"make", "curl"} {
		if !strings.Contains(template(t, "README.md"), "("+tool+"/README.md)") ||
			len(template(t, tool+"/README.md")) < 100 {
			t.Errorf("%s is not documented", tool)
		}
	}
	for _, name := range []string{"alertmanager/receiver.yml", "grafana/contact-point.yaml"} {
		if text := template(t, name); !strings.Contains(text, "https://fieldmark.example"+fieldmark.PathAlerts) {
			t.Errorf("%s leads nowhere:\n%s", name, text)
		}
	}
	if tool, err := exec.LookPath("amtool"); err == nil {
		if said, err := exec.Command(tool, "check-config", filepath.Join(integrations, "alertmanager",
			"receiver.yml")).CombinedOutput(); err != nil {
			t.Errorf("amtool: %v: %s", err, said)
		}
	}
}

// TestTemplatePrograms runs the templates that are programs.
func TestTemplatePrograms(t *testing.T) {
	fx := newFixture(t, nil)
	server := httptest.NewServer(fx.handler)
	defer server.Close()
	key := fx.key(access.DefaultAccount, fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead,
		fieldmark.ScopeMissionCancel)

	script, err := filepath.Abs(filepath.Join(integrations, "curl", "open-mission.sh"))
	if err != nil {
		t.Fatal(err)
	}
	open := func(args ...string) (string, error) {
		c := exec.CommandContext(t.Context(), "sh", append([]string{script}, args...)...)
		c.Env = append(os.Environ(), "FIELDMARK_URL="+server.URL, "FIELDMARK_API_KEY="+key, "NO_PROXY=*", "no_proxy=*")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if _, err := exec.LookPath("curl"); err != nil {
		lacking(t, "curl is not installed: %v", err)
	}
	const title = `Backup "db-1" \ failed; it's ümlaut & <b>`
	for range 2 {
		said, err := open("b-1", title, "high", "first line\nsecond\tline \"q\"\r\n\x01end")
		var m fieldmark.Mission
		if err != nil || json.Unmarshal([]byte(said), &m) != nil || m.Title != title ||
			m.Description != "first line\nsecond\tline \"q\"\nend" {
			t.Errorf("curl: %v, %q: %s", err, m.Description, said)
		}
	}
	if said, err := open("b-2", ""); err == nil || !strings.Contains(said, "validation_failed") {
		t.Errorf("curl with no title: %v: %s, want it to fail and say why", err, said)
	}
	fx.wantMissions("shell", "NEW HIGH "+title)

	runner, err := filepath.Abs(filepath.Join("testdata", "integrations.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs(integrations)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "node", runner, folder, server.URL, key)
	c.Dir, c.Env = installLiquid(t), append(os.Environ(), "NO_PROXY=*", "no_proxy=*")
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("templates: %v: %s", err, said)
	}
	const hostile = `Router "7" \ is down ; it's <b>bad</b> ümlaut`
	fx.wantMissions("zabbix", "NEW MEDIUM "+hostile+strings.Repeat("x", 200-len([]rune(hostile))),
		"CANCELED CRITICAL "+hostile+strings.Repeat("x", 200-len([]rune(hostile))))
	fx.wantMissions("servicenow", "NEW HIGH "+hostile)
	fx.wantMissions("n8n", "NEW MEDIUM "+hostile)
	fx.wantMissions("uptime-kuma", "NEW HIGH Test", "CANCELED HIGH ["+hostile+"] [🔴 Down] timeout")
}

// installLiquid returns the folder with liquidjs and installs it on the first call.
func installLiquid(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			lacking(t, "%s is not on the PATH: %v", program, err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		lacking(t, "no folder to keep liquidjs in: %v", err)
	}
	folder := filepath.Join(cache, "fieldmark-npm", "integrations")
	if have, err := os.ReadFile(filepath.Join(folder, "package.json")); err == nil && string(have) == liquid {
		return folder
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	// renamed when complete, so that an incomplete installation is never used
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "integrations-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	if err := os.WriteFile(filepath.Join(fresh, "package.json"), []byte(liquid), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
		"--no-package-lock", "--loglevel=error")
	c.Dir = fresh
	if said, err := c.CombinedOutput(); err != nil {
		lacking(t, "npm could not install liquidjs (a network to the package registry is needed once): %v: %.500s", err,
			said)
	}
	if err := errors.Join(os.RemoveAll(folder), os.Rename(fresh, folder)); err != nil {
		t.Fatal(err)
	}
	return folder
}

// lacking skips a test on a developer's machine and fails it in CI.
func lacking(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
