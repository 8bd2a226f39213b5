package fieldmark_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinks verifies that every relative link of every Markdown page leads to a file
// of the repository and, if it has a fragment, to a heading of that file.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pages := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" || strings.Contains(path, "testdata") {
			return nil
		}
		pages++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.ContainsAny(m[1], ":{") {
				continue // absolute, or a template of the demo
			}
			file, fragment, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			linked, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); statErr == nil && info.IsDir() {
				err = nil
			}
			if err != nil {
				t.Errorf("%s: %s: %v", path, m[1], err)
			} else if fragment != "" && !headings(string(linked))[fragment] {
				t.Errorf("%s: %s: no such heading", path, m[1])
			}
		}
		return nil
	})
	if err != nil || pages < 10 {
		t.Fatalf("%d pages, %v", pages, err)
	}
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// headings returns the fragments of the headings of a Markdown page, in the form
// that GitHub generates.
func headings(page string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(page) {
		if text := strings.TrimLeft(line, "#"); text != line {
			anchor := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(text)), "")
			found[strings.ReplaceAll(anchor, " ", "-")] = true
		}
	}
	return found
}
