package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// The manual page has every command with its arguments, and every flag with its
// environment variable.
func TestManualPage(t *testing.T) {
	status, page, why := runInProcess(t, "man")
	if status != 0 || !strings.HasPrefix(page, ".TH FIELDMARK 1 ") {
		t.Fatalf("man: status %d, %s %.100s", status, why, page)
	}
	var c commands
	parser, err := kong.New(&c, kong.Name("fieldmark"), flagVars())
	must(t, err)
	n := 0
	for _, leaf := range parser.Model.Leaves(true) {
		_, section, ok := strings.Cut(page, "\n.SS "+roff(leaf.Summary())+"\n")
		section, _, _ = strings.Cut(section, "\n.S")
		section += "\n"
		if !ok || !strings.HasPrefix(section, roff(leaf.Help)+"\n") {
			t.Errorf("the page lacks the command %s", leaf.Summary())
		}
		for _, flag := range leaf.Flags {
			n++
			want := `\fB` + roff(flag.Summary()) + `\fR` + "\n" + roff(flag.Help) + "\n"
			if flag.Short != 0 {
				want = strings.TrimPrefix(want, `\fB`)
			}
			if len(flag.Envs) > 0 {
				want += ".br\nEnvironment: " + flag.Envs[0]
			}
			if !strings.Contains(section, want) {
				t.Errorf("%s: the page lacks the flag --%s, want %q", leaf.Summary(), flag.Name, want)
			}
		}
	}
	if n < 100 {
		t.Errorf("compared %d flags, want all", n)
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		cmd := exec.Command(groff, "-Kutf8", "-man", "-Tutf8", "-ww", "-z")
		cmd.Stdin = strings.NewReader(page)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("groff: %v\n%.500s", err, out)
		}
	}
}
