package releasedtest

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var release = flag.Bool("release", false, "add what is new to testdata/released")

// Demand reports whether a line is a demand, such as a required field, and on what. A subject is released if a line
// of the list is the subject, or begins with it and a space.
type Demand func(line string) (subject string, is bool)

// Compare compares the list in a file with the lines of today, which it sorts. If -release is given and nothing is
// broken, it writes them to the file.
func Compare(t *testing.T, list string, current []string, demand Demand) {
	t.Helper()
	slices.Sort(current)
	current = slices.Compact(current)
	src, err := os.ReadFile(list)
	if err != nil && !*release {
		t.Fatal(err)
	}
	for _, problem := range Broken(strings.Split(strings.TrimSpace(string(src)), "\n"), current, demand) {
		t.Errorf("%s: %s", list, problem)
	}
	if *release && !t.Failed() {
		if err := os.WriteFile(list, []byte(strings.Join(current, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Broken returns the lines that were released and are gone, and the demands on released subjects that were not
// released.
func Broken(released, current []string, demand Demand) (broken []string) {
	kept := map[string]bool{}
	for _, line := range current {
		kept[line] = true
	}
	was, subjects := map[string]bool{}, map[string]bool{}
	for _, line := range released {
		was[line] = true
		for i := range line {
			if line[i] == ' ' {
				subjects[line[:i]] = true
			}
		}
		subjects[line] = true
		if _, is := demand(line); line != "" && !is && !kept[line] {
			broken = append(broken, fmt.Sprintf("%q was released and is gone", line))
		}
	}
	for _, line := range current {
		if subject, is := demand(line); is && subjects[subject] && !was[line] {
			broken = append(broken, fmt.Sprintf("%q was not demanded by the last release", line))
		}
	}
	return broken
}
