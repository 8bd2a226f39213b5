package site

import (
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// The words of the pages are in one file for each language, text/en.txt, one text in each
// line: a name, a space, and HTML with actions of html/template. Templates hold no words
// but include texts by their names, as {{text "brand.rank"}}, or as (text "brand.rank")
// for an argument of an action. Inclusion happens in the source, before it is parsed: a
// text has the variables of its place, and html/template escapes what it inserts by
// context. A translation is a file with the same names.
const textFile = "text/en.txt"

// readTexts reads a file of texts.
func readTexts(files fs.FS, name string) (map[string]string, error) {
	source, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("read the texts: %w", err)
	}
	texts := map[string]string{}
	n := 0
	for line := range strings.Lines(string(source)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		key, text, ok := strings.Cut(line, " ")
		if _, twice := texts[key]; !ok || text == "" || twice {
			return nil, fmt.Errorf("%s:%d: want a name that no other line has, a space and a text", name, n)
		}
		texts[key] = text
	}
	return texts, nil
}

// parseTemplates parses the templates with their texts.
func parseTemplates(files fs.FS) (*template.Template, error) {
	texts, err := readTexts(files, textFile)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("list the templates: %w", err)
	}
	pages := template.New("site").Funcs(functions())
	for _, name := range names {
		source, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read a template: %w", err)
		}
		var missing []string
		text := func(name string) string {
			if _, ok := texts[name]; !ok {
				missing = append(missing, name)
			}
			return texts[name]
		}
		whole := replaceBetween(string(source), `{{text "`, `"}}`, text)
		whole = replaceBetween(whole, `(text "`, `")`, func(name string) string { return strconv.Quote(text(name)) })
		if missing != nil {
			return nil, fmt.Errorf("%s: %s has no text %s", name, textFile, strings.Join(missing, ", "))
		}
		if _, err := pages.New(path.Base(name)).Parse(whole); err != nil {
			return nil, fmt.Errorf("parse the templates: %w", err)
		}
	}
	return pages, nil
}

// replaceBetween replaces each text from open to end by what with returns for its middle.
func replaceBetween(source, open, end string, with func(middle string) string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(source, open)
		middle, rest, ended := strings.Cut(after, end)
		if !found || !ended {
			b.WriteString(source)
			return b.String()
		}
		b.WriteString(before)
		b.WriteString(with(middle))
		source = rest
	}
}
