package main

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/demo"
	"github.com/fieldmark/fieldmark/edge/mcp"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/sdktest"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// modulePath is the path of the module of this program.
const modulePath = "github.com/fieldmark/fieldmark"

// notRun is the line before a block of a page that TestDocumentation does not run; a reason follows.
const notRun = "<!-- not run by tests: "

// TestDocumentation runs the shell commands in the README and in the pages below deploy/docs against a demo, in
// the order printed. Only addresses are replaced. Then it runs the script that claims a brand.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	pages, err := filepath.Glob(filepath.Join(root, "deploy", "docs", "*.md"))
	must(t, err)
	guides, err := filepath.Glob(filepath.Join(root, "edge", "developer", "guides", "*.md"))
	must(t, err)
	pages = append(append(pages, guides...), filepath.Join(root, "README.md"))

	dir := t.TempDir()
	websites := porttest.Address(t)
	args := []string{"serve", "--demo", "--mcp", "on", "--demo-listen", websites}
	p := start(t, dir, append(args, freePorts("var")...)...)
	p.waitFor("All audits are done.")
	var access demo.Access
	must(t, json.Unmarshal([]byte(readFile(t, dir, "var", demo.AccessFile)), &access))
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost { // as a receiver of webhooks
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = w.Write([]byte("<!doctype html><title>Example</title><h1>Example</h1>"))
	}))
	t.Cleanup(site.Close)
	named := strings.Replace(site.URL, "127.0.0.1", "localhost", 1)
	playSDKs(t, access.BaseURL, filepath.Join(dir, "var"), named)
	callTools(t, access.BaseURL, filepath.Join(dir, "var"), strings.Replace(websites, "127.0.0.1", "http://"+
		demo.Sites()[0].Host, 1))
	receiver, fake := porttest.Port(t), porttest.Address(t)
	replace := strings.NewReplacer("http://127.0.0.1:8080", access.BaseURL, "https://example.com", site.URL,
		"https://YOUR-RECEIVER/", named,
		// the port of receivers, and the module of this folder instead of a published one
		"8099", receiver, "http://127.0.0.1:8095", "http://"+fake, "fake-engine plan.yaml",
		"fake-engine plan.yaml --listen "+fake, "go get "+modulePath+"/client@latest",
		"go mod edit -require="+modulePath+"@v0.0.0 -replace="+modulePath+"="+root)
	ran := 0
	for _, page := range pages {
		blocks := shellBlocks(t, page)
		ran += len(blocks)
		work := t.TempDir()
		must(t, os.Mkdir(filepath.Join(work, "bin"), 0o755))
		must(t, os.Symlink(program(t), filepath.Join(work, "bin", "fieldmark")))
		must(t, os.Symlink(filepath.Join(dir, "var"), filepath.Join(work, "var")))
		script := "set -eu -o pipefail\ncurl() { command curl -sS --fail-with-body \"$@\"; }\n" +
			strings.Join(blocks, "\n")
		c := exec.CommandContext(t.Context(), "bash", "-c", replace.Replace(script))
		c.Dir = work
		c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "KEY="+access.APIKey, "FIELDMARK_ALLOW_NETWORKS=127.0.0.0/8")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v after\n%s", page, err, out)
		}
	}
	if ran < 8 {
		t.Errorf("the pages have %d blocks to run, want at least 8", ran)
	}
	script := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "deploy", "docs", "claim-a-brand.sh"))
	script.Dir = dir
	script.Env = append(os.Environ(), "FIELDMARK="+program(t))
	out, err := script.CombinedOutput()
	if want := `"cause":"facts"`; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("the script of owners: %v, want a message with %s:\n%s", err, want, out)
	}
	_, _, body := ask(t, "GET", access.BaseURL+fieldmark.PathMissions+"?source=demo", "", "Authorization",
		"Bearer "+access.APIKey)
	var missions fieldmark.List[fieldmark.Mission]
	must(t, json.Unmarshal([]byte(body), &missions))
	var got []string
	for _, m := range missions.Data {
		got = append(got, strings.Join([]string{string(m.Status), string(m.Priority), m.Title}, " "))
	}
	slices.Sort(got)
	want := []string{"CANCELED HIGH Swap the disk", "NEW MEDIUM Replace a fan", "NEW MEDIUM Replace the router"}
	if !slices.Equal(got, want) {
		t.Errorf("the documented calls leave the missions %q, want %q", got, want)
	}
}

// playSDKs plays the scenario of the clients in Go, TypeScript and Python against a demo. A generated client
// opens, reads and cancels a mission. Their key has a rate that the batches of three players do not reach,
// however fast they play.
func playSDKs(t *testing.T, site, data, receiver string) {
	t.Helper()
	token, err := exec.CommandContext(t.Context(), program(t), "key", "create", "--data", data, "--name", "clients",
		"--reads", "6000", "--writes", "6000", "--scope",
		"mission:create,mission:read,mission:update,mission:cancel,mission:operate,webhook:manage").Output()
	must(t, err)
	key := strings.TrimSpace(string(token))
	const body = `{"id":"evt_1","type":"mission.completed","timestamp":"2026-11-22T09:30:00.000Z","data":{"id":"x"}}`
	shared, err := webhook.NewSecret(fieldmark.SigningV1, rand.Reader)
	must(t, err)
	private, err := webhook.NewSecret(fieldmark.SigningV1a, rand.Reader)
	must(t, err)
	public, _, _ := webhook.PublicKey(private)
	signed := func(secret string, at time.Time) map[string]string {
		var s webhook.Signer
		must(t, s.Add(secret, time.Time{}))
		signature, err := s.Sign("evt_1", at, []byte(body))
		must(t, err)
		return map[string]string{webhook.HeaderID: "evt_1", webhook.HeaderTimestamp: strconv.FormatInt(at.Unix(), 10),
			webhook.HeaderSignature: "v1,AAAA v2 " + signature}
	}
	sdktest.Play(t, "scenario.json", func(player string) sdktest.Variables {
		now := time.Now()
		return sdktest.Variables{"url": site, "key": key, "source": "sdk-" + player,
			"receiver": receiver, "brand": "alpenglow", "body": body, "whsec": shared, "whpk": public,
			"v1": signed(shared, now), "v1a": signed(private, now), "old": signed(shared, now.Add(-time.Hour))}
	})
	out, err := exec.CommandContext(t.Context(), sdktest.Generated(t), site, key).CombinedOutput()
	if err != nil {
		t.Errorf("the client that oapi-codegen generates: %v\n%s", err, out)
	}
}

// callTools calls the tools for agents of a demo with third-party programs.
func callTools(t *testing.T, site, data, website string) {
	t.Helper()
	token, err := exec.CommandContext(t.Context(), program(t), "key", "create", "--data", data, "--name", "agents",
		"--reads", "6000", "--writes", "6000", "--agent", "write", "--scope",
		"mission:create,mission:read,mission:update,mission:cancel").Output()
	must(t, err)
	sdktest.Agents(t, site+mcp.Path, strings.TrimSpace(string(token)), website)
}

// shellBlocks returns the fenced sh blocks of a page without those that are marked.
func shellBlocks(t *testing.T, page string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	must(t, err)
	parts := strings.Split(string(text), "```sh\n")
	for i, part := range parts[1:] {
		lines := strings.Split(strings.TrimRight(parts[i], "\n"), "\n")
		block, _, closed := strings.Cut(part, "\n```")
		if !closed {
			t.Fatalf("%s: an sh block has no end", page)
		}
		if !strings.HasPrefix(lines[len(lines)-1], notRun) {
			blocks = append(blocks, block)
		}
	}
	return blocks
}
