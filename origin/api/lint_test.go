package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

// linter pins third-party linters: of OpenAPI, which is a single file without dependencies, and of AsyncAPI.
const linter = `{
  "private": true,
  "dependencies": {
    "@asyncapi/parser": "3.6.3",
    "@redocly/cli": "2.77.0"
  }
}
`

const lintTimeout = 4 * time.Minute // includes the download over a slow connection

// TestOpenAPILint: the recommended rules of the linters report no error and no warning for
// the served documents.
func TestOpenAPILint(t *testing.T) {
	if testing.Short() && os.Getenv("CI") != "true" {
		t.Skip("not with -short")
	}
	folder := installLinter(t)
	fx := newFixture(t, nil)
	served := fx.mustSend(200, request{method: "GET", path: fieldmark.PathOpenAPI}, nil).Body.Bytes()
	if faults := lint(t, folder, served); len(faults) > 0 {
		t.Errorf("faults of the document: %v", faults)
	}
	// The linter must report a document with errors, or the check above proves nothing.
	if faults := lint(t, folder, bytes.ReplaceAll(served, []byte("operationId"),
		[]byte("operationID"))); len(faults) == 0 {
		t.Error("the linter finds nothing wrong with a document that is")
	}
	messages := fx.mustSend(200, request{method: "GET", path: fieldmark.PathAsyncAPI}, nil).Body.String()
	if faults := lintAsync(t, folder, messages); len(faults) > 0 {
		t.Errorf("faults of the AsyncAPI document: %v", faults)
	}
	if faults := lintAsync(t, folder, `{"asyncapi":"3.0.0","info":{"title":"None"}}`); len(faults) == 0 {
		t.Error("the linter finds nothing wrong with an AsyncAPI document without a version")
	}
}

// lintAsync returns the errors and warnings of the parser of AsyncAPI for a document.
func lintAsync(t *testing.T, folder, document string) (faults []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "asyncapi.json")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	out, failed := run(t, folder, "node", "-e", `
const { Parser } = require("@asyncapi/parser");
new Parser().parse(require("fs").readFileSync(process.argv[1], "utf8")).then(({ diagnostics }) =>
  console.log(JSON.stringify(diagnostics.filter(d => d.severity < 2).map(d =>
    d.code + " " + d.path.join("/") + ": " + d.message))));
`, path)
	if err := json.Unmarshal(out, &faults); err != nil {
		t.Fatalf("the AsyncAPI parser's report: %v in %.500s (%v)", err, out, failed)
	}
	return faults
}

// lint returns the findings of the linter in a document.
func lint(t *testing.T, folder string, document []byte) (faults []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(path, document, 0o600); err != nil {
		t.Fatal(err)
	}
	out, failed := run(t, folder, "node", filepath.Join(folder, "node_modules", "@redocly", "cli", "bin", "cli.js"),
		"lint", "--format=json", "--max-problems=1000", path)
	var report struct {
		Totals   *struct{ Errors, Warnings int }
		Problems []struct{ RuleID, Message, Severity string }
	}
	if err := json.Unmarshal(out, &report); err != nil || report.Totals == nil {
		t.Fatalf("the linter's report: %v in %.500s (%v)", err, out, failed)
	}
	for _, p := range report.Problems {
		faults = append(faults, fmt.Sprintf("%s %s: %s", p.Severity, p.RuleID, p.Message))
	}
	return faults
}

// installLinter returns the folder of the linter and installs it on the first call.
// Without Node or a network it skips the test on a developer's machine and fails it in CI.
func installLinter(t *testing.T) string {
	t.Helper()
	missing := func(what string, err error) {
		t.Helper()
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s: %v", what, err)
		}
		t.Skipf("%s: %v", what, err)
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing("the linter needs Node 20 or later with npm", err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		missing("no folder to keep the linter in", err)
	}
	folder := filepath.Join(cache, "fieldmark-npm", "openapi")
	if have, err := os.ReadFile(filepath.Join(folder, "package.json")); err == nil && string(have) == linter {
		return folder
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		missing("make a folder for the linter", err)
	}
	// Installed in a temporary folder and then renamed, so that an incomplete installation
	// is never used.
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "openapi-")
	if err != nil {
		missing("make a folder for the linter", err)
	}
	defer os.RemoveAll(fresh)
	if err := os.WriteFile(filepath.Join(fresh, "package.json"), []byte(linter), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, fresh, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock",
		"--loglevel=error"); err != nil {
		missing("npm could not install the linter (a network to the package registry is needed once)", err)
	}
	if err := errors.Join(os.RemoveAll(folder), os.Rename(fresh, folder)); err != nil {
		t.Fatalf("put the linter in place: %v", err)
	}
	return folder
}

// run runs a program with telemetry disabled.
func run(t *testing.T, folder, name string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lintTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = folder
	c.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s: %w: %.1000s", name, errors.Join(err, ctx.Err()), said.String())
	}
	return out.Bytes(), nil
}

// TestResponsesMatchOpenAPI compares a mission in a response with its schema: every member
// is documented, every required member is present, and only nullable members are null.
func TestResponsesMatchOpenAPI(t *testing.T) {
	fx := newFixture(t, nil)
	m := fx.createMission("1")
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]struct {
					Type  any
					AnyOf []struct{ Type string }
				}
			}
		}
	}
	if err := json.Unmarshal(fx.mustSend(200, request{method: "GET", path: fieldmark.PathOpenAPI}, nil).Body.Bytes(),
		&doc); err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "/" + m.ID, key: fx.reader}, &answer)
	said := doc.Components.Schemas["Mission"]
	for _, name := range said.Required {
		if _, ok := answer[name]; !ok {
			t.Errorf("%s is promised and missing", name)
		}
	}
	for name, value := range answer {
		p, ok := said.Properties[name]
		types, _ := p.Type.([]any)
		null := slices.Contains(types, any("null")) || slices.ContainsFunc(p.AnyOf,
			func(s struct{ Type string }) bool { return s.Type == "null" })
		if !ok || value == nil && !null {
			t.Errorf("%s: %v, of which the document says %+v", name, value, p)
		}
	}
}
