package audit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit"
)

// gibberish returns n words of random letters.
func gibberish(random *rand.Rand, n int) string {
	list := make([]string, n)
	for i := range list {
		letters := make([]byte, 2+random.IntN(9))
		for j := range letters {
			letters[j] = "aeioubcdfglmnprst"[random.IntN(17)]
		}
		list[i] = string(letters)
	}
	return strings.Join(list, " ")
}

// TestTextMustReadLikeALanguage: the text facts of a page are unknown if its text does
// not read like a language, whichever language it declares.
func TestTextMustReadLikeALanguage(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	stuffed := strings.Repeat("Buy cheap bread online, the best bread of the best bakery in town. ", 20)
	for _, tt := range []struct{ name, lang, text, want, why string }{
		{"English", "en", words(200), "1", "1 of 1 page"},
		{"English declared as German", "de", words(200), "1", "1 of 1 page"},
		{"English without a language", "", words(200), "1", "1 of 1 page"},
		{"gibberish", "en", gibberish(random, 300), "0", "common English words; English text has about 38 %"},
		{"gibberish declared as Turkish", "tr", gibberish(random, 300), "0", "Turkish"},
		{"keywords", "en", stuffed, "0", "% of the phrases of 5 words repeat another"},
		{"shuffled keywords", "en", shuffled(random, "bread the cheap best buy of online bakery town in and fresh", 30),
			"0",
			"of 100 words are different"},
		{"too short", "en", gibberish(random, 78), "unknown", "80 words"},
		{"a language without a table", "la", gibberish(random, 300), "unknown", "80 words in a supported language"},
	} {
		site := web{"/": {body: `<!doctype html><html lang="` + tt.lang +
			`"><title>A page of words</title><main><h1>Words</h1><p>` +
			tt.text + `</p></main>`}}
		facts := auditOf(t, site.serve(t, 0), audit.Subject{URL: home, Name: "Example"})
		if got := say(facts, "text.plausible"); got != tt.want {
			t.Errorf("%s: text.plausible = %s, want %s; seen:\n%s", tt.name, got, tt.want,
				seen(facts, "text.plausible"))
		}
		if got := seen(facts, "text.plausible"); !strings.Contains(got, tt.why) {
			t.Errorf("%s: the evidence is %q, want %q in it", tt.name, got, tt.why)
		}
		for _, id := range []string{"home.words", "text.words", "answer.kinds", "title.good", "headings.good"} {
			if got := say(facts, id); (got == "unknown") != (tt.want == "0") {
				t.Errorf("%s: %s = %s", tt.name, id, got)
			}
		}
	}
}

// TestTextsOfASite: pages that repeat each other count once, words in a random order and
// sites of which most pages are gibberish do not count.
func TestTextsOfASite(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	list := strings.Fields("the of and to a in that for with on are from you our not have will all mill oven river " +
		"lamp " +
		"bread candle meadow signal anchor bottle feather gravel lantern needle quarry orchard pepper kettle")
	salad := func(int) string {
		words := make([]string, 400)
		for i := range words {
			words[i] = list[random.IntN(len(list))]
		}
		return strings.Join(words, " ")
	}
	for _, tt := range []struct {
		name            string
		text            func(page int) string
		plausible, home string
		why             string
	}{
		{"different texts", func(page int) string { return words(300 + page) }, "1", "300", "6 of 6 pages"},
		{"one text", func(int) string { return words(300) }, "0", "unknown", "the same text"},
		{"a text and its variants", func(page int) string { return words(300 + min(page, 2)) }, "1", "300",
			"% of the text is on other pages"},
		{"random words", salad, "0", "unknown", "common words follow each other at random"},
		{"mostly gibberish", func(page int) string {
			if page < 2 {
				return words(300 + page)
			}
			return gibberish(random, 300)
		}, "0", "unknown", "English text has about"},
		{"some gibberish", func(page int) string {
			if page < 4 {
				return words(300 + page)
			}
			return gibberish(random, 300)
		}, "0.667", "300", "English text has about"},
	} {
		site, menu := web{}, ""
		for i := 1; i < 6; i++ {
			path := "/p" + strings.Repeat("x", i)
			site[path] = html("<title>A page of words</title>", "<main>"+tt.text(i)+"</main>")
			menu += "<a href=" + path + ">p</a>"
		}
		site["/"] = html("<title>A page of words</title>", "<nav>"+menu+"</nav><main>"+tt.text(0)+"</main>")
		facts := site.audit(t)
		if got := say(facts, "text.plausible"); got != tt.plausible || say(facts, "home.words") != tt.home {
			t.Errorf("%s: text.plausible = %s, home.words = %s; want %s, %s; seen:\n%s", tt.name, got,
				say(facts, "home.words"),
				tt.plausible, tt.home, seen(facts, "text.plausible"))
		}
		if got := seen(facts, "text.plausible"); !strings.Contains(got, tt.why) {
			t.Errorf("%s: the evidence is %q, want %q in it", tt.name, got, tt.why)
		}
	}
}

// TestListsAreNoText: a page of links to manual pages is neither text nor gibberish. It counts
// as words to read, and the other pages count as before.
func TestListsAreNoText(t *testing.T) {
	site, index := web{}, ""
	for i := range 120 {
		index += fmt.Sprintf("<li><a href=/p%d>qmgr%d smtpd</a>", i%5, i)
	}
	for i := range 5 {
		site[fmt.Sprintf("/p%d", i)] = html("<title>A page of words</title>", "<main>"+words(300+i)+"</main>")
	}
	site["/"] = html("<title>A page of links</title>", "<main><ul>"+index+"</ul></main>")
	facts := site.audit(t)
	if got := say(facts, "text.plausible"); got != "1" {
		t.Errorf("text.plausible = %s, want all pages of text; seen:\n%s", got, seen(facts, "text.plausible"))
	}
	if got := say(facts, "home.words"); got != "240" {
		t.Errorf("home.words = %s, want the words of the links", got)
	}
	if got := say(facts, "text.words"); got != "302" {
		t.Errorf("text.words = %s, want the median of the pages of text", got)
	}
}

