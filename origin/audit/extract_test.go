package audit_test

import (
	"strings"
	"testing"
)

// one returns a site with a single page.
func one(head, body string) web { return web{"/": html(head, body)} }

func TestMainText(t *testing.T) {
	const frame = `<header>Brand slogan here</header><nav><ul><li>One<li>Two</ul></nav><aside>Read also this</aside>` +
		`<footer>Imprint and more</footer>`
	runFacts(t, []factTest{
		{"main element", one("", frame+"<main>"+words(12)+"</main>"), []string{"home.words 12"}},
		{"role main", one("", frame+"<div role=main>"+words(12)+"</div>"), []string{"home.words 12"}},
		{"articles", one("", frame+"<article><header><h1>Big News</h1></header>"+words(10)+"</article><article>"+
			words(5)+"</article>"), []string{"home.words 17"}},
		{"densest part", one("", frame+"<div><div>"+strings.Repeat("<p>"+words(10)+"</p>",
			5)+"</div></div><div><a href=/x>linked words</a></div>"), []string{"home.words 50"}},
		{"two parts", one("", "<div><p>"+words(75)+"</p></div><div><p>"+words(25)+"</p></div>"),
			[]string{"home.words 100"}},
		{"menus by name", one("", "<main><div class='menu main-menu'><a href=/a>a</a> <a href=/b>b</a></div><ul "+
			"id=topNav><li><a href=/c>c</a></ul><div class=breadcrumbs><a href=/d>d</a> / <a href=/e>e and its "+
			"kind</a></div><p>"+words(10)+"</p></main>"), []string{"home.words 10"}},
		{"menus of dishes", one("", "<main><div class=menu><a href=/a>Soup</a> of the day with bread</div><p>"+words(3)+
			"</p></main>"), []string{"home.words 9"}},
		{"a body called a menu", web{"/": {body: "<html><body class='menu'><main><h1>A</h1><a href=/a>one</a> <a " +
			"href=/b>two, in some more words</a></main></body></html>"}}, []string{"home.words 7"}},
		{"a summary beside the text", one("", "<main><div class=sidebar><a href=/a>one</a> <a "+
			"href=/b>two</a></div><p>"+words(3)+"</p></main>"), []string{"home.words 5"}},
		{"empty main element", one("", frame+"<main></main><div>"+words(40)+"</div>"), []string{"home.words 40"}},
		{"not text", one("", "<main>"+words(5)+"<script>var words = 1</script><style>p{}</style><template>t "+
			"t</template><noscript>enable "+
			"scripts</noscript><svg><text>x</text></svg><select><option>o</select><button>Go on</button></main>"),
			[]string{"home.words 5"}},
		{"hidden", one("", `<main>`+words(5)+
			`<p hidden>a b</p><p style="color:red; display : NONE">c</p><p style="visibility:hidden!important">d</p>`+
			`<p aria-hidden=true>e</p><p style="font-size:0px">f</p><p style="opacity: 0.0">g</p>`+
			`</main>`), []string{"home.words 5"}},
		{"shown after all", one("", `<main><p style="display:inline-block;opacity:0.9;font-size:10px">`+words(5)+
			`</p></main>`), []string{"home.words 5"}},
		{"marks are no words", one("", "<main>one – two — three … 4 &amp; !</main>"), []string{"home.words 4"}},
		{"words of two parts", one("", "<main>l'outil état-nation l’été</main>"), []string{"home.words 3"}},
		{"parts of a word", one("", "<main><b>A</b>lpen<i>glow</i><p>next</p>line</main>"), []string{"home.words 3"}},
		{"Japanese", one("", "<main>東京都の公式サイトです</main>"), []string{"home.words 6"}},
		{"Japanese with Latin", one("", "<main>AI検索とSEO</main>"), []string{"home.words 4"}},
		{"Thai", one("", "<main>ภาษาไทยเป็นภาษา</main>"), []string{"home.words 3"}},
		{"Korean", one("", "<main>안녕하세요 여러분</main>"), []string{"home.words 2"}},
		{"Arabic", one("", "<main>مرحبا بكم في موقعنا</main>"), []string{"home.words 4"}},
		{"Hebrew", one("", "<main>ברוכים הבאים לאתר</main>"), []string{"home.words 3"}},
		{"app shell", one("<title>App</title>",
			`<div id=root></div><script src=/app.js></script><noscript>You need to enable JavaScript to run this `+
				`app.</noscript>`), []string{"home.words 0", "page.early_text 0", "headings.good 0", "quote.spans 0"}},
	})
}

