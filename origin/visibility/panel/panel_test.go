package panel_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark/origin/visibility/panel"
)

// brands is a panel with the names that are hard to find: in other names, in words, in other scripts.
var brands = []panel.Brand{
	{Slug: "apple", Aliases: []panel.Alias{{Text: "Apple", Kind: "word", Near: []string{"iPhone", "Mac"},
		Not: []string{"apple pie"}}}, Domains: []string{"apple.com"}},
	{Slug: "att", Aliases: []panel.Alias{{Text: "AT&T", Kind: "plain"}}, Domains: []string{"att.com"}},
	{Slug: "oreilly", Aliases: []panel.Alias{{Text: "O'Reilly", Kind: "plain"}}, Domains: []string{"oreilly.com"}},
	{Slug: "orange", Aliases: []panel.Alias{{Text: "Orange", Kind: "word", Near: []string{"opérateur", "operator"},
		Not: []string{"orange juice"}}}, Domains: []string{"orange.fr"}},
	{Slug: "orange-labs", Aliases: []panel.Alias{{Text: "Orange Labs"}}},
	{Slug: "kao", Aliases: []panel.Alias{{Text: "花王"}, {Text: "Kao Corporation"}}, Domains: []string{"kao.com"}},
	{Slug: "unal", Aliases: []panel.Alias{{Text: "Ünal", Kind: "plain", Languages: []string{"tr", "de"}}}},
	{Slug: "istanbul-rope", Aliases: []panel.Alias{{Text: "İstanbul Halat", Languages: []string{"tr"}}}},
	{Slug: "alpenglow", Aliases: []panel.Alias{{Text: "Alpenglow Gear"}, {Text: "Alpenglow", Kind: "plain"}},
		Domains: []string{"alpenglow.github.io", "alpenglow.co.uk"}, Facts: []panel.Fact{
			{ID: "town", Right: []string{"in Chur"}, Wrong: []string{"in Zürich"}}}},
	{Slug: "nakheel", Aliases: []panel.Alias{{Text: "واحة النخيل"}}},
	{Slug: "shalom", Aliases: []panel.Alias{{Text: "חבל טוב"}}},
	{Slug: "thai", Aliases: []panel.Alias{{Text: "เชือกไทย"}}},
	{Slug: "kanat", Aliases: []panel.Alias{{Text: "Канат", Kind: "plain", Suffixes: []string{"а", "у"}}}},
}

// named returns the slugs that an answer names, in order.
func named(r panel.Reading) string {
	var all []string
	for _, i := range r.Order {
		all = append(all, brands[i].Slug)
	}
	return strings.Join(all, " ")
}

