package llms_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// validators pins third-party llms.txt parsers, so that an update of a package changes
// this file.
const validators = `{
  "private": true,
  "dependencies": {
    "@25xcodes/llmstxt-parser": "1.2.0",
    "lighthouse": "13.5.0",
    "llms-txt-check": "0.1.5",
    "llmstxt-kit": "0.1.0"
  }
}
`

const (
	installTimeout  = 4 * time.Minute // for 130 packages over a slow connection
	validateTimeout = 5 * time.Minute
)

// TestIndependentValidators checks the files of all shapes, languages and attacks with four
// third-party programs in one Node process. prove implements the rules of a fifth, the
// reference parser.
func TestIndependentValidators(t *testing.T) {
	if testing.Short() && os.Getenv("CI") != "true" {
		t.Skip("not with -short")
	}
	folder := installValidators(t)
	all := files(t)
	if len(all) < 200+len(hostile) {
		t.Fatalf("only %d files, want 200 and the %d tricks", len(all), len(hostile))
	}
	shown := append(all, file{Name: "no llms.txt", Content: "## A\n\nb"})
	verdicts := validate(t, folder, shown)
	if len(verdicts) != len(shown) {
		t.Fatalf("%d verdicts on %d files", len(verdicts), len(shown))
	}
	for i, f := range all {
		v := verdicts[i]
		if len(v.Faults) != 4 || len(v.Read) != 2 {
			t.Fatalf("%s: verdicts of %d validators and %d parsers, want 4 and 2", f.Name, len(v.Faults), len(v.Read))
		}
		for who, faults := range v.Faults {
			if len(faults) > 0 {
				t.Errorf("%s: %s says %q of\n%s", f.Name, who, faults, f.Content)
			}
		}
		for who, read := range v.Read {
			if diff := cmp.Diff(reading{Sections: f.sections, Links: f.links}, reading{Sections: read.Sections,
				Links: read.Links}); diff != "" || read.Title == "" {
				t.Errorf("%s: %s read the title %q and (-planned +read):\n%s\n%s", f.Name, who, read.Title, diff,
					f.Content)
			}
		}
	}
	// Each validator must report an invalid file, or its verdicts prove nothing.
	for who, faults := range verdicts[len(all)].Faults {
		if len(faults) == 0 && who != "llms-txt-check" { // reports a missing title as a warning
			t.Errorf("%s finds nothing wrong with an invalid file", who)
		}
	}
	t.Logf("%d files, 4 validators and 2 parsers", len(all))
}

// verdict is the output of the script for one file.
type verdict struct {
	Name   string
	Faults map[string][]string
	Read   map[string]reading
}

// reading is the content of a file as a parser decodes it.
type reading struct {
	Title    string
	Sections []string
	Links    []string
}

func validate(t *testing.T, folder string, all []file) []verdict {
	t.Helper()
	script, err := filepath.Abs("testdata/validators.mjs")
	if err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	out, err := command(t, validateTimeout, folder, bytes.NewReader(in), "node", script)
	if err != nil {
		t.Fatalf("run the validators: %v", err)
	}
	var verdicts []verdict
	if err := json.Unmarshal(out, &verdicts); err != nil {
		t.Fatalf("verdicts: %v in %.500s", err, out)
	}
	return verdicts
}

// installValidators returns the folder of the packages and installs them on the first
// call. Without Node or a network it skips the test on a developer's machine and fails it
// in CI.
func installValidators(t *testing.T) string {
	t.Helper()
	missing := func(format string, args ...any) {
		t.Helper()
		if os.Getenv("CI") == "true" {
			t.Fatalf(format, args...)
		}
		t.Skipf(format, args...)
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing("%s is not on the PATH; the validators need Node 20 or later with npm", program)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		missing("no folder to keep the validators in: %v", err)
	}
	folder := filepath.Join(cache, "fieldmark-npm", "llms-txt")
	if have, err := os.ReadFile(filepath.Join(folder, "package.json")); err == nil && string(have) == validators {
		return folder
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		missing("make a folder for the validators: %v", err)
	}
	// Installed in a temporary folder and then renamed, so that a failed or incomplete
	// installation is never used.
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "llms-txt-")
	if err != nil {
		missing("make a folder for the validators: %v", err)
	}
	defer os.RemoveAll(fresh)
	if err := os.WriteFile(filepath.Join(fresh, "package.json"), []byte(validators), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := command(t, installTimeout, fresh, nil, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
		"--no-package-lock", "--loglevel=error"); err != nil {
		missing("npm could not install the validators (a network to the package registry is needed once): %v", err)
	}
	if err := errors.Join(os.RemoveAll(folder), os.Rename(fresh, folder)); err != nil {
		t.Fatalf("put the validators in place: %v", err)
	}
	return folder
}

// command runs a program. If the program fails, it fails the test with the output.
func command(t *testing.T, within time.Duration, folder string, in *bytes.Reader, name string, args ...string) ([]byte,
	error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = folder
	if in != nil {
		c.Stdin = in
	}
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %.1000s", name, strings.Join(args, " "), errors.Join(err, ctx.Err()),
			said.String())
	}
	return out.Bytes(), nil
}