func TestCharsets(t *testing.T) {
	runFacts(t, []factTest{
		{"declared in the page", web{"/": {kind: "text/html",
			body: "<html><head><meta charset=iso-8859-1><title>Caf\xe9 de la gare \xe0 " +
				"Lyon</title></head><main>d\xe9j\xe0 vu</main>"}}, []string{"title.good 1", "home.words 2"}},
		{"declared in the header", web{"/": {kind: "text/html; charset=Shift_JIS",
			body: "<main>\x93\x8c\x8b\x9e\x93s</main>"}}, []string{"home.words 2"}},
		{"byte order mark", web{"/": {kind: "text/html",
			body: "\uFEFF<!doctype html><title>Ein längerer Titel</title><main>süß</main>"}}, []string{"title.good 1",
			"home.words 1"}},
		{"UTF-16", web{"/": {kind: "text/html", body: "\xff\xfe<\x00p\x00>\x00h\x00i\x00"}}, []string{"home.words 1"}},
	})
}

func TestTitles(t *testing.T) {
	description := func(n int) string { return `<meta name=description content="` + strings.Repeat("d", n) + `">` }
	linked := `<a href=/about>About</a>` + words(9)
	runFacts(t, []factTest{
		{"shortest", one("<title>0123456789</title>"+description(50), "x"), []string{"title.good 1",
			"description.good 1", "titles.distinct 1"}},
		{"too short", one("<title>012345678</title>"+description(49), "x"), []string{"title.good 0",
			"description.good 0"}},
		{"longest", one("<title>"+strings.Repeat("t", 70)+"</title>"+description(300), "x"), []string{"title.good 1",
			"description.good 1"}},
		{"too long", one("<title>"+strings.Repeat("t", 71)+"</title>"+description(301), "x"), []string{"title.good 0",
			"description.good 0"}},
		{"wide characters", one("<title>山の宿あかね</title>", "x"), []string{"title.good 1", "description.good 0"}},
		{"none", one("", "x"), []string{"title.good 0", "description.good 0", "titles.distinct 0"}},
		{"the same everywhere", web{"/": html("<title>Welcome here</title>", linked),
			"/about": html("<title>Welcome here</title>", "x")}, []string{"title.good 1", "titles.distinct 0"}},
		{"told apart by description", web{"/": html("<title>Welcome here</title>"+description(60), linked),
			"/about": html("<title>Welcome here</title>"+description(70), "x")}, []string{"titles.distinct 1"}},
		{"a title in a drawing", one("", "<svg><title>Logo of the brand</title></svg>"), []string{"title.good 0"}},
	})
}

func TestHeadings(t *testing.T) {
	runFacts(t, []factTest{
		{"outline", one("", "<main><h1>A</h1><h2>B</h2><h3>C</h3><h2>D</h2></main>"), []string{"headings.good 1"}},
		{"no H1", one("", "<main><h2>B</h2></main>"), []string{"headings.good 0"}},
		{"skipped level", one("", "<main><h1>A</h1><h3>C</h3></main>"), []string{"headings.good 0"}},
		{"begins too deep", one("", "<main><h3>B</h3><h1>A</h1></main>"), []string{"headings.good 0"}},
		{"H1 in the header", one("", "<header><h1>A</h1></header><main><h2>B</h2></main>"),
			[]string{"headings.good 1"}},
		{"footer is another outline", one("", "<main><h1>A</h1></main><footer><h4>Links</h4></footer>"),
			[]string{"headings.good 1"}},
		{"hidden heading", one("", "<main><h1 hidden>A</h1><p>x</p></main>"), []string{"headings.good 0"}},
		{"too few", one("", "<main><h1>A</h1>"+words(700)+"</main>"), []string{"headings.good 0"}},
		{"enough", one("", "<main><h1>A</h1>"+words(290)+"<h2>B</h2>"+words(290)+"</main>"),
			[]string{"headings.good 1"}},
	})
}

