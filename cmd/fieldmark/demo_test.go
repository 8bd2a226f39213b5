package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/demo"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestDemo follows the README: start, open the pages, embed a badge, post and complete
// a mission, receive the signed webhook, start again.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The demo sites keep their address over the restart: a brand with a new URL is
	// audited again.
	serve := append([]string{"serve", "--demo", "--demo-listen", porttest.Address(t)}, freePorts("var")...)
	p := start(t, dir, serve...)
	p.waitFor("All audits are done.")
	var facts demo.Access
	must(t, json.Unmarshal([]byte(readFile(t, dir, "var", demo.AccessFile)), &facts))

	info, err := os.Stat(filepath.Join(dir, "var", demo.AccessFile))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v, want 0600", demo.AccessFile, info.Mode())
	}
	for name, secret := range map[string]string{"password": facts.AdminPassword, "API key": facts.APIKey} {
		if n := strings.Count(strings.Split(p.printed(), "Paste into")[0], secret); n != 1 {
			t.Errorf("the %s is shown %d times above the lines to paste, want once", name, n)
		}
	}
	board := demoBoard(t, facts)
	demoSites(t, facts, board)
	demoStudy(t, facts)
	demoVerify(t, facts, board)
	demoMission(t, dir, facts)
	demoLint(t, facts)
	p.stop()

	again := start(t, dir, serve...)
	again.waitFor("Every brand was audited before")
	second := demo.Access{}
	must(t, json.Unmarshal([]byte(readFile(t, dir, "var", demo.AccessFile)), &second))
	if second.APIKey != facts.APIKey || second.AdminPassword != facts.AdminPassword {
		t.Error("the second start made other keys")
	}
	if strings.Contains(again.printed(), facts.APIKey) || strings.Contains(again.printed(), facts.AdminPassword) {
		t.Error("the second start shows secrets again")
	}
	status, _, body := ask(t, "GET", second.BaseURL+"/api/public/v1/missions?source=demo&externalId=1", "",
		"Authorization", "Bearer "+facts.APIKey)
	if status != 200 || !strings.Contains(body, `"COMPLETED"`) {
		t.Errorf("the mission after the second start: %d %s", status, body)
	}
}

// demoStudy checks that the invented study of the demo is ranked, plotted on the pages of its brands and of its niche,
// and labelled as invented.
func demoStudy(t *testing.T, facts demo.Access) {
	t.Helper()
	var board fieldmark.VisibilityBoard
	waittest.Until(t, "the study of the demo is ranked", func() bool {
		status, _, body := ask(t, "GET",
			facts.BaseURL+"/api/v1/leaderboard?basis=visibility&niche=independent-shops", "")
		return status == 200 && json.Unmarshal([]byte(body), &board) == nil &&
			len(board.Items) >= fieldmark.MinVisibilityBrands
	})
	if len(board.Engines) != 3 || strings.Join(board.Counted, " ") != "fake-engine-one fake-engine-two" ||
		board.Interval != fieldmark.IntervalQuestionsDays || board.Answers != 2*48*7 {
		t.Errorf("engines %v, interval %q, %d answers; want three fake engines over days, and the mean of the two "+
			"that search", board.Engines, board.Interval, board.Answers)
	}
	status, _, body := ask(t, "GET", facts.BaseURL+"/api/v1/visibility/studies/"+string(board.Study.Digest), "")
	if status != 200 || !strings.Contains(body, "invented") {
		t.Errorf("rows of the study: %d %.300s", status, body)
	}
	for i := range demo.Sites() { // those that demoVerify recomputes are among them
		path := fieldmark.PathScore + string(demo.Sites()[i].Slug)
		waittest.Until(t, "scores show the study", func() bool {
			status, _, body := ask(t, "GET", facts.BaseURL+path, "")
			return status == 200 && strings.Contains(body, string(board.Study.Digest)) &&
				strings.Contains(body, `"memoryRate":{`)
		})
	}
	first := string(board.Items[0].Slug)
	for _, path := range []string{"/niches/independent-shops", "/brands/" + first,
		"/?basis=visibility&niche=independent-shops"} {
		waittest.Until(t, path+" plots the study", func() bool {
			status, _, page := ask(t, "GET", facts.BaseURL+path, "")
			return status == 200 && strings.Contains(page, first) && strings.Contains(page, `<svg class="whisker`)
		})
	}
	waittest.Until(t, "the page of the brand shows the studies over time, and where the model changed", func() bool {
		status, _, page := ask(t, "GET", facts.BaseURL+"/brands/"+first, "")
		return status == 200 && strings.Count(page, `class="chart series"`) == 5 && // 3 engines name it, 2 cite it
			strings.Count(page, "the model is <b>fieldmark-fake-1</b> in place of fieldmark-fake-0") == 2
	})
}

