package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestSettingsTable compares the table of settings in deploy/README.md with the actual
// settings: it lists every variable of the server commands with its default, and no
// other.
func TestSettingsTable(t *testing.T) {
	var c commands
	parser, err := kong.New(&c, kong.Name("fieldmark"), flagVars())
	must(t, err)
	want := map[string]string{}
	for _, node := range parser.Model.Children {
		if node.Name != "serve" && node.Name != "edge" && node.Name != "origin" {
			continue
		}
		for _, flag := range node.Flags {
			for _, env := range flag.Envs {
				want[env] = flag.Default
			}
		}
	}
	for _, flag := range parser.Model.Flags {
		for _, env := range flag.Envs {
			want[env] = flag.Default
		}
	}
	table := settingsTable(t)
	for env, def := range want {
		row, ok := table[env]
		if !ok {
			t.Errorf("deploy/README.md does not list %s", env)
		} else if def != "" && !strings.Contains(row, "`"+strings.TrimPrefix(def, "./")+"`") &&
			env != "FIELDMARK_DEBUG_LISTEN" {
			t.Errorf("deploy/README.md: %s without its default %q: %s", env, def, row)
		}
	}
	for env := range table {
		if _, ok := want[env]; !ok {
			t.Errorf("deploy/README.md lists %s, which no server command reads", env)
		}
	}
}

// settingsTable reads the rows of the runbook's table that start with a variable.
func settingsTable(t *testing.T) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for line := range strings.Lines(readFile(t, "..", "..", "deploy", "README.md")) {
		var env string
		if n, _ := fmt.Sscanf(line, "| `%s", &env); n == 1 &&
			(strings.HasPrefix(env, "FIELDMARK_") || strings.HasPrefix(env, "MODULE_")) {
			rows[strings.TrimSuffix(env, "`")] = line
		}
	}
	return rows
}
