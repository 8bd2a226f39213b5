package llms

import (
	_ "embed"
	"encoding/json"
	"sync"

	"golang.org/x/text/language"
)

// titles are the words of the file that do not come from the brand.
type titles struct {
	Tag         string `json:"tag"`
	Website     string `json:"website"`
	Profiles    string `json:"profiles"`
	Contact     string `json:"contact"`
	Field       string `json:"field"`
	UniqueValue string `json:"uniqueValue"`
	Language    string `json:"language"`
}

// titlesJSON is the table of titles, English first.
//
//go:embed titles.json
var titlesJSON []byte

// titleTable is the parsed table with a matcher.
type titleTable struct {
	rows    []titles
	tags    []language.Tag
	matcher language.Matcher
}

var loadTitles = sync.OnceValue(func() titleTable {
	var file struct {
		Titles []titles `json:"titles"`
	}
	if err := json.Unmarshal(titlesJSON, &file); err != nil {
		panic("BUG: titles.json: " + err.Error())
	}
	t := titleTable{rows: file.Titles}
	for _, row := range t.rows {
		t.tags = append(t.tags, language.MustParse(row.Tag))
	}
	t.matcher = language.NewMatcher(t.tags)
	return t
})

// titlesFor returns the titles in the language of tag, or the English ones and
// false. Related languages are not used: for readers, a wrong language is worse
// than English.
func titlesFor(tag language.Tag) (titles, bool) {
	t := loadTitles()
	_, i, confidence := t.matcher.Match(tag)
	want, _ := tag.Base()
	have, _ := t.tags[i].Base()
	norwegian := have.String() == "nb" && (want.String() == "no" || want.String() == "nn")
	if confidence >= language.High && (want == have || norwegian) {
		return t.rows[i], true
	}
	return t.rows[0], false
}

// rtlScripts are written from right to left (ISO 15924).
var rtlScripts = map[string]bool{
	"Adlm": true, "Arab": true, "Aran": true, "Hebr": true, "Mand": true, "Nkoo": true,
	"Rohg": true, "Samr": true, "Syrc": true, "Thaa": true, "Yezi": true,
}

// direction returns the writing direction of a language.
func direction(tag language.Tag) string {
	if script, _ := tag.Script(); rtlScripts[script.String()] {
		return "rtl"
	}
	return "ltr"
}

// parseLanguage parses a BCP 47 tag and returns its canonical form. Chinese tags
// get a script, which their region only implies.
func parseLanguage(s string) (language.Tag, bool) {
	tag, err := language.Parse(s)
	base, script, region := tag.Raw()
	if err != nil || base.String() == "und" {
		return language.Und, false
	}
	if base.String() == "zh" && script.String() == "Zzzz" && region.String() != "ZZ" {
		implied, _ := tag.Script()
		if with, err := language.Compose(tag, implied); err == nil {
			tag = with
		}
	}
	return tag, true
}