func TestMentions(t *testing.T) {
	for _, c := range []struct{ language, answer, want string }{
		{"en", "AT&T is a carrier.", "att"},
		{"en", "AT&amp;T and **O’Reilly**", "att oreilly"},
		{"en", "at&t, in small letters", "att"},
		{"en", "BAT&T is another", ""},
		{"en", "O'Reilly's books", "oreilly"},
		{"en", "The O‘Reilly school", "oreilly"},
		{"en", "Try 'Alpenglow' first", "alpenglow"},
		{"en", "I like an apple a day.", ""},
		{"en", "Apple sells the iPhone.", "apple"},
		{"en", "apple sells the iPhone.", ""},
		{"en", "Apple trees bloom in May.", ""},
		{"en", "A warm Apple pie, next to my iPhone", ""},
		{"en", "Apple is far away from any word that belongs to it, as one two three four five six seven iPhone", ""},
		{"en", "Orange juice from the operator", ""},
		{"en", "The operator Orange and Orange Labs", "orange orange-labs"},
		{"en", "Only Orange Labs, the operator says", "orange-labs"},
		{"en", "[Alpenglow Gear](https://att.com/O'Reilly) is good", "alpenglow"},
		{"en", "![Alpenglow](x.png) and `Alpenglow` and\n\n    Alpenglow\n", ""},
		{"en", "```\nAlpenglow\n```", ""},
		{"en", "see https://alpenglow.example/alpenglow-gear or www.alpenglow.example", ""},
		{"en", "Alpenglows everywhere", ""},
		{"de", "Alpenglows Werkstatt ist gut.", "alpenglow"},
		{"de", "Das ist ALPENGLOW!", "alpenglow"},
		{"sv", "Alpenglows verkstad", "alpenglow"},
		{"en", "Al\u00adpen\u200bglow", "alpenglow"},
		{"en", "Ａｌｐｅｎｇｌｏｗ in full width", "alpenglow"},
		{"en", "🧗Alpenglow🧗", "alpenglow"},
		{"en", "Alpenglow_x and Alpenglow-like", "alpenglow"},
		{"en", "Alpenglow2", ""},
		{"en", "| brand | town |\n|---|---|\n| Alpenglow | Chur |", "alpenglow"},
		{"en", "1. **Alpenglow**: ropes\n2. *AT&T*", "alpenglow att"},
		{"en", "AT&T before Alpenglow before AT&T", "att alpenglow"},
		{"en", "Alp en glow", ""},
		{"ja", "洗剤は花王が有名です。", "kao"},
		{"ja", "花　王", ""},
		{"ja", "Kao Corporationの製品", ""}, // a letter follows a name in Latin letters
		{"ja", "Kao Corporation の製品", "kao"},
		{"zh", "推荐花王的产品", "kao"},
		{"th", "ร้านเชือกไทยดีมาก", "thai"},
		{"tr", "Ünal'ın ürünleri", "unal"},
		{"tr", "ÜNAL en iyisi", "unal"},
		{"tr", "U\u0308nal", "unal"},
		{"tr", "Ünalan başka", ""},
		{"tr", "İSTANBUL HALAT ve istanbul halat", "istanbul-rope"},
		{"tr", "ISTANBUL HALAT", "istanbul-rope"},
		{"de", "Ünals Seile", "unal"},
		{"ar", "أنصح بـ واحة النخيل كثيرا", "nakheel"},
		{"ar", "واحة النخيلات", ""},
		{"he", "החנות חבל טוב מומלצת", "shalom"},
		{"ru", "Купите у Каната, а Канатный — другой", "kanat"},
		{"ru", "КАНАТ", "kanat"},
		{"fr", "L’opérateur Orange", "orange"},
		{"fr", "une orange, dit l'opérateur", ""},
		{"es", "¿Alpenglow? ¡Sí!", "alpenglow"},
		{"it", "l'Alpenglow è buono", "alpenglow"},
		{"nl", "Alpenglow’s touw", "alpenglow"},
		{"pl", "„Alpenglow” jest dobry", "alpenglow"},
	} {
		if got := named(panel.New(brands, c.language).Read(c.answer, nil, nil)); got != c.want {
			t.Errorf("%s %q: named %q, want %q", c.language, c.answer, got, c.want)
		}
	}
}

// lineBrands is the panel of testdata/lines.txt: every brand has what its operator would write for 12 languages.
var lineBrands = []panel.Brand{
	{Slug: "apple", Aliases: []panel.Alias{{Text: "Apple", Kind: "word", Near: []string{"iPhone", "Mac"},
		Not: []string{"apple pie", "pommes"}}}},
	{Slug: "att", Aliases: []panel.Alias{{Text: "AT&T", Kind: "plain"}}},
	{Slug: "notion", Aliases: []panel.Alias{{Text: "Notion", Kind: "word", Near: []string{"app", "appli", "appen",
		"workspace"}}}},
	{Slug: "orange", Aliases: []panel.Alias{{Text: "Orange", Kind: "word",
		Not:  []string{"orange juice", "jus d'orange"},
		Near: []string{"operator", "opérateur", "Betreiber", "operador", "operatore", "operatören", "operatörü"}}}},
	{Slug: "kao", Aliases: []panel.Alias{{Text: "花王"}, {Text: "Kao Corporation"}}},
	{Slug: "unal", Aliases: []panel.Alias{{Text: "Ünal", Kind: "plain"}}},
	{Slug: "oreilly", Aliases: []panel.Alias{{Text: "O'Reilly", Kind: "plain"}}},
	{Slug: "alpenglow", Aliases: []panel.Alias{{Text: "Alpenglow", Kind: "plain", Suffixes: []string{"a"}}}},
	{Slug: "canyon", Aliases: []panel.Alias{{Text: "Canyon Bikes"}}},
	{Slug: "nordrep", Aliases: []panel.Alias{{Text: "Nordrep", Kind: "plain", Suffixes: []string{"ie"}}}},
	{Slug: "nakheel", Aliases: []panel.Alias{{Text: "واحة النخيل"}}},
	{Slug: "kanat", Aliases: []panel.Alias{{Text: "Канат-Сервис", Suffixes: []string{"е"}}}},
}

