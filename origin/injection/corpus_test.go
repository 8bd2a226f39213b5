package injection_test

import (
	"bufio"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/injection"
)

// sentence is a line of a corpus.
type sentence struct {
	lang, text string
	line       int
}

// corpus reads a file of testdata.
func corpus(t testing.TB, name string) (list []sentence) {
	f, err := os.Open("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		if strings.HasPrefix(sc.Text(), "#") {
			continue
		}
		lang, text, ok := strings.Cut(sc.Text(), "\t")
		if text, err = strconv.Unquote(`"` + strings.ReplaceAll(text, `"`, `\"`) + `"`); err != nil || !ok {
			t.Fatalf("%s.txt:%d: not a language, a tab and a text: %v", name, n, err)
		}
		list = append(list, sentence{lang, text, n})
	}
	return list
}

// TestCorpora reads every text as one of a page, and the innocent ones also as an
// llms.txt. The held-out files were written before the last change of the tables and the
// rules, which are not tuned on them: their bounds are a little below what was reached.
func TestCorpora(t *testing.T) {
	for _, tt := range []struct {
		prefix               string
		maxAccused, minFound int // percent
	}{
		{"", 1, 94}, {"heldout_", 2, 93},
	} {
		accused, innocents := count(t, tt.prefix+"innocents", injection.People, true)
		inFiles, _ := count(t, tt.prefix+"innocents", injection.Models, true)
		found, attacks := count(t, tt.prefix+"attacks", injection.People, false)
		for _, lang := range slices.Sorted(maps.Keys(attacks)) {
			t.Logf("%s%s: %d of %d attacks found, %d of %d innocents accused", tt.prefix, lang, found[lang],
				attacks[lang], accused[lang], innocents[lang])
		}
		for where, n := range map[string]int{"pages": accused["all"], "llms.txt": inFiles["all"]} {
			if m := innocents["all"]; 100*n > tt.maxAccused*m {
				t.Errorf("%sinnocents in %s: %d of %d accused, want at most %d %%", tt.prefix, where, n, m,
					tt.maxAccused)
			}
		}
		if n, m := found["all"], attacks["all"]; 100*n < tt.minFound*m {
			t.Errorf("%sattacks: %d of %d found, want at least %d %%", tt.prefix, n, m, tt.minFound)
		}
	}
}

// count returns how many texts of a corpus match, and how many there are, by language.
func count(t *testing.T, name string, audience injection.Audience, innocent bool) (matched, all map[string]int) {
	d := injection.New("Acme", "acme.example")
	matched, all = map[string]int{}, map[string]int{}
	for _, s := range corpus(t, name) {
		m := slices.DeleteFunc(d.Find(s.text, audience), func(m injection.Match) bool {
			return m.Kind == injection.Steering // accuses no one
		})
		for _, lang := range []string{s.lang, "all"} {
			all[lang]++
			if len(m) > 0 {
				matched[lang]++
			}
		}
		if innocent && len(m) > 0 {
			t.Logf("%s.txt:%d: %s accused of %s: %q", name, s.line, s.lang, m[0].Kind, m[0].Words)
		} else if !innocent && len(m) == 0 {
			t.Logf("%s.txt:%d: %s not found: %q", name, s.line, s.lang, s.text)
		}
	}
	return matched, all
}
