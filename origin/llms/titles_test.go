package llms_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/fieldmark/fieldmark/origin/llms"
)

// The table has every title of every language exactly once, and no title contains markup.
func TestTitlesComplete(t *testing.T) {
	raw, err := os.ReadFile("titles.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		About  []string
		Titles []map[string]string
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	rows := file.Titles
	if len(file.About) == 0 {
		t.Error("titles.json no longer says how to mend it")
	}
	if len(rows) != 31 || rows[0]["tag"] != "en" {
		t.Errorf("%d rows beginning with %q, want 31 beginning with en", len(rows), rows[0]["tag"])
	}
	seen := map[string]bool{}
	for _, row := range rows {
		if seen[row["tag"]] {
			t.Errorf("%s stands twice", row["tag"])
		}
		seen[row["tag"]] = true
		for _, field := range []string{"tag", "website", "profiles", "contact", "field", "uniqueValue", "language"} {
			if row[field] == "" || row[field] != strings.TrimSpace(row[field]) ||
				strings.ContainsAny(row[field], "[]*_`<>#\\:") {
				t.Errorf("%s: %s is %q", row["tag"], field, row[field])
			}
		}
		for i, a := range []string{"website", "profiles", "contact"} {
			for _, b := range []string{"website", "profiles", "contact"}[i+1:] {
				if row[a] == row[b] {
					t.Errorf("%s: %s and %s are both %q", row["tag"], a, b, row[a])
				}
			}
		}
		if len(row) != 7 {
			t.Errorf("%s: %d fields, want 7", row["tag"], len(row))
		}
		doc, err := llms.Generate(llms.Request{Name: "A", Niche: "b", Description: "Twenty characters ok",
			UniqueValue: "c", URL: "https://a.example", Language: row["tag"]})
		if err != nil {
			t.Errorf("%s: %v", row["tag"], err)
			continue
		}
		for _, line := range []string{"## " + row["website"], "- " + row["field"] + ": b",
			"- " + row["language"] + ": " + row["tag"], row["uniqueValue"] + ": c"} {
			if !strings.Contains(doc.Content, "\n"+line+"\n") {
				t.Errorf("%s: no line %q in\n%s", row["tag"], line, doc.Content)
			}
		}
	}
}

// scripts are what each language of the table is written in: one of the tables
// for each letter, and each of them somewhere in the row.
var scripts = map[string][]*unicode.RangeTable{
	"el": {unicode.Greek}, "uk": {unicode.Cyrillic}, "ru": {unicode.Cyrillic}, "ar": {unicode.Arabic},
	"fa": {unicode.Arabic}, "he": {unicode.Hebrew},
	"hi": {unicode.Devanagari}, "ja": {unicode.Han, unicode.Hiragana, unicode.Katakana}, "ko": {unicode.Hangul},
	"th": {unicode.Thai}, "zh-Hans": {unicode.Han}, "zh-Hant": {unicode.Han},
}

// letters lists the letters of each language in addition to those common to its script. A
// title with any other letter is in the wrong language or has a typo.
var letters = map[string]string{
	"en": "", "id": "", "nl": "ëïé", "de": "äöüß", "fr": "àâæçéèêëîïôœùûüÿ", "es": "áéíñóúü", "it": "àèéìíîòóùú",
	"pt": "áâãàçéêíóôõú", "pt-PT": "áâãàçéêíóôõú",
	"pl": "ąćęłńóśźż", "cs": "áčďéěíňóřšťúůýž", "sv": "åäöé", "da": "æøåé", "nb": "æøåéòó", "fi": "äöå", "ro": "ăâîșț",
	"hu": "áéíóöőúüű",
	"tr": "çğıöşüâ", "vi": "ăâđêôơưàảãáạằẳẵắặầẩẫấậèẻẽéẹềểễếệìỉĩíịòỏõóọồổỗốộờởỡớợùủũúụừửữứựỳỷỹýỵ",
	"uk": "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя", "ru": "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
}

// simplifiedOnly and traditionalOnly are characters of the table's subject that
// the other form of Chinese writes differently.
const (
	simplifiedOnly  = "网账号联领独处语"
	traditionalOnly = "網帳號聯領獨處語"
)

// TestTitlesScript checks that each row uses the script and letters of its language.
func TestTitlesScript(t *testing.T) {
	raw, err := os.ReadFile("titles.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Titles []map[string]string }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	for _, row := range file.Titles {
		tag := row["tag"]
		tables := scripts[tag]
		if tables == nil {
			tables = []*unicode.RangeTable{unicode.Latin}
		}
		allowed, spelled := letters[tag]
		seen := map[*unicode.RangeTable]bool{}
		for field, word := range row {
			if field == "tag" {
				continue
			}
			for _, r := range word {
				const joiner = '\u200c' // between the parts of a Persian word
				if r == ' ' || r == joiner && tag == "fa" || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Lm) {
					continue
				}
				in := false
				for _, table := range tables {
					if unicode.Is(table, r) {
						in, seen[table] = true, true
					}
				}
				if low := unicode.ToLower(r); !in {
					t.Errorf("%s: %s %q: %q is not a letter of the language's script", tag, field, word, r)
				} else if spelled && !(low >= 'a' && low <= 'z') && !strings.ContainsRune(allowed, low) {
					t.Errorf("%s: %s %q: the language does not write %q", tag, field, word, r)
				}
			}
			if tag == "zh-Hans" && strings.ContainsAny(word, traditionalOnly) ||
				tag == "zh-Hant" && strings.ContainsAny(word, simplifiedOnly) {
				t.Errorf("%s: %s %q has characters of the other form", tag, field, word)
			}
		}
		for i, table := range tables {
			if !seen[table] {
				t.Errorf("%s: nothing in its script number %d", tag, i+1)
			}
		}
		if tables[0] == unicode.Latin && !spelled {
			t.Errorf("%s: the letters of the language are not in the test", tag)
		}
	}
}
