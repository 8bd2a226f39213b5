package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
)

type manCmd struct{}

const exitStatus = "0 when a command did what it was asked to do, 1 when it could not, 2 when the command line is " +
	"wrong. " +
	"audit, score verify and backup also end with 3, as their help says."

// Run prints the manual page in the man macros of roff (groff_man(7)). It has no date: the
// same version gives the same page.
func (manCmd) Run(s *command.Streams, k *kong.Context) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH FIELDMARK 1 \"\" \"fieldmark %s\" \"User Commands\"\n", version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", k.Model.Name, roff(k.Model.Help))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.RI [ option ...]\n.I command\n.RI [ argument ...]\n.SH OPTIONS\n",
		k.Model.Name)
	writeManFlags(&b, k.Model.Node)
	b.WriteString(".SH COMMANDS\n")
	writeManCommands(&b, k.Model.Node)
	fmt.Fprintf(&b, ".SH EXIT STATUS\n%s\n", roff(exitStatus))
	_, err := s.Out.Write(b.Bytes())
	return err
}

// writeManCommands writes a subsection for each command without subcommands.
func writeManCommands(b *bytes.Buffer, n *kong.Node) {
	for _, child := range n.Children {
		switch {
		case child.Hidden:
		case len(child.Children) > 0:
			writeManCommands(b, child)
		default:
			fmt.Fprintf(b, ".SS %s\n%s\n", roff(child.Summary()), roff(child.Help))
			if child.Detail != "" {
				fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(child.Detail))
			}
			writeManFlags(b, child)
		}
	}
}

// writeManFlags writes the flags of a command with their environment variables, which the
// units of systemd set.
func writeManFlags(b *bytes.Buffer, n *kong.Node) {
	for _, arg := range n.Positional {
		fmt.Fprintf(b, ".TP\n\\fI%s\\fR\n%s\n", roff(arg.Summary()), roff(arg.Help))
	}
	for _, flag := range n.Flags {
		name := flag.Summary()
		if flag.Short != 0 {
			name = fmt.Sprintf("-%c, %s", flag.Short, name)
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(name), roff(flag.Help))
		if len(flag.Envs) > 0 {
			fmt.Fprintf(b, ".br\nEnvironment: %s\n", roff(strings.Join(flag.Envs, ", ")))
		}
	}
}

// roff escapes text, so that hyphens can be copied and no line is taken for a macro.
func roff(text string) string {
	lines := strings.Split(manEscapes.Replace(strings.TrimSpace(text)), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

var manEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`)
