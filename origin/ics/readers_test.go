package ics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goical "github.com/emersion/go-ical"
)

// entry is an event as a reader decodes it. Times are Unix seconds.
type entry struct {
	UID         string    `json:"uid"`
	Changed     int64     `json:"changed"`
	Sequence    int       `json:"sequence"`
	Start       int64     `json:"start"`
	End         int64     `json:"end"`
	Status      string    `json:"status"`
	Summary     string    `json:"summary"`
	Description string    `json:"description"`
	Location    string    `json:"location"`
	URL         string    `json:"url"`
	Categories  []string  `json:"categories"`
	Geo         []float64 `json:"geo"`
}

// readers are three third-party iCalendar parsers. Each decodes feeds into entries.
var readers = []struct {
	name string
	read func(*testing.T, []string) [][]entry
	hear func(entry) entry // maps an entry to the reader's result; nil: unchanged
}{
	{"go-ical", readGo, nil},
	{"ical.js", readNode, nil},
	{"python-icalendar", readPython, func(e entry) entry {
		e.Summary, e.Description, e.Location, e.Categories = misheard(e.Summary), misheard(e.Description),
			misheard(e.Location), nil
		return e
	}},
}

// misheard returns a text as python-icalendar 4 decodes it. That version decodes escapes
// twice, one kind after the other, and so loses a backslash before an n, a comma, a
// semicolon or another backslash. It may decode percent signs, and it splits a category
// at its commas.
func misheard(text string) string {
	return replaced(text,
		`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`, // as the encoder writes it
		`\,`, "%2C", `\:`, "%3A", `\;`, "%3B", `\\`, "%5C",
		"%2C", ",", "%3A", ":", "%3B", ";", "%5C", `\`,
		`\N`, `\n`, `\n`, "\n", `\,`, ",", `\;`, ";", `\\`, `\`)
}

func replaced(text string, oldAndNew ...string) string {
	for i := 0; i < len(oldAndNew); i += 2 {
		text = strings.ReplaceAll(text, oldAndNew[i], oldAndNew[i+1])
	}
	return text
}

func readGo(t *testing.T, feeds []string) [][]entry {
	t.Helper()
	all := make([][]entry, len(feeds))
	for i, feed := range feeds {
		var err error
		if all[i], err = decode(feed); err != nil {
			t.Fatalf("go-ical: %v in\n%s", err, feed)
		}
	}
	return all
}

// decode reads a feed with go-ical.
func decode(feed string) ([]entry, error) {
	calendar, err := goical.NewDecoder(strings.NewReader(feed)).Decode()
	if err != nil {
		return nil, err
	}
	events := []entry{}
	for _, e := range calendar.Events() {
		var bad []error
		text := func(name string) string {
			s, err := e.Props.Text(name)
			bad = append(bad, err)
			return s
		}
		at := func(name string) int64 {
			tm, err := e.Props.DateTime(name, time.UTC)
			bad = append(bad, err)
			return tm.Unix()
		}
		out := entry{
			UID: text(goical.PropUID), Changed: at(goical.PropDateTimeStamp), Start: at(goical.PropDateTimeStart),
			End:    at(goical.PropDateTimeEnd),
			Status: text(goical.PropStatus), Summary: text(goical.PropSummary),
			Description: text(goical.PropDescription), Location: text(goical.PropLocation),
		}
		if p := e.Props.Get(goical.PropSequence); p != nil {
			out.Sequence, err = p.Int()
			bad = append(bad, err)
		}
		if p := e.Props.Get(goical.PropURL); p != nil {
			out.URL = p.Value
		}
		for _, p := range e.Props.Values(goical.PropCategories) {
			one, err := p.TextList()
			out.Categories = append(out.Categories, one...)
			bad = append(bad, err)
		}
		if p := e.Props.Get(goical.PropGeo); p != nil {
			bad = append(bad, json.Unmarshal([]byte("["+strings.Replace(p.Value, ";", ",", 1)+"]"), &out.Geo))
		}
		if err := errors.Join(bad...); err != nil {
			return nil, err
		}
		events = append(events, out)
	}
	return events, nil
}

// packages pins the versions, so that an update of a package changes this file.
const packages = `{"private": true, "dependencies": {"ical.js": "2.2.1"}}`

func readNode(t *testing.T, feeds []string) [][]entry {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, "%s is not on the PATH: %v", program, err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		missing(t, "no folder to keep ical.js in: %v", err)
	}
	folder := filepath.Join(cache, "fieldmark-npm", "ics")
	if have, err := os.ReadFile(filepath.Join(folder, "package.json")); err != nil || string(have) != packages {
		install(t, folder)
	}
	return run(t, folder, feeds, "node", "read.mjs")
}

// install installs ical.js in a temporary folder and then renames it, so that an
// incomplete installation is never used.
func install(t *testing.T, folder string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "ics-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	if err := os.WriteFile(filepath.Join(fresh, "package.json"), []byte(packages), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
		"--no-package-lock", "--loglevel=error")
	c.Dir = fresh
	if said, err := c.CombinedOutput(); err != nil {
		missing(t, "npm could not install ical.js (a network to the package registry is needed once): %v: %.500s", err,
			said)
	}
	if err := errors.Join(os.RemoveAll(folder), os.Rename(fresh, folder)); err != nil {
		t.Fatal(err)
	}
}

func readPython(t *testing.T, feeds []string) [][]entry {
	t.Helper()
	const debian = "/usr/bin/python3" // the interpreter that has python3-icalendar
	if said, err := exec.Command(debian, "-c", "import icalendar").CombinedOutput(); err != nil {
		missing(t, "python3-icalendar is not installed: %v: %.300s", err, said)
	}
	return run(t, ".", feeds, debian, "read.py")
}

// run passes feeds to a script in testdata.
func run(t *testing.T, folder string, feeds []string, program, script string) [][]entry {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", script))
	if err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(feeds)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, program, path)
	var said bytes.Buffer
	c.Dir, c.Stdin, c.Stderr = folder, bytes.NewReader(in), &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v: %.1000s", script, err, said.String())
	}
	var all [][]entry
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("%s wrote %.300s: %v", script, out, err)
	}
	return all
}

// missing skips a test on a developer's machine and fails it in CI.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
