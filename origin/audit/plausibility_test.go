package audit_test

import (
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