func TestCanonical(t *testing.T) {
	link := func(href string) string { return `<link rel=canonical href="` + href + `">` }
	runFacts(t, []factTest{
		{"itself", one(link(home), "x"), []string{"canonical.good 1"}},
		{"none", one("", "x"), []string{"canonical.good 0"}},
		{"relative", one(link("/"), "x"), []string{"canonical.good 0"}},
		{"without a scheme", one(link("//example.com/"), "x"), []string{"canonical.good 0"}},
		{"subdomain", one(link("https://www.example.com/"), "x"), []string{"canonical.good 1"}},
		{"another domain", one(link("https://example.org/"), "x"), []string{"canonical.good 0"}},
		{"two", one(link(home)+link(home+"x"), "x"), []string{"canonical.good 0"}},
		{"twice the same", one(link(home)+link(home), "x"), []string{"canonical.good 1"}},
		{"leads to a dead page", web{"/": html(link(home), "<a href=/about>About</a> <a href=/contact>Contact</a>"),
			"/about": html(link(home+"contact"), "x")}, []string{"canonical.good 0.5"}},
		{"in a header", web{"/": {header: map[string]string{"Link": `<https://example.com/>; rel="canonical"`},
			body: "<p>x"}}, []string{"canonical.good 1"}},
	})
}

func TestLanguage(t *testing.T) {
	page := func(lang, links string) answer {
		return answer{body: "<!doctype html><html lang='" + lang + "'><head>" + links + "</head><body>" + words(9) +
			"</body></html>"}
	}
	alt := func(pairs ...string) string {
		var b strings.Builder
		for i := 0; i < len(pairs); i += 2 {
			b.WriteString(`<link rel=alternate hreflang="` + pairs[i] + `" href="` + pairs[i+1] + `">`)
		}
		return b.String()
	}
	both := alt("en", home, "de", home+"de/", "x-default", home)
	runFacts(t, []factTest{
		{"one language", web{"/": page("en-GB", "")}, []string{"lang.html 1", "lang.hreflang not_applicable"}},
		{"no tag", web{"/": page("", "")}, []string{"lang.html 0", "lang.hreflang not_applicable"}},
		{"no language", web{"/": page("english", "")}, []string{"lang.html 0"}},
		{"undetermined", web{"/": page("und", "")}, []string{"lang.html 0"}},
		{"underscore", web{"/": page("pt_BR", "")}, []string{"lang.html 1"}},
		{"two regions are one language", web{"/": page("en-GB", alt("en-GB", home, "en-US", home+"us/"))},
			[]string{"lang.hreflang not_applicable"}},
		{"reciprocal", web{"/": page("en", both), "/de/": page("de", both)}, []string{"lang.hreflang 1"}},
		{"relative", web{"/": page("en", alt("en", "./", "de", "de/")), "/de/": page("de", alt("en", "../", "de",
			"./"))}, []string{"lang.hreflang 0"}},
		{"relative on one page", web{"/": page("en", alt("en", "./", "de", "de/")), "/de/": page("de", both),
			"/sitemap.xml": {kind: "text/xml", body: "<urlset><url><loc>" + home + "de/</loc></url></urlset>"}},
			[]string{"lang.hreflang 0.5"}},
		{"no way back", web{"/": page("en", both), "/de/": page("de", "")}, []string{"lang.hreflang 0"}},
		{"no tag of a language", web{"/": page("en", alt("en", home, "deutsch", home+"de/")), "/de/": page("de", "")},
			[]string{"lang.hreflang 0"}},
		{"two addresses", web{"/": page("en", alt("en", home, "de", home+"a", "de", home+"b"))},
			[]string{"lang.hreflang 0"}},
		{"not named at all", web{"/": html("", "<a href=/about>About</a>"), "/about": page("de", "")},
			[]string{"lang.hreflang 0"}},
	})
}

func TestAnswerBlocks(t *testing.T) {
	runFacts(t, []factTest{
		{"none", one("", "<main>"+words(20)+"</main>"), []string{"answer.kinds 0"}},
		{"list", one("", "<main><ul><li>a<li>b</ul></main>"), []string{"answer.kinds 1"}},
		{"list of one", one("", "<main><ul><li>a</ul></main>"), []string{"answer.kinds 0"}},
		{"menu is no list", one("", "<nav><ul><li>a<li>b</ul></nav><main>"+words(20)+"</main>"),
			[]string{"answer.kinds 0"}},
		{"table", one("", "<main><table><tr><th>a<th>b<tr><td>1<td>2</table></main>"), []string{"answer.kinds 1"}},
		{"space before the text", one("", "<main><ul><li> <b> <a href=/x>a</a></b><li> <i>b</i></ul></main>"),
			[]string{"answer.kinds 1"}},
		{"layout table", one("", "<main><table><tr><td>a<tr><td>b</table></main>"), []string{"answer.kinds 0"}},
		{"definitions", one("", "<main><dl><div><dt>a<dd>b</div></dl></main>"), []string{"answer.kinds 1"}},
		{"question", one("", "<main><h2>Where are you?</h2><p>We are in the old town.</p></main>"),
			[]string{"answer.kinds 1"}},
		{"question in Arabic", one("", "<main><h2>أين أنتم؟</h2><p>نحن في المدينة القديمة.</p></main>"),
			[]string{"answer.kinds 1"}},
		{"question without an answer", one("", "<main><h2>Where are you?</h2><p>Here</p></main>"),
			[]string{"answer.kinds 0"}},
		{"question with a chapter", one("", "<main><h2>Where are you?</h2><p>"+words(101)+"</p></main>"),
			[]string{"answer.kinds 0"}},
		{"folded question", one("", "<main><details><summary>Is it free?</summary><p>Yes, it is "+
			"free.</p></details></main>"), []string{"answer.kinds 1"}},
		{"all", one("", "<main><ul><li>a<li>b</ul><table><tr><th>a<th>b<tr><td>1<td>2</table>"+
			"<dl><dt>a<dd>b</dl><h2>Why?</h2><p>Because we can do it.</p></main>"),
			[]string{"answer.kinds 4"}},
	})
}

