package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/internal/testkit/releasedtest"
)

// TestReleased compares commands, flags, settings and exit statuses with those of the last release in
// testdata/released. Scripts and unit files rely on them: they may be added, but never disappear, and no flag or
// argument becomes required. `-args -release` adds what is new at a release.
func TestReleased(t *testing.T) {
	var c commands
	parser, err := kong.New(&c, kong.Name("fieldmark"), flagVars())
	must(t, err)
	lists := map[string][]string{"exitcodes": {
		fmt.Sprintf("any 0 %d %d", command.StatusError, command.StatusUsage),
		fmt.Sprintf("not-met %d", command.StatusNotMet),
	}}
	add := func(list, format string, args ...any) {
		lists[list] = append(lists[list], fmt.Sprintf(format, args...))
	}
	addFlag := func(name string, flag *kong.Flag) {
		add("commands", "%s --%s", name, flag.Name)
		if flag.Short != 0 {
			add("commands", "%s -%c", name, flag.Short)
		}
		if flag.Required {
			add("commands", "%s --%s%s", name, flag.Name, isRequired)
		}
		for _, env := range flag.Envs {
			add("settings", "%s", env)
		}
	}
	for _, flag := range parser.Model.Flags {
		addFlag("any", flag)
	}
	for _, leaf := range parser.Model.Leaves(false) {
		name := strings.TrimPrefix(leaf.FullPath(), "fieldmark ")
		add("commands", "%s", name)
		for _, arg := range leaf.Positional {
			add("commands", "%s %s", name, arg.Summary())
		}
		for _, group := range leaf.AllFlags(true) {
			for _, flag := range group {
				if !slices.Contains(parser.Model.Flags, flag) {
					addFlag(name, flag)
				}
			}
		}
		for _, status := range exitStatusLine.FindAllString(leaf.Help+leaf.Detail, -1) {
			for _, n := range regexp.MustCompile(`\b[0-3]\b`).FindAllString(status, -1) {
				add("exitcodes", "%s %s", name, n)
			}
		}
	}
	for list, current := range lists {
		releasedtest.Compare(t, filepath.Join("..", "..", "testdata", "released", list+".txt"), current, demanded)
	}
}

// isRequired ends the line of a flag that a command demands: it may disappear, but not be added to a released command.
const isRequired = " is required"

var exitStatusLine = regexp.MustCompile(`(?is)exit status:? \d.*`)

// demanded returns the command whose flag a line demands.
func demanded(line string) (command string, is bool) {
	command, _, _ = strings.Cut(line, " --")
	return command, strings.HasSuffix(line, isRequired)
}
