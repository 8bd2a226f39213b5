package site_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	templateAction = regexp.MustCompile(`\{\{(?:[^}"` + "`" + `]|"(?:[^"\\]|\\.)*"|` + "`[^`]*`" + `)*\}\}`)
	templateTag    = regexp.MustCompile(`<[^<>]*>`)
	spokenAttr     = regexp.MustCompile(`\s(?:alt|aria-label|placeholder|title)="([^"]*)"`)
	actionLiteral  = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	textInAction   = regexp.MustCompile(`\(text "([a-z0-9.-]+)"\)`)
	letter         = regexp.MustCompile(`\pL`)
)

// TestTexts: the words of the pages are in text/en.txt alone, where a translator finds
// them, and the templates use every one of them.
func TestTexts(t *testing.T) {
	source, err := os.ReadFile("text/en.txt")
	if err != nil {
		t.Fatal(err)
	}
	unused := map[string]bool{}
	for line := range strings.Lines(string(source)) {
		if key, _, ok := strings.Cut(line, " "); ok && key != "#" {
			unused[key] = true
		}
	}
	names, err := filepath.Glob("templates/*.html")
	if err != nil || len(names) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, name := range names {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range wordsOf(string(page), unused) {
			t.Errorf("%s: %q: write {{text %q}} instead, and a line %q into text/en.txt", name, word,
				"page.name", "page.name "+word)
		}
	}
	for key := range unused {
		t.Errorf("text/en.txt: no template uses %s: delete the line", key)
	}
}

// wordsOf returns the words of a template outside tags and actions, in attributes that are
// shown or read aloud, and in literals of actions. It deletes the texts that are used.
func wordsOf(page string, unused map[string]bool) (words []string) {
	bare := templateAction.ReplaceAllStringFunc(page, func(action string) string {
		if key, ok := strings.CutPrefix(action, `{{text "`); ok {
			delete(unused, strings.TrimSuffix(key, `"}}`))
			return ""
		}
		action = textInAction.ReplaceAllStringFunc(action, func(use string) string {
			delete(unused, textInAction.FindStringSubmatch(use)[1])
			return ""
		})
		if strings.Contains(action, "snippet ") { // the rest is code to copy
			return ""
		}
		for _, m := range actionLiteral.FindAllStringSubmatch(action, -1) {
			if strings.Contains(m[1], " ") || strings.Contains(action, "countOf ") {
				words = append(words, m[1])
			}
		}
		return ""
	})
	for _, m := range spokenAttr.FindAllStringSubmatch(bare, -1) {
		words = append(words, m[1])
	}
	words = append(words, strings.Split(templateTag.ReplaceAllString(bare, "\n"), "\n")...)
	var found []string
	for _, word := range words {
		if word = strings.TrimSpace(word); letter.MatchString(word) {
			found = append(found, word)
		}
	}
	return found
}

// TestWordsOf: the test of the templates finds words wherever they can be.
func TestWordsOf(t *testing.T) {
	for page, want := range map[string]string{
		`<p class="a">{{text "a.b"}}</p>`:                              `[]`,
		`<p>Word</p>`:                                                  `["Word"]`,
		`<img alt="A picture" src="x">`:                                `["A picture"]`,
		`{{countOf .N "day" "days"}}`:                                  `["day" "days"]`,
		`{{if eq .State "yes"}}é{{end}}`:                               `["é"]`,
		`{{template "code" (snippet (text "a.b") (printf "x %s" 1))}}`: `[]`,
		`{{or .Alt "How ready"}}`:                                      `["How ready"]`,
	} {
		if got := fmt.Sprintf("%q", wordsOf(page, map[string]bool{})); got != want {
			t.Errorf("%s: %s, want %s", page, got, want)
		}
	}
}