func TestWeight(t *testing.T) {
	runFacts(t, []factTest{
		{"light", one("", "<main>"+words(20)+"</main>"), []string{"page.light 1", "page.early_text 1"}},
		{"heavy", one("", "<main>"+words(20)+"</main><!--"+strings.Repeat("x", 560_000)+"-->"), []string{"page.light 0",
			"page.early_text 1"}},
		{"late", one("<style>"+strings.Repeat("a{}", 50_000)+"</style>",
			"<main>Here the text of the page begins "+words(20)+"</main>"), []string{"page.light 1",
			"page.early_text 0"}},
		{"late, and announced by the title",
			one("<title>Here the text of the page begins</title><style>"+strings.Repeat("a{}", 50_000)+"</style>",
				"<main><h1>Here the text of the page begins</h1>"+words(20)+"</main>"), []string{"page.early_text 0"}},
		{"entities", one("", "<main>R&amp;D &eacute;t&eacute; is where we begin "+words(20)+"</main>"),
			[]string{"page.early_text 1"}},
	})
}

// TestHostileShapes audits pages that are designed to be slow: about 100 kB of nesting, of
// attributes, or of elements that each cause a search up to the root.
func TestHostileShapes(t *testing.T) {
	const many = 2_500 // a quadratic scan is measurably slower
	nested := func(open string, depth int, inner string) string { return strings.Repeat(open, depth) + inner }
	attrs := "<body"
	for i := range 200_000 {
		attrs += " a" + string(rune('a'+i%26)) + "=x"
		if i > 2000 && i%50 == 0 {
			break
		}
	}
	for name, body := range map[string]string{
		"headings under headers": "<main>" + nested("<header>", 480, strings.Repeat("<h1>x</h1>", many)),
		"many mains":             strings.Repeat("<main>x</main>", many),
		"hidden under hidden":    nested("<div hidden>", 480, strings.Repeat("<p hidden>x</p>", many)),
		"nested lists":           nested("<ul><li>a<li>", 230, strings.Repeat("<b>x</b>", many)),
		"nested tables":          nested("<table><tr><td>a<td>", 120, strings.Repeat("<b>x</b>", many)),
		"attributes":             attrs + ">" + strings.Repeat("<h1 hidden>x</h1>", many),
		"quotation marks":        "<main>" + strings.Repeat("“«„ ", many),
		"units":                  "<main>5" + strings.Repeat("주일", 4*many) + "칙",
		"properties": "<div itemscope>" + nested("<b itemprop=x>", 400,
			strings.Repeat("<i itemprop=y>x</i>", many)),
		"links": strings.Repeat("<link rel=alternate hreflang=de href=/x>", 2*many),
		"menus": nested("<div class=menu>", 480,
			strings.Repeat("<a class=nav href=/x>x</a><div class=nav><a href=/x>x</a></div>", many)),
		"indented tables": "<main>" + nested("<blockquote>", 480, strings.Repeat("<p>x</p>", many)),
		"questions":       "<main>" + nested("<h2>a?</h2><div>", 450, strings.Repeat("<p>x y z</p>", many)),
	} {
		t.Run(name, func(t *testing.T) {
			facts := one("", body).audit(t)
			if got := say(facts, "home.reachable"); got != "1" {
				t.Errorf("home.reachable = %s, want 1", got)
			}
		})
	}
}
