package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
	mangokong "github.com/alecthomas/mango-kong"
	"github.com/muesli/roff"
)

type manCmd struct{}

// Run prints the manual page.
func (manCmd) Run(s *streams, k *kong.Context) error {
	manual := mangokong.NewManPage(1, k.Model).WithSection("Exit status",
		"0 when a command did what it was asked, 1 when it could not, 2 when the call made no sense.")
	page := manual.Build(roff.NewDocument())
	// The library dates the page; a date would make every release another.
	_, rest, _ := strings.Cut(page, "\n")
	_, err := fmt.Fprintf(s.out, ".TH FIELDMARK 1 \"\" \"fieldmark %s\" \"User Commands\"\n%s", version, rest)
	return err
}
