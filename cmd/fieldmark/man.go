package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
	mangokong "github.com/alecthomas/mango-kong"
	"github.com/muesli/roff"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
)

type manCmd struct{}

// Run prints the manual page.
func (manCmd) Run(s *command.Streams, k *kong.Context) error {
	nameVariables(k.Model.Node)
	manual := mangokong.NewManPage(1, k.Model).WithSection("Exit status",
		"0 when a command did what it was asked, 1 when it could not, 2 when the call made no sense; "+
			"audit and score verify also end with 3, as their help says.")
	page := manual.Build(roff.NewDocument())
	// The library dates the page; a date would make every release another.
	_, rest, _ := strings.Cut(page, "\n")
	_, err := fmt.Fprintf(s.Out, ".TH FIELDMARK 1 \"\" \"fieldmark %s\" \"User Commands\"\n%s", version, rest)
	return err
}

// nameVariables adds to each flag the environment variable that sets it: the
// page is what somebody reads who runs Fieldmark from a unit.
func nameVariables(n *kong.Node) {
	for _, flag := range n.Flags {
		if len(flag.Envs) > 0 {
			flag.Help += " ($" + strings.Join(flag.Envs, ", $") + ")"
		}
	}
	for _, child := range n.Children {
		nameVariables(child)
	}
}