// demoBoard reads the leaderboard and checks that the grades are spread as documented.
func demoBoard(t *testing.T, facts demo.Access) fieldmark.Board {
	t.Helper()
	var board fieldmark.Board
	waittest.Until(t, "every site is on the board or has a reason not to be", func() bool {
		status, _, body := ask(t, "GET", facts.BaseURL+"/api/v1/leaderboard?limit=100", "")
		must(t, json.Unmarshal([]byte(body), &board))
		return status == 200 && board.Total == len(demo.Sites())-1 // one site cannot be reached
	})
	grades := map[fieldmark.Grade]bool{}
	for i, it := range board.Items {
		grades[it.Grade] = true
		if i > 0 && it.Score > board.Items[i-1].Score {
			t.Errorf("board is not in order: %s before %s", board.Items[i-1].Slug, it.Slug)
		}
	}
	if !grades["A"] || !grades["E"] || len(grades) < 4 {
		t.Errorf("grades on the board = %v, want A, E and at least two between", grades)
	}
	if board.Methodology.ID != "geo-readiness" {
		t.Errorf("methodology = %+v", board.Methodology)
	}
	return board
}

// demoSites checks the score, badge and page of every site.
func demoSites(t *testing.T, facts demo.Access, board fieldmark.Board) {
	t.Helper()
	gates := map[string]bool{}
	unreachable, rose, fell := 0, 0, 0
	for _, site := range demo.Sites() {
		_, _, body := ask(t, "GET", facts.BaseURL+"/api/v1/score/"+string(site.Slug), "")
		var s fieldmark.Score
		must(t, json.Unmarshal([]byte(body), &s))
		if d := s.Trend.D90; d != nil && *d > 0 {
			rose++
		} else if d != nil && *d < 0 {
			fell++
		}
		if s.Status == fieldmark.StatusUnreachable {
			unreachable++
		}
		for _, g := range s.Gates {
			gates[g.ID] = true
		}
		if status, _, svg := ask(t, "GET", facts.BaseURL+"/api/badge/"+string(site.Slug), ""); status != 200 ||
			!strings.HasPrefix(svg, "<svg") {
			t.Errorf("badge of %s: %d", site.Slug, status)
		}
		if status, _, page := ask(t, "GET", facts.BaseURL+"/brands/"+string(site.Slug), ""); status != 200 ||
			!strings.Contains(page, site.Name) {
			t.Errorf("page of %s: %d", site.Slug, status)
		}
	}
	for _, id := range []string{"app_shell", "answer_crawlers_blocked", "unreachable"} {
		if !gates[id] {
			t.Errorf("no demo site runs into the gate %s; seen %v", id, gates)
		}
	}
	if rose < 3 || fell < 2 {
		t.Errorf("in ninety days %d scores rose and %d fell, want at least 3 and 2", rose, fell)
	}
	if unreachable != 1 {
		t.Errorf("%d demo sites are unreachable, want 1", unreachable)
	}
	if status, _, page := ask(t, "GET", facts.BaseURL+"/", ""); status != 200 ||
		!strings.Contains(page, string(board.Items[0].Slug)) {
		t.Errorf("home page: %d, without the first of the board", status)
	}
}

// demoLint checks that the public linter does not reveal which local ports are open.
func demoLint(t *testing.T, facts demo.Access) {
	t.Helper()
	lint := func(url string) (int, string) {
		status, _, body := ask(t, "POST", facts.BaseURL+fieldmark.PathLLMsLint, fmt.Sprintf(`{"url":%q}`, url),
			"Content-Type", "application/json")
		var p fieldmark.Problem
		must(t, json.Unmarshal([]byte(body), &p))
		return status, string(p.Code) + " " + p.Detail
	}
	openStatus, openBody := lint(facts.DebugURL + "/llms.txt")
	closedStatus, closedBody := lint("http://" + porttest.Address(t) + "/llms.txt")
	if openStatus != closedStatus || openBody != closedBody || openStatus < 400 {
		t.Errorf("an open port is answered %d %s, a closed one %d %s", openStatus, openBody, closedStatus, closedBody)
	}
}

