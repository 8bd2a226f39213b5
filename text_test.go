package fieldmark_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// textFiles are the extensions of files with text that people or programs read.
var textFiles = strings.Fields(".css .go .html .js .json .md .mjs .sql .svg .toml .txt .txtar .yaml .yml")

// alphabets are the scripts; all letters of a word must belong to one of them.
var alphabets = map[string]*unicode.RangeTable{
	"Latin": unicode.Latin, "Greek": unicode.Greek, "Cyrillic": unicode.Cyrillic, "Hebrew": unicode.Hebrew,
	"Arabic": unicode.Arabic, "Devanagari": unicode.Devanagari, "Thai": unicode.Thai,
}

// Characters that simplified Chinese writes differently from traditional Chinese,
// and the traditional forms in the same order. Japanese uses none of the former.
const (
	simplified  = "题问们这说产务价联业东车门见页风飞马鱼鸟龙书亿个时间简绍报网账语领独处钟亩顷吨级让请对发现选单节岁医药质铁银钱镇长张师归应库开关们"
	traditional = "題問們這說產務價聯業東車門見頁風飛馬魚鳥龍書億個時間簡紹報網賬語領獨處鐘畝頃噸級讓請對發現選單節歲醫藥質鐵銀錢鎮長張師歸應庫開關們"
)

// mixedWords may mix scripts, with the reason.
var mixedWords = map[string]string{
	"μs": "the unit, with the Greek letter some keyboards give",
	"πr": "a formula",
}

// mixedFiles mix scripts on purpose, with the reason.
var mixedFiles = map[string]string{
	"origin/injection/confusables.go":       "the table of letters that look alike",
	"origin/injection/testdata/attacks.txt": "attacks are disguised by such letters",
}

// notText is what may precede a word without being part of it: escapes
// and verbs of formats.
var notText = regexp.MustCompile(`\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[abfnrtv]|\\[pP]\{?\w+\}?|%[+#]?[a-z]|&[a-z]+;`)

// TestWordsOfOneScript checks that every word of the repository uses one script. A
// letter of another script looks right and never matches, such as an Arabic letter at
// the start of a Hebrew word or a simplified Chinese character in a Japanese one.
func TestWordsOfOneScript(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "fuzz" || name == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(textFiles, filepath.Ext(name)) || mixedFiles[path] != "":
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !utf8.Valid(src) || bytes.IndexByte(src, 0) >= 0 {
			return nil
		}
		for i, line := range bytes.Split(src, []byte("\n")) {
			if isASCII(line) {
				continue
			}
			for _, word := range scriptWords(string(line)) {
				if why := mixed(word); why != "" && mixedWords[word] == "" {
					t.Errorf("%s:%d: %q %s", path, i+1, word, why)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func isASCII(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c >= utf8.RuneSelf })
}

// scriptWords splits a line into runs of letters and marks.
func scriptWords(line string) []string {
	return strings.FieldsFunc(notText.ReplaceAllString(line, " "), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\u200c' && r != '\u200d'
	})
}

// mixed returns the scripts that a word mixes, or "" if it uses one.
func mixed(word string) string {
	found := map[string]bool{}
	kana, first, second := false, false, false
	for _, r := range word {
		for name, table := range alphabets {
			if unicode.Is(table, r) {
				found[name] = true
			}
		}
		kana = kana || unicode.In(r, unicode.Hiragana, unicode.Katakana)
		first = first || strings.ContainsRune(simplified, r) && !strings.ContainsRune(traditional, r)
		second = second || strings.ContainsRune(traditional, r) && !strings.ContainsRune(simplified, r)
	}
	switch {
	case len(found) > 1:
		names := []string{}
		for name := range found {
			names = append(names, name)
		}
		slices.Sort(names)
		return "mixes " + strings.Join(names, " and ")
	case kana && first:
		return "is Japanese with a simplified Chinese character"
	case first && second:
		return "mixes simplified and traditional Chinese"
	}
	return ""
}

func TestMixedWords(t *testing.T) {
	for word, want := range map[string]bool{
		"م" + "חירון": true, "问" + "い合わせ": true, "问" + "題": true, "Р" + "ayment": true, "A" + "θ": true, "問い合わせ": false,
		"关于我们": false, "關於我們": false,
		"مخيرون": false, "GEO対応": false, "naïve": false, "GEO": false, "می\u200cگوید": false,
	} {
		if got := mixed(word); (got != "") != want {
			t.Errorf("mixed(%q) = %q, want something: %v", word, got, want)
		}
	}
}

// countedNouns are plural nouns that follow numbers in templates.
const countedNouns = `accounts|answers|assignees|attempts|audits|brands|bytes|changes|characters|claims|days|` +
	`disputes|domains|endpoints|entries|events|facts|files|hours|issues|keys|links|messages|minutes|missions|months|` +
	`neighbours|nodes|notes|pages|points|problems|prompts|proofs|questions|reads|requests|rows|runs|seconds|servers|` +
	`signals|sites|sources|studies|sub-accounts|times|visits|weeks|writes|years`

// countedThings finds an action of a template with the plural noun that its result counts.
var countedThings = regexp.MustCompile(`\{\{([^{}]*)\}\}(?: |<small>|<b>|</b>|more )+(` + countedNouns + `)\b`)

// severalOnly are actions whose result is never 1, with the reason.
var severalOnly = map[string]string{
	".Limit": "the caps of gates", "$a.Days": "ages of methods",
	"$n.Shown": "a constant", "$n.Kept": "a constant", "$n.Purpose": "a constant", "$n.PerDay": "a constant",
	"number .MaxVisits": "a constant", ".MaxEvents": "a constant", "number .Searched": "a constant",
	"number .AllNotes": "shown if there are more than the page has",
	".MinBrands":       "a constant", ".MinPrompts": "a constant", ".MinRuns": "a constant",
	".MaxAgeDays":                  "a constant",
	"number .Page.Study.Questions": "ranked studies have 40", "number .Page.Study.Answers": "ranked studies have more",
	"number .Page.Study.Total": "ranked studies have five", "number .Questions": "a study has several",
	".Tested": "all signals", ".Brands": "studies of validity have several",
	"number .Bytes": "a module has a header of 8", ".Entries": "1 has a branch of its own",
}

// TestCountedNouns: a template writes a number with its noun by countOf, so that no page
// says "1 days".
func TestCountedNouns(t *testing.T) {
	seen := 0
	check := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".html" && filepath.Base(path) != "en.txt" {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		for _, m := range countedThings.FindAllStringSubmatch(string(src), -1) {
			word, _, _ := strings.Cut(m[1], " ")
			if severalOnly[m[1]] != "" || slices.Contains(strings.Fields("end else if with range countOf"), word) {
				continue
			}
			t.Errorf("%s: %q: write countOf with both forms of the noun", path, m[0])
		}
		return nil
	}
	for _, folder := range []string{"edge", "origin"} {
		if err := filepath.WalkDir(folder, check); err != nil {
			t.Fatal(err)
		}
	}
	if seen < 60 {
		t.Errorf("%d templates, want all", seen)
	}
}