// shuffled repeats a list of words n times, each time in another order.
func shuffled(random *rand.Rand, list string, n int) string {
	words := strings.Fields(list)
	var all []string
	for range n {
		random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		all = append(all, words...)
	}
	return strings.Join(all, " ")
}

// TestTextSeenEarlier: if most texts of a site were seen earlier at another brand, the facts
// about text are unknown and name the page; a few texts, or legal texts alone, are not enough.
func TestTextSeenEarlier(t *testing.T) {
	site := func(n int) web {
		w := web{}
		var links string
		for i := 1; i < n; i++ {
			path := fmt.Sprintf("/p%d", i)
			if i == 1 {
				path = "/about"
			}
			links += "<a href=" + path + ">" + strings.Trim(path, "/") + "</a> "
			w[path] = html("<title>A title of page "+path+"</title>", "<main>"+wordsOf(uint64(i), 200)+"</main>")
		}
		w["/"] = html("<title>A title of the home page</title>",
			"<nav>"+links+"</nav><main>"+wordsOf(99, 200)+"</main>")
		return w
	}
	for _, tt := range []struct {
		name    string
		site    web
		earlier []string // paths
		unknown bool
	}{
		{"none", site(6), nil, false},
		{"all", site(6), []string{"/", "/about", "/p2", "/p3", "/p4", "/p5"}, true},
		{"half", site(6), []string{"/", "/about", "/p2"}, true},
		{"less than half", site(7), []string{"/", "/about", "/p2"}, false},
		{"legal texts", site(6), []string{"/p2", "/p3", "/p4", "/p5"}, false},
		{"all but the home page", site(6), []string{"/about", "/p2", "/p3", "/p4", "/p5"}, true},
		{"two of four", site(4), []string{"/", "/about"}, false},
		{"a site of one page", site(1), []string{"/"}, true},
		{"one of two pages", site(2), []string{"/"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked audit.Texts
			facts := auditOf(t, tt.site.serve(t, 0), audit.Subject{URL: home, Name: "Example", Language: "en",
				Earlier: func(_ context.Context, texts audit.Texts) (map[string]audit.EarlierText, error) {
					asked = texts
					all := map[string]audit.EarlierText{}
					for _, path := range tt.earlier {
						all["https://example.com"+path] = audit.EarlierText{URL: "https://first.example" + path,
							Since: day(1)}
					}
					return all, nil
				}})
			checkShape(t, facts)
			if asked.Domain != "example.com" || len(asked.Pages) != len(tt.site) {
				t.Errorf("asked for %d texts of %s, want %d", len(asked.Pages), asked.Domain, len(tt.site))
			}
			for _, id := range []string{"text.words", "title.good", "fresh.recent", "stat.numbers", "text.plausible"} {
				if got := say(facts, id) == "unknown"; got != tt.unknown && (id != "fresh.recent" || tt.unknown) {
					t.Errorf("%s is %s: %s", id, say(facts, id), seen(facts, id))
				}
				if tt.unknown && (!strings.Contains(seen(facts, id), "the registry saw the same text on 2026-11-01 at "+
					"https://first.example/") || !strings.Contains(seen(facts, id), "known to the registry and not")) {
					t.Errorf("%s: evidence %s, want the page and where it is known from", id, seen(facts, id))
				}
			}
			if say(facts, "sitemap.found") == "unknown" {
				t.Error("a fact that does not depend on text is unknown")
			}
			named := 0
			for _, p := range facts.Sample.Pages {
				if p.Earlier != "" {
					named++
				}
			}
			if want := len(tt.earlier); tt.unknown && named != want || !tt.unknown && named != 0 {
				t.Errorf("the sample names %d earlier pages, want %d, and none if the facts are known", named, want)
			}
		})
	}
}

// TestShortTextsAreNotCompared: a page with little text, or with links alone, is not compared
// with other sites.
func TestShortTextsAreNotCompared(t *testing.T) {
	w := web{"/": html("<title>x</title>", "<nav><a href=/list>list</a></nav><main>"+words(149)+"</main>"),
		"/list": html("<title>x</title>", "<main>"+strings.Repeat("<a href=/x>a link of some words</a> ", 100)+
			"</main>")}
	report := reportOf(t, w.serve(t, 0), audit.Subject{URL: home,
		Earlier: func(context.Context, audit.Texts) (map[string]audit.EarlierText, error) {
			t.Error("asked for short texts")
			return nil, nil
		}})
	if len(report.Texts.Pages) != 0 {
		t.Errorf("texts %+v, want none", report.Texts)
	}
}

// TestTextsThatCannotBeCompared: without the registry there are no facts, and the audit is
// tried again.
func TestTextsThatCannotBeCompared(t *testing.T) {
	s := one("", "<main>"+words(200)+"</main>").serve(t, 0)
	a, err := audit.New(audit.Config{HTTP: s.client, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Audit(t.Context(), audit.Subject{URL: home,
		Earlier: func(context.Context, audit.Texts) (map[string]audit.EarlierText, error) {
			return nil, errors.New("the database is unreachable")
		}}, nil)
	if err == nil || !strings.Contains(err.Error(), "the database is unreachable") {
		t.Errorf("the audit returned %v", err)
	}
}