// TestLines: of 413 answers in 12 languages, written by hand, nearly all are read as a person reads them.
func TestLines(t *testing.T) {
	text, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	if faults := panel.Check(lineBrands); len(faults) > 0 {
		t.Fatalf("the panel: %v", faults)
	}
	type counts struct{ lines, right, false, missed int }
	all, of := counts{}, map[string]*counts{}
	matchers := map[string]*panel.Matcher{}
	for line := range strings.Lines(string(text)) {
		if line[0] == '#' {
			continue
		}
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 3)
		if of[part[0]] == nil {
			of[part[0]], matchers[part[0]] = &counts{}, panel.New(lineBrands, part[0])
		}
		answer := strings.NewReplacer(`\n`, "\n", `\u00ad`, "\u00ad", `\u0308`, "\u0308").Replace(part[2])
		var got []string
		for _, i := range matchers[part[0]].Read(answer, nil, nil).Order {
			got = append(got, lineBrands[i].Slug)
		}
		want := slices.DeleteFunc(strings.Fields(part[1]), func(s string) bool { return s == "-" })
		for _, c := range []*counts{&all, of[part[0]]} {
			c.lines++
			for _, slug := range got {
				if slices.Contains(want, slug) {
					c.right++
				} else {
					c.false++
				}
			}
			for _, slug := range want {
				if !slices.Contains(got, slug) {
					c.missed++
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Logf("%s %q: named %q, a reader says %q", part[0], answer, got, want)
		}
	}
	check := func(name string, c *counts, least float64) {
		precision := float64(c.right) / float64(c.right+c.false)
		recall := float64(c.right) / float64(c.right+c.missed)
		t.Logf("%s: %d lines, precision %.3f, recall %.3f", name, c.lines, precision, recall)
		if precision < least || recall < least {
			t.Errorf("%s: precision %.3f, recall %.3f, want at least %.2f", name, precision, recall, least)
		}
	}
	check("all", &all, 0.98)
	for language, c := range of {
		check(language, c, 0.95)
	}
	if all.lines < 400 || len(of) < 12 {
		t.Errorf("%d lines in %d languages, want 400 in 12", all.lines, len(of))
	}
}

func TestCitations(t *testing.T) {
	for address, want := range map[string]string{
		"":                             "",
		"https://www.apple.com/iphone": "apple.com",
		"https://APPLE.com.:443/x?utm_source=chat":  "apple.com",
		"https://user:secret@shop.apple.com":        "apple.com",
		"https://apple.com.evil.example":            "evil.example",
		"https://notapple.com":                      "notapple.com",
		"https://alpenglow.co.uk":                   "alpenglow.co.uk",
		"https://www.alpenglow.co.uk/":              "alpenglow.co.uk",
		"https://alpenglow.github.io":               "alpenglow.github.io",
		"https://other.github.io":                   "other.github.io",
		"https://github.io":                         "",
		"https://xn--pple-43d.com":                  "xn--pple-43d.com",
		"https://\u0430pple.com":                    "xn--pple-43d.com", // a Cyrillic letter
		"https://münchen.de/x":                      "xn--mnchen-3ya.de",
		"https://192.0.2.1/":                        "",
		"https://[2001:db8::1]/":                    "",
		"ftp://apple.com":                           "",
		"javascript:alert(1)":                       "",
		"https://vertexaisearch.cloud.google.com/g": "",
		"https://www.google.com/url?q=x":            "",
	} {
		got, ok := panel.Registrable(address)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
	m := panel.New(brands, "en")
	r := m.Read("Apple trees", []string{"https://www.apple.com/", "https://t.co/x"}, []string{"https://att.com/"})
	if !r.HasCitation || !slices.Equal(r.Cited, []int{0}) || !slices.Equal(r.Retrieved, []int{1}) ||
		named(r) != "apple" {
		t.Errorf("a citation is evidence for a common word: %+v", r)
	}
	if r := m.Read("", []string{"https://t.co/x"}, nil); r.HasCitation {
		t.Error("an answer that cites only a redirector stays in the denominator")
	}
}

func TestStatements(t *testing.T) {
	m := panel.New(brands, "en")
	for answer, want := range map[string][]panel.Statement{
		"Alpenglow is in Chur.":                       {{Brand: 8, Fact: "town", Right: true}},
		"Alpenglow is in Zürich.":                     {{Brand: 8, Fact: "town"}},
		"Alpenglow is good. AT&T is in Chur.":         nil,
		"Alpenglow is in Chur. Alpenglow in Zürich.":  nil,
		"Alpenglow has a shop, e.g. one\nin Churwald": nil,
	} {
		if diff := cmp.Diff(want, m.Read(answer, nil, nil).Statements); diff != "" {
			t.Errorf("%q: %s", answer, diff)
		}
	}
}

func TestMissesAreShown(t *testing.T) {
	r := panel.New(brands, "en").Read("Alpenglows, an apple, Orange Labs", nil, nil)
	var got []string
	for _, s := range r.Misses {
		got = append(got, r.Text[s.From:s.To]+": "+s.Reason)
	}
	slices.Sort(got)
	want := []string{"Alpenglow: part of a longer word",
		"Orange: a common word without a word that belongs to the brand",
		"apple: in another case"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBranded(t *testing.T) {
	m := panel.New(brands, "en")
	for question, want := range map[string]string{
		"Which apple is the sweetest?":        "apple", // conditions do not apply to questions
		"Where can I buy a good rope?":        "",
		"Is alpenglow.co.uk a good shop?":     "alpenglow",
		"What do people say about AT&T here?": "att",
	} {
		if got := m.Branded(question); got != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	if faults := panel.Check(brands); len(faults) > 0 {
		t.Fatalf("the panel of the tests: %v", faults)
	}
	bad := []panel.Brand{
		{Slug: "Not A Slug", Aliases: []panel.Alias{{Text: "ab"}, {Text: "Rope"}, {Text: "Same name"},
			{Text: "···"}}},
		{Slug: "b", Aliases: []panel.Alias{{Text: "same  NAME"}, {Text: "Good rope", Near: []string{"x"}},
			{Text: "Fine rope", Kind: "other"}}, Domains: []string{"www.b.example", "B.example", "b"},
			Facts: []panel.Fact{{ID: "x"}}},
		{Slug: "b"},
	}
	var got []string
	for _, p := range panel.Check(bad) {
		got = append(got, fmt.Sprintf("%d %s %d", p.Brand, p.Member, p.Index))
	}
	want := []string{"0 slug -1", "0 aliases 0", "0 aliases 1", "0 aliases 3", "1 aliases 0", "1 aliases 1",
		"1 aliases 2", "1 domains 0", "1 domains 1", "1 domains 2", "1 facts 0", "2 slug -1", "2 aliases -1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzRead: places are within the text and at its characters, and text without letters adds no mention.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"AT&T", "İstanbul Halat", "花王が", "Alpen\u200bglow's", "[x](y) **Ünal**",
		"ﬁ Alpenglow ½", "\xff"} {
		f.Add(s)
	}
	m := panel.New(brands, "en")
	f.Fuzz(func(t *testing.T, answer string) {
		r := m.Read(answer, nil, nil)
		for _, s := range slices.Concat(r.Mentions, r.Misses) {
			if s.From < 0 || s.From >= s.To || s.To > len(r.Text) ||
				utf8.ValidString(r.Text) && (!utf8.RuneStart(r.Text[s.From]) ||
					!utf8.ValidString(r.Text[s.From:s.To])) {
				t.Errorf("%q: span %+v of %q", answer, s, r.Text)
			}
		}
		more := m.Read(answer+"\n\n... 123 --- 456", nil, nil)
		if utf8.ValidString(answer) && len(more.Order) > len(r.Order) &&
			!strings.ContainsAny(answer, "`<[~!&\\") { // which may end something in Markdown
			t.Errorf("%q: text without an alias adds a mention: %v, then %v", answer, r.Order, more.Order)
		}
	})
}