// demoMission posts a mission, completes it on the command line and waits for
// the verified webhook.
func demoMission(t *testing.T, dir string, facts demo.Access) {
	t.Helper()
	listener := start(t, dir, "webhook", "listen", "--data", "var", "--events", "mission.completed", "--count", "1")
	listener.waitFor("listening as whk_")
	mission := `{"source":"demo","externalId":"1","title":"Replace the router"}`
	status, head, body := ask(t, "POST", facts.BaseURL+"/api/public/v1/missions", mission, "Authorization",
		"Bearer "+facts.APIKey)
	if status != 201 {
		t.Fatalf("create: %d %s", status, body)
	}
	var m fieldmark.Mission
	must(t, json.Unmarshal([]byte(body), &m))
	if head.Get("Location") == "" || !fieldmark.CheckID(fieldmark.PrefixMission, m.ID) {
		t.Errorf("Location %q, id %q", head.Get("Location"), m.ID)
	}
	if status, head, _ := ask(t, "POST", facts.BaseURL+"/api/public/v1/missions", mission, "Authorization",
		"Bearer "+facts.APIKey); status != 200 || head.Get(fieldmark.HeaderDeduplicated) != "true" {
		t.Errorf("the same mission again: %d, deduplicated %q", status, head.Get(fieldmark.HeaderDeduplicated))
	}
	other := strings.Replace(mission, "router", "modem", 1)
	if status, _, body := ask(t, "POST", facts.BaseURL+"/api/public/v1/missions", other, "Authorization",
		"Bearer "+facts.APIKey); status != 409 || !strings.Contains(body, m.ID) {
		t.Errorf("another mission under the same name: %d %s", status, body)
	}
	demoMissionCommands(t, dir, m.ID)
	if out := runOnce(t, dir, "mission", "complete", m.ID, "--data", "var"); !strings.Contains(out, "COMPLETED") {
		t.Errorf("mission complete printed %s", out)
	}
	listener.waitFor("mission.completed  verified")
	listener.waitFor(m.ID)
	<-listener.done
	if status, _, body := ask(t, "GET", facts.BaseURL+"/api/admin/v1/webhooks", "", "Authorization",
		"Bearer "+facts.AdminKey); status != 200 || strings.Contains(body, "whk_") {
		t.Errorf("endpoints after the listener ended: %d %s", status, body)
	}
}

// demoMissionCommands runs the mission commands of the command line.
func demoMissionCommands(t *testing.T, dir, id string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, "mission.json"),
		[]byte(`{"source":"demo","externalId":"2","title":"Swap the disk","skills":["lift"]}`), 0o600))
	created := runOnce(t, dir, "mission", "create", "mission.json", "--data", "var")
	again := runOnce(t, dir, "mission", "create", "--source", "DEMO", "--external-id", "1", "--title",
		"Replace the router", "--data", "var")
	if !strings.Contains(created, `"lift"`) || !strings.Contains(again, "exists already") ||
		!strings.Contains(again, id) {
		t.Errorf("mission create printed %s and then %s", created, again)
	}
	if out := runOnce(t, dir, "mission", "edit", id, `{"priority":"high","labels":{"site":"4"}}`, "--data",
		"var"); !strings.Contains(out, `"HIGH"`) || !strings.Contains(out, `"version": 2`) {
		t.Errorf("mission edit printed %s", out)
	}
	if out := runOnce(t, dir, "mission", "show", id, "--data", "var"); !strings.Contains(out, `"site": "4"`) {
		t.Errorf("mission show printed %s", out)
	}
	other := runOnce(t, dir, "mission", "list", "--account", "default", "--source", "demo", "--priority", "MEDIUM",
		"--status", "new", "--created-since", "2020-01-01T00:00:00Z", "--data", "var")
	otherID, _, _ := strings.Cut(other, " ")
	if !strings.Contains(other, "demo/2") || strings.Contains(other, id) {
		t.Errorf("mission list printed %s", other)
	}
	if out := runOnce(t, dir, "mission", "cancel", otherID, "--reason-text", "not needed", "--data",
		"var"); !strings.Contains(out, "CANCELED") {
		t.Errorf("mission cancel printed %s", out)
	}
	if out := runOnce(t, dir, "mission", "list", "--status", "CANCELED", "--data", "var"); !strings.Contains(out,
		otherID) {
		t.Errorf("mission list of what was canceled printed %s", out)
	}
}
